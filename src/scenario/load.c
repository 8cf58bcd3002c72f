/*
 * load.c - a file and options into one tree, its sections in the order in which they depend on each other, one config.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "record/run.h"

#include <string.h>

/* ---- the tree ---- */

static struct conf_node *empty_root(struct base_arena *arena)
{
    struct conf_node *root = conf_new_map(arena);
    root->file = "(command line)";
    root->line = 1;
    root->column = 1;
    return root;
}

enum kvsim_status scenario_read_tree(struct base_arena *arena, const char *path,
                                     const struct scenario_text *text, struct conf_node **out,
                                     struct kvsim_error *err)
{
    return text == NULL ? conf_read_file(arena, path, out, err)
                        : conf_read_text(arena, path, text->at, text->length, out, err);
}

static bool read_root(struct scenario_load *load, const struct scenario_request *request)
{
    struct kvsim_error err;
    if (request->path == NULL) {
        load->root = empty_root(load->reader->arena);
        return true;
    }
    if (scenario_read_tree(load->reader->arena, request->path, request->text, &load->root, &err) !=
        KVSIM_OK)
        return scenario_fail_error(load->reader, NULL, "", &err);
    if (load->root->kind != CONF_MAP)
        return scenario_fail(load->reader, load->root, "", "wrong-type",
                             "a scenario must be a mapping");
    // Nodes reached through an anchor may be shared; an option must change only the place it names.
    load->root = conf_copy(load->reader->arena, load->root);
    return true;
}

/* `--set model.KEY=VALUE` changes what a name stands for: the name becomes {base: NAME}. */
static void open_entry(struct base_arena *arena, struct conf_node *root, const char *key,
                       const char *path)
{
    size_t length = strlen(key);
    struct conf_node *entry = conf_get(root, key);
    if (strncmp(path, key, length) != 0 || path[length] != '.' || entry == NULL ||
        entry->kind != CONF_SCALAR)
        return;
    struct conf_node *map = conf_new_map(arena);
    map->origin = entry->origin;
    map->file = entry->file;
    map->line = entry->line;
    map->column = entry->column;
    conf_put(arena, map, base_ends_with(entry->text, ".json") ? "hf_config" : "base", entry);
    conf_put(arena, root, key, map);
}

static bool apply_overrides(struct scenario_load *load, const struct scenario_request *request)
{
    bool ok = true;
    for (size_t i = 0; i < request->override_count; i++) {
        const struct scenario_override *at = &request->overrides[i];
        struct kvsim_error err;
        open_entry(load->reader->arena, load->root, "model", at->key);
        open_entry(load->reader->arena, load->root, "hardware", at->key);
        const char *option = i + request->axis_count < request->override_count ? "--set" : "--axis";
        if (conf_set_as(load->reader->arena, load->root, option, at->key, at->value, &err) !=
            KVSIM_OK)
            ok = scenario_fail_error(load->reader, NULL, at->key, &err);
    }
    return ok;
}

/* Points of a sweep keep no rows of requests unless somebody asked for them. */
static bool apply_defaults(struct scenario_load *load, const struct scenario_request *request)
{
    static const char *const keys[] = {"requests", "timeline"};
    struct base_arena *arena = load->reader->arena;
    for (size_t i = 0; request->rows_unwanted && i < sizeof keys / sizeof keys[0]; i++) {
        struct conf_node *record = conf_get(load->root, "record");
        struct kvsim_error err;
        const char *path = base_arena_printf(arena, "record.%s", keys[i]);
        if (record != NULL &&
            (record->kind == CONF_SCALAR || !conf_is_null(conf_get(record, keys[i]))))
            continue;
        if (conf_set(arena, load->root, path, "none", &err) != KVSIM_OK)
            return scenario_fail_error(load->reader, NULL, path, &err);
        conf_set_origin(conf_get(conf_get(load->root, "record"), keys[i]), CONF_ORIGIN_DEFAULT);
    }
    return true;
}

/* ---- the sections ---- */

static bool read_top(struct scenario_load *load, const char *path)
{
    struct scenario_top_opts opts = {0};
    bool ok = scenario_read_map(load->reader, load->root, &scenario_top_section, "", &opts);
    const char *name = opts.name;
    if (name == NULL && path != NULL) {
        const char *base = scenario_base_name(path);
        const char *dot = strrchr(base, '.');
        name =
            dot == NULL ? base : base_arena_copy_n(load->reader->arena, base, (size_t)(dot - base));
    }
    load->scenario->config.name = name == NULL ? "command-line" : name;
    return ok;
}

