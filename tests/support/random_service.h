/*
 * random_service.h - random services under the workload's own sources: every process, classes, clients that give up,
 * replicas and routers, tight pools and budgets, every cost level. A function of the seed alone.
 */
#ifndef KVSIM_TESTS_SUPPORT_RANDOM_SERVICE_H
#define KVSIM_TESTS_SUPPORT_RANDOM_SERVICE_H

#include "support/service.h"

struct random_service {
    struct service service;
    struct workload_stage stages[2];
    struct workload_mmpp_state states[2];
    struct spec_slo slo;
    struct workload_shared shared;
    struct workload_sessions sessions;
    struct spec_model windowed; /* the cost model's, where its layers see the last tokens only */
    char class_names[3][8];
};

/* Pointers lead into it: it must not be moved. */
void random_service_init(struct random_service *random, uint64_t seed);
/* The same under vLLM V0: several answers as groups, swapping and recomputation, whole prompts or chunks. */
void random_service_init_v0(struct random_service *random, uint64_t seed);
/* Beam searches as loops of requests, under any scheduler. */
void random_service_init_search(struct random_service *random, uint64_t seed);
void random_service_release(struct random_service *random);

#endif
