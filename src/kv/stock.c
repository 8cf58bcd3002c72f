#include "kv/stock.h"

#include "base/count.h"
#include "base/error.h"
#include "base/mem.h"

struct stock_node {
    struct kv_node node;
    int64_t strand_count, holds;
    struct kv_strand *last[]; /* by plane: the one farthest from the root */
};

static struct stock_node *stock_of(struct kv_node *node)
{
    return (struct stock_node *)node;
}

void kv_stock_init(struct kv_stock *stock, int64_t chunk_tokens, uint32_t plane_count)
{
    size_t planes = base_mul_size(plane_count, sizeof(struct kv_strand *));
    *stock = (struct kv_stock){.plane_count = plane_count};
    kv_tree_init(&stock->tree, chunk_tokens, sizeof(struct stock_node) + planes);
    base_pool_init(&stock->strands, sizeof(struct kv_strand));
}

void kv_stock_release(struct kv_stock *stock)
{
    kv_tree_release(&stock->tree);
    base_pool_release(&stock->strands);
}

/* ---- the strands of a plane in a node ---- */

// `below`: the next one away from the root; NULL: there is none.
static void plane_put(struct kv_strand *strand, struct kv_strand *above, struct kv_strand *below)
{
    struct stock_node *node = stock_of(strand->node);
    strand->above = above;
    strand->below = below;
    *(below != NULL ? &below->above : &node->last[strand->plane]) = strand;
    if (above != NULL) {
        above->below = strand;
    }
    node->strand_count++;
}

static void plane_remove(struct kv_strand *strand)
{
    struct stock_node *node = stock_of(strand->node);
    *(strand->below != NULL ? &strand->below->above : &node->last[strand->plane]) = strand->above;
    if (strand->above != NULL) {
        strand->above->below = strand->below;
    }
    node->strand_count--;
}

/* ---- lists ---- */

static void list_remove(struct kv_strand *strand)
{
    struct kv_strand_list *list = strand->list;
    *(strand->older != NULL ? &strand->older->younger : &list->oldest) = strand->younger;
    *(strand->younger != NULL ? &strand->younger->older : &list->youngest) = strand->older;
    list->count -= kv_strand_chunks(strand);
}

static void list_put(struct kv_strand *strand, struct kv_strand_list *list, struct kv_strand *older)
{
    struct kv_strand *younger = older != NULL ? older->younger : list->oldest;
    strand->list = list;
    strand->older = older;
    strand->younger = younger;
    *(older != NULL ? &older->younger : &list->oldest) = strand;
    *(younger != NULL ? &younger->older : &list->youngest) = strand;
    list->count += kv_strand_chunks(strand);
}

/* ---- cutting and joining ---- */

// The chunks from `at` on become a strand of their own, which is returned.
static struct kv_strand *cut(struct kv_stock *stock, struct kv_strand *strand, int64_t at)
{
    struct kv_strand *rest = base_pool_take(&stock->strands);
    struct kv_strand *older = strand->is_rising ? strand : strand->older;
    *rest = *strand;
    rest->lo = at;
    strand->list->count -= strand->hi - at;
    strand->hi = at;
    plane_put(rest, strand, strand->below);
    list_put(rest, strand->list, older);
    return rest;
}

struct kv_strand *kv_strand_within(struct kv_stock *stock, struct kv_strand *strand, int64_t lo,
                                   int64_t hi)
{
    if (strand->hi > hi) {
        cut(stock, strand, hi);
    }
    return strand->lo < lo ? cut(stock, strand, lo) : strand;
}

static bool may_rise(const struct kv_strand *strand)
{
    return strand->is_rising || kv_strand_chunks(strand) == 1;
}

static bool may_fall(const struct kv_strand *strand)
{
    return !strand->is_rising || kv_strand_chunks(strand) == 1;
}

static bool are_alike(const struct kv_strand *a, const struct kv_strand *b)
{
    return a->node == b->node && a->plane == b->plane && a->is_ready == b->is_ready &&
           a->readers == b->readers && a->copiers == b->copiers && a->asked == b->asked;
}

static void drop(struct kv_stock *stock, struct kv_strand *strand)
{
    plane_remove(strand);
    list_remove(strand);
    base_pool_give(&stock->strands, strand);
}

