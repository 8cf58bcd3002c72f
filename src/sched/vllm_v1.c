/*
 * The step of vLLM's V1 scheduler: vllm/v1/core/sched/scheduler.py, kv_cache_manager.py (docs/sources.md).
 *
 * Phase 1 walks the running list in order and gives every sequence its tokens; phase 2 admits from the queue. The walk is
 * done in numbers when order can't matter: when budget and blocks are enough for all, or when only sequences behind the
 * whole front are left to share a budget that the front has not used up. Otherwise the list is walked one by one.
 */
#include "sched/vllm_v1_int.h"

#include "base/count.h"
#include "base/error.h"

/* ---- phase 1: the running list ---- */

int64_t sched_v1_wanted_behind(const struct sched *sched, const struct sched_seq *seq,
                               int64_t tokens)
{
    int64_t wanted = sched_seq_known_tokens(seq) - tokens;
    int64_t threshold = sched->options->long_prefill_token_threshold;
    return threshold > 0 && wanted > threshold ? threshold : wanted;
}

// Tokens that a running sequence outside the front asks for, before the budget.
static int64_t wanted_tokens(const struct sched *sched, const struct sched_seq *seq)
{
    return sched_v1_wanted_behind(sched, seq, seq->computed);
}

// What of it a step gives that has `budget` left; 0: nothing, it sits out.
static int64_t chunk_tokens(const struct sched *sched, const struct sched_seq *seq, int64_t budget)
{
    int64_t wanted = wanted_tokens(sched, seq);
    return sched_cut_at_border(sched, seq, seq->computed, wanted < budget ? wanted : budget);
}

// Room for what walking one by one must remember.
struct walk {
    int64_t budget;
    bool someone_preempted;
};

// The front must lie before all loose sequences for a budget that runs out to hit only those.
static bool loose_are_behind_front(const struct sched *sched)
{
    size_t behind = 0;
    const struct sched_seq *seq = sched->running.tail;
    for (; seq != NULL && seq->state != SCHED_FRONT; seq = seq->prev) {
        behind += seq->state == SCHED_LOOSE ? 1 : 0;
    }
    return behind == sched->loose.count;
}

// Sequences that left the front with a token in flight: since the last turn it was delivered, and its block may be full.
static void hash_delivered(struct sched *sched)
{
    for (size_t i = 0; i < sched->loose.count; i++) {
        struct sched_seq *seq = sched->loose.at[i];
        int64_t owed = sched_seq_owes(sched, seq, sched->next_number) ? 1 : 0;
        int64_t tokens = seq->computed - owed;
        seq->hashed_tokens = tokens > seq->hashed_tokens ? tokens : seq->hashed_tokens;
    }
}

// Phase 1 in numbers. False, with nothing changed, when the list must be walked.
static bool schedule_running_at_once(struct sched *sched, struct sched_plan *plan,
                                     struct walk *walk)
{
    struct sched_front *front = &sched->front;
    int64_t need = sched_front_blocks(sched);
    // Idle blocks are taken from one end of a queue and come back at the other: with enough for all the order is no matter,
    // but for blocks without content, which come back at the end that is taken from.
    if (front->count > walk->budget || need > sched->pool->free_blocks) {
        return false;
    }
    int64_t wanted = 0;
    for (size_t i = 0; i < sched->loose.count; i++) {
        wanted += wanted_tokens(sched, sched->loose.at[i]);
    }
    int64_t budget = walk->budget - front->count;
    if (wanted > budget && !loose_are_behind_front(sched)) {
        return false;
    }
    int64_t left = budget;
    for (size_t i = 0; i < sched->loose.count; i++) {
        int64_t tokens = chunk_tokens(sched, sched->loose.at[i], left);
        need += sched_blocks_missing(sched, sched->loose.at[i], tokens);
        left -= tokens;
    }
    if (sched_reuses_drops(sched, need) || !kv_paged_take(sched->pool, need)) {
        return false;
    }
    sched_begin_front_step(sched, false);
    for (size_t i = 0; i < sched->loose.count && budget > 0; i++) {
        int64_t tokens = chunk_tokens(sched, sched->loose.at[i], budget);
        if (tokens == 0) {
            continue;
        }
        sched_drop_due(sched, sched->loose.at[i]->place);
        sched_drop_out_of_window(sched, plan, sched->loose.at[i]);
        sched_schedule_loose(sched, plan, sched->loose.at[i], tokens);
        budget -= tokens;
    }
    sched_drop_due(sched, UINT64_MAX);
    walk->budget = budget;
    return true;
}

