/*
 * moe_blocks.h - the group of `kvsim validate` that compares one block of experts, by tokens and distinct experts.
 *
 * A row has `hardware, model, tokens, experts, ms, source`: `tokens` tokens on one GPU in 16 bits, whose routers choose
 * `experts` distinct ones.
 */
#ifndef KVSIM_CALIB_MOE_BLOCKS_H
#define KVSIM_CALIB_MOE_BLOCKS_H

#include "calib/validate.h"

enum kvsim_status calib_moe_blocks(const char *path, struct base_arena *arena,
                                   struct record_validation_cases *out, struct kvsim_error *err);

#endif
