#include "calib/kv_logs.h"

#include "base/units.h"
#include "calib/kv_left_out.h"
#include "conf/rows.h"
#include "scenario/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gib = 1073741824.0, mib = 1048576.0;

/* Half a unit of the second decimal, which engines print, and a hair for numbers that lie on the edge. */
static const double printed_half = 0.005 + 1e-9;

/* ---- one row and the scenarios it asks for ---- */

enum { SETTINGS_MAX = 24 };

struct points {
    struct calib_kv_point *at;
    size_t count, capacity;
};

struct row {
    const struct conf_rows *rows;
    struct points *points; /* of those that are to be fitted anew */
    struct base_arena *arena;
    struct scenario_override at[SETTINGS_MAX];
    size_t count;
};

static const char *text_of(const struct row *row, const char *column)
{
    const char *text = conf_rows_text(row->rows, conf_rows_column(row->rows, column));
    return text != NULL ? base_arena_copy(row->arena, text) : "";
}

static bool has(const struct row *row, const char *column)
{
    return text_of(row, column)[0] != '\0';
}

// Columns are this project's own; a number that cannot be read is NaN and fails every comparison.
static double real_of(const struct row *row, const char *column)
{
    double value;
    struct kvsim_error err;
    const char *text = text_of(row, column);
    if (base_parse_real(text[0] == '-' ? text + 1 : text, BASE_NONE, &value, &err) != KVSIM_OK)
        return (double)NAN;
    return text[0] == '-' ? -value : value;
}

/* Half a unit of the last digit that is there, where a page has rounded further than the engine. */
static double half_of(const struct row *row, const char *column)
{
    const char *point = strchr(text_of(row, column), '.');
    size_t decimals = point == NULL ? 0 : strlen(point + 1);
    return decimals >= 2 ? printed_half : decimals == 1 ? 0.05 : 0.5;
}

static void set(struct row *row, const char *key, const char *value)
{
    base_require(row->count < SETTINGS_MAX);
    row->at[row->count++] = (struct scenario_override){.key = key, .value = value};
}

/* "key=value; key=value" */
static void set_all(struct row *row, char *settings)
{
    for (char *at = settings; *at != '\0';) {
        char *end = strstr(at, "; ");
        char *next = end == NULL ? at + strlen(at) : end + 2;
        if (end != NULL)
            *end = '\0';
        char *equals = strchr(at, '=');
        base_require(equals != NULL);
        *equals = '\0';
        set(row, at, equals + 1);
        at = next;
    }
}

static struct row begin_row(const struct conf_rows *rows, struct base_arena *arena)
{
    struct row row = {.rows = rows, .arena = arena};
    set(&row, "model", text_of(&row, "model"));
    set(&row, "engine.profile", text_of(&row, "profile"));
    set_all(&row, base_arena_copy(arena, text_of(&row, "settings")));
    return row;
}

/* The waterfall under the row's settings and one more; false when there is none (err says why). */
static bool size_of(const struct row *row, const char *key, const char *value,
                    struct kv_waterfall *out, struct kvsim_error *err)
{
    struct row more = *row;
    if (key != NULL)
        set(&more, key, value);
    struct scenario_request request = {
        .overrides = more.at, .override_count = more.count, .purpose = SCENARIO_FOR_SIZE};
    struct kvsim_diags *diags = base_alloc(sizeof *diags);
    struct scenario *scenario;
    bool ok = scenario_load(&request, &scenario, diags) == KVSIM_OK;
    if (ok) {
        *out = scenario_config(scenario)->waterfall;
        scenario_free(scenario);
    } else {
        *err = diags->at[0];
    }
    base_free(diags);
    return ok;
}

static bool size_with_blocks(const struct row *row, double blocks, struct kv_waterfall *out)
{
    struct kvsim_error err;
    return blocks >= 1 && size_of(row, "engine.num_gpu_blocks_override",
                                  base_arena_printf(row->arena, "%.0f", blocks), out, &err);
}

static bool size_with_bytes(const struct row *row, double bytes, struct kv_waterfall *out)
{
    struct kvsim_error err;
    return bytes >= 1 && size_of(row, "engine.kv_cache_memory_bytes",
                                 base_arena_printf(row->arena, "%.0f", bytes), out, &err);
}

