/*
 * swap_part.c - engine.preemption, engine.swap_space and cost.swap_per_block, with what else belongs to vLLM's V0 engine
 * alone: what its scheduler is told, and what it is not simulated with.
 */
#include "scenario/parts.h"

#include "base/units.h"
#include "catalog/catalog.h"
#include "cost/rates.h"
#include "sched/sched.h"

#include <inttypes.h>
#include <math.h>

// Where the scenario says it, or else what makes it matter: a profile's own line is not the user's.
static const struct conf_node *node_to_blame(const struct scenario_load *load, const char *key)
{
    const char *const keys[] = {key, "enable_prefix_caching", "profile"};
    const struct conf_node *node = NULL;
    for (size_t i = 0; node == NULL && i < sizeof keys / sizeof keys[0]; i++) {
        node = scenario_stated(load->engine, keys[i]);
    }
    return node != NULL ? node : load->engine;
}

static bool fail_engine(struct scenario_load *load, const char *key, const char *code,
                        const char *hint, const char *what)
{
    return scenario_fail_hint(load->reader, node_to_blame(load, key),
                              scenario_join(load->reader->arena, "engine", key), code, hint,
                              "'engine.%s' %s", key, what);
}

static bool swaps(const struct scenario_load *load)
{
    const struct sched_ops *ops = load->scenario->config.scheduler;
    return ops != NULL && (ops->uses & SCHED_USES_SWAPPING) != 0;
}

/* ---- engines that never swap ---- */

static bool check_idle(struct scenario_load *load)
{
    static const char hint[] = "leave it out, or name a profile of vLLM V0: vllm-0.6 or vllm-0.2";
    const struct conf_node *copies =
        scenario_stated(conf_get(load->root, "cost"), "swap_per_block");
    bool ok = true;
    bool is_other = load->opts.preemption != SCHED_PREEMPT_RECOMPUTE;
    if (is_other && scenario_stated(load->engine, "preemption") == NULL) {
        scenario_drop(load->engine, "preemption"); // the profile's, for its own scheduler
        load->opts.preemption = SCHED_PREEMPT_RECOMPUTE;
    } else if (is_other) {
        ok = fail_engine(load, "preemption", "conflict", hint,
                         "is recompute here: this scheduler has no other way");
    }
    if (scenario_stated(load->engine, "swap_space") != NULL)
        ok = fail_engine(load, "swap_space", "unused-key", hint,
                         "is not used: this scheduler never swaps");
    if (copies != NULL)
        ok = scenario_fail_hint(load->reader, copies, "cost.swap_per_block", "unused-key", hint,
                                "'cost.swap_per_block' is not used: this scheduler never swaps");
    return ok;
}

/* ---- V0 ---- */

/* Who gives way to somebody more urgent goes to the queue, whatever became of it. */
static bool check_priority(struct scenario_load *load)
{
    bool swaps_all = load->opts.preemption == SCHED_PREEMPT_SWAP;
    if (load->opts.enable_chunked_prefill)
        return fail_engine(load, "scheduling_policy", "conflict",
                           "fcfs, or engine.enable_chunked_prefill false",
                           "priority has no effect in vLLM V0 while prompts are chunked");
    if (swaps_all || scenario_most_sequences(load) > 1)
        return fail_engine(load, "scheduling_policy", "conflict",
                           swaps_all ? "fcfs, or engine.preemption auto" : "fcfs",
                           "priority stops vLLM V0 when a request gives way that it swaps: it "
                           "stands in the queue then as if it were to be computed again");
    return true;
}

static bool anyone_gives_up(const struct workload_spec *spec)
{
    bool gives_up = false;
    for (size_t i = 0; i < spec->class_count; i++) {
        const struct workload_class *class = &spec->classes[i];
        gives_up = gives_up || class->abort_after_ns > 0 || class->timeout_first_ns > 0 ||
                   class->timeout_total_ns > 0;
    }
    return gives_up;
}

static bool fail_cache(struct scenario_load *load, const char *code, const char *hint,
                       const char *what)
{
    return fail_engine(load, "enable_prefix_caching", code, hint, what);
}

