/*
 * lengths.c - a number or a distribution of lengths (tokens), times (seconds) or counts, compiled.
 */
#include "scenario/parts.h"

#include "base/error.h"
#include "conf/rows.h"
#include "rng/rng.h"

#include <math.h>
#include <string.h>

struct length {
    struct scenario_reader *reader;
    struct conf_node *node;
    const char *path, *key;
    double scale; /* to the unit of the values: 1, or ns to s */
    enum scenario_measure measure;
};

struct bins {
    struct rng_bin *at;
    size_t count, capacity;
};

enum { BINS_MAX = 1000000 };

static bool read_number(const struct length *length, const struct conf_node *node,
                        enum base_unit unit, double *out)
{
    const struct base_field field = {.key = length->key,
                                     .type = BASE_REAL,
                                     .unit = unit,
                                     .min = unit == BASE_COUNT ? 1 : 0,
                                     .max = unit == BASE_COUNT ? WORKLOAD_SEQUENCES_MAX : 1e18};
    return scenario_read_value(length->reader, node, &field, length->path, out);
}

static bool is_time(const struct length *length)
{
    return length->measure == SCENARIO_SECONDS;
}

static enum base_unit value_unit(const struct length *length)
{
    static const enum base_unit units[] = {BASE_TOKENS, BASE_TIME, BASE_COUNT};
    return units[length->measure];
}

static bool fail_bins(const struct length *length, const struct conf_node *node,
                      const char *message)
{
    return scenario_fail(length->reader, node, length->path, "bad-bins", "%s", message);
}

static bool add_bin(const struct length *length, const struct conf_node *node, struct rng_bin bin,
                    struct bins *bins)
{
    if (bins->count == BINS_MAX)
        return fail_bins(length, node, "more than 1,000,000 bins");
    if (bin.high < bin.low)
        return fail_bins(length, node, "the upper end of a bin is below the lower one");
    base_vec_push(bins, bin);
    return true;
}

static bool read_bin(const struct length *length, const struct conf_node *node, struct bins *bins)
{
    struct rng_bin bin = {0};
    if (node->kind != CONF_LIST || node->count < 2 || node->count > 3)
        return fail_bins(length, node, "a bin must be [value, weight] or [low, high, weight]");
    if (!read_number(length, node->items[0], value_unit(length), &bin.low) ||
        !read_number(length, node->items[node->count - 1], BASE_NONE, &bin.weight))
        return false;
    bin.high = bin.low;
    if (node->count == 3 && !read_number(length, node->items[1], value_unit(length), &bin.high))
        return false;
    if (node->count == 3 && bin.high <= bin.low)
        return fail_bins(length, node, "the upper end of a bin must be above the lower one");
    bin.low *= length->scale;
    bin.high *= length->scale;
    return add_bin(length, node, bin, bins);
}

/* A point of a distribution function: what lies after the point before, up to and with this value. */
static bool add_point(const struct length *length, const struct conf_node *node, double value,
                      double share, double *before, double *share_before, struct bins *bins)
{
    if (share < *share_before || share > 1.0 + 1e-9)
        return fail_bins(length, node, "the shares of a cdf must rise and end at 1");
    bool first = bins->count == 0;
    if (!first && value <= *before)
        return fail_bins(length, node, "the values of a cdf must rise");
    // Whole numbers after the one before, up to this one: [before + 1, value + 1).
    double step = is_time(length) ? 0.0 : 1.0;
    struct rng_bin bin = {.low = first ? value : *before + step,
                          .high = first ? value : value + step,
                          .weight = share - *share_before};
    *before = value;
    *share_before = share;
    return add_bin(length, node, bin, bins);
}

static bool read_cdf(const struct length *length, const struct conf_node *list, struct bins *bins)
{
    double before = 0, share_before = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct conf_node *item = list->items[i];
        double value, share;
        if (item->kind != CONF_LIST || item->count != 2)
            return fail_bins(length, item, "a point of a cdf must be [value, share]");
        if (!read_number(length, item->items[0], value_unit(length), &value) ||
            !read_number(length, item->items[1], BASE_RATIO, &share) ||
            !add_point(length, item, value * length->scale, share, &before, &share_before, bins))
            return false;
    }
    if (fabs(share_before - 1.0) > 1e-6)
        return fail_bins(length, list, "the shares of a cdf must end at 1");
    return true;
}