/* ---- cases ---- */

static void add_case(const struct row *row, struct record_validation_cases *out, const char *what,
                     double predicted, double measured, bool agrees)
{
    struct record_validation_case item = {
        .id = text_of(row, "id"),
        .family = text_of(row, "family"),
        .source = text_of(row, "source"),
        .what = what,
        .predicted = predicted,
        .measured = measured,
        .error = measured > 0 ? predicted / measured - 1 : 0,
        .agrees = agrees,
        .note = text_of(row, "note"),
    };
    base_vec_push(out, item);
}

typedef enum kvsim_status check_row(struct row *row, struct record_validation_cases *out,
                                    struct kvsim_error *err);

static enum kvsim_status each_row_into(const char *path, struct base_arena *arena,
                                       struct record_validation_cases *out, check_row *check,
                                       struct points *points, struct kvsim_error *err)
{
    struct conf_rows *rows;
    enum kvsim_status status = conf_rows_open(path, &rows, err);
    bool more = true;
    if (status != KVSIM_OK)
        return status;
    while (more) {
        status = conf_rows_next(rows, &more, err);
        if (status != KVSIM_OK || !more)
            break;
        struct row row = begin_row(rows, arena);
        row.points = points;
        status = check(&row, out, err);
        if (status != KVSIM_OK) {
            base_error_at(err, path, conf_rows_line(rows), 1);
            break;
        }
    }
    conf_rows_close(rows);
    return status;
}

static enum kvsim_status each_row(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, check_row *check,
                                  struct kvsim_error *err)
{
    return each_row_into(path, arena, out, check, NULL, err);
}

/* ---- printed pools ---- */

/* Bytes that the printed memory may stand for. */
static void available_range(const struct row *row, double *low, double *high)
{
    double printed = real_of(row, "kv_available_gib");
    // SGLang prints K and V apart: a sum of figures is known the less well.
    double half = printed_half * (has(row, "sum_of") ? real_of(row, "sum_of") : 1);
    *low = (printed - half) * gib;
    *high = (printed + half) * gib;
    if (has(row, "kv_available_bytes"))
        *low = *high = real_of(row, "kv_available_bytes");
}

/* max_model_len as the row's settings have it; NaN where they do not. */
static double longest_of(const struct row *row)
{
    for (size_t i = 0; i < row->count; i++) {
        if (strcmp(row->at[i].key, "engine.max_model_len") == 0)
            return strtod(row->at[i].value, NULL);
    }
    return (double)NAN;
}

/* The number of blocks whose printed tokens are these, or 0. */
static double blocks_of_tokens(const struct row *row, const struct kv_waterfall *probe,
                               double tokens)
{
    double per_table = tokens / probe->pages.block_tokens * probe->pages.table_count;
    struct kv_waterfall at;
    // The count is one of few around the quotient: floor by tables, or floor of a concurrency.
    double first = ceil(per_table) - 2;
    for (double blocks = first < 1 ? 1 : first; blocks <= per_table + probe->pages.table_count + 2;
         blocks++) {
        if (size_with_blocks(row, blocks, &at) && (double)at.kv_pool_tokens == tokens)
            return blocks;
    }
    // Tokens by concurrency: blocks = tokens * blocks of a longest sequence / its length.
    double by_length = tokens * (double)probe->sequence_blocks / longest_of(row);
    for (double blocks = floor(by_length) - 1; isfinite(by_length) && blocks <= by_length + 2;
         blocks++) {
        if (size_with_blocks(row, blocks, &at) && (double)at.kv_pool_tokens == tokens)
            return blocks;
    }
    return 0;
}

// The engine counts whole blocks; the printed memory is rounded: the printed count must lie within what it stands for.
static bool blocks_fit_memory(const struct row *row, double blocks)
{
    double low, high;
    struct kv_waterfall least, most;
    if (!has(row, "kv_available_gib") && !has(row, "kv_available_bytes"))
        return true;
    available_range(row, &low, &high);
    return size_with_bytes(row, low, &least) && size_with_bytes(row, high, &most) &&
           (double)least.kv_pool_blocks <= blocks && blocks <= (double)most.kv_pool_blocks;
}

