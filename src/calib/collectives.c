#include "calib/collectives.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>

/* ---- which rows are all-reduces ---- */

/* One all-reduce: bytes on each GPU, and its time. */
struct point {
    double bytes, s;
};

/* False for rows of anything else. */
static bool point_of(const struct calib_work *work, const struct calib_row *row,
                     uint32_t *gpu_count, struct point *out)
{
    if (row->is_bound)
        return false;
    if (row->kind == CALIB_ALL_REDUCE) {
        *gpu_count = row->kernel.gpu_count;
        *out = (struct point){row->kernel.message_bytes, row->measured_s};
        return row->kernel.message_bytes > 0;
    }
    if (row->kind != CALIB_LAYER || row->operators != 1U << COST_OP_ALL_REDUCE)
        return false;
    const int per_layer = 2; // after attention and after the MLP
    const struct spec_model *model = work->model.engines[row->engine].config.model;
    double tokens =
        (double)(row->batch.prefill_seqs * row->batch.prefill_tokens + row->batch.decode_seqs);
    *gpu_count = (uint32_t)work->table->engines.at[row->engine].tensor_parallel;
    *out = (struct point){2 * tokens * model->hidden, row->measured_s / per_layer};
    return tokens > 0;
}

/* Two lines need three sizes at least: latency and bandwidth of one size alone are a guess. */
static bool has_sizes(const struct calib_work *work, uint32_t gpu_count)
{
    enum { SIZES = 3 };
    double seen[SIZES];
    size_t count = 0;
    for (size_t i = 0; i < work->table->rows.count && count < SIZES; i++) {
        uint32_t gpus;
        struct point point;
        bool is_new = point_of(work, &work->table->rows.at[i], &gpus, &point) && gpus == gpu_count;
        for (size_t k = 0; k < count; k++)
            is_new = is_new && seen[k] != point.bytes;
        if (is_new)
            seen[count++] = point.bytes;
    }
    return count == SIZES;
}

static bool is_noted(const struct calib_work *work, uint32_t gpu_count)
{
    bool is = false;
    for (size_t i = 0; i < work->collective_count; i++)
        is = is || work->collective_gpus[i] == gpu_count;
    return is;
}

void calib_collectives_find(struct calib_work *work)
{
    for (size_t i = 0; i < work->table->rows.count; i++) {
        uint32_t gpus;
        struct point point;
        if (!point_of(work, &work->table->rows.at[i], &gpus, &point) || gpus < 2)
            continue;
        if (!is_noted(work, gpus) && work->collective_count < SPEC_COLLECTIVES_MAX &&
            has_sizes(work, gpus))
            work->collective_gpus[work->collective_count++] = gpus;
    }
}

void calib_collectives_list_unsized(const struct calib_work *work, struct calib_result *result)
{
    enum { LIST_MAX = 1024 };
    bool *is_listed = base_alloc(LIST_MAX + 1);
    struct base_text text = {0};
    for (size_t i = 0; i < work->table->rows.count; i++) {
        uint32_t gpus;
        struct point point;
        if (!point_of(work, &work->table->rows.at[i], &gpus, &point) || gpus > LIST_MAX ||
            is_listed[gpus] || is_noted(work, gpus))
            continue;
        is_listed[gpus] = true;
        base_text_printf(&text, "%s%u", text.count == 0 ? "" : ", ", (unsigned)gpus);
    }
    result->unsized = base_arena_copy(&result->arena, text.count == 0 ? "" : text.at);
    base_text_free(&text);
    base_free(is_listed);
}

/* ---- where the search for one collective starts ---- */

struct points {
    struct point *at;
    size_t count, capacity;
};

static int by_size(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->s > y->s) - (x->s < y->s);
}

static void points_collect(const struct calib_work *work, uint32_t gpu_count, struct points *out)
{
    for (size_t i = 0; i < work->table->rows.count; i++) {
        uint32_t gpus;
        struct point point;
        if (point_of(work, &work->table->rows.at[i], &gpus, &point) && gpus == gpu_count)
            base_vec_push(out, point);
    }
    if (out->count > 0)
        qsort(out->at, out->count, sizeof *out->at, by_size);
}

/* What the tables or the link of the datasheet level say at four sizes. */
static struct spec_collective datasheet_lines(const struct calib_work *work, uint32_t gpu_count)
{
    const struct cost_rates *rates = &work->model.rates;
    const double small = 64e3, large = 256e6;
    double moved = 2.0 * (gpu_count - 1.0) / gpu_count;
    double at_none = cost_all_reduce(rates, gpu_count, 256).s,
           at_small = cost_all_reduce(rates, gpu_count, small).s;
    double at_large = cost_all_reduce(rates, gpu_count, large).s,
           at_half = cost_all_reduce(rates, gpu_count, large / 2).s;
    double bulk_rate = moved * large / 2 / fmax(at_large - at_half, 1e-9);
    double rate = fmin(moved * small / fmax(at_small - at_none, 1e-9), bulk_rate * 0.9);
    return (struct spec_collective){gpu_count, at_none, rate,
                                    fmax(at_large - moved * large / bulk_rate, 2 * at_none),
                                    bulk_rate};
}

/* The line with the least squares of relative errors through some points; false where it falls or starts below 0. */
static bool line_through(const struct point *at, size_t count, double *latency_s,
                         double *s_per_byte)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = 1 / (at[i].s * at[i].s);
        w += weight;
        wx += weight * at[i].bytes;
        wxx += weight * at[i].bytes * at[i].bytes;
        wy += weight * at[i].s;
        wxy += weight * at[i].bytes * at[i].s;
    }
    double determinant = w * wxx - wx * wx;
    if (!(determinant > 1e-9 * w * wxx))
        return false;
    *latency_s = (wy * wxx - wx * wxy) / determinant;
    *s_per_byte = (w * wxy - wx * wy) / determinant;
    return *latency_s > 0 && *s_per_byte > 0;
}

static double loss_of(const struct spec_collective *collective, const struct points *points)
{
    const double noise = 0.1;
    double loss = 0;
    for (size_t i = 0; i < points->count; i++) {
        double r = log(spec_collective_s(collective, points->at[i].bytes) / points->at[i].s);
        loss += sqrt(1 + r * r / (noise * noise));
    }
    return loss;
}

/* Small messages through one line and large ones through another, divided where that fits best. */
static struct spec_collective best_lines(const struct points *points, struct spec_collective best)
{
    enum { LEAST = 3 };
    double moved = 2.0 * (best.gpu_count - 1.0) / best.gpu_count;
    double least = loss_of(&best, points);
    for (size_t split = LEAST; split + LEAST <= points->count; split++) {
        double latency_s, slope, bulk_latency_s, bulk_slope;
        if (!line_through(points->at, split, &latency_s, &slope) ||
            !line_through(points->at + split, points->count - split, &bulk_latency_s, &bulk_slope))
            continue;
        struct spec_collective here = {best.gpu_count, latency_s, moved / slope, bulk_latency_s,
                                       moved / bulk_slope};
        double loss = loss_of(&here, points);
        if (loss < least) {
            least = loss;
            best = here;
        }
    }
    return best;
}

struct spec_collective calib_collectives_start(const struct calib_work *work, uint32_t gpu_count)
{
    struct points points = {0};
    points_collect(work, gpu_count, &points);
    struct spec_collective start = best_lines(&points, datasheet_lines(work, gpu_count));
    base_vec_free(&points);
    return start;
}
