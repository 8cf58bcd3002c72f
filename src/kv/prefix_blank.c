/*
 * prefix_blank.c - blocks without content that transfers read: which of them are taken next.
 *
 * Blocks without content are a number as long as they are all alike. A store may read blocks of sparse windows and of states
 * that are never hashed; the window gives them back while it does, to the head of the queue, where they are the next ones to be
 * taken, and whoever takes them waits. So while stores are open such blocks have an order. What comes back together keeps its
 * own order (last block first), before all that came back earlier. Runs of blocks that the same store reads lie on a stack; what
 * lies below them nobody reads, and a store that has ended reads nothing, so the stack is mostly empty.
 *
 * Source: vLLM, vllm/v1/core/block_pool.py, free_blocks: prepend_n (docs/sources.md).
 */
#include "base/count.h"
#include "base/error.h"
#include "kv/prefix_int.h"

#include <string.h>

static void push(struct kv_blank_runs *runs, int64_t blocks, uint64_t last_store)
{
    if (blocks == 0) {
        return;
    }
    if (runs->count > 0 && runs->at[runs->count - 1].last_store == last_store) {
        runs->at[runs->count - 1].blocks += blocks;
        return;
    }
    struct kv_blank_run run = {blocks, last_store};
    base_vec_push(runs, run);
}

void kv_blank_begin(struct kv_prefix *prefix, int64_t unread_blocks)
{
    prefix->blank_batch.count = 0;
    push(&prefix->blank_batch, unread_blocks, 0);
}

// Of the table's blocks below `at`: the last ones that a transfer reads. NULL: none.
static const struct kv_blank_read *read_below(const struct kv_prefix_seq *seq, uint32_t table,
                                              int64_t at)
{
    const struct kv_blank_read *last = NULL;
    for (size_t i = 0; i < seq->reads.count; i++) {
        const struct kv_blank_read *read = &seq->reads.at[i];
        if (read->table == table && read->lo < at && (last == NULL || read->lo > last->lo)) {
            last = read;
        }
    }
    return last;
}

void kv_blank_give(struct kv_prefix *prefix, const struct kv_prefix_seq *seq, uint32_t table,
                   int64_t lo, int64_t hi)
{
    while (lo < hi) {
        const struct kv_blank_read *read = read_below(seq, table, hi);
        bool is_read = read != NULL && read->hi >= hi;
        int64_t from = read == NULL ? lo : base_max(is_read ? read->lo : read->hi, lo);
        push(&prefix->blank_batch, hi - from, is_read ? read->store : 0);
        hi = from;
    }
}

void kv_blank_end(struct kv_prefix *prefix)
{
    struct kv_blank_runs *runs = &prefix->blank_runs;
    for (size_t i = prefix->blank_batch.count; i-- > 0;) {
        struct kv_blank_run run = prefix->blank_batch.at[i];
        uint64_t store = run.last_store > prefix->stores_done ? run.last_store : 0;
        if (runs->count > 0 || store > 0) {
            push(runs, run.blocks, store);
        }
    }
    prefix->blank_batch.count = 0;
}

void kv_blank_take(struct kv_prefix *prefix, int64_t blocks)
{
    struct kv_blank_runs *runs = &prefix->blank_runs;
    while (blocks > 0 && runs->count > 0) {
        struct kv_blank_run *top = &runs->at[runs->count - 1];
        if (top->last_store > prefix->stores_done) {
            prefix->on_blank_reuse(prefix->context, top->last_store);
        }
        int64_t here = base_min(top->blocks, blocks);
        top->blocks -= here;
        blocks -= here;
        runs->count -= top->blocks == 0 ? 1 : 0;
    }
}

void kv_blank_note(struct kv_prefix_seq *seq, uint32_t table, int64_t lo, int64_t hi,
                   uint64_t number)
{
    struct kv_blank_read read = {.lo = lo, .hi = hi, .store = number, .table = table};
    base_vec_push(&seq->reads, read);
}

void kv_blank_forget(const struct kv_prefix *prefix, struct kv_prefix_seq *seq)
{
    size_t ended = 0;
    while (ended < seq->reads.count && seq->reads.at[ended].store <= prefix->stores_done) {
        ended++;
    }
    if (ended > 0) {
        seq->reads.count -= ended;
        memmove(seq->reads.at, &seq->reads.at[ended], seq->reads.count * sizeof *seq->reads.at);
    }
}

int64_t kv_prefix_quiet_blocks(const struct kv_prefix *prefix)
{
    if (prefix->is_old_order) {
        bool evicts = false;
        const struct kv_braid *head = prefix->queue.head;
        int64_t alike = head != NULL ? kv_braid_alike(head, 0, &evicts) : 0;
        return evicts ? 0 : alike;
    }
    int64_t above = 0;
    for (size_t i = prefix->blank_runs.count; i-- > 0;) {
        if (prefix->blank_runs.at[i].last_store > prefix->stores_done) {
            return above;
        }
        above += prefix->blank_runs.at[i].blocks;
    }
    return prefix->blank_blocks;
}
