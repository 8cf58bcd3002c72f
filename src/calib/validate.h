/*
 * validate.h - `kvsim validate`: every case that ships with kvsim, predicted against what real machines printed.
 *
 * A group is one row of calib_groups: what it compares, and the errors that it may have. A case is exact (the figures
 * agree to the precision they were printed with), predicted (a relative error), or a verdict (started, refused). Adding a
 * group is a row and a function; its cases lie under validation/.
 */
#ifndef KVSIM_CALIB_VALIDATE_H
#define KVSIM_CALIB_VALIDATE_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

struct calib_case {
    const char *id, *family, *source;
    const char *what; /* the figure */
    double predicted, measured;
    double error;     /* predicted / measured - 1; 0 for exact figures and verdicts that agree */
    bool agrees;      /* exact and verdict cases; true for predicted ones */
    const char *note; /* why it differs, or "" */
};

struct calib_cases {
    struct calib_case *at;
    size_t count, capacity;
};

/* Errors that a group may have, as shares; 0 = not bounded. */
struct calib_bounds {
    double median, p90, worst;
    double disagreeing; /* share of cases that may not agree */
    double mean, bias;  /* of absolute and of signed errors */
    double tau;         /* least Kendall's tau of predicted and measured */
};

struct calib_group {
    const char *name, *summary;
    const char *
        level; /* of the cost model: "datasheet"; "calibrated": cases that were not fitted; NULL: no times */
    bool is_exact; /* counted as agreeing or not, instead of by error */
    struct calib_bounds bounds;
    const char *file; /* below the validation folder */
    /* Appends the group's cases; texts in `arena`. KVSIM_ERR_IO or KVSIM_ERR_SCENARIO when the file cannot be read. */
    enum kvsim_status (*run)(const char *path, struct base_arena *arena, struct calib_cases *out,
                             struct kvsim_error *err);
};
extern const struct calib_group calib_groups[]; /* ended by name NULL */

struct calib_group_result {
    const struct calib_group *group;
    struct calib_cases cases;
    size_t agreeing;
    double median, p90, worst; /* of absolute errors; worst signed */
    double mean, bias, tau;    /* mean of absolute, of signed errors; order of the cases */
    const char *worst_id;
    bool within; /* the bounds hold */
};

/* Runs a group on the files of `folder`. The caller frees the result in any case. */
enum kvsim_status calib_group_run(const struct calib_group *group, const char *folder,
                                  struct base_arena *arena, struct calib_group_result *out,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;
void calib_group_result_free(struct calib_group_result *result);

#endif
