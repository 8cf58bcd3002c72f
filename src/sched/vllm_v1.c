/*
 * The step of vLLM's V1 scheduler: engine-semantics 1.2 to 1.6, 3 and 12.
 *
 * Phase 1 walks the running list in order and gives every sequence its tokens; phase 2 admits from the queue. The walk is
 * done in numbers when order can't matter: when budget and blocks are enough for all, or when only sequences behind the
 * whole front are left to share a budget that the front has not used up. Otherwise the list is walked one by one.
 */
#include "sched/sched.h"

#include "base/error.h"

const struct base_policy sched_vllm_v1 = {
    .name = "vllm_v1",
    .summary = "vLLM V1: running first in admission order, chunked prefill, preemption by recompute",
};

static int64_t hashed_blocks_of(void *context, const struct kv_prefix_seq *cache);

void sched_init(struct sched *sched, const struct sched_options *options, struct kv_paged *pool,
                struct base_arena *arena, size_t class_count)
{
    *sched = (struct sched){.options = options, .pool = pool, .next_number = 1};
    sched->waiting.order = options->order;
    sched_front_init(&sched->front, arena, options->block_size, class_count);
    // Exact: int(watermark * num_blocks) without a double in between.
    base_i128 blocks = (base_i128)options->watermark.num * pool->total_blocks;
    if (pool->prefix != NULL) {
        pool->prefix->hashed_blocks = hashed_blocks_of;
        pool->prefix->context = sched;
    }
    sched->watermark_blocks = options->watermark.den > 0 ? (int64_t)(blocks / options->watermark.den) : 0;
}

void sched_release(struct sched *sched)
{
    base_vec_free(&sched->hits);
    sched_queue_release(&sched->waiting);
    sched_front_release(&sched->front);
    base_vec_free(&sched->loose);
    base_vec_free(&sched->skipped);
}

void sched_plan_release(struct sched_plan *plan)
{
    base_vec_free(&plan->emits);
    base_vec_free(&plan->finals);
    base_vec_free(&plan->admitted);
    base_vec_free(&plan->victims);
    base_vec_free(&plan->left_front);
}

void sched_enqueue(struct sched *sched, struct sched_seq *seq)
{
    sched_queue_add(&sched->waiting, seq);
}

/* ---- small steps on one sequence ---- */

static struct sched_seq *seq_of_cache(const struct kv_prefix_seq *cache)
{
    return (struct sched_seq *)(void *)((char *)(uintptr_t)cache - offsetof(struct sched_seq, cache));
}

/*
 * Tokens of a front member whose blocks are hashed: at scheduling up to the known tokens, an asynchronous engine does not
 * know the output in flight yet. `is_scheduled`: this turn has given the member its token.
 */
static int64_t front_hashed_tokens(const struct sched *sched, const struct sched_seq *seq, bool is_scheduled)
{
    int64_t tokens = sched_seq_computed(sched, seq) + (is_scheduled ? 1 : 0) - (sched->in_flight ? 1 : 0);
    return tokens > seq->hashed_tokens ? tokens : seq->hashed_tokens;
}

// Asked during phase 2, when every front member has been scheduled.
static int64_t hashed_blocks_of(void *context, const struct kv_prefix_seq *cache)
{
    const struct sched *sched = context;
    const struct sched_seq *seq = seq_of_cache(cache);
    int64_t tokens = seq->state == SCHED_FRONT ? front_hashed_tokens(sched, seq, true) : seq->hashed_tokens;
    return tokens / sched->pool->block_tokens;
}

static int64_t known_tokens(const struct sched_seq *seq)
{
    return seq->prompt_tokens + seq->emitted;
}

// Tokens that a running sequence outside the front asks for, before the budget.
static int64_t wanted_tokens(const struct sched *sched, const struct sched_seq *seq)
{
    int64_t wanted = known_tokens(seq) - seq->computed;
    int64_t threshold = sched->options->long_prefill_token_threshold;
    return threshold > 0 && wanted > threshold ? threshold : wanted;
}

