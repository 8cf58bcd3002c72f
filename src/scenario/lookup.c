/*
 * lookup.c - models, hardware and engines by name: file names and aliases, place by place, the copies in the binary last.
 *
 * The first place that knows a name wins. Within a place the file of that name does; an alias that two files claim is
 * refused with the list, and so is a name whose words are found in several ("a100-80gb"). Case does not count.
 */
#include "scenario/lookup.h"

#include "base/error.h"
#include "scenario/embedded.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef KVSIM_SHARE_DIR
#define KVSIM_SHARE_DIR "/usr/local/share/kvsim"
#endif

enum { HEAD_BYTES_MAX = 16384, LISTED_MAX = 12 };

const char *scenario_data_name(enum scenario_data kind)
{
    static const char *const names[] = {"models", "hardware", "engines"};
    base_require((size_t)kind < sizeof names / sizeof names[0]);
    return names[kind];
}

static const char *kind_word(enum scenario_data kind)
{
    static const char *const words[] = {"model", "hardware", "engine profile"};
    return words[kind];
}

bool scenario_name_equal(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a - 'A' + 'a') : *a;
        char y = *b >= 'A' && *b <= 'Z' ? (char)(*b - 'A' + 'a') : *b;
        if (x != y)
            return false;
    }
    return *a == *b;
}

/* ---- what a place holds ---- */

/* The lines of one top-level key, from its line to the next that is not indented. */
static const char *key_lines(const char *head, const char *key, size_t *length)
{
    size_t key_length = strlen(key);
    for (const char *line = head; line != NULL && *line != '\0';) {
        const char *next = strchr(line, '\n');
        if (strncmp(line, key, key_length) == 0 && line[key_length] == ':') {
            const char *end = next == NULL ? line + strlen(line) : next + 1;
            while (*end == ' ' || *end == '-') {
                const char *more = strchr(end, '\n');
                end = more == NULL ? end + strlen(end) : more + 1;
            }
            *length = (size_t)(end - line);
            return line;
        }
        line = next == NULL ? NULL : next + 1;
    }
    return NULL;
}

static const struct conf_node *read_key(struct base_arena *arena, const char *head, const char *key)
{
    size_t length;
    const char *lines = key_lines(head, key, &length);
    struct conf_node *root;
    struct kvsim_error err;
    if (lines == NULL || conf_read_text(arena, "", lines, length, &root, &err) != KVSIM_OK)
        return NULL;
    return conf_get(root, key);
}

static const char *read_text_key(struct base_arena *arena, const char *head, const char *key,
                                 const char *otherwise)
{
    const struct conf_node *node = read_key(arena, head, key);
    return node != NULL && node->kind == CONF_SCALAR ? node->text : otherwise;
}

/* The comment on top of a file, its first sentence or line. */
static const char *read_summary(struct base_arena *arena, const char *head)
{
    struct base_text text = {0};
    for (const char *line = head; line[0] == '#' && line[1] == ' ';) {
        size_t length = strcspn(line, "\n");
        base_text_add_n(&text, line + (text.count == 0 ? 2 : 1),
                        length - (text.count == 0 ? 2 : 1));
        line += line[length] == '\n' ? length + 1 : length;
    }
    const char *copy = text.at == NULL ? "" : base_arena_copy(arena, text.at);
    base_text_free(&text);
    const char *stop = strstr(copy, ". ");
    return stop == NULL ? copy : base_arena_copy_n(arena, copy, (size_t)(stop - copy) + 1);
}

/* One file of a place by the text of its head: the whole file is read only when it is the one. */
static struct scenario_known describe(struct base_arena *arena, const char *path, const char *head)
{
    const char *base = scenario_base_name(path);
    size_t length = strlen(base);
    if (base_ends_with(base, ".yaml"))
        length -= strlen(".yaml");
    struct scenario_known known = {.path = path, .base = base_arena_copy_n(arena, base, length)};
    known.name = read_text_key(arena, head, "name", known.base);
    known.family = read_text_key(arena, head, "family", "");
    known.release = read_text_key(arena, head, "release", "");
    known.aliases = read_key(arena, head, "aliases");
    known.summary = read_summary(arena, head);
    size_t ignored;
    known.is_scenario =
        key_lines(head, "model", &ignored) != NULL || key_lines(head, "workload", &ignored) != NULL;
    return known;
}

