/*
 * result_compare.h - two results of the same replication, every number of them; and the identities
 * that hold in any run.
 */
#ifndef KVSIM_TESTS_SUPPORT_RESULT_COMPARE_H
#define KVSIM_TESTS_SUPPORT_RESULT_COMPARE_H

#include "serve/config.h"
#include "serve/result.h"

/* The first difference as text, or "" when the results are the same. */
void result_compare(const struct serve_result *a, const struct serve_result *b, char *difference,
                    size_t bytes);

/*
 * Conservation in a run, as integers: requests by outcome, class and replica; time by limit and
 * bound; Little's law. With clients that give up the engine learns of it later, so the integrals of
 * its lists are only bounds. The first identity that is broken as text, or "".
 */
void result_check_identities(const struct serve_config *config, const struct serve_result *result,
                             char *broken, size_t bytes);

#endif
