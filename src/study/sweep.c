#include "study/sweep.h"

#include "store/sweep.h"
#include "study/errand.h"
#include "study/memo.h"
#include "study/study.h"
#include "study/sweep_int.h"
#include "study/team.h"

#include <kvsim/version.h>

#include <stdlib.h>
#include <string.h>

enum { AHEAD_PER_JOB = 32, NONE = -1 };

/* ---- what is known already ---- */

static enum record_point_status judge(const struct record_value summary[RECORD_SUMMARY_COUNT])
{
    const struct record_value *met = &summary[RECORD_SLO_MET], *status = &summary[RECORD_STATUS];
    const char *text = status->kind == RECORD_TEXT ? status->text : "";
    bool is_stuck = strcmp(text, "stuck") == 0 || strcmp(text, "engine_died") == 0;
    bool is_missed = met->kind == RECORD_INTEGER && met->integer == 0;
    return is_stuck || is_missed ? RECORD_POINT_SLO_MISSED : RECORD_POINT_OK;
}

static void decide(struct study_sweep_work *work, struct record_point *point,
                   const struct record_value summary[RECORD_SUMMARY_COUNT])
{
    record_point_take(work->sweep, point, summary);
    point->status = judge(summary);
}

/* Points that this sweep has decided in the database; failed ones are tried again. */
static enum kvsim_status take_up_sweep(struct study_sweep_work *work, struct kvsim_error *err)
{
    struct record_sweep stored;
    record_sweep_init(&stored);
    enum kvsim_status status =
        store_load_sweep(work->request->store, work->sweep->sweep_id, &stored, NULL, err);
    for (size_t i = 0; i < stored.point_count && status == KVSIM_OK; i++) {
        const struct record_point *from = &stored.points[i];
        if (from->status == RECORD_POINT_FAILED || from->status == RECORD_POINT_OPEN ||
            from->point_id < 1 || (size_t)from->point_id > work->sweep->point_count)
            continue;
        struct record_point *point = &work->sweep->points[from->point_id - 1];
        record_point_take(work->sweep, point, from->summary);
        point->status = from->status;
        point->run_id = from->run_id;
        point->reason = base_arena_copy(&work->sweep->arena, from->reason);
    }
    record_sweep_free(&stored);
    return status;
}

/* A finished run with this fingerprint, of whatever command. */
static enum kvsim_status take_up_run(struct study_sweep_work *work, struct record_point *point,
                                     struct kvsim_error *err)
{
    struct store *store = work->request->store;
    int64_t run_id = 0;
    enum kvsim_status status = KVSIM_OK;
    if (store != NULL)
        status = store_find_run(store, point->hash, KVSIM_VERSION, &run_id, err);
    if (status != KVSIM_OK || run_id == 0)
        return status;
    struct record_run run;
    record_run_init(&run);
    status = store_load_summary(store, run_id, &run, err);
    if (status == KVSIM_OK) {
        decide(work, point, run.summary);
        point->run_id = run_id;
    }
    record_run_free(&run);
    return status;
}

struct by_hash {
    const char *hash;
    size_t point;
};

static int compare_hashes(const void *a, const void *b)
{
    const struct by_hash *x = a, *y = b;
    int order = strcmp(x->hash, y->hash);
    return order != 0 ? order : (x->point > y->point) - (x->point < y->point);
}

/* Points of this call that are the same configuration are simulated once. */
static void find_equals(struct study_sweep_work *work)
{
    struct by_hash *sorted = base_alloc(base_mul_size(work->task_count, sizeof *sorted));
    for (size_t i = 0; i < work->task_count; i++) {
        size_t point = work->tasks[i].point;
        sorted[i] = (struct by_hash){work->sweep->points[point].hash, point};
    }
    if (work->task_count > 0)
        qsort(sorted, work->task_count, sizeof *sorted, compare_hashes);
    for (size_t i = 1, first = 0; i < work->task_count; i++) {
        bool is_same = sorted[i].hash[0] != '\0' && strcmp(sorted[i].hash, sorted[first].hash) == 0;
        if (is_same)
            work->same_as[sorted[i].point] = (int64_t)sorted[first].point;
        else
            first = i;
    }
    base_free(sorted);
}

static bool is_ours(const struct study_sweep_request *request, size_t point)
{
    return request->shard_count == 0 || point % request->shard_count + 1 == request->shard;
}

static enum kvsim_status plan_task(struct study_sweep_work *work, struct study_sweep_task *task,
                                   struct kvsim_error *err)
{
    struct record_point *point = &work->sweep->points[task->point];
    const struct study_cell *cell = &work->cells[task->point];
    if (cell->state == STUDY_CELL_REFUSED) {
        point->status = RECORD_POINT_REFUSED;
        point->reason = base_arena_copy(&work->sweep->arena, cell->reason);
        return KVSIM_OK;
    }
    if (work->same_as[task->point] != NONE)
        return KVSIM_OK;
    enum kvsim_status status = take_up_run(work, point, err);
    task->is_run = status == KVSIM_OK && point->run_id == 0;
    return status;
}

