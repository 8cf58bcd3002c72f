/*
 * What must hold of the reference in every scenario: blocks and tokens are conserved, the ledger
 * adds up at every step, limits are kept, every request ends, and the integrals obey Little's law
 * to the tick.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference/random_scenario.h"
#include "reference/ref.h"

enum { SCENARIOS = 2000, PER_FEATURE = 100 };

/* What a failure is reported with. */
struct subject {
    uint64_t seed;
    uint32_t features;
    struct ref_input input;
    struct ref_output output;
};

/* Check notes every assertion in a file; millions of them are tested first and noted only when
 * they fail. */
#define HOLDS(subject, condition)                                                            \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            ck_abort_msg("seed %llu features 0x%x: %s", (unsigned long long)(subject)->seed, \
                         (unsigned int)(subject)->features, #condition);                     \
        }                                                                                    \
    } while (0)

static void subject_run(struct subject *subject, uint64_t seed, uint32_t features)
{
    *subject = (struct subject){.seed = seed, .features = features};
    random_scenario(seed, features, &subject->input);
    subject->input.step_limit = 100000;
    HOLDS(subject, ref_run(&subject->input, &subject->output) == 0);
    HOLDS(subject, subject->output.verdict == REF_DONE);
}

static void subject_free(struct subject *subject)
{
    ref_output_free(&subject->output);
    ref_input_free(&subject->input);
}

/* ---- one step ---- */

static int64_t allocated(const int64_t lines[REF_LINES])
{
    return lines[REF_LOWER_BOUND] + lines[REF_BLOCK_ROUNDING] + lines[REF_OUT_OF_WINDOW] +
           lines[REF_RESERVED] - lines[REF_SHARED];
}

static void check_ledger(const struct subject *s, const struct ref_step *step)
{
    const int64_t *lines = step->ledger_tokens;
    const struct ref_engine *engine = &s->input.engine;
    for (int line = 0; line < REF_LINES; line++) {
        HOLDS(s, lines[line] >= 0);
    }
    HOLDS(s, allocated(lines) == step->used_blocks * ref_block_bytes(engine));
    HOLDS(s, allocated(lines) + lines[REF_CACHED] + lines[REF_FRAGMENTED] + lines[REF_HELD_BACK] +
                     lines[REF_FREE] ==
                 lines[REF_POOL]);
    HOLDS(s, lines[REF_POOL] == engine->num_blocks * ref_block_bytes(engine));
    HOLDS(s, step->used_blocks + step->free_blocks == engine->num_blocks - 1);
    HOLDS(s, lines[REF_CACHED] + lines[REF_FREE] == step->free_blocks * ref_block_bytes(engine));
    HOLDS(s, step->free_blocks_end <= engine->num_blocks - 1);
}

static void check_batch(const struct subject *s, const struct ref_step *step)
{
    const struct ref_engine *engine = &s->input.engine;
    int64_t tokens = 0;
    HOLDS(s, step->scheduled_count >= 1);
    for (int64_t i = 0; i < step->scheduled_count; i++) {
        const int64_t chunk = step->scheduled[i].tokens;
        tokens += chunk;
        HOLDS(s, chunk >= 1);
        HOLDS(s, engine->long_prefill_token_threshold == 0 ||
                     chunk <= engine->long_prefill_token_threshold);
        for (int64_t k = 0; k < i; k++) {
            HOLDS(s, step->scheduled[k].request != step->scheduled[i].request);
        }
    }
    HOLDS(s, tokens <= engine->max_num_batched_tokens);
    HOLDS(s, tokens == step->shape.scheduled_tokens);
    HOLDS(s, tokens == step->shape.prefill_tokens + step->shape.decode_seqs);
    HOLDS(s, step->shape.prefill_seqs + step->shape.decode_seqs == step->scheduled_count);
    HOLDS(s, step->scheduled_count <= step->running);
    HOLDS(s, step->running <= engine->max_num_seqs);
    HOLDS(s, step->shape.context_tokens >= tokens);
}

static void check_times(const struct subject *s, int64_t index)
{
    const struct ref_step *step = &s->output.steps[index];
    const int64_t depth = s->input.engine.async_scheduling ? 2 : 1;
    HOLDS(s, step->sched_ticks <= step->start_ticks && step->start_ticks < step->end_ticks);
    const struct ref_affine *affine = &s->input.step;
    HOLDS(s, step->end_ticks - step->start_ticks ==
                 affine->a + affine->b * step->shape.prefill_tokens +
                     affine->c * step->shape.decode_seqs + affine->d * step->shape.context_tokens);
    if (index >= 1) {
        HOLDS(s, step->start_ticks >= s->output.steps[index - 1].end_ticks);
    }
    if (index >= depth) {
        HOLDS(s, step->sched_ticks >= s->output.steps[index - depth].end_ticks);
    }
}