static bool is_data_file(const char *base)
{
    return base_ends_with(base, ".yaml") && base[0] != '.' && strcmp(base, "defaults.yaml") != 0;
}

/* The start of a file; "" when it cannot be read. */
static const char *read_head(struct base_arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return "";
    char *head = base_arena_take(arena, HEAD_BYTES_MAX + 1);
    size_t got = fread(head, 1, HEAD_BYTES_MAX, file);
    fclose(file);
    head[got] = '\0';
    return head;
}

static int compare_known(const void *a, const void *b)
{
    const struct scenario_known *x = a, *y = b;
    return strcmp(x->base, y->base);
}

static void list_folder(struct base_arena *arena, const char *folder,
                        struct scenario_known_list *out)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!is_data_file(entry->d_name))
            continue;
        const char *path = base_arena_printf(arena, "%s/%s", folder, entry->d_name);
        struct scenario_known known = describe(arena, path, read_head(arena, path));
        base_vec_push(out, known);
    }
    closedir(dir);
    if (out->count > 0)
        qsort(out->at, out->count, sizeof *out->at, compare_known);
}

static void list_embedded(struct base_arena *arena, const char *kind,
                          struct scenario_known_list *out)
{
    size_t length = strlen(kind);
    for (size_t i = 0; i < scenario_embedded_count; i++) {
        const struct scenario_embedded *file = &scenario_embedded_files[i];
        if (strncmp(file->path, kind, length) != 0 || file->path[length] != '/' ||
            !is_data_file(file->path + length + 1))
            continue;
        struct scenario_known known = describe(arena, file->path, (const char *)file->bytes);
        known.embedded = file;
        base_vec_push(out, known);
    }
}

size_t scenario_places(struct base_arena *arena, enum scenario_data kind, const char *beside,
                       const char *places[SCENARIO_PLACES_MAX])
{
    const char *folder = scenario_data_name(kind);
    const char *data = getenv("KVSIM_DATA");
    size_t count = 0;
    if (beside[0] != '\0') {
        places[count++] = beside;
        places[count++] = base_arena_printf(arena, "%s/%s", beside, folder);
    }
    if (data != NULL && data[0] != '\0')
        places[count++] = base_arena_printf(arena, "%s/%s", data, folder);
    places[count++] = folder;
    places[count++] = base_arena_printf(arena, "%s/%s", KVSIM_SHARE_DIR, folder);
    places[count++] = NULL; // the binary
    return count;
}

/* Files beside a scenario are of every kind. */
static bool fits_kind(const struct scenario_known *known, enum scenario_data kind, bool is_beside)
{
    bool is_engine = known->family[0] != '\0';
    return !is_beside || (!known->is_scenario && is_engine == (kind == SCENARIO_ENGINE));
}

void scenario_list_place(struct base_arena *arena, enum scenario_data kind, const char *place,
                         struct scenario_known_list *out)
{
    if (place == NULL)
        list_embedded(arena, scenario_data_name(kind), out);
    else
        list_folder(arena, place, out);
}

/* ---- names ---- */

static bool has_name(const struct scenario_known *known, const char *name)
{
    if (scenario_name_equal(known->name, name) || scenario_name_equal(known->base, name))
        return true;
    for (size_t i = 0; known->aliases != NULL && i < known->aliases->count; i++) {
        if (scenario_name_equal(known->aliases->items[i]->text, name))
            return true;
    }
    return false;
}

/* All words of `name` begin words of `known`, in order: "a100-80gb" in "a100-sxm4-80gb". */
static bool has_words(const char *known, const char *name)
{
    while (*name != '\0') {
        size_t length = strcspn(name, "-");
        bool found = false;
        while (*known != '\0' && !found) {
            size_t word = strcspn(known, "-");
            char a[64], b[64];
            snprintf(a, sizeof a, "%.*s", (int)(length < word ? length : word), known);
            snprintf(b, sizeof b, "%.*s", (int)length, name);
            found = length > 0 && scenario_name_equal(a, b);
            known += word;
            known += *known == '-';
        }
        if (!found)
            return false;
        name += length;
        name += *name == '-';
    }
    return true;
}

