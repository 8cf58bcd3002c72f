/*
 * Phase 2 of a turn of vLLM's V1 with a tier behind the pool: a look at a waiting sequence also asks the tiers, and whoever has
 * to wait for them is set aside, before the queue.
 */
#include "sched/vllm_v1_int.h"

#include "base/count.h"
#include "base/error.h"

// What a look at a waiting sequence came to.
enum look { LOOK_ADMITTED, LOOK_PASSED_OVER, LOOK_STOP };

struct look_result {
    enum look look;
    enum sched_wait wait; /* of LOOK_STOP */
};

static const struct look_result passed_over = {LOOK_PASSED_OVER, SCHED_WAIT_NONE};

static struct look_result stop_at(struct sched *sched, enum sched_wait wait)
{
    sched->head_was_looked_up = true;
    return (struct look_result){LOOK_STOP, wait};
}

static void leave_queue(struct sched *sched, struct sched_seq *seq)
{
    if (seq->offload.is_aside) {
        sched_list_remove(&sched->offload.aside, seq);
        seq->offload.is_aside = false;
    } else {
        sched_queue_remove(&sched->waiting, seq);
    }
}

// Blocks of all tables for tokens behind the hits up to `to`, from which the sequence goes on: of a state the last one.
static int64_t blocks_to_load(const struct sched *sched, int64_t to)
{
    const struct kv_tables *tables = &sched->pool->tables;
    int64_t hits = sched->hits.blocks, end = kv_paged_blocks_for(sched->pool, to);
    int64_t blocks = (end - hits) * tables->full_tables;
    for (size_t w = 0; w < tables->window_count; w++) {
        const struct kv_window *window = &tables->windows[w];
        int64_t passed = kv_window_passed_blocks(window, to);
        blocks += (end - base_max(hits, passed)) * window->table_count;
    }
    return blocks;
}

// Takes the blocks of what is loaded as well; it stays in the queue, aside.
static struct look_result start_load(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens,
                                     int64_t to)
{
    int64_t spare_blocks =
        sched->options->tier.reserves_for_prefills ? sched_offload_prefills_need(sched) : 0;
    int64_t last = sched_seq_known_tokens(seq) - 1;
    int64_t usable = (to < last ? to : last) - hit_tokens;
    kv_prefix_start_behind(sched->pool->prefix, &sched->hits, hit_tokens + usable);
    if (!sched_v1_fits(sched, seq, to, 0, spare_blocks)) {
        return stop_at(sched, SCHED_WAIT_KV_POOL);
    }
    sched_v1_take_hits(sched, seq, usable);
    int64_t blocks = blocks_to_load(sched, hit_tokens + usable);
    sched_offload_load(sched, seq, hit_tokens, to);
    bool taken = kv_paged_take(sched->pool, blocks);
    base_require(taken);
    sched->pool->loading_blocks += blocks;
    seq->state = SCHED_LOADING;
    seq->offload.is_loading = true;
    seq->offload.load_is_done = false;
    seq->offload.load_blocks = blocks;
    seq->offload.load_to = hit_tokens + usable;
    if (sched->pool->tables.caches_states) {
        int64_t end = kv_paged_blocks_for(sched->pool, hit_tokens + usable);
        kv_prefix_add_states(sched->pool->prefix, &seq->cache, end - 1, end);
    }
    sched_offload_count_aside(sched, seq, 1);
    return passed_over;
}

// What comes with the step itself.
static void load_within_step(struct sched *sched, struct sched_seq *seq, int64_t from, int64_t to,
                             int64_t usable)
{
    int64_t blocks = sched_blocks_missing(sched, seq, usable);
    if (sched->pool->radix == NULL) {
        sched_offload_load(sched, seq, from, to);
    }
    bool taken = kv_paged_take(sched->pool, blocks);
    base_require(taken);
    if (sched->pool->radix != NULL) {
        sched_tree_load(sched, seq, blocks);
    }
    seq->computed += usable;
    sched->outside_front_tokens += usable;
}

