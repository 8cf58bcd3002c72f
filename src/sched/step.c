/*
 * step.c - what every scheduler does with a sequence: tokens, admission, the way in and out of the front, blocks back.
 */
#include "sched/sched_int.h"

#include "base/error.h"

// False where all memory was taken at admission or at start, or none is kept.
static bool takes_memory(const struct kv_paged *pool)
{
    return !kv_policy_reserves(pool->policy) && !kv_policy_has_slots(pool->policy) &&
           pool->policy != KV_NO_CACHE;
}

// What is kept under a sequence's promise; what the plan in the making computes is not there yet.
static int64_t kept_tokens(const void *context, const struct kv_promise *promise)
{
    const struct sched_seq *seq =
        (const struct sched_seq *)(const void *)((const char *)promise -
                                                 offsetof(struct sched_seq, promise));
    const struct sched *sched = context;
    bool is_coming = seq->state == SCHED_LOOSE && seq->scheduled_step == sched->next_number;
    return sched_seq_computed(sched, seq) - (is_coming ? seq->scheduled_tokens : 0);
}

void sched_init(struct sched *sched, const struct sched_ops *ops,
                const struct sched_options *options, struct kv_paged *pool,
                struct base_arena *arena, size_t class_count)
{
    *sched = (struct sched){.ops = ops, .options = options, .pool = pool, .next_number = 1};
    sched->waiting.order = ops->sorts_its_queue ? SCHED_FCFS : options->order;
    base_pool_init(&sched->groups, sizeof(struct sched_group));
    base_pool_init(&sched->forks, sizeof(struct kv_fork));
    sched_front_init(&sched->front, arena, &pool->tables, options->async_scheduling,
                     pool->prefix != NULL, class_count);
    int64_t extra = (options->async_scheduling ? 2 : 1) * options->max_num_batched_tokens;
    for (size_t w = 0; w < pool->tables.window_count; w++) {
        sched->window_caps[w] =
            kv_window_admission_cap(&pool->tables.windows[w], extra, options->max_model_len);
    }
    // Tensors that double take memory at steps of their own: the front counts no boundaries for them.
    sched->front.takes_blocks = takes_memory(pool) && pool->policy != KV_CONCAT_DOUBLING;
    pool->kept_tokens = kept_tokens;
    pool->kept_context = sched;
    if (pool->prefix != NULL) {
        pool->prefix->hashed_blocks = sched_hashed_blocks;
        pool->prefix->new_state = sched_new_state;
        pool->prefix->context = sched;
    }
    if (pool->unique != NULL) {
        sched_unique_init(sched);
    }
    if (sched_has_tier(sched)) {
        sched_offload_init(sched, arena);
    }
    // Exact: int(watermark * num_blocks) without a double in between.
    base_i128 blocks = (base_i128)options->watermark.num * pool->total_blocks;
    sched->watermark_blocks =
        options->watermark.den > 0 ? (int64_t)(blocks / options->watermark.den) : 0;
}

void sched_release(struct sched *sched)
{
    if (sched_has_tier(sched)) {
        sched_offload_release(sched);
    }
    if (sched->pool->unique != NULL) {
        kv_unique_release(&sched->v0.host);
    }
    base_vec_free(&sched->hits);
    base_vec_free(&sched->dealt);
    base_vec_free(&sched->v0.parents);
    base_vec_free(&sched->to_enter);
    sched_queue_release(&sched->waiting);
    sched_front_release(&sched->front);
    base_vec_free(&sched->loose);
    base_vec_free(&sched->skipped);
    base_vec_free(&sched->draining);
    base_pool_release(&sched->groups);
    base_pool_release(&sched->forks);
}

void sched_enqueue_as_asked(struct sched *sched, struct sched_seq *seq)
{
    sched_queue_add(&sched->waiting, seq);
    if (sched_has_tier(sched)) {
        sched_offload_arrived(sched, seq);
    }
}

/* ---- small steps on one sequence ---- */

struct sched_seq *sched_seq_of_cache(const struct kv_prefix_seq *cache)
{
    return (struct sched_seq *)(void *)((char *)(uintptr_t)cache -
                                        offsetof(struct sched_seq, cache));
}

