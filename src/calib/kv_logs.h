/*
 * kv_logs.h - figures of logged engine starts: printed pools that must be exact, pools predicted from card and model.
 */
#ifndef KVSIM_CALIB_KV_LOGS_H
#define KVSIM_CALIB_KV_LOGS_H

#include "calib/validate.h"

/* From the memory that a log prints for KV: blocks, tokens, concurrency, swap, cells, to the printed precision. */
enum kvsim_status calib_kv_logs_printed(const char *path, struct base_arena *arena,
                                        struct record_validation_cases *out,
                                        struct kvsim_error *err);
/* The same rows: did it start? */
enum kvsim_status calib_kv_logs_verdicts(const char *path, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err);
/* From card, model and flags alone: the memory that is left for KV. */
enum kvsim_status calib_kv_logs_predicted(const char *path, struct base_arena *arena,
                                          struct record_validation_cases *out,
                                          struct kvsim_error *err);
/* From card, model and flags alone: did it start? */
enum kvsim_status calib_kv_logs_starts(const char *path, struct base_arena *arena,
                                       struct record_validation_cases *out,
                                       struct kvsim_error *err);
/* The same without the rows that a rule leaves out (column `left_out`; the rules are in validation/kv-logs/README.md). */
enum kvsim_status calib_kv_logs_modelled(const char *path, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err);
/* Those rows with the constants of run-time memory fitted anew to the other families (calib/kv_left_out.h). */
enum kvsim_status calib_kv_logs_left_out(const char *path, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err);
/* The weights of one GPU, from geometry and format. */
enum kvsim_status calib_kv_logs_weights(const char *path, struct base_arena *arena,
                                        struct record_validation_cases *out,
                                        struct kvsim_error *err);

#endif
