#include "study/compare.h"

#include "stats/paired.h"

#include <math.h>
#include <string.h>

#define CONFIDENCE 0.95

static const char *copy(struct record_comparison *out, const char *text)
{
    return base_arena_copy(&out->arena, text != NULL ? text : "");
}

static void take_side(const struct record_run *run, struct record_side *side,
                      struct record_comparison *out)
{
    side->run_id = run->run_id;
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        side->summary[i] = run->summary[i];
        if (run->summary[i].kind == RECORD_TEXT)
            side->summary[i].text = copy(out, run->summary[i].text);
    }
}

static bool has_common_numbers(const struct record_run *a, const struct record_run *b)
{
    double seed_a = record_get_real(a, RECORD_SEED), seed_b = record_get_real(b, RECORD_SEED);
    double count_a = record_get_real(a, RECORD_REPLICATIONS),
           count_b = record_get_real(b, RECORD_REPLICATIONS);
    return !(seed_a < seed_b || seed_a > seed_b || count_a < count_b || count_a > count_b);
}

/* ---- figures ---- */

/* Values of one figure by replication. */
struct series {
    double *at;
    size_t count, capacity;
};

static void find_series(const struct record_run *run, const struct record_metric *metric,
                        struct series *out)
{
    out->count = 0;
    for (size_t i = 0; i < run->replication_metrics.count; i++) {
        const struct record_replication_metric *row = &run->replication_metrics.at[i];
        if (strcmp(row->name, metric->name) == 0 &&
            strcmp(row->statistic, metric->statistic) == 0 &&
            strcmp(row->class_name, metric->class_name) == 0)
            base_vec_push(out, row->value);
    }
}

/* ---- what is offered ---- */

static const char *param_value(const struct record_run *run, const char *key)
{
    for (size_t i = 0; i < run->params.count; i++) {
        if (strcmp(run->params.at[i].key, key) == 0)
            return run->params.at[i].value;
    }
    return NULL;
}

/* Requests come by themselves, one by one; clients of a closed loop send the next when the last has ended. */
static bool is_open(const struct record_run *run)
{
    const char *process = param_value(run, "workload.arrival.process");
    return process == NULL ||
           (strcmp(process, "closed_loop") != 0 && strcmp(process, "all_at_once") != 0);
}

/* Whether the two were offered other requests, or at other times, and did not choose these themselves. */
static bool differ_in_load(const struct record_run *a, const struct record_run *b,
                           const struct record_comparison *comparison)
{
    bool differs = false;
    for (size_t i = 0; i < comparison->params.count && !differs; i++)
        differs = strncmp(comparison->params.at[i].key, "workload.", strlen("workload.")) == 0;
    return differs && (is_open(a) || is_open(b));
}

/*
 * Below saturation what leaves is what comes: a throughput then says how much was offered, not how good the service is, and
 * so does what a token costs, which is the price of an hour over the tokens of an hour.
 */
