/*
 * queue_plan.h - plans of small queues with fixed step times, for the tests of plans.
 */
#ifndef KVSIM_TESTS_STUDY_QUEUE_PLAN_H
#define KVSIM_TESTS_STUDY_QUEUE_PLAN_H

#include "support/scratch.h"
#include "support/unit.h"

#include "study/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Four seats, geometric answers of 200 steps of 10 ms: M/M/4, which carries about 1 request a second. */
static const char head[] =
    "name: queue\n"
    "model: llama-3.1-8b\n"
    "engine: {profile: vllm-0.19, max_model_len: 8192, num_gpu_blocks_override: 4000, "
    "max_num_seqs: 4, async_scheduling: false}\n"
    "cost: {level: fixed, step: 10ms}\n";
static const char seats[] = "  prompt_tokens: 1\n"
                            "  output_tokens: {distribution: geometric, mean: 200}\n";

static struct record_plan plan;
static struct kvsim_diags diags;
static struct kvsim_error err;

/* A scenario of such arrivals, and the plan of it. */
static inline enum kvsim_status make(const char *arrival, const char *rest,
                                     struct study_plan_request *request)
{
    char text[2000];
    snprintf(text, sizeof text, "%sworkload:\n  arrival: %s\n%s%s", head, arrival, seats, rest);
    scratch_enter();
    scratch_write("queue.yaml", text, strlen(text));
    diags = (struct kvsim_diags){0};
    record_plan_init(&plan);
    request->path = "queue.yaml";
    enum kvsim_status status = study_plan(request, &plan, &diags, &err);
    scratch_leave();
    return status;
}

static inline struct study_plan_request usual(void)
{
    return (struct study_plan_request){.jobs = 1,
                                       .confidence = 0.95,
                                       .half_width = 0.2,
                                       .demand = (double)NAN,
                                       .demand_text = "that"};
}

static inline void must_make(const char *arrival, const char *rest,
                             struct study_plan_request *request)
{
    enum kvsim_status status = make(arrival, rest, request);
    ck_assert_msg(status == KVSIM_OK, "%s", err.message);
}

static const char poisson[] = "{process: poisson, rate: 0.5/s}";
static const char targets[] = "run: {requests: 120, replications: 3, seed: 1}\n"
                              "slo: [\"queue mean <= 200 ms\"]\n";

static inline const struct record_candidate *best(void)
{
    return &plan.candidates[0];
}

#endif
