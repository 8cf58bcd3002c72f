#include "workload/bins.h"

#include "conf/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many unsorted values are collected before equal ones are counted together. */
#define COLLECTED_MAX 65536
#define CDF_SLACK 1e-6

enum layout { LAYOUT_RANGES, LAYOUT_VALUES, LAYOUT_CDF, LAYOUT_LENGTHS };

struct reader {
    struct conf_rows *rows;
    enum layout layout;
    int low, high, weight;
    struct {
        struct rng_bin *at;
        size_t count, capacity;
    } bins;
    size_t merged_count;
    double value_before, cdf_before;
    bool has_before;
};

static const char *const prompt_columns[] = {"num_prefill_tokens", "input_tokens", "ContextTokens",
                                             "Request tokens",     "input_length", "prompt_tokens"};
static const char *const output_columns[] = {"num_decode_tokens", "output_tokens",
                                             "GeneratedTokens",   "Response tokens",
                                             "output_length",     "completion_tokens"};

enum { LENGTH_COLUMNS = sizeof prompt_columns / sizeof prompt_columns[0] };

static int find_length(const struct conf_rows *rows, enum workload_role role)
{
    const char *const *names = role == WORKLOAD_ROLE_PROMPT ? prompt_columns : output_columns;

    for (size_t i = 0; i < LENGTH_COLUMNS; i++) {
        int column = conf_rows_column(rows, names[i]);

        if (column >= 0)
            return column;
    }
    return -1;
}

static enum kvsim_status find_layout(struct reader *reader, enum workload_role role,
                                     struct kvsim_error *err)
{
    const struct conf_rows *rows = reader->rows;
    int value = conf_rows_column(rows, "value"), cdf = conf_rows_column(rows, "cdf");
    int lengths = find_length(rows, role);
    enum kvsim_status status;

    reader->low = conf_rows_column(rows, "low");
    reader->high = conf_rows_column(rows, "high");
    reader->weight = conf_rows_column(rows, "weight");
    reader->layout = LAYOUT_RANGES;
    if (reader->low >= 0 && reader->high >= 0 && reader->weight >= 0)
        return KVSIM_OK;
    reader->low = value >= 0 ? value : lengths;
    if (value >= 0)
        reader->layout = cdf >= 0 ? LAYOUT_CDF : LAYOUT_VALUES;
    else
        reader->layout = LAYOUT_LENGTHS;
    if (reader->layout == LAYOUT_CDF)
        reader->weight = cdf;
    if (reader->low >= 0)
        return KVSIM_OK;
    status = conf_rows_fail(rows, 0, err, "unknown-columns",
                            "the file has no column of %s lengths and is no histogram",
                            role == WORKLOAD_ROLE_PROMPT ? "prompt" : "output");
    base_error_hint(err,
                    "known: low,high,weight; value[,weight]; value,cdf; the columns of traces");
    return status;
}

