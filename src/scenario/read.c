/*
 * read.c - a mapping by its field table into a struct: types, units, ranges, defaults, near misses, parameters.
 */
#include "scenario/scenario_int.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The key as its user wrote it: profiles have their own names for some of the engine's. */
static void set_key(struct kvsim_error *err, const struct conf_node *node, const char *key)
{
    char text[sizeof err->key];
    base_error_key(err, key == NULL ? "" : key);
    if (key != NULL && node != NULL && node->written_as != NULL) {
        snprintf(text, sizeof text, "%.*s.%s", (int)strcspn(key, "."), key, node->written_as);
        base_error_key(err, text);
    }
}

/* A node without a place of its own (a default) has none to blame. */
static void fill_error(struct kvsim_error *err, enum kvsim_status status,
                       const struct conf_node *node, const char *key, const char *code,
                       const char *fmt, va_list args) KVSIM_PRINTF(6, 0);

static void fill_error(struct kvsim_error *err, enum kvsim_status status,
                       const struct conf_node *node, const char *key, const char *code,
                       const char *fmt, va_list args)
{
    char message[sizeof err->message];
    vsnprintf(message, sizeof message, fmt, args);
    base_fail(err, status, "%s", message);
    if (node != NULL && node->file != NULL)
        base_error_at(err, node->file, node->line, node->column);
    set_key(err, node, key);
    base_error_code(err, code);
}

bool scenario_fail(struct scenario_reader *reader, const struct conf_node *node, const char *key,
                   const char *code, const char *fmt, ...)
{
    struct kvsim_error err;
    va_list args;
    va_start(args, fmt);
    fill_error(&err, KVSIM_ERR_SCENARIO, node, key, code, fmt, args);
    va_end(args);
    base_diags_add(reader->diags, &err);
    return false;
}

bool scenario_fail_hint(struct scenario_reader *reader, const struct conf_node *node,
                        const char *key, const char *code, const char *hint, const char *fmt, ...)
{
    struct kvsim_error err;
    va_list args;
    va_start(args, fmt);
    fill_error(&err, KVSIM_ERR_SCENARIO, node, key, code, fmt, args);
    va_end(args);
    if (hint != NULL)
        base_error_hint(&err, "%s", hint);
    base_diags_add(reader->diags, &err);
    return false;
}

void scenario_warn(struct scenario_reader *reader, const struct conf_node *node, const char *key,
                   const char *code, const char *fmt, ...)
{
    struct kvsim_error err;
    va_list args;
    va_start(args, fmt);
    fill_error(&err, KVSIM_OK, node, key, code, fmt, args);
    va_end(args);
    base_diags_warn(reader->diags, &err);
}

bool scenario_fail_error(struct scenario_reader *reader, const struct conf_node *node,
                         const char *key, const struct kvsim_error *err)
{
    struct kvsim_error copy = *err;
    if (copy.file[0] == '\0' && node != NULL && node->file != NULL)
        base_error_at(&copy, node->file, node->line, node->column);
    if (key != NULL && copy.key[0] == '\0')
        set_key(&copy, node, key);
    base_diags_add(reader->diags, &copy);
    return false;
}

void scenario_caveat(struct scenario_reader *reader, const char *code, const char *fmt, ...)
{
    if (reader->caveats == NULL)
        return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct serve_caveat caveat = {.code = code, .text = base_arena_copy(reader->arena, text)};
    base_vec_push(reader->caveats, caveat);
}

const char *scenario_join(struct base_arena *arena, const char *path, const char *key)
{
    if (path[0] == '\0')
        return base_arena_copy(arena, key);
    return base_arena_printf(arena, "%s.%s", path, key);
}

bool scenario_is_stated(const struct conf_node *node)
{
    return !conf_is_null(node) &&
           (node->origin == CONF_ORIGIN_SCENARIO || node->origin == CONF_ORIGIN_SET);
}

const struct conf_node *scenario_stated(const struct conf_node *map, const char *key)
{
    const struct conf_node *node = conf_get(map, key);
    return scenario_is_stated(node) ? node : NULL;
}

