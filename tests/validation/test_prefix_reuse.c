/*
 * Published traces with the content of their prompts (Mooncake, FAST'25: hash ids of blocks of 512 tokens) through the
 * engine. With a pool that holds everything, what it finds is what a naive walk over the ids finds: 36.64 % of the
 * conversation's 288,500 blocks and 63.96 % of the synthetic trace's 121,877 have been seen before; the engine finds all
 * of them but those that are not whole (a prompt that comes again to its last token: its last, partial block). With less
 * room it finds less, and says how much was evicted; each order of eviction has a size at which half of what could be found
 * is lost. Skipped where the traces are absent.
 */
#include "support/service.h"
#include "support/unit.h"

#include "serve/serve.h"

#include <math.h>
#include <stdio.h>

#define TRACES KVSIM_REFERENCE_DATA "/traces/"

enum { SKIPPED = 77, BLOCK = 512, ENOUGH = 400000 };

static const struct {
    const char *file;
    int64_t blocks, seen_blocks, partial_blocks;
    double percent;
} traces[] = {
    {TRACES "mooncake_conversation_trace.jsonl", 288500, 105710, 118, 36.64},
    {TRACES "mooncake_synthetic_trace.jsonl", 121877, 77953, 213, 63.96},
};

enum { TRACE_COUNT = sizeof traces / sizeof traces[0] };

