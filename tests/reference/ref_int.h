/*
 * ref_int.h - what the files of the reference share: the pool of blocks and the state of a run.
 */
#ifndef KVSIM_TESTS_REFERENCE_REF_INT_H
#define KVSIM_TESTS_REFERENCE_REF_INT_H

#include <stddef.h>

#include "reference/ref.h"

#define REF_NO_SLOT ((int64_t)-1)
#define REF_NO_BLOCK ((int64_t)-1) /* the null block in a request's table */

/* ---- memory that is there, or the process ends ---- */

void *ref_alloc(size_t count, size_t bytes);             /* zeroed */
void *ref_resize(void *old, size_t count, size_t bytes); /* content kept, the rest undefined */

struct ref_list {
    int64_t *at;
    int64_t count, room;
};

void ref_list_push(struct ref_list *list, int64_t value);
void ref_list_insert(struct ref_list *list, int64_t place, int64_t value);
void ref_list_remove(struct ref_list *list, int64_t place);
int64_t ref_list_find(const struct ref_list *list, int64_t value); /* place, or -1 */
void ref_list_free(struct ref_list *list);

/* ---- the pool ---- */

/* One link of a hash chain: a full block and all that came before. Equal content, equal link. */
struct ref_link {
    int64_t parent; /* -1 = first block of a sequence */
    int64_t *tokens;
};

struct ref_block {
    int64_t holders;
    int64_t link;      /* what it holds, or -1 when it is not hashed */
    int64_t table;     /* and of which block table */
    int64_t part;      /* a link may be several blocks of a table */
    int64_t hashed_at; /* count of hashings before; the oldest of equal content is hit */
    /* in the tokens of whoever hashed it, in blocks; this and the rest: of what it holds */
    int64_t position;
    int64_t hits;
    int64_t priority;                          /* the lowest of all its holders */
    int64_t first_given_back, last_given_back; /* counts of releases; 0 = never */
};

struct ref_pool {
    int64_t block_size; /* tokens of a link */
    enum ref_free_order free_order;
    struct ref_block *blocks; /* without the null block */
    int64_t block_count;
    struct ref_list free; /* head = index 0 = next to be handed out */
    struct ref_link *links;
    int64_t link_count;
    int64_t hashings, evicted;
    int64_t dropped_link;  /* what the block taken last held, or -1 */
    int64_t dropped_table; /* of which table */
    enum ref_eviction eviction;
    int64_t releases; /* by one request, of any number of blocks */
    int64_t
        head_place; /* where the next block without content goes of those that come back together */
};

void ref_pool_init(struct ref_pool *pool, const struct ref_engine *engine);
void ref_pool_release(struct ref_pool *pool);

/* The link of `tokens` (block_size of them) behind `parent`, made when it is new. */
int64_t ref_pool_link(struct ref_pool *pool, int64_t parent, const int64_t *tokens);

/* The oldest block of a table that carries a part of a link, or REF_NO_BLOCK. */
int64_t ref_pool_find(const struct ref_pool *pool, int64_t table, int64_t link, int64_t part);

int64_t ref_pool_take(struct ref_pool *pool); /* the next one; there is one */
/* A hit: one holder more. */
void ref_pool_touch(struct ref_pool *pool, int64_t block, int64_t priority);
/* Blocks that are dropped from here on come back together: at the head of the queue the first of them lies first. */
void ref_pool_begin_drops(struct ref_pool *pool);
void ref_pool_drop(struct ref_pool *pool, int64_t block); /* one holder less */
/* The block of a table holds a part of a link from now on, the `position`th of its holder's, whose priority is `priority`. */
void ref_pool_hash(struct ref_pool *pool, int64_t block, int64_t table, int64_t link, int64_t part,
                   int64_t position, int64_t priority);
int64_t ref_pool_idle_cached(const struct ref_pool *pool);

/* ---- the tiers ---- */

enum { REF_HOST, REF_DISK };

struct ref_chunk {
    /* of its last block: its content and all before it; and its table, see ref_tier.c */
    int64_t link;
    bool is_ready;
    int64_t readers; /* transfers to the memory above under way */
    int64_t copiers; /* to the disk */
};

