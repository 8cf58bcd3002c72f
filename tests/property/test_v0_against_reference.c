/*
 * vLLM V0 held against its naive reference, step by step, on random scenarios: requests for one to six answers or beams, tight pools,
 * whole prompts and chunks, both ways of preemption, a host that is full, priorities; and with a prefix cache, where prompts begin
 * alike, go on from answers, and clients give up. Every column of every step must agree, and jumping
 * must end like stepping. KVSIM_SCENARIOS sets how many (default 2000), KVSIM_SEED the first.
 */
#include "reference/ref_v0.h"
#include "rng/rng.h"
#include "sched/sched.h"
#include "serve/serve.h"
#include "support/service.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS_MAX = 24, LENGTH_MAX = 64, TOKENS_MAX = 2 * LENGTH_MAX + 4 };

struct scenario {
    struct ref_v0_input in;
    struct ref_v0_request requests[REQUESTS_MAX];
    int64_t parents[REQUESTS_MAX][LENGTH_MAX * REF_V0_ANSWERS];
    double beam_switch;
    int64_t tokens[REQUESTS_MAX][TOKENS_MAX];             /* with a cache: prompt and answer */
    struct spec_token_run runs[REQUESTS_MAX][TOKENS_MAX]; /* of the prompt */
    size_t run_count[REQUESTS_MAX];
};

/* ---- random scenarios ---- */

struct dice {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014), apart from the simulator's own streams. */
static int64_t between(struct dice *dice, int64_t low, int64_t high)
{
    uint64_t x = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return low + (int64_t)(x % (uint64_t)(high - low + 1));
}

static bool one_in(struct dice *dice, int64_t n)
{
    return between(dice, 1, n) == 1;
}

static uint64_t beam_key(int64_t request)
{
    return rng_key(77, 1, RNG_BEAM, (uint64_t)request);
}

// The draws as they are documented: a uniform a token and beam; below the chance it is one of all beams, by equal parts.
static void roll_beams(struct scenario *scenario, int64_t number)
{
    struct ref_v0_request *request = &scenario->requests[number];
    int64_t answers = request->answers;
    for (int64_t t = 1; t < LENGTH_MAX; t++) {
        for (int64_t i = 0; i < answers; i++) {
            double u = rng_uniform(beam_key(number), (uint64_t)((t + 1) * answers + i));
            double share = u / scenario->beam_switch;
            scenario->parents[number][t * answers + i] =
                share < 1 ? (int64_t)(share * (double)answers) : i;
        }
    }
    request->parents = scenario->parents[number];
}

static void roll_requests(struct dice *dice, struct scenario *scenario)
{
    struct ref_v0_input *in = &scenario->in;
    struct ref_v0_request *requests = scenario->requests;
    int64_t now = 0, most = between(dice, 1, REF_V0_ANSWERS);
    bool has_beams = one_in(dice, 2);
    scenario->beam_switch = one_in(dice, 2) ? 1 : (double)between(dice, 1, 9) / 10;
    in->requests = requests;
    in->count = between(dice, 1, REQUESTS_MAX);
    for (int64_t i = 0; i < in->count; i++) {
        struct ref_v0_request *request = &requests[i];
        now += one_in(dice, 2) ? 0 : between(dice, 0, 4000);
        request->arrival_ticks = now << 20;
        request->prompt =
            between(dice, 1, one_in(dice, 8) ? in->max_model_len + 2 : 1 + in->max_model_len / 2);
        request->answers = one_in(dice, 2) ? 1 : between(dice, 1, most);
        bool alike = one_in(dice, 2);
        int64_t length = between(dice, 1, in->max_model_len);
        for (int64_t s = 0; s < request->answers; s++) {
            request->outputs[s] = alike ? length : between(dice, 1, in->max_model_len);
        }
        request->parents = NULL;
        request->priority = 0;
        if (has_beams && alike && request->answers > 1) {
            roll_beams(scenario, i);
        }
    }
}