/* Names of the files for which `fits` holds, as "a, b, c". */
static size_t collect(const struct scenario_known_list *list, const char *name,
                      bool (*fits)(const struct scenario_known *known, const char *name),
                      struct base_text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!fits(&list->at[i], name))
            continue;
        count++;
        if (count <= LISTED_MAX)
            base_text_printf(out, "%s%s", count == 1 ? "" : ", ", list->at[i].name);
    }
    if (count > LISTED_MAX)
        base_text_add(out, ", ...");
    return count;
}

static bool fits_words(const struct scenario_known *known, const char *name)
{
    return has_words(known->name, name);
}

static const struct scenario_known *find_first(const struct scenario_known_list *list,
                                               const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (has_name(&list->at[i], name))
            return &list->at[i];
    }
    return NULL;
}

static const char *nearest_known(struct base_arena *arena, const struct scenario_known_list *list,
                                 const char *name)
{
    size_t total = 0;
    for (size_t i = 0; i < list->count; i++)
        total += 1 + (list->at[i].aliases == NULL ? 0 : list->at[i].aliases->count);
    const char **names = base_arena_array(arena, total + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct conf_node *aliases = list->at[i].aliases;
        names[count++] = list->at[i].name;
        for (size_t j = 0; aliases != NULL && j < aliases->count; j++)
            names[count++] = aliases->items[j]->text;
    }
    return base_name_nearest(names, name);
}

struct wanted {
    struct scenario_reader *reader;
    enum scenario_data kind;
    const struct conf_node *node;
    const char *key, *name;
};

static bool fail_ambiguous(const struct wanted *wanted, const char *names)
{
    return scenario_fail_hint(wanted->reader, wanted->node, wanted->key, "ambiguous-name",
                              base_arena_printf(wanted->reader->arena, "one of: %s", names),
                              "'%.80s' fits several: %.300s", wanted->name, names);
}

static bool fail_unknown_name(const struct wanted *wanted, const struct scenario_known_list *all)
{
    struct base_arena *arena = wanted->reader->arena;
    struct base_text names = {0};
    size_t count = collect(all, wanted->name, fits_words, &names);
    const char *found = base_arena_copy(arena, names.at == NULL ? "" : names.at);
    base_text_free(&names);
    if (count > 1)
        return fail_ambiguous(wanted, found);
    const char *near = count == 1 ? found : nearest_known(arena, all, wanted->name);
    const char *hint =
        near != NULL
            ? base_arena_printf(arena, "did you mean '%s'?", near)
            : base_arena_printf(
                  arena, "`kvsim list %s` names what is known; a path ends in .yaml or .json",
                  scenario_data_name(wanted->kind));
    return scenario_fail_hint(wanted->reader, wanted->node, wanted->key, "unknown-name", hint,
                              "unknown %s '%.80s'", kind_word(wanted->kind), wanted->name);
}

static bool read_known(const struct wanted *wanted, const struct scenario_known *known,
                       struct scenario_file *out)
{
    struct scenario_reader *reader = wanted->reader;
    struct kvsim_error err;
    enum kvsim_status status =
        known->embedded == NULL
            ? conf_read_file(reader->arena, known->path, &out->tree, &err)
            : conf_read_text(reader->arena, known->path, (const char *)known->embedded->bytes,
                             known->embedded->length, &out->tree, &err);
    if (status != KVSIM_OK)
        return scenario_fail_error(reader, wanted->node, wanted->key, &err);
    out->path = known->embedded == NULL ? known->path : "(built in)";
    const struct conf_node *name = conf_get(out->tree, "name");
    out->name = name != NULL && name->kind == CONF_SCALAR ? name->text : known->name;
    conf_set_origin(out->tree, CONF_ORIGIN_PROFILE);
    return true;
}

