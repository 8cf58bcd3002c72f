/*
 * A radix tree as the prefix cache, as SGLang keeps it: nodes with plain arrays of tokens and of pages, everything walked.
 *
 * A request looks its tokens up when it might be admitted, whether it then is or not; locks its path; adds what it has
 * computed of its prompt at the next turn, and all that is known of it when it ends. Thrown out, it adds nothing.
 *
 * With host memory behind it nodes have copies there, and one that is evicted may stay with its copy alone: it has no pages.
 */
#include "reference/ref_int.h"

#include <stdlib.h>

struct ref_node {
    struct ref_node *parent;
    struct ref_node **children;
    int64_t child_count;
    struct ref_list tokens, pages; /* no pages: in host memory alone */
    bool has_copy;
    int64_t locks; /* of requests; and of transfers: */
    int64_t pins, host_pins, made, last_used, hits, priority;
    bool is_kept; /* cannot go, while a leaf is looked for */
};

/* ---- nodes ---- */

static struct ref_node *new_node(struct ref_tree *tree, int64_t priority)
{
    struct ref_node *node = ref_alloc(1, sizeof(*node));
    node->made = node->last_used = ++tree->clock;
    node->priority = priority;
    return node;
}

static void put_child(struct ref_node *parent, struct ref_node *child)
{
    parent->children = ref_resize(parent->children, (size_t)parent->child_count + 1,
                                  sizeof(*parent->children)); /* kept until the parent goes */
    parent->children[parent->child_count++] = child;
    child->parent = parent;
}

static void take_child(struct ref_node *parent, const struct ref_node *child)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < parent->child_count; i++) {
        if (parent->children[i] != child) {
            parent->children[kept++] = parent->children[i];
        }
    }
    parent->child_count = kept;
}

static void free_node(struct ref_node *node)
{
    for (int64_t i = 0; i < node->child_count; i++) {
        free_node(node->children[i]);
    }
    free(node->children);
    ref_list_free(&node->tokens);
    ref_list_free(&node->pages);
    free(node);
}

void ref_tree_init(struct ref_state *state)
{
    state->tree.root = new_node(&state->tree, 0);
}

void ref_tree_release(struct ref_state *state)
{
    free_node(state->tree.root);
}

/* Whole pages at the beginning of both, in tokens. */
static int64_t in_common(const struct ref_node *node, const int64_t *tokens, int64_t count,
                         int64_t page)
{
    int64_t same = 0;
    while (same < count && same < node->tokens.count && node->tokens.at[same] == tokens[same]) {
        same++;
    }
    return same / page * page;
}

static struct ref_node *child_for(const struct ref_node *node, const int64_t *tokens, int64_t count,
                                  int64_t page)
{
    for (int64_t i = 0; i < node->child_count; i++) {
        if (in_common(node->children[i], tokens, count, page) > 0) {
            return node->children[i];
        }
    }
    return NULL;
}

/* The first `length` tokens of a node become a node above it. */
static struct ref_node *split(struct ref_state *state, struct ref_node *node, int64_t length)
{
    const int64_t page = state->engine->block_size;
    struct ref_node *front = new_node(&state->tree, node->priority);
    front->locks = node->locks;
    front->pins = node->pins;
    front->has_copy = node->has_copy;
    front->hits = node->hits;
    for (int64_t i = 0; i < length; i++) {
        ref_list_push(&front->tokens, node->tokens.at[0]);
        ref_list_remove(&node->tokens, 0);
    }
    for (int64_t i = 0; i < length / page && node->pages.count > 0; i++) {
        ref_list_push(&front->pages, node->pages.at[0]);
        ref_list_remove(&node->pages, 0);
    }
    struct ref_node *parent = node->parent;
    take_child(parent, node);
    put_child(parent, front);
    put_child(front, node);
    return front;
}

/* ---- look-up and insertion ---- */