struct ref_level_state {
    const struct ref_level *engine;
    struct ref_level_totals *totals;
    struct ref_chunk *chunks;
    int64_t chunk_count;
    /* Links, the least recently used first. lru: recent alone. arc: recent = asked for once, frequent; and ghosts. */
    struct ref_list recent, frequent, recent_ghosts, frequent_ghosts;
    double recent_target;
    struct ref_list dropped; /* for the last offer */
    ref_i128 read_free_at, write_free_at;
    ref_i128 counted_at; /* the integral of what is held goes up to here */
};

struct ref_node;

enum ref_transfer_kind { REF_LOAD, REF_UP, REF_DOWN, REF_STORE };

struct ref_transfer {
    enum ref_transfer_kind kind;
    bool is_done;
    int64_t request;
    struct ref_list links;   /* the chunks' */
    struct ref_list blocks;  /* of the pool: where a store reads */
    struct ref_node **nodes; /* of a tree: ends of the paths that it locks */
    int64_t node_count;
    struct ref_list
        node_links; /* of a write-back to be copied further: how many of the links are of each node */
    int64_t block_count;
    bool is_write_back; /* a store of what the pool drops */
    bool in_host;       /* of UP: the host keeps them; of DOWN: the host has them still */
    int64_t arrived;    /* of UP and DOWN: chunks */
    ref_i128 not_before;
    bool is_submitted;
    ref_i128 could_ticks, begin_ticks, end_ticks; /* once it is submitted */
};

struct ref_tier_state {
    struct ref_level_state levels[2];
    struct ref_list asked; /* links, as often as each was asked for or used */
    struct ref_transfer *transfers;
    int64_t transfer_count;
    int64_t flush; /* transfer that the coming step must wait for, or -1 */
};

/* ---- slots and cells ---- */

struct ref_cell {
    int64_t slot; /* whose token it holds, or REF_NO_SLOT */
    int64_t position, token;
};

struct ref_slot {
    int64_t request; /* that it serves, or REF_NO_SLOT */
    int64_t last_release;
    struct ref_list ring; /* positions that its window still has */
};

struct ref_slots {
    struct ref_slot *at;
    int64_t count;
    struct ref_cell *cells;
    int64_t cell_count;
    int64_t releases;
    int64_t peak_tokens; /* of requests that are served */
};

/* ---- the radix tree ---- */

struct ref_tree {
    struct ref_node *root;
    int64_t clock;
    int64_t copied;          /* pages, by the entry under way */
    struct ref_node *source; /* the lowest node that they are of */
};

/* A level alone: ref_level.c. */
void ref_level_release(struct ref_level_state *level);
struct ref_chunk *ref_level_find(const struct ref_level_state *level, int64_t link);
void ref_level_touch(struct ref_level_state *level, int64_t link);
/* Makes room for those that are not there and adds them, pending, to the level and to `added`. All of them or nothing. */
bool ref_level_offer(struct ref_level_state *level, const struct ref_list *links, ref_i128 at,
                     struct ref_list *added);
/* The integral of what is held, up to `at`. */
void ref_level_count(struct ref_level_state *level, ref_i128 at);

/* ---- the run ---- */

enum ref_load { REF_NOT_LOADED, REF_LOADING, REF_LOADED };

enum ref_where { REF_OUTSIDE, REF_WAITING, REF_RUNNING, REF_OVER };

