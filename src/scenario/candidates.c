/*
 * candidates.c - requests for which more is generated than returned: `best_of`, and the beams of a search.
 *
 * Which engine has it is a switch of its profile (engine.switch.best_of, beam_search). Beams in its core need a scheduler that
 * forks block tables; a search outside is a loop of requests for one token each, which any engine answers (serve/search.h).
 */
#include "scenario/parts.h"

#include "sched/sched.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* By what sharing among beams is reported to save: docs/prefix-caching.md has the figures that it is fitted to. */
static const char default_switch[] = "0.08";

bool scenario_candidates_read(struct scenario_load *load, struct conf_node *map, const char *path,
                              const struct scenario_candidate_opts *opts,
                              struct workload_class *out)
{
    struct scenario_reader *reader = load->reader;
    if (opts->best_of > 0 && opts->beam_width > 0)
        return scenario_fail_hint(reader, conf_key(map, "beam_width"),
                                  scenario_join(reader->arena, path, "beam_width"), "conflict",
                                  "leave best_of out: of the beams 'n' are returned",
                                  "'best_of' and 'beam_width' both say how many are generated");
    if (opts->best_of > 0 || opts->beam_width > 0) {
        out->is_beam = opts->beam_width > 0;
        out->candidates = (uint32_t)(out->is_beam ? opts->beam_width : opts->best_of);
        out->beam_switch = strtod(default_switch, NULL);
    }
    if (out->is_beam && opts->beam_width > 0 && !opts->has_beam_switch)
        scenario_param_derived(reader, scenario_join(reader->arena, path, "beam_switch"),
                               default_switch, "", SPEC_ASSUMED,
                               "fitted to what sharing saves in Kwon et al., SOSP 2023, figure 15");
    if (!opts->has_beam_switch)
        return true;
    out->beam_switch = opts->beam_switch;
    return out->is_beam ||
           scenario_fail_hint(reader, conf_key(map, "beam_switch"),
                              scenario_join(reader->arena, path, "beam_switch"), "unused-key",
                              "state beam_width", "'beam_switch' is used by beams alone");
}

const char *scenario_sequences_key(const struct workload_class *class)
{
    return class->candidates == 0 ? "n" : class->is_beam ? "beam_width" : "best_of";
}

const struct conf_node *scenario_sequences_map(struct scenario_load *load, size_t class_index,
                                               const char *key, const char **path)
{
    struct conf_node *workload = conf_get(load->root, "workload");
    const struct conf_node *classes = conf_get(workload, "classes");
    if (!conf_is_null(classes) && !conf_is_null(conf_get(classes->items[class_index], key))) {
        *path = base_arena_printf(load->reader->arena, "workload.classes.%zu.%s", class_index, key);
        return classes->items[class_index];
    }
    *path = base_arena_printf(load->reader->arena, "workload.%s", key);
    return workload;
}

static bool check_core(struct scenario_load *load, const struct conf_node *at, const char *path)
{
    const struct sched_ops *scheduler = load->scenario->config.scheduler;
    if (scheduler != NULL && scheduler->forks)
        return true;
    return scenario_fail_hint(
        load->reader, at, path, "unsupported-key",
        "engine.switch.beam_search: loop, or engine.profile: vllm-0.2",
        "'beam_search: core' is a group whose block tables fork, as in vLLM's "
        "core up to 0.6.2: %s has none",
        load->profile.name);
}

/* The loop sends its requests without one. */
static bool check_priority(struct scenario_load *load, const struct workload_class *class,
                           const struct conf_node *at, const char *path)
{
    return class->priority == 0 ||
           scenario_fail_hint(
               load->reader, at, path, "conflict", "leave the class's priority out",
               "class '%.80s' has a priority, which the search of %s does not pass on "
               "to the engine",
               class->name, load->profile.name);
}

static bool check_ids(struct scenario_load *load, const struct workload_class *class,
                      const struct conf_node *at, const char *path)
{
    int64_t longest = load->scenario->config.sched.max_model_len;
    return longest < SERVE_SEARCH_IDS_MAX / class->candidates ||
           scenario_fail_hint(load->reader, at, path, "out-of-range",
                              "fewer beams, or a shorter engine.max_model_len",
                              "%u beams of up to max_model_len %" PRId64
                              " tokens: a search may have %" PRId64 " in all",
                              class->candidates, longest, SERVE_SEARCH_IDS_MAX - 1);
}

