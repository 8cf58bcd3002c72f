#include "load_text.h"

#include "support/check_main.h"

#include "base/text.h"
#include "conf/node.h"
#include "scenario/embedded.h"
#include "scenario/scenario_int.h"

static bool explains(const char *key, const char *part)
{
    struct base_text text = {0};
    const char *near;
    bool found = scenario_explain(key, &text, &near) && strstr(text.at, part) != NULL;
    base_text_free(&text);
    return found;
}

START_TEST(a_key_is_explained)
{
    ck_assert(explains("engine.block_size", "tokens per KV block"));
    ck_assert(explains("engine.block-size", "vllm-0.19: 16"));
    ck_assert(explains("block_size", "engine.block_size"));
    ck_assert(explains("engine.switch.free_order", "vllm-0.10: old"));
    ck_assert(explains("workload.arrival.rate", "poisson, gamma"));
    ck_assert(explains("workload.arrival.process", "closed_loop"));
    ck_assert(explains("workload.classes.0.weight", "share of the requests"));
    ck_assert(explains("workload.output_tokens.cv", "standard deviation over mean"));
    ck_assert(explains("engine.victim", "not simulated by this version"));
    ck_assert(explains("hardware.memory", "driver shows"));
    ck_assert(explains("model.kv_lora_rank", "MLA"));
    ck_assert(explains("engine", "tensor_parallel_size"));
    ck_assert(explains("run.seed", "default  1"));
    ck_assert(explains("engine.parallel", "llama.cpp-2025: max_num_seqs"));
    ck_assert(explains("engine.page_size", "sglang-0.5: block_size"));
    ck_assert(!explains("engine.parallel", "not simulated"));
}
END_TEST

// Both ways: a profile's name for a key is in the table, and what is in the table some profile says.
START_TEST(names_of_other_engines_are_those_of_their_profiles)
{
    const struct base_field *spelled = scenario_engine_spelled;
    struct base_arena arena;
    bool is_said[64] = {false};
    base_arena_init(&arena);
    for (size_t i = 0; i < scenario_embedded_count; i++) {
        const struct scenario_embedded *file = &scenario_embedded_files[i];
        struct conf_node *tree;
        struct kvsim_error err;
        if (strncmp(file->path, "engines/", 8) != 0 || strstr(file->path, ".yaml") == NULL)
            continue;
        ck_assert_int_eq(conf_read_text(&arena, file->path, (const char *)file->bytes, file->length,
                                        &tree, &err),
                         KVSIM_OK);
        const struct conf_node *spelling = conf_get(tree, "spelling");
        for (size_t k = 0; spelling != NULL && k < spelling->count; k++) {
            const struct base_field *row = base_field_find(spelled, spelling->keys[k]->text);
            ck_assert_msg(row != NULL, "%s: %s", file->path, spelling->keys[k]->text);
            is_said[row - spelled] = true;
        }
    }
    for (size_t i = 0; spelled[i].key != NULL; i++) {
        ck_assert_msg(is_said[i], "%s", spelled[i].key);
        ck_assert_msg(base_field_find(scenario_engine_section.fields, spelled[i].key) == NULL, "%s",
                      spelled[i].key);
    }
    base_arena_release(&arena);
}
END_TEST

START_TEST(an_unknown_key_names_the_nearest)
{
    struct base_text text = {0};
    const char *near;
    ck_assert(!scenario_explain("engine.blok_size", &text, &near));
    ck_assert_str_eq(near, "block_size");
    ck_assert(!scenario_explain("zzzzzz", &text, &near));
    ck_assert_ptr_null(near);
    base_text_free(&text);
}
END_TEST

START_TEST(every_row_has_a_meaning_and_fits_its_table)
{
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        for (const struct base_field *field = scenario_sections[i]->fields; field->key != NULL;
             field++) {
            ck_assert_msg(field->help != NULL && field->help[0] != '\0', "%s.%s",
                          scenario_sections[i]->path, field->key);
            ck_assert_msg(base_field_find(scenario_sections[i]->fields, field->key) == field,
                          "%s twice", field->key);
            ck_assert(field->type != BASE_CHOICE || field->choices != NULL);
            ck_assert(field->max == 0 || field->min <= field->max);
        }
        for (const struct base_field *later = scenario_sections[i]->later;
             later != NULL && later->key != NULL; later++)
            ck_assert_msg(base_field_find(scenario_sections[i]->fields, later->key) == NULL, "%s",
                          later->key);
    }
}
END_TEST

START_TEST(manual_and_schema_hold_every_key)
{
    struct base_text manual = {0}, schema = {0};
    struct base_arena arena;
    struct conf_node *tree;
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    scenario_print_manual(&manual);
    scenario_print_schema(&schema);
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        for (const struct base_field *field = scenario_sections[i]->fields; field->key != NULL;
             field++) {
            char line[160];
            snprintf(line, sizeof line, "\n.B %s\n", field->key);
            ck_assert_msg(strstr(manual.at, line) != NULL, "%s", field->key);
            snprintf(line, sizeof line, "\"%s\":{", field->key);
            ck_assert_msg(strstr(schema.at, line) != NULL, "%s", field->key);
        }
    }
    ck_assert_ptr_nonnull(strstr(manual.at, ".B parallel\n"));
    ck_assert_ptr_nonnull(strstr(schema.at, "\"parallel\":{"));
    ck_assert_int_eq(conf_read_text(&arena, "schema.json", schema.at, schema.count, &tree, &err),
                     KVSIM_OK);
    ck_assert_ptr_nonnull(conf_get(conf_get(tree, "properties"), "engine"));
    base_text_free(&manual);
    base_text_free(&schema);
    base_arena_release(&arena);
}
END_TEST

CHECK_MAIN("scenario.explain", a_key_is_explained, an_unknown_key_names_the_nearest,
           names_of_other_engines_are_those_of_their_profiles,
           every_row_has_a_meaning_and_fits_its_table, manual_and_schema_hold_every_key)