/*
 * Tokens of a front member whose blocks are hashed: at scheduling up to the known tokens, an asynchronous engine does not
 * know the output in flight yet. `is_scheduled`: this turn has given the member its token.
 */
int64_t sched_front_hashed_tokens(const struct sched *sched, const struct sched_seq *seq,
                                  bool is_scheduled)
{
    int64_t tokens =
        sched_seq_computed(sched, seq) + (is_scheduled ? 1 : 0) - (sched->in_flight ? 1 : 0);
    return tokens > seq->hashed_tokens ? tokens : seq->hashed_tokens;
}

// Asked during phase 2, when every front member has been scheduled.
int64_t sched_hashed_blocks(void *context, const struct kv_prefix_seq *cache)
{
    const struct sched *sched = context;
    const struct sched_seq *seq = sched_seq_of_cache(cache);
    int64_t tokens = seq->state == SCHED_FRONT ? sched_front_hashed_tokens(sched, seq, true)
                                               : seq->hashed_tokens;
    return tokens / sched->pool->tables.period_tokens;
}

static int64_t blocks_held(const struct sched *sched, const struct sched_seq *seq)
{
    if (!takes_memory(sched->pool)) {
        return 0; // what it holds was taken at admission, if anything
    }
    const struct kv_tables *tables = &sched->pool->tables;
    int64_t computed = sched_seq_computed(sched, seq), blocks;
    if (tables->long_tables > 0) {
        blocks = kv_tables_blocks(tables, computed);
    } else {
        blocks = (kv_reserve_held_blocks(sched->pool, computed) + seq->blank_blocks -
                  seq->fork.first_block) *
                 tables->growing_tables;
    }
    return tables->state_blocks + blocks + seq->took_blocks - sched_dropped_blocks(sched, seq);
}

int64_t sched_blocks_missing(const struct sched *sched, const struct sched_seq *seq, int64_t tokens)
{
    if (!takes_memory(sched->pool)) {
        return 0;
    }
    const struct kv_tables *tables = &sched->pool->tables;
    int64_t computed = sched_seq_computed(sched, seq);
    int64_t blocks = kv_reserve_held_blocks(sched->pool, computed + tokens) -
                     kv_reserve_held_blocks(sched->pool, computed);
    int64_t states = kv_tables_cached_states(tables);
    int64_t once =
        blocks > 1 ? (blocks - 1) * states : 0; // a chunk takes the state in which it ends
    if (tables->long_tables > 0) {
        return kv_tables_blocks(tables, computed + tokens) - kv_tables_blocks(tables, computed) -
               once;
    }
    return blocks * tables->growing_tables - once;
}

int64_t sched_front_blocks(const struct sched *sched)
{
    if (sched->pool->policy != KV_CONCAT_DOUBLING) {
        return sched->front.count > 0 ? sched_front_need(&sched->front) : 0;
    }
    int64_t blocks = 0;
    for (const struct sched_seq *seq = sched->running.head; seq != NULL; seq = seq->next) {
        blocks += seq->state == SCHED_FRONT ? sched_blocks_missing(sched, seq, 1) : 0;
    }
    return blocks;
}

int64_t sched_regrown_tokens(const struct sched *sched, int64_t computed, int64_t tokens)
{
    const struct kv_paged *pool = sched->pool;
    bool grows =
        pool->policy == KV_CONCAT_DOUBLING &&
        kv_reserve_held_blocks(pool, computed + tokens) > kv_reserve_held_blocks(pool, computed);
    return grows ? computed : 0;
}

void sched_loose_add(struct sched *sched, struct sched_seq *seq)
{
    struct sched_seqs *loose = &sched->loose;
    base_vec_push(loose, seq);
    size_t i = loose->count - 1;
    for (; i > 0 && loose->at[i - 1]->place > seq->place; i--) {
        loose->at[i] = loose->at[i - 1];
    }
    loose->at[i] = seq;
}