static int64_t blocks_held(const struct sched *sched, const struct sched_seq *seq)
{
    int64_t blocks = kv_paged_blocks_for(sched->pool, sched_seq_computed(sched, seq));
    return blocks + (seq->took_block ? 1 : 0);
}

static int64_t blocks_missing(const struct sched *sched, const struct sched_seq *seq, int64_t tokens)
{
    return kv_paged_blocks_for(sched->pool, seq->computed + tokens) -
           kv_paged_blocks_for(sched->pool, seq->computed);
}

static void loose_add(struct sched *sched, struct sched_seq *seq)
{
    struct sched_seqs *loose = &sched->loose;
    base_vec_push(loose, seq);
    size_t i = loose->count - 1;
    for (; i > 0 && loose->at[i - 1]->place > seq->place; i--) {
        loose->at[i] = loose->at[i - 1];
    }
    loose->at[i] = seq;
}

static void loose_remove(struct sched *sched, const struct sched_seq *seq)
{
    struct sched_seqs *loose = &sched->loose;
    size_t kept = 0;
    for (size_t i = 0; i < loose->count; i++) {
        if (loose->at[i] != seq) {
            loose->at[kept++] = loose->at[i];
        }
    }
    loose->count = kept;
}

static void leave_front(struct sched *sched, struct sched_seq *seq)
{
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
    } else if (seq->state == SCHED_DRAINING) {
        sched->draining_count--;
    }
    sched->outside_front_tokens -= seq->computed;
}

// Gives the blocks of a running sequence back, `hashed_tokens` of its tokens hashed.
static void free_running(struct sched *sched, struct sched_seq *seq, int64_t hashed_tokens)
{
    int64_t blocks = blocks_held(sched, seq);
    struct kv_prefix *prefix = sched->pool->prefix;
    if (prefix == NULL) {
        kv_paged_give(sched->pool, blocks);
    } else {
        int64_t hashed = hashed_tokens / sched->pool->block_tokens;
        kv_prefix_detach(prefix, &seq->cache, hashed, blocks - hashed);
        sched->pool->free_blocks = kv_prefix_free_blocks(prefix);
    }
    seq->hashed_tokens = 0;
    seq->took_block = false;
    detach(sched, seq);
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

static void preempt(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    note_left_front(plan, seq);
    int64_t hashed = seq->hashed_tokens;
    if (seq->state == SCHED_FRONT) {
        hashed = front_hashed_tokens(sched, seq, seq->scheduled_step == plan->number);
    }
    sched_settle(sched, seq);
    free_running(sched, seq, hashed);
    seq->computed = 0;
    seq->preemptions++;
    sched_queue_put_back(&sched->waiting, seq);
    base_vec_push(&plan->victims, seq);
}

void sched_finish(struct sched *sched, struct sched_seq *seq, bool is_delivered, bool in_flight)
{
    if (seq->state == SCHED_WAITING) {
        sched_queue_remove(&sched->waiting, seq);
    } else if (seq->state != SCHED_GONE && seq->state != SCHED_NEW) {
        int64_t hashed = seq->hashed_tokens;
        if (seq->state == SCHED_FRONT) {
            sched->in_flight = in_flight;
            hashed = front_hashed_tokens(sched, seq, false);
        } else if (is_delivered) {
            hashed = seq->computed;
        }
        sched_settle(sched, seq);
        free_running(sched, seq, hashed);
    }
    seq->state = SCHED_GONE;
}

/* ---- adding a sequence's tokens to the plan ---- */

static void add_to_shape(struct cost_shape *shape, const struct sched_seq *seq, int64_t tokens, bool emits)
{
    if (tokens == 1 && emits && seq->computed >= seq->prompt_tokens) {
        shape->decode_seq_count++;
        shape->decode_context_tokens += seq->computed + 1;
        return;
    }
    cost_shape_add_prefill(shape, 1, tokens, seq->computed);
    shape->emitting_count += emits ? 1 : 0;
}

// Gives `tokens` to a sequence outside the front. Its blocks have been taken. outside_front_tokens follows.
static void schedule_loose(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq, int64_t tokens)
{
    bool emits = seq->computed + tokens == known_tokens(seq);
    add_to_shape(&plan->shape, seq, tokens, emits);
    int64_t end = seq->computed + tokens;
    seq->undo_high_water = seq->high_water;
    seq->undo_recomputed = seq->recomputed_total;
    int64_t again = (seq->high_water < end ? seq->high_water : end) - seq->computed;
    seq->recomputed_total += again > 0 ? again : 0;
    seq->high_water = end > seq->high_water ? end : seq->high_water;
    seq->computed = end;
    seq->hashed_tokens = end;
    seq->computed_total += tokens;
    seq->scheduled_step = plan->number;
    seq->scheduled_tokens = tokens;
    sched->outside_front_tokens += tokens;
    plan->token_count += tokens;
    if (emits) {
        base_vec_push(&plan->emits, seq);
    }
}

/* ---- phase 1: the running list ---- */

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

// Phase 1 in numbers. False, with nothing changed, when the list must be walked.
static bool schedule_running_at_once(struct sched *sched, struct sched_plan *plan, struct walk *walk)
{
    struct sched_front *front = &sched->front;
    int64_t need = front->count > 0 ? sched_front_need(front) : 0;
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
        int64_t tokens = wanted_tokens(sched, sched->loose.at[i]);
        tokens = tokens < left ? tokens : left;
        need += blocks_missing(sched, sched->loose.at[i], tokens);
        left -= tokens;
    }
    if (!kv_paged_take(sched->pool, need)) {
        return false;
    }
    for (size_t i = 0; i < sched->loose.count && budget > 0; i++) {
        int64_t tokens = wanted_tokens(sched, sched->loose.at[i]);
        tokens = tokens < budget ? tokens : budget;
        schedule_loose(sched, plan, sched->loose.at[i], tokens);
        budget -= tokens;
    }
    walk->budget = budget;
    return true;
}

