#include "sched/lower.h"

#include "base/count.h"
#include "base/error.h"
#include "base/mem.h"
#include "sched/options.h"
#include "sched/seq.h"

/* ---- a tier over time ---- */

void sched_tier_init(struct sched_tier *tier, const struct sched_tier_option *option,
                     struct kv_stock *stock, uint32_t tables, uint32_t level)
{
    *tier = (struct sched_tier){.held_peak = 0};
    kv_tier_init(&tier->chunks, stock, tables, level * kv_tier_planes(tables), option->order,
                 option->capacity_chunks);
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

bool sched_tier_offer(struct sched_tier *tier, const struct kv_pieces *offered, int64_t threshold,
                      base_i128 at, struct kv_pieces *out)
{
    bool fits = kv_tier_offer(&tier->chunks, offered, threshold, out);
    sched_tier_note(tier, kv_tier_chunk_count(&tier->chunks), at);
    return fits;
}

/* ---- copies ---- */

void sched_lower_init(struct sched_lower *lower, const struct sched_tier_options *options,
                      struct kv_stock *stock, uint32_t tables)
{
    *lower = (struct sched_lower){.exists = options->count > 1};
    base_pool_init(&lower->copies, sizeof(struct sched_copy));
    if (!lower->exists) {
        return;
    }
    const struct sched_tier_option *option = &options->at[1];
    sched_tier_init(&lower->tier, option, stock, tables, 1);
    lower->on_eviction = option->on_eviction;
    lower->chunk_blocks = options->chunk_blocks;
    lower->read_link = (struct kv_link){.latency_ticks = option->latency_ticks,
                                        .ticks_per_block = option->read_ticks_per_block};
    lower->write_link = (struct kv_link){.latency_ticks = option->latency_ticks,
                                         .ticks_per_block = option->write_ticks_per_block};
}

// The one behind `before`; NULL: the first one.
static void copy_drop(struct sched_lower *lower, struct sched_copies *list,
                      struct sched_copy *before)
{
    struct sched_copy **at = before != NULL ? &before->next : &list->head, *copy = *at;
    kv_pieces_forget(lower->tier.chunks.stock, &copy->upper);
    kv_pieces_forget(lower->tier.chunks.stock, &copy->lower);
    *at = copy->next;
    list->tail = copy->next == NULL ? before : list->tail;
    base_vec_free(&copy->upper);
    base_vec_free(&copy->lower);
    base_pool_give(&lower->copies, copy);
}

void sched_lower_release(struct sched_lower *lower)
{
    while (lower->reads.head != NULL) {
        copy_drop(lower, &lower->reads, NULL);
    }
    while (lower->writes.head != NULL) {
        copy_drop(lower, &lower->writes, NULL);
    }
    base_pool_release(&lower->copies);
    base_vec_free(&lower->found);
    base_vec_free(&lower->pinned);
    if (lower->exists) {
        kv_tier_release(&lower->tier.chunks);
    }
}

static void keep_all(struct kv_pieces *kept, const struct kv_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        kv_pieces_keep(kept, &pieces->at[i]);
    }
}

static struct sched_copy *copy_new(struct sched_lower *lower, struct sched_copies *list,
                                   struct kv_link *link, const struct kv_pieces *below,
                                   base_i128 at)
{
    struct sched_copy *copy = base_pool_take(&lower->copies);
    *(list->tail != NULL ? &list->tail->next : &list->head) = copy;
    list->tail = copy;
    copy->chunks = kv_pieces_chunks(below);
    copy->chunk_ticks = lower->chunk_blocks * link->ticks_per_block;
    copy->from_ticks = at;
    base_i128 begin = kv_link_send(link, at, copy->chunks * lower->chunk_blocks);
    copy->next_ticks = begin + link->latency_ticks + copy->chunk_ticks;
    keep_all(&copy->lower, below);
    return copy;
}

// What is missing below, to `found`, is written there from `at` on. NULL: nothing is.
struct sched_copy *sched_lower_write(struct sched_lower *lower, const struct kv_pieces *stored,
                                     base_i128 at)
{
    if (stored->count == 0 || !sched_tier_offer(&lower->tier, stored, 0, at, &lower->found) ||
        lower->found.count == 0) {
        return NULL;
    }
    return copy_new(lower, &lower->writes, &lower->write_link, &lower->found, at);
}

