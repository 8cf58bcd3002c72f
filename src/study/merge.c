#include "study/merge.h"

#include "store/sweep.h"

#include <string.h>

enum { BATCH = 64 };

struct merge {
    struct store *const *sources;
    size_t source_count;
    struct store *target;
    struct study_merge_counts *counts;
    struct base_arena arena;
    struct {
        const char **at;
        size_t count, capacity;
    } sweep_ids; /* in the order in which the sources have them */
};

static enum kvsim_status find_sweeps(struct merge *merge, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < merge->source_count && status == KVSIM_OK; i++) {
        struct store_sweep_entry *entries;
        size_t count;
        status = store_list_sweeps(merge->sources[i], &merge->arena, &entries, &count, err);
        for (size_t k = 0; k < count && status == KVSIM_OK; k++) {
            bool is_known = false;
            for (size_t n = 0; n < merge->sweep_ids.count && !is_known; n++)
                is_known = strcmp(merge->sweep_ids.at[n], entries[k].sweep_id) == 0;
            if (!is_known)
                base_vec_push(&merge->sweep_ids, entries[k].sweep_id);
        }
    }
    return status;
}

/* ---- one sweep ---- */

/* A point and the source that decided it. */
struct found {
    struct record_point *point;
    size_t source;
};

/* One sweep in all sources and in the target. */
struct shards {
    struct record_sweep *parts; /* one for each source */
    struct record_sweep target;
    struct found *found; /* by point_id - 1; no point where the target has it or nobody does */
    size_t total_count;
    const struct record_sweep *head; /* a part that has the sweep */
};

static enum kvsim_status load_shards(struct merge *merge, const char *sweep_id,
                                     struct shards *shards, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < merge->source_count && status == KVSIM_OK; i++) {
        bool found = false;
        status = store_load_sweep(merge->sources[i], sweep_id, &shards->parts[i], &found, err);
        if (found && shards->head == NULL)
            shards->head = &shards->parts[i];
    }
    if (status == KVSIM_OK)
        status = store_load_sweep(merge->target, sweep_id, &shards->target, NULL, err);
    if (status == KVSIM_OK && shards->head != NULL)
        shards->total_count = shards->head->total_count;
    return status;
}

static bool is_decided(const struct record_point *point)
{
    return point->status != RECORD_POINT_OPEN && point->status != RECORD_POINT_FAILED;
}

static bool is_in_grid(const struct shards *shards, const struct record_point *point)
{
    return point->point_id >= 1 && (size_t)point->point_id <= shards->total_count;
}

/* An answer wins over a failure; of two answers, which are equal, the first source's stands. */
static void collect_points(struct merge *merge, struct shards *shards)
{
    for (size_t i = 0; i < merge->source_count; i++) {
        for (size_t k = 0; k < shards->parts[i].point_count; k++) {
            struct record_point *point = &shards->parts[i].points[k];
            if (!is_in_grid(shards, point))
                continue;
            struct found *found = &shards->found[point->point_id - 1];
            if (found->point == NULL || (!is_decided(found->point) && is_decided(point)))
                *found = (struct found){point, i};
        }
    }
    for (size_t k = 0; k < shards->target.point_count; k++) {
        const struct record_point *point = &shards->target.points[k];
        if (is_in_grid(shards, point) && is_decided(point))
            shards->found[point->point_id - 1].point = NULL;
    }
}

struct batch {
    struct store_decision decisions[BATCH];
    struct record_run runs[BATCH];
    size_t count, run_count;
};

static enum kvsim_status write_batch(struct merge *merge, const struct shards *shards,
                                     struct batch *batch, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    if (batch->count > 0)
        status =
            store_write_points(merge->target, shards->head, batch->decisions, batch->count, err);
    for (size_t i = 0; i < batch->run_count; i++)
        record_run_free(&batch->runs[i]);
    if (status == KVSIM_OK) {
        merge->counts->points += batch->count;
        merge->counts->runs += batch->run_count;
    }
    batch->count = batch->run_count = 0;
    return status;
}

static const struct record_point *find_in_batch(const struct batch *batch, const char *hash)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->decisions[i].run != NULL && strcmp(batch->decisions[i].point->hash, hash) == 0)
            return batch->decisions[i].point;
    }
    return NULL;
}