/* What the engine has beside its prefix cache, or has it not: enable_prefix_caching is true. */
static bool check_cache(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    const struct scenario_engine_opts *opts = &load->opts;
    if (!opts->switch_opts.content_blocks)
        return fail_cache(
            load, "unsupported-key",
            "false, or engine.profile: vllm-0.6, whose block manager shares by content",
            "is not simulated for this release: vLLM has no prefix cache before 0.4, "
            "and another one up to 0.6");
    if (config->tables.window_count > 0)
        return fail_cache(
            load, "conflict", "false, or a model without windows",
            "is not simulated for vLLM V0 with windowed layers, which the engine refuses "
            "to cache");
    if (scenario_most_sequences(load) > 1)
        return fail_cache(load, "unsupported-key",
                          "false; what the answers to one prompt share needs no prefix cache",
                          "is not simulated for vLLM V0 with requests of several sequences");
    if (opts->kv_eviction != KV_EVICT_LRU)
        return fail_engine(load, "kv_eviction", "unsupported-key", "lru, or leave it out",
                           "is lru under vLLM V0, which has no other order");
    if (opts->enable_chunked_prefill && opts->max_num_batched_tokens % opts->block_size != 0)
        return fail_engine(load, "max_num_batched_tokens", "conflict",
                           "a multiple of engine.block_size, or engine.enable_prefix_caching false",
                           "must be a multiple of block_size: vLLM V0 gives chunks by whole blocks "
                           "with a prefix cache, and stops if it cannot");
    if (opts->preemption == SCHED_PREEMPT_SWAP && anyone_gives_up(&config->workload))
        return fail_engine(load, "preemption", "conflict", "auto or recompute",
                           "swap stops vLLM V0 with a prefix cache when a client gives up whose "
                           "request lies on the host: it is looked for among the GPU's blocks");
    return true;
}

/* What the engine does, and this version does not simulate with everything. */
static bool check_simulated(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    bool ok = true;
    if (config->sched.enable_prefix_caching && config->kv_policy != KV_RADIX)
        ok = check_cache(load);
    if (config->tables.growing_tables > 1 || config->tables.state_blocks > 0)
        ok =
            scenario_fail(load->reader, conf_get(load->root, "model"), "model", "unsupported-model",
                          "several block tables a sequence are not simulated for vLLM V0");
    return ok;
}

static bool check_v0(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    bool ok = true;
    if (config->sched.order == SCHED_PRIORITY)
        ok = check_priority(load);
    if (config->sched.async_scheduling)
        ok = fail_engine(load, "async_scheduling", "unsupported-key", "false", "came with vLLM V1");
    if (config->kv_policy != KV_PAGED && config->kv_policy != KV_UNLIMITED)
        ok = fail_engine(load, "kv_policy", "conflict", "paged",
                         "must be paged, or unlimited, under vLLM V0");
    return ok;
}

static bool check_recompute(struct scenario_load *load)
{
    if (load->opts.preemption != SCHED_PREEMPT_RECOMPUTE || scenario_most_sequences(load) <= 1)
        return true;
    return fail_engine(load, "preemption", "conflict", "auto or swap",
                       "recompute stops vLLM V0 when it must throw out a request of several "
                       "sequences: those it can only swap");
}

/* A request takes its seats all at once, so one that asks for more than there are stays at the head of the queue for ever. */
static bool fail_seats(struct scenario_load *load, const struct conf_node *node, const char *path,
                       double most)
{
    return scenario_fail_hint(load->reader, node, path, "conflict",
                              "raise engine.max_num_seqs, or ask for fewer answers",
                              "'%s' reaches %.0f, but there are max_num_seqs %" PRId64
                              " seats: vLLM V0 begins a request when there is one for each of its "
                              "answers, and would wait for ever",
                              path, most, load->opts.max_num_seqs);
}

static bool check_seats(struct scenario_load *load)
{
    const struct workload_spec *spec = &load->scenario->config.workload;
    const struct conf_node *workload = conf_get(load->root, "workload");
    double seats = (double)load->opts.max_num_seqs;
    if ((double)load->trace_sequences > seats)
        return fail_seats(load, conf_get(conf_get(workload, "arrival"), "file"),
                          "workload.arrival.file", (double)load->trace_sequences);
    for (size_t i = 0; i < spec->class_count; i++) {
        double most = scenario_group_sequences(load, &spec->classes[i]);
        const char *path, *key = scenario_sequences_key(&spec->classes[i]);
        const struct conf_node *map = scenario_sequences_map(load, i, key, &path);
        if (most > seats)
            return fail_seats(load, conf_get(map, key), path, most);
    }
    return true;
}

