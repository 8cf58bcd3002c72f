/*
 * cost_part.c - `cost` to cost_config, and whether the device can be priced at that level.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "spec/kv.h"

#include <stddef.h>

static bool level_wants_hardware(enum cost_level level)
{
    return level == COST_DATASHEET || level == COST_CALIBRATED;
}

struct kv_dtype_opts {
    double read_fraction, write_ns, dequant_ns;
};

static const struct base_field kv_dtype_fields[] = {
    {.key = "read_efficiency",
     .type = BASE_REAL,
     .unit = BASE_RATIO,
     .min_open = true,
     .max = 1,
     .offset = offsetof(struct kv_dtype_opts, read_fraction),
     .help = "share of bandwidth of decode attention"},
    {.key = "write_cost",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     .max = 1e18,
     .offset = offsetof(struct kv_dtype_opts, write_ns),
     .help = "time for each new token and layer"},
    {.key = "dequant_cost",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     .max = 1e18,
     .offset = offsetof(struct kv_dtype_opts, dequant_ns),
     .help = "time for each token of context and layer in decode attention"},
    {0},
};

static bool read_kv_dtype(struct scenario_load *load, const struct conf_node *key,
                          struct conf_node *map, struct cost_kv_dtype_options *out)
{
    static const struct scenario_section section = {"cost.kv_dtype", kv_dtype_fields, NULL,
                                                    "one format of the KV cache"};
    const char *path = base_arena_printf(load->reader->arena, "cost.kv_dtype.%s", key->text);
    struct spec_kv_format format;
    struct kv_dtype_opts opts = {0};
    if (!spec_kv_format_find(key->text, &format))
        return scenario_fail(load->reader, key, path, "unknown-name",
                             "unknown KV cache dtype '%.60s'", key->text);
    if (map->kind != CONF_MAP)
        return scenario_fail(
            load->reader, map, path, "wrong-type",
            "a KV cache dtype must be a mapping {read_efficiency, write_cost, dequant_cost}");
    if (!scenario_read_map(load->reader, map, &section, path, &opts))
        return false;
    *out = (struct cost_kv_dtype_options){key->text, opts.read_fraction, opts.write_ns,
                                          opts.dequant_ns};
    return true;
}

static bool read_kv_dtypes(struct scenario_load *load)
{
    const struct conf_node *map = load->cost_opts.kv_dtype;
    struct cost_options *cost = &load->scenario->cost;
    bool ok = true;
    if (map == NULL)
        return true;
    if (map->kind != CONF_MAP || map->count > COST_KV_DTYPES_MAX)
        return scenario_fail(load->reader, map, "cost.kv_dtype", "wrong-type",
                             "'kv_dtype' must be a mapping of at most %d dtypes",
                             (int)COST_KV_DTYPES_MAX);
    for (size_t i = 0; i < map->count; i++)
        ok = read_kv_dtype(load, map->keys[i], map->items[i], &cost->kv_dtypes[i]) && ok;
    cost->kv_dtype_count = map->count;
    return ok;
}

bool scenario_cost_read(struct scenario_load *load)
{
    struct conf_node *map = scenario_child(load->reader, load->root, "", "cost");
    bool ok = map != NULL && scenario_read_map(load->reader, map, &scenario_cost_section, "cost",
                                               &load->cost_opts);
    load->scenario->cost = load->cost_opts.cost;
    return ok && read_kv_dtypes(load);
}

static bool check_level(struct scenario_load *load, enum cost_level level)
{
    const struct conf_node *node = conf_get(conf_get(load->root, "cost"), "level");
    if (level == COST_CALIBRATED &&
        (!load->scenario->has_hardware || !load->scenario->hardware.has_calibration))
        return scenario_fail_hint(load->reader, node, "cost.level", "no-calibration",
                                  "leave cost.level out, or set it to datasheet",
                                  "the hardware file holds no calibration");
    return true;
}

static bool check_keys(struct scenario_load *load, enum cost_level level)
{
    struct scenario_reader *reader = load->reader;
    struct conf_node *map = conf_get(load->root, "cost");
    const struct cost_options *cost = &load->scenario->cost;
    if (!scenario_check_used(reader, map, "cost", scenario_cost_section.fields,
                             cost_level_name(level), "cost level"))
        return false;
    if (level == COST_FIXED && cost->fixed_step_ns == 0)
        return scenario_fail(reader, map, "cost.step", "missing-key",
                             "level 'fixed' needs 'cost.step'");
    if (level == COST_AFFINE && cost->affine.has_prefill_rate &&
        scenario_stated(map, "per_prefill_token") != NULL)
        return scenario_fail(reader, conf_get(map, "prefill_rate"), "cost.prefill_rate", "conflict",
                             "'prefill_rate' and 'per_prefill_token' say the same");
    if (level == COST_AFFINE && cost->affine.base_ns == 0 &&
        cost->affine.per_prefill_token_ns == 0 && cost->affine.per_decode_seq_ns == 0 &&
        cost->affine.per_context_token_ns == 0 && cost->affine.per_prefill_token_context_ns == 0 &&
        !cost->affine.has_prefill_rate)
        return scenario_fail(reader, map, "cost", "missing-key",
                             "level 'affine' needs at least one of its terms");
    return true;
}

/* Keys that dense models have no use for; vLLM does not start with expert parallelism there either. */
static bool check_experts(struct scenario_load *load)
{
    const struct scenario *scenario = load->scenario;
    const struct spec_model *model = &scenario->model;
    const struct conf_node *skew = scenario_stated(conf_get(load->root, "cost"), "expert_skew");
    const struct conf_node *ranks =
        scenario_stated(conf_get(load->root, "engine"), "enable_expert_parallel");
    if (!scenario->has_model || model->only_groups || model->expert_count > 0)
        return true;
    if (skew != NULL && scenario->cost.expert_skew > 0)
        return scenario_fail_hint(load->reader, skew, "cost.expert_skew", "unused-key",
                                  "leave 'cost.expert_skew' out", "model %s has no experts",
                                  model->name);
    if (ranks != NULL && load->opts.enable_expert_parallel)
        return scenario_fail_hint(load->reader, ranks, "engine.enable_expert_parallel",
                                  "unused-key", "leave 'engine.enable_expert_parallel' out",
                                  "model %s has no experts", model->name);
    return true;
}

