/*
 * Beam searches outside the engine: small ones worked by hand, step by step; random ones against the same requests sent one by
 * one, with paths that are written out token by token; and what becomes of those that are cut off.
 */
#include "sched/beams.h"
#include "support/engine_run.h"
#include "support/service.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000000, PROMPT_ID = 5000, ANSWER_ID = 70000, REQUESTS_MAX = 100 };

/* ---- requests from a list ---- */

struct list {
    struct workload_request at[REQUESTS_MAX];
    size_t count, next;
    struct workload_request *follow_up; // of whoever ends first; NULL: none
};

static enum kvsim_status list_next(void *context, struct workload_request *out, bool *more,
                                   struct kvsim_error *err)
{
    (void)err;
    struct list *list = context;
    *more = list->next < list->count;
    if (*more) {
        *out = list->at[list->next];
        out->index = list->next++;
    }
    return KVSIM_OK;
}

static enum kvsim_status list_done(void *context, const struct workload_ended *ended,
                                   struct workload_request *out, bool *more,
                                   struct kvsim_error *err)
{
    (void)err;
    struct list *list = context;
    *more = list->follow_up != NULL;
    if (*more) {
        *out = *list->follow_up;
        out->arrival_ns = ended->at_ns;
        list->follow_up = NULL;
    }
    return KVSIM_OK;
}

static void run_list(const struct serve_config *config, struct list *list, enum serve_mode mode,
                     struct engine_run *run)
{
    struct serve_source source = {list, list_next, list_done};
    struct engine_options options = {.mode = mode,
                                     .request_rows = UINT64_MAX,
                                     .wants_steps = mode == SERVE_STEP,
                                     .source = &source};
    list->next = 0;
    engine_run_config(config, &options, run);
}

static void start_service(struct service *service, int64_t block_tokens, bool has_cache)
{
    service_init(service);
    service_set_pool(service, 101, block_tokens);
    service->config.workload.process = WORKLOAD_TRACE;
    service->config.workload.classes[0].beam_switch = 1;
    service->config.warmup.kind = SERVE_WARMUP_REQUESTS;
    service->config.search_outside = true;
    service->config.sched.enable_prefix_caching = has_cache;
}

static struct workload_request search_of(uint32_t width, int64_t prompt, int64_t tokens,
                                         uint64_t key)
{
    return (struct workload_request){.prompt_tokens = prompt,
                                     .output_tokens = tokens,
                                     .max_tokens = tokens,
                                     .sequence_count = width,
                                     .answer_count = 1,
                                     .is_beam = true,
                                     .beam_key = key};
}

/* ---- by hand ---- */

struct expected_step {
    int64_t prefill_tokens, running, used_blocks;
};

static void check_by_hand(bool has_cache, double beam_switch, uint64_t key,
                          const struct expected_step *expected, int64_t hit_blocks)
{
    struct service service;
    struct engine_run run;
    struct list list = {.at = {search_of(2, 6, 4, key)}, .count = 1};
    start_service(&service, 4, has_cache);
    service.config.workload.classes[0].beam_switch = beam_switch;
    run_list(&service.config, &list, SERVE_STEP, &run);
    ck_assert_uint_eq(run.steps.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct record_step *row = &run.steps.at[i].row;
        ck_assert_int_eq(row->end_ns, (int64_t)(i + 1) * MS);
        ck_assert_int_eq(row->prefill_tokens, expected[i].prefill_tokens);
        ck_assert_int_eq(row->decode_seqs, 0);
        ck_assert_int_eq(row->running, expected[i].running);
        ck_assert_int_eq(row->used_blocks, expected[i].used_blocks);
        ck_assert_uint_eq(row->finished_count, i == 3 ? 1 : 0);
    }
    const struct record_request *row = &run.requests.at[0];
    ck_assert_int_eq(row->ttft_ns, MS);
    ck_assert_int_eq(row->e2e_ns, 4 * MS);
    ck_assert_int_eq(row->tpot_ns, MS);
    ck_assert_int_eq(row->output_tokens, 4);
    ck_assert_int_eq(row->generated_tokens, 8);
    ck_assert_int_eq(row->cause_ns[RECORD_PREFILL], 4 * MS);
    ck_assert_int_eq(row->cached_tokens, hit_blocks * 4);
    ck_assert_int_eq(run.result.output_tokens, 4);
    ck_assert_uint_eq(run.result.engine_requests, 7);
    ck_assert_int_eq(run.result.replicas[0].reuse.hit_blocks, hit_blocks);
    ck_assert_int_eq((int64_t)run.result.classes[0].metric[SPEC_ITL].count, 6);
    engine_run_release(&run);
    service_release(&service);
}

