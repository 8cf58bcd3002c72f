#include "stats/hist.h"

#include "base/error.h"

enum { SUB = 1 << STATS_SUB_BITS };

void stats_cohort_init(struct stats_cohort *cohort, size_t cause_count)
{
    *cohort = (struct stats_cohort){.cause_count = cause_count};
}

void stats_cohort_release(struct stats_cohort *cohort)
{
    for (size_t i = 0; i < STATS_OCTAVES; i++) {
        base_free(cohort->counts[i]);
        base_free(cohort->sums[i]);
    }
    stats_cohort_init(cohort, cohort->cause_count);
}

static void reserve_octave(struct stats_cohort *cohort, size_t octave)
{
    if (cohort->counts[octave] != NULL)
        return;
    cohort->counts[octave] = base_alloc(SUB * sizeof *cohort->counts[octave]);
    cohort->sums[octave] = base_alloc(
        base_mul_size(base_mul_size(SUB, cohort->cause_count), sizeof *cohort->sums[octave]));
}

void stats_cohort_add(struct stats_cohort *cohort, int64_t value_ns, const int64_t *shares_ns)
{
    size_t bucket = stats_bucket_of(value_ns), octave = bucket / SUB, sub = bucket % SUB;
    int64_t *sums;

    base_require(value_ns >= 0);
    reserve_octave(cohort, octave);
    cohort->counts[octave][sub]++;
    sums = cohort->sums[octave] + sub * cohort->cause_count;
    for (size_t i = 0; i < cohort->cause_count; i++)
        sums[i] += shares_ns[i];
}

void stats_cohort_merge(struct stats_cohort *into, const struct stats_cohort *from)
{
    base_require(into->cause_count == from->cause_count);
    for (size_t octave = 0; octave < STATS_OCTAVES; octave++) {
        if (from->counts[octave] == NULL)
            continue;
        reserve_octave(into, octave);
        for (size_t sub = 0; sub < SUB; sub++)
            into->counts[octave][sub] += from->counts[octave][sub];
        for (size_t i = 0; i < SUB * into->cause_count; i++)
            into->sums[octave][i] += from->sums[octave][i];
    }
}

uint64_t stats_cohort_beyond(const struct stats_cohort *cohort, int64_t from_ns, double *sums_ns)
{
    size_t first = stats_bucket_of(from_ns > 0 ? from_ns : 0);
    uint64_t count = 0;

    for (size_t i = 0; i < cohort->cause_count; i++)
        sums_ns[i] = 0.0;
    for (size_t bucket = first; bucket < (size_t)STATS_OCTAVES * SUB; bucket++) {
        size_t octave = bucket / SUB, sub = bucket % SUB;

        if (cohort->counts[octave] == NULL) {
            bucket = octave * SUB + SUB - 1;
            continue;
        }
        count += cohort->counts[octave][sub];
        for (size_t i = 0; i < cohort->cause_count; i++)
            sums_ns[i] += (double)cohort->sums[octave][sub * cohort->cause_count + i];
    }
    return count;
}
