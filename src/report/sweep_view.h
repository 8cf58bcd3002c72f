/*
 * sweep_view.h - what the pages of a sweep share: its axes as lists of values, lines through the grid, the Pareto set.
 *
 * Private to report. Lists hold pointers into the sweep and are given back with base_vec_free().
 */
#ifndef KVSIM_REPORT_SWEEP_VIEW_H
#define KVSIM_REPORT_SWEEP_VIEW_H

#include "base/text.h"
#include "record/sweep.h"

#include <stdbool.h>
#include <stddef.h>

struct report_points {
    const struct record_point **at;
    size_t count, capacity;
};

/* Two axes or more, in every combination. */
bool report_sweep_is_map(const struct record_sweep *sweep);
size_t report_sweep_count(const struct record_sweep *sweep, enum record_point_status status);

/* The distinct values of an axis, as the first point that has each. */
void report_sweep_values(const struct record_sweep *sweep, size_t axis, struct report_points *out);
/* Every combination of the axes from the third on, as the first point that has it. */
void report_sweep_rests(const struct record_sweep *sweep, struct report_points *out);
/* The point at these values; NULL when it isn't there. `rest` gives the axes from the third on. */
const struct record_point *report_sweep_find(const struct record_sweep *sweep,
                                             const struct record_point *row,
                                             const struct record_point *column,
                                             const struct record_point *rest);

/* "concurrency 16, context 8k"; the values alone: "16, 8k". */
void report_sweep_add_place(struct base_text *text, const struct record_sweep *sweep,
                            const struct record_point *point, size_t first_axis);
void report_sweep_add_values(struct base_text *text, const struct record_sweep *sweep,
                             const struct record_point *point, size_t first_axis);

/* The value on the first axis as a number, whatever its unit; NaN for a name. */
double report_sweep_number(const struct record_point *point);
/* Whether the first axis has numbers alone, so that "up to" means something along it. */
bool report_sweep_is_ordered(const struct record_sweep *sweep);

/* The points that differ from `first` on the first axis alone, in its order. */
void report_sweep_line(const struct record_sweep *sweep, const struct record_point *first,
                       struct report_points *out);
/* How many points from the beginning of a line hold. */
size_t report_sweep_holding(const struct report_points *line,
                            bool (*holds)(const struct record_point *point));
bool report_point_starts(const struct record_point *point);
bool report_point_meets_slo(const struct record_point *point);
/* Nobody is thrown out for want of blocks, and the head of the queue does not mostly wait for them. */
bool report_point_kv_holds(const struct record_point *point);

/* What the first point of a line beyond its targets says, `met` being how many meet them: "64: an SLO is missed, …". */
void report_sweep_describe_end(const struct record_sweep *sweep, const struct report_points *line,
                               size_t met, char *text, size_t bytes);

/* The points of report_sweep_is_pareto() by output per GPU and per user, the fastest per user first. */
void report_sweep_pareto_set(const struct record_sweep *sweep, struct report_points *out);

#endif