// Blocks of 4, a prompt of 6: each request finds whole blocks, and computes at least its last token.
static const struct expected_step with_cache[] = {
    {6, 1, 2}, // the prompt
    {6, 2, 3}, // 7 tokens each: one block found, 3 tokens left
    {8, 2, 3}, // 8 tokens: the second block would be whole, but not the last token of it is there
    {2, 2, 5}, // 9 tokens: two blocks found, each beam has a second one of its own
};

START_TEST(beams_that_part_share_the_prompt)
{
    check_by_hand(true, 0, 1, with_cache, 8);
}
END_TEST

// Once the third tokens have come both beams go on from one: they have the first two in common.
START_TEST(beams_from_one_share_what_that_one_computed)
{
    struct expected_step together[4];
    uint32_t parents[2] = {0, 1}, scratch[2];
    struct sched_beam_draws draws = {.key = 0, .switches = 1, .width = 2};
    memcpy(together, with_cache, sizeof together);
    together[3].used_blocks = 4;
    while (parents[0] != parents[1]) {
        draws.key++;
        sched_beam_parents(&draws, 3, parents, scratch);
    }
    check_by_hand(true, 1, draws.key, together, 8);
}
END_TEST

START_TEST(without_a_cache_each_step_computes_everything)
{
    static const struct expected_step expected[] = {{6, 1, 2}, {14, 2, 4}, {16, 2, 4}, {18, 2, 6}};
    check_by_hand(false, 1, 1, expected, 0);
}
END_TEST

// One beam is the likeliest answer, token by token: a loop all the same.
START_TEST(one_beam_is_a_loop_too)
{
    static const int64_t computed[] = {6, 3, 4, 1};
    struct service service;
    struct engine_run run;
    struct list list = {.at = {search_of(1, 6, 4, 1)}, .count = 1};
    start_service(&service, 4, true);
    run_list(&service.config, &list, SERVE_STEP, &run);
    ck_assert_uint_eq(run.steps.count, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(run.steps.at[i].row.prefill_tokens, computed[i]);
    }
    ck_assert_int_eq(run.requests.at[0].generated_tokens, 4);
    ck_assert_uint_eq(run.requests.at[0].sequences, 1);
    ck_assert_uint_eq(run.result.engine_requests, 4);
    engine_run_release(&run);
    service_release(&service);
}
END_TEST

/* ---- the same requests, one by one ---- */

