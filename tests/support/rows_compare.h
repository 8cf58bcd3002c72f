/*
 * rows_compare.h - two rows member by member: what lies between members is nobody's, so bytes cannot be compared.
 */
#ifndef KVSIM_TESTS_SUPPORT_ROWS_COMPARE_H
#define KVSIM_TESTS_SUPPORT_ROWS_COMPARE_H

#include "record/rows.h"

bool rows_same_request(const struct record_request *a, const struct record_request *b);
bool rows_same_sample(const struct record_sample *a, const struct record_sample *b);

#endif
