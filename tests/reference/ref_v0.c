#include "reference/ref_v0.h"

#include "reference/ref_v0_cache.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status { WAITING, RUNNING, SWAPPED, DONE };

struct seq {
    bool lives;      /* has not ended */
    int64_t placed;  /* tokens that have a place in the table */
    int64_t cached;  /* tokens computed */
    int64_t outputs; /* delivered */
    int64_t *table, blocks;
    int64_t used; /* the step that scheduled it last */
};

struct group {
    const struct ref_v0_request *in;
    enum status status;
    bool is_forked, is_prompt; /* is_prompt: not all of its known tokens are computed yet */
    /* tokens that this computation of it begins with, outputs of a former one included */
    int64_t prompt;
    struct seq seqs[REF_V0_ANSWERS];
    int64_t tokens; /* in the step under way; 0 = not scheduled */
    int64_t role;   /* place of its kind in the new running list */
    bool was_looked_up, has_given_up;
    int64_t found; /* tokens, when it was looked up */
};

struct list {
    int64_t *at, count;
};

struct sim {
    const struct ref_v0_input *in;
    struct ref_v0_output *out;
    struct group *groups;
    int64_t *holders; /* of device blocks, without a cache */
    struct ref_v0_cache cache, host_cache;
    int64_t steps;
    struct list waiting, running, swapped;
    struct list admitted, preempted, gone,
        back; /* of this step; gone and preempted of turns before it, too */
    struct list scheduled;
    int64_t host, moved, budget, seats;
    int64_t thrown_out, output_tokens; /* thrown out since the last token came, and tokens then */
    char *text;
    size_t length, room;
};

/* ---- small things ---- */

