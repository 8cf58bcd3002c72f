#include "study/intervals.h"

#include "record/run.h"
#include "stats/batch.h"
#include "stats/interval.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define CONFIDENCE 0.95

/* Independent observations that a replication must be worth, for intervals over replications to be near 95 %. */
#define EFFECTIVE_LEAST 6.0
/* Batches of a replication from which that is judged; it is worth about as many at least. */
enum { JUDGED_BATCHES = 4 };

static struct study_interval withheld(const char *method)
{
    return (struct study_interval){(double)NAN, (double)NAN, method};
}

static struct study_interval given(const struct stats_interval *interval)
{
    return interval->is_withheld
               ? withheld(interval->method)
               : (struct study_interval){interval->low, interval->high, interval->method};
}

static struct study_interval too_few(double more_requests, struct base_arena *texts)
{
    double more = ceil(fmin(fmax(more_requests, 1), 1e15));
    return withheld(base_arena_printf(
        texts, STUDY_TOO_FEW ": %" PRId64 " more requests a replication", (int64_t)more));
}

// Never narrower than what a histogram tells apart.
static void widen(struct study_interval *interval, double value, double resolution)
{
    double half = resolution * fabs(value);
    interval->low = fmin(interval->low, value - half);
    interval->high = fmax(interval->high, value + half);
}

/* The requests of a trace are the same in every replication: where its figures are, too, they tell of no other day. */
static bool is_repeated(const struct study_replications *replications, const double *values)
{
    bool is_same = replications->count > 1 &&
                   replications->config->workload.process == WORKLOAD_TRACE && isfinite(values[0]);
    for (size_t i = 1; i < replications->count && is_same; i++) {
        is_same = !(values[i] < values[0]) && !(values[i] > values[0]);
    }
    return is_same;
}

/* ---- segments of a run that lie behind its warm-up ---- */

static size_t first_segment(const struct serve_result *result)
{
    uint64_t length = (uint64_t)result->segment_arrivals;
    if (result->first_counted == UINT64_MAX) {
        return result->segment_count;
    }
    uint64_t first = (result->first_counted + length - 1) / length;
    return first < result->segment_count ? (size_t)first : result->segment_count;
}

static bool has_batches(const struct study_replications *replications)
{
    return replications->count == 1 && workload_is_steady(&replications->config->workload) &&
           replications->at[0].result.status == SERVE_DONE;
}

/* Batches of a single run: segments `first` + i width ... are batch i. */
struct batches {
    size_t first, width, count;
};

static bool cut_batches(const struct serve_result *result, const double *segments,
                        struct batches *out)
{
    size_t first = first_segment(result), count = result->segment_count - first;
    size_t width = stats_batch_width(segments + first, count);
    if (width == 0) {
        return false;
    }
    *out = (struct batches){.first = first + count % width, .width = width, .count = count / width};
    return true;
}

/* ---- numbers of run_summary ---- */

static double span_sum(const struct serve_segment *segment, const struct study_span *span)
{
    base_i128 sum = segment->span[span->top];
    sum += span->more < SERVE_SPAN_COUNT ? segment->span[span->more] : 0;
    return base_i128_to_double(sum);
}

static struct study_interval interval_by_batches(const struct study_replications *replications,
                                                 double value, const struct study_span *span)
{
    const struct serve_result *result = &replications->at[0].result;
    double ratios[SERVE_SEGMENTS], tops[SERVE_SEGMENTS] = {0}, bottoms[SERVE_SEGMENTS] = {0};
    for (size_t i = 0; i < result->segment_count; i++) {
        double bottom = base_i128_to_double(result->segments[i].span[span->bottom]);
        ratios[i] = bottom > 0 ? span_sum(&result->segments[i], span) / bottom : 0;
    }
    struct batches batches;
    if (!cut_batches(result, ratios, &batches)) {
        return withheld("none");
    }
    for (size_t i = 0; i < batches.count * batches.width; i++) {
        const struct serve_segment *segment = &result->segments[batches.first + i];
        tops[i / batches.width] += span_sum(segment, span);
        bottoms[i / batches.width] += base_i128_to_double(segment->span[span->bottom]);
    }
    struct stats_interval interval = stats_interval_ratio(tops, bottoms, batches.count, CONFIDENCE);
    if (interval.is_withheld) {
        return withheld("none");
    }
    // In units of the figure: the batches' ratio differs from it by the segments that are left out.
    double scale = interval.value > 0 ? value / interval.value : 1;
    return (struct study_interval){value + (interval.low - interval.value) * scale,
                                   value + (interval.high - interval.value) * scale, "batch_means"};
}

