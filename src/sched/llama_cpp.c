/*
 * The server of llama.cpp: slots, and batches in which answers come first.
 *
 * A request takes a slot as soon as one waits (kv/slots.h), in order of arrival; there is no other admission. A batch has one
 * token of every answer, whatever their number, then the prompts in the order of their slots until it is full. It is computed
 * `pass_tokens` at a time, each pass a forward pass of its own, and tokens come out of it when all of it is done. With a stream
 * of cells for each slot a pass takes as many tokens of each, so answers and prompts do not share one.
 *
 * Where slots share their cells and a batch finds too few empty ones, slots that wait lose what they keep, one by one. If
 * that is not enough all requests in slots fail and every slot is empty. (The engine halves the batch first: what fits is
 * computed before the same end.) Nobody is thrown out to come back.
 *
 * Source: llama.cpp, tools/server/server-context.cpp and src/llama-batch.cpp (docs/sources.md).
 */
#include "sched/sched_int.h"

#include "base/error.h"

/* ---- slots ---- */

// Cells that waiting slots keep count as free, as do those that no slot has.
static void take_over(struct sched *sched)
{
    const struct kv_slots *slots = sched->pool->slots;
    sched->pool->free_blocks = sched->pool->total_blocks - sched->pool->held_back_blocks -
                               slots->cells + slots->kept_tokens;
}

void sched_slot_give(struct sched *sched, struct sched_seq *seq)
{
    kv_slots_give(sched->pool->slots, (size_t)seq->place, &seq->cache.content, seq->computed);
    take_over(sched);
}

int64_t sched_slots_runway(const struct sched *sched, int64_t limit)
{
    const struct kv_slots *slots = sched->pool->slots;
    if (slots->options.is_shared && sched->front.count > 0) {
        int64_t steps = kv_slots_empty_cells(slots, sched_live_tokens(sched)) / sched->front.count;
        limit = steps < limit ? steps : limit;
    }
    if (sched_has_windows(sched)) {
        uint64_t quiet = sched_front_windows_quiet_steps(&sched->front);
        limit = quiet < (uint64_t)limit ? (int64_t)quiet : limit;
    }
    return limit;
}

static void count_found(struct sched *sched, struct sched_seq *seq, int64_t tokens)
{
    sched->hits.blocks = tokens;
    sched->hits.next_is_pending = false;
    if (sched->pool->slots->options.keeps_content) {
        sched->lookup_tokens += sched_seq_known_tokens(seq);
        sched->hit_tokens += tokens;
        sched_count_reuse(sched, seq, 0);
    }
    seq->cached_tokens = seq->cached_total = tokens;
    seq->was_admitted = true;
}

static void launch(struct sched *sched, struct sched_plan *plan, struct sched_seq *seq)
{
    struct kv_slots *slots = sched->pool->slots;
    size_t number = kv_slots_choose(slots, &seq->cache.content, seq->prompt_tokens);
    int64_t found = kv_slots_take(slots, number, &seq->cache.content, seq->prompt_tokens);
    take_over(sched);
    sched_queue_remove(&sched->waiting, seq);
    count_found(sched, seq, found);
    seq->place = number;
    seq->computed = seq->high_water = found;
    sched->outside_front_tokens += found;
    sched_begin_windows(sched, seq, found);
    sched_begin_running(sched, plan, seq);
}

static enum sched_wait launch_waiting(struct sched *sched, struct sched_plan *plan)
{
    struct sched_seq *seq = sched_queue_head(&sched->waiting);
    for (; seq != NULL && kv_slots_has_room(sched->pool->slots);
         seq = sched_queue_head(&sched->waiting)) {
        launch(sched, plan, seq);
    }
    return seq != NULL ? SCHED_WAIT_SEATS : SCHED_WAIT_NONE;
}

/* ---- the batch ---- */

static bool is_answer(const struct sched_seq *seq)
{
    return seq->computed >= seq->prompt_tokens;
}

// Tokens that each sequence outside the front gets, in the order of the slots; returns their sum.
static int64_t deal_out(const struct sched *sched, int64_t *out)
{
    int64_t room = sched->options->max_num_batched_tokens - sched->front.count, sum = 0;
    for (size_t i = 0; i < sched->loose.count; i++) {
        out[i] = is_answer(sched->loose.at[i]) ? 1 : 0;
        room -= out[i];
        sum += out[i];
    }
    for (size_t i = 0; i < sched->loose.count && room > 0; i++) {
        const struct sched_seq *seq = sched->loose.at[i];
        int64_t wanted = seq->prompt_tokens - seq->computed;
        if (!is_answer(seq)) {
            out[i] = wanted < room ? wanted : room;
            room -= out[i];
            sum += out[i];
        }
    }
    return sum;
}

