/*
 * offload.h - a tier behind the pool as the scheduler deals with it: what it asks for, loads and stores, and who waits.
 *
 * As vLLM's offloading connector does it. At admission, behind the pool's own hits, the tier is asked for the rest of the
 * sequence's chunks. Hits are loaded between steps: the sequence takes its blocks, is set aside and neither has a seat nor
 * tokens until the transfer has ended; a chunk that is still being stored, or loaded for another, puts the sequence off.
 * A chunk that a step fills is stored once that step has run. Blocks that a store reads are not held for it: if one is
 * taken for something else, the step that does so waits for the store (`flush`). With `is_sync` loads are part of the step
 * that uses them and stores part of the one that computes them; nobody is set aside.
 *
 * Transfers are decided here and put on links by the caller, who knows time: he sets `end_ticks`, and calls
 * sched_offload_settle() at every turn. Both directions are served in the order of decision.
 */
#ifndef KVSIM_SCHED_OFFLOAD_H
#define KVSIM_SCHED_OFFLOAD_H

#include "base/i128.h"
#include "base/pool.h"
#include "kv/prefix.h"
#include "kv/tier.h"
#include "sched/seq.h"

struct sched;
struct sched_plan;

struct sched_transfer {
    struct sched_transfer *next;
    bool is_submitted;
    uint64_t number;       /* of a store, from 1 */
    uint64_t plan;         /* of a store: that computes it */
    struct sched_seq *seq; /* of a load that a sequence waits for */
    int64_t blocks;
    struct kv_chunks chunks;
    struct kv_sources sources; /* of a store */
    base_i128 end_ticks;       /* once it is submitted */
};

/* In order of decision; what has not ended. */
struct sched_transfers {
    struct sched_transfer *head, *tail;
};

struct sched_offload {
    struct kv_tier tier;
    int64_t chunk_tokens;
    struct sched_transfers loads, stores;
    struct base_pool transfers;
    uint64_t store_count;    /* decided so far */
    uint64_t flush;          /* store that the step being decided must wait for; 0 = none */
    bool has_orders;         /* this turn has decided a transfer or a flush */
    struct sched_list aside; /* of the queue: loading, loaded or put off; fcfs: before all others */
    int64_t loading_count;   /* of them, with a transfer under way */
    struct sched_seqs
        gone; /* clients left while loading; the transfer has ended: for the caller to free */
    int64_t
        behind_count; /* running sequences whose chunks the tier had no room for: tried again at each step */
    struct sched_seq **filling; /* [chunk_tokens]: front members by when they fill a chunk */
    struct sched_seqs due;      /* scratch */
    struct kv_chunks found;
    struct kv_places places;
    /* asked beyond the pool's own hits, at admissions; blocks moved */
    int64_t asked_tokens, hit_tokens, loaded_blocks, stored_blocks;
};

void sched_offload_init(struct sched *sched, struct base_arena *arena);
void sched_offload_release(struct sched *sched);

/* Tokens that the tier has behind `hit_blocks`, whole chunks; -1: ask again at a later turn. */
int64_t sched_offload_ask(struct sched *sched, struct sched_seq *seq, int64_t hit_blocks);
/* The tokens from `from` to `to` are loaded: for a sequence set aside, or within the step. */
void sched_offload_load(struct sched *sched, struct sched_seq *seq, int64_t from, int64_t to);
/* Its transfer has ended and it is looked at: what was loaded is in the cache. */
void sched_offload_take_up(struct sched *sched, struct sched_seq *seq);
/* Blocks that unfinished prompts have yet to take, those of sequences set aside included. */
int64_t sched_offload_prefills_need(const struct sched *sched);
/* The step is decided, its tokens not yet counted in the front: what it fills is to be stored. */
void sched_offload_store(struct sched *sched, const struct sched_plan *plan);
/* Steps after this one, at most `limit`, in which no member of the front fills a chunk. */
int64_t sched_offload_runway(const struct sched *sched, int64_t limit);

void sched_offload_joined_front(struct sched *sched, struct sched_seq *seq);
void sched_offload_left_front(struct sched *sched, struct sched_seq *seq);
void sched_offload_left_running(struct sched *sched, struct sched_seq *seq);
/* kv_prefix.on_reuse */
void sched_offload_note_reuse(void *context, const struct kv_source *source);

/* Transfers that have ended by now are seen. */
void sched_offload_settle(struct sched *sched, base_i128 now);

#endif
