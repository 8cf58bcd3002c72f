/*
 * validation.h - what `kvsim validate` found, kept for SQL.
 */
#ifndef KVSIM_STORE_VALIDATION_H
#define KVSIM_STORE_VALIDATION_H

#include "record/validation.h"
#include "store/store.h"

/*
 * Groups, parts, bounds and cases in one transaction. *validation_id: the new id, the highest one before plus 1; where the
 * last one stored has the same figures it is that one, and nothing is written. 0 on failure.
 */
enum kvsim_status store_write_validation(struct store *store,
                                         const struct record_validation *validation,
                                         const char *kvsim_version, int64_t *validation_id,
                                         struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