/* The point's run: one that the target has, one of this batch, or one to be copied. */
static enum kvsim_status add_point(struct merge *merge, const struct shards *shards,
                                   const struct found *found, struct batch *batch,
                                   struct kvsim_error *err)
{
    struct store_decision *decision = &batch->decisions[batch->count];
    struct record_point *point = found->point;
    int64_t source_run_id = point->run_id, target_run_id = 0;
    *decision = (struct store_decision){.point = point};
    enum kvsim_status status = KVSIM_OK;
    if (source_run_id > 0) {
        status = store_find_run(merge->target, point->hash, shards->head->kvsim_version,
                                &target_run_id, err);
        decision->same_as = find_in_batch(batch, point->hash);
        point->run_id = target_run_id;
    }
    if (status == KVSIM_OK && source_run_id > 0 && target_run_id == 0 &&
        decision->same_as == NULL) {
        struct record_run *run = &batch->runs[batch->run_count++];
        record_run_init(run);
        status = store_load_run(merge->sources[found->source], source_run_id, run, err);
        decision->run = run;
    }
    batch->count++;
    return status;
}

static enum kvsim_status write_shards(struct merge *merge, const struct shards *shards,
                                      struct batch *batch, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < shards->total_count && status == KVSIM_OK; i++) {
        if (shards->found[i].point != NULL)
            status = add_point(merge, shards, &shards->found[i], batch, err);
        if (status == KVSIM_OK && batch->count == BATCH)
            status = write_batch(merge, shards, batch, err);
    }
    if (status == KVSIM_OK)
        return write_batch(merge, shards, batch, err);
    for (size_t i = 0; i < batch->run_count; i++)
        record_run_free(&batch->runs[i]);
    return status;
}

static enum kvsim_status merge_sweep(struct merge *merge, const char *sweep_id,
                                     struct kvsim_error *err)
{
    struct shards shards = {
        .parts = base_alloc(base_mul_size(merge->source_count, sizeof *shards.parts))};
    for (size_t i = 0; i < merge->source_count; i++)
        record_sweep_init(&shards.parts[i]);
    record_sweep_init(&shards.target);
    enum kvsim_status status = load_shards(merge, sweep_id, &shards, err);
    if (status == KVSIM_OK) {
        shards.found = base_alloc(base_mul_size(shards.total_count + 1, sizeof *shards.found));
        collect_points(merge, &shards);
        struct batch *batch = base_alloc(sizeof *batch);
        status = write_shards(merge, &shards, batch, err);
        base_free(batch);
        merge->counts->sweeps++;
    }
    base_free(shards.found);
    for (size_t i = 0; i < merge->source_count; i++)
        record_sweep_free(&shards.parts[i]);
    record_sweep_free(&shards.target);
    base_free(shards.parts);
    return status;
}

/* ---- runs of no sweep ---- */

static enum kvsim_status copy_run(struct merge *merge, struct store *source, int64_t run_id,
                                  struct kvsim_error *err)
{
    struct record_run run;
    bool was_there = false;
    record_run_init(&run);
    enum kvsim_status status = store_load_run(source, run_id, &run, err);
    if (status == KVSIM_OK)
        status = store_keep_run(merge->target, &run, &was_there, err);
    merge->counts->runs += status == KVSIM_OK && !was_there;
    record_run_free(&run);
    return status;
}

static enum kvsim_status copy_runs(struct merge *merge, struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < merge->source_count && status == KVSIM_OK; i++) {
        struct store_entry *entries;
        size_t count;
        status = store_list_runs(merge->sources[i], &merge->arena, &entries, &count, err);
        for (size_t k = 0; k < count && status == KVSIM_OK; k++)
            status = copy_run(merge, merge->sources[i], entries[k].run_id, err);
    }
    return status;
}

enum kvsim_status study_merge(struct store *const *sources, size_t source_count,
                              struct store *target, struct study_merge_counts *counts,
                              struct kvsim_error *err)
{
    struct merge merge = {
        .sources = sources, .source_count = source_count, .target = target, .counts = counts};
    *counts = (struct study_merge_counts){0};
    base_arena_init(&merge.arena);
    enum kvsim_status status = find_sweeps(&merge, err);
    for (size_t i = 0; i < merge.sweep_ids.count && status == KVSIM_OK; i++)
        status = merge_sweep(&merge, merge.sweep_ids.at[i], err);
    if (status == KVSIM_OK)
        status = copy_runs(&merge, err);
    base_vec_free(&merge.sweep_ids);
    base_arena_release(&merge.arena);
    return status;
}