static struct ref_node *match(struct ref_state *state, const int64_t *tokens, int64_t count,
                              struct ref_list *pages)
{
    const int64_t page = state->engine->block_size;
    const int64_t now = ++state->tree.clock;
    struct ref_node *node = state->tree.root;
    struct ref_node *child;
    while (count > 0 && (child = child_for(node, tokens, count, page)) != NULL) {
        child->last_used = now;
        const int64_t same = in_common(child, tokens, count, page);
        const bool is_part = same < child->tokens.count;
        node = is_part ? split(state, child, same) : child;
        for (int64_t i = 0; i < node->pages.count; i++) {
            ref_list_push(pages, node->pages.at[i]);
        }
        if (is_part) {
            break;
        }
        tokens += same;
        count -= same;
    }
    return node;
}

static void add_pins(struct ref_node *node, int64_t count)
{
    for (; node != NULL && node->parent != NULL; node = node->parent) {
        node->pins += count;
    }
}

void ref_tree_unpin(struct ref_node *node)
{
    add_pins(node, -1);
}

static int64_t evict_host_leaf(struct ref_state *state);

static int64_t page_count(const struct ref_state *state, const struct ref_node *node)
{
    return node->tokens.count / state->engine->block_size;
}

/* A use of a node: the one at which it is due gives it a copy, if what lies above it has one. */
static void count_use(struct ref_state *state, struct ref_node *node, bool is_chunk)
{
    const struct ref_tier *tier = &state->engine->tier;
    const bool at_eviction = ref_tier_exists(state) && tier->store == REF_STORE_DROPPED;
    if (is_chunk || at_eviction) {
        return;
    }
    node->hits++;
    const int64_t due = tier->store == REF_STORE_USED ? tier->store_threshold : 1;
    const bool may = node->parent->parent == NULL || node->parent->has_copy;
    if (ref_tier_exists(state) && !node->has_copy && may && node->hits >= due &&
        ref_tier_take_room(state, page_count(state, node), evict_host_leaf)) {
        node->has_copy = true;
        state->tree.copied += page_count(state, node);
        add_pins(state->tree.source, -1);
        state->tree.source = node;
        add_pins(node, 1);
    }
}

/* Adds what is missing, with the pages that hold it; `now`: those that the tree has of all of it. */
static void insert(struct ref_state *state, const int64_t *tokens, int64_t count,
                   const int64_t *pages, int64_t priority, bool is_chunk, struct ref_list *now)
{
    const int64_t page = state->engine->block_size;
    const int64_t time = ++state->tree.clock;
    struct ref_node *node = state->tree.root;
    struct ref_node *child;
    int64_t there = 0;
    while (there < count &&
           (child = child_for(node, tokens + there, count - there, page)) != NULL) {
        child->last_used = time;
        const int64_t same = in_common(child, tokens + there, count - there, page);
        node = same < child->tokens.count ? split(state, child, same) : child;
        node->priority = priority < node->priority ? priority : node->priority;
        if (node->pages.count == 0) { // computed again: not a use of what was there
            for (int64_t i = there / page; i < (there + same) / page; i++) {
                ref_list_push(&node->pages, pages[i]);
            }
        } else {
            count_use(state, node, is_chunk);
        }
        for (int64_t i = 0; i < node->pages.count; i++) {
            ref_list_push(now, node->pages.at[i]);
        }
        there += same;
    }
    if (there < count) {
        child = new_node(&state->tree, priority);
        for (int64_t i = there; i < count; i++) {
            ref_list_push(&child->tokens, tokens[i]);
        }
        for (int64_t i = there / page; i < count / page; i++) {
            ref_list_push(&child->pages, pages[i]);
            ref_list_push(now, pages[i]);
        }
        put_child(node, child);
        count_use(state, child, is_chunk);
    }
}

static void add_locks(struct ref_node *node, int64_t count)
{
    for (; node->parent != NULL; node = node->parent) {
        node->locks += count;
    }
}

/* ---- eviction ---- */

