/*
 * The radix tree against recorded schedules of SGLang: who is admitted, computes how many tokens and is retracted is read from
 * the case; what the tree then finds, holds, shares and lets go must be what the case says at every step.
 *
 * The scheduler's part in this is here in few words. A chunk enters as the next step is decided, a whole prompt and an answer
 * as results come in. A prefill asks for its tokens, and with pages of several for a page more per request; a decode for a page
 * per request; a retraction for 20 tokens per survivor. Where fewer are free, as many as were asked for are evicted. With
 * overlap the results of a step come in when the next one has been decided: a request that is done by then has
 * a slot more, which enters too.
 */
#include "kv/radix.h"
#include "support/json.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS_MAX = 16, RUNS_MAX = 8, RETRACT_TOKENS = 20 };

static const char *const cases[] = {
    "41-sglang-default", "43-sglang-retract-pages", "45-sglang-page-4",
    "47-sglang-lpm",     "49-sglang-unchunked",     "51-sglang-overlap-retract",
};

enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

struct request {
    const char *id;
    struct spec_token_run runs[RUNS_MAX];
    struct kv_content content;
    int64_t prompt, arrival_ns, answer; /* answer: tokens that the case says it had in the end */
    int64_t computed, outputs,
        prefill;         /* prefill: tokens as it was admitted; computed: or in flight */
    int64_t found, life; /* tokens, in all; retractions */
    size_t turn;         /* place in the queue */
    bool is_running, is_done;
    struct kv_radix_seq seq;
};

/* Tokens of a step whose results have not come in. */
struct item {
    struct request *request;
    int64_t computed, life;
};

struct step {
    struct item items[REQUESTS_MAX];
    size_t count;
};

struct replay {
    const char *name;
    int64_t page, pages;
    int64_t seats, chunk; /* chunk: 0 = none */
    bool is_lpm, overlaps;
    size_t turns;
    struct step in_flight;
    struct request requests[REQUESTS_MAX];
    size_t count;
    struct kv_radix radix;
};

/* ---- the case ---- */

static int64_t answer_of(const struct json_value *expected, const char *id)
{
    const struct json_value *requests = json_get(expected, "requests");
    for (size_t i = 0; i < requests->count; i++) {
        const char *name = requests->kind == JSON_OBJECT ? requests->keys[i]
                                                         : json_text(&requests->items[i], "id", "");
        if (strcmp(name, id) == 0) {
            return json_int(&requests->items[i], "output_tokens", 0);
        }
    }
    ck_abort_msg("no request %s", id);
}

static void read_request(const struct json_value *root, size_t index, struct request *out)
{
    const struct json_value *in = &json_get(json_get(root, "input"), "workload")->items[index];
    const struct json_value *ranges = json_get(in, "prompt_ranges");
    *out = (struct request){.id = json_text(in, "id", ""),
                            .arrival_ns = json_int(in, "arrival_ns", 0)};
    ck_assert_uint_lt(ranges->count, RUNS_MAX);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct json_value *range = ranges->items[i].items;
        out->runs[i] = (struct spec_token_run){json_to_int(&range[0]), json_to_int(&range[1])};
        out->prompt += out->runs[i].count;
    }
    out->answer = answer_of(json_get(root, "expected"), out->id);
    out->runs[ranges->count] =
        (struct spec_token_run){1000000000 + 100000 * (int64_t)index, out->answer};
    out->content = (struct kv_content){out->runs, ranges->count + 1, out->prompt + out->answer};
}

static void begin(struct replay *replay, const char *name, const struct json_value *root)
{
    const struct json_value *engine = json_get(json_get(root, "input"), "engine");
    *replay = (struct replay){.name = name,
                              .page = json_int(engine, "page_size", 0),
                              .pages = json_int(engine, "num_blocks", 0)};
    replay->is_lpm = strcmp(json_text(engine, "schedule_policy", ""), "lpm") == 0;
    replay->seats = json_int(engine, "max_running_requests", 0);
    replay->chunk = json_int(engine, "chunked_prefill_size", 0);
    replay->overlaps = json_bool(engine, "overlap", false);
    replay->count = json_get(json_get(root, "input"), "workload")->count;
    ck_assert_uint_le(replay->count, REQUESTS_MAX);
    for (size_t i = 0; i < replay->count; i++) {
        read_request(root, i, &replay->requests[i]);
        replay->requests[i].content.runs = replay->requests[i].runs;
        replay->requests[i].turn = replay->turns++;
    }
    kv_radix_init(&replay->radix, replay->page, replay->pages, KV_EVICT_LRU);
}

static struct request *request_of(struct replay *replay, const char *id)
{
    for (size_t i = 0; i < replay->count; i++) {
        if (strcmp(replay->requests[i].id, id) == 0) {
            return &replay->requests[i];
        }
    }
    ck_abort_msg("no request %s", id);
}

/* ---- what the scheduler does with the tree ---- */

static int64_t pages_for(const struct replay *replay, int64_t tokens)
{
    return (tokens + replay->page - 1) / replay->page;
}

