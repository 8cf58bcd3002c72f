#include "cli/cli_int.h"

#include "catalog/catalog.h"
#include "report/csv.h"
#include "report/json.h"
#include "report/table.h"
#include "scenario/scenario.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 8 };

/* A list as texts, row by row; they live in the arena. */
struct list {
    const char *const *columns;
    size_t column_count;
    unsigned integer_columns; /* bit c: column c holds integers, "" is null */
    struct base_arena arena;
    struct {
        const char **at;
        size_t count, capacity;
    } cells;
};

static void list_init(struct list *list, const char *const *columns)
{
    *list = (struct list){.columns = columns};
    while (columns[list->column_count] != NULL)
        list->column_count++;
    base_require(list->column_count <= COLUMNS_MAX);
    base_arena_init(&list->arena);
}

static void list_free(struct list *list)
{
    base_vec_free(&list->cells);
    base_arena_release(&list->arena);
}

static void add_cell(struct list *list, const char *text)
{
    base_vec_push(&list->cells, base_arena_copy(&list->arena, text == NULL ? "" : text));
}

static void add_integer(struct list *list, int64_t value, bool is_known)
{
    add_cell(list, is_known ? base_arena_printf(&list->arena, "%lld", (long long)value) : "");
}

static void print_page(const struct list *list, enum report_style style)
{
    char align[COLUMNS_MAX + 1] = "";
    for (size_t c = 0; c < list->column_count; c++)
        align[c] = (list->integer_columns >> c & 1u) != 0 ? 'r' : 'l';
    struct report_page page;
    report_page_init(&page, stdout, style);
    report_page_table_begin(&page, align);
    for (size_t c = 0; c < list->column_count; c++)
        report_page_cell(&page, list->columns[c]);
    for (size_t i = 0; i < list->cells.count; i++)
        report_page_cell(&page, list->cells.at[i]);
    report_page_table_end(&page);
}

static void print_csv(const struct list *list)
{
    for (size_t c = 0; c < list->column_count; c++)
        printf("%s%s", c == 0 ? "" : ",", list->columns[c]);
    putchar('\n');
    for (size_t i = 0; i < list->cells.count; i++) {
        report_csv_field(stdout, list->cells.at[i]);
        putchar((i + 1) % list->column_count == 0 ? '\n' : ',');
    }
}

static void put_cell(struct report_json *json, const struct list *list, size_t column,
                     const char *text)
{
    const char *key = list->columns[column];
    if ((list->integer_columns >> column & 1u) == 0)
        report_json_text(json, key, text);
    else if (text[0] == '\0')
        report_json_null(json, key);
    else
        report_json_integer(json, key, strtoll(text, NULL, 10));
}

static void print_json(const struct list *list)
{
    struct report_json json;
    report_json_init(&json, stdout);
    report_json_begin_list(&json, NULL);
    json.spread_depth = 1; // one line a row
    for (size_t i = 0; i < list->cells.count; i++) {
        size_t column = i % list->column_count;
        if (column == 0)
            report_json_begin_object(&json, NULL);
        put_cell(&json, list, column, list->cells.at[i]);
        if (column + 1 == list->column_count)
            report_json_end_object(&json);
    }
    report_json_end_list(&json);
    report_json_finish(&json);
}

static void print_list(const struct list *list, int format)
{
    switch (format) {
    case CLI_JSON:
        print_json(list);
        break;
    case CLI_CSV:
        print_csv(list);
        break;
    case CLI_MARKDOWN:
        print_page(list, REPORT_MARKDOWN);
        break;
    default:
        print_page(list, REPORT_TEXT);
    }
}

static void add_entries(struct list *list, struct scenario_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        add_cell(list, entries->at[i].name);
        add_cell(list, entries->at[i].summary);
        add_cell(list, entries->at[i].path);
        if (list->column_count == 4)
            add_cell(list, entries->at[i].aliases);
    }
    scenario_entries_free(entries);
}

/* Aliases are long: they are for programs, and for those who ask. */
static int list_entries(struct scenario_entries *entries, int format)
{
    static const char *const columns[] = {"name", "summary", "file", "aliases", NULL};
    struct list list;
    list_init(&list, columns);
    if (format != CLI_JSON && format != CLI_CSV)
        list.column_count--;
    add_entries(&list, entries);
    print_list(&list, format);
    list_free(&list);
    return 0;
}

