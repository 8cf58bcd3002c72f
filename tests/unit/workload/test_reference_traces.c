/* Statistics of the published traces, as their folder's README states them; skipped where the
 * files are absent. */
#include "support/unit.h"

#include "unit/workload/spec_util.h"

#include "workload/bins.h"

#include <stdio.h>

#define TRACES KVSIM_REFERENCE_DATA "/traces/"

enum { ROWS_MAX = 20000, SKIPPED = 77 };

struct statistics {
    const char *file;
    uint64_t row_count;
    double span_s, rate, gap_cv, input_mean, output_mean;
    int64_t input_max, output_max;
};

static const struct statistics published[] = {
    {"azure_llm_2023_code.csv", 8819, 3435.948, 2.567, 13.15, 2047.85, 27.88, 7437, 1899},
    {"azure_llm_2023_conv.csv", 19366, 3501.722, 5.530, 1.09, 1154.70, 211.13, 14050, 1000},
    {"mooncake_conversation_trace.jsonl", 12031, 3536.999, 3.401, 3.03, 12035.06, 342.62, 126195,
     2000},
    {"mooncake_synthetic_trace.jsonl", 3993, 1022.025, 3.907, 1.01, 15325.48, 149.12, 191378, 893},
    {"apex_creation_0.5rps.csv", 512, 1097.370, 0.467, 0.96, 307.74, 1144.31, 1232, 3501},
};

enum { TRACE_COUNT = sizeof published / sizeof published[0] };

static const char *path_of(size_t i, char path[1024])
{
    snprintf(path, 1024, "%s%s", TRACES, published[i].file);
    return path;
}

START_TEST(scans_agree_with_the_readme)
{
    for (size_t i = 0; i < TRACE_COUNT; i++) {
        const struct statistics *expected = &published[i];
        struct workload_trace_info info;
        struct kvsim_error err = {0};
        char path[1024];
        double span_s;

        ck_assert_msg(workload_trace_scan(path_of(i, path), 0, &info, &err) == KVSIM_OK, "%s",
                      err.message);
        span_s = (double)(info.last_ns - info.first_ns) / 1e9;
        ck_assert_uint_eq(info.row_count, expected->row_count);
        ck_assert_double_eq_tol(span_s, expected->span_s, 0.0006);
        ck_assert_double_eq_tol((double)(info.row_count) / span_s, expected->rate, 0.005);
        ck_assert_double_eq_tol(info.prompt_mean, expected->input_mean, 0.006);
        ck_assert_double_eq_tol(info.output_mean, expected->output_mean, 0.006);
        ck_assert_int_eq(info.prompt_max, expected->input_max);
        ck_assert_int_eq(info.output_max, expected->output_max);
    }
}
END_TEST

/* "Prefix reuse with an infinite cache": 36.64 % and 63.96 % of the blocks. */
START_TEST(leading_runs_of_ids_seen_before)
{
    static const struct {
        const char *file;
        int64_t ids, distinct;
        double percent;
    } expected[] = {{TRACES "mooncake_conversation_trace.jsonl", 288500, 182790, 36.64},
                    {TRACES "mooncake_synthetic_trace.jsonl", 121877, 43924, 63.96}};

    for (size_t i = 0; i < 2; i++) {
        struct workload_trace_info info;

        ck_assert_int_eq(workload_trace_scan(expected[i].file, 0, &info, NULL), KVSIM_OK);
        ck_assert_int_eq(info.id_count, expected[i].ids);
        ck_assert_int_eq(info.distinct_id_count, expected[i].distinct);
        ck_assert_double_eq_tol(100.0 * (double)info.seen_id_count / (double)info.id_count,
                                expected[i].percent, 0.005);
    }
}
END_TEST

START_TEST(replay_has_the_gaps_of_the_readme)
{
    static int64_t arrivals[ROWS_MAX];

    for (size_t i = 0; i < TRACE_COUNT; i++) {
        struct workload_spec spec = simple_spec(WORKLOAD_TRACE);
        double sum = 0.0, squares = 0.0, n;
        size_t count;
        char path[1024];

        spec.trace_path = path_of(i, path);
        spec.request_limit = 0;
        count = take_arrivals(&spec, 1, arrivals, ROWS_MAX);
        ck_assert_uint_eq(count, published[i].row_count);
        for (size_t k = 1; k < count; k++) {
            double gap = (double)(arrivals[k] - arrivals[k - 1]) / 1e9;

            sum += gap;
            squares += gap * gap;
        }
        n = (double)(count - 1);
        ck_assert_double_eq_tol(sqrt(squares / n - sum / n * (sum / n)) / (sum / n),
                                published[i].gap_cv, 0.006);
    }
}
END_TEST

START_TEST(lengths_alone_are_refused)
{
    struct workload_trace_info info;
    struct kvsim_error err = {0};

    ck_assert_int_eq(
        workload_trace_scan(TRACES "vidur_arxiv_summarization_lengths.csv", 0, &info, &err),
        KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.hint, "empirical"));
}
END_TEST

START_TEST(published_lengths_have_their_mean)
{
    struct rng_dist_options options = {.kind = RNG_EMPIRICAL};
    struct rng_dist dist;
    struct base_arena arena;

    base_arena_init(&arena);
    ck_assert_int_eq(workload_bins_read(TRACES "vidur_arxiv_summarization_lengths.csv",
                                        WORKLOAD_ROLE_OUTPUT, &arena, &options.bins,
                                        &options.bin_count, NULL),
                     KVSIM_OK);
    ck_assert_int_eq(rng_dist_init(&dist, &options, true, &arena, NULL), KVSIM_OK);
    ck_assert_double_eq_tol(rng_dist_mean(&dist), 291.43, 0.006);
    ck_assert_double_eq(rng_dist_value(&dist, 0.5), 167.0);
    base_arena_release(&arena);
}
END_TEST

int main(void)
{
    FILE *file = fopen(TRACES "azure_llm_2023_conv.csv", "r");

    if (file == NULL) {
        printf("no reference data at %s\n", TRACES);
        return SKIPPED;
    }
    fclose(file);
    return unit_run("workload.reference_traces", (const TTest *const[]){
                                                     scans_agree_with_the_readme,
                                                     leading_runs_of_ids_seen_before,
                                                     replay_has_the_gaps_of_the_readme,
                                                     lengths_alone_are_refused,
                                                     published_lengths_have_their_mean,
                                                     NULL,
                                                 });
}