static void ask(struct replay *replay, int64_t tokens)
{
    if (replay->radix.blank_blocks * replay->page < tokens) {
        kv_radix_evict(&replay->radix, pages_for(replay, tokens));
    }
}

static void enter_chunk(struct replay *replay)
{
    for (size_t i = 0; i < replay->count; i++) {
        struct request *request = &replay->requests[i];
        if (request->is_running && request->computed < request->prefill) {
            kv_radix_enter(&replay->radix, &request->seq, request->computed / replay->page, true);
        }
    }
}

static void admit(struct replay *replay, struct request *request)
{
    struct kv_radix_match match;
    request->prefill = request->prompt + request->outputs;
    kv_radix_match(&replay->radix, &request->content, (request->prefill - 1) / replay->page,
                   &match);
    request->seq = (struct kv_radix_seq){.content = &request->content};
    kv_radix_hold(&replay->radix, &request->seq, &match);
    request->computed = match.blocks * replay->page;
    request->found += request->computed;
    request->is_running = true;
}

static void retract(struct replay *replay, const struct json_value *step)
{
    const struct json_value *victims = json_get(step, "preempted");
    int64_t survivors = (int64_t)(json_get(step, "scheduled")->count + victims->count);
    for (size_t i = 0; i < victims->count; i++) {
        struct request *victim = request_of(replay, victims->items[i].text);
        kv_radix_throw_out(&replay->radix, &victim->seq, pages_for(replay, victim->computed));
        victim->is_running = false;
        victim->life++;
        victim->turn = replay->turns++;
        ask(replay, --survivors * RETRACT_TOKENS);
    }
}

static void look_up(struct replay *replay, const struct request *request, int64_t tokens)
{
    struct kv_radix_match match;
    kv_radix_match(&replay->radix, &request->content, tokens / replay->page, &match);
}

static bool waits(const struct request *request, int64_t now)
{
    return !request->is_running && !request->is_done && request->arrival_ns <= now;
}

/* Under fcfs the next in the queue is tried, unless a request that was just admitted has used the chunk up. */
static void look_next_up(struct replay *replay, const struct json_value *step)
{
    const struct json_value *scheduled = json_get(step, "scheduled");
    int64_t tokens = 0, now = json_int(step, "sched_ns", 0);
    for (size_t i = 0; i < scheduled->count; i++) {
        tokens += json_to_int(&scheduled->items[i]);
    }
    bool is_over = json_get(step, "admitted")->count > 0 && tokens == replay->chunk;
    if (replay->is_lpm || is_over || json_int(step, "running", 0) >= replay->seats) {
        return;
    }
    const struct request *next = NULL;
    for (size_t i = 0; i < replay->count; i++) {
        const struct request *request = &replay->requests[i];
        next = waits(request, now) && (next == NULL || request->turn < next->turn) ? request : next;
    }
    if (next != NULL) {
        look_up(replay, next, next->prompt + next->outputs - 1);
    }
}

/* Under lpm all that wait are looked up before a prefill is put together. */
static void look_all_up(struct replay *replay, int64_t now)
{
    for (size_t i = 0; i < replay->count && replay->is_lpm; i++) {
        const struct request *request = &replay->requests[i];
        if (waits(request, now)) {
            look_up(replay, request, request->prompt + request->outputs);
        }
    }
}

static bool is_prefill(struct replay *replay, const struct json_value *step)
{
    const struct json_value *scheduled = json_get(step, "scheduled");
    const struct request *first = request_of(replay, scheduled->keys[0]);
    return !first->is_running || first->computed < first->prefill;
}

static void take(struct replay *replay, const struct json_value *step, bool prefills)
{
    const struct json_value *scheduled = json_get(step, "scheduled");
    int64_t asked = 0, pages = 0, due = 0;
    for (size_t i = 0; i < scheduled->count; i++) {
        const struct request *request = request_of(replay, scheduled->keys[i]);
        int64_t tokens = json_to_int(&scheduled->items[i]);
        int64_t more =
            pages_for(replay, request->computed + tokens) - pages_for(replay, request->computed);
        asked += (prefills ? tokens : 0) + (replay->page > 1 || !prefills ? replay->page : 0);
        pages += more;
        due += more * replay->page;
    }
    if (!prefills) {
        ask(replay, due); // can the step be done at all?
    }
    ask(replay, asked);
    ck_assert_int_le(pages, replay->radix.blank_blocks);
    kv_radix_take(&replay->radix, pages);
}

static void decide(struct replay *replay, const struct json_value *step)
{
    enter_chunk(replay);
    const struct json_value *admitted = json_get(step, "admitted");
    bool prefills = is_prefill(replay, step);
    if (prefills) {
        look_all_up(replay, json_int(step, "sched_ns", 0));
    }
    for (size_t i = 0; i < admitted->count; i++) {
        admit(replay, request_of(replay, admitted->items[i].text));
    }
    if (prefills) {
        look_next_up(replay, step);
    }
    retract(replay, step);
    take(replay, step, prefills);
}

