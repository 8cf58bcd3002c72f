#include "calib/calibrate.h"

#include "base/text.h"
#include "calib/model.h"
#include "support/scratch.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A table of products that a card with these coefficients would give, `scale` times as slow. */
static void write_products(const char *path, double share, double scale, size_t rows)
{
    static const char *const dtypes[] = {"bf16", "fp8"};
    struct base_text text = {0};
    struct calib_measurements empty;
    struct calib_model model;
    struct spec_calibration calibration = {.source = ""};
    struct kvsim_error err;
    calib_measurements_init(&empty);
    ck_assert_int_eq(calib_model_init(&model, "h100-sxm", &empty, COST_CALIBRATED, &err), KVSIM_OK);
    calibration.has[SPEC_GEMM_BF16] = calibration.has[SPEC_WEIGHTS_BF16] = true;
    calibration.value[SPEC_GEMM_BF16] = share;
    calibration.value[SPEC_WEIGHTS_BF16] = 0.6;
    calib_model_set(&model, &calibration);
    base_text_add(&text, "gpu,m,n,k,dtype,ms\n");
    for (size_t i = 0; i < rows; i++) {
        struct calib_row row = {.kind = CALIB_GEMM};
        row.kernel = (struct cost_kernel){.kind = COST_KERNEL_GEMM,
                                          .m = (int64_t)1 << (i % 14),
                                          .n = 4096,
                                          .k = 4096 + 1024 * (int64_t)(i % 5)};
        row.kernel.dtype = i % 4 == 3 ? SPEC_FP8 : SPEC_BF16;
        base_text_printf(&text, "%s,%lld,%lld,%lld,%s,%.9g\n",
                         i % 10 == 9 ? "b200_sxm" : "h100_sxm", (long long)row.kernel.m,
                         (long long)row.kernel.n, (long long)row.kernel.k, dtypes[i % 4 == 3],
                         1e3 * scale * calib_model_predict(&model, &row));
    }
    scratch_write(path, text.at, text.count);
    base_text_free(&text);
    calib_model_free(&model);
    calib_measurements_free(&empty);
}

static enum kvsim_status calibrate(struct calib_result *result, struct kvsim_error *err)
{
    static const char *const files[] = {"gemm.csv"};
    const struct calib_request request = {
        .hardware = "h100-sxm", .files = files, .file_count = 1, .first_share = 1};
    return calib_calibrate(&request, result, err);
}

