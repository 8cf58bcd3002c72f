/*
 * What holds in every run, over random services under the workload's own sources: jumping equals
 * stepping in every number; sampling, tracing and rows never change a time; requests, tokens,
 * blocks and time are conserved; the ledger adds up at every step; arrivals that cannot be served
 * yet change nobody's times. KVSIM_SCENARIOS sets how many services (default 150), KVSIM_SEED the
 * first.
 */
#include "sched/sched.h"
#include "support/engine_run.h"
#include "support/random_service.h"
#include "support/result_compare.h"
#include "support/rows_compare.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

/* ---- one run by itself ---- */

// Check writes to a file at every assertion; those here hold millions of times.
static void report(const char *condition, int line)
{
    ck_assert_msg(false, "line %d: %s does not hold", line, condition);
}

#define HOLDS(condition) ((condition) ? (void)0 : report(#condition, __LINE__))

static void check_step_row(const struct record_step *row, const struct serve_config *config)
{
    int64_t sum = 0, allocated = record_ledger_allocated(row->ledger_bytes), tokens = 0;
    for (size_t i = 0; i < RECORD_LEDGER_POOL; i++) {
        sum += i == RECORD_LEDGER_SHARED ? -row->ledger_bytes[i] : row->ledger_bytes[i];
    }
    int64_t block_bytes = (int64_t)config->layout.block_bytes;
    HOLDS(sum == row->ledger_bytes[RECORD_LEDGER_POOL]);
    HOLDS(row->ledger_bytes[RECORD_LEDGER_POOL] == config->pool_blocks * block_bytes);
    HOLDS(allocated == row->used_blocks * block_bytes);
    int64_t held_back = row->ledger_bytes[KV_LEDGER_HELD_BACK] / block_bytes;
    HOLDS(held_back == config->reserved_blocks || config->tiers[0].name != NULL);
    HOLDS(row->used_blocks + row->free_blocks + held_back == config->pool_blocks);
    for (size_t i = 0; i < row->scheduled_count; i++) {
        HOLDS(row->scheduled[i].tokens > 0);
        tokens += row->scheduled[i].tokens;
    }
    HOLDS(tokens == row->prefill_tokens + row->decode_seqs);
    HOLDS(tokens <= config->sched.max_num_batched_tokens);
    HOLDS((int64_t)row->scheduled_count <= row->running);
    HOLDS(row->running <= config->sched.max_num_seqs);
}

// Steps of one replica follow each other; their tokens are those that the replica counted.
static void check_steps(const struct engine_run *run, const struct serve_config *config)
{
    for (uint32_t r = 0; r < config->replica_count; r++) {
        int64_t tokens = 0, last_end = 0;
        uint64_t steps = 0;
        for (size_t i = 0; i < run->steps.count; i++) {
            const struct record_step *row = &run->steps.at[i].row;
            if (row->replica != r) {
                continue;
            }
            check_step_row(row, config);
            HOLDS(row->step == ++steps);
            HOLDS(row->sched_ns <= row->start_ns);
            HOLDS(last_end <= row->start_ns);
            HOLDS(row->start_ns <= row->end_ns);
            last_end = row->end_ns;
            tokens += row->prefill_tokens + row->decode_seqs;
        }
        if (run->result.status == SERVE_DONE) {
            HOLDS(steps == run->result.replicas[r].steps);
            HOLDS(tokens == run->result.replicas[r].computed_tokens);
        }
    }
}

static bool somebody_gave_up(const struct serve_result *result)
{
    return result->outcomes[RECORD_OUTCOME_TIMED_OUT] + result->outcomes[RECORD_OUTCOME_ABORTED] >
           0;
}

// Every block that was asked for was found, lost, cut or new; the reasons of a loss exclude each other.
static void check_reuse(const struct engine_run *run, const struct serve_config *config)
{
    for (size_t i = 0; i < config->replica_count; i++) {
        const struct serve_replica_result *replica = &run->result.replicas[i];
        const struct sched_reuse *reuse = &replica->reuse;
        HOLDS(reuse->hit_blocks + reuse->lost_blocks + reuse->cut_blocks <= reuse->lookup_blocks);
        HOLDS(reuse->lost_pending_blocks + reuse->lost_own_blocks <= reuse->lost_blocks);
        HOLDS(replica->hit_tokens == reuse->hit_blocks * config->sched.block_size);
        HOLDS(replica->preemptions > 0 || reuse->lost_own_blocks == 0);
    }
}

