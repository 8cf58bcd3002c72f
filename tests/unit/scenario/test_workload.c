#include "load_text.h"

#include "support/check_main.h"

#include "rng/rng.h"

#include <math.h>

#define ENGINE BARE_MODEL BARE_ENGINE BARE_COST

static void load_workload(struct loaded *loaded, const char *workload)
{
    char text[4096];
    snprintf(text, sizeof text, "%sworkload: {%s}\n", ENGINE, workload);
    load_text(loaded, text);
}

static void accept(struct loaded *loaded, const char *workload)
{
    load_workload(loaded, workload);
    ck_assert_msg(loaded->status == KVSIM_OK, "%s: %s", workload, loaded->diags.at[0].message);
}

static void refuse(const char *workload, const char *code)
{
    struct loaded loaded;
    load_workload(&loaded, workload);
    ck_assert_msg(loaded.status == KVSIM_ERR_SCENARIO, "%s", workload);
    ck_assert_msg(code == NULL || strcmp(loaded.diags.at[0].code, code) == 0, "%s: %s [%s]",
                  workload, loaded.diags.at[0].message, loaded.diags.at[0].code);
    ck_assert_int_gt(loaded.diags.at[0].line, 0);
    loaded_end(&loaded);
}

#define L "prompt_tokens: 8, output_tokens: 4"

START_TEST(every_process_is_read)
{
    static const struct {
        const char *arrival;
        enum workload_process process;
    } rows[] = {
        {"process: poisson, rate: 4/s", WORKLOAD_POISSON},
        {"process: poisson, rate: 240/min", WORKLOAD_POISSON},
        {"process: gamma, rate: 4/s, burstiness: 0.5", WORKLOAD_GAMMA},
        {"process: weibull, rate: 4/s, cv: 2", WORKLOAD_WEIBULL},
        {"process: deterministic, rate: 4/s", WORKLOAD_DETERMINISTIC},
        {"process: mmpp, states: [{rate: 1/s, mean_dwell: 10s}, {rate: 9/s, mean_dwell: 5s}]",
         WORKLOAD_MMPP},
        {"process: profile, stages: [{rate: 1/s, duration: 10s}, {rate: 9/s, duration: 5s}]",
         WORKLOAD_PROFILE},
        {"process: all_at_once", WORKLOAD_ALL_AT_ONCE},
        {"process: closed-loop, concurrency: 4, think_time: 2s, max_concurrency: 3",
         WORKLOAD_CLOSED_LOOP},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct loaded loaded;
        char workload[512];
        snprintf(workload, sizeof workload, "arrival: {%s}, " L, rows[i].arrival);
        accept(&loaded, workload);
        ck_assert_int_eq(loaded.config->workload.process, rows[i].process);
        loaded_end(&loaded);
    }
}
END_TEST

START_TEST(rates_and_think_times_have_their_units)
{
    struct loaded loaded;
    accept(&loaded, "arrival: {process: poisson, rate: 240/min}, " L);
    ck_assert_double_eq(loaded.config->workload.rate_per_s, 4);
    loaded_end(&loaded);
    accept(&loaded, "arrival: {process: closed_loop, concurrency: 4, think_time: {distribution: "
                    "exponential, mean: 500ms}}, " L);
    ck_assert(loaded.config->workload.has_think);
    ck_assert_double_eq_tol(rng_dist_mean(&loaded.config->workload.think), 0.5, 1e-12);
    ck_assert_uint_eq(loaded.config->workload.concurrency, 4);
    loaded_end(&loaded);
}
END_TEST

