/*
 * service.h - a service made by hand, without a scenario: a config that tests then change to what
 * they are about.
 *
 * The config points into the service; a service must not be copied or moved.
 */
#ifndef KVSIM_TESTS_SUPPORT_SERVICE_H
#define KVSIM_TESTS_SUPPORT_SERVICE_H

#include "serve/config.h"

struct service {
    struct serve_config config;
    struct cost_options cost;
    struct base_arena arena; /* tables of distributions */
};

/* One replica with room for everybody, blocks of 16 tokens of one byte, one step a millisecond, one
 * replication. */
void service_init(struct service *service);
void service_release(struct service *service);

/* Every step takes step_ns, whatever is in it; `seats` sequences at once. */
void service_set_fixed_step(struct service *service, int64_t step_ns, int64_t seats);
/* Poisson arrivals of `requests` requests with one prompt token each. */
void service_set_poisson(struct service *service, double rate_per_s, uint64_t requests);
/* Llama-3.1-8B on one H100 at level datasheet. */
void service_set_llama_8b(struct service *service, bool is_async);
/* vLLM's two steps in flight or not. */
void service_set_async(struct service *service, bool is_async);
void service_set_pool(struct service *service, int64_t blocks, int64_t block_tokens);

struct rng_dist service_fixed(double value);
struct rng_dist service_dist(struct service *service, const struct rng_dist_options *options,
                             bool whole);

#endif
