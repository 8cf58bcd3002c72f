/*
 * collectives.h - the all-reduces among a calibration's rows: which numbers of GPUs they determine, and where the search for
 * their two lines starts.
 *
 * A collective is the lesser of two lines, a protocol for small messages and one for large ones. Least squares from far off
 * ends in either line through all points; so the search starts from the division of the sizes that fits best, or from the
 * datasheet's figures where those fit better.
 */
#ifndef KVSIM_CALIB_COLLECTIVES_H
#define KVSIM_CALIB_COLLECTIVES_H

#include "calib/calib_int.h"

/* Fills collective_gpus: each number of GPUs with three sizes or more. */
void calib_collectives_find(struct calib_work *work);
/* result->unsized: numbers of GPUs that some all-reduce is among, and that no collective is fitted for. */
void calib_collectives_list_unsized(const struct calib_work *work, struct calib_result *result);
/* The model must be at the datasheet level. */
struct spec_collective calib_collectives_start(const struct calib_work *work, uint32_t gpu_count);

#endif
