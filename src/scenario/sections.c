/*
 * sections.c - the list of all mappings of the language, and a key's row in it.
 */
#include "scenario/scenario_int.h"

#include "workload/arrivals.h"

#include <stdio.h>
#include <string.h>

const struct scenario_section *const scenario_sections[] = {
    &scenario_top_section,        &scenario_engine_section,
    &scenario_memory_section,     &scenario_activation_section,
    &scenario_switch_section,     &scenario_speculative_section,
    &scenario_tier_section,       &scenario_offload_section,
    &scenario_workload_section,   &scenario_length_section,
    &scenario_time_section,       &scenario_count_section,
    &scenario_class_section,      &scenario_shared_section,
    &scenario_popularity_section, &scenario_sessions_section,
    &scenario_timeout_section,    &scenario_run_section,
    &scenario_cluster_section,    &scenario_cost_section,
    &scenario_host_section,       &scenario_price_section,
    &scenario_record_section,     &scenario_model_section,
    &scenario_vision_section,     &scenario_group_section,
    &scenario_hardware_section,   &scenario_tflops_section,
    &scenario_link_section,       &scenario_pcie_section,
    &scenario_all_reduce_section, NULL,
};

const struct base_field *scenario_spelled(const struct scenario_section *section)
{
    return section == &scenario_engine_section ? scenario_engine_spelled : NULL;
}

/* "workload.classes.0.weight" stands in the section "workload.classes[]". */
static void plain_key(const char *key, char *out, size_t bytes)
{
    size_t at = 0;
    for (const char *from = key; *from != '\0' && at + 3 < bytes;) {
        size_t digits = from[0] == '.' ? strspn(from + 1, "0123456789") : 0;
        if (digits > 0 && (from[digits + 1] == '.' || from[digits + 1] == '\0')) {
            out[at++] = '[';
            out[at++] = ']';
            from += digits + 1;
            continue;
        }
        out[at++] = *from == '-' ? '_' : *from;
        from++;
    }
    out[at] = '\0';
}

/* Keys that share a section: output_tokens and max_tokens are lengths, host_link a link. */
static const char *shared_section(const char *path)
{
    static const char *const same[][2] = {
        {"workload.output_tokens", "workload.prompt_tokens"},
        {"workload.max_tokens", "workload.prompt_tokens"},
        {"workload.classes[].prompt_tokens", "workload.prompt_tokens"},
        {"workload.classes[].output_tokens", "workload.prompt_tokens"},
        {"workload.classes[].max_tokens", "workload.prompt_tokens"},
        {"workload.classes[].timeout", "workload.timeout"},
        {"workload.classes[].shared_prefix", "workload.shared_prefix"},
        {"workload.classes[].shared_prefix.popularity", "workload.shared_prefix.popularity"},
        {"workload.classes[].sessions", "workload.sessions"},
        {"hardware.host_link", "hardware.link"},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (strcmp(same[i][0], path) == 0)
            return same[i][1];
    }
    return path;
}

static const struct base_field *find_in(const char *path, const char *name, const char **section)
{
    const struct base_field *field = NULL;
    path = shared_section(path);
    for (size_t i = 0; scenario_sections[i] != NULL && field == NULL; i++) {
        if (strcmp(scenario_sections[i]->path, path) != 0)
            continue;
        *section = scenario_sections[i]->path;
        field = base_field_find(scenario_sections[i]->fields, name);
        if (field == NULL)
            field = base_field_find(scenario_spelled(scenario_sections[i]), name);
        if (field == NULL)
            field = base_field_find(scenario_sections[i]->later, name);
    }
    for (size_t i = 0;
         workload_arrivals[i] != NULL && field == NULL && strcmp(path, "workload.arrival") == 0;
         i++) {
        *section = "workload.arrival";
        field = base_field_find(workload_arrivals[i]->policy.opts, name);
    }
    return field;
}

/* A bare key, in the first section that has it. */
static const struct base_field *find_bare(const char *name, const char **section)
{
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        const struct base_field *field = find_in(scenario_sections[i]->path, name, section);
        if (field != NULL)
            return field;
    }
    return find_in("workload.arrival", name, section);
}

const struct base_field *scenario_field_find(const char *key, const char **section)
{
    char plain[SCENARIO_KEY_MAX];
    plain_key(key, plain, sizeof plain);
    char *dot = strrchr(plain, '.');
    if (dot == NULL)
        return find_bare(plain, section);
    *dot = '\0';
    return find_in(plain, dot + 1, section);
}

static void add_choices(const struct base_choice *choices, struct base_text *out)
{
    base_text_add(out, "one of ");
    for (const struct base_choice *at = choices; at->name != NULL; at++)
        base_text_printf(out, "%s%s", at == choices ? "" : ", ", at->name);
}

void scenario_field_type(const struct base_field *field, struct base_text *out)
{
    const char *help = base_unit_help(field->unit);
    switch (field->type) {
    case BASE_BOOL:
        base_text_add(out, "true or false");
        break;
    case BASE_INT:
        base_text_printf(out, "a whole number; %s", help);
        break;
    case BASE_REAL:
        base_text_printf(out, "a number; %s", help);
        break;
    case BASE_RATIONAL:
        base_text_add(out, "an exact share such as 0.9 or 90%");
        break;
    case BASE_TEXT:
        base_text_add(out, "a text");
        break;
    case BASE_CHOICE:
        add_choices(field->choices, out);
        break;
    case BASE_SUB:
        base_text_add(out, "a mapping");
        break;
    case BASE_LIST:
        base_text_add(out, "a list of mappings");
        break;
    case BASE_INTS:
        base_text_add(out, "a list of whole numbers");
        break;
    case BASE_TEXTS:
        base_text_add(out, "a list of texts");
        break;
    case BASE_NODE:
        base_text_add(out, "see its meaning");
        break;
    }
}
