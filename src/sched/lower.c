#include "sched/lower.h"

#include "base/error.h"
#include "base/mem.h"
#include "sched/seq.h"

/* ---- a tier over time ---- */

void sched_tier_init(struct sched_tier *tier, const struct sched_tier_option *option)
{
    *tier = (struct sched_tier){.held_peak = 0};
    kv_tier_init(&tier->chunks, option->order, option->capacity_chunks);
}

base_i128 sched_tier_held(const struct sched_tier *tier, base_i128 at)
{
    return tier->held_chunk_ticks + (at - tier->held_since) * (base_i128)tier->held_chunks;
}

void sched_tier_note(struct sched_tier *tier, int64_t held_chunks, base_i128 at)
{
    tier->held_chunk_ticks = sched_tier_held(tier, at);
    tier->held_since = at;
    tier->held_chunks = held_chunks;
    tier->held_peak = held_chunks > tier->held_peak ? held_chunks : tier->held_peak;
}

bool sched_tier_offer(struct sched_tier *tier, const struct base_hash *keys, int64_t count,
                      int64_t threshold, base_i128 at, struct kv_chunks *out,
                      struct kv_places *places)
{
    bool fits = kv_tier_offer(&tier->chunks, keys, count, threshold, out, places);
    sched_tier_note(tier, kv_tier_chunk_count(&tier->chunks), at);
    return fits;
}

/* ---- copies ---- */

void sched_lower_init(struct sched_lower *lower, const struct sched_tier_options *options)
{
    *lower = (struct sched_lower){.exists = options->count > 1};
    base_pool_init(&lower->copies, sizeof(struct sched_copy));
    if (!lower->exists) {
        return;
    }
    const struct sched_tier_option *option = &options->at[1];
    sched_tier_init(&lower->tier, option);
    lower->on_eviction = option->on_eviction;
    lower->chunk_blocks = options->chunk_blocks;
    lower->read_link = (struct kv_link){.latency_ticks = option->latency_ticks,
                                        .ticks_per_block = option->read_ticks_per_block};
    lower->write_link = (struct kv_link){.latency_ticks = option->latency_ticks,
                                         .ticks_per_block = option->write_ticks_per_block};
}

static void copy_drop_head(struct sched_lower *lower, struct sched_copies *list)
{
    struct sched_copy *copy = list->head;
    list->head = copy->next;
    list->tail = list->head == NULL ? NULL : list->tail;
    base_vec_free(&copy->upper);
    base_vec_free(&copy->lower);
    base_pool_give(&lower->copies, copy);
}

void sched_lower_release(struct sched_lower *lower)
{
    while (lower->reads.head != NULL) {
        copy_drop_head(lower, &lower->reads);
    }
    while (lower->writes.head != NULL) {
        copy_drop_head(lower, &lower->writes);
    }
    base_pool_release(&lower->copies);
    base_vec_free(&lower->keys);
    base_vec_free(&lower->found);
    base_vec_free(&lower->places);
    if (lower->exists) {
        kv_tier_release(&lower->tier.chunks);
    }
}

// Of the chunks in `lower->found`.
static struct sched_copy *copy_new(struct sched_lower *lower, struct sched_copies *list,
                                   struct kv_link *link, base_i128 at)
{
    struct sched_copy *copy = base_pool_take(&lower->copies);
    *(list->tail != NULL ? &list->tail->next : &list->head) = copy;
    list->tail = copy;
    copy->chunks = (int64_t)lower->found.count;
    copy->chunk_ticks = lower->chunk_blocks * link->ticks_per_block;
    base_i128 begin = kv_link_send(link, at, copy->chunks * lower->chunk_blocks);
    copy->next_ticks = begin + link->latency_ticks + copy->chunk_ticks;
    for (size_t i = 0; i < lower->found.count; i++) {
        base_vec_push(&copy->lower, lower->found.at[i]);
    }
    return copy;
}

static bool offer_keys(struct sched_lower *lower, base_i128 at)
{
    return lower->keys.count > 0 &&
           sched_tier_offer(&lower->tier, lower->keys.at, (int64_t)lower->keys.count, 0, at,
                            &lower->found, &lower->places) &&
           lower->found.count > 0;
}

