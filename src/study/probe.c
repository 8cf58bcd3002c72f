#include "study/probe.h"

#include "stats/paired.h"
#include "store/store.h"
#include "study/cell.h"
#include "study/rounds.h"
#include "study/study.h"

#include <kvsim/version.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* How far beyond its bound a target counts that has no figure: an overload, a requirement. */
#define BEYOND 1.0

/* ---- the configuration ---- */

struct overrides {
    struct scenario_override *at;
    size_t count, capacity;
};

static void set(struct overrides *out, const char *key, const char *value)
{
    struct scenario_override override = {.key = key, .value = value};
    base_vec_push(out, override);
}

static const char *print_load(struct base_arena *arena, double load)
{
    char text[32];
    return base_arena_copy(arena, base_print_real(load, text, sizeof text));
}

static void set_load(const struct study_probe_base *base, double load, struct base_arena *arena,
                     struct overrides *out)
{
    const char *value = print_load(arena, load);
    if (base->replaces_arrival) {
        set(out, "workload.arrival",
            base_arena_printf(arena, "{process: poisson, rate: %s/s}", value));
        return;
    }
    switch (base->load) {
    case RECORD_LOAD_RATE:
    case RECORD_LOAD_SESSION_RATE:
        set(out, "workload.arrival.rate", base_arena_printf(arena, "%s/s", value));
        break;
    case RECORD_LOAD_CONCURRENCY:
        set(out, "workload.arrival.concurrency", value);
        break;
    case RECORD_LOAD_SPEEDUP:
        set(out, "workload.arrival.speedup", value);
        break;
    case RECORD_LOAD_COUNT:
        break;
    }
}

static void fill_overrides(const struct study_probe_base *base, const struct study_probe_ask *ask,
                           struct base_arena *arena, struct overrides *out)
{
    for (size_t i = 0; i < base->override_count; i++)
        base_vec_push(out, base->overrides[i]);
    set_load(base, ask->load, arena, out);
    if (ask->replications > 0)
        set(out, "run.replications", base_arena_printf(arena, "%" PRId64, ask->replications));
    int64_t replicas = ask->replicas > 0 ? ask->replicas : base->base_replicas;
    if (replicas != base->base_replicas)
        set(out, "cluster.replicas", base_arena_printf(arena, "%" PRId64, replicas));
    // Every replica is to see as much as one alone did, or a large cluster would never fill.
    uint64_t factor = replicas > base->base_replicas
                          ? (uint64_t)((replicas + base->base_replicas - 1) / base->base_replicas)
                          : 1;
    if (base->requests > 0)
        set(out, "run.requests", base_arena_printf(arena, "%" PRIu64, base->requests * factor));
}

/* ---- judging ---- */

/* Mean and standard error of a target's figure over replications. */
struct figure {
    double mean, standard_error;
    size_t count;
};

static struct figure find_figure(const struct record_run *run, const struct spec_slo *slo)
{
    const char *name = spec_metric_name(slo->metric),
               *statistic = spec_statistic_name(slo->statistic),
               *class_name = slo->class_name != NULL ? slo->class_name : "";
    double sum = 0, squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < run->replication_metrics.count; i++) {
        const struct record_replication_metric *row = &run->replication_metrics.at[i];
        if (strcmp(row->name, name) != 0 || strcmp(row->statistic, statistic) != 0 ||
            strcmp(row->class_name, class_name) != 0)
            continue;
        sum += row->value;
        count++;
    }
    struct figure figure = {count > 0 ? sum / (double)count : (double)NAN, (double)NAN, count};
    for (size_t i = 0; i < run->replication_metrics.count && count > 1; i++) {
        const struct record_replication_metric *row = &run->replication_metrics.at[i];
        if (strcmp(row->name, name) == 0 && strcmp(row->statistic, statistic) == 0 &&
            strcmp(row->class_name, class_name) == 0)
            squares += (row->value - figure.mean) * (row->value - figure.mean);
    }
    if (count > 1)
        figure.standard_error = sqrt(squares / (double)(count - 1) / (double)count);
    return figure;
}