static bool follows_load(const char *name)
{
    static const char *const names[] = {"request_throughput",
                                        "output_throughput",
                                        "prompt_throughput",
                                        "total_token_throughput",
                                        "request_goodput",
                                        "output_throughput_per_gpu",
                                        "completed",
                                        "usd_per_mtok_input",
                                        "usd_per_mtok_output",
                                        "usd_per_mtok_total",
                                        "energy_per_output_token"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

enum side { SIDE_NONE, SIDE_HIGH, SIDE_LOW };

/* Which side of a figure is the good one. */
static enum side good_side(const char *name)
{
    static const char *const high[] = {
        "request_throughput",
        "output_throughput",
        "prompt_throughput",
        "total_token_throughput",
        "request_goodput",
        "slo_attainment",
        "output_throughput_per_gpu",
        "output_throughput_per_user",
        "completed",
        "prefix_hit_rate",
    };
    static const char *const low[] = {
        "ttft",
        "tpot",
        "itl",
        "e2e",
        "queue",
        "preemptions",
        "recomputed_tokens",
        "failed",
        "rejected",
        "unservable",
        "timed_out",
        "aborted",
        "unfinished",
        "usd_per_mtok_input",
        "usd_per_mtok_output",
        "usd_per_mtok_total",
        "energy_per_output_token",
        "waiting",
        "swapped_bytes",
    };
    for (size_t i = 0; i < sizeof high / sizeof *high; i++) {
        if (strcmp(high[i], name) == 0)
            return SIDE_HIGH;
    }
    for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
        if (strcmp(low[i], name) == 0)
            return SIDE_LOW;
    }
    return SIDE_NONE;
}

/* Whether another load alone may be behind the difference: only a side that is overloaded shows what it cannot carry. */
static bool is_of_load(const struct record_run *a, const struct record_run *b,
                       const struct record_metric *of_a, const struct record_metric *of_b)
{
    bool a_is_better = (of_a->value > of_b->value) == (good_side(of_a->name) == SIDE_HIGH);
    const struct record_run *worse = a_is_better ? b : a;
    return follows_load(of_a->name) &&
           strcmp(record_get_text(worse, RECORD_STABILITY), "overloaded") != 0;
}

static bool are_equal(const struct series *a, const struct series *b)
{
    return a->count == b->count && a->count > 0 &&
           memcmp(a->at, b->at, a->count * sizeof *a->at) == 0;
}

static enum record_verdict judge(const struct record_difference *row, bool has_good_side)
{
    if (isnan(row->ci_low))
        return RECORD_NO_INTERVAL;
    if (row->ci_low <= 0 && row->ci_high >= 0)
        return RECORD_NO_DIFFERENCE_SHOWN;
    bool is_more = row->difference > 0;
    enum side side = has_good_side ? good_side(row->name) : SIDE_NONE;
    if (side == SIDE_NONE)
        return is_more ? RECORD_MORE : RECORD_LESS;
    return is_more == (side == SIDE_HIGH) ? RECORD_BETTER : RECORD_WORSE;
}

/* An interval that a run withholds for itself cannot carry a comparison either: too few observations, or growing. */
static bool is_withheld(const struct record_metric *metric)
{
    return strcmp(metric->method, "too_few_observations") == 0 ||
           strcmp(metric->method, "growing") == 0;
}

// Figures whose own intervals reach further to the right: means and percentiles of latencies and queues.
static bool is_skewed(const struct record_metric *metric)
{
    return strcmp(metric->method, "student_t_skewed") == 0 ||
           strcmp(metric->method, "order_statistics") == 0;
}

static struct stats_difference paired_difference(const struct record_metric *metric,
                                                 const double *a, const double *b, size_t count)
{
    return is_skewed(metric) ? stats_difference_skewed(a, b, count, CONFIDENCE)
                             : stats_difference_paired(a, b, count, CONFIDENCE);
}

static void take_interval(const struct stats_difference *from, bool withheld,
                          struct record_difference *row)
{
    double none = (double)NAN;
    withheld = withheld || from->is_withheld;
    row->ratio = from->ratio;
    row->ci_low = withheld ? none : from->low;
    row->ci_high = withheld ? none : from->high;
    row->ratio_ci_low = withheld ? none : from->ratio_low;
    row->ratio_ci_high = withheld ? none : from->ratio_high;
    row->method = withheld ? "none" : from->method;
    row->more_replications = -1;
    if (!withheld && from->more_replications > 0)
        row->more_replications = (int64_t)from->more_replications;
}

static void compare_figure(const struct record_metric *a, const struct record_metric *b,
                           const struct series *of_a, const struct series *of_b, bool has_good_side,
                           struct record_comparison *out)
{
    struct record_difference row = {.name = copy(out, a->name),
                                    .statistic = copy(out, a->statistic),
                                    .class_name = copy(out, a->class_name),
                                    .unit = copy(out, a->unit),
                                    .a = a->value,
                                    .b = b->value,
                                    .difference = b->value - a->value};
    size_t count = of_a->count < of_b->count ? of_a->count : of_b->count;
    bool is_paired = out->is_paired && of_a->count == of_b->count;
    struct stats_difference difference =
        is_paired
            ? paired_difference(a, of_a->at, of_b->at, count)
            : stats_difference_welch(of_a->at, of_a->count, of_b->at, of_b->count, CONFIDENCE);
    row.n = (int64_t)count;
    take_interval(&difference, is_withheld(a) || is_withheld(b), &row);
    row.verdict = are_equal(of_a, of_b) ? RECORD_EQUAL : judge(&row, has_good_side);
    base_vec_push(&out->figures, row);
}

static void compare_figures(const struct record_run *a, const struct record_run *b,
                            struct record_comparison *out)
{
    struct series of_a = {0}, of_b = {0};
    bool is_other_load = differ_in_load(a, b, out);
    for (size_t i = 0; i < a->metrics.count; i++) {
        const struct record_metric *metric = &a->metrics.at[i];
        const struct record_metric *other =
            record_run_metric(b, metric->name, metric->statistic, metric->class_name);
        if (other == NULL || (isnan(metric->value) && isnan(other->value)))
            continue;
        find_series(a, metric, &of_a);
        find_series(b, metric, &of_b);
        bool is_offered = is_other_load && is_of_load(a, b, metric, other);
        compare_figure(metric, other, &of_a, &of_b, !is_offered, out);
    }
    base_vec_free(&of_a);
    base_vec_free(&of_b);
}

/* ---- parameters ---- */

static void add_param(const char *key, const char *a, const char *b, struct record_comparison *out)
{
    struct record_param_difference row = {copy(out, key), copy(out, a), copy(out, b)};
    base_vec_push(&out->params, row);
}

static void compare_params(const struct record_run *a, const struct record_run *b,
                           struct record_comparison *out)
{
    for (size_t i = 0; i < a->params.count; i++) {
        const struct record_param_row *row = &a->params.at[i];
        const char *other = param_value(b, row->key);
        if (other == NULL || strcmp(other, row->value) != 0)
            add_param(row->key, row->value, other, out);
    }
    for (size_t i = 0; i < b->params.count; i++) {
        if (param_value(a, b->params.at[i].key) == NULL)
            add_param(b->params.at[i].key, NULL, b->params.at[i].value, out);
    }
}

/* ---- bytes ---- */

/* Sums over replicas, in the order of the first run's rows. */
static void add_bytes(struct record_comparison *out, const char *at, const char *component,
                      int64_t bytes, bool is_b)
{
    for (size_t i = 0; i < out->bytes.count; i++) {
        struct record_bytes_difference *row = &out->bytes.at[i];
        if (strcmp(row->at, at) != 0 || strcmp(row->component, component) != 0)
            continue;
        *(is_b ? &row->b : &row->a) += bytes;
        return;
    }
    struct record_bytes_difference row = {.at = copy(out, at), .component = copy(out, component)};
    *(is_b ? &row.b : &row.a) = bytes;
    base_vec_push(&out->bytes, row);
}

static void take_bytes(const struct record_run *run, bool is_b, struct record_comparison *out)
{
    for (size_t i = 0; i < run->ledger.count; i++)
        add_bytes(out, run->ledger.at[i].at, run->ledger.at[i].component, run->ledger.at[i].bytes,
                  is_b);
    for (size_t i = 0; i < run->waterfall.count; i++)
        add_bytes(out, "waterfall", run->waterfall.at[i].line, run->waterfall.at[i].bytes_per_gpu,
                  is_b);
}

/* ---- limits and causes ---- */

static void add_share(struct record_comparison *out, const char *kind, const char *phase,
                      const char *name, double share, bool is_b)
{
    for (size_t i = 0; i < out->shares.count; i++) {
        struct record_share_difference *row = &out->shares.at[i];
        if (strcmp(row->kind, kind) != 0 || strcmp(row->phase, phase) != 0 ||
            strcmp(row->name, name) != 0)
            continue;
        *(is_b ? &row->b : &row->a) = share;
        return;
    }
    struct record_share_difference row = {
        .kind = copy(out, kind), .phase = copy(out, phase), .name = copy(out, name)};
    *(is_b ? &row.b : &row.a) = share;
    base_vec_push(&out->shares, row);
}

static void take_shares(const struct record_run *run, bool is_b, struct record_comparison *out)
{
    for (size_t i = 0; i < run->limits.count; i++) {
        const struct record_limit_row *row = &run->limits.at[i];
        add_share(out, row->kind, row->phase, row->name, row->share, is_b);
    }
    for (size_t i = 0; i < run->tails.count; i++) {
        const struct record_tail_row *row = &run->tails.at[i];
        add_share(out, "tail_ms", row->metric, row->cause, row->ms, is_b);
    }
}

void study_compare(const struct record_run *a, const struct record_run *b,
                   struct record_comparison *out)
{
    take_side(a, &out->a, out);
    take_side(b, &out->b, out);
    out->is_paired = has_common_numbers(a, b);
    compare_params(a, b, out);
    compare_figures(a, b, out);
    take_bytes(a, false, out);
    take_bytes(b, true, out);
    take_shares(a, false, out);
    take_shares(b, true, out);
}
