/*
 * lower.h - the tier below the first: what is copied down to it and back, and when each chunk has arrived.
 *
 * Copies between the two tiers do not pass the GPU: they begin when they are decided, or when what they copy is there, and
 * each direction has its link. A copy hands over chunk by chunk. Written down is what the upper tier has just stored
 * (`write_through`) or what it drops (`on_eviction`); whatever takes that place in the upper tier then waits until it is
 * written. What was read stays below as well.
 *
 * Nothing here happens at a turn: sched_lower_settle() is told instants in the order of time, so that a look at the tiers
 * finds the same whenever the last look was.
 */
#ifndef KVSIM_SCHED_LOWER_H
#define KVSIM_SCHED_LOWER_H

#include "base/i128.h"
#include "base/pool.h"
#include "kv/link.h"
#include "kv/tier.h"

struct sched_tier_option;
struct sched_tier_options;

/* A tier and what it has held, as an integral over time. */
struct sched_tier {
    struct kv_tier chunks;
    base_i128 held_chunk_ticks, held_since;
    int64_t held_chunks, held_peak;
};

/* `level`: the first one or the one below. */
void sched_tier_init(struct sched_tier *tier, const struct sched_tier_option *option,
                     struct kv_stock *stock, uint32_t tables, uint32_t level);
/* It holds so many chunks from `at` on. */
void sched_tier_note(struct sched_tier *tier, int64_t held_chunks, base_i128 at);
/* kv_tier_offer() at an instant. */
bool sched_tier_offer(struct sched_tier *tier, const struct kv_pieces *offered, int64_t threshold,
                      base_i128 at, struct kv_pieces *out);
/* The integral up to `at`. */
base_i128 sched_tier_held(const struct sched_tier *tier, base_i128 at);

struct sched_seq_offload;
struct kv_radix_pin;

/* The next chunk of pieces that are gone through one by one. */
struct sched_place {
    size_t piece;
    int64_t passed; /* chunks of it */
};

/* Chunks on their way between the tiers; one of the lists may be empty: nothing there waits for them. */
struct sched_copy {
    struct sched_copy *next;
    struct kv_pieces upper, lower; /* held */
    struct sched_place next_upper, next_lower;
    int64_t done;
    base_i128 from_ticks; /* when it could begin */
    base_i128 next_ticks; /* when the next chunk has arrived */
    int64_t chunk_ticks;
    int64_t chunks;
    /* Behind a radix tree: what is written; for whom is read, while he waits. */
    struct kv_radix_pin *pin;
    struct sched_seq_offload *reader;
};

struct sched_copies {
    struct sched_copy *head, *tail;
};

struct sched_lower {
    bool exists, on_eviction;
    int64_t chunk_blocks;
    struct sched_tier tier;
    struct kv_link read_link, write_link;
    struct sched_copies reads, writes;
    struct base_pool copies;
    struct kv_pieces found;  /* scratch: that the last offer has added, */
    struct kv_pieces pinned; /* and that are pinned for the next read */
};

void sched_lower_init(struct sched_lower *lower, const struct sched_tier_options *options,
                      struct kv_stock *stock, uint32_t tables);
void sched_lower_release(struct sched_lower *lower);

/* The upper tier has stored these at `at`: those that are not below are copied down. */
void sched_lower_write_through(struct sched_lower *lower, struct kv_tier *upper,
                               const struct kv_pieces *stored, base_i128 at);
/* The same for what a radix tree has put into host memory: returns the copy, NULL where nothing is missing below. */
struct sched_copy *sched_lower_write(struct sched_lower *lower, const struct kv_pieces *stored,
                                     base_i128 at);
/* The upper tier has dropped these for its last offer. Returns when the last of them is written; 0: nothing is. */
base_i128 sched_lower_demote(struct sched_lower *lower, const struct kv_tier *upper, base_i128 at);
/*
 * Reads what is in `lower->pinned` up from `at` on. `upper`: the upper tier's places for them, pending; empty: nobody keeps
 * them there. Returns when the last one has arrived.
 */
base_i128 sched_lower_read(struct sched_lower *lower, const struct kv_pieces *upper, base_i128 at);

/*
 * Nobody wants what is read for a radix tree any more, at `now`: it goes on to the end of the batch of so many chunks that is being
 * read, or does not begin. Those behind it begin earlier, and who waits for all of one of them waits no longer than for that.
 */
void sched_lower_give_up(struct sched_lower *lower, struct sched_copy *copy, int64_t batch,
                         base_i128 now);

/* When the next chunk arrives by a copy; false: no copy is under way. */
bool sched_lower_next(const struct sched_lower *lower, base_i128 *at);
/* That chunk, reads first at equal times, and those that follow it in the same copy by `until`. Returns the pin of what has
 * been written with them, or NULL. */
struct kv_radix_pin *sched_lower_arrive(struct sched_lower *lower, struct kv_tier *upper,
                                        base_i128 until);
/* When the first copies of either kind that are under way will have ended; false: there is none. */
bool sched_lower_next_end(const struct sched_lower *lower, base_i128 *at);

#endif
