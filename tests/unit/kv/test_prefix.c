/*
 * Extents against a model that keeps every block by itself: random contents that share beginnings, admitted, grown and
 * thrown out in random order in pools that are too small for them. After each operation every content's hits, the counts of
 * blocks and what was evicted must be the same in both.
 */
#include "kv/prefix.h"

#include "support/check_main.h"

#include <stdio.h>
#include <string.h>

enum { BLOCKS_MAX = 64, CONTENTS = 10, RUNS_MAX = 6, SEQS = 5, TOKENS_MAX = 96, NONE = -1 };

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

// One table that keeps everything.
static void init_prefix(struct kv_prefix *prefix, int64_t block_tokens, int64_t usable_blocks,
                        enum kv_eviction eviction, bool is_old_order)
{
    struct kv_tables tables = {.block_tokens = block_tokens,
                               .period_tokens = block_tokens,
                               .growing_tables = 1,
                               .full_tables = 1};
    kv_prefix_init(prefix, &tables, usable_blocks, eviction, is_old_order);
}

/* ---- the model ---- */

struct block {
    int64_t tokens[TOKENS_MAX]; // all up to its end, as its hash
    int64_t token_count;        // 0: no content
    int64_t hashed_at, holders;
    struct kv_age age;
};

struct model {
    struct block blocks[BLOCKS_MAX];
    int64_t queue[BLOCKS_MAX], queued; // free blocks, taken from the front
    int64_t now, evicted, block_tokens, releases;
    enum kv_eviction eviction;
    bool is_old_order;
};

struct member {
    bool is_running;
    int64_t content, computed, blocks[BLOCKS_MAX], held, hashed;
    struct kv_prefix_seq cache;
};

struct scene {
    struct model model;
    struct kv_prefix prefix;
    struct spec_token_run runs[CONTENTS][RUNS_MAX];
    struct kv_content contents[CONTENTS];
    struct member members[SEQS];
    int64_t running[SEQS], running_count; // in order of admission
    struct dice dice;
};

static void model_unqueue(struct model *model, int64_t block)
{
    int64_t at = 0;
    while (model->queue[at] != block) {
        at++;
    }
    memmove(&model->queue[at], &model->queue[at + 1],
            (size_t)(model->queued - at - 1) * sizeof *model->queue);
    model->queued--;
}

static void model_free(struct model *model, int64_t block)
{
    bool to_head = !model->is_old_order && model->blocks[block].token_count == 0;
    if (--model->blocks[block].holders > 0) {
        return;
    }
    struct kv_age *age = &model->blocks[block].age;
    age->last_release = model->releases;
    age->first_release = age->first_release == 0 ? model->releases : age->first_release;
    if (to_head) {
        memmove(&model->queue[1], &model->queue[0], (size_t)model->queued * sizeof *model->queue);
    }
    model->queue[to_head ? 0 : model->queued] = block;
    model->queued++;
}

// Does a go before b? What has no content first; then what the order asks for; of one release the longer content.
static bool model_goes_first(const struct model *model, int64_t a, int64_t b)
{
    const struct block *x = &model->blocks[a], *y = &model->blocks[b];
    if (x->token_count == 0 || y->token_count == 0) {
        return x->token_count == 0 && y->token_count > 0;
    }
    int64_t first = x->age.first_release - y->age.first_release,
            last = x->age.last_release - y->age.last_release, rank = 0;
    if (model->eviction == KV_EVICT_LFU) {
        rank = x->age.hits - y->age.hits;
    } else if (model->eviction == KV_EVICT_SLRU) {
        rank = (x->age.hits > 0 ? 1 : 0) - (y->age.hits > 0 ? 1 : 0);
    } else if (model->eviction == KV_EVICT_PRIORITY) {
        rank = y->age.priority - x->age.priority;
    }
    rank = rank != 0                          ? rank
           : model->eviction == KV_EVICT_FIFO ? first
           : model->eviction == KV_EVICT_FILO ? -first
           : model->eviction == KV_EVICT_MRU  ? -last
                                              : last;
    return rank < 0 || (rank == 0 && x->token_count > y->token_count);
}