static struct serve_replica_result replay_under(const char *path, enum kv_policy policy,
                                                int64_t pool_blocks, enum kv_eviction eviction,
                                                bool is_old_order)
{
    struct service service;
    struct serve_result result;
    struct kvsim_error err = {0};
    struct serve_run_options options = {.replication = 1, .mode = SERVE_JUMP};
    service_init(&service);
    service_set_pool(&service, pool_blocks, BLOCK);
    service_set_async(&service, true);
    service.cost =
        (struct cost_options){.level = COST_FIXED, .has_level = true, .fixed_step_ns = 10000000};
    struct serve_config *config = &service.config;
    config->sched.max_model_len = 200000;
    config->sched.max_num_batched_tokens = 8192;
    config->sched.max_num_seqs = 1024;
    config->sched.enable_chunked_prefill = true;
    config->sched.reserve_full_isl = true;
    config->sched.enable_prefix_caching = true;
    config->sched.free_order = is_old_order ? SCHED_FREE_OLD : SCHED_FREE_NEW;
    config->kv_eviction = eviction;
    config->kv_policy = policy;
    config->workload.process = WORKLOAD_TRACE;
    config->workload.trace_path = path;
    config->workload.speedup = 1;
    config->workload.request_limit = 0;
    ck_assert_msg(serve_run(config, &options, &result, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_int_eq(result.status, SERVE_DONE);
    ck_assert_uint_eq(result.outcomes[RECORD_OUTCOME_COMPLETED], result.arrived);
    struct serve_replica_result replica = result.replicas[0];
    serve_result_release(&result);
    service_release(&service);
    return replica;
}

static struct serve_replica_result replay_with(const char *path, int64_t pool_blocks,
                                               enum kv_eviction eviction, bool is_old_order)
{
    return replay_under(path, KV_PAGED, pool_blocks, eviction, is_old_order);
}

static struct serve_replica_result replay(const char *path, int64_t pool_blocks, bool is_old_order)
{
    return replay_with(path, pool_blocks, KV_EVICT_LRU, is_old_order);
}

START_TEST(a_pool_that_holds_everything_finds_all_that_was_seen_before)
{
    for (size_t i = 0; i < TRACE_COUNT; i++) {
        struct serve_replica_result replica = replay(traces[i].file, ENOUGH, false);
        const struct sched_reuse *reuse = &replica.reuse;
        ck_assert_int_eq(replica.evicted_blocks, 0);
        ck_assert_uint_eq(replica.preemptions, 0);
        ck_assert_int_eq(reuse->lookup_blocks, traces[i].blocks);
        ck_assert_int_eq(reuse->hit_blocks + reuse->cut_blocks, traces[i].seen_blocks);
        ck_assert_int_eq(reuse->cut_blocks, traces[i].partial_blocks);
        ck_assert_int_eq(reuse->lost_blocks, 0);
        double seen =
            100.0 * (double)(reuse->hit_blocks + reuse->cut_blocks) / (double)reuse->lookup_blocks;
        ck_assert_double_eq_tol(seen, traces[i].percent, 0.005);
        ck_assert_int_eq(replica.hit_tokens, reuse->hit_blocks * BLOCK);
    }
}
END_TEST

// Hit rate by capacity: it rises to what the infinite cache finds, and every block that is not found is accounted for.
START_TEST(less_room_finds_less_and_tells_what_was_evicted)
{
    static const int64_t pools[] = {500, 2000, 8000, 32000, 128000};
    for (int order = 0; order < 2; order++) {
        double before = 0;
        for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
            struct serve_replica_result replica = replay(traces[0].file, pools[i], order == 1);
            const struct sched_reuse *reuse = &replica.reuse;
            double rate = (double)reuse->hit_blocks / (double)reuse->lookup_blocks;
            ck_assert_double_gt(rate, before);
            ck_assert_double_lt(rate, 0.3664);
            // Resumed requests look up again; without them the sum is what was seen before.
            int64_t seen = reuse->hit_blocks + reuse->lost_blocks + reuse->cut_blocks;
            ck_assert_int_ge(seen, traces[0].seen_blocks);
            ck_assert(replica.preemptions > 0 || seen == traces[0].seen_blocks);
            before = rate;
            printf("%s order, %6lld blocks: %.2f %% found, %.2f %% evicted before\n",
                   order == 0 ? "new" : "old", (long long)pools[i], 100 * rate,
                   100 * (double)reuse->lost_blocks / (double)reuse->lookup_blocks);
        }
        ck_assert_double_gt(before, 0.25);
    }
}
END_TEST

// A radix tree finds what has entered it: the same, but for what prompts side by side compute twice.
START_TEST(a_tree_loses_what_was_pending_and_what_was_evicted)
{
    for (size_t i = 0; i < TRACE_COUNT; i++) {
        struct serve_replica_result replica =
            replay_under(traces[i].file, KV_RADIX, ENOUGH, KV_EVICT_LRU, false);
        const struct sched_reuse *reuse = &replica.reuse;
        ck_assert_int_eq(replica.evicted_blocks, 0);
        ck_assert_int_eq(reuse->lookup_blocks, traces[i].blocks);
        ck_assert_int_eq(reuse->hit_blocks + reuse->cut_blocks + reuse->lost_blocks,
                         traces[i].seen_blocks);
        ck_assert_int_eq(reuse->lost_blocks, reuse->lost_pending_blocks);
        ck_assert_int_lt(reuse->lost_blocks, traces[i].seen_blocks / 20);
        printf("radix, %s: %lld of %lld blocks pending\n", traces[i].file,
               (long long)reuse->lost_pending_blocks, (long long)traces[i].seen_blocks);
    }
    struct serve_replica_result replica =
        replay_under(traces[0].file, KV_RADIX, 8000, KV_EVICT_LRU, false);
    const struct sched_reuse *reuse = &replica.reuse;
    int64_t seen = reuse->hit_blocks + reuse->lost_blocks + reuse->cut_blocks;
    ck_assert_int_gt(replica.evicted_blocks, 0);
    ck_assert_int_gt(reuse->lost_blocks, reuse->lost_pending_blocks + reuse->lost_own_blocks);
    ck_assert(replica.preemptions > 0 ? seen > traces[0].seen_blocks
                                      : seen == traces[0].seen_blocks);
    printf("radix, 8000 blocks: %.2f %% found\n",
           100 * (double)reuse->hit_blocks / (double)reuse->lookup_blocks);
}
END_TEST

static double found_share(size_t trace, int64_t pool_blocks, enum kv_eviction eviction)
{
    struct serve_replica_result replica =
        replay_with(traces[trace].file, pool_blocks, eviction, false);
    double rate = (double)replica.reuse.hit_blocks / (double)replica.reuse.lookup_blocks;
    printf("%s, %s, %lld blocks: %.2f %%\n", traces[trace].file, kv_eviction_choices[eviction].name,
           (long long)pool_blocks, 100 * rate);
    return rate;
}

// The least pool, to 500 blocks, in which more than half of what an infinite cache finds is found.
START_TEST(each_order_of_eviction_has_a_size_at_which_it_collapses)
{
    static const struct {
        enum kv_eviction order;
        int64_t half[TRACE_COUNT];
    } rows[] = {
        {KV_EVICT_LRU, {8500, 6500}},
        {KV_EVICT_FIFO, {10000, 7000}},
        {KV_EVICT_LFU, {17000, 8500}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t trace = 0; trace < TRACE_COUNT; trace++) {
            double all = (double)(traces[trace].seen_blocks - traces[trace].partial_blocks) /
                         (double)traces[trace].blocks;
            int64_t blocks = rows[i].half[trace];
            ck_assert_double_gt(found_share(trace, blocks, rows[i].order), all / 2);
            ck_assert_double_lt(found_share(trace, blocks - 500, rows[i].order), all / 2);
        }
    }
}
END_TEST

int main(void)
{
    FILE *file = fopen(traces[0].file, "r");
    if (file == NULL) {
        printf("no reference data at %s\n", TRACES);
        return SKIPPED;
    }
    fclose(file);
    return unit_run("prefix reuse of traces",
                    (const TTest *const[]){
                        a_pool_that_holds_everything_finds_all_that_was_seen_before,
                        less_room_finds_less_and_tells_what_was_evicted,
                        a_tree_loses_what_was_pending_and_what_was_evicted,
                        each_order_of_eviction_has_a_size_at_which_it_collapses,
                        NULL,
                    });
}
