/*
 * ledger.h - where the bytes of a KV pool go, cause by cause, adding up to the byte.
 *
 *   allocated = lower_bound + block_rounding + out_of_window + reserved + replicated + padded
 *             + scales - shared
 *   pool      = allocated + cached + fragmented + held_back + free
 *
 * One replica over all its GPUs, integer bytes, at one instant. `allocated` is not stored: it follows
 * from the lines, so that it can't disagree with them. The lines' names and order are the same in C, SQL and
 * JSON.
 */
#ifndef KVSIM_KV_LEDGER_H
#define KVSIM_KV_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_ledger {
    int64_t lower_bound_bytes;    /* what live tokens and states need, nothing else */
    int64_t block_rounding_bytes; /* slots of held blocks beyond the tokens put there */
    int64_t out_of_window_bytes;  /* tokens in held blocks that no later query sees */
    int64_t reserved_bytes;       /* promised to a sequence, no token there yet */
    int64_t replicated_bytes;     /* held again because TP > H_kv, or MLA on every rank */
    int64_t padded_bytes;         /* alignment, hybrid page groups */
    int64_t scales_bytes;         /* quantization scales stored with the blocks */
    int64_t shared_bytes;         /* (holders - 1) * block bytes over all blocks; subtracted */
    int64_t cached_bytes;         /* blocks with content that no live sequence holds */
    int64_t fragmented_bytes;     /* free, but unusable for the head of the queue */
    int64_t held_back_bytes;      /* null block, transfers and exports in flight */
    int64_t free_bytes;
    int64_t pool_bytes; /* the total that the lines must reach */
};

/* The lines that are stored, in order, without the pool. */
enum kv_ledger_line {
    KV_LEDGER_LOWER_BOUND,
    KV_LEDGER_BLOCK_ROUNDING,
    KV_LEDGER_OUT_OF_WINDOW,
    KV_LEDGER_RESERVED,
    KV_LEDGER_REPLICATED,
    KV_LEDGER_PADDED,
    KV_LEDGER_SCALES,
    KV_LEDGER_SHARED,
    KV_LEDGER_CACHED,
    KV_LEDGER_FRAGMENTED,
    KV_LEDGER_HELD_BACK,
    KV_LEDGER_FREE,
    KV_LEDGER_LINE_COUNT
};

/* KV_LEDGER_LINE_COUNT, for loops of other rooms. */
size_t kv_ledger_line_count(void);

/* "lower_bound" ... "free"; line < kv_ledger_line_count(). */
const char *kv_ledger_line_name(size_t line);

/* The line's bytes as stored: `shared` is positive here although it's subtracted. */
int64_t kv_ledger_line_bytes(const struct kv_ledger *ledger, size_t line);
void kv_ledger_set_line(struct kv_ledger *ledger, size_t line, int64_t bytes);

/* +1, or -1 for `shared`: the identity is sum(sign * bytes) == pool. */
int kv_ledger_line_sign(size_t line);

int64_t kv_ledger_allocated_bytes(const struct kv_ledger *ledger);

/* The identity holds and no line is negative. */
bool kv_ledger_is_exact(const struct kv_ledger *ledger);

#endif
