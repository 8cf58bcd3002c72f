/*
 * engine.c - `engine`: the profile's defaults under what the scenario says, limits as the engine derives them, formats.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "catalog/catalog.h"
#include "spec/hardware.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A stated function or table of the activation replaces the profile's; it is not mixed with it. */
static void drop_replaced(struct conf_node *defaults, const struct conf_node *engine)
{
    const struct conf_node *stated = conf_get(conf_get(engine, "memory"), "activation");
    struct conf_node *memory = conf_get(defaults, "memory");
    if (!conf_is_null(stated) && memory != NULL)
        scenario_drop(memory, "activation");
}

static bool read_parts(struct scenario_load *load)
{
    struct scenario_reader *reader = load->reader;
    struct conf_node *memory = scenario_child(reader, load->engine, "engine", "memory");
    struct conf_node *switches = scenario_child(reader, load->engine, "engine", "switch");
    bool ok = memory != NULL && switches != NULL;
    if (memory != NULL)
        ok = scenario_read_map(reader, memory, &scenario_memory_section, "engine.memory",
                               &load->opts.memory_opts) &&
             ok;
    if (switches != NULL)
        ok = scenario_read_map(reader, switches, &scenario_switch_section, "engine.switch",
                               &load->opts.switch_opts) &&
             ok;
    return ok;
}

static bool check_profile(struct scenario_load *load)
{
    const struct conf_node *node = conf_get(load->engine, "profile");
    if (catalog_scheduler(load->profile.scheduler) != NULL || load->purpose == SCENARIO_FOR_SIZE)
        return true;
    return scenario_fail(load->reader, node, "engine.profile", "unsupported-profile",
                         "the scheduler '%.60s' of %.60s is not simulated by this version; kvsim "
                         "size knows its memory",
                         load->profile.scheduler, load->profile.name);
}

bool scenario_engine_read(struct scenario_load *load)
{
    struct scenario_reader *reader = load->reader;
    struct conf_node *stated = scenario_child(reader, load->root, "", "engine");
    if (stated == NULL || !scenario_profile_load(reader, stated, &load->profile))
        return false;
    const struct spec_hardware *hardware =
        load->scenario->has_hardware ? &load->scenario->hardware : NULL;
    struct conf_node *defaults = scenario_profile_defaults(reader, &load->profile, hardware);
    if (!scenario_sizing_respell(load, stated) || !scenario_sizing_respell(load, defaults))
        return false;
    drop_replaced(defaults, stated);
    load->engine = conf_overlay(reader->arena, defaults, stated);
    conf_put(reader->arena, load->root, "engine", load->engine);
    reader->provenance = conf_get(load->profile.tree, "provenance");
    bool ok =
        scenario_read_map(reader, load->engine, &scenario_engine_section, "engine", &load->opts);
    ok = scenario_check_used(reader, load->engine, "engine", scenario_engine_section.fields,
                             load->profile.family, "engine") &&
         ok;
    ok = read_parts(load) && scenario_sizing_read(load) && ok;
    load->scenario->config.engine_name = load->profile.name;
    scenario_param_derived(reader, "engine.profile.resolved", load->profile.name, "",
                           SPEC_CALCULATED, "newest known release that is not newer");
    return check_profile(load) && ok;
}

/* ---- what this version does not simulate ---- */

static bool fail_unsupported(struct scenario_load *load, const char *key, const char *what)
{
    const struct conf_node *node = conf_get(load->engine, key);
    return scenario_fail(load->reader, node == NULL ? load->engine : node,
                         scenario_join(load->reader->arena, "engine", key), "unsupported-key", "%s",
                         what);
}

