/*
 * fingerprint.c - the resolved scenario as canonical text, and its hash.
 *
 * The text is a scenario again: model and hardware written out, the profile's defaults and kvsim's own filled in. The
 * hash takes every parameter in its base unit, the contents of model and hardware, and the bytes of a trace; not the
 * scenario's name, and no path.
 */
#include "scenario/parts.h"

#include "base/hash.h"
#include "cost/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What describes a data file, not the thing. */
static struct conf_node *plain_copy(struct base_arena *arena, const struct conf_node *tree)
{
    static const char *const about[] = {"provenance", "notes", "aliases", "collectives",
                                        "_name_or_path"};
    struct conf_node *copy = conf_copy(arena, tree);
    for (size_t i = 0; i < sizeof about / sizeof about[0]; i++)
        scenario_drop(copy, about[i]);
    return copy;
}

/* A path becomes the file's name: no stored text holds a folder of this machine. */
static void strip_paths(struct base_arena *arena, struct conf_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        struct conf_node *item = node->items[i];
        if (node->kind == CONF_MAP && item->kind == CONF_SCALAR &&
            scenario_key_is_path(node->keys[i]->text))
            item->text = base_arena_copy(arena, scenario_base_name(item->text));
        strip_paths(arena, item);
    }
}

static const char *print(struct base_arena *arena, const struct conf_node *node)
{
    struct base_text text = {0};
    conf_print(node, &text);
    const char *copy = base_arena_copy(arena, text.at == NULL ? "" : text.at);
    base_text_free(&text);
    return copy;
}

static void drop_empty(struct conf_node *root)
{
    for (size_t i = 0; i < root->count;) {
        if (root->items[i]->kind == CONF_MAP && root->items[i]->count == 0)
            scenario_drop(root, root->keys[i]->text);
        else
            i++;
    }
}

static int compare_params(const void *a, const void *b)
{
    const struct serve_param *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static bool is_label(const char *key)
{
    return strcmp(key, "name") == 0 || strcmp(key, "description") == 0 ||
           strcmp(key, "engine.profile") == 0 || base_starts_with(key, "model.") ||
           base_starts_with(key, "hardware.") || base_ends_with(key, ".file");
}

/* A value that another key decides is the parameter KEY.used, right behind KEY: it is what counts, as if it were stated. */
static bool is_replaced(const struct scenario_params *params, size_t i)
{
    const char *key = params->at[i].key;
    return i + 1 < params->count && base_starts_with(params->at[i + 1].key, key) &&
           strcmp(params->at[i + 1].key + strlen(key), ".used") == 0;
}

static void hash_params(const struct scenario *scenario, struct base_hash *hash)
{
    const struct scenario_params *params = &scenario->params;
    for (size_t i = 0; i < params->count; i++) {
        const char *key = params->at[i].key;
        if (is_label(key))
            continue;
        size_t used = is_replaced(params, i) ? i + 1 : i;
        base_hash_text(hash, key);
        base_hash_text(hash, params->at[used].value);
        i = used;
    }
}

/* Efficiencies come from files of their own too; what counts is what was found. */
static void hash_efficiency(const struct spec_hardware *hardware, struct base_hash *hash)
{
    const struct spec_efficiency *e = &hardware->efficiency;
    base_hash_bytes(hash, e->gemm_prefill, sizeof e->gemm_prefill);
    base_hash_bytes(hash, e->gemm_chunk, sizeof e->gemm_chunk);
    for (size_t i = 0; i < SPEC_DTYPE_COUNT; i++) {
        const double affine[] = {e->weight_stream[i].fixed_s, e->weight_stream[i].fraction,
                                 e->decode_attention[i].fixed_s, e->decode_attention[i].fraction};
        base_hash_bytes(hash, affine, sizeof affine);
    }
    const double rest[] = {e->prefill_attention_long, e->prefill_attention_mid,
                           e->prefill_attention_short, e->launch_s, e->graph_launch_s};
    base_hash_bytes(hash, rest, sizeof rest);
    base_hash_bytes(hash, &hardware->memory_bytes, sizeof hardware->memory_bytes);
    const struct spec_calibration *calibration = &hardware->calibration;
    for (size_t i = 0; hardware->has_calibration && i < SPEC_COEFFICIENT_COUNT; i++)
        base_hash_bytes(hash, &calibration->value[i], sizeof calibration->value[i]);
    for (size_t i = 0; hardware->has_calibration && i < calibration->collective_count; i++) {
        const struct spec_collective *fit = &calibration->collectives[i];
        const double values[] = {fit->gpu_count, fit->latency_s, fit->bytes_per_s,
                                 fit->bulk_latency_s, fit->bulk_bytes_per_s};
        base_hash_bytes(hash, values, sizeof values);
    }
}

static void hash_file(const char *path, struct base_hash *hash)
{
    unsigned char piece[65536];
    size_t got;
    FILE *file = path == NULL ? NULL : fopen(path, "rb");
    if (file == NULL)
        return;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0)
        base_hash_bytes(hash, piece, got);
    fclose(file);
}

