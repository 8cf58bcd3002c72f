/*
 * catalog.h - the policies that a scenario can name, by kind.
 *
 * What stands here is what `kvsim list policies` shows. Everything is constant.
 */
#ifndef KVSIM_CATALOG_CATALOG_H
#define KVSIM_CATALOG_CATALOG_H

#include "base/field.h"
#include "base/policy.h"

/* Policies of one kind: those with the common head, or those that are a value of a key. */
struct catalog_kind {
    const char *name;                          /* "arrival"; NULL ends the table */
    const char *key;                           /* where a scenario says it */
    const struct base_policy *const *policies; /* NULL-ended; or NULL, then: */
    const struct base_choice *choices;
};

extern const struct catalog_kind catalog_kinds[];

/* Values of cluster.router, in the order of enum serve_router; ended by a name of NULL. */
extern const struct base_choice catalog_routers[];

struct sched_ops;
/* The scheduler of an engine profile's `scheduler`, or NULL when it is not simulated. */
const struct sched_ops *catalog_scheduler(const char *name);
/* One that is not simulated and admits a request by all the memory that it will have grown to. */
bool catalog_admits_by_end(const char *name);

#endif
