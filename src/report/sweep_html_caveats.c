/*
 * A caveat of a sweep's page stands once, whatever number of points has it. Points that say it in the same words share
 * these; where the words have figures of each point, the first point's stand for all.
 */
#include "report/run_html_int.h"
#include "report/sweep.h"
#include "report/sweep_html_int.h"

#include <string.h>

enum { PLACES_MAX = 8 };

struct caveat {
    const char *code, *text; /* as the first point has it */
    size_t number;           /* among the caveats of that code that a run has, from 0 */
    bool is_alike;           /* every point says it in these words */
    struct report_points points;
};

struct caveats {
    struct caveat *at;
    size_t count, capacity;
};

static struct caveat *find(const struct caveats *caveats, const char *code, size_t number)
{
    for (size_t i = 0; i < caveats->count; i++) {
        if (caveats->at[i].number == number && strcmp(caveats->at[i].code, code) == 0)
            return &caveats->at[i];
    }
    return NULL;
}

static void take(struct caveats *caveats, const struct record_point *point,
                 const struct record_run *run, size_t row)
{
    const struct record_caveat_row *own = &run->caveats.at[row];
    size_t number = 0;
    for (size_t i = 0; i < row; i++)
        number += strcmp(run->caveats.at[i].code, own->code) == 0;
    struct caveat *caveat = find(caveats, own->code, number);
    if (caveat == NULL) {
        struct caveat new = {
            .code = own->code, .text = own->text, .number = number, .is_alike = true};
        base_vec_push(caveats, new);
        caveat = &caveats->at[caveats->count - 1];
    }
    caveat->is_alike = caveat->is_alike && strcmp(caveat->text, own->text) == 0;
    base_vec_push(&caveat->points, point);
}

static void add_places(struct base_text *text, const struct report_grid *grid,
                       const struct report_points *points, size_t first)
{
    bool is_first = true, is_pair = grid->sweep->axis_count > 1;
    for (size_t i = first; i < points->count && i < first + PLACES_MAX; i++) {
        base_text_printf(text, "%s%s", is_first ? "" : ", ", is_pair ? "(" : "");
        report_sweep_add_values(text, grid->sweep, points->at[i], 0);
        base_text_add(text, is_pair ? ")" : "");
        is_first = false;
    }
    if (points->count > first + PLACES_MAX)
        base_text_printf(text, " and %zu more", points->count - first - PLACES_MAX);
}

static void add_axes(struct base_text *text, const struct record_sweep *sweep)
{
    for (size_t i = 0; i < sweep->axis_count; i++)
        base_text_printf(text, "%s%s", i == 0 ? "" : ", ", sweep->axes[i]);
}

/* "at rate 18/s, 20/s: TEXT"; "at rate 18/s: TEXT; so too, with figures of their own, 20/s, 22/s"; TEXT alone where every
 * point says it. */
static void add_caveat(struct record_run *all, const struct report_grid *grid,
                       const struct caveat *caveat, size_t run_count)
{
    struct base_text text = {0};
    bool is_everywhere = caveat->is_alike && caveat->points.count == run_count;
    struct report_points named = caveat->points;
    if (!caveat->is_alike)
        named.count = 1;
    if (!is_everywhere) {
        base_text_add(&text, "at ");
        add_axes(&text, grid->sweep);
        base_text_add(&text, " ");
        add_places(&text, grid, &named, 0);
        base_text_add(&text, ": ");
    }
    base_text_add(&text, caveat->text);
    if (!caveat->is_alike) {
        base_text_add(&text, "; so too, with figures of their own, ");
        add_places(&text, grid, &caveat->points, 1);
    }
    record_run_add_caveat(all, caveat->code, text.at);
    base_text_free(&text);
}

void report_grid_caveats(struct report_html *html, const struct report_grid *grid)
{
    struct caveats caveats = {0};
    struct record_run all;
    size_t run_count = 0;
    record_run_init(&all);
    for (size_t i = 0; grid->runs != NULL && i < grid->sweep->point_count; i++) {
        const struct record_run *run = grid->runs[i];
        run_count += run != NULL;
        for (size_t k = 0; run != NULL && k < run->caveats.count; k++)
            take(&caveats, &grid->sweep->points[i], run, k);
    }
    for (size_t i = 0; i < caveats.count; i++)
        add_caveat(&all, grid, &caveats.at[i], run_count);
    record_run_add_caveat(&all, "grid",
                          "between two points nothing was simulated; what binds can change there");
    report_html_caveats(html, &all);
    record_run_free(&all);
    for (size_t i = 0; i < caveats.count; i++)
        base_vec_free(&caveats.at[i].points);
    base_vec_free(&caveats);
}
