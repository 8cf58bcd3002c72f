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
#include "record/validation.h"

#include <stdbool.h>
#include <stddef.h>

/* Errors that a group may have, as shares; 0 = not bounded. */
struct calib_bounds {
    double median, p90, worst;
    double disagreeing;             /* share of cases that may not agree, of exact groups */
    double mean, bias;              /* of absolute and of signed errors */
    double device_mean, phase_bias; /* no device's mean, no phase's bias above */
    double tau;                     /* least Kendall's tau of predicted and measured */
};

struct calib_group {
    const char *name, *summary;
    /* of the cost model: "datasheet"; "calibrated": cases that were not fitted; NULL: no times */
    const char *level;
    const char *basis; /* what of the cases went into what predicts them */
    bool is_exact;     /* counted as agreeing or not, instead of by error */
    struct calib_bounds bounds;
    const char *file; /* below the validation folder */
    /* Appends the group's cases; texts in `arena`. KVSIM_ERR_IO or KVSIM_ERR_SCENARIO when the file cannot be read. */
    enum kvsim_status (*run)(const char *path, struct base_arena *arena,
                             struct record_validation_cases *out, struct kvsim_error *err);
};
extern const struct calib_group calib_groups[]; /* ended by name NULL */

/* Runs a group on the files of `folder`. The caller frees the result in any case. */
enum kvsim_status calib_group_run(const struct calib_group *group, const char *folder,
                                  struct base_arena *arena, struct record_validation_group *out,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