static struct sched_seq *pick_victim(const struct sched *sched)
{
    if (sched->options->order == SCHED_FCFS) {
        return sched->running.tail;
    }
    // Total order (priority, arrival, place): the least urgent; of equals the one furthest back.
    struct sched_seq *victim = sched->running.head;
    for (struct sched_seq *seq = victim; seq != NULL; seq = seq->next) {
        bool less_urgent = seq->priority != victim->priority ? seq->priority > victim->priority
                                                             : seq->arrival_ns >= victim->arrival_ns;
        victim = less_urgent ? seq : victim;
    }
    return victim;
}

// What a walked sequence was given in this step is taken back (priority scheduling only).
static void unschedule(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq, struct walk *walk)
{
    int64_t tokens = seq->state == SCHED_FRONT ? 1 : seq->scheduled_tokens;
    if (sched->options->preempted_budget_returned) {
        walk->budget += tokens;
    }
    if (seq->state == SCHED_FRONT) {
        return; // its token is counted when the front advances
    }
    // Rebuild what schedule_loose() added: shapes are sums.
    bool emitted = seq->computed == known_tokens(seq);
    struct cost_shape undo = {.cached_step_tokens = plan->shape.cached_step_tokens};
    struct sched_seq before = *seq;
    before.computed -= tokens;
    add_to_shape(&undo, &before, tokens, emitted);
    plan->shape.decode_seq_count -= undo.decode_seq_count;
    plan->shape.decode_context_tokens -= undo.decode_context_tokens;
    plan->shape.prefill_seq_count -= undo.prefill_seq_count;
    plan->shape.prefill_tokens -= undo.prefill_tokens;
    plan->shape.prefill_cached_tokens -= undo.prefill_cached_tokens;
    plan->shape.prefill_area -= undo.prefill_area;
    plan->shape.prefill_chunk_squares -= undo.prefill_chunk_squares;
    plan->shape.prefill_cached_rounded -= undo.prefill_cached_rounded;
    plan->shape.emitting_count -= undo.emitting_count;
    plan->token_count -= tokens;
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
static bool take_or_preempt(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq, int64_t blocks,
                            struct walk *walk, struct sched_seq **next)
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
        preempt(sched, plan, victim);
        if (victim == seq) {
            return false;
        }
        if (moves_cursor && *next != NULL) {
            *next = (*next)->next;
        }
    }
    return true;
}