struct conf_node *scenario_child(struct scenario_reader *reader, struct conf_node *map,
                                 const char *path, const char *key)
{
    struct conf_node *child = conf_get(map, key);
    if (conf_is_null(child)) {
        struct conf_node *made = conf_new_map(reader->arena);
        made->origin = CONF_ORIGIN_DEFAULT;
        made->file = map->file;
        made->line = child == NULL ? map->line : child->line;
        made->column = child == NULL ? map->column : child->column;
        conf_put(reader->arena, map, key, made);
        return made;
    }
    if (child->kind == CONF_MAP)
        return child;
    scenario_fail(reader, child, scenario_join(reader->arena, path, key), "wrong-type",
                  "'%s' must be a mapping", key);
    return NULL;
}

// A yes-or-no word of YAML.
static bool is_bool_word(const char *text, bool *out)
{
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "on"};
    static const char *const no[] = {"false", "False", "FALSE", "no", "off"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        bool is_yes = strcmp(text, yes[i]) == 0;
        if (is_yes || strcmp(text, no[i]) == 0) {
            *out = is_yes;
            return true;
        }
    }
    return false;
}

/* ---- one value ---- */

static const char *kind_name(const struct conf_node *node)
{
    static const char *const names[] = {"nothing", "a value", "a list", "a mapping"};
    return names[node->kind];
}

static const char *name_of(const struct conf_node *node, const struct base_field *field)
{
    return node->written_as != NULL ? node->written_as : field->key;
}

static bool fail_type(struct scenario_reader *reader, const struct conf_node *node,
                      const struct base_field *field, const char *path, const char *wanted)
{
    return scenario_fail(reader, node, path, "wrong-type", "'%s' must be %s, not %s",
                         name_of(node, field), wanted, kind_name(node));
}

/* "8192 tokens" for messages about ranges. */
static const char *print_bound(const struct base_field *field, double value, char *text,
                               size_t bytes)
{
    char number[32];
    base_print_real(value, number, sizeof number);
    if (field->unit == BASE_TIME)
        return base_print_time(value, text, bytes);
    if (field->unit == BASE_BYTES || field->unit == BASE_PLAIN_BYTES)
        return base_print_bytes(value, text, bytes);
    snprintf(text, bytes, "%s", number);
    return text;
}

static bool check_range(struct scenario_reader *reader, const struct conf_node *node,
                        const struct base_field *field, const char *path, double value)
{
    if (field->min == 0.0 && field->max == 0.0)
        return true;
    char low[64], high[64];
    bool below = value < field->min || (field->min_open && !(value > field->min));
    bool above = field->max > 0.0 && value > field->max;
    if (!below && !above)
        return true;
    print_bound(field, field->min, low, sizeof low);
    print_bound(field, field->max, high, sizeof high);
    const char *from = field->min_open ? "above" : "at least";
    if (field->max > 0.0 && field->max < 1e300)
        return scenario_fail(reader, node, path, "out-of-range",
                             "'%s' is %s, must be %s %s and at most %s", name_of(node, field),
                             node->text, from, low, high);
    return scenario_fail(reader, node, path, "out-of-range", "'%s' is %s, must be %s %s",
                         name_of(node, field), node->text, from, low);
}

static bool fail_parse(struct scenario_reader *reader, const struct conf_node *node,
                       const struct base_field *field, const char *path, struct kvsim_error *err)
{
    struct kvsim_error full = *err;
    base_fail(&full, KVSIM_ERR_SCENARIO, "'%s': %.360s", name_of(node, field), err->message);
    base_error_code(&full, err->code);
    base_copy(full.hint, sizeof full.hint, err->hint);
    return scenario_fail_error(reader, node, path, &full);
}

static bool read_bool(struct scenario_reader *reader, const struct conf_node *node,
                      const struct base_field *field, const char *path, bool *out)
{
    if (!node->quoted && is_bool_word(node->text, out))
        return true;
    return scenario_fail(reader, node, path, "wrong-type",
                         "'%s' must be true or false, not '%.60s'", name_of(node, field),
                         node->text);
}

