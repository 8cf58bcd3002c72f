/*
 * The share of KV memory that holds tokens under four ways of allocating it, against the PagedAttention paper's figure 2:
 * within 5 points for the longest sequence and the power of two, 8 for the exact length, at least 96 % paged.
 */
#include "calib/kv_shares.h"

#include "support/check_main.h"

#include <math.h>
#include <string.h>

#define FILE_OF_SHARES KVSIM_TEST_DATA "/validation/kv-shares/shares.csv"

static double predicted(const struct record_validation_cases *cases, const char *id,
                        double *measured)
{
    for (size_t i = 0; i < cases->count; i++) {
        if (strcmp(cases->at[i].id, id) == 0) {
            *measured = cases->at[i].measured;
            return cases->at[i].predicted;
        }
    }
    ck_abort_msg("no case %s", id);
    return 0;
}

START_TEST(shares_are_those_of_the_paper)
{
    static const struct {
        const char *id;
        double points;
    } bounds[] = {{"orca-max", 0.05}, {"orca-pow2", 0.05}, {"orca-exact", 0.08}};
    struct base_arena arena;
    struct record_validation_cases cases = {0};
    struct kvsim_error err = {0};
    double measured;
    base_arena_init(&arena);
    ck_assert_msg(calib_kv_shares(FILE_OF_SHARES, &arena, &cases, &err) == KVSIM_OK, "%s",
                  err.message);
    ck_assert_uint_eq(cases.count, 4);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        double share = predicted(&cases, bounds[i].id, &measured);
        ck_assert_msg(fabs(share - measured) <= bounds[i].points, "%s: %.3f, the paper has %.3f",
                      bounds[i].id, share, measured);
    }
    ck_assert_double_ge(predicted(&cases, "paged", &measured), 0.96);
    base_vec_free(&cases);
    base_arena_release(&arena);
}
END_TEST

START_TEST(a_file_without_the_columns_is_refused)
{
    struct base_arena arena;
    struct record_validation_cases cases = {0};
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    ck_assert(calib_kv_shares(KVSIM_TEST_DATA "/validation/times/gemm.csv", &arena, &cases, &err) !=
              KVSIM_OK);
    ck_assert_ptr_nonnull(strstr(err.message, "id"));
    ck_assert(calib_kv_shares(KVSIM_TEST_DATA "/validation/nothing.csv", &arena, &cases, &err) ==
              KVSIM_ERR_IO);
    base_arena_release(&arena);
}
END_TEST

CHECK_MAIN("validation of shares", shares_are_those_of_the_paper,
           a_file_without_the_columns_is_refused)
