/*
 * seq.h - a request as the scheduler sees it, and lists of them in running or waiting order.
 *
 * Intrusive: the service embeds a sched_seq in its own request. `computed` is the engine's C (tokens in the cache, those
 * of steps in flight included), `emitted` the outputs that steps scheduled so far emit, so known tokens n = prompt +
 * emitted. While a sequence is in the front its `computed` is front_base + front.step.
 */
#ifndef KVSIM_SCHED_SEQ_H
#define KVSIM_SCHED_SEQ_H

#include "kv/forks.h"
#include "kv/paged.h"
#include "kv/tier.h"
#include "sched/front_window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sched_state {
    SCHED_NEW,
    SCHED_WAITING,  /* never scheduled, or thrown out and waiting again */
    SCHED_LOOSE,    /* running: prefilling, or decoding out of step with the front */
    SCHED_FRONT,    /* running: one token each step */
    SCHED_DRAINING, /* running: its last token is in flight, nothing more is scheduled */
    SCHED_LOADING, /* waiting: a transfer writes to its blocks, or has ended and nobody looked since */
    SCHED_LOADED,  /* waiting: holds what was loaded, in the cache */
    SCHED_SWAPPED, /* thrown out with its blocks, which lie on the host */
    SCHED_GONE,
};

/* With a tier behind the pool (sched/offload.h). Zeroed = nothing. */
struct sched_copy;

struct sched_seq_offload {
    /* what the tiers know of its first `path_chunks`, as the stock was after so many changes */
    struct kv_path path;
    int64_t path_chunks;
    uint64_t path_changes;
    bool is_aside;   /* stands in the list of those set aside */
    bool is_loading; /* a transfer writes to its blocks, or has ended and nobody looked since */
    bool load_is_done, is_behind;
    bool is_fresh;                  /* has yet to be asked for at its arrival: prefetch */
    base_i128 prefetch_until_ticks; /* it is passed over before that */
    int64_t below_tokens,
        declined_tokens; /* found below the first tier; found and not worth loading */
    /* Behind a radix tree: what is read up for it, behind which place, how many blocks there is room for and have arrived. */
    struct kv_radix_pin *prefetch_behind;
    struct sched_copy *prefetch_copy; /* NULL: it has ended */
    int64_t prefetch_blocks, prefetch_arrived;
    int64_t load_to;       /* tokens in the cache once it is loaded */
    int64_t load_blocks;   /* blocks that the transfer writes to, of all tables */
    int64_t hit_chunks;    /* at its last look, in pool and tiers: with several tables */
    int64_t stored_chunks; /* leading ones that were offered to the tier */
    int64_t used_chunks;   /* leading ones whose use was counted */
    struct sched_seq *fill_prev, *fill_next; /* front members that fill a chunk at the same steps */
};

/* What a step of an engine that reorders its running list did with a sequence, in the order of the list afterwards. */
enum sched_role {
    SCHED_LEFT_OVER,
    SCHED_SWAPPED_IN_DECODE,
    SCHED_SWAPPED_IN_PREFILL,
    SCHED_DECODE,
    SCHED_PREFILL,
    SCHED_NEWCOMER,
    SCHED_ROLE_COUNT
};

struct sched_seq;

struct sched_group;

/* Of a group whose sequences are the beams of a search. Zeroed: they are not. */
struct sched_beams {
    bool is_search;
    uint64_t key;                    /* its stream: which beams go on from which */
    double switches;                 /* chance that a beam goes on from any of them */
    int64_t tokens;                  /* of each beam, delivered; names the next draws */
    uint64_t plan;                   /* that gave them the last one */
    struct sched_group *prev, *next; /* in sched.v0.searches */
};

/* Sequences of one request that the engine knows as one: they come from one prompt, and are admitted and thrown out together.
 * It belongs to the scheduler, which gives it back with the last of them. */
struct sched_group {
    struct kv_forks forks;
    struct sched_seq *first; /* of those that have not ended, by sched_seq.sibling */
    uint32_t count, left;    /* members, and those that have not ended */
    bool is_forked; /* false: the prompt is not computed yet, the first one stands for all */
    struct sched_beams beams;
};