static bool has_text(const struct conf_node *map, const char *key, const char *text)
{
    const struct conf_node *node = conf_get(map, key);
    return node != NULL && node->text != NULL && strcmp(node->text, text) == 0;
}

// Keys of the selective ways to store, and of a prefetch.
static void drop_idle_of_offload(struct conf_node *offload)
{
    static const char *const timeouts[] = {"prefetch_timeout", "prefetch_timeout_per_1k",
                                           "prefetch_timeout_max"};
    if (!has_text(offload, "store", "selective") &&
        !has_text(offload, "store", "write_through_selective"))
        scenario_drop(offload, "store_threshold");
    if (has_text(offload, "prefetch", "none"))
        scenario_drop(offload, "prefetch_threshold");
    for (size_t i = 0;
         i < sizeof timeouts / sizeof *timeouts && !has_text(offload, "prefetch", "timeout"); i++)
        scenario_drop(offload, timeouts[i]);
}

/* What a scenario may not state, as nothing would use it: it came from the profile. */
static void drop_idle(const struct scenario_load *load, struct conf_node *resolved)
{
    struct conf_node *engine = conf_get(resolved, "engine");
    struct conf_node *list = conf_get(engine, "switch");
    if (list != NULL && !scenario_retention_matters(load))
        scenario_drop(list, "window_retention");
    if (list != NULL && !scenario_state_caching_matters(load))
        scenario_drop(list, "state_caching");
    if (list != NULL && !scenario_tiers_exist(load))
        scenario_drop(list, "reserve_for_loads"); // transfers are behind a tier alone
    if (list != NULL && !scenario_offload_tables_matter(load))
        scenario_drop(list, "offload_tables");
    struct conf_node *offload = conf_get(engine, "kv_offload");
    if (offload != NULL)
        drop_idle_of_offload(offload);
    if (!load->pool_is_stated || engine == NULL)
        return;
    scenario_drop(engine, "memory");
    scenario_drop(engine, "gpu_memory_utilization");
}

void scenario_fingerprint(struct scenario_load *load)
{
    struct scenario *scenario = load->scenario;
    struct base_arena *arena = load->reader->arena;
    struct conf_node *resolved = conf_copy(arena, load->root);
    struct conf_node *model = load->model_tree == NULL ? NULL : plain_copy(arena, load->model_tree);
    struct conf_node *hardware =
        load->hardware_tree == NULL ? NULL : plain_copy(arena, load->hardware_tree);
    struct base_hash hash;
    if (model != NULL)
        conf_put(arena, resolved, "model", model);
    if (hardware != NULL)
        conf_put(arena, resolved, "hardware", hardware);
    strip_paths(arena, resolved);
    drop_idle(load, resolved);
    drop_empty(resolved);
    scenario->config.yaml = print(arena, resolved);
    if (scenario->params.count > 0)
        qsort(scenario->params.at, scenario->params.count, sizeof *scenario->params.at,
              compare_params);
    base_hash_init(&hash);
    base_hash_text(&hash, SCENARIO_RESULT_VERSION);
    hash_params(scenario, &hash);
    base_hash_text(&hash, model == NULL ? "" : print(arena, model));
    base_hash_text(&hash, hardware == NULL ? "" : print(arena, hardware));
    if (scenario->has_hardware)
        hash_efficiency(&scenario->hardware, &hash);
    // How the profile cuts memory into a pool is no parameter, but its result is.
    base_hash_bytes(&hash, &scenario->config.pool_blocks, sizeof scenario->config.pool_blocks);
    hash_file(load->trace_path, &hash);
    hash_file(scenario->cost.table == NULL ? NULL : scenario->cost.table->file, &hash);
    base_hash_hex(&hash, scenario->config.hash);
}
