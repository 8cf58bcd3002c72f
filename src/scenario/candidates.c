/*
 * candidates.c - requests for which more is generated than returned: `best_of`, and the beams of a search.
 *
 * Which engine has it is a switch of its profile (engine.switch.best_of, beam_search). Beams also need a scheduler that forks
 * block tables: where the search runs outside the engine it is a loop of requests for one token, which is not simulated.
 */
#include "scenario/parts.h"

#include "sched/sched.h"

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

static bool check_engine(struct scenario_load *load, const struct workload_class *class,
                         const struct conf_node *at, const char *path)
{
    const struct sched_ops *scheduler = load->scenario->config.scheduler;
    const struct scenario_switch_opts *has = &load->opts.switch_opts;
    bool forks = scheduler != NULL && scheduler->forks;
    if (class->is_beam && !forks)
        return scenario_fail_hint(
            load->reader, at, path, "unsupported-key",
            base_arena_printf(load->reader->arena,
                              "engine.profile: vllm-0.2; or 'n: %u', whose answers share less",
                              class->candidates),
            "beams are simulated where block tables fork, as in vLLM's core up to 0.6.2; %s "
            "searches outside the engine, by requests for one token each, or not at all",
            load->profile.name);
    if (class->is_beam && !has->beam_search)
        return scenario_fail_hint(load->reader, at, path, "unsupported-key",
                                  "engine.profile: vllm-0.2; or, for releases 0.6.0 to 0.6.2, "
                                  "engine.switch.beam_search: true",
                                  "beam search has left the engine of %s", load->profile.name);
    if (!class->is_beam && !has->best_of)
        return scenario_fail_hint(
            load->reader, at, path, "unsupported-key",
            base_arena_printf(load->reader->arena,
                              "'n: %u' loads the engine alike and counts every answer as returned; "
                              "engine.profile: vllm-0.6 has best_of",
                              class->candidates),
            "%s has no 'best_of'", load->profile.name);
    return true;
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
}

bool scenario_candidates_check(struct scenario_load *load)
{
    const struct workload_spec *spec = &load->scenario->config.workload;
    const struct workload_class *told = NULL;
    bool ok = true;
    for (size_t i = 0; i < spec->class_count; i++) {
        const struct workload_class *class = &spec->classes[i];
        if (class->candidates == 0)
            continue;
        const char *path, *key = scenario_sequences_key(class);
        const struct conf_node *at = conf_key(scenario_sequences_map(load, i, key, &path), key);
        bool asks = class->candidates > 1 &&
                    (load->purpose == SCENARIO_FOR_RUN || load->purpose == SCENARIO_FOR_CHECK);
        ok = (!asks || check_engine(load, class, at, path)) && check_answers(load, i, at, path) &&
             ok;
        if (class->candidates > 1)
            told = told == NULL || class->is_beam ? class : told;
    }
    if (told != NULL && ok)
        add_caveats(load, told);
    return ok;
}