static int compare_bins(const void *a, const void *b)
{
    const struct rng_bin *x = a, *y = b;

    if (x->low < y->low || x->low > y->low)
        return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

/* Equal bins become one. Order is by value, so that it does not depend on the file's. */
static void merge_bins(struct reader *reader)
{
    struct rng_bin *at = reader->bins.at;
    size_t kept = 0;

    if (reader->bins.count == 0)
        return;
    qsort(at, reader->bins.count, sizeof *at, compare_bins);
    for (size_t i = 1; i < reader->bins.count; i++) {
        if (compare_bins(&at[i], &at[kept]) == 0)
            at[kept].weight += at[i].weight;
        else
            at[++kept] = at[i];
    }
    reader->bins.count = reader->merged_count = kept + 1;
}

static void add_bin(struct reader *reader, struct rng_bin bin)
{
    /* At least as many new ones as old ones: sorting stays cheap per value. */
    if (reader->bins.count >= COLLECTED_MAX + 2 * reader->merged_count)
        merge_bins(reader);
    base_vec_push(&reader->bins, bin);
}

static enum kvsim_status read_weight(const struct reader *reader, double *weight,
                                     struct kvsim_error *err)
{
    enum kvsim_status status;

    *weight = 1.0;
    if (reader->weight < 0)
        return KVSIM_OK;
    status = conf_rows_real(reader->rows, reader->weight, weight, err);
    if (status == KVSIM_OK && !(isfinite(*weight) && *weight >= 0.0))
        return conf_rows_fail(reader->rows, reader->weight, err, "out-of-range",
                              "a weight must be a number, 0 or more");
    return status;
}

static enum kvsim_status read_range(struct reader *reader, double low, double weight,
                                    struct kvsim_error *err)
{
    double high;
    enum kvsim_status status = conf_rows_real(reader->rows, reader->high, &high, err);

    if (status != KVSIM_OK)
        return status;
    if (!(high >= low))
        return conf_rows_fail(reader->rows, reader->high, err, "out-of-range",
                              "'high' is below 'low'");
    add_bin(reader, (struct rng_bin){.low = low, .high = high, .weight = weight});
    return KVSIM_OK;
}

/* The step from the row before: (value before, value] of whole numbers. */
static enum kvsim_status read_step(struct reader *reader, double value, double cdf,
                                   struct kvsim_error *err)
{
    struct rng_bin bin = {.low = value, .high = value, .weight = cdf - reader->cdf_before};

    if (cdf > 1.0 + CDF_SLACK || cdf < reader->cdf_before)
        return conf_rows_fail(reader->rows, reader->weight, err, "out-of-order",
                              "'cdf' must rise from row to row, up to 1");
    if (value != floor(value))
        return conf_rows_fail(reader->rows, reader->low, err, "not-whole",
                              "a count must be a whole number");
    if (reader->has_before && value <= reader->value_before)
        return conf_rows_fail(reader->rows, reader->low, err, "out-of-order",
                              "'value' must rise from row to row");
    if (reader->has_before && value > reader->value_before + 1.0) {
        bin.low = reader->value_before + 1.0;
        bin.high = value + 1.0;
    }
    add_bin(reader, bin);
    reader->value_before = value;
    reader->cdf_before = cdf;
    reader->has_before = true;
    return KVSIM_OK;
}

static enum kvsim_status read_row(struct reader *reader, struct kvsim_error *err)
{
    double value, weight = 1.0;
    enum kvsim_status status = conf_rows_real(reader->rows, reader->low, &value, err);

    if (status == KVSIM_OK && reader->layout != LAYOUT_LENGTHS)
        status = read_weight(reader, &weight, err);
    if (status != KVSIM_OK)
        return status;
    if (reader->layout == LAYOUT_LENGTHS && value == 0.0)
        return KVSIM_OK;
    if (!isfinite(value) || value < 1.0)
        return conf_rows_fail(reader->rows, reader->low, err, "out-of-range",
                              "a count must be at least 1");
    if (reader->layout == LAYOUT_RANGES)
        return read_range(reader, value, weight, err);
    if (reader->layout == LAYOUT_CDF)
        return read_step(reader, value, weight, err);
    add_bin(reader, (struct rng_bin){.low = value, .high = value, .weight = weight});
    return KVSIM_OK;
}

static enum kvsim_status read_all(struct reader *reader, struct kvsim_error *err)
{
    bool more = true;
    enum kvsim_status status = KVSIM_OK;

    while (status == KVSIM_OK) {
        status = conf_rows_next(reader->rows, &more, err);
        if (status != KVSIM_OK || !more)
            break;
        status = read_row(reader, err);
    }
    if (status != KVSIM_OK)
        return status;
    if (reader->layout == LAYOUT_CDF && reader->cdf_before < 1.0 - CDF_SLACK)
        return conf_rows_fail(reader->rows, 0, err, "incomplete", "'cdf' does not reach 1");
    merge_bins(reader);
    if (reader->bins.count == 0)
        return conf_rows_fail(reader->rows, 0, err, "empty-file", "the file has no values");
    return KVSIM_OK;
}

enum kvsim_status workload_bins_read(const char *path, enum workload_role role,
                                     struct base_arena *arena, const struct rng_bin **bins,
                                     size_t *count, struct kvsim_error *err)
{
    struct reader reader = {.rows = NULL};
    enum kvsim_status status = conf_rows_open(path, &reader.rows, err);

    if (status != KVSIM_OK)
        return status;
    status = find_layout(&reader, role, err);
    if (status == KVSIM_OK)
        status = read_all(&reader, err);
    if (status == KVSIM_OK) {
        struct rng_bin *copy = base_arena_array(arena, reader.bins.count, sizeof *copy);

        memcpy(copy, reader.bins.at, reader.bins.count * sizeof *copy);
        *bins = copy;
        *count = reader.bins.count;
    }
    base_vec_free(&reader.bins);
    conf_rows_close(reader.rows);
    return status;
}
