/*
 * sweep_read.c - the points of a grid, each resolved before any of them runs.
 */
#include "study/sweep_int.h"

#include "base/hash.h"
#include "study/team.h"

#include <kvsim/version.h>

#include <string.h>

/* Scenarios that are kept from reading to running; of a larger grid they are read twice. */
enum { KEPT_MAX = 4096 };

void study_sweep_show(void *context)
{
    const struct study_sweep_work *work = context;
    if (work->request->progress == NULL)
        return;
    struct study_sweep_progress progress = {.stage = work->stage,
                                            .is_ahead = work->is_reading,
                                            .decided = work->stage_done,
                                            .total = work->stage_total};
    work->request->progress(work->request->progress_context, &progress);
}

/* The command's overrides, then those of the axes. */
static void fill_overrides(struct study_sweep_work *work, size_t point,
                           const struct study_base_facts *facts, struct study_overrides *out,
                           const char **refusal)
{
    const struct study_sweep_request *request = work->request;
    for (size_t i = 0; i < request->override_count; i++)
        base_vec_push(out, request->overrides[i]);
    study_axes_overrides(request->axes, point, facts, &work->arena, out, refusal);
}

static void init_cell(const struct study_sweep_work *work, struct study_cell *cell,
                      const struct study_overrides *overrides)
{
    size_t command = work->request->override_count;
    *cell = (struct study_cell){.path = work->request->path,
                                .text = work->request->text,
                                .overrides = overrides->at,
                                .override_count = overrides->count,
                                .axis_count =
                                    overrides->count > command ? overrides->count - command : 0,
                                .rows_unwanted = true,
                                .memo = work->memo};
}

static void resolve_base(void *context, size_t index)
{
    struct study_sweep_work *work = context;
    struct study_cell *cell = &work->bases[index];
    study_cell_resolve(cell);
    if (cell->scenario != NULL)
        study_base_facts_take(scenario_config(cell->scenario), &work->facts[index]);
    study_cell_forget(cell);
}

static void resolve_point(void *context, size_t index)
{
    struct study_sweep_work *work = context;
    struct study_cell *cell = &work->cells[index];
    if (cell->state == STUDY_CELL_NEW)
        study_cell_resolve(cell);
    if (cell->state != STUDY_CELL_READY || work->sweep->point_count > KEPT_MAX)
        study_cell_forget(cell);
}

static enum kvsim_status note_resolved(void *context, size_t first, size_t count,
                                       struct kvsim_error *err)
{
    struct study_sweep_work *work = context;
    (void)err;
    work->stage_done = first + count;
    return KVSIM_OK;
}

static enum kvsim_status resolve_all(struct study_sweep_work *work, size_t count,
                                     void (*resolve)(void *context, size_t index),
                                     struct kvsim_error *err)
{
    work->stage = "reading";
    work->is_reading = true;
    work->stage_done = 0;
    work->stage_total = count;
    struct study_team_work team = {.count = count,
                                   .jobs = work->request->jobs,
                                   .context = work,
                                   .work = resolve,
                                   .take = note_resolved,
                                   .idle = study_sweep_show};
    return study_team_run(&team, err);
}

static bool can_any_run(const struct study_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (cells[i].state == STUDY_CELL_READY)
            return true;
    }
    return false;
}

/* The first invalid one ends it all; but what an engine cannot do in some points alone is said of these. */
static enum kvsim_status check_cells(struct study_sweep_work *work, struct study_cell *cells,
                                     size_t count, struct kvsim_error *err)
{
    bool may_refuse = can_any_run(cells, count);
    for (size_t i = 0; i < count; i++) {
        if (cells[i].state != STUDY_CELL_INVALID ||
            (may_refuse && study_cell_refuse_misfit(&cells[i])))
            continue;
        *work->diags = *cells[i].diags;
        *err = cells[i].diags->at[0];
        return cells[i].status;
    }
    return KVSIM_OK;
}

static enum kvsim_status read_bases(struct study_sweep_work *work, struct kvsim_error *err)
{
    const struct study_axes *axes = work->request->axes;
    if (!study_axes_has(axes, STUDY_AXIS_CONCURRENCY) && !study_axes_has(axes, STUDY_AXIS_CONTEXT))
        return KVSIM_OK;
    work->base_count = study_axes_base_count(axes);
    work->bases = base_alloc(base_mul_size(work->base_count, sizeof *work->bases));
    work->facts = base_alloc(base_mul_size(work->base_count, sizeof *work->facts));
    struct study_overrides *overrides =
        base_alloc(base_mul_size(work->base_count, sizeof *overrides));
    for (size_t i = 0; i < work->base_count; i++) {
        const char *refusal;
        fill_overrides(work, study_axes_base_point(axes, i), NULL, &overrides[i], &refusal);
        init_cell(work, &work->bases[i], &overrides[i]);
    }
    enum kvsim_status status = resolve_all(work, work->base_count, resolve_base, err);
    if (status == KVSIM_OK)
        status = check_cells(work, work->bases, work->base_count, err);
    for (size_t i = 0; i < work->base_count; i++) {
        work->bases[i].overrides = NULL;
        base_vec_free(&overrides[i]);
    }
    base_free(overrides);
    return status;
}