START_TEST(every_shape_of_length_is_read)
{
    static const struct {
        const char *length;
        double mean;
    } rows[] = {
        {"12", 12},
        {"{distribution: fixed, value: 12}", 12},
        {"{distribution: uniform, min: 1, max: 9}", 5},
        {"{distribution: normal, mean: 30, sd: 0}", 30},
        {"{distribution: geometric, mean: 7}", 7},
        {"{distribution: empirical, bins: [[4, 1], [8, 3]]}", 7},
        {"{distribution: empirical, bins: [[4, 6, 1]]}", 4.5}, // 4 and 5
        {"{distribution: empirical, cdf: [[4, 0.25], [8, 1]]}", 0.25 * 4 + 0.75 * 6.5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct loaded loaded;
        char workload[512];
        snprintf(workload, sizeof workload,
                 "arrival: {process: poisson, rate: 1/s}, prompt_tokens: %s, output_tokens: 4",
                 rows[i].length);
        accept(&loaded, workload);
        ck_assert_msg(fabs(loaded.config->prompt_mean - rows[i].mean) < 1e-6, "%s: %g",
                      rows[i].length, loaded.config->prompt_mean);
        loaded_end(&loaded);
    }
    struct loaded loaded;
    accept(&loaded, "arrival: {process: poisson, rate: 1/s}, prompt_tokens: {distribution: "
                    "lognormal, median: 20, p95: 50, max: 60},"
                    " output_tokens: {distribution: zipf, s: 1.1, min: 1, max: 9}");
    loaded_end(&loaded);
    accept(&loaded, "arrival: {process: poisson, rate: 1/s}, prompt_tokens: {distribution: gamma, "
                    "mean: 20, cv: 0.5, max: 60},"
                    " output_tokens: 9, max_tokens: 5, correlation: 0.3");
    ck_assert(loaded.config->workload.classes[0].has_max_tokens);
    ck_assert_double_eq(loaded.config->workload.classes[0].correlation, 0.3);
    loaded_end(&loaded);
}
END_TEST

START_TEST(lengths_come_from_a_file_too)
{
    struct loaded loaded;
    char path[256];
    loaded_begin(&loaded);
    snprintf(path, sizeof path, "%s/lengths.csv", loaded.folder);
    write_text(path, "value,weight\n4,1\n8,3\n");
    write_text(loaded.path,
               ENGINE "workload: {arrival: {process: poisson, rate: 1/s}, output_tokens: 4,"
                      " prompt_tokens: {distribution: empirical, file: lengths.csv}}\n");
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    ck_assert_double_eq_tol(loaded.config->prompt_mean, 7, 1e-9);
    scenario_free(loaded.scenario);
    write_text(path, "value,weight\n4,1\n8,heavy\n");
    memset(&loaded.diags, 0, sizeof loaded.diags);
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(loaded.diags.at[0].file, path); // blamed where the fault is
    ck_assert_int_eq(loaded.diags.at[0].line, 3);
    unlink(path);
    loaded_end(&loaded);
}
END_TEST

START_TEST(classes_inherit_and_have_bounds_of_their_own)
{
    struct loaded loaded;
    accept(&loaded,
           "arrival: {process: poisson, rate: 1/s}, " L ", timeout: {total: 9s}, abort_after: 1min,"
           " classes: [{name: a, weight: 3, slo: [\"ttft p99 <= 1 s\"]},"
           " {name: b, prompt_tokens: 16, timeout: {first_token: 2s}}]");
    const struct workload_spec *spec = &loaded.config->workload;
    ck_assert_uint_eq(spec->class_count, 2);
    ck_assert_double_eq(spec->classes[0].weight, 3);
    ck_assert_double_eq(rng_dist_mean(&spec->classes[0].prompt), 8);
    ck_assert_double_eq(rng_dist_mean(&spec->classes[1].prompt), 16);
    ck_assert_int_eq(spec->classes[0].timeout_total_ns, 9000000000);
    ck_assert_int_eq(spec->classes[1].timeout_first_ns, 2000000000);
    ck_assert_int_eq(spec->classes[1].abort_after_ns, 60000000000);
    ck_assert_uint_eq(loaded.config->slo_count, 1);
    ck_assert_str_eq(loaded.config->slos[0].class_name, "a");
    ck_assert_str_eq(loaded.config->slos[0].text, "ttft p99 <= 1 s for a");
    ck_assert_double_eq(loaded.config->prompt_mean, 10); // 3 x 8 + 16, over 4
    loaded_end(&loaded);
}
END_TEST

START_TEST(answers_are_counted)
{
    struct loaded loaded;
    accept(&loaded, "arrival: {process: poisson, rate: 1/s}, " L ", n: 4, classes: [{name: a},"
                    " {name: b, n: {distribution: uniform, min: 1, max: 3}}]");
    const struct workload_spec *spec = &loaded.config->workload;
    ck_assert(spec->classes[0].has_sequences && spec->classes[1].has_sequences);
    ck_assert_double_eq(rng_dist_mean(&spec->classes[0].sequences), 4);
    ck_assert_double_eq(rng_dist_mean(&spec->classes[1].sequences), 2);
    ck_assert_str_eq(param_of(&loaded, "workload.n")->value, "4");
    ck_assert_str_eq(param_of(&loaded, "workload.n")->unit, "");
    ck_assert_ptr_null(caveat_of(&loaded, "sequences_without_cache"));
    loaded_end(&loaded);
    // Not stated: one, and nothing of it among the parameters.
    load_text(&loaded, BARE);
    ck_assert(!loaded.config->workload.classes[0].has_sequences);
    ck_assert_ptr_null(param_of(&loaded, "workload.n"));
    loaded_end(&loaded);
}
END_TEST

START_TEST(answers_that_share_nothing_are_told)
{
    struct loaded loaded;
    static const char *const counts[] = {"1", "2"};
    for (size_t i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 BARE_MODEL BARE_COST
                 "engine: {profile: vllm-0.19, max_model_len: 64, num_gpu_blocks_override: 20,"
                 " block_size: 4, enable_prefix_caching: false}\n"
                 "workload: {arrival: {process: poisson, rate: 1/s}, " L ", n: %s}\n",
                 counts[i]);
        load_text(&loaded, text);
        ck_assert_int_eq(loaded.status, KVSIM_OK);
        ck_assert_int_eq(caveat_of(&loaded, "sequences_without_cache") != NULL, i == 1);
        loaded_end(&loaded);
    }
}
END_TEST

