#include "study/study.h"

#include "base/mem.h"
#include "study/errand.h"
#include "study/run_int.h"
#include "study/team.h"

#include <inttypes.h>
#include <math.h>

/*
 * Replications `first` and those that follow. One that fails stops those after it, not those before: whose error is told
 * does not depend on the threads.
 */
struct round {
    struct study_replications *replications;
    const struct study_options *options;
    size_t first;
    atomic_size_t failed; /* the first one that failed so far; SIZE_MAX: none */
};

struct ticket {
    struct round *round;
    size_t index;
};

static bool is_stopped(struct round *round, size_t index)
{
    return index > atomic_load(&round->failed);
}

static void note_failure(struct round *round, size_t index)
{
    size_t failed = atomic_load(&round->failed);
    while (index < failed && !atomic_compare_exchange_weak(&round->failed, &failed, index)) {
    }
}

static bool note_progress(void *context, uint64_t arrived)
{
    struct ticket *ticket = context;
    atomic_store(&ticket->round->replications->at[ticket->index].arrived, arrived);
    return is_stopped(ticket->round, ticket->index);
}

void study_replication_run(const struct serve_config *config, uint32_t number,
                           const struct study_replication_how *how, struct study_replication *out)
{
    // Requests of replication 1, or of all; the timeline of every one.
    bool wants_requests = number == 1 || config->record_requests == UINT64_MAX;
    study_collector_init(&out->collector, config->replica_count,
                         wants_requests ? config->record_requests : 0, config->record_sample_ns,
                         how->steps);
    struct serve_run_options run = {.replication = number,
                                    .mode = how->mode,
                                    .sink = &out->collector.sink,
                                    .tick = how->tick,
                                    .tick_context = how->tick_context};
    out->status = serve_run(config, &run, &out->result, &out->err);
    out->is_done = true;
}

void study_replication_release(struct study_replication *replication)
{
    serve_result_release(&replication->result);
    study_collector_release(&replication->collector);
}

static void run_one(void *context, size_t item)
{
    struct round *round = context;
    size_t index = round->first + item;
    const struct study_options *options = round->options;
    struct study_replication *replication = &round->replications->at[index];
    if (is_stopped(round, index)) {
        return;
    }
    struct ticket ticket = {round, index};
    struct study_replication_how how = {
        .mode = options->mode, .tick = note_progress, .tick_context = &ticket};
    if (options->steps_sink != NULL) {
        how.steps = options->steps_sink(options->steps_context, (uint32_t)index + 1);
    }
    study_replication_run(round->replications->config, (uint32_t)index + 1, &how, replication);
    if (replication->status != KVSIM_OK) {
        note_failure(round, index);
    }
}

/* ---- by another process ---- */

static bool ask_one(void *context, size_t item, struct base_text *request)
{
    struct round *round = context;
    const struct study_options *options = round->options;
    size_t index = round->first + item;
    if (is_stopped(round, index)) {
        return false;
    }
    study_errand_ask_replication(options->source, round->replications->config->hash,
                                 (uint32_t)index + 1, options->mode, request);
    return true;
}

static void take_answer(void *context, size_t item, const struct base_text *answer)
{
    struct round *round = context;
    size_t index = round->first + item;
    struct study_replication *replication = &round->replications->at[index];
    study_errand_take_replication(answer, round->replications->config->replica_count, replication);
    if (replication->status != KVSIM_OK) {
        note_failure(round, index);
    }
}

static void show_progress(void *context)
{
    const struct round *round = context;
    const struct study_options *options = round->options;
    if (options->progress == NULL) {
        return;
    }
    struct study_progress progress = {.total = round->replications->config->workload.request_limit *
                                               round->replications->count};
    for (size_t i = 0; i < round->replications->count; i++) {
        progress.done += atomic_load(&round->replications->at[i].arrived);
    }
    options->progress(options->progress_context, &progress);
}

