/*
 * arrivals.h - the arrival processes as policies: one const workload_arrival_ops each, in a file of
 * its own.
 *
 * From YAML to numbers in two steps: the table in `policy.opts` fills struct workload_arrival_opts
 * (all processes share the struct, each reads its own keys), and compile() checks it and writes its
 * part of workload_spec. A spec may also be filled by hand. init() then makes the state of one
 * replication, next() gives the arrivals in order of time.
 *
 * Times are int64 ns. Gaps are drawn at their own address (RNG_ARRIVAL, index), rounded to ns and
 * added as integers, so that no sum drifts; constant gaps are computed from the index with the rate
 * as a fraction.
 */
#ifndef KVSIM_WORKLOAD_ARRIVALS_H
#define KVSIM_WORKLOAD_ARRIVALS_H

#include "base/field.h"
#include "base/policy.h"
#include "workload/workload.h"

struct conf_node;

/* One item of `stages`. */
struct workload_stage_opts {
    double rate_per_s, rate_end_per_s; /* 0 = not stated */
    double amplitude;
    int64_t period_ns, duration_ns;
    int process; /* WORKLOAD_POISSON or WORKLOAD_DETERMINISTIC */
};

/* One item of `states`. */
struct workload_state_opts {
    double rate_per_s;
    int64_t mean_dwell_ns;
};

struct workload_arrival_opts {
    double rate_per_s;
    double burstiness;
    double cv;
    struct base_list stages; /* struct workload_stage_opts */
    struct base_list states; /* struct workload_state_opts */
    int64_t concurrency;
    /* a distribution in seconds, read by the scenario into spec->think */
    const struct conf_node *think_time;
    const char *file; /* as written; the scenario resolves it into spec->trace_path */
    double speedup;
    int64_t hash_block_tokens; /* 0 = the format's own */
};

struct workload_arrival_context {
    const struct workload_spec *spec;
    uint64_t seed;
    uint32_t replication;
    struct base_arena *arena; /* lives as long as the source */
};

struct workload_arrival_ops {
    struct base_policy policy; /* opts fill struct workload_arrival_opts */
    enum workload_process process;
    bool is_endless; /* needs request_limit or duration_ns to end */

    /* Checks the options and fills the process' own members of `spec` (process included). */
    enum kvsim_status (*compile)(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err);
    enum kvsim_status (*init)(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err);
    /* Sets arrival_ns of request `request->index`, and whatever else the process knows of it;
     * *more is true before. */
    enum kvsim_status (*next)(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err);
    /* Closed loop, else NULL: the client's next request after one that ended at `at_ns`. */
    enum kvsim_status (*done)(void *state, const struct workload_request *ended, int64_t at_ns,
                              struct workload_request *request, struct kvsim_error *err);
    void (*release)(void *state); /* NULL where the arena is enough */
};

extern const struct workload_arrival_ops workload_arrival_poisson, workload_arrival_gamma,
    workload_arrival_weibull, workload_arrival_deterministic, workload_arrival_mmpp,
    workload_arrival_profile, workload_arrival_at_once, workload_arrival_closed_loop,
    workload_arrival_trace;

/* All of them in the order of enum workload_process, ended by NULL. */
extern const struct workload_arrival_ops *const workload_arrivals[];

const struct workload_arrival_ops *
workload_arrival_find(const char *name); /* '-' reads as '_'; NULL when unknown */

#endif