static void seqs_remove(struct sched_seqs *seqs, const struct sched_seq *seq)
{
    size_t kept = 0;
    for (size_t i = 0; i < seqs->count; i++) {
        if (seqs->at[i] != seq) {
            seqs->at[kept++] = seqs->at[i];
        }
    }
    seqs->count = kept;
}

void sched_loose_remove(struct sched *sched, const struct sched_seq *seq)
{
    seqs_remove(&sched->loose, seq);
}

void sched_leave_front(struct sched *sched, struct sched_seq *seq)
{
    if (sched_has_tier(sched) && sched->pool->radix == NULL) {
        sched_offload_left_front(sched, seq);
    }
    if (sched->pool->unique != NULL) {
        sched_unique_note_used(sched, seq);
    }
    sched_front_leave(&sched->front, seq);
    sched->overrun_count -= seq->is_overrun ? 1 : 0;
    seq->is_overrun = false;
}

// Out of whatever kind of running sequence it is; computed is set, the running list still holds it.
static void detach(struct sched *sched, struct sched_seq *seq)
{
    if (seq->state == SCHED_FRONT) {
        sched_leave_front(sched, seq);
        return;
    }
    if (seq->state == SCHED_LOOSE) {
        sched_loose_remove(sched, seq);
        sched->overrun_count -= seq->is_overrun ? 1 : 0;
        seq->is_overrun = false;
    } else if (seq->state == SCHED_DRAINING) {
        seqs_remove(&sched->draining, seq);
    }
    sched->outside_front_tokens -= seq->computed;
}

int64_t sched_blocks_aside(const struct sched *sched, const struct sched_seq *seq)
{
    const struct sched_seq_offload *own = &seq->offload;
    return kv_paged_blocks_for(sched->pool, own->is_loading ? own->load_to : seq->computed);
}

void sched_free_aside(struct sched *sched, struct sched_seq *seq)
{
    int64_t blocks = sched_blocks_aside(sched, seq);
    int64_t hashed = seq->hashed_tokens / sched->pool->block_tokens;
    sched_offload_count_aside(sched, seq, -1);
    kv_prefix_detach_early(sched->pool->prefix, &seq->cache, hashed,
                           blocks * sched->pool->block_tokens, seq->offload.load_to);
    sched->pool->free_blocks = kv_prefix_free_blocks(sched->pool->prefix);
    sched->pool->loading_blocks -= seq->offload.load_blocks;
    sched->outside_front_tokens -= seq->computed;
    seq->offload.load_blocks = 0;
    seq->offload.is_loading = false;
    seq->hashed_tokens = seq->computed = 0;
}

// Out of the queue; what a transfer still writes to is given back when that has ended.
static void leave_queue(struct sched *sched, struct sched_seq *seq)
{
    if (sched_has_tier(sched)) {
        sched_offload_left_queue(sched, seq);
    }
    if (!seq->offload.is_aside) {
        sched_queue_remove(&sched->waiting, seq);
        return;
    }
    sched_list_remove(&sched->offload.aside, seq);
    seq->offload.is_aside = false;
    bool is_loading = seq->state == SCHED_LOADING && !seq->offload.load_is_done;
    if (seq->state != SCHED_WAITING && !is_loading) {
        sched_free_aside(sched, seq);
    }
}

// Gives the blocks of a running sequence back, `hashed_tokens` of its tokens hashed; `has_ended`: it does not come back.
static void free_running(struct sched *sched, struct sched_seq *seq, int64_t hashed_tokens,
                         bool has_ended)
{
    if (sched_has_tier(sched)) {
        sched_offload_left_running(sched, seq);
    }
    int64_t blocks = blocks_held(sched, seq);
    struct kv_prefix *prefix = sched->pool->prefix;
    if (seq->promise.tokens > 0) {
        kv_reserve_give(sched->pool, &seq->promise);
    } else if (sched->pool->slots != NULL) {
        sched_slot_give(sched, seq);
    } else if (sched->pool->radix != NULL) {
        sched_tree_let_go(sched, seq, blocks, hashed_tokens, has_ended);
    } else if (sched->pool->unique != NULL) {
        sched_unique_let_go(sched, seq);
    } else if (prefix == NULL) {
        kv_paged_give(sched->pool, blocks);
    } else {
        kv_prefix_detach(prefix, &seq->cache, hashed_tokens / sched->pool->tables.period_tokens,
                         sched_seq_computed(sched, seq) + seq->took_tokens);
        sched->pool->free_blocks = kv_prefix_free_blocks(prefix);
    }
    seq->hashed_tokens = 0;
    seq->took_blocks = seq->took_tokens = 0;
    sched->pool->blank_blocks -= seq->blank_blocks;
    seq->blank_blocks = 0;
    detach(sched, seq);
    for (size_t w = 0; w < KV_WINDOWS_MAX; w++) {
        seq->windows[w].dropped_blocks = 0;
    }
    seq->last_state_end = seq->kept_blocks = 0;
    seq->has_all_states = false;
    sched_list_remove(&sched->running, seq);
}

