/*
 * sched.h - a scheduler policy: which tokens the next step computes, and for how long that plan holds.
 *
 * plan() decides one step and changes the scheduler's own state as the engine does (tokens count as computed when they
 * are scheduled). `valid_steps` says for how many further steps the same plan provably holds if nothing arrives or is
 * aborted; advance() then takes that many of them at once. Results come back through finish(). A policy sees its own
 * queues and the pool, never the service.
 */
#ifndef KVSIM_SCHED_SCHED_H
#define KVSIM_SCHED_SCHED_H

#include "base/mem.h"
#include "base/policy.h"
#include "base/pool.h"
#include "cost/cost.h"
#include "kv/paged.h"
#include "sched/front.h"
#include "sched/offload.h"
#include "sched/options.h"
#include "sched/queue.h"
#include "sched/reuse.h"
#include "sched/seq.h"

/* Why the head of the queue was not taken. */
enum sched_wait {
    SCHED_WAIT_NONE,
    SCHED_WAIT_KV_POOL,
    SCHED_WAIT_SEATS,
    SCHED_WAIT_BUDGET,
    SCHED_WAIT_LINK, /* a transfer */
    SCHED_WAIT_COUNT
};

struct sched_plan {
    uint64_t number;     /* of the plan, from 1; turns that schedule nothing are not counted */
    int64_t token_count; /* 0: nothing to do */
    struct cost_shape shape;
    bool is_front_only;  /* pure decode of the front and nothing else */
    uint64_t generation; /* the front's, when is_front_only */
    int64_t valid_steps; /* further steps under the same plan */
    uint64_t flush;      /* number of the store that this step waits for; 0 = none */
    enum sched_wait wait;
    /* that this step copies: to larger tensors (concat_doubling), or to another place (compaction) */
    int64_t copied_tokens;
    struct {
        /* its prompts, where it is computed in several passes; decodes go with the first */
        struct cost_shape *at;
        size_t count, capacity;
    } passes;
    int64_t counted_total; /* front members in this step whose gaps are recorded */
    /* the same by class; the caller's array of class_count, kept from plan to plan */
    int64_t *counted;
    size_t class_count;
    struct sched_seqs emits;  /* outside the front, emitting with this step, in scheduling order */
    struct sched_seqs finals; /* their last token comes with this step, in running order */
    struct sched_seqs admitted; /* resumed ones included */
    struct sched_seqs victims;  /* preempted in this very turn */
    /* by the engine in this turn: they are gone; of a group its first member stands here */
    struct sched_seqs given_up;
    /* Engines that swap and fork; of a group its first member stands in the lists. */
    struct sched_seqs swapped_out, swapped_in;
    int64_t swapped_blocks; /* copied before this step, both ways */
    int64_t copied_blocks;  /* copied before this step: written to while others hold them */
    int64_t forked_count;   /* first tokens beyond one for each prompt computed */
    bool skips_front;       /* members of the front sit this step out */
    bool is_by_role;        /* scheduled in the order of roles, not of the list */
    bool engine_died;       /* nothing more will ever be scheduled */
    /* the same state as before, and no token between: so for ever if nothing happens outside */
    bool goes_in_circles;
    /* thrown out of the front's rhythm by this turn: their next gap is not one step */
    struct sched_seqs left_front;
};

void sched_plan_release(struct sched_plan *plan);

struct sched;

/* What of a scenario's `engine` a scheduler looks at, beyond what all do. */
enum sched_use {
    SCHED_USES_CHUNKS = 1u << 0,          /* prompts may be cut by the budget of a step */
    SCHED_USES_LONG_PROMPT_CAP = 1u << 1, /* tokens that one prompt gets of a step */
    SCHED_USES_WATERMARK = 1u << 2,       /* blocks that admission leaves free */
    SCHED_USES_ORDER = 1u << 3,           /* of the queue */
    SCHED_USES_STATIC_BATCHES = 1u << 4,  /* nobody is admitted while others run */
    SCHED_USES_RELEASES = 1u << 5,        /* in what releases of vLLM V1 differ */
    SCHED_USES_SWAPPING = 1u << 6,        /* whom it throws out may go to the host */
    SCHED_USES_TIERS = 1u << 7,           /* memory behind the pool */
};

