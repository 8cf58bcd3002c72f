/*
 * Two recorded runs of vLLM 0.19 (reference data, e2e_vllm), replayed by their arrivals: coefficients from a fifth of the step
 * table's rows of the same GPU and from the first fifth of each run's requests, scored on the rest.
 */
#include "calib/requests.h"

#include "support/scratch.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RUNS KVSIM_REFERENCE_DATA "/measured/e2e_vllm/"

static const char steps[] = KVSIM_REFERENCE_DATA "/measured/llmservingsim_step_times.csv";

/* Every tenth row with a time. */
static void write_steps(const char *path)
{
    FILE *from = fopen(steps, "r"), *to = fopen(path, "w");
    char line[512];
    ck_assert(from != NULL && to != NULL);
    for (int i = 0; fgets(line, sizeof line, from) != NULL; i++)
        if (i == 0 || i % 10 == 3)
            fputs(line, to);
    fclose(from);
    fclose(to);
}

static void write_scenario(const char *path, const char *model, int tp)
{
    char text[512];
    snprintf(text, sizeof text,
             "model: %s\nhardware: rtx-pro-6000-blackwell\nengine: {profile: vllm-0.19, "
             "max_num_seqs: 128, "
             "max_num_batched_tokens: 2048, tensor_parallel_size: %d}\n"
             "workload: {arrival: {process: deterministic, rate: 1/s}, prompt_tokens: 100, "
             "output_tokens: 10}\n",
             model, tp);
    scratch_write(path, text, strlen(text));
}

static void near(const char *what, double predicted, double measured, double bound)
{
    double error = predicted / measured - 1;
    printf("  %-10s predicted %10.2f measured %10.2f ms  %+5.1f %%\n", what, predicted, measured,
           100 * error);
    ck_assert_msg(fabs(error) <= bound, "%s: %+.1f %%", what, 100 * error);
}

static void check_run(const char *model, int tp, const char *file)
{
    const char *const files[] = {"steps.csv", file};
    const struct calib_request request = {.hardware = "rtx-pro-6000-blackwell",
                                          .files = files,
                                          .file_count = 2,
                                          .scenario = "run.yaml",
                                          .first_share = 0.2};
    struct calib_result result;
    struct calib_replay before, after;
    struct kvsim_error err;
    write_scenario("run.yaml", model, tp);
    ck_assert_msg(calib_calibrate(&request, &result, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_int_eq(calib_replay("run.yaml", NULL, file, NULL, 0.2, &before, &err), KVSIM_OK);
    ck_assert_int_eq(calib_replay("run.yaml", NULL, file, &result.calibration, 0.2, &after, &err),
                     KVSIM_OK);
    printf(
        "%s, %zu requests; uncalibrated: ttft %+.1f %%, tpot %+.1f %%, e2e %+.1f %%; calibrated:\n",
        model, after.request_count,
        100 * (before.predicted.ttft_mean / before.measured.ttft_mean - 1),
        100 * (before.predicted.tpot_mean / before.measured.tpot_mean - 1),
        100 * (before.predicted.e2e_mean / before.measured.e2e_mean - 1));
    near("ttft mean", after.predicted.ttft_mean, after.measured.ttft_mean, 0.10);
    near("tpot mean", after.predicted.tpot_mean, after.measured.tpot_mean, 0.03);
    near("e2e mean", after.predicted.e2e_mean, after.measured.e2e_mean, 0.03);
    near("ttft p99", after.predicted.ttft_p99, after.measured.ttft_p99, 0.15);
    near("tpot p99", after.predicted.tpot_p99, after.measured.tpot_p99, 0.15);
    near("e2e p99", after.predicted.e2e_p99, after.measured.e2e_p99, 0.15);
    calib_result_free(&result);
}

START_TEST(llama_8b_on_one_gpu)
{
    scratch_enter();
    write_steps("steps.csv");
    check_run("llama-3.1-8b", 1, RUNS "rtxpro6000_llama31_8b_tp1.requests.csv");
    scratch_leave();
}
END_TEST

START_TEST(qwen3_32b_on_two_gpus)
{
    scratch_enter();
    write_steps("steps.csv");
    check_run("qwen3-32b", 2, RUNS "rtxpro6000_qwen3_32b_tp2.requests.csv");
    scratch_leave();
}
END_TEST

int main(void)
{
    FILE *file = fopen(steps, "r");
    if (file == NULL) {
        puts("reference data are absent: skipped");
        return 77;
    }
    fclose(file);
    return unit_run("validation.requests",
                    (const TTest *const[]){llama_8b_on_one_gpu, qwen3_32b_on_two_gpus, NULL});
}