static bool has_candidates(const struct serve_config *config)
{
    for (size_t i = 0; i < config->workload.class_count; i++) {
        if (config->workload.classes[i].candidates > 0) {
            return true;
        }
    }
    return false;
}

static bool is_search_outside(const struct serve_config *config, const struct record_request *row)
{
    const struct workload_class *class = &config->workload.classes[0];
    while (strcmp(class->name, row->class_name) != 0) {
        class ++;
    }
    return config->search_outside && class->is_beam;
}

// All tokens of its sequences but the last, the prompt for one of them or for each; of a search outside for each token.
static int64_t asked_tokens(const struct serve_config *config, const struct record_request *row)
{
    int64_t tokens = row->generated_tokens / row->sequences;
    if (is_search_outside(config, row)) {
        return row->prompt_tokens +
               row->sequences * ((tokens - 1) * row->prompt_tokens + tokens * (tokens - 1) / 2);
    }
    int64_t prompts = config->scheduler == &sched_vllm_v0 ? 1 : row->sequences;
    return prompts * row->prompt_tokens + row->generated_tokens - row->sequences;
}

static int64_t engine_requests(const struct serve_config *config, const struct record_request *row)
{
    return is_search_outside(config, row) ? row->generated_tokens - row->sequences + 1
                                          : row->sequences;
}

static void check_requests(const struct engine_run *run, const struct serve_config *config)
{
    bool returns_all = !has_candidates(config);
    const struct serve_result *result = &run->result;
    int64_t outputs = 0, computed = 0, recomputed = 0, replicas = 0, requests = 0;
    int64_t gaps = 0, counted_gaps = 0; // every token of a sequence but its first comes after one
    bool all_have_first = true;
    for (size_t i = 0; i < run->requests.count; i++) {
        const struct record_request *row = &run->requests.at[i];
        outputs += row->generated_tokens;
        computed += row->computed_tokens;
        recomputed += row->recomputed_tokens;
        counted_gaps += row->is_counted && row->generated_tokens > 0
                            ? row->generated_tokens - row->sequences
                            : 0;
        // Of a request that was given up some sequences may not have begun.
        all_have_first =
            all_have_first && (row->sequences == 1 || row->outcome == RECORD_OUTCOME_COMPLETED ||
                               row->generated_tokens == 0);
        HOLDS(row->computed_tokens >= row->recomputed_tokens);
        HOLDS(row->sequences >= 1);
        HOLDS(row->generated_tokens >= row->output_tokens);
        HOLDS(!returns_all || row->generated_tokens <= row->sequences * row->output_tokens);
        if (row->outcome == RECORD_OUTCOME_COMPLETED) {
            HOLDS(row->output_tokens >= 1);
            HOLDS(row->queue_ns >= 0);
            HOLDS(row->queue_ns <= row->ttft_ns + 1); // each is a floor of its own
            HOLDS(row->ttft_ns <= row->e2e_ns);
            HOLDS((row->tpot_ns >= 0) == (row->output_tokens > 1));
            // What was asked for was computed, or found in the cache.
            int64_t asked = asked_tokens(config, row);
            requests += engine_requests(config, row);
            HOLDS(row->computed_tokens + row->cached_tokens_total >= asked);
            HOLDS(row->cached_tokens < asked);
            // So a search computes no more with a cache than without.
            HOLDS(!is_search_outside(config, row) || row->preemptions > 0 ||
                  row->computed_tokens + row->cached_tokens_total == asked);
        }
    }
    for (size_t i = 0; i < result->replica_count; i++) {
        replicas += result->replicas[i].computed_tokens;
    }
    for (size_t i = 0; i < result->class_count; i++) {
        gaps += (int64_t)result->classes[i].metric[SPEC_ITL].count;
    }
    if (result->status == SERVE_DONE) {
        HOLDS(run->requests.count == result->arrived);
        HOLDS(outputs == result->generated_tokens);
        HOLDS(!returns_all || outputs == result->output_tokens);
        HOLDS(recomputed == result->recomputed_tokens);
        HOLDS(all_have_first ? gaps == counted_gaps : gaps >= counted_gaps);
        if (!somebody_gave_up(result)) {
            HOLDS(requests == (int64_t)result->engine_requests ||
                  result->outcomes[RECORD_OUTCOME_UNSERVABLE] > 0);
            HOLDS(computed == replicas);
        }
    }
}