// Under that order the engine has one answer each, and computes again.
static void roll_priorities(struct dice *dice, struct scenario *scenario)
{
    scenario->in.by_priority = true;
    scenario->in.mode = REF_V0_AS_FITS;
    for (int64_t i = 0; i < scenario->in.count; i++) {
        scenario->requests[i].answers = 1;
        scenario->requests[i].parents = NULL;
        scenario->requests[i].priority = between(dice, -1, 2);
    }
}

static void roll(uint64_t seed, struct scenario *scenario)
{
    struct ref_v0_input *in = &scenario->in;
    struct dice dice = {seed * UINT64_C(0x2545f4914f6cdd1d)};
    *in = (struct ref_v0_input){.block_size = between(&dice, 1, 8),
                                .max_model_len = between(&dice, 8, 60),
                                .max_num_seqs = between(&dice, 1, 12),
                                .is_chunked = one_in(&dice, 2),
                                .mode = one_in(&dice, 3) ? REF_V0_SWAP : REF_V0_AS_FITS,
                                .a = 700 << 20,
                                .b = between(&dice, 0, 9) << 20,
                                .c = between(&dice, 0, 15) << 20,
                                .d = between(&dice, 0, 3) << 20,
                                .swap_ticks = between(&dice, 0, 40) << 20};
    int64_t one = (in->max_model_len + in->block_size - 1) / in->block_size;
    in->num_blocks = one + between(&dice, 0, 3 * one);
    in->watermark_blocks = one_in(&dice, 3) ? between(&dice, 0, in->num_blocks / 4) : 0;
    in->budget = between(&dice, in->max_num_seqs, 2 * in->max_model_len);
    in->swap_blocks = one_in(&dice, 5) ? between(&dice, 1, 2 * one) : INT64_MAX;
    roll_requests(&dice, scenario);
    if (!in->is_chunked && one_in(&dice, 3)) {
        roll_priorities(&dice, scenario);
    }
}

/* ---- what prompts and answers say ---- */

// A token's number: which text it is of, and where it stands there.
static int64_t token_of(int64_t text, int64_t at)
{
    return (text + 1) * 1000 + at;
}

static int64_t length_of(const struct ref_v0_request *request)
{
    return request->prompt + request->outputs[0];
}

// The beginning of somebody's, as far as a whole number of blocks goes as a rule, then its own.
static void roll_prompt(struct dice *dice, struct scenario *scenario, int64_t number)
{
    const struct ref_v0_request *request = &scenario->requests[number];
    int64_t size = scenario->in.block_size, *tokens = scenario->tokens[number], common = 0;
    int64_t other = number > 0 && !one_in(dice, 4) ? between(dice, 0, number - 1) : -1;
    if (other >= 0) {
        common = between(dice, 0, length_of(&scenario->requests[other]));
        common = one_in(dice, 2) ? common - common % size : common;
        common = one_in(dice, 4) ? length_of(&scenario->requests[other]) : common;
        common = common < request->prompt ? common : request->prompt;
        memcpy(tokens, scenario->tokens[other], (size_t)common * sizeof *tokens);
    }
    for (int64_t i = common; i < request->prompt; i++) {
        tokens[i] = token_of(number, i);
    }
}

// Its own, or the one that somebody has written to this beginning.
static void roll_answer(struct dice *dice, struct scenario *scenario, int64_t number)
{
    const struct ref_v0_request *request = &scenario->requests[number];
    int64_t *tokens = scenario->tokens[number], text = number + REQUESTS_MAX;
    for (int64_t other = 0; other < number && one_in(dice, 2); other++) {
        if (scenario->requests[other].prompt == request->prompt) {
            text = scenario->tokens[other][request->prompt] / 1000 - 1;
        }
    }
    for (int64_t i = request->prompt; i < length_of(request); i++) {
        tokens[i] = token_of(text, i);
    }
}

static void note_runs(struct scenario *scenario, int64_t number)
{
    const int64_t *tokens = scenario->tokens[number];
    struct spec_token_run *runs = scenario->runs[number];
    size_t count = 0;
    for (int64_t i = 0; i < scenario->requests[number].prompt; i++) {
        if (count > 0 && runs[count - 1].first + runs[count - 1].count == tokens[i]) {
            runs[count - 1].count++;
        } else {
            runs[count++] = (struct spec_token_run){tokens[i], 1};
        }
    }
    scenario->run_count[number] = count;
}