static bool read_int(struct scenario_reader *reader, const struct conf_node *node,
                     const struct base_field *field, const char *path, int64_t *out)
{
    struct kvsim_error err;
    if (base_parse_int(node->text, field->unit, out, &err) != KVSIM_OK)
        return fail_parse(reader, node, field, path, &err);
    return check_range(reader, node, field, path, (double)*out);
}

static bool read_real(struct scenario_reader *reader, const struct conf_node *node,
                      const struct base_field *field, const char *path, double *out)
{
    struct kvsim_error err;
    if (base_parse_real(node->text, field->unit, out, &err) != KVSIM_OK)
        return fail_parse(reader, node, field, path, &err);
    return check_range(reader, node, field, path, *out);
}

static bool read_rational(struct scenario_reader *reader, const struct conf_node *node,
                          const struct base_field *field, const char *path,
                          struct base_rational *out)
{
    struct kvsim_error err;
    if (base_parse_rational(node->text, &out->num, &out->den, &err) != KVSIM_OK)
        return fail_parse(reader, node, field, path, &err);
    return check_range(reader, node, field, path, (double)out->num / (double)out->den);
}

/* "a, b or c" of a list of choices. */
static const char *list_choices(struct base_arena *arena, const struct base_choice *choices)
{
    struct base_text text = {0};
    for (const struct base_choice *at = choices; at->name != NULL; at++) {
        if (at != choices)
            base_text_add(&text, at[1].name == NULL ? " or " : ", ");
        base_text_add(&text, at->name);
    }
    const char *copy = base_arena_copy(arena, text.at == NULL ? "" : text.at);
    base_text_free(&text);
    return copy;
}

static bool read_choice(struct scenario_reader *reader, const struct conf_node *node,
                        const struct base_field *field, const char *path, int *out)
{
    const char *names[64] = {NULL};
    size_t count = 0;
    for (const struct base_choice *at = field->choices; at->name != NULL; at++) {
        if (base_key_equal(at->name, node->text)) {
            *out = at->value;
            return true;
        }
        if (count + 1 < sizeof names / sizeof names[0])
            names[count++] = at->name;
    }
    const char *near = base_name_nearest(names, node->text);
    const char *hint =
        near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near);
    return scenario_fail_hint(reader, node, path, "bad-choice", hint, "'%s' is '%.60s', must be %s",
                              name_of(node, field), node->text,
                              list_choices(reader->arena, field->choices));
}

/* An escape may hide what would command a terminal; a name stays in its line. */
static bool read_text(struct scenario_reader *reader, const struct conf_node *node,
                      const struct base_field *field, const char *path, const char **out)
{
    const char *blanks = strcmp(field->key, "name") == 0 ? "" : "\t\n\r";
    for (const unsigned char *at = (const unsigned char *)node->text; *at != '\0'; at++) {
        bool is_control = (*at < 0x20 && strchr(blanks, *at) == NULL) || *at == 0x7F ||
                          (*at == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0);
        if (is_control)
            return scenario_fail(reader, node, path, "bad-text",
                                 "'%s' must not hold control characters", field->key);
    }
    *out = node->text;
    return true;
}

bool scenario_read_value(struct scenario_reader *reader, const struct conf_node *node,
                         const struct base_field *field, const char *path, void *out)
{
    if (node->kind != CONF_SCALAR)
        return fail_type(reader, node, field, path, "a single value");
    switch (field->type) {
    case BASE_BOOL:
        return read_bool(reader, node, field, path, out);
    case BASE_INT:
        return read_int(reader, node, field, path, out);
    case BASE_REAL:
        return read_real(reader, node, field, path, out);
    case BASE_RATIONAL:
        return read_rational(reader, node, field, path, out);
    case BASE_CHOICE:
        return read_choice(reader, node, field, path, out);
    case BASE_TEXT:
        return read_text(reader, node, field, path, out);
    case BASE_SUB:
    case BASE_LIST:
    case BASE_INTS:
    case BASE_TEXTS:
    case BASE_NODE:
        break;
    }
    base_require(field->type != BASE_SUB && field->type < BASE_SUB);
    return false;
}

/* ---- the row of run_param ---- */

static const char *choice_name(const struct base_field *field, int value)
{
    for (const struct base_choice *at = field->choices; at->name != NULL; at++) {
        if (at->value == value)
            return at->name;
    }
    return "";
}