/* ---- one request ---- */

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void check_answer(const struct subject *s, int64_t index)
{
    const struct ref_request_in *in = &s->input.requests[index];
    const struct ref_request_out *out = &s->output.requests[index];
    const int64_t room = s->input.engine.max_model_len - in->prompt_tokens;
    const int64_t length = min64(in->max_tokens, room);
    HOLDS(s, out->output_tokens == min64(in->output_tokens, length));
    HOLDS(s, (out->finish == REF_FINISH_STOP) == (in->output_tokens < length));
    HOLDS(s, out->arrival_ticks <= out->first_scheduled_ticks &&
                 out->first_scheduled_ticks < out->first_token_ticks &&
                 out->first_token_ticks <= out->finish_ticks);
    // Every position but the last token's is computed or hit once; an answer that stops by itself
    // may have cost a slot more with two batches in flight. Hits below a window are not
    // positions.
    const int64_t positions = in->prompt_tokens + out->output_tokens - 1;
    const int64_t fresh = out->computed_tokens - out->recomputed_tokens;
    const bool extra = s->input.engine.async_scheduling && out->finish == REF_FINISH_STOP;
    HOLDS(s, fresh <= positions + (extra ? 1 : 0));
    if (!s->input.engine.enable_prefix_caching) {
        HOLDS(s, fresh >= positions);
    }
}

static void check_request(const struct subject *s, int64_t index)
{
    const struct ref_request_in *in = &s->input.requests[index];
    const struct ref_request_out *out = &s->output.requests[index];
    HOLDS(s, out->outcome != REF_PENDING);
    const bool refused =
        in->prompt_tokens == 0 || in->prompt_tokens >= s->input.engine.max_model_len;
    HOLDS(s, refused == (out->outcome == REF_REJECTED));
    HOLDS(s, out->cached_tokens <= out->cached_tokens_total);
    HOLDS(s, out->arrival_ticks <= out->finish_ticks);
    if (out->outcome == REF_COMPLETED) {
        check_answer(s, index);
    }
    if (out->outcome == REF_TIMED_OUT || out->outcome == REF_ABORTED) {
        HOLDS(s, in->abort_ns != REF_NEVER || in->timeout_ns != REF_NEVER ||
                     in->first_token_timeout_ns != REF_NEVER);
    }
    if (in->after >= 0) {
        HOLDS(s, out->arrival_ticks == s->output.requests[in->after].finish_ticks +
                                           (ref_i128)in->arrival_ns * REF_TICKS_PER_NS);
    }
}

/* ---- the run ---- */

static int64_t count_in(const int64_t *list, int64_t count, int64_t request)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        found += list[i] == request;
    }
    return found;
}

/* What the steps say of a request is what its own row says. */
static void check_rows_against_steps(const struct subject *s, int64_t request)
{
    const struct ref_request_out *out = &s->output.requests[request];
    int64_t computed = 0, admitted = 0, preempted = 0, finished = 0;
    for (int64_t i = 0; i < s->output.step_count; i++) {
        const struct ref_step *step = &s->output.steps[i];
        for (int64_t k = 0; k < step->scheduled_count; k++) {
            computed += step->scheduled[k].request == request ? step->scheduled[k].tokens : 0;
        }
        admitted += count_in(step->admitted, step->admitted_count, request);
        preempted += count_in(step->preempted, step->preempted_count, request);
        finished += count_in(step->finished, step->finished_count, request);
        HOLDS(s, preempted <= admitted);
    }
    HOLDS(s, computed == out->computed_tokens);
    HOLDS(s, preempted <= out->preemptions);
    HOLDS(s, admitted == out->preemptions || admitted == out->preemptions + 1);
    HOLDS(s, finished == (out->outcome == REF_COMPLETED ? 1 : 0));
}

static void check_integrals(const struct subject *s)
{
    const struct ref_integrals *sum = &s->output.integrals;
    const ref_i128 *lines = sum->ledger_tokens;
    ref_i128 stays = 0;
    for (int64_t i = 0; i < s->output.request_count; i++) {
        stays += s->output.requests[i].finish_ticks - s->output.requests[i].arrival_ticks;
    }
    if ((s->features & RANDOM_ABORTS) == 0) {
        HOLDS(s, sum->running + sum->waiting == stays);
    } else {
        HOLDS(s, sum->running + sum->waiting >= stays);
    }
    HOLDS(s, sum->ticks == s->output.end_ticks);
    HOLDS(s, lines[REF_POOL] == lines[REF_LOWER_BOUND] + lines[REF_BLOCK_ROUNDING] +
                                    lines[REF_OUT_OF_WINDOW] + lines[REF_RESERVED] -
                                    lines[REF_SHARED] + lines[REF_CACHED] + lines[REF_FRAGMENTED] +
                                    lines[REF_HELD_BACK] + lines[REF_FREE]);
    if (s->input.engine.sliding_window == 0) {
        HOLDS(s, lines[REF_LOWER_BOUND] == sum->context_tokens);
    }
    HOLDS(s, sum->used_blocks * ref_block_bytes(&s->input.engine) ==
                 lines[REF_LOWER_BOUND] + lines[REF_BLOCK_ROUNDING] + lines[REF_OUT_OF_WINDOW] -
                     lines[REF_SHARED]);
}