static void leave_front_unscheduled(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    note_left_front(plan, seq);
    sched_settle(sched, seq);
    leave_front(sched, seq);
    seq->hashed_tokens = seq->computed; // by the next turn its last token is known
    sched->outside_front_tokens += seq->computed;
    loose_add(sched, seq);
}

// Phase 1 one by one, as the engine does it. Front members that get their token are marked by scheduled_step.
static void schedule_running_one_by_one(struct sched *sched, struct sched_plan *plan, struct walk *walk)
{
    struct sched_seq *next = NULL;
    for (struct sched_seq *seq = sched->running.head; seq != NULL && walk->budget > 0; seq = next) {
        next = seq->next;
        if (seq->state == SCHED_DRAINING) {
            continue;
        }
        bool in_front = seq->state == SCHED_FRONT;
        int64_t tokens = in_front ? 1 : wanted_tokens(sched, seq);
        tokens = tokens < walk->budget ? tokens : walk->budget;
        int64_t blocks = in_front ? sched_seq_computed(sched, seq) % sched->pool->block_tokens == 0 ? 1 : 0
                                  : blocks_missing(sched, seq, tokens);
        if (!take_or_preempt(sched, plan, seq, blocks, walk, &next)) {
            break;
        }
        if (in_front) {
            seq->took_block = blocks > 0;
            seq->scheduled_step = plan->number;
            seq->scheduled_tokens = 1;
        } else {
            schedule_loose(sched, plan, seq, tokens);
        }
        walk->budget -= tokens;
    }
    for (struct sched_seq *seq = sched->running.head; seq != NULL; seq = next) {
        next = seq->next;
        if (seq->state == SCHED_FRONT && seq->scheduled_step != plan->number) {
            leave_front_unscheduled(sched, plan, seq);
        }
        seq->took_block = false;
    }
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
            kv_prefix_commit(prefix, &seq->cache, hashed_blocks_of(sched, &seq->cache));
        }
    }
}

// Blocks that must come from the free queue for `required` in all: hits that nobody holds leave it too.
static int64_t needed_blocks(int64_t required, const struct kv_hits *hits)
{
    int64_t missing = required - hits->blocks;
    return (missing > 0 ? missing : 0) + hits->idle_blocks;
}

static bool prompt_fits(const struct sched *sched, int64_t known, int64_t end)
{
    int64_t watermark = sched->running.count > 0 ? sched->watermark_blocks : 0;
    int64_t free_blocks = sched->pool->free_blocks - watermark;
    if (sched->options->reserve_full_isl &&
        needed_blocks(kv_paged_blocks_for(sched->pool, known), &sched->hits) > free_blocks) {
        return false;
    }
    return needed_blocks(kv_paged_blocks_for(sched->pool, end), &sched->hits) <= free_blocks;
}

// At least one token is computed, so a prompt that is cached to its last block recomputes that block.
static int64_t look_up(struct sched *sched, struct sched_seq *seq)
{
    sched->hits.count = 0;
    sched->hits.blocks = sched->hits.idle_blocks = 0;
    if (sched->pool->prefix != NULL) {
        kv_prefix_lookup(sched->pool->prefix, &seq->cache.content, (known_tokens(seq) - 1) / sched->pool->block_tokens,
                         &sched->hits);
        sched->lookup_tokens += sched->options->count_every_lookup ? known_tokens(seq) : 0;
    }
    return sched->hits.blocks * sched->pool->block_tokens;
}

