/*
 * step.c - what every scheduler does with a sequence: tokens, the front, blocks back, the end of a decision.
 */
#include "sched/sched_int.h"

#include "base/error.h"

#include <string.h>

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
    base_vec_free(&sched->hits);
    base_vec_free(&sched->dealt);
    base_vec_free(&sched->children);
    base_vec_free(&sched->to_enter);
    sched_queue_release(&sched->waiting);
    sched_front_release(&sched->front);
    base_vec_free(&sched->loose);
    base_vec_free(&sched->skipped);
    base_vec_free(&sched->draining);
    base_pool_release(&sched->groups);
    base_pool_release(&sched->forks);
}

void sched_plan_release(struct sched_plan *plan)
{
    base_vec_free(&plan->emits);
    base_vec_free(&plan->finals);
    base_vec_free(&plan->admitted);
    base_vec_free(&plan->victims);
    base_vec_free(&plan->given_up);
    base_vec_free(&plan->passes);
    base_vec_free(&plan->left_front);
    base_vec_free(&plan->swapped_out);
    base_vec_free(&plan->swapped_in);
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

static void loose_remove(struct sched *sched, const struct sched_seq *seq)
{
    seqs_remove(&sched->loose, seq);
}

// After sched_settle().
static void leave_front(struct sched *sched, struct sched_seq *seq)
{
    if (sched_has_tier(sched) && sched->pool->radix == NULL) {
        sched_offload_left_front(sched, seq);
    }
    sched_front_leave(&sched->front, seq);
    sched->overrun_count -= seq->is_overrun ? 1 : 0;
    seq->is_overrun = false;
}

// Out of whatever kind of running sequence it is; computed is set, the running list still holds it.
static void detach(struct sched *sched, struct sched_seq *seq)
{
    if (seq->state == SCHED_FRONT) {
        leave_front(sched, seq);
        return;
    }
    if (seq->state == SCHED_LOOSE) {
        loose_remove(sched, seq);
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
    leave_front(sched, seq);
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
    seq->scheduled_step = plan->number;
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

/* ---- after the decision ---- */

static void final_add(struct sched_plan *plan, struct sched_seq *seq)
{
    struct sched_seqs *finals = &plan->finals;
    base_vec_push(finals, seq);
    size_t i = finals->count - 1;
    for (; i > 0 && finals->at[i - 1]->place > seq->place; i--) {
        finals->at[i] = finals->at[i - 1];
    }
    finals->at[i] = seq;
}

static void start_draining(struct sched *sched, struct sched_seq *seq)
{
    if (seq->state == SCHED_LOOSE) {
        loose_remove(sched, seq);
    }
    seq->state = SCHED_DRAINING;
    base_vec_push(&sched->draining, seq);
}

// An asynchronous engine learns of an early stop a step late: the sequence stays scheduled until then.
static bool overruns(const struct sched *sched, const struct sched_seq *seq)
{
    return sched->options->async_scheduling && seq->stops_early;
}

static void join_front(struct sched *sched, struct sched_seq *seq, bool is_overrun)
{
    if (is_overrun) {
        seq->final_step = UINT64_MAX;
        seq->is_overrun = true;
        sched->overrun_count++;
    }
    sched_front_join(&sched->front, seq);
    if (sched_has_tier(sched) && sched->pool->radix == NULL) {
        sched_offload_joined_front(sched, seq);
    }
}

// Nothing of what was computed is kept.
static void forget(struct sched *sched, struct sched_seq *seq)
{
    sched->outside_front_tokens -= seq->computed;
    seq->computed = 0;
}

// A sequence that emitted outside the front decodes from now on, or is done when that token is delivered.
static void follow_up_emission(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    seq->emitted++;
    bool is_last = seq->emitted == seq->end_outputs;
    if (is_last) {
        final_add(plan, seq);
    }
    bool keeps_nothing = sched->pool->policy == KV_NO_CACHE;
    if (seq->group != NULL && !seq->group->is_forked) {
        // Its siblings begin when this step's tokens are there; nobody is in the front's rhythm before the first write.
        if (is_last && seq->state == SCHED_LOOSE) {
            start_draining(sched, seq);
        }
        return;
    }
    if (keeps_nothing) {
        forget(sched, seq);
    }
    if (is_last && (keeps_nothing || !overruns(sched, seq))) {
        start_draining(sched, seq);
        return;
    }
    if (keeps_nothing) {
        return; // there is no front of what computes everything
    }
    if (!sched_window_can_join(&sched->front, seq, plan->number, sched->in_flight)) {
        seq->is_overrun = is_last;
        sched->overrun_count += is_last ? 1 : 0;
        return; // what its last chunk pushed out of a window is still held
    }
    loose_remove(sched, seq);
    sched->outside_front_tokens -= seq->computed;
    seq->first_front_plan = plan->number + 1;
    seq->last_front_plan = UINT64_MAX;
    seq->final_step = sched->front.step + (uint64_t)(seq->end_outputs - seq->emitted);
    join_front(sched, seq, is_last);
}

// Members whose last token comes with the step just scheduled.
static void follow_up_finals(struct sched *sched, struct sched_plan *plan)
{
    struct sched_front *front = &sched->front;
    while (sched_front_next_final(front) <= front->step) {
        struct sched_seq *seq = front->calendar[0];
        base_assert(seq->final_step == front->step);
        final_add(plan, seq);
        // The front has moved on: what it hashed at this scheduling lies one token behind, or two.
        int64_t hashed = sched_front_hashed_tokens(sched, seq, false);
        sched_settle(sched, seq);
        leave_front(sched, seq);
        seq->hashed_tokens = hashed;
        if (overruns(sched, seq)) {
            join_front(sched, seq, true);
            continue;
        }
        sched->outside_front_tokens += seq->computed;
        seq->last_front_plan = plan->number;
        sched_note_member_steps(seq, plan->number);
        start_draining(sched, seq);
    }
}

static int64_t provable_steps(const struct sched *sched, const struct sched_plan *plan)
{
    if (sched->pool->policy == KV_CONCAT_DOUBLING) {
        return 0; // every tensor grows at a step of its own
    }
    if (sched->searches != NULL) {
        return 0; // tables are forked and freed with every token
    }
    if (!plan->is_front_only || sched->draining.count + sched->overrun_count > 0 ||
        sched->skipped.count > 1) {
        return 0;
    }
    const struct kv_prefix *prefix = sched->pool->prefix;
    const struct kv_radix *radix = sched->pool->radix;
    if (kv_paged_has_cache(sched->pool) && sched->head_was_looked_up) {
        return 0; // what the cache holds changes with every step, and with it the head's chances
    }
    uint64_t final_step = sched_front_next_final(&sched->front);
    uint64_t left = final_step - sched->front.step;
    int64_t limit = left > INT32_MAX ? INT32_MAX : (int64_t)left;
    if (sched->pool->slots != NULL) {
        return sched_slots_runway(sched, limit);
    }
    int64_t blocks = sched->pool->free_blocks;
    if (prefix != NULL && sched_has_tier(sched) && sched_offload_minds_eviction(sched)) {
        bool evicts;
        blocks = kv_prefix_uniform_blocks(prefix, &evicts);
        blocks = evicts ? 0 : blocks;
    } else if (radix != NULL) {
        blocks = radix->blank_blocks; // the next one takes a whole piece out of the tree
    }
    if (sched_has_tier(sched)) {
        limit = sched_offload_runway(sched, limit);
    }
    if (blocks < sched->spare_blocks) {
        return 0;
    }
    blocks -= sched->spare_blocks;
    if (!sched_has_windows(sched)) {
        return sched_front_runway(&sched->front, blocks, limit);
    }
    uint64_t quiet = sched_front_windows_quiet_steps(&sched->front);
    limit = quiet < (uint64_t)limit ? (int64_t)quiet : limit;
    if (prefix != NULL && prefix->drops_blank) {
        // Blocks without content come back where the next ones are taken.
        limit = sched_front_windows_steps_to_drop(&sched->front, limit);
    }
    if (prefix != NULL) {
        // Blocks are taken from one end of the queue and come back at the other: those that are there now are enough.
        return sched_front_runway(&sched->front, blocks, limit);
    }
    return sched_front_windows_runway(&sched->front, blocks, sched->head_needs, limit);
}

void sched_begin_plan(struct sched *sched, struct sched_plan *plan)
{
    plan->number = sched->next_number;
    plan->token_count = 0;
    plan->shape = (struct cost_shape){.cached_step_tokens = sched->options->cached_step_tokens};
    plan->valid_steps = 0;
    plan->copied_tokens = 0;
    plan->flush = 0;
    sched_offload_begin_turn(sched);
    sched->head_needs = INT64_MAX;
    plan->skips_front = plan->is_by_role = false;
    plan->engine_died = plan->goes_in_circles = false;
    plan->swapped_blocks = plan->copied_blocks = plan->forked_count = 0;
    plan->swapped_out.count = plan->swapped_in.count = 0;
    plan->emits.count = plan->finals.count = plan->passes.count = 0;
    plan->admitted.count = plan->victims.count = plan->left_front.count = 0;
    plan->given_up.count = 0;
}

static void count_front(const struct sched *sched, struct sched_plan *plan)
{
    const struct sched_front *front = &sched->front;
    plan->counted_total = front->counted_total;
    for (size_t i = 0; plan->class_count > 1 && i < plan->class_count; i++) {
        plan->counted[i] = front->counted[i];
    }
    if (plan->skips_front) {
        return;
    }
    plan->shape.decode_seq_count += (uint32_t)front->count;
    plan->token_count += front->count;
}

static void count_front_windows(const struct sched *sched, int64_t *window_tokens)
{
    for (size_t w = 0; w < sched->pool->tables.window_count; w++) {
        window_tokens[w] += sched->front.windows.at[w].cost_tokens;
    }
}

static void count_regrown(const struct sched *sched, struct sched_plan *plan)
{
    for (const struct sched_seq *seq = sched->running.head; seq != NULL; seq = seq->next) {
        if (seq->state == SCHED_FRONT) {
            plan->copied_tokens += sched_regrown_tokens(sched, sched_seq_computed(sched, seq), 1);
        }
    }
}

// Free blocks among which the head of the queue finds no place; where blocks lie anywhere there is no such thing.
static int64_t count_fragmented(const struct sched *sched)
{
    const struct sched_seq *head = sched->pool->space != NULL && !sched->pool->compacts
                                       ? sched_queue_head(&sched->waiting)
                                       : NULL;
    return head != NULL && !sched_reservation_fits(sched, head, 0) ? sched->pool->free_blocks : 0;
}

void sched_close_plan(struct sched *sched, struct sched_plan *plan, bool is_front_only)
{
    struct sched_front *front = &sched->front;
    sched->fragmented_blocks = count_fragmented(sched);
    count_front(sched, plan);
    if (sched_has_tier(sched) && sched->pool->radix != NULL) {
        sched_tree_write_back(sched);
    }
    plan->flush = sched->offload.flush;
    if (plan->token_count == 0) {
        return;
    }
    if (sched_has_tier(sched)) {
        sched_offload_store(sched, plan);
        is_front_only = is_front_only && !sched->offload.has_orders;
    }
    if (sched->pool->policy == KV_CONCAT_DOUBLING) {
        count_regrown(sched, plan);
    }
    // Blocks of the front have been taken; here its tokens count as computed.
    if (!plan->skips_front) {
        sched_front_step(front);
        plan->shape.decode_context_tokens += front->context_sum;
        count_front_windows(sched, plan->shape.decode_window_tokens);
    }
    plan->is_front_only = is_front_only && plan->admitted.count == 0;
    plan->generation = front->generation;
    sched->next_number++;
    for (size_t i = 0; i < plan->emits.count; i++) {
        follow_up_emission(sched, plan, plan->emits.at[i]);
    }
    follow_up_finals(sched, plan);
    size_t moved = plan->victims.count + plan->swapped_out.count + plan->given_up.count;
    plan->valid_steps = moved > 0 ? 0 : provable_steps(sched, plan);
}

void sched_advance_front(struct sched *sched, struct sched_plan *plan, int64_t steps)
{
    base_require(steps >= 1 && steps <= plan->valid_steps);
    struct sched_front *front = &sched->front;
    int64_t dropped = sched_front_windows_drop(front, steps);
    if (sched->pool->prefix != NULL) {
        sched_give_back_ahead(sched, steps - front->windows.given_steps);
        front->windows.given_steps = dropped = 0;
    }
    int64_t needed = sched_front_advance(front, steps);
    // Blocks that come back are taken again: only the balance shows, and within the stretch there were enough at each step.
    if (dropped > needed) {
        kv_paged_give(sched->pool, dropped - needed);
    } else {
        bool taken = kv_paged_take(sched->pool, needed - dropped);
        base_require(taken);
    }
    plan->number += (uint64_t)steps;
    sched->next_number = plan->number + 1;
    plan->shape.decode_context_tokens = front->context_sum;
    memset(plan->shape.decode_window_tokens, 0, sizeof plan->shape.decode_window_tokens);
    count_front_windows(sched, plan->shape.decode_window_tokens);
    plan->valid_steps -= steps;
    follow_up_finals(sched, plan);
}