static bool load_hardware(struct scenario_load *load)
{
    const struct conf_node *node = conf_get(load->root, "hardware");
    struct scenario *scenario = load->scenario;
    if (conf_is_null(node))
        return true;
    const struct conf_node *engine = conf_get(load->root, "engine");
    bool stated = !conf_is_null(conf_get(engine, "kv_cache_memory_bytes")) ||
                  !conf_is_null(conf_get(engine, "num_gpu_blocks_override")) ||
                  !conf_is_null(conf_get(engine, "kv_cache_tokens"));
    bool memory_wanted =
        load->purpose != SCENARIO_FOR_STEP && load->purpose != SCENARIO_FOR_KERNEL && !stated;
    scenario->has_hardware = scenario_hardware_load(load->reader, load->root, memory_wanted,
                                                    &scenario->hardware, &load->hardware_tree);
    if (!scenario->has_hardware)
        return false;
    scenario->config.hardware = &scenario->hardware;
    scenario->config.hardware_name = scenario->hardware.name;
    return true;
}

static bool load_model(struct scenario_load *load)
{
    const struct conf_node *node = conf_get(load->root, "model");
    struct scenario *scenario = load->scenario;
    if (conf_is_null(node))
        return scenario_fail(load->reader, load->root, "model", "missing-key",
                             "'model' is missing");
    scenario->has_model =
        scenario_model_load(load->reader, load->root, &scenario->model, &load->model_tree);
    if (!scenario->has_model)
        return false;
    scenario->config.model = &scenario->model;
    scenario->config.model_name = scenario->model.name;
    return true;
}

static bool check_presence(struct scenario_load *load)
{
    const struct scenario *scenario = load->scenario;
    bool runs = load->purpose == SCENARIO_FOR_RUN || load->purpose == SCENARIO_FOR_CHECK;
    bool ok = true;
    if (runs && !scenario->has_workload)
        ok = scenario_fail(load->reader, load->root, "workload", "missing-key",
                           "'workload' is missing");
    if (load->purpose != SCENARIO_FOR_STEP && !scenario->has_hardware && !load->pool_is_stated)
        ok = scenario_fail_hint(
            load->reader, load->root, "hardware", "missing-key",
            "name a device, or state the pool: engine.num_gpu_blocks_override, kv_cache_tokens or "
            "kv_cache_memory_bytes",
            "'hardware' is missing");
    return ok;
}

static bool pool_is_stated(const struct scenario_engine_opts *opts)
{
    return opts->kv_cache_memory_bytes != 0 || opts->num_gpu_blocks_override != 0 ||
           opts->kv_cache_tokens != 0;
}

/* A kernel alone on a GPU asks for the device and the cost options, nothing else. */
static bool resolve_kernel(struct scenario_load *load, const char *path)
{
    struct serve_config *config = &load->scenario->config;
    config->hardware_name = config->model_name = config->engine_name = "";
    bool ok = read_top(load, path);
    ok = scenario_cost_read(load) && ok;
    if (conf_is_null(conf_get(load->root, "hardware")))
        return scenario_fail(load->reader, load->root, "hardware", "missing-key",
                             "'hardware' is missing");
    config->cost.options = &load->scenario->cost;
    return load_hardware(load) && ok;
}

/* Each part is read even when an earlier one failed, as far as it stands on its own. */
static bool resolve(struct scenario_load *load, const char *path)
{
    struct scenario *scenario = load->scenario;
    struct serve_config *config = &scenario->config;
    config->hardware_name = config->model_name = config->engine_name = "";
    bool ok = read_top(load, path);
    ok = scenario_cost_read(load) && ok;
    ok = load_hardware(load) && ok;
    ok = load_model(load) && ok;
    bool engine_ok = scenario_engine_read(load);
    ok = engine_ok && ok;
    config->gpu_count_per_replica =
        (uint32_t)(load->opts.tensor_parallel * load->opts.pipeline_parallel *
                   load->opts.data_parallel);
    if (config->gpu_count_per_replica == 0)
        config->gpu_count_per_replica = 1;
    ok = scenario_workload_read(load) && ok;
    ok = scenario_run_read(load) && ok;
    load->pool_is_stated = pool_is_stated(&load->opts);
    bool hardware_failed =
        !conf_is_null(conf_get(load->root, "hardware")) && !scenario->has_hardware;
    if (!hardware_failed)
        ok = check_presence(load) && ok;
    if (engine_ok)
        ok = scenario_engine_resolve(load) && ok;
    if (!ok)
        return false;
    ok = scenario_pool_make(load) && scenario_cost_resolve(load) &&
         scenario_workload_resolve(load) && scenario_swap_resolve(load);
    if (ok)
        scenario_warn_idle(load);
    return ok;
}

