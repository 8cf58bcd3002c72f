/*
 * policy.h - the head that every policy begins with, so that listing, validation and manual need no special case.
 */
#ifndef KVSIM_BASE_POLICY_H
#define KVSIM_BASE_POLICY_H

#include <stddef.h>

struct base_field; /* base/field.h, for those who fill or read the table */

struct base_policy {
    const char *name;              /* the YAML value: "paged", "fcfs" */
    const char *summary;           /* one line for `kvsim list` and the manual */
    const struct base_field *opts; /* its own YAML keys; NULL when it has none */
    size_t opts_bytes;             /* size of the struct those keys fill */
    size_t state_bytes;            /* per-instance state, taken from the run's arena */
};

#endif
