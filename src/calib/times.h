/*
 * times.h - the groups of `kvsim validate` that compare times: kernels, layers, steps.
 *
 * Their files have the columns of measure.h and a `source`, with kvsim's names in `hardware`. Where coefficients are fitted,
 * the cases are the rows that were not.
 */
#ifndef KVSIM_CALIB_TIMES_H
#define KVSIM_CALIB_TIMES_H

#include "calib/validate.h"

enum kvsim_status calib_times_kernels(const char *path, struct base_arena *arena,
                                      struct record_validation_cases *out, struct kvsim_error *err);
/* One case a row: the sum of the parts that the row has. */
enum kvsim_status calib_times_layers(const char *path, struct base_arena *arena,
                                     struct record_validation_cases *out, struct kvsim_error *err);
/* Coefficients from the rows of all other devices together, on a device without efficiencies of its own. */
enum kvsim_status calib_times_layers_left_out(const char *path, struct base_arena *arena,
                                              struct record_validation_cases *out,
                                              struct kvsim_error *err);
/* As if today's kernels had run, whatever the rows say. */
enum kvsim_status calib_times_layers_unconditional(const char *path, struct base_arena *arena,
                                                   struct record_validation_cases *out,
                                                   struct kvsim_error *err);
/* The same as layers_left_out for what layers without attention have: 16-bit products and elementwise kernels. */
enum kvsim_status calib_times_products_left_out(const char *path, struct base_arena *arena,
                                                struct record_validation_cases *out,
                                                struct kvsim_error *err);
/* Fitted to every second row of each device. */
enum kvsim_status calib_times_layers_calibrated(const char *path, struct base_arena *arena,
                                                struct record_validation_cases *out,
                                                struct kvsim_error *err);
/* Whole steps: time of the iteration. */
enum kvsim_status calib_times_steps(const char *path, struct base_arena *arena,
                                    struct record_validation_cases *out, struct kvsim_error *err);
/* Fitted to every fifth row of each device. */
enum kvsim_status calib_times_steps_calibrated(const char *path, struct base_arena *arena,
                                               struct record_validation_cases *out,
                                               struct kvsim_error *err);

#endif