static void take_hits(struct sched *sched, struct sched_seq *seq)
{
    int64_t tokens = sched->hits.blocks * sched->pool->block_tokens;
    if (sched->pool->prefix != NULL) {
        kv_prefix_attach(sched->pool->prefix, &seq->cache, &sched->hits);
        sched->pool->free_blocks = kv_prefix_free_blocks(sched->pool->prefix);
        sched->lookup_tokens += sched->options->count_every_lookup ? 0 : known_tokens(seq);
        sched->hit_tokens += tokens;
    }
    seq->cached_tokens = seq->was_admitted ? seq->cached_tokens : tokens;
    seq->cached_total += tokens;
    seq->was_admitted = true;
    seq->high_water = tokens > seq->high_water ? tokens : seq->high_water;
    seq->computed = tokens;
    seq->hashed_tokens = tokens;
    sched->outside_front_tokens += tokens;
}

static void admit(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq, int64_t tokens)
{
    sched_queue_remove(&sched->waiting, seq);
    take_hits(sched, seq);
    bool taken = kv_paged_take(sched->pool, blocks_missing(sched, seq, tokens));
    base_require(taken);
    seq->state = SCHED_LOOSE;
    seq->place = sched->next_place++;
    sched_list_push_back(&sched->running, seq);
    base_vec_push(&sched->loose, seq);
    base_vec_push(&plan->admitted, seq);
    schedule_loose(sched, plan, seq, tokens);
    if (seq->cache.is_contended) {
        commit_contended(sched);
    }
}

// Like wanted_tokens, for a sequence that would start behind its hits.
static int64_t wanted_behind(const struct sched *sched, const struct sched_seq *seq, int64_t hit_tokens)
{
    int64_t wanted = known_tokens(seq) - hit_tokens;
    int64_t threshold = sched->options->long_prefill_token_threshold;
    return threshold > 0 && wanted > threshold ? threshold : wanted;
}

// One look at the head of the queue: taken, passed over, or left with the reason for which the pass ends.
static enum sched_wait try_head(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq, int64_t *budget)
{
    const struct sched_options *options = sched->options;
    if ((int64_t)sched->running.count >= options->max_num_seqs) {
        return SCHED_WAIT_SEATS;
    }
    if (*budget <= 0) {
        return SCHED_WAIT_BUDGET;
    }
    int64_t hit_tokens = look_up(sched, seq);
    int64_t tokens = wanted_behind(sched, seq, hit_tokens);
    if (!options->enable_chunked_prefill && tokens > *budget) {
        sched->head_was_looked_up = true;
        if (options->unchunked_misfit == SCHED_MISFIT_STOP) {
            return SCHED_WAIT_BUDGET;
        }
        sched_queue_remove(&sched->waiting, seq);
        base_vec_push(&sched->skipped, seq);
        return SCHED_WAIT_NONE;
    }
    tokens = tokens < *budget ? tokens : *budget;
    if (!prompt_fits(sched, known_tokens(seq), hit_tokens + tokens)) {
        sched->head_was_looked_up = true;
        return SCHED_WAIT_KV_POOL;
    }
    admit(sched, plan, seq, tokens);
    *budget -= tokens;
    return SCHED_WAIT_NONE;
}

static enum sched_wait admit_from_queue(struct sched *sched, struct sched_plan *plan, int64_t budget)
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
    sched->draining_count++;
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
}

// A sequence that emitted outside the front decodes from now on, or is done when that token is delivered.
static void follow_up_emission(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    seq->emitted++;
    bool is_last = seq->emitted == seq->end_outputs;
    if (is_last) {
        final_add(plan, seq);
    }
    if (is_last && !overruns(sched, seq)) {
        start_draining(sched, seq);
        return;
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
        int64_t hashed = front_hashed_tokens(sched, seq, false);
        sched_settle(sched, seq);
        leave_front(sched, seq);
        seq->hashed_tokens = hashed;
        if (overruns(sched, seq)) {
            join_front(sched, seq, true);
            continue;
        }
        sched->outside_front_tokens += seq->computed;
        seq->last_front_plan = plan->number;
        seq->scheduled_step = plan->number;
        seq->scheduled_tokens = 1;
        start_draining(sched, seq);
    }
}