// Blocks that do not fill a round of all tables are in no token count.
static bool some_blocks_fit_memory(const struct row *row, const struct kv_waterfall *probe,
                                   double blocks)
{
    for (uint32_t extra = 0; extra < probe->pages.table_count; extra++) {
        if (blocks_fit_memory(row, blocks + extra))
            return true;
    }
    return false;
}

static void check_cells(struct row *row, struct record_validation_cases *out)
{
    struct kv_waterfall waterfall;
    struct kvsim_error err;
    double printed = real_of(row, "cells_mib"), cells = real_of(row, "cells");
    bool agrees = false;
    double nearest = 0;
    set(row, "hardware", "h200-sxm");
    set(row, "engine.memory.weights", "1GiB");
    if (size_of(row, NULL, NULL, &waterfall, &err)) {
        for (size_t i = 0; i < waterfall.cells.group_count && !agrees; i++) {
            const struct kv_cells_group *group = &waterfall.cells.groups[i];
            double size = (double)group->bytes / mib;
            agrees = (double)group->cells == cells && fabs(size - printed) <= printed_half;
            nearest = agrees || nearest == 0 ? size : nearest;
        }
    }
    add_case(row, out, "MiB of cells", nearest, printed, agrees);
}

static void check_concurrency(const struct row *row, double blocks,
                              struct record_validation_cases *out)
{
    struct kv_waterfall at;
    if (!has(row, "max_concurrency"))
        return;
    double printed = real_of(row, "max_concurrency"), figure = 0;
    bool agrees = false;
    // Blocks that do not fill a round of all tables are in no token count: each remainder is possible.
    for (double extra = 0; extra < 32 && !agrees; extra++) {
        if (!size_with_blocks(row, blocks + extra, &at))
            break;
        figure = at.max_concurrency;
        agrees = fabs(figure - printed) <= half_of(row, "max_concurrency");
        if (extra + 1 >= at.pages.table_count)
            break;
    }
    add_case(row, out, "max_concurrency", figure, printed, agrees);
}

static void check_swap(const struct row *row, struct record_validation_cases *out)
{
    struct kv_waterfall at;
    if (!has(row, "swap_blocks") || !size_with_blocks(row, 1000, &at))
        return;
    double printed = real_of(row, "swap_blocks");
    add_case(row, out, "swap_blocks", (double)at.swap_blocks, printed,
             (double)at.swap_blocks == printed);
}

/* A log that prints the memory and the concurrency, but neither blocks nor tokens. */
static void check_concurrency_of_memory(const struct row *row, struct record_validation_cases *out)
{
    struct kv_waterfall least, most;
    double low, high, printed = real_of(row, "max_concurrency"),
                      half = half_of(row, "max_concurrency");
    available_range(row, &low, &high);
    if (!size_with_bytes(row, low, &least) || !size_with_bytes(row, high, &most))
        return;
    add_case(row, out, "max_concurrency", (least.max_concurrency + most.max_concurrency) / 2,
             printed,
             least.max_concurrency - half <= printed && printed <= most.max_concurrency + half);
}

static enum kvsim_status check_printed(struct row *row, struct record_validation_cases *out,
                                       struct kvsim_error *err)
{
    struct kv_waterfall probe;
    if (has(row, "cells_mib")) {
        check_cells(row, out);
        return KVSIM_OK;
    }
    if (!size_of(row, "engine.num_gpu_blocks_override", "1000", &probe, err))
        return err->status;
    check_swap(row, out);
    double blocks = real_of(row, "kv_pool_blocks");
    if (has(row, "kv_pool_blocks")) {
        add_case(row, out, "kv_pool_blocks", blocks, blocks, blocks_fit_memory(row, blocks));
    } else if (has(row, "kv_pool_tokens")) {
        double tokens = real_of(row, "kv_pool_tokens");
        blocks = blocks_of_tokens(row, &probe, tokens);
        add_case(row, out, "kv_pool_tokens", blocks > 0 ? tokens : 0, tokens,
                 blocks > 0 && some_blocks_fit_memory(row, &probe, blocks));
    }
    if (blocks > 0)
        check_concurrency(row, blocks, out);
    else if (has(row, "kv_available_gib") && has(row, "max_concurrency") &&
             !has(row, "kv_pool_tokens"))
        check_concurrency_of_memory(row, out);
    return KVSIM_OK;
}

