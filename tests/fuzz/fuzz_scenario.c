/*
 * Scenarios as text and, where a text begins with a brace, a model's config.json: a config that can be looked at, or diagnostics
 * of which each has a code and words.
 */
#include "base/error.h"
#include "fuzz/fuzz_file.h"
#include "scenario/scenario.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct kvsim_error *err)
{
    base_require(err->status == KVSIM_ERR_SCENARIO || err->status == KVSIM_ERR_IO);
    base_require(err->message[0] != '\0' && err->code[0] != '\0');
}

static void check_diags(const struct kvsim_diags *diags)
{
    base_require(diags->count > 0);
    for (size_t i = 0; i < diags->count; i++) {
        check_error(&diags->at[i]);
    }
}

static void check_config(const struct serve_config *config)
{
    base_require(config->replica_count >= 1 && config->pool_blocks >= 0);
    base_require(config->sched.block_size >= 1 && config->sched.max_model_len >= 1);
    base_require(config->sched.max_num_seqs >= 1 && config->layout.block_bytes >= 1);
    base_require(config->scheduler != NULL);
}

static void load_scenario(const uint8_t *data, size_t size)
{
    struct scenario_text text = {(const char *)data, size};
    struct scenario_request request = {.path = "fuzz.yaml",
                                       .text = &text,
                                       .purpose = SCENARIO_FOR_RUN,
                                       .warnings_wanted = true,
                                       .held_unwanted = true};
    struct scenario *scenario = NULL;
    struct kvsim_diags diags = {0};
    if (scenario_load(&request, &scenario, &diags) == KVSIM_OK) {
        check_config(scenario_config(scenario));
        scenario_free(scenario);
    } else {
        base_require(scenario == NULL);
        check_diags(&diags);
    }
}

static void load_model(const uint8_t *data, size_t size)
{
    struct fuzz_file input = fuzz_file(data, size);
    struct base_arena arena;
    struct spec_model model;
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    if (scenario_load_model(&arena, input.path, &model, &err) == KVSIM_OK) {
        base_require(model.group_count >= 1 && isfinite(model.parameters) && model.parameters > 0);
    } else {
        check_error(&err);
    }
    base_arena_release(&arena);
    fclose(input.file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == '{') {
        load_model(data, size);
    } else {
        load_scenario(data, size);
    }
    return 0;
}
