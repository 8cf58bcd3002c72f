/*
 * Several block tables, some with a window, against a model that keeps every block by itself: contents that share beginnings
 * are admitted, decoded token by token or computed in chunks, slide over what they hold and are thrown out in random order, in
 * pools that are too small for them. After each operation the counts of blocks, the order in which blocks would be taken and
 * what contents find must be the same in both. The rare turns of extents, braids and trails (kv/braid.h) are counted: each must
 * have been taken many times, or the scenes are not what they are for. KVSIM_SEED sets the first scene, KVSIM_SCENARIOS how many.
 */
#include "kv/prefix.h"
#include "kv/prefix_int.h"

#include "base/error.h"
#include "support/check_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TABLES_MAX = 6,
    TOKENS_MAX = 60,
    TABLE_BLOCKS_MAX = TOKENS_MAX / 2,
    BLOCKS_MAX = 3 * TABLES_MAX * (TABLE_BLOCKS_MAX + 1),
    CONTENTS = 8,
    RUNS_MAX = 6,
    SEQS = 4,
    NONE = -1
};

/* ---- what must have happened ---- */

#define TURNS(X)                                                                             \
    X(EATEN_BRAID_FOUND, "a braid of several tables is found that is taken in part")         \
    X(EATEN_TRAIL_FOUND, "the first block of a trail is found that is taken in some tables") \
    X(HELD_IS_SPLIT, "what others hold is split into tables")                                \
    X(ONLY_STRAND_IS_SPLIT, "a braid is unravelled for its only strand")                     \
    X(FIRST_STRAND_IS_SPLIT, "... for its first one")                                        \
    X(MIDDLE_STRAND_IS_SPLIT, "... for one between others")                                  \
    X(LAST_STRAND_IS_SPLIT, "... for its last one")                                          \
    X(BLANK_BRAID_IS_SPLIT, "... that has blocks without content")                           \
    X(TRAIL_IS_SPLIT, "a trail is unravelled for a hit")                                     \
    X(TRAIL_FRONT, "a hit takes the front of a trail")                                       \
    X(TRAIL_MIDDLE, "... its middle")                                                        \
    X(TRAIL_BACK, "... its back")                                                            \
    X(TRAIL_WHOLE, "... all of it")                                                          \
    X(STRAND_MIDDLE, "a hit takes the middle of a strand of several tables")                 \
    X(TRAIL_GROWS, "a window leaves a block to a trail")                                     \
    X(TRAIL_TAKES_LAST, "... the last one of the piece behind it")                           \
    X(SHARED_GROWS, "... to a piece that others hold")                                       \
    X(TRAILS_CROSS, "the links of a trail have others between them")                         \
    X(BRAID_AMONG_LINKS, "a braid lies between two links of a trail")

#define TURN(name, text) name,
enum turn { TURNS(TURN) TURN_COUNT };
#undef TURN
#define TURN(name, text) text,
static const char *const turn_texts[] = {TURNS(TURN)};
#undef TURN