static int list_data(enum scenario_data kind, int format)
{
    struct scenario_entries entries;
    scenario_list_data(kind, NULL, &entries);
    return list_entries(&entries, format);
}

static int list_models(const struct cli_args *args)
{
    return list_data(SCENARIO_MODEL, args->format);
}

static int list_hardware(const struct cli_args *args)
{
    return list_data(SCENARIO_HARDWARE, args->format);
}

static int list_engines(const struct cli_args *args)
{
    return list_data(SCENARIO_ENGINE, args->format);
}

static int list_scenarios(const struct cli_args *args)
{
    struct scenario_entries entries;
    scenario_list_scenarios(&entries);
    return list_entries(&entries, args->format);
}

static void add_policy(struct list *list, const struct catalog_kind *kind, const char *name,
                       const char *summary)
{
    add_cell(list, kind->name);
    add_cell(list, name);
    add_cell(list, kind->key);
    add_cell(list, summary);
}

static void add_kind(struct list *list, const struct catalog_kind *kind)
{
    if (kind->policies != NULL)
        for (size_t i = 0; kind->policies[i] != NULL; i++)
            add_policy(list, kind, kind->policies[i]->name, kind->policies[i]->summary);
    else
        for (size_t i = 0; kind->choices[i].name != NULL; i++)
            add_policy(list, kind, kind->choices[i].name, kind->choices[i].help);
}

static int list_policies(const struct cli_args *args)
{
    static const char *const columns[] = {"kind", "name", "key", "summary", NULL};
    struct list list;
    list_init(&list, columns);
    for (const struct catalog_kind *kind = catalog_kinds; kind->name != NULL; kind++)
        add_kind(&list, kind);
    print_list(&list, args->format);
    list_free(&list);
    return 0;
}

static void add_run(struct list *list, const struct store_entry *entry)
{
    add_integer(list, entry->run_id, true);
    add_cell(list, entry->created_at);
    add_cell(list, entry->scenario);
    add_cell(list, entry->model);
    add_cell(list, entry->hardware);
    add_cell(list, entry->engine);
    add_cell(list, entry->status);
    add_integer(list, entry->slo_met, entry->slo_met >= 0);
}

static int list_runs(const struct cli_args *args)
{
    static const char *const columns[] = {"run_id", "created_at", "scenario", "model", "hardware",
                                          "engine", "status",     "slo_met",  NULL};
    struct kvsim_error err;
    struct store *store = NULL;
    struct store_entry *entries = NULL;
    size_t count = 0;
    struct list list;
    list_init(&list, columns);
    list.integer_columns = 1u << 0 | 1u << 7;
    enum kvsim_status status = store_open(
        args->db_path == NULL ? "results/kvsim.db" : args->db_path, STORE_READ, &store, &err);
    if (status == KVSIM_OK)
        status = store_list_runs(store, &list.arena, &entries, &count, &err);
    for (size_t i = 0; status == KVSIM_OK && i < count; i++)
        add_run(&list, &entries[i]);
    if (status == KVSIM_OK)
        print_list(&list, args->format);
    store_close(store);
    list_free(&list);
    return status == KVSIM_OK ? 0 : cli_fail(&err);
}

static const struct {
    const char *name;
    int (*run)(const struct cli_args *args);
} lists[] = {
    {"models", list_models},     {"hardware", list_hardware},   {"engines", list_engines},
    {"policies", list_policies}, {"scenarios", list_scenarios}, {"runs", list_runs},
};

static int fail_unknown(const char *name)
{
    const char *names[sizeof lists / sizeof lists[0] + 1] = {NULL};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        names[i] = lists[i].name;
    struct kvsim_error err;
    base_fail(&err, KVSIM_ERR_USAGE, "there is no list of '%s'", name);
    base_error_at(&err, "kvsim list", 0, 0);
    const char *near = base_name_nearest(names, name);
    if (near != NULL)
        base_error_hint(&err, "did you mean '%s'?", near);
    return cli_fail(&err);
}

int cli_list(const struct cli_args *args)
{
    const char *name = args->operands.at[0];
    if (args->db_path != NULL && strcmp(name, "runs") != 0) {
        struct kvsim_error err;
        base_fail(&err, KVSIM_ERR_USAGE, "--db is for 'kvsim list runs' only");
        base_error_at(&err, "kvsim list", 0, 0);
        return cli_fail(&err);
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strcmp(lists[i].name, name) == 0)
            return lists[i].run(args);
    return fail_unknown(name);
}
