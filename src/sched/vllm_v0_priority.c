/*
 * scheduling_policy: priority under vLLM V0 (0.6.3 and later): Scheduler._schedule_priority_preemption of v0.6.6.
 *
 * Both lists are kept in the order in which requests came to them, and sorted only in a turn that admits nobody. Then whoever
 * stands first in the queue, as it was before, throws out those that are less urgent, from the end of the running list on,
 * until it fits; it is admitted in the next turn. Equals keep their order. With chunked prefill the engine does none of this.
 *
 * Unless sched.v0.is_unsorted, both lists are in order and nobody who runs is less urgent than anybody who waits. Admitting the head
 * and putting back the last of those who run keep that, and so does anyone's leaving; an arrival ends it. So stretches are taken
 * at once as under first come, first served.
 */
#include "sched/vllm_v0_int.h"

#include "base/error.h"

static bool is_more_urgent(const struct sched_seq *a, const struct sched_seq *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a->arrival_ns < b->arrival_ns;
}

// Behind the last one before it that is not less urgent.
static void move_up(struct sched_list *list, struct sched_seq *seq)
{
    struct sched_seq *next = seq->prev;
    sched_list_remove(list, seq);
    while (next->prev != NULL && is_more_urgent(seq, next->prev)) {
        next = next->prev;
    }
    sched_list_insert_before(list, seq, next);
}

// Returns whether something moved. Equals stay in order.
static bool sort(struct sched_list *list)
{
    bool moved = false;
    for (struct sched_seq *seq = list->head, *next; seq != NULL; seq = next) {
        next = seq->next;
        if (seq->prev != NULL && is_more_urgent(seq, seq->prev)) {
            move_up(list, seq);
            moved = true;
        }
    }
    return moved;
}

void sched_v0_by_priority(struct sched *sched, struct v0_turn *turn)
{
    if (!sched->v0.is_unsorted) {
        return;
    }
    if (sort(&sched->running)) {
        sched_v0_renumber(sched);
    }
    struct sched_seq *head = sched_queue_head(&sched->waiting), *last;
    while (head != NULL && (last = sched->running.tail) != NULL && is_more_urgent(head, last) &&
           !sched_v0_fits(sched, turn, head)) {
        base_require(last->group == NULL && sched->v0.swapped.count == 0); // or the engine stops
        sched_v0_throw_out(sched, turn, last);
        sched_queue_put_back(&sched->waiting, last);
        turn->put_back++;
    }
    sort(&sched->waiting.list);
    turn->has_new_head = sched_queue_head(&sched->waiting) != head;
    sched->v0.is_unsorted = turn->has_new_head || turn->put_back > 0;
}
