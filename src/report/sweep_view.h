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
/* The queue grows without end: its latencies grow with the run's length and are no figures of the point. */
bool report_point_grows(const struct record_point *point);
/* The run had not reached a steady state: its figures depend on where it was cut. */
bool report_point_is_unsettled(const struct record_point *point);
/* Neither of these. */
bool report_point_is_steady(const struct record_point *point);
/* The figure as a number; NaN too for a latency that grows. */
double report_point_steady(const struct record_point *point, enum record_summary column);
/* Printed to three digits; "grows" for a latency that grows. */
const char *report_point_figure(const struct record_point *point, enum record_summary column,
                                char *text, size_t bytes);
/* "slo missed, overloaded": how the point was decided and, where its run did not end as it should, how that went. */
const char *report_point_words(const struct record_point *point, char *text, size_t bytes);
/* "!" misses a target, "^" overloaded, "?" not settled; as many as hold, beside a figure in a map. */
enum { REPORT_MARKS_BYTES = 4 };
const char *report_point_marks(const struct record_point *point, char marks[REPORT_MARKS_BYTES]);

bool report_point_meets_slo(const struct record_point *point);
/* Nobody is thrown out for want of blocks, and the head of the queue does not mostly wait for them. */
bool report_point_kv_holds(const struct record_point *point);

/* What the first point of a line beyond its targets says, `met` being how many meet them: "64: an SLO is missed, …". */
void report_sweep_describe_end(const struct record_sweep *sweep, const struct report_points *line,
                               size_t met, char *text, size_t bytes);

/* How many points are so. */
size_t report_sweep_count_where(const struct record_sweep *sweep,
                                bool (*is_so)(const struct record_point *point));
/* ", 2 overloaded, 1 not settled"; nothing where all are steady. */
void report_sweep_add_unsteady(struct base_text *text, const struct record_sweep *sweep);
/* What "overloaded" and "not settled" say of a point's figures, with the marks where they are used; "" where all are steady. */
const char *report_sweep_explain_unsteady(const struct record_sweep *sweep, bool with_marks,
                                          char *text, size_t bytes);
/* "2 points that meet their targets are left out: ...": those that report_sweep_is_pareto() leaves out; "" where there are none. */
const char *report_sweep_explain_left_out(const struct record_sweep *sweep, char *text,
                                          size_t bytes);

/* The points of report_sweep_is_pareto() by output per GPU and per user, the fastest per user first. */
void report_sweep_pareto_set(const struct record_sweep *sweep, struct report_points *out);

#endif
