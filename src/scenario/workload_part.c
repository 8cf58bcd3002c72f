/*
 * workload_part.c - `workload` to workload_spec: the process by its own table, classes, clients' patience.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "base/hash.h"
#include "sched/sched.h"
#include "workload/arrivals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- arrival ---- */

static const struct workload_arrival_ops *find_process(struct scenario_reader *reader,
                                                       const struct conf_node *arrival)
{
    const struct conf_node *node = conf_get(arrival, "process");
    if (conf_is_null(node)) {
        scenario_fail(reader, arrival, "workload.arrival.process", "missing-key",
                      "'workload.arrival.process' is missing");
        return NULL;
    }
    const struct base_field field = {
        .key = "process", .type = BASE_CHOICE, .choices = workload_process_choices};
    int process;
    if (!scenario_read_value(reader, node, &field, "workload.arrival.process", &process))
        return NULL;
    scenario_param_text(reader, "workload.arrival.process", node->text, "", node);
    return workload_arrival_find(node->text);
}

/* Names of the processes that read a key, "a, b"; "" when none does. */
static const char *readers_of(struct base_arena *arena, const char *key)
{
    struct base_text text = {0};
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        if (base_field_find(workload_arrivals[i]->policy.opts, key) != NULL)
            base_text_printf(&text, "%s%s", text.count == 0 ? "" : ", ",
                             workload_arrivals[i]->policy.name);
    }
    const char *copy = base_arena_copy(arena, text.at == NULL ? "" : text.at);
    base_text_free(&text);
    return copy;
}

/* Keys of other processes are refused as such; they leave the map, so that they are not called unknown too. */
static bool check_process_keys(struct scenario_reader *reader, struct conf_node *arrival,
                               const struct workload_arrival_ops *ops)
{
    bool ok = true;
    for (size_t i = 0; i < arrival->count;) {
        const struct conf_node *key = arrival->keys[i];
        const char *users = readers_of(reader->arena, key->text);
        if (users[0] == '\0' || base_field_find(ops->policy.opts, key->text) != NULL) {
            i++;
            continue;
        }
        ok = scenario_fail_hint(
            reader, key, scenario_join(reader->arena, "workload.arrival", key->text), "unused-key",
            base_arena_printf(reader->arena, "used by: %s", users),
            "'%s' is not used by process '%s'", key->text, ops->policy.name);
        scenario_drop(arrival, key->text);
    }
    return ok;
}

static bool read_max_concurrency(struct scenario_reader *reader, const struct conf_node *node,
                                 uint64_t *out)
{
    static const struct base_field field = {
        .key = "max_concurrency", .type = BASE_INT, .unit = BASE_COUNT, .min = 1, .max = 1e9};
    int64_t value;
    if (conf_is_null(node))
        return true;
    if (!scenario_read_value(reader, node, &field, "workload.arrival.max_concurrency", &value))
        return false;
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    scenario_param_text(reader, "workload.arrival.max_concurrency", text, "", node);
    *out = (uint64_t)value;
    return true;
}

static bool compile_arrival(struct scenario_load *load, const struct workload_arrival_ops *ops,
                            const struct workload_arrival_opts *opts, struct conf_node *arrival)
{
    struct scenario_reader *reader = load->reader;
    struct workload_spec *spec = &load->scenario->config.workload;
    struct kvsim_error err = {.status = KVSIM_OK};
    if (ops->compile(opts, reader->arena, spec, &err) != KVSIM_OK) {
        const struct conf_node *at = conf_get(arrival, err.key);
        if (err.key[0] != '\0')
            base_error_key(&err, scenario_join(reader->arena, "workload.arrival", err.key));
        return scenario_fail_error(reader, at == NULL ? arrival : at, "workload.arrival", &err);
    }
    spec->process = ops->process;
    if (opts->think_time != NULL) {
        spec->has_think = true;
        if (!scenario_length_read(reader, arrival, "think_time", "workload.arrival.think_time",
                                  SCENARIO_SECONDS, &spec->think))
            return false;
    }
    if (opts->file == NULL)
        return true;
    load->trace_path =
        scenario_find_file(reader, conf_get(arrival, "file"), "workload.arrival.file", opts->file);
    spec->trace_path = load->trace_path;
    return load->trace_path != NULL;
}

