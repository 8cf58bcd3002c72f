/*
 * kv_left_out.h - pools predicted with the constants of run-time memory fitted anew to the other families of models.
 *
 * A pool is available(base) + slopes * (change of activation and non-torch memory), so that no waterfall is computed again:
 *   activation = max(tower, embeddings + max(layer, hidden states + logits * bytes per logit))
 *   non-torch  = context + once + further ranks * collective + buffers of switches that multicast, as they are
 * Fitted are bytes per logit, context, once and collective of each engine; profiles of one engine that have the same value share
 * it. The fit makes the sum of squared errors, each counted to 5 %, least, over a grid from 0 to 3 times the value of the profile,
 * one constant after the other. A constant that the other families do not tell is the median of its kind over the engines'
 * releases that they do tell; bytes per logit are then the profile's, which follow from shapes of tensors.
 */
#ifndef KVSIM_CALIB_KV_LEFT_OUT_H
#define KVSIM_CALIB_KV_LEFT_OUT_H

#include "kv/runtime.h"

#include <stddef.h>

/* A logged start with what its prediction is made of. */
struct calib_kv_point {
    const char *family;         /* of the model */
    const char *profile;        /* of the engine: its name up to the first '-' is the engine */
    double measured, available; /* bytes for KV; as the profile predicts */
    double activation_slope, non_torch_slope; /* of the available bytes, by bytes of the part */
    struct kv_runtime runtime;
    double left_out; /* bytes predicted from the other families */
};

/* Fills left_out of every point. */
void calib_kv_leave_families_out(struct calib_kv_point *points, size_t count);

#endif