static void launch(struct replay *replay, const struct json_value *step)
{
    const struct json_value *scheduled = json_get(step, "scheduled");
    struct step *flight = &replay->in_flight;
    flight->count = 0;
    for (size_t i = 0; i < scheduled->count; i++) {
        struct request *request = request_of(replay, scheduled->keys[i]);
        request->computed += json_to_int(&scheduled->items[i]);
        flight->items[flight->count++] = (struct item){request, request->computed, request->life};
    }
}

static void deliver(struct replay *replay, const struct item *item)
{
    struct request *request = item->request;
    bool is_over = request->is_done || item->life != request->life;
    if (is_over || item->computed < request->prefill) {
        return;
    }
    request->outputs++;
    if (request->outputs == request->answer) {
        kv_radix_end(&replay->radix, &request->seq, request->computed / replay->page,
                     pages_for(replay, request->computed));
        request->is_running = false;
        request->is_done = true;
    } else if (item->computed == request->prefill) {
        kv_radix_enter(&replay->radix, &request->seq, request->prefill / replay->page, false);
    }
}

static void deliver_all(struct replay *replay, const struct step *step)
{
    for (size_t i = 0; i < step->count; i++) {
        deliver(replay, &step->items[i]);
    }
}

/* ---- comparison ---- */

static void same(const struct replay *replay, size_t step, const char *what, int64_t expected,
                 int64_t found)
{
    ck_assert_msg(expected == found, "%s, step %zu: %s: expected %lld, found %lld", replay->name,
                  step + 1, what, (long long)expected, (long long)found);
}

static void check_found(struct replay *replay, size_t index, const struct json_value *step)
{
    const struct json_value *scheduled = json_get(step, "scheduled");
    for (size_t i = 0; i < scheduled->count; i++) {
        const struct request *request = request_of(replay, scheduled->keys[i]);
        int64_t tokens = json_to_int(&scheduled->items[i]);
        // The last chunk ends where the prompt does only if what was found is right.
        ck_assert_msg(
            request->computed + tokens <= request->prefill || request->computed >= request->prefill,
            "%s, step %zu: %s computes more than it lacks", replay->name, index + 1, request->id);
    }
}

static void check_step(struct replay *replay, size_t index, const struct json_value *step)
{
    const struct kv_radix *radix = &replay->radix;
    decide(replay, step);
    check_found(replay, index, step);
    same(replay, index, "free", json_int(step, "free_blocks", -1), radix->blank_blocks);
    same(replay, index, "cached", json_int(step, "cached_idle_blocks", -1), radix->idle_blocks);
    same(replay, index, "used", json_int(step, "used_blocks", -1),
         replay->pages - kv_radix_free_blocks(radix));
    same(replay, index, "shared", json_int(json_get(step, "ledger"), "shared", -1),
         radix->shared_blocks * replay->page);
}

static void check_end(struct replay *replay, size_t index, const struct json_value *step)
{
    same(replay, index, "free at the end", json_int(step, "free_blocks_end", -1),
         replay->radix.blank_blocks);
}

static void play(struct replay *replay, const struct json_value *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        struct step former = replay->in_flight;
        check_step(replay, i, &steps->items[i]);
        launch(replay, &steps->items[i]);
        if (!replay->overlaps) {
            deliver_all(replay, &replay->in_flight);
            check_end(replay, i, &steps->items[i]);
        } else if (i > 0) {
            deliver_all(replay, &former);
            check_end(replay, i - 1, &steps->items[i - 1]);
        }
    }
    if (replay->overlaps) {
        deliver_all(replay, &replay->in_flight);
    }
}

static void check_totals(struct replay *replay, const struct json_value *totals)
{
    int64_t found = 0;
    for (size_t i = 0; i < replay->count; i++) {
        ck_assert_msg(replay->requests[i].is_done, "%s: %s is not done", replay->name,
                      replay->requests[i].id);
        found += replay->requests[i].found;
    }
    ck_assert_int_eq(found, json_int(totals, "cached_tokens", -1));
    ck_assert_int_eq(replay->radix.evicted_blocks * replay->page,
                     json_int(totals, "evicted_tokens", -1));
}

static struct json_value *read_case(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/conformance/%s.json", KVSIM_REFERENCE_DATA, name);
    return json_read_file(path);
}

START_TEST(the_tree_does_what_the_schedule_makes_it_do)
{
    struct json_value *root = read_case(cases[_i]);
    ck_assert_ptr_nonnull(root);
    struct replay replay;
    begin(&replay, cases[_i], root);
    const struct json_value *expected = json_get(root, "expected");
    play(&replay, json_get(expected, "steps"));
    check_totals(&replay, json_get(expected, "totals"));
    kv_radix_release(&replay.radix);
    json_free(root);
}
END_TEST

int main(void)
{
    struct json_value *first = read_case(cases[0]);
    if (first == NULL) {
        printf("skipped: no cases in %s/conformance\n", KVSIM_REFERENCE_DATA);
        return 77;
    }
    json_free(first);
    Suite *suite = suite_create("radix tree under recorded schedules");
    TCase *tests = tcase_create("cases");
    tcase_add_loop_test(tests, the_tree_does_what_the_schedule_makes_it_do, 0, CASE_COUNT);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