// One answer each; everything else as it was rolled.
static void roll_cached(uint64_t seed, struct scenario *scenario)
{
    struct ref_v0_input *in = &scenario->in;
    struct dice dice = {seed * UINT64_C(0x9e3779b97f4a7c15)};
    roll(seed, scenario);
    in->has_cache = true;
    in->mode = in->by_priority ? REF_V0_AS_FITS : in->mode;
    in->swap_blocks = in->swap_blocks == INT64_MAX ? 100 : in->swap_blocks;
    if (in->is_chunked) {
        in->budget += in->block_size - 1;
        in->budget -= in->budget % in->block_size;
    }
    bool some_give_up = in->mode != REF_V0_SWAP && one_in(&dice, 3), same_length = one_in(&dice, 3);
    for (int64_t i = 0; i < in->count; i++) {
        struct ref_v0_request *request = &scenario->requests[i];
        request->answers = 1;
        request->parents = NULL;
        request->prompt = same_length && i > 0 ? scenario->requests[0].prompt : request->prompt;
        request->outputs[0] = one_in(&dice, 2) ? between(&dice, 1, 9) : request->outputs[0];
        request->gives_up_ticks =
            some_give_up && one_in(&dice, 3) ? between(&dice, 1, 40000) << 20 : 0;
        roll_prompt(&dice, scenario, i);
        roll_answer(&dice, scenario, i);
        note_runs(scenario, i);
        request->tokens = scenario->tokens[i];
    }
}

/* ---- the engine ---- */

struct lines {
    struct record_sink sink; /* first */
    char *text;
    size_t length, room;
    bool has_cache;
};

