/*
 * `kvsim size` and `kvsim run` read a scenario by the same rules: for every key of every mapping that can be written as one
 * value, and values that its type allows, either both take it or both refuse it. What a run alone may refuse is what the engine
 * does and this version does not simulate, and what only a run needs.
 */
#include "scenario/scenario_int.h"
#include "scenario/scenario.h"

#include "support/check_main.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 24, TEXT = 48 };

struct values {
    char at[VALUES_MAX][TEXT];
    size_t count;
};

static void add(struct values *values, const char *text)
{
    if (values->count < VALUES_MAX)
        snprintf(values->at[values->count++], TEXT, "%s", text);
}

static void values_of(const struct base_field *field, struct values *out)
{
    out->count = 0;
    switch (field->type) {
    case BASE_BOOL:
        add(out, "true");
        add(out, "false");
        return;
    case BASE_CHOICE:
        for (size_t i = 0; field->choices[i].name != NULL; i++)
            add(out, field->choices[i].name);
        return;
    default:
        break;
    }
    bool is_time = field->unit == BASE_TIME, is_memory = field->unit == BASE_BYTES;
    bool is_number = field->type == BASE_INT || field->type == BASE_REAL;
    add(out, is_time ? "5 ms" : is_memory ? "4 GiB" : is_number && field->max <= 1 ? "1" : "64");
}

struct outcome {
    enum kvsim_status status;
    char code[40], message[400];
};

static void load(const char *profile, const char *key, const char *value,
                 enum scenario_purpose purpose, struct outcome *out)
{
    const struct scenario_override overrides[] = {
        {"model", "llama-3.1-8b"},
        {"hardware", "h100-sxm"},
        {"engine.profile", profile},
        {"engine.max_model_len", "4096"},
        {"workload.arrival.process", "poisson"},
        {"workload.arrival.rate", "1/s"},
        {"workload.prompt_tokens", "100"},
        {"workload.output_tokens", "20"},
        {key, value},
    };
    struct kvsim_diags diags = {0};
    struct scenario *scenario;
    struct scenario_request request = {.overrides = overrides,
                                       .override_count = sizeof overrides / sizeof *overrides,
                                       .purpose = purpose,
                                       .held_unwanted = true};
    *out = (struct outcome){.status = scenario_load(&request, &scenario, &diags)};
    if (out->status == KVSIM_OK) {
        scenario_free(scenario);
        return;
    }
    snprintf(out->code, sizeof out->code, "%s", diags.at[0].code);
    snprintf(out->message, sizeof out->message, "%s", diags.at[0].message);
}

/* What has nothing to do with what is said: the simulation is not there, or step times are not known. */
static bool is_of_runs_alone(const struct outcome *run)
{
    return strncmp(run->code, "unsupported", strlen("unsupported")) == 0;
}

static uint64_t check_value(const char *profile, const char *key, const char *value)
{
    struct outcome size, run;
    load(profile, key, value, SCENARIO_FOR_SIZE, &size);
    load(profile, key, value, SCENARIO_FOR_RUN, &run);
    bool agree = (size.status == KVSIM_OK) == (run.status == KVSIM_OK);
    bool may_differ = size.status == KVSIM_OK && is_of_runs_alone(&run);
    if (!agree && !may_differ)
        printf("%s, %s=%s: size '%s', run '%s' [%s]\n", profile, key, value,
               size.status == KVSIM_OK ? "takes it" : size.message,
               run.status == KVSIM_OK ? "takes it" : run.message, run.code);
    return agree || may_differ ? 0 : 1;
}

static uint64_t check_section(const char *profile, const struct scenario_section *section)
{
    uint64_t wrong = 0;
    for (const struct base_field *field = section->fields; field->key != NULL; field++) {
        char key[128];
        struct values values;
        values_of(field, &values);
        snprintf(key, sizeof key, "%s%s%s", section->path, section->path[0] != '\0' ? "." : "",
                 field->key);
        for (size_t i = 0; i < values.count; i++)
            wrong += check_value(profile, key, values.at[i]);
    }
    return wrong;
}

/* Mappings that stand where their path says; what a model or a device is, is read by itself. */
static bool is_asked(const struct scenario_section *section)
{
    return strchr(section->path, '[') == NULL && section->path[0] != '\0' &&
           strncmp(section->path, "model", 5) != 0 && strncmp(section->path, "hardware", 8) != 0;
}

START_TEST(size_and_run_read_alike)
{
    static const char *const profiles[] = {"vllm-0.19", "vllm-0.6"};
    uint64_t wrong = 0;
    for (size_t p = 0; p < sizeof profiles / sizeof profiles[0]; p++) {
        for (size_t i = 0; scenario_sections[i] != NULL; i++) {
            const struct scenario_section *section = scenario_sections[i];
            if (is_asked(section) && (p == 0 || strcmp(section->path, "engine") == 0))
                wrong += check_section(profiles[p], section);
        }
    }
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

CHECK_MAIN("scenario.purposes", size_and_run_read_alike)
