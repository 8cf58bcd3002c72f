/*
 * ref.h - a slow, naive reference of the vLLM V1 scheduler, of Orca's and FasterTransformer's, and of llama.cpp's server.
 *
 * It answers "what does the engine do at every step?" in the plainest way there is: arrays of
 * blocks, one request after the other, every sum counted anew at every step. It shares no code
 * with the simulator, so that an agreement of the two means something. Nothing here is fast.
 *
 * Time. The clock is in ticks of 2^-20 ns, exact, in 128 bits. Inputs that are written in ns
 * (arrivals, time limits) are whole ns; a step may last any number of ticks. A time that is
 * reported in ns is the floor. At one instant the order is: completion, abort, arrival,
 * scheduling turn. Equal arrivals come in the order in which they became known: those of the list
 * first, in list order, then, in the order in which the former ones ended (in one step:
 * scheduling order), those that follow another request.
 *
 * Turns. At an instant at which something happened, turns are taken as long as fewer batches than
 * the depth (1, with async_scheduling 2) are in flight and each schedules something. A turn that
 * schedules nothing is not a step. After it the engine waits for its oldest batch, whatever
 * arrives meanwhile; with none in flight it waits for anything, or, when the turn threw somebody
 * out, takes the next turn at once.
 *
 * Clients. A client that gives up at time t (abort_ns, timeout_ns, first_token_timeout_ns,
 * counted from the arrival) gets no token after t; a completion at t comes first. Its request
 * ends at t with the outcome of the limit that was reached (of several at one instant: timed_out
 * before aborted). The engine learns of it at its next turn: only then it leaves the running or
 * waiting list and its blocks are freed. Results that arrive in between, or later from a batch in
 * flight, are dropped.
 *
 * Answers. A request whose client asked for several answers is as many requests of the engine (is_sibling). In the lists of
 * a step each of them stands by itself, but for `finished`: there the first of them stands, once, when all have ended.
 *
 * Sources: docs/sources.md.
 */
#ifndef KVSIM_TESTS_REFERENCE_REF_H
#define KVSIM_TESTS_REFERENCE_REF_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 ref_i128;

#define REF_TICKS_PER_NS ((int64_t)1 << 20)
#define REF_NEVER ((int64_t)-1) /* a time that does not exist: never happened, or no limit */
#define REF_ID_BYTES 24

enum ref_policy { REF_FCFS, REF_PRIORITY };

/* Which of several running requests of one priority and arrival is thrown out. */
enum ref_tie { REF_TIE_LATEST, REF_TIE_FIRST };

/* Where blocks without a holder go. NEW: hashed to the tail, others to the head. OLD: all to the
 * tail. */
enum ref_free_order { REF_FREE_NEW, REF_FREE_OLD };

/* Which block without a holder loses its content first. LRU: the head of the free list. All others: a block without content
 * if there is one, else, in this order of questions,
 *   FIFO      the one first given back the longest ago
 *   LFU       the one hit least often, then given back the longest ago
 *   MRU       the one given back last
 *   FILO      the one first given back last
 *   PRIORITY  the one whose most urgent holder was least urgent, then given back the longest ago
 *   SLRU      one that was never hit rather than one that was, then given back the longest ago
 * and of those that one request gave back at once the one furthest behind in its tokens. Of a radix tree the same is asked of
 * whole leaves: when they were made, last used, how often requests added what they hold. */
enum ref_eviction {
    REF_EVICT_LRU,
    REF_EVICT_FIFO,
    REF_EVICT_LFU,
    REF_EVICT_MRU,
    REF_EVICT_FILO,
    REF_EVICT_PRIORITY,
    REF_EVICT_SLRU
};

/* A waiting request that exceeds the budget while chunking is off: end the turn, or try the next
 * one. */
enum ref_misfit { REF_MISFIT_STOP, REF_MISFIT_SKIP };