void sched_settle(struct sched *sched, struct sched_seq *seq)
{
    if (seq->state == SCHED_FRONT) {
        int64_t computed = sched_seq_computed(sched, seq);
        seq->computed_total += computed - seq->computed;
        seq->emitted += computed - seq->computed;
        seq->computed = computed;
        seq->high_water = computed > seq->high_water ? computed : seq->high_water;
    }
}

// The plan that is being made finds the sequence no longer in the front's rhythm.
static void note_left_front(struct sched_plan *plan, struct sched_seq *seq)
{
    if (seq->state == SCHED_FRONT) {
        seq->last_front_plan = plan->number - 1;
        base_vec_push(&plan->left_front, seq);
    }
}

void sched_leave_front_unscheduled(struct sched *sched, struct sched_plan *plan,
                                   struct sched_seq *seq)
{
    note_left_front(plan, seq);
    int64_t hashed = sched_front_hashed_tokens(sched, seq, false);
    sched_settle(sched, seq);
    sched_leave_front(sched, seq);
    seq->hashed_tokens = hashed;
    sched_note_member_steps(seq, plan->number - 1);
    sched->outside_front_tokens += seq->computed;
    sched_loose_add(sched, seq);
}

void sched_swap_out(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    note_left_front(plan, seq);
    sched_settle(sched, seq);
    detach(sched, seq);
    sched_list_remove(&sched->running, seq);
    seq->scheduled_step = seq->prior_step = seq->emitted_step = 0;
    seq->state = SCHED_SWAPPED;
}

void sched_throw_out(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    note_left_front(plan, seq);
    int64_t hashed = seq->hashed_tokens;
    if (seq->state == SCHED_FRONT) {
        hashed = sched_front_hashed_tokens(sched, seq, seq->scheduled_step == plan->number);
    }
    sched_settle(sched, seq);
    free_running(sched, seq, hashed, false);
    seq->computed = 0;
    seq->scheduled_step = seq->prior_step = seq->emitted_step =
        0; // nothing of its new life is in flight
    seq->preemptions++;
    base_vec_push(&plan->victims, seq);
}

void sched_preempt(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    sched_throw_out(sched, plan, seq);
    sched_queue_put_back(&sched->waiting, seq);
}

void sched_finish_and_free(struct sched *sched, struct sched_seq *seq, bool is_delivered,
                           bool in_flight)
{
    if (seq->state == SCHED_WAITING || seq->state == SCHED_LOADING || seq->state == SCHED_LOADED) {
        leave_queue(sched, seq);
    } else if (seq->state != SCHED_GONE && seq->state != SCHED_NEW) {
        int64_t hashed = seq->hashed_tokens;
        if (seq->state == SCHED_FRONT) {
            sched->in_flight = in_flight;
            hashed = sched_front_hashed_tokens(sched, seq, false);
        } else if (is_delivered) {
            sched->in_flight = in_flight;
            int64_t owed = sched_seq_owes(sched, seq, sched->next_number) ? 1 : 0;
            hashed = seq->computed - owed > hashed ? seq->computed - owed : hashed;
        }
        sched_settle(sched, seq);
        // Nobody waits for the token that a client no longer wants, but what its step computes is not there yet.
        sched->entered_by = sched->next_number - (is_delivered && in_flight ? 2 : 1);
        free_running(sched, seq, hashed, true);
    }
    seq->state = SCHED_GONE;
}

