#include "study/study.h"

#include "base/mem.h"
#include "study/run_int.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

/* Threads take the next replication that nobody has begun; each result lands in its own place. */
struct team {
    struct study_replications *replications;
    const struct study_options *options;
    atomic_size_t next;
    atomic_bool stop;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t wanted, finished; /* finished: under mutex */
};

static bool note_progress(void *context, uint64_t arrived);

struct ticket {
    struct team *team;
    struct study_replication *replication;
};

static bool note_progress(void *context, uint64_t arrived)
{
    struct ticket *ticket = context;
    atomic_store(&ticket->replication->arrived, arrived);
    return atomic_load(&ticket->team->stop);
}

static void run_one(struct team *team, size_t index)
{
    const struct serve_config *config = team->replications->config;
    const struct study_options *options = team->options;
    struct study_replication *replication = &team->replications->at[index];
    struct record_sink *steps =
        options->steps_sink != NULL ? options->steps_sink(options->steps_context, (uint32_t)index + 1) : NULL;
    // Requests of replication 1, or of all; the timeline of every one.
    bool wants_requests = index == 0 || config->record_requests == UINT64_MAX;
    study_collector_init(&replication->collector, config->replica_count,
                         wants_requests ? config->record_requests : 0, config->record_sample_ns, steps);
    struct ticket ticket = {team, replication};
    struct serve_run_options run = {.replication = (uint32_t)index + 1,
                                    .mode = options->mode,
                                    .sink = &replication->collector.sink,
                                    .tick = note_progress,
                                    .tick_context = &ticket};
    replication->status = serve_run(config, &run, &replication->result, &replication->err);
    replication->is_done = true;
    if (replication->status != KVSIM_OK) {
        atomic_store(&team->stop, true);
    }
}

static void *work(void *context)
{
    struct team *team = context;
    size_t index;
    while (!atomic_load(&team->stop) &&
           (index = atomic_fetch_add(&team->next, 1)) < team->replications->count) {
        run_one(team, index);
        pthread_mutex_lock(&team->mutex);
        team->finished++;
        pthread_cond_signal(&team->changed);
        pthread_mutex_unlock(&team->mutex);
    }
    pthread_mutex_lock(&team->mutex);
    team->finished += 0;
    pthread_cond_signal(&team->changed);
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

static void show_progress(const struct team *team)
{
    const struct study_options *options = team->options;
    if (options->progress == NULL) {
        return;
    }
    struct study_progress progress = {
        .total = team->replications->config->workload.request_limit * team->replications->count};
    for (size_t i = 0; i < team->replications->count; i++) {
        progress.done += atomic_load(&team->replications->at[i].arrived);
    }
    options->progress(options->progress_context, &progress);
}

static void wait_and_show(struct team *team)
{
    enum { INTERVAL_NS = 200000000 };
    pthread_mutex_lock(&team->mutex);
    while (team->finished < team->wanted && !atomic_load(&team->stop)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += INTERVAL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&team->changed, &team->mutex, &until);
        pthread_mutex_unlock(&team->mutex);
        show_progress(team);
        pthread_mutex_lock(&team->mutex);
    }
    pthread_mutex_unlock(&team->mutex);
}

static size_t thread_count(const struct study_options *options, size_t replications)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = options->jobs > 0 ? options->jobs : processors > 0 ? (size_t)processors : 1;
    if (options->steps_sink != NULL) {
        return 1; // rows of steps come from one replication after the other
    }
    return count < replications ? count : replications;
}

// Replications `from` ... replications->count - 1.
static enum kvsim_status run_round(struct study_replications *replications, size_t from,
                                   const struct study_options *options, struct kvsim_error *err)
{
    struct team team = {
        .replications = replications, .options = options, .next = from, .wanted = replications->count - from};
    pthread_mutex_init(&team.mutex, NULL);
    pthread_cond_init(&team.changed, NULL);
    size_t wanted = thread_count(options, team.wanted), started = 0;
    pthread_t *threads = base_alloc(base_mul_size(wanted, sizeof *threads));
    while (started < wanted && pthread_create(&threads[started], NULL, work, &team) == 0) {
        started++;
    }
    if (started == 0) {
        work(&team); // no thread to be had: the work is done here
    } else {
        wait_and_show(&team);
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    base_free(threads);
    pthread_cond_destroy(&team.changed);
    pthread_mutex_destroy(&team.mutex);
    for (size_t i = 0; i < replications->count; i++) {
        if (replications->at[i].status != KVSIM_OK) {
            *err = replications->at[i].err;
            return replications->at[i].status;
        }
    }
    return KVSIM_OK;
}

static void release(struct study_replications *replications)
{
    for (size_t i = 0; i < replications->count; i++) {
        if (replications->at[i].is_done) {
            serve_result_release(&replications->at[i].result);
            study_collector_release(&replications->at[i].collector);
        }
    }
    base_free(replications->at);
}

static size_t most_replications(const struct serve_config *config)
{
    bool has_more = config->until.column != NULL && config->until.max_replications > config->replications;
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
    const char *statistic = record_summary_metric(record_summary_find(until->column), name, sizeof name);
    const struct record_metric *metric = record_run_metric(&run, name, statistic, "");
    bool answer = metric != NULL && metric->ci_high - metric->ci_low <=
                                        2 * until->relative_half_width * fabs(metric->value);
    record_run_free(&run);
    return answer;
}

static void caution_imprecise(const struct serve_until *until, struct record_run *out)
{
    record_run_add_caveat(out, "until_not_reached",
                          base_arena_printf(&out->arena,
                                            "after %" PRId64 " replications, the most that run.until.max_replications "
                                            "allows, the interval of %s is still wider than %g %% to either side",
                                            until->max_replications, until->column, 100 * until->relative_half_width));
}

// Whole rounds of config->replications, decided on in order: the same for any number of threads.
static enum kvsim_status run_rounds(struct study_replications *replications, const struct study_options *options,
                                    bool *is_enough, struct kvsim_error *err)
{
    const struct serve_config *config = replications->config;
    size_t round = (size_t)config->replications, most = most_replications(config);
    enum kvsim_status status = KVSIM_OK;
    *is_enough = false;
    while (status == KVSIM_OK && !*is_enough && replications->count < most) {
        size_t from = replications->count;
        replications->count = from + round < most ? from + round : most;
        status = run_round(replications, from, options, err);
        *is_enough = config->until.column == NULL || (status == KVSIM_OK && is_precise(replications));
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
