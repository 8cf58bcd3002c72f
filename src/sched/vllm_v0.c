/*
 * The step of vLLM's V0 scheduler: vllm/core/scheduler.py and block_manager.py of v0.6.6 (docs/sources.md).
 *
 * Prompts first: where the head of the queue can be admitted the step computes whole prompts and nothing else, and whoever
 * decodes sits it out. Else everyone who runs gets a token, and whoever was swapped out comes back when nobody had to go. With
 * chunked prefill a step has both: running ones in order, swapped ones, new prompts. Blocks of a whole prompt are taken at
 * admission. A request that runs must find a free block for each of its sequences, whether they need one or not; else the
 * last of the running list goes: computed again if it is one sequence, swapped to the host if it is several.
 *
 * A request for several answers is one group: one prompt, whose blocks all of them hold once it is computed, the last one
 * until they write to it (kv/forks.h). Swapping keeps what is shared.
 *
 * Decoding sequences are counted in the front, siblings that have written since they were forked too. The front steps as a
 * whole where blocks are enough for all, in the order of the list where they may not be.
 */
#include "sched/vllm_v0_int.h"

#include "base/error.h"

/* ---- blocks of a request ---- */

static int64_t held_blocks(const struct sched *sched, struct sched_seq *first)
{
    int64_t blocks = 0;
    for (const struct sched_seq *seq = first; seq != NULL; seq = next_member(seq)) {
        blocks += kv_paged_blocks_for(sched->pool, placed_tokens(sched, seq));
    }
    return first->group != NULL ? blocks - first->group->forks.shared_blocks : blocks;
}

static int64_t full_blocks(const struct sched *sched, const struct sched_seq *first)
{
    int64_t blocks = 0;
    for (const struct sched_seq *seq = first; seq != NULL; seq = next_member(seq)) {
        blocks += placed_tokens(sched, seq) / sched->pool->block_tokens;
    }
    const struct sched_group *group = first->group;
    return group != NULL ? blocks - (group->forks.shared_blocks - group->forks.shared_tails)
                         : blocks;
}

// Blocks that the engine wants free for what is appended next: one for each sequence, whether it needs one or not.
static int64_t touched_blocks(const struct sched *sched, const struct sched_seq *first)
{
    if (!is_prefilling(first)) {
        return member_count(first);
    }
    return first->prefill_tokens % sched->pool->block_tokens != 0 ? 1 : 0;
}

// Free blocks with which the engine lets a request come back from the host, or go there (NULL: no cache is there).
static int64_t wanted_at(const struct sched *sched, struct kv_unique *there,
                         const struct sched_seq *first)
{
    int64_t full =
        there != NULL ? sched_v0_blocks_to_take(there, sched, first) : full_blocks(sched, first);
    return full + touched_blocks(sched, first);
}

static struct kv_unique *host_cache(struct sched *sched)
{
    return sched->pool->unique != NULL ? &sched->v0.host : NULL;
}

static int64_t free_on_host(struct sched *sched)
{
    const struct kv_unique *host = host_cache(sched);
    return host != NULL ? kv_unique_free_blocks(host)
                        : sched->options->swap_blocks - sched->v0.host_blocks;
}

static void take(struct sched *sched, int64_t blocks)
{
    bool taken = kv_paged_take(sched->pool, blocks);
    base_require(taken);
}

// The blocks of a request that begins (+1) or ceases (-1) to hold them on the device, as the ledger has them.
static void count_held(struct sched *sched, struct sched_seq *first, int64_t by)
{
    if (first->group != NULL) {
        sched->pool->forked_blocks += by * first->group->forks.shared_blocks;
    }
    for (const struct sched_seq *seq = first; seq != NULL; seq = next_member(seq)) {
        sched->pool->blank_blocks += by * seq->blank_blocks;
    }
}

/* ---- a step's tokens ---- */

static void set_role(const struct v0_turn *turn, struct sched_seq *seq, enum sched_role role)
{
    seq->role = role;
    seq->role_step = turn->plan->number;
}

