#include "study/cell.h"

#include "base/text.h"
#include "study/memo.h"
#include "study/study.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* What a model or a device cannot do in this combination: an answer to the question, not a fault in it. */
static const char *const refusals[] = {"beyond-model", "heads-not-divided", "no-memory", NULL};
/* What an engine does not have together, or is not simulated with. */
static const char *const misfits[] = {
    "conflict", "unsupported-key", "unsupported-model", "unsupported-profile", "unused-key", NULL};

static bool all_are_of(const struct kvsim_diags *diags, const char *const *codes)
{
    for (size_t i = 0; i < diags->count; i++) {
        const char *const *code = codes;
        while (*code != NULL && strcmp(diags->at[i].code, *code) != 0)
            code++;
        if (*code == NULL)
            return false;
    }
    return diags->total == diags->count && diags->count > 0;
}

static void refuse(struct study_cell *cell, const struct kvsim_diags *diags)
{
    cell->state = STUDY_CELL_REFUSED;
    base_copy(cell->reason, sizeof cell->reason, diags->at[0].message);
}

static void judge_failure(struct study_cell *cell, enum kvsim_status status,
                          const struct kvsim_diags *diags)
{
    cell->status = status;
    if (all_are_of(diags, refusals)) {
        refuse(cell, diags);
        return;
    }
    cell->state = STUDY_CELL_INVALID;
    cell->diags = base_alloc(sizeof *cell->diags);
    *cell->diags = *diags;
}

static void judge_start(struct study_cell *cell, const struct serve_config *config)
{
    const struct kv_waterfall_refusal *refusal = &config->waterfall.refusal;
    char needed[40], available[40];
    base_copy(cell->hash, sizeof cell->hash, config->hash);
    base_copy(cell->name, sizeof cell->name, config->name);
    cell->state = STUDY_CELL_READY;
    if (config->waterfall.starts)
        return;
    cell->state = STUDY_CELL_REFUSED;
    snprintf(cell->reason, sizeof cell->reason,
             "cannot start (%s): %s needs %s on each GPU, there are %s",
             kv_waterfall_stage_name(refusal->stage), refusal->limit,
             base_print_bytes((double)refusal->needed_bytes, needed, sizeof needed),
             base_print_bytes((double)refusal->available_bytes, available, sizeof available));
}

static struct scenario_request request_of(const struct study_cell *cell)
{
    return (struct scenario_request){.path = cell->path,
                                     .text = cell->text,
                                     .overrides = cell->overrides,
                                     .override_count = cell->override_count,
                                     .axis_count = cell->axis_count,
                                     .purpose = SCENARIO_FOR_RUN,
                                     .rows_unwanted = cell->rows_unwanted,
                                     .held_unwanted = true};
}

static enum kvsim_status load(struct study_cell *cell, struct kvsim_diags *diags)
{
    struct scenario_request request = request_of(cell);
    return scenario_load(&request, &cell->scenario, diags);
}

void study_cell_resolve(struct study_cell *cell)
{
    struct kvsim_diags *diags = base_alloc(sizeof *diags);
    enum kvsim_status status = load(cell, diags);
    if (status == KVSIM_OK)
        judge_start(cell, scenario_config(cell->scenario));
    else
        judge_failure(cell, status, diags);
    base_free(diags);
}

bool study_cell_refuse_misfit(struct study_cell *cell)
{
    if (cell->state != STUDY_CELL_INVALID || !all_are_of(cell->diags, misfits))
        return false;
    refuse(cell, cell->diags);
    return true;
}

void study_cell_forget(struct study_cell *cell)
{
    scenario_free(cell->scenario);
    cell->scenario = NULL;
}

void study_cell_release(struct study_cell *cell)
{
    study_cell_forget(cell);
    base_free(cell->diags);
    cell->diags = NULL;
}

double study_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// created_at, host, wall_s, jobs: what depends on the machine and the moment.
static void fill_host(struct record_run *run, double wall_s, int64_t jobs)
{
    char text[32] = "";
    struct utsname machine;
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    run->created_at = base_arena_copy(&run->arena, text);
    run->host = base_arena_copy(&run->arena, uname(&machine) == 0 ? machine.nodename : "");
    run->wall_s = wall_s;
    run->jobs = jobs;
}

static enum kvsim_status read_again(struct study_cell *cell, struct kvsim_error *err)
{
    struct kvsim_diags *diags = base_alloc(sizeof *diags);
    enum kvsim_status status = load(cell, diags);
    if (status != KVSIM_OK)
        *err = diags->at[0];
    base_free(diags);
    if (status == KVSIM_OK && strcmp(scenario_config(cell->scenario)->hash, cell->hash) != 0)
        status = base_fail(err, KVSIM_ERR_IO, "a file of the scenario changed meanwhile");
    return status;
}

enum kvsim_status study_cell_run(struct study_cell *cell, unsigned jobs, unsigned jobs_noted,
                                 struct record_run *out, struct kvsim_error *err)
{
    base_require(cell->state == STUDY_CELL_READY);
    double start_s = study_clock_s();
    enum kvsim_status status = cell->scenario == NULL ? read_again(cell, err) : KVSIM_OK;
    struct scenario_request source = request_of(cell);
    struct study_options options = {
        .jobs = jobs, .mode = SERVE_JUMP, .executor = cell->executor, .source = &source};
    if (status == KVSIM_OK)
        study_memo_complete(cell->memo, cell->scenario);
    if (status == KVSIM_OK)
        status = study_run(scenario_config(cell->scenario), &options, out, err);
    if (status == KVSIM_OK)
        fill_host(out, study_clock_s() - start_s, jobs_noted);
    return status;
}