static struct sched_seq *pick_victim(const struct sched *sched)
{
    if (sched->options->order == SCHED_FCFS) {
        return sched->running.tail;
    }
    // The least urgent, then the latest to arrive; of equals the one furthest back, or furthest in front.
    struct sched_seq *victim = sched->running.head;
    base_require(victim != NULL);
    for (struct sched_seq *seq = victim; seq != NULL; seq = seq->next) {
        bool is_equal = seq->priority == victim->priority && seq->arrival_ns == victim->arrival_ns;
        bool less_urgent = seq->priority != victim->priority ? seq->priority > victim->priority
                                                             : seq->arrival_ns > victim->arrival_ns;
        victim = less_urgent || (is_equal && !sched->options->first_of_equals_goes) ? seq : victim;
    }
    return victim;
}

// What a walked sequence was given in this step is taken back (priority scheduling only).
static void unschedule(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                       struct walk *walk)
{
    int64_t tokens = seq->state == SCHED_FRONT ? 1 : seq->scheduled_tokens;
    if (sched->options->preempted_budget_returned) {
        walk->budget += tokens;
    }
    if (seq->state == SCHED_FRONT) {
        return; // its token is counted when the front advances
    }
    // Rebuild what sched_schedule_loose() added.
    bool emitted = seq->computed == sched_seq_known_tokens(seq);
    struct cost_shape undo = {.cached_step_tokens = plan->shape.cached_step_tokens};
    struct sched_seq before = *seq;
    before.computed -= tokens;
    sched_add_to_shape(sched, &undo, &before, tokens, emitted);
    cost_shape_subtract(&plan->shape, &undo);
    plan->token_count -= tokens;
    plan->copied_tokens -= sched_regrown_tokens(sched, before.computed, tokens);
    seq->computed_total -= tokens;
    seq->high_water = seq->undo_high_water;
    seq->recomputed_total = seq->undo_recomputed;
    if (emitted) {
        size_t kept = 0;
        for (size_t i = 0; i < plan->emits.count; i++) {
            if (plan->emits.at[i] != seq) {
                plan->emits.at[kept++] = plan->emits.at[i];
            }
        }
        plan->emits.count = kept;
    }
}

static bool is_walked(const struct sched_seq *seq, const struct sched_plan *plan)
{
    return seq->scheduled_step == plan->number;
}

// Takes `blocks` for `seq`, throwing others out until they fit. False when `seq` itself had to go.
static bool take_or_preempt(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                            int64_t blocks, struct walk *walk, struct sched_seq **next)
{
    while (!kv_paged_take(sched->pool, blocks)) {
        struct sched_seq *victim = pick_victim(sched);
        bool is_in_batch = is_walked(victim, plan) && victim != seq;
        if (is_in_batch) {
            unschedule(sched, plan, victim, walk);
        }
        if (victim == *next) {
            *next = victim->next;
        }
        // The engine's loop counts places. It corrects its count for a victim that it finds in the batch (v0.10: never),
        // so one that stood earlier and sat this step out makes it pass over a sequence.
        bool moves_cursor = victim->place < seq->place &&
                            !(is_in_batch && sched->options->preempted_budget_returned);
        walk->someone_preempted = true;
        sched_preempt(sched, plan, victim);
        if (victim == seq) {
            return false;
        }
        if (moves_cursor && *next != NULL) {
            *next = (*next)->next;
        }
    }
    return true;
}

// A front member's own blocks come back here, the front's sums follow when everybody has been walked.
static void drop_out_of_window(struct sched *sched, const struct sched_plan *plan,
                               struct sched_seq *seq)
{
    if (seq->state != SCHED_FRONT) {
        sched_drop_out_of_window(sched, plan, seq);
        return;
    }
    seq->took_blocks -= sched_front_windows_drop_of(&sched->front, seq);
    sched_drop_member(sched, seq);
}

