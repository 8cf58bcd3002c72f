#include "fixture.h"

static double kernel_s(struct spec_hardware hardware, struct cost_kernel kernel)
{
    struct cost_options options = {.level = COST_DATASHEET, .has_level = true};
    struct kvsim_error err;
    double s = 0;
    ck_assert_msg(cost_kernel_seconds(&hardware, &options, &kernel, &s, &err) == KVSIM_OK, "%s",
                  err.message);
    ck_assert(s > 0);
    return s;
}

static void refused(struct cost_kernel kernel, enum cost_level level, const char *part)
{
    struct spec_hardware hardware = fixture_h100();
    struct cost_options options = {.level = level, .has_level = true};
    struct kvsim_error err;
    double s = -1;
    ck_assert_int_eq(cost_kernel_seconds(&hardware, &options, &kernel, &s, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, part), "'%s' lacks '%s'", err.message, part);
    ck_assert_double_eq(s, -1);
}

static const struct cost_kernel gemm = {
    .kind = COST_KERNEL_GEMM, .m = 16, .n = 16384, .k = 8192, .dtype = SPEC_BF16};
static const struct cost_kernel attention = {.kind = COST_KERNEL_ATTENTION,
                                             .batch = 8,
                                             .seq_len = 16384,
                                             .q_heads = 32,
                                             .kv_heads = 8,
                                             .head_dim = 128,
                                             .dtype = SPEC_BF16};
static const struct cost_kernel mla = {.kind = COST_KERNEL_MLA,
                                       .batch = 64,
                                       .seq_len = 16384,
                                       .q_heads = 16,
                                       .kv_lora_rank = 512,
                                       .qk_rope_head_dim = 64,
                                       .dtype = SPEC_BF16};

START_TEST(bytes_bound_small_batches)
{
    ck_assert_double_eq_tol(kernel_s(fixture_h100(), gemm), 3.1e-6 + 268.4e6 / (0.86 * 3350e9),
                            1e-6);
    ck_assert_double_eq_tol(kernel_s(fixture_h100(), attention),
                            13.1e-6 + 8 * 16384 * 4096.0 / (0.85 * 3350e9), 1e-6);
    ck_assert_double_eq_tol(kernel_s(fixture_h100(), mla),
                            13.1e-6 + 64 * 16384 * 1152.0 / (0.85 * 3350e9), 1e-6);
}
END_TEST

START_TEST(mla_with_all_heads_computes)
{
    struct cost_kernel kernel = mla;
    kernel.q_heads = 128;
    double flops = 64 * 16384.0 * 2 * 128 * 1088;
    double s = kernel_s(fixture_h100(), kernel);
    ck_assert(s > kernel_s(fixture_h100(), mla));
    ck_assert(flops / s < 0.75 * 989e12 && flops / s > 0.5 * 989e12);
}
END_TEST

START_TEST(smaller_caches_are_read_faster)
{
    struct cost_kernel kernel = attention;
    double wide = kernel_s(fixture_h100(), kernel);
    kernel.dtype = SPEC_FP8;
    double gain = wide / kernel_s(fixture_h100(), kernel);
    ck_assert(gain > 1.3 && gain < 2);
}
END_TEST

START_TEST(prefill_grows_with_the_square)
{
    struct cost_kernel kernel = attention;
    kernel.is_prefill = true;
    double once = kernel_s(fixture_h100(), kernel);
    kernel.seq_len *= 2;
    double ratio = kernel_s(fixture_h100(), kernel) / once;
    ck_assert(ratio > 3.8 && ratio < 4);
    kernel = mla;
    kernel.is_prefill = true;
    ck_assert(kernel_s(fixture_h100(), kernel) > kernel_s(fixture_h100(), mla));
}
END_TEST

START_TEST(fp8_without_fp8_is_bf16_with_fewer_bytes)
{
    struct cost_kernel kernel = gemm;
    kernel.m = 8192;
    double wide = kernel_s(fixture_a100(), kernel);
    kernel.dtype = SPEC_FP8;
    ck_assert_double_eq_tol(kernel_s(fixture_a100(), kernel), wide, 1e-2 * wide);
    kernel.m = 1;
    ck_assert(kernel_s(fixture_a100(), kernel) < 0.6 * kernel_s(fixture_a100(), gemm));
}
END_TEST

START_TEST(nothing_is_an_error)
{
    struct cost_kernel kernel = gemm;
    kernel.m = 0;
    refused(kernel, COST_DATASHEET, "m ");
    kernel = gemm;
    kernel.k = -1;
    refused(kernel, COST_DATASHEET, "k ");
    kernel = attention;
    kernel.kv_heads = 0;
    refused(kernel, COST_DATASHEET, "kv_heads");
    kernel = attention;
    kernel.seq_len = 0;
    refused(kernel, COST_DATASHEET, "seq_len");
    kernel = mla;
    kernel.kv_lora_rank = 0;
    refused(kernel, COST_DATASHEET, "kv_lora_rank");
    kernel =
        (struct cost_kernel){.kind = COST_KERNEL_ALL_REDUCE, .gpu_count = 1, .message_bytes = 1};
    refused(kernel, COST_DATASHEET, "gpus");
    kernel = (struct cost_kernel){.kind = COST_KERNEL_ALL_REDUCE, .gpu_count = 2};
    refused(kernel, COST_DATASHEET, "bytes");
    refused(gemm, COST_FIXED, "fixed");
}
END_TEST

START_TEST(all_reduce_grows)
{
    struct cost_kernel kernel = {
        .kind = COST_KERNEL_ALL_REDUCE, .gpu_count = 2, .message_bytes = 1e5};
    double small = kernel_s(fixture_h100(), kernel);
    kernel.message_bytes = 1e8;
    ck_assert(kernel_s(fixture_h100(), kernel) > 10 * small);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("kernel");
    tcase_add_test(tests, bytes_bound_small_batches);
    tcase_add_test(tests, mla_with_all_heads_computes);
    tcase_add_test(tests, smaller_caches_are_read_faster);
    tcase_add_test(tests, prefill_grows_with_the_square);
    tcase_add_test(tests, fp8_without_fp8_is_bf16_with_fewer_bytes);
    tcase_add_test(tests, nothing_is_an_error);
    tcase_add_test(tests, all_reduce_grows);
    return fixture_run(tests);
}