struct dice {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static int64_t roll(struct dice *dice, int64_t low, int64_t high)
{
    uint64_t x = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return low + (int64_t)((x ^ (x >> 31)) % (uint64_t)(high - low + 1));
}

/* ---- the model ---- */

struct block {
    int64_t key; /* of all tokens up to its end; NONE: no content */
    int64_t table, hashed_at, holders;
};

struct member {
    bool is_running;
    int64_t content, computed, hashed,
        begun; /* blocks of a table: hashed, and taken or held at some time */
    int64_t blocks[TABLES_MAX][TABLE_BLOCKS_MAX + 1]; /* NONE: not held */
    struct kv_prefix_seq cache;
};

struct scene {
    struct dice dice;
    struct kv_tables tables;
    int64_t table_count, size; /* of a block, in tokens */
    struct block blocks[BLOCKS_MAX];
    int64_t queue[BLOCKS_MAX], queued; /* free blocks, taken from the front */
    int64_t usable, now, evicted;
    bool is_old_order;
    struct spec_token_run runs[CONTENTS][RUNS_MAX];
    struct kv_content contents[CONTENTS];
    int64_t keys[CONTENTS][TABLE_BLOCKS_MAX]; /* of their blocks */
    struct member members[SEQS];
    int64_t running[SEQS], running_count; /* in order of admission */
    struct kv_prefix prefix;
    int64_t *turns;
};

static const struct kv_window *window_of(const struct scene *scene, int64_t table)
{
    int64_t first = scene->tables.full_tables;
    for (size_t w = 0; w < scene->tables.window_count; w++) {
        first += scene->tables.windows[w].table_count;
        if (table < first && table >= scene->tables.full_tables) {
            return &scene->tables.windows[w];
        }
    }
    return NULL;
}

static int64_t passed(const struct scene *scene, int64_t table, int64_t tokens)
{
    const struct kv_window *window = window_of(scene, table);
    return window != NULL ? kv_window_passed_blocks(window, tokens) : 0;
}

static void unqueue(struct scene *scene, int64_t block)
{
    int64_t at = 0;
    while (scene->queue[at] != block) {
        at++;
    }
    scene->queued--;
    memmove(&scene->queue[at], &scene->queue[at + 1],
            (size_t)(scene->queued - at) * sizeof *scene->queue);
}

static void let_go(struct scene *scene, int64_t block)
{
    bool to_head = !scene->is_old_order && scene->blocks[block].key == NONE;
    if (--scene->blocks[block].holders > 0) {
        return;
    }
    if (to_head) {
        memmove(&scene->queue[1], &scene->queue[0], (size_t)scene->queued * sizeof *scene->queue);
    }
    scene->queue[to_head ? 0 : scene->queued] = block;
    scene->queued++;
}

static int64_t take_one(struct scene *scene)
{
    int64_t block = scene->queue[0];
    unqueue(scene, block);
    scene->evicted += scene->blocks[block].key != NONE ? 1 : 0;
    scene->blocks[block] = (struct block){.key = NONE, .holders = 1};
    return block;
}

// The oldest block of the table with that content.
static int64_t find(const struct scene *scene, int64_t table, int64_t key)
{
    int64_t found = NONE;
    for (int64_t i = 0; i < scene->usable; i++) {
        const struct block *block = &scene->blocks[i];
        if (block->key == key && block->table == table &&
            (found == NONE || block->hashed_at < scene->blocks[found].hashed_at)) {
            found = i;
        }
    }
    return found;
}

// Whether all tables have what somebody needs who starts behind `count` blocks.
static bool can_start(const struct scene *scene, int64_t content, int64_t count)
{
    for (int64_t table = 0; table < scene->table_count; table++) {
        const struct kv_window *window = window_of(scene, table);
        int64_t needed = window != NULL ? kv_window_blocks_to_start(window) : count;
        needed = needed > 0 ? needed : 1;
        for (int64_t i = count > needed ? count - needed : 0; i < count; i++) {
            if (find(scene, table, scene->keys[content][i]) == NONE) {
                return false;
            }
        }
    }
    return true;
}

static int64_t look_up(const struct scene *scene, int64_t content, int64_t most, int64_t *idle)
{
    int64_t count = most;
    while (!can_start(scene, content, count)) {
        count--;
    }
    *idle = 0;
    for (int64_t table = 0; table < scene->table_count; table++) {
        for (int64_t i = passed(scene, table, count * scene->size); i < count; i++) {
            int64_t block = find(scene, table, scene->keys[content][i]);
            *idle += scene->blocks[block].holders == 0 ? 1 : 0;
        }
    }
    return count;
}

/* ---- a scene ---- */

static struct member *member_of(const struct kv_prefix_seq *cache)
{
    return (struct member *)(void *)((char *)(uintptr_t)cache - offsetof(struct member, cache));
}

static int64_t hashed_blocks(void *context, const struct kv_prefix_seq *cache)
{
    (void)context;
    return member_of(cache)->hashed;
}

static int64_t token_at(const struct kv_content *content, int64_t at)
{
    size_t run = 0;
    while (at >= content->runs[run].count) {
        at -= content->runs[run++].count;
    }
    return content->runs[run].first + at;
}

static int64_t shared_tokens(const struct kv_content *a, const struct kv_content *b)
{
    int64_t same = 0;
    while (same < a->token_count && same < b->token_count &&
           token_at(a, same) == token_at(b, same)) {
        same++;
    }
    return same;
}

// Blocks of two contents have one key just when all tokens up to their end are the same.
static void make_keys(struct scene *scene, int64_t content)
{
    const struct kv_content *own = &scene->contents[content];
    for (int64_t i = 0; i < own->token_count / scene->size; i++) {
        scene->keys[content][i] = content * TABLE_BLOCKS_MAX + i;
    }
    for (int64_t other = content; other-- > 0;) {
        int64_t same = shared_tokens(own, &scene->contents[other]) / scene->size;
        for (int64_t i = 0; i < same; i++) {
            scene->keys[content][i] = scene->keys[other][i];
        }
    }
}

// Every content begins like one of few documents, leaves it somewhere and goes on in another.
static void make_contents(struct scene *scene)
{
    for (int64_t i = 0; i < CONTENTS; i++) {
        struct kv_content *content = &scene->contents[i];
        int64_t wanted = roll(&scene->dice, 1, RUNS_MAX);
        *content = (struct kv_content){.runs = scene->runs[i]};
        for (int64_t r = 0; r < wanted && content->token_count < TOKENS_MAX; r++) {
            int64_t document = roll(&scene->dice, 0, 2),
                    at = r == 0 ? 0 : roll(&scene->dice, 0, 2) * 12,
                    room = TOKENS_MAX - content->token_count, count = roll(&scene->dice, 4, 32);
            struct spec_token_run run = {1000 * document + at, count < room ? count : room};
            scene->runs[i][content->run_count++] = run;
            content->token_count += run.count;
        }
        make_keys(scene, i);
    }
}

static void make_tables(struct scene *scene)
{
    struct kv_tables *tables = &scene->tables;
    scene->size = roll(&scene->dice, 2, 3);
    *tables = (struct kv_tables){
        .block_tokens = scene->size, .period_tokens = scene->size, .window_count = 1};
    tables->full_tables = roll(&scene->dice, 0, 2);
    tables->window_count = (size_t)roll(&scene->dice, 1, 2);
    tables->growing_tables = tables->full_tables;
    for (size_t w = 0; w < tables->window_count; w++) {
        int64_t tokens = roll(&scene->dice, 2, 14), count = roll(&scene->dice, 1, 2);
        tables->windows[w] = (struct kv_window){.kind = SPEC_KV_SLIDING,
                                                .tokens = tokens,
                                                .table_count = count,
                                                .block_tokens = scene->size};
        tables->growing_tables += tables->windows[w].table_count;
    }
    scene->table_count = tables->growing_tables;
}

static void scene_init(struct scene *scene, uint64_t seed, int64_t *turns)
{
    *scene = (struct scene){.dice = {seed}, .turns = turns};
    make_tables(scene);
    make_contents(scene);
    scene->is_old_order = roll(&scene->dice, 0, 1) == 1;
    int64_t least = (TOKENS_MAX / scene->size + 1) * scene->table_count;
    scene->usable = roll(&scene->dice, least, roll(&scene->dice, 2, 3) * least);
    base_require(scene->usable <= BLOCKS_MAX);
    for (int64_t i = 0; i < scene->usable; i++) {
        scene->blocks[i].key = NONE;
        scene->queue[scene->queued++] = i;
    }
    kv_prefix_init(&scene->prefix, &scene->tables, scene->usable, KV_EVICT_LRU,
                   scene->is_old_order);
    scene->prefix.hashed_blocks = hashed_blocks;
}

/* ---- both alike ---- */

static void check_counts(const struct scene *scene)
{
    int64_t idle = 0, shared = 0;
    for (int64_t i = 0; i < scene->usable; i++) {
        const struct block *block = &scene->blocks[i];
        idle += block->holders == 0 && block->key != NONE ? 1 : 0;
        shared += block->holders > 1 ? block->holders - 1 : 0;
    }
    ck_assert_int_eq(kv_prefix_free_blocks(&scene->prefix), scene->queued);
    ck_assert_int_eq(scene->prefix.idle_blocks, idle);
    ck_assert_int_eq(scene->prefix.shared_blocks, shared);
    ck_assert_int_eq(scene->prefix.evicted_blocks, scene->evicted);
}

static void check_queue(const struct scene *scene)
{
    struct kv_queue_walk walk;
    kv_prefix_walk_queue(&scene->prefix, &walk);
    for (int64_t i = 0; i < scene->queued; i++) {
        ck_assert_int_eq(kv_queue_walk_pass(&walk, 1),
                         scene->blocks[scene->queue[i]].key != NONE ? 1 : 0);
    }
}

static void find_hits(struct scene *scene, int64_t content, int64_t most, struct kv_hits *hits)
{
    const struct kv_braid *head = scene->prefix.queue.head;
    bool is_eaten = head != NULL && head->eaten > 0, is_link = is_eaten && head->is_link;
    uint64_t splits = scene->prefix.splits;
    kv_prefix_lookup(&scene->prefix, &scene->contents[content], most, hits);
    if (scene->prefix.splits > splits) {
        ck_assert(is_eaten);
        scene->turns[is_link ? EATEN_TRAIL_FOUND : EATEN_BRAID_FOUND]++;
    }
}

static void check_lookup(struct scene *scene, int64_t content)
{
    struct kv_hits hits = {0};
    int64_t idle, most = scene->contents[content].token_count / scene->size;
    find_hits(scene, content, most, &hits);
    ck_assert_int_eq(hits.blocks, look_up(scene, content, most, &idle));
    ck_assert_int_eq(hits.idle_blocks, idle);
    base_vec_free(&hits);
}

/* ---- which turns are taken ---- */

static void note_strand(struct scene *scene, const struct kv_hold *hit)
{
    const struct kv_extent *extent = hit->first;
    const struct kv_braid *braid = extent->braid;
    bool is_first = braid->first == extent, is_last = braid->last == extent;
    if (hit->tables > 1) {
        scene->turns[STRAND_MIDDLE] += extent->lo < hit->lo && hit->hi < extent->hi ? 1 : 0;
    }
    if (hit->tables < extent->tables) {
        scene->turns[is_first && is_last ? ONLY_STRAND_IS_SPLIT
                     : is_first          ? FIRST_STRAND_IS_SPLIT
                     : is_last           ? LAST_STRAND_IS_SPLIT
                                         : MIDDLE_STRAND_IS_SPLIT]++;
        scene->turns[BLANK_BRAID_IS_SPLIT] += braid->blank > 0 ? 1 : 0;
    }
}

static void note_trail(struct scene *scene, const struct kv_hold *hit)
{
    const struct kv_extent *extent = hit->first;
    bool at_begin = hit->lo == extent->lo, at_end = hit->hi == extent->hi;
    scene->turns[TRAIL_IS_SPLIT] += hit->tables < extent->tables ? 1 : 0;
    scene->turns[at_begin && at_end ? TRAIL_WHOLE
                 : at_begin         ? TRAIL_FRONT
                 : at_end           ? TRAIL_BACK
                                    : TRAIL_MIDDLE]++;
}

static void note_hits(struct scene *scene, const struct kv_hits *hits)
{
    for (size_t i = 0; i < hits->count; i++) {
        const struct kv_hold *hit = &hits->at[i];
        if (hit->first->holders > 0) {
            scene->turns[HELD_IS_SPLIT] += hit->tables < hit->first->tables ? 1 : 0;
        } else if (hit->first->is_trail) {
            note_trail(scene, hit);
        } else {
            note_strand(scene, hit);
        }
    }
}

static void note_links(struct scene *scene)
{
    for (const struct kv_braid *braid = scene->prefix.queue.head; braid != NULL;
         braid = braid->after) {
        if (!braid->is_link || braid == braid->first->last_link || braid->after == NULL) {
            continue;
        }
        scene->turns[TRAILS_CROSS] +=
            braid->after->is_link && braid->after->first != braid->first ? 1 : 0;
        scene->turns[BRAID_AMONG_LINKS] += braid->after->is_link ? 0 : 1;
    }
}

static void note_slides(struct scene *scene, const struct member *member,
                        const struct kv_window *window, int64_t until)
{
    for (size_t i = 0; i < member->cache.holds.count; i++) {
        const struct kv_hold *hold = &member->cache.holds.at[i];
        if (window_of(scene, hold->table) != window || until != hold->lo + 1 ||
            !kv_extent_can_slide(&scene->prefix, &member->cache, hold->first)) {
            continue;
        }
        bool is_idle = hold->first->holders == 1, is_last = hold->first->hi == until;
        scene->turns[!is_idle ? SHARED_GROWS : is_last ? TRAIL_TAKES_LAST : TRAIL_GROWS]++;
    }
}

/* ---- operations ---- */

static int64_t blocks_for(const struct scene *scene, int64_t tokens)
{
    return (tokens + scene->size - 1) / scene->size;
}

// What no later token sees comes back, window by window, in each table the last block first.
static void leave_behind(struct scene *scene, struct member *member)
{
    int64_t first = scene->tables.full_tables;
    for (size_t w = 0; w < scene->tables.window_count; w++) {
        const struct kv_window *window = &scene->tables.windows[w];
        int64_t until = kv_window_passed_blocks(window, member->computed);
        note_slides(scene, member, window, until);
        kv_prefix_drop(&scene->prefix, &member->cache, window, until, member->hashed);
        for (int64_t table = first; table < first + window->table_count; table++) {
            for (int64_t i = until; i-- > 0;) {
                if (member->blocks[table][i] != NONE) {
                    let_go(scene, member->blocks[table][i]);
                    member->blocks[table][i] = NONE;
                }
            }
        }
        first += window->table_count;
    }
}

static void hash_full(struct scene *scene, struct member *member)
{
    for (; (member->hashed + 1) * scene->size <= member->computed; member->hashed++) {
        for (int64_t table = 0; table < scene->table_count; table++) {
            struct block *block = &scene->blocks[member->blocks[table][member->hashed]];
            block->key = scene->keys[member->content][member->hashed];
            block->table = table;
            block->hashed_at = scene->now;
        }
        scene->now++;
    }
    for (int64_t i = 0; i < scene->running_count; i++) {
        struct member *other = &scene->members[scene->running[i]];
        if (other->cache.is_contended) {
            kv_prefix_commit(&scene->prefix, &other->cache, other->hashed);
        }
    }
}

static void compute(struct scene *scene, struct member *member, int64_t tokens)
{
    int64_t end = blocks_for(scene, member->computed + tokens);
    kv_prefix_take(&scene->prefix, (end - member->begun) * scene->table_count);
    for (; member->begun < end; member->begun++) {
        for (int64_t table = 0; table < scene->table_count; table++) {
            member->blocks[table][member->begun] = take_one(scene);
        }
    }
    member->computed += tokens;
    hash_full(scene, member);
}

// Tokens for which there are blocks, `spare` of the free ones left out.
static int64_t tokens_that_fit(const struct scene *scene, const struct member *member,
                               int64_t spare)
{
    int64_t blocks = member->begun + (scene->queued - spare) / scene->table_count;
    int64_t room = blocks * scene->size - member->computed;
    int64_t left = scene->contents[member->content].token_count - member->computed;
    return room < left ? room : left;
}

// Of a chunk.
static int64_t some_tokens(struct scene *scene, const struct member *member)
{
    enum { CHUNK = 12 };
    int64_t room = tokens_that_fit(scene, member, 0);
    return roll(&scene->dice, 1, room < CHUNK ? room : CHUNK);
}

static void hold_hits(struct scene *scene, struct member *member, int64_t count)
{
    for (int64_t table = 0; table < scene->table_count; table++) {
        for (int64_t i = 0; i < TABLE_BLOCKS_MAX + 1; i++) {
            member->blocks[table][i] = NONE;
        }
        for (int64_t i = passed(scene, table, count * scene->size); i < count; i++) {
            int64_t block = find(scene, table, scene->keys[member->content][i]);
            member->blocks[table][i] = block;
            if (scene->blocks[block].holders++ == 0) {
                unqueue(scene, block);
            }
        }
    }
}

static void admit(struct scene *scene, int64_t which, int64_t content, int64_t most)
{
    struct member *member = &scene->members[which];
    *member = (struct member){.content = content};
    member->cache.content = scene->contents[content];
    int64_t idle;
    int64_t hit = look_up(scene, member->content, most, &idle);
    member->begun = member->hashed = hit;
    member->computed = hit * scene->size;
    if (tokens_that_fit(scene, member, idle) <= 0) {
        return;
    }
    struct kv_hits hits = {0};
    find_hits(scene, member->content, most, &hits);
    ck_assert_int_eq(hits.blocks, hit);
    note_hits(scene, &hits);
    kv_prefix_attach(&scene->prefix, &member->cache, &hits);
    base_vec_free(&hits);
    hold_hits(scene, member, hit);
    member->is_running = true;
    scene->running[scene->running_count++] = which;
    compute(scene, member, some_tokens(scene, member));
}

static void throw_out(struct scene *scene, int64_t which)
{
    struct member *member = &scene->members[which];
    kv_prefix_detach(&scene->prefix, &member->cache, member->hashed, member->begun * scene->size);
    for (int64_t table = 0; table < scene->table_count; table++) {
        for (int64_t i = member->begun; i-- > 0;) {
            if (member->blocks[table][i] != NONE) {
                let_go(scene, member->blocks[table][i]);
            }
        }
    }
    ck_assert_uint_eq(member->cache.holds.count, 0);
    base_vec_free(&member->cache.holds);
    member->is_running = false;
    int64_t at = 0;
    while (scene->running[at] != which) {
        at++;
    }
    scene->running_count--;
    memmove(&scene->running[at], &scene->running[at + 1],
            (size_t)(scene->running_count - at) * sizeof *scene->running);
}

static void admit_any(struct scene *scene, int64_t which)
{
    int64_t content = roll(&scene->dice, 0, CONTENTS - 1);
    int64_t most = (scene->contents[content].token_count - 1) / scene->size;
    most = roll(&scene->dice, 0, 2) > 0 ? most : roll(&scene->dice, 0, most);
    admit(scene, which, content, most);
}

// Mostly a token for everybody, as decoding goes; else one that comes, goes or computes a chunk.
static void one_operation(struct scene *scene)
{
    bool decodes = roll(&scene->dice, 0, 2) > 0;
    int64_t one = roll(&scene->dice, 0, SEQS - 1);
    for (int64_t which = 0; which < SEQS; which++) {
        struct member *member = &scene->members[which];
        if (!decodes && which != one) {
            continue;
        }
        if (!member->is_running) {
            if (which == one) {
                admit_any(scene, which);
            }
            continue;
        }
        leave_behind(scene, member);
        int64_t room = tokens_that_fit(scene, member, 0);
        if (room == 0 || (!decodes && roll(&scene->dice, 0, 2) == 0)) {
            throw_out(scene, which);
        } else {
            compute(scene, member, decodes ? 1 : some_tokens(scene, member));
        }
    }
}

static void check_all(struct scene *scene)
{
    check_counts(scene);
    check_queue(scene);
    note_links(scene);
    check_lookup(scene, roll(&scene->dice, 0, CONTENTS - 1));
}

// Two texts are decoded side by side, token by token, so that their trails cross.
static void decode_pair(struct scene *scene, int64_t a, int64_t b)
{
    int64_t pair[] = {a, b};
    for (int64_t which = 0; which < 2; which++) {
        admit(scene, which, pair[which], 0);
    }
    for (int64_t i = 0; i < TOKENS_MAX; i++) {
        for (int64_t which = 0; which < 2; which++) {
            struct member *member = &scene->members[which];
            if (member->is_running && tokens_that_fit(scene, member, 0) > 0) {
                leave_behind(scene, member);
                compute(scene, member, 1);
            }
        }
    }
}

// Once they have gone, and some of the queue has been taken, every place of the first one is hit in turn.
static void hit_all_places(struct scene *scene, int64_t content)
{
    int64_t blocks = (scene->contents[content].token_count - 1) / scene->size;
    for (int64_t i = 0; i < blocks; i++) {
        admit(scene, 0, content, (7 * i) % blocks);
        check_all(scene);
        if (scene->running_count > 0) {
            leave_behind(scene, &scene->members[0]);
            throw_out(scene, 0);
        }
        check_all(scene);
    }
}

static void play(uint64_t seed, int64_t *turns)
{
    enum { OPERATIONS = 100 };
    struct scene *scene = calloc(1, sizeof *scene);
    ck_assert_ptr_nonnull(scene);
    scene_init(scene, seed, turns);
    decode_pair(scene, 0, 1);
    while (scene->running_count > 0) {
        throw_out(scene, scene->running[0]);
    }
    hit_all_places(scene, 0);
    for (int i = 0; i < OPERATIONS; i++) {
        one_operation(scene);
        check_all(scene);
    }
    while (scene->running_count > 0) {
        throw_out(scene, scene->running[0]);
    }
    // All that is left, a block at a time.
    while (scene->queued > 0) {
        kv_prefix_take(&scene->prefix, 1);
        take_one(scene);
        check_counts(scene);
        check_lookup(scene, roll(&scene->dice, 0, CONTENTS - 1));
    }
    kv_prefix_release(&scene->prefix);
    free(scene);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(tables_that_are_alike_or_not_agree_with_single_blocks)
{
    enum { SCENES = 100, OFTEN = 5 };
    uint64_t first = number_from("KVSIM_SEED", 1), scenes = number_from("KVSIM_SCENARIOS", SCENES);
    int64_t turns[TURN_COUNT] = {0};
    for (uint64_t seed = first; seed < first + scenes; seed++) {
        printf("scene %llu\n", (unsigned long long)seed);
        play(seed, turns);
    }
    for (size_t i = 0; i < TURN_COUNT; i++) {
        printf("%8lld %s\n", (long long)turns[i], turn_texts[i]);
        ck_assert_msg(scenes < SCENES || turns[i] >= OFTEN, "rarely or never: %s", turn_texts[i]);
    }
}
END_TEST

CHECK_MAIN("property.braids", tables_that_are_alike_or_not_agree_with_single_blocks)