struct sched_seq {
    struct sched_seq *prev, *next; /* in the running list, or in the queue (fcfs) */
    uint64_t place;                /* rises along the running list */
    uint64_t index;                /* order of arrival: the last tie-break */
    int64_t arrival_ns;
    int32_t priority;
    uint32_t heap_index; /* in the front's calendar or the priority queue */
    enum sched_state state;
    uint32_t class_index;
    bool is_counted; /* its gaps enter the statistics */
    /* ends by itself before max_outputs: an asynchronous engine notices a step late */
    bool stops_early;
    /* scratch of one walk: what a front member was given, less what it gave back */
    int64_t took_blocks;
    int64_t took_tokens; /* for so many of them */
    /* in the front although its last token is in flight (stops_early, asynchronous) */
    bool is_overrun;

    int64_t prompt_tokens;
    int64_t end_outputs; /* the answer's length */
    /* what the engine allows: least of max_tokens and max_model_len - prompt */
    int64_t max_outputs;
    int64_t computed, emitted;
    int64_t front_base;  /* computed - front.step at joining */
    uint64_t final_step; /* the front step that emits its last token */

    uint64_t first_front_plan,
        last_front_plan; /* plans in which it is or was a front member, both included */

    struct kv_promise promise;  /* where memory is reserved at admission */
    int64_t blocks_at_the_end;  /* where it grows under a scheduler that never throws anyone out */
    struct kv_prefix_seq cache; /* with a prefix cache: its content and what it holds */
    struct kv_radix_seq tree;   /* what it holds of a radix tree; with that also the next two: */
    struct kv_unique_seq
        unique;         /* what it holds of vLLM V0's cache; with that also the next three: */
    uint64_t used_plan; /* that last scheduled it before it was in the front, or with it */
    bool was_looked_up,
        next_is_pending; /* since it last ran; behind what was found others have given out the next block */
    int64_t found_tokens;   /* what was found computed then */
    int64_t prefill_tokens; /* known when it was admitted: what enters the tree as it is computed */
    bool is_to_enter;       /* some of them were computed since it last entered */
    struct sched_group *group; /* NULL: a request of one sequence */
    struct sched_seq *sibling; /* the next member that has not ended */
    struct kv_fork fork;       /* in its group: what it shares */
    int64_t blank_blocks;      /* it holds them for tokens that are yet to be computed */
    enum sched_role role;      /* in the plan `role_step` */
    uint64_t role_step;

    uint64_t emitted_step; /* the plan with which it last emitted outside the front */
    int64_t hashed_tokens; /* hashed for certain; a front member's own may be further */
    int64_t cached_tokens, cached_total; /* hits at the first admission, at all */
    int64_t seen_tokens; /* leading tokens that were asked before, by others too; -1 = not known */
    bool was_admitted;
    struct sched_seq_offload offload;

    int64_t high_water; /* most tokens ever computed: what lies below is recomputed */
    int64_t undo_high_water, undo_recomputed; /* before the last schedule outside the front */
    int64_t computed_total, recomputed_total;
    uint32_t preemptions;
    struct sched_seq_window windows[KV_WINDOWS_MAX];
    int64_t kept_blocks; /* cached states that stay until the end, of one table */
    /* where the block ends that holds the state before the newest one; 0 = none */
    int64_t last_state_end;
    bool has_all_states; /* those to its end are laid out */
    /* hits would have reached there in the first kind of tables, but not in all; 0 = they did */
    int64_t junction_tokens;
    int64_t hashed_before; /* the plan that last scheduled it */
    uint64_t prior_step;   /* with a window: the plan before that one, and its tokens */
    int64_t prior_tokens;
    /* the plan that last scheduled it outside the front, and with how many tokens */
    uint64_t scheduled_step;
    int64_t scheduled_tokens;
};

struct sched_list {
    struct sched_seq *head, *tail;
    size_t count;
};

void sched_list_push_back(struct sched_list *list, struct sched_seq *seq);
/* Before `next`, which is in the list; NULL: at the end. */
void sched_list_insert_before(struct sched_list *list, struct sched_seq *seq,
                              struct sched_seq *next);
void sched_list_push_front(struct sched_list *list, struct sched_seq *seq);
void sched_list_remove(struct sched_list *list, struct sched_seq *seq);

/* Growable array of sequences that a plan hands out. */
struct sched_seqs {
    struct sched_seq **at;
    size_t count, capacity;
};

#endif