// Room for one more token of a sequence: a copy where others hold its last block, a new block behind a full one.
static void take_slot(struct sched *sched, struct v0_turn *turn, struct sched_seq *seq)
{
    if (seq->group == NULL) {
        take(sched, sched_blocks_missing(sched, seq, 1));
        return;
    }
    struct kv_forks *forks = &seq->group->forks;
    int64_t tokens = sched_seq_computed(sched, seq), shared = forks->shared_blocks;
    bool copies = kv_fork_must_copy(forks, &seq->fork, tokens);
    take(sched, copies ? 1 : sched_blocks_missing(sched, seq, 1));
    kv_fork_write(forks, &seq->fork, tokens);
    turn->plan->copied_blocks += copies ? 1 : 0;
    sched->pool->forked_blocks += forks->shared_blocks - shared;
}

// One token for each sequence of a request. Members of the front get theirs with the front.
static void decode(struct sched *sched, struct v0_turn *turn, struct sched_seq *first,
                   enum sched_role role)
{
    for (struct sched_seq *seq = first, *next; seq != NULL; seq = next) {
        next = next_member(seq);
        take_slot(sched, turn, seq);
        set_role(turn, seq, role);
        sched_v0_filled(sched, turn, seq);
        if (seq->state != SCHED_FRONT) {
            sched_schedule_loose(sched, turn->plan, seq, 1);
        } else {
            sched_note_member_steps(seq, turn->plan->number);
        }
    }
    if (first->group != NULL) {
        first->group->beams.plan = turn->plan->number;
    }
    turn->budget -= member_count(first);
}

static void prefill(struct sched *sched, struct v0_turn *turn, struct sched_seq *seq,
                    int64_t tokens, enum sched_role role)
{
    const struct kv_paged *pool = sched->pool;
    int64_t blocks = kv_paged_blocks_for(pool, seq->computed + tokens) -
                     kv_paged_blocks_for(pool, seq->computed);
    sched_schedule_loose(sched, turn->plan, seq, tokens);
    seq->blank_blocks -= blocks;
    sched->pool->blank_blocks -= blocks;
    set_role(turn, seq, role);
    turn->budget -= tokens;
}

/* ---- who has to go ---- */

static bool is_swapped_when_short(const struct sched *sched, const struct sched_seq *first)
{
    enum sched_preemption mode = sched->options->preemption;
    return mode == SCHED_PREEMPT_SWAP || (mode == SCHED_PREEMPT_AS_FITS && seat_count(first) > 1);
}

// All blocks to the host. Without room there the engine ends.
static void swap_out(struct sched *sched, struct v0_turn *turn, struct sched_seq *first)
{
    if (wanted_at(sched, host_cache(sched), first) > free_on_host(sched)) {
        turn->plan->engine_died = true;
        return;
    }
    int64_t blocks = held_blocks(sched, first);
    count_running(sched, first, -1);
    count_held(sched, first, -1);
    if (sched->pool->unique != NULL) {
        sched_v0_move(sched, sched->pool->unique, host_cache(sched), first);
    }
    for (struct sched_seq *seq = first; seq != NULL; seq = next_member(seq)) {
        sched_swap_out(sched, turn->plan, seq);
    }
    if (sched->pool->unique == NULL) {
        kv_paged_give(sched->pool, blocks);
    }
    sched->v0.host_blocks += blocks;
    sched->v0.moved_blocks += blocks;
    first->preemptions++;
    sched_list_push_back(&sched->v0.swapped, first);
    base_vec_push(&turn->plan->swapped_out, first);
}

static int64_t usable_blocks(const struct sched *sched)
{
    return sched->pool->total_blocks - sched->pool->held_back_blocks;
}

// Tokens that a request on the host computes in the step in which it comes back.
static int64_t tokens_back(const struct sched_seq *first)
{
    return is_prefilling(first) ? first->prefill_tokens - first->computed : member_count(first);
}

// Those computed again wait until the turn is over: nobody is admitted twice in it.
void sched_v0_throw_out(struct sched *sched, struct v0_turn *turn, struct sched_seq *first)
{
    turn->someone_went = true;
    if (is_swapped_when_short(sched, first)) {
        swap_out(sched, turn, first);
        return;
    }
    count_running(sched, first, -1);
    sched_throw_out(sched, turn->plan, first);
}

