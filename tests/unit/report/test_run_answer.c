/* What a report says first follows from the run's rows. */
#include "support/made_run.h"
#include "support/unit.h"

#include "report/run_answer.h"
#include "report/run_view.h"

#include <math.h>
#include <string.h>

static struct record_run run;
static struct report_answer answer;

static void setup(void)
{
    made_run_init(&run, 0);
}

static void set_slos(const char *a, const char *b, int64_t met)
{
    run.slo_lines.count = 0;
    base_vec_push(&run.slo_lines, a);
    if (b != NULL)
        base_vec_push(&run.slo_lines, b);
    record_set_integer(&run, RECORD_SLO_MET, met);
}

START_TEST(met)
{
    setup();
    report_answer_read(&run, &answer);
    ck_assert_int_eq(answer.tone, REPORT_YES);
    ck_assert_str_eq(answer.answer, "Yes: every SLO is met.");
    ck_assert_ptr_nonnull(strstr(answer.question, "Can 1 × h100-sxm5-80gb serve llama-3.1-8b at "));
    // Of the two SLOs only ttft p99 has a row, and it has no interval.
    ck_assert_str_eq(answer.detail, "The tightest promise: ttft p99 is 1,320 ms against 2 s.");
    record_run_free(&run);
}
END_TEST

START_TEST(missed)
{
    setup();
    set_slos("ttft p99 <= 1 s: missed (1.32 s)", "preemptions == 0: met (0)", 0);
    report_answer_read(&run, &answer);
    ck_assert_int_eq(answer.tone, REPORT_NO);
    ck_assert_str_eq(answer.answer, "No: 1 of 2 promises is missed.");
    ck_assert_ptr_nonnull(strstr(answer.detail, "1,320 ms against 1 s"));
    record_run_free(&run);
}
END_TEST

START_TEST(of_a_class)
{
    setup();
    set_slos("ttft p99 <= 1 s for gold, \"fast\": met (900.5 ms)", NULL, 1);
    struct report_slo slo;
    report_slo_read(&run, 0, &slo);
    ck_assert_str_eq(slo.bound, "1 s");
    ck_assert_ptr_nonnull(slo.row);
    ck_assert_double_eq_tol(report_slo_headroom(&slo), 1000 / 900.5, 1e-9);
    report_answer_read(&run, &answer);
    ck_assert_str_eq(answer.detail, "The promise: ttft p99 is 900 ± 4 ms for gold, "
                                    "\"fast\" against 1 s.");
    record_run_free(&run);
}
END_TEST

START_TEST(in_doubt)
{
    setup();
    set_slos("ttft p99 <= 903 ms for gold, \"fast\": met (900.5 ms)", NULL, 1);
    report_answer_read(&run, &answer);
    ck_assert_str_eq(answer.tightest, "ttft p99 is 900 ± 4 ms for gold, \"fast\" against 903 ms; "
                                      "the interval reaches across");
    record_run_free(&run);
}
END_TEST

START_TEST(a_colon_in_a_requirement)
{
    struct report_slo slo;
    setup();
    set_slos("a: b == 1: missed (2)", NULL, 0);
    report_slo_read(&run, 0, &slo);
    ck_assert_str_eq(slo.promise, "a: b == 1");
    ck_assert_str_eq(slo.outcome, "missed (2)");
    ck_assert(!slo.is_slo && !slo.is_met);
    ck_assert(isnan(report_slo_headroom(&slo)));
    record_run_free(&run);
}
END_TEST

START_TEST(nothing_was_promised)
{
    setup();
    run.slo_lines.count = 0;
    run.summary[RECORD_SLO_MET] = (struct record_value){.kind = RECORD_NULL};
    report_answer_read(&run, &answer);
    ck_assert_int_eq(answer.tone, REPORT_OPEN);
    ck_assert_ptr_nonnull(strstr(answer.question, "What do 1 × h100-sxm5-80gb give"));
    ck_assert_ptr_nonnull(strstr(answer.detail, "requests/s are done"));
    record_run_free(&run);
}
END_TEST

