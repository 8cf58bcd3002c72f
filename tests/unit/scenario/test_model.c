#include "load_text.h"

#include "support/check_main.h"

#include <math.h>

/* Lower bounds in bf16 that public sources agree on (bytes per token), and parameters in 1e9 from the geometry. */
static const struct {
    const char *name;
    uint64_t bytes_per_token;
    double parameters_b, active_b;
} known[] = {
    {"deepseek-v3", 70272, 671.025, 36.625},    {"deepseek-v2", 69120, 235.741, 20.851},
    {"qwen2.5-72b", 327680, 72.704, 71.458},    {"llama-3.1-405b", 516096, 405.849, 403.748},
    {"llama-3.1-8b", 131072, 8.030, 7.505},     {"llama-3.1-70b", 327680, 70.552, 69.502},
    {"opt-13b", 819200, 12.851, 12.840},        {"llama-7b", 524288, 6.738, 6.607},
    {"qwen3-30b-a3b", 98304, 30.532, 3.042},    {"qwen3-235b-a22b", 192512, 235.093, 21.568},
    {"mixtral-8x7b", 131072, 46.703, 12.749},   {"falcon-7b", 8192, 6.921, 6.921},
    {"gpt-oss-120b", 36864, 116.789, 5.131},    {"qwen3-next-80b-a3b", 24576, 79.674, 3.563},
    {"jamba-1.5-large", 36864, 398.553, 93.61}, {"nemotron-3-nano", 6144, 31.578, 3.227},
    {"llama-4-scout", 49152, 107.769, 16.138},  {"glm-4.5", 376832, 352.796, 32.854},
};

static void load_one(struct base_arena *arena, const char *name, struct spec_model *out)
{
    struct kvsim_error err = {0};
    enum kvsim_status status = scenario_load_model(arena, name, out, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %s (%s)", name, err.message, err.hint);
}

/* Bytes of one token in the layers that keep every token, 2 bytes an element. */
static uint64_t full_bytes(const struct spec_model *model)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model->group_count; i++) {
        const struct spec_kv_group *group = &model->groups[i];
        if (group->kind == SPEC_KV_FULL)
            sum += (uint64_t)group->layer_count * group->kv_head_count *
                   (group->k_dim + group->v_dim) * 2;
    }
    return sum;
}

START_TEST(well_known_models_have_their_sizes)
{
    struct base_arena arena;
    base_arena_init(&arena);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct spec_model model;
        load_one(&arena, known[i].name, &model);
        ck_assert_msg(full_bytes(&model) == known[i].bytes_per_token, "%s", known[i].name);
        ck_assert_double_eq_tol(model.parameters / 1e9, known[i].parameters_b, 6e-4);
        ck_assert_double_eq_tol(model.active_parameters / 1e9, known[i].active_b, 6e-4);
    }
    base_arena_release(&arena);
}
END_TEST

/* Published sizes that count what the geometry does not: a vision tower, or a rounded name. */
static double tolerance_of(const char *name)
{
    static const char *const loose[] = {"gemma-3-4b",       "gemma-3-12b", "gemma-3-27b",
                                        "falcon-40b",       "kimi-k2",     "mistral-nemo",
                                        "mistral-small-24b"};
    for (size_t i = 0; i < sizeof loose / sizeof loose[0]; i++) {
        if (strcmp(loose[i], name) == 0)
            return 0.10;
    }
    return 0.0135;
}

START_TEST(every_shipped_model_loads_and_has_its_published_size)
{
    struct scenario_entries entries;
    scenario_list_data(SCENARIO_MODEL, NULL, &entries);
    ck_assert_uint_ge(entries.count, 88);
    for (size_t i = 0; i < entries.count; i++) {
        struct base_arena arena;
        struct spec_model model;
        base_arena_init(&arena);
        load_one(&arena, entries.at[i].name, &model);
        ck_assert_uint_gt(model.group_count, 0);
        ck_assert_double_gt(model.published_parameters, 0);
        double off = fabs(model.parameters / model.published_parameters - 1);
        ck_assert_msg(off <= tolerance_of(model.name), "%s: %g against %g", model.name,
                      model.parameters, model.published_parameters);
        base_arena_release(&arena);
    }
    scenario_entries_free(&entries);
}
END_TEST

static void load_config(struct base_arena *arena, const char *file, struct spec_model *out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/unit/scenario/data/%s", KVSIM_TEST_DATA, file);
    load_one(arena, path, out);
}