// The younger one takes in the older one, if both are alike and go on in that direction.
static bool take_in_older(struct kv_stock *stock, struct kv_strand *strand, bool is_rising)
{
    struct kv_strand *older = strand->older;
    if (older == NULL || !are_alike(older, strand)) {
        return false;
    }
    bool goes_on = is_rising ? older->hi == strand->lo && may_rise(older) && may_rise(strand)
                             : older->lo == strand->hi && may_fall(older) && may_fall(strand);
    if (!goes_on) {
        return false;
    }
    int64_t chunks = kv_strand_chunks(older);
    drop(stock, older);
    strand->is_rising = is_rising;
    strand->lo -= is_rising ? chunks : 0;
    strand->hi += is_rising ? 0 : chunks;
    strand->list->count += chunks;
    return true;
}

static bool take_in_older_either_way(struct kv_stock *stock, struct kv_strand *strand)
{
    return take_in_older(stock, strand, false) || take_in_older(stock, strand, true);
}

struct kv_strand *kv_strand_join(struct kv_stock *stock, struct kv_strand *strand)
{
    take_in_older_either_way(stock, strand);
    struct kv_strand *younger = strand->younger;
    return younger != NULL && take_in_older_either_way(stock, younger) ? younger : strand;
}

void kv_strand_move(struct kv_stock *stock, struct kv_strand *strand, struct kv_strand_list *list,
                    bool is_rising)
{
    list_remove(strand);
    strand->is_rising = is_rising;
    list_put(strand, list, list->youngest);
    take_in_older(stock, strand, is_rising);
}

/* ---- nodes ---- */

static bool is_empty(struct kv_node *node)
{
    return node->parent != NULL && node->child_count == 0 && stock_of(node)->strand_count == 0 &&
           stock_of(node)->holds == 0;
}

static void drop_if_empty(struct kv_stock *stock, struct kv_node *node)
{
    while (is_empty(node)) {
        node = kv_tree_drop(&stock->tree, node);
        stock->changes++;
    }
}

void kv_stock_hold(struct kv_node *node)
{
    stock_of(node)->holds++;
}

void kv_stock_unhold(struct kv_stock *stock, struct kv_node *node)
{
    base_require(stock_of(node)->holds > 0);
    stock_of(node)->holds--;
    drop_if_empty(stock, node);
}

struct kv_path kv_stock_find(const struct kv_stock *stock, const struct kv_content *content,
                             int64_t most)
{
    const struct kv_tree *tree = &stock->tree;
    struct kv_path path = {tree->root, 0};
    struct kv_cursor cursor = kv_cursor_at(content, 0);
    while (path.end == path.last->end && path.end < most) {
        struct kv_node *child = kv_tree_find(tree, path.last, cursor);
        if (child == NULL) {
            break;
        }
        path.end += kv_tree_match(tree, child, &cursor, most - path.end);
        path.last = child;
    }
    return path;
}

// Of a plane in the node, what lies before `at` moves to the node above it.
static void move_up(struct kv_stock *stock, struct kv_node *node, struct kv_node *above,
                    uint32_t plane, int64_t at)
{
    struct kv_strand *strand = stock_of(node)->last[plane];
    while (strand != NULL && strand->lo >= at) {
        strand = strand->above;
    }
    if (strand != NULL && strand->hi > at) {
        cut(stock, strand, at);
    }
    for (struct kv_strand *next, *below = NULL; strand != NULL; strand = next) {
        next = strand->above;
        plane_remove(strand);
        strand->node = above;
        plane_put(strand, NULL, below);
        below = strand;
    }
}

// Where the path leaves its last node in the middle, that is cut, so that another child can come.
static void cut_below(struct kv_stock *stock, struct kv_path *path)
{
    struct kv_node *node = path->last;
    path->last = kv_tree_cut(&stock->tree, node, path->end);
    for (uint32_t plane = 0; plane < stock->plane_count; plane++) {
        move_up(stock, node, path->last, plane, path->end);
    }
    if (is_empty(node)) { // the part that goes on is used by those who asked for it
        kv_tree_drop(&stock->tree, node);
    }
}

struct kv_path kv_stock_make(struct kv_stock *stock, const struct kv_content *content, int64_t end)
{
    struct kv_path path = kv_stock_find(stock, content, end);
    if (path.end == end) {
        return path;
    }
    stock->changes++;
    if (path.end < path.last->end) {
        cut_below(stock, &path);
    }
    struct kv_cursor rest = kv_cursor_at(content, path.end * stock->tree.block_tokens);
    if (path.last->child_count == 0 && path.last->parent != NULL) {
        kv_tree_extend(&stock->tree, path.last, rest, end);
    } else {
        path.last = kv_tree_add(&stock->tree, path.last, rest, end);
    }
    path.end = end;
    return path;
}

/* ---- looking ---- */

static struct kv_node *node_at(const struct kv_path *path, int64_t chunk)
{
    struct kv_node *node = path->last;
    while (node->begin > chunk) {
        node = node->parent;
    }
    return node;
}