START_TEST(other_ends)
{
    static const struct {
        const char *status, *answer;
        enum report_tone tone;
    } cases[] = {{"overloaded", "No: more requests arrive than can leave.", REPORT_NO},
                 {"not_settled", "Not decided: the run had not settled.", REPORT_OPEN},
                 {"stuck", "No: the engine could not go on.", REPORT_NO},
                 {"engine_died", "No: the engine could not go on.", REPORT_NO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup();
        record_set_text(&run, RECORD_STATUS, cases[i].status);
        report_answer_read(&run, &answer);
        ck_assert_str_eq(answer.answer, cases[i].answer);
        ck_assert_int_eq(answer.tone, cases[i].tone);
        record_run_free(&run);
    }
}
END_TEST

START_TEST(loads)
{
    static const char *const processes[][2] = {{"all_at_once", "all come at once"},
                                               {"trace", "under a recorded trace"},
                                               {"closed_loop", "to 64 clients in a closed loop"}};
    for (size_t i = 0; i < sizeof processes / sizeof *processes; i++) {
        setup();
        struct record_param_row rows[] = {
            {"workload.arrival.process", processes[i][0], "", "scenario", "assumed", ""},
            {"workload.arrival.concurrency", "64", "", "scenario", "assumed", ""}};
        base_vec_push(&run.params, rows[0]);
        base_vec_push(&run.params, rows[1]);
        report_answer_read(&run, &answer);
        ck_assert_ptr_nonnull(strstr(answer.question, processes[i][1]));
        record_run_free(&run);
    }
}
END_TEST

static bool has_lever(const char *setting)
{
    struct report_lever levers[REPORT_LEVERS_MAX];
    size_t count = report_levers_find(&run, levers);
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= strcmp(levers[i].setting, setting) == 0;
    return found;
}

START_TEST(levers_follow_the_limit)
{
    setup();
    struct record_param_row rows[] = {
        {"cluster.replicas", "1", "", "default", "assumed", ""},
        {"hardware.link.gpus", "8", "", "profile", "vendor", ""},
        {"hardware.tflops.fp8", "1979", "", "profile", "vendor", ""},
        {"engine.quantization.used", "none", "", "default", "calculated", ""},
        {"engine.max_num_batched_tokens", "8192", "tokens", "default", "assumed", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        base_vec_push(&run.params, rows[i]);
    // Met: more load is worth a try.
    ck_assert(has_lever("workload.arrival.rate=10/s"));
    ck_assert(has_lever("engine.quantization=fp8"));
    ck_assert(has_lever("engine.tensor_parallel_size=2"));
    ck_assert(!has_lever("engine.kv_cache_dtype=fp8"));

    record_set_integer(&run, RECORD_SLO_MET, 0);
    record_set_text(&run, RECORD_BINDING_LIMIT, "kv_pool");
    ck_assert(!has_lever("workload.arrival.rate=10/s"));
    ck_assert(has_lever("engine.kv_cache_dtype=fp8"));
    ck_assert(has_lever("cluster.replicas=2"));
    record_set_text(&run, RECORD_KV_CACHE_DTYPE, "fp8");
    ck_assert(!has_lever("engine.kv_cache_dtype=fp8"));
    record_set_text(&run, RECORD_BINDING_LIMIT, "max_num_seqs");
    ck_assert(has_lever("engine.max_num_seqs=512"));
    record_set_text(&run, RECORD_BINDING_LIMIT, "max_num_batched_tokens");
    ck_assert(has_lever("engine.max_num_batched_tokens=16384"));
    record_run_free(&run);
}
END_TEST

START_TEST(every_limit_is_explained)
{
    static const char *const limits[] = {
        "kv_pool",          "max_num_seqs", "max_num_batched_tokens", "link", "compute",
        "weight_bandwidth", "kv_bandwidth", "communication",          "host", "arrival"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        ck_assert_str_ne(report_limit_title(limits[i]), limits[i]);
        ck_assert_str_ne(report_limit_meaning(limits[i]), "");
    }
    ck_assert_str_eq(report_limit_title("new_one"), "new_one");
    setup();
    ck_assert(isnan(report_limit_share(&run, "compute"))); // no row for the whole time
    ck_assert_double_eq_tol(report_limit_share(&run, "max_num_seqs"), 0.0, 1e-12);
    record_run_free(&run);
}
END_TEST

int main(void)
{
    return unit_run("report.run_answer",
                    (const TTest *const[]){met, missed, of_a_class, in_doubt,
                                           a_colon_in_a_requirement, nothing_was_promised,
                                           other_ends, loads, levers_follow_the_limit,
                                           every_limit_is_explained, NULL});
}
