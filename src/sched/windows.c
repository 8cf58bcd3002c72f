/*
 * windows.c - sequences whose layers see the last tokens only: what comes back, what is visible, what it costs. Members of
 * the front are counted together (front_window.h), the others one by one.
 */
#include "sched/sched_int.h"

#include "base/error.h"

static const struct kv_window *window_at(const struct sched *sched, size_t w)
{
    return &sched->pool->tables.windows[w];
}

static size_t window_count(const struct sched *sched)
{
    return sched->pool->tables.window_count;
}

/* ---- blocks ---- */

// The blocks of a window below `passed` come back, `blocks` of each table since the last time; `hashed_tokens`: so far.
static void give_back(struct sched *sched, struct sched_seq *seq, size_t w, int64_t passed,
                      int64_t blocks, int64_t hashed_tokens)
{
    struct kv_prefix *prefix = sched->pool->prefix;
    if (prefix == NULL) {
        kv_paged_give(sched->pool, blocks * window_at(sched, w)->table_count);
        return;
    }
    if (window_at(sched, w)->kind == SPEC_KV_STATE) {
        kv_prefix_drop_states(prefix, &seq->cache, passed, -1);
    } else {
        kv_prefix_drop(prefix, &seq->cache, window_at(sched, w), passed,
                       hashed_tokens / sched->pool->tables.period_tokens);
    }
    sched->pool->free_blocks = kv_prefix_free_blocks(prefix);
}

// What comes back from here on comes back together.
static void begin_release(struct sched *sched)
{
    if (sched->pool->prefix != NULL) {
        sched->pool->prefix->releases++;
    }
}

// Blocks that no query from the tokens processed so far on can see; those of steps in flight are not processed yet.
void sched_drop_out_of_window(struct sched *sched, const struct sched_plan *plan,
                              struct sched_seq *seq)
{
    bool is_in_flight = sched->in_flight && seq->scheduled_step + 1 == plan->number;
    int64_t processed = seq->computed - (is_in_flight ? seq->scheduled_tokens : 0);
    begin_release(sched);
    for (size_t w = 0; w < window_count(sched); w++) {
        const struct kv_window *window = window_at(sched, w);
        if (window->kind == SPEC_KV_STATE) {
            sched_drop_states(sched, seq, processed);
            continue;
        }
        int64_t passed = window->table_count > 0 && processed > 0
                             ? kv_window_passed_blocks(window, processed)
                             : 0;
        int64_t blocks = passed - seq->windows[w].dropped_blocks;
        if (blocks > 0) {
            give_back(sched, seq, w, passed, blocks, seq->hashed_tokens);
            seq->windows[w].dropped_blocks = passed;
        }
    }
}

void sched_begin_front_step(struct sched *sched, bool is_given)
{
    if (!sched_has_windows(sched) || sched->front.count == 0) {
        return;
    }
    base_assert(sched->in_flight == sched->options->async_scheduling);
    int64_t blocks = sched_front_windows_begin_step(&sched->front);
    if (is_given) {
        sched->front.windows.due.count = 0;
    } else if (sched->pool->prefix == NULL) {
        kv_paged_give(sched->pool, blocks);
    }
    sched->due_done = 0;
}

bool sched_reuses_drops(const struct sched *sched, int64_t blocks)
{
    const struct kv_prefix *prefix = sched->pool->prefix;
    if (prefix != NULL && prefix->on_blank_reuse != NULL && sched->offload.stores.head != NULL) {
        return true; // a store may read what comes back
    }
    if (prefix == NULL || !prefix->drops_blank || prefix->is_old_order ||
        blocks <= prefix->blank_blocks) {
        return false;
    }
    return sched->loose.count > 0 || sched_front_windows_quiet_steps(&sched->front) == 0 ||
           sched_front_windows_steps_to_drop(&sched->front, 1) == 0;
}

void sched_drop_due(struct sched *sched, uint64_t place)
{
    struct sched_front_windows *windows = &sched->front.windows;
    const struct sched_seq *before = NULL;
    for (; sched->due_done < windows->due.count; sched->due_done++) {
        struct sched_window_event event = windows->due.at[sched->due_done];
        if (event.seq->place >= place) {
            return;
        }
        if (event.seq != before) {
            begin_release(sched);
        }
        before = event.seq;
        give_back(sched, event.seq, event.window,
                  sched_front_window_passed(&sched->front, event.seq, event.window, 0), 0,
                  sched_front_hashed_tokens(sched, event.seq, false));
    }
}

// Tokens of a member that are hashed before the step that comes `ahead` steps after the front's next one.
static int64_t hashed_ahead(const struct sched *sched, const struct sched_seq *seq, int64_t ahead)
{
    int64_t now = sched_front_hashed_tokens(sched, seq, false);
    int64_t then = sched_seq_computed(sched, seq) + ahead - (sched->in_flight ? 1 : 0);
    return then > now ? then : now;
}

// In the step that comes `ahead` steps after the front's next one, all its members; returns the blocks of all tables.
static int64_t give_back_counted(struct sched *sched, int64_t ahead)
{
    const struct sched_window_events *due = sched_front_windows_counted(&sched->front, ahead);
    int64_t blocks = 0;
    for (size_t i = 0; i < due->count; i++) {
        struct sched_window_event event = due->at[i];
        if (i == 0 || due->at[i - 1].seq != event.seq) {
            begin_release(sched);
        }
        give_back(sched, event.seq, event.window,
                  sched_front_window_passed(&sched->front, event.seq, event.window, ahead), 0,
                  hashed_ahead(sched, event.seq, ahead));
        blocks += window_at(sched, event.window)->table_count;
    }
    return blocks;
}

