/*
 * hardware_efficiency.c - achieved shares of the peaks and times per kernel: leaf by leaf from the device, its generation, or
 * all devices (hardware/defaults.yaml).
 */
#include "scenario/hardware_opts.h"

#include "base/error.h"
#include "spec/hardware.h"

struct leaves {
    struct scenario_reader *reader;
    const struct conf_node *own, *generation, *global; /* own may be NULL, the others too */
    bool ok;
};

static const struct conf_node *find_leaf(const struct conf_node *tree, const char *group,
                                         const char *row, const char *leaf)
{
    const struct conf_node *node = conf_get(tree, group);
    if (row != NULL)
        node = conf_get(node, row);
    node = conf_get(node, leaf);
    return conf_is_null(node) ? NULL : node;
}

/* A leaf from the device, its generation or all devices, in this order; 0 when none has it. */
static double leaf_value(struct leaves *leaves, const char *group, const char *row,
                         const char *leaf, enum base_unit unit)
{
    const struct conf_node *trees[] = {leaves->own, leaves->generation, leaves->global};
    struct base_field field = {.key = leaf, .type = BASE_REAL, .unit = unit};
    if (unit == BASE_RATIO) {
        field.min_open = true;
        field.max = 1.0;
    }
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        const struct conf_node *node = find_leaf(trees[i], group, row, leaf);
        double value = 0;
        if (node == NULL)
            continue;
        const char *path =
            base_arena_printf(leaves->reader->arena, "hardware.efficiency.%s.%s%s%s", group,
                              row == NULL ? "" : row, row == NULL ? "" : ".", leaf);
        leaves->ok = scenario_read_value(leaves->reader, node, &field, path, &value) && leaves->ok;
        return value;
    }
    return 0;
}

static struct spec_affine leaf_affine(struct leaves *leaves, const char *group, const char *row)
{
    return (struct spec_affine){.fixed_s = leaf_value(leaves, group, row, "t0", BASE_TIME) * 1e-9,
                                .fraction = leaf_value(leaves, group, row, "eff", BASE_RATIO)};
}

static void fill_dtype(struct leaves *leaves, const char *name, enum spec_dtype dtype,
                       struct spec_efficiency *out)
{
    out->gemm_prefill[dtype] = leaf_value(leaves, "gemm", name, "prefill", BASE_RATIO);
    out->gemm_chunk[dtype] = leaf_value(leaves, "gemm", name, "chunk", BASE_RATIO);
    out->weight_stream[dtype] = leaf_affine(leaves, "weight_stream", name);
    // Below 16 bits what all devices reach is scaled by what this one reaches in 16 (cost/rates.c).
    struct leaves near = *leaves;
    if (spec_dtype_bytes(dtype) < 2)
        near.global = NULL;
    out->decode_attention[dtype] = leaf_affine(&near, "decode_attention", name);
    leaves->ok = near.ok;
}

/* A misspelt group or leaf would be passed over in silence. */
static bool check_efficiency(struct scenario_reader *reader, const struct conf_node *tree)
{
    static const char *const groups[] = {"gemm",
                                         "weight_stream",
                                         "decode_attention",
                                         "prefill_attention",
                                         "launch",
                                         "memory_stream",
                                         "host",
                                         NULL};
    static const char *const rows[] = {"fp32", "fp16", "bf16", "fp8", "fp8_block",
                                       "int8", "fp4",  "int4", NULL};
    bool ok = true;
    if (tree == NULL)
        return true;
    if (tree->kind != CONF_MAP)
        return scenario_fail(reader, tree, "hardware.efficiency", "wrong-type",
                             "'efficiency' must be a mapping");
    for (size_t i = 0; i < tree->count; i++) {
        const char *near = NULL;
        const struct conf_node *bad = NULL;
        size_t g = 0;
        while (groups[g] != NULL && !base_key_equal(groups[g], tree->keys[i]->text))
            g++;
        if (groups[g] == NULL) {
            bad = tree->keys[i];
            near = base_name_nearest(groups, bad->text);
        }
        const struct conf_node *group = tree->items[i];
        for (size_t j = 0;
             g < 4 && groups[g] != NULL && group->kind == CONF_MAP && j < group->count; j++) {
            size_t r = 0;
            while (rows[r] != NULL && !base_key_equal(rows[r], group->keys[j]->text))
                r++;
            if (rows[r] == NULL) {
                bad = group->keys[j];
                near = base_name_nearest(rows, bad->text);
            }
        }
        if (bad != NULL)
            ok = scenario_fail_hint(
                reader, bad, "hardware.efficiency", "unknown-key",
                near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near),
                "unknown key '%.60s' in 'hardware.efficiency'", bad->text);
    }
    return ok;
}

static void fill_leaves(struct leaves *leaves, struct spec_efficiency *out)
{
    static const struct {
        const char *name;
        enum spec_dtype dtype;
    } rows[] = {{"bf16", SPEC_BF16}, {"fp16", SPEC_FP16}, {"fp8", SPEC_FP8},
                {"int8", SPEC_INT8}, {"fp4", SPEC_FP4},   {"int4", SPEC_INT4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fill_dtype(leaves, rows[i].name, rows[i].dtype, out);
    out->prefill_attention_long =
        leaf_value(leaves, "prefill_attention", "bf16", "long", BASE_RATIO);
    out->prefill_attention_mid = leaf_value(leaves, "prefill_attention", "bf16", "mid", BASE_RATIO);
    out->prefill_attention_short =
        leaf_value(leaves, "prefill_attention", "bf16", "short", BASE_RATIO);
    out->launch_s = leaf_value(leaves, "launch", NULL, "stream", BASE_TIME) * 1e-9;
    out->graph_launch_s = leaf_value(leaves, "launch", NULL, "graph", BASE_TIME) * 1e-9;
}

bool scenario_efficiency_read(struct scenario_reader *reader, const struct conf_node *own,
                              const struct conf_node *provenance, const char *architecture,
                              struct spec_efficiency *out)
{
    struct conf_node *defaults;
    if (!scenario_find_hardware_defaults(reader, &defaults))
        return false;
    struct leaves leaves = {
        .reader = reader,
        .own = own,
        .generation = conf_get(conf_get(defaults, "generations"), architecture),
        .global = conf_get(defaults, "global"),
        .ok = check_efficiency(reader, own),
    };
    fill_leaves(&leaves, out);
    out->present = true;
    out->claim = SPEC_ASSUMED;
    out->source = "hardware/defaults.yaml";
    if (own != NULL)
        scenario_provenance_find(provenance, "efficiency.gemm.bf16", &out->claim, &out->source);
    return leaves.ok;
}

bool scenario_hardware_check_defaults(struct scenario_reader *reader, const struct conf_node *tree)
{
    const struct conf_node *generations = conf_get(tree, "generations"),
                           *global = conf_get(tree, "global");
    bool ok = global == NULL || check_efficiency(reader, global);
    if (generations != NULL && generations->kind != CONF_MAP)
        return scenario_fail(reader, generations, "generations", "wrong-type",
                             "'generations' must be a mapping");
    for (size_t i = 0; generations != NULL && i < generations->count; i++)
        ok = check_efficiency(reader, generations->items[i]) && ok;
    for (size_t i = 0; generations != NULL && ok && i < generations->count; i++) {
        struct spec_efficiency efficiency = {0};
        struct leaves leaves = {
            .reader = reader, .own = generations->items[i], .generation = global, .ok = true};
        fill_leaves(&leaves, &efficiency);
        ok = leaves.ok;
    }
    return scenario_provenance_check(reader, conf_get(tree, "provenance"), "provenance") && ok;
}