struct study_interval study_interval_of_figure(const struct study_replications *replications,
                                               const double *values, bool is_skewed,
                                               const struct study_span *span)
{
    if (span->is_known && has_batches(replications) && !isnan(values[0])) {
        return interval_by_batches(replications, values[0], span);
    }
    if (is_repeated(replications, values)) {
        return withheld(RECORD_METHOD_REPEATED);
    }
    struct stats_interval interval =
        is_skewed ? stats_interval_skewed(values, replications->count, CONFIDENCE)
                  : stats_interval_t(values, replications->count, CONFIDENCE, 0);
    return given(&interval);
}

/* ---- is a replication worth enough? ---- */

// Means of the quarters of a replication behind its warm-up; false where it has too few segments.
static bool quarter_means(const struct serve_result *result, enum spec_metric metric, double *out)
{
    size_t first = first_segment(result), count = result->segment_count - first,
           width = count / JUDGED_BATCHES;
    for (size_t b = 0; b < JUDGED_BATCHES; b++) {
        double sum = 0, values = 0;
        for (size_t i = 0; i < width; i++) {
            const struct serve_segment *segment =
                &result->segments[result->segment_count - 1 - b * width - i];
            sum += base_i128_to_double(segment->value_sum_ns[metric]);
            values += (double)segment->value_count[metric];
        }
        if (!(values > 0)) {
            return false;
        }
        out[b] = sum / values;
    }
    return true;
}

// Independent observations that one replication is worth; infinite where it cannot be said.
static double effective_count(const struct study_latency *latency)
{
    const struct study_replications *replications = latency->replications;
    size_t count = replications->count * JUDGED_BATCHES;
    double *means = base_alloc(base_mul_size(count, sizeof *means));
    bool is_known = latency->is_all && workload_is_steady(&replications->config->workload);
    // Gaps between tokens have no segments of their own: they vary with the time to answer.
    enum spec_metric metric = latency->metric == SPEC_ITL ? SPEC_TPOT : latency->metric;
    for (size_t i = 0; is_known && i < replications->count; i++) {
        is_known = quarter_means(&replications->at[i].result, metric, means + i * JUDGED_BATCHES);
    }
    double effective = (double)INFINITY;
    if (is_known) {
        effective = stats_effective_count(means, count, stats_hist_variance_ns2(latency->pooled)) /
                    (double)replications->count;
    }
    base_free(means);
    return effective;
}

/* ---- percentiles ---- */

static double pooled_beyond(const void *context, double beyond)
{
    return stats_hist_quantile_ns(context, fmin(fmax(1 - beyond, 0), 1)) / 1e6;
}

/* Shares of each part's observations beyond a value; those equal to it are split alike, so that all together have the
 * share that the percentile has. */
static void fill_beyond(const struct stats_hist *parts, size_t count, double pooled_ns, double tail,
                        double *out)
{
    double all = 0, beyond = 0, equal = 0;
    int64_t at = (int64_t)floor(pooled_ns);
    for (size_t i = 0; i < count; i++) {
        double at_most = (double)stats_hist_count_at_most(&parts[i], at);
        all += (double)parts[i].count;
        beyond += (double)parts[i].count - at_most;
        equal += at_most - (double)stats_hist_count_at_most(&parts[i], at - 1);
    }
    double split = equal > 0 ? fmin(fmax((tail * all - beyond) / equal, 0), 1) : 0;
    for (size_t i = 0; i < count; i++) {
        double at_most = (double)stats_hist_count_at_most(&parts[i], at);
        double below = (double)stats_hist_count_at_most(&parts[i], at - 1);
        out[i] =
            ((double)parts[i].count - at_most + split * (at_most - below)) / (double)parts[i].count;
    }
}

static struct study_interval percentile_of_parts(const struct study_latency *latency,
                                                 const struct stats_hist *parts, size_t count,
                                                 double effective, double q, double value)
{
    double *own = base_alloc(base_mul_size(count, 2 * sizeof *own)), *beyond = own + count;
    double pooled_ns = stats_hist_quantile_ns(latency->pooled, q);
    for (size_t i = 0; i < count; i++) {
        own[i] = stats_hist_quantile_ns(&parts[i], q) / 1e6;
    }
    fill_beyond(parts, count, pooled_ns, 1 - q, beyond);
    struct stats_percentile percentile = {.q = q,
                                          .value = value,
                                          .own = own,
                                          .beyond = beyond,
                                          .count = count,
                                          .effective = effective,
                                          .pooled = pooled_ns / 1e6,
                                          .at = pooled_beyond,
                                          .context = latency->pooled};
    struct stats_interval interval = stats_interval_percentile(&percentile, CONFIDENCE);
    base_free(own);
    return given(&interval);
}

/* ---- a single run ---- */

static const struct stats_hist *segment_hist(const struct serve_segment *segment,
                                             enum spec_metric metric)
{
    return segment->hists != NULL ? &segment->hists[metric] : NULL;
}