/* The value in its base unit, so that two spellings of one value are one text. */
static void record_scalar(struct scenario_reader *reader, const struct conf_node *node,
                          const struct base_field *field, const char *path, const void *value)
{
    char text[64];
    const char *shown = text;
    switch (field->type) {
    case BASE_BOOL:
        shown = *(const bool *)value ? "true" : "false";
        break;
    case BASE_INT:
        snprintf(text, sizeof text, "%" PRId64, *(const int64_t *)value);
        break;
    case BASE_REAL:
        base_print_real(*(const double *)value, text, sizeof text);
        break;
    case BASE_RATIONAL: {
        const struct base_rational *share = value;
        base_print_real((double)share->num / (double)share->den, text, sizeof text);
        break;
    }
    case BASE_CHOICE:
        shown = choice_name(field, *(const int *)value);
        break;
    case BASE_TEXT:
        shown = *(const char *const *)value;
        break;
    case BASE_SUB:
    case BASE_LIST:
    case BASE_INTS:
    case BASE_TEXTS:
    case BASE_NODE:
        return;
    }
    scenario_param_text(reader, path, shown, base_unit_name(field->unit), node);
}

/* ---- lists ---- */

static const struct base_field item_int = {.key = "item", .type = BASE_INT};
static const struct base_field item_text = {.key = "item", .type = BASE_TEXT};

/* A list of scalars, or one scalar in its place. */
static bool read_scalars(struct scenario_reader *reader, const struct conf_node *node,
                         const struct base_field *field, const char *path, struct base_list *out)
{
    bool is_int = field->type == BASE_INTS;
    struct base_field row = is_int ? item_int : item_text;
    row.key = field->key;
    row.unit = field->unit;
    row.min = field->min;
    row.max = field->max;
    if (node->kind == CONF_MAP)
        return fail_type(reader, node, field, path, "a list");
    bool one = node->kind == CONF_SCALAR;
    size_t bytes = sizeof(const char *);
    if (is_int)
        bytes = sizeof(int64_t);
    out->count = one ? 1 : node->count;
    out->at = base_arena_array(reader->arena, out->count, bytes);
    bool ok = true;
    for (size_t i = 0; i < out->count; i++) {
        const struct conf_node *item = one ? node : node->items[i];
        char *at = (char *)out->at + i * bytes;
        if (scenario_read_value(reader, item, &row, path, at)) {
            const char *key = one ? path : base_arena_printf(reader->arena, "%s.%zu", path, i);
            record_scalar(reader, item, &row, key, at);
        } else {
            ok = false;
        }
    }
    return ok;
}

static bool read_sub(struct scenario_reader *reader, struct conf_node *node,
                     const struct base_field *field, const char *path, void *out)
{
    struct scenario_section section = {.path = path, .fields = field->sub};
    if (node->kind != CONF_MAP)
        return fail_type(reader, node, field, path, "a mapping");
    return scenario_read_map(reader, node, &section, path, out);
}

static bool read_list(struct scenario_reader *reader, struct conf_node *node,
                      const struct base_field *field, const char *path, struct base_list *out)
{
    if (node->kind != CONF_LIST)
        return fail_type(reader, node, field, path, "a list");
    if (node->count == 0)
        return scenario_fail(reader, node, path, "empty-list", "'%s' is empty", field->key);
    out->count = node->count;
    out->at = base_arena_array(reader->arena, node->count, field->sub_bytes);
    bool ok = true;
    for (size_t i = 0; i < node->count; i++) {
        const char *item_path = base_arena_printf(reader->arena, "%s.%zu", path, i);
        void *at = (char *)out->at + i * field->sub_bytes;
        ok = read_sub(reader, node->items[i], field, item_path, at) && ok;
    }
    return ok;
}

/* ---- a mapping ---- */

