#include "bench_host.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(medians_with_spread)
{
    double values[] = {5, 1, 4, 2, 3};
    struct bench_stats stats;
    bench_stats_of(values, 5, &stats);
    ck_assert_double_eq(stats.median, 3);
    ck_assert_double_eq_tol(stats.low, 1.4, 1e-12);
    ck_assert_double_eq_tol(stats.high, 4.6, 1e-12);
    bench_stats_of(values, 0, &stats);
    ck_assert_double_eq(stats.median, 0);
}
END_TEST

START_TEST(bf16_is_nearest_even)
{
    ck_assert_double_eq((double)bench_bf16_round(1.0F), (double)(1.0F));
    ck_assert_double_eq((double)bench_bf16_round(1.0F + 0x1p-8F), (double)(1.0F)); // a tie: to even
    ck_assert_double_eq((double)bench_bf16_round(1.0F + 0x1.8p-7F),
                        (double)(1.0F + 0x1p-6F)); // a tie: up to even
    ck_assert_double_eq((double)bench_bf16_round(-3.14159F), (double)(-3.140625F));
}
END_TEST

/* Every one of the 254 numbers comes back, and every real goes to the nearest. */
START_TEST(fp8_is_e4m3)
{
    ck_assert_double_eq((double)bench_fp8_to(0x7e), (double)(448.0F));
    ck_assert_double_eq((double)bench_fp8_to(0x01), (double)(0x1p-9F));
    ck_assert_double_eq((double)bench_fp8_to(0x38), (double)(1.0F));
    ck_assert(isnan(bench_fp8_to(0x7f)));
    ck_assert_uint_eq(bench_fp8_from(1000.0F), 0x7e);
    ck_assert_uint_eq(bench_fp8_from(-1000.0F), 0xfe);
    for (int bits = 0; bits < 256; bits++)
        if ((bits & 0x7f) != 0x7f)
            ck_assert_uint_eq(bench_fp8_from(bench_fp8_to((uint8_t)bits)), (unsigned)bits);
    for (float value = 0; value < 450.0F; value = value * 1.01F + 0.0003F) {
        float got = bench_fp8_to(bench_fp8_from(value));
        for (int bits = 0; bits < 0x7f; bits++)
            ck_assert(fabsf(got - value) <= fabsf(bench_fp8_to((uint8_t)bits) - value));
    }
}
END_TEST

START_TEST(pages_are_a_permutation)
{
    enum { PAGES = 1000 };
    int32_t pages[PAGES], again[PAGES], seen[PAGES] = {0}, in_place = 0;
    bench_pages(1, pages, PAGES);
    bench_pages(1, again, PAGES);
    ck_assert_mem_eq(pages, again, sizeof pages);
    for (int i = 0; i < PAGES; i++) {
        ck_assert(pages[i] >= 0 && pages[i] < PAGES);
        seen[pages[i]]++;
        in_place += pages[i] == i;
    }
    for (int i = 0; i < PAGES; i++)
        ck_assert_int_eq(seen[i], 1);
    ck_assert_int_lt(in_place, 20);
}
END_TEST

START_TEST(random_numbers_fill_their_range)
{
    uint64_t state = 42;
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        float value = bench_random(&state);
        ck_assert(value >= -1.0F && value < 1.0F);
        sum += (double)value;
    }
    ck_assert_double_lt(fabs(sum / 100000), 0.01);
}
END_TEST

/* Equal keys weigh alike: the result is the mean of the values seen; one huge key takes all. */
START_TEST(attention_by_hand)
{
    const struct bench_attention shape = {.batch = 1,
                                          .new_tokens = 2,
                                          .context = 3,
                                          .q_heads = 2,
                                          .kv_heads = 1,
                                          .k_dim = 1,
                                          .v_dim = 1,
                                          .scale = 1};
    const float q[] = {1, 1, 1, 1}, same[] = {2, 2, 2}, v[] = {3, 6, 9};
    float out[4];
    bench_attention_reference(&shape, q, same, v, out);
    ck_assert_double_eq_tol((double)out[0], 4.5, 1e-6); // the first new token sees two keys
    ck_assert_double_eq_tol((double)out[1], 4.5, 1e-6);
    ck_assert_double_eq_tol((double)out[2], 6.0, 1e-6);
    const float sharp[] = {0, 100, 0};
    bench_attention_reference(&shape, q, sharp, v, out);
    ck_assert_double_eq_tol((double)out[3], 6.0, 1e-6);
}
END_TEST