/* Two files of one place that claim the name. */
static bool check_unique(const struct wanted *wanted, const struct scenario_known_list *list,
                         bool *ok)
{
    struct base_text names = {0};
    size_t count = collect(list, wanted->name, has_name, &names);
    if (count > 1)
        *ok = fail_ambiguous(wanted, names.at);
    base_text_free(&names);
    return count == 1;
}

static bool looks_like_path(const char *name)
{
    return base_ends_with(name, ".yaml") || base_ends_with(name, ".yml") ||
           base_ends_with(name, ".json") || name[0] == '/' || base_starts_with(name, "./") ||
           base_starts_with(name, "../");
}

static bool find_path(const struct wanted *wanted, struct scenario_file *out)
{
    const char *path = scenario_find_file(wanted->reader, wanted->node, wanted->key, wanted->name);
    if (path == NULL)
        return false;
    struct scenario_known known = {.path = path};
    const char *base = scenario_base_name(path);
    const char *dot = strrchr(base, '.');
    known.name =
        dot == NULL ? base : base_arena_copy_n(wanted->reader->arena, base, (size_t)(dot - base));
    return read_known(wanted, &known, out);
}

/* NAME.yaml of a place, without a look at its other files. */
static bool find_named(struct base_arena *arena, const char *kind, const char *place,
                       const char *name, struct scenario_known *out)
{
    const char *base = base_arena_printf(arena, "%s.yaml", name);
    if (strchr(name, '/') != NULL || !is_data_file(base))
        return false;
    const char *path = base_arena_printf(arena, "%s/%s", place == NULL ? kind : place, base);
    if (place != NULL) {
        const char *head = read_head(arena, path);
        *out = describe(arena, path, head);
        return head[0] != '\0';
    }
    for (size_t i = 0; i < scenario_embedded_count; i++) {
        const struct scenario_embedded *file = &scenario_embedded_files[i];
        if (strcmp(file->path, path) == 0) {
            *out = describe(arena, file->path, (const char *)file->bytes);
            out->embedded = file;
            return true;
        }
    }
    return false;
}

bool scenario_find_data(struct scenario_reader *reader, enum scenario_data kind,
                        const struct conf_node *node, const char *key, const char *name,
                        struct scenario_file *out)
{
    struct wanted wanted = {.reader = reader, .kind = kind, .node = node, .key = key, .name = name};
    if (looks_like_path(name))
        return find_path(&wanted, out);
    const char *places[SCENARIO_PLACES_MAX];
    size_t place_count = scenario_places(reader->arena, kind, reader->beside, places);
    struct scenario_known_list all = {0};
    bool ok = false, decided = false;
    for (size_t i = 0; i < place_count && !decided; i++) {
        struct scenario_known_list list = {0};
        bool is_beside = places[i] != NULL && strcmp(places[i], reader->beside) == 0;
        struct scenario_known named;
        if (find_named(reader->arena, scenario_data_name(kind), places[i], name, &named) &&
            fits_kind(&named, kind, is_beside)) {
            decided = true;
            ok = read_known(&wanted, &named, out);
            break;
        }
        scenario_list_place(reader->arena, kind, places[i], &list);
        const struct scenario_known *known = find_first(&list, name);
        if (known != NULL && fits_kind(known, kind, is_beside)) {
            decided = true;
            if (check_unique(&wanted, &list, &ok))
                ok = read_known(&wanted, known, out);
        }
        for (size_t j = 0; j < list.count && !is_beside; j++) {
            if (find_first(&all, list.at[j].name) == NULL)
                base_vec_push(&all, list.at[j]);
        }
        base_vec_free(&list);
    }
    if (!decided)
        ok = fail_unknown_name(&wanted, &all);
    base_vec_free(&all);
    return ok;
}