START_TEST(bad_workloads_are_refused)
{
    refuse("arrival: {process: closed_loop}, " L, "missing-key");
    refuse("arrival: {process: closed_loop, concurrency: 0}, " L, "out-of-range");
    refuse("arrival: {rate: 1/s}, " L, "missing-key");
    refuse("arrival: [1], " L, "wrong-type");
    refuse("arrival: {process: deterministic, rate: 1/s, burstiness: 3}, " L, "unused-key");
    refuse("arrival: {process: poisson, rate: .nan}, " L, "bad-number");
    refuse("arrival: {process: poisson, rate: 4}, " L, "missing-unit");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", timeout: {}", "missing-key");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", correlation: 2", "out-of-range");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", n: 0", "out-of-range");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", n: 1025", "out-of-range");
    refuse("arrival: {process: poisson, rate: 1/s}, " L
           ", n: {distribution: zipf, s: 1, min: 1, max: 2000}",
           "out-of-range");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", classes: [{name: a, n: [2]}]",
           "wrong-type");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", classes: []", "wrong-type");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", classes: [{weight: 1}]", "missing-key");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", classes: [{name: a}, {name: a}]",
           "bad-name");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", classes: [{name: a, weight: 0}]",
           "out-of-range");
    refuse("arrival: {process: poisson, rate: 1/s}, " L ", classes: [{name: a, priority: 1}]",
           "unused-key");
    refuse("arrival: {process: poisson, rate: 1/s}, " L
           ", classes: [{name: a, slo: [\"ttft p99 <= 1 s for b\"]}]",
           "conflict");
    refuse("arrival: {process: poisson, rate: 1/s}, output_tokens: 1, prompt_tokens: "
           "{distribution: empirical}",
           "missing-key");
    refuse("arrival: {process: poisson, rate: 1/s}, output_tokens: 1, prompt_tokens: "
           "{distribution: empirical, bins: [[5, 2, 1]]}",
           "bad-bins");
    refuse("arrival: {process: poisson, rate: 1/s}, output_tokens: 1, prompt_tokens: "
           "{distribution: empirical, cdf: [[5, 0.5]]}",
           "bad-bins");
    refuse("arrival: {process: poisson, rate: 1/s}, output_tokens: 1, prompt_tokens: "
           "{distribution: fixed}",
           "missing-key");
    refuse("arrival: {process: poisson, rate: 1/s}, output_tokens: 1, prompt_tokens: [1]",
           "wrong-type");
    refuse("arrival: {process: poisson, rate: 1/s}, output_tokens: 1, prompt_tokens: "
           "{distribution: zipf, s: 1, min: 9, max: 2}",
           NULL);
}
END_TEST

static void write_trace(struct loaded *loaded, char *path, size_t bytes, const char *rows)
{
    loaded_begin(loaded);
    snprintf(path, bytes, "%s/trace.csv", loaded->folder);
    write_text(path, rows);
}

START_TEST(a_trace_has_its_own_lengths)
{
    struct loaded loaded;
    char path[256];
    write_trace(&loaded, path, sizeof path,
                "arrival_s,input_tokens,output_tokens\n0.5,10,4\n1.0,20,6\n");
    write_text(loaded.path, ENGINE "workload: {arrival: {process: trace, file: trace.csv}}\n");
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    ck_assert_str_eq(loaded.config->workload.trace_path, path);
    ck_assert_double_eq(loaded.config->prompt_mean, 15);
    ck_assert_int_eq(loaded.config->replications, 1);
    ck_assert_uint_eq(loaded.config->workload.request_limit, 0);
    ck_assert_str_eq(param_of(&loaded, "workload.arrival.file")->value, "trace.csv");
    ck_assert_ptr_null(strstr(loaded.config->yaml, loaded.folder));
    scenario_free(loaded.scenario);
    write_text(loaded.path,
               ENGINE "workload: {arrival: {process: trace, file: trace.csv}, prompt_tokens: 4}\n");
    memset(&loaded.diags, 0, sizeof loaded.diags);
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_str_eq(loaded.diags.at[0].code, "unused-key");
    unlink(path);
    loaded_end(&loaded);
}
END_TEST

START_TEST(a_trace_is_blamed_at_its_own_line)
{
    struct loaded loaded;
    char path[256];
    write_trace(&loaded, path, sizeof path,
                "arrival_s,input_tokens,output_tokens\n0.5,10,4\n1.0,many,6\n");
    write_text(loaded.path, ENGINE "workload: {arrival: {process: trace, file: trace.csv}}\n");
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(loaded.diags.at[0].file, path);
    ck_assert_int_eq(loaded.diags.at[0].line, 3);
    unlink(path);
    loaded_end(&loaded);
}
END_TEST

CHECK_MAIN("scenario.workload", every_process_is_read, rates_and_think_times_have_their_units,
           every_shape_of_length_is_read, lengths_come_from_a_file_too,
           classes_inherit_and_have_bounds_of_their_own, answers_are_counted,
           answers_that_share_nothing_are_told, bad_workloads_are_refused,
           a_trace_has_its_own_lengths, a_trace_is_blamed_at_its_own_line)