// Phase 1 one by one, as the engine does it. Front members that get their token are marked by scheduled_step.
static void schedule_running_one_by_one(struct sched *sched, struct sched_plan *plan,
                                        struct walk *walk)
{
    struct sched_seq *next = NULL;
    for (struct sched_seq *seq = sched->running.head; seq != NULL && walk->budget > 0; seq = next) {
        next = seq->next;
        if (seq->state == SCHED_DRAINING) {
            continue;
        }
        bool in_front = seq->state == SCHED_FRONT;
        int64_t tokens = in_front ? 1 : chunk_tokens(sched, seq, walk->budget);
        if (tokens == 0) {
            continue;
        }
        drop_out_of_window(sched, plan, seq);
        int64_t blocks = sched_blocks_missing(sched, seq, tokens);
        if (!take_or_preempt(sched, plan, seq, blocks, walk, &next)) {
            break;
        }
        if (in_front) {
            seq->took_blocks += blocks;
            seq->took_tokens = tokens;
            sched_note_member_steps(seq, plan->number);
        } else {
            sched_schedule_loose(sched, plan, seq, tokens);
        }
        walk->budget -= tokens;
    }
    for (struct sched_seq *seq = sched->running.head; seq != NULL; seq = next) {
        next = seq->next;
        if (seq->state == SCHED_FRONT && seq->scheduled_step != plan->number) {
            sched_leave_front_unscheduled(sched, plan, seq);
        }
        seq->took_blocks = seq->took_tokens = 0;
    }
    sched_begin_front_step(sched, true);
}

/* ---- phase 2: the queue ---- */

// Blocks are hashed in running order; where two running sequences hash the same ones that order must be kept.
static void commit_contended(struct sched *sched)
{
    struct kv_prefix *prefix = sched->pool->prefix;
    if (prefix == NULL || prefix->contended_count == 0) {
        return;
    }
    for (struct sched_seq *seq = sched->running.head; seq != NULL; seq = seq->next) {
        if (seq->cache.is_contended) {
            kv_prefix_commit(prefix, &seq->cache, sched_hashed_blocks(sched, &seq->cache));
        }
    }
}

// Blocks that must come from the free queue for `tokens` in all, at most `caps` in a window's table (NULL: any number): hits
// that nobody holds leave it too.
static int64_t needed_blocks(const struct sched *sched, int64_t tokens, int64_t held_blocks,
                             const int64_t *caps)
{
    const struct kv_tables *tables = &sched->pool->tables;
    int64_t found = sched->hits.blocks * tables->period_tokens;
    int64_t hits = (found > 0 ? found / tables->block_tokens : 0) + held_blocks,
            table_blocks = kv_reserve_held_blocks(sched->pool, tokens);
    int64_t start = sched->hits.start_tokens;
    int64_t needed = tables->state_blocks + sched->hits.idle_blocks;
    needed += (table_blocks > hits ? table_blocks - hits : 0) * tables->full_tables;
    for (size_t w = 0; w < tables->window_count; w++) {
        const struct kv_window *window = &tables->windows[w];
        // A windowed sequence never holds more than its window, the steps in flight and a partial block at either end.
        int64_t blocks = table_blocks, there = hits;
        if (kv_window_is_long(tables, w)) {
            blocks = (tokens + window->block_tokens - 1) / window->block_tokens;
            there = found / window->block_tokens;
        }
        blocks = caps != NULL && caps[w] < blocks ? caps[w] : blocks;
        if (window->kind == SPEC_KV_STATE) {
            blocks = table_blocks > hits ? hits + 1 : hits; // the one that the chunk ends in
        } else if (window->table_count > 0) {
            there = base_max(there, kv_window_passed_blocks(window, start));
        }
        needed += (blocks > there ? blocks - there : 0) * window->table_count;
    }
    return needed;
}

// `held_blocks` it has already, `spare_blocks` are not for it.
static bool prompt_fits(struct sched *sched, const struct sched_seq *seq, int64_t end,
                        int64_t held_blocks, int64_t spare_blocks)
{
    int64_t watermark = sched->running.count > 0 ? sched->watermark_blocks : 0;
    if (kv_policy_reserves(sched->pool->policy)) {
        return sched_reservation_fits(sched, seq, watermark);
    }
    int64_t needed = needed_blocks(sched, end, held_blocks, NULL);
    if (sched->options->reserve_full_isl) {
        int64_t whole =
            needed_blocks(sched, sched_seq_known_tokens(seq), held_blocks, sched->window_caps);
        needed = whole > needed ? whole : needed;
    }
    if (needed + watermark + spare_blocks <= sched->pool->free_blocks) {
        return true;
    }
    sched->head_needs = needed + watermark + spare_blocks;
    return false;
}

// A state that this very step computes cannot be started from in it.
bool sched_v1_fits(struct sched *sched, const struct sched_seq *seq, int64_t end, int64_t held,
                   int64_t spare_blocks)
{
    return !sched->hits.is_new_state && prompt_fits(sched, seq, end, held, spare_blocks);
}