static int by_arrival(const void *a, const void *b)
{
    const struct record_request *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index ? 1 : 0;
}

// First come, first served: nobody is taken for the first time before those that came earlier to
// the same replica.
static void check_order(struct engine_run *run, const struct serve_config *config)
{
    bool may_skip = !config->sched.enable_chunked_prefill &&
                    config->sched.unchunked_misfit == SCHED_MISFIT_SKIP;
    may_skip = may_skip || config->tiers[0].name != NULL; // who loads is passed by
    if (config->sched.order != SCHED_FCFS || may_skip || run->requests.count == 0) {
        return;
    }
    qsort(run->requests.at, run->requests.count, sizeof *run->requests.at, by_arrival);
    for (uint32_t r = 0; r < config->replica_count; r++) {
        int64_t latest = 0;
        for (size_t i = 0; i < run->requests.count; i++) {
            const struct record_request *row = &run->requests.at[i];
            if (row->replica == r && row->queue_ns >= 0) {
                HOLDS(row->arrival_ns + row->queue_ns >= latest);
                latest = row->arrival_ns + row->queue_ns;
            }
        }
    }
}

/* ---- runs of one service in every way ---- */

static void expect_same(uint64_t seed, const char *way, const char *difference)
{
    ck_assert_msg(difference[0] == '\0', "seed %" PRIu64 ", %s: %s", seed, way, difference);
}

static void check_samples(uint64_t seed, const struct engine_run *a, const struct engine_run *b)
{
    ck_assert_msg(a->samples.count == b->samples.count, "seed %" PRIu64 ": %zu and %zu samples",
                  seed, a->samples.count, b->samples.count);
    for (size_t i = 0; i < a->samples.count; i++) {
        if (!rows_same_sample(&a->samples.at[i], &b->samples.at[i])) {
            ck_assert_msg(false, "seed %" PRIu64 ": sample %zu at %" PRId64 " ns differs", seed, i,
                          a->samples.at[i].t_ns);
        }
    }
}

static void check_service(uint64_t seed, void init(struct random_service *, uint64_t))
{
    struct random_service random;
    init(&random, seed);
    const struct serve_config *config = &random.service.config;
    char difference[300];
    struct engine_run stepped, traced, jumped, silent, sampled, sampled_steps;
    int64_t sample_ns = seed % 3 == 0 ? -1 : 7000000 + (int64_t)(seed % 100) * 991;

    engine_run_config(
        config, &(struct engine_options){.mode = SERVE_STEP, .request_rows = UINT64_MAX}, &stepped);
    result_check_identities(config, &stepped.result, difference, sizeof difference);
    expect_same(seed, "identities", difference);
    check_requests(&stepped, config);
    check_reuse(&stepped, config);

    engine_run_config(config,
                      &(struct engine_options){
                          .mode = SERVE_STEP, .request_rows = UINT64_MAX, .wants_steps = true},
                      &traced);
    engine_compare_runs(&stepped, &traced, difference, sizeof difference);
    expect_same(seed, "with and without steps", difference);
    check_steps(&traced, config);
    check_order(&traced, config);

    engine_run_config(
        config, &(struct engine_options){.mode = SERVE_JUMP, .request_rows = UINT64_MAX}, &jumped);
    engine_compare_runs(&stepped, &jumped, difference, sizeof difference);
    expect_same(seed, "stepping and jumping", difference);

    engine_run_config(config, &(struct engine_options){.mode = SERVE_JUMP}, &silent);
    result_compare(&jumped.result, &silent.result, difference, sizeof difference);
    expect_same(seed, "with and without a sink", difference);

    engine_run_config(config,
                      &(struct engine_options){
                          .mode = SERVE_JUMP, .request_rows = UINT64_MAX, .sample_ns = sample_ns},
                      &sampled);
    engine_compare_runs(&jumped, &sampled, difference, sizeof difference);
    expect_same(seed, "with and without samples", difference);
    engine_run_config(config,
                      &(struct engine_options){
                          .mode = SERVE_STEP, .request_rows = UINT64_MAX, .sample_ns = sample_ns},
                      &sampled_steps);
    check_samples(seed, &sampled, &sampled_steps);

    engine_run_release(&stepped);
    engine_run_release(&traced);
    engine_run_release(&jumped);
    engine_run_release(&silent);
    engine_run_release(&sampled);
    engine_run_release(&sampled_steps);
    random_service_release(&random);
}

