/*
 * schema.c - the language as JSON Schema (draft 2020-12) for editors, from the field tables.
 *
 * A quantity may be a number or a text with a unit, so both are allowed; ranges are left to kvsim.
 */
#include "scenario/scenario_int.h"

#include "workload/arrivals.h"

#include <string.h>

static void add_text(struct base_text *out, const char *text)
{
    base_text_add(out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            base_text_add(out, "\\");
        base_text_add_n(out, *text == '\n' ? " " : text, 1);
    }
    base_text_add(out, "\"");
}

static const struct scenario_section *find_section(const char *path)
{
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        if (strcmp(scenario_sections[i]->path, path) == 0)
            return scenario_sections[i];
    }
    return NULL;
}

/* The section of a key's mapping, where it has one. */
static const struct scenario_section *section_below(const char *path, const char *key,
                                                    bool *is_list)
{
    char full[SCENARIO_KEY_MAX];
    size_t length = strlen(path), key_length = strlen(key);
    *is_list = false;
    if (length + key_length + 4 > sizeof full)
        return NULL;
    memcpy(full, path, length);
    if (length > 0)
        full[length++] = '.';
    memcpy(full + length, key, key_length + 1);
    const struct scenario_section *section = find_section(full);
    if (section != NULL)
        return section;
    memcpy(full + length + key_length, "[]", 3);
    *is_list = true;
    return find_section(full);
}

static void add_type(struct base_text *out, const struct base_field *field)
{
    switch (field->type) {
    case BASE_BOOL:
        base_text_add(out, "\"type\":\"boolean\"");
        break;
    case BASE_INT:
    case BASE_REAL:
    case BASE_RATIONAL:
        base_text_add(out, "\"type\":[\"number\",\"string\"]");
        break;
    case BASE_TEXT:
        base_text_add(out, "\"type\":[\"string\",\"number\"]");
        break;
    case BASE_CHOICE:
        base_text_add(out, "\"enum\":[");
        for (const struct base_choice *at = field->choices; at->name != NULL; at++) {
            if (at != field->choices)
                base_text_add(out, ",");
            add_text(out, at->name);
        }
        base_text_add(out, "]");
        break;
    case BASE_SUB:
        base_text_add(out, "\"type\":\"object\"");
        break;
    case BASE_LIST:
    case BASE_INTS:
    case BASE_TEXTS:
        base_text_add(out, "\"type\":[\"array\",\"string\",\"number\"]");
        break;
    case BASE_NODE:
        base_text_add(out, "\"type\":[\"object\",\"array\",\"string\",\"number\"]");
        break;
    }
}

static void add_reference(struct base_text *out, const struct scenario_section *section,
                          bool is_list)
{
    base_text_add(out, "\"anyOf\":[");
    if (is_list)
        base_text_add(out, "{\"type\":\"array\",\"items\":");
    base_text_add(out, "{\"$ref\":");
    struct base_text path = {0};
    base_text_printf(&path, "#/$defs/%s", section->path);
    add_text(out, path.at);
    base_text_free(&path);
    base_text_add(out, is_list ? "}}" : "}");
    base_text_add(out, ",{\"type\":[\"string\",\"number\"]}]");
}

static void add_property(struct base_text *out, const char *path, const struct base_field *field,
                         bool first)
{
    bool is_list;
    const struct scenario_section *below = section_below(path, field->key, &is_list);
    base_text_add(out, first ? "" : ",");
    add_text(out, field->key);
    base_text_add(out, ":{\"description\":");
    add_text(out, field->help);
    base_text_add(out, ",");
    // A model or device may be written in other forms than its own keys.
    bool is_entry = strcmp(field->key, "model") == 0 || strcmp(field->key, "hardware") == 0;
    if (below != NULL && !is_entry)
        add_reference(out, below, is_list);
    else
        add_type(out, field);
    base_text_add(out, "}");
}

static void add_properties(struct base_text *out, const struct scenario_section *section)
{
    const struct base_field *fields = section->fields;
    base_text_add(out, "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
    for (const struct base_field *field = fields; field->key != NULL; field++)
        add_property(out, section->path, field, field == fields);
    for (const struct base_field *field = scenario_spelled(section);
         field != NULL && field->key != NULL; field++)
        add_property(out, section->path, field, false);
    base_text_add(out, "}");
}

static bool was_seen(size_t process, const char *key)
{
    for (size_t i = 0; i < process; i++) {
        if (base_field_find(workload_arrivals[i]->policy.opts, key) != NULL)
            return true;
    }
    return false;
}

/* All keys of all processes: which belong together is left to kvsim. */
static void add_arrival(struct base_text *out)
{
    base_text_add(
        out,
        "\"workload.arrival\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
        "\"process\":{\"enum\":[");
    for (const struct base_choice *at = workload_process_choices; at->name != NULL; at++) {
        if (at != workload_process_choices)
            base_text_add(out, ",");
        add_text(out, at->name);
    }
    base_text_add(out, "]},\"max_concurrency\":{\"type\":[\"number\",\"string\"]}");
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        for (const struct base_field *field = workload_arrivals[i]->policy.opts;
             field != NULL && field->key != NULL; field++) {
            if (!was_seen(i, field->key))
                add_property(out, "workload.arrival", field, false);
        }
    }
    base_text_add(out, "}}");
}

void scenario_print_schema(struct base_text *out)
{
    base_text_add(out, "{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                       "schema\",\"title\":\"kvsim scenario\",");
    add_properties(out, scenario_sections[0]);
    base_text_add(out, ",\"$defs\":{");
    add_arrival(out);
    for (size_t i = 1; scenario_sections[i] != NULL; i++) {
        base_text_add(out, ",");
        add_text(out, scenario_sections[i]->path);
        base_text_add(out, ":{");
        add_properties(out, scenario_sections[i]);
        base_text_add(out, "}");
    }
    base_text_add(out, "}}\n");
}