static void judge_slo(const struct spec_slo *slo, const struct record_run *run, double confidence,
                      struct study_probe_answer *out)
{
    struct figure figure = find_figure(run, slo);
    double bound_ms = (double)slo->bound_ns / 1e6;
    double margin =
        isnan(figure.mean) ? BEYOND : -HUGE_VAL; // a figure of 0 is as far below as can be
    if (figure.mean > 0)
        margin = log(figure.mean / bound_ms);
    double upper = figure.mean;
    if (figure.count > 1) // one-sided: a two-sided interval of twice the risk
        upper += figure.standard_error * stats_t_quantile(confidence, (double)(figure.count - 1));
    out->has_spread = out->has_spread && figure.count > 1;
    out->probe.is_met_surely = out->probe.is_met_surely && upper <= bound_ms;
    if (out->probe.worst != NULL && margin <= out->probe.margin)
        return;
    out->probe.margin = margin;
    out->probe.worst = slo->text;
    out->standard_error = figure.standard_error / figure.mean;
}

/* The figures of all targets, for the curve. */
static void take_targets(const struct serve_config *config, const struct record_run *run,
                         double confidence, struct base_arena *arena, struct record_probe *out)
{
    struct record_target *targets = base_arena_array(arena, config->slo_count + 1, sizeof *targets);
    for (size_t i = 0; i < config->slo_count; i++) {
        const struct spec_slo *slo = &config->slos[i];
        struct figure figure = find_figure(run, slo);
        double half = (double)NAN;
        if (figure.count > 1 && config->workload.process != WORKLOAD_TRACE)
            half = figure.standard_error *
                   stats_t_quantile(0.5 + 0.5 * confidence, (double)(figure.count - 1));
        targets[i] = (struct record_target){.text = base_arena_copy(arena, slo->text),
                                            .bound_ms = (double)slo->bound_ns / 1e6,
                                            .value_ms = figure.mean,
                                            .ci_low_ms = figure.mean - half,
                                            .ci_high_ms = figure.mean + half};
    }
    out->targets = targets;
    out->target_count = config->slo_count;
}

static bool is_stuck(const struct record_run *run)
{
    const char *status = record_get_text(run, RECORD_STATUS);
    return strcmp(status, "stuck") == 0 || strcmp(status, "engine_died") == 0;
}

/* A requirement that is missed, or more failures than targets leave out: the verdicts are lines "TEXT: missed (...)". */
static const char *missed_require(const struct serve_config *config, const struct record_run *run)
{
    for (size_t i = 0; i < run->slo_lines.count; i++) {
        if (base_starts_with(run->slo_lines.at[i], STUDY_FAILED))
            return STUDY_FAILED;
    }
    for (size_t i = 0; i < config->require_count; i++) {
        size_t length = strlen(config->requires[i].text);
        for (size_t k = 0; k < run->slo_lines.count; k++) {
            const char *line = run->slo_lines.at[k];
            if (strncmp(line, config->requires[i].text, length) == 0 &&
                base_starts_with(line + length, ": missed"))
            return config->requires[i].text;
        }
    }
    return NULL;
}