static bool fail_budget(struct scenario_load *load, const char *than, int64_t value,
                        const char *hint)
{
    const struct conf_node *node = scenario_stated(load->engine, "max_num_batched_tokens");
    return scenario_fail_hint(load->reader, node != NULL ? node : conf_get(load->engine, than),
                              "engine.max_num_batched_tokens", "conflict", hint,
                              "'max_num_batched_tokens' %" PRId64 " is below %s %" PRId64
                              ": the engine does not start so",
                              load->opts.max_num_batched_tokens, than, value);
}

/* SchedulerConfig raises an error at start (vllm/config.py, since 0.2; later vllm/config/scheduler.py). */
static bool check_budget(struct scenario_load *load)
{
    const struct scenario_engine_opts *opts = &load->opts;
    if (opts->enable_chunked_prefill || opts->max_num_batched_tokens >= opts->max_model_len)
        return true;
    return fail_budget(load, "max_model_len", opts->max_model_len,
                       "raise it, lower engine.max_model_len, or set "
                       "engine.enable_chunked_prefill to true");
}

static bool check_budget_of_seats(struct scenario_load *load)
{
    const struct scenario_engine_opts *opts = &load->opts;
    if (opts->max_num_batched_tokens >= opts->max_num_seqs)
        return true;
    return fail_budget(load, "max_num_seqs", opts->max_num_seqs,
                       "raise it, or lower engine.max_num_seqs");
}

/* Bytes over the host's link, both ways alike; without a device what is counted takes no time. */
static void price_blocks(struct scenario_load *load)
{
    const struct scenario *scenario = load->scenario;
    struct serve_config *config = &load->scenario->config;
    const struct spec_hardware *hardware = &scenario->hardware;
    double ns = load->cost_opts.swap_ns,
           bytes = (double)config->waterfall.pages.block_bytes_per_gpu;
    bool has_link = scenario->has_hardware && hardware->pcie_bytes_per_s > 0;
    if (!load->cost_opts.has_swap && has_link)
        ns = bytes / hardware->pcie_bytes_per_s * 1e9;
    else if (!load->cost_opts.has_swap)
        scenario_caveat(load->reader, "swap_free",
                        "no host link is known and 'cost.swap_per_block' is not stated: swapped "
                        "blocks are counted, and take no time");
    config->swap_ticks_per_block = llround(ns * (double)BASE_TICKS_PER_NS);
    if (scenario->has_hardware && hardware->memory_bytes_per_s > 0) {
        double rate = hardware->memory_bytes_per_s * cost_defaults.stream_fraction;
        double slot = (double)config->layout.slot_bytes / (double)config->layout.gpu_count;
        config->copy.per_cached_token = llround(2 * slot / rate * 1e9 * (double)BASE_TICKS_PER_NS);
    }
}

/* What the scenario may say, whoever asks. */
static bool check_stated(struct scenario_load *load)
{
    const struct sched_ops *own = catalog_scheduler(load->profile.scheduler);
    bool is_vllm = own == &sched_vllm_v1 || own == &sched_vllm_v0;
    if (is_vllm && !check_budget(load))
        return false;
    if (!swaps(load))
        return check_idle(load);
    return check_v0(load) && check_recompute(load) && check_budget_of_seats(load) &&
           check_seats(load);
}

bool scenario_swap_resolve(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    bool runs = scenario_is_run(load);
    if ((!runs && load->purpose != SCENARIO_FOR_SIZE) || config->scheduler == NULL)
        return true;
    if (!check_stated(load))
        return false;
    if (!runs || !swaps(load))
        return true;
    if (!check_simulated(load))
        return false;
    int64_t block_bytes = (int64_t)config->waterfall.pages.block_bytes_per_gpu;
    config->sched.preemption = (enum sched_preemption)load->opts.preemption;
    config->sched.swap_blocks =
        block_bytes > 0 ? load->opts.swap_space_bytes / block_bytes : INT64_MAX;
    price_blocks(load);
    return true;
}
