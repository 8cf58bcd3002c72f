#include "study/team.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

struct team {
    const struct study_team_work *work;
    pthread_mutex_t mutex;
    pthread_cond_t finished, room; /* an item was finished; one may be begun */
    size_t next, taken;            /* items begun; taken by the caller */
    bool stop;
    bool *is_done;
};

unsigned study_team_size(unsigned jobs, size_t count)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (jobs == 0)
        jobs = processors > 0 ? (unsigned)processors : 1;
    if (count < jobs)
        jobs = count > 0 ? (unsigned)count : 1;
    return jobs;
}

static bool has_room(const struct team *team)
{
    return team->work->ahead == 0 || team->next < team->taken + team->work->ahead;
}

/* The next item into *index; false when there is none any more. Called with the mutex held. */
static bool begin_item(struct team *team, size_t *index)
{
    while (!team->stop && team->next < team->work->count && !has_room(team))
        pthread_cond_wait(&team->room, &team->mutex);
    if (team->stop || team->next >= team->work->count)
        return false;
    *index = team->next++;
    return true;
}

static void *run_items(void *context)
{
    struct team *team = context;
    size_t index;
    pthread_mutex_lock(&team->mutex);
    while (begin_item(team, &index)) {
        pthread_mutex_unlock(&team->mutex);
        team->work->work(team->work->context, index);
        pthread_mutex_lock(&team->mutex);
        team->is_done[index] = true;
        pthread_cond_signal(&team->finished);
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

/* Until the first item that was not taken is done, or some time has passed. */
static void wait_for_item(struct team *team)
{
    enum { INTERVAL_NS = 200000000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += INTERVAL_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int rc = 0;
    while (!team->is_done[team->taken] && rc == 0)
        rc = pthread_cond_timedwait(&team->finished, &team->mutex, &until);
}

static enum kvsim_status take_items(struct team *team, struct kvsim_error *err)
{
    const struct study_team_work *work = team->work;
    enum kvsim_status status = KVSIM_OK;
    pthread_mutex_lock(&team->mutex);
    while (status == KVSIM_OK && team->taken < work->count) {
        wait_for_item(team);
        size_t first = team->taken, count = 0;
        while (first + count < work->count && team->is_done[first + count])
            count++;
        pthread_mutex_unlock(&team->mutex);
        if (count > 0 && work->take != NULL)
            status = work->take(work->context, first, count, err);
        if (work->idle != NULL)
            work->idle(work->context);
        pthread_mutex_lock(&team->mutex);
        team->taken += count;
        pthread_cond_broadcast(&team->room);
    }
    team->stop = true;
    pthread_cond_broadcast(&team->room);
    pthread_mutex_unlock(&team->mutex);
    return status;
}

/* No thread to be had: the work is done here, item by item. */
static enum kvsim_status run_alone(const struct study_team_work *work, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < work->count && status == KVSIM_OK; i++) {
        work->work(work->context, i);
        if (work->take != NULL)
            status = work->take(work->context, i, 1, err);
        if (work->idle != NULL)
            work->idle(work->context);
    }
    return status;
}

enum kvsim_status study_team_run(const struct study_team_work *work, struct kvsim_error *err)
{
    if (work->count == 0)
        return KVSIM_OK;
    if (work->executor != NULL && work->ask != NULL)
        return work->executor->run(work->executor, work, err);
    struct team team = {.work = work};
    team.is_done = base_alloc(base_mul_size(work->count, sizeof *team.is_done));
    pthread_mutex_init(&team.mutex, NULL);
    pthread_cond_init(&team.finished, NULL);
    pthread_cond_init(&team.room, NULL);
    unsigned wanted = study_team_size(work->jobs, work->count), started = 0;
    pthread_t *threads = base_alloc(base_mul_size(wanted, sizeof *threads));
    while (started < wanted && pthread_create(&threads[started], NULL, run_items, &team) == 0)
        started++;
    enum kvsim_status status = started == 0 ? run_alone(work, err) : take_items(&team, err);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    base_free(threads);
    pthread_cond_destroy(&team.room);
    pthread_cond_destroy(&team.finished);
    pthread_mutex_destroy(&team.mutex);
    base_free(team.is_done);
    return status;
}