static bool goes_first(enum ref_eviction eviction, const struct ref_node *a,
                       const struct ref_node *b)
{
    switch (eviction) {
    case REF_EVICT_FIFO:
        return a->made < b->made;
    case REF_EVICT_FILO:
        return a->made > b->made;
    case REF_EVICT_MRU:
        return a->last_used > b->last_used;
    case REF_EVICT_LFU:
        return a->hits != b->hits ? a->hits < b->hits : a->last_used < b->last_used;
    case REF_EVICT_PRIORITY:
        return a->priority != b->priority ? a->priority > b->priority : a->last_used < b->last_used;
    case REF_EVICT_SLRU:
        return (a->hits >= 2) != (b->hits >= 2) ? a->hits < 2 : a->last_used < b->last_used;
    default:
        return a->last_used < b->last_used;
    }
}

static bool is_unlocked(const struct ref_node *node)
{
    return node->locks == 0 && node->pins == 0 && node->parent != NULL;
}

static bool is_leaf_of_pool(const struct ref_node *node)
{
    for (int64_t i = 0; i < node->child_count; i++) {
        if (node->children[i]->pages.count > 0) {
            return false;
        }
    }
    return node->pages.count > 0 && is_unlocked(node) && !node->is_kept;
}

static bool is_leaf_of_host(const struct ref_node *node)
{
    return node->pages.count == 0 && node->child_count == 0 && is_unlocked(node) &&
           node->host_pins == 0;
}

/* The leaf of a kind that nobody has locked and that goes first, or NULL. */
static struct ref_node *first_leaf(enum ref_eviction eviction, struct ref_node *node,
                                   bool (*is_leaf)(const struct ref_node *node))
{
    struct ref_node *first = is_leaf(node) ? node : NULL;
    for (int64_t i = 0; i < node->child_count; i++) {
        struct ref_node *leaf = first_leaf(eviction, node->children[i], is_leaf);
        if (leaf != NULL && (first == NULL || goes_first(eviction, leaf, first))) {
            first = leaf;
        }
    }
    return first;
}

static void drop_node(struct ref_node *node)
{
    take_child(node->parent, node);
    free_node(node);
}

static int64_t evict_host_leaf(struct ref_state *state)
{
    struct ref_node *leaf = first_leaf(state->engine->eviction, state->tree.root, is_leaf_of_host);
    if (leaf == NULL) {
        return 0;
    }
    const int64_t pages = page_count(state, leaf);
    drop_node(leaf);
    return pages;
}

/* Whether a leaf that leaves the pool has a copy, made now if need be. */
static bool keeps_copy(struct ref_state *state, struct ref_node *leaf)
{
    if (!leaf->has_copy && ref_tier_exists(state) &&
        state->engine->tier.store == REF_STORE_DROPPED &&
        ref_tier_take_room(state, leaf->pages.count, evict_host_leaf)) {
        leaf->has_copy = true;
        ref_tier_write_pages(state, leaf, leaf->pages.count);
    }
    return leaf->has_copy;
}

static bool is_pinned_below(const struct ref_node *node)
{
    bool is_pinned = node->host_pins > 0;
    for (int64_t i = 0; i < node->child_count; i++) {
        is_pinned = is_pinned || is_pinned_below(node->children[i]);
    }
    return is_pinned;
}

static void keep_none(struct ref_node *node)
{
    node->is_kept = false;
    for (int64_t i = 0; i < node->child_count; i++) {
        keep_none(node->children[i]);
    }
}

static struct ref_node *first_of_pool(const struct ref_state *state)
{
    return first_leaf(state->engine->eviction, state->tree.root, is_leaf_of_pool);
}

/* The first leaf that has a copy or leaves nothing behind that the disk's copies need; NULL: there is none. */
static struct ref_node *first_to_go(struct ref_state *state)
{
    struct ref_node *leaf;
    while ((leaf = first_of_pool(state)) != NULL && !keeps_copy(state, leaf) &&
           is_pinned_below(leaf)) {
        leaf->is_kept = true;
    }
    keep_none(state->tree.root);
    return leaf;
}