/* Everything of this call that has no row yet. */
static enum kvsim_status plan_tasks(struct study_sweep_work *work, struct kvsim_error *err)
{
    size_t count = work->sweep->point_count;
    work->tasks = base_alloc(base_mul_size(count, sizeof *work->tasks));
    work->same_as = base_alloc(base_mul_size(count, sizeof *work->same_as));
    for (size_t i = 0; i < count; i++) {
        work->same_as[i] = NONE;
        if (is_ours(work->request, i) && work->sweep->points[i].status == RECORD_POINT_OPEN)
            work->tasks[work->task_count++].point = i;
    }
    find_equals(work);
    enum kvsim_status status = KVSIM_OK;
    size_t run_count = 0;
    for (size_t i = 0; i < work->task_count && status == KVSIM_OK; i++) {
        status = plan_task(work, &work->tasks[i], err);
        run_count += work->tasks[i].is_run;
    }
    // Few points on many threads: their replications run side by side.
    work->jobs = study_team_size(work->request->jobs, SIZE_MAX);
    work->jobs_per_point = run_count == 0 || run_count >= work->jobs
                               ? 1
                               : (work->jobs + (unsigned)run_count - 1) / (unsigned)run_count;
    return status;
}

/* ---- simulating and storing ---- */

static void simulate(void *context, size_t index)
{
    struct study_sweep_work *work = context;
    struct study_sweep_task *task = &work->tasks[index];
    if (!task->is_run || atomic_load(&task->is_elsewhere))
        return;
    struct study_cell *cell = &work->cells[task->point];
    record_run_init(&task->run);
    task->has_run = true;
    task->status = study_cell_run(cell, work->jobs_per_point, work->jobs, &task->run, &task->err);
    study_cell_forget(cell);
}

static bool ask_task(void *context, size_t index, struct base_text *request)
{
    struct study_sweep_work *work = context;
    struct study_sweep_task *task = &work->tasks[index];
    if (!task->is_run || atomic_load(&task->is_elsewhere))
        return false;
    study_errand_ask_point(&work->cells[task->point], work->jobs, request);
    study_cell_forget(&work->cells[task->point]);
    return true;
}

static void take_answer(void *context, size_t index, const struct base_text *answer)
{
    struct study_sweep_work *work = context;
    struct study_sweep_task *task = &work->tasks[index];
    record_run_init(&task->run);
    task->has_run = true;
    task->status = study_errand_take_point(answer, &task->run, &task->err);
}

static void fail_point(struct study_sweep_work *work, struct record_point *point,
                       const struct study_sweep_task *task)
{
    point->status = RECORD_POINT_FAILED;
    point->reason = base_arena_copy(&work->sweep->arena, task->err.message);
    if (work->counts->first_failure == KVSIM_OK) {
        work->counts->first_failure = task->status;
        work->counts->failure = task->err;
    }
}

/* Another kvsim has simulated it; should its run be gone again, it is simulated after all. */
static enum kvsim_status take_up_elsewhere(struct study_sweep_work *work,
                                           struct study_sweep_task *task, struct kvsim_error *err)
{
    enum kvsim_status status = take_up_run(work, &work->sweep->points[task->point], err);
    if (status == KVSIM_OK && work->sweep->points[task->point].run_id == 0) {
        atomic_store(&task->is_elsewhere, false);
        simulate(work, (size_t)(task - work->tasks));
    }
    return status;
}

/* What a finished task says of its point; a run of its own goes with it. */
static struct store_decision finish_task(struct study_sweep_work *work,
                                         struct study_sweep_task *task)
{
    struct record_point *point = &work->sweep->points[task->point];
    struct store_decision decision = {.point = point};
    int64_t same_as = work->same_as[task->point];
    if (task->has_run && task->status != KVSIM_OK) {
        fail_point(work, point, task);
    } else if (task->has_run) {
        decide(work, point, task->run.summary);
        decision.run = &task->run;
    } else if (same_as != NONE && point->status == RECORD_POINT_OPEN) {
        const struct record_point *other = &work->sweep->points[same_as];
        record_point_take(work->sweep, point, other->summary);
        point->status = other->status;
        point->reason = other->reason;
        decision.same_as = other;
    }
    return decision;
}

static void free_run(struct study_sweep_task *task)
{
    if (task->has_run)
        record_run_free(&task->run);
    task->has_run = false;
}

static void count_tasks(struct study_sweep_work *work, const struct store_decision *decisions,
                        size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct study_sweep_task *task = &work->tasks[first + i];
        work->counts->simulated += task->has_run;
        work->counts->elsewhere +=
            decisions[i].was_there || (task->is_run && atomic_load(&task->is_elsewhere));
        free_run(task);
    }
    work->stage_done = first + count;
}

