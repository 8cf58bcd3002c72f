#include "stats/hist.h"

#include "base/pack.h"

enum { SUB = 1 << STATS_SUB_BITS };

void stats_hist_pack(struct base_pack *pack, struct stats_hist *hist)
{
    base_pack_bytes(pack, hist, sizeof *hist);
    for (size_t i = 0; i < STATS_OCTAVES; i++)
        hist->octaves[i] = base_pack_block(pack, hist->octaves[i], SUB * sizeof *hist->octaves[i]);
    hist->exact =
        base_pack_block(pack, hist->exact, base_mul_size((size_t)hist->count, sizeof *hist->exact));
    if (pack->out == NULL)
        hist->exact_capacity = hist->exact == NULL ? 0 : (size_t)hist->count;
}

void stats_cohort_pack(struct base_pack *pack, struct stats_cohort *cohort)
{
    base_pack_bytes(pack, cohort, sizeof *cohort);
    size_t sums_bytes =
        base_mul_size(base_mul_size(SUB, cohort->cause_count), sizeof *cohort->sums[0]);
    for (size_t i = 0; i < STATS_OCTAVES; i++) {
        cohort->counts[i] =
            base_pack_block(pack, cohort->counts[i], SUB * sizeof *cohort->counts[i]);
        cohort->sums[i] = base_pack_block(pack, cohort->sums[i], sums_bytes);
    }
}