static bool make_room(struct sched *sched, int64_t tokens)
{
    struct kv_slots *slots = sched->pool->slots;
    bool can_more = slots->options.is_shared;
    while (can_more && kv_slots_empty_cells(slots, sched_live_tokens(sched)) < tokens) {
        can_more = kv_slots_clear_one(slots);
        take_over(sched);
    }
    return can_more || !slots->options.is_shared;
}

static void fail_all(struct sched *sched, struct sched_plan *plan)
{
    while (sched->running.head != NULL) {
        struct sched_seq *seq = sched->running.head;
        base_vec_push(&plan->given_up, seq);
        sched_finish_and_free(sched, seq, false, false);
    }
    while (kv_slots_clear_one(sched->pool->slots)) {
    }
    take_over(sched);
}

/* ---- passes ---- */

// The pass that is being filled; `room` tokens still go into it.
static struct cost_shape *open_pass(const struct sched *sched, struct sched_plan *plan,
                                    int64_t *room)
{
    if (*room == 0) {
        struct cost_shape shape = {.cached_step_tokens = sched->options->cached_step_tokens};
        base_vec_push(&plan->passes, shape);
        *room = sched->options->pass_tokens;
    }
    return &plan->passes.at[plan->passes.count - 1];
}

static void add_to_passes(const struct sched *sched, struct sched_plan *plan,
                          const struct sched_seq *seq, int64_t tokens, int64_t *room)
{
    struct sched_seq piece = *seq;
    while (tokens > 0) {
        struct cost_shape *pass = open_pass(sched, plan, room);
        int64_t taken = tokens < *room ? tokens : *room;
        sched_add_to_shape(sched, pass, &piece, taken,
                           piece.computed + taken == sched_seq_known_tokens(seq));
        piece.computed += taken;
        *room -= taken;
        tokens -= taken;
    }
}

// The first pass is the one that the answers go with. Returns the room that it has for prompts.
static int64_t begin_passes(const struct sched *sched, struct sched_plan *plan, int64_t answers)
{
    int64_t room = 0;
    if (answers == 0) {
        return room;
    }
    open_pass(sched, plan, &room);
    base_require(answers <= room);
    return sched->pool->slots->options.is_shared ? room - answers : 0;
}

static void split_into_passes(const struct sched *sched, struct sched_plan *plan,
                              const int64_t *tokens, int64_t all)
{
    int64_t answers = sched->front.count;
    for (size_t i = 0; i < sched->loose.count; i++) {
        answers += is_answer(sched->loose.at[i]) ? 1 : 0;
    }
    bool is_one = all + sched->front.count <= sched->options->pass_tokens &&
                  (sched->pool->slots->options.is_shared || answers == 0);
    if (sched->options->pass_tokens == 0 || is_one || answers == all + sched->front.count) {
        return;
    }
    int64_t room = begin_passes(sched, plan, answers);
    for (size_t i = 0; i < sched->loose.count; i++) {
        if (!is_answer(sched->loose.at[i])) {
            add_to_passes(sched, plan, sched->loose.at[i], tokens[i], &room);
        }
    }
}

/* ---- the turn ---- */

static void schedule(struct sched *sched, struct sched_plan *plan, const int64_t *tokens)
{
    sched_begin_front_step(sched, false);
    for (size_t i = 0; i < sched->loose.count; i++) {
        if (tokens[i] > 0) {
            sched_drop_out_of_window(sched, plan, sched->loose.at[i]);
            sched_schedule_loose(sched, plan, sched->loose.at[i], tokens[i]);
        }
    }
}

static void plan_next(struct sched *sched, struct sched_plan *plan)
{
    sched_begin_plan(sched, plan);
    plan->wait = launch_waiting(sched, plan);
    base_vec_reserve(&sched->dealt, sched->loose.count);
    int64_t all = deal_out(sched, sched->dealt.at);
    if (!make_room(sched, all + sched->front.count)) {
        fail_all(sched, plan);
        return;
    }
    split_into_passes(sched, plan, sched->dealt.at, all);
    schedule(sched, plan, sched->dealt.at);
    sched_close_plan(sched, plan, all == 0);
}

const struct sched_ops sched_llama_cpp = {
    .policy = {.name = "llama_cpp",
               .summary = "llama.cpp's server: slots that keep their last prompt, answers before "
                          "prompts in every batch, no preemption"},
    .has_budget = true,
    .passes_batches = true,
    .enqueue = sched_enqueue_as_asked,
    .plan = plan_next,
    .advance = sched_advance_front,
    .finish = sched_finish_and_free,
};
