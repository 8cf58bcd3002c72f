#include "serve/result.h"

#include "base/pack.h"

static void pack_class(struct base_pack *pack, struct serve_class_result *class_result)
{
    for (size_t m = 0; m < SPEC_METRIC_COUNT; m++) {
        stats_hist_pack(pack, &class_result->metric[m]);
    }
}

static void pack_segment(struct base_pack *pack, struct serve_segment *segment)
{
    segment->hists =
        base_pack_block(pack, segment->hists, SPEC_METRIC_COUNT * sizeof *segment->hists);
    for (size_t m = 0; segment->hists != NULL && m < SPEC_METRIC_COUNT; m++) {
        stats_hist_pack(pack, &segment->hists[m]);
    }
}

void serve_result_pack(struct base_pack *pack, struct serve_result *result)
{
    base_pack_bytes(pack, result, sizeof *result);
    result->classes = base_pack_block(pack, result->classes,
                                      base_mul_size(result->class_count, sizeof *result->classes));
    result->replicas = base_pack_block(
        pack, result->replicas, base_mul_size(result->replica_count, sizeof *result->replicas));
    if (result->classes == NULL) {
        result->class_count = 0;
    }
    for (size_t i = 0; i < result->class_count; i++) {
        pack_class(pack, &result->classes[i]);
    }
    for (size_t i = 0; i < SERVE_SEGMENTS; i++) {
        pack_segment(pack, &result->segments[i]);
    }
    stats_cohort_pack(pack, &result->ttft_cohort);
    stats_cohort_pack(pack, &result->e2e_cohort);
}