static void *grow(void *at, size_t bytes)
{
    void *memory = realloc(at, bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void add(struct list *list, int64_t value)
{
    list->at = grow(list->at, (size_t)(list->count + 1) * sizeof *list->at);
    list->at[list->count++] = value;
}

static bool has(const struct list *list, int64_t value)
{
    for (int64_t i = 0; i < list->count; i++) {
        if (list->at[i] == value) {
            return true;
        }
    }
    return false;
}

static void drop_at(struct list *list, int64_t index)
{
    for (int64_t i = index; i + 1 < list->count; i++) {
        list->at[i] = list->at[i + 1];
    }
    list->count--;
}

static void add_first(struct list *list, int64_t value)
{
    add(list, value);
    for (int64_t i = list->count - 1; i > 0; i--) {
        list->at[i] = list->at[i - 1];
    }
    list->at[0] = value;
}

static void print(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print(struct sim *sim, const char *format, ...)
{
    char line[64];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (sim->length + (size_t)bytes + 1 > sim->room) {
        sim->room = 2 * sim->room + (size_t)bytes + 4096;
        sim->text = grow(sim->text, sim->room);
    }
    memcpy(sim->text + sim->length, line, (size_t)bytes + 1);
    sim->length += (size_t)bytes;
}

static int64_t cdiv(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t living(const struct group *group)
{
    int64_t count = 0;
    for (int64_t i = 0; i < group->in->answers; i++) {
        count += group->seqs[i].lives ? 1 : 0;
    }
    return count;
}

static struct seq *first_living(struct group *group)
{
    for (int64_t i = 0; i < group->in->answers; i++) {
        if (group->seqs[i].lives) {
            return &group->seqs[i];
        }
    }
    abort();
}

static int64_t running_seqs(const struct group *group)
{
    return group->is_forked ? living(group) : 1;
}

static int64_t seats_of(const struct group *group)
{
    return group->is_forked ? living(group) : group->in->answers;
}

/* ---- blocks ---- */

static int64_t free_blocks(const struct sim *sim)
{
    int64_t count = 0;
    if (sim->in->has_cache) {
        return ref_v0_cache_free_blocks(&sim->cache);
    }
    for (int64_t b = 0; b < sim->in->num_blocks; b++) {
        count += sim->holders[b] == 0 ? 1 : 0;
    }
    return count;
}

static int64_t take_block(struct sim *sim)
{
    if (sim->in->has_cache) {
        return ref_v0_cache_take(&sim->cache);
    }
    for (int64_t b = 0; b < sim->in->num_blocks; b++) {
        if (sim->holders[b] == 0) {
            sim->holders[b] = 1;
            return b;
        }
    }
    abort();
}

static void append_block(struct sim *sim, struct seq *seq)
{
    seq->table = grow(seq->table, (size_t)(seq->blocks + 1) * sizeof *seq->table);
    seq->table[seq->blocks++] = take_block(sim);
}

// A new table: whoever has a full block's content already is as good.
static void allocate_cached(struct ref_v0_cache *cache, struct seq *seq, const int64_t *tokens,
                            int64_t known)
{
    seq->table =
        grow(seq->table, (size_t)(cdiv(known, cache->block_size) + 1) * sizeof *seq->table);
    for (seq->blocks = 0; seq->blocks * cache->block_size < known; seq->blocks++) {
        int64_t end = (seq->blocks + 1) * cache->block_size;
        seq->table[seq->blocks] =
            end <= known ? ref_v0_cache_add(cache, tokens, end) : ref_v0_cache_take(cache);
    }
}

// All blocks of a prompt.
static void allocate(struct sim *sim, struct seq *seq, const int64_t *tokens, int64_t known)
{
    if (sim->in->has_cache) {
        allocate_cached(&sim->cache, seq, tokens, known);
    }
    while (seq->blocks < cdiv(known, sim->in->block_size)) {
        append_block(sim, seq);
    }
}

// All blocks of a sequence go from one memory to another.
static void move_table(struct ref_v0_cache *from, struct ref_v0_cache *to, struct seq *seq,
                       const int64_t *tokens)
{
    ref_v0_cache_free(from, seq->table, seq->blocks, 0);
    allocate_cached(to, seq, tokens, seq->placed);
}

static void free_table(struct sim *sim, struct seq *seq)
{
    if (sim->in->has_cache) {
        ref_v0_cache_free(&sim->cache, seq->table, seq->blocks, seq->used);
        seq->blocks = 0;
        return;
    }
    for (int64_t i = 0; i < seq->blocks; i++) {
        sim->holders[seq->table[i]]--;
    }
    seq->blocks = 0;
}

// One more token: a new block, a copy of one that others hold, or the place behind the last token.
static void place_token(struct sim *sim, struct seq *seq, const int64_t *tokens)
{
    int64_t bs = sim->in->block_size;
    if (seq->placed % bs == 0) {
        append_block(sim, seq);
    } else if (!sim->in->has_cache && sim->holders[seq->table[seq->blocks - 1]] > 1) {
        sim->holders[seq->table[seq->blocks - 1]]--;
        seq->table[seq->blocks - 1] = take_block(sim);
        sim->out->copied_blocks++;
    }
    seq->placed++;
    if (sim->in->has_cache && seq->placed % bs == 0) {
        int64_t *last = &seq->table[seq->blocks - 1], own = *last;
        *last = ref_v0_cache_fill(&sim->cache, own, tokens, seq->placed);
        sim->out->shared_found += *last != own ? 1 : 0;
    }
}

// Different blocks of a group, all or full ones alone. On the host the numbers are kept: no two blocks become one.
static int64_t different_blocks(const struct sim *sim, const struct group *group, bool full_only)
{
    int64_t most = 0, count = 0;
    for (int64_t i = 0; i < group->in->answers; i++) {
        for (int64_t b = 0; b < group->seqs[i].blocks; b++) {
            most = group->seqs[i].table[b] + 1 > most ? group->seqs[i].table[b] + 1 : most;
        }
    }
    bool *seen = calloc((size_t)most + 1, sizeof *seen);
    if (seen == NULL) {
        abort();
    }
    for (int64_t i = 0; i < group->in->answers; i++) {
        const struct seq *seq = &group->seqs[i];
        int64_t blocks = full_only ? seq->placed / sim->in->block_size : seq->blocks;
        for (int64_t b = 0; b < blocks && seq->blocks > 0; b++) {
            count += seen[seq->table[b]] ? 0 : 1;
            seen[seq->table[b]] = true;
        }
    }
    free(seen);
    return count;
}

// One block for each sequence that appends a token; of a prompt that has its places one if its last block is not full.
static int64_t touched(const struct sim *sim, const struct group *group)
{
    if (group->is_prompt) {
        return group->prompt % sim->in->block_size != 0 ? 1 : 0;
    }
    return running_seqs(group);
}

/* ---- the decision ---- */

// Full blocks that a request needs in a memory to which it goes.
static int64_t full_blocks_for(const struct sim *sim, const struct ref_v0_cache *there,
                               const struct group *group)
{
    return sim->in->has_cache ? ref_v0_cache_missing(there, group->in->tokens,
                                                     group->seqs[0].placed / sim->in->block_size)
                              : different_blocks(sim, group, true);
}

static int64_t host_room(const struct sim *sim)
{
    return sim->in->has_cache ? ref_v0_cache_free_blocks(&sim->host_cache)
                              : sim->in->swap_blocks - sim->host;
}

static bool preempt(struct sim *sim, int64_t index)
{
    struct group *group = &sim->groups[index];
    bool swaps =
        sim->in->mode == REF_V0_SWAP || (sim->in->mode == REF_V0_AS_FITS && seats_of(group) > 1);
    sim->out->preemptions++;
    if (!swaps) {
        for (int64_t i = 0; i < group->in->answers; i++) {
            struct seq *seq = &group->seqs[i];
            free_table(sim, seq);
            seq->placed = seq->cached = 0;
        }
        group->was_looked_up = false;
        group->status = WAITING;
        group->is_prompt = true;
        add(&sim->preempted, index);
        return true;
    }
    if (full_blocks_for(sim, &sim->host_cache, group) + touched(sim, group) > host_room(sim)) {
        return false;
    }
    int64_t blocks = different_blocks(sim, group, false);
    sim->host += blocks;
    sim->moved += blocks;
    if (sim->in->has_cache) {
        move_table(&sim->cache, &sim->host_cache, &group->seqs[0], group->in->tokens);
    }
    for (int64_t i = 0; i < group->in->answers && !sim->in->has_cache; i++) {
        for (int64_t b = 0; b < group->seqs[i].blocks; b++) {
            sim->holders[group->seqs[i].table[b]]--;
        }
    }
    group->status = SWAPPED;
    add(&sim->gone, index);
    return true;
}

static void schedule(struct sim *sim, int64_t index, int64_t tokens, int64_t role)
{
    sim->groups[index].tokens = tokens;
    sim->groups[index].role = role;
    sim->budget -= tokens;
    add(&sim->scheduled, index);
}

static void append_all(struct sim *sim, struct group *group)
{
    for (int64_t i = 0; i < group->in->answers && !group->is_prompt; i++) {
        if (group->seqs[i].lives && (group->is_forked || group->seqs[i].blocks > 0)) {
            place_token(sim, &group->seqs[i], group->in->tokens);
        }
    }
}

static int64_t remaining(const struct group *group)
{
    int64_t cached = 0;
    for (int64_t i = 0; i < group->in->answers; i++) {
        cached = group->seqs[i].cached > cached ? group->seqs[i].cached : cached;
    }
    return group->prompt - cached;
}

// With a cache a chunked step's budget is given out so.
static int64_t whole_blocks(const struct sim *sim, int64_t tokens)
{
    return sim->in->has_cache && sim->in->is_chunked ? tokens - tokens % sim->in->block_size
                                                     : tokens;
}

// The running list from its front; victims from its end. False: the engine died.
static bool schedule_running(struct sim *sim, bool *someone_went)
{
    struct list queue = sim->running;
    sim->running = (struct list){0};
    bool alive = true;
    int64_t first = 0;
    while (alive && first < queue.count) {
        int64_t index = queue.at[first];
        struct group *group = &sim->groups[index];
        int64_t tokens = running_seqs(group), left = whole_blocks(sim, sim->budget);
        if (group->is_prompt) {
            tokens = remaining(group) < left ? remaining(group) : left;
        } else if (sim->in->is_chunked && tokens > left) {
            tokens = 0;
        }
        if (tokens <= 0) {
            break;
        }
        first++;
        bool stays = true;
        while (stays && alive && touched(sim, group) > free_blocks(sim)) {
            int64_t victim = first < queue.count ? queue.at[--queue.count] : index;
            *someone_went = true;
            alive = preempt(sim, victim);
            stays = victim != index;
        }
        if (!stays || !alive) {
            continue;
        }
        append_all(sim, group);
        schedule(sim, index, tokens, group->is_prompt ? 4 : 3);
        sim->seats += sim->in->is_chunked ? seats_of(group) : 0;
    }
    for (int64_t i = first; i < queue.count; i++) {
        sim->groups[queue.at[i]].role = 0;
        sim->seats += sim->in->is_chunked ? seats_of(&sim->groups[queue.at[i]]) : 0;
        add(&sim->running, queue.at[i]);
    }
    free(queue.at);
    return alive;
}

static void ignore(struct sim *sim, int64_t index)
{
    struct group *group = &sim->groups[index];
    for (int64_t i = 0; i < group->in->answers; i++) {
        group->seqs[i].lives = false;
        group->seqs[i].blocks = 0;
    }
    group->status = DONE;
    sim->out->ignored++;
}

// New blocks for the old ones, one for one.
static void load_tables(struct sim *sim, struct group *group)
{
    int64_t most = 0;
    for (int64_t i = 0; i < group->in->answers; i++) {
        for (int64_t b = 0; b < group->seqs[i].blocks; b++) {
            most = group->seqs[i].table[b] + 1 > most ? group->seqs[i].table[b] + 1 : most;
        }
    }
    int64_t *to = calloc((size_t)most + 1, sizeof *to);
    if (to == NULL) {
        abort();
    }
    for (int64_t i = 0; i < group->in->answers; i++) {
        for (int64_t b = 0; b < group->seqs[i].blocks; b++) {
            int64_t *block = &group->seqs[i].table[b];
            if (to[*block] == 0) {
                to[*block] = take_block(sim) + 1;
            } else {
                sim->holders[to[*block] - 1]++;
            }
            *block = to[*block] - 1;
        }
    }
    free(to);
}

static bool swap_in(struct sim *sim)
{
    bool changed = false;
    while (sim->swapped.count > 0) {
        int64_t index = sim->swapped.at[0];
        struct group *group = &sim->groups[index];
        int64_t wanted = full_blocks_for(sim, &sim->cache, group) + touched(sim, group);
        int64_t blocks = different_blocks(sim, group, false);
        if (sim->in->num_blocks < wanted) {
            drop_at(&sim->swapped, 0);
            sim->host -= blocks;
            if (sim->in->has_cache) {
                ref_v0_cache_free(&sim->host_cache, group->seqs[0].table, blocks, 0);
            }
            ignore(sim, index);
            changed = true;
            continue;
        }
        int64_t tokens = group->is_prompt ? remaining(group) : running_seqs(group);
        if (free_blocks(sim) - wanted < sim->in->watermark_blocks || tokens > sim->budget ||
            sim->seats + seats_of(group) > sim->in->max_num_seqs) {
            break;
        }
        drop_at(&sim->swapped, 0);
        sim->host -= blocks;
        sim->moved += blocks;
        if (sim->in->has_cache) {
            move_table(&sim->host_cache, &sim->cache, &group->seqs[0], group->in->tokens);
        } else {
            load_tables(sim, group);
        }
        append_all(sim, group);
        group->status = RUNNING;
        schedule(sim, index, tokens, group->is_prompt ? 2 : 1);
        sim->seats += seats_of(group);
        add(&sim->back, index);
    }
    return changed;
}

// Tokens that a waiting request does not compute, as they were counted when it was first looked at.
static int64_t cached_tokens(struct sim *sim, struct group *group)
{
    int64_t known = group->in->prompt + first_living(group)->outputs;
    if (sim->in->has_cache && !group->was_looked_up) {
        group->found = sim->in->block_size * ref_v0_cache_find(&sim->cache, group->in->tokens,
                                                               known / sim->in->block_size);
        group->was_looked_up = true;
    }
    if (!sim->in->has_cache) {
        return 0;
    }
    return group->found == known ? known - 1 : group->found;
}

static void count_hits(struct sim *sim, const struct group *group, int64_t known, int64_t cached)
{
    struct ref_v0_output *out = sim->out;
    int64_t blocks = known / sim->in->block_size;
    if (sim->in->has_cache) {
        out->hit_tokens += cached;
        out->lookup_tokens += known;
        out->stale +=
            ref_v0_cache_find(&sim->cache, group->in->tokens, blocks) * sim->in->block_size <
                    group->found
                ? 1
                : 0;
    }
}

static bool schedule_prompts(struct sim *sim)
{
    const struct ref_v0_input *in = sim->in;
    bool changed = false;
    while (sim->waiting.count > 0) {
        int64_t index = sim->waiting.at[0];
        struct group *group = &sim->groups[index];
        int64_t known = group->in->prompt + first_living(group)->outputs,
                need = cdiv(known, in->block_size), cached = cached_tokens(sim, group);
        int64_t longest = in->max_model_len, tokens = known - cached;
        if (in->is_chunked) {
            int64_t left = whole_blocks(sim, sim->budget);
            tokens = tokens < left ? tokens : left;
        } else {
            longest = in->budget < longest ? in->budget : longest;
        }
        if (tokens + cached > longest || in->num_blocks - need < in->watermark_blocks) {
            drop_at(&sim->waiting, 0);
            ignore(sim, index);
            changed = true;
            continue;
        }
        if (free_blocks(sim) - need < in->watermark_blocks || tokens <= 0 || tokens > sim->budget ||
            sim->seats + seats_of(group) > in->max_num_seqs) {
            break;
        }
        drop_at(&sim->waiting, 0);
        struct seq *seq = first_living(group);
        count_hits(sim, group, known, cached);
        allocate(sim, seq, group->in->tokens, known);
        seq->placed = known;
        seq->cached = cached;
        group->prompt = known;
        group->is_prompt = true;
        group->status = RUNNING;
        schedule(sim, index, tokens, 5);
        sim->seats += seats_of(group);
        add(&sim->admitted, index);
    }
    return changed;
}

// Key of one request above that of another: less urgent.
static bool is_above(const struct sim *sim, int64_t a, int64_t b)
{
    const struct ref_v0_request *x = sim->groups[a].in, *y = sim->groups[b].in;
    return x->priority != y->priority ? x->priority > y->priority
                                      : x->arrival_ticks > y->arrival_ticks;
}

// Neighbours in the wrong order change places until there are none: equals stay as they are.
static void sort(const struct sim *sim, struct list *list)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t i = 0; i + 1 < list->count; i++) {
            if (is_above(sim, list->at[i], list->at[i + 1])) {
                int64_t other = list->at[i];
                list->at[i] = list->at[i + 1];
                list->at[i + 1] = other;
                changed = true;
            }
        }
    }
}

static bool head_fits(struct sim *sim)
{
    struct group *group = &sim->groups[sim->waiting.at[0]];
    int64_t known = group->in->prompt + first_living(group)->outputs;
    return free_blocks(sim) - cdiv(known, sim->in->block_size) >= sim->in->watermark_blocks &&
           known - cached_tokens(sim, group) <= sim->budget &&
           sim->seats + seats_of(group) <= sim->in->max_num_seqs;
}

// The head of the queue, as the queue is, makes the least urgent go; then the queue is sorted.
static void make_way(struct sim *sim)
{
    struct list *running = &sim->running, went = {0};
    sort(sim, running);
    while (sim->waiting.count > 0 && running->count > 0 &&
           is_above(sim, running->at[running->count - 1], sim->waiting.at[0]) && !head_fits(sim)) {
        int64_t victim = running->at[--running->count];
        sim->seats -= seats_of(&sim->groups[victim]);
        preempt(sim, victim);
        sim->out->made_way++;
        add(&went, victim);
    }
    for (int64_t i = 0; i < went.count; i++) {
        add_first(&sim->waiting, went.at[i]);
    }
    free(went.at);
    sort(sim, &sim->waiting);
}

// The running list anew: by kind of what everyone did, in the order in which it was done.
static void make_running(struct sim *sim)
{
    struct list left = sim->running, fresh = {0};
    for (int64_t i = 0; i < left.count; i++) {
        add(&fresh, left.at[i]);
    }
    static const int64_t whole[] = {5, 3, 4, 1, 2}, chunked[] = {1, 2, 3, 4, 5};
    const int64_t *order = sim->in->is_chunked ? chunked : whole;
    for (int64_t kind = 0; kind < 5; kind++) {
        for (int64_t i = 0; i < sim->scheduled.count; i++) {
            if (sim->groups[sim->scheduled.at[i]].role == order[kind]) {
                add(&fresh, sim->scheduled.at[i]);
            }
        }
    }
    free(left.at);
    sim->running = fresh;
}

enum turn { NOTHING, CHANGED, STEP, DIED, CIRCLES };

static enum turn take_turn(struct sim *sim)
{
    bool went = false, changed = false;
    int64_t preempted = sim->preempted.count, gone = sim->gone.count;
    sim->budget = sim->in->budget;
    sim->seats = 0;
    sim->scheduled.count = sim->admitted.count = sim->back.count = 0;
    for (int64_t i = 0; i < sim->running.count && !sim->in->is_chunked; i++) {
        sim->seats += seats_of(&sim->groups[sim->running.at[i]]);
    }
    if (!sim->in->is_chunked && sim->swapped.count == 0) {
        changed = schedule_prompts(sim);
    }
    if (sim->admitted.count == 0 && sim->in->by_priority) {
        make_way(sim);
        went = sim->preempted.count > preempted;
        preempted = sim->preempted.count;
    }
    if (sim->admitted.count == 0) {
        if (!schedule_running(sim, &went)) {
            return DIED;
        }
        changed = (!went && swap_in(sim)) || changed;
    }
    if (sim->in->is_chunked) {
        changed = schedule_prompts(sim) || changed;
    }
    make_running(sim);
    for (int64_t i = preempted; i < sim->preempted.count; i++) {
        add_first(&sim->waiting, sim->preempted.at[i]);
    }
    for (int64_t i = gone; i < sim->gone.count; i++) {
        add(&sim->swapped, sim->gone.at[i]);
    }
    // Prompts that fill the pool can throw each other out for ever.
    sim->thrown_out = sim->output_tokens == sim->out->output_tokens ? sim->thrown_out : 0;
    sim->output_tokens = sim->out->output_tokens;
    sim->thrown_out += went ? 1 : 0;
    if (sim->thrown_out > 1000) {
        return CIRCLES;
    }
    return sim->scheduled.count > 0 ? STEP : went || changed ? CHANGED : NOTHING;
}

/* ---- a step ---- */

static bool is_decode(const struct group *group, int64_t tokens)
{
    if (!group->is_prompt) {
        return true;
    }
    // The last token of a computation that began anew, and an output: counts as a decode.
    return tokens == 1 && remaining(group) == 1 && group->prompt > group->in->prompt;
}

static void print_ids(struct sim *sim, const struct list *list)
{
    print(sim, " |");
    for (int64_t i = 0; i < list->count; i++) {
        print(sim, " %lld", (long long)list->at[i]);
    }
}

// In the order of V0's batch: prompts before decodes where both are in it.
static void print_scheduled(struct sim *sim)
{
    static const int64_t chunked[] = {5, 4, 2, 3, 1};
    for (int64_t kind = 0; kind < 5; kind++) {
        for (int64_t i = 0; i < sim->scheduled.count; i++) {
            const struct group *group = &sim->groups[sim->scheduled.at[i]];
            if (sim->in->is_chunked ? group->role == chunked[kind] : kind == 0) {
                print(sim, " %lld:%lld", (long long)sim->scheduled.at[i], (long long)group->tokens);
            }
        }
    }
}

// Whoever is scheduled has its tokens from here on.
static int64_t compute(struct sim *sim)
{
    int64_t ticks = sim->in->a;
    sim->steps++;
    if (sim->in->has_cache) {
        ref_v0_cache_compute(&sim->cache);
    }
    for (int64_t i = 0; i < sim->scheduled.count; i++) {
        struct group *group = &sim->groups[sim->scheduled.at[i]];
        group->seqs[0].used = sim->steps;
        bool decodes = is_decode(group, group->tokens);
        ticks += group->tokens * (decodes ? sim->in->c : sim->in->b);
        sim->out->computed += group->tokens;
        for (int64_t s = 0; s < group->in->answers; s++) {
            struct seq *seq = &group->seqs[s];
            if (seq->blocks > 0) {
                seq->cached += group->is_prompt ? group->tokens : 1;
                ticks += sim->in->d * seq->cached;
            }
        }
    }
    return ticks;
}

static void print_state(struct sim *sim)
{
    int64_t bs = sim->in->block_size, lower = 0, reserved = 0, held = 0, used = 0;
    for (int64_t i = 0; i < sim->running.count; i++) {
        const struct group *group = &sim->groups[sim->running.at[i]];
        for (int64_t s = 0; s < group->in->answers; s++) {
            const struct seq *seq = &group->seqs[s];
            lower += seq->blocks > 0 ? seq->cached : 0;
            reserved += seq->blocks > 0 ? (seq->blocks - cdiv(seq->cached, bs)) * bs : 0;
            held += seq->blocks;
        }
    }
    used = sim->in->num_blocks - free_blocks(sim);
    print(sim, " | %lld %lld %lld %lld", (long long)sim->running.count,
          (long long)sim->waiting.count, (long long)free_blocks(sim), (long long)used);
    print(sim, " | %lld %lld", (long long)lower, (long long)(held * bs - lower - reserved));
    print(sim, " %lld %lld", (long long)reserved, (long long)((held - used) * bs));
    if (sim->in->has_cache) {
        print(sim, " %lld", (long long)(ref_v0_cache_idle(&sim->cache) * bs));
    }
}

static void end_seq(struct sim *sim, struct group *group, struct seq *seq)
{
    int64_t longest = sim->in->max_model_len + 1 - group->in->prompt;
    int64_t end = group->in->outputs[seq - group->seqs];
    end = end < longest ? end : longest > 1 ? longest : 1;
    if (seq->outputs >= end) {
        seq->lives = false;
        free_table(sim, seq);
    }
}

// As the engine does it: a beam with continuations goes on as itself; for its others, places of beams without any are taken.
static int64_t place_after(const int64_t *parents, int64_t answers, int64_t place)
{
    int64_t children[REF_V0_ANSWERS] = {0}, lost = 0;
    for (int64_t i = 0; i < answers; i++) {
        children[parents[i]]++;
    }
    for (int64_t i = 0; i < place; i++) {
        lost += children[i] == 0 ? 1 : 0;
    }
    for (int64_t i = 0; i < answers && children[place] == 0; i++) {
        int64_t others = children[i] > 1 ? children[i] - 1 : 0;
        if (lost < others) {
            return i;
        }
        lost -= others;
    }
    return place;
}

// New tables first; the old ones are given up once all are copied.
static void choose_beams(struct sim *sim, struct group *group)
{
    const int64_t *parents = group->in->parents;
    int64_t token = group->seqs[0].outputs - 1, answers = group->in->answers;
    struct seq old[REF_V0_ANSWERS];
    if (parents == NULL || living(group) == 0 || token == 0) {
        return;
    }
    memcpy(old, group->seqs, sizeof old);
    for (int64_t i = 0; i < answers; i++) {
        struct seq *seq = &group->seqs[i];
        const struct seq *parent = &old[place_after(&parents[token * answers], answers, i)];
        seq->table = grow(NULL, (size_t)parent->blocks * sizeof *seq->table);
        memcpy(seq->table, parent->table, (size_t)parent->blocks * sizeof *seq->table);
        for (int64_t b = 0; b < parent->blocks; b++) {
            sim->holders[seq->table[b]]++;
        }
    }
    for (int64_t i = 0; i < answers; i++) {
        free_table(sim, &old[i]);
        free(old[i].table);
    }
}

static void deliver(struct sim *sim, struct group *group)
{
    if (group->has_given_up) {
        return; // the token is lost
    }
    if (group->is_prompt && remaining(group) > 0) {
        return;
    }
    const struct seq *parent = first_living(group);
    for (int64_t s = 1; s < group->in->answers && !group->is_forked; s++) {
        struct seq *child = &group->seqs[s];
        child->table = grow(child->table, (size_t)parent->blocks * sizeof *child->table);
        memcpy(child->table, parent->table, (size_t)parent->blocks * sizeof *child->table);
        child->blocks = parent->blocks;
        child->placed = parent->placed;
        child->cached = parent->cached;
        for (int64_t b = 0; b < child->blocks; b++) {
            sim->holders[child->table[b]]++;
        }
    }
    group->is_forked = true;
    group->is_prompt = false;
    for (int64_t s = 0; s < group->in->answers; s++) {
        struct seq *seq = &group->seqs[s];
        if (seq->lives) {
            seq->outputs++;
            sim->out->output_tokens++;
            end_seq(sim, group, seq);
        }
    }
    choose_beams(sim, group);
    if (living(group) == 0) {
        group->status = DONE;
        sim->out->completed++;
    }
}

static int64_t gives_up_at(const struct group *group)
{
    bool waits = group->status != DONE && !group->has_given_up;
    return waits && group->in->gives_up_ticks > 0
               ? group->in->arrival_ticks + group->in->gives_up_ticks
               : INT64_MAX;
}

// Whose client has gone by now.
static void note_given_up(struct sim *sim, int64_t now)
{
    for (int64_t i = 0; i < sim->in->count; i++) {
        bool goes = gives_up_at(&sim->groups[i]) <= now;
        sim->groups[i].has_given_up = sim->groups[i].has_given_up || goes;
    }
}

static void drop(struct list *list, int64_t index)
{
    for (int64_t i = list->count - 1; i >= 0; i--) {
        if (list->at[i] == index) {
            drop_at(list, i);
        }
    }
}

// The one whose client went first, of those that the engine still has; -1: none.
static int64_t next_to_take_out(const struct sim *sim)
{
    int64_t first = -1, first_at = INT64_MAX;
    for (int64_t i = 0; i < sim->in->count; i++) {
        const struct ref_v0_request *in = sim->groups[i].in;
        int64_t at = in->arrival_ticks + in->gives_up_ticks;
        if (sim->groups[i].has_given_up && sim->groups[i].status != DONE && at < first_at) {
            first = i;
            first_at = at;
        }
    }
    return first;
}

static void take_out_given_up(struct sim *sim, int64_t now)
{
    note_given_up(sim, now);
    for (int64_t i; (i = next_to_take_out(sim)) >= 0;) {
        drop(&sim->waiting, i);
        drop(&sim->running, i);
        free_table(sim, &sim->groups[i].seqs[0]);
        sim->groups[i].seqs[0].lives = false;
        sim->groups[i].status = DONE;
        sim->out->given_up++;
    }
}

static int64_t take_step(struct sim *sim, int64_t now)
{
    int64_t start = now, ticks = compute(sim) + sim->moved * sim->in->swap_ticks;
    sim->out->swapped_blocks += sim->moved;
    sim->moved = 0;
    print(sim, "%lld %lld", (long long)(start >> 20), (long long)((start + ticks) >> 20));
    print_scheduled(sim);
    print_ids(sim, &sim->admitted);
    print_ids(sim, &sim->preempted);
    print_ids(sim, &sim->gone);
    print_ids(sim, &sim->back);
    print_state(sim);
    note_given_up(sim, start + ticks - 1);
    for (int64_t i = 0; i < sim->running.count; i++) { // whoever ends is freed in this order
        if (has(&sim->scheduled, sim->running.at[i])) {
            deliver(sim, &sim->groups[sim->running.at[i]]);
        }
    }
    for (int64_t i = 0; i < sim->running.count;) {
        if (sim->groups[sim->running.at[i]].status == DONE) {
            drop_at(&sim->running, i);
        } else {
            i++;
        }
    }
    print(sim, " | %lld %lld\n", (long long)sim->running.count, (long long)free_blocks(sim));
    sim->preempted.count = sim->gone.count = 0;
    return start + ticks;
}

static void run(struct sim *sim)
{
    int64_t now = 0, next = 0;
    for (;;) {
        while (next < sim->in->count && sim->in->requests[next].arrival_ticks <= now) {
            add(&sim->waiting, next++);
        }
        take_out_given_up(sim, now);
        enum turn turn = take_turn(sim);
        if (turn == DIED || turn == CIRCLES) {
            sim->out->end = turn == DIED ? REF_V0_DIED : REF_V0_STUCK;
            return;
        }
        if (turn == STEP) {
            int64_t end = take_step(sim, now);
            while (next < sim->in->count && sim->in->requests[next].arrival_ticks <= end) {
                add(&sim->waiting, next++);
            }
            now = end;
        } else if (turn == NOTHING) {
            int64_t then =
                next < sim->in->count ? sim->in->requests[next].arrival_ticks : INT64_MAX;
            for (int64_t i = 0; i < next; i++) {
                int64_t at = gives_up_at(&sim->groups[i]);
                then = at < then ? at : then;
            }
            if (then == INT64_MAX) {
                break;
            }
            now = then;
        }
    }
    if (sim->out->completed + sim->out->ignored + sim->out->given_up < sim->in->count) {
        sim->out->end = REF_V0_STUCK;
    }
}

void ref_v0_run(const struct ref_v0_input *input, struct ref_v0_output *out)
{
    struct sim sim = {.in = input, .out = out};
    *out = (struct ref_v0_output){.end = REF_V0_DONE};
    sim.groups = calloc((size_t)input->count + 1, sizeof *sim.groups);
    sim.holders = calloc((size_t)input->num_blocks + 1, sizeof *sim.holders);
    sim.cache.blocks = calloc((size_t)input->num_blocks + 1, sizeof *sim.cache.blocks);
    int64_t host_blocks = input->has_cache ? input->swap_blocks : 0;
    sim.host_cache.blocks = calloc((size_t)host_blocks + 1, sizeof *sim.host_cache.blocks);
    if (sim.groups == NULL || sim.holders == NULL || sim.cache.blocks == NULL ||
        sim.host_cache.blocks == NULL) {
        abort();
    }
    sim.cache.count = input->num_blocks;
    sim.host_cache.count = host_blocks;
    sim.cache.block_size = sim.host_cache.block_size = input->block_size;
    for (int64_t i = 0; i < input->count; i++) {
        sim.groups[i].in = &input->requests[i];
        sim.groups[i].is_forked = input->requests[i].answers == 1;
        sim.groups[i].is_prompt = true;
        for (int64_t s = 0; s < input->requests[i].answers; s++) {
            sim.groups[i].seqs[s].lives = true;
        }
    }
    run(&sim);
    out->evicted_blocks = sim.cache.evicted;
    for (int64_t i = 0; i < input->count; i++) {
        for (int64_t s = 0; s < REF_V0_ANSWERS; s++) {
            free(sim.groups[i].seqs[s].table);
        }
    }
    free(sim.groups);
    free(sim.holders);
    free(sim.cache.blocks);
    free(sim.host_cache.blocks);
    free(sim.waiting.at);
    free(sim.running.at);
    free(sim.swapped.at);
    free(sim.admitted.at);
    free(sim.preempted.at);
    free(sim.gone.at);
    free(sim.back.at);
    free(sim.scheduled.at);
    print(&sim, "%s", "");
    out->steps = sim.text;
}