// Replications `from` ... replications->count - 1.
static enum kvsim_status run_round(struct study_replications *replications, size_t from,
                                   const struct study_options *options, struct kvsim_error *err)
{
    struct round round = {
        .replications = replications, .options = options, .first = from, .failed = SIZE_MAX};
    // Rows of steps come from one replication after the other.
    struct study_team_work work = {.count = replications->count - from,
                                   .jobs = options->steps_sink != NULL ? 1 : options->jobs,
                                   .context = &round,
                                   .work = run_one,
                                   .idle = show_progress};
    if (options->steps_sink == NULL && options->source != NULL) {
        work.executor = options->executor;
        work.ask = ask_one;
        work.answer = take_answer;
    }
    enum kvsim_status status = study_team_run(&work, err);
    for (size_t i = 0; i < replications->count; i++) {
        if (replications->at[i].status != KVSIM_OK) {
            *err = replications->at[i].err;
            return replications->at[i].status;
        }
    }
    return status;
}

static void release(struct study_replications *replications)
{
    for (size_t i = 0; i < replications->count; i++) {
        if (replications->at[i].is_done) {
            study_replication_release(&replications->at[i]);
        }
    }
    base_free(replications->at);
}

static size_t most_replications(const struct serve_config *config)
{
    bool has_more =
        config->until.column != NULL && config->until.max_replications > config->replications;
    return (size_t)(has_more ? config->until.max_replications : config->replications);
}

/* ---- until a figure is known precisely ---- */

// Is the interval of the figure that run.until names as narrow as it asks?
static bool is_precise(const struct study_replications *replications)
{
    const struct serve_until *until = &replications->config->until;
    struct record_run run;
    char name[64];
    record_run_init(&run);
    study_gather_figures(replications, &run);
    const char *statistic =
        record_summary_metric(record_summary_find(until->column), name, sizeof name);
    const struct record_metric *metric = record_run_metric(&run, name, statistic, "");
    bool answer = metric != NULL && metric->ci_high - metric->ci_low <=
                                        2 * until->relative_half_width * fabs(metric->value);
    record_run_free(&run);
    return answer;
}

static void caution_imprecise(const struct serve_until *until, struct record_run *out)
{
    record_run_add_caveat(
        out, "until_not_reached",
        base_arena_printf(
            &out->arena,
            "after %" PRId64 " replications, the most that run.until.max_replications "
            "allows, the interval of %s is still wider than %g %% to either side",
            until->max_replications, until->column, 100 * until->relative_half_width));
}

// Whole rounds of config->replications, decided on in order: the same for any number of threads.
static enum kvsim_status run_rounds(struct study_replications *replications,
                                    const struct study_options *options, bool *is_enough,
                                    struct kvsim_error *err)
{
    const struct serve_config *config = replications->config;
    size_t round = (size_t)config->replications, most = most_replications(config);
    enum kvsim_status status = KVSIM_OK;
    *is_enough = false;
    while (status == KVSIM_OK && !*is_enough && replications->count < most) {
        size_t from = replications->count;
        replications->count = from + round < most ? from + round : most;
        status = run_round(replications, from, options, err);
        *is_enough =
            config->until.column == NULL || (status == KVSIM_OK && is_precise(replications));
    }
    return status;
}

enum kvsim_status study_run(const struct serve_config *config, const struct study_options *options,
                            struct record_run *out, struct kvsim_error *err)
{
    struct study_replications replications = {.config = config};
    bool is_enough;
    replications.at = base_alloc(base_mul_size(most_replications(config), sizeof *replications.at));
    enum kvsim_status status = run_rounds(&replications, options, &is_enough, err);
    if (status == KVSIM_OK) {
        study_gather(&replications, out);
        record_set_integer(out, RECORD_REPLICATIONS, (int64_t)replications.count);
        if (!is_enough) {
            caution_imprecise(&config->until, out);
        }
    }
    release(&replications);
    return status;
}

bool study_slos_are_met(const struct record_run *run)
{
    const struct record_value *met = &run->summary[RECORD_SLO_MET];
    return met->kind == RECORD_NULL || met->integer != 0;
}
