#include "spec/model.h"

#include "support/check_main.h"

START_TEST(claims_have_the_words_of_the_database)
{
    ck_assert_str_eq(spec_claim_name(SPEC_CALCULATED), "calculated");
    ck_assert_str_eq(spec_claim_name(SPEC_SIMULATED), "simulated");
    ck_assert_str_eq(spec_claim_name(SPEC_MEASURED), "measured");
    ck_assert_str_eq(spec_claim_name(SPEC_VENDOR), "vendor");
    ck_assert_str_eq(spec_claim_name(SPEC_ASSUMED), "assumed");
}
END_TEST

START_TEST(the_weaker_basis_wins)
{
    ck_assert_int_eq(spec_claim_weaker(SPEC_MEASURED, SPEC_VENDOR), SPEC_VENDOR);
    ck_assert_int_eq(spec_claim_weaker(SPEC_ASSUMED, SPEC_VENDOR), SPEC_ASSUMED);
    ck_assert_int_eq(spec_claim_weaker(SPEC_CALCULATED, SPEC_MEASURED), SPEC_MEASURED);
    ck_assert_int_eq(spec_claim_weaker(SPEC_MEASURED, SPEC_SIMULATED), SPEC_MEASURED);
}
END_TEST

START_TEST(kv_kinds_are_named)
{
    ck_assert_str_eq(spec_kv_kind_name(SPEC_KV_FULL), "full");
    ck_assert_str_eq(spec_kv_kind_name(SPEC_KV_SLIDING), "sliding");
    ck_assert_str_eq(spec_kv_kind_name(SPEC_KV_CHUNKED), "chunked");
    ck_assert_str_eq(spec_kv_kind_name(SPEC_KV_STATE), "state");
    ck_assert_str_eq(spec_kv_kind_name(SPEC_KV_INDEX), "index");
}
END_TEST

CHECK_MAIN("spec.names", claims_have_the_words_of_the_database, the_weaker_basis_wins,
           kv_kinds_are_named)
