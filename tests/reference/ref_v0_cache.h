/*
 * ref_v0_cache.h - the prefix cache of vLLM V0 block by block: what a block has in it, who found it last, whom to drop.
 *
 * A content is the first tokens of somebody's array, compared token by token. All looking is looking through all blocks.
 */
#ifndef KVSIM_TESTS_REFERENCE_REF_V0_CACHE_H
#define KVSIM_TESTS_REFERENCE_REF_V0_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct ref_v0_block {
    int64_t holders;
    const int64_t *tokens; /* NULL: no content that could be found */
    int64_t end;           /* the content: so many tokens, from the first on */
    bool is_computed;      /* while it has holders; an idle one is */
    int64_t
        used; /* given back by a sequence that this step scheduled last; 0: by none since it is held */
    int64_t released;
};

struct ref_v0_cache {
    struct ref_v0_block *blocks;
    int64_t count, block_size, releases, evicted;
};

/* An empty block, or the one that is dropped; there is one. */
int64_t ref_v0_cache_take(struct ref_v0_cache *cache);
/* A block is full: the one that the sequence has from now on. */
int64_t ref_v0_cache_fill(struct ref_v0_cache *cache, int64_t block, const int64_t *tokens,
                          int64_t end);
/* A full block of a new table. */
int64_t ref_v0_cache_add(struct ref_v0_cache *cache, const int64_t *tokens, int64_t end);
/* A table is given back, of a sequence that a step scheduled last as number `used`; 0: it goes elsewhere. */
void ref_v0_cache_free(struct ref_v0_cache *cache, const int64_t *table, int64_t blocks,
                       int64_t used);
/* Of `blocks` full ones: how many the engine's halving finds computed. */
int64_t ref_v0_cache_find(const struct ref_v0_cache *cache, const int64_t *tokens, int64_t blocks);
/* A step is decided: all that is there counts as computed from now on. */
void ref_v0_cache_compute(struct ref_v0_cache *cache);
/* Of a sequence's full blocks those that nobody has, or nobody holds. */
int64_t ref_v0_cache_missing(const struct ref_v0_cache *cache, const int64_t *tokens,
                             int64_t blocks);
int64_t ref_v0_cache_free_blocks(const struct ref_v0_cache *cache);
/* Idle blocks with content. */
int64_t ref_v0_cache_idle(const struct ref_v0_cache *cache);

#endif
