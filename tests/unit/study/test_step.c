#include "support/unit.h"

#include "study/step.h"

#include <string.h>

/* The same sums, query by query. */
static void count_pairs(int64_t q, int64_t c, int64_t window, int64_t *pairs)
{
    *pairs = 0;
    for (int64_t i = 1; i <= q; i++)
        *pairs += c + i < window ? c + i : window;
}

/* A query sees its chunk of `window` tokens up to itself. */
static int64_t count_chunk_pairs(int64_t q, int64_t c, int64_t window)
{
    int64_t pairs = 0;
    for (int64_t i = 0; i < q; i++)
        pairs += (c + i) % window + 1;
    return pairs;
}

START_TEST(areas_equal_counting_query_by_query)
{
    for (int64_t window = 1; window <= 12; window++) {
        for (int64_t c = 0; c <= 15; c++) {
            for (int64_t q = 1; q <= 15; q++) {
                struct study_step_chunk chunk = {
                    .seq_count = 3, .new_tokens = q, .cached_tokens = c};
                struct study_step_batch batch = {.chunks = &chunk, .chunk_count = 1};
                struct cost_shape shape;
                int64_t seen, all;
                const struct cost_window windows[] = {{window, false}, {window, true}};
                study_step_shape(&batch, windows, 2, &shape);
                count_pairs(q, c, window, &seen);
                count_pairs(q, c, INT64_MAX, &all);
                ck_assert_int_eq((int64_t)shape.prefill_window_area[0], 3 * seen);
                ck_assert_int_eq((int64_t)shape.prefill_window_area[1],
                                 3 * count_chunk_pairs(q, c, window));
                ck_assert_int_eq((int64_t)shape.prefill_area, 3 * all);
                ck_assert_int_eq(shape.prefill_tokens, 3 * q);
                ck_assert_int_eq(shape.prefill_cached_tokens, 3 * c);
                ck_assert_uint_eq(shape.prefill_seq_count, 3);
                ck_assert_uint_eq(shape.emitting_count, 3);
                ck_assert_uint_eq(shape.decode_seq_count, 0);
            }
        }
    }
}
END_TEST

START_TEST(decode_contexts_count_the_new_token)
{
    static const struct cost_window windows[] = {{50, false}, {101, false}, {50, true}};
    struct study_step_batch batch = {.decode_seq_count = 7, .decode_context_tokens = 100};
    struct cost_shape shape;
    study_step_shape(&batch, windows, 3, &shape);
    ck_assert_uint_eq(shape.decode_seq_count, 7);
    ck_assert_int_eq(shape.decode_context_tokens, 707);
    ck_assert_int_eq(shape.decode_window_tokens[0], 350);
    ck_assert_int_eq(shape.decode_window_tokens[1], 707);
    ck_assert_int_eq(shape.decode_window_tokens[2], 7); // the first of the third chunk
    ck_assert_uint_eq(shape.prefill_seq_count, 0);
}
END_TEST

START_TEST(chunks_add_up)
{
    static const struct study_step_chunk chunks[] = {{2, 10, 5}, {1, 100, 0}};
    struct study_step_batch batch = {.chunks = chunks, .chunk_count = 2};
    struct cost_shape shape;
    study_step_shape(&batch, NULL, 0, &shape);
    ck_assert_uint_eq(shape.prefill_seq_count, 3);
    ck_assert_int_eq(shape.prefill_tokens, 120);
    ck_assert_int_eq(shape.prefill_cached_tokens, 10);
    ck_assert_int_eq((int64_t)shape.prefill_area, 2 * (50 + 55) + 5050);
}
END_TEST

static const struct scenario_override on_h100[] = {
    {"model", "llama-3.1-8b"}, {"hardware", "h100-sxm"}, {"engine.tensor_parallel_size", "2"}};

static void steps_init(struct study_steps *steps)
{
    struct scenario_request request = {
        .overrides = on_h100, .override_count = 3, .purpose = SCENARIO_FOR_STEP};
    study_steps_init(steps, &request);
}

START_TEST(equal_texts_share_an_engine)
{
    struct study_steps steps;
    struct study_step_engine *a, *b, *c;
    enum study_step_key fault;
    struct kvsim_error err;
    const char *values[STUDY_STEP_KEY_COUNT] = {NULL};
    steps_init(&steps);
    ck_assert_int_eq(study_steps_engine(&steps, values, &a, &fault, &err), KVSIM_OK);
    ck_assert_str_eq(a->config->model_name, "llama-3.1-8b");
    ck_assert_uint_eq(a->config->tensor_parallel, 2);
    values[STUDY_STEP_TP] = "4";
    values[STUDY_STEP_MODEL] = "llama-3.1-70b";
    ck_assert_int_eq(study_steps_engine(&steps, values, &b, &fault, &err), KVSIM_OK);
    ck_assert_ptr_ne(a, b);
    ck_assert_str_eq(b->config->model_name, "llama-3.1-70b");
    ck_assert_uint_eq(b->config->tensor_parallel, 4);
    values[STUDY_STEP_TP] = values[STUDY_STEP_MODEL] = NULL;
    ck_assert_int_eq(study_steps_engine(&steps, values, &c, &fault, &err), KVSIM_OK);
    ck_assert_ptr_eq(a, c);
    ck_assert_uint_eq(steps.engines.count, 2);
    study_steps_free(&steps);
}
END_TEST

