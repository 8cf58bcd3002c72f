/*
 * scenario_int.h - what the files of scenario share: the reader of mappings, parameters, data files, the parts of a load.
 *
 * A load works on one tree: profile defaults < scenario < --set, every node with its origin and place. Mappings are read
 * by their field tables (scenario_read_map), which also puts the defaults into the tree and records run_param rows. A
 * failure is added to the diagnostics and reading goes on, so that one pass finds most of what is wrong.
 */
#ifndef KVSIM_SCENARIO_SCENARIO_INT_H
#define KVSIM_SCENARIO_SCENARIO_INT_H

#include "base/field.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/node.h"
#include "scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of every fingerprint: to be raised when the same scenario gives other figures than before. */
#define SCENARIO_RESULT_VERSION "20"

enum { SCENARIO_PATH_MAX = 4096, SCENARIO_KEY_MAX = 256 };

/* ---- sections (sections.c, tables_*.c) ---- */

/* A mapping of the language: the keys that are read, and those of later versions, which are refused by name. */
struct scenario_section {
    const char *path; /* "engine.memory"; "" = top level; "[]" stands for an item of a list */
    const struct base_field *fields;
    const struct base_field *later;
    const char *help;
};
/* All of them but those of the arrival processes, in the order of the manual; ended by NULL. */
extern const struct scenario_section *const scenario_sections[];
/* Names that only some engines' profiles have for keys of a section; NULL where there are none. */
const struct base_field *scenario_spelled(const struct scenario_section *section);
extern const struct base_field scenario_engine_spelled[];
/* The row of a dotted key ("engine.block_size"), or of a bare one; `*section` is where it stands. NULL when unknown. */
const struct base_field *scenario_field_find(const char *key, const char **section);
/* "a number of tokens (k = 1024)", "one of a, b", ... */
void scenario_field_type(const struct base_field *field, struct base_text *out);

extern const struct scenario_section scenario_top_section, scenario_cluster_section,
    scenario_run_section, scenario_price_section, scenario_record_section, scenario_engine_section,
    scenario_memory_section, scenario_activation_section, scenario_switch_section,
    scenario_speculative_section, scenario_tier_section, scenario_offload_section,
    scenario_workload_section, scenario_class_section, scenario_timeout_section,
    scenario_shared_section, scenario_popularity_section, scenario_sessions_section,
    scenario_length_section, scenario_time_section, scenario_count_section, scenario_cost_section,
    scenario_host_section, scenario_model_section, scenario_vision_section, scenario_group_section,
    scenario_hardware_section, scenario_link_section, scenario_pcie_section,
    scenario_tflops_section, scenario_all_reduce_section, scenario_sizing_section,
    scenario_runtime_section;

/* ---- parameters (params.c) ---- */

struct scenario_params {
    struct serve_param *at;
    size_t count, capacity;
};

struct scenario_caveats {
    struct serve_caveat *at;
    size_t count, capacity;
};

/* ---- reading (read.c) ---- */

struct scenario_reader {
    struct base_arena *arena;
    struct kvsim_diags *diags;
    const char *beside;                 /* folder of the file read; "" = none */
    struct scenario_params *params;     /* NULL: not recorded */
    struct scenario_caveats *caveats;   /* NULL: not recorded */
    const struct conf_node *provenance; /* of the engine profile: claims of its defaults */
};

/* Adds an error at a node's place (the key's where `node` is one); returns false, so that a caller can return it. */
bool scenario_fail(struct scenario_reader *reader, const struct conf_node *node, const char *key,
                   const char *code, const char *fmt, ...) KVSIM_PRINTF(5, 6);
/* The same with a hint. */
bool scenario_fail_hint(struct scenario_reader *reader, const struct conf_node *node,
                        const char *key, const char *code, const char *hint, const char *fmt, ...)
    KVSIM_PRINTF(6, 7);
void scenario_warn(struct scenario_reader *reader, const struct conf_node *node, const char *key,
                   const char *code, const char *fmt, ...) KVSIM_PRINTF(5, 6);
/* Adds an error that another room has filled, at the node's place unless it has its own. */
bool scenario_fail_error(struct scenario_reader *reader, const struct conf_node *node,
                         const char *key, const struct kvsim_error *err);
void scenario_caveat(struct scenario_reader *reader, const char *code, const char *fmt, ...)
    KVSIM_PRINTF(3, 4);

/* The child mapping of `key`, made (origin default) when absent; NULL with an error when it is no mapping. */
struct conf_node *scenario_child(struct scenario_reader *reader, struct conf_node *map,
                                 const char *path, const char *key);

/* "path.key" in the arena; "key" when the path is "". */
const char *scenario_join(struct base_arena *arena, const char *path, const char *key);

/* Reads `map` by the section's table into the struct `out`; `path` is the section's own, with indices of lists. */
bool scenario_read_map(struct scenario_reader *reader, struct conf_node *map,
                       const struct scenario_section *section, const char *path, void *out);
