#include "study/ranks.h"

#include "base/mem.h"
#include "base/pack.h"
#include "study/cell.h"
#include "study/errand.h"
#include "study/post.h"

#include <kvsim/version.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELLO = 1, ERRAND, ANSWER, END }; /* subjects of letters */
enum { WAIT_MS = 50, AHEAD_PER_SLOT = 32 };
#define LOST_S 5.0    /* a rank is lost when nothing was heard of it for so long */
#define ORPHAN_S 60.0 /* a rank gives up when nothing was heard of rank 0 for so long */

struct rank {
    bool is_known; /* has said who it is */
    bool is_lost;
    size_t busy; /* errands in hand */
};

struct study_ranks {
    struct study_executor executor; /* first */
    struct study_post *post;
    size_t count;
    struct rank *at;
    struct base_text hello;
    void (*tell)(const char *text);
    uint64_t next_id; /* of errands, over all lists */
};

/* ---- who is there ---- */

static bool read_number(const char *name, size_t *out)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] == '\0' || strspn(text, "0123456789") != strlen(text))
        return false;
    *out = strtoul(text, NULL, 10);
    return true;
}

size_t study_ranks_launched(size_t *number)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "PMIX_RANK"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t count;
        if (read_number(names[i][0], &count) && read_number(names[i][1], number) && *number < count)
            return count;
    }
    *number = 0;
    return 1;
}

/* Two that say the same can read each other's structs, and were asked for the same. */
static void write_hello(const char *command, struct base_text *out)
{
    const uint32_t order = 1;
    base_text_printf(out, "kvsim %s %zu %zu %zu ", KVSIM_VERSION, sizeof(struct record_run),
                     sizeof(struct serve_result), sizeof(struct kvsim_error));
    base_text_add_n(out, (const char *)&order, sizeof order);
    base_text_add(out, command);
}

enum kvsim_status study_ranks_join(const char *command, void (*tell)(const char *text),
                                   struct study_ranks **out, struct kvsim_error *err)
{
    struct study_post *post;
    enum kvsim_status status = study_post_open(&post, err);
    *out = NULL;
    if (status != KVSIM_OK || post == NULL)
        return status;
    struct study_ranks *ranks = base_alloc(sizeof *ranks);
    ranks->post = post;
    ranks->tell = tell;
    ranks->count = study_post_count(post);
    ranks->at = base_alloc(base_mul_size(ranks->count, sizeof *ranks->at));
    write_hello(command, &ranks->hello);
    *out = ranks;
    return KVSIM_OK;
}

/* ---- dealing ---- */

enum state { OPEN, OUT, DONE };

struct item {
    enum state state;
    size_t who; /* OUT */
};

/* One list of work. */
struct deal {
    struct study_ranks *ranks;
    const struct study_team_work *work;
    struct item *items;
    uint64_t first_id; /* of item 0 */
    size_t open_from;  /* no item before it is open */
    size_t open_count, taken, slots;
};

static size_t living(const struct study_ranks *ranks)
{
    size_t count = 0;
    for (size_t i = 1; i < ranks->count; i++)
        count += !ranks->at[i].is_lost;
    return count;
}

/* How many a rank has in hand: while there is plenty one more than it does at a time, so that it never waits. */
static size_t most_in_hand(const struct deal *deal)
{
    bool is_plenty = deal->open_count > 2 * deal->slots * living(deal->ranks);
    return deal->slots + (is_plenty ? 1 : 0);
}

/* The rank with the fewest errands in hand; 0 when all have enough. */
static size_t freest(const struct deal *deal)
{
    size_t found = 0, fewest = most_in_hand(deal);
    for (size_t i = 1; i < deal->ranks->count; i++) {
        const struct rank *rank = &deal->ranks->at[i];
        if (rank->is_known && !rank->is_lost && rank->busy < fewest) {
            found = i;
            fewest = rank->busy;
        }
    }
    return found;
}

static bool is_near(const struct deal *deal, size_t item)
{
    size_t ahead = deal->work->ahead, least = AHEAD_PER_SLOT * deal->slots * deal->ranks->count;
    return ahead == 0 || item < deal->taken + (ahead > least ? ahead : least);
}

static bool next_open(struct deal *deal, size_t *item)
{
    while (deal->open_from < deal->work->count && deal->items[deal->open_from].state != OPEN)
        deal->open_from++;
    *item = deal->open_from;
    return *item < deal->work->count && is_near(deal, *item);
}

static void finish_item(struct deal *deal, size_t item)
{
    deal->open_count -= deal->items[item].state == OPEN;
    deal->items[item].state = DONE;
}

static void do_here(struct deal *deal, size_t item)
{
    deal->work->work(deal->work->context, item);
    finish_item(deal, item);
}

static void send_errand(struct deal *deal, size_t who, size_t item, const struct base_text *request)
{
    struct base_text body = {0};
    struct base_pack pack = base_pack_writer(&body);
    uint64_t id = deal->first_id + item, slots = deal->slots;
    base_pack_bytes(&pack, &id, sizeof id);
    base_pack_bytes(&pack, &slots, sizeof slots);
    base_text_add_n(&body, request->at, request->count);
    study_post_send(deal->ranks->post, who, ERRAND, &body);
    deal->ranks->at[who].busy++;
    deal->items[item] = (struct item){OUT, who};
    deal->open_count--;
}

