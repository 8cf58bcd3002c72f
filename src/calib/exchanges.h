/*
 * exchanges.h - the group of `kvsim validate` that compares the exchange of tokens between the GPUs that hold experts.
 *
 * A row has `hardware, model, quantization, ranks, phase, tokens, ms, source, note`: what one layer takes to send the tokens
 * of every rank (`tokens` on each) to their experts' GPUs and the results back, without the experts themselves.
 */
#ifndef KVSIM_CALIB_EXCHANGES_H
#define KVSIM_CALIB_EXCHANGES_H

#include "calib/validate.h"

enum kvsim_status calib_exchanges(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err);

#endif