static void put_back_thrown_out(struct sched *sched, const struct v0_turn *turn)
{
    for (size_t i = turn->put_back; i < turn->plan->victims.count; i++) {
        sched_queue_put_back(&sched->waiting, turn->plan->victims.at[i]);
    }
}

// Makes room for a request, from the end of the list. False when it had to go itself, or the engine with it.
static bool make_room(struct sched *sched, struct v0_turn *turn, struct sched_seq *first)
{
    while (touched_blocks(sched, first) > sched->pool->free_blocks) {
        struct sched_seq *victim = sched_group_first(sched->running.tail);
        sched_v0_throw_out(sched, turn, victim);
        if (victim == first || turn->plan->engine_died) {
            return false;
        }
    }
    return true;
}

/* ---- the running list ---- */

static struct sched_seq *behind(struct sched_seq *first)
{
    struct sched_seq *next = first->next;
    while (is_forked(first) && next != NULL && next->group == first->group) {
        next = next->next;
    }
    return next;
}

// With a prefix cache chunks are given out by whole blocks.
static int64_t chunk_left(const struct sched *sched, const struct v0_turn *turn)
{
    int64_t size = sched->pool->unique != NULL ? sched->pool->block_tokens : 1;
    return turn->budget - turn->budget % size;
}

// Tokens that the step gives to a request; 0: the budget is spent.
static int64_t tokens_for(const struct sched *sched, const struct v0_turn *turn,
                          const struct sched_seq *first)
{
    int64_t wanted = member_count(first), left = chunk_left(sched, turn);
    if (is_prefilling(first)) {
        wanted = first->prefill_tokens - first->computed;
        return wanted < left ? wanted : left;
    }
    return sched->options->enable_chunked_prefill && wanted > left ? 0 : wanted;
}

// From a request on, one by one in the order of the list. Whom the budget does not reach is left over.
static void walk_from(struct sched *sched, struct v0_turn *turn, struct sched_seq *first)
{
    while (first != NULL && !turn->plan->engine_died) {
        int64_t tokens = tokens_for(sched, turn, first);
        if (tokens <= 0) {
            turn->someone_is_left = true;
            break;
        }
        if (!make_room(sched, turn, first)) {
            return; // it was the last one
        }
        struct sched_seq *next = behind(first);
        if (is_prefilling(first)) {
            prefill(sched, turn, first, tokens, SCHED_PREFILL);
        } else {
            decode(sched, turn, first, SCHED_DECODE);
        }
        first = next;
    }
    for (struct sched_seq *seq = first, *next; seq != NULL; seq = next) {
        next = seq->next;
        if (seq->state == SCHED_FRONT) {
            sched_leave_front_unscheduled(sched, turn->plan, seq);
        }
    }
}

// All of the front lies before whoever is outside it.
static bool front_comes_first(const struct sched *sched)
{
    size_t behind_it = 0;
    for (const struct sched_seq *seq = sched->running.tail;
         seq != NULL && seq->state != SCHED_FRONT; seq = seq->prev) {
        behind_it++;
    }
    return behind_it == sched->loose.count;
}

// The chunked step's budget is enough for all of the front, of which the last one finds one token left, or a whole block.
static bool budget_is_enough(const struct sched *sched, const struct v0_turn *turn)
{
    int64_t last = sched->pool->unique != NULL ? sched->pool->block_tokens : 1;
    int64_t count = sched->front.count;
    return !sched->options->enable_chunked_prefill || count == 0 ||
           count - 1 + last <= turn->budget;
}

// The front as a whole where everyone in it surely finds the blocks that the engine wants free, and none comes back between.
static bool step_front(struct sched *sched, struct v0_turn *turn)
{
    struct sched_front *front = &sched->front;
    const struct kv_unique *unique = sched->pool->unique;
    int64_t blocks = sched_front_blocks(sched) + sched_v0_front_copies(sched);
    bool is_short = front->count > 0 && blocks + sched->spare_blocks > sched->pool->free_blocks;
    bool is_contended = unique != NULL && unique->contended_count > 0;
    if (is_short || is_contended || !budget_is_enough(sched, turn) || !front_comes_first(sched)) {
        return false;
    }
    take(sched, blocks);
    sched_v0_front_writes(sched, turn->plan);
    sched_begin_front_step(sched, false);
    turn->budget -= front->count;
    sched->v0.front_is_given = true;
    return true;
}

