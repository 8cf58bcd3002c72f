/*
 * content_part.c - what prompts share: `shared_prefix` and `sessions` of the workload or of a class.
 */
#include "scenario/parts.h"

#include "base/error.h"

#include <inttypes.h>

static bool is_trace(const struct scenario_load *load)
{
    return load->scenario->config.workload.process == WORKLOAD_TRACE;
}

static bool fail_of_trace(struct scenario_load *load, const struct conf_node *map, const char *key,
                          const char *path)
{
    return scenario_fail(load->reader, conf_key(map, key), path, "unused-key",
                         "'%s' is not used by process 'trace': the file says what its prompts are",
                         key);
}

/* A key of a length or time, when it is stated. */
static bool read_length(struct scenario_load *load, struct conf_node *map, const char *key,
                        const char *path, enum scenario_measure measure, struct rng_dist *out)
{
    if (conf_is_null(conf_get(map, key)))
        return true;
    return scenario_length_read(load->reader, map, key,
                                scenario_join(load->reader->arena, path, key), measure, out);
}

/* ---- shared texts ---- */

static bool init_popularity(struct scenario_load *load, const struct conf_node *node,
                            const char *path, const struct scenario_popularity_opts *opts,
                            struct workload_shared *out)
{
    struct kvsim_error err = {.status = KVSIM_OK};
    struct rng_dist_options options = {.kind = (enum rng_kind)opts->distribution,
                                       .has_min = true,
                                       .has_max = true,
                                       .has_s = opts->has_s,
                                       .min = 1,
                                       .max = out->group_count,
                                       .s = opts->s};
    if (rng_dist_init(&out->popularity, &options, true, load->reader->arena, &err) == KVSIM_OK)
        return true;
    return scenario_fail_error(load->reader, node, path, &err);
}

/* `uniform`, `zipf` with its s, or nothing at all. */
static bool read_popularity(struct scenario_load *load, struct conf_node *map,
                            const struct scenario_shared_opts *shared_opts, const char *path,
                            struct workload_shared *out)
{
    struct scenario_reader *reader = load->reader;
    struct scenario_popularity_opts opts = {.distribution = RNG_UNIFORM};
    struct conf_node *node = conf_get(map, "popularity");
    const struct base_field *fields = scenario_popularity_section.fields;
    const char *full = scenario_join(reader->arena, path, "popularity");
    if (shared_opts->popularity == NULL)
        return init_popularity(load, map, full, &opts, out);
    if (out->order == WORKLOAD_CYCLIC)
        return scenario_fail(reader, conf_key(map, "popularity"), full, "unused-key",
                             "'popularity' is not used by order 'cyclic'");
    if (node->kind == CONF_SCALAR) {
        if (!scenario_read_value(reader, node, base_field_find(fields, "distribution"), full,
                                 &opts.distribution))
            return false;
        scenario_param_text(reader, full, node->text, "", node);
    } else if (node->kind != CONF_MAP) {
        return scenario_fail(reader, node, full, "wrong-type",
                             "'popularity' must be uniform or {distribution: zipf, s: 1}");
    } else if (!scenario_read_map(reader, node, &scenario_popularity_section, full, &opts) ||
               !scenario_check_used(reader, node, full, fields,
                                    opts.distribution == RNG_ZIPF ? "zipf" : "uniform",
                                    "distribution")) {
        return false;
    }
    if (opts.distribution == RNG_ZIPF && !opts.has_s)
        return scenario_fail(reader, node, scenario_join(reader->arena, full, "s"), "missing-key",
                             "zipf needs its exponent 's'");
    return init_popularity(load, node, full, &opts, out);
}

static bool check_shared(struct scenario_load *load, const struct conf_node *node, const char *path,
                         const struct scenario_shared_opts *opts,
                         const struct workload_shared *shared)
{
    struct scenario_reader *reader = load->reader;
    if ((opts->few_shot_groups > 0) != (opts->few_shot_len != NULL))
        return scenario_fail(reader, node, path, "missing-key",
                             "'few_shot_groups' and 'few_shot_len' belong together");
    if (opts->num_prompts_per_group > 0 && opts->question_len == NULL)
        return scenario_fail(reader, node, path, "missing-key",
                             "'num_prompts_per_group' needs 'question_len': a question is a text "
                             "of its own length");
    if (load->shared_texts + workload_shared_texts(shared) > WORKLOAD_TEXTS_MAX)
        return scenario_fail(reader, node, path, "out-of-range", "more than 2^30 different texts");
    return true;
}

static bool read_shared(struct scenario_load *load, struct conf_node *node, const char *path,
                        struct workload_class *class)
{
    struct scenario_shared_opts opts = {0};
    if (node->kind != CONF_MAP)
        return scenario_fail(load->reader, node, path, "wrong-type",
                             "'shared_prefix' must be a mapping");
    if (!scenario_read_map(load->reader, node, &scenario_shared_section, path, &opts))
        return false;
    struct workload_shared *shared = base_arena_take(load->reader->arena, sizeof *shared);
    *shared = (struct workload_shared){.number = load->shared_count,
                                       .first_text = load->shared_texts,
                                       .group_count = (uint32_t)opts.num_groups,
                                       .few_shot_count = (uint32_t)opts.few_shot_groups,
                                       .prompts_per_group = (uint32_t)opts.num_prompts_per_group,
                                       .has_question = opts.question_len != NULL,
                                       .order = (enum workload_order)opts.order};
    bool ok = check_shared(load, node, path, &opts, shared) &&
              read_length(load, node, "system_prompt_len", path, SCENARIO_TOKENS,
                          &shared->system_prompt) &&
              read_length(load, node, "few_shot_len", path, SCENARIO_TOKENS, &shared->few_shot) &&
              read_length(load, node, "question_len", path, SCENARIO_TOKENS, &shared->question) &&
              read_popularity(load, node, &opts, path, shared);
    load->shared_count++;
    load->shared_texts += workload_shared_texts(shared);
    class->shared = shared;
    return ok;
}