void sched_lower_write_through(struct sched_lower *lower, struct kv_tier *upper,
                               const struct kv_pieces *stored, base_i128 at)
{
    struct sched_copy *copy = sched_lower_write(lower, stored, at);
    for (size_t i = 0; copy != NULL && i < copy->lower.count; i++) {
        kv_tier_begin_copy(upper, &copy->lower.at[i]);
        kv_pieces_keep(&copy->upper, &copy->lower.at[i]);
    }
}

base_i128 sched_lower_demote(struct sched_lower *lower, const struct kv_tier *upper, base_i128 at)
{
    return sched_lower_write(lower, &upper->dropped, at) != NULL ? lower->write_link.free_ticks : 0;
}

base_i128 sched_lower_read(struct sched_lower *lower, const struct kv_pieces *upper, base_i128 at)
{
    struct sched_copy *copy = copy_new(lower, &lower->reads, &lower->read_link, &lower->pinned, at);
    keep_all(&copy->upper, upper);
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

// Chunks that are left of the piece at `place`; there is one.
static int64_t left_in_piece(const struct kv_pieces *pieces, const struct sched_place *place)
{
    const struct kv_piece *piece = &pieces->at[place->piece];
    return piece->hi - piece->lo - place->passed;
}

// The next chunks, no more than are left of the piece.
static struct kv_piece take_next(const struct kv_pieces *pieces, struct sched_place *place,
                                 int64_t chunks)
{
    struct kv_piece next = pieces->at[place->piece];
    bool ends = chunks == left_in_piece(pieces, place);
    if (next.is_falling) {
        next.hi -= place->passed;
        next.lo = next.hi - chunks;
    } else {
        next.lo += place->passed;
        next.hi = next.lo + chunks;
    }
    place->passed += chunks;
    if (ends) {
        *place = (struct sched_place){.piece = place->piece + 1};
    }
    return next;
}

// Chunks that arrive from `first`, when one does, up to `until`; the link may carry them in no time.
static int64_t chunks_between(const struct sched_copy *copy, base_i128 first, base_i128 until)
{
    if (until < first) {
        return 0;
    }
    base_i128 in_time =
        copy->chunk_ticks > 0 ? (until - first) / copy->chunk_ticks + 1 : copy->chunks;
    return in_time < copy->chunks ? (int64_t)in_time : copy->chunks;
}

// Chunks of a copy that arrive by `until`, side by side in either tier.
static int64_t arriving_by(const struct sched_copy *copy, base_i128 until)
{
    int64_t chunks = left_in_piece(&copy->lower, &copy->next_lower);
    if (copy->upper.count > 0) {
        chunks = base_min(chunks, left_in_piece(&copy->upper, &copy->next_upper));
    }
    int64_t in_time = chunks_between(copy, copy->next_ticks, until);
    return in_time < chunks ? in_time : chunks;
}

// Until when nothing of the other direction comes before the next chunk of this one.
static base_i128 before_other(const struct sched_lower *lower, bool is_read, base_i128 until)
{
    const struct sched_copy *other = is_read ? lower->writes.head : lower->reads.head;
    base_i128 last = other == NULL ? until : is_read ? other->next_ticks : other->next_ticks - 1;
    return last < until ? last : until;
}

static void arrive_above(struct sched_copy *copy, struct kv_tier *upper, bool is_read,
                         int64_t chunks)
{
    if (copy->upper.count == 0) {
        return;
    }
    struct kv_piece above = take_next(&copy->upper, &copy->next_upper, chunks);
    if (is_read) {
        kv_tier_set_ready(upper, &above);
    } else {
        kv_tier_end_copy(upper, &above);
    }
}

static void arrive_below(struct sched_copy *copy, struct kv_tier *below, bool is_read,
                         int64_t chunks)
{
    struct kv_piece piece = take_next(&copy->lower, &copy->next_lower, chunks);
    if (is_read) {
        kv_tier_unpin(below, &piece);
    } else {
        kv_tier_set_ready(below, &piece);
    }
}

struct kv_radix_pin *sched_lower_arrive(struct sched_lower *lower, struct kv_tier *upper,
                                        base_i128 until)
{
    bool is_read = next_list(lower) == &lower->reads;
    struct sched_copies *list = is_read ? &lower->reads : &lower->writes;
    struct sched_copy *copy = list->head;
    base_i128 last = before_other(lower, is_read, until);
    while (copy->done < copy->chunks && copy->next_ticks <= last) {
        int64_t chunks = arriving_by(copy, last);
        arrive_below(copy, &lower->tier.chunks, is_read, chunks);
        arrive_above(copy, upper, is_read, chunks);
        if (copy->reader != NULL) {
            copy->reader->prefetch_arrived += chunks;
        }
        copy->done += chunks;
        copy->next_ticks += chunks * copy->chunk_ticks;
    }
    if (copy->done < copy->chunks) {
        return NULL;
    }
    struct kv_radix_pin *pin = copy->pin;
    if (copy->reader != NULL) {
        copy->reader->prefetch_copy = NULL;
    }
    copy_drop(lower, list, NULL);
    return pin;
}

static bool end_of(const struct sched_copy *copy, base_i128 *at)
{
    if (copy == NULL) {
        return false;
    }
    base_i128 left = (base_i128)(copy->chunks - 1 - copy->done);
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

/* ---- giving up ---- */

static base_i128 end_of_read(const struct sched_copy *copy)
{
    base_i128 end = 0;
    end_of(copy, &end);
    return end;
}

static base_i128 begin_of_read(const struct sched_lower *lower, const struct sched_copy *copy)
{
    base_i128 first = copy->next_ticks - copy->done * (base_i128)copy->chunk_ticks;
    return first - copy->chunk_ticks - lower->read_link.latency_ticks;
}

static void shorten_read(struct sched_lower *lower, struct sched_copy *copy, int64_t kept)
{
    base_require(copy->lower.count == 1 && copy->upper.count == 0 && !copy->lower.at[0].is_falling);
    struct kv_piece rest = copy->lower.at[0];
    rest.lo += kept;
    int64_t chunks = rest.hi - rest.lo;
    if (chunks == 0) {
        return;
    }
    kv_tier_unpin(&lower->tier.chunks, &rest);
    copy->lower.at[0].hi = rest.lo;
    copy->chunks = kept;
    lower->read_link.blocks -= chunks * lower->chunk_blocks;
    lower->read_link.busy_ticks -= chunks * (base_i128)copy->chunk_ticks;
}

static void drop_read(struct sched_lower *lower, struct sched_copy *before)
{
    struct kv_link *link = &lower->read_link;
    const struct sched_copy *copy = before != NULL ? before->next : lower->reads.head;
    link->transfers--;
    link->busy_ticks -= link->latency_ticks;
    link->wait_ticks -= begin_of_read(lower, copy) - copy->from_ticks;
    copy_drop(lower, &lower->reads, before);
}

// Those behind `last`, all of them where it is NULL.
static void bring_forward(struct sched_lower *lower, const struct sched_copy *last, base_i128 now)
{
    base_i128 free_at = last != NULL ? end_of_read(last) : now;
    struct sched_copy *copy = last != NULL ? last->next : lower->reads.head;
    for (; copy != NULL; copy = copy->next) {
        base_i128 begin = copy->from_ticks > free_at ? copy->from_ticks : free_at;
        base_i128 earlier = begin_of_read(lower, copy) - begin;
        copy->next_ticks -= earlier;
        lower->read_link.wait_ticks -= earlier;
        free_at = end_of_read(copy);
        if (copy->reader != NULL && copy->reader->prefetch_until_ticks > free_at) {
            copy->reader->prefetch_until_ticks = free_at;
        }
    }
    lower->read_link.free_ticks = free_at;
}

void sched_lower_give_up(struct sched_lower *lower, struct sched_copy *copy, int64_t batch,
                         base_i128 now)
{
    struct sched_copy *before = NULL;
    for (struct sched_copy *at = lower->reads.head; at != copy; at = at->next) {
        before = at;
    }
    bool has_begun = begin_of_read(lower, copy) < now;
    int64_t arrived = copy->done + chunks_between(copy, copy->next_ticks, now);
    int64_t kept = has_begun ? base_min((arrived / batch + 1) * batch, copy->chunks) : 0;
    shorten_read(lower, copy, kept);
    if (kept == 0) {
        drop_read(lower, before);
    }
    bring_forward(lower, kept > 0 ? copy : before, now);
}
