#include "study/errand.h"

#include "base/pack.h"
#include "store/store.h"
#include "study/cell.h"

#include <string.h>

enum kind { POINT, REPLICATION };

/* What a request says. */
struct errand {
    enum kind kind;
    const char *path, *hash;
    bool rows_unwanted;
    struct {
        struct scenario_override *at;
        size_t count, capacity;
    } overrides;
    unsigned jobs_noted;  /* POINT */
    uint32_t replication; /* REPLICATION, from 1 */
    enum serve_mode mode;
};

static void pack_errand(struct base_pack *pack, struct errand *errand, struct base_arena *arena)
{
    base_pack_bytes(pack, &errand->kind, sizeof errand->kind);
    base_pack_bytes(pack, &errand->rows_unwanted, sizeof errand->rows_unwanted);
    base_pack_bytes(pack, &errand->jobs_noted, sizeof errand->jobs_noted);
    base_pack_bytes(pack, &errand->replication, sizeof errand->replication);
    base_pack_bytes(pack, &errand->mode, sizeof errand->mode);
    base_pack_text(pack, &errand->path, arena);
    base_pack_text(pack, &errand->hash, arena);
    uint64_t count = errand->overrides.count;
    base_pack_bytes(pack, &count, sizeof count);
    for (size_t i = 0; i < count && !pack->is_broken; i++) {
        if (pack->out == NULL)
            base_vec_push(&errand->overrides, (struct scenario_override){.key = NULL});
        base_pack_text(pack, &errand->overrides.at[i].key, arena);
        base_pack_text(pack, &errand->overrides.at[i].value, arena);
    }
}

static void write_errand(struct errand *errand, const struct scenario_override *overrides,
                         size_t count, struct base_text *request)
{
    struct base_pack pack = base_pack_writer(request);
    for (size_t i = 0; i < count; i++)
        base_vec_push(&errand->overrides, overrides[i]);
    pack_errand(&pack, errand, NULL);
    base_vec_free(&errand->overrides);
}

void study_errand_ask_point(const struct study_cell *cell, unsigned jobs_noted,
                            struct base_text *request)
{
    struct errand errand = {.kind = POINT,
                            .path = cell->path,
                            .hash = cell->hash,
                            .rows_unwanted = cell->rows_unwanted,
                            .jobs_noted = jobs_noted};
    write_errand(&errand, cell->overrides, cell->override_count, request);
}

void study_errand_ask_replication(const struct scenario_request *source, const char *hash,
                                  uint32_t replication, enum serve_mode mode,
                                  struct base_text *request)
{
    struct errand errand = {.kind = REPLICATION,
                            .path = source->path,
                            .hash = hash,
                            .rows_unwanted = source->rows_unwanted,
                            .replication = replication,
                            .mode = mode};
    write_errand(&errand, source->overrides, source->override_count, request);
}

/* ---- answers ---- */

/* How it went, then what came of it. */
static void pack_outcome(struct base_pack *pack, enum kvsim_status *status, struct kvsim_error *err)
{
    base_pack_bytes(pack, status, sizeof *status);
    base_pack_bytes(pack, err, sizeof *err);
}

static void pack_replication(struct base_pack *pack, struct study_replication *replication)
{
    struct study_collector *collector = &replication->collector;
    serve_result_pack(pack, &replication->result);
    base_pack_vec(pack, &collector->requests);
    for (size_t i = 0; i < collector->requests.count; i++) {
        base_pack_text(pack, &collector->requests.at[i].id, &collector->arena);
        base_pack_text(pack, &collector->requests.at[i].class_name, &collector->arena);
    }
    base_pack_vec(pack, &collector->samples);
}

enum kvsim_status study_errand_take_point(const struct base_text *answer, struct record_run *out,
                                          struct kvsim_error *err)
{
    struct base_pack pack = base_pack_reader(answer->at, answer->count);
    enum kvsim_status status = KVSIM_OK;
    pack_outcome(&pack, &status, err);
    if (status == KVSIM_OK)
        store_run_pack(&pack, out);
    base_require(base_pack_is_whole(&pack));
    return status;
}

void study_errand_take_replication(const struct base_text *answer, size_t replica_count,
                                   struct study_replication *out)
{
    struct base_pack pack = base_pack_reader(answer->at, answer->count);
    bool has_result = false;
    pack_outcome(&pack, &out->status, &out->err);
    base_pack_bytes(&pack, &has_result, sizeof has_result);
    if (has_result) {
        study_collector_init(&out->collector, replica_count, 0, 0, NULL);
        pack_replication(&pack, out);
        out->is_done = true;
        atomic_store(&out->arrived, out->result.arrived);
    }
    base_require(base_pack_is_whole(&pack));
}

