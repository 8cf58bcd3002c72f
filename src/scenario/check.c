/*
 * check.c - `kvsim check FILE`: what the file is follows from its keys, and it is read as a run would read it.
 */
#include "scenario/parts.h"

#include "base/error.h"

#include <string.h>

enum kind { KIND_SCENARIO, KIND_MODEL, KIND_HARDWARE, KIND_DEFAULTS, KIND_ENGINE, KIND_UNKNOWN };

static bool has_key(const struct conf_node *tree, const char *key)
{
    return conf_get(tree, key) != NULL;
}

static bool has_any(const struct conf_node *tree, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        if (has_key(tree, *keys))
            return true;
    }
    return false;
}

static enum kind kind_of(const struct conf_node *tree, const char *path)
{
    static const char *const scenario[] = {"workload", "engine",   "run",     "cost", "slo",
                                           "model",    "hardware", "cluster", NULL};
    static const char *const engine[] = {"scheduler", "switches", "defaults_by_memory", "family",
                                         NULL};
    static const char *const hardware[] = {
        "memory_bandwidth", "tflops", "memory_nominal", "memory", "link", "calibration", NULL};
    static const char *const model[] = {
        "num_hidden_layers", "kv_groups",   "architectures", "n_layer",
        "text_config",       "hidden_size", "n_embd",        NULL};
    if (has_key(tree, "generations") || has_key(tree, "global"))
        return KIND_DEFAULTS;
    if (has_any(tree, scenario))
        return KIND_SCENARIO;
    if (has_any(tree, engine))
        return KIND_ENGINE;
    if (has_any(tree, model))
        return KIND_MODEL;
    if (has_any(tree, hardware))
        return KIND_HARDWARE;
    // {base: NAME, one change} says it by its folder alone.
    if (strstr(path, "hardware/") != NULL)
        return KIND_HARDWARE;
    if (strstr(path, "models/") != NULL)
        return KIND_MODEL;
    return strstr(path, "engines/") != NULL ? KIND_ENGINE : KIND_UNKNOWN;
}

static void check_scenario(const struct scenario_request *asked, struct kvsim_diags *diags)
{
    struct scenario_request request = *asked;
    struct scenario *scenario;
    request.purpose = SCENARIO_FOR_CHECK;
    request.warnings_wanted = true;
    if (scenario_load(&request, &scenario, diags) == KVSIM_OK)
        scenario_free(scenario);
}

/* The values of a profile, read as a scenario's would be. */
static void check_engine(struct scenario_reader *reader, struct conf_node *tree)
{
    struct scenario_profile profile = {.tree = tree};
    struct scenario_engine_opts opts = {0};
    struct scenario_load sizing = {.reader = reader, .profile = profile};
    if (!scenario_profile_check(reader, tree))
        return;
    scenario_provenance_check(reader, conf_get(tree, "provenance"), "provenance");
    struct conf_node *engine = scenario_profile_defaults(reader, &profile, NULL);
    struct conf_node *memory = conf_get(engine, "memory"), *switches = conf_get(engine, "switch");
    scenario_read_map(reader, engine, &scenario_engine_section, "engine", &opts);
    scenario_sizing_read(&sizing);
    if (memory != NULL && memory->kind == CONF_MAP)
        scenario_read_map(reader, memory, &scenario_memory_section, "engine.memory",
                          &opts.memory_opts);
    if (switches != NULL && switches->kind == CONF_MAP)
        scenario_read_map(reader, switches, &scenario_switch_section, "engine.switch",
                          &opts.switch_opts);
}

static void check_entry(struct scenario_reader *reader, enum kind kind, struct conf_node *tree)
{
    struct spec_model *model = base_arena_take(reader->arena, sizeof *model);
    struct spec_hardware *hardware = base_arena_take(reader->arena, sizeof *hardware);
    struct conf_node *whole;
    enum scenario_data data = kind == KIND_MODEL ? SCENARIO_MODEL : SCENARIO_HARDWARE;
    const char *key = kind == KIND_MODEL ? "model" : "hardware";
    if (!scenario_entry_load(reader, data, tree, key, &whole))
        return;
    bool ok = kind == KIND_MODEL ? scenario_model_read(reader, whole, key, false, model)
                                 : scenario_hardware_read(reader, whole, key, hardware);
    if (ok)
        scenario_provenance_check(reader, conf_get(whole, "provenance"), "provenance");
    if (ok && kind == KIND_MODEL)
        scenario_lint_model(reader, whole, model);
    if (ok && kind == KIND_HARDWARE)
        scenario_lint_hardware(reader, whole, hardware);
}

static bool check_overrides(struct scenario_reader *reader, const struct scenario_request *request,
                            enum kind kind)
{
    if (kind == KIND_SCENARIO || kind == KIND_UNKNOWN || request->override_count == 0)
        return true;
    return scenario_fail_hint(reader, NULL, request->overrides[0].key, "not-a-scenario",
                              "a change of one: {base: NAME, KEY: VALUE} in a file of its own",
                              "--set changes keys of a scenario, and %.200s is none",
                              request->path);
}

static void check_tree(struct scenario_reader *reader, const struct scenario_request *request,
                       struct conf_node *tree)
{
    enum kind kind = kind_of(tree, request->path);
    if (!check_overrides(reader, request, kind))
        return;
    switch (kind) {
    case KIND_SCENARIO:
        check_scenario(request, reader->diags);
        break;
    case KIND_ENGINE:
        check_engine(reader, tree);
        break;
    case KIND_MODEL:
    case KIND_HARDWARE:
        check_entry(reader, kind, tree);
        break;
    case KIND_DEFAULTS:
        scenario_hardware_check_defaults(reader, tree);
        break;
    case KIND_UNKNOWN:
        scenario_fail_hint(reader, tree, "", "unknown-file",
                           "a scenario has 'workload', a model 'num_hidden_layers', a device "
                           "'memory_bandwidth' or 'calibration', an engine 'scheduler'",
                           "the file is neither a scenario nor a model, device or engine");
        break;
    }
}

enum kvsim_status scenario_check(const struct scenario_request *request, struct kvsim_diags *diags)
{
    struct base_arena arena;
    struct kvsim_error err;
    struct conf_node *tree;
    base_arena_init(&arena);
    struct scenario_reader reader = {
        .arena = &arena, .diags = diags, .beside = scenario_folder_of(&arena, request->path)};
    if (scenario_read_tree(&arena, request->path, request->text, &tree, &err) != KVSIM_OK)
        scenario_fail_error(&reader, NULL, "", &err);
    else if (tree->kind != CONF_MAP)
        scenario_fail(&reader, tree, "", "wrong-type", "the file must hold a mapping");
    else
        check_tree(&reader, request, tree);
    base_arena_release(&arena);
    return diags->total == 0 ? KVSIM_OK : scenario_first_status(diags);
}

enum kvsim_status scenario_check_file(const char *path, struct kvsim_diags *diags)
{
    struct scenario_request request = {.path = path};
    return scenario_check(&request, diags);
}