static bool read_arrival(struct scenario_load *load, struct conf_node *workload,
                         const struct conf_node *node)
{
    struct scenario_reader *reader = load->reader;
    if (node->kind != CONF_MAP)
        return scenario_fail(reader, node, "workload.arrival", "wrong-type",
                             "'arrival' must be a mapping");
    const struct workload_arrival_ops *ops = find_process(reader, node);
    if (ops == NULL)
        return false;
    // The process reads its own keys; two belong to all of them.
    struct conf_node *arrival = conf_copy(reader->arena, node);
    scenario_drop(arrival, "process");
    scenario_drop(arrival, "max_concurrency");
    struct workload_arrival_opts opts = {0};
    struct scenario_section section = {"workload.arrival", ops->policy.opts, NULL,
                                       ops->policy.summary};
    bool ok = check_process_keys(reader, arrival, ops);
    ok = scenario_read_map(reader, arrival, &section, "workload.arrival", &opts) && ok;
    ok = read_max_concurrency(reader, conf_get(node, "max_concurrency"),
                              &load->scenario->config.workload.max_concurrency) &&
         ok;
    ok = ok && compile_arrival(load, ops, &opts, arrival);
    conf_put(reader->arena, arrival, "process", conf_get(node, "process"));
    if (!conf_is_null(conf_get(node, "max_concurrency")))
        conf_put(reader->arena, arrival, "max_concurrency", conf_get(node, "max_concurrency"));
    conf_put(reader->arena, workload, "arrival", arrival);
    return ok;
}

/* ---- lengths and patience ---- */

static bool read_timeout(struct scenario_reader *reader, struct conf_node *map, const char *path,
                         struct workload_class *out)
{
    struct scenario_timeout_opts opts = {0};
    if (map->kind != CONF_MAP)
        return scenario_fail(reader, map, path, "wrong-type",
                             "'timeout' must be {first_token, total}");
    if (!scenario_read_map(reader, map, &scenario_timeout_section, path, &opts))
        return false;
    if (opts.first_token_ns == 0 && opts.total_ns == 0)
        return scenario_fail(reader, map, path, "missing-key",
                             "'timeout' needs 'first_token' or 'total'");
    out->timeout_first_ns = opts.first_token_ns;
    out->timeout_total_ns = opts.total_ns;
    return true;
}

static bool is_same(const struct conf_node *node)
{
    return node->kind == CONF_SCALAR && base_key_equal(node->text, "same");
}

/* The lengths that a mapping states into a class; what it leaves out stays as it is. */
static bool read_lengths(struct scenario_load *load, struct conf_node *map, const char *path,
                         struct workload_class *out, bool *has_prompt, bool *has_output)
{
    static const char *const keys[] = {"prompt_tokens", "output_tokens"};
    struct scenario_reader *reader = load->reader;
    struct rng_dist *const dists[] = {&out->prompt, &out->output};
    bool *const found[] = {has_prompt, has_output};
    bool is_trace = load->scenario->config.workload.process == WORKLOAD_TRACE;
    bool ok = true;
    for (size_t i = 0; i < 2; i++) {
        const struct conf_node *node = conf_get(map, keys[i]);
        const char *full = scenario_join(reader->arena, path, keys[i]);
        if (conf_is_null(node))
            continue;
        if (is_trace) {
            ok = scenario_fail(reader, conf_key(map, keys[i]), full, "unused-key",
                               "'%s' is not used by process 'trace': the file has the lengths",
                               keys[i]);
            continue;
        }
        ok = scenario_length_read(reader, map, keys[i], full, SCENARIO_TOKENS, dists[i]) && ok;
        *found[i] = true;
    }
    const struct conf_node *max = conf_get(map, "max_tokens");
    if (conf_is_null(max))
        return ok;
    out->has_max_tokens = !is_same(max);
    if (out->has_max_tokens)
        return scenario_length_read(reader, map, "max_tokens",
                                    scenario_join(reader->arena, path, "max_tokens"),
                                    SCENARIO_TOKENS, &out->max_tokens) &&
               ok;
    scenario_param_text(reader, scenario_join(reader->arena, path, "max_tokens"), "same", "", max);
    return ok;
}