struct ref_request {
    const struct ref_request_in *in;
    struct ref_request_out *out;
    enum ref_where where;
    bool gone; /* the client has given up, the engine does not know it yet */
    int64_t index;
    int64_t outputs;      /* tokens delivered */
    int64_t computed;     /* tokens whose KV is there, those of batches in flight included */
    int64_t placeholders; /* tokens that batches in flight will emit */
    int64_t slot;         /* llama.cpp: that serves it, or REF_NO_SLOT */
    int64_t life; /* counts preemptions: a batch in flight of a former life owes no placeholder */
    int64_t highest;                        /* end of the positions ever computed or hit */
    int64_t hashed_blocks;                  /* leading blocks that are hashed, or null */
    struct ref_list blocks[REF_TABLES_MAX]; /* by table; a state has its one block */
    struct ref_list links; /* hash chain of the full blocks, as far as it was asked for */
    int64_t last_state[REF_TABLES_MAX]; /* place of the state before the newest one, or -1 */
    /* tokens that some tables had at the last look-up, and others not; 0 = none */
    int64_t junction;
    enum ref_load load;    /* LOADED: holds what was loaded and waits to be admitted */
    bool load_is_done;     /* the transfer has ended, the request was not looked at since */
    int64_t load_to;       /* tokens in the cache once it is */
    bool was_admitted;     /* or its load was begun */
    int64_t stored_chunks; /* leading ones that were offered to the tier */
    int64_t used_chunks;   /* leading ones whose use was counted */
    int64_t hit_chunks;    /* at its last look, in pool and tiers */
    bool was_prefetched;   /* or there was nothing to fetch */
    ref_i128 prefetch_until;
    int64_t below_tokens, declined_tokens; /* of the last look */
    ref_i128 due_ticks;                    /* arrival; valid once posted */
    int64_t due_order;                     /* order of posting, ties of due_ticks */
    bool posted;
    /* With a radix tree: */
    struct ref_list found;         /* pages of the last look-up */
    int64_t found_idle;            /* of them, locked by nobody */
    int64_t found_host;            /* behind them, in host memory */
    struct ref_node *node;         /* where its path in the tree ends */
    bool is_locked;                /* it has locked that path */
    struct ref_node *fetch_behind; /* what is read up for it goes there; NULL: nothing is */
    bool fetch_is_lost;            /* that node has gone */
    int64_t fetch_pages, fetch_transfer;
    int64_t in_tree;        /* its leading pages that the tree holds */
    int64_t prefill_tokens; /* as it was admitted */
    int64_t entered_tokens; /* of them, added or found */
    int64_t hashed_tokens;  /* computed and known */
};

struct ref_batch_item {
    int64_t request, tokens, life;
    bool emits;
};

struct ref_batch {
    struct ref_batch_item *items;
    int64_t count, room;
    int64_t step; /* index of its row */
    ref_i128 end_ticks;
};

struct ref_state {
    const struct ref_input *input;
    const struct ref_engine *engine;
    struct ref_table tables[REF_TABLES_MAX];
    int64_t table_count;
    struct ref_output *output;
    struct ref_pool pool;
    struct ref_request *requests;
    struct ref_tier_state tier;
    struct ref_tree tree;
    struct ref_slots slots;
    struct ref_list running, waiting; /* request indices; waiting: head = 0 */
    /* waiting too: loading, loaded or put off by the tier; fcfs: before all others */
    struct ref_list aside;
    struct ref_batch in_flight[2]; /* oldest first */
    int64_t in_flight_count;
    bool waits_for_oldest;      /* the last turn was empty with a batch in flight */
    struct ref_list preempted;  /* since the last row */
    struct ref_list new_states; /* links of the states that the turn under way has hashed */
    ref_i128 now, last_end;
    int64_t arrivals, postings;
    int64_t step_room;         /* rows that there is memory for */
    int64_t fragmented_blocks; /* as of the last turn */
};

/* What one turn has decided so far. */
struct ref_turn {
    struct ref_batch batch;
    struct ref_list admitted;
    struct ref_list failed; /* the engine gave them up */
    int64_t budget;
    int64_t moved_tokens;
    bool preempted_any;
};

int64_t ref_ceil_div(int64_t a, int64_t b);
int64_t ref_step_ticks(const struct ref_input *input, const struct ref_shape *shape);

/* The first of the answers to the same client, and the end of them. */
int64_t ref_first_answer(const struct ref_input *input, int64_t index);
int64_t ref_end_of_answers(const struct ref_input *input, int64_t index);

/* True when `a` is served first under priority. */
bool ref_goes_before(const struct ref_request *a, const struct ref_request *b);

/* Tokens of a request: prompt and delivered outputs. */
int64_t ref_request_tokens(const struct ref_request *request);

/* Tokens that batches in flight compute for this life of a request. */
int64_t ref_request_in_flight(const struct ref_state *state, const struct ref_request *request);

/* Puts a request among the waiting: at the tail (or the front) under fcfs, at its rank under
 * priority. */
void ref_waiting_put(struct ref_state *state, struct ref_request *request, bool front);

/* Makes sure that the chain of the first `count` full blocks is known. */
void ref_request_chain(struct ref_state *state, struct ref_request *request, int64_t count);

/* Does a table keep states that a prefix cache finds? */
/* Blocks of a table that a link stands for. */
int64_t ref_blocks_of_link(const struct ref_state *state, int64_t t);
bool ref_caches_states(const struct ref_state *state, int64_t t);