static bool check_hardware(struct scenario_load *load, enum cost_level level)
{
    const struct scenario *scenario = load->scenario;
    if (!level_wants_hardware(level))
        return true;
    if (!scenario->has_hardware)
        return scenario_fail_hint(load->reader, load->root, "hardware", "missing-key",
                                  "name a device, or set cost: {level: fixed, step: 10ms}",
                                  "'hardware' is missing: cost level '%s' needs it",
                                  cost_level_name(level));
    if (scenario->has_model && scenario->model.only_groups)
        return scenario_fail_hint(
            load->reader, conf_get(load->root, "model"), "model", "missing-key",
            "state the geometry, or set cost: {level: fixed, step: 10ms}",
            "the model has only KV groups: cost level '%s' needs its geometry",
            cost_level_name(level));
    return true;
}

/* Making an instance finds what the level misses: a rate of the device, an unknown shape. */
static bool try_cost(struct scenario_load *load)
{
    struct kvsim_error err = {.status = KVSIM_OK};
    struct base_arena arena;
    struct cost *cost;
    base_arena_init(&arena);
    enum kvsim_status status = cost_new(&load->scenario->config.cost, &arena, &cost, &err);
    base_arena_release(&arena);
    if (status == KVSIM_OK)
        return true;
    return scenario_fail_error(load->reader, conf_get(load->root, "hardware"), "cost", &err);
}

bool scenario_cost_resolve(struct scenario_load *load)
{
    struct scenario *scenario = load->scenario;
    struct serve_config *config = &scenario->config;
    const struct spec_hardware *hardware = scenario->has_hardware ? &scenario->hardware : NULL;
    enum cost_level level = cost_level_resolve(&scenario->cost, hardware);
    if (!check_level(load, level) || !check_keys(load, level) || !check_experts(load))
        return false;
    // Sizing prices no step: a card known by its memory alone is enough.
    bool prices = load->purpose != SCENARIO_FOR_SIZE;
    if (prices && !check_hardware(load, level))
        return false;
    bool reads = prices || load->cost_opts.file == NULL; // that it is missing is said in any case
    if (reads && level == COST_TABLE && !scenario_cost_table_read(load, &load->cost_opts))
        return false;
    if (!scenario->cost.has_level && level == COST_CALIBRATED)
        scenario_param_derived(load->reader, "cost.level", cost_level_name(level), "",
                               SPEC_MEASURED, hardware->calibration.source);
    else if (!scenario->cost.has_level)
        scenario_param_derived(load->reader, "cost.level", cost_level_name(level), "", SPEC_ASSUMED,
                               "no calibration in the hardware file");
    config->sched.cached_step_tokens = cost_cached_step_tokens(&scenario->cost);
    config->cost.options = &scenario->cost;
    config->cost.model = &scenario->model;
    config->cost.hardware = hardware;
    config->cost.layout = &config->layout;
    config->cost.tensor_parallel = config->tensor_parallel;
    config->cost.pipeline_parallel = config->pipeline_parallel;
    config->cost.data_parallel = config->data_parallel;
    config->cost.expert_parallel = load->opts.enable_expert_parallel;
    config->cost.async_scheduling = load->opts.async_scheduling;
    config->cost.cuda_graphs = !load->opts.enforce_eager;
    config->cost.mla_absorbed = true;
    config->cost.dtype = load->model_dtype;
    config->cost.kv_dtype = config->layout.k_format.name;
    config->cost.max_decode_seqs = (uint32_t)load->opts.max_num_seqs;
    if (!prices)
        return true;
    if (level == COST_DATASHEET)
        scenario_caveat(load->reader, "uncalibrated",
                        "step times follow from datasheet rates and default efficiencies; nothing "
                        "was fitted to this device");
    return try_cost(load);
}
