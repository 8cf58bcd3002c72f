/*
 * queue.h - the waiting queue: first come first served, or by (priority, arrival, order of arrival).
 *
 * Preempted sequences go to the front (fcfs) or to their place (priority). Sequences that a pass skipped go back to the
 * front in reverse order (fcfs; what vLLM 0.10 does) or to their place. fcfs: all O(1); priority: O(log n).
 */
#ifndef KVSIM_SCHED_QUEUE_H
#define KVSIM_SCHED_QUEUE_H

#include "sched/options.h"
#include "sched/seq.h"

struct sched_queue {
    enum sched_order order;
    struct sched_list list; /* fcfs */
    struct sched_seqs heap; /* priority */
};

void sched_queue_release(struct sched_queue *queue);
size_t sched_queue_count(const struct sched_queue *queue);
struct sched_seq *sched_queue_head(const struct sched_queue *queue); /* NULL when empty */
void sched_queue_add(struct sched_queue *queue, struct sched_seq *seq);
void sched_queue_put_back(struct sched_queue *queue, struct sched_seq *seq);
void sched_queue_remove(struct sched_queue *queue, struct sched_seq *seq);

/* True when `a` is served before `b` under priority scheduling; a total order. */
static inline bool sched_seq_is_more_urgent(const struct sched_seq *a, const struct sched_seq *b)
{
    if (a->priority != b->priority) {
        return a->priority < b->priority;
    }
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns < b->arrival_ns : a->index < b->index;
}

#endif