void sched_give_back_ahead(struct sched *sched, int64_t steps)
{
    struct sched_front_windows *windows = &sched->front.windows;
    windows->kept.count = 0;
    int64_t ahead = windows->given_steps;
    windows->given_steps += steps;
    for (; windows->counted_count > 0 && ahead < windows->given_steps; ahead++) {
        int64_t idle_before = sched->pool->prefix->idle_blocks;
        int64_t blocks = give_back_counted(sched, ahead);
        struct sched_window_kept kept = {ahead,
                                         blocks - (sched->pool->prefix->idle_blocks - idle_before)};
        if (kept.blocks > 0) {
            base_vec_push(&windows->kept, kept);
        }
    }
}

void sched_drop_member(struct sched *sched, struct sched_seq *seq)
{
    begin_release(sched);
    for (size_t w = 0; w < window_count(sched); w++) {
        int64_t passed = sched_front_window_passed(&sched->front, seq, w, 0);
        int64_t blocks = passed - sched_front_window_passed_before(&sched->front, seq, w);
        if (blocks > 0) {
            give_back(sched, seq, w, passed, blocks, sched_front_hashed_tokens(sched, seq, false));
        }
    }
}

void sched_begin_windows(struct sched *sched, struct sched_seq *seq, int64_t tokens)
{
    for (size_t w = 0; w < window_count(sched); w++) {
        const struct kv_window *window = window_at(sched, w);
        seq->windows[w].dropped_blocks =
            window->table_count > 0 ? kv_window_passed_blocks(window, tokens) : 0;
    }
}

int64_t sched_dropped_blocks(const struct sched *sched, const struct sched_seq *seq)
{
    if (seq->state == SCHED_FRONT) {
        return sched_front_windows_dropped_of(&sched->front, seq);
    }
    int64_t blocks = 0;
    for (size_t w = 0; w < window_count(sched); w++) {
        blocks += seq->windows[w].dropped_blocks * window_at(sched, w)->table_count;
    }
    return blocks;
}

void sched_note_member_steps(struct sched_seq *seq, uint64_t number)
{
    if (seq->first_front_plan > number || seq->scheduled_step == number) {
        return; // it has not been a member in a plan yet, or the walk has noted it
    }
    bool was_member_before = seq->first_front_plan < number;
    seq->prior_step = was_member_before ? number - 1 : seq->scheduled_step;
    seq->prior_tokens = was_member_before ? 1 : seq->scheduled_tokens;
    seq->scheduled_step = number;
    seq->scheduled_tokens = 1;
}

/* ---- what is seen ---- */

// Slots are counted by what the next query sees: a batch is computed in passes, of which the last alone would be in flight.
static int64_t tokens_since(const struct sched *sched, const struct sched_seq *seq,
                            uint64_t first_plan)
{
    if (sched->pool->slots != NULL) {
        return 1;
    }
    return (seq->scheduled_step >= first_plan ? seq->scheduled_tokens : 0) +
           (seq->prior_step >= first_plan ? seq->prior_tokens : 0);
}

// Of a table of longer blocks, as if none had been given back; the pool's number tells of the others.
static int64_t long_blocks(const struct sched *sched, size_t w, int64_t tokens)
{
    int64_t block = window_at(sched, w)->block_tokens;
    return kv_window_is_long(&sched->pool->tables, w) ? (tokens + block - 1) / block : 0;
}

static void count_all(const struct sched *sched, const struct sched_seqs *seqs, uint64_t first_plan,
                      struct kv_paged_state *out)
{
    for (size_t i = 0; i < seqs->count; i++) {
        const struct sched_seq *seq = seqs->at[i];
        for (size_t w = 0; w < window_count(sched); w++) {
            out->visible_tokens[w] += kv_window_visible_tokens(
                window_at(sched, w), seq->computed, tokens_since(sched, seq, first_plan));
            out->dropped_blocks[w] += seq->windows[w].dropped_blocks;
            out->table_blocks[w] += long_blocks(sched, w, seq->computed);
        }
    }
}

void sched_count_windows(const struct sched *sched, uint64_t first_plan, struct kv_paged_state *out)
{
    for (size_t w = 0; w < window_count(sched); w++) {
        const struct sched_front_window *front = &sched->front.windows.at[w];
        out->visible_tokens[w] =
            front->visible_tokens + sched->offload.aside_windows[w].visible_tokens;
        out->dropped_blocks[w] =
            front->dropped_blocks + sched->offload.aside_windows[w].dropped_blocks;
        out->table_blocks[w] = front->table_blocks;
    }
    count_all(sched, &sched->loose, first_plan, out);
    count_all(sched, &sched->draining, first_plan, out);
}

/* ---- what is computed ---- */

static struct cost_window priced_as(const struct kv_window *window)
{
    return (struct cost_window){window->tokens, window->kind == SPEC_KV_CHUNKED};
}

void sched_add_prefill_windows(const struct sched *sched, struct cost_shape *shape, int64_t cached,
                               int64_t tokens)
{
    for (size_t w = 0; w < window_count(sched); w++) {
        struct cost_window priced = priced_as(window_at(sched, w));
        shape->prefill_window_area[w] += cost_window_area(&priced, tokens, cached);
    }
}

void sched_add_windows(const struct sched *sched, struct cost_shape *shape,
                       const struct sched_seq *seq, int64_t tokens, bool is_decode)
{
    if (!is_decode) {
        sched_add_prefill_windows(sched, shape, seq->computed, tokens);
        return;
    }
    for (size_t w = 0; w < window_count(sched); w++) {
        shape->decode_window_tokens[w] +=
            kv_window_visible_tokens(window_at(sched, w), seq->computed + 1, 1);
    }
}