static void print(struct lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(struct lines *lines, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (lines->length + (size_t)bytes + 1 > lines->room) {
        lines->room = 2 * lines->room + 4096;
        lines->text = realloc(lines->text, lines->room);
        ck_assert_ptr_nonnull(lines->text);
    }
    memcpy(lines->text + lines->length, text, (size_t)bytes + 1);
    lines->length += (size_t)bytes;
}

static void print_list(struct lines *lines, const struct record_list_item *items, size_t count)
{
    print(lines, " |");
    for (size_t i = 0; i < count; i++) {
        print(lines, " %s", items[i].id);
    }
}

static void print_step(struct record_sink *sink, const struct record_step *row)
{
    struct lines *lines = (struct lines *)(void *)sink;
    print(lines, "%" PRId64 " %" PRId64, row->start_ns, row->end_ns);
    for (size_t i = 0; i < row->scheduled_count; i++) {
        print(lines, " %s:%" PRId64, row->scheduled[i].id, row->scheduled[i].tokens);
    }
    print_list(lines, row->admitted, row->admitted_count);
    print_list(lines, row->preempted, row->preempted_count);
    print_list(lines, row->swapped_out, row->swapped_out_count);
    print_list(lines, row->swapped_in, row->swapped_in_count);
    print(lines, " | %" PRId64 " %" PRId64, row->running, row->waiting);
    print(lines, " %" PRId64 " %" PRId64, row->free_blocks, row->used_blocks);
    print(lines, " | %" PRId64, row->ledger_bytes[KV_LEDGER_LOWER_BOUND]);
    print(lines, " %" PRId64, row->ledger_bytes[KV_LEDGER_BLOCK_ROUNDING]);
    print(lines, " %" PRId64, row->ledger_bytes[KV_LEDGER_RESERVED]);
    print(lines, " %" PRId64, row->ledger_bytes[KV_LEDGER_SHARED]);
    if (lines->has_cache) {
        print(lines, " %" PRId64, row->ledger_bytes[KV_LEDGER_CACHED]);
    }
    print(lines, " | %" PRId64 " %" PRId64 "\n", row->running_end, row->free_blocks_end);
}

static const struct record_sink_ops printing = {.on_step = print_step};

struct list_source {
    const struct ref_v0_input *in;
    const struct scenario *scenario;
    int64_t at;
};

static enum kvsim_status list_next(void *context, struct workload_request *out, bool *more,
                                   struct kvsim_error *err)
{
    (void)err;
    struct list_source *source = context;
    *more = source->at < source->in->count;
    if (*more) {
        const struct ref_v0_request *in = &source->in->requests[source->at];
        *out = (struct workload_request){.arrival_ns = in->arrival_ticks >> 20,
                                         .prompt_tokens = in->prompt,
                                         .priority = (int32_t)in->priority,
                                         .output_tokens = in->outputs[0],
                                         .max_tokens = 1000000,
                                         .sequence_count = (uint32_t)in->answers,
                                         .sequence_outputs = in->outputs,
                                         .is_beam = in->parents != NULL,
                                         .abort_after_ns = in->gives_up_ticks >> 20,
                                         .beam_key = beam_key(source->at)};
        if (source->in->has_cache) {
            out->runs = source->scenario->runs[source->at];
            out->run_count = source->scenario->run_count[source->at];
            out->answer_first = in->tokens[in->prompt];
        }
        snprintf(out->id, sizeof out->id, "%" PRId64, source->at++);
    }
    return KVSIM_OK;
}

static enum kvsim_status list_done(void *context, const struct workload_ended *ended,
                                   struct workload_request *out, bool *more,
                                   struct kvsim_error *err)
{
    (void)context, (void)ended, (void)out, (void)err;
    *more = false;
    return KVSIM_OK;
}

static void fill(const struct scenario *scenario, struct service *service)
{
    const struct ref_v0_input *in = &scenario->in;
    static const enum sched_preemption modes[] = {SCHED_PREEMPT_AS_FITS, SCHED_PREEMPT_RECOMPUTE,
                                                  SCHED_PREEMPT_SWAP};
    struct serve_config *config = &service->config;
    service_init(service);
    service_set_pool(service, in->num_blocks, in->block_size);
    config->reserved_blocks = 0;
    config->scheduler = &sched_vllm_v0;
    config->sched.max_model_len = in->max_model_len;
    config->sched.max_num_seqs = in->max_num_seqs;
    config->sched.max_num_batched_tokens = in->budget;
    config->sched.enable_chunked_prefill = in->is_chunked;
    config->sched.order = in->by_priority ? SCHED_PRIORITY : SCHED_FCFS;
    config->sched.preemption = modes[in->mode];
    config->sched.enable_prefix_caching = in->has_cache;
    config->sched.swap_blocks = in->swap_blocks;
    config->sched.watermark = (struct base_rational){in->watermark_blocks, in->num_blocks};
    config->swap_ticks_per_block = in->swap_ticks;
    config->cost.max_decode_seqs = (uint32_t)in->max_num_seqs;
    service->cost = (struct cost_options){.level = COST_AFFINE, .has_level = true};
    service->cost.affine.base_ns = (double)(in->a >> 20);
    service->cost.affine.per_prefill_token_ns = (double)(in->b >> 20);
    service->cost.affine.per_decode_seq_ns = (double)(in->c >> 20);
    service->cost.affine.per_context_token_ns = (double)(in->d >> 20);
    config->workload.process = WORKLOAD_TRACE;
    config->workload.classes[0].beam_switch = scenario->beam_switch;
    config->warmup.kind = SERVE_WARMUP_REQUESTS;
}

static void run_engine(const struct serve_config *config, const struct scenario *scenario,
                       struct lines *lines, struct serve_result *result)
{
    struct list_source list = {&scenario->in, scenario, 0};
    struct serve_source source = {&list, list_next, list_done};
    struct serve_run_options options = {
        .replication = 1, .mode = lines != NULL ? SERVE_STEP : SERVE_JUMP, .source = &source};
    struct kvsim_error err = {.status = KVSIM_OK};
    if (lines != NULL) {
        *lines = (struct lines){.sink = {.ops = &printing, .wants_steps = true},
                                .has_cache = scenario->in.has_cache};
        print(lines, "%s", "");
        options.sink = &lines->sink;
    }
    ck_assert_msg(serve_run(config, &options, result, &err) == KVSIM_OK, "%s", err.message);
}

/* ---- the comparison ---- */

// A run that is stuck may turn in circles: where one or the other notices is no matter.
static void check_lines(uint64_t seed, const char *expected, const char *actual, bool is_stuck)
{
    size_t at = 0, line = 0;
    while (expected[at] == actual[at] && expected[at] != '\0') {
        line = expected[at++] == '\n' ? at : line;
    }
    if (expected[at] != actual[at] && !(is_stuck && (expected[at] == '\0' || actual[at] == '\0'))) {
        ck_abort_msg("seed %" PRIu64 ": step\n%.*s, expected\n%.*s", seed,
                     (int)strcspn(actual + line, "\n"), actual + line,
                     (int)strcspn(expected + line, "\n"), expected + line);
    }
}

static void check_totals(uint64_t seed, const struct ref_v0_output *expected,
                         const struct serve_result *result)
{
    static const enum serve_status ends[] = {SERVE_DONE, SERVE_STUCK, SERVE_ENGINE_DIED};
    const struct serve_replica_result *replica = &result->replicas[0];
    const int64_t pairs[][2] = {
        {ends[expected->end], result->status},
        {expected->completed, (int64_t)result->outcomes[RECORD_OUTCOME_COMPLETED]},
        {expected->ignored, (int64_t)result->outcomes[RECORD_OUTCOME_UNSERVABLE]},
        {expected->swapped_blocks, replica->swapped_blocks},
        {expected->copied_blocks, replica->copied_blocks},
        {expected->preemptions, (int64_t)replica->preemptions},
        {expected->computed, replica->computed_tokens},
        {expected->output_tokens, result->output_tokens},
        {expected->given_up, (int64_t)result->outcomes[RECORD_OUTCOME_ABORTED]},
        {expected->hit_tokens, replica->hit_tokens},
        {expected->lookup_tokens, replica->lookup_tokens},
        {expected->evicted_blocks, replica->evicted_blocks}};
    bool is_whole = expected->end == REF_V0_DONE;
    for (size_t i = 0; i < (is_whole ? 12 : 3); i++) {
        ck_assert_msg(pairs[i][0] == pairs[i][1],
                      "seed %" PRIu64 ": total %zu is %" PRId64 ", expected %" PRId64, seed, i,
                      pairs[i][1], pairs[i][0]);
    }
}

static void check_integrals(uint64_t seed, const struct serve_integrals *a,
                            const struct serve_integrals *b)
{
    bool same = a->live_tokens == b->live_tokens && a->used_blocks == b->used_blocks &&
                a->shared_blocks == b->shared_blocks && a->cached_blocks == b->cached_blocks &&
                a->blank_blocks == b->blank_blocks;
    ck_assert_msg(same, "seed %" PRIu64 ": jumping has another mean ledger", seed);
}

/* What the scenarios had: a comparison of nothing proves nothing. */
struct seen {
    int64_t done, stuck, died, swapped, copied, ignored, preempted, made_way, beams;
    int64_t hits, evicted, shared_found, stale, given_up; /* with a cache */
};

static void check_scenario(uint64_t seed, const struct scenario *scenario, struct seen *seen)
{
    const struct ref_v0_input *in = &scenario->in;
    struct ref_v0_output expected;
    struct service service;
    struct lines lines;
    struct serve_result stepped, jumped;
    ref_v0_run(in, &expected);
    fill(scenario, &service);
    run_engine(&service.config, scenario, &lines, &stepped);
    check_lines(seed, expected.steps, lines.text, expected.end == REF_V0_STUCK);
    check_totals(seed, &expected, &stepped);
    run_engine(&service.config, scenario, NULL, &jumped);
    check_totals(seed, &expected, &jumped);
    ck_assert_msg(stepped.end_ticks == jumped.end_ticks, "seed %" PRIu64 ": jumping ends elsewhere",
                  seed);
    check_integrals(seed, &stepped.replicas[0].whole, &jumped.replicas[0].whole);
    seen->done += expected.end == REF_V0_DONE ? 1 : 0;
    seen->stuck += expected.end == REF_V0_STUCK ? 1 : 0;
    seen->died += expected.end == REF_V0_DIED ? 1 : 0;
    seen->swapped += expected.swapped_blocks;
    seen->copied += expected.copied_blocks;
    seen->ignored += expected.ignored;
    seen->made_way += expected.made_way;
    seen->preempted += expected.preemptions;
    seen->hits += expected.hit_tokens;
    seen->evicted += expected.evicted_blocks;
    seen->shared_found += expected.shared_found;
    seen->stale += expected.stale;
    seen->given_up += expected.given_up;
    for (int64_t i = 0; i < in->count; i++) {
        seen->beams += scenario->requests[i].parents != NULL ? 1 : 0;
    }
    free(expected.steps);
    free(lines.text);
    serve_result_release(&stepped);
    serve_result_release(&jumped);
    service_release(&service);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

START_TEST(every_step_agrees)
{
    uint64_t first = number_from("KVSIM_SEED", 1), count = number_from("KVSIM_SCENARIOS", 2000);
    struct seen seen = {0};
    static struct scenario scenario;
    for (uint64_t seed = first; seed < first + count; seed++) {
        roll(seed, &scenario);
        check_scenario(seed, &scenario, &seen);
    }
    if (count >= 600) {
        ck_assert_int_gt(seen.done, 200);
        ck_assert_int_gt(seen.stuck, 2);
        ck_assert_int_gt(seen.died, 8);
        ck_assert_int_gt(seen.swapped, 2000);
        ck_assert_int_gt(seen.copied, 800);
        ck_assert_int_gt(seen.ignored, 200);
        ck_assert_int_gt(seen.preempted, 800);
        ck_assert_int_gt(seen.made_way, 80);
        ck_assert_int_gt(seen.beams, 300);
    }
}
END_TEST

START_TEST(every_step_with_a_cache_agrees)
{
    uint64_t first = number_from("KVSIM_SEED", 1), count = number_from("KVSIM_SCENARIOS", 2000);
    struct seen seen = {0};
    static struct scenario scenario;
    for (uint64_t seed = first; seed < first + count; seed++) {
        roll_cached(seed, &scenario);
        check_scenario(seed, &scenario, &seen);
    }
    if (count >= 600) {
        ck_assert_int_gt(seen.done, 500);
        ck_assert_int_gt(seen.died, 2);
        ck_assert_int_gt(seen.swapped, 2000);
        ck_assert_int_gt(seen.preempted, 2000);
        ck_assert_int_gt(seen.made_way, 80);
        ck_assert_int_gt(seen.hits, 20000);
        ck_assert_int_gt(seen.evicted, 20000);
        ck_assert_int_gt(seen.shared_found, 600);
        ck_assert_int_gt(seen.stale, 300);
        ck_assert_int_gt(seen.given_up, 200);
    }
}
END_TEST

// One seat. The one who has it goes as soon as somebody more urgent is there: in the turn at 2100 both of them wait, and 1 is
// taken; 0 computes its four tokens and its three answers again.
START_TEST(the_more_urgent_one_first)
{
    static const char steps[] = "0 700 0:4 | 0 | | | | 1 0 9 1 | 4 0 0 0 | 1 9\n"
                                "700 1400 0:1 | | | | | 1 0 8 2 | 5 3 0 0 | 1 8\n"
                                "1400 2100 0:1 | | | | | 1 0 8 2 | 6 2 0 0 | 1 8\n"
                                "2100 2800 1:4 | 1 | 0 | | | 1 1 9 1 | 4 0 0 0 | 1 9\n"
                                "2800 3500 1:1 | | | | | 1 1 8 2 | 5 3 0 0 | 0 10\n"
                                "3500 4200 0:7 | 0 | | | | 1 0 8 2 | 7 1 0 0 | 0 10\n";
    static struct scenario scenario = {
        .in = {.block_size = 4,
               .num_blocks = 10,
               .max_model_len = 40,
               .max_num_seqs = 1,
               .budget = 40,
               .by_priority = true,
               .swap_blocks = INT64_MAX,
               .a = INT64_C(700) << 20,
               .count = 2},
        .requests = {
            {.prompt = 4, .answers = 1, .outputs = {4}, .priority = 1},
            {.arrival_ticks = INT64_C(1500) << 20, .prompt = 4, .answers = 1, .outputs = {2}}}};
    scenario.in.requests = scenario.requests;
    struct ref_v0_output expected;
    struct service service;
    struct lines lines;
    struct serve_result result;
    fill(&scenario, &service);
    run_engine(&service.config, &scenario, &lines, &result);
    ck_assert_str_eq(lines.text, steps);
    ref_v0_run(&scenario.in, &expected);
    ck_assert_str_eq(expected.steps, steps);
    free(expected.steps);
    free(lines.text);
    serve_result_release(&result);
    service_release(&service);
}
END_TEST

/*
 * Blocks of two, seven of them; everybody begins with the tokens 1001 to 1004.
 *
 *      0  0 and 1 come together: 1 2 3 4 and 1 2 3 4 5. What 1 finds is held, but not computed in time: 9 tokens in three blocks
 *    700  both decode: 0 takes a fourth block, 1 fills its own
 *   1400  0 fills its third block, 1 takes a fourth for its last token. All seven are free then, four of them with content
 *         (1 2, 3 4, and the two that the answers have filled)
 *   2100  2 finds all its four tokens: the last one is computed. The two that it does not hold stay cached
 *   2800  3 finds four tokens of its six, which 2 holds; its third block takes a blank one
 *   3500  what 3 leaves is cached, too; 2 takes a blank block, fills it, and takes the next one
 */
START_TEST(a_prefix_cache_by_hand)
{
    static const char steps[] = "0 700 0:4 1:5 | 0 1 | | | | 2 0 4 3 | 9 1 0 4 0 | 2 4\n"
                                "700 1400 0:1 1:1 | | | | | 2 0 3 4 | 11 1 0 4 0 | 2 3\n"
                                "1400 2100 0:1 1:1 | | | | | 2 0 2 5 | 13 1 0 4 0 | 0 7\n"
                                "2100 2800 2:1 | 2 | | | | 1 0 5 2 | 4 0 0 0 4 | 1 5\n"
                                "2800 3500 3:2 | 3 | | | | 2 0 4 3 | 10 0 0 4 4 | 1 5\n"
                                "3500 4200 2:1 | | | | | 1 0 4 3 | 5 1 0 0 6 | 1 4\n"
                                "4200 4900 2:1 | | | | | 1 0 4 3 | 6 0 0 0 6 | 1 4\n"
                                "4900 5600 2:1 | | | | | 1 0 3 4 | 7 1 0 0 6 | 0 7\n";
    static struct scenario scenario = {
        .in = {.block_size = 2,
               .num_blocks = 7,
               .max_model_len = 14,
               .max_num_seqs = 4,
               .budget = 14,
               .has_cache = true,
               .swap_blocks = 4,
               .a = INT64_C(700) << 20,
               .count = 4},
        .requests = {
            {.prompt = 4, .answers = 1, .outputs = {3}},
            {.prompt = 5, .answers = 1, .outputs = {3}},
            {.arrival_ticks = INT64_C(1500) << 20, .prompt = 4, .answers = 1, .outputs = {4}},
            {.arrival_ticks = INT64_C(2200) << 20, .prompt = 6, .answers = 1, .outputs = {1}}}};
    scenario.in.requests = scenario.requests;
    for (int64_t i = 0; i < scenario.in.count; i++) {
        struct ref_v0_request *request = &scenario.requests[i];
        for (int64_t t = 0; t < length_of(request); t++) {
            scenario.tokens[i][t] = t < 4 ? 1001 + t : token_of(100 + i, t);
        }
        note_runs(&scenario, i);
        request->tokens = scenario.tokens[i];
    }
    struct ref_v0_output expected;
    struct service service;
    struct lines lines;
    struct serve_result result;
    fill(&scenario, &service);
    run_engine(&service.config, &scenario, &lines, &result);
    ck_assert_str_eq(lines.text, steps);
    ref_v0_run(&scenario.in, &expected);
    ck_assert_str_eq(expected.steps, steps);
    free(expected.steps);
    free(lines.text);
    serve_result_release(&result);
    service_release(&service);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vLLM V0");
    TCase *tcase = tcase_create("against the reference");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, the_more_urgent_one_first);
    tcase_add_test(tcase, every_step_agrees);
    tcase_add_test(tcase, a_prefix_cache_by_hand);
    tcase_add_test(tcase, every_step_with_a_cache_agrees);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