// At least one token is computed, so a prompt that is cached to its last block recomputes that block.
int64_t sched_v1_look_up(struct sched *sched, struct sched_seq *seq)
{
    sched->hits.count = 0;
    sched->hits.blocks = sched->hits.idle_blocks = sched->hits.junction_blocks = 0;
    sched->hits.start_tokens = 0;
    sched->hits.next_is_pending = sched->hits.is_new_state = false;
    if (sched->pool->radix != NULL) {
        sched_tree_look_up(sched, seq);
    } else if (sched->pool->prefix != NULL) {
        kv_prefix_lookup(sched->pool->prefix, &seq->cache.content,
                         (sched_seq_known_tokens(seq) - 1) / sched->pool->tables.period_tokens,
                         &sched->hits);
    }
    seq->junction_tokens = sched->hits.junction_blocks * sched->pool->tables.period_tokens;
    if (kv_paged_has_cache(sched->pool) && sched->options->count_every_lookup) {
        sched->lookup_tokens += sched_seq_known_tokens(seq);
    }
    return sched->hits.blocks * sched->pool->tables.period_tokens;
}

// The sequence holds its hits; `loaded_tokens` more of it come from the tier.
void sched_v1_take_hits(struct sched *sched, struct sched_seq *seq, int64_t loaded_tokens)
{
    int64_t hit_tokens = sched->hits.blocks * sched->pool->tables.period_tokens;
    int64_t tokens = hit_tokens + loaded_tokens;
    if (sched->pool->radix != NULL) {
        sched_tree_hold(sched, seq, loaded_tokens > 0);
    } else if (sched->pool->prefix != NULL) {
        seq->cache.priority = seq->priority;
        seq->cache.replay_blocks = (seq->prompt_tokens - 1) / sched->pool->tables.period_tokens;
        seq->cache.junction_blocks = sched->hits.junction_blocks;
        kv_prefix_attach(sched->pool->prefix, &seq->cache, &sched->hits);
        sched->pool->free_blocks = kv_prefix_free_blocks(sched->pool->prefix);
    }
    if (kv_paged_has_cache(sched->pool)) {
        sched->lookup_tokens +=
            sched->options->count_every_lookup ? 0 : sched_seq_known_tokens(seq);
        sched->hit_tokens += hit_tokens;
        sched_count_reuse(sched, seq, loaded_tokens);
    }
    if (sched_has_tier(sched)) {
        sched_offload_count(sched, seq, hit_tokens, loaded_tokens);
    }
    sched_begin_windows(sched, seq, tokens);
    seq->cached_tokens = seq->was_admitted ? seq->cached_tokens : tokens;
    seq->cached_total += tokens;
    seq->was_admitted = true;
    seq->high_water = tokens > seq->high_water ? tokens : seq->high_water;
    seq->computed = hit_tokens;
    seq->hashed_tokens = hit_tokens;
    sched->outside_front_tokens += hit_tokens;
}

void sched_v1_run(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                  int64_t tokens)
{
    sched_admit(sched, plan, seq, tokens);
    if (seq->cache.is_contended) {
        commit_contended(sched);
    }
}

static void admit(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                  int64_t tokens)
{
    sched_queue_remove(&sched->waiting, seq);
    sched_v1_take_hits(sched, seq, 0);
    sched_v1_run(sched, plan, seq, tokens);
}

// Whether there is room to look at somebody.
enum sched_wait sched_v1_wait_for_room(const struct sched *sched, int64_t budget)
{
    if ((int64_t)sched->running.count >= sched->options->max_num_seqs) {
        return SCHED_WAIT_SEATS;
    }
    return budget <= 0 ? SCHED_WAIT_BUDGET : SCHED_WAIT_NONE;
}

// One look at the head of the queue: taken, passed over, or left with the reason for which the pass ends.
static enum sched_wait try_head(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                                int64_t *budget)
{
    const struct sched_options *options = sched->options;
    enum sched_wait wait = sched_v1_wait_for_room(sched, *budget);
    if (wait != SCHED_WAIT_NONE) {
        return wait;
    }
    int64_t hit_tokens = sched_v1_look_up(sched, seq);
    int64_t tokens = sched_v1_wanted_behind(sched, seq, hit_tokens);
    if (!options->enable_chunked_prefill && tokens > *budget) {
        sched->head_was_looked_up = true;
        if (options->unchunked_misfit == SCHED_MISFIT_STOP) {
            return SCHED_WAIT_BUDGET;
        }
        sched_queue_remove(&sched->waiting, seq);
        base_vec_push(&sched->skipped, seq);
        return SCHED_WAIT_NONE;
    }
    tokens = sched_cut_at_border(sched, seq, hit_tokens, tokens < *budget ? tokens : *budget);
    if (tokens == 0) {
        sched->head_was_looked_up = true;
        return SCHED_WAIT_BUDGET;
    }
    if (!sched_v1_fits(sched, seq, hit_tokens + tokens, 0, 0)) {
        sched->head_was_looked_up = true;
        return SCHED_WAIT_KV_POOL;
    }
    admit(sched, plan, seq, tokens);
    *budget -= tokens;
    return SCHED_WAIT_NONE;
}

