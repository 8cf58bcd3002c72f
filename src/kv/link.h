/*
 * link.h - one direction of a link between two memories: first come, first served.
 *
 * A transfer takes a latency and its blocks over the bandwidth, both in whole ticks, and begins when all that was sent
 * before has ended. Invariant: busy_ticks == transfers * latency_ticks + blocks * ticks_per_block.
 */
#ifndef KVSIM_KV_LINK_H
#define KVSIM_KV_LINK_H

#include "base/i128.h"

#include <stdint.h>

struct kv_link {
    int64_t latency_ticks, ticks_per_block;
    base_i128 free_ticks; /* when all that was sent has ended */
    base_i128 busy_ticks; /* sum of the durations */
    /* sum, from when a transfer could begin to when the link was free for it */
    base_i128 wait_ticks;
    int64_t transfers, blocks;
};

static inline base_i128 kv_link_ticks(const struct kv_link *link, int64_t blocks)
{
    return link->latency_ticks + (base_i128)blocks * link->ticks_per_block;
}

/* How long a transfer that can begin at `at` waits for those before it. */
static inline base_i128 kv_link_queue_ticks(const struct kv_link *link, base_i128 at)
{
    return link->free_ticks > at ? link->free_ticks - at : 0;
}

/* A transfer that can begin at `at`; returns when it begins. It ends at free_ticks. */
static inline base_i128 kv_link_send(struct kv_link *link, base_i128 at, int64_t blocks)
{
    base_i128 wait = kv_link_queue_ticks(link, at), ticks = kv_link_ticks(link, blocks);
    link->wait_ticks += wait;
    link->busy_ticks += ticks;
    link->transfers++;
    link->blocks += blocks;
    link->free_ticks = at + wait + ticks;
    return at + wait;
}

#endif
