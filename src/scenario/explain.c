/*
 * explain.c - `kvsim explain KEY`: meaning, type, range, default by engine release, choices, users.
 */
#include "scenario/scenario_int.h"

#include "base/error.h"
#include "scenario/embedded.h"
#include "workload/arrivals.h"

#include <math.h>
#include <string.h>

static void print_line(struct base_text *out, const char *label, const char *text)
{
    base_text_printf(out, "  %-9s%s\n", label, text);
}

static bool has_range(const struct base_field *field)
{
    bool numeric =
        field->type == BASE_INT || field->type == BASE_REAL || field->type == BASE_RATIONAL;
    return numeric && (field->min != 0.0 || field->max != 0.0);
}

static void print_range(struct base_text *out, const struct base_field *field)
{
    char number[32];
    if (!has_range(field))
        return;
    base_text_printf(out, "  %-9s%s %s", "range", field->min_open ? "above" : "from",
                     base_print_real(field->min, number, sizeof number));
    // The largest bounds only keep arithmetic in range; they say nothing of the key.
    if (field->max > 0.0 && field->max < 1e9)
        base_text_printf(out, " to %s", base_print_real(field->max, number, sizeof number));
    if (base_unit_name(field->unit)[0] != '\0')
        base_text_printf(out, " (%s)", base_unit_name(field->unit));
    base_text_add(out, "\n");
}

/* The part of a profile that holds the keys of a section. */
static const char *profile_part(const char *section)
{
    static const char *const parts[][2] = {
        {"engine", "defaults"}, {"engine.switch", "switches"}, {"engine.memory", "memory"}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i][0], section) == 0)
            return parts[i][1];
    }
    return NULL;
}

/* What each shipped engine release has for an engine key. */
static void print_profiles(struct base_text *out, const char *part, const struct base_field *field)
{
    struct base_arena arena;
    base_arena_init(&arena);
    for (size_t i = 0; part != NULL && i < scenario_embedded_count; i++) {
        const struct scenario_embedded *file = &scenario_embedded_files[i];
        struct conf_node *tree;
        struct kvsim_error err;
        if (!base_starts_with(file->path, "engines/") ||
            conf_read_text(&arena, file->path, (const char *)file->bytes, file->length, &tree,
                           &err) != KVSIM_OK)
            continue;
        const struct conf_node *value = conf_get(conf_get(tree, part), field->key),
                               *name = conf_get(tree, "name");
        if (conf_is_null(value) || conf_is_null(name))
            continue;
        base_text_printf(out, "  %-9s%s: ", "profile", name->text);
        conf_print(value, out);
        while (out->count > 0 && out->at[out->count - 1] == '\n')
            out->at[--out->count] = '\0';
        base_text_add(out, "\n");
    }
    base_arena_release(&arena);
}

static void print_choices(struct base_text *out, const struct base_field *field)
{
    for (const struct base_choice *at = field->choices;
         field->type == BASE_CHOICE && at->name != NULL; at++)
        base_text_printf(out, "    %-18s %s\n", at->name, at->help == NULL ? "" : at->help);
}

static void print_processes(struct base_text *out, const struct base_field *field)
{
    base_text_printf(out, "  %-9sprocess", "used by");
    const char *before = " ";
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        if (base_field_find(workload_arrivals[i]->policy.opts, field->key) == NULL)
            continue;
        base_text_printf(out, "%s%s", before, workload_arrivals[i]->policy.name);
        before = ", ";
    }
    base_text_add(out, "\n");
}

static bool is_later(const char *section, const struct base_field *field)
{
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        if (strcmp(scenario_sections[i]->path, section) == 0 &&
            scenario_sections[i]->later != NULL &&
            base_field_find(scenario_sections[i]->later, field->key) == field)
            return true;
    }
    return false;
}

static bool is_spelled(const struct base_field *field)
{
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        if (base_field_find(scenario_spelled(scenario_sections[i]), field->key) == field)
            return true;
    }
    return false;
}

