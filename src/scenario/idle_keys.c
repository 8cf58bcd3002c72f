/*
 * idle_keys.c - stated keys that can change nothing here, for what else is stated: said as warnings.
 *
 * A key that a process, level or policy would never read is an error (usage.c). Here the key is one that is read, and it is
 * another value beside it that leaves it nothing to do: one replica for a router, a fixed length for a correlation. Points of a
 * sweep may well have that, so it is no error.
 */
#include "scenario/parts.h"

#include "sched/sched.h"

#include <string.h>

/* Warns where `map` states the key. */
static void warn(struct scenario_load *load, const struct conf_node *map, const char *path,
                 const char *key, const char *why)
{
    const struct conf_node *node = scenario_stated(map, key);
    if (node != NULL)
        scenario_warn(load->reader, node, scenario_join(load->reader->arena, path, key),
                      "no-effect", "'%s' has no effect: %s", key, why);
}

static const struct workload_spec *workload_of(const struct scenario_load *load)
{
    return &load->scenario->config.workload;
}

static bool is_trace(const struct scenario_load *load)
{
    return workload_of(load)->process == WORKLOAD_TRACE;
}

static bool varies(const struct rng_dist *dist)
{
    return rng_dist_value(dist, 1 - 1e-9) > rng_dist_value(dist, 1e-9);
}

/* ---- of a class ---- */

static bool correlates(const struct workload_class *class)
{
    return class->correlation == 0 || (varies(&class->prompt) && varies(&class->output));
}

static bool first_token_is_late(const struct workload_class *class)
{
    return class->timeout_total_ns > 0 && class->timeout_first_ns >= class->timeout_total_ns;
}

static bool has_one_turn(const struct workload_class *class)
{
    return class->sessions != NULL && rng_dist_value(&class->sessions->turns, 1 - 1e-9) < 1.5;
}

/* What holds for a class by the keys of one mapping: its own, or those that all classes share. */
static void warn_in(struct scenario_load *load, const struct conf_node *map, const char *path,
                    const struct workload_class *class)
{
    if (!is_trace(load) && !correlates(class))
        warn(load, map, path, "correlation", "of prompt and output one is always as long");
    if (first_token_is_late(class))
        warn(load, conf_get(map, "timeout"), scenario_join(load->reader->arena, path, "timeout"),
             "first_token", "'total' is no longer");
    if (!has_one_turn(class))
        return;
    static const char *const gaps[] = {"think_time", "tool_time", "tool_share"};
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++)
        warn(load, conf_get(map, "sessions"), scenario_join(load->reader->arena, path, "sessions"),
             gaps[i], "sessions have one turn");
}

static void warn_classes(struct scenario_load *load, const struct conf_node *workload)
{
    const struct workload_spec *spec = workload_of(load);
    const struct conf_node *list = conf_get(workload, "classes");
    if (conf_is_null(list)) {
        warn_in(load, workload, "workload", &spec->classes[0]);
        return;
    }
    for (size_t i = 0; i < list->count && i < spec->class_count; i++)
        warn_in(load, list->items[i],
                base_arena_printf(load->reader->arena, "workload.classes.%zu", i),
                &spec->classes[i]);
}

/* ---- of all requests ---- */

static bool has_limits_of_output(const struct workload_spec *spec)
{
    for (size_t i = 0; i < spec->class_count; i++) {
        if (spec->classes[i].has_max_tokens || spec->classes[i].has_sequences ||
            spec->classes[i].candidates > 0)
            return true;
    }
    return false;
}

static bool has_one_priority(const struct workload_spec *spec)
{
    for (size_t i = 1; i < spec->class_count; i++) {
        if (spec->classes[i].priority != spec->classes[0].priority)
            return false;
    }
    return true;
}

static void warn_workload(struct scenario_load *load)
{
    const struct workload_spec *spec = workload_of(load);
    const struct conf_node *workload = conf_get(load->root, "workload");
    bool is_open = workload_is_steady(spec) && spec->process != WORKLOAD_CLOSED_LOOP;
    warn_classes(load, workload);
    if (spec->ignore_eos && !is_trace(load) && !has_limits_of_output(spec))
        warn(load, workload, "workload", "ignore_eos",
             "without 'max_tokens' an answer ends at its limit as it is");
    if (load->scenario->config.sched.order == SCHED_PRIORITY && !is_trace(load) &&
        has_one_priority(spec))
        warn(load, load->engine, "engine", "scheduling_policy",
             "all requests have the same priority (workload.classes)");
    if (load->scenario->config.stop_when_overloaded && !is_open)
        warn(load, conf_get(load->root, "run"), "run", "stop_when_overloaded",
             "only arrivals at a steady rate can be more than leave");
}

/* ---- of the service ---- */

static void warn_service(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    const struct spec_model *model = &load->scenario->model;
    if (config->replica_count == 1)
        warn(load, conf_get(load->root, "cluster"), "cluster", "router", "there is one replica");
    if (!(config->usd_per_gpu_hour > 0))
        warn(load, conf_get(load->root, "price"), "price", "utilization",
             "no price is stated or known");
    if (!load->scenario->has_model)
        return;
    if (load->opts.disable_hybrid_kv_cache_manager && model->group_count == 1)
        warn(load, load->engine, "engine", "disable_hybrid_kv_cache_manager",
             "the model has layers of one kind");
    if (strcmp(config->cost.quantization, "none") == 0)
        warn(load, load->engine, "engine", "quantization_group_size",
             "the weights are not quantized");
}

/* ---- of the engine ---- */

/* Graphs are memory and time: a stated pool has the one counted, stated step times the other. */
static bool graphs_matter(const struct scenario_load *load)
{
    enum cost_level level = cost_level_resolve(
        &load->scenario->cost, load->scenario->has_hardware ? &load->scenario->hardware : NULL);
    bool are_timed = level == COST_DATASHEET || level == COST_CALIBRATED;
    return !load->pool_is_stated || (are_timed && load->purpose != SCENARIO_FOR_SIZE);
}

static bool is_never_cut(const struct scenario_load *load)
{
    const struct scenario_engine_opts *opts = &load->opts;
    return opts->max_model_len > 0 &&
           opts->max_num_batched_tokens / opts->max_model_len >= opts->max_num_seqs;
}

static void warn_engine(struct scenario_load *load)
{
    const struct conf_node *chunked = scenario_stated(load->engine, "enable_chunked_prefill");
    if (load->opts.enforce_eager && !graphs_matter(load))
        warn(load, load->engine, "engine", "enforce_eager",
             "the pool is stated, and no step's time depends on it");
    if (chunked != NULL && load->scenario->config.scheduler == &sched_vllm_v1 && is_never_cut(load))
        warn(load, load->engine, "engine", "enable_chunked_prefill",
             "the prompts of all seats fit into one step");
}

void scenario_warn_idle(struct scenario_load *load)
{
    if (!scenario_is_whole(load))
        return;
    if (load->scenario->has_workload)
        warn_workload(load);
    warn_service(load);
    warn_engine(load);
}
