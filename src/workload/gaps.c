/* Gaps drawn one by one at their own addresses, rounded to ns and added as integers. */
#include "workload/workload_int.h"

enum kvsim_status workload_gaps_init(struct workload_gaps *gaps,
                                     const struct workload_arrival_context *context,
                                     struct rng_dist_options shape, struct kvsim_error *err)
{
    enum kvsim_status status = workload_check_rate(context->spec->rate_per_s, "rate", err);

    if (status != KVSIM_OK)
        return status;
    gaps->key = rng_key(context->seed, context->replication, RNG_ARRIVAL, 0);
    shape.has_mean = true;
    shape.mean = WORKLOAD_NS_PER_S / context->spec->rate_per_s;
    return rng_dist_init(&gaps->gap_ns, &shape, false, context->arena, err);
}

enum kvsim_status workload_gaps_next(struct workload_gaps *gaps, struct workload_request *request,
                                     struct kvsim_error *err)
{
    double gap_ns = rng_dist_value(&gaps->gap_ns, rng_uniform(gaps->key, request->index));
    enum kvsim_status status = workload_add_gap(&gaps->at_ns, gap_ns, err);

    request->arrival_ns = gaps->at_ns;
    return status;
}
