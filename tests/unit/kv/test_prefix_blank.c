/*
 * Blocks without content against a list of them one by one: what comes back together lies at the head of the queue with its
 * last block first, and who takes one that an open store reads is told of the last such store.
 */
#include "kv/prefix_int.h"

#include "support/check_main.h"
#include "support/dice.h"

enum { BLOCKS_MAX = 400, HELD = 12, TABLES = 2, ROUNDS = 400 };

/* Every free block by itself, the head of the queue last. */
struct model {
    uint64_t store[BLOCKS_MAX];
    int64_t count;
};

struct scene {
    struct kv_prefix prefix;
    struct kv_prefix_seq seq;
    struct model model;
    uint64_t held[TABLES][HELD]; /* by block: the store that reads it */
    uint64_t told, stores;
    struct dice dice;
};

static int64_t roll(struct scene *scene, int64_t low, int64_t high)
{
    return dice_between(&scene->dice, low, high);
}

static void hear(void *context, uint64_t last_store)
{
    struct scene *scene = context;
    ck_assert_uint_gt(last_store, scene->prefix.stores_done);
    scene->told = last_store > scene->told ? last_store : scene->told;
}

static void begin(struct scene *scene, uint64_t seed)
{
    *scene = (struct scene){.dice = dice_of_seed(seed), .model.count = 20};
    struct kv_tables tables = {
        .block_tokens = 4, .period_tokens = 4, .full_tables = 1, .growing_tables = 1};
    kv_prefix_init(&scene->prefix, &tables, scene->model.count, KV_EVICT_LRU, false);
    scene->prefix.on_blank_reuse = hear;
    scene->prefix.context = scene;
}

static void end(struct scene *scene)
{
    base_vec_free(&scene->seq.reads);
    base_vec_free(&scene->seq.holds);
    kv_prefix_release(&scene->prefix);
}

// A store of some blocks of either table, in no order of their places.
static void store(struct scene *scene)
{
    scene->stores++;
    for (uint32_t t = 0; t < TABLES; t++) {
        int64_t lo = roll(scene, 0, HELD - 1), hi = roll(scene, lo + 1, HELD);
        bool is_free = true;
        for (int64_t i = lo; i < hi; i++) {
            is_free = is_free && scene->held[t][i] == 0;
        }
        for (int64_t i = lo; i < hi && is_free; i++) {
            scene->held[t][i] = scene->stores;
        }
        if (is_free) {
            kv_blank_note(&scene->seq, t, lo, hi, scene->stores);
        }
    }
}

// Some blocks that are full of nothing, then those of a table from `lo` on; they are held again at once by nobody's leave.
static void give(struct scene *scene)
{
    struct kv_prefix *prefix = &scene->prefix;
    struct model *model = &scene->model;
    uint32_t table = (uint32_t)roll(scene, 0, TABLES - 1);
    int64_t unread = roll(scene, 0, 3), lo = roll(scene, 0, HELD), count = unread + HELD - lo;
    kv_blank_begin(prefix, unread);
    kv_blank_give(prefix, &scene->seq, table, lo, HELD);
    kv_blank_end(prefix);
    for (int64_t i = lo; i < HELD; i++) {
        model->store[model->count++] = scene->held[table][i];
    }
    for (int64_t i = 0; i < unread; i++) {
        model->store[model->count++] = 0;
    }
    prefix->blank_blocks += count;
}

static void take(struct scene *scene)
{
    struct model *model = &scene->model;
    int64_t blocks = roll(scene, 0, model->count > 8 ? 8 : model->count);
    uint64_t expected = 0;
    for (int64_t i = 0; i < blocks; i++) {
        uint64_t last = model->store[--model->count];
        expected = last > scene->prefix.stores_done && last > expected ? last : expected;
    }
    scene->told = 0;
    kv_prefix_take(&scene->prefix, blocks);
    ck_assert_uint_eq(scene->told, expected);
}

static void check_quiet(const struct scene *scene)
{
    const struct model *model = &scene->model;
    int64_t quiet = 0;
    while (quiet < model->count &&
           model->store[model->count - 1 - quiet] <= scene->prefix.stores_done) {
        quiet++;
    }
    ck_assert_int_eq(kv_prefix_quiet_blocks(&scene->prefix), quiet);
    ck_assert_int_eq(scene->prefix.blank_blocks, model->count);
}

START_TEST(who_takes_what_a_store_reads_is_told)
{
    struct scene scene;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        begin(&scene, seed);
        for (int64_t round = 0; round < ROUNDS && scene.model.count < BLOCKS_MAX - 2 * HELD;
             round++) {
            switch (roll(&scene, 0, 4)) {
            case 0:
                store(&scene);
                break;
            case 1:
                give(&scene);
                break;
            case 2:
                scene.prefix.stores_done += scene.prefix.stores_done < scene.stores ? 1 : 0;
                kv_blank_forget(&scene.prefix, &scene.seq);
                break;
            default:
                take(&scene);
            }
            check_quiet(&scene);
        }
        end(&scene);
    }
}
END_TEST

START_TEST(what_a_sequence_gave_back_is_no_matter_to_what_it_holds_next)
{
    struct scene scene;
    begin(&scene, 1);
    kv_blank_note(&scene.seq, 0, 2, 4, 1);
    ck_assert_uint_eq(scene.seq.reads.count, 1);
    kv_prefix_detach(&scene.prefix, &scene.seq, 0, 0);
    ck_assert_uint_eq(scene.seq.reads.count, 0);
    end(&scene);
}
END_TEST

CHECK_MAIN("kv.prefix_blank", who_takes_what_a_store_reads_is_told,
           what_a_sequence_gave_back_is_no_matter_to_what_it_holds_next)