/* Hashes the full blocks of the first `tokens` tokens that are not hashed yet. */
void ref_request_hash(struct ref_state *state, struct ref_request *request, int64_t tokens);

/* Out of the queue, wherever it stands there. */
void ref_waiting_remove(struct ref_state *state, const struct ref_request *request);

/* Gives all blocks of a request back; `has_ended`: it does not come back. */
void ref_request_release(struct ref_state *state, struct ref_request *request, bool has_ended);

/* The id of the token at a position. */
int64_t ref_request_token(const struct ref_state *state, const struct ref_request *request,
                          int64_t position);

/* Blocks that a running request may take. */
int64_t ref_free_blocks(const struct ref_state *state);

/* ---- the radix tree: see ref_radix.c ---- */

void ref_tree_init(struct ref_state *state);
void ref_tree_release(struct ref_state *state);
/* Pages found, `most` at most; kept in the request. */
int64_t ref_tree_lookup(struct ref_state *state, struct ref_request *request, int64_t most);
/* The request holds what was found; `is_loaded`: what lies in host memory too, for which pages are taken. */
void ref_tree_admit(struct ref_state *state, struct ref_request *request, bool is_loaded);
/* What has been computed of prompts since the last turn is added, in running order. */
void ref_tree_enter_all(struct ref_state *state);
/* A request gives its pages back, to the pool or, at its end, to the tree. */
void ref_tree_leave(struct ref_state *state, struct ref_request *request, bool has_ended);
/* One leaf goes; there is one. */
void ref_tree_evict(struct ref_state *state);
/* Pages in the tree that nobody has locked; 0 without a tree. */
int64_t ref_tree_idle(const struct ref_state *state);
/* Pages in the tree that transfers alone have locked. */
int64_t ref_tree_pinned(const struct ref_state *state);
void ref_tree_unpin(struct ref_node *node);
void ref_tree_unpin_host(struct ref_node *node);
/* What only the disk has of a request that has arrived is read up. */
void ref_tree_prefetch(struct ref_state *state, struct ref_request *request);
/* A look at it: false while it has to wait for that. What has come is in the tree then. */
bool ref_tree_end_prefetch(struct ref_state *state, struct ref_request *request);
/* It goes before that. */
void ref_tree_drop_prefetch(struct ref_state *state, struct ref_request *request);
/* A block that may be taken, once a leaf has gone if there is none; there is one. */
int64_t ref_take_block(struct ref_state *state);

/* Leading blocks of a table that no token from position `computed` on can see. */
int64_t ref_blocks_out_of_window(const struct ref_engine *engine, const struct ref_table *table,
                                 int64_t computed);

/* Phases 1 and 2 of the scheduler; adds to state->preempted. */
void ref_turn_decide(struct ref_state *state, struct ref_turn *turn);

/* ---- the tier: see ref_tier.c ---- */

bool ref_tier_exists(const struct ref_state *state);
void ref_tier_begin(struct ref_state *state);
void ref_tier_release(struct ref_state *state);
/* Transfers that have ended by now are seen. */
void ref_tier_settle(struct ref_state *state);
/* Tokens that the tier has beyond the pool's hits; -1: ask again later. */
int64_t ref_tier_ask(struct ref_state *state, struct ref_request *request, int64_t hit_blocks);
/* The chunks behind `hit_tokens` up to `end` are to be loaded. */
void ref_tier_load(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                   int64_t end);
/* It is taken behind `hit_tokens` and `loaded_tokens`. */
void ref_tier_taken(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                    int64_t loaded_tokens);
/* A waiting request whose content is yet to be asked for below, behind its `hit_blocks`. */
void ref_tier_prefetch(struct ref_state *state, struct ref_request *request, int64_t hit_blocks);
/* The end of the run. */
void ref_tier_end(struct ref_state *state);
/* A block of the pool is used anew: what still reads it must end first. */
void ref_tier_reuse(struct ref_state *state, int64_t block);
/* The pool has dropped a block with this content. */
void ref_tier_dropped(struct ref_state *state, int64_t table, int64_t link);
/* After a decision: what of the batch is to be stored. */
void ref_tier_store(struct ref_state *state, const struct ref_turn *turn);
/* When a step decided now ends: transfers are put on the links. */
ref_i128 ref_tier_launch(struct ref_state *state, ref_i128 start, int64_t ticks);
/* The same for a turn that schedules nothing. */
void ref_tier_launch_nothing(struct ref_state *state);
/* With a tree: what the entry under way has copied, from `at` on; what the turn loads down to a node; what a leaf that goes
 * leaves in host memory. */