// Starts behind `from` tokens: hits, those that the tier gives within the step (up to `to`), or what was loaded before.
static struct look_result start_running(struct sched *sched, struct sched_plan *plan,
                                        struct sched_seq *seq, int64_t from, int64_t to,
                                        int64_t *budget)
{
    bool is_loaded = seq->state == SCHED_LOADED;
    int64_t last = sched_seq_known_tokens(seq) - 1;
    int64_t usable = (to < last ? to : last) - from;
    int64_t tokens = sched_v1_wanted_behind(sched, seq, from + usable);
    if (!sched->options->enable_chunked_prefill && tokens > *budget) {
        return stop_at(sched, SCHED_WAIT_BUDGET);
    }
    tokens = sched_cut_at_border(sched, seq, from + usable, tokens < *budget ? tokens : *budget);
    if (tokens == 0) {
        return stop_at(sched, SCHED_WAIT_BUDGET);
    }
    int64_t held = is_loaded ? sched_blocks_aside(sched, seq) : 0;
    if (!sched_v1_fits(sched, seq, from + usable + tokens, held, 0)) {
        return stop_at(sched, SCHED_WAIT_KV_POOL);
    }
    leave_queue(sched, seq);
    if (is_loaded) {
        sched_offload_count_aside(sched, seq, -1);
    }
    if (!is_loaded) {
        sched_v1_take_hits(sched, seq, usable);
    }
    if (to > from) {
        load_within_step(sched, seq, from, to, usable);
    }
    sched_v1_run(sched, plan, seq, tokens);
    *budget -= tokens;
    return (struct look_result){LOOK_ADMITTED, SCHED_WAIT_NONE};
}

static struct look_result look_at(struct sched *sched, struct sched_plan *plan,
                                  struct sched_seq *seq, int64_t *budget)
{
    if (seq->state == SCHED_LOADING && !seq->offload.load_is_done) {
        return passed_over;
    }
    if (seq->state == SCHED_LOADING) {
        sched_offload_take_up(sched, seq);
    }
    if (seq->state == SCHED_LOADED) {
        sched->hits.count = 0;
        sched->hits.blocks = sched->hits.idle_blocks = sched->hits.start_tokens = 0;
        sched->hits.is_new_state = false;
        return start_running(sched, plan, seq, seq->computed, seq->computed, budget);
    }
    if (sched->pool->radix != NULL && sched_tree_waits_for_prefetch(sched, seq)) {
        sched->head_was_looked_up = true;
        return passed_over;
    }
    int64_t hit_tokens = sched_v1_look_up(sched, seq);
    if (sched->pool->radix != NULL) {
        int64_t to = hit_tokens + sched_tree_loadable_tokens(sched, seq, hit_tokens);
        return start_running(sched, plan, seq, hit_tokens, to, budget);
    }
    int64_t loaded = sched_offload_ask(sched, seq, sched->hits.blocks);
    if (loaded < 0) {
        sched->head_was_looked_up = true;
        return passed_over;
    }
    if (loaded > 0 && !sched->options->tier.is_sync) {
        return start_load(sched, seq, hit_tokens, hit_tokens + loaded);
    }
    return start_running(sched, plan, seq, hit_tokens, hit_tokens + loaded, budget);
}

// Those set aside come before the queue (fcfs), or whoever is more urgent.
static struct sched_seq *next_to_look_at(const struct sched *sched, struct sched_seq *aside)
{
    struct sched_seq *head = sched_queue_head(&sched->waiting);
    if (aside == NULL || head == NULL) {
        return aside != NULL ? aside : head;
    }
    bool head_first =
        sched->options->order == SCHED_PRIORITY && sched_seq_is_more_urgent(head, aside);
    return head_first ? head : aside;
}

enum sched_wait sched_v1_admit_with_tier(struct sched *sched, struct sched_plan *plan,
                                         int64_t budget)
{
    struct sched_list *list = &sched->offload.aside;
    struct sched_seq *aside = list->head, *seq;
    sched_offload_prefetch(sched);
    while ((seq = next_to_look_at(sched, aside)) != NULL) {
        enum sched_wait wait = sched_v1_wait_for_room(sched, budget);
        if (wait != SCHED_WAIT_NONE) {
            return wait;
        }
        aside = seq == aside ? aside->next : aside;
        struct look_result result = look_at(sched, plan, seq, &budget);
        if (result.look == LOOK_STOP) {
            return result.wait;
        }
        if (result.look == LOOK_PASSED_OVER && !seq->offload.is_aside) {
            // Behind those looked at before it, before those that are not yet.
            enum sched_state state = seq->state;
            sched_queue_remove(&sched->waiting, seq);
            seq->state = state;
            seq->offload.is_aside = true;
            sched_list_insert_before(list, seq, aside);
        }
    }
    return list->count > 0 ? SCHED_WAIT_LINK : SCHED_WAIT_NONE;
}