/* Refuses a cell before it is read. */
static void refuse(struct study_cell *cell, const char *reason)
{
    cell->state = STUDY_CELL_REFUSED;
    base_copy(cell->reason, sizeof cell->reason, reason);
}

static void make_cell(struct study_sweep_work *work, size_t index)
{
    struct study_cell *cell = &work->cells[index];
    const struct study_base_facts *facts = NULL;
    const char *refusal = NULL;
    if (work->base_count > 0) {
        size_t base = study_axes_base(work->request->axes, index);
        facts = &work->facts[base];
        // Without a class there was no config to take facts from.
        if (facts->class_count == 0)
            refusal = work->bases[base].reason;
    }
    if (refusal == NULL)
        fill_overrides(work, index, facts, &work->overrides[index], &refusal);
    init_cell(work, cell, &work->overrides[index]);
    if (refusal != NULL)
        refuse(cell, refusal);
}

static enum kvsim_status read_points(struct study_sweep_work *work, struct kvsim_error *err)
{
    size_t count = work->sweep->point_count;
    work->cells = base_alloc(base_mul_size(count, sizeof *work->cells));
    work->overrides = base_alloc(base_mul_size(count, sizeof *work->overrides));
    for (size_t i = 0; i < count; i++)
        make_cell(work, i);
    enum kvsim_status status = resolve_all(work, count, resolve_point, err);
    return status == KVSIM_OK ? check_cells(work, work->cells, count, err) : status;
}

static void name_axes(struct study_sweep_work *work)
{
    const struct study_axes *axes = work->request->axes;
    struct record_sweep *sweep = work->sweep;
    sweep->is_zipped = axes->is_zipped;
    sweep->axis_count = axes->count;
    for (size_t i = 0; i < axes->count; i++)
        sweep->axes[i] = base_arena_copy(&sweep->arena, axes->at[i].key);
    record_sweep_make_points(sweep, study_axes_point_count(axes));
    for (size_t i = 0; i < sweep->point_count; i++) {
        for (size_t k = 0; k < axes->count; k++) {
            // No stored text holds a folder of this machine.
            const char *value = study_axes_value(axes, i, k), *slash = strrchr(value, '/');
            bool is_path =
                slash != NULL && (base_ends_with(value, ".yaml") ||
                                  base_ends_with(value, ".json") || base_ends_with(value, ".csv"));
            sweep->points[i].values[k] =
                base_arena_copy(&sweep->arena, is_path ? slash + 1 : value);
        }
    }
}

static const char *scenario_name(const struct study_sweep_work *work)
{
    for (size_t i = 0; i < work->sweep->point_count; i++) {
        if (work->cells[i].name[0] != '\0')
            return work->cells[i].name;
    }
    const char *slash = work->request->path == NULL ? NULL : strrchr(work->request->path, '/');
    return slash != NULL ? slash + 1 : work->request->path == NULL ? "" : work->request->path;
}

/* The identity follows from what is simulated: axes, and every point's fingerprint or the reason that it has none. */
static void identify(struct study_sweep_work *work)
{
    struct record_sweep *sweep = work->sweep;
    struct base_hash hash;
    char hex[33];
    base_hash_init(&hash);
    base_hash_text(&hash, sweep->is_zipped ? "zipped" : "crossed");
    for (size_t i = 0; i < sweep->axis_count; i++)
        base_hash_text(&hash, sweep->axes[i]);
    for (size_t i = 0; i < sweep->point_count; i++) {
        struct record_point *point = &sweep->points[i];
        base_copy(point->hash, sizeof point->hash, work->cells[i].hash);
        base_hash_text(&hash, point->hash);
        for (size_t k = 0; k < sweep->axis_count; k++)
            base_hash_text(&hash, point->values[k]);
    }
    base_hash_hex(&hash, hex);
    sweep->sweep_id[0] = 's';
    base_copy(sweep->sweep_id + 1, 13, hex);
    sweep->scenario = base_arena_copy(&sweep->arena, scenario_name(work));
    sweep->kvsim_version = KVSIM_VERSION;
}

enum kvsim_status study_sweep_read(struct study_sweep_work *work, struct kvsim_error *err)
{
    enum kvsim_status status = read_bases(work, err);
    name_axes(work);
    if (status == KVSIM_OK)
        status = read_points(work, err);
    if (status == KVSIM_OK)
        identify(work);
    return status;
}
