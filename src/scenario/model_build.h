/*
 * model_build.h - one model while it is put together, and what its files share. Private to the room.
 *
 * model.c fills the geometry key by key; model_groups.c says of which layers KV is kept, model_format.c how weights are stored.
 * Everything that fails has been told in the reader's diagnostics.
 */
#ifndef KVSIM_SCENARIO_MODEL_BUILD_H
#define KVSIM_SCENARIO_MODEL_BUILD_H

#include "scenario/model_opts.h"

struct scenario_model_build {
    struct scenario_reader *reader;
    struct conf_node *tree;
    const char *path;
    bool is_config;
    struct scenario_model_opts opts;
    const struct scenario_family *family; /* NULL: not known */
    struct scenario_layers layers;
    struct spec_model *out;
};

/* A key that the model cannot do without; false, so that a caller can return it. */
bool scenario_model_missing(const struct scenario_model_build *b, const char *key,
                            const char *hint);
/* A value that cannot be; false. */
bool scenario_model_wrong(const struct scenario_model_build *b, const char *key,
                          const char *message);

/* model_groups.c: out->groups, as `kv_groups` states them or as they follow from the layers. */
bool scenario_model_groups(struct scenario_model_build *b);
/* model_format.c: out->weight_dtype, of the released weights. */
bool scenario_model_format(struct scenario_model_build *b);

#endif