START_TEST(what_made_the_rows_comes_back)
{
    struct calib_result result;
    struct kvsim_error err;
    scratch_enter();
    write_products("gemm.csv", 0.5, 1, 100);
    ck_assert_msg(calibrate(&result, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_uint_eq(result.other_count, 10);
    ck_assert_uint_eq(result.row_count, 90);
    ck_assert(result.calibration.has[SPEC_GEMM_BF16]);
    ck_assert_double_eq_tol(result.calibration.value[SPEC_GEMM_BF16], 0.5, 0.02);
    ck_assert_double_eq_tol(result.calibration.value[SPEC_WEIGHTS_BF16], 0.6, 0.03);
    ck_assert(!result.calibration.has[SPEC_PREFILL]);
    ck_assert(!result.calibration.has[SPEC_HOST_STEP]);
    const struct calib_group_errors *all = &result.groups[result.group_count - 1];
    ck_assert_double_gt(all->before.mean, 0.1);
    ck_assert_double_lt(all->fitted.mean, 0.01);
    ck_assert_double_lt(all->crossed.mean, 0.02);
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

/* The file that is written is a hardware file, and gives the fitted coefficients back. */
START_TEST(the_written_file_is_read_again)
{
    struct calib_result result;
    struct kvsim_error err;
    struct base_text text = {0};
    struct calib_measurements empty;
    struct calib_model model;
    scratch_enter();
    write_products("gemm.csv", 0.5, 1, 100);
    ck_assert_int_eq(calibrate(&result, &err), KVSIM_OK);
    calib_result_print(&result, &text);
    ck_assert_ptr_nonnull(strstr(text.at, "base: h100-sxm5-80gb\n"));
    ck_assert_ptr_nonnull(strstr(text.at, "not_determined: ["));
    scratch_write("fitted.yaml", text.at, text.count);
    calib_measurements_init(&empty);
    ck_assert_msg(calib_model_init(&model, "./fitted.yaml", &empty, COST_CALIBRATED, &err) ==
                      KVSIM_OK,
                  "%s", err.message);
    ck_assert(model.hardware.has_calibration);
    ck_assert_double_eq_tol(model.rates.gemm_fraction[SPEC_BF16],
                            result.calibration.value[SPEC_GEMM_BF16], 1e-5);
    calib_model_free(&model);
    calib_measurements_free(&empty);
    base_text_free(&text);
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

static void refused(double scale, size_t rows, const char *part)
{
    struct calib_result result;
    struct kvsim_error err;
    write_products("gemm.csv", 0.5, scale, rows);
    ck_assert_int_eq(calibrate(&result, &err), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, part) != NULL, "'%s' lacks '%s'", err.message, part);
    calib_result_free(&result);
}

static void refused_text(const char *header, const char *row, size_t count, const char *part)
{
    struct base_text text = {0};
    struct calib_result result;
    struct kvsim_error err;
    base_text_add(&text, header);
    for (size_t i = 0; i < count; i++)
        base_text_add(&text, row);
    scratch_write("gemm.csv", text.at, text.count);
    base_text_free(&text);
    ck_assert_int_eq(calibrate(&result, &err), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, part) != NULL, "'%s' lacks '%s'", err.message, part);
    calib_result_free(&result);
}

/* Some of the times in us: the first of them is shown. */
START_TEST(mixed_units_are_refused)
{
    struct base_text text = {0};
    struct calib_result result;
    struct kvsim_error err;
    scratch_enter();
    base_text_add(&text, "m,n,k,dtype,ms\n");
    for (int i = 0; i < 20; i++)
        base_text_printf(&text, "%d,4096,4096,bf16,%g\n", 8 * (i + 1), i % 5 == 4 ? 16.0 : 0.016);
    scratch_write("gemm.csv", text.at, text.count);
    base_text_free(&text);
    ck_assert_int_eq(calibrate(&result, &err), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, "4 of 20 rows") != NULL, "%s", err.message);
    ck_assert_str_eq(err.file, "gemm.csv");
    ck_assert_int_eq(err.line, 6);
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

/* Latency and bandwidth of an all-reduce need messages of three sizes: what has fewer stays, and is named. */
START_TEST(collectives_need_sizes)
{
    struct base_text text = {0};
    struct calib_result result;
    struct kvsim_error err;
    scratch_enter();
    base_text_add(&text, "gpus,bytes,ms\n");
    for (int i = 0; i < 10; i++)
        base_text_printf(&text, "2,%d,%g\n", 65536 << i, 0.006 + (65536 << i) / 3e8);
    for (int i = 0; i < 10; i++)
        base_text_printf(&text, "4,%d,0.05\n", 1 << (20 + i % 2));
    scratch_write("gemm.csv", text.at, text.count);
    base_text_free(&text);
    ck_assert_msg(calibrate(&result, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_uint_eq(result.calibration.collective_count, 1);
    ck_assert_uint_eq(result.calibration.collectives[0].gpu_count, 2);
    ck_assert_str_eq(result.unsized, "4");
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

/* Times in the wrong order, each of them within what the device can do. */
START_TEST(times_that_fall_with_size_are_refused)
{
    struct base_text text = {0};
    struct calib_result result;
    struct kvsim_error err;
    scratch_enter();
    base_text_add(&text, "m,n,k,dtype,ms\n");
    for (int i = 0; i < 24; i++)
        base_text_printf(&text, "%d,8192,8192,bf16,%g\n", 4096 + 400 * i,
                         2e3 * (4096 + 400 * (23 - i)) * 8192.0 * 8192 / 780e12);
    scratch_write("gemm.csv", text.at, text.count);
    base_text_free(&text);
    ck_assert_int_eq(calibrate(&result, &err), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, "do not grow with the sizes") != NULL, "%s", err.message);
    ck_assert_str_eq(err.file, "gemm.csv");
    ck_assert_int_gt(err.line, 1);
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

/* Half again as slow as the file says is a fit, and worth a word. */
START_TEST(slow_kernels_are_doubtful)
{
    for (int slow = 0; slow < 2; slow++) {
        struct calib_result result;
        struct kvsim_error err;
        scratch_enter();
        write_products("gemm.csv", 0.75, slow ? 1.7 : 1, 100);
        ck_assert_msg(calibrate(&result, &err) == KVSIM_OK, "%s", err.message);
        ck_assert_int_eq(result.is_doubtful, slow == 1);
        ck_assert_uint_eq(result.kernel_count, 90);
        ck_assert_double_gt(result.kernel_ratio, slow ? 1.7 : 1);
        calib_result_free(&result);
        scratch_leave();
    }
}
END_TEST

START_TEST(nonsense_is_refused)
{
    scratch_enter();
    refused(1000, 100, "in ms");  // times in us
    refused(0.001, 100, "in ms"); // in s
    refused(1, 5, "too few");
    refused(3, 100, "times what h100-sxm5-80gb takes");  // of a slower card
    refused(0.25, 100, "faster than the device can be"); // of a faster one
    refused_text("gpu,m,n,k,dtype,ms\n", "h100,1,4096,4096,bf16,0.014\n", 100,
                 "of 1 different size,");
    static const char others[] = "gpu,m,n,k,dtype,ms\na100_sxm,1,2,3,bf16,1\n";
    scratch_write("gemm.csv", others, sizeof others - 1);
    struct calib_result result;
    struct kvsim_error err;
    ck_assert_int_eq(calibrate(&result, &err), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "no row is of h100"));
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

START_TEST(devices_by_their_many_names)
{
    ck_assert(calib_device_is("a100_sxm", "a100-sxm4-80gb", "a100-sxm-80gb"));
    ck_assert(calib_device_is("RTXPRO6000", "rtx-pro-6000-blackwell", "rtx-pro-6000, rtxpro6000"));
    ck_assert(calib_device_is("rtx_pro_6000_server", "rtx-pro-6000-blackwell",
                              "rtx-pro-6000, rtxpro6000"));
    ck_assert(calib_device_is("H200", "h200-sxm", ""));
    // as the driver names them
    ck_assert(calib_device_is("NVIDIA H200", "h200-sxm", "h200, nvidia-h200"));
    ck_assert(calib_device_is("NVIDIA L4", "l4", "nvidia-l4"));
    ck_assert(calib_device_is("NVIDIA GeForce RTX 4090", "rtx4090", "geforce-rtx-4090"));
    ck_assert(calib_device_is("NVIDIA RTX PRO 6000 Blackwell Server Edition",
                              "rtx-pro-6000-blackwell", "rtxpro6000"));
    ck_assert(!calib_device_is("NVIDIA H200", "h100-sxm5-80gb", "h100, nvidia-h100-80gb-hbm3"));
    ck_assert(!calib_device_is("NVIDIA H20", "h200-sxm", "h200, nvidia-h200"));
    ck_assert(!calib_device_is("NVIDIA A10", "a100-pcie-40gb", "nvidia-a100-pcie-40gb"));
    ck_assert(!calib_device_is("NVIDIA GeForce RTX 3090", "rtx4090", "geforce-rtx-4090"));
    ck_assert(!calib_device_is("h100_sxm", "h200-sxm", "h200"));
    ck_assert(!calib_device_is("b200_sxm", "gb200", ""));
    ck_assert(!calib_device_is("a100-pcie-40gb", "a100-sxm4-80gb", "a100-sxm-80gb"));
}
END_TEST

int main(void)
{
    return unit_run(
        "calib.calibrate",
        (const TTest *const[]){what_made_the_rows_comes_back, the_written_file_is_read_again,
                               nonsense_is_refused, mixed_units_are_refused, collectives_need_sizes,
                               times_that_fall_with_size_are_refused, slow_kernels_are_doubtful,
                               devices_by_their_many_names, NULL});
}