/* ---- files ---- */

struct table {
    struct conf_rows *rows;
    int value, low, high, weight, cdf;
};

static enum kvsim_status read_file_row(const struct length *length, const struct table *table,
                                       double *before, double *share_before, struct bins *bins,
                                       struct kvsim_error *err)
{
    double value = 0, high = 0, weight = 0;
    int first = table->low >= 0 ? table->low : table->value;
    int last = table->cdf >= 0 ? table->cdf : table->weight;
    enum kvsim_status status = conf_rows_real(table->rows, first, &value, err);
    if (status == KVSIM_OK)
        status = conf_rows_real(table->rows, last, &weight, err);
    high = value;
    if (status == KVSIM_OK && table->low >= 0)
        status = conf_rows_real(table->rows, table->high, &high, err);
    if (status != KVSIM_OK)
        return status;
    if (!(value >= 0) || !(high >= value) || !(weight >= 0) || !isfinite(high) || !isfinite(weight))
        return conf_rows_fail(table->rows, first, err, "bad-bins",
                              "a row must have values from 0 on that do not fall");
    if (table->cdf >= 0)
        return add_point(length, length->node, value, weight, before, share_before, bins)
                   ? KVSIM_OK
                   : KVSIM_ERR_SCENARIO;
    return add_bin(length, length->node, (struct rng_bin){value, high, weight}, bins)
               ? KVSIM_OK
               : KVSIM_ERR_SCENARIO;
}

static bool read_rows(const struct length *length, const struct table *table, struct bins *bins)
{
    double before = 0, share_before = 0;
    for (;;) {
        struct kvsim_error err = {.status = KVSIM_OK};
        bool more;
        size_t seen = length->reader->diags->total;
        enum kvsim_status status = conf_rows_next(table->rows, &more, &err);
        if (status == KVSIM_OK && !more)
            return true;
        if (status == KVSIM_OK)
            status = read_file_row(length, table, &before, &share_before, bins, &err);
        if (status == KVSIM_OK)
            continue;
        // Bins that do not fit together have been reported already.
        return seen == length->reader->diags->total
                   ? scenario_fail_error(length->reader, length->node, length->path, &err)
                   : false;
    }
}

static bool read_file(const struct length *length, const char *name, struct bins *bins)
{
    struct kvsim_error err;
    const char *path = scenario_find_file(length->reader, length->node, length->path, name);
    struct table table;
    if (path == NULL)
        return false;
    if (conf_rows_open(path, &table.rows, &err) != KVSIM_OK)
        return scenario_fail_error(length->reader, length->node, length->path, &err);
    table.value = conf_rows_column(table.rows, "value");
    table.low = conf_rows_column(table.rows, "low");
    table.high = conf_rows_column(table.rows, "high");
    table.weight = conf_rows_column(table.rows, "weight");
    table.cdf = conf_rows_column(table.rows, "cdf");
    bool by_value = table.value >= 0 && (table.weight >= 0 || table.cdf >= 0);
    bool by_range = table.low >= 0 && table.high >= 0 && table.weight >= 0;
    bool ok = false;
    if (by_value || by_range)
        ok = read_rows(length, &table, bins);
    else
        scenario_fail(length->reader, length->node, length->path, "missing-column",
                      "'%.150s' must have the columns value,weight or low,high,weight or value,cdf",
                      name);
    conf_rows_close(table.rows);
    return ok;
}

/* ---- compiled ---- */

static bool find_bins(const struct length *length, const struct scenario_length_opts *opts,
                      struct bins *bins)
{
    int given = (opts->bins != NULL) + (opts->cdf != NULL) + (opts->file != NULL);
    if (given != 1)
        return scenario_fail(
            length->reader, length->node, length->path, given == 0 ? "missing-key" : "conflict",
            "an empirical distribution needs exactly one of 'bins', 'cdf' and 'file'");
    if (opts->file != NULL)
        return read_file(length, opts->file, bins);
    const struct conf_node *list = opts->bins != NULL ? opts->bins : opts->cdf;
    if (list->kind != CONF_LIST || list->count == 0)
        return fail_bins(length, list, "a list of bins is needed");
    if (opts->cdf != NULL)
        return read_cdf(length, list, bins);
    for (size_t i = 0; i < list->count; i++) {
        if (!read_bin(length, list->items[i], bins))
            return false;
    }
    return true;
}

