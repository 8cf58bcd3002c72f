/*
 * cost_table.c - level `table`: a CSV of measured operator times (op,x,y,ms) on rectangular grids, to cost_table.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "conf/rows.h"
#include "cost/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row of the file. */
struct cell {
    double x, y, ms;
    int line;
};

struct cells {
    struct cell *at;
    size_t count, capacity;
};

/* An operator as the scenario names it, and its rows. */
struct wanted {
    struct cost_table_operator op;
    const struct conf_node *node;
    struct cells cells;
};

struct reading {
    struct scenario_load *load;
    const char *path;
    struct wanted *wanted;
    size_t count;
};

static int compare_cells(const void *a, const void *b)
{
    const struct cell *left = a, *right = b;
    if (left->x < right->x || left->x > right->x)
        return left->x < right->x ? -1 : 1;
    return (left->y > right->y) - (left->y < right->y);
}

static bool read_axis(struct scenario_load *load, const struct conf_node *map, const char *key,
                      const char *path, enum cost_axis *out)
{
    const struct conf_node *node = conf_get(map, key);
    *out = COST_AXIS_NONE;
    if (conf_is_null(node))
        return true;
    for (size_t i = 1; cost_axis_names[i] != NULL; i++) {
        if (node->kind == CONF_SCALAR && base_key_equal(cost_axis_names[i], node->text)) {
            *out = (enum cost_axis)i;
            return true;
        }
    }
    const char *near =
        base_name_nearest(cost_axis_names + 1, node->kind == CONF_SCALAR ? node->text : "");
    return scenario_fail_hint(
        load->reader, node, path, "bad-choice",
        near == NULL ? NULL : base_arena_printf(load->reader->arena, "did you mean '%s'?", near),
        "'%s' must be batch_tokens, decode_seqs, mean_decode_context, cached_tokens or "
        "equivalent_chunk",
        key);
}

static bool read_operator(struct scenario_load *load, const struct conf_node *key,
                          const struct conf_node *map, struct wanted *out)
{
    static const struct base_field several = {
        .key = "several", .type = BASE_REAL, .min_open = true, .max = 100};
    struct scenario_reader *reader = load->reader;
    const char *path = base_arena_printf(reader->arena, "cost.operators.%s", key->text);
    *out = (struct wanted){.node = key, .op = {.name = key->text, .several = 1}};
    if (map->kind != CONF_MAP)
        return scenario_fail(reader, map, path, "wrong-type",
                             "an operator must be a mapping {x: AXIS, y: AXIS}");
    for (size_t i = 0; i < map->count; i++) {
        const char *name = map->keys[i]->text;
        if (!base_key_equal(name, "x") && !base_key_equal(name, "y") &&
            !base_key_equal(name, "several"))
            return scenario_fail(reader, map->keys[i], path, "unknown-key",
                                 "unknown key '%.60s' of an operator", name);
    }
    if (!read_axis(load, map, "x", path, &out->op.x) ||
        !read_axis(load, map, "y", path, &out->op.y))
        return false;
    if (out->op.x == COST_AXIS_NONE)
        return scenario_fail(reader, map, path, "missing-key", "an operator needs its axis 'x'");
    if (out->op.x == out->op.y)
        return scenario_fail(reader, map, path, "conflict", "'x' and 'y' are the same axis");
    const struct conf_node *factor = conf_get(map, "several");
    return conf_is_null(factor) ||
           scenario_read_value(reader, factor, &several, path, &out->op.several);
}

static bool read_row(struct reading *reading, const struct conf_rows *rows, const int columns[4],
                     struct kvsim_error *err)
{
    const char *name = conf_rows_text(rows, columns[0]);
    for (size_t i = 0; name != NULL && i < reading->count; i++) {
        struct wanted *wanted = &reading->wanted[i];
        struct cell cell = {.line = conf_rows_line(rows)};
        if (strcmp(wanted->op.name, name) != 0)
            continue;
        if (conf_rows_real(rows, columns[1], &cell.x, err) != KVSIM_OK ||
            conf_rows_real(rows, columns[2], &cell.y, err) != KVSIM_OK ||
            conf_rows_real(rows, columns[3], &cell.ms, err) != KVSIM_OK)
            return false;
        if (!(cell.x >= 0) || !(cell.y >= 0) || !(cell.ms >= 0)) {
            conf_rows_fail(rows, columns[3], err, "out-of-range",
                           "x, y and ms must not be negative");
            return false;
        }
        base_vec_push(&wanted->cells, cell);
        return true;
    }
    return true; // an operator that the scenario leaves out
}

static bool read_rows(struct reading *reading, struct kvsim_error *err)
{
    static const char *const names[] = {"op", "x", "y", "ms"};
    struct conf_rows *rows;
    int columns[4];
    bool ok = true, more = true;
    if (conf_rows_open(reading->path, &rows, err) != KVSIM_OK)
        return false;
    for (size_t i = 0; i < 4 && ok; i++) {
        columns[i] = conf_rows_column(rows, names[i]);
        if (columns[i] < 0) {
            conf_rows_fail(rows, -1, err, "missing-column",
                           "a table of step times has the columns op,x,y,ms");
            ok = false;
        }
    }
    while (ok && (ok = conf_rows_next(rows, &more, err) == KVSIM_OK) && more)
        ok = read_row(reading, rows, columns, err);
    conf_rows_close(rows);
    return ok;
}