void sched_lower_write_through(struct sched_lower *lower, struct kv_tier *upper,
                               const struct kv_chunks *stored, base_i128 at)
{
    lower->keys.count = 0;
    for (size_t i = 0; i < stored->count; i++) {
        base_vec_push(&lower->keys, stored->at[i]->key);
    }
    if (!offer_keys(lower, at)) {
        return;
    }
    struct sched_copy *copy = copy_new(lower, &lower->writes, &lower->write_link, at);
    for (size_t i = 0; i < lower->places.count; i++) {
        struct kv_chunk *chunk = stored->at[lower->places.at[i]];
        kv_tier_begin_copy(upper, chunk);
        base_vec_push(&copy->upper, chunk);
    }
}

struct sched_copy *sched_lower_write_keys(struct sched_lower *lower, const struct kv_keys *keys,
                                          base_i128 at)
{
    lower->keys.count = 0;
    for (size_t i = 0; i < keys->count; i++) {
        base_vec_push(&lower->keys, keys->at[i]);
    }
    if (!offer_keys(lower, at)) {
        return NULL;
    }
    struct sched_copy *copy = copy_new(lower, &lower->writes, &lower->write_link, at);
    return copy;
}

base_i128 sched_lower_demote(struct sched_lower *lower, const struct kv_tier *upper, base_i128 at)
{
    lower->keys.count = 0;
    for (size_t i = 0; i < upper->dropped.count; i++) {
        base_vec_push(&lower->keys, upper->dropped.at[i]);
    }
    if (!offer_keys(lower, at)) {
        return 0;
    }
    copy_new(lower, &lower->writes, &lower->write_link, at);
    return lower->write_link.free_ticks;
}

base_i128 sched_lower_read(struct sched_lower *lower, const struct kv_chunks *upper, base_i128 at)
{
    struct sched_copy *copy = copy_new(lower, &lower->reads, &lower->read_link, at);
    for (size_t i = 0; i < upper->count; i++) {
        base_vec_push(&copy->upper, upper->at[i]);
    }
    return lower->read_link.free_ticks;
}

/* ---- time ---- */

static const struct sched_copies *next_list(const struct sched_lower *lower)
{
    const struct sched_copy *read = lower->reads.head, *write = lower->writes.head;
    bool write_first = read == NULL || (write != NULL && write->next_ticks < read->next_ticks);
    return write_first ? &lower->writes : &lower->reads;
}

bool sched_lower_next(const struct sched_lower *lower, base_i128 *at)
{
    const struct sched_copy *copy = next_list(lower)->head;
    if (copy != NULL) {
        *at = copy->next_ticks;
    }
    return copy != NULL;
}

struct kv_node *sched_lower_arrive(struct sched_lower *lower, struct kv_tier *upper)
{
    bool is_read = next_list(lower) == &lower->reads;
    struct sched_copies *list = is_read ? &lower->reads : &lower->writes;
    struct sched_copy *copy = list->head;
    struct kv_chunk *below = copy->lower.at[copy->done];
    struct kv_chunk *above = copy->upper.count > 0 ? copy->upper.at[copy->done] : NULL;
    if (is_read) {
        kv_tier_unpin(&lower->tier.chunks, below);
        if (above != NULL) {
            kv_tier_set_ready(upper, above);
        }
        if (copy->reader != NULL) {
            copy->reader->prefetch_arrived++;
        }
    } else {
        kv_tier_set_ready(&lower->tier.chunks, below);
        if (above != NULL) {
            kv_tier_end_copy(upper, above);
        }
    }
    copy->next_ticks += copy->chunk_ticks;
    if ((int64_t)++copy->done < copy->chunks) {
        return NULL;
    }
    struct kv_node *node = copy->node;
    if (copy->reader != NULL) {
        copy->reader->prefetch_copy = NULL;
    }
    copy_drop_head(lower, list);
    return node;
}

static bool end_of(const struct sched_copy *copy, base_i128 *at)
{
    if (copy == NULL) {
        return false;
    }
    base_i128 left = (base_i128)(copy->chunks - 1 - (int64_t)copy->done);
    *at = copy->next_ticks + left * copy->chunk_ticks;
    return true;
}

bool sched_lower_next_end(const struct sched_lower *lower, base_i128 *at)
{
    base_i128 read = 0, write = 0;
    bool reads = end_of(lower->reads.head, &read), writes = end_of(lower->writes.head, &write);
    if (reads || writes) {
        *at = !writes || (reads && read < write) ? read : write;
    }
    return reads || writes;
}
