/*
 * load_text.h - a scenario from a text in a scratch folder, for the tests of this room.
 */
#ifndef KVSIM_TESTS_SCENARIO_LOAD_TEXT_H
#define KVSIM_TESTS_SCENARIO_LOAD_TEXT_H

#include "scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct loaded {
    struct scenario *scenario; /* NULL on failure */
    const struct serve_config *config;
    enum kvsim_status status;
    struct kvsim_diags diags;
    char folder[64], path[128];
};

static inline void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        abort();
    fputs(text, file);
    fclose(file);
}

static inline void loaded_begin(struct loaded *loaded)
{
    memset(loaded, 0, sizeof *loaded);
    strcpy(loaded->folder, "/tmp/kvsim-test-XXXXXX");
    if (mkdtemp(loaded->folder) == NULL)
        abort();
    snprintf(loaded->path, sizeof loaded->path, "%s/case.yaml", loaded->folder);
}

static inline void loaded_run(struct loaded *loaded, enum scenario_purpose purpose,
                              const struct scenario_override *overrides, size_t count)
{
    struct scenario_request request = {.path = loaded->path,
                                       .overrides = overrides,
                                       .override_count = count,
                                       .purpose = purpose,
                                       .warnings_wanted = true};
    loaded->status = scenario_load(&request, &loaded->scenario, &loaded->diags);
    loaded->config = loaded->scenario == NULL ? NULL : scenario_config(loaded->scenario);
}

static inline void load_text_for(struct loaded *loaded, const char *text,
                                 enum scenario_purpose purpose)
{
    loaded_begin(loaded);
    write_text(loaded->path, text);
    loaded_run(loaded, purpose, NULL, 0);
}

static inline void load_text(struct loaded *loaded, const char *text)
{
    load_text_for(loaded, text, SCENARIO_FOR_RUN);
}

static inline void load_text_set(struct loaded *loaded, const char *text, const char *key,
                                 const char *value)
{
    struct scenario_override override = {key, value};
    loaded_begin(loaded);
    write_text(loaded->path, text);
    loaded_run(loaded, SCENARIO_FOR_RUN, &override, 1);
}

static inline void loaded_end(struct loaded *loaded)
{
    scenario_free(loaded->scenario);
    unlink(loaded->path);
    rmdir(loaded->folder);
}

/* The run_param row of a key, or NULL. */
static inline const struct serve_param *param_of(const struct loaded *loaded, const char *key)
{
    for (size_t i = 0; loaded->config != NULL && i < loaded->config->param_count; i++) {
        if (strcmp(loaded->config->params[i].key, key) == 0)
            return &loaded->config->params[i];
    }
    return NULL;
}

static inline const struct serve_caveat *caveat_of(const struct loaded *loaded, const char *code)
{
    for (size_t i = 0; loaded->config != NULL && i < loaded->config->caveat_count; i++) {
        if (strcmp(loaded->config->caveats[i].code, code) == 0)
            return &loaded->config->caveats[i];
    }
    return NULL;
}

/* Parts of a scenario that runs without a device: a bare cache, a stated pool, fixed steps. */
#define BARE_MODEL "model: {kv_groups: [{kind: full, layers: 1, bytes_per_token: 1}]}\n"
#define BARE_ENGINE                                                                             \
    "engine: {profile: vllm-0.19, max_model_len: 64, num_gpu_blocks_override: 20, block_size: " \
    "4}\n"
#define BARE_COST "cost: {level: fixed, step: 1ms}\n"
#define BARE_WORKLOAD \
    "workload: {arrival: {process: poisson, rate: 1/s}, prompt_tokens: 8, output_tokens: 4}\n"
#define BARE BARE_MODEL BARE_ENGINE BARE_COST BARE_WORKLOAD

#endif
