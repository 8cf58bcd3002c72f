#include "calib/case_rows.h"

static void take_texts(struct calib_case_row *row, size_t count)
{
    row->texts = base_arena_array(row->arena, count, sizeof *row->texts);
    for (size_t i = 0; i < count; i++) {
        const char *text = conf_rows_text(row->rows, row->found[i]);
        row->texts[i] = base_arena_copy(row->arena, text == NULL ? "" : text);
    }
}

enum kvsim_status calib_case_rows_each(const char *path, const struct calib_case_table *table,
                                       calib_case_reader *read, void *context,
                                       struct base_arena *arena,
                                       struct record_validation_cases *out, struct kvsim_error *err)
{
    int *found = base_arena_array(arena, table->column_count, sizeof *found);
    struct calib_case_row row = {.found = found, .arena = arena, .out = out};
    bool more = true;
    enum kvsim_status status = conf_rows_open(path, &row.rows, err);
    if (status != KVSIM_OK)
        return status;
    status = conf_rows_find(row.rows, table->columns, table->column_count, table->what, found, err);
    while (status == KVSIM_OK && (status = conf_rows_next(row.rows, &more, err)) == KVSIM_OK &&
           more) {
        take_texts(&row, table->column_count);
        status = read(&row, context, err);
    }
    conf_rows_close(row.rows);
    return status;
}

enum kvsim_status calib_case_count(const struct calib_case_row *row, size_t column, long long most,
                                   long long *out, struct kvsim_error *err)
{
    enum kvsim_status status = conf_rows_int(row->rows, row->found[column], out, err);
    if (status == KVSIM_OK && (*out < 1 || *out > most))
        return conf_rows_fail(row->rows, row->found[column], err, "out-of-range",
                              "'%s' must be 1 to %lld",
                              conf_rows_column_name(row->rows, (size_t)row->found[column]), most);
    return status;
}

enum kvsim_status calib_case_positive(const struct calib_case_row *row, size_t column, double *out,
                                      struct kvsim_error *err)
{
    enum kvsim_status status = conf_rows_real(row->rows, row->found[column], out, err);
    if (status == KVSIM_OK && !(*out > 0))
        return conf_rows_fail(row->rows, row->found[column], err, "out-of-range",
                              "'%s' must be positive",
                              conf_rows_column_name(row->rows, (size_t)row->found[column]));
    return status;
}
