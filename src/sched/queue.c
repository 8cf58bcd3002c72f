#include "sched/queue.h"

#include "base/mem.h"

void sched_queue_release(struct sched_queue *queue)
{
    base_vec_free(&queue->heap);
}

size_t sched_queue_count(const struct sched_queue *queue)
{
    return queue->list.count + queue->heap.count;
}

struct sched_seq *sched_queue_head(const struct sched_queue *queue)
{
    return queue->heap.count > 0 ? queue->heap.at[0] : queue->list.head;
}

static void put(struct sched_seqs *heap, size_t index, struct sched_seq *seq)
{
    heap->at[index] = seq;
    seq->heap_index = (uint32_t)index;
}

static void sift_up(struct sched_seqs *heap, size_t index, struct sched_seq *seq)
{
    while (index > 0 && sched_seq_is_more_urgent(seq, heap->at[(index - 1) / 2])) {
        put(heap, index, heap->at[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(heap, index, seq);
}

static void sift_down(struct sched_seqs *heap, size_t index, struct sched_seq *seq)
{
    for (size_t child = 2 * index + 1; child < heap->count; child = 2 * index + 1) {
        if (child + 1 < heap->count &&
            sched_seq_is_more_urgent(heap->at[child + 1], heap->at[child])) {
            child++;
        }
        if (!sched_seq_is_more_urgent(heap->at[child], seq)) {
            break;
        }
        put(heap, index, heap->at[child]);
        index = child;
    }
    put(heap, index, seq);
}

static void heap_add(struct sched_seqs *heap, struct sched_seq *seq)
{
    base_vec_push(heap, seq);
    sift_up(heap, heap->count - 1, seq);
}

static void heap_remove(struct sched_seqs *heap, struct sched_seq *seq)
{
    size_t index = seq->heap_index;
    struct sched_seq *last = heap->at[--heap->count];
    if (index == heap->count) {
        return;
    }
    if (index > 0 && sched_seq_is_more_urgent(last, heap->at[(index - 1) / 2])) {
        sift_up(heap, index, last);
    } else {
        sift_down(heap, index, last);
    }
}

void sched_queue_add(struct sched_queue *queue, struct sched_seq *seq)
{
    seq->state = SCHED_WAITING;
    if (queue->order == SCHED_PRIORITY) {
        heap_add(&queue->heap, seq);
    } else {
        sched_list_push_back(&queue->list, seq);
    }
}

void sched_queue_put_back(struct sched_queue *queue, struct sched_seq *seq)
{
    seq->state = SCHED_WAITING;
    if (queue->order == SCHED_PRIORITY) {
        heap_add(&queue->heap, seq);
    } else {
        sched_list_push_front(&queue->list, seq);
    }
}

void sched_queue_remove(struct sched_queue *queue, struct sched_seq *seq)
{
    if (queue->order == SCHED_PRIORITY) {
        heap_remove(&queue->heap, seq);
    } else {
        sched_list_remove(&queue->list, seq);
    }
}
