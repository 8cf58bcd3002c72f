#include "reference/ref_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *ref_alloc(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "reference: out of memory\n");
        abort();
    }
    return memory;
}

void *ref_resize(void *old, size_t count, size_t bytes)
{
    void *memory = realloc(old, (count > 0 ? count : 1) * bytes);
    if (memory == NULL) {
        fprintf(stderr, "reference: out of memory\n");
        abort();
    }
    return memory;
}

void ref_list_push(struct ref_list *list, int64_t value)
{
    ref_list_insert(list, list->count, value);
}

void ref_list_insert(struct ref_list *list, int64_t place, int64_t value)
{
    if (list->count == list->room) {
        list->room = list->room * 2 + 8;
        list->at = ref_resize(list->at, (size_t)list->room, sizeof(*list->at));
    }
    memmove(&list->at[place + 1], &list->at[place],
            (size_t)(list->count - place) * sizeof(*list->at));
    list->at[place] = value;
    list->count++;
}

void ref_list_remove(struct ref_list *list, int64_t place)
{
    list->count--;
    memmove(&list->at[place], &list->at[place + 1],
            (size_t)(list->count - place) * sizeof(*list->at));
}

int64_t ref_list_find(const struct ref_list *list, int64_t value)
{
    for (int64_t i = 0; i < list->count; i++) {
        if (list->at[i] == value) {
            return i;
        }
    }
    return -1;
}

void ref_list_free(struct ref_list *list)
{
    free(list->at);
    *list = (struct ref_list){0};
}

void ref_pool_init(struct ref_pool *pool, const struct ref_engine *engine)
{
    *pool = (struct ref_pool){.block_size = ref_period(engine),
                              .free_order = engine->free_order,
                              .eviction = engine->eviction,
                              .block_count =
                                  engine->num_blocks - (engine->kind == REF_VLLM_V1 ? 1 : 0)};
    pool->blocks = ref_alloc((size_t)pool->block_count, sizeof(*pool->blocks));
    for (int64_t i = 0; i < pool->block_count; i++) {
        pool->blocks[i].link = -1;
        ref_list_push(&pool->free, i);
    }
}

void ref_pool_release(struct ref_pool *pool)
{
    for (int64_t i = 0; i < pool->link_count; i++) {
        free(pool->links[i].tokens);
    }
    free(pool->links);
    free(pool->blocks);
    ref_list_free(&pool->free);
}

int64_t ref_pool_link(struct ref_pool *pool, int64_t parent, const int64_t *tokens)
{
    const size_t bytes = (size_t)pool->block_size * sizeof(*tokens);
    for (int64_t i = 0; i < pool->link_count; i++) {
        if (pool->links[i].parent == parent && memcmp(pool->links[i].tokens, tokens, bytes) == 0) {
            return i;
        }
    }
    pool->links = ref_resize(pool->links, (size_t)pool->link_count + 1, sizeof(*pool->links));
    struct ref_link *link = &pool->links[pool->link_count];
    link->parent = parent;
    link->tokens = ref_alloc((size_t)pool->block_size, sizeof(*tokens));
    memcpy(link->tokens, tokens, bytes);
    return pool->link_count++;
}

int64_t ref_pool_find(const struct ref_pool *pool, int64_t table, int64_t link, int64_t part)
{
    int64_t oldest = REF_NO_BLOCK;
    for (int64_t i = 0; i < pool->block_count; i++) {
        if (pool->blocks[i].link == link && pool->blocks[i].table == table &&
            pool->blocks[i].part == part &&
            (oldest == REF_NO_BLOCK ||
             pool->blocks[i].hashed_at < pool->blocks[oldest].hashed_at)) {
            oldest = i;
        }
    }
    return oldest;
}