/* How many answers a request asks for, where a mapping states it. */
static bool read_sequences(struct scenario_load *load, struct conf_node *map, const char *path,
                           struct workload_class *out)
{
    struct scenario_reader *reader = load->reader;
    const struct conf_node *node = conf_get(map, "n");
    const char *full = scenario_join(reader->arena, path, "n");
    if (conf_is_null(node))
        return true;
    if (!scenario_length_read(reader, map, "n", full, SCENARIO_COUNT, &out->sequences))
        return false;
    out->has_sequences = true;
    double largest = scenario_class_sequences(out);
    if (largest > WORKLOAD_SEQUENCES_MAX)
        return scenario_fail(reader, node, full, "out-of-range",
                             "'n' reaches %.0f: a request may ask for %d answers at most%s",
                             largest, (int)WORKLOAD_SEQUENCES_MAX,
                             node->kind == CONF_MAP ? " (cut the distribution with 'max')" : "");
    return true;
}

static bool check_has_lengths(struct scenario_load *load, const struct conf_node *at,
                              const char *path, const struct workload_class *class, bool has_prompt,
                              bool has_output)
{
    bool ok = true;
    if (load->scenario->config.workload.process == WORKLOAD_TRACE)
        return true;
    if (class->shared != NULL && class->shared->has_question) {
        if (has_prompt)
            ok =
                scenario_fail(load->reader, at,
                              scenario_join(load->reader->arena, path, "prompt_tokens"), "conflict",
                              "'%s.prompt_tokens' and 'shared_prefix.question_len' both say how "
                              "long a prompt is",
                              path);
        if (class->correlation != 0)
            ok =
                scenario_fail(load->reader, at,
                              scenario_join(load->reader->arena, path, "correlation"), "unused-key",
                              "'correlation' is that of prompt_tokens, not of "
                              "'shared_prefix.question_len'");
        has_prompt = true;
    }
    if (!has_prompt)
        ok = scenario_fail(load->reader, at,
                           scenario_join(load->reader->arena, path, "prompt_tokens"), "missing-key",
                           "'%s.prompt_tokens' is missing", path);
    if (!has_output)
        ok = scenario_fail(load->reader, at,
                           scenario_join(load->reader->arena, path, "output_tokens"), "missing-key",
                           "'%s.output_tokens' is missing", path);
    return ok;
}

/* ---- classes ---- */