bool scenario_find_hardware_defaults(struct scenario_reader *reader, struct conf_node **out)
{
    const char *places[SCENARIO_PLACES_MAX];
    struct kvsim_error err;
    size_t count = scenario_places(reader->arena, SCENARIO_HARDWARE, "", places);
    for (size_t i = 0; i < count; i++) {
        if (places[i] == NULL)
            continue;
        const char *path = base_arena_printf(reader->arena, "%s/defaults.yaml", places[i]);
        enum kvsim_status status = conf_read_file(reader->arena, path, out, &err);
        if (status == KVSIM_OK)
            return true;
        if (status != KVSIM_ERR_IO)
            return scenario_fail_error(reader, NULL, "hardware", &err);
    }
    for (size_t i = 0; i < scenario_embedded_count; i++) {
        const struct scenario_embedded *file = &scenario_embedded_files[i];
        if (strcmp(file->path, "hardware/defaults.yaml") != 0)
            continue;
        if (conf_read_text(reader->arena, file->path, (const char *)file->bytes, file->length, out,
                           &err) == KVSIM_OK)
            return true;
        return scenario_fail_error(reader, NULL, "hardware", &err);
    }
    return scenario_fail(reader, NULL, "hardware", "missing-defaults",
                         "hardware/defaults.yaml is missing");
}

/* ---- listing ---- */

static const char *join_aliases(struct base_arena *arena, const struct conf_node *aliases)
{
    struct base_text text = {0};
    for (size_t i = 0; aliases != NULL && i < aliases->count; i++)
        base_text_printf(&text, "%s%s", i == 0 ? "" : ", ", aliases->items[i]->text);
    const char *copy = base_arena_copy(arena, text.at == NULL ? "" : text.at);
    base_text_free(&text);
    return copy;
}

static bool has_entry(const struct scenario_entries *entries, const char *name)
{
    for (size_t i = 0; i < entries->count; i++) {
        if (scenario_name_equal(entries->at[i].name, name))
            return true;
    }
    return false;
}

static int compare_entries(const void *a, const void *b)
{
    const struct scenario_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

void scenario_list_data(enum scenario_data kind, const char *beside, struct scenario_entries *out)
{
    base_arena_init(&out->arena);
    out->at = NULL;
    out->count = out->capacity = 0;
    const char *places[SCENARIO_PLACES_MAX];
    // Files beside a scenario are of every kind; only a folder of their own is listed.
    size_t first = beside != NULL && beside[0] != '\0' ? 1 : 0;
    size_t count = scenario_places(&out->arena, kind, beside == NULL ? "" : beside, places);
    for (size_t i = first; i < count; i++) {
        struct scenario_known_list list = {0};
        scenario_list_place(&out->arena, kind, places[i], &list);
        for (size_t j = 0; j < list.count; j++) {
            const struct scenario_known *known = &list.at[j];
            if (has_entry(out, known->name))
                continue;
            struct scenario_entry entry = {
                .name = known->name,
                .path = known->embedded == NULL ? known->path : "(built in)",
                .aliases = join_aliases(&out->arena, known->aliases),
                .summary = known->summary,
            };
            base_vec_push(out, entry);
        }
        base_vec_free(&list);
    }
    if (out->count > 0)
        qsort(out->at, out->count, sizeof *out->at, compare_entries);
}

void scenario_list_scenarios(struct scenario_entries *out)
{
    base_arena_init(&out->arena);
    out->at = NULL;
    out->count = out->capacity = 0;
    const char *places[3];
    const char *data = getenv("KVSIM_DATA");
    size_t count = 0;
    if (data != NULL && data[0] != '\0')
        places[count++] = base_arena_printf(&out->arena, "%s/scenarios", data);
    places[count++] = "scenarios";
    places[count++] = base_arena_printf(&out->arena, "%s/scenarios", KVSIM_SHARE_DIR);
    for (size_t i = 0; i < count; i++) {
        struct scenario_known_list list = {0};
        list_folder(&out->arena, places[i], &list);
        for (size_t j = 0; j < list.count; j++) {
            struct scenario_entry entry = {.name = list.at[j].base,
                                           .path = list.at[j].path,
                                           .aliases = "",
                                           .summary = list.at[j].summary};
            if (!has_entry(out, entry.name))
                base_vec_push(out, entry);
        }
        base_vec_free(&list);
    }
    if (out->count > 0)
        qsort(out->at, out->count, sizeof *out->at, compare_entries);
}

void scenario_entries_free(struct scenario_entries *entries)
{
    base_vec_free(entries);
    base_arena_release(&entries->arena);
}