static void judge(const struct serve_config *config, const struct record_run *run,
                  double confidence, struct base_arena *arena, struct study_probe_answer *out)
{
    struct record_probe *probe = &out->probe;
    probe->margin = -HUGE_VAL;
    probe->is_met_surely = true;
    // Replications of a trace are one sample, again and again.
    bool is_sampled = config->workload.process != WORKLOAD_TRACE;
    out->has_spread = config->slo_count > 0 && is_sampled;
    out->standard_error = (double)NAN;
    for (size_t i = 0; i < config->slo_count; i++)
        judge_slo(&config->slos[i], run, confidence, out);
    if (!is_sampled)
        out->standard_error = (double)NAN;
    take_targets(config, run, confidence, arena, probe);
    probe->is_overloaded = strcmp(record_get_text(run, RECORD_STABILITY), "overloaded") == 0;
    probe->is_near = strcmp(record_get_text(run, RECORD_STABILITY), "near_saturation") == 0;
    const char *require = missed_require(config, run);
    out->is_hard = probe->is_overloaded || require != NULL || is_stuck(run);
    if (out->is_hard && !(probe->margin > 0)) {
        probe->margin = BEYOND;
        probe->worst = require != NULL ? require : "stability";
    }
    probe->is_met = study_slos_are_met(run) && !out->is_hard;
    probe->is_met_surely = probe->is_met_surely && probe->is_met && out->has_spread;
    probe->rounds = study_rounds(&config->workload, run);
    probe->is_short = probe->is_met && probe->rounds < STUDY_ROUNDS_LEAST;
    probe->worst = base_arena_copy(arena, probe->worst == NULL ? "stability" : probe->worst);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        probe->summary[i] = run->summary[i];
        if (run->summary[i].kind == RECORD_TEXT)
            probe->summary[i].text = base_arena_copy(arena, run->summary[i].text);
    }
}

/* ---- running ---- */

static enum kvsim_status get_run(const struct study_probe_base *base, struct study_cell *cell,
                                 struct record_run *run, struct study_probe_answer *out,
                                 struct kvsim_error *err)
{
    int64_t run_id = 0;
    enum kvsim_status status = KVSIM_OK;
    if (base->store != NULL)
        status = store_find_run(base->store, cell->hash, KVSIM_VERSION, &run_id, err);
    if (status != KVSIM_OK)
        return status;
    out->was_taken_up = run_id > 0;
    if (out->was_taken_up)
        return store_load_run(base->store, run_id, run, err);
    status = study_cell_run(cell, base->jobs, base->jobs, run, err);
    if (status == KVSIM_OK && base->store != NULL)
        status = store_keep_run(base->store, run, NULL, err);
    return status;
}

static enum kvsim_status ask_cell(const struct study_probe_base *base, struct study_cell *cell,
                                  struct record_run *run, struct base_arena *arena,
                                  struct study_probe_answer *out, struct kvsim_error *err)
{
    enum kvsim_status status = get_run(base, cell, run, out, err);
    if (status != KVSIM_OK)
        return status;
    judge(scenario_config(cell->scenario), run, base->confidence, arena, out);
    out->probe.run_id = run->run_id;
    out->probe.replications = run->summary[RECORD_REPLICATIONS].integer;
    out->probe.replicas = run->summary[RECORD_REPLICAS].integer;
    return status;
}

enum kvsim_status study_probe(const struct study_probe_base *base,
                              const struct study_probe_ask *ask, struct base_arena *arena,
                              struct study_probe_answer *out, struct kvsim_diags *diags,
                              struct kvsim_error *err)
{
    struct overrides overrides = {0};
    *out = (struct study_probe_answer){.probe = {.load = ask->load}, .reason = ""};
    fill_overrides(base, ask, arena, &overrides);
    struct study_cell cell = {.path = base->path,
                              .text = base->text,
                              .overrides = overrides.at,
                              .override_count = overrides.count,
                              .rows_unwanted = true,
                              .executor = base->executor,
                              .memo = base->memo};
    study_cell_resolve(&cell);
    enum kvsim_status status = KVSIM_OK;
    if (cell.state == STUDY_CELL_INVALID) {
        *diags = *cell.diags;
        *err = cell.diags->at[0];
        status = cell.status;
    } else if (cell.state == STUDY_CELL_REFUSED) {
        out->is_refused = true;
        out->reason = base_arena_copy(arena, cell.reason);
    } else {
        struct record_run own;
        record_run_init(&own);
        status = ask_cell(base, &cell, ask->run != NULL ? ask->run : &own, arena, out, err);
        record_run_free(&own);
    }
    study_cell_release(&cell);
    base_vec_free(&overrides);
    return status;
}