static bool check_switches(struct scenario_load *load)
{
    static const struct {
        const char *key, *why;
    } idle[] = {
        {"reserve_for_loads",
         "it concerns loads between steps, which kv_policy radix does not know, "
         "and there are none without 'engine.kv_tiers'"},
    };
    const struct conf_node *switches = conf_get(load->engine, "switch");
    bool ok = true;
    bool has_loads = scenario_tiers_exist(load) && load->opts.kv_policy != KV_RADIX;
    size_t count = sizeof idle / sizeof idle[0] - (has_loads ? 1 : 0);
    for (size_t i = 0; i < count; i++) {
        const struct conf_node *node = scenario_stated(switches, idle[i].key);
        if (node != NULL)
            ok = scenario_fail_hint(
                load->reader, node,
                scenario_join(load->reader->arena, "engine.switch", idle[i].key), "unsupported-key",
                idle[i].why, "'engine.switch.%s' has no effect", idle[i].key);
    }
    return ok;
}

/* A release whose profile says nothing of the queue's order has one alone. */
static bool check_order(struct scenario_load *load)
{
    const struct conf_node *defaults = conf_get(load->profile.tree, "defaults");
    if (load->opts.scheduling_policy == SCHED_FCFS ||
        !conf_is_null(conf_get(defaults, "scheduling_policy")))
        return true;
    return scenario_fail_hint(load->reader, conf_get(load->engine, "scheduling_policy"),
                              "engine.scheduling_policy", "conflict",
                              "leave it out, or name a release that has it (vLLM: from 0.6.3 on)",
                              "%s serves its queue in order of arrival alone", load->profile.name);
}

static bool check_run_support(struct scenario_load *load)
{
    const struct scenario_engine_opts *opts = &load->opts;
    bool ok = check_switches(load);
    if (opts->data_parallel > 1 && load->purpose != SCENARIO_FOR_STEP &&
        load->purpose != SCENARIO_FOR_SIZE)
        ok = fail_unsupported(load, "data_parallel_size",
                              "data parallelism inside a replica is not simulated by this version; "
                              "cluster.replicas is");
    if (!scenario_is_run(load))
        return ok;
    if (opts->pipeline_parallel > 1)
        ok = fail_unsupported(load, "pipeline_parallel_size",
                              "pipeline parallelism is not simulated by this version; kvsim size "
                              "and step compute it");
    return ok;
}

/* ---- limits ---- */

static void derived_int(struct scenario_load *load, const char *key, int64_t value,
                        const char *unit, const char *source)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    scenario_param_derived(load->reader, key, text, unit, SPEC_CALCULATED, source);
}

/* A value that the engine derives goes into the tree, so that the resolved scenario says what was used. */
static void derived_limit(struct scenario_load *load, const char *key, int64_t value,
                          const char *unit, const char *source)
{
    bool was_absent = conf_is_null(conf_get(load->engine, key));
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    struct conf_node *node = conf_new_scalar(load->reader->arena, text);
    node->origin = CONF_ORIGIN_DEFAULT;
    conf_put(load->reader->arena, load->engine, key, node);
    derived_int(
        load,
        base_arena_printf(load->reader->arena, was_absent ? "engine.%s" : "engine.%s.used", key),
        value, unit, source);
}

static bool resolve_model_len(struct scenario_load *load)
{
    struct scenario_engine_opts *opts = &load->opts;
    int64_t longest =
        load->scenario->has_model ? (int64_t)load->scenario->model.max_position_tokens : 0;
    if (opts->max_model_len == 0 && longest == 0) {
        if (load->purpose == SCENARIO_FOR_STEP || !load->scenario->has_model)
            return true;
        return scenario_fail(
            load->reader, load->engine, "engine.max_model_len", "missing-key",
            "'engine.max_model_len' is missing, and the model does not say its longest context");
    }
    const struct conf_node *said = conf_get(load->engine, "max_model_len");
    // A length that the profile takes where none is stated ends where the model does.
    if (opts->max_model_len == 0 ||
        (longest != 0 && opts->max_model_len > longest && !scenario_is_stated(said))) {
        opts->max_model_len = longest;
        derived_limit(load, "max_model_len", longest, "tokens",
                      "max_position_embeddings of the model");
        return true;
    }
    if (longest == 0 || opts->max_model_len <= longest)
        return true;
    return scenario_fail_hint(
        load->reader, said, "engine.max_model_len", "beyond-model",
        base_arena_printf(load->reader->arena,
                          "at most %" PRId64 ", or state model.max_position_embeddings", longest),
        "'max_model_len' is %" PRId64 ", but %s reaches %" PRId64 " tokens", opts->max_model_len,
        load->scenario->model.name, longest);
}

