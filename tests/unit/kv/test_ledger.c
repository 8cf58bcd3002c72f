#include "kv/ledger.h"

#include "support/check_main.h"

#include <string.h>

static struct kv_ledger example(void)
{
    return (struct kv_ledger){
        .lower_bound_bytes = 1000,
        .block_rounding_bytes = 200,
        .out_of_window_bytes = 30,
        .reserved_bytes = 40,
        .replicated_bytes = 50,
        .padded_bytes = 6,
        .scales_bytes = 7,
        .shared_bytes = 300,
        .cached_bytes = 500,
        .fragmented_bytes = 11,
        .held_back_bytes = 16,
        .free_bytes = 440,
        .pool_bytes = 2000,
    };
}

START_TEST(the_identity_is_to_the_byte)
{
    struct kv_ledger ledger = example();
    ck_assert_int_eq(kv_ledger_allocated_bytes(&ledger), 1033);
    ck_assert(kv_ledger_is_exact(&ledger));
    ledger.pool_bytes++;
    ck_assert(!kv_ledger_is_exact(&ledger));
    ledger.pool_bytes--;
    ledger.shared_bytes++;
    ck_assert(!kv_ledger_is_exact(&ledger));
}
END_TEST

START_TEST(a_negative_line_is_never_exact)
{
    struct kv_ledger ledger = example();
    ledger.free_bytes = -1;
    ledger.cached_bytes = 941;
    ck_assert(!kv_ledger_is_exact(&ledger));
}
END_TEST

START_TEST(lines_have_the_contracts_names_in_order)
{
    static const char *const names[] = {
        "lower_bound", "block_rounding", "out_of_window", "reserved",   "replicated", "padded",
        "scales",      "shared",         "cached",        "fragmented", "held_back",  "free",
    };
    ck_assert_uint_eq(kv_ledger_line_count(), sizeof names / sizeof names[0]);
    for (size_t i = 0; i < kv_ledger_line_count(); i++) {
        ck_assert_str_eq(kv_ledger_line_name(i), names[i]);
        ck_assert_int_eq(kv_ledger_line_sign(i), strcmp(names[i], "shared") == 0 ? -1 : 1);
    }
}
END_TEST

START_TEST(lines_and_members_are_the_same)
{
    struct kv_ledger ledger = example(), copy = {.pool_bytes = ledger.pool_bytes};
    for (size_t i = 0; i < kv_ledger_line_count(); i++)
        kv_ledger_set_line(&copy, i, kv_ledger_line_bytes(&ledger, i));
    ck_assert(memcmp(&ledger, &copy, sizeof ledger) == 0);
    ck_assert_int_eq(kv_ledger_line_bytes(&ledger, KV_LEDGER_SHARED), 300);
    ck_assert_int_eq(kv_ledger_line_bytes(&ledger, KV_LEDGER_FREE), 440);
}
END_TEST

CHECK_MAIN("kv.ledger", the_identity_is_to_the_byte, a_negative_line_is_never_exact,
           lines_have_the_contracts_names_in_order, lines_and_members_are_the_same)