static int64_t model_take(struct model *model)
{
    int64_t block = model->queue[0];
    for (int64_t i = 1; i < model->queued && model->eviction != KV_EVICT_LRU; i++) {
        block = model_goes_first(model, model->queue[i], block) ? model->queue[i] : block;
    }
    model_unqueue(model, block);
    model->evicted += model->blocks[block].token_count > 0 ? 1 : 0;
    model->blocks[block].token_count = 0;
    model->blocks[block].holders = 1;
    return block;
}

static int64_t token_at(const struct kv_content *content, int64_t at)
{
    size_t run = 0;
    while (at >= content->runs[run].count) {
        at -= content->runs[run++].count;
    }
    return content->runs[run].first + at;
}

static void write_tokens(const struct kv_content *content, int64_t count, int64_t *tokens)
{
    for (int64_t i = 0; i < count; i++) {
        tokens[i] = token_at(content, i);
    }
}

// The oldest block that holds exactly these tokens.
static int64_t model_find(const struct model *model, const int64_t *tokens, int64_t count)
{
    int64_t found = NONE;
    for (int64_t i = 0; i < BLOCKS_MAX; i++) {
        const struct block *block = &model->blocks[i];
        if (block->token_count == count &&
            memcmp(block->tokens, tokens, (size_t)count * sizeof *tokens) == 0 &&
            (found == NONE || block->hashed_at < model->blocks[found].hashed_at)) {
            found = i;
        }
    }
    return found;
}

static int64_t model_lookup(const struct scene *scene, const struct kv_content *content,
                            int64_t most, int64_t *hits, int64_t *idle)
{
    int64_t tokens[TOKENS_MAX], count = 0;
    write_tokens(content, content->token_count, tokens);
    *idle = 0;
    for (; count < most; count++) {
        int64_t block = model_find(&scene->model, tokens, (count + 1) * scene->model.block_tokens);
        if (block == NONE) {
            break;
        }
        hits[count] = block;
        *idle += scene->model.blocks[block].holders == 0 ? 1 : 0;
    }
    return count;
}

/* ---- both ---- */

static struct member *member_of(const struct kv_prefix_seq *cache)
{
    return (struct member *)(void *)((char *)(uintptr_t)cache - offsetof(struct member, cache));
}

static int64_t hashed_blocks(void *context, const struct kv_prefix_seq *cache)
{
    (void)context;
    return member_of(cache)->hashed;
}

// Every content begins like one of few documents, leaves it somewhere and goes on in another.
static void make_contents(struct scene *scene)
{
    for (int64_t i = 0; i < CONTENTS; i++) {
        struct kv_content *content = &scene->contents[i];
        int64_t wanted = roll(&scene->dice, 1, RUNS_MAX - 1);
        *content = (struct kv_content){.runs = scene->runs[i]};
        for (int64_t r = 0; r < wanted; r++) {
            int64_t document = roll(&scene->dice, 0, 2),
                    at = r == 0 ? 0 : roll(&scene->dice, 0, 3) * 4;
            struct spec_token_run run = {1000 * document + at, roll(&scene->dice, 1, 16)};
            if (content->token_count + run.count > TOKENS_MAX) {
                break;
            }
            scene->runs[i][content->run_count++] = run;
            content->token_count += run.count;
        }
    }
}

static void scene_init(struct scene *scene, uint64_t seed)
{
    *scene = (struct scene){.dice = {seed}};
    struct model *model = &scene->model;
    model->block_tokens = roll(&scene->dice, 1, 5);
    model->eviction = (enum kv_eviction)roll(&scene->dice, KV_EVICT_LRU, KV_EVICT_SLRU);
    model->is_old_order = model->eviction == KV_EVICT_LRU && roll(&scene->dice, 0, 1) == 1;
    int64_t least = TOKENS_MAX / model->block_tokens + 1;
    int64_t usable = least < BLOCKS_MAX / 2 ? roll(&scene->dice, least, 2 * least) : BLOCKS_MAX;
    for (int64_t i = 0; i < usable; i++) {
        model->queue[model->queued++] = i;
    }
    init_prefix(&scene->prefix, model->block_tokens, usable, model->eviction, model->is_old_order);
    scene->prefix.hashed_blocks = hashed_blocks;
    make_contents(scene);
}