struct kv_piece kv_path_piece(const struct kv_path *path, uint32_t table, int64_t lo, int64_t hi)
{
    base_assert(lo < hi && hi <= path->end);
    return (struct kv_piece){.node = node_at(path, hi - 1), .lo = lo, .hi = hi, .table = table};
}

struct kv_alike kv_path_look(const struct kv_path *path, uint32_t plane, int64_t at, int64_t limit)
{
    if (at >= path->end) {
        return (struct kv_alike){NULL, at, limit};
    }
    struct kv_node *node = node_at(path, at);
    int64_t end = base_min(base_min(limit, path->end), node->end);
    struct kv_strand *strand = stock_of(node)->last[plane];
    for (; strand != NULL && strand->lo > at; strand = strand->above) {
        end = base_min(end, strand->lo);
    }
    if (strand == NULL || strand->hi <= at) {
        return (struct kv_alike){NULL, at, end};
    }
    return (struct kv_alike){strand, at, base_min(end, strand->hi)};
}

struct kv_alike kv_path_look_back(const struct kv_path *path, uint32_t plane, int64_t at,
                                  int64_t limit)
{
    if (at > path->end) {
        return (struct kv_alike){NULL, base_max(limit, path->end), at};
    }
    struct kv_node *node = node_at(path, at - 1);
    int64_t begin = base_max(limit, node->begin);
    struct kv_strand *strand = stock_of(node)->last[plane];
    while (strand != NULL && strand->lo >= at) {
        strand = strand->above;
    }
    if (strand == NULL || strand->hi < at) {
        return (struct kv_alike){NULL, strand != NULL ? base_max(begin, strand->hi) : begin, at};
    }
    return (struct kv_alike){strand, base_max(begin, strand->lo), at};
}

/* ---- pieces ---- */

void kv_pieces_keep(struct kv_pieces *pieces, const struct kv_piece *piece)
{
    kv_stock_hold(piece->node);
    base_vec_push(pieces, *piece);
}

void kv_pieces_forget(struct kv_stock *stock, struct kv_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        kv_stock_unhold(stock, pieces->at[i].node);
    }
    pieces->count = 0;
}

int64_t kv_pieces_chunks(const struct kv_pieces *pieces)
{
    int64_t chunks = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        chunks += pieces->at[i].hi - pieces->at[i].lo;
    }
    return chunks;
}

// The next one at or above `strand` that the piece shares chunks with; from `node` on, if that is NULL.
static struct kv_strand *in_piece(const struct kv_piece *piece, struct kv_node *node,
                                  uint32_t plane, struct kv_strand *strand)
{
    while (true) {
        while (strand != NULL && strand->lo >= piece->hi) {
            strand = strand->above;
        }
        if (strand != NULL) {
            return strand->hi > piece->lo ? strand : NULL;
        }
        if (node == NULL || node->end <= piece->lo) {
            return NULL;
        }
        strand = stock_of(node)->last[plane];
        node = node->parent;
    }
}

struct kv_strand *kv_piece_last(const struct kv_piece *piece, uint32_t plane)
{
    return in_piece(piece, piece->node, plane, NULL);
}

struct kv_strand *kv_piece_next(const struct kv_piece *piece, const struct kv_strand *strand)
{
    return in_piece(piece, strand->node->parent, strand->plane, strand->above);
}

/* ---- strands ---- */

struct kv_strand *kv_strand_new(struct kv_stock *stock, struct kv_node *node, uint32_t plane,
                                int64_t lo, int64_t hi, bool is_rising, struct kv_strand_list *list)
{
    base_assert(node->begin <= lo && lo < hi && hi <= node->end);
    struct kv_strand *strand = base_pool_take(&stock->strands);
    struct kv_strand *above = stock_of(node)->last[plane], *below = NULL;
    for (; above != NULL && above->lo >= hi; above = above->above) {
        below = above;
    }
    strand->node = node;
    strand->plane = plane;
    strand->lo = lo;
    strand->hi = hi;
    strand->is_rising = is_rising;
    plane_put(strand, above, below);
    list_put(strand, list, list->youngest);
    return strand;
}

void kv_strand_shrink(struct kv_stock *stock, struct kv_strand *strand, int64_t chunks)
{
    if (chunks == kv_strand_chunks(strand)) {
        struct kv_node *node = strand->node;
        drop(stock, strand);
        drop_if_empty(stock, node);
        return;
    }
    strand->list->count -= chunks;
    strand->lo += strand->is_rising ? chunks : 0;
    strand->hi -= strand->is_rising ? 0 : chunks;
}
