#include "kv/unique.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

struct kv_unique_node {
    struct kv_node node;
    struct kv_unique_seq *tips; /* running sequences whose path ends here */
    int64_t holders;
    bool is_there;     /* or missing */
    bool is_idle;      /* stands in the heap */
    size_t heap_index; /* there */
    /* the plan that last scheduled whoever has given it back last; 0: nobody has since it is held */
    uint64_t used;
    uint64_t released; /* while it is idle: which release that was */
    uint64_t
        given_out; /* the turn that gave out the blocks from `given_from` on; before it all are computed */
    int64_t given_from;
};

static struct kv_unique_node *own_of(const struct kv_node *node)
{
    return (struct kv_unique_node *)(uintptr_t)node;
}

static bool is_root(const struct kv_node *node)
{
    return node->parent == NULL;
}

static int64_t blocks_of(const struct kv_node *node)
{
    return node->end - node->begin;
}

void kv_unique_init(struct kv_unique *unique, int64_t block_tokens, int64_t usable_blocks)
{
    *unique = (struct kv_unique){.blank_blocks = usable_blocks};
    kv_tree_init(&unique->tree, block_tokens, sizeof(struct kv_unique_node));
}

void kv_unique_release(struct kv_unique *unique)
{
    kv_tree_release(&unique->tree);
    base_vec_free(&unique->idle);
    base_vec_free(&unique->path);
}

/* ---- idle nodes, the next one to go on top ---- */

// Of their last blocks: longest unused, then farthest from the beginning, then given back first.
static bool goes_before(const struct kv_unique_node *a, const struct kv_unique_node *b)
{
    if (a->used != b->used) {
        return a->used < b->used;
    }
    return a->node.end != b->node.end ? a->node.end > b->node.end : a->released < b->released;
}

static void heap_set(struct kv_unique *unique, size_t at, struct kv_unique_node *node)
{
    unique->idle.at[at] = node;
    node->heap_index = at;
}