static void check_lookups(struct scene *scene)
{
    struct kv_hits hits = {0};
    int64_t found[BLOCKS_MAX], idle;
    for (int64_t i = 0; i < CONTENTS; i++) {
        const struct kv_content *content = &scene->contents[i];
        int64_t most = content->token_count / scene->model.block_tokens;
        kv_prefix_lookup(&scene->prefix, content, most, &hits);
        ck_assert_int_eq(hits.blocks, model_lookup(scene, content, most, found, &idle));
        ck_assert_int_eq(hits.idle_blocks, idle);
    }
    base_vec_free(&hits);
}

static void check_counts(const struct scene *scene)
{
    int64_t idle = 0, shared = 0;
    for (int64_t i = 0; i < BLOCKS_MAX; i++) {
        const struct block *block = &scene->model.blocks[i];
        idle += block->holders == 0 && block->token_count > 0 ? 1 : 0;
        shared += block->holders > 1 ? block->holders - 1 : 0;
    }
    ck_assert_int_eq(kv_prefix_free_blocks(&scene->prefix), scene->model.queued);
    ck_assert_int_eq(scene->prefix.idle_blocks, idle);
    ck_assert_int_eq(scene->prefix.shared_blocks, shared);
    ck_assert_int_eq(scene->prefix.evicted_blocks, scene->model.evicted);
}

// The next blocks to be taken hold nothing: at least as many as it says, and some unless the very next one holds something.
static void check_quiet(const struct scene *scene)
{
    int64_t blocks = kv_prefix_quiet_blocks(&scene->prefix);
    ck_assert_int_le(blocks, scene->model.queued);
    if (scene->model.eviction != KV_EVICT_LRU) {
        ck_assert_int_eq(blocks, scene->prefix.blank_blocks);
        return;
    }
    for (int64_t i = 0; i < blocks; i++) {
        ck_assert_int_eq(scene->model.blocks[scene->model.queue[i]].token_count, 0);
    }
    if (blocks == 0 && scene->model.queued > 0) {
        ck_assert_int_gt(scene->model.blocks[scene->model.queue[0]].token_count, 0);
    }
}

static void commit_all(struct scene *scene)
{
    for (int64_t i = 0; i < scene->running_count; i++) {
        struct member *member = &scene->members[scene->running[i]];
        if (member->cache.is_contended) {
            kv_prefix_commit(&scene->prefix, &member->cache, member->hashed);
        }
    }
}

// Computes `tokens` more: takes blocks for them and hashes what is full.
static void compute(struct scene *scene, struct member *member, int64_t tokens)
{
    struct model *model = &scene->model;
    int64_t end = member->computed + tokens;
    int64_t blocks = (end + model->block_tokens - 1) / model->block_tokens;
    kv_prefix_take(&scene->prefix, blocks - member->held);
    while (member->held < blocks) {
        member->blocks[member->held++] = model_take(model);
    }
    member->computed = end;
    while ((member->hashed + 1) * model->block_tokens <= end) {
        struct block *block = &model->blocks[member->blocks[member->hashed++]];
        block->token_count = member->hashed * model->block_tokens;
        block->hashed_at = model->now++;
        block->age = (struct kv_age){.priority = member->cache.priority};
        write_tokens(&scene->contents[member->content], block->token_count, block->tokens);
    }
    commit_all(scene);
}

static int64_t tokens_that_fit(const struct scene *scene, const struct member *member,
                               int64_t usable)
{
    int64_t room = (member->held + usable) * scene->model.block_tokens - member->computed;
    int64_t left = scene->contents[member->content].token_count - member->computed;
    return room < left ? room : left;
}