START_TEST(every_way_to_run_gives_the_same)
{
    uint64_t first = number_from("KVSIM_SEED", 1), services = number_from("KVSIM_SCENARIOS", 150);
    for (uint64_t seed = first; seed < first + services; seed++) {
        check_service(seed, random_service_init);
    }
}
END_TEST

START_TEST(groups_that_fork_and_swap_too)
{
    uint64_t first = number_from("KVSIM_SEED", 1), services = number_from("KVSIM_SCENARIOS", 100);
    for (uint64_t seed = first; seed < first + services; seed++) {
        check_service(seed, random_service_init_v0);
    }
}
END_TEST

START_TEST(searches_outside_the_engine_too)
{
    uint64_t first = number_from("KVSIM_SEED", 1), services = number_from("KVSIM_SCENARIOS", 40);
    for (uint64_t seed = first; seed < first + services; seed++) {
        check_service(seed, random_service_init_search);
    }
}
END_TEST

/* ---- arrivals that find no seat ---- */

enum { SEATED = 8, BLOCKED = 200 };

struct crowd {
    int64_t at, count;
};

// Eight long answers from the first instants on; then, while they run, others for whom there is no
// seat.
static enum kvsim_status crowd_next(void *context, struct workload_request *out, bool *more,
                                    struct kvsim_error *err)
{
    (void)err;
    struct crowd *crowd = context;
    int64_t i = crowd->at++;
    *more = i < crowd->count;
    bool is_seated = i < SEATED;
    *out = (struct workload_request){.index = (uint64_t)i,
                                     .arrival_ns =
                                         is_seated ? i * 3000 : 50000000 + (i - SEATED) * 1234567,
                                     .prompt_tokens = 20 + i % 7,
                                     .output_tokens = is_seated ? 400 + 11 * i : 5,
                                     .sequence_count = 1};
    out->max_tokens = out->output_tokens;
    return KVSIM_OK;
}

static enum kvsim_status crowd_done(void *context, const struct workload_ended *ended,
                                    struct workload_request *out, bool *more,
                                    struct kvsim_error *err)
{
    (void)context;
    (void)ended;
    (void)out;
    (void)err;
    *more = false;
    return KVSIM_OK;
}

static void run_crowd(const struct service *service, int64_t count, struct engine_run *run)
{
    struct crowd crowd = {.count = count};
    struct serve_source source = {&crowd, crowd_next, crowd_done};
    struct engine_options options = {
        .mode = SERVE_JUMP, .request_rows = UINT64_MAX, .source = &source};
    engine_run_config(&service->config, &options, run);
    qsort(run->requests.at, run->requests.count, sizeof *run->requests.at, by_arrival);
}

// Until the first seat is free nothing about those who sit may change: the first one's end,
// everybody's first token.
START_TEST(blocked_arrivals_change_no_time)
{
    struct service service;
    service_init(&service);
    service_set_llama_8b(&service, _i == 1);
    service.config.workload.process = WORKLOAD_TRACE;
    service.config.sched.max_num_seqs = SEATED;
    service.config.cost.max_decode_seqs = SEATED;
    struct engine_run alone, crowded;
    run_crowd(&service, SEATED, &alone);
    run_crowd(&service, SEATED + BLOCKED, &crowded);
    ck_assert_uint_eq(alone.requests.count, SEATED);
    ck_assert_uint_eq(crowded.requests.count, SEATED + BLOCKED);
    for (size_t i = 0; i < SEATED; i++) {
        ck_assert_int_eq(alone.requests.at[i].queue_ns, crowded.requests.at[i].queue_ns);
        ck_assert_int_eq(alone.requests.at[i].ttft_ns, crowded.requests.at[i].ttft_ns);
    }
    ck_assert_int_eq(alone.requests.at[0].finish_ns, crowded.requests.at[0].finish_ns);
    ck_assert_int_eq(alone.requests.at[0].tpot_ns, crowded.requests.at[0].tpot_ns);
    // They did come while all seats were taken, and waited for one.
    ck_assert_int_lt(crowded.requests.at[SEATED + BLOCKED - 1].arrival_ns,
                     crowded.requests.at[0].finish_ns);
    ck_assert_int_ge(crowded.requests.at[SEATED].arrival_ns + crowded.requests.at[SEATED].queue_ns,
                     crowded.requests.at[0].finish_ns);
    engine_run_release(&alone);
    engine_run_release(&crowded);
    service_release(&service);
}
END_TEST