/* ---- sessions ---- */

static bool check_tool_share(struct scenario_load *load, const struct conf_node *node,
                             const char *path, const struct scenario_sessions_opts *opts)
{
    bool has_both = opts->think_time != NULL && opts->tool_time != NULL;
    if (has_both == opts->has_tool_share)
        return true;
    return scenario_fail(load->reader, node, scenario_join(load->reader->arena, path, "tool_share"),
                         has_both ? "missing-key" : "unused-key",
                         has_both ? "'think_time' and 'tool_time' need 'tool_share'"
                                  : "'tool_share' needs both 'think_time' and 'tool_time'");
}

static bool read_sessions(struct scenario_load *load, struct conf_node *node, const char *path,
                          struct workload_class *class)
{
    struct scenario_sessions_opts opts = {0};
    if (node->kind != CONF_MAP)
        return scenario_fail(load->reader, node, path, "wrong-type",
                             "'sessions' must be a mapping");
    if (!scenario_read_map(load->reader, node, &scenario_sessions_section, path, &opts))
        return false;
    struct workload_sessions *sessions = base_arena_take(load->reader->arena, sizeof *sessions);
    *sessions = (struct workload_sessions){.has_think = opts.think_time != NULL,
                                           .has_tool = opts.tool_time != NULL,
                                           .tool_share = opts.tool_share,
                                           .end = (enum workload_session_end)opts.end};
    class->sessions = sessions;
    return check_tool_share(load, node, path, &opts) &&
           read_length(load, node, "turns", path, SCENARIO_TOKENS, &sessions->turns) &&
           read_length(load, node, "prompt_growth", path, SCENARIO_TOKENS, &sessions->growth) &&
           read_length(load, node, "think_time", path, SCENARIO_SECONDS, &sessions->think) &&
           read_length(load, node, "tool_time", path, SCENARIO_SECONDS, &sessions->tool);
}

bool scenario_content_read(struct scenario_load *load, struct conf_node *map, const char *path,
                           struct workload_class *out)
{
    struct conf_node *shared = conf_get(map, "shared_prefix");
    struct conf_node *sessions = conf_get(map, "sessions");
    const char *shared_path = scenario_join(load->reader->arena, path, "shared_prefix");
    const char *sessions_path = scenario_join(load->reader->arena, path, "sessions");
    bool ok = true;
    if (!conf_is_null(shared))
        ok = is_trace(load) ? fail_of_trace(load, map, "shared_prefix", shared_path)
                            : read_shared(load, shared, shared_path, out);
    if (!conf_is_null(sessions))
        ok = (is_trace(load) ? fail_of_trace(load, map, "sessions", sessions_path)
                             : read_sessions(load, sessions, sessions_path, out)) &&
             ok;
    return ok;
}

/* ---- what a reader must know of it ---- */

static double longest(const struct rng_dist *dist)
{
    return rng_dist_value(dist, 1 - 1e-9);
}

static double longest_shared(const struct workload_shared *shared)
{
    return longest(&shared->system_prompt) +
           (shared->few_shot_count > 0 ? longest(&shared->few_shot) : 0) +
           (shared->prompts_per_group > 0 ? longest(&shared->question) : 0);
}

static double tokens_of_texts(const struct workload_shared *shared)
{
    return shared->group_count *
           (rng_dist_mean(&shared->system_prompt) +
            (shared->few_shot_count > 0 ? shared->few_shot_count * rng_dist_mean(&shared->few_shot)
                                        : 0) +
            (shared->prompts_per_group > 0
                 ? shared->prompts_per_group * rng_dist_mean(&shared->question)
                 : 0));
}

static bool is_new(const struct workload_spec *spec, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (spec->classes[i].shared == spec->classes[index].shared)
            return false;
    }
    return true;
}

void scenario_content_caveats(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    int64_t block = config->sched.block_size;
    int64_t pool_tokens = (config->pool_blocks - config->reserved_blocks) * block;
    for (size_t i = 0; i < config->workload.class_count && config->sched.enable_prefix_caching;
         i++) {
        const struct workload_class *class = &config->workload.classes[i];
        const struct workload_shared *shared = class->shared;
        if (shared == NULL || !is_new(&config->workload, i))
            continue;
        if (longest_shared(shared) < (double)block)
            scenario_caveat(load->reader, "prefix_shorter_than_block",
                            "shared texts of at most %.0f tokens never fill a block of %" PRId64
                            ": the prefix cache finds nothing of them",
                            longest_shared(shared), block);
        if (shared->order == WORKLOAD_CYCLIC && tokens_of_texts(shared) > (double)pool_tokens)
            scenario_caveat(
                load->reader, "tier_smaller_than_cyclic_set",
                "shared texts of %.0f tokens are gone through in turn, and the pool has %" PRId64
                ": what is evicted is always what comes next, so that the least recently used "
                "goes in vain",
                tokens_of_texts(shared), pool_tokens);
    }
}
