#include "kv/braid.h"

#include "base/error.h"

void kv_braids_init(struct kv_braids *queue)
{
    *queue = (struct kv_braids){.head = NULL};
    base_pool_init(&queue->pool, sizeof(struct kv_braid));
    base_pool_init(&queue->links, sizeof(struct kv_braid));
}

void kv_braids_release(struct kv_braids *queue)
{
    base_pool_release(&queue->pool);
    base_pool_release(&queue->links);
}

static void enqueue(struct kv_braids *queue, struct kv_braid *braid, struct kv_braid *next)
{
    braid->before = next != NULL ? next->before : queue->tail;
    braid->after = next;
    *(braid->before != NULL ? &braid->before->after : &queue->head) = braid;
    *(next != NULL ? &next->before : &queue->tail) = braid;
}

struct kv_braid *kv_braids_add(struct kv_braids *queue, struct kv_braid *next, int64_t rounds,
                               int64_t blank)
{
    struct kv_braid *braid = base_pool_take_raw(&queue->pool);
    *braid = (struct kv_braid){.blank = blank, .round_blocks = blank, .rounds = (int32_t)rounds};
    enqueue(queue, braid, next);
    return braid;
}

static struct kv_braid *take_link(struct kv_braids *queue)
{
    struct kv_braid *link = queue->free_first;
    if (link == NULL) {
        return base_pool_take_raw(&queue->links);
    }
    queue->free_first = link->after;
    queue->free_last = link->after != NULL ? queue->free_last : NULL;
    return link;
}

static void give_link(struct kv_braids *queue, struct kv_braid *link)
{
    link->after = NULL;
    *(queue->free_last != NULL ? &queue->free_last->after : &queue->free_first) = link;
    queue->free_last = link;
}

void kv_braids_drop(struct kv_braids *queue, struct kv_braid *braid)
{
    *(braid->before != NULL ? &braid->before->after : &queue->head) = braid->after;
    *(braid->after != NULL ? &braid->after->before : &queue->tail) = braid->before;
    if (braid->is_link) {
        give_link(queue, braid);
    } else {
        base_pool_give(&queue->pool, braid);
    }
}

void kv_braids_add_blank(struct kv_braids *queue, int64_t blocks)
{
    struct kv_braid *tail = queue->tail;
    if (tail != NULL && tail->first == NULL && tail->rounds == 1) {
        tail->blank += blocks;
        tail->round_blocks += blocks;
    } else if (blocks > 0) {
        kv_braids_add(queue, NULL, 1, blocks);
    }
}

static void insert(struct kv_braid *braid, struct kv_extent *extent, struct kv_extent *next)
{
    extent->braid = braid;
    extent->after = next;
    extent->before = next != NULL ? next->before : braid->last;
    *(extent->before != NULL ? &extent->before->after : &braid->first) = extent;
    *(next != NULL ? &next->before : &braid->last) = extent;
}

void kv_braid_add_strand(struct kv_braid *braid, struct kv_extent *extent)
{
    insert(braid, extent, NULL);
    braid->round_blocks += extent->hi - extent->lo;
}

void kv_braid_add_back_piece(struct kv_extent *front, struct kv_extent *back)
{
    insert(front->braid, back, front); // later blocks are taken first
}

void kv_braid_remove_strand(struct kv_braids *queue, struct kv_extent *extent)
{
    struct kv_braid *braid = extent->braid;
    *(extent->before != NULL ? &extent->before->after : &braid->first) = extent->after;
    *(extent->after != NULL ? &extent->after->before : &braid->last) = extent->before;
    extent->before = extent->after = NULL;
    extent->braid = NULL;
    braid->round_blocks -= extent->hi - extent->lo;
    if (braid->round_blocks == 0) {
        kv_braids_drop(queue, braid);
    }
}

/* ---- trails ---- */

static struct kv_braid *add_link(struct kv_braids *queue, struct kv_braid *next,
                                 struct kv_extent *trail)
{
    struct kv_braid *link = take_link(queue);
    *link = (struct kv_braid){
        .first = trail, .round_blocks = 1, .rounds = trail->tables, .is_link = true};
    enqueue(queue, link, next);
    return link;
}

void kv_trail_add_link(struct kv_braids *queue, struct kv_extent *extent)
{
    struct kv_braid *link = add_link(queue, NULL, extent);
    link->earlier = extent->is_trail ? extent->last_link : NULL;
    extent->is_trail = true;
    extent->last_link = link;
}

void kv_trail_add_back_piece(struct kv_extent *front, struct kv_extent *back)
{
    struct kv_braid *link = front->last_link;
    back->is_trail = true;
    back->last_link = link;
    for (int64_t i = back->lo; i < back->hi; i++) {
        link->first = back;
        link = link->earlier;
    }
    front->last_link = link;
}

void kv_trail_remove_links(struct kv_braids *queue, struct kv_extent *extent)
{
    struct kv_braid *link = extent->last_link;
    for (int64_t i = extent->lo; i < extent->hi; i++) {
        struct kv_braid *earlier = link->earlier;
        kv_braids_drop(queue, link);
        link = earlier;
    }
    extent->is_trail = false;
    extent->before = extent->after = NULL;
    extent->braid = NULL;
}

void kv_trail_copy_links(struct kv_braids *queue, struct kv_extent *extent, struct kv_braid *whole)
{
    struct kv_braid **to = &extent->last_link;
    extent->is_trail = true;
    for (int64_t i = extent->lo; i < extent->hi; i++, whole = whole->earlier) {
        *to = add_link(queue, whole, extent);
        to = &(*to)->earlier;
    }
}

/* ---- what is taken ---- */

// Of the first `blocks` of all rounds, those without content.
static int64_t blank_within(const struct kv_braid *braid, int64_t blocks)
{
    if (braid->blank == 0) {
        return 0;
    }
    int64_t rest = blocks % braid->round_blocks;
    return blocks / braid->round_blocks * braid->blank +
           (rest < braid->blank ? rest : braid->blank);
}

int64_t kv_braid_content(const struct kv_braid *braid, int64_t passed, int64_t blocks)
{
    int64_t from = braid->eaten + passed;
    return blocks - (blank_within(braid, from + blocks) - blank_within(braid, from));
}

int64_t kv_braid_alike(const struct kv_braid *braid, int64_t passed, bool *evicts)
{
    *evicts = braid->first != NULL;
    if (braid->first == NULL || braid->blank == 0) {
        return kv_braid_blocks(braid) - passed;
    }
    int64_t at = (braid->eaten + passed) % braid->round_blocks;
    *evicts = at >= braid->blank;
    return (*evicts ? braid->round_blocks : braid->blank) - at;
}
