/*
 * From what kvsim-microbench writes to a calibrated card: its own writer and plans, with the times of a made-up card.
 */
#include "calib/calibrate.h"

#include "base/text.h"
#include "bench_host.h"
#include "calib/model.h"
#include "support/scratch.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static const struct bench_info info = {.gpu = "NVIDIA H200",
                                       .driver = "580.1 (CUDA 13.0)",
                                       .runtime = "13.0",
                                       .clocks = "at most 1980 MHz cores",
                                       .date = "2026-01-02",
                                       .memory_total_bytes = 150000000000,
                                       .memory_free_bytes = 149000000000};

struct writer {
    FILE *file;
    struct calib_model model;
};

static void put(struct writer *writer, struct bench_row row, const struct calib_row *as,
                double factor)
{
    double ms = 1e3 * factor * calib_model_predict(&writer->model, as);
    ck_assert_double_gt(ms, 0);
    row.ms = (struct bench_stats){ms, 0.99 * ms, 1.01 * ms, 11};
    bench_file_row(writer->file, &info, &row);
}

static void put_gemm(struct writer *writer, const char *dtype, enum spec_dtype as)
{
    int64_t rows[BENCH_PLAN_MAX], shapes[BENCH_PLAN_MAX][2];
    int row_count = bench_plan_rows(false, rows, BENCH_PLAN_MAX),
        shape_count = bench_plan_matrices(false, shapes, BENCH_PLAN_MAX);
    for (int s = 0; s < shape_count; s++) {
        for (int r = 0; r < row_count; r++) {
            struct bench_row row = {.op = "gemm",
                                    .kernel = "cublaslt",
                                    .dtype = dtype,
                                    .m = rows[r],
                                    .n = shapes[s][0],
                                    .k = shapes[s][1]};
            struct calib_row model = {
                .kind = CALIB_GEMM,
                .kernel = {
                    .kind = COST_KERNEL_GEMM, .m = row.m, .n = row.n, .k = row.k, .dtype = as}};
            put(writer, row, &model, 1);
            row.op = "gemm_quantized"; // for people
            put(writer, row, &model, 0.5);
        }
    }
}

/* Own kernels, `factor` as slow as the card's engine. */
static void put_attention(struct writer *writer, bool is_prefill, double factor)
{
    int64_t shapes[BENCH_PLAN_MAX][2];
    int count = is_prefill ? bench_plan_prefills(false, shapes, BENCH_PLAN_MAX)
                           : bench_plan_decodes(false, shapes, BENCH_PLAN_MAX);
    for (int i = 0; i < count; i++) {
        struct bench_row row = {.op = "attention",
                                .kernel = "own",
                                .phase = is_prefill ? "prefill" : "decode",
                                .kv_cache_dtype = "bf16",
                                .batch = shapes[i][0],
                                .seq_len = shapes[i][1],
                                .q_heads = 32,
                                .kv_heads = 8,
                                .head_dim = 128,
                                .block_tokens = 16};
        struct calib_row model = {.kind = CALIB_ATTENTION,
                                  .kernel = {.kind = COST_KERNEL_ATTENTION,
                                             .is_prefill = is_prefill,
                                             .batch = row.batch,
                                             .seq_len = row.seq_len,
                                             .q_heads = 32,
                                             .kv_heads = 8,
                                             .head_dim = 128,
                                             .dtype = SPEC_BF16}};
        put(writer, row, &model, factor);
    }
}

static void write_measured(const char *path, const char *hardware, double decode_factor)
{
    struct writer writer = {.file = fopen(path, "w")};
    struct calib_measurements empty;
    struct spec_calibration calibration = {.source = ""};
    struct kvsim_error err;
    ck_assert_ptr_nonnull(writer.file);
    calib_measurements_init(&empty);
    ck_assert_int_eq(calib_model_init(&writer.model, hardware, &empty, COST_CALIBRATED, &err),
                     KVSIM_OK);
    calibration.has[SPEC_GEMM_BF16] = calibration.has[SPEC_WEIGHTS_BF16] = true;
    calibration.value[SPEC_GEMM_BF16] = 0.6;
    calibration.value[SPEC_WEIGHTS_BF16] = 0.7;
    calibration.has[SPEC_GRAPH_LAUNCH] = true;
    calibration.value[SPEC_GRAPH_LAUNCH] = 0.9e-6;
    calib_model_set(&writer.model, &calibration);
    bench_file_begin(writer.file, &info);
    struct bench_row read = {.op = "read", .bytes = 1 << 30, .ms = {0.25, 0.25, 0.25, 11}};
    bench_file_row(writer.file, &info, &read);
    put(&writer, (struct bench_row){.op = "launch"}, &(struct calib_row){.kind = CALIB_LAUNCH}, 1);
    put(&writer, (struct bench_row){.op = "graph"}, &(struct calib_row){.kind = CALIB_GRAPH}, 1);
    for (int64_t bytes = 2 << 20; bytes <= INT64_C(2) << 30; bytes *= 8)
        put(&writer, (struct bench_row){.op = "copy", .bytes = bytes},
            &(struct calib_row){.kind = CALIB_STREAM, .bytes = (double)bytes}, 1);
    put_gemm(&writer, "bf16", SPEC_BF16);
    put_gemm(&writer, "fp8", SPEC_FP8);
    put_gemm(&writer, "int8", SPEC_INT8);
    put_attention(&writer, false, decode_factor);
    put_attention(&writer, true, 5);
    struct bench_row alone = {.op = "all_reduce",
                              .kernel = "own",
                              .gpus = 2,
                              .bytes = 8192,
                              .ms = {0.1, 0.1, 0.1, 11},
                              .note = "a, \"note\""};
    bench_file_row(writer.file, &info, &alone);
    fclose(writer.file);
    calib_model_free(&writer.model);
    calib_measurements_free(&empty);
}