static void admit(struct scene *scene, int64_t which)
{
    struct member *member = &scene->members[which];
    struct model *model = &scene->model;
    *member = (struct member){.content = roll(&scene->dice, 0, CONTENTS - 1)};
    member->cache.content = scene->contents[member->content];
    member->cache.priority = (int32_t)roll(&scene->dice, 0, 2);
    int64_t most = (member->cache.content.token_count - 1) / model->block_tokens, idle;
    struct kv_hits hits = {0};
    kv_prefix_lookup(&scene->prefix, &member->cache.content, most, &hits);
    member->held = model_lookup(scene, &member->cache.content, most, member->blocks, &idle);
    int64_t room = tokens_that_fit(scene, member, model->queued - idle);
    member->computed = member->held * model->block_tokens;
    if (room <= 0 || model->queued <= idle) {
        base_vec_free(&hits);
        return;
    }
    member->is_running = true;
    member->hashed = member->held;
    kv_prefix_attach(&scene->prefix, &member->cache, &hits);
    base_vec_free(&hits);
    for (int64_t i = 0; i < member->held; i++) {
        struct block *block = &model->blocks[member->blocks[i]];
        if (block->holders++ == 0) {
            model_unqueue(model, member->blocks[i]);
        }
        block->age.hits++;
        if (member->cache.priority < block->age.priority) {
            block->age.priority = member->cache.priority;
        }
    }
    scene->running[scene->running_count++] = which;
    compute(scene, member, roll(&scene->dice, 1, tokens_that_fit(scene, member, model->queued)));
}

static void throw_out(struct scene *scene, int64_t which)
{
    struct member *member = &scene->members[which];
    kv_prefix_detach(&scene->prefix, &member->cache, member->hashed,
                     member->held * scene->prefix.block_tokens);
    scene->model.releases++;
    for (int64_t i = member->held; i-- > 0;) {
        model_free(&scene->model, member->blocks[i]);
    }
    ck_assert_uint_eq(member->cache.holds.count, 0);
    base_vec_free(&member->cache.holds);
    member->is_running = false;
    int64_t at = 0;
    while (scene->running[at] != which) {
        at++;
    }
    memmove(&scene->running[at], &scene->running[at + 1],
            (size_t)(scene->running_count - at - 1) * sizeof *scene->running);
    scene->running_count--;
}

static void one_operation(struct scene *scene)
{
    int64_t which = roll(&scene->dice, 0, SEQS - 1);
    struct member *member = &scene->members[which];
    if (!member->is_running) {
        admit(scene, which);
        return;
    }
    int64_t room = tokens_that_fit(scene, member, scene->model.queued);
    if (room == 0 || roll(&scene->dice, 0, 3) == 0) {
        throw_out(scene, which);
    } else {
        compute(scene, member, roll(&scene->dice, 1, room < 8 ? room : 8));
    }
}

START_TEST(every_block_is_where_a_block_by_block_model_has_it)
{
    enum { SCENES = 150, OPERATIONS = 120 };
    int64_t evicted = 0, contended = 0;
    for (uint64_t seed = 1; seed <= SCENES; seed++) {
        struct scene scene;
        scene_init(&scene, seed);
        for (int i = 0; i < OPERATIONS; i++) {
            one_operation(&scene);
            check_counts(&scene);
            check_quiet(&scene);
            check_lookups(&scene);
            contended += scene.prefix.contended_count;
        }
        while (scene.running_count > 0) {
            throw_out(&scene, scene.running[0]);
        }
        check_counts(&scene);
        evicted += scene.model.evicted;
        kv_prefix_release(&scene.prefix);
    }
    ck_assert_int_gt(evicted, 1000); // the scenes do what they are for
    ck_assert_int_gt(contended, 1000);
}
END_TEST

/* ---- by hand ---- */

static struct kv_content one_run(struct spec_token_run *run)
{
    return (struct kv_content){run, 1, run->count};
}

static int64_t all_hashed(void *context, const struct kv_prefix_seq *cache)
{
    return cache->content.token_count / ((const struct kv_prefix *)context)->block_tokens;
}

static int64_t hits_of(struct kv_prefix *prefix, const struct kv_content *content, int64_t most)
{
    struct kv_hits hits = {0};
    kv_prefix_lookup(prefix, content, most, &hits);
    int64_t blocks = hits.blocks;
    base_vec_free(&hits);
    return blocks;
}

static void pass_through_as(struct kv_prefix *prefix, const struct kv_content *content,
                            int32_t priority)
{
    struct kv_prefix_seq seq = {.content = *content, .priority = priority};
    struct kv_hits hits = {0};
    int64_t blocks = content->token_count / prefix->block_tokens;
    kv_prefix_lookup(prefix, content, blocks, &hits);
    kv_prefix_attach(prefix, &seq, &hits);
    kv_prefix_take(prefix, blocks - hits.blocks);
    kv_prefix_detach(prefix, &seq, blocks, blocks * prefix->block_tokens);
    base_vec_free(&hits);
    base_vec_free(&seq.holds);
}