static bool class_exists(const struct workload_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->class_count; i++) {
        if (strcmp(spec->classes[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool read_class(struct scenario_load *load, struct conf_node *node, const char *path,
                       const struct workload_class *common, bool has_prompt, bool has_output)
{
    struct scenario_reader *reader = load->reader;
    struct workload_spec *spec = &load->scenario->config.workload;
    struct scenario_class_opts opts = {0};
    if (node->kind != CONF_MAP)
        return scenario_fail(reader, node, path, "wrong-type", "a class must be a mapping");
    if (!scenario_read_map(reader, node, &scenario_class_section, path, &opts))
        return false;
    if (opts.name[0] == '\0' || class_exists(spec, opts.name))
        return scenario_fail(
            reader, conf_get(node, "name"), scenario_join(reader->arena, path, "name"), "bad-name",
            opts.name[0] == '\0' ? "a class needs a name" : "two classes are called '%.80s'",
            opts.name);
    struct workload_class *class = &spec->classes[spec->class_count++];
    *class = *common;
    class->name = opts.name;
    class->weight = opts.weight;
    class->priority = (int32_t)opts.priority;
    if (opts.has_correlation)
        class->correlation = opts.correlation;
    if (opts.has_abort)
        class->abort_after_ns = opts.abort_after_ns;
    bool ok = read_lengths(load, node, path, class, &has_prompt, &has_output);
    ok = read_sequences(load, node, path, class) && ok;
    ok = scenario_candidates_read(load, node, path, &opts.candidates, class) && ok;
    ok = scenario_content_read(load, node, path, class) && ok;
    ok = check_has_lengths(load, node, path, class, has_prompt, has_output) && ok;
    if (opts.timeout != NULL)
        ok = read_timeout(reader, conf_get(node, "timeout"),
                          scenario_join(reader->arena, path, "timeout"), class) &&
             ok;
    if (opts.slo != NULL)
        ok = scenario_slo_add(reader, opts.slo, scenario_join(reader->arena, path, "slo"),
                              class->name, &load->scenario->slos) &&
             ok;
    return ok;
}

static bool read_classes(struct scenario_load *load, const struct conf_node *list,
                         const struct workload_class *common, bool has_prompt, bool has_output)
{
    struct scenario_reader *reader = load->reader;
    if (list->kind != CONF_LIST || list->count == 0 || list->count > WORKLOAD_CLASSES_MAX)
        return scenario_fail(reader, list, "workload.classes", "wrong-type",
                             "'classes' must be a list of 1 to %d classes",
                             (int)WORKLOAD_CLASSES_MAX);
    bool ok = true;
    for (size_t i = 0; i < list->count; i++) {
        const char *path = base_arena_printf(reader->arena, "workload.classes.%zu", i);
        ok = read_class(load, list->items[i], path, common, has_prompt, has_output) && ok;
    }
    return ok;
}

bool scenario_workload_read(struct scenario_load *load)
{
    struct scenario_reader *reader = load->reader;
    struct workload_spec *spec = &load->scenario->config.workload;
    struct conf_node *map = conf_get(load->root, "workload");
    if (conf_is_null(map))
        return true;
    load->scenario->has_workload = true;
    if (map->kind != CONF_MAP)
        return scenario_fail(reader, map, "workload", "wrong-type", "'workload' must be a mapping");
    struct scenario_workload_opts opts = {0};
    bool ok = scenario_read_map(reader, map, &scenario_workload_section, "workload", &opts);
    spec->ignore_eos = opts.ignore_eos;
    if (opts.arrival == NULL || !read_arrival(load, map, opts.arrival))
        return false; // whether lengths are needed depends on the process
    struct workload_class common = {.name = "",
                                    .weight = 1,
                                    .correlation = opts.correlation,
                                    .abort_after_ns = opts.abort_after_ns};
    bool has_prompt = false, has_output = false;
    ok = read_lengths(load, map, "workload", &common, &has_prompt, &has_output) && ok;
    ok = read_sequences(load, map, "workload", &common) && ok;
    ok = scenario_candidates_read(load, map, "workload", &opts.candidates, &common) && ok;
    ok = scenario_content_read(load, map, "workload", &common) && ok;
    if (opts.timeout != NULL)
        ok = read_timeout(reader, conf_get(map, "timeout"), "workload.timeout", &common) && ok;
    if (opts.classes != NULL) {
        ok = read_classes(load, opts.classes, &common, has_prompt, has_output) && ok;
    } else {
        ok = check_has_lengths(load, map, "workload", &common, has_prompt, has_output) && ok;
        spec->classes[0] = common;
        spec->class_count = 1;
    }
    return ok;
}

/* ---- with the engine known ---- */

static void param_mean(struct scenario_reader *reader, const char *key, double mean)
{
    char text[32];
    scenario_param_derived(reader, key, base_print_real(mean, text, sizeof text), "tokens",
                           SPEC_CALCULATED, "mean of the distribution after min and max");
}

static bool has_content(const struct workload_spec *spec)
{
    for (size_t i = 0; i < spec->class_count; i++) {
        if (spec->classes[i].shared != NULL || spec->classes[i].sessions != NULL)
            return true;
    }
    return false;
}

static void param_mean_of_requests(struct scenario_reader *reader, const char *key, double mean)
{
    char text[32];
    scenario_param_derived(reader, key, base_print_real(mean, text, sizeof text), "tokens",
                           SPEC_CALCULATED, "mean over requests, sessions undisturbed, by draws");
}

static void find_means(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    const struct workload_spec *spec = &config->workload;
    if (has_content(spec)) {
        workload_mean_lengths(spec, config->seed, &config->prompt_mean, &config->output_mean);
        param_mean_of_requests(load->reader, "workload.prompt_tokens.resulting_mean",
                               config->prompt_mean);
        param_mean_of_requests(load->reader, "workload.output_tokens.resulting_mean",
                               config->output_mean);
        return;
    }
    double weight = 0, prompt = 0, output = 0;
    for (size_t i = 0; i < spec->class_count; i++) {
        const struct workload_class *class = &spec->classes[i];
        weight += class->weight;
        prompt += class->weight * rng_dist_mean(&class->prompt);
        output += class->weight * rng_dist_mean(&class->output);
    }
    config->prompt_mean = prompt / weight;
    config->output_mean = output / weight;
    param_mean(load->reader, "workload.prompt_tokens.resulting_mean", config->prompt_mean);
    param_mean(load->reader, "workload.output_tokens.resulting_mean", config->output_mean);
}

/* What a cache that forgets nothing would find: the bound of every hit rate of this trace. */
static void param_reuse(struct scenario_load *load, const struct workload_trace_info *info)
{
    struct scenario_reader *reader = load->reader;
    char text[32];
    if (info->id_count == 0)
        return;
    snprintf(text, sizeof text, "%" PRId64, info->id_count);
    scenario_param_derived(reader, "workload.arrival.hash_ids", text, "", SPEC_CALCULATED,
                           "counted in the trace");
    snprintf(text, sizeof text, "%" PRId64, info->seen_id_count);
    scenario_param_derived(reader, "workload.arrival.hash_ids.seen_before", text, "",
                           SPEC_CALCULATED, "in a leading run of ids that earlier rows have had");
    double share = (double)info->seen_id_count / (double)info->id_count;
    scenario_param_derived(reader, "workload.arrival.hash_ids.reusable_share",
                           base_print_real(share, text, sizeof text), "", SPEC_CALCULATED,
                           "seen before over all: an infinite cache that keeps partial blocks");
}

static bool scan_trace(struct scenario_load *load)
{
    struct serve_config *config = &load->scenario->config;
    struct workload_trace_info info;
    struct kvsim_error err;
    const struct conf_node *file =
        conf_get(conf_get(conf_get(load->root, "workload"), "arrival"), "file");
    if (workload_trace_scan(load->trace_path, config->workload.hash_block_tokens, &info, &err) !=
        KVSIM_OK)
        return scenario_fail_error(load->reader, file, "workload.arrival.file", &err);
    load->trace_sequences = info.sequences_max;
    config->prompt_mean = info.prompt_mean;
    config->output_mean = info.output_mean;
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, info.row_count);
    scenario_param_derived(load->reader, "workload.arrival.rows", text, "", SPEC_CALCULATED,
                           "counted in the trace");
    param_mean(load->reader, "workload.prompt_tokens.resulting_mean", info.prompt_mean);
    param_mean(load->reader, "workload.output_tokens.resulting_mean", info.output_mean);
    int64_t limit = config->sched.max_model_len;
    if (limit != 0 && info.prompt_max >= limit)
        scenario_warn(load->reader, file, "workload.arrival.file", "prompt-above-limit",
                      "the longest prompt of the trace has %" PRId64
                      " tokens, the engine rejects from max_model_len %" PRId64,
                      info.prompt_max, limit);
    if (info.has_content && !config->sched.enable_prefix_caching)
        scenario_caveat(
            load->reader, "content_without_cache",
            "the trace states the content of prompts; without prefix caching it has no effect");
    param_reuse(load, &info);
    return true;
}

double scenario_class_sequences(const struct workload_class *class)
{
    if (class->candidates > 0)
        return class->candidates;
    return class->has_sequences ? rng_dist_value(&class->sequences, 1 - 1e-9) : 1;
}

double scenario_group_sequences(const struct scenario_load *load,
                                const struct workload_class *class)
{
    bool is_loop = class->is_beam && load->opts.switch_opts.beam_search == SCENARIO_BEAMS_LOOP;
    return is_loop ? 1 : scenario_class_sequences(class);
}

double scenario_most_sequences(const struct scenario_load *load)
{
    const struct workload_spec *spec = &load->scenario->config.workload;
    double most = load->trace_sequences;
    for (size_t i = 0; i < spec->class_count; i++)
        most = fmax(most, scenario_group_sequences(load, &spec->classes[i]));
    return most;
}

static void sequences_caveat(struct scenario_load *load)
{
    double most = scenario_most_sequences(load);
    const struct serve_config *config = &load->scenario->config;
    bool forks = config->scheduler != NULL && config->scheduler->forks;
    if (most > 1 && !config->sched.enable_prefix_caching && !forks)
        scenario_caveat(load->reader, "sequences_without_cache",
                        "requests ask for up to %.0f answers: without prefix caching each of them "
                        "computes and holds the whole prompt by itself",
                        most);
}

static bool is_priority_idle(const struct scenario_load *load)
{
    return load->scenario->config.sched.order != SCHED_PRIORITY;
}

static void warn_priorities(struct scenario_load *load)
{
    const struct workload_spec *spec = &load->scenario->config.workload;
    for (size_t i = 0; i < spec->class_count; i++) {
        if (spec->classes[i].priority != 0 && is_priority_idle(load)) {
            scenario_fail_hint(
                load->reader, conf_get(load->root, "workload"), "workload.classes", "unused-key",
                "set engine.scheduling_policy: priority",
                "the 'priority' of class '%.80s' is not used by scheduling_policy 'fcfs'",
                spec->classes[i].name);
            return;
        }
    }
}

static void warn_long_prompts(struct scenario_load *load)
{
    const struct serve_config *config = &load->scenario->config;
    for (size_t i = 0; i < config->workload.class_count; i++) {
        const struct workload_class *class = &config->workload.classes[i];
        const struct rng_dist *prompt = class->shared != NULL && class->shared->has_question
                                            ? &class->shared->system_prompt
                                            : &class->prompt;
        if (rng_dist_value(prompt, 1e-9) >= (double)config->sched.max_model_len)
            scenario_warn(load->reader, conf_get(load->root, "workload"), "workload.prompt_tokens",
                          "prompt-above-limit",
                          "no prompt is shorter than max_model_len %" PRId64
                          ": the engine rejects every request",
                          config->sched.max_model_len);
    }
}

bool scenario_workload_resolve(struct scenario_load *load)
{
    if (!load->scenario->has_workload)
        return true;
    warn_priorities(load);
    scenario_content_caveats(load);
    load->scenario->config.workload.max_context_tokens = load->scenario->config.sched.max_model_len;
    if (load->trace_path != NULL) {
        if (!scan_trace(load))
            return false;
    } else {
        find_means(load);
        warn_long_prompts(load);
    }
    sequences_caveat(load);
    return scenario_candidates_check(load) && scenario_held_find(load);
}
