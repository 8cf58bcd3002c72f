#include "cost/table.h"

#include "fixture.h"

/* Two axes, (1 + x) y ms on a grid of 3 x 4; one axis, 0.01 x. */
static const double seqs[] = {1, 2, 4}, contexts[] = {0, 16, 32, 64};
static const double attention_ms[] = {0, 32, 64, 128, 0, 48, 96, 192, 0, 80, 160, 320};
static const double tokens[] = {1, 8, 64}, no_axis[] = {0};
static const double linear_ms[] = {0.01, 0.08, 0.64};
static const double cached[] = {0, 64, 128}, chunks[] = {16, 64};
static const double prefill_ms[] = {1, 4, 2, 5, 3, 6};

static const struct cost_table_operator operators[] = {
    {"attention", COST_AXIS_DECODE_SEQS, COST_AXIS_MEAN_DECODE_CONTEXT, 1, 3, 4, seqs, contexts,
     attention_ms},
    {"linear", COST_AXIS_BATCH_TOKENS, COST_AXIS_NONE, 1, 3, 1, tokens, no_axis, linear_ms},
    {"prefill", COST_AXIS_CACHED_TOKENS, COST_AXIS_EQUIVALENT_CHUNK, 1.5, 3, 2, cached, chunks,
     prefill_ms},
};

static void start(struct fixture *fixture, struct cost_table *table, enum cost_lookup lookup)
{
    *table = (struct cost_table){"t.csv", 2, lookup, 3, operators};
    fixture_init(fixture, fixture_h100(), fixture_llama8b());
    fixture->options.level = COST_TABLE;
    fixture->options.table = table;
    fixture_start(fixture);
}

static double look(const struct cost_table *table, double x, double y)
{
    struct kvsim_error err;
    double ms = -1;
    ck_assert_int_eq(cost_table_ms(table, &operators[0], x, y, &ms, &err), KVSIM_OK);
    return ms;
}

START_TEST(points_between_the_grid)
{
    struct cost_table table = {"t.csv", 1, COST_LOOKUP_INTERPOLATE, 3, operators};
    ck_assert_double_eq_tol(look(&table, 2, 32), 96, 1e-12);
    ck_assert_double_eq_tol(look(&table, 3, 24), 4 * 24, 1e-12);
    ck_assert_double_eq_tol(look(&table, 1, 8), 16, 1e-12);
    table.lookup = COST_LOOKUP_CEIL;
    ck_assert_double_eq(look(&table, 3, 24), 160);
    ck_assert_double_eq(look(&table, 2, 32), 96);
    ck_assert_double_eq(look(&table, 0.5, 0), 0);
}
END_TEST

START_TEST(beyond_the_grid_is_named)
{
    struct cost_table table = {"t.csv", 1, COST_LOOKUP_CEIL, 3, operators};
    struct kvsim_error err;
    double ms;
    ck_assert_int_eq(cost_table_ms(&table, &operators[0], 5, 16, &ms, &err), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "decode_seqs 5"));
    ck_assert_int_eq(cost_table_ms(&table, &operators[0], 1, 65, &ms, &err), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "mean_decode_context 65"));
    table.lookup = COST_LOOKUP_INTERPOLATE;
    ck_assert_int_eq(cost_table_ms(&table, &operators[1], 0.5, 0, &ms, &err), KVSIM_ERR_SCENARIO);
}
END_TEST

START_TEST(a_step_is_layers_times_the_sum)
{
    struct fixture fixture;
    struct cost_table table;
    start(&fixture, &table, COST_LOOKUP_CEIL);
    /* 2 decodes of 20 and 31 tokens: mean 25 -> 32. 2 linear tokens -> 8. */
    struct cost_shape shape = {.decode_seq_count = 2, .decode_context_tokens = 51};
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks,
                     cost_ticks_from_s(2 * (96 + 0.08) * 1e-3));
    ck_assert_int_eq(cost_step(fixture.cost, &shape).bound, COST_KV_BANDWIDTH);
    /* Chunks of 3 and 4 tokens: an equivalent chunk of 5; 10 and 64 cached, each up to the step of 64. */
    shape = (struct cost_shape){.cached_step_tokens = cost_cached_step_tokens(&fixture.options)};
    ck_assert_int_eq(shape.cached_step_tokens, 64);
    cost_shape_add_prefill(&shape, 1, 3, 10);
    cost_shape_add_prefill(&shape, 1, 4, 64);
    ck_assert_int_eq(shape.prefill_cached_rounded, 128);
    ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks,
                     cost_ticks_from_s(2 * (3 * 1.5 + 0.08) * 1e-3));
    ck_assert_ptr_null(cost_fault(fixture.cost));
    fixture_release(&fixture);
}
END_TEST

/* Every cut of a stretch gives the steps that are priced one by one. */
START_TEST(stretches_equal_their_steps)
{
    for (int lookup = 0; lookup < 2; lookup++) {
        struct fixture fixture;
        struct cost_table table;
        start(&fixture, &table, (enum cost_lookup)lookup);
        struct cost_ramp ramp = {.seq_count = 3, .context_tokens = 4};
        for (int64_t left = 60; left > 0;) {
            struct cost_piece piece;
            cost_ramp_piece(fixture.cost, &ramp, left, &piece);
            ck_assert_int_ge(piece.step_count, 1);
            ck_assert_int_le(piece.step_count, left);
            for (int64_t j = 0; j < piece.step_count; j++) {
                struct cost_shape shape = {.decode_seq_count = 3,
                                           .decode_context_tokens = ramp.context_tokens};
                ck_assert_int_eq(cost_step(fixture.cost, &shape).ticks,
                                 piece.first_ticks + j * piece.delta_ticks);
                ramp.context_tokens += 3;
            }
            left -= piece.step_count;
        }
        ck_assert_ptr_null(cost_fault(fixture.cost));
        ramp.context_tokens = 3 * 65;
        struct cost_piece piece;
        cost_ramp_piece(fixture.cost, &ramp, 1, &piece);
        ck_assert_ptr_nonnull(cost_fault(fixture.cost));
        ck_assert_ptr_nonnull(strstr(cost_fault(fixture.cost)->message, "mean_decode_context 65"));
        fixture_release(&fixture);
    }
}
END_TEST

START_TEST(explained_as_stepped)
{
    struct fixture fixture;
    struct cost_table table;
    start(&fixture, &table, COST_LOOKUP_INTERPOLATE);
    struct cost_shape shape = {.decode_seq_count = 2, .decode_context_tokens = 64};
    struct cost_explanation explanation;
    cost_explain(fixture.cost, &shape, &explanation);
    ck_assert_double_eq_tol(explanation.layer_s, (96 + 0.02) * 1e-3, 1e-12);
    ck_assert_int_eq(explanation.step_ticks, cost_ticks_from_s(explanation.device_s));
    fixture_release(&fixture);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("table");
    tcase_add_test(tests, points_between_the_grid);
    tcase_add_test(tests, beyond_the_grid_is_named);
    tcase_add_test(tests, a_step_is_layers_times_the_sum);
    tcase_add_test(tests, stretches_equal_their_steps);
    tcase_add_test(tests, explained_as_stepped);
    return fixture_run(tests);
}
