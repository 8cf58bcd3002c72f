/*
 * made_validation.h - a validation made by hand: one group, one case that was fitted and one that was not.
 */
#ifndef KVSIM_TESTS_SUPPORT_MADE_VALIDATION_H
#define KVSIM_TESTS_SUPPORT_MADE_VALIDATION_H

#include "record/validation.h"

/* The group's mean error is 0.1, and may be `bound`. */
void made_validation_init(struct record_validation *validation, double bound);

#endif