static void assert_fault(enum study_step_key key, const char *value)
{
    struct study_steps steps;
    struct study_step_engine *engine;
    enum study_step_key fault;
    struct kvsim_error err;
    const char *values[STUDY_STEP_KEY_COUNT] = {NULL};
    values[key] = value;
    steps_init(&steps);
    ck_assert_int_eq(study_steps_engine(&steps, values, &engine, &fault, &err), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(fault, key);
    ck_assert_uint_gt(strlen(err.message), 0);
    study_steps_free(&steps);
}

START_TEST(the_value_to_blame_is_named)
{
    assert_fault(STUDY_STEP_MODEL, "llama-9");
    assert_fault(STUDY_STEP_HARDWARE, "abacus");
    assert_fault(STUDY_STEP_TP, "0");
    assert_fault(STUDY_STEP_TP, "two");
    assert_fault(STUDY_STEP_EP, "3");
    assert_fault(STUDY_STEP_QUANTIZATION, "fp9");
    assert_fault(STUDY_STEP_KV_CACHE_DTYPE, "fp9");
    assert_fault(STUDY_STEP_GRAPHS, "maybe");
}
END_TEST

START_TEST(eager_steps_pay_for_every_launch)
{
    struct study_steps steps;
    struct study_step_engine *graphs, *eager;
    struct cost_explanation a, b;
    enum study_step_key fault;
    struct kvsim_error err;
    struct study_step_batch batch = {.decode_seq_count = 1, .decode_context_tokens = 1000};
    const char *values[STUDY_STEP_KEY_COUNT] = {NULL};
    steps_init(&steps);
    values[STUDY_STEP_GRAPHS] = "true";
    ck_assert_int_eq(study_steps_engine(&steps, values, &graphs, &fault, &err), KVSIM_OK);
    values[STUDY_STEP_GRAPHS] = "0";
    ck_assert_int_eq(study_steps_engine(&steps, values, &eager, &fault, &err), KVSIM_OK);
    ck_assert_int_eq(study_step_explain(graphs, &batch, &a, &err), KVSIM_OK);
    ck_assert_int_eq(study_step_explain(eager, &batch, &b, &err), KVSIM_OK);
    ck_assert_double_gt(b.launch_s, a.launch_s);
    study_steps_free(&steps);
}
END_TEST

START_TEST(batches_grow_and_have_their_limits)
{
    struct study_steps steps;
    struct study_step_engine *engine;
    struct cost_explanation small, large, again;
    enum study_step_key fault;
    struct kvsim_error err;
    const char *values[STUDY_STEP_KEY_COUNT] = {NULL};
    struct study_step_batch batch = {.decode_seq_count = 5, .decode_context_tokens = 1000};
    steps_init(&steps);
    ck_assert_int_eq(study_steps_engine(&steps, values, &engine, &fault, &err), KVSIM_OK);
    ck_assert_int_eq(study_step_explain(engine, &batch, &small, &err), KVSIM_OK);
    batch.decode_seq_count = 5000;
    ck_assert_int_eq(study_step_explain(engine, &batch, &large, &err), KVSIM_OK);
    ck_assert_int_gt(large.step_ticks, small.step_ticks);
    batch.decode_seq_count = 5;
    ck_assert_int_eq(study_step_explain(engine, &batch, &again, &err), KVSIM_OK);
    ck_assert_int_eq(again.step_ticks, small.step_ticks);

    batch.decode_seq_count = STUDY_STEP_SEQS_MAX + 1;
    ck_assert_int_eq(study_step_explain(engine, &batch, &large, &err), KVSIM_ERR_SCENARIO);
    batch.decode_seq_count = 1;
    batch.decode_context_tokens = INT64_MAX;
    ck_assert_int_eq(study_step_explain(engine, &batch, &large, &err), KVSIM_ERR_SCENARIO);
    batch.decode_seq_count = 0;
    ck_assert_int_eq(study_step_explain(engine, &batch, &large, &err), KVSIM_ERR_SCENARIO);
    struct study_step_chunk empty = {.seq_count = 1, .new_tokens = 0, .cached_tokens = 8};
    batch = (struct study_step_batch){.chunks = &empty, .chunk_count = 1};
    ck_assert_int_eq(study_step_explain(engine, &batch, &large, &err), KVSIM_ERR_SCENARIO);
    study_steps_free(&steps);
}
END_TEST

int main(void)
{
    return unit_run("study.step",
                    (const TTest *const[]){areas_equal_counting_query_by_query,
                                           decode_contexts_count_the_new_token, chunks_add_up,
                                           equal_texts_share_an_engine, the_value_to_blame_is_named,
                                           eager_steps_pay_for_every_launch,
                                           batches_grow_and_have_their_limits, NULL});
}