START_TEST(products_by_hand)
{
    const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    const float want[] = {17, 23, 39, 53};
    float c[4];
    bench_gemm_reference(2, 2, 2, a, b, c);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq((double)c[i], (double)(want[i]));
    ck_assert_double_eq(bench_distance(c, want, 4), 0);
    c[2] += 35.5F;
    ck_assert_double_eq_tol(bench_distance(c, want, 4), 1, 0.02);
    c[2] = NAN;
    ck_assert(isinf(bench_distance(c, want, 4)));
}
END_TEST

START_TEST(options_are_read_or_refused)
{
    struct bench_options options;
    const char *const good[] = {"x",        "--output", "f.csv",   "--seconds", "60",
                                "--device", "1",        "--quick", "--checks"};
    ck_assert(bench_options_parse(8, good, &options));
    ck_assert(!options.only_checks);
    ck_assert(bench_options_parse(9, good, &options));
    ck_assert(options.only_checks);
    ck_assert_str_eq(options.output, "f.csv");
    ck_assert_double_eq(options.seconds, 60);
    ck_assert_int_eq(options.device, 1);
    ck_assert(options.is_quick);
    const char *const bad[] = {"x", "--seconds", "soon"}, *const unknown[] = {"x", "--fast"},
                      *const cut[] = {"x", "--output"};
    ck_assert(!bench_options_parse(3, bad, &options));
    ck_assert(!bench_options_parse(2, unknown, &options));
    ck_assert(!bench_options_parse(2, cut, &options));
}
END_TEST

START_TEST(the_file_is_a_table)
{
    const struct bench_info info = {"A card", "13.0", "13.0", "1 MHz", "2026-01-01", 100, 50};
    const struct bench_row row = {.op = "gemm",
                                  .dtype = "bf16",
                                  .kernel = "own",
                                  .m = 1,
                                  .n = 2,
                                  .k = 3,
                                  .ms = {0.5, 0.4, 0.6, 11},
                                  .note = "a, \"b\""};
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    bench_file_begin(file, &info);
    bench_file_row(file, &info, &row);
    fclose(file);
    size_t lines = 0, commas = 0, first = 0;
    bool quoted = false;
    for (const char *at = text; *at != '\0'; at++) {
        quoted ^= *at == '"';
        commas += *at == ',' && !quoted;
        if (*at != '\n')
            continue;
        first = lines == 0 ? commas : first;
        ck_assert_uint_eq(commas, first);
        commas = 0;
        lines++;
    }
    ck_assert_uint_eq(lines, 3);
    ck_assert_ptr_nonnull(strstr(text, "A card,gemm,,1,2,3,bf16,"));
    ck_assert_ptr_nonnull(strstr(text, ",own,0.5,0.4,0.6,11,\"a, \"\"b\"\"\"\n"));
    free(text);
}
END_TEST

START_TEST(plans_rise_and_fit)
{
    int64_t numbers[4], pairs[3][2];
    ck_assert_int_eq(bench_plan_rows(false, numbers, 4), 4);
    for (int i = 1; i < 4; i++)
        ck_assert(numbers[i] > numbers[i - 1]);
    ck_assert_int_eq(bench_plan_decodes(false, pairs, 3), 3);
    ck_assert_int_lt(bench_plan_messages(true, numbers, 4), 4);
}
END_TEST

/* What is taken never needs more waves' time than not to split, and fills a card that would idle. */
START_TEST(splits_fill_the_card)
{
    ck_assert_int_eq(bench_splits(8, 264, 2), 2);     // no more splits than tiles
    ck_assert_int_eq(bench_splits(264, 264, 100), 1); // one full wave
    ck_assert_int_eq(bench_splits(8, 264, 512), 32);  // 256 of 264 slots
    ck_assert_int_eq(bench_splits(1, 264, 10000), 64);
    for (int blocks = 1; blocks < 600; blocks += 7) {
        for (int tiles = 1; tiles < 300; tiles += 11) {
            int splits = bench_splits(blocks, 264, tiles);
            int waves = (blocks * splits + 263) / 264, alone = (blocks + 263) / 264;
            ck_assert(splits >= 1 && splits <= tiles && splits <= 64);
            ck_assert_int_le(waves * ((tiles + splits - 1) / splits + 2), alone * (tiles + 2));
        }
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("bench_host");
    tcase_add_test(tests, medians_with_spread);
    tcase_add_test(tests, bf16_is_nearest_even);
    tcase_add_test(tests, fp8_is_e4m3);
    tcase_add_test(tests, pages_are_a_permutation);
    tcase_add_test(tests, random_numbers_fill_their_range);
    tcase_add_test(tests, attention_by_hand);
    tcase_add_test(tests, products_by_hand);
    tcase_add_test(tests, options_are_read_or_refused);
    tcase_add_test(tests, the_file_is_a_table);
    tcase_add_test(tests, plans_rise_and_fit);
    tcase_add_test(tests, splits_fill_the_card);
    Suite *suite = suite_create("cuda");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
