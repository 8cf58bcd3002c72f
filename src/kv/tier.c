#include "kv/tier.h"

#include "base/error.h"

/* Keys whose count is remembered (vLLM, max_tracker_size). */
enum { ASKED_MAX = 64000 };

/* ---- the map ---- */

static size_t slot_of(const struct kv_tier *tier, const struct base_hash *key)
{
    return (size_t)(key->a & (tier->map_capacity - 1));
}

static void map_put(struct kv_tier *tier, struct kv_chunk *entry)
{
    size_t slot = slot_of(tier, &entry->key);
    entry->map_next = tier->map[slot];
    tier->map[slot] = entry;
}

static void map_grow(struct kv_tier *tier)
{
    struct kv_chunk **old = tier->map;
    size_t old_capacity = tier->map_capacity;
    tier->map_capacity = old_capacity == 0 ? 256 : old_capacity * 2;
    tier->map = base_alloc(base_mul_size(tier->map_capacity, sizeof *tier->map));
    for (size_t i = 0; i < old_capacity; i++) {
        for (struct kv_chunk *entry = old[i], *next; entry != NULL; entry = next) {
            next = entry->map_next;
            map_put(tier, entry);
        }
    }
    base_free(old);
}

static void map_drop(struct kv_tier *tier, const struct kv_chunk *entry)
{
    struct kv_chunk **at = &tier->map[slot_of(tier, &entry->key)];
    while (*at != entry) {
        at = &(*at)->map_next;
    }
    *at = entry->map_next;
}

// Chunks and ghosts are one kind of entry, counts another.
static struct kv_chunk *find_entry(const struct kv_tier *tier, const struct base_hash *key,
                                   bool is_count)
{
    struct kv_chunk *entry = tier->map_capacity > 0 ? tier->map[slot_of(tier, key)] : NULL;
    while (entry != NULL && (entry->key.a != key->a || entry->key.b != key->b ||
                             (entry->list == KV_TIER_ASKED) != is_count)) {
        entry = entry->map_next;
    }
    return entry;
}

/* ---- runs ---- */

bool kv_tier_run_is_whole(const struct kv_tier *tier, const struct kv_run *run)
{
    return run->stamp != 0 && tier->runs[run->stamp % KV_TIER_RUNS] == run->stamp;
}

// The entry moves without the others of its run.
static void break_run(struct kv_tier *tier, struct kv_chunk *entry)
{
    uint64_t *whole = &tier->runs[entry->run % KV_TIER_RUNS];
    if (entry->run != 0 && *whole == entry->run) {
        *whole = 0;
    }
    entry->run = 0;
}

void kv_run_release(struct kv_run *run)
{
    base_vec_free(&run->missing);
}

/* ---- lists ---- */

static void list_remove(struct kv_tier *tier, struct kv_chunk *entry)
{
    break_run(tier, entry);
    struct kv_chunk_list *list = &tier->lists[entry->list];
    *(entry->older != NULL ? &entry->older->younger : &list->oldest) = entry->younger;
    *(entry->younger != NULL ? &entry->younger->older : &list->youngest) = entry->older;
    entry->older = entry->younger = NULL;
    list->count--;
}

static void list_push(struct kv_tier *tier, struct kv_chunk *entry, enum kv_tier_list which)
{
    struct kv_chunk_list *list = &tier->lists[which];
    entry->list = which;
    entry->older = list->youngest;
    entry->younger = NULL;
    *(entry->older != NULL ? &entry->older->younger : &list->oldest) = entry;
    list->youngest = entry;
    list->count++;
}

static void move_to(struct kv_tier *tier, struct kv_chunk *entry, enum kv_tier_list which)
{
    list_remove(tier, entry);
    list_push(tier, entry, which);
}

static struct kv_chunk *entry_new(struct kv_tier *tier, const struct base_hash *key,
                                  enum kv_tier_list which)
{
    struct kv_chunk *entry = base_pool_take(&tier->entries);
    entry->key = *key;
    if (tier->entry_count++ >= tier->map_capacity) {
        map_grow(tier);
    }
    map_put(tier, entry);
    list_push(tier, entry, which);
    return entry;
}

