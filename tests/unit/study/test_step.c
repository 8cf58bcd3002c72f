#include "support/unit.h"

#include "study/step.h"

/* The same sums, query by query. */
static void count_pairs(int64_t q, int64_t c, int64_t window, int64_t *pairs)
{
    *pairs = 0;
    for (int64_t i = 1; i <= q; i++)
        *pairs += c + i < window ? c + i : window;
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
                study_step_shape(&batch, &window, 1, &shape);
                count_pairs(q, c, window, &seen);
                count_pairs(q, c, INT64_MAX, &all);
                ck_assert_int_eq((int64_t)shape.prefill_window_area[0], 3 * seen);
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
    static const int64_t windows[] = {50, 101, 4096};
    struct study_step_batch batch = {.decode_seq_count = 7, .decode_context_tokens = 100};
    struct cost_shape shape;
    study_step_shape(&batch, windows, 3, &shape);
    ck_assert_uint_eq(shape.decode_seq_count, 7);
    ck_assert_int_eq(shape.decode_context_tokens, 707);
    ck_assert_int_eq(shape.decode_window_tokens[0], 350);
    ck_assert_int_eq(shape.decode_window_tokens[1], 707);
    ck_assert_int_eq(shape.decode_window_tokens[2], 707);
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

int main(void)
{
    return unit_run("study.step", (const TTest *const[]){areas_equal_counting_query_by_query,
                                                         decode_contexts_count_the_new_token,
                                                         chunks_add_up, NULL});
}
