/*
 * calibrate.h - measured tables to a calibration of one device, with its errors: what `kvsim calibrate` does.
 *
 * Kernels, layers and steps are fitted together; a server's requests afterwards, by simulating the run, for the host's
 * coefficients alone. What the rows cannot determine is named and left at the datasheet's value.
 */
#ifndef KVSIM_CALIB_CALIBRATE_H
#define KVSIM_CALIB_CALIBRATE_H

#include "calib/errors.h"
#include "calib/measure.h"
#include "spec/calibration.h"

struct calib_request {
    const char *hardware;     /* name or path of the device to calibrate */
    const char *const *files; /* tables of times, or a server's requests */
    size_t file_count;
    const char *scenario; /* that a file of requests was measured under; NULL */
    double first_share;   /* of a run's requests that are fitted, the rest is scored; 1 = all */
};

enum { CALIB_FOLDS = 5, CALIB_GROUPS_MAX = 2 * CALIB_KIND_COUNT + 4 };

/* Errors of one kind of rows in one phase: before, fitted, and predicted from the other folds. */
struct calib_group_errors {
    char name[48];
    struct calib_errors before, fitted, crossed;
};

struct calib_coefficient {
    const char *name;
    enum spec_coefficient_unit unit;
    double before, value, spread; /* spread of the logarithm */
    bool is_determined;
};

struct calib_result {
    struct base_arena arena;
    const char *hardware, *base; /* as asked for, and the name that the file is based on */
    struct spec_calibration calibration;
    size_t coefficient_count;
    struct calib_coefficient coefficients[SPEC_COEFFICIENT_COUNT];
    size_t group_count;
    struct calib_group_errors groups[CALIB_GROUPS_MAX];
    /* rows of each model from a fit to the others; count 0: one model */
    struct calib_errors by_model;
    size_t row_count, time_count; /* rows of files, or requests, that were fitted; their times */
    size_t other_count, untimed_count, outlier_count;
    const char *unsized; /* GPUs whose all-reduce is not fitted for want of sizes: "2, 4"; "" */
    size_t bound_count, bound_broken_count; /* rows of own kernels; of those, beyond the fit */
    size_t kernel_count;
    double kernel_ratio; /* median of measured times of kernels over those of the device's file */
    bool is_doubtful;    /* the ratio is far from 1: another device, clocks or software? */
    double noise;
    const char *condition;     /* of the machine, where a file says it */
    enum cost_kernels kernels; /* of the software that was measured */
    size_t file_count;
    const char **file_names; /* without folders */
    const char *worst;       /* "FILE:LINE", of all fitted rows */
};

/*
 * KVSIM_ERR_SCENARIO when the rows make no sense: too few, none of this device, times far from any that the device can
 * reach, or a fit that leaves half of them more than 50 % off. `out` is initialized here and freed by the caller, also
 * after a failure.
 */
enum kvsim_status calib_calibrate(const struct calib_request *request, struct calib_result *out,
                                  struct kvsim_error *err) KVSIM_MUST_CHECK;
void calib_result_free(struct calib_result *result);

/* The result as a hardware file: {base: NAME, calibration: ...}. */
struct base_text;
void calib_result_print(const struct calib_result *result, struct base_text *out);

/*
 * The fit alone: what the rows that are not left out determine (is_left_out NULL: all rows), for a device by name or path.
 */
enum kvsim_status calib_fit_rows(const char *hardware, const struct calib_measurements *table,
                                 const bool *is_left_out, struct spec_calibration *out,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;

/* True when a device name of a table (a100_sxm, RTXPRO6000) is the device of that name or alias. */
bool calib_device_is(const char *text, const char *name, const char *aliases);

#endif