static uint64_t drawn(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

enum { WIDTH_MAX = 5, TOKENS_MAX = 12 };

// Every token of every beam, by hand.
struct tree {
    struct spec_token_run runs[TOKENS_MAX][WIDTH_MAX]
                              [TOKENS_MAX + 1]; // [tokens]: prompt, then each
};

static void grow_tree(const struct sched_beam_draws *draws, int64_t prompt, int64_t tokens,
                      struct tree *tree)
{
    uint32_t parents[WIDTH_MAX], scratch[WIDTH_MAX];
    int64_t next_id = PROMPT_ID * 10;
    for (int64_t t = 0; t < tokens; t++) {
        if (t > 1) {
            sched_beam_parents(draws, t, parents, scratch);
        }
        for (uint32_t beam = 0; beam < draws->width; beam++) {
            struct spec_token_run *runs = tree->runs[t][beam];
            runs[0] = (struct spec_token_run){PROMPT_ID, prompt};
            for (int64_t i = 1; i < t; i++) {
                runs[i] = tree->runs[t - 1][parents[beam]][i];
            }
            runs[t] = t > 0 ? (struct spec_token_run){next_id += 3, 1} : runs[0];
        }
    }
}

static int64_t latest_finish(const struct engine_run *run)
{
    int64_t latest = 0;
    for (size_t i = 0; i < run->requests.count; i++) {
        int64_t finish = run->requests.at[i].finish_ns;
        latest = finish > latest ? finish : latest;
    }
    return latest;
}

// Step by step: the requests of each arrive when the last one of the step before has ended.
static void run_one_by_one(const struct serve_config *config, const struct tree *tree,
                           uint32_t width, int64_t prompt, int64_t tokens, struct engine_run *run)
{
    struct list list = {.count = 0};
    int64_t at = 0;
    for (int64_t t = 0; t < tokens; t++) {
        for (uint32_t beam = 0; beam < (t == 0 ? 1 : width); beam++) {
            list.at[list.count++] = (struct workload_request){.arrival_ns = at,
                                                              .prompt_tokens = prompt + t,
                                                              .output_tokens = 1,
                                                              .max_tokens = 1,
                                                              .sequence_count = 1,
                                                              .runs = tree->runs[t][beam],
                                                              .run_count = (size_t)t + 1};
        }
        run_list(config, &list, SERVE_STEP, run);
        at = latest_finish(run);
        if (t + 1 < tokens) {
            engine_run_release(run);
        }
    }
}

static void check_same_steps(uint64_t seed, const struct engine_run *a, const struct engine_run *b)
{
    ck_assert_msg(a->steps.count == b->steps.count, "seed %" PRIu64 ": %zu and %zu steps", seed,
                  a->steps.count, b->steps.count);
    for (size_t i = 0; i < a->steps.count; i++) {
        const struct record_step *x = &a->steps.at[i].row, *y = &b->steps.at[i].row;
        const int64_t pairs[][2] = {{x->sched_ns, y->sched_ns},
                                    {x->start_ns, y->start_ns},
                                    {x->end_ns, y->end_ns},
                                    {x->prefill_tokens, y->prefill_tokens},
                                    {x->decode_seqs, y->decode_seqs},
                                    {x->context_tokens, y->context_tokens},
                                    {x->running, y->running},
                                    {x->waiting, y->waiting},
                                    {x->free_blocks, y->free_blocks},
                                    {x->used_blocks, y->used_blocks},
                                    {x->cached_blocks, y->cached_blocks}};
        for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
            ck_assert_msg(pairs[k][0] == pairs[k][1],
                          "seed %" PRIu64 ", step %zu: figure %zu is %" PRId64 " and %" PRId64,
                          seed, i, k, pairs[k][0], pairs[k][1]);
        }
        ck_assert_mem_eq(x->ledger_bytes, y->ledger_bytes, sizeof x->ledger_bytes);
    }
}

static void check_one(uint64_t seed, int64_t *thrown_out, int64_t *found)
{
    uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15);
    struct service service;
    struct engine_run search, jumped, plain;
    struct tree tree;
    char difference[300];
    uint32_t width = 1 + (uint32_t)drawn(&dice, WIDTH_MAX);
    int64_t prompt = 1 + (int64_t)drawn(&dice, 40), tokens = 1 + (int64_t)drawn(&dice, TOKENS_MAX),
            block = 1 + (int64_t)drawn(&dice, 8);
    start_service(&service, block, drawn(&dice, 4) > 0);
    service_set_pool(&service, 1 + (prompt + tokens + block) / block + (int64_t)drawn(&dice, 20),
                     block);
    service_set_async(&service, drawn(&dice, 2) == 0);
    struct sched_options *sched = &service.config.sched;
    sched->max_num_batched_tokens = 4 + (int64_t)drawn(&dice, 60);
    sched->reserve_full_isl = drawn(&dice, 2) == 0;
    sched->free_order = drawn(&dice, 2) == 0 ? SCHED_FREE_OLD : SCHED_FREE_NEW;
    double switches = (double)drawn(&dice, 5) / 4;
    service.config.workload.classes[0].beam_switch = switches;
    struct list list = {.at = {search_of(width, prompt, tokens, seed)}, .count = 1};
    struct spec_token_run prompt_run = {PROMPT_ID, prompt};
    list.at[0].runs = &prompt_run;
    list.at[0].run_count = 1;
    run_list(&service.config, &list, SERVE_STEP, &search);
    list.at[0].answer_first = drawn(&dice, 2) == 0 ? ANSWER_ID : 0; // names say nothing else
    run_list(&service.config, &list, SERVE_JUMP, &jumped);
    engine_compare_runs(&search, &jumped, difference, sizeof difference);
    ck_assert_msg(difference[0] == '\0', "seed %" PRIu64 ": %s", seed, difference);
    struct sched_beam_draws draws = {.key = seed, .switches = switches, .width = width};
    grow_tree(&draws, prompt, tokens, &tree);
    run_one_by_one(&service.config, &tree, width, prompt, tokens, &plain);
    check_same_steps(seed, &search, &plain);
    ck_assert_int_eq(search.requests.at[0].finish_ns, latest_finish(&plain));
    ck_assert_uint_eq(search.result.engine_requests, plain.result.arrived);
    *thrown_out += (int64_t)search.result.replicas[0].preemptions;
    *found += search.result.replicas[0].hit_tokens;
    engine_run_release(&search);
    engine_run_release(&jumped);
    engine_run_release(&plain);
    service_release(&service);
}