/* One engine's way of scheduling. */
struct sched_ops {
    struct base_policy policy;
    unsigned uses;                /* a sum of enum sched_use */
    bool throws_out;              /* where blocks run short */
    bool has_budget;              /* of tokens a step */
    bool passes_batches;          /* a batch is computed in parts */
    bool admits_by_end;           /* tensors: by what they will have grown to */
    bool has_watermark_when_idle; /* where it has one: else it is nobody's while nobody runs */
    bool forks; /* a request's sequences are one group that shares blocks by references */
    bool has_unique_blocks; /* its prefix cache has one block for a content: kv/unique.h */
    bool dies_of_swapping;  /* where the host has no room for what it must swap out */
    /* whom it gives up could never run; else there is no room for it now */
    bool gives_up_unservable;
    bool sorts_its_queue; /* by itself, when it likes, where it goes by priority */
    /* and gives them up at their turn; else they are refused on arrival */
    bool queues_long_prompts;
    int64_t beyond_longest; /* tokens by which a sequence may pass max_model_len */
    void (*enqueue)(struct sched *sched, struct sched_seq *seq);
    /* Decides the next step; the lists of the plan are made new. */
    void (*plan)(struct sched *sched, struct sched_plan *plan);
    /* `steps` more steps of a plan that is front-only, steps <= valid_steps; the plan becomes the last of them. */
    void (*advance)(struct sched *sched, struct sched_plan *plan, int64_t steps);
    /* The last token of `seq` was delivered (or its client has gone): its blocks are free. `in_flight`: a step that was
     * decided after that token's is under way. */
    void (*finish)(struct sched *sched, struct sched_seq *seq, bool is_delivered, bool in_flight);
    /* The tokens of `plan` have come; before its finals are finished. NULL: nothing follows from that. */
    void (*delivered)(struct sched *sched, struct sched_plan *plan);
};

/* What vLLM V0 alone has: requests on the host, and searches by beams. */
struct sched_v0 {
    struct sched_list swapped; /* of each group its first member */
    int64_t host_blocks;       /* held there by swapped ones */
    /* swapped by turns that scheduled nothing: the next step waits for them */
    int64_t moved_blocks;
    int64_t extra_seats; /* of running groups that are not forked: seats beyond the one sequence */
    struct sched_circle {
        uint64_t signature;   /* of a state */
        int64_t count, limit; /* of states looked at since; then the present one is kept */
    } circle;
    struct sched_group *searches; /* with beams, forked; on the host too */
    struct {
        uint32_t *at;
        size_t count, capacity;
    } parents;        /* scratch: of each beam of one, whom it follows */
    bool is_unsorted; /* by priority: somebody came, or has yet to be looked at */
    /* With its prefix cache: the plan with which the front last stepped, and that it has its tokens of the one in the making. */
    uint64_t front_plan;
    bool front_is_given;
    struct kv_unique host; /* where blocks have content there too */
};

struct sched {
    const struct sched_ops *ops;
    const struct sched_options *options;
    struct kv_paged *pool;
    struct sched_queue waiting;
    struct sched_list running;
    struct sched_front front;
    struct sched_seqs loose;    /* running and SCHED_LOOSE, by place */
    struct sched_seqs skipped;  /* of the last pass over the queue */
    struct sched_seqs draining; /* running and SCHED_DRAINING */
    size_t overrun_count;
    int64_t outside_front_tokens; /* tokens in the cache of running sequences outside the front */
    uint64_t next_place, next_number;
    int64_t watermark_blocks;
    int64_t window_caps[KV_WINDOWS_MAX]; /* most blocks in one table that admission counts with */
    size_t due_done;                     /* of front.windows.due, in the turn under way */
    int64_t head_needs; /* free blocks that would have admitted the head; INT64_MAX: others wait */
    bool in_flight; /* set by the caller before a plan: the plan before it has not been delivered */
    /* the queue was left at a head whose fate depends on what the cache holds */
    bool head_was_looked_up;
    struct kv_hits hits;         /* scratch */
    struct kv_radix_match found; /* scratch: the same in a radix tree */
    uint64_t entered_by;         /* the plan that computed what enters it */
    struct sched_seqs to_enter;  /* prompts computed on since the last turn, in running order */
    int64_t lookup_tokens, hit_tokens; /* asked of the cache at admissions, and found */
    struct sched_reuse reuse;
    struct sched_offload offload;   /* in use with options->tier.chunk_blocks > 0 */
    int64_t blocks_at_the_end;      /* sum over running sequences, see there */
    int64_t spare_blocks;           /* must be free at each step beside those that it takes */
    struct base_pool groups, forks; /* of struct sched_group, struct kv_fork */
    /* vllm_v1: thrown out since the last token; of them alone; reads from below when somebody ran last */
    int64_t fruitless_victims, lonely_ends, reads_before;
    int64_t extra_members; /* running sequences beyond one for each group */
    struct sched_v0 v0;
    struct {
        int64_t *at;
        size_t count, capacity;
    } dealt; /* scratch of llama_cpp: tokens of each in `loose` */
    /* as of the last turn: free, but no place for the head of the queue */
    int64_t fragmented_blocks;
};

void sched_init(struct sched *sched, const struct sched_ops *ops,
                const struct sched_options *options, struct kv_paged *pool,
                struct base_arena *arena, size_t class_count);
void sched_release(struct sched *sched);