static void run_all(struct sched *sched, struct v0_turn *turn)
{
    if (!step_front(sched, turn)) {
        walk_from(sched, turn, sched->running.head);
        sched_begin_front_step(sched, true);
    } else if (sched->loose.count > 0) {
        walk_from(sched, turn, sched->loose.at[0]);
    }
}

/* ---- those on the host ---- */

static void give_up(struct sched *sched, struct v0_turn *turn, struct sched_seq *first)
{
    sched_v0_forget(sched, first);
    base_vec_push(&turn->plan->given_up, first);
}

static void come_back(struct sched *sched, struct v0_turn *turn, struct sched_seq *first)
{
    int64_t blocks = held_blocks(sched, first);
    if (sched->pool->unique != NULL) {
        sched_v0_move(sched, host_cache(sched), sched->pool->unique, first);
    } else {
        take(sched, blocks);
    }
    sched->v0.host_blocks -= blocks;
    sched->v0.moved_blocks += blocks;
    count_running(sched, first, 1);
    count_held(sched, first, 1);
    for (struct sched_seq *seq = first; seq != NULL; seq = next_member(seq)) {
        seq->state = SCHED_LOOSE;
        seq->place = sched->next_place++;
        sched_list_push_back(&sched->running, seq);
        sched_loose_add(sched, seq);
        sched->outside_front_tokens += seq->computed;
    }
    base_vec_push(&turn->plan->swapped_in, first);
    if (is_prefilling(first)) {
        prefill(sched, turn, first, first->prefill_tokens - first->computed,
                SCHED_SWAPPED_IN_PREFILL);
    } else {
        decode(sched, turn, first, SCHED_SWAPPED_IN_DECODE);
    }
}

// In the order in which they went; one that does not fit yet holds up the rest, one that never will is given up.
static void swap_in(struct sched *sched, struct v0_turn *turn)
{
    struct sched_seq *first;
    while ((first = sched->v0.swapped.head) != NULL) {
        int64_t wanted = wanted_at(sched, sched->pool->unique, first);
        if (usable_blocks(sched) < wanted) {
            sched_list_remove(&sched->v0.swapped, first);
            sched->v0.host_blocks -= held_blocks(sched, first);
            sched_v0_leave_host(sched, first);
            give_up(sched, turn, first);
            continue;
        }
        if (sched->pool->free_blocks - wanted < sched->watermark_blocks ||
            tokens_back(first) > turn->budget ||
            seats_taken(sched) + seat_count(first) > sched->options->max_num_seqs) {
            return;
        }
        sched_list_remove(&sched->v0.swapped, first);
        come_back(sched, turn, first);
    }
}

/* ---- the queue ---- */

static void admit(struct sched *sched, struct v0_turn *turn, struct sched_seq *seq, int64_t blocks,
                  const struct v0_head *head)
{
    sched_queue_remove(&sched->waiting, seq);
    if (sched->pool->unique != NULL) {
        sched_v0_take_hits(sched, seq, head);
    } else {
        take(sched, blocks);
    }
    seq->blank_blocks = blocks - kv_paged_blocks_for(sched->pool, head->cached);
    sched->pool->blank_blocks += seq->blank_blocks;
    seq->prefill_tokens = head->known;
    seq->state = SCHED_LOOSE;
    seq->place = sched->next_place++;
    sched_list_push_back(&sched->running, seq);
    sched_loose_add(sched, seq);
    count_running(sched, seq, 1);
    seq->was_admitted = true;
    base_vec_push(&turn->plan->admitted, seq);
    prefill(sched, turn, seq, head->tokens, SCHED_NEWCOMER);
}

