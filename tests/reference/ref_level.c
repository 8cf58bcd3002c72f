/*
 * One level of memory behind the pool: which chunks it holds and in which order it drops them. Lists that are searched.
 */
#include "reference/ref_int.h"

#include <stdlib.h>

void ref_level_release(struct ref_level_state *level)
{
    free(level->chunks);
    ref_list_free(&level->recent);
    ref_list_free(&level->frequent);
    ref_list_free(&level->recent_ghosts);
    ref_list_free(&level->frequent_ghosts);
    ref_list_free(&level->dropped);
}

struct ref_chunk *ref_level_find(const struct ref_level_state *level, int64_t link)
{
    for (int64_t i = 0; i < level->chunk_count; i++) {
        if (level->chunks[i].link == link) {
            return &level->chunks[i];
        }
    }
    return NULL;
}

void ref_level_count(struct ref_level_state *level, ref_i128 at)
{
    level->totals->held_chunk_ticks += (at - level->counted_at) * level->chunk_count;
    level->totals->held_chunks = level->chunk_count;
    level->counted_at = at;
}

static bool list_take_out(struct ref_list *list, int64_t value)
{
    const int64_t place = ref_list_find(list, value);
    if (place < 0) {
        return false;
    }
    ref_list_remove(list, place);
    return true;
}

static bool move_to_end(struct ref_list *list, int64_t value)
{
    const bool was_there = list_take_out(list, value);
    if (was_there) {
        ref_list_push(list, value);
    }
    return was_there;
}

static double at_least_one(double ratio)
{
    return ratio > 1 ? ratio : 1;
}

void ref_level_touch(struct ref_level_state *level, int64_t link)
{
    const double recent = (double)level->recent_ghosts.count;
    const double frequent = (double)level->frequent_ghosts.count;
    const double capacity = (double)level->engine->capacity_chunks;
    if (level->engine->order == REF_TIER_LRU) {
        move_to_end(&level->recent, link);
    } else if (ref_list_find(&level->recent, link) >= 0) {
        list_take_out(&level->recent, link);
        ref_list_push(ref_level_find(level, link)->is_ready ? &level->frequent : &level->recent,
                      link);
    } else if (move_to_end(&level->frequent, link)) {
        return;
    } else if (move_to_end(&level->recent_ghosts, link)) {
        const double target = level->recent_target + at_least_one(frequent / recent);
        level->recent_target = target < capacity ? target : capacity;
    } else if (move_to_end(&level->frequent_ghosts, link)) {
        const double target = level->recent_target - at_least_one(recent / frequent);
        level->recent_target = target > 0 ? target : 0;
    }
}

/* ---- eviction ---- */

static bool is_evictable(const struct ref_level_state *level, int64_t link,
                         const struct ref_list *spared)
{
    const struct ref_chunk *chunk = ref_level_find(level, link);
    return chunk->is_ready && chunk->readers == 0 && chunk->copiers == 0 &&
           ref_list_find(spared, link) < 0;
}

/* The first of a list that may go and was not chosen already, or -1. */
static int64_t first_evictable(const struct ref_level_state *level, const struct ref_list *list,
                               const struct ref_list *spared, const struct ref_list *chosen)
{
    for (int64_t i = 0; i < list->count; i++) {
        if (is_evictable(level, list->at[i], spared) && ref_list_find(chosen, list->at[i]) < 0) {
            return list->at[i];
        }
    }
    return -1;
}

static void drop_chunk(struct ref_level_state *level, int64_t link)
{
    struct ref_chunk *chunk = ref_level_find(level, link);
    level->chunk_count--;
    *chunk = level->chunks[level->chunk_count];
    if (list_take_out(&level->recent, link)) {
        ref_list_push(&level->recent_ghosts, link);
    } else {
        list_take_out(&level->frequent, link);
        ref_list_push(&level->frequent_ghosts, link);
    }
    level->totals->evicted_chunks++;
    ref_list_push(&level->dropped, link);
}

static void trim(struct ref_list *ghosts, int64_t capacity)
{
    while (ghosts->count > capacity) {
        ref_list_remove(ghosts, 0);
    }
}

/* All `count` or none. */
static bool evict(struct ref_level_state *level, int64_t count, const struct ref_list *spared)
{
    const bool is_lru = level->engine->order == REF_TIER_LRU;
    struct ref_list chosen = {0};
    int64_t recent = level->recent.count;
    bool found = true;
    while (found && chosen.count < count) {
        int64_t link = -1;
        if (is_lru || recent >= (int64_t)level->recent_target) {
            link = first_evictable(level, &level->recent, spared, &chosen);
            recent -= link >= 0;
        }
        if (link < 0 && !is_lru) {
            link = first_evictable(level, &level->frequent, spared, &chosen);
        }
        found = link >= 0;
        if (found) {
            ref_list_push(&chosen, link);
        }
    }
    for (int64_t i = 0; found && i < chosen.count; i++) {
        drop_chunk(level, chosen.at[i]);
    }
    trim(&level->recent_ghosts, is_lru ? 0 : level->engine->capacity_chunks);
    trim(&level->frequent_ghosts, is_lru ? 0 : level->engine->capacity_chunks);
    ref_list_free(&chosen);
    return found;
}

bool ref_level_offer(struct ref_level_state *level, const struct ref_list *links, ref_i128 at,
                     struct ref_list *added)
{
    level->dropped.count = 0;
    for (int64_t i = 0; i < links->count; i++) {
        if (ref_level_find(level, links->at[i]) == NULL) {
            ref_list_push(added, links->at[i]);
        }
    }
    ref_level_count(level, at);
    const int64_t excess = level->chunk_count + added->count - level->engine->capacity_chunks;
    if (added->count > 0 && excess > 0 && !evict(level, excess, links)) {
        level->totals->refused_stores++;
        added->count = 0;
        return false;
    }
    for (int64_t i = 0; i < added->count; i++) {
        const int64_t link = added->at[i];
        level->chunks =
            ref_resize(level->chunks, (size_t)level->chunk_count + 1, sizeof(*level->chunks));
        level->chunks[level->chunk_count++] = (struct ref_chunk){.link = link};
        ref_list_push(&level->recent, link);
        list_take_out(&level->recent_ghosts, link);
        list_take_out(&level->frequent_ghosts, link);
    }
    level->totals->added_chunks += added->count;
    if (level->chunk_count > level->totals->peak_chunks) {
        level->totals->peak_chunks = level->chunk_count;
    }
    return true;
}
