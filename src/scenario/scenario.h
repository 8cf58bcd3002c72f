/*
 * scenario.h - from YAML text to serve_config: the resolved, checked description of one run.
 *
 * Loading collects up to KVSIM_DIAGS_MAX diagnostics, each with file, line and column, and gives no config when there is
 * one. What a value comes from (scenario, profile, default, set) is kept for run_param. A scenario owns an arena in which
 * everything lies; the config is immutable and may be read by many threads.
 */
#ifndef KVSIM_SCENARIO_SCENARIO_H
#define KVSIM_SCENARIO_SCENARIO_H

#include "base/error.h"
#include "base/text.h"
#include "conf/node.h"
#include "serve/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One `--set key.path=value`, or an option that is short for one (--seed, --replications, --tp). */
struct scenario_override {
    const char *key, *value;
};

/* What the asking command will use; a command asks only for what it needs. */
enum scenario_purpose {
    SCENARIO_FOR_RUN,
    SCENARIO_FOR_SIZE,
    SCENARIO_FOR_STEP,
    SCENARIO_FOR_KERNEL, /* hardware and cost alone: single kernels of `kvsim step --operator` */
    SCENARIO_FOR_CHECK
};

/* What was read from where it can be read only once: standard input. */
struct scenario_text {
    const char *at;
    size_t length;
};

struct scenario_request {
    const char *path; /* NULL: built from the overrides alone (size, step --model M ...) */
    const struct scenario_text *text; /* what stands in that file; NULL: it is read */
    const struct scenario_override *overrides;
    size_t override_count;
    size_t axis_count; /* of them, the last ones: values of --axis, the others of --set */
    enum scenario_purpose purpose;
    bool warnings_wanted;
    int64_t demand_sequences, demand_tokens; /* SIZE: to be held at once; 0 = not stated */
    /* record.requests and record.timeline are none unless stated: points of sweeps and plans */
    bool rows_unwanted;
    /* serve_config.held, most of a load's time, is left to scenario_complete() */
    bool held_unwanted;
};

struct scenario; /* = struct kvsim_scenario of the installed API */

/* On failure the status is that of the first diagnostic (IO before SCENARIO) and `*out` is NULL. A configuration that
 * cannot start is not a failure: serve_config.waterfall says so, and the caller refuses. */
enum kvsim_status scenario_load(const struct scenario_request *request, struct scenario **out,
                                struct kvsim_diags *diags) KVSIM_MUST_CHECK;
const struct serve_config *scenario_config(const struct scenario *scenario);
/* Finds serve_config.held where the load left it out, before the config is shared; it stays unknown where no request can
 * be served. */
void scenario_complete(struct scenario *scenario);
/* What serve_config.held depends on, as text, where the load left it out: scenarios with equal keys have the same. False where
 * nothing is left to be found, and for traces. */
bool scenario_held_key(const struct scenario *scenario, char key[33]);
/* In place of scenario_complete(). */
void scenario_give_held(struct scenario *scenario, const struct workload_held *held);
void scenario_free(struct scenario *scenario);

/* Finds a model, hardware or engine by name, alias or path in this order: beside the scenario, $KVSIM_DATA,
 * the working directory's folders, the installed share folder, the copies in the binary. A name that fits several files
 * is an error with the list; an unknown one names the nearest. */
enum scenario_data { SCENARIO_MODEL, SCENARIO_HARDWARE, SCENARIO_ENGINE };
const char *
scenario_data_name(enum scenario_data kind); /* "models", "hardware", "engines": the folder */

struct scenario_entry {
    const char *name, *path, *aliases, *summary; /* path: the file that won, or "(built in)" */
};
struct scenario_entries {
    struct base_arena arena;
    struct scenario_entry *at;
    size_t count, capacity;
};
void scenario_list_data(enum scenario_data kind, const char *beside, struct scenario_entries *out);
void scenario_list_scenarios(struct scenario_entries *out);
void scenario_entries_free(struct scenario_entries *entries);

/* Loads one named model or hardware without a scenario, for tables of steps. Lives in `arena`. */
enum kvsim_status scenario_load_model(struct base_arena *arena, const char *name,
                                      struct spec_model *out,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;
enum kvsim_status scenario_load_hardware(struct base_arena *arena, const char *name,
                                         struct spec_hardware *out,
                                         struct kvsim_error *err) KVSIM_MUST_CHECK;

/* `kvsim check FILE`: a scenario, model, hardware or engine file by its contents; all diagnostics at once. */
enum kvsim_status scenario_check_file(const char *path, struct kvsim_diags *diags) KVSIM_MUST_CHECK;
/* The same of a request's path, text and overrides; these are for scenarios, and refused where the file is none. */
enum kvsim_status scenario_check(const struct scenario_request *request,
                                 struct kvsim_diags *diags) KVSIM_MUST_CHECK;

/* The unit in which a key's numbers are read (for ranges of an axis); BASE_NONE where the key has none or is unknown. */
enum base_unit scenario_key_unit(const char *key);

/* `kvsim explain KEY`: text from the field tables; false when the key is unknown (then `near` names one or is NULL). */
bool scenario_explain(const char *key, struct base_text *out, const char **near);
/* Every key of a scenario as a manual page section / JSON Schema, from the same tables. */
void scenario_print_manual(struct base_text *out);
void scenario_print_schema(struct base_text *out);

#endif