static void entry_drop(struct kv_tier *tier, struct kv_chunk *entry)
{
    list_remove(tier, entry);
    map_drop(tier, entry);
    base_pool_give(&tier->entries, entry);
    tier->entry_count--;
}

/* ---- interface ---- */

void kv_tier_init(struct kv_tier *tier, enum kv_tier_order order, int64_t capacity)
{
    *tier = (struct kv_tier){.order = order, .capacity = capacity};
    base_pool_init(&tier->entries, sizeof(struct kv_chunk));
}

void kv_tier_release(struct kv_tier *tier)
{
    base_free(tier->map);
    base_vec_free(&tier->victims);
    base_vec_free(&tier->dropped);
    base_pool_release(&tier->entries);
}

static bool is_held(const struct kv_chunk *entry)
{
    return entry->list == KV_TIER_RECENT || entry->list == KV_TIER_FREQUENT;
}

struct kv_chunk *kv_tier_find(const struct kv_tier *tier, const struct base_hash *key)
{
    struct kv_chunk *entry = find_entry(tier, key, false);
    return entry != NULL && is_held(entry) ? entry : NULL;
}

static double at_least_one(double ratio)
{
    return ratio > 1 ? ratio : 1;
}

// A ghost that is asked for: its list was cut too short.
static void learn(struct kv_tier *tier, enum kv_tier_list ghosts)
{
    double recent = (double)tier->lists[KV_TIER_RECENT_GHOST].count;
    double frequent = (double)tier->lists[KV_TIER_FREQUENT_GHOST].count;
    if (ghosts == KV_TIER_RECENT_GHOST) {
        tier->recent_target += at_least_one(frequent / recent);
    } else {
        tier->recent_target -= at_least_one(recent / frequent);
    }
    tier->recent_target = tier->recent_target > 0 ? tier->recent_target : 0;
    if (tier->recent_target > (double)tier->capacity) {
        tier->recent_target = (double)tier->capacity;
    }
}

// arc
static void touch(struct kv_tier *tier, const struct base_hash *key)
{
    struct kv_chunk *entry = find_entry(tier, key, false);
    if (entry == NULL) {
        return;
    }
    // One that is still being stored was not asked for twice.
    bool is_promoted = entry->list == KV_TIER_RECENT && entry->is_ready;
    if (!is_held(entry)) {
        learn(tier, entry->list);
    }
    move_to(tier, entry, is_promoted ? KV_TIER_FREQUENT : entry->list);
}

// Entries that follow each other become the youngest, in the order that they have.
static void move_run(struct kv_chunk_list *list, struct kv_chunk *first, struct kv_chunk *last)
{
    struct kv_chunk *before = first->older, *after = last->younger;
    if (after == NULL) {
        return;
    }
    *(before != NULL ? &before->younger : &list->oldest) = after;
    after->older = before;
    first->older = list->youngest;
    list->youngest->younger = first;
    last->younger = NULL;
    list->youngest = last;
}

static bool is_of(const struct kv_chunk *entry, const struct base_hash *key)
{
    return entry != NULL && entry->key.a == key->a && entry->key.b == key->b;
}

static void join_run(struct kv_tier *tier, struct kv_chunk *chunk, uint64_t stamp)
{
    break_run(tier, chunk);
    chunk->run = stamp;
}

// What was touched together lies together, so most is moved in one piece. `run`, if there is one, becomes what was touched.
static void touch_runs(struct kv_tier *tier, const struct base_hash *keys, int64_t count,
                       struct kv_run *run)
{
    uint64_t stamp = run != NULL ? run->stamp : 0;
    for (int64_t i = count - 1; i >= 0;) {
        int64_t at = i--;
        struct kv_chunk *first = find_entry(tier, &keys[at], false), *last = first;
        if (first == NULL) {
            if (run != NULL) {
                base_vec_push(&run->missing, at);
            }
            continue;
        }
        join_run(tier, first, stamp);
        while (i >= 0 && is_of(last->younger, &keys[i])) {
            last = last->younger;
            join_run(tier, last, stamp);
            i--;
        }
        move_run(&tier->lists[KV_TIER_RECENT], first, last);
        if (run != NULL) {
            run->first = run->first != NULL ? run->first : first;
            run->last = last;
        }
    }
}

