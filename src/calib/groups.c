#include "calib/calib_int.h"

#include <stdio.h>

static void errors_of_group(const struct calib_work *work, enum calib_kind kind, bool is_decode,
                            const double *relative, struct calib_errors *out)
{
    double *some = base_alloc(base_mul_size(work->table->rows.count, sizeof *some));
    size_t count = 0;
    for (size_t i = 0; i < work->table->rows.count; i++)
        if (work->table->rows.at[i].kind == kind &&
            work->table->rows.at[i].is_decode == is_decode && !work->is_bound[i])
            some[count++] = relative[i];
    calib_errors_of(some, count, out);
    base_free(some);
}

/* Of all rows but bounds; the worst one's place is that among all rows. */
static void errors_of_all(const struct calib_work *work, const double *relative,
                          struct calib_errors *out)
{
    size_t rows = work->table->rows.count, count = 0;
    double *some = base_alloc(base_mul_size(rows + 1, sizeof *some));
    size_t *places = base_alloc(base_mul_size(rows + 1, sizeof *places));
    for (size_t i = 0; i < rows; i++) {
        if (work->is_bound[i])
            continue;
        places[count] = i;
        some[count++] = relative[i];
    }
    calib_errors_of(some, count, out);
    out->worst_index = places[out->worst_index];
    base_free(places);
    base_free(some);
}

void calib_add_groups(const struct calib_work *work, struct calib_result *result)
{
    for (int kind = 0; kind < CALIB_KIND_COUNT; kind++) {
        for (int phase = 0; phase < 2; phase++) {
            struct calib_group_errors *group = &result->groups[result->group_count];
            errors_of_group(work, (enum calib_kind)kind, phase == 0, work->before, &group->before);
            if (group->before.count == 0)
                continue;
            errors_of_group(work, (enum calib_kind)kind, phase == 0, work->fitted, &group->fitted);
            errors_of_group(work, (enum calib_kind)kind, phase == 0, work->crossed,
                            &group->crossed);
            snprintf(group->name, sizeof group->name, "%s %s",
                     calib_kind_name((enum calib_kind)kind), phase == 0 ? "decode" : "prefill");
            result->group_count++;
        }
    }
    struct calib_group_errors *all = &result->groups[result->group_count++];
    snprintf(all->name, sizeof all->name, "all");
    errors_of_all(work, work->before, &all->before);
    errors_of_all(work, work->fitted, &all->fitted);
    errors_of_all(work, work->crossed, &all->crossed);
    const struct calib_row *worst = &work->table->rows.at[all->fitted.worst_index];
    result->worst =
        base_arena_printf(&result->arena, "%s:%d", work->table->files.at[worst->file], worst->line);
}