static void hand_out(struct deal *deal)
{
    size_t who, item;
    while ((who = freest(deal)) > 0 && next_open(deal, &item)) {
        struct base_text request = {0};
        if (deal->work->ask(deal->work->context, item, &request))
            send_errand(deal, who, item, &request);
        else
            do_here(deal, item);
        base_text_free(&request);
    }
}

/* ---- letters ---- */

static enum kvsim_status greet(struct study_ranks *ranks, const struct study_letter *letter,
                               struct kvsim_error *err)
{
    bool is_same = letter->body.count == ranks->hello.count &&
                   memcmp(letter->body.at, ranks->hello.at, ranks->hello.count) == 0;
    ranks->at[letter->who].is_known = true;
    if (is_same)
        return KVSIM_OK;
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_USAGE,
                  "rank %zu runs another kvsim, or another command line, than rank 0", letter->who);
    base_error_hint(err, "start all ranks with one mpirun and the same words");
    return status;
}

static void take_answer(struct deal *deal, const struct study_letter *letter)
{
    struct rank *rank = &deal->ranks->at[letter->who];
    struct base_pack pack = base_pack_reader(letter->body.at, letter->body.count);
    uint64_t id = 0;
    base_pack_bytes(&pack, &id, sizeof id);
    rank->busy -= rank->busy > 0;
    // Of a list that ended early, or done by another meanwhile: not needed any more.
    if (id < deal->first_id || id - deal->first_id >= deal->work->count)
        return;
    size_t item = (size_t)(id - deal->first_id);
    if (deal->items[item].state == DONE)
        return;
    struct base_text answer = {0};
    base_text_add_n(&answer, (const char *)pack.next, (size_t)(pack.end - pack.next));
    deal->work->answer(deal->work->context, item, &answer);
    base_text_free(&answer);
    finish_item(deal, item);
}

static enum kvsim_status read_letters(struct deal *deal, unsigned wait_ms, struct kvsim_error *err)
{
    struct study_letter letter;
    enum kvsim_status status = KVSIM_OK;
    while (status == KVSIM_OK && study_post_receive(deal->ranks->post, wait_ms, &letter)) {
        deal->ranks->at[letter.who].is_lost = false;
        if (letter.subject == HELLO)
            status = greet(deal->ranks, &letter, err);
        else if (letter.subject == ANSWER)
            take_answer(deal, &letter);
        base_text_free(&letter.body);
        wait_ms = 0;
    }
    return status;
}

/* ---- those that are lost ---- */

static void deal_again(struct deal *deal, size_t who)
{
    size_t count = 0;
    for (size_t i = deal->taken; i < deal->work->count; i++) {
        if (deal->items[i].state != OUT || deal->items[i].who != who)
            continue;
        deal->items[i].state = OPEN;
        deal->open_count++;
        count++;
        if (i < deal->open_from)
            deal->open_from = i;
    }
    char text[120];
    snprintf(text, sizeof text, "rank %zu is lost; what it had in hand (%zu) is done by others",
             who, count);
    if (deal->ranks->tell != NULL)
        deal->ranks->tell(text);
}

static void look_for_lost(struct deal *deal)
{
    struct study_ranks *ranks = deal->ranks;
    for (size_t i = 1; i < ranks->count; i++) {
        struct rank *rank = &ranks->at[i];
        if (rank->is_lost || study_post_silence_s(ranks->post, i) < LOST_S)
            continue;
        rank->is_lost = true;
        rank->busy = 0;
        deal_again(deal, i);
    }
}

/* ---- a list of work ---- */

static enum kvsim_status take_ready(struct deal *deal, struct kvsim_error *err)
{
    const struct study_team_work *work = deal->work;
    size_t first = deal->taken, end = first;
    while (end < work->count && deal->items[end].state == DONE)
        end++;
    deal->taken = end;
    return end > first && work->take != NULL ? work->take(work->context, first, end - first, err)
                                             : KVSIM_OK;
}

static enum kvsim_status deal_out(struct deal *deal, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    double idle_s = 0;
    while (status == KVSIM_OK && deal->taken < deal->work->count) {
        size_t item;
        hand_out(deal);
        look_for_lost(deal);
        bool is_alone = living(deal->ranks) == 0;
        if (is_alone && next_open(deal, &item))
            do_here(deal, item);
        bool is_ready = deal->items[deal->taken].state == DONE;
        status = read_letters(deal, is_ready || is_alone ? 0 : WAIT_MS, err);
        if (status == KVSIM_OK)
            status = take_ready(deal, err);
        if (deal->work->idle != NULL && study_clock_s() - idle_s > 0.2) {
            deal->work->idle(deal->work->context);
            idle_s = study_clock_s();
        }
    }
    return status;
}