/* Defaults are cut to what can be used; a stated value is taken as it is (vLLM's EngineArgs). */
static void resolve_batch(struct scenario_load *load)
{
    struct scenario_engine_opts *opts = &load->opts;
    const struct conf_node *tokens = conf_get(load->engine, "max_num_batched_tokens");
    const struct conf_node *seqs = conf_get(load->engine, "max_num_seqs");
    if (!scenario_is_stated(tokens) && opts->max_model_len > 0) {
        int64_t value = opts->max_num_batched_tokens;
        if (opts->max_model_len <= INT64_MAX / opts->max_num_seqs &&
            value > opts->max_num_seqs * opts->max_model_len)
            value = opts->max_num_seqs * opts->max_model_len;
        if (!opts->enable_chunked_prefill && value < opts->max_model_len)
            value = opts->max_model_len;
        if (value != opts->max_num_batched_tokens)
            derived_limit(load, "max_num_batched_tokens", value, "tokens",
                          opts->enable_chunked_prefill ? "max_num_seqs x max_model_len"
                                                       : "max_model_len, as chunking is off");
        opts->max_num_batched_tokens = value;
    }
    if (!scenario_is_stated(seqs) && opts->max_num_seqs > opts->max_num_batched_tokens) {
        opts->max_num_seqs = opts->max_num_batched_tokens;
        derived_limit(load, "max_num_seqs", opts->max_num_seqs, "", "max_num_batched_tokens");
    }
    if (scenario_is_stated(tokens) && opts->max_num_batched_tokens < opts->max_num_seqs)
        scenario_warn(load->reader, tokens, "engine.max_num_batched_tokens", "budget-below-seats",
                      "'max_num_batched_tokens' %" PRId64 " is below max_num_seqs %" PRId64
                      ": not all of them decode in a step",
                      opts->max_num_batched_tokens, opts->max_num_seqs);
}

static bool check_needed(struct scenario_load *load)
{
    static const char *const keys[] = {"block_size", "max_num_seqs", "max_num_batched_tokens"};
    bool ok = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (conf_is_null(conf_get(load->engine, keys[i])))
            ok = scenario_fail(load->reader, load->engine,
                               scenario_join(load->reader->arena, "engine", keys[i]), "missing-key",
                               "'engine.%s' is neither stated nor in the profile", keys[i]);
    }
    return ok;
}

static bool check_parallel(struct scenario_load *load)
{
    const struct spec_model *model = &load->scenario->model;
    const struct scenario_engine_opts *opts = &load->opts;
    const struct conf_node *node = conf_get(load->engine, "tensor_parallel_size");
    if (!load->scenario->has_model || model->only_groups ||
        model->q_head_count % opts->tensor_parallel == 0)
        return true;
    return scenario_fail(load->reader, node, "engine.tensor_parallel_size", "heads-not-divided",
                         "'tensor_parallel_size' %" PRId64
                         " does not divide the %u query heads of %s",
                         opts->tensor_parallel, model->q_head_count, model->name);
}

/* ---- formats ---- */

static bool resolve_dtype(struct scenario_load *load)
{
    const struct conf_node *node = conf_get(load->engine, "dtype");
    const struct conf_node *own = conf_get(load->model_tree, "torch_dtype");
    if (conf_is_null(own))
        own = conf_get(load->model_tree, "dtype");
    bool is_auto = base_key_equal(load->opts.dtype, "auto");
    const char *word = !is_auto                                        ? load->opts.dtype
                       : conf_is_null(own) || own->kind != CONF_SCALAR ? "bf16"
                                                                       : own->text;
    enum spec_dtype dtype;
    if (!spec_dtype_parse(word, &dtype) || spec_dtype_bytes(dtype) < 2)
        return scenario_fail(load->reader, is_auto ? own : node, "engine.dtype", "bad-choice",
                             "'%.40s' is no dtype of unquantized weights (bf16, fp16 or fp32)",
                             word);
    // vLLM computes fp32 checkpoints in fp16 unless told otherwise.
    if (is_auto && dtype == SPEC_FP32)
        dtype = SPEC_FP16;
    load->model_dtype = spec_dtype_name(dtype);
    if (is_auto)
        scenario_param_derived(load->reader, "engine.dtype.used", load->model_dtype, "",
                               SPEC_CALCULATED, "dtype of the checkpoint");
    return true;
}