static enum kvsim_status calibrate(const char *hardware, struct calib_result *result,
                                   struct kvsim_error *err)
{
    static const char *const files[] = {"measured.csv"};
    const struct calib_request request = {
        .hardware = hardware, .files = files, .file_count = 1, .first_share = 1};
    return calib_calibrate(&request, result, err);
}

/* What libraries reach is fitted; what kvsim's own slow kernels do says nothing of an engine's. */
START_TEST(slow_kernels_of_its_own_are_no_measurement)
{
    struct calib_result result;
    struct kvsim_error err;
    struct base_text text = {0};
    scratch_enter();
    write_measured("measured.csv", "h200-sxm", 3);
    ck_assert_msg(calibrate("h200-sxm", &result, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_uint_eq(result.other_count, 0);
    ck_assert_uint_eq(result.bound_count, 13 + 8 + 1);
    ck_assert_uint_eq(result.bound_broken_count, 0);
    ck_assert_uint_eq(result.row_count, 2 + 4 + 3 * 7 * 12);
    ck_assert_double_eq_tol(result.calibration.value[SPEC_GEMM_BF16], 0.6, 0.02);
    ck_assert_double_eq_tol(result.calibration.value[SPEC_WEIGHTS_BF16], 0.7, 0.03);
    ck_assert_double_eq_tol(result.calibration.value[SPEC_GRAPH_LAUNCH], 0.9e-6, 0.1e-6);
    ck_assert(!result.calibration.has[SPEC_DECODE_BF16] && !result.calibration.has[SPEC_PREFILL]);
    ck_assert_uint_eq(result.calibration.collective_count, 0);
    for (size_t i = 0; i < result.group_count; i++) {
        ck_assert_ptr_null(strstr(result.groups[i].name, "attention"));
        ck_assert_double_lt(result.groups[i].fitted.mean, 0.02);
    }
    calib_result_print(&result, &text);
    ck_assert_ptr_nonnull(strstr(
        text.at, "conditions: \"NVIDIA H200; driver 580.1 (CUDA 13.0); CUDA 13.0; clocks at most "
                 "1980 MHz cores; memory 150000000000 B, free 149000000000 B; 2026-01-02; "
                 "kvsim-microbench\"\n"));
    ck_assert_ptr_nonnull(strstr(text.at, "    bounds: {n: 22, broken: 0}\n"));
    base_text_free(&text);
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

/* A card whose plain kernel beats what is assumed of engines: they reach at least that. */
START_TEST(fast_kernels_of_its_own_pull)
{
    struct calib_result result;
    struct kvsim_error err;
    scratch_enter();
    write_measured("measured.csv", "h200-sxm", 0.85);
    ck_assert_msg(calibrate("h200-sxm", &result, &err) == KVSIM_OK, "%s", err.message);
    ck_assert(result.calibration.has[SPEC_DECODE_BF16]);
    ck_assert_double_gt(result.calibration.value[SPEC_DECODE_BF16],
                        1.1 * result.coefficients[SPEC_DECODE_BF16].before);
    ck_assert(!result.calibration.has[SPEC_PREFILL]);
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

START_TEST(another_card_is_named)
{
    struct calib_result result;
    struct kvsim_error err;
    scratch_enter();
    write_measured("measured.csv", "h200-sxm", 1);
    ck_assert_int_eq(calibrate("h100-sxm", &result, &err), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "'NVIDIA H200'"));
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

int main(void)
{
    return unit_run("calib.microbench",
                    (const TTest *const[]){slow_kernels_of_its_own_are_no_measurement,
                                           fast_kernels_of_its_own_pull, another_card_is_named,
                                           NULL});
}