// All that was there is there in a row, and nothing else has come.
static bool is_as_it_was(const struct kv_tier *tier, const struct base_hash *keys, int64_t count,
                         const struct kv_run *run)
{
    if (run->keys != count || !kv_tier_run_is_whole(tier, run)) {
        return false;
    }
    for (size_t i = 0; i < run->missing.count; i++) {
        if (find_entry(tier, &keys[run->missing.at[i]], false) != NULL) {
            return false;
        }
    }
    return true;
}

void kv_tier_touch_run(struct kv_tier *tier, const struct base_hash *keys, int64_t count,
                       struct kv_run *run)
{
    if (tier->order != KV_TIER_LRU) {
        kv_tier_touch(tier, keys, count);
        return;
    }
    if (is_as_it_was(tier, keys, count, run)) {
        if (run->first != NULL) {
            move_run(&tier->lists[KV_TIER_RECENT], run->first, run->last);
        }
        return;
    }
    run->stamp = ++tier->run_count;
    run->first = run->last = NULL;
    run->keys = count;
    run->missing.count = 0;
    touch_runs(tier, keys, count, run);
    tier->runs[run->stamp % KV_TIER_RUNS] = run->stamp;
}

void kv_tier_touch(struct kv_tier *tier, const struct base_hash *keys, int64_t count)
{
    if (tier->order == KV_TIER_LRU) {
        touch_runs(tier, keys, count, NULL);
        return;
    }
    for (int64_t i = count - 1; i >= 0; i--) {
        touch(tier, &keys[i]);
    }
}

void kv_tier_count_asked(struct kv_tier *tier, const struct base_hash *keys, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        struct kv_chunk *entry = find_entry(tier, &keys[i], true);
        if (entry != NULL) {
            move_to(tier, entry, KV_TIER_ASKED);
        } else {
            if (tier->lists[KV_TIER_ASKED].count == ASKED_MAX) {
                entry_drop(tier, tier->lists[KV_TIER_ASKED].oldest);
            }
            entry = entry_new(tier, &keys[i], KV_TIER_ASKED);
        }
        entry->asked++;
    }
}

/* ---- eviction ---- */

static bool is_idle(const struct kv_chunk *chunk)
{
    return chunk->is_ready && chunk->readers == 0 && chunk->copiers == 0;
}

static bool may_go(const struct kv_tier *tier, const struct kv_chunk *chunk)
{
    return is_idle(chunk) && chunk->spared != tier->stamp;
}

// The first of a list, from *at on, that may go; *at moves behind it.
static struct kv_chunk *next_victim(const struct kv_tier *tier, struct kv_chunk **at)
{
    struct kv_chunk *chunk = *at;
    while (chunk != NULL && !may_go(tier, chunk)) {
        chunk = chunk->younger;
    }
    *at = chunk != NULL ? chunk->younger : NULL;
    return chunk;
}

static bool choose_victims(struct kv_tier *tier, int64_t count)
{
    struct kv_chunk *recent = tier->lists[KV_TIER_RECENT].oldest;
    struct kv_chunk *frequent = tier->lists[KV_TIER_FREQUENT].oldest;
    int64_t recent_count = tier->lists[KV_TIER_RECENT].count;
    tier->victims.count = 0;
    while ((int64_t)tier->victims.count < count) {
        struct kv_chunk *chunk = NULL;
        if (tier->order == KV_TIER_LRU || recent_count >= (int64_t)tier->recent_target) {
            chunk = next_victim(tier, &recent);
            recent_count -= chunk != NULL ? 1 : 0;
        }
        if (chunk == NULL) {
            chunk = next_victim(tier, &frequent);
        }
        if (chunk == NULL) {
            return false;
        }
        base_vec_push(&tier->victims, chunk);
    }
    return true;
}