/* ---- at the desk ---- */

struct study_desk {
    struct base_arena arena; /* of the errand at hand */
    struct errand errand;
    struct scenario *scenario; /* the last one, of replications */
    struct base_text source;   /* what it was read from */
};

struct study_desk *study_desk_new(void)
{
    struct study_desk *desk = base_alloc(sizeof *desk);
    base_arena_init(&desk->arena);
    return desk;
}

void study_desk_free(struct study_desk *desk)
{
    scenario_free(desk->scenario);
    base_text_free(&desk->source);
    base_arena_release(&desk->arena);
    base_free(desk);
}

static void do_point(struct study_desk *desk, struct base_text *answer)
{
    const struct errand *errand = &desk->errand;
    struct study_cell cell = {.path = errand->path,
                              .overrides = errand->overrides.at,
                              .override_count = errand->overrides.count,
                              .rows_unwanted = errand->rows_unwanted,
                              .state = STUDY_CELL_READY};
    struct kvsim_error err = {0};
    struct record_run run;
    base_copy(cell.hash, sizeof cell.hash, errand->hash);
    record_run_init(&run);
    enum kvsim_status status = study_cell_run(&cell, 1, errand->jobs_noted, &run, &err);
    struct base_pack pack = base_pack_writer(answer);
    pack_outcome(&pack, &status, &err);
    if (status == KVSIM_OK)
        store_run_pack(&pack, &run);
    record_run_free(&run);
    study_cell_release(&cell);
}

static enum kvsim_status read_scenario(struct study_desk *desk, struct kvsim_error *err)
{
    const struct errand *errand = &desk->errand;
    struct kvsim_diags *diags = base_alloc(sizeof *diags);
    struct scenario_request request = {.path = errand->path,
                                       .overrides = errand->overrides.at,
                                       .override_count = errand->overrides.count,
                                       .purpose = SCENARIO_FOR_RUN,
                                       .rows_unwanted = errand->rows_unwanted,
                                       .held_unwanted = true};
    scenario_free(desk->scenario);
    desk->scenario = NULL;
    enum kvsim_status status = scenario_load(&request, &desk->scenario, diags);
    if (status != KVSIM_OK)
        *err = diags->at[0];
    base_free(diags);
    return status;
}

/* The scenario of the errand, read unless the one before had the same. */
static enum kvsim_status find_scenario(struct study_desk *desk, struct kvsim_error *err)
{
    struct errand errand = desk->errand;
    struct base_text source = {0};
    struct base_pack pack = base_pack_writer(&source);
    errand.replication = 0;
    pack_errand(&pack, &errand, NULL);
    bool is_same = desk->scenario != NULL && source.count == desk->source.count &&
                   memcmp(source.at, desk->source.at, source.count) == 0;
    base_text_free(&desk->source);
    desk->source = source;
    enum kvsim_status status = is_same ? KVSIM_OK : read_scenario(desk, err);
    if (status == KVSIM_OK && strcmp(scenario_config(desk->scenario)->hash, desk->errand.hash) != 0)
        status = base_fail(err, KVSIM_ERR_IO, "a file of the scenario differs from rank 0's");
    return status;
}

static void do_replication(struct study_desk *desk, struct base_text *answer)
{
    struct study_replication *replication = base_alloc(sizeof *replication);
    replication->status = find_scenario(desk, &replication->err);
    if (replication->status == KVSIM_OK)
        study_replication_run(scenario_config(desk->scenario), desk->errand.replication,
                              &(struct study_replication_how){.mode = desk->errand.mode},
                              replication);
    struct base_pack pack = base_pack_writer(answer);
    pack_outcome(&pack, &replication->status, &replication->err);
    base_pack_bytes(&pack, &replication->is_done, sizeof replication->is_done);
    if (replication->is_done) {
        pack_replication(&pack, replication);
        study_replication_release(replication);
    }
    base_free(replication);
}

void study_desk_do(struct study_desk *desk, const struct base_text *request,
                   struct base_text *answer)
{
    struct base_pack pack = base_pack_reader(request->at, request->count);
    desk->errand = (struct errand){.kind = POINT};
    pack_errand(&pack, &desk->errand, &desk->arena);
    base_require(base_pack_is_whole(&pack));
    if (desk->errand.kind == POINT)
        do_point(desk, answer);
    else
        do_replication(desk, answer);
    base_vec_free(&desk->errand.overrides);
    base_arena_release(&desk->arena);
}
