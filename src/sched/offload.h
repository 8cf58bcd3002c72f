/*
 * offload.h - tiers behind the pool as the scheduler deals with them: what it asks for, loads and stores, and who waits.
 *
 * As vLLM's offloading connector does it. At admission, behind the pool's own hits, the tiers are asked for the rest of the
 * sequence's chunks. Hits are loaded between steps: the sequence takes its blocks, is set aside and neither has a seat nor
 * tokens until the transfer has ended; a chunk that is still being stored, or loaded for another, puts the sequence off.
 * A chunk that a step fills is stored once that step has run. Blocks that a store reads are not held for it: if one is
 * taken for something else, the step that does so waits for the store (`flush`). With `is_sync` loads are part of the step
 * that uses them and stores part of the one that computes them; nobody is set aside.
 *
 * What only the tier below has (sched/lower.h) is read up into the first one, and the sequence is put off meanwhile; a
 * synchronous engine reads it within its load. With a prefetch it is read up at arrival, and a look takes what is there.
 * Where loading is decided by cost, the time that it takes, queues included, is held against the time of the prefill that
 * it saves.
 *
 * Behind a radix tree it is HiCache, which knows other times and units: tree_tier.c.
 *
 * Loads and stores are decided here and put on links by the caller, who knows when steps begin and end: he sets
 * `end_ticks`, and calls sched_offload_settle() at every turn. Both directions are served in the order of decision.
 */
#ifndef KVSIM_SCHED_OFFLOAD_H
#define KVSIM_SCHED_OFFLOAD_H

#include "base/i128.h"
#include "base/pool.h"
#include "kv/prefix.h"
#include "kv/radix.h"
#include "kv/tier.h"
#include "sched/lower.h"
#include "sched/seq.h"

struct sched;
struct sched_plan;

/* Ends of paths in a radix tree that a transfer has locked. */
struct sched_nodes {
    struct kv_node **at;
    size_t count, capacity;
};

struct sched_transfer {
    struct sched_transfer *next;
    uint64_t number;       /* of a store, from 1 */
    uint64_t plan;         /* of a store: that computes it */
    struct sched_seq *seq; /* of a load that a sequence waits for */
    int64_t blocks;
    struct kv_pieces chunks;   /* held */
    struct kv_sources sources; /* of a store */
    struct sched_nodes
        nodes; /* with a radix tree; and where a tier is below, of each of the chunks' pieces: */
    struct kv_radix_pieces pieces;
    base_i128 not_before_ticks; /* what it reads is there then, or its place is free */
    base_i128 end_ticks;        /* once it is sent */
    /* a store of what the pool drops: sent before its step, which waits for it */
    bool is_write_back;
};

/* In order of decision; what has not ended. Those from `unsent` on are on no link yet. */
struct sched_transfers {
    struct sched_transfer *head, *tail, *unsent;
};

struct sched_offload {
    struct kv_stock stock; /* of both tiers */
    struct sched_tier tier;
    struct sched_lower lower;
    int64_t chunk_tokens;
    base_i128 now; /* of the turn */
    struct kv_link load_link, store_link;
    struct sched_transfers loads, stores;
    struct base_pool transfers;
    uint64_t store_count; /* decided so far */
    /* stores that have not ended, at their number modulo the capacity */
    struct sched_transfer **by_number;
    size_t by_number_capacity, stores_open;
    struct sched_transfer *write_back; /* of the turn; NULL: none yet */
    struct sched_transfer *turn_load;  /* with a radix tree: the turn's; NULL: none yet */
    uint64_t flush;              /* store that the step being decided must wait for; 0 = none */
    bool has_orders;             /* this turn has decided a transfer or a flush */
    base_i128 unsent_load_ticks; /* of loads that are on no link yet */
    struct sched_list aside; /* of the queue: loading, loaded or put off; fcfs: before all others */
    struct sched_seqs fresh; /* arrived since the last look at the queue; with a prefetch */
    /* clients left while loading; the transfer has ended: for the caller to free */
    struct sched_seqs gone;
    /* running sequences whose chunks the tier had no room for: tried again at each step */
    int64_t behind_count;
    struct sched_seq **filling; /* [chunk_tokens]: front members by when they fill a chunk */
    struct sched_seqs due;      /* scratch */
    struct kv_pieces wanted, found;
    struct kv_runs evicted;
    /* Where chunks are of several tables, or of windows (offload_tables.c): the kinds of tables as they are asked, scratch, and
     * what those aside hold of windows and states. */
    bool has_tables;
    size_t kind_order[KV_WINDOWS_MAX + 1];
    struct {
        int64_t visible_tokens, dropped_blocks;
    } aside_windows[KV_WINDOWS_MAX];
    int64_t aside_states;
    /* Ticks of a step that computes `tokens` behind `cached` ones of one sequence and nothing else. Set by the caller. */
    int64_t (*prefill_ticks)(void *context, int64_t cached, int64_t tokens, bool emits);
    void *prefill_context;
    /* At admissions: asked beyond the pool's own hits; found, of it from below; found, but computed again. */
    int64_t asked_tokens, hit_tokens, below_tokens, declined_tokens;
    int64_t declined_count; /* admissions that computed again what was found */
    int64_t refused_reads;  /* no room above for what is below */
    int64_t begun_reads;    /* of what is below, for prompts that wait */
    base_i128 load_ticks;   /* sum over loads, from when each could begin to its end */
};