static int64_t forget_all(struct ref_state *state, const struct ref_node *node)
{
    int64_t pages = page_count(state, node);
    ref_tier_forget_node(state, node);
    for (int64_t i = 0; i < node->child_count; i++) {
        pages += forget_all(state, node->children[i]);
    }
    return pages;
}

static void drop_children(struct ref_state *state, struct ref_node *node)
{
    while (node->child_count > 0) {
        struct ref_node *child = node->children[0];
        ref_tier_lose_pages(state, forget_all(state, child));
        drop_node(child);
    }
}

void ref_tree_evict(struct ref_state *state)
{
    struct ref_node *leaf = first_to_go(state);
    if (leaf == NULL) {
        leaf = first_of_pool(state);
        drop_children(state, leaf);
    }
    const bool stays = leaf->has_copy;
    for (int64_t i = 0; i < leaf->pages.count; i++) {
        ref_list_push(&state->pool.free, leaf->pages.at[i]);
        state->pool.evicted++;
    }
    leaf->pages.count = 0;
    if (!stays) {
        drop_node(leaf);
    }
}

static int64_t pages_with(const struct ref_node *node, bool pinned)
{
    int64_t pages = node->locks == 0 && (node->pins > 0) == pinned ? node->pages.count : 0;
    for (int64_t i = 0; i < node->child_count; i++) {
        pages += pages_with(node->children[i], pinned);
    }
    return pages;
}

int64_t ref_tree_idle(const struct ref_state *state)
{
    return state->engine->is_radix ? pages_with(state->tree.root, false) : 0;
}

int64_t ref_tree_pinned(const struct ref_state *state)
{
    return state->engine->is_radix ? pages_with(state->tree.root, true) : 0;
}

/* ---- requests ---- */

static int64_t *tokens_of(const struct ref_state *state, const struct ref_request *request,
                          int64_t count)
{
    int64_t *tokens = ref_alloc((size_t)count, sizeof(*tokens));
    for (int64_t i = 0; i < count; i++) {
        tokens[i] = ref_request_token(state, request, i);
    }
    return tokens;
}

int64_t ref_tree_lookup(struct ref_state *state, struct ref_request *request, int64_t most)
{
    const int64_t count = most * state->engine->block_size;
    int64_t *tokens = tokens_of(state, request, count);
    request->found.count = 0;
    request->node = match(state, tokens, count, &request->found);
    free(tokens);
    request->found_idle = request->found_host = 0;
    for (const struct ref_node *node = request->node; node->parent != NULL; node = node->parent) {
        request->found_idle += is_unlocked(node) ? node->pages.count : 0;
        request->found_host += node->pages.count == 0 ? page_count(state, node) : 0;
    }
    return request->found.count;
}

/* Pages for what lies in host memory alone, from the top of the path on. */
static void load_path(struct ref_state *state, struct ref_request *request, struct ref_node *node)
{
    if (node->parent == NULL || node->pages.count > 0) {
        return;
    }
    load_path(state, request, node->parent);
    while (node->pages.count < page_count(state, node)) {
        const int64_t block = ref_take_block(state);
        ref_list_push(&node->pages, block);
        ref_list_push(&request->blocks[0], block);
    }
}

/* ---- the disk ---- */

static int64_t last_link(struct ref_state *state, const struct ref_node *node,
                         struct ref_list *links)
{
    const int64_t page = state->engine->block_size;
    int64_t link = -1;
    if (node->parent->parent != NULL) {
        link = last_link(state, node->parent, NULL);
    }
    for (int64_t i = 0; i < node->tokens.count; i += page) {
        link = ref_pool_link(&state->pool, link, &node->tokens.at[i]);
        if (links != NULL) {
            ref_list_push(links, link);
        }
    }
    return link;
}