enum ref_kind { REF_VLLM_V1, REF_ORCA, REF_LLAMA_CPP };

/* Orca: what a request is promised when it is admitted. GROW: only that all could become as long as they may, blocks are
 * taken as tokens come. DOUBLE: the same, blocks of one token, always a power of two of them. KEEP_NOTHING: no memory, everything is computed again at each step. */
enum ref_reservation {
    REF_RESERVE_MAX,
    REF_RESERVE_POW2,
    REF_RESERVE_EXACT,
    REF_GROW,
    REF_DOUBLE,
    REF_KEEP_NOTHING
};

/* Orca: where a reservation lies. */
enum ref_allocator { REF_ALLOC_BLOCKS, REF_ALLOC_FIRST_FIT, REF_ALLOC_BEST_FIT, REF_ALLOC_BUDDY };

/* Which chunks a tier drops first. */
enum ref_tier_order { REF_TIER_LRU, REF_TIER_ARC };

/* What goes to the first tier, and when. */
enum ref_store {
    REF_STORE_FILLED, /* each chunk that a step fills */
    REF_STORE_ASKED,  /* of those what was asked for often enough */
    REF_STORE_USED,   /* of those what was filled or found in the pool often enough */
    REF_STORE_DROPPED /* each block that the pool drops; chunks are blocks */
};

enum ref_prefetch { REF_PREFETCH_NONE, REF_PREFETCH_EFFORT, REF_PREFETCH_WAIT, REF_PREFETCH_TIME };

struct ref_level {
    int64_t capacity_chunks; /* at least 1 */
    enum ref_tier_order order;
    int64_t latency_ticks; /* of a transfer; and of each of its blocks: */
    int64_t read_ticks, write_ticks;
    /* of the second: gets what the first one drops; else all that the first one stores */
    bool on_eviction;
};

/*
 * Memory behind the pool (V1 with prefix caching only), host and perhaps disk: chunks of whole blocks, found by their
 * content and all before it. Offloading as vLLM's connector does it, or (is_sync) with loads and stores that the step
 * waits for.
 */
struct ref_tier {
    int64_t chunk_blocks; /* 0 = no tier */
    int64_t count;        /* of levels: 1 or 2 */
    struct ref_level levels[2];
    enum ref_store store;
    int64_t store_threshold;
    bool prompt_only; /* answers are not stored */
    bool is_sync;
    bool reserves_for_prefills; /* a load leaves the blocks that unfinished prompts still need */
    bool by_cost;               /* loads only what is loaded faster than computed */
    /* Behind a radix tree: loads come layer by layer of so many, within the step; fewer tokens are not loaded. The order of
     * eviction is the tree's, store FILLED, USED or DROPPED. */
    int64_t load_layers, load_threshold;
    int64_t read_batch; /* pages: what is given up is read to the end of one */
    enum ref_prefetch prefetch;
    int64_t prefetch_threshold; /* tokens */
    int64_t prefetch_base_ticks, prefetch_ticks_per_1024, prefetch_most_ticks;
};

/* What layers see of their context; those of one kind share a block table. */
enum ref_table_kind { REF_TABLE_FULL, REF_TABLE_SLIDING, REF_TABLE_CHUNKED, REF_TABLE_STATE };

struct ref_table {
    enum ref_table_kind kind;
    int64_t window; /* tokens; sliding and chunked */
    bool keeps_all; /* an engine that knows no windows: blocks stay, the ledger tells */
    /* its blocks have so many times block_size tokens, each of so many times fewer bytes; 0 = 1 */
    int64_t factor;
};

#define REF_TABLES_MAX 8

