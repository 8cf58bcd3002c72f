#include "load_text.h"

#include "support/check_main.h"

#include <ctype.h>
#include <sys/stat.h>

static bool same_folded(const char *a, const char *b)
{
    while (*a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The names of one entry: its own and its aliases. */
static size_t names_of(const struct scenario_entry *entry, char names[][128], size_t room)
{
    size_t count = 0;
    snprintf(names[count++], 128, "%s", entry->name);
    for (const char *at = entry->aliases; *at != '\0' && count < room;) {
        size_t length = strcspn(at, ",");
        snprintf(names[count++], 128, "%.*s", (int)length, at);
        at += length;
        at += strspn(at, ", ");
    }
    return count;
}

enum { NAMES_MAX = 4000 };

START_TEST(a_name_belongs_to_one_file)
{
    static const enum scenario_data kinds[] = {SCENARIO_MODEL, SCENARIO_HARDWARE, SCENARIO_ENGINE};
    for (size_t k = 0; k < 3; k++) {
        struct scenario_entries entries;
        char(*seen)[128] = calloc(NAMES_MAX, sizeof *seen);
        size_t seen_count = 0;
        scenario_list_data(kinds[k], NULL, &entries);
        ck_assert_uint_gt(entries.count, 2);
        for (size_t i = 0; i < entries.count; i++) {
            char names[40][128];
            size_t count = names_of(&entries.at[i], names, 40);
            for (size_t j = 0; j < count; j++) {
                for (size_t other = 0; other < seen_count; other++)
                    ck_assert_msg(!same_folded(seen[other], names[j]), "'%s' of %s is taken",
                                  names[j], entries.at[i].name);
            }
            for (size_t j = 0; j < count; j++)
                strcpy(seen[seen_count++], names[j]);
        }
        free(seen);
        scenario_entries_free(&entries);
    }
}
END_TEST

START_TEST(a_name_is_found_whatever_its_case_and_by_every_alias)
{
    static const char *const names[] = {"llama-3.1-8b", "LLAMA-3.1-8B",
                                        "meta-llama/Llama-3.1-8B-Instruct",
                                        "meta-llama/llama-3.1-8b-instruct"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct base_arena arena;
        struct spec_model model;
        struct kvsim_error err = {0};
        base_arena_init(&arena);
        ck_assert_msg(scenario_load_model(&arena, names[i], &model, &err) == KVSIM_OK, "%s: %s",
                      names[i], err.message);
        ck_assert_str_eq(model.name, "llama-3.1-8b");
        base_arena_release(&arena);
    }
}
END_TEST

START_TEST(a_name_that_fits_several_is_refused_with_the_list)
{
    static const struct {
        const char *name, *first, *second;
    } several[] = {{"a100-80gb", "a100-pcie-80gb", "a100-sxm4-80gb"},
                   {"v100", "v100-sxm2-16gb", "v100-sxm2-32gb"}};
    for (size_t i = 0; i < sizeof several / sizeof several[0]; i++) {
        struct base_arena arena;
        struct spec_hardware hardware;
        struct kvsim_error err = {0};
        base_arena_init(&arena);
        ck_assert_int_eq(scenario_load_hardware(&arena, several[i].name, &hardware, &err),
                         KVSIM_ERR_SCENARIO);
        ck_assert_str_eq(err.code, "ambiguous-name");
        ck_assert_ptr_nonnull(strstr(err.message, several[i].first));
        ck_assert_ptr_nonnull(strstr(err.message, several[i].second));
        base_arena_release(&arena);
    }
    struct base_arena arena;
    struct spec_model model;
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    ck_assert_int_eq(scenario_load_model(&arena, "phi-3-mini", &model, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "ambiguous-name");
    base_arena_release(&arena);
}
END_TEST

START_TEST(an_unknown_name_names_the_nearest)
{
    struct base_arena arena;
    struct spec_hardware hardware;
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    ck_assert_int_eq(scenario_load_hardware(&arena, "h100-smx", &hardware, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "unknown-name");
    ck_assert_str_eq(err.hint, "did you mean 'h100-sxm'?");
    base_arena_release(&arena);
}
END_TEST

#define MINE                                                                                     \
    "name: %s\nmodel_type: llama\nnum_hidden_layers: %d\nhidden_size: 64\nnum_attention_heads: " \
    "4\n"                                                                                        \
    "intermediate_size: 128\nvocab_size: 100\n"
#define REST BARE_COST BARE_WORKLOAD "engine: {max_model_len: 64, num_gpu_blocks_override: 99}\n"

static void write_model(const char *folder, const char *name, int layers)
{
    char path[256], text[512];
    snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
    snprintf(text, sizeof text, MINE, name, layers);
    write_text(path, text);
}

START_TEST(the_scenarios_own_folder_comes_first_then_the_data_folder)
{
    struct loaded loaded;
    char folder[128], path[256];
    loaded_begin(&loaded);
    write_text(loaded.path, "model: llama-3.1-8b\n" REST);
    snprintf(folder, sizeof folder, "%s/models", loaded.folder);
    mkdir(folder, 0700);
    write_model(folder, "llama-3.1-8b", 3);
    setenv("KVSIM_DATA", loaded.folder, 1);
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_uint_eq(loaded.config->model->layer_count, 3);
    scenario_free(loaded.scenario);
    write_model(loaded.folder, "llama-3.1-8b", 5); // beside the scenario itself
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_uint_eq(loaded.config->model->layer_count, 5);
    unsetenv("KVSIM_DATA");
    snprintf(path, sizeof path, "%s/llama-3.1-8b.yaml", folder);
    unlink(path);
    rmdir(folder);
    snprintf(path, sizeof path, "%s/llama-3.1-8b.yaml", loaded.folder);
    unlink(path);
    loaded_end(&loaded);
}
END_TEST

START_TEST(a_scenario_that_is_called_like_a_model_is_none)
{
    struct loaded loaded;
    loaded_begin(&loaded);
    snprintf(loaded.path, sizeof loaded.path, "%s/llama-3.1-8b.yaml", loaded.folder);
    write_text(loaded.path, "model: llama-3.1-8b\n" REST);
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_uint_eq(loaded.config->model->layer_count, 32);
    loaded_end(&loaded);
}
END_TEST

START_TEST(a_path_is_taken_beside_the_scenario)
{
    struct loaded loaded;
    char path[256];
    loaded_begin(&loaded);
    write_text(loaded.path, "model: my-model.yaml\n" REST);
    write_model(loaded.folder, "my-model", 7);
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_uint_eq(loaded.config->model->layer_count, 7);
    ck_assert_str_eq(loaded.config->model_name, "my-model");
    ck_assert_ptr_null(strstr(loaded.config->yaml, loaded.folder)); // no path is stored
    snprintf(path, sizeof path, "%s/my-model.yaml", loaded.folder);
    unlink(path);
    loaded_end(&loaded);
}
END_TEST

START_TEST(a_file_of_that_name_comes_before_aliases_and_two_aliases_are_refused)
{
    struct loaded loaded;
    char folder[128], path[256];
    loaded_begin(&loaded);
    snprintf(folder, sizeof folder, "%s/models", loaded.folder);
    mkdir(folder, 0700);
    write_model(folder, "mine", 3);
    static const char *const others[] = {"other", "third"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        int length = snprintf(text, sizeof text, MINE, others[i], 5);
        snprintf(text + length, sizeof text - (size_t)length, "aliases: [mine, shared]\n");
        snprintf(path, sizeof path, "%s/%s.yaml", folder, others[i]);
        write_text(path, text);
    }
    write_text(loaded.path, "model: mine\n" REST);
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_int_eq(loaded.status, KVSIM_OK);
    ck_assert_uint_eq(loaded.config->model->layer_count, 3);
    scenario_free(loaded.scenario);
    loaded.scenario = NULL;
    write_text(loaded.path, "model: shared\n" REST);
    loaded_run(&loaded, SCENARIO_FOR_RUN, NULL, 0);
    ck_assert_int_ne(loaded.status, KVSIM_OK);
    ck_assert_str_eq(loaded.diags.at[0].code, "ambiguous-name");
    static const char *const all[] = {"mine", "other", "third"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s.yaml", folder, all[i]);
        unlink(path);
    }
    rmdir(folder);
    loaded_end(&loaded);
}
END_TEST

CHECK_MAIN("scenario.lookup", a_name_belongs_to_one_file,
           a_name_is_found_whatever_its_case_and_by_every_alias,
           a_name_that_fits_several_is_refused_with_the_list, an_unknown_name_names_the_nearest,
           the_scenarios_own_folder_comes_first_then_the_data_folder,
           a_scenario_that_is_called_like_a_model_is_none, a_path_is_taken_beside_the_scenario,
           a_file_of_that_name_comes_before_aliases_and_two_aliases_are_refused)