static enum kvsim_status run_list(struct study_executor *executor,
                                  const struct study_team_work *work, struct kvsim_error *err)
{
    struct study_ranks *ranks = (struct study_ranks *)(void *)executor;
    struct deal deal = {.ranks = ranks,
                        .work = work,
                        .items = base_alloc(base_mul_size(work->count, sizeof(struct item))),
                        .first_id = ranks->next_id,
                        .open_count = work->count,
                        .slots = work->jobs == 0 ? 1 : work->jobs};
    ranks->next_id += work->count;
    enum kvsim_status status = deal_out(&deal, err);
    base_free(deal.items);
    return status;
}

struct study_executor *study_ranks_executor(struct study_ranks *ranks)
{
    ranks->executor.run = run_list;
    return ranks->count > 1 ? &ranks->executor : NULL;
}

bool study_ranks_leave(struct study_ranks *ranks)
{
    bool is_orderly = living(ranks) + 1 == ranks->count;
    for (size_t i = 1; i < ranks->count; i++) {
        struct base_text body = {0};
        base_text_add(&body, is_orderly ? "together" : "alone");
        study_post_send(ranks->post, i, END, &body);
    }
    study_post_close(ranks->post, is_orderly);
    study_post_free(ranks->post);
    base_text_free(&ranks->hello);
    base_free(ranks->at);
    base_free(ranks);
    return is_orderly;
}

/* ---- doing errands ---- */

/* Threads that do them; as many as rank 0 wants at a time, started when they are first needed. */
struct crew {
    struct study_post *post;
    pthread_mutex_t mutex;
    pthread_cond_t wanted;
    struct {
        struct base_text *at; /* id and request */
        size_t count, capacity;
    } waiting; /* first come, first done */
    size_t idle_count, thread_count;
};

static struct base_text next_errand(struct crew *crew)
{
    pthread_mutex_lock(&crew->mutex);
    crew->idle_count++;
    while (crew->waiting.count == 0)
        pthread_cond_wait(&crew->wanted, &crew->mutex);
    crew->idle_count--;
    struct base_text errand = crew->waiting.at[0];
    crew->waiting.count--;
    memmove(crew->waiting.at, crew->waiting.at + 1, crew->waiting.count * sizeof *crew->waiting.at);
    pthread_mutex_unlock(&crew->mutex);
    return errand;
}

/* The head of an errand, and where its request begins. */
static struct base_pack read_head(const struct base_text *errand, uint64_t *id, uint64_t *slots)
{
    struct base_pack pack = base_pack_reader(errand->at, errand->count);
    base_pack_bytes(&pack, id, sizeof *id);
    base_pack_bytes(&pack, slots, sizeof *slots);
    return pack;
}

static void do_errand(struct crew *crew, struct study_desk *desk, struct base_text *errand)
{
    uint64_t id, slots;
    struct base_text request = {0}, answer = {0};
    struct base_pack head = read_head(errand, &id, &slots), pack = base_pack_writer(&answer);
    base_text_add_n(&request, (const char *)head.next, (size_t)(head.end - head.next));
    base_pack_bytes(&pack, &id, sizeof id);
    study_desk_do(desk, &request, &answer);
    study_post_send(crew->post, 0, ANSWER, &answer);
    base_text_free(&request);
    base_text_free(errand);
}

static void *do_errands(void *context)
{
    struct crew *crew = context;
    struct study_desk *desk = study_desk_new();
    for (;;) { // until the process ends
        struct base_text errand = next_errand(crew);
        do_errand(crew, desk, &errand);
    }
    return NULL;
}

/* No thread to be had: it is done here. */
static void do_one_here(struct crew *crew)
{
    struct study_desk *desk = study_desk_new();
    struct base_text errand = next_errand(crew);
    do_errand(crew, desk, &errand);
    study_desk_free(desk);
}

static void add_errand(struct crew *crew, struct base_text *errand)
{
    uint64_t id, slots;
    pthread_t thread;
    read_head(errand, &id, &slots);
    pthread_mutex_lock(&crew->mutex);
    base_vec_push(&crew->waiting, *errand);
    *errand = (struct base_text){0};
    bool needs_more = crew->idle_count < crew->waiting.count && crew->thread_count < slots;
    pthread_cond_signal(&crew->wanted);
    pthread_mutex_unlock(&crew->mutex);
    if (needs_more && pthread_create(&thread, NULL, do_errands, crew) == 0) {
        pthread_detach(thread);
        crew->thread_count++;
    }
    if (crew->thread_count == 0)
        do_one_here(crew);
}

int study_ranks_serve(struct study_ranks *ranks)
{
    struct crew crew = {.post = ranks->post};
    struct study_letter letter;
    pthread_mutex_init(&crew.mutex, NULL);
    pthread_cond_init(&crew.wanted, NULL);
    study_post_send(ranks->post, 0, HELLO, &ranks->hello);
    while (study_post_silence_s(ranks->post, 0) < ORPHAN_S) {
        if (!study_post_receive(ranks->post, 1000, &letter))
            continue;
        if (letter.subject == END) {
            study_post_close(ranks->post, strcmp(letter.body.at, "together") == 0);
            return 0;
        }
        add_errand(&crew, &letter.body);
        base_text_free(&letter.body);
    }
    return base_status_exit(KVSIM_ERR_IO);
}