/* ---- adding a sequence's tokens to the plan ---- */

void sched_add_to_shape(const struct sched *sched, struct cost_shape *shape,
                        const struct sched_seq *seq, int64_t tokens, bool emits)
{
    bool is_decode = tokens == 1 && emits && seq->computed >= seq->prompt_tokens;
    sched_add_windows(sched, shape, seq, tokens, is_decode);
    if (is_decode) {
        shape->decode_seq_count++;
        shape->decode_context_tokens += seq->computed + 1;
        return;
    }
    cost_shape_add_prefill(shape, 1, tokens, seq->computed);
    shape->emitting_count += emits ? 1 : 0;
}

// Gives `tokens` to a sequence outside the front. Its blocks have been taken. outside_front_tokens follows.
void sched_schedule_loose(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                          int64_t tokens)
{
    int64_t known = sched_seq_known_tokens(seq);
    base_require(tokens > 0 && seq->computed + tokens <= known);
    bool emits = seq->computed + tokens == known;
    if (sched->pool->radix != NULL && seq->computed < seq->prefill_tokens) {
        sched_tree_note_computed(sched, seq);
    }
    sched_add_to_shape(sched, &plan->shape, seq, tokens, emits);
    plan->copied_tokens += sched_regrown_tokens(sched, seq->computed, tokens);
    int64_t end = seq->computed + tokens;
    sched_take_states(sched, seq, end);
    seq->hashed_before = seq->hashed_tokens;
    seq->undo_high_water = seq->high_water;
    seq->undo_recomputed = seq->recomputed_total;
    int64_t again = (seq->high_water < end ? seq->high_water : end) - seq->computed;
    seq->recomputed_total += again > 0 ? again : 0;
    seq->high_water = end > seq->high_water ? end : seq->high_water;
    seq->computed = end;
    seq->hashed_tokens = end - (sched_seq_owes(sched, seq, plan->number) ? 1 : 0);
    seq->emitted_step = emits ? plan->number : seq->emitted_step;
    seq->computed_total += tokens;
    seq->prior_step = seq->scheduled_step;
    seq->prior_tokens = seq->scheduled_tokens;
    seq->scheduled_step = seq->used_plan = plan->number;
    seq->scheduled_tokens = tokens;
    sched->outside_front_tokens += tokens;
    plan->token_count += tokens;
    if (emits && !seq->is_overrun) {
        base_vec_push(&plan->emits, seq);
    }
}

/* ---- admission ---- */

static int64_t tokens_to_reserve(const struct sched *sched, const struct sched_seq *seq)
{
    return kv_reserve_tokens(sched->pool, seq->prompt_tokens, seq->end_outputs);
}

bool sched_reservation_fits(const struct sched *sched, const struct sched_seq *seq,
                            int64_t spare_blocks)
{
    return kv_reserve_fits(sched->pool, tokens_to_reserve(sched, seq), spare_blocks);
}

void sched_admit(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq,
                 int64_t tokens)
{
    int64_t moved = sched->pool->moved_tokens;
    bool taken = kv_policy_reserves(sched->pool->policy)
                     ? kv_reserve_take(sched->pool, tokens_to_reserve(sched, seq), &seq->promise)
                     : kv_paged_take(sched->pool, sched_blocks_missing(sched, seq, tokens) +
                                                      sched->pool->tables.state_blocks);
    base_require(taken);
    plan->copied_tokens += sched->pool->moved_tokens - moved;
    seq->place = sched->next_place++;
    sched_begin_running(sched, plan, seq);
    sched_schedule_loose(sched, plan, seq, tokens);
}

// As a rule it stands behind all others.
void sched_begin_running(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    struct sched_seq *before = sched->running.tail, *next = NULL;
    for (; before != NULL && before->place > seq->place; before = before->prev) {
        next = before;
    }
    seq->state = SCHED_LOOSE;
    sched_list_insert_before(&sched->running, seq, next);
    sched_loose_add(sched, seq);
    base_vec_push(&plan->admitted, seq);
}