static struct study_interval mean_by_batches(const struct stats_hist *parts, size_t count,
                                             double value)
{
    double means[SERVE_SEGMENTS];
    for (size_t i = 0; i < count; i++) {
        means[i] = stats_hist_mean_ns(&parts[i]) / 1e6;
    }
    struct stats_interval interval = stats_interval_skewed(means, count, CONFIDENCE);
    if (interval.is_withheld) {
        return withheld("none");
    }
    return (struct study_interval){value + interval.low - interval.value,
                                   value + interval.high - interval.value, "batch_means"};
}

// Histograms of the batches; false, and nothing to release, where the run cannot be cut into independent ones.
static bool fill_parts(const struct serve_result *result, enum spec_metric metric,
                       struct stats_hist *parts, struct batches *batches)
{
    double means[SERVE_SEGMENTS];
    for (size_t i = 0; i < result->segment_count; i++) {
        const struct stats_hist *hist = segment_hist(&result->segments[i], metric);
        means[i] = hist != NULL && hist->count > 0 ? stats_hist_mean_ns(hist) : 0;
    }
    if (!cut_batches(result, means, batches)) {
        return false;
    }
    for (size_t i = 0; i < batches->count * batches->width; i++) {
        struct stats_hist *part = &parts[i / batches->width];
        const struct stats_hist *hist = segment_hist(&result->segments[batches->first + i], metric);
        if (i % batches->width == 0) {
            stats_hist_init_bucketed(part);
        }
        if (hist != NULL) {
            stats_hist_merge(part, hist);
        }
    }
    return true;
}

static struct study_interval latency_by_batches(const struct study_latency *latency,
                                                enum spec_statistic statistic, double value,
                                                struct base_arena *texts)
{
    const struct serve_result *result = &latency->replications->at[0].result;
    struct stats_hist parts[SERVE_SEGMENTS];
    struct batches batches;
    if (!fill_parts(result, latency->metric, parts, &batches)) {
        // Longer batches are what it takes: as many requests again at least.
        return too_few((double)result->arrived, texts);
    }
    bool has_all = true;
    for (size_t i = 0; i < batches.count; i++) {
        has_all = has_all && parts[i].count > 0;
    }
    struct study_interval interval = withheld("none");
    if (has_all && statistic == SPEC_MEAN) {
        interval = mean_by_batches(parts, batches.count, value);
    } else if (has_all) {
        interval = percentile_of_parts(latency, parts, batches.count, (double)INFINITY,
                                       spec_statistic_quantile(statistic), value);
        interval.method = isnan(interval.low) ? interval.method : "batch_means";
    }
    for (size_t i = 0; i < batches.count; i++) {
        stats_hist_release(&parts[i]);
    }
    return interval;
}

/* ---- latencies ---- */

static double resolution_of(const struct study_latency *latency)
{
    for (size_t i = 0; i < latency->replications->count; i++) {
        if (!stats_hist_is_exact(&latency->hists[i])) {
            return 0.005;
        }
    }
    return 0;
}

// Requests a replication that the least observed one lacks for this percentile; 0 = it has enough.
static double lacking(const struct study_latency *latency, double q)
{
    double most = 0;
    for (size_t i = 0; i < latency->replications->count; i++) {
        const struct stats_hist *hist = &latency->hists[i];
        size_t needed;
        if (!stats_quantile_is_supported(hist->count, q, &needed)) {
            double arrived = (double)latency->replications->at[i].result.arrived;
            double per_observation = hist->count > 0 ? arrived / (double)hist->count : 1;
            most = fmax(most, (double)(needed - hist->count) * fmax(per_observation, 1e-9));
        }
    }
    return most;
}

struct study_interval study_interval_of_latency(const struct study_latency *latency,
                                                enum spec_statistic statistic, const double *values,
                                                struct base_arena *texts)
{
    const struct study_replications *replications = latency->replications;
    bool is_mean = statistic == SPEC_MEAN;
    double q = spec_statistic_quantile(statistic);
    struct stats_interval mean = stats_interval_skewed(values, replications->count, CONFIDENCE);
    if (study_is_overloaded(replications)) {
        return withheld("growing");
    }
    if (is_repeated(replications, values)) {
        return withheld(RECORD_METHOD_REPEATED);
    }
    double more = is_mean ? 0 : lacking(latency, q);
    if (more > 0) {
        return too_few(more, texts);
    }
    struct study_interval interval;
    if (latency->is_all && has_batches(replications) && isfinite(values[0])) {
        interval = latency_by_batches(latency, statistic, values[0], texts);
    } else if (mean.is_withheld) {
        return withheld("none");
    } else {
        double effective = effective_count(latency);
        if (effective < EFFECTIVE_LEAST) {
            return too_few((double)replications->at[0].result.arrived *
                               (EFFECTIVE_LEAST / effective - 0.9),
                           texts);
        }
        interval = is_mean ? given(&mean)
                           : percentile_of_parts(latency, latency->hists, replications->count,
                                                 effective, q, mean.value);
    }
    if (!is_mean && !isnan(interval.low)) {
        widen(&interval, mean.value, resolution_of(latency));
    }
    return interval;
}
