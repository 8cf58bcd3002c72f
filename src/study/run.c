#include "study/study.h"

#include "base/mem.h"
#include "study/run_int.h"

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
    size_t finished; /* under mutex */
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
    while (team->finished < team->replications->count && !atomic_load(&team->stop)) {
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

static enum kvsim_status run_all(struct study_replications *replications, const struct study_options *options,
                                 struct kvsim_error *err)
{
    struct team team = {.replications = replications, .options = options};
    pthread_mutex_init(&team.mutex, NULL);
    pthread_cond_init(&team.changed, NULL);
    size_t wanted = thread_count(options, replications->count), started = 0;
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

enum kvsim_status study_run(const struct serve_config *config, const struct study_options *options,
                            struct record_run *out, struct kvsim_error *err)
{
    struct study_replications replications = {.config = config, .count = (size_t)config->replications};
    replications.at = base_alloc(base_mul_size(replications.count, sizeof *replications.at));
    enum kvsim_status status = run_all(&replications, options, err);
    if (status == KVSIM_OK) {
        study_gather(&replications, out);
    }
    release(&replications);
    return status;
}

bool study_slos_are_met(const struct record_run *run)
{
    const struct record_value *met = &run->summary[RECORD_SLO_MET];
    return met->kind == RECORD_NULL || met->integer != 0;
}
