/*
 * kv_shares.h - the group of `kvsim validate` that compares shares of KV memory: what holds tokens, by allocation policy.
 *
 * A row has `id, scenario, profile, kv_policy, kv_placement, share, source`; the scenario lies beside the file, the profile
 * and the two keys are set. The share is lower_bound / (allocated + fragmented) of the means over the measured window.
 */
#ifndef KVSIM_CALIB_KV_SHARES_H
#define KVSIM_CALIB_KV_SHARES_H

#include "calib/validate.h"

enum kvsim_status calib_kv_shares(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err);

#endif