void sched_offload_init(struct sched *sched, struct base_arena *arena);
void sched_offload_release(struct sched *sched);

/* With a prefetch: the sequence has arrived, or its client has left. */
void sched_offload_arrived(struct sched *sched, struct sched_seq *seq);
void sched_offload_left_queue(struct sched *sched, struct sched_seq *seq);
/* The queue is about to be looked at: what has arrived since is asked for below. */
void sched_offload_prefetch(struct sched *sched);

/* Tokens to be loaded behind `hit_blocks`, whole chunks; -1: ask again at a later turn. */
int64_t sched_offload_ask(struct sched *sched, struct sched_seq *seq, int64_t hit_blocks);
/* The tokens from `from` to `to` are loaded: for a sequence set aside, or within the step. */
void sched_offload_load(struct sched *sched, struct sched_seq *seq, int64_t from, int64_t to);
/* It is taken behind `hit_tokens` of the pool's and `loaded_tokens` of the tiers'. */
void sched_offload_count(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens,
                         int64_t loaded_tokens);
/* It is set aside and holds something from now on (1), or is not any more (-1). */
void sched_offload_count_aside(struct sched *sched, const struct sched_seq *seq, int64_t sign);
/* Its transfer has ended and it is looked at: what was loaded is in the cache. */
void sched_offload_take_up(struct sched *sched, struct sched_seq *seq);
/* Blocks that unfinished prompts have yet to take, those of sequences set aside included. */
int64_t sched_offload_prefills_need(const struct sched *sched);
/* The step is decided, its tokens not yet counted in the front: what it fills is to be stored. */
void sched_offload_store(struct sched *sched, const struct sched_plan *plan);
/* Blocks that are taken from what the pool caches concern a transfer. */
bool sched_offload_minds_eviction(const struct sched *sched);
/* Steps after this one, at most `limit`, in which no member of the front fills a chunk. */
int64_t sched_offload_runway(const struct sched *sched, int64_t limit);

void sched_offload_joined_front(struct sched *sched, struct sched_seq *seq);
void sched_offload_left_front(struct sched *sched, struct sched_seq *seq);
void sched_offload_left_running(struct sched *sched, struct sched_seq *seq);
/* A turn begins to decide. */
void sched_offload_begin_turn(struct sched *sched);
/* It is `now` for what happens before the next turn. */
void sched_offload_reach(struct sched *sched, base_i128 now);
/* Transfers that have ended by now are seen. */
void sched_offload_settle(struct sched *sched, base_i128 now);
/* Puts loads, or stores up to those of `plan`, on their link, none before `at`; returns when the last of them ends, or `at`. */
base_i128 sched_offload_send(struct sched *sched, bool loads, uint64_t plan, base_i128 at);
/* The same for what the pool has dropped for the coming step. */
void sched_offload_send_back(struct sched *sched, base_i128 at);
/* When store `number` ends, but not before `at`; it has been sent or has ended. 0 is no store. */
base_i128 sched_offload_store_end(const struct sched *sched, uint64_t number, base_i128 at);
/* When somebody who waits is to be looked at again, while no step runs; false: nobody does. */
bool sched_offload_next_end(const struct sched *sched, bool is_idle, base_i128 *at);

#endif