/* ---- the door ---- */

enum kvsim_status scenario_first_status(const struct kvsim_diags *diags)
{
    for (size_t i = 0; i < diags->count; i++) {
        if (diags->at[i].status == KVSIM_ERR_IO)
            return KVSIM_ERR_IO;
    }
    return diags->count == 0 ? KVSIM_ERR_SCENARIO : diags->at[0].status;
}

enum kvsim_status scenario_load(const struct scenario_request *request, struct scenario **out,
                                struct kvsim_diags *diags)
{
    struct scenario *scenario = base_alloc(sizeof *scenario);
    base_arena_init(&scenario->arena);
    struct scenario_reader reader = {
        .arena = &scenario->arena,
        .diags = diags,
        .beside = request->path == NULL ? "" : scenario_folder_of(&scenario->arena, request->path),
        .params = &scenario->params,
        .caveats = &scenario->caveats,
    };
    struct scenario_load load = {.reader = &reader,
                                 .scenario = scenario,
                                 .purpose = request->purpose,
                                 .held_unwanted = request->held_unwanted,
                                 .demand_sequences = request->demand_sequences,
                                 .demand_tokens = request->demand_tokens};
    bool ok =
        read_root(&load, request) && apply_overrides(&load, request) &&
        apply_defaults(&load, request) &&
        (request->purpose == SCENARIO_FOR_KERNEL ? resolve_kernel : resolve)(&load, request->path);
    *out = NULL;
    if (!ok || diags->total > 0) {
        scenario_free(scenario);
        return scenario_first_status(diags);
    }
    if (request->purpose != SCENARIO_FOR_KERNEL)
        scenario_fingerprint(&load);
    scenario->config.params = scenario->params.at;
    scenario->config.param_count = scenario->params.count;
    scenario->config.caveats = scenario->caveats.at;
    scenario->config.caveat_count = scenario->caveats.count;
    if (!request->warnings_wanted)
        diags->warning_count = 0;
    *out = scenario;
    return KVSIM_OK;
}

const struct serve_config *scenario_config(const struct scenario *scenario)
{
    return &scenario->config;
}

void scenario_free(struct scenario *scenario)
{
    if (scenario == NULL)
        return;
    base_vec_free(&scenario->params);
    base_vec_free(&scenario->caveats);
    base_arena_release(&scenario->arena);
    base_free(scenario);
}

bool scenario_figure_is_known(const char *name, const char **near)
{
    const char *names[RECORD_SUMMARY_COUNT + 1];
    size_t count = 0;
    *near = NULL;
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (record_summary_columns[i].kind != RECORD_TEXT)
            names[count++] = record_summary_columns[i].name;
    }
    names[count] = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    *near = base_name_nearest(names, name);
    return false;
}

/* ---- single entries ---- */

static bool wrap_name(struct base_arena *arena, const char *key, const char *name,
                      struct conf_node **root)
{
    struct conf_node *entry = conf_new_scalar(arena, name);
    *root = empty_root(arena);
    entry->file = "";
    conf_put(arena, *root, key, entry);
    return true;
}

static enum kvsim_status take_first(const struct kvsim_diags *diags, struct kvsim_error *err)
{
    if (err != NULL)
        *err = diags->at[0];
    return diags->at[0].status;
}

enum kvsim_status scenario_load_model(struct base_arena *arena, const char *name,
                                      struct spec_model *out, struct kvsim_error *err)
{
    struct kvsim_diags *diags = base_arena_take(arena, sizeof *diags);
    struct scenario_reader reader = {.arena = arena, .diags = diags, .beside = ""};
    struct conf_node *root, *tree;
    wrap_name(arena, "model", name, &root);
    return scenario_model_load(&reader, root, out, &tree) ? KVSIM_OK : take_first(diags, err);
}

enum kvsim_status scenario_load_hardware(struct base_arena *arena, const char *name,
                                         struct spec_hardware *out, struct kvsim_error *err)
{
    struct kvsim_diags *diags = base_arena_take(arena, sizeof *diags);
    struct scenario_reader reader = {.arena = arena, .diags = diags, .beside = ""};
    struct conf_node *root, *tree;
    wrap_name(arena, "hardware", name, &root);
    return scenario_hardware_load(&reader, root, false, out, &tree) ? KVSIM_OK
                                                                    : take_first(diags, err);
}
