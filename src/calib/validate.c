#include "calib/validate.h"

#include "calib/kv_logs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const struct calib_group calib_groups[] = {
    {.name = "kv-logs-printed",
     .summary = "blocks, tokens, concurrency and cells from the KV memory that a start-up log prints",
     .is_exact = true,
     .bounds = {.disagreeing = 0.05},
     .file = "kv-logs/printed.csv",
     .run = calib_kv_logs_printed},
    {.name = "kv-logs-verdicts",
     .summary = "started or refused, from the printed memory and max_model_len",
     .is_exact = true,
     .bounds = {.disagreeing = 0},
     .file = "kv-logs/printed.csv",
     .run = calib_kv_logs_verdicts},
    {.name = "kv-logs-weights",
     .summary = "weights of one GPU, from geometry and format",
     .bounds = {.median = 0.01, .p90 = 0.10},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_weights},
    {.name = "kv-logs-predicted",
     .summary = "memory left for KV, from card, model and flags alone",
     .bounds = {.median = 0.03, .p90 = 0.25},
     .file = "kv-logs/predicted.csv",
     .run = calib_kv_logs_predicted},
    {.name = NULL},
};

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// numpy's linear rule.
static double quantile(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t low = (size_t)place;
    double next = low + 1 < count ? sorted[low + 1] : sorted[low];
    return sorted[low] + (next - sorted[low]) * (place - (double)low);
}

static void fill_errors(struct calib_group_result *result)
{
    const struct calib_cases *cases = &result->cases;
    if (cases->count == 0)
        return;
    double *errors = base_alloc(base_mul_size(cases->count, sizeof *errors));
    for (size_t i = 0; i < cases->count; i++) {
        errors[i] = fabs(cases->at[i].error);
        result->agreeing += cases->at[i].agrees ? 1 : 0;
        if (errors[i] > fabs(result->worst))
            result->worst = cases->at[i].error;
    }
    qsort(errors, cases->count, sizeof *errors, compare_reals);
    result->median = quantile(errors, cases->count, 0.5);
    result->p90 = quantile(errors, cases->count, 0.9);
    base_free(errors);
}

static bool bound_holds(double figure, double bound)
{
    return bound <= 0 || figure <= bound;
}

static bool is_within(const struct calib_group_result *result)
{
    const struct calib_bounds *bounds = &result->group->bounds;
    size_t count = result->cases.count;
    if (count == 0)
        return false;
    if (result->group->is_exact)
        return (double)(count - result->agreeing) <= bounds->disagreeing * (double)count;
    return bound_holds(result->median, bounds->median) && bound_holds(result->p90, bounds->p90) &&
           bound_holds(fabs(result->worst), bounds->worst);
}

enum kvsim_status calib_group_run(const struct calib_group *group, const char *folder,
                                  struct base_arena *arena, struct calib_group_result *out,
                                  struct kvsim_error *err)
{
    *out = (struct calib_group_result){.group = group};
    const char *path = base_arena_printf(arena, "%s/%s", folder, group->file);
    enum kvsim_status status = group->run(path, arena, &out->cases, err);
    if (status != KVSIM_OK)
        return status;
    fill_errors(out);
    out->within = is_within(out);
    return KVSIM_OK;
}

void calib_group_result_free(struct calib_group_result *result)
{
    base_vec_free(&result->cases);
}