struct ref_engine {
    enum ref_kind kind;
    struct ref_tier tier;
    enum ref_reservation reservation; /* this and the next two: Orca only */
    enum ref_allocator allocator;
    bool is_static; /* admits only while nothing runs */
    /* First and best fit: where enough is free for the head but no hole is long enough, reservations slide down to the end of
     * the one before them (or to 0), the lowest first, until the hole behind the last that moved is long enough. A step
     * lasts so many ticks longer for each token that its turn moved: of what had been computed by turns before. */
    bool compacts;
    int64_t ticks_per_moved_token;
    /* llama.cpp: max_num_seqs slots, blocks of one token (cells), num_blocks of them; divided evenly, or shared. A batch has
     * max_num_batched_tokens and is computed pass_tokens at a time (0 = at once). With a sliding_window there are as many
     * layers again that have it, in all cells or in rings of so many. */
    bool shares_cells;
    int64_t pass_tokens;
    int64_t similarity_num,
        similarity_den;             /* share of a prompt that the slot must keep more than */
    int64_t ring_cells;             /* of a stream; 0 = windows keep all cells */
    int64_t block_size;             /* tokens per block, at least 1 */
    int64_t num_blocks;             /* with the null block, which Orca does not have */
    int64_t max_model_len;          /* tokens */
    int64_t max_num_batched_tokens; /* tokens per step */
    int64_t max_num_seqs;
    int64_t long_prefill_token_threshold;    /* tokens; 0 = none */
    int64_t sliding_window;                  /* tokens; 0 = full attention */
    struct ref_table tables[REF_TABLES_MAX]; /* in place of sliding_window; V1 only */
    int64_t table_count;                     /* 0: one, as sliding_window says */
    /* Of a sliding window only what a sequence needs to start behind the last whole block before the prompt's last token,
     * or behind the longest beginning that any kind of table had when the request was looked up, if not all had it, is
     * hashed. */
    bool is_sparse;
    /* With a prefix cache, tables of states: the state at the end of a step's chunk lies in the block in which the chunk ends,
     * and is hashed where that is full. Chunks of a prompt end at block borders, see ref_turn.c. */
    bool caches_states;
    int64_t watermark_num; /* share of num_blocks kept free at admission, with watermark_den */
    int64_t watermark_den; /* 0 = no watermark */
    bool enable_chunked_prefill;
    bool scheduler_reserve_full_isl; /* admit only if the whole request fits now */
    bool async_scheduling;           /* two batches in flight */
    bool enable_prefix_caching;
    bool skip_startup_check; /* run although a request of max_model_len may not fit */
    bool count_every_lookup; /* v0.10: a lookup counts even if the request is not admitted */
    /* v0.10, priority: a victim that is already in the batch leaves it, but its tokens do not go back
     * to the budget and the loop's place is not corrected, so the next request misses the step. */
    bool preempt_keeps_budget;
    enum ref_policy policy;
    enum ref_tie priority_tie;
    enum ref_free_order free_order;
    enum ref_eviction eviction; /* other than LRU only with REF_FREE_NEW, or of a tree */
    /* prefix caching in a radix tree, see ref_radix.c; V1, one table, one tier at most */
    bool is_radix;
    enum ref_misfit unchunked_misfit;
};

/*
 * The shape of a step. A scheduled sequence is a decode if it computes one token, that token is
 * an output, and it emits one; all others are prefill. Contexts are KV tokens after the step, so
 * cached ones count.
 */
struct ref_shape {
    int64_t prefill_tokens, prefill_seqs;
    int64_t decode_seqs, decode_context_tokens;
    int64_t context_tokens;   /* over all scheduled sequences */
    int64_t scheduled_tokens; /* prefill_tokens + decode_seqs */
};

/* Duration of a step in ticks, at least 1. A function of the shape alone. */
typedef int64_t ref_ticks_fn(void *user, const struct ref_shape *shape);

/* fixed: a. affine: a + b * prefill_tokens + c * decode_seqs + d * context_tokens. All in ticks. */
struct ref_affine {
    int64_t a, b, c, d;
};

/* A run of consecutive token ids. */
struct ref_range {
    int64_t first, count;
};