static const struct spec_kv_group *group_of(const struct spec_model *model, enum spec_kv_kind kind)
{
    for (size_t i = 0; i < model->group_count; i++) {
        if (model->groups[i].kind == kind)
            return &model->groups[i];
    }
    return NULL;
}

START_TEST(a_config_of_each_family_is_read_as_it_is)
{
    static const struct {
        const char *file, *name;
    } pairs[] = {
        {"llama-3.1-8b.json", "llama-3.1-8b"},     {"deepseek-v3.json", "deepseek-v3"},
        {"mixtral-8x7b.json", "mixtral-8x7b"},     {"gemma-3-4b.json", "gemma-3-4b"},
        {"gpt-oss-20b.json", "gpt-oss-20b"},       {"qwen2.5-7b.json", "qwen2.5-7b"},
        {"falcon-7b.json", "falcon-7b"},           {"opt-13b.json", "opt-13b"},
        {"jamba-1.5-mini.json", "jamba-1.5-mini"}, {"llama-4-scout.json", "llama-4-scout"},
        {"nemotron-h-8b.json", "nemotron-h-8b"},   {"bloom.json", "bloom"},
        {"starcoder.json", "starcoder"},           {"qwen3-next.json", "qwen3-next-80b-a3b"},
        {"phi-3-mini-4k.json", "phi-3-mini-4k"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct base_arena arena;
        struct spec_model config, file;
        base_arena_init(&arena);
        load_config(&arena, pairs[i].file, &config);
        load_one(&arena, pairs[i].name, &file);
        ck_assert_msg(config.group_count == file.group_count, "%s", pairs[i].file);
        for (size_t g = 0; g < file.group_count; g++) {
            ck_assert_msg(memcmp(&config.groups[g], &file.groups[g], sizeof file.groups[g]) == 0,
                          "%s group %zu", pairs[i].file, g);
        }
        ck_assert_msg(config.parameters == file.parameters, "%s: %g, %g", pairs[i].file,
                      config.parameters, file.parameters);
        ck_assert_msg(config.max_position_tokens == file.max_position_tokens, "%s", pairs[i].file);
        ck_assert_msg(strcmp(config.weight_dtype, file.weight_dtype) == 0, "%s: %s, %s",
                      pairs[i].file, config.weight_dtype, file.weight_dtype);
        base_arena_release(&arena);
    }
}
END_TEST

START_TEST(windows_and_shared_layers_are_counted)
{
    struct base_arena arena;
    struct spec_model model;
    base_arena_init(&arena);
    load_one(&arena, "gemma-3n-e4b", &model); // 35 layers, the last 15 reuse earlier caches
    ck_assert_uint_eq(group_of(&model, SPEC_KV_FULL)->layer_count, 4);
    ck_assert_uint_eq(group_of(&model, SPEC_KV_SLIDING)->layer_count, 16);
    ck_assert_uint_eq(group_of(&model, SPEC_KV_SLIDING)->window_tokens, 512);
    load_one(&arena, "deepseek-v3.2", &model);
    ck_assert_uint_eq(group_of(&model, SPEC_KV_INDEX)->k_dim, 128);
    ck_assert_uint_eq(group_of(&model, SPEC_KV_INDEX)->layer_count, 61);
    load_one(&arena, "qwen3-next-80b-a3b", &model);
    const struct spec_kv_group *state = group_of(&model, SPEC_KV_STATE);
    ck_assert_uint_eq(state->layer_count, 36);
    // 77,266,944 bytes a sequence with the recurrent part in fp32
    ck_assert_uint_eq(36 * (state->state_elements_conv * 2 + state->state_elements_recurrent * 4),
                      77266944);
    load_one(&arena, "nemotron-h-8b", &model);
    ck_assert_uint_eq(model.mlp_only_layer_count, 24);
    base_arena_release(&arena);
}
END_TEST

#define REST                                       \
    "hardware: h100-sxm\n" BARE_COST BARE_WORKLOAD \
    "engine: {max_model_len: 64, num_gpu_blocks_override: 99}\n"

START_TEST(a_model_may_be_stated_changed_or_read)
{
    struct loaded loaded;
    char text[2048];
    load_text(&loaded, "model: {base: llama-3.1-8b, num_hidden_layers: 16}\n" REST);
    ck_assert_uint_eq(loaded.config->layout.lower_bound_bytes_per_token, 65536);
    loaded_end(&loaded);
    snprintf(text, sizeof text,
             "model: {hf_config: %s/tests/unit/scenario/data/llama-3.1-8b.json, "
             "num_key_value_heads: 1}\n%s",
             KVSIM_TEST_DATA, REST);
    load_text(&loaded, text);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    ck_assert_uint_eq(loaded.config->layout.lower_bound_bytes_per_token, 131072 / 8);
    loaded_end(&loaded);
    load_text(&loaded, "model: {name: mine, model_type: llama, num_hidden_layers: 2, hidden_size: "
                       "64, num_attention_heads: 4,"
                       " intermediate_size: 128, vocab_size: 100}\n" REST);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    ck_assert_str_eq(loaded.config->model_name, "mine");
    ck_assert_uint_eq(loaded.config->layout.lower_bound_bytes_per_token, 2 * 2 * 64 * 2);
    loaded_end(&loaded);
}
END_TEST

// From a config.json's vision_config and from a model file's `vision`: the same tower.
START_TEST(a_tower_is_read_beside_the_text_model)
{
    struct base_arena arena;
    struct spec_model config, file, qwen, blind;
    base_arena_init(&arena);
    load_config(&arena, "gemma-3-4b.json", &config);
    load_one(&arena, "gemma-3-4b", &file);
    ck_assert(memcmp(&config.vision, &file.vision, sizeof file.vision) == 0);
    ck_assert_double_eq_tol(file.vision.parameters / 1e9, 0.415, 0.003);
    ck_assert_int_eq(file.vision.item_tokens, 256);
    ck_assert_int_eq(file.vision.patches_per_token, 16);
    ck_assert(!file.vision.has_rotary);
    load_one(&arena, "qwen3.5-27b", &qwen);
    ck_assert_double_eq_tol(qwen.vision.parameters / 1e9, 0.458, 0.003);
    ck_assert_int_eq(qwen.vision.item_tokens, 16384);
    ck_assert(qwen.vision.has_rotary && qwen.has_video_positions);
    ck_assert_uint_eq(qwen.rotary_dim, 64); // a quarter of a head
    ck_assert(!file.has_video_positions);
    // The context is stated after the stretch; the table of full-attention layers is stretched from there.
    ck_assert(config.max_position_tokens == 131072 && config.rotary_stretch == 8);
    ck_assert(file.max_position_tokens == 131072 && file.rotary_stretch == 8);
    ck_assert_uint_eq(qwen.rotary_stretch, 0);
    load_one(&arena, "qwen2.5-7b", &blind);
    ck_assert_double_eq(blind.vision.parameters, 0);
    base_arena_release(&arena);
}
END_TEST

// Newer configurations have all of it in one mapping: the share of a head that is turned, and M-RoPE's sections.
START_TEST(rotary_parameters_are_read_together)
{
    struct base_arena arena;
    struct spec_model config;
    struct loaded loaded;
    base_arena_init(&arena);
    load_config(&arena, "rope-parameters.json", &config);
    ck_assert_uint_eq(config.rotary_dim, 8);
    ck_assert(config.has_video_positions);
    base_arena_release(&arena);
    load_text(&loaded, "model: {model_type: qwen3, num_hidden_layers: 2, hidden_size: 64, "
                       "num_attention_heads: 4, intermediate_size: 128, vocab_size: 100, "
                       "rope_parameters: {partial_rotary_factor: much}}\n" REST);
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(loaded.diags.at[0].key, "model.rope_scaling.partial_rotary_factor");
    loaded_end(&loaded);
}
END_TEST

static int64_t weights_of(const char *model)
{
    struct loaded loaded;
    char text[512];
    snprintf(text, sizeof text, "model: %s\nhardware: h200-sxm\nengine: {profile: vllm-0.23}\n",
             model);
    load_text_for(&loaded, text, SCENARIO_FOR_SIZE);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    int64_t bytes = loaded.config->waterfall.weights_bytes;
    loaded_end(&loaded);
    return bytes;
}

START_TEST(a_tower_can_be_left_out_or_added)
{
    int64_t whole = weights_of("qwen3.5-27b");
    int64_t text = weights_of("{base: qwen3.5-27b, vision: {parameters: 0}}");
    ck_assert_double_eq_tol((double)(whole - text) / 1e9, 2 * 0.458, 0.006);
    ck_assert_int_eq(weights_of("{base: qwen3.5-27b, vision: {parameters: 1e9}}") - text,
                     2000000000);
}
END_TEST

static void refuse(const char *text, const char *code, const char *part)
{
    struct loaded loaded;
    load_text(&loaded, text);
    ck_assert_int_eq(loaded.status, KVSIM_ERR_SCENARIO);
    ck_assert_msg(strcmp(loaded.diags.at[0].code, code) == 0, "%s: %s", loaded.diags.at[0].code,
                  loaded.diags.at[0].message);
    ck_assert_msg(strstr(loaded.diags.at[0].message, part) != NULL, "%s",
                  loaded.diags.at[0].message);
    loaded_end(&loaded);
}

/* The same tower in a model file and in a config.json: {key: value, ...}, JSON both. */
struct towers {
    struct kvsim_error file_err, config_err;
    enum kvsim_status file_status, config_status;
    struct spec_model file, config;
};

static void load_tower(struct base_arena *arena, const char *vision, struct towers *out)
{
    struct loaded folder;
    char path[160], text[1024];
    loaded_begin(&folder);
    memset(out, 0, sizeof *out);
    const char *geometry =
        "\"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4, "
        "\"intermediate_size\": 128, \"vocab_size\": 100";
    snprintf(text, sizeof text, "{\"name\": m, \"mlp_type\": gated, %s, \"vision\": %s}\n",
             geometry, vision);
    write_text(folder.path, text);
    out->file_status = scenario_load_model(arena, folder.path, &out->file, &out->file_err);
    snprintf(path, sizeof path, "%s/config.json", folder.folder);
    snprintf(text, sizeof text, "{\"model_type\": \"llama\", %s, \"vision_config\": %s}\n",
             geometry, vision);
    write_text(path, text);
    out->config_status = scenario_load_model(arena, path, &out->config, &out->config_err);
    unlink(path);
    unlink(folder.path);
    rmdir(folder.folder);
}

static void refuse_tower(const char *vision, const char *part)
{
    struct base_arena arena;
    struct towers towers;
    base_arena_init(&arena);
    load_tower(&arena, vision, &towers);
    ck_assert_msg(towers.file_status == KVSIM_ERR_SCENARIO, "file: %s", vision);
    ck_assert_msg(towers.config_status == KVSIM_ERR_SCENARIO, "config: %s", vision);
    ck_assert_msg(strstr(towers.file_err.message, part) != NULL, "%s", towers.file_err.message);
    ck_assert_msg(strstr(towers.config_err.message, part) != NULL, "%s", towers.config_err.message);
    base_arena_release(&arena);
}

START_TEST(a_tower_without_measure_is_refused)
{
#define SMALL "{\"depth\": 1, \"hidden_size\": 8, \"patch_size\": 2, "
    refuse_tower(SMALL "\"spatial_merge_size\": 65536}", "spatial_merge_size");
    refuse_tower(SMALL "\"spatial_merge_size\": 1025}", "spatial_merge_size");
    refuse_tower(SMALL "\"patches_per_token\": 4294967296}", "patches_per_token");
    refuse_tower(SMALL "\"temporal_patch_size\": 65}", "temporal_patch_size");
    refuse_tower(SMALL "\"in_channels\": 65}", "in_channels");
    refuse_tower(SMALL "\"mlp_ratio\": 65}", "mlp_ratio");
    refuse_tower(SMALL "\"embed_dim\": 1000001}", "embed_dim");
    refuse_tower(SMALL "\"intermediate_size\": 1000001}", "intermediate_size");
    refuse_tower("{\"depth\": 1, \"hidden_size\": 1000001}", "hidden_size");
    refuse_tower("{\"depth\": 1, \"hidden_size\": 8, \"patch_size\": 4097}", "patch_size");
    refuse_tower("{\"depth\": 100000, \"hidden_size\": 1000000}", "parameters");
#undef SMALL
}
END_TEST

START_TEST(a_tower_at_its_limits_is_counted)
{
    struct base_arena arena;
    struct towers towers;
    base_arena_init(&arena);
    load_tower(
        &arena,
        "{\"model_type\": \"qwen2_vl\", \"depth\": 1, \"hidden_size\": 1, \"patch_size\": 4096, "
        "\"temporal_patch_size\": 64, \"in_channels\": 64, \"spatial_merge_size\": 1024, "
        "\"mlp_ratio\": 64}",
        &towers);
    ck_assert_msg(towers.file_status == KVSIM_OK, "%s", towers.file_err.message);
    ck_assert_msg(towers.config_status == KVSIM_OK, "%s", towers.config_err.message);
    ck_assert(memcmp(&towers.file.vision, &towers.config.vision, sizeof towers.file.vision) == 0);
    ck_assert_int_eq(towers.file.vision.patches_per_token, 1024 * 1024);
    ck_assert_int_eq(towers.file.vision.patch_values, INT64_C(64) * 64 * 4096 * 4096);
    ck_assert_uint_eq(towers.file.vision.intermediate, 64);

    // More tokens than patches, and fewer patches than one token merges: at least one of each.
    load_tower(&arena,
               "{\"depth\": 1, \"hidden_size\": 8, \"patch_size\": 14, \"image_size\": 14, "
               "\"tokens_per_item\": 256}",
               &towers);
    ck_assert_int_eq(towers.file.vision.patches_per_token, 1);
    ck_assert_int_eq(towers.config.vision.patches_per_token, 1);
    load_tower(&arena,
               "{\"depth\": 1, \"hidden_size\": 8, \"patch_size\": 14, \"image_size\": 28, "
               "\"spatial_merge_size\": 1024}",
               &towers);
    ck_assert_int_eq(towers.file.vision.item_tokens, 1);
    ck_assert_int_eq(towers.config.vision.item_tokens, 1);
    base_arena_release(&arena);
}
END_TEST

#define TINY                                                                                      \
    "name: m, num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 4, intermediate_size: " \
    "128, vocab_size: 100"

START_TEST(what_is_not_clear_is_named_not_guessed)
{
    refuse("model: {" TINY ", model_type: nova}\n" REST, "missing-key",
           "model_type 'nova' is not known, so that 'mlp_type'");
    refuse("model: {" TINY ", model_type: nova, mlp_type: gated, sliding_window: 32, "
           "max_position_embeddings: 64}\n" REST,
           "missing-key", "which layers");
    refuse("model: {" TINY ", model_type: llama, layer_types: [full_attention]}\n" REST,
           "out-of-range", "2 layers");
    refuse("model: {" TINY ", model_type: llama, layer_types: [full_attention, magic]}\n" REST,
           "bad-choice", "magic");
    refuse("model: {" TINY ", model_type: llama, quantization_config: {quant_method: qq}}\n" REST,
           "unknown-format", "format");
    refuse("model: {" TINY ", model_type: llama, kv_heads: 2}\n" REST, "unknown-key", "kv_heads");
    refuse("model: {" TINY ", model_type: llama, kv_lora_rank: 8}\n" REST, "missing-key",
           "qk_rope_head_dim");
    refuse("model: {" TINY ", model_type: llama, num_experts: 8}\n" REST, "missing-key",
           "num_experts_per_tok");
    refuse("model: {" TINY ", model_type: nova, mlp_type: gated, architectures: [N], "
           "quantum_attention_rank: 3}\n" REST,
           "unknown-model-key", "quantum_attention_rank");
    refuse("model: {kv_groups: [{kind: sliding, layers: 1, bytes_per_token: 1}]}\n" REST,
           "missing-key", "window");
    refuse("model: {kv_groups: [{kind: full, layers: 1}]}\n" REST, "missing-key",
           "bytes_per_token");
    refuse("model: {kv_groups: []}\n" REST, "wrong-type", "kv_groups");
    refuse("model: {hf_config: [1]}\n" REST, "wrong-type", "hf_config");
    refuse("model: {base: llama-3.1-8b, vision: 3}\n" REST, "wrong-type", "vision");
    refuse("model: {base: llama-3.1-8b, vision: {dept: 3}}\n" REST, "unknown-key", "dept");
}
END_TEST

CHECK_MAIN("scenario.model", well_known_models_have_their_sizes,
           every_shipped_model_loads_and_has_its_published_size,
           a_config_of_each_family_is_read_as_it_is, windows_and_shared_layers_are_counted,
           a_model_may_be_stated_changed_or_read, a_tower_is_read_beside_the_text_model,
           rotary_parameters_are_read_together, a_tower_can_be_left_out_or_added,
           a_tower_without_measure_is_refused, a_tower_at_its_limits_is_counted,
           what_is_not_clear_is_named_not_guessed)