static void print_field(struct base_text *out, const char *section, const struct base_field *field)
{
    struct base_text type = {0};
    base_text_printf(out, "%s%s%s\n", section, section[0] == '\0' ? "" : ".", field->key);
    if (is_later(section, field)) {
        print_line(out, "status", "known, not simulated by this version");
        print_line(out, "note", field->help);
        return;
    }
    print_line(out, "meaning", field->help);
    if (is_spelled(field)) {
        print_profiles(out, "spelling", field);
        return;
    }
    if (field->type != BASE_NODE) {
        scenario_field_type(field, &type);
        print_line(out, "value", type.at);
        base_text_free(&type);
    }
    print_range(out, field);
    if (field->required)
        print_line(out, "default", "none: it must be stated");
    else if (field->def != NULL)
        print_line(out, "default", field->def);
    print_profiles(out, profile_part(section), field);
    print_choices(out, field);
    if (strcmp(section, "workload.arrival") == 0)
        print_processes(out, field);
    else if (field->used_by != NULL)
        print_line(out, "used by", field->used_by);
    if (field->also != NULL)
        print_line(out, "also", field->also);
}

/* Keys of a mapping: `kvsim explain engine`. */
static bool print_section(struct base_text *out, const char *key)
{
    bool found = false;
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        const struct scenario_section *section = scenario_sections[i];
        if (section->path[0] == '\0' || strcmp(section->path, key) != 0)
            continue;
        found = true;
        base_text_printf(out, "%s\n  %s\n", section->path, section->help);
        for (const struct base_field *field = section->fields; field->key != NULL; field++)
            base_text_printf(out, "    %-32s %s\n", field->key, field->help);
        for (const struct base_field *field = scenario_spelled(section);
             field != NULL && field->key != NULL; field++)
            base_text_printf(out, "    %-32s %s\n", field->key, field->help);
    }
    return found;
}

static bool print_arrival(struct base_text *out, const char *key)
{
    if (strcmp(key, "workload.arrival") != 0)
        return false;
    base_text_printf(out, "%s\n  the arrival process and its keys\n", key);
    base_text_printf(out, "    %-32s %s\n", "process", "which of these; the keys follow from it");
    base_text_printf(out, "    %-32s %s\n", "max_concurrency",
                     "cap on the requests in flight of any process");
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        const struct base_policy *policy = &workload_arrivals[i]->policy;
        base_text_printf(out, "  %s: %s\n", policy->name, policy->summary);
        for (const struct base_field *field = policy->opts; field != NULL && field->key != NULL;
             field++)
            base_text_printf(out, "    %-32s %s\n", field->key, field->help);
    }
    return true;
}

/* Two keys that belong to every process and stand in no table. */
static bool print_common_arrival(struct base_text *out, const char *key)
{
    if (strcmp(key, "workload.arrival.process") == 0) {
        base_text_printf(out, "%s\n", key);
        print_line(out, "meaning", "how requests arrive");
        for (const struct base_choice *at = workload_process_choices; at->name != NULL; at++)
            base_text_printf(out, "    %-18s %s\n", at->name, at->help);
        return true;
    }
    if (strcmp(key, "workload.arrival.max_concurrency") != 0)
        return false;
    base_text_printf(out, "%s\n", key);
    print_line(out, "meaning", "cap on the requests in flight, of any process, a trace included");
    print_line(out, "value", "a whole number");
    return true;
}

static const char *nearest(const char *key)
{
    const char *last = strrchr(key, '.');
    const char *name = last == NULL ? key : last + 1;
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        const char *near = base_field_nearest(scenario_sections[i]->fields, name);
        if (near != NULL)
            return near;
    }
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        const char *near = base_field_nearest(workload_arrivals[i]->policy.opts, name);
        if (near != NULL)
            return near;
    }
    return NULL;
}

bool scenario_explain(const char *key, struct base_text *out, const char **near)
{
    const char *section;
    *near = NULL;
    if (print_common_arrival(out, key))
        return true;
    const struct base_field *field = scenario_field_find(key, &section);
    if (field != NULL)
        print_field(out, section, field);
    bool is_section = print_section(out, key) || print_arrival(out, key);
    if (field != NULL || is_section)
        return true;
    *near = nearest(key);
    return false;
}