struct ref_request_in {
    char id[REF_ID_BYTES];
    /* or, with after >= 0, ns between the end of that request and this arrival */
    int64_t arrival_ns;
    int64_t after;            /* index of an earlier request that this one follows, or -1 */
    int64_t prompt_tokens;    /* sum of the ranges where there are any */
    struct ref_range *ranges; /* content of the prompt; NULL = shared with nobody */
    int64_t range_count;
    int64_t output_tokens; /* what the model would write, at least 1 */
    int64_t max_tokens;    /* what the client allows, at least 1 */
    int64_t priority;      /* low first */
    int64_t class_index;   /* carried along only */
    int64_t abort_ns, timeout_ns,
        first_token_timeout_ns; /* after the arrival, above 0; REF_NEVER = none */
    /* Another answer to the request before it in the list (which may be one itself): the engine's own request, of the same
     * prompt, limits and priority, that comes right behind it. The client has one request: all go when it gives up, and it
     * is answered when the last one is. Only output_tokens differs; arrival_ns and after mean nothing here. */
    bool is_sibling;
};

struct ref_input {
    struct ref_engine engine;
    struct ref_affine step; /* used where ticks is NULL */
    ref_ticks_fn *ticks;    /* called with ticks_user */
    void *ticks_user;
    struct ref_request_in *requests; /* equal arrivals keep this order */
    int64_t request_count;
    int64_t step_limit; /* verdict REF_STUCK when it is reached; 0 = none */
};

enum ref_verdict {
    REF_DONE,
    REF_CANNOT_START, /* one request of max_model_len does not fit */
    REF_STUCK /* requests are left that no turn will ever schedule, or the step limit is reached */
};

enum ref_outcome { REF_PENDING, REF_COMPLETED, REF_REJECTED, REF_TIMED_OUT, REF_ABORTED };
enum ref_finish { REF_FINISH_NONE, REF_FINISH_STOP, REF_FINISH_LENGTH };

enum ref_line {
    REF_LOWER_BOUND,
    REF_BLOCK_ROUNDING,
    REF_RESERVED,
    REF_SHARED,
    REF_CACHED,
    REF_OUT_OF_WINDOW,
    REF_FRAGMENTED,
    REF_HELD_BACK,
    REF_FREE,
    REF_POOL,
    REF_LINES
};

struct ref_item {
    int64_t request; /* index into the input's requests */
    int64_t tokens;
};

/* One scheduled step; the state columns are those right after the decision. */
struct ref_step {
    int64_t sched_ns, start_ns, end_ns;
    ref_i128 sched_ticks, start_ticks, end_ticks;
    struct ref_shape shape;
    struct ref_item *scheduled; /* in scheduling order */
    int64_t scheduled_count;
    int64_t *admitted, admitted_count; /* request indices; resumed ones included */
    int64_t *preempted,
        preempted_count; /* those of turns that scheduled nothing, before this one, included */
    int64_t *finished, finished_count; /* completed by this step's results */
    int64_t running, waiting;          /* lengths of the engine's lists */
    int64_t free_blocks;               /* idle cached ones included, the null block not */
    int64_t used_blocks, cached_idle_blocks;
    int64_t ledger_tokens[REF_LINES];
    int64_t running_end, free_blocks_end; /* when the results are in, before the next decision */
};

/* Of one of several answers: outcome, arrival and finish are the client's, the rest is its own. */
struct ref_request_out {
    enum ref_outcome outcome;
    enum ref_finish finish;
    int64_t arrival_ns, first_scheduled_ns, first_token_ns,
        finish_ns; /* REF_NEVER where it did not happen */
    ref_i128 arrival_ticks, first_scheduled_ticks, first_token_ticks, finish_ticks;
    int64_t arrival_order; /* 0, 1, ... in order of arrival */
    int64_t output_tokens; /* delivered to the client */
    int64_t preemptions;
    int64_t cached_tokens;       /* hits at the first admission */
    int64_t cached_tokens_total; /* at all admissions */
    int64_t computed_tokens;     /* scheduled, lost ones included */
    int64_t recomputed_tokens;   /* computed at positions that had been computed or hit before */
};