static void pass_through(struct kv_prefix *prefix, const struct kv_content *content)
{
    pass_through_as(prefix, content, 0);
}

START_TEST(the_last_blocks_of_the_oldest_content_go_first)
{
    struct kv_prefix prefix;
    struct spec_token_run runs[3] = {{0, 16}, {100, 16}, {200, 12}};
    struct kv_content a = one_run(&runs[0]), b = one_run(&runs[1]), c = one_run(&runs[2]);
    init_prefix(&prefix, 4, 9, KV_EVICT_LRU, false);
    prefix.hashed_blocks = all_hashed;
    prefix.context = &prefix;
    pass_through(&prefix, &a);
    pass_through(&prefix, &b);
    ck_assert_int_eq(prefix.blank_blocks, 1);
    pass_through(&prefix, &c); // one blank block and two of a's
    ck_assert_int_eq(prefix.evicted_blocks, 2);
    ck_assert_int_eq(hits_of(&prefix, &a, 4), 2);
    ck_assert_int_eq(hits_of(&prefix, &b, 4), 4);
    ck_assert_int_eq(hits_of(&prefix, &b, 3), 3);
    pass_through(&prefix, &a); // a hit makes it the youngest; two of b's go
    ck_assert_int_eq(hits_of(&prefix, &a, 4), 4);
    ck_assert_int_eq(hits_of(&prefix, &b, 4), 2);
    kv_prefix_release(&prefix);
}
END_TEST

START_TEST(contents_that_part_in_a_block_share_what_lies_before_it)
{
    struct kv_prefix prefix;
    struct spec_token_run same[1] = {{0, 16}}, parts[2] = {{0, 10}, {500, 6}},
                          cut[3] = {{0, 3}, {3, 5}, {8, 2}};
    struct kv_content whole = one_run(same), other = {parts, 2, 16}, pieces = {cut, 3, 10};
    init_prefix(&prefix, 4, 20, KV_EVICT_LRU, false);
    prefix.hashed_blocks = all_hashed;
    prefix.context = &prefix;
    pass_through(&prefix, &whole);
    ck_assert_int_eq(hits_of(&prefix, &other, 4), 2);
    ck_assert_int_eq(hits_of(&prefix, &pieces, 2),
                     2); // how content is cut into runs is no part of it
    pass_through(&prefix, &other);
    ck_assert_int_eq(prefix.idle_blocks, 6);
    ck_assert_int_eq(hits_of(&prefix, &whole, 4), 4);
    kv_prefix_release(&prefix);
}
END_TEST

static void attach(struct kv_prefix *prefix, struct kv_prefix_seq *seq,
                   const struct kv_content *content, int64_t hit_blocks, int64_t own_blocks)
{
    struct kv_hits hits = {0};
    seq->content = *content;
    kv_prefix_lookup(prefix, content, hit_blocks, &hits);
    ck_assert_int_eq(hits.blocks, hit_blocks);
    kv_prefix_attach(prefix, seq, &hits);
    kv_prefix_take(prefix, own_blocks);
    base_vec_free(&hits);
}