static void check_end(const struct subject *s)
{
    const struct ref_totals *totals = &s->output.totals;
    HOLDS(s, totals->finished + totals->rejected + totals->timed_out + totals->aborted ==
                 s->input.request_count);
    if (s->output.step_count > 0 && (s->features & RANDOM_ABORTS) == 0) {
        const struct ref_step *last = &s->output.steps[s->output.step_count - 1];
        HOLDS(s, last->running_end == 0);
        HOLDS(s, last->free_blocks_end == s->input.engine.num_blocks - 1);
    }
}

static void check_all(const struct subject *s)
{
    for (int64_t i = 0; i < s->output.step_count; i++) {
        check_ledger(s, &s->output.steps[i]);
        check_batch(s, &s->output.steps[i]);
        check_times(s, i);
    }
    for (int64_t i = 0; i < s->output.request_count; i++) {
        check_request(s, i);
        check_rows_against_steps(s, i);
    }
    check_integrals(s);
    check_end(s);
}

START_TEST(properties_hold)
{
    int64_t with_preemption = 0, with_hits = 0;
    for (uint64_t seed = 1; seed <= SCENARIOS; seed++) {
        struct subject subject;
        subject_run(&subject, seed, random_features(seed, UINT32_MAX));
        check_all(&subject);
        with_preemption += subject.output.totals.preemptions > 0;
        with_hits += subject.output.totals.cached_tokens > 0;
        subject_free(&subject);
    }
    printf("%d scenarios, %lld with preemptions, %lld with hits\n", SCENARIOS,
           (long long)with_preemption, (long long)with_hits);
    ck_assert_int_gt(with_preemption, SCENARIOS / 4);
    ck_assert_int_gt(with_hits, SCENARIOS / 12);
}
END_TEST

/* Every feature by itself is really in the scenarios that ask for it. */
START_TEST(feature_alone)
{
    const uint32_t feature = 1u << (uint32_t)_i;
    int64_t preemptions = 0;
    for (uint64_t seed = 1; seed <= PER_FEATURE; seed++) {
        struct subject subject;
        subject_run(&subject, seed, feature);
        check_all(&subject);
        const struct ref_engine *engine = &subject.input.engine;
        HOLDS(&subject, engine->async_scheduling == (feature == RANDOM_ASYNC));
        HOLDS(&subject, (engine->policy == REF_PRIORITY) == (feature == RANDOM_PRIORITY));
        HOLDS(&subject, (engine->watermark_den > 0) == (feature == RANDOM_WATERMARK));
        HOLDS(&subject, (engine->sliding_window > 0) == (feature == RANDOM_WINDOW));
        HOLDS(&subject, engine->enable_prefix_caching == (feature == RANDOM_CACHE));
        preemptions += subject.output.totals.preemptions;
        subject_free(&subject);
    }
    ck_assert_int_gt(preemptions, PER_FEATURE / 4);
}
END_TEST

START_TEST(same_seed_same_scenario)
{
    struct subject a, b;
    subject_run(&a, 7, RANDOM_WITHOUT_CACHE);
    subject_run(&b, 7, RANDOM_WITHOUT_CACHE);
    ck_assert_int_eq(a.input.request_count, b.input.request_count);
    ck_assert(a.output.end_ticks == b.output.end_ticks);
    ck_assert_int_eq(a.output.step_count, b.output.step_count);
    subject_free(&a);
    subject_free(&b);
}
END_TEST

/* A pool below one longest request: refused, or, with the check left out, found to be stuck. */
START_TEST(verdicts)
{
    struct ref_request_in request;
    ref_request_defaults(&request);
    request.prompt_tokens = 8;
    request.output_tokens = request.max_tokens = 8;
    struct ref_input input = {.step = {.a = 1}, .requests = &request, .request_count = 1};
    ref_engine_defaults(&input.engine);
    input.engine.block_size = 4;
    input.engine.max_model_len = 24;
    input.engine.num_blocks = 3;
    struct ref_output output;
    ck_assert_int_eq(ref_run(&input, &output), 0);
    ck_assert_int_eq(output.verdict, REF_CANNOT_START);
    ref_output_free(&output);
    input.engine.skip_startup_check = true;
    ck_assert_int_eq(ref_run(&input, &output), 0);
    ck_assert_int_eq(output.verdict, REF_STUCK);
    ck_assert_int_eq(output.requests[0].output_tokens, 0);
    ref_output_free(&output);
    request.max_tokens = 0;
    ck_assert_int_eq(ref_run(&input, &output), -1);
    ref_output_free(&output);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("properties of the reference");
    TCase *tests = tcase_create("scenarios");
    tcase_add_test(tests, properties_hold);
    tcase_add_loop_test(tests, feature_alone, 0, RANDOM_FEATURES);
    tcase_add_test(tests, same_seed_same_scenario);
    tcase_add_test(tests, verdicts);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