enum kvsim_status calib_kv_logs_printed(const char *path, struct base_arena *arena,
                                        struct record_validation_cases *out,
                                        struct kvsim_error *err)
{
    return each_row(path, arena, out, check_printed, err);
}

/* ---- verdicts ---- */

static enum kvsim_status check_verdict(struct row *row, struct record_validation_cases *out,
                                       struct kvsim_error *err)
{
    struct kv_waterfall at;
    bool known = false;
    (void)err;
    // Without a max_model_len nobody can say what had to fit.
    if (has(row, "cells_mib") || !isfinite(longest_of(row)))
        return KVSIM_OK;
    if (has(row, "kv_pool_blocks"))
        known = size_with_blocks(row, real_of(row, "kv_pool_blocks"), &at);
    else if (has(row, "kv_available_gib"))
        known = size_with_bytes(row, real_of(row, "kv_available_gib") * gib, &at);
    if (!known)
        return KVSIM_OK;
    bool started = strcmp(text_of(row, "outcome"), "refused") != 0;
    add_case(row, out, started ? "started" : "refused", at.starts ? 1 : 0, started ? 1 : 0,
             at.starts == started);
    if (has(row, "kv_needed_gib") && !started) {
        double needed = (double)at.refusal.needed_bytes / gib,
               printed = real_of(row, "kv_needed_gib");
        add_case(row, out, "kv_needed_gib", needed, printed,
                 fabs(needed - printed) <= half_of(row, "kv_needed_gib"));
    }
    if (has(row, "estimated_max_model_len") && !started) {
        // Follows from the printed memory, which is rounded: within its precision.
        double printed = real_of(row, "estimated_max_model_len");
        double slack = printed * printed_half / real_of(row, "kv_available_gib");
        double longest = (double)at.refusal.estimated_max_model_len;
        add_case(row, out, "estimated_max_model_len", longest, printed,
                 fabs(longest - printed) <= slack + at.pages.block_tokens);
    }
    return KVSIM_OK;
}

enum kvsim_status calib_kv_logs_verdicts(const char *path, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err)
{
    return each_row(path, arena, out, check_verdict, err);
}

/* ---- predicted pools ---- */

static double measured_bytes(const struct row *row, const struct kv_waterfall *at)
{
    if (has(row, "kv_available_gib"))
        return real_of(row, "kv_available_gib") * gib;
    double block_bytes = (double)at->pages.block_bytes_per_gpu;
    if (has(row, "kv_pool_blocks"))
        return real_of(row, "kv_pool_blocks") * block_bytes;
    return real_of(row, "kv_pool_tokens") / at->pages.block_tokens * block_bytes;
}

/* The card by name, with the memory that the log states in place of the part's usual one. A name in braces is no part that
 * kvsim has a file of. */
static void set_hardware(struct row *row)
{
    const char *part = text_of(row, "hardware");
    if (has(row, "memory_gib") && part[0] == '{')
        part = base_arena_printf(row->arena, "{name: %.*s, memory: %s GiB}",
                                 (int)strcspn(part + 1, "}"), part + 1, text_of(row, "memory_gib"));
    else if (has(row, "memory_gib"))
        part = base_arena_printf(row->arena, "{base: %s, memory: %s GiB}", part,
                                 text_of(row, "memory_gib"));
    set(row, "hardware", part);
}

static enum kvsim_status check_predicted(struct row *row, struct record_validation_cases *out,
                                         struct kvsim_error *err)
{
    struct kv_waterfall at;
    set_hardware(row);
    if (!size_of(row, NULL, NULL, &at, err))
        return err->status;
    double measured = measured_bytes(row, &at);
    // A refused start may have had less than nothing left: no relative error, but a verdict (check_start).
    if (measured > 0)
        add_case(row, out, "kv_available_bytes_per_gpu", (double)at.kv_available_bytes_per_gpu,
                 measured, true);
    return KVSIM_OK;
}

