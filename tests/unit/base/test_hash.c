#include "support/unit.h"

#include "base/hash.h"

#include <string.h>

static void hex_of(const char *first, const char *second, char hex[33])
{
    struct base_hash hash;
    base_hash_init(&hash);
    base_hash_text(&hash, first);
    if (second != NULL)
        base_hash_text(&hash, second);
    base_hash_hex(&hash, hex);
}

/* The first outputs of splitmix64 with seed 1234567, from its authors' reference code. */
START_TEST(mix64_is_splitmix64)
{
    static const uint64_t expected[] = {UINT64_C(6457827717110365317),
                                        UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423)};
    uint64_t state = 1234567;
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(base_mix64(state), expected[i]);
        state += UINT64_C(0x9e3779b97f4a7c15);
    }
}
END_TEST

START_TEST(mix2_depends_on_both_and_their_order)
{
    ck_assert_uint_ne(base_mix2(1, 2), base_mix2(2, 1));
    ck_assert_uint_ne(base_mix2(1, 2), base_mix2(1, 3));
    ck_assert_uint_ne(base_mix2(0, 0), base_mix2(1, 1));
}
END_TEST

START_TEST(texts_have_ends)
{
    char a[33], b[33], c[33];
    hex_of("ab", "c", a);
    hex_of("a", "bc", b);
    hex_of("ab", "c", c);
    ck_assert_str_ne(a, b);
    ck_assert_str_eq(a, c);
    ck_assert_uint_eq(strlen(a), 32);
}
END_TEST

START_TEST(cutting_into_calls_changes_nothing)
{
    struct base_hash whole, pieces;
    base_hash_init(&whole);
    base_hash_init(&pieces);
    base_hash_bytes(&whole, "twelve bytes", 12);
    base_hash_bytes(&pieces, "twelve", 6);
    base_hash_bytes(&pieces, "", 0);
    base_hash_bytes(&pieces, " bytes", 6);
    ck_assert_uint_eq(whole.a, pieces.a);
    ck_assert_uint_eq(whole.b, pieces.b);
}
END_TEST

/* One flipped bit changes about half of the 128 bits. */
START_TEST(bits_spread)
{
    int changed = 0;
    for (int bit = 0; bit < 64; bit++) {
        char a[33], b[33];
        unsigned char bytes[8] = {0};
        struct base_hash hash;
        base_hash_init(&hash);
        base_hash_bytes(&hash, bytes, 8);
        base_hash_hex(&hash, a);
        bytes[bit / 8] = (unsigned char)(1 << (bit % 8));
        base_hash_init(&hash);
        base_hash_bytes(&hash, bytes, 8);
        base_hash_hex(&hash, b);
        for (int i = 0; i < 32; i++)
            changed += a[i] != b[i];
    }
    ck_assert_int_gt(changed, 1792); // 15/16 of 32 digits expected: 30
}
END_TEST

/* The fingerprint is stored in databases: it must never change. Figures from a second program. */
START_TEST(fingerprint_is_fixed)
{
    char hex[33];
    hex_of("", NULL, hex);
    ck_assert_str_eq(hex, "d19082a7c91d6f74a8067b02972f0eb8");
    hex_of("kvsim", "scenario", hex);
    ck_assert_str_eq(hex, "64068b760e631400195a45fc9123172c");
}
END_TEST

int main(void)
{
    return unit_run("base.hash", (const TTest *const[]){
                                     mix64_is_splitmix64,
                                     mix2_depends_on_both_and_their_order,
                                     texts_have_ends,
                                     cutting_into_calls_changes_nothing,
                                     bits_spread,
                                     fingerprint_is_fixed,
                                     NULL,
                                 });
}
