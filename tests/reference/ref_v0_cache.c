#include "reference/ref_v0_cache.h"

#include <stdlib.h>
#include <string.h>

static int64_t twin_of(const struct ref_v0_cache *cache, const int64_t *tokens, int64_t end)
{
    for (int64_t b = 0; b < cache->count; b++) {
        const struct ref_v0_block *block = &cache->blocks[b];
        if (block->tokens != NULL && block->end == end &&
            memcmp(block->tokens, tokens, (size_t)end * sizeof *tokens) == 0) {
            return b;
        }
    }
    return -1;
}

static bool goes_before(const struct ref_v0_block *a, const struct ref_v0_block *b)
{
    if (a->used != b->used) {
        return a->used < b->used;
    }
    return a->end != b->end ? a->end > b->end : a->released < b->released;
}

static void hold(struct ref_v0_block *block)
{
    block->used = block->holders == 0 ? 0 : block->used;
    block->holders++;
}

int64_t ref_v0_cache_take(struct ref_v0_cache *cache)
{
    int64_t first = -1;
    for (int64_t b = 0; b < cache->count; b++) {
        struct ref_v0_block *block = &cache->blocks[b];
        if (block->holders == 0 && block->tokens == NULL) {
            hold(block);
            return b;
        }
        if (block->holders == 0 && (first < 0 || goes_before(block, &cache->blocks[first]))) {
            first = b;
        }
    }
    if (first < 0) {
        abort();
    }
    cache->blocks[first] = (struct ref_v0_block){.holders = 1};
    cache->evicted++;
    return first;
}

int64_t ref_v0_cache_fill(struct ref_v0_cache *cache, int64_t block, const int64_t *tokens,
                          int64_t end)
{
    int64_t twin = twin_of(cache, tokens, end);
    if (twin < 0) {
        cache->blocks[block].tokens = tokens;
        cache->blocks[block].end = end;
        cache->blocks[block].is_computed = false;
        return block;
    }
    cache->blocks[block].holders--;
    hold(&cache->blocks[twin]);
    return twin;
}

int64_t ref_v0_cache_add(struct ref_v0_cache *cache, const int64_t *tokens, int64_t end)
{
    int64_t twin = twin_of(cache, tokens, end);
    if (twin < 0) {
        return ref_v0_cache_fill(cache, ref_v0_cache_take(cache), tokens, end);
    }
    hold(&cache->blocks[twin]);
    return twin;
}

void ref_v0_cache_free(struct ref_v0_cache *cache, const int64_t *table, int64_t blocks,
                       int64_t used)
{
    cache->releases++;
    for (int64_t i = 0; i < blocks; i++) {
        struct ref_v0_block *block = &cache->blocks[table[i]];
        block->used = used > 0 ? used : block->used;
        if (--block->holders == 0) {
            block->released = cache->releases;
            block->is_computed = true;
        }
    }
}

int64_t ref_v0_cache_find(const struct ref_v0_cache *cache, const int64_t *tokens, int64_t blocks)
{
    int64_t low = 0, high = blocks;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        int64_t twin = twin_of(cache, tokens, (middle + 1) * cache->block_size);
        if (twin >= 0 && cache->blocks[twin].is_computed) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void ref_v0_cache_compute(struct ref_v0_cache *cache)
{
    for (int64_t b = 0; b < cache->count; b++) {
        cache->blocks[b].is_computed = true;
    }
}

int64_t ref_v0_cache_missing(const struct ref_v0_cache *cache, const int64_t *tokens,
                             int64_t blocks)
{
    int64_t missing = 0;
    for (int64_t i = 1; i <= blocks; i++) {
        int64_t twin = twin_of(cache, tokens, i * cache->block_size);
        missing += twin < 0 || cache->blocks[twin].holders == 0 ? 1 : 0;
    }
    return missing;
}

int64_t ref_v0_cache_free_blocks(const struct ref_v0_cache *cache)
{
    int64_t count = 0;
    for (int64_t b = 0; b < cache->count; b++) {
        count += cache->blocks[b].holders == 0 ? 1 : 0;
    }
    return count;
}

int64_t ref_v0_cache_idle(const struct ref_v0_cache *cache)
{
    int64_t idle = 0;
    for (int64_t b = 0; b < cache->count; b++) {
        idle += cache->blocks[b].holders == 0 && cache->blocks[b].tokens != NULL ? 1 : 0;
    }
    return idle;
}