void ref_tier_store_pages(struct ref_state *state, struct ref_request *request, ref_i128 at);
/* Pages of a request from `first` to `end` that the disk has in a row are read up, if they are enough: returns how many. */
int64_t ref_tier_read_pages(struct ref_state *state, struct ref_request *request, int64_t first,
                            int64_t end);
/* By cost: whether pages found in host memory behind `hit_tokens` are loaded. */
bool ref_tier_loads_pages(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                          int64_t pages);
/* Gives up room for pages. */
void ref_tier_give_room(struct ref_state *state, int64_t pages);
/* Pages above and including a node. */
int64_t ref_tree_depth(const struct ref_state *state, const struct ref_node *node);
void ref_tree_pin_host(struct ref_node *node);
void ref_tier_load_pages(struct ref_state *state, struct ref_node *node, int64_t pages);
void ref_tier_write_pages(struct ref_state *state, struct ref_node *node, int64_t pages);
/* Nobody waits for a read from the disk any more. */
void ref_tier_give_up(struct ref_state *state, int64_t index);
/* The host loses pages; a node goes whatever needs it. */
void ref_tier_lose_pages(struct ref_state *state, int64_t pages);
void ref_tier_forget_node(struct ref_state *state, const struct ref_node *node);
/* The links of a node's pages. */
void ref_tree_links(struct ref_state *state, const struct ref_node *node, struct ref_list *links);
/* Room for so many more pages in host memory; `evict` lets a piece of it go and returns its pages, 0: none can. */
bool ref_tier_take_room(struct ref_state *state, int64_t pages,
                        int64_t (*evict)(struct ref_state *state));
/* The next end of a transfer that an idle engine wakes up for. False if there is none. */
bool ref_tier_next(const struct ref_state *state, ref_i128 *at);
/* Blocks that loads under way write to. */
int64_t ref_tier_loading_blocks(const struct ref_state *state);

/* Several tables or windows behind a tier: ref_tier_tables.c. Up to which token something is found; `scope`: in either level,
 * in the host alone, or for a prefetch; `not_yet`: part of it is on its way. */
enum ref_scope { REF_SCOPE_ALL, REF_SCOPE_HOST, REF_SCOPE_PREFETCH };
int64_t ref_tables_find(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                        enum ref_scope scope, bool *not_yet);
/* The keys of the chunks from which it takes what it needs to go on behind `to`; returns how many blocks of them. */
int64_t ref_tables_wanted(struct ref_state *state, struct ref_request *request, int64_t hit_tokens,
                          int64_t to, struct ref_list *keys);
/* The first chunk of a table that is touched with a request. */
int64_t ref_tables_touched_from(const struct ref_state *state, const struct ref_request *request,
                                int64_t t);
bool ref_tables_matter(const struct ref_state *state);
/* What a chunk is known by, in a table. */
int64_t ref_chunk_key(const struct ref_state *state, const struct ref_request *request, int64_t t,
                      int64_t chunk);

/* The same, and the ledger and the rule at the start, for Orca. */
void ref_orca_decide(struct ref_state *state, struct ref_turn *turn);
void ref_orca_ledger(const struct ref_state *state, int64_t lines[REF_LINES]);
bool ref_orca_can_start(const struct ref_engine *engine);

/* The same for llama.cpp, see ref_slots.c; and how long a batch takes, pass by pass, which has been counted as computed. */
void ref_slots_begin(struct ref_state *state);
void ref_slots_release(struct ref_state *state);
void ref_slots_decide(struct ref_state *state, struct ref_turn *turn);
void ref_slots_leave(struct ref_state *state, struct ref_request *request);
void ref_slots_ledger(const struct ref_state *state, int64_t lines[REF_LINES]);
int64_t ref_slots_kept(const struct ref_state *state);
int64_t ref_slots_ticks(const struct ref_state *state, const struct ref_batch *batch);

/* The ledger at this instant, in tokens. */
void ref_ledger_count(const struct ref_state *state, int64_t lines[REF_LINES]);

/* Most blocks of one table that a request is counted with at admission. */
int64_t ref_admission_cap(const struct ref_engine *engine, const struct ref_table *table);

#endif