/* Is block a evicted before block b? Not asked under LRU, where the list says it. */
static bool goes_first(const struct ref_pool *pool, int64_t a, int64_t b)
{
    const struct ref_block *x = &pool->blocks[a];
    const struct ref_block *y = &pool->blocks[b];
    if (x->link < 0 || y->link < 0) {
        return x->link < 0 && y->link >= 0;
    }
    if (pool->eviction == REF_EVICT_LFU && x->hits != y->hits) {
        return x->hits < y->hits;
    }
    if (pool->eviction == REF_EVICT_PRIORITY && x->priority != y->priority) {
        return x->priority > y->priority;
    }
    if (pool->eviction == REF_EVICT_SLRU && (x->hits == 0) != (y->hits == 0)) {
        return x->hits == 0;
    }
    const bool by_first = pool->eviction == REF_EVICT_FIFO || pool->eviction == REF_EVICT_FILO;
    const int64_t since_x = by_first ? x->first_given_back : x->last_given_back;
    const int64_t since_y = by_first ? y->first_given_back : y->last_given_back;
    if (since_x != since_y) {
        const bool newest = pool->eviction == REF_EVICT_MRU || pool->eviction == REF_EVICT_FILO;
        return newest ? since_x > since_y : since_x < since_y;
    }
    return x->position > y->position;
}

int64_t ref_pool_take(struct ref_pool *pool)
{
    if (pool->free.count == 0) {
        fprintf(stderr, "reference: a block was taken from an empty pool\n");
        abort();
    }
    int64_t place = 0;
    for (int64_t i = 1; i < pool->free.count && pool->eviction != REF_EVICT_LRU; i++) {
        if (goes_first(pool, pool->free.at[i], pool->free.at[place])) {
            place = i;
        }
    }
    const int64_t block = pool->free.at[place];
    ref_list_remove(&pool->free, place);
    pool->dropped_link = pool->blocks[block].link;
    pool->dropped_table = pool->blocks[block].table;
    if (pool->blocks[block].link >= 0) {
        pool->blocks[block].link = -1;
        pool->evicted++;
    }
    pool->blocks[block].holders = 1;
    return block;
}

void ref_pool_touch(struct ref_pool *pool, int64_t block, int64_t priority)
{
    pool->blocks[block].hits++;
    if (priority < pool->blocks[block].priority) {
        pool->blocks[block].priority = priority;
    }
    if (pool->blocks[block].holders == 0) {
        ref_list_remove(&pool->free, ref_list_find(&pool->free, block));
    }
    pool->blocks[block].holders++;
}

void ref_pool_drop(struct ref_pool *pool, int64_t block)
{
    if (pool->blocks[block].holders <= 0) {
        fprintf(stderr, "reference: a block was given back twice\n");
        abort();
    }
    pool->blocks[block].holders--;
    if (pool->blocks[block].holders > 0) {
        return;
    }
    pool->blocks[block].last_given_back = pool->releases;
    if (pool->blocks[block].first_given_back == 0) {
        pool->blocks[block].first_given_back = pool->releases;
    }
    const bool to_head = pool->free_order == REF_FREE_NEW && pool->blocks[block].link < 0;
    ref_list_insert(&pool->free, to_head ? pool->head_place++ : pool->free.count, block);
}

void ref_pool_begin_drops(struct ref_pool *pool)
{
    pool->head_place = 0;
}

void ref_pool_hash(struct ref_pool *pool, int64_t block, int64_t table, int64_t link, int64_t part,
                   int64_t position, int64_t priority)
{
    pool->blocks[block].link = link;
    pool->blocks[block].table = table;
    pool->blocks[block].part = part;
    pool->blocks[block].hashed_at = pool->hashings++;
    pool->blocks[block].position = position;
    pool->blocks[block].priority = priority;
    pool->blocks[block].hits = 0;
    pool->blocks[block].first_given_back = 0;
}

int64_t ref_pool_idle_cached(const struct ref_pool *pool)
{
    int64_t count = 0;
    for (int64_t i = 0; i < pool->free.count; i++) {
        count += pool->blocks[pool->free.at[i]].link >= 0;
    }
    return count;
}