// The engine asks for memory first; whatever it is, the pass ends, and what stays as it is while others decode is named.
static enum sched_wait why_not(const struct sched *sched, const struct v0_turn *turn,
                               const struct sched_seq *seq, int64_t tokens, int64_t blocks)
{
    if (seats_taken(sched) + seat_count(seq) > sched->options->max_num_seqs) {
        return SCHED_WAIT_SEATS;
    }
    if (tokens <= 0 || tokens > turn->budget) {
        return SCHED_WAIT_BUDGET;
    }
    bool fits = sched->pool->free_blocks - blocks >= sched->watermark_blocks;
    return fits ? SCHED_WAIT_NONE : SCHED_WAIT_KV_POOL;
}

bool sched_v0_fits(struct sched *sched, const struct v0_turn *turn, struct sched_seq *seq)
{
    struct v0_head head = sched_v0_look_up(sched, seq);
    return why_not(sched, turn, seq, head.tokens, kv_paged_blocks_for(sched->pool, head.known)) ==
           SCHED_WAIT_NONE;
}

// One look at the head: taken, given up, or left with the reason for which the pass ends.
static enum sched_wait try_head(struct sched *sched, struct v0_turn *turn, struct sched_seq *seq)
{
    const struct sched_options *options = sched->options;
    struct v0_head head = sched_v0_look_up(sched, seq);
    int64_t longest = options->max_model_len;
    if (options->enable_chunked_prefill) {
        int64_t left = chunk_left(sched, turn);
        head.tokens = head.tokens < left ? head.tokens : left;
    } else if (options->max_num_batched_tokens < longest) {
        longest = options->max_num_batched_tokens;
    }
    int64_t blocks = kv_paged_blocks_for(sched->pool, head.known);
    if (head.cached + head.tokens > longest ||
        usable_blocks(sched) - blocks < sched->watermark_blocks) {
        sched_queue_remove(&sched->waiting, seq);
        give_up(sched, turn, seq);
        return SCHED_WAIT_NONE;
    }
    enum sched_wait wait = why_not(sched, turn, seq, head.tokens, blocks);
    if (wait == SCHED_WAIT_NONE) {
        admit(sched, turn, seq, blocks, &head);
    }
    return wait;
}

static enum sched_wait admit_from_queue(struct sched *sched, struct v0_turn *turn)
{
    enum sched_wait wait = SCHED_WAIT_NONE;
    struct sched_seq *seq;
    while (wait == SCHED_WAIT_NONE && (seq = sched_queue_head(&sched->waiting)) != NULL) {
        wait = try_head(sched, turn, seq);
    }
    return wait;
}

/* ---- the turn ---- */

// Each answer's first token comes with the prompt of all.
static void add_first_tokens(struct v0_turn *turn)
{
    struct sched_seqs *emits = &turn->plan->emits;
    size_t count = emits->count;
    for (size_t i = 0; i < count; i++) {
        struct sched_seq *first = emits->at[i];
        if (first->group == NULL || is_forked(first)) {
            continue;
        }
        for (struct sched_seq *seq = first->sibling; seq != NULL; seq = seq->sibling) {
            seq->place = first->place;
            base_vec_push(emits, seq);
            turn->plan->forked_count++;
        }
    }
}

static void plan_prompts_first(struct sched *sched, struct v0_turn *turn)
{
    struct sched_plan *plan = turn->plan;
    plan->wait = SCHED_WAIT_KV_POOL; // those on the host come first
    if (sched->v0.swapped.count == 0) {
        plan->wait = admit_from_queue(sched, turn);
    }
    if (plan->admitted.count > 0) {
        plan->skips_front = true;
        return;
    }
    if (sched->options->order == SCHED_PRIORITY) {
        sched_v0_by_priority(sched, turn);
    }
    run_all(sched, turn);
    if (!turn->someone_went) {
        swap_in(sched, turn);
    }
}

static void plan_chunked(struct sched *sched, struct v0_turn *turn)
{
    struct sched_plan *plan = turn->plan;
    plan->is_by_role = true;
    run_all(sched, turn);
    if (!turn->someone_went) {
        swap_in(sched, turn);
    }
    if (!plan->engine_died) {
        plan->wait = admit_from_queue(sched, turn);
    }
    sched_v0_reorder(sched, turn);
}

/* ---- circles ---- */

