#include "serve/result.h"

#include "base/error.h"
#include "base/mem.h"
#include "serve/segments.h"
#include "stats/batch.h"

const char *serve_limit_name(enum serve_limit limit)
{
    static const char *const names[SERVE_LIMIT_COUNT] = {
        "kv_pool",          "max_num_seqs", "max_num_batched_tokens", "link", "compute",
        "weight_bandwidth", "kv_bandwidth", "communication",          "host", "arrival",
    };
    base_require(limit < SERVE_LIMIT_COUNT);
    return names[limit];
}

void serve_result_init(struct serve_result *result, size_t class_count, size_t replica_count)
{
    *result = (struct serve_result){
        .class_count = class_count, .replica_count = replica_count, .first_counted = UINT64_MAX};
    result->classes = base_alloc(base_mul_size(class_count, sizeof *result->classes));
    result->replicas = base_alloc(base_mul_size(replica_count, sizeof *result->replicas));
    for (size_t i = 0; i < class_count; i++) {
        for (size_t m = 0; m < SPEC_METRIC_COUNT; m++) {
            stats_hist_init(&result->classes[i].metric[m]);
        }
    }
    stats_cohort_init(&result->ttft_cohort, RECORD_CAUSE_COUNT);
    stats_cohort_init(&result->e2e_cohort, RECORD_CAUSE_COUNT);
}

void serve_result_release(struct serve_result *result)
{
    for (size_t i = 0; i < result->class_count; i++) {
        for (size_t m = 0; m < SPEC_METRIC_COUNT; m++) {
            stats_hist_release(&result->classes[i].metric[m]);
        }
    }
    for (size_t i = 0; i < SERVE_SEGMENTS; i++) {
        serve_segment_release(&result->segments[i]);
    }
    stats_cohort_release(&result->ttft_cohort);
    stats_cohort_release(&result->e2e_cohort);
    base_free(result->classes);
    base_free(result->replicas);
    *result = (struct serve_result){0};
}

double serve_result_queue_rise(const struct serve_result *result, double *rise, double *error)
{
    enum { LEAST_SEGMENTS = 16 };
    size_t count = result->segment_count, half = count / 2;
    double levels[SERVE_SEGMENTS];
    *rise = *error = 0;
    if (count < LEAST_SEGMENTS) {
        return 0;
    }
    for (size_t i = half; i < count; i++) {
        levels[i - half] = (double)result->segments[i].end_waiting;
    }
    stats_rise(levels, count - half, rise, error);
    return (double)(count - half - 1) * (double)result->segment_arrivals;
}