/* Read: to the memory above; written: from it. */
struct ref_level_totals {
    int64_t read_blocks, written_blocks, reads, writes;
    ref_i128 read_ticks, write_ticks, read_wait_ticks, write_wait_ticks;
    int64_t added_chunks, evicted_chunks, held_chunks, peak_chunks, refused_stores;
    ref_i128 held_chunk_ticks;
};

struct ref_totals {
    int64_t steps, end_ns, busy_ns;
    int64_t finished, rejected, timed_out, aborted;
    int64_t output_tokens, computed_tokens, recomputed_tokens, cached_tokens, lookup_tokens;
    int64_t preemptions, peak_used_blocks, evicted_blocks;
    struct ref_level_totals levels[2];
    int64_t tier_asked_tokens, tier_hit_tokens; /* beyond the pool's own hits, at admissions */
    int64_t tier_below_tokens;                  /* of those hits: read up from the second level */
    int64_t declined_tokens, declined_count;    /* found, but not worth loading */
    int64_t refused_reads;
    ref_i128 load_wait_ticks; /* of loads, from when they could begin to their end */
    ref_i128 stall_ticks;     /* steps that waited for transfers */
    int64_t moved_tokens;
};

/*
 * Integrals over the whole run, from time 0 to the last event (the end of the last step
 * included), of value x ticks. Between two instants a value is the one after everything that
 * happened at the first. `waiting` counts from the arrival on; who has given up counts until the
 * engine learns of it.
 */
struct ref_integrals {
    ref_i128 ticks;
    ref_i128 running, waiting, used_blocks;
    ref_i128 context_tokens; /* computed tokens of the running requests */
    ref_i128 ledger_tokens[REF_LINES];
};

struct ref_output {
    enum ref_verdict verdict;
    char why[128]; /* of a verdict that is not REF_DONE */
    struct ref_step *steps;
    int64_t step_count;
    struct ref_request_out *requests; /* as many as the input has, in its order */
    int64_t request_count;
    struct ref_totals totals;
    struct ref_integrals integrals;
    ref_i128 end_ticks;
};

/*
 * Runs the scenario to its end. Returns 0, also with a verdict; -1 if the input makes no sense (a
 * count or length below its bound, a request after itself). The output is the caller's, to be
 * freed in either case. Memory that is not there ends the process.
 */
int ref_run(const struct ref_input *input, struct ref_output *output);
void ref_output_free(struct ref_output *output);

/* Engine defaults of vLLM V1's newest release with `block_size` 16; the pool and lengths stay 0. */
void ref_engine_defaults(struct ref_engine *engine);

/* The block tables that an engine keeps for each request. */
int64_t ref_engine_tables(const struct ref_engine *engine, struct ref_table tables[REF_TABLES_MAX]);

/* Tokens of a table's block, and those after which blocks of all tables begin together: what is found in a cache are such stretches. */
int64_t ref_table_size(const struct ref_engine *engine, const struct ref_table *table);
int64_t ref_period(const struct ref_engine *engine);
/* Bytes of a token in a table, and of a block of any table. */
int64_t ref_slot_bytes(const struct ref_engine *engine, const struct ref_table *table);
int64_t ref_block_bytes(const struct ref_engine *engine);

/* Blocks of all tables that a request of max_model_len is counted with. */
int64_t ref_longest_blocks(const struct ref_engine *engine);

/* A request with everything optional absent. */
void ref_request_defaults(struct ref_request_in *request);

/* Frees the requests and their ranges. */
void ref_input_free(struct ref_input *input);

const char *ref_outcome_name(enum ref_outcome outcome);
const char *ref_line_name(enum ref_line line);

#endif