static enum sched_wait admit_from_queue(struct sched *sched, struct sched_plan *plan,
                                        int64_t budget)
{
    enum sched_wait wait = SCHED_WAIT_NONE;
    struct sched_seq *seq;
    while (wait == SCHED_WAIT_NONE && (seq = sched_queue_head(&sched->waiting)) != NULL) {
        wait = try_head(sched, plan, seq, &budget);
    }
    for (size_t i = 0; i < sched->skipped.count; i++) {
        sched_queue_put_back(&sched->waiting, sched->skipped.at[i]);
    }
    return sched->skipped.count > 0 ? SCHED_WAIT_BUDGET : wait;
}

// Whoever had to go although there was nobody left to throw out: the pool as a whole does not hold it.
static bool has_lonely_end(const struct sched *sched, const struct sched_plan *plan)
{
    return plan->victims.count > 0 && sched->running.count == 0 && sched->offload.aside.count == 0;
}

// A prompt that the pool never holds comes to its end again and again; loads that take the room of unfinished prompts can throw
// these out for ever. What caches hold, and the tier's order of use, change in each round, so no state comes back to be known
// by: thrown out so often each, or so often alone, and nobody got a token in between. Nor does it end when prompts that are put off
// read up from below what the others read push out again: so many reads each, and nobody has run.
static void note_circles(struct sched *sched, struct sched_plan *plan)
{
    enum { OFTEN = 512 };
    bool steps_front = sched->front.count > 0 && !plan->skips_front;
    if (steps_front || plan->emits.count > 0) {
        sched->fruitless_victims = sched->lonely_ends = 0;
        sched->reads_before = sched->offload.begun_reads;
        return;
    }
    sched->fruitless_victims += (int64_t)plan->victims.count;
    sched->lonely_ends += has_lonely_end(sched, plan) ? 1 : 0;
    if (plan->token_count > 0) {
        sched->reads_before = sched->offload.begun_reads;
    }
    int64_t known = sched_running_count(sched) + sched_waiting_count(sched);
    int64_t fruitless_reads = sched->offload.begun_reads - sched->reads_before;
    plan->goes_in_circles =
        known > 0 && (sched->fruitless_victims > OFTEN * known || fruitless_reads > OFTEN * known ||
                      sched->lonely_ends > OFTEN);
}

static void plan_next(struct sched *sched, struct sched_plan *plan)
{
    sched_begin_plan(sched, plan);
    if (sched->pool->prefix != NULL) {
        sched->pool->prefix->turn++;
    }
    struct walk walk = {.budget = sched->options->max_num_batched_tokens};
    if (sched->to_enter.count > 0) {
        sched_tree_enter(sched);
    }
    hash_delivered(sched);
    if (!schedule_running_at_once(sched, plan, &walk)) {
        schedule_running_one_by_one(sched, plan, &walk);
    }
    bool is_front_only = plan->token_count == 0;
    sched->skipped.count = 0;
    sched->head_was_looked_up = false;
    commit_contended(sched);
    if (walk.someone_preempted) {
        plan->wait = SCHED_WAIT_KV_POOL;
    } else if (sched_has_tier(sched)) {
        plan->wait = sched_v1_admit_with_tier(sched, plan, walk.budget);
    } else {
        plan->wait = admit_from_queue(sched, plan, walk.budget);
    }
    note_circles(sched, plan);
    sched_close_plan(sched, plan, is_front_only);
}

const struct sched_ops sched_vllm_v1 = {
    .policy =
        {.name = "vllm_v1",
         .summary =
             "vLLM V1: running first in admission order, chunked prefill, preemption by recompute"},
    .uses = SCHED_USES_CHUNKS | SCHED_USES_LONG_PROMPT_CAP | SCHED_USES_WATERMARK |
            SCHED_USES_ORDER | SCHED_USES_RELEASES | SCHED_USES_TIERS,
    .throws_out = true,
    .has_budget = true,
    .enqueue = sched_enqueue_as_asked,
    .plan = plan_next,
    .advance = sched_advance_front,
    .finish = sched_finish_and_free,
};