static void sift_up(struct kv_unique *unique, size_t at)
{
    struct kv_unique_node *node = unique->idle.at[at];
    while (at > 0 && goes_before(node, unique->idle.at[(at - 1) / 2])) {
        heap_set(unique, at, unique->idle.at[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(unique, at, node);
}

// The child that goes first, or NULL.
static struct kv_unique_node *first_child(const struct kv_unique *unique, size_t at)
{
    size_t left = 2 * at + 1, right = left + 1;
    if (left >= unique->idle.count) {
        return NULL;
    }
    bool is_right =
        right < unique->idle.count && goes_before(unique->idle.at[right], unique->idle.at[left]);
    return unique->idle.at[is_right ? right : left];
}

static void sift_down(struct kv_unique *unique, size_t at)
{
    struct kv_unique_node *node = unique->idle.at[at], *child;
    while ((child = first_child(unique, at)) != NULL && goes_before(child, node)) {
        size_t from = child->heap_index;
        heap_set(unique, at, child);
        at = from;
    }
    heap_set(unique, at, node);
}

static void idle_add(struct kv_unique *unique, struct kv_unique_node *node)
{
    node->is_idle = true;
    base_vec_push(&unique->idle, node);
    sift_up(unique, unique->idle.count - 1);
}

static void idle_remove(struct kv_unique *unique, struct kv_unique_node *node)
{
    size_t at = node->heap_index;
    struct kv_unique_node *other = unique->idle.at[--unique->idle.count];
    node->is_idle = false;
    if (other != node) {
        heap_set(unique, at, other);
        sift_up(unique, at);
        sift_down(unique, other->heap_index);
    }
}

/* ---- nodes ---- */

// The front as a node of its own, of the same fate; returned. Paths that end here end behind it.
static struct kv_node *cut(struct kv_unique *unique, struct kv_node *node, int64_t at)
{
    struct kv_unique_node *own = own_of(node);
    struct kv_unique_node *front = own_of(kv_tree_cut(&unique->tree, node, at));
    front->holders = own->holders;
    front->is_there = own->is_there;
    front->used = own->used;
    front->released = own->released;
    front->given_out = own->given_out;
    front->given_from = own->given_from;
    if (own->is_idle) {
        idle_add(unique, front);
    }
    return &front->node;
}

// One more holds a node that is there.
static void hold(struct kv_unique *unique, struct kv_node *node)
{
    struct kv_unique_node *own = own_of(node);
    if (own->holders++ > 0) {
        unique->shared_blocks += blocks_of(node);
        return;
    }
    idle_remove(unique, own);
    own->used = 0;
    unique->idle_blocks -= blocks_of(node);
}

// Blocks from `from` on are given out in this turn.
static void note_given(const struct kv_unique *unique, struct kv_unique_node *node, int64_t from)
{
    if (node->given_out != unique->turn) {
        node->given_out = unique->turn;
        node->given_from = from;
    }
    base_assert(node->given_from <= from);
}

// Blocks of a sequence's own are those of a missing node, or of one that has just been added.
static void put_there(struct kv_unique *unique, struct kv_node *node, int64_t computed)
{
    struct kv_unique_node *own = own_of(node);
    base_assert(own->holders == 0 && !own->is_idle && !own->is_there);
    own->is_there = true;
    own->holders = 1;
    own->used = own->given_out = 0;
    if (computed < node->end) {
        note_given(unique, own, computed > node->begin ? computed : node->begin);
    }
}

static void let_go(struct kv_unique *unique, struct kv_node *node, uint64_t used)
{
    struct kv_unique_node *own = own_of(node);
    base_assert(own->holders > 0 && own->is_there);
    own->used = used > 0 ? used : own->used;
    if (--own->holders > 0) {
        unique->shared_blocks -= blocks_of(node);
        return;
    }
    unique->idle_blocks += blocks_of(node);
    own->released = unique->releases;
    idle_add(unique, own);
}

/* ---- tips ---- */

static void set_last(struct kv_unique_seq *seq, struct kv_node *last)
{
    if (seq->last != NULL) {
        *(seq->prev != NULL ? &seq->prev->next : &own_of(seq->last)->tips) = seq->next;
        if (seq->next != NULL) {
            seq->next->prev = seq->prev;
        }
    }
    seq->last = last;
    seq->prev = NULL;
    seq->next = last != NULL ? own_of(last)->tips : NULL;
    if (seq->next != NULL) {
        seq->next->prev = seq;
    }
    if (last != NULL) {
        own_of(last)->tips = seq;
    }
}

static void set_contended(struct kv_unique *unique, struct kv_unique_seq *seq, bool is_contended)
{
    unique->contended_count += (is_contended ? 1 : 0) - (seq->is_contended ? 1 : 0);
    seq->is_contended = is_contended;
}

static struct kv_cursor cursor_behind(const struct kv_unique *unique,
                                      const struct kv_content *content, const struct kv_node *node)
{
    return kv_cursor_at(content, node->end * unique->tree.block_tokens);
}

// The block of two contents behind a node is the same.
static bool go_on_alike(const struct kv_unique *unique, const struct kv_content *a,
                        const struct kv_content *b, const struct kv_node *node)
{
    struct kv_cursor x = cursor_behind(unique, a, node), y = cursor_behind(unique, b, node);
    int64_t tokens = unique->tree.block_tokens;
    return kv_cursor_match(&x, &y, tokens) == tokens;
}

// Its path has a new end: will it meet a block that others have, or fill at the same time?
static void look_ahead(struct kv_unique *unique, struct kv_unique_seq *seq)
{
    struct kv_node *node = seq->last;
    bool meets =
        kv_tree_find(&unique->tree, node, cursor_behind(unique, seq->content, node)) != NULL;
    for (struct kv_unique_seq *other = own_of(node)->tips; other != NULL; other = other->next) {
        if (other != seq && go_on_alike(unique, other->content, seq->content, node)) {
            set_contended(unique, other, true);
            meets = true;
        }
    }
    set_contended(unique, seq, meets);
}

/* ---- what a sequence has filled ---- */

// Nobody else holds the sequence's last node, has held it with it, or goes on from it: the next blocks share its fate.
static bool goes_on(const struct kv_unique_seq *seq)
{
    const struct kv_node *node = seq->last;
    const struct kv_unique_node *own = own_of(node);
    return !is_root(node) && node->child_count == 0 && own->holders == 1 && own->used == 0;
}

static void enter_new(struct kv_unique *unique, struct kv_unique_seq *seq,
                      struct kv_unique_fill fill)
{
    struct kv_node *node = seq->last;
    struct kv_cursor at = cursor_behind(unique, seq->content, node);
    if (!goes_on(seq)) {
        node = kv_tree_add(&unique->tree, node, at, fill.blocks);
        put_there(unique, node, fill.before);
        set_last(seq, node);
        return;
    }
    int64_t end = node->end;
    kv_tree_extend(&unique->tree, node, at, fill.blocks);
    if (fill.before < fill.blocks) {
        note_given(unique, own_of(node), fill.before > end ? fill.before : end);
    }
}

// A child of its last node begins as it goes on: as far as it does, the one block of two is given back.
static void enter_child(struct kv_unique *unique, struct kv_unique_seq *seq, struct kv_node *child,
                        struct kv_unique_fill fill)
{
    struct kv_cursor at = cursor_behind(unique, seq->content, seq->last);
    int64_t blocks = kv_tree_match(&unique->tree, child, &at, fill.blocks - child->begin);
    if (child->begin + blocks < child->end) {
        child = cut(unique, child, child->begin + blocks);
    }
    if (own_of(child)->is_there) {
        unique->blank_blocks += blocks;
        hold(unique, child);
    } else {
        put_there(unique, child, fill.before);
    }
    set_last(seq, child);
}

// The child of `node` that begins as `at` goes on, brought up to date: it may be longer then. NULL: there is none.
static struct kv_node *step_down(struct kv_unique *unique, struct kv_node *node,
                                 struct kv_cursor at);

void kv_unique_enter(struct kv_unique *unique, struct kv_unique_seq *seq,
                     struct kv_unique_fill fill)
{
    if (fill.blocks <= seq->last->end) {
        return;
    }
    while (seq->last->end < fill.blocks) {
        struct kv_cursor at = cursor_behind(unique, seq->content, seq->last);
        struct kv_node *child = step_down(unique, seq->last, at);
        if (child != NULL) {
            enter_child(unique, seq, child, fill);
        } else {
            enter_new(unique, seq, fill);
        }
    }
    look_ahead(unique, seq);
}

// Those whose paths end at a node enter what they have filled. One of them that nobody else can meet goes no further down.
static void bring_up(struct kv_unique *unique, struct kv_node *node)
{
    for (struct kv_unique_seq *seq = own_of(node)->tips, *next; seq != NULL; seq = next) {
        next = seq->next;
        kv_unique_enter(unique, seq, unique->fill(unique->context, seq));
    }
}

static struct kv_node *step_down(struct kv_unique *unique, struct kv_node *node,
                                 struct kv_cursor at)
{
    struct kv_node *child = kv_tree_find(&unique->tree, node, at);
    if (child != NULL) {
        bring_up(unique, child);
    }
    return child;
}

/* ---- look-up ---- */

static bool is_computed(const struct kv_unique *unique, int64_t block, int64_t known)
{
    if (block >= known) {
        return false;
    }
    size_t i = 0;
    while (unique->path.at[i]->node.end <= block) {
        i++;
    }
    const struct kv_unique_node *own = unique->path.at[i];
    return own->is_there && (own->given_out != unique->turn || block < own->given_from);
}

struct kv_unique_hits kv_unique_look_up(struct kv_unique *unique, const struct kv_content *content,
                                        int64_t blocks)
{
    struct kv_node *node = unique->tree.root, *child;
    struct kv_cursor at = kv_cursor_at(content, 0);
    int64_t known = 0; // that the tree knows, there or missing
    unique->path.count = 0;
    bring_up(unique, node);
    while (known < blocks && (child = step_down(unique, node, at)) != NULL) {
        known += kv_tree_match(&unique->tree, child, &at, blocks - known);
        base_vec_push(&unique->path, own_of(child));
        node = child;
        if (known < child->end) {
            break;
        }
    }
    int64_t low = 0, high = blocks;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (is_computed(unique, middle, known)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct kv_unique_hits hits = {.blocks = low};
    if (low < known) {
        size_t i = 0;
        while (unique->path.at[i]->node.end <= low) {
            i++;
        }
        hits.next_is_pending = unique->path.at[i]->is_there;
    }
    return hits;
}

int64_t kv_unique_blocks_to_take(struct kv_unique *unique, const struct kv_content *content,
                                 int64_t blocks)
{
    struct kv_node *node = unique->tree.root, *child;
    struct kv_cursor at = kv_cursor_at(content, 0);
    int64_t known = 0, held = 0;
    bring_up(unique, node);
    while (known < blocks && (child = step_down(unique, node, at)) != NULL) {
        int64_t matched = kv_tree_match(&unique->tree, child, &at, blocks - known);
        known += matched;
        held += own_of(child)->holders > 0 ? matched : 0;
        node = child;
        if (known < child->end) {
            break;
        }
    }
    return blocks - held;
}

/* ---- holding and letting go ---- */

// Down one node of the tree, which is cut where the sequence's full blocks part from it.
static struct kv_node *attach_node(struct kv_unique *unique, struct kv_node *child,
                                   struct kv_cursor *at, int64_t blocks)
{
    int64_t matched = kv_tree_match(&unique->tree, child, at, blocks - child->begin);
    if (child->begin + matched < child->end) {
        child = cut(unique, child, child->begin + matched);
    }
    if (own_of(child)->is_there) {
        hold(unique, child);
    } else {
        put_there(unique, child, 0);
        kv_unique_take(unique, blocks_of(child));
    }
    return child;
}

// Those that end where a new node begins may go on as it does.
static void note_new(struct kv_unique *unique, const struct kv_node *parent,
                     const struct kv_content *content)
{
    for (struct kv_unique_seq *seq = own_of(parent)->tips; seq != NULL; seq = seq->next) {
        if (go_on_alike(unique, seq->content, content, parent)) {
            set_contended(unique, seq, true);
        }
    }
}

void kv_unique_attach(struct kv_unique *unique, struct kv_unique_seq *seq, int64_t blocks,
                      int64_t blank)
{
    base_require(seq->last == NULL && !seq->is_contended);
    struct kv_node *node = unique->tree.root, *child;
    struct kv_cursor at = kv_cursor_at(seq->content, 0);
    bring_up(unique, node);
    while (node->end < blocks && (child = step_down(unique, node, at)) != NULL) {
        node = attach_node(unique, child, &at, blocks);
    }
    if (node->end < blocks) {
        note_new(unique, node, seq->content);
        node = kv_tree_add(&unique->tree, node, cursor_behind(unique, seq->content, node), blocks);
        put_there(unique, node, 0);
        kv_unique_take(unique, blocks_of(node));
    }
    kv_unique_take(unique, blank);
    set_last(seq, node);
    look_ahead(unique, seq);
}

void kv_unique_detach(struct kv_unique *unique, struct kv_unique_seq *seq, int64_t full_blocks,
                      int64_t held_blocks, uint64_t used)
{
    struct kv_unique_fill fill = {full_blocks, full_blocks};
    kv_unique_enter(unique, seq, fill);
    base_require(seq->last->end == full_blocks && full_blocks <= held_blocks);
    unique->releases++;
    for (struct kv_node *node = seq->last; !is_root(node); node = node->parent) {
        let_go(unique, node, used);
    }
    unique->blank_blocks += held_blocks - full_blocks;
    set_contended(unique, seq, false);
    set_last(seq, NULL);
}

/* ---- eviction ---- */

// A node of which nothing is there any more, and missing ones above it that lead nowhere now.
static void drop(struct kv_unique *unique, struct kv_node *node)
{
    while (!is_root(node) && node->child_count == 0 && !own_of(node)->is_there) {
        node = kv_tree_drop(&unique->tree, node);
    }
}

// How many blocks of the top node go before any of another's.
static int64_t go_at_once(const struct kv_unique *unique)
{
    const struct kv_unique_node *top = unique->idle.at[0], *next = first_child(unique, 0);
    if (next == NULL || next->used != top->used) {
        return blocks_of(&top->node);
    }
    int64_t blocks = top->node.end - next->node.end + (top->released < next->released ? 1 : 0);
    return blocks < blocks_of(&top->node) ? blocks : blocks_of(&top->node);
}

// The last `blocks` of the node on top lose their content.
static void evict_from_top(struct kv_unique *unique, int64_t blocks)
{
    struct kv_unique_node *top = unique->idle.at[0];
    struct kv_node *node = &top->node;
    unique->idle_blocks -= blocks;
    unique->blank_blocks += blocks;
    unique->evicted_blocks += blocks;
    if (blocks < blocks_of(node) && node->child_count == 0) {
        kv_tree_shorten(&unique->tree, node, node->end - blocks);
        sift_down(unique, 0);
        return;
    }
    if (blocks < blocks_of(node)) {
        cut(unique, node, node->end - blocks);
    }
    idle_remove(unique, top);
    top->is_there = false;
    drop(unique, node);
}

void kv_unique_take(struct kv_unique *unique, int64_t blocks)
{
    base_require(blocks <= kv_unique_free_blocks(unique));
    while (unique->blank_blocks < blocks) {
        int64_t missing = blocks - unique->blank_blocks, run = go_at_once(unique);
        evict_from_top(unique, run < missing ? run : missing);
    }
    unique->blank_blocks -= blocks;
}

uint64_t kv_unique_signature(const struct kv_unique *unique)
{
    uint64_t sum = base_mix2((uint64_t)unique->blank_blocks, (uint64_t)unique->shared_blocks);
    for (size_t i = 0; i < unique->idle.count; i++) {
        const struct kv_unique_node *own = unique->idle.at[i];
        uint64_t place = base_mix2((uint64_t)own->node.begin, (uint64_t)own->node.end);
        sum += base_mix2(own->node.key, base_mix2(place, unique->turn - own->used));
    }
    return sum;
}