/* The sorted rows must be every combination of their x and y, once. */
static bool make_grid(struct reading *reading, struct wanted *wanted)
{
    struct scenario_reader *reader = reading->load->reader;
    struct cells *cells = &wanted->cells;
    struct cost_table_operator *op = &wanted->op;
    if (cells->count == 0)
        return scenario_fail(reader, wanted->node, "cost.operators", "missing-rows",
                             "%s has no row of operator '%.60s'", reading->path, op->name);
    qsort(cells->at, cells->count, sizeof *cells->at, compare_cells);
    size_t y_count = 0;
    while (y_count < cells->count && !(cells->at[y_count].x > cells->at[0].x))
        y_count++;
    size_t x_count = cells->count / y_count;
    double *xs = base_arena_array(reader->arena, x_count, sizeof *xs);
    double *ys = base_arena_array(reader->arena, y_count, sizeof *ys);
    double *ms = base_arena_array(reader->arena, cells->count, sizeof *ms);
    bool ok = x_count * y_count == cells->count;
    for (size_t i = 0; ok && i < cells->count; i++) {
        const struct cell *cell = &cells->at[i], *first = &cells->at[i - i % y_count],
                          *head = &cells->at[i % y_count];
        ok = !(cell->x > first->x) && !(cell->y > head->y) && !(cell->y < head->y) &&
             (i == 0 || compare_cells(cell - 1, cell) < 0);
        xs[i / y_count] = cell->x;
        ys[i % y_count] = cell->y;
        ms[i] = cell->ms;
    }
    if (!ok)
        return scenario_fail(
            reader, wanted->node, "cost.operators", "not-a-grid",
            "the rows of operator '%.60s' in %s are not every combination of their x and y, once",
            op->name, reading->path);
    op->x_count = x_count;
    op->y_count = y_count;
    op->xs = xs;
    op->ys = ys;
    op->ms = ms;
    if (op->y == COST_AXIS_NONE && y_count > 1)
        return scenario_fail(reader, wanted->node, "cost.operators", "missing-key",
                             "operator '%.60s' has several y in %s: say its axis 'y'", op->name,
                             reading->path);
    return true;
}

static bool read_operators(struct reading *reading, const struct conf_node *map)
{
    struct scenario_reader *reader = reading->load->reader;
    bool ok = true;
    if (conf_is_null(map) || map->kind != CONF_MAP || map->count == 0)
        return scenario_fail(reader, map != NULL ? map : conf_get(reading->load->root, "cost"),
                             "cost.operators", "missing-key",
                             "level 'table' needs 'cost.operators': {NAME: {x: AXIS, y: AXIS}}");
    reading->count = map->count;
    reading->wanted = base_arena_array(reader->arena, map->count, sizeof *reading->wanted);
    for (size_t i = 0; i < map->count; i++)
        ok = read_operator(reading->load, map->keys[i], map->items[i], &reading->wanted[i]) && ok;
    return ok;
}

static void store_table(const struct reading *reading, struct scenario_cost_opts *opts,
                        struct cost_table *out)
{
    struct cost_table_operator *operators =
        base_arena_array(reading->load->reader->arena, reading->count, sizeof *operators);
    for (size_t i = 0; i < reading->count; i++)
        operators[i] = reading->wanted[i].op;
    *out = (struct cost_table){.file = reading->path,
                               .layer_count = opts->layers,
                               .lookup = (enum cost_lookup)opts->lookup,
                               .operator_count = reading->count,
                               .operators = operators};
}

bool scenario_cost_table_read(struct scenario_load *load, struct scenario_cost_opts *opts)
{
    struct scenario_reader *reader = load->reader;
    const struct conf_node *map = conf_get(load->root, "cost");
    struct reading reading = {.load = load};
    struct kvsim_error err;
    if (opts->file == NULL)
        return scenario_fail(reader, map, "cost.file", "missing-key",
                             "level 'table' needs 'cost.file'");
    if (!read_operators(&reading, opts->operators))
        return false;
    reading.path = scenario_find_file(reader, conf_get(map, "file"), "cost.file", opts->file);
    if (reading.path == NULL)
        return false;
    bool ok = read_rows(&reading, &err);
    if (!ok)
        scenario_fail_error(reader, NULL, NULL, &err);
    for (size_t i = 0; ok && i < reading.count; i++)
        ok = make_grid(&reading, &reading.wanted[i]);
    for (size_t i = 0; i < reading.count; i++)
        base_vec_free(&reading.wanted[i].cells);
    if (!ok)
        return false;
    struct cost_table *table = base_arena_take(reader->arena, sizeof *table);
    store_table(&reading, opts, table);
    load->scenario->cost.table = table;
    return true;
}