/* ---- a real model at level datasheet, with chunks and preemptions ---- */

START_TEST(datasheet_steps_and_jumps_alike)
{
    struct service service;
    service_init(&service);
    service_set_llama_8b(&service, (_i & 1) != 0);
    struct serve_config *config = &service.config;
    config->sched.max_num_batched_tokens = 256;
    config->sched.max_num_seqs = 48;
    config->cost.max_decode_seqs = 48;
    config->sched.max_model_len = 2048;
    config->sched.reserve_full_isl = false;
    service_set_pool(&service, 700, 16);
    struct rng_dist_options prompt = {.kind = RNG_LOGNORMAL,
                                      .has_mean = true,
                                      .has_cv = true,
                                      .has_min = true,
                                      .has_max = true,
                                      .mean = 300,
                                      .cv = 1.1,
                                      .min = 4,
                                      .max = 1500};
    struct rng_dist_options output = prompt;
    output.mean = 120;
    output.max = 500;
    struct workload_class *classes = config->workload.classes;
    classes[0].prompt = service_dist(&service, &prompt, true);
    classes[0].output = service_dist(&service, &output, true);
    if ((_i & 2) != 0) {
        config->workload.class_count = 2;
        classes[0].name = "chat";
        classes[1] = classes[0];
        classes[1].name = "batch";
        classes[1].timeout_total_ns = 4000000000;
    }
    service_set_poisson(&service, 24, 1000);
    struct engine_run stepped, jumped;
    char difference[300];
    engine_run_config(
        config, &(struct engine_options){.mode = SERVE_STEP, .request_rows = UINT64_MAX}, &stepped);
    engine_run_config(
        config, &(struct engine_options){.mode = SERVE_JUMP, .request_rows = UINT64_MAX}, &jumped);
    engine_compare_runs(&stepped, &jumped, difference, sizeof difference);
    expect_same((uint64_t)_i, "datasheet", difference);
    result_check_identities(config, &jumped.result, difference, sizeof difference);
    expect_same((uint64_t)_i, "identities", difference);
    check_requests(&jumped, config);
    // The run did have what it is about.
    const struct serve_replica_result *replica = &jumped.result.replicas[0];
    ck_assert_uint_gt(replica->preemptions, 20);
    ck_assert_int_gt((int64_t)(replica->whole.limit[SERVE_LIMIT_KV_POOL] > 0), 0);
    ck_assert_int_gt((int64_t)(replica->whole.bound[1][COST_WEIGHT_BANDWIDTH] > 0), 0);
    ck_assert_uint_eq(jumped.result.arrived, 1000);
    engine_run_release(&stepped);
    engine_run_release(&jumped);
    service_release(&service);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine invariants");
    TCase *tcase = tcase_create("random services");
    tcase_set_timeout(tcase, 600);
    tcase_add_test(tcase, every_way_to_run_gives_the_same);
    tcase_add_loop_test(tcase, blocked_arrivals_change_no_time, 0, 2);
    tcase_add_loop_test(tcase, datasheet_steps_and_jumps_alike, 0, 4);
    suite_add_tcase(suite, tcase);
    TCase *groups = tcase_create("groups");
    tcase_set_timeout(groups, 300);
    tcase_add_test(groups, groups_that_fork_and_swap_too);
    suite_add_tcase(suite, groups);
    TCase *searches = tcase_create("searches");
    tcase_set_timeout(searches, 300);
    tcase_add_test(searches, searches_outside_the_engine_too);
    suite_add_tcase(suite, searches);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
