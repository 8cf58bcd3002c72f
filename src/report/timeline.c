#include "report/timeline.h"

#include <string.h>

static bool is_first_replication(const struct record_run *run, size_t sample)
{
    return sample >= run->sample_replications.count || run->sample_replications.at[sample] <= 1;
}

struct extent {
    int64_t first_ns, last_ns;
    uint32_t replica_count;
    size_t samples, longest; /* of all replicas; of the one with the most */
};

static size_t count_of_replica(const struct record_run *run, uint32_t replica)
{
    size_t count = 0;
    for (size_t i = 0; i < run->samples.count; i++)
        count += is_first_replication(run, i) && run->samples.at[i].replica == replica;
    return count;
}

static void find_extent(const struct record_run *run, struct extent *extent)
{
    *extent = (struct extent){.first_ns = INT64_MAX};
    for (size_t i = 0; i < run->samples.count; i++) {
        const struct record_sample *sample = &run->samples.at[i];
        if (!is_first_replication(run, i))
            continue;
        if (sample->t_ns < extent->first_ns)
            extent->first_ns = sample->t_ns;
        if (sample->t_ns > extent->last_ns)
            extent->last_ns = sample->t_ns;
        if (sample->replica >= extent->replica_count)
            extent->replica_count = sample->replica + 1;
        extent->samples++;
    }
    for (uint32_t replica = 0; replica < extent->replica_count; replica++) {
        size_t count = count_of_replica(run, replica);
        if (count > extent->longest)
            extent->longest = count;
    }
}

static void add_sample(struct report_moment *moment, const struct record_sample *sample)
{
    moment->running += (double)sample->running;
    moment->waiting += (double)sample->waiting;
    for (size_t line = 0; line < RECORD_LEDGER_LINES; line++)
        moment->ledger_bytes[line] += (double)sample->ledger_bytes[line];
}

static void add_scaled(struct report_moment *to, const struct report_moment *from, double factor)
{
    to->running += factor * from->running;
    to->waiting += factor * from->waiting;
    for (size_t line = 0; line < RECORD_LEDGER_LINES; line++)
        to->ledger_bytes[line] += factor * from->ledger_bytes[line];
}

/* The span in which a time lies. */
static size_t span_of(const struct extent *extent, size_t count, int64_t t_ns)
{
    double width_ns = (double)(extent->last_ns - extent->first_ns) / (double)count;
    size_t span = width_ns > 0.0 ? (size_t)((double)(t_ns - extent->first_ns) / width_ns) : 0;
    return span < count ? span : count - 1;
}

static void add_replica(const struct record_run *run, uint32_t replica, const struct extent *extent,
                        struct report_moment *sums, size_t *counts, struct report_timeline *out)
{
    memset(sums, 0, out->count * sizeof *sums);
    memset(counts, 0, out->count * sizeof *counts);
    for (size_t i = 0; i < run->samples.count; i++) {
        const struct record_sample *sample = &run->samples.at[i];
        if (!is_first_replication(run, i) || sample->replica != replica)
            continue;
        size_t span = span_of(extent, out->count, sample->t_ns);
        add_sample(&sums[span], sample);
        counts[span]++;
    }
    const struct report_moment *known = NULL;
    double share = 0.0;
    for (size_t span = 0; span < out->count; span++) {
        if (counts[span] > 0) {
            known = &sums[span];
            share = 1.0 / (double)counts[span];
        }
        if (known != NULL)
            add_scaled(&out->at[span], known, share);
    }
}

void report_timeline_read(const struct record_run *run, size_t limit, struct base_arena *arena,
                          struct report_timeline *out)
{
    struct extent extent;
    find_extent(run, &extent);
    *out = (struct report_timeline){.samples = extent.samples};
    out->count = extent.longest < limit ? extent.longest : limit;
    if (out->count == 0)
        return;
    out->at = base_arena_array(arena, out->count, sizeof *out->at);
    struct report_moment *sums = base_arena_array(arena, out->count, sizeof *sums);
    size_t *counts = base_arena_array(arena, out->count, sizeof *counts);
    for (uint32_t replica = 0; replica < extent.replica_count; replica++)
        add_replica(run, replica, &extent, sums, counts, out);
    double width_s = (double)(extent.last_ns - extent.first_ns) / 1e9 / (double)out->count;
    for (size_t span = 0; span < out->count; span++) {
        out->at[span].t_s = (double)extent.first_ns / 1e9 + ((double)span + 0.5) * width_s;
        if (out->at[span].ledger_bytes[RECORD_LEDGER_POOL] > out->pool_bytes)
            out->pool_bytes = out->at[span].ledger_bytes[RECORD_LEDGER_POOL];
    }
}