static void trim(struct kv_tier *tier, enum kv_tier_list ghosts)
{
    while (tier->lists[ghosts].count > tier->capacity) {
        entry_drop(tier, tier->lists[ghosts].oldest);
    }
}

static void let_go(struct kv_tier *tier, struct kv_chunk *chunk)
{
    tier->evictable--;
    tier->evicted_chunks++;
    base_vec_push(&tier->dropped, chunk->key);
    if (tier->order == KV_TIER_LRU) {
        entry_drop(tier, chunk);
        return;
    }
    move_to(tier, chunk,
            chunk->list == KV_TIER_RECENT ? KV_TIER_RECENT_GHOST : KV_TIER_FREQUENT_GHOST);
}

static bool make_room(struct kv_tier *tier, int64_t count)
{
    if (count > tier->evictable || !choose_victims(tier, count)) {
        tier->refused_stores++;
        return false;
    }
    for (size_t i = 0; i < tier->victims.count; i++) {
        let_go(tier, tier->victims.at[i]);
    }
    trim(tier, KV_TIER_RECENT_GHOST);
    trim(tier, KV_TIER_FREQUENT_GHOST);
    return true;
}

static bool is_wanted(const struct kv_tier *tier, const struct base_hash *key, int64_t threshold)
{
    if (threshold <= 1) {
        return true;
    }
    const struct kv_chunk *count = find_entry(tier, key, true);
    return count != NULL && count->asked >= threshold;
}

static struct kv_chunk *add_pending(struct kv_tier *tier, const struct base_hash *key)
{
    struct kv_chunk *chunk = find_entry(tier, key, false);
    if (chunk == NULL) {
        return entry_new(tier, key, KV_TIER_RECENT);
    }
    move_to(tier, chunk, KV_TIER_RECENT);
    chunk->is_ready = false;
    return chunk;
}

bool kv_tier_offer(struct kv_tier *tier, const struct base_hash *keys, int64_t count,
                   int64_t threshold, struct kv_chunks *out, struct kv_places *places)
{
    out->count = places->count = tier->dropped.count = 0;
    tier->stamp++;
    for (int64_t i = 0; i < count; i++) {
        if (!is_wanted(tier, &keys[i], threshold)) {
            continue;
        }
        struct kv_chunk *chunk = kv_tier_find(tier, &keys[i]);
        if (chunk == NULL) {
            base_vec_push(places, i);
        } else {
            chunk->spared = tier->stamp; // what is offered does not make room for itself
        }
    }
    int64_t excess = kv_tier_chunk_count(tier) + (int64_t)places->count - tier->capacity;
    if (places->count > 0 && excess > 0 && !make_room(tier, excess)) {
        return false;
    }
    for (size_t i = 0; i < places->count; i++) {
        base_vec_push(out, add_pending(tier, &keys[places->at[i]]));
    }
    tier->added_chunks += (int64_t)places->count;
    return true;
}

void kv_tier_set_ready(struct kv_tier *tier, struct kv_chunk *chunk)
{
    base_require(is_held(chunk) && !chunk->is_ready);
    chunk->is_ready = true;
    tier->evictable++;
}

// One user more or less of a kind; a chunk that is used cannot go.
static void use(struct kv_tier *tier, struct kv_chunk *chunk, int32_t *users, int32_t change)
{
    base_require(is_held(chunk) && chunk->is_ready && *users + change >= 0);
    bool was_idle = is_idle(chunk);
    *users += change;
    tier->evictable += (is_idle(chunk) ? 1 : 0) - (was_idle ? 1 : 0);
}

void kv_tier_pin(struct kv_tier *tier, struct kv_chunk *chunk)
{
    use(tier, chunk, &chunk->readers, 1);
}

void kv_tier_unpin(struct kv_tier *tier, struct kv_chunk *chunk)
{
    use(tier, chunk, &chunk->readers, -1);
}

void kv_tier_begin_copy(struct kv_tier *tier, struct kv_chunk *chunk)
{
    use(tier, chunk, &chunk->copiers, 1);
}

void kv_tier_end_copy(struct kv_tier *tier, struct kv_chunk *chunk)
{
    use(tier, chunk, &chunk->copiers, -1);
}