// Which of three contents loses its end first: a (urgent, found again after b came), b, c (least urgent).
START_TEST(each_order_takes_from_another_content_first)
{
    static const struct {
        enum kv_eviction order;
        char loses;
    } cases[] = {
        {KV_EVICT_LRU, 'b'},  {KV_EVICT_FIFO, 'a'},     {KV_EVICT_LFU, 'b'},  {KV_EVICT_MRU, 'a'},
        {KV_EVICT_FILO, 'c'}, {KV_EVICT_PRIORITY, 'c'}, {KV_EVICT_SLRU, 'b'},
    };
    struct spec_token_run runs[3] = {{0, 16}, {100, 16}, {200, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kv_prefix prefix;
        init_prefix(&prefix, 4, 12, cases[i].order, false);
        prefix.hashed_blocks = all_hashed;
        prefix.context = &prefix;
        struct kv_content contents[3];
        for (int32_t c = 0; c < 3; c++) {
            contents[c] = one_run(&runs[c]);
            pass_through_as(&prefix, &contents[c], c);
        }
        pass_through_as(&prefix, &contents[0], 0);
        kv_prefix_take(&prefix, 1);
        for (int c = 0; c < 3; c++) {
            ck_assert_int_eq(hits_of(&prefix, &contents[c], 4), cases[i].loses == 'a' + c ? 3 : 4);
        }
        kv_prefix_release(&prefix);
    }
}
END_TEST

static int64_t none_hashed(void *context, const struct kv_prefix_seq *cache)
{
    (void)context;
    (void)cache;
    return 0;
}

static bool next_is_pending(struct kv_prefix *prefix, const struct kv_content *content)
{
    struct kv_hits hits = {0};
    kv_prefix_lookup(prefix, content, content->token_count / prefix->block_tokens, &hits);
    base_vec_free(&hits);
    return hits.next_is_pending;
}

START_TEST(a_block_that_is_being_computed_is_told_from_one_that_is_gone)
{
    struct kv_prefix prefix;
    struct kv_prefix_seq first = {0};
    struct spec_token_run same[1] = {{0, 16}}, parts[2] = {{0, 8}, {500, 8}};
    struct kv_content whole = one_run(same), other = {parts, 2, 16};
    init_prefix(&prefix, 4, 9, KV_EVICT_LRU, false);
    prefix.hashed_blocks = none_hashed;
    ck_assert(!next_is_pending(&prefix, &whole));
    attach(&prefix, &first, &whole, 0, 4);
    ck_assert(next_is_pending(&prefix, &whole));
    ck_assert(next_is_pending(&prefix, &other));
    kv_prefix_detach(&prefix, &first, 2, 4 * 4); // two were hashed, two never will be
    prefix.hashed_blocks = all_hashed;
    ck_assert(!next_is_pending(&prefix, &whole));
    ck_assert(!next_is_pending(&prefix, &other));
    kv_prefix_release(&prefix);
    base_vec_free(&first.holds);
}
END_TEST

START_TEST(a_second_copy_that_is_cut_is_still_eaten_from_its_end)
{
    struct kv_prefix prefix;
    struct kv_prefix_seq first = {0}, second = {0}, third = {0};
    struct spec_token_run same[1] = {{0, 16}}, parts[2] = {{0, 8}, {500, 4}};
    struct kv_content whole = one_run(same), other = {parts, 2, 12};
    init_prefix(&prefix, 4, 9, KV_EVICT_LRU, false);
    prefix.hashed_blocks = none_hashed; // two side by side, before either has a full block
    attach(&prefix, &first, &whole, 0, 4);
    attach(&prefix, &second, &whole, 0, 4);
    kv_prefix_commit(&prefix, &first, 4);
    kv_prefix_commit(&prefix, &second, 4);
    kv_prefix_detach(&prefix, &first, 4, 4 * 4);
    kv_prefix_detach(&prefix, &second, 4, 4 * 4);
    prefix.hashed_blocks = all_hashed;
    prefix.context = &prefix;
    ck_assert_int_eq(prefix.idle_blocks, 8);
    attach(&prefix, &third, &other, 2,
           1);                  // leaves the content after two blocks, takes the blank block
    kv_prefix_take(&prefix, 3); // the first copy's last two and the second's last one
    ck_assert_int_eq(hits_of(&prefix, &whole, 4), 3);
    kv_prefix_detach(&prefix, &third, 3, 3 * 4);
    ck_assert_int_eq(hits_of(&prefix, &other, 3), 3);
    kv_prefix_release(&prefix);
    base_vec_free(&first.holds);
    base_vec_free(&second.holds);
    base_vec_free(&third.holds);
}
END_TEST

CHECK_MAIN("kv.prefix", every_block_is_where_a_block_by_block_model_has_it,
           the_last_blocks_of_the_oldest_content_go_first,
           each_order_takes_from_another_content_first,
           contents_that_part_in_a_block_share_what_lies_before_it,
           a_block_that_is_being_computed_is_told_from_one_that_is_gone,
           a_second_copy_that_is_cut_is_still_eaten_from_its_end)