static void mix(uint64_t *signature, uint64_t value)
{
    *signature = (*signature ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    *signature ^= *signature >> 29;
}

// All that the next decision depends on, while nobody gets a token.
static uint64_t signature_of(const struct sched *sched)
{
    const struct sched_list *lists[] = {&sched->waiting.list, &sched->running, &sched->v0.swapped};
    uint64_t signature = 1;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        mix(&signature, i);
        for (const struct sched_seq *seq = lists[i]->head; seq != NULL; seq = seq->next) {
            mix(&signature, seq->index + 1);
            mix(&signature, (uint64_t)sched_seq_computed(sched, seq));
            mix(&signature, (uint64_t)(seq->was_looked_up ? seq->found_tokens + 1 : 0));
        }
    }
    if (sched->pool->unique != NULL) {
        mix(&signature, kv_unique_signature(sched->pool->unique));
    }
    return signature;
}

// Chunks of prompts that fill the pool can throw each other out for ever: a state comes back and no token came in between
// (Brent's way of finding a circle).
static void note_circles(struct sched *sched, struct sched_plan *plan)
{
    struct sched_circle *circle = &sched->v0.circle;
    bool front_steps = sched->front.count > 0 && !plan->skips_front;
    size_t ended = plan->emits.count + plan->given_up.count;
    if (front_steps || ended > 0) {
        *circle = (struct sched_circle){0};
        return;
    }
    if (plan->victims.count + plan->swapped_out.count == 0) {
        return;
    }
    uint64_t signature = signature_of(sched);
    plan->goes_in_circles = circle->limit > 0 && signature == circle->signature;
    if (circle->count == circle->limit) {
        *circle = (struct sched_circle){signature, 0, circle->limit * 2 + 1};
    }
    circle->count++;
}

static void plan_next(struct sched *sched, struct sched_plan *plan)
{
    sched_begin_plan(sched, plan);
    sched->spare_blocks = sched->spare_blocks > 1 ? sched->spare_blocks : 1;
    struct v0_turn turn = {.plan = plan, .budget = sched->options->max_num_batched_tokens};
    sched->v0.front_is_given = false;
    if (sched->pool->unique != NULL) {
        sched->pool->unique->turn = plan->number;
    }
    bool had_loose = sched->loose.count > 0;
    plan->wait = SCHED_WAIT_NONE;
    if (sched->options->enable_chunked_prefill) {
        plan_chunked(sched, &turn);
    } else {
        plan_prompts_first(sched, &turn);
    }
    put_back_thrown_out(sched, &turn);
    if (plan->engine_died) {
        plan->token_count = 0;
        return;
    }
    note_circles(sched, plan);
    add_first_tokens(&turn);
    sched->v0.front_is_given = false; // its tokens are computed from here on
    bool is_front_only = !had_loose && plan->token_count == 0;
    sched_close_plan(sched, plan, is_front_only);
    if (turn.has_new_head || turn.has_given_back) {
        plan->valid_steps = 0; // the next turn looks at the head
    }
    if (plan->token_count > 0) {
        plan->swapped_blocks = sched->v0.moved_blocks;
        sched->v0.moved_blocks = 0;
    }
}

static void enqueue(struct sched *sched, struct sched_seq *seq)
{
    sched->v0.circle = (struct sched_circle){0};
    sched->v0.is_unsorted = true;
    sched_enqueue_as_asked(sched, seq);
}

const struct sched_ops sched_vllm_v0 = {
    .policy = {.name = "vllm_v0",
               .summary = "vLLM V0: prompts before decodes, several answers as one group that "
                          "shares blocks, swapping"},
    .uses = SCHED_USES_CHUNKS | SCHED_USES_WATERMARK | SCHED_USES_ORDER | SCHED_USES_SWAPPING,
    .throws_out = true,
    .has_budget = true,
    .has_watermark_when_idle = true,
    .forks = true,
    .has_unique_blocks = true,
    .dies_of_swapping = true,
    .gives_up_unservable = true,
    .sorts_its_queue = true,
    .queues_long_prompts = true,
    .beyond_longest = 1,
    .enqueue = enqueue,
    .plan = plan_next,
    .advance = sched_advance_front,
    .finish = sched_v0_finish,
    .delivered = sched_v0_delivered,
};
