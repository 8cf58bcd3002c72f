/*
 * fields.h - the values of `cost.level` and `cost.kernels`, for the tables of scenario and catalog.
 */
#ifndef KVSIM_COST_FIELDS_H
#define KVSIM_COST_FIELDS_H

#include "base/field.h"

extern const struct base_choice cost_level_choices[];
extern const struct base_choice cost_kernels_choices[];

#endif