void ref_tree_links(struct ref_state *state, const struct ref_node *node, struct ref_list *links)
{
    last_link(state, node, links);
}

void ref_tree_pin_host(struct ref_node *node)
{
    node->host_pins++;
}

void ref_tree_unpin_host(struct ref_node *node)
{
    node->host_pins--;
}

int64_t ref_tree_depth(const struct ref_state *state, const struct ref_node *node)
{
    int64_t pages = 0;
    for (; node->parent != NULL; node = node->parent) {
        pages += page_count(state, node);
    }
    return pages;
}

void ref_tree_prefetch(struct ref_state *state, struct ref_request *request)
{
    const int64_t page = state->engine->block_size, known = ref_request_tokens(request);
    ref_tree_lookup(state, request, (known - 1) / page);
    struct ref_node *node = request->node;
    const int64_t first = ref_tree_depth(state, node), missing = known / page - first;
    if ((node->parent != NULL && !node->has_copy) || missing <= 0 ||
        missing * page < state->engine->tier.prefetch_threshold) {
        return;
    }
    node->host_pins++;
    if (!ref_tier_take_room(state, missing, evict_host_leaf)) {
        node->host_pins--;
        state->output->totals.refused_reads++;
        return;
    }
    const int64_t pages = ref_tier_read_pages(state, request, first, known / page);
    ref_tier_give_room(state, missing - pages);
    if (pages == 0) {
        node->host_pins--;
        return;
    }
    request->fetch_behind = node;
    request->fetch_pages = pages;
}

static void end_fetch(struct ref_state *state, struct ref_request *request)
{
    ref_tier_give_up(state, request->fetch_transfer);
    if (!request->fetch_is_lost) {
        request->fetch_behind->host_pins--;
    }
    request->fetch_behind = NULL;
    request->fetch_is_lost = false;
}

void ref_tree_drop_prefetch(struct ref_state *state, struct ref_request *request)
{
    if (request->fetch_behind != NULL) {
        ref_tier_give_room(state, request->fetch_pages);
        end_fetch(state, request);
    }
}

/* Adds pages in host memory behind a node; returns how many were missing. */
static int64_t insert_in_host(struct ref_state *state, struct ref_node *node, const int64_t *tokens,
                              int64_t count)
{
    const int64_t page = state->engine->block_size, time = ++state->tree.clock;
    struct ref_node *child;
    node->last_used = time;
    while (count > 0 && (child = child_for(node, tokens, count, page)) != NULL) {
        child->last_used = time;
        const int64_t same = in_common(child, tokens, count, page);
        node = same < child->tokens.count ? split(state, child, same) : child;
        tokens += same;
        count -= same;
    }
    if (count > 0) {
        child = new_node(&state->tree, node->parent == NULL ? INT32_MAX : node->priority);
        child->has_copy = true;
        for (int64_t i = 0; i < count; i++) {
            ref_list_push(&child->tokens, tokens[i]);
        }
        put_child(node, child);
    }
    return count / page;
}

bool ref_tree_end_prefetch(struct ref_state *state, struct ref_request *request)
{
    struct ref_node *node = request->fetch_behind;
    if (node == NULL) {
        return true;
    }
    if (request->prefetch_until > state->now) {
        return false;
    }
    const int64_t page = state->engine->block_size;
    const int64_t arrived = state->tier.transfers[request->fetch_transfer].arrived;
    int64_t entered = 0;
    if (arrived > 0 && !request->fetch_is_lost) {
        const int64_t first = ref_tree_depth(state, node);
        int64_t *tokens = tokens_of(state, request, (first + arrived) * page);
        entered = insert_in_host(state, node, tokens + first * page, arrived * page);
        free(tokens);
    }
    ref_tier_give_room(state, request->fetch_pages - entered);
    request->below_tokens = entered * page;
    end_fetch(state, request);
    return true;
}