static bool compile(const struct length *length, const struct rng_dist_options *options,
                    struct rng_dist *out)
{
    struct kvsim_error err = {.status = KVSIM_OK};
    if (rng_dist_init(out, options, !is_time(length), length->reader->arena, &err) == KVSIM_OK)
        return true;
    const struct conf_node *at = conf_get(length->node, err.key);
    if (err.key[0] != '\0')
        base_error_key(&err, scenario_join(length->reader->arena, length->path, err.key));
    return scenario_fail_error(length->reader, at == NULL ? length->node : at, length->path, &err);
}

static bool compile_options(const struct length *length, const struct scenario_length_opts *opts,
                            struct rng_dist *out)
{
    double scale = length->scale;
    struct bins bins = {0};
    struct rng_dist_options options = {
        .kind = (enum rng_kind)opts->distribution,
        .has_mean = opts->has_mean,
        .has_cv = opts->has_cv,
        .has_sd = opts->has_sd,
        .has_median = opts->has_median,
        .has_p95 = opts->has_p95,
        .has_min = opts->has_min,
        .has_max = opts->has_max,
        .has_s = opts->has_s,
        .value = opts->value * scale,
        .mean = opts->mean * scale,
        .cv = opts->cv,
        .sd = opts->sd * scale,
        .median = opts->median * scale,
        .p95 = opts->p95 * scale,
        .min = opts->min * scale,
        .max = opts->max * scale,
        .s = opts->s,
    };
    bool ok = true;
    if (options.kind == RNG_FIXED && !opts->has_value)
        ok = scenario_fail(length->reader, length->node, length->path, "missing-key",
                           "a fixed length needs its 'value'");
    if (options.kind == RNG_EMPIRICAL)
        ok = find_bins(length, opts, &bins);
    options.bins = bins.at;
    options.bin_count = bins.count;
    ok = ok && compile(length, &options, out);
    base_vec_free(&bins);
    return ok;
}

static bool read_fixed(const struct length *length, struct rng_dist *out)
{
    struct rng_dist_options options = {.kind = RNG_FIXED};
    static const char *const units[] = {"tokens", "s", ""};
    double value;
    if (!read_number(length, length->node, value_unit(length), &value))
        return false;
    options.value = value * length->scale;
    char text[32];
    scenario_param_text(length->reader, length->path,
                        base_print_real(options.value, text, sizeof text), units[length->measure],
                        length->node);
    return compile(length, &options, out);
}

static const char *shape_name(const struct base_field *fields, int kind)
{
    const struct base_field *field = base_field_find(fields, "distribution");
    for (const struct base_choice *at = field->choices; at->name != NULL; at++) {
        if (at->value == kind)
            return at->name;
    }
    return "";
}

bool scenario_length_read(struct scenario_reader *reader, struct conf_node *parent, const char *key,
                          const char *path, enum scenario_measure measure, struct rng_dist *out)
{
    static const struct scenario_section *const sections[] = {
        &scenario_length_section, &scenario_time_section, &scenario_count_section};
    const struct scenario_section *section = sections[measure];
    struct length length = {
        .reader = reader,
        .node = conf_get(parent, key),
        .path = path,
        .key = key,
        .scale = measure == SCENARIO_SECONDS ? 1e-9 : 1.0,
        .measure = measure,
    };
    if (length.node->kind == CONF_SCALAR)
        return read_fixed(&length, out);
    struct scenario_length_opts opts = {0};
    if (length.node->kind != CONF_MAP)
        return scenario_fail(reader, length.node, path, "wrong-type",
                             "'%s' must be a number or a distribution", key);
    if (!scenario_read_map(reader, length.node, section, path, &opts) ||
        !scenario_check_used(reader, length.node, path, section->fields,
                             shape_name(section->fields, opts.distribution), "distribution"))
        return false;
    return compile_options(&length, &opts, out);
}
