/*
 * vllm_v0_int.h - a turn of vLLM's V0 scheduler in the making, shared by its two files.
 */
#ifndef KVSIM_SCHED_VLLM_V0_INT_H
#define KVSIM_SCHED_VLLM_V0_INT_H

#include "sched/sched_int.h"

struct v0_turn {
    struct sched_plan *plan;
    int64_t budget; /* tokens that are left; decodes of whole prompts' engine may take it below 0 */
    bool someone_went;    /* to the queue or to the host */
    bool someone_is_left; /* the budget did not reach the end of the list */
};

/* With chunked prefill, after everybody has been given tokens: the running list as the engine makes it anew, by roles. */
void sched_v0_reorder(struct sched *sched, const struct v0_turn *turn);

#endif