static bool check_beams(struct scenario_load *load, const struct workload_class *class,
                        const struct conf_node *at, const char *path)
{
    int who = load->opts.switch_opts.beam_search;
    if (who == SCENARIO_BEAMS_LOOP)
        return check_priority(load, class, at, path) && check_ids(load, class, at, path);
    if (who == SCENARIO_BEAMS_CORE)
        return check_core(load, at, path);
    return scenario_fail_hint(
        load->reader, at, path, "unsupported-key",
        base_arena_printf(
            load->reader->arena,
            "engine.profile: vllm-0.10 or vllm-0.2; engine.switch.beam_search: loop, if "
            "a client searches by requests for one token each; or 'n: %u'",
            class->candidates),
        "%s does not search with beams", load->profile.name);
}

static bool check_engine(struct scenario_load *load, const struct workload_class *class,
                         const struct conf_node *at, const char *path)
{
    if (class->is_beam)
        return check_beams(load, class, at, path);
    if (load->opts.switch_opts.best_of)
        return true;
    return scenario_fail_hint(
        load->reader, at, path, "unsupported-key",
        base_arena_printf(load->reader->arena,
                          "'n: %u' loads the engine alike and counts every answer as returned; "
                          "engine.profile: vllm-0.6 has best_of",
                          class->candidates),
        "%s has no 'best_of'", load->profile.name);
}

static bool check_answers(struct scenario_load *load, size_t class_index,
                          const struct conf_node *at, const char *path)
{
    const struct workload_class *class = &load->scenario->config.workload.classes[class_index];
    double most = class->has_sequences ? rng_dist_value(&class->sequences, 1 - 1e-9) : 1;
    most = fmax(most, load->trace_sequences);
    if (most <= class->candidates)
        return true;
    return scenario_fail(load->reader, at, path, "out-of-range",
                         "%u answers are generated, and 'n' asks for up to %.0f", class->candidates,
                         most);
}

static void add_loop_caveats(struct scenario_load *load, const struct workload_class *class)
{
    scenario_caveat(
        load->reader, "search_outside",
        "the search is a loop outside the engine: %u requests for one token each at every "
        "step (engine_requests); running, waiting, prefix hits and itl are of those. What "
        "the server does between two steps takes no time here",
        class->candidates);
    if (!load->scenario->config.sched.enable_prefix_caching)
        scenario_caveat(
            load->reader, "search_without_cache",
            "without prefix caching each of the %u requests of a step computes its whole "
            "context anew",
            class->candidates);
}

/* What a reader of the figures must know. */
static void add_caveats(struct scenario_load *load, const struct workload_class *class)
{
    scenario_caveat(
        load->reader, "answers_not_streamed",
        "where more is generated than returned nothing is streamed: ttft and itl are the "
        "engine's, a client waits for e2e, and has nothing when it goes before");
    if (class->is_beam)
        scenario_caveat(load->reader, "beams_drawn",
                        "which beams go on is drawn, not computed (beam_switch %.3g), and a search "
                        "ends with all its beams at the length of output_tokens",
                        class->beam_switch);
    if (class->is_beam && load->scenario->config.search_outside)
        add_loop_caveats(load, class);
}

bool scenario_candidates_check(struct scenario_load *load)
{
    const struct workload_spec *spec = &load->scenario->config.workload;
    const struct workload_class *told = NULL;
    bool ok = true;
    load->scenario->config.search_outside =
        load->opts.switch_opts.beam_search == SCENARIO_BEAMS_LOOP;
    for (size_t i = 0; i < spec->class_count; i++) {
        const struct workload_class *class = &spec->classes[i];
        if (class->candidates == 0)
            continue;
        const char *path, *key = scenario_sequences_key(class);
        // A loop of one beam is one all the same; a group of one sequence is none.
        bool is_told =
            class->candidates > 1 || (class->is_beam && load->scenario->config.search_outside);
        const struct conf_node *at = conf_key(scenario_sequences_map(load, i, key, &path), key);
        bool asks = is_told && scenario_is_whole(load) && load->scenario->config.scheduler != NULL;
        ok = (!asks || check_engine(load, class, at, path)) && check_answers(load, i, at, path) &&
             ok;
        if (is_told)
            told = told == NULL || class->is_beam ? class : told;
    }
    if (told != NULL && ok)
        add_caveats(load, told);
    return ok;
}