/* One scalar by a row of a table, without recording it. */
bool scenario_read_value(struct scenario_reader *reader, const struct conf_node *node,
                         const struct base_field *field, const char *path, void *out);

/* True when the file or an option says it: a default or a profile does not count. */
bool scenario_is_stated(const struct conf_node *node);
/* True for the scenario's or --set's word. */
const struct conf_node *scenario_stated(const struct conf_node *map, const char *key);

/* Keys whose value may be a path: of it only the file's name is stored. */
bool scenario_key_is_path(const char *key);
void scenario_param_text(struct scenario_reader *reader, const char *key, const char *value,
                         const char *unit, const struct conf_node *node);
void scenario_param_derived(struct scenario_reader *reader, const char *key, const char *value,
                            const char *unit, enum spec_claim claim, const char *source);
/* A row for each scalar below `node`, with the claims of a data file's own `provenance`. */
void scenario_param_tree(struct scenario_reader *reader, const char *key,
                         const struct conf_node *node);
/* The longest dotted key of `provenance` that fits, else its default; either may be NULL. */
void scenario_provenance_find(const struct conf_node *provenance, const char *key,
                              enum spec_claim *claim, const char **source);

/* Every measured figure of a data file names its conditions. */
bool scenario_provenance_check(struct scenario_reader *reader, const struct conf_node *provenance,
                               const char *path);
/* I/O before the first one. */
enum kvsim_status scenario_first_status(const struct kvsim_diags *diags);

/* ---- data files (lookup.c, paths.c) ---- */

/* A file found by name: its tree and what to call it. */
struct scenario_file {
    const char *name; /* the file's own `name`, else its base name */
    const char *path; /* "(built in)" for a copy in the binary */
    struct conf_node *tree;
};
bool scenario_find_data(struct scenario_reader *reader, enum scenario_data kind,
                        const struct conf_node *node, const char *key, const char *name,
                        struct scenario_file *out);
/* hardware/defaults.yaml in the same order of places. */
bool scenario_find_hardware_defaults(struct scenario_reader *reader, struct conf_node **out);
/* A file named by a scenario: beside it, then in the working directory. NULL with an I/O error when in neither. */
const char *scenario_find_file(struct scenario_reader *reader, const struct conf_node *node,
                               const char *key, const char *name);
const char *scenario_folder_of(struct base_arena *arena, const char *path);
/* The tree of a file, or of what was read from it already. */
enum kvsim_status scenario_read_tree(struct base_arena *arena, const char *path,
                                     const struct scenario_text *text, struct conf_node **out,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;
const char *scenario_base_name(const char *path);
/* -1, 0, 1: releases by their numbers, a date after every version. */
int scenario_release_compare(const char *a, const char *b);

/* ---- parts ---- */

/* entry.c: a name, a path, {base: NAME, changes} or a whole mapping into one tree of its own. */
bool scenario_entry_load(struct scenario_reader *reader, enum scenario_data kind,
                         struct conf_node *entry, const char *key, struct conf_node **tree);
void scenario_drop(struct conf_node *map, const char *key);

/* model_load.c, model.c */
bool scenario_model_load(struct scenario_reader *reader, struct conf_node *root,
                         struct spec_model *out, struct conf_node **tree);
bool scenario_model_read(struct scenario_reader *reader, struct conf_node *tree, const char *path,
                         bool is_config, struct spec_model *out);
/* hardware.c */
bool scenario_hardware_load(struct scenario_reader *reader, struct conf_node *root,
                            bool memory_wanted, struct spec_hardware *out, struct conf_node **tree);
/* lint.c: a memory's bandwidth in bits, which a scenario is warned of. */
void scenario_warn_of_bits(struct scenario_reader *reader, const struct conf_node *tree);
bool scenario_hardware_read(struct scenario_reader *reader, struct conf_node *tree,
                            const char *path, struct spec_hardware *out);
/* hardware_efficiency.c: hardware/defaults.yaml. */
bool scenario_hardware_check_defaults(struct scenario_reader *reader, const struct conf_node *tree);
/* calibration.c */
struct spec_calibration;
bool scenario_calibration_read(struct scenario_reader *reader, const struct conf_node *map,
                               struct spec_calibration *out);

/* profile.c: a release of an engine as data. */
struct scenario_profile {
    const char *name, *family, *release, *scheduler;
    struct conf_node *tree;
};
bool scenario_profile_check(struct scenario_reader *reader, const struct conf_node *tree);
bool scenario_profile_load(struct scenario_reader *reader, struct conf_node *engine,
                           struct scenario_profile *out);
/* engine.* as the profile has it on a device, origin profile, places in the profile's file. */
struct conf_node *scenario_profile_defaults(struct scenario_reader *reader,
                                            const struct scenario_profile *profile,
                                            const struct spec_hardware *hardware);

#endif
