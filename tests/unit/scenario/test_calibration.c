/* `calibration` of a hardware mapping: read by the table of coefficients, used by level calibrated, refused where wrong. */
#include "load_text.h"
#include "spec/hardware.h"

#include "support/unit.h"

#define SCENARIO(hardware, cost)                                                                \
    "model: llama-3.1-8b\nhardware: " hardware "\nengine: {profile: vllm-0.19, max_model_len: " \
    "4096}\n" cost "workload: {arrival: {process: poisson, rate: 1/s}, prompt_tokens: 100, "    \
    "output_tokens: 10}\n"

#define FITTED                                                                                     \
    "{base: h100-sxm, calibration: {source: t.csv, conditions: a test, coefficients: {gemm_bf16: " \
    "0.5, host_step: 3 ms}, all_reduce: [{gpus: 2, latency: 5 us, bandwidth: 10 GB/s}]}}"

START_TEST(a_calibration_is_the_default_level)
{
    struct loaded loaded;
    load_text(&loaded, SCENARIO(FITTED, ""));
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    const struct spec_calibration *calibration = &loaded.config->hardware->calibration;
    ck_assert(calibration->has[SPEC_GEMM_BF16] && calibration->has[SPEC_HOST_STEP]);
    ck_assert(!calibration->has[SPEC_PREFILL]);
    ck_assert_double_eq_tol(calibration->value[SPEC_HOST_STEP], 3e-3, 1e-12);
    ck_assert_uint_eq(calibration->collective_count, 1);
    ck_assert_double_eq_tol(calibration->collectives[0].latency_s, 5e-6, 1e-15);
    ck_assert_int_eq(cost_level_resolve(loaded.config->cost.options, loaded.config->hardware),
                     COST_CALIBRATED);
    for (size_t i = 0; i < loaded.config->caveat_count; i++)
        ck_assert_str_ne(loaded.config->caveats[i].code, "uncalibrated");
    loaded_end(&loaded);
}
END_TEST

START_TEST(datasheet_never_reads_it)
{
    struct loaded plain, fitted;
    load_text(&plain, SCENARIO("h100-sxm", ""));
    load_text(&fitted, SCENARIO(FITTED, "cost: {level: datasheet}\n"));
    ck_assert(plain.status == KVSIM_OK && fitted.status == KVSIM_OK);
    struct base_arena arena;
    struct cost *costs[2];
    struct kvsim_error err;
    const struct cost_shape shape = {.decode_seq_count = 8, .decode_context_tokens = 8000};
    base_arena_init(&arena);
    ck_assert_int_eq(cost_new(&plain.config->cost, &arena, &costs[0], &err), KVSIM_OK);
    ck_assert_int_eq(cost_new(&fitted.config->cost, &arena, &costs[1], &err), KVSIM_OK);
    ck_assert_int_eq(cost_step(costs[0], &shape).ticks, cost_step(costs[1], &shape).ticks);
    base_arena_release(&arena);
    loaded_end(&plain);
    loaded_end(&fitted);
}
END_TEST

static void refused(const char *text, const char *part)
{
    struct loaded loaded;
    load_text(&loaded, text);
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(loaded.diags.at[0].message, part) != NULL, "'%s' lacks '%s'",
                  loaded.diags.at[0].message, part);
    loaded_end(&loaded);
}

START_TEST(wrong_ones_are_refused)
{
    refused(SCENARIO("h100-sxm", "cost: {level: calibrated}\n"), "no calibration");
    refused(SCENARIO("{base: h100-sxm, calibration: {source: x, conditions: y, coefficients: "
                     "{gem_bf16: 0.5}}}",
                     ""),
            "gem_bf16");
    refused(SCENARIO("{base: h100-sxm, calibration: {source: x, conditions: y, coefficients: "
                     "{gemm_bf16: 1.5}}}",
                     ""),
            "gemm_bf16");
    refused(SCENARIO("{base: h100-sxm, calibration: {coefficients: {gemm_bf16: 0.5}}}", ""),
            "conditions");
    refused(
        SCENARIO(
            "{base: h100-sxm, calibration: {source: x, conditions: y, all_reduce: [{gpus: 2}]}}",
            ""),
        "latency");
}
END_TEST

int main(void)
{
    return unit_run("scenario.calibration",
                    (const TTest *const[]){a_calibration_is_the_default_level,
                                           datasheet_never_reads_it, wrong_ones_are_refused, NULL});
}
