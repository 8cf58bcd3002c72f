#include "calib/kv_left_out.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { LOGIT, CONTEXT, ONCE, COLLECTIVE, KIND_COUNT };

/* One value that profiles of an engine share. */
struct constant {
    enum kind kind;
    const char *engine;
    size_t engine_length;
    double base, value;
    bool is_told; /* some point that is fitted has it */
};

/* The points, and the constants that each of them follows from. */
struct fit {
    const struct calib_kv_point *points;
    size_t count;
    size_t (*constants_of)[KIND_COUNT]; /* by point */
    struct {
        struct constant *at;
        size_t count, capacity;
    } constants;
    const char *left_out; /* family */
};

static double base_of(const struct kv_runtime *runtime, enum kind kind)
{
    if (kind == LOGIT)
        return runtime->rule.logit_bytes;
    if (kind == ONCE)
        return (double)runtime->once_bytes;
    return (double)(kind == CONTEXT ? runtime->context_bytes : runtime->collective_bytes);
}

static size_t find_constant(struct fit *fit, const struct calib_kv_point *point, enum kind kind)
{
    struct constant wanted = {.kind = kind,
                              .engine = point->profile,
                              .engine_length = strcspn(point->profile, "-"),
                              .base = base_of(&point->runtime, kind)};
    for (size_t i = 0; i < fit->constants.count; i++) {
        const struct constant *at = &fit->constants.at[i];
        bool same_base = fabs(at->base - wanted.base) <= 1e-9 * wanted.base;
        if (at->kind == kind && same_base && at->engine_length == wanted.engine_length &&
            strncmp(at->engine, wanted.engine, wanted.engine_length) == 0)
            return i;
    }
    base_vec_push(&fit->constants, wanted);
    return fit->constants.count - 1;
}

static double value_of(const struct fit *fit, size_t point, enum kind kind)
{
    return fit->constants.at[fit->constants_of[point][kind]].value;
}

static double pool_of(const struct fit *fit, size_t index)
{
    const struct calib_kv_point *point = &fit->points[index];
    const struct kv_runtime *runtime = &point->runtime;
    double hidden =
        (double)runtime->sampler_bytes - runtime->logit_count * runtime->rule.logit_bytes;
    double sampler = hidden + runtime->logit_count * value_of(fit, index, LOGIT);
    double text = (double)runtime->embedding_bytes + fmax((double)runtime->layer_bytes, sampler);
    double activation = fmax((double)runtime->tower_bytes, text);
    double non_torch = value_of(fit, index, CONTEXT) + value_of(fit, index, ONCE) +
                       (double)runtime->multicast_bytes +
                       (double)runtime->further_ranks * value_of(fit, index, COLLECTIVE);
    return point->available +
           point->activation_slope * (activation - (double)runtime->activation_bytes) +
           point->non_torch_slope * (non_torch - (double)runtime->non_torch_bytes);
}

static bool is_fitted(const struct fit *fit, size_t point)
{
    return strcmp(fit->points[point].family, fit->left_out) != 0;
}

// Squares, since one constant after the other finds no least sum of amounts; a row that is far off moves no other.
static double loss(const struct fit *fit)
{
    const double most = 0.05;
    double sum = 0;
    for (size_t i = 0; i < fit->count; i++) {
        double error = is_fitted(fit, i) ? pool_of(fit, i) / fit->points[i].measured - 1 : 0;
        sum += fmin(error * error, most * most);
    }
    return sum;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle of what is told of a kind: of the values, or, before a fit, of the profiles'. */
static double usual_value(const struct fit *fit, enum kind kind, bool is_before)
{
    double *told = base_alloc(base_mul_size(fit->constants.count + 1, sizeof *told));
    size_t count = 0;
    for (size_t i = 0; i < fit->constants.count; i++) {
        const struct constant *at = &fit->constants.at[i];
        if (at->kind == kind && at->is_told && at->base > 0)
            told[count++] = is_before ? at->base : at->value;
    }
    qsort(told, count, sizeof *told, by_size);
    double middle = count == 0 ? 0 : told[count / 2];
    base_free(told);
    return middle;
}

static void find_told(struct fit *fit)
{
    for (size_t i = 0; i < fit->constants.count; i++)
        fit->constants.at[i].is_told = false;
    for (size_t i = 0; i < fit->count; i++) {
        for (int kind = 0; is_fitted(fit, i) && kind < KIND_COUNT; kind++) {
            bool has_effect = kind != COLLECTIVE || fit->points[i].runtime.further_ranks > 0;
            if (has_effect)
                fit->constants.at[fit->constants_of[i][kind]].is_told = true;
        }
    }
}

static void search(struct fit *fit, struct constant *constant)
{
    enum { STEPS = 120, STEPS_OF_BASE = 40 };
    double best = constant->value, least = loss(fit);
    for (int step = 0; step <= STEPS; step++) {
        constant->value = constant->base * step / STEPS_OF_BASE;
        double at = loss(fit);
        if (at < least) {
            least = at;
            best = constant->value;
        }
    }
    constant->value = best;
}

static void fit_without(struct fit *fit, const char *family)
{
    enum { SWEEPS = 40 };
    fit->left_out = family;
    find_told(fit);
    for (size_t i = 0; i < fit->constants.count; i++) {
        struct constant *at = &fit->constants.at[i];
        bool follows_from_shapes = at->kind == LOGIT || at->base <= 0;
        at->value = follows_from_shapes ? at->base : usual_value(fit, at->kind, true);
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t i = 0; i < fit->constants.count; i++) {
            if (fit->constants.at[i].is_told && fit->constants.at[i].base > 0)
                search(fit, &fit->constants.at[i]);
        }
    }
    for (size_t i = 0; i < fit->constants.count; i++) {
        struct constant *at = &fit->constants.at[i];
        if (!at->is_told && at->kind != LOGIT && at->base > 0)
            at->value = usual_value(fit, at->kind, false);
    }
}

void calib_kv_leave_families_out(struct calib_kv_point *points, size_t count)
{
    struct fit fit = {.points = points, .count = count};
    fit.constants_of = base_alloc(base_mul_size(count + 1, sizeof *fit.constants_of));
    for (size_t i = 0; i < count; i++) {
        for (int kind = 0; kind < KIND_COUNT; kind++)
            fit.constants_of[i][kind] = find_constant(&fit, &points[i], (enum kind)kind);
        points[i].left_out = (double)NAN;
    }
    for (size_t i = 0; i < count; i++) {
        if (!isnan(points[i].left_out))
            continue;
        fit_without(&fit, points[i].family);
        for (size_t j = i; j < count; j++) {
            if (strcmp(points[j].family, points[i].family) == 0)
                points[j].left_out = pool_of(&fit, j);
        }
    }
    base_free(fit.constants_of);
    base_vec_free(&fit.constants);
}