static bool read_field(struct scenario_reader *reader, struct conf_node *node,
                       const struct base_field *field, const char *path, void *out)
{
    void *at = (char *)out + field->offset;
    bool ok = false;
    switch (field->type) {
    case BASE_SUB:
        ok = read_sub(reader, node, field, path, at);
        break;
    case BASE_LIST:
        ok = read_list(reader, node, field, path, at);
        break;
    case BASE_INTS:
    case BASE_TEXTS:
        ok = read_scalars(reader, node, field, path, at);
        break;
    case BASE_NODE:
        *(const struct conf_node **)at = node;
        ok = true;
        break;
    case BASE_BOOL:
    case BASE_INT:
    case BASE_REAL:
    case BASE_RATIONAL:
    case BASE_TEXT:
    case BASE_CHOICE:
        ok = scenario_read_value(reader, node, field, path, at);
        if (ok)
            record_scalar(reader, node, field, path, at);
        break;
    }
    if (field->has_offset != 0)
        *(bool *)((char *)out + field->has_offset) = node->origin != CONF_ORIGIN_DEFAULT;
    return ok;
}

static bool fail_unknown(struct scenario_reader *reader, const struct conf_node *key,
                         const struct scenario_section *section, const char *path)
{
    const char *full = scenario_join(reader->arena, path, key->text);
    const struct base_field *later = base_field_find(section->later, key->text);
    if (later != NULL)
        return scenario_fail_hint(reader, key, full, "unsupported-key", later->help,
                                  "'%s' is not simulated by this version", full);
    const struct base_field *spelled = base_field_find(scenario_spelled(section), key->text);
    if (spelled != NULL)
        return scenario_fail_hint(reader, key, full, "unsupported-key", spelled->help,
                                  "'%s' is a key of another engine's profile", full);
    const char *near = base_field_nearest(section->fields, key->text);
    const char *hint =
        near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near);
    const char *where =
        path[0] == '\0' ? "the scenario" : base_arena_printf(reader->arena, "'%s'", path);
    return scenario_fail_hint(reader, key, full, "unknown-key", hint, "unknown key '%.80s' in %s",
                              key->text, where);
}

/* Each stated key has a row, and no two keys the same one (a row may have several spellings). */
static bool check_keys(struct scenario_reader *reader, const struct conf_node *map,
                       const struct scenario_section *section, const char *path)
{
    bool ok = true;
    for (size_t i = 0; i < map->count; i++) {
        const struct conf_node *key = map->keys[i];
        const struct base_field *field = base_field_find(section->fields, key->text);
        if (field == NULL) {
            ok = fail_unknown(reader, key, section, path);
            continue;
        }
        for (size_t j = 0; j < i; j++) {
            if (base_field_find(section->fields, map->keys[j]->text) != field)
                continue;
            ok = scenario_fail(reader, key, scenario_join(reader->arena, path, key->text),
                               "duplicate-key", "'%s' and '%s' are the same key", key->text,
                               map->keys[j]->text);
        }
    }
    return ok;
}

static struct conf_node *find_value(const struct conf_node *map, const struct base_field *table,
                                    const struct base_field *field)
{
    for (size_t i = 0; i < map->count; i++) {
        if (base_field_find(table, map->keys[i]->text) == field)
            return map->items[i];
    }
    return NULL;
}

/* Puts the table's default into the tree, so that the resolved scenario shows it. */
static struct conf_node *put_default(struct scenario_reader *reader, struct conf_node *map,
                                     const struct base_field *field)
{
    struct conf_node *node = conf_new_scalar(reader->arena, field->def);
    node->origin = CONF_ORIGIN_DEFAULT;
    node->file = map->file;
    node->line = map->line;
    node->column = map->column;
    conf_put(reader->arena, map, field->key, node);
    return node;
}

bool scenario_read_map(struct scenario_reader *reader, struct conf_node *map,
                       const struct scenario_section *section, const char *path, void *out)
{
    bool ok = check_keys(reader, map, section, path);
    for (const struct base_field *field = section->fields; field->key != NULL; field++) {
        struct conf_node *node = find_value(map, section->fields, field);
        const char *full = scenario_join(reader->arena, path, field->key);
        if (conf_is_null(node)) {
            if (field->required)
                ok = scenario_fail(reader, map, full, "missing-key", "'%s' is missing", full);
            if (field->required || field->def == NULL)
                continue;
            node = put_default(reader, map, field);
        }
        ok = read_field(reader, node, field, full, out) && ok;
    }
    return ok;
}