START_TEST(the_engine_sees_ordinary_requests)
{
    int64_t thrown_out = 0, found = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        check_one(seed, &thrown_out, &found);
    }
    ck_assert_int_gt(thrown_out, 20);
    ck_assert_int_gt(found, 10000);
}
END_TEST

/* ---- searches that are cut off ---- */

struct cut {
    int64_t abort_ns, timeout_first_ns, timeout_total_ns, prompt, output, max, longest;
    enum record_outcome outcome;
    enum record_finish finish;
    int64_t output_tokens, generated_tokens, requests, steps;
};

static const struct cut cuts[] = {
    // within the third step: the step in flight ends, and no further one begins
    {.abort_ns = 2500000,
     .prompt = 6,
     .output = 9,
     .max = 9,
     .longest = 100,
     .outcome = RECORD_OUTCOME_ABORTED,
     .finish = RECORD_FINISH_ABORT,
     .generated_tokens = 6,
     .requests = 7,
     .steps = 3},
    // as the second one ends: the third is not sent
    {.abort_ns = 2 * MS,
     .prompt = 6,
     .output = 9,
     .max = 9,
     .longest = 100,
     .outcome = RECORD_OUTCOME_ABORTED,
     .finish = RECORD_FINISH_ABORT,
     .generated_tokens = 6,
     .requests = 4,
     .steps = 2},
    {.timeout_total_ns = 3 * MS + 1,
     .prompt = 6,
     .output = 9,
     .max = 9,
     .longest = 100,
     .outcome = RECORD_OUTCOME_TIMED_OUT,
     .finish = RECORD_FINISH_ABORT,
     .generated_tokens = 9,
     .requests = 10,
     .steps = 4},
    // the first step's token is the first one: whoever waits for that waits no longer
    {.timeout_first_ns = MS / 2,
     .prompt = 6,
     .output = 9,
     .max = 9,
     .longest = 100,
     .outcome = RECORD_OUTCOME_TIMED_OUT,
     .finish = RECORD_FINISH_ABORT,
     .requests = 1,
     .steps = 1},
    {.timeout_first_ns = MS + 1,
     .prompt = 6,
     .output = 4,
     .max = 4,
     .longest = 100,
     .finish = RECORD_FINISH_LENGTH,
     .output_tokens = 4,
     .generated_tokens = 12,
     .requests = 10,
     .steps = 4},
    {.prompt = 10,
     .output = 4,
     .max = 4,
     .longest = 10,
     .outcome = RECORD_OUTCOME_REJECTED,
     .finish = RECORD_FINISH_NONE},
    // no beam outgrows the engine's longest sequence
    {.prompt = 6,
     .output = 9,
     .max = 9,
     .longest = 10,
     .finish = RECORD_FINISH_LENGTH,
     .output_tokens = 4,
     .generated_tokens = 12,
     .requests = 10,
     .steps = 4},
    // an answer that has ended does not end the loop
    {.prompt = 6,
     .output = 3,
     .max = 5,
     .longest = 100,
     .finish = RECORD_FINISH_STOP,
     .output_tokens = 3,
     .generated_tokens = 15,
     .requests = 13,
     .steps = 5},
};