/* While a sequence is in the front its `emitted`, `computed` and totals rest; this brings them up to date. */
void sched_settle(struct sched *sched, struct sched_seq *seq);

static inline void sched_enqueue(struct sched *sched, struct sched_seq *seq)
{
    sched->ops->enqueue(sched, seq);
}

static inline void sched_plan_next(struct sched *sched, struct sched_plan *plan)
{
    sched->ops->plan(sched, plan);
}

static inline void sched_advance(struct sched *sched, struct sched_plan *plan, int64_t steps)
{
    sched->ops->advance(sched, plan, steps);
}

static inline void sched_finish(struct sched *sched, struct sched_seq *seq, bool is_delivered,
                                bool in_flight)
{
    sched->ops->finish(sched, seq, is_delivered, in_flight);
}

/* Pairs of queries and keys that windows leave of a chunk of `tokens` behind `cached` ones. */
void sched_add_prefill_windows(const struct sched *sched, struct cost_shape *shape, int64_t cached,
                               int64_t tokens);
/*
 * By window, over all running sequences and those that hold something while they wait for a load: tokens that a query of the
 * next step or of one in flight (plans from `first_plan` on) can see, blocks that one table of each has given back and, of
 * longer blocks, those that it would hold without that.
 */
void sched_count_windows(const struct sched *sched, uint64_t first_plan,
                         struct kv_paged_state *out);

/*
 * Within a stretch, with a prefix cache: what the windows give back in the next `steps` steps, behind those that this was said
 * of before, comes back; which of it does not become free stands in front.windows.kept. sched_advance() follows.
 */
void sched_give_back_ahead(struct sched *sched, int64_t steps);
/* A group of `count` sequences, empty; members are added in order. Only the first one is enqueued. */
struct sched_group *sched_group_new(struct sched *sched, uint32_t count);
void sched_group_add(struct sched_group *group, struct sched_seq *seq);
/* Its sequences are beams: all of one length, and which of them go on from which is drawn from the stream `key`. */
void sched_group_search(struct sched_group *group, uint64_t key, double beam_switch);

/* The member that stands for the request, and the next one of it or NULL. */
static inline struct sched_seq *sched_group_first(struct sched_seq *seq)
{
    return seq->group != NULL ? seq->group->first : seq;
}

static inline struct sched_seq *sched_group_next(const struct sched_seq *seq)
{
    return seq->sibling;
}

/* The engine may die before another request comes: it knows one that it would swap out, and the host's room has an end. */
static inline bool sched_may_die(const struct sched *sched)
{
    return sched->ops->dies_of_swapping && sched->options->preemption != SCHED_PREEMPT_RECOMPUTE &&
           sched->options->swap_blocks < INT64_MAX &&
           (sched->options->preemption == SCHED_PREEMPT_SWAP || sched->groups.taken_count > 0);
}

/* Requests that run; a group counts once. */
static inline int64_t sched_running_count(const struct sched *sched)
{
    return (int64_t)sched->running.count - sched->extra_members;
}

static inline bool sched_has_tier(const struct sched *sched)
{
    return sched->options->tier.chunk_blocks > 0;
}

/* It has ended for the scheduler, but a transfer still writes to its blocks: sched_offload_settle() gives it back. */
static inline bool sched_seq_is_written_to(const struct sched_seq *seq)
{
    return seq->state == SCHED_GONE && seq->offload.load_blocks > 0;
}

/* All that wait to run, those set aside included. */
static inline int64_t sched_waiting_count(const struct sched *sched)
{
    return (int64_t)(sched_queue_count(&sched->waiting) + sched->offload.aside.count);
}

/* Tokens in the cache, all running sequences and those set aside with blocks. */
static inline int64_t sched_live_tokens(const struct sched *sched)
{
    return sched->front.context_sum + sched->outside_front_tokens;
}

/* Tokens of `seq` in the cache as of now. */
static inline int64_t sched_seq_computed(const struct sched *sched, const struct sched_seq *seq)
{
    return seq->state == SCHED_FRONT ? seq->front_base + (int64_t)sched->front.step : seq->computed;
}

/* True when `seq` emits in `plan` as a member of the front. */
static inline bool sched_seq_was_in_front(const struct sched_seq *seq,
                                          const struct sched_plan *plan)
{
    return !plan->skips_front && seq->first_front_plan <= plan->number &&
           plan->number <= seq->last_front_plan;
}

static inline enum sched_role sched_role_of(const struct sched_seq *seq,
                                            const struct sched_plan *plan)
{
    return seq->role_step == plan->number ? seq->role : SCHED_DECODE;
}

extern const struct sched_ops sched_vllm_v0;
extern const struct sched_ops sched_vllm_v1;
extern const struct sched_ops sched_orca;
extern const struct sched_ops sched_llama_cpp;

#endif
