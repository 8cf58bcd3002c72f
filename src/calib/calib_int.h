/*
 * calib_int.h - what the files of this room share of one calibration: its rows, its parameters, and whether they make sense.
 *
 * The arrays have one entry for each row of the table. Ownership: calibrate.c makes and frees a work.
 */
#ifndef KVSIM_CALIB_CALIB_INT_H
#define KVSIM_CALIB_CALIB_INT_H

#include "calib/calibrate.h"
#include "calib/fit.h"
#include "calib/model.h"

enum {
    COLLECTIVE_TERMS = 4,
    PARAMETERS_MAX = SPEC_COEFFICIENT_COUNT + COLLECTIVE_TERMS * SPEC_COLLECTIVES_MAX
};

/* The rows that a fit works on, and what its parameters are. */
struct calib_work {
    struct calib_model model;
    const struct calib_measurements *table;
    size_t coefficient_count;
    enum spec_coefficient coefficients[SPEC_COEFFICIENT_COUNT];
    size_t collective_count;
    uint32_t collective_gpus[SPEC_COLLECTIVES_MAX];
    size_t parameter_count;
    struct calib_parameter parameters[PARAMETERS_MAX];
    double *measured, *predicted, *before, *fitted,
        *crossed; /* s; `before`: at the datasheet level */
    bool *is_left_out, *is_bound;
    size_t bound_count;
};

/* groups.c: the errors of each kind of rows in each phase, and of all of them. */
void calib_add_groups(const struct calib_work *work, struct calib_result *result);

/*
 * sense.c: KVSIM_ERR_SCENARIO for rows that are no measurements of this device in ms: none or too few, all of the same
 * sizes, beyond what it can run, far slower or faster than it is, in two units, or without order. `before` must be filled;
 * the result gets what is doubtful.
 */
enum kvsim_status calib_check_rows(const struct calib_work *work, struct calib_result *result,
                                   struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The same for times of one kind against those that the device takes at least: host and queues only add to it. */
enum kvsim_status calib_check_scale(const double *measured, const double *least, size_t count,
                                    const char *what, struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