static enum kvsim_status check_start(struct row *row, struct record_validation_cases *out,
                                     struct kvsim_error *err)
{
    struct kv_waterfall at;
    set_hardware(row);
    if (!size_of(row, NULL, NULL, &at, err))
        return err->status;
    bool started = strcmp(text_of(row, "outcome"), "refused") != 0;
    add_case(row, out, started ? "started" : "refused", at.starts ? 1 : 0, started ? 1 : 0,
             at.starts == started);
    return KVSIM_OK;
}

enum kvsim_status calib_kv_logs_starts(const char *path, struct base_arena *arena,
                                       struct record_validation_cases *out, struct kvsim_error *err)
{
    return each_row(path, arena, out, check_start, err);
}

static enum kvsim_status check_weights(struct row *row, struct record_validation_cases *out,
                                       struct kvsim_error *err)
{
    struct kv_waterfall at;
    if (!has(row, "weights_gib"))
        return KVSIM_OK;
    set_hardware(row);
    if (!size_of(row, NULL, NULL, &at, err))
        return err->status;
    double weights = (double)at.weights_bytes / at.layout.gpu_count;
    add_case(row, out, "weights_bytes_per_gpu", weights, real_of(row, "weights_gib") * gib, true);
    return KVSIM_OK;
}

enum kvsim_status calib_kv_logs_weights(const char *path, struct base_arena *arena,
                                        struct record_validation_cases *out,
                                        struct kvsim_error *err)
{
    return each_row(path, arena, out, check_weights, err);
}

static enum kvsim_status check_modelled(struct row *row, struct record_validation_cases *out,
                                        struct kvsim_error *err)
{
    return has(row, "left_out") ? KVSIM_OK : check_predicted(row, out, err);
}

enum kvsim_status calib_kv_logs_modelled(const char *path, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err)
{
    return each_row(path, arena, out, check_modelled, err);
}

enum kvsim_status calib_kv_logs_predicted(const char *path, struct base_arena *arena,
                                          struct record_validation_cases *out,
                                          struct kvsim_error *err)
{
    return each_row(path, arena, out, check_predicted, err);
}

/* ---- with a family left out ---- */

/* How the memory for KV falls with a part: by one, by the fraction, or not at all. */
static bool slope_of(const struct row *row, const char *key, int64_t bytes, double available,
                     double *out, struct kvsim_error *err)
{
    const int64_t step = 1 << 30;
    struct kv_waterfall at;
    const char *value = base_arena_printf(row->arena, "%lld", (long long)(bytes + step));
    bool ok = size_of(row, key, value, &at, err);
    *out = ok ? ((double)at.kv_available_bytes_per_gpu - available) / (double)step : 0;
    return ok;
}

static enum kvsim_status check_left_out(struct row *row, struct record_validation_cases *out,
                                        struct kvsim_error *err)
{
    struct kv_waterfall at;
    if (has(row, "left_out"))
        return KVSIM_OK;
    set_hardware(row);
    if (!size_of(row, NULL, NULL, &at, err))
        return err->status;
    struct calib_kv_point point = {
        .family = text_of(row, "family"),
        .profile = text_of(row, "profile"),
        .measured = measured_bytes(row, &at),
        .available = (double)at.kv_available_bytes_per_gpu,
        .runtime = at.runtime,
    };
    if (!slope_of(row, "engine.memory.activation", at.runtime.activation_bytes, point.available,
                  &point.activation_slope, err) ||
        !slope_of(row, "engine.memory.non_torch", at.runtime.non_torch_bytes, point.available,
                  &point.non_torch_slope, err))
        return err->status;
    base_vec_push(row->points, point);
    add_case(row, out, "kv_available_bytes_per_gpu", point.available, point.measured, true);
    return KVSIM_OK;
}

enum kvsim_status calib_kv_logs_left_out(const char *path, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err)
{
    struct points points = {0};
    size_t first = out->count;
    enum kvsim_status status = each_row_into(path, arena, out, check_left_out, &points, err);
    if (status == KVSIM_OK)
        calib_kv_leave_families_out(points.at, points.count);
    for (size_t i = 0; status == KVSIM_OK && i < points.count; i++) {
        struct record_validation_case *item = &out->at[first + i];
        item->predicted = points.at[i].left_out;
        item->error = item->predicted / item->measured - 1;
    }
    base_vec_free(&points);
    return status;
}