/* Another kvsim is at work on these points: those that it has decided are not begun any more. */
static enum kvsim_status look_ahead(struct study_sweep_work *work, size_t first,
                                    struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    size_t end = first + (size_t)work->jobs * AHEAD_PER_JOB;
    for (size_t i = first; i < end && i < work->task_count && status == KVSIM_OK; i++) {
        struct study_sweep_task *task = &work->tasks[i];
        int64_t run_id = 0;
        if (task->is_run && !atomic_load(&task->is_elsewhere))
            status = store_find_run(work->request->store, work->sweep->points[task->point].hash,
                                    KVSIM_VERSION, &run_id, err);
        if (run_id > 0)
            atomic_store(&task->is_elsewhere, true);
    }
    return status;
}

static enum kvsim_status store_decisions(struct study_sweep_work *work,
                                         struct store_decision *decisions, size_t first,
                                         size_t count, struct kvsim_error *err)
{
    if (work->request->store == NULL)
        return KVSIM_OK;
    enum kvsim_status status =
        store_write_points(work->request->store, work->sweep, decisions, count, err);
    bool is_followed = false;
    for (size_t i = 0; i < count; i++)
        is_followed = is_followed || decisions[i].was_there ||
                      atomic_load(&work->tasks[first + i].is_elsewhere);
    return status == KVSIM_OK && is_followed ? look_ahead(work, first + count, err) : status;
}

static enum kvsim_status store_tasks(void *context, size_t first, size_t count,
                                     struct kvsim_error *err)
{
    struct study_sweep_work *work = context;
    enum kvsim_status status = KVSIM_OK;
    struct store_decision *decisions = base_alloc(base_mul_size(count, sizeof *decisions));
    for (size_t i = 0; i < count && status == KVSIM_OK; i++) {
        struct study_sweep_task *task = &work->tasks[first + i];
        if (task->is_run && !task->has_run)
            status = take_up_elsewhere(work, task, err);
        decisions[i] = finish_task(work, task);
    }
    if (status == KVSIM_OK)
        status = store_decisions(work, decisions, first, count, err);
    count_tasks(work, decisions, first, count);
    base_free(decisions);
    return status;
}

static enum kvsim_status run_tasks(struct study_sweep_work *work, struct kvsim_error *err)
{
    work->stage = "simulating";
    work->is_reading = false;
    work->stage_done = 0;
    work->stage_total = work->task_count;
    struct study_team_work team = {.count = work->task_count,
                                   .jobs = work->request->jobs,
                                   .ahead = (size_t)work->jobs * AHEAD_PER_JOB,
                                   .context = work,
                                   .work = simulate,
                                   .take = store_tasks,
                                   .idle = study_sweep_show,
                                   .executor = work->request->executor,
                                   .ask = ask_task,
                                   .answer = take_answer};
    return study_team_run(&team, err);
}

/* ---- the whole ---- */

static enum kvsim_status do_sweep(struct study_sweep_work *work, struct kvsim_error *err)
{
    enum kvsim_status status = study_sweep_read(work, err);
    if (status == KVSIM_OK && work->request->store != NULL)
        status = take_up_sweep(work, err);
    if (status == KVSIM_OK)
        status = plan_tasks(work, err);
    return status == KVSIM_OK ? run_tasks(work, err) : status;
}

static void release(struct study_sweep_work *work)
{
    for (size_t i = 0; i < work->base_count; i++)
        study_cell_release(&work->bases[i]);
    for (size_t i = 0; work->cells != NULL && i < work->sweep->point_count; i++) {
        study_cell_release(&work->cells[i]);
        base_vec_free(&work->overrides[i]);
    }
    for (size_t i = 0; i < work->task_count; i++)
        free_run(&work->tasks[i]); // of a sweep that ended early
    base_free(work->bases);
    base_free(work->facts);
    base_free(work->cells);
    base_free(work->overrides);
    base_free(work->same_as);
    base_free(work->tasks);
    base_arena_release(&work->arena);
    study_memo_close(work->memo);
}

enum kvsim_status study_sweep(const struct study_sweep_request *request, struct record_sweep *out,
                              struct study_sweep_counts *counts, struct kvsim_diags *diags,
                              struct kvsim_error *err)
{
    struct study_sweep_work work = {.request = request,
                                    .sweep = out,
                                    .counts = counts,
                                    .diags = diags,
                                    .memo = study_memo_open()};
    *counts = (struct study_sweep_counts){.simulated = 0};
    base_arena_init(&work.arena);
    enum kvsim_status status = do_sweep(&work, err);
    for (size_t i = 0; i < out->point_count; i++)
        counts->by_status[out->points[i].status]++;
    size_t decided = out->point_count - counts->by_status[RECORD_POINT_OPEN];
    counts->taken_up = decided - counts->simulated;
    release(&work);
    return status;
}