static int64_t provable_steps(const struct sched *sched, const struct sched_plan *plan)
{
    if (!plan->is_front_only || sched->draining_count + sched->overrun_count > 0 || sched->skipped.count > 1) {
        return 0;
    }
    struct kv_prefix *prefix = sched->pool->prefix;
    if (prefix != NULL && sched->head_was_looked_up) {
        return 0; // what the cache holds changes with every step, and with it the head's chances
    }
    uint64_t final_step = sched_front_next_final(&sched->front);
    uint64_t left = final_step - sched->front.step;
    int64_t limit = left > INT32_MAX ? INT32_MAX : (int64_t)left;
    int64_t blocks = sched->pool->free_blocks;
    if (prefix != NULL) {
        bool evicts;
        blocks = kv_prefix_uniform_blocks(prefix, &evicts);
    }
    return sched_front_runway(&sched->front, blocks, limit);
}

static void begin_plan(struct sched *sched, struct sched_plan *plan)
{
    plan->number = sched->next_number;
    plan->token_count = 0;
    plan->shape = (struct cost_shape){.cached_step_tokens = sched->options->cached_step_tokens};
    plan->valid_steps = 0;
    plan->emits.count = plan->finals.count = 0;
    plan->admitted.count = plan->victims.count = plan->left_front.count = 0;
}

static void count_front(const struct sched *sched, struct sched_plan *plan)
{
    const struct sched_front *front = &sched->front;
    plan->counted_total = front->counted_total;
    for (size_t i = 0; plan->class_count > 1 && i < plan->class_count; i++) {
        plan->counted[i] = front->counted[i];
    }
    plan->shape.decode_seq_count += (uint32_t)front->count;
    plan->token_count += front->count;
}

void sched_plan_next(struct sched *sched, struct sched_plan *plan)
{
    begin_plan(sched, plan);
    struct walk walk = {.budget = sched->options->max_num_batched_tokens};
    if (!schedule_running_at_once(sched, plan, &walk)) {
        schedule_running_one_by_one(sched, plan, &walk);
    }
    struct sched_front *front = &sched->front;
    bool is_front_only = plan->token_count == 0;
    sched->skipped.count = 0;
    sched->head_was_looked_up = false;
    commit_contended(sched);
    if (walk.someone_preempted) {
        plan->wait = SCHED_WAIT_KV_POOL;
    } else {
        plan->wait = admit_from_queue(sched, plan, walk.budget);
    }
    count_front(sched, plan);
    if (plan->token_count == 0) {
        return;
    }
    // Blocks of the front were taken above; here its tokens count as computed.
    sched_front_advance(front, 1);
    plan->shape.decode_context_tokens += front->context_sum;
    plan->is_front_only = is_front_only && plan->admitted.count == 0;
    plan->generation = front->generation;
    sched->next_number++;
    for (size_t i = 0; i < plan->emits.count; i++) {
        follow_up_emission(sched, plan, plan->emits.at[i]);
    }
    follow_up_finals(sched, plan);
    plan->valid_steps = walk.someone_preempted ? 0 : provable_steps(sched, plan);
}

void sched_advance(struct sched *sched, struct sched_plan *plan, int64_t steps)
{
    base_require(steps >= 1 && steps <= plan->valid_steps);
    struct sched_front *front = &sched->front;
    bool taken = kv_paged_take(sched->pool, sched_front_advance(front, steps));
    base_require(taken);
    plan->number += (uint64_t)steps;
    sched->next_number = plan->number + 1;
    plan->shape.decode_context_tokens = front->context_sum;
    plan->valid_steps -= steps;
    follow_up_finals(sched, plan);
}