void ref_tree_admit(struct ref_state *state, struct ref_request *request, bool is_loaded)
{
    for (int64_t i = 0; i < request->found.count; i++) {
        ref_list_push(&request->blocks[0], request->found.at[i]);
        state->pool.blocks[request->found.at[i]].holders++;
    }
    while (!is_loaded && request->node->parent != NULL && request->node->pages.count == 0) {
        request->node = request->node->parent;
    }
    request->is_locked = true;
    add_locks(request->node, 1);
    if (is_loaded) {
        load_path(state, request, request->node);
        ref_tier_load_pages(state, request->node, request->found_host);
        add_pins(request->node, 1);
    }
    request->in_tree = request->blocks[0].count;
    request->entered_tokens = request->in_tree * state->engine->block_size;
    request->prefill_tokens = ref_request_tokens(request);
}

static void give_back(struct ref_state *state, int64_t page)
{
    state->pool.blocks[page].holders = 0;
    ref_list_push(&state->pool.free, page);
}

static ref_i128 end_of_steps(const struct ref_state *state)
{
    return state->last_end > state->now ? state->last_end : state->now;
}

/* The first pages of a request are in the tree from now on; it holds the tree's where it had some of its own. */
static void enter(struct ref_state *state, struct ref_request *request, int64_t pages,
                  bool is_chunk)
{
    const int64_t page = state->engine->block_size;
    int64_t *tokens = tokens_of(state, request, pages * page);
    struct ref_list *blocks = &request->blocks[0];
    struct ref_list now = {0}, again = {0};
    insert(state, tokens, pages * page, blocks->at, request->in->priority, is_chunk, &now);
    ref_tier_store_pages(state, request, end_of_steps(state));
    struct ref_node *node = match(state, tokens, pages * page, &again);
    for (int64_t i = request->in_tree; i < pages; i++) {
        if (now.at[i] != blocks->at[i]) {
            give_back(state, blocks->at[i]);
            blocks->at[i] = now.at[i];
            state->pool.blocks[now.at[i]].holders++;
        }
    }
    add_locks(request->node, -1);
    add_locks(node, 1);
    request->node = node;
    request->in_tree = pages;
    ref_list_free(&now);
    ref_list_free(&again);
    free(tokens);
}

void ref_tree_enter_all(struct ref_state *state)
{
    for (int64_t i = 0; i < state->running.count; i++) {
        struct ref_request *request = &state->requests[state->running.at[i]];
        const bool is_chunk = request->computed < request->prefill_tokens;
        const int64_t tokens = is_chunk ? request->computed : request->prefill_tokens;
        if (tokens > request->entered_tokens) {
            request->entered_tokens = tokens;
            enter(state, request, tokens / state->engine->block_size, is_chunk);
        }
    }
}

void ref_tree_leave(struct ref_state *state, struct ref_request *request, bool has_ended)
{
    if (!request->is_locked) {
        return;
    }
    struct ref_list *blocks = &request->blocks[0];
    const int64_t page = state->engine->block_size;
    int64_t kept = request->in_tree;
    struct ref_list now = {0};
    if (has_ended) {
        kept = request->hashed_tokens / page;
        int64_t *tokens = tokens_of(state, request, kept * page);
        insert(state, tokens, kept * page, blocks->at, request->in->priority, false, &now);
        ref_tier_store_pages(state, request, request->gone ? end_of_steps(state) : state->now);
        free(tokens);
    }
    for (int64_t i = 0; i < blocks->count; i++) {
        if (i < request->in_tree) {
            state->pool.blocks[blocks->at[i]].holders--;
        } else if (i < kept && now.at[i] == blocks->at[i]) {
            state->pool.blocks[blocks->at[i]].holders = 0; // the tree's now
        } else {
            give_back(state, blocks->at[i]);
        }
    }
    ref_list_free(&now);
    add_locks(request->node, -1);
    blocks->count = 0;
    request->is_locked = false;
    request->hashed_tokens = 0;
}