static bool resolve_quantization(struct scenario_load *load)
{
    const char *word = load->opts.quantization;
    const struct conf_node *node = conf_get(load->engine, "quantization");
    bool is_auto = base_key_equal(word, "auto");
    struct spec_weight_format format;
    if (is_auto && load->scenario->has_model && load->scenario->model.weight_dtype != NULL)
        word = load->scenario->model.weight_dtype;
    const char *used = spec_weight_format_find(word, &format) ? format.name : "none";
    enum spec_dtype dtype;
    bool plain = base_key_equal(word, "none") || is_auto ||
                 (spec_dtype_parse(word, &dtype) && spec_dtype_bytes(dtype) >= 2);
    if (base_key_equal(used, "none") && !plain)
        return scenario_fail_hint(
            load->reader, node, "engine.quantization", "bad-choice",
            "none, fp8, fbgemm_fp8, int8, awq, gptq, int4, int4_experts, nvfp4, mxfp4, bnb, "
            "gguf:q8_0, gguf:q4_k_m, ...",
            "unknown format of weights '%.60s'", word);
    load->scenario->config.cost.quantization = used;
    if (is_auto)
        scenario_param_derived(load->reader, "engine.quantization.used", used, "", SPEC_CALCULATED,
                               "format of the checkpoint");
    return true;
}

static void fill_sched(struct scenario_load *load)
{
    const struct scenario_engine_opts *opts = &load->opts;
    const struct scenario_switch_opts *switches = &opts->switch_opts;
    load->scenario->config.sched = (struct sched_options){
        .max_num_seqs = opts->max_num_seqs,
        .max_num_batched_tokens = opts->max_num_batched_tokens,
        .max_model_len = opts->max_model_len,
        .long_prefill_token_threshold = opts->long_prefill_token_threshold,
        .block_size = opts->block_size,
        .enable_chunked_prefill = opts->enable_chunked_prefill,
        .async_scheduling = opts->async_scheduling,
        .enable_prefix_caching = opts->enable_prefix_caching,
        .order = (enum sched_order)opts->scheduling_policy,
        .watermark = opts->watermark,
        .reserve_full_isl = switches->reserve_full_isl,
        .unchunked_misfit = (enum sched_misfit)switches->unchunked_misfit,
        .free_order = (enum sched_free_order)switches->free_order,
        .count_every_lookup = switches->count_every_lookup,
        .preempted_budget_returned = switches->preempted_budget_returned,
        .first_of_equals_goes = switches->priority_tie != 0,
        .reject_over_length = switches->reject_over_length,
    };
    scenario_kv_policy_options(load, &load->scenario->config.sched);
}

bool scenario_engine_resolve(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    const struct scenario_engine_opts *opts = &load->opts;
    bool ok = check_run_support(load);
    if (!check_needed(load))
        return false;
    ok = scenario_kv_policy_streams(load) && ok;
    ok = resolve_model_len(load) && ok;
    ok = check_parallel(load) && ok;
    ok = resolve_dtype(load) && ok;
    ok = resolve_quantization(load) && ok;
    scenario_sizing_chunking(load);
    resolve_batch(load);
    scenario_sizing_share(load);
    scenario_sizing_block(load);
    ok = scenario_kv_policy_resolve(load) && check_order(load) && ok;
    fill_sched(load);
    config->tensor_parallel = (uint32_t)opts->tensor_parallel;
    config->pipeline_parallel = (uint32_t)opts->pipeline_parallel;
    config->data_parallel = (uint32_t)opts->data_parallel;
    config->gpu_count_per_replica =
        (uint32_t)(opts->tensor_parallel * opts->pipeline_parallel * opts->data_parallel);
    config->reserved_blocks = opts->reserved_blocks;
    return ok;
}