START_TEST(a_search_ends_as_its_client_wants)
{
    const struct cut *cut = &cuts[_i];
    struct service service;
    struct engine_run run;
    struct list list = {.at = {search_of(3, cut->prompt, cut->output, 1)}, .count = 1};
    list.at[0].max_tokens = cut->max;
    list.at[0].abort_after_ns = cut->abort_ns;
    list.at[0].timeout_first_ns = cut->timeout_first_ns;
    list.at[0].timeout_total_ns = cut->timeout_total_ns;
    start_service(&service, 4, true);
    service.config.sched.max_model_len = cut->longest;
    run_list(&service.config, &list, SERVE_STEP, &run);
    ck_assert_uint_eq(run.requests.count, 1);
    const struct record_request *row = &run.requests.at[0];
    ck_assert_int_eq(row->outcome, cut->outcome);
    ck_assert_int_eq(row->finish_reason, cut->finish);
    ck_assert_int_eq(row->output_tokens, cut->output_tokens);
    ck_assert_int_eq(row->generated_tokens, cut->generated_tokens);
    ck_assert_int_eq((int64_t)run.result.engine_requests, cut->requests);
    ck_assert_int_eq((int64_t)run.result.replicas[0].steps, cut->steps);
    ck_assert_int_eq(run.result.status, SERVE_DONE);
    engine_run_release(&run);
    service_release(&service);
}
END_TEST

// Each search stays where it began, and counts as one request there.
START_TEST(a_search_stays_with_its_replica)
{
    struct service service;
    struct engine_run run;
    struct list list = {.at = {search_of(3, 6, 5, 1), search_of(3, 6, 9, 2)}, .count = 2};
    list.at[1].arrival_ns = MS / 4;
    start_service(&service, 4, true);
    service.config.replica_count = 2;
    service.config.router = _i == 0 ? SERVE_ROUND_ROBIN : SERVE_LEAST_OUTSTANDING;
    run_list(&service.config, &list, SERVE_STEP, &run);
    ck_assert_uint_eq(run.result.replicas[0].requests, 1);
    ck_assert_uint_eq(run.result.replicas[1].requests, 1);
    ck_assert_uint_eq(run.result.replicas[0].steps, 5);
    ck_assert_uint_eq(run.result.replicas[1].steps, 9);
    ck_assert_int_eq(run.requests.at[1].e2e_ns, 9 * MS);
    engine_run_release(&run);
    service_release(&service);
}
END_TEST

// The next turn asks with the first beam's words: what was computed of them is found, however often it changed its past.
START_TEST(a_session_goes_on_with_the_first_beam)
{
    enum { PROMPT = 7, ANSWER = 23, GROWTH = 5, BLOCK = 4 };
    struct service service;
    struct engine_run run;
    const struct spec_token_run runs[] = {
        {PROMPT_ID, PROMPT}, {ANSWER_ID, ANSWER}, {PROMPT_ID * 3, GROWTH}};
    struct workload_request next = {.index = 1,
                                    .prompt_tokens = PROMPT + ANSWER + GROWTH,
                                    .output_tokens = 1,
                                    .max_tokens = 1,
                                    .sequence_count = 1,
                                    .session_turn = 1,
                                    .runs = runs,
                                    .run_count = 3};
    struct list list = {.at = {search_of(4, PROMPT, ANSWER, (uint64_t)_i + 1)}, .count = 1};
    list.at[0].runs = runs;
    list.at[0].run_count = 1;
    list.at[0].answer_first = ANSWER_ID;
    list.follow_up = &next;
    start_service(&service, BLOCK, true);
    service.config.workload.process = WORKLOAD_CLOSED_LOOP;
    run_list(&service.config, &list, SERVE_STEP, &run);
    ck_assert_uint_eq(run.requests.count, 2);
    // All but the answer's last token, which no step has computed.
    ck_assert_int_eq(run.requests.at[1].cached_tokens, (PROMPT + ANSWER - 1) / BLOCK * BLOCK);
    engine_run_release(&run);
    service_release(&service);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("searches outside the engine");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, beams_that_part_share_the_prompt);
    tcase_add_test(tcase, beams_from_one_share_what_that_one_computed);
    tcase_add_test(tcase, without_a_cache_each_step_computes_everything);
    tcase_add_test(tcase, one_beam_is_a_loop_too);
    tcase_add_test(tcase, the_engine_sees_ordinary_requests);
    tcase_add_loop_test(tcase, a_search_ends_as_its_client_wants, 0,
                        (int)(sizeof cuts / sizeof cuts[0]));
    tcase_add_loop_test(tcase, a_search_stays_with_its_replica, 0, 2);
    tcase_add_loop_test(tcase, a_session_goes_on_with_the_first_beam, 0, 8);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
