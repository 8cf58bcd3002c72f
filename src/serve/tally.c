#include "serve/tally.h"

#include "base/error.h"

static enum serve_limit limit_of(const struct serve_state *state)
{
    switch (state->wait) {
    case SCHED_WAIT_KV_POOL:
        return SERVE_LIMIT_KV_POOL;
    case SCHED_WAIT_SEATS:
        return SERVE_LIMIT_SEATS;
    case SCHED_WAIT_BUDGET:
        return SERVE_LIMIT_BUDGET;
    case SCHED_WAIT_LINK:
        return SERVE_LIMIT_LINK;
    default:
        return state->is_busy ? (enum serve_limit)(SERVE_LIMIT_COMPUTE + state->bound)
                              : SERVE_LIMIT_ARRIVAL;
    }
}

// Everything in the state that is constant over `ticks`, but for tokens and blocks.
static void add_short(struct serve_integrals *sum, const struct serve_state *state, int64_t ticks)
{
    base_i128 wide = ticks; // products of two numbers of 64 bits: one instruction each
    const struct kv_paged_state *kv = &state->kv;
    sum->running += kv->sequences * wide;
    // Most engines have none of these.
    if ((kv->shared_blocks | kv->promised_tokens | kv->fragmented_blocks | kv->loading_blocks |
         kv->blank_blocks | kv->kept_sequences) != 0) {
        sum->shared_blocks += kv->shared_blocks * wide;
        sum->promised_tokens += kv->promised_tokens * wide;
        sum->fragmented_blocks += kv->fragmented_blocks * wide;
        sum->loading_blocks += kv->loading_blocks * wide;
        sum->kept_sequences += kv->kept_sequences * wide;
        for (size_t w = 0; w < state->window_count; w++) {
            sum->kept_visible_tokens[w] += kv->kept_visible_tokens[w] * wide;
        }
        sum->blank_blocks += kv->blank_blocks * wide;
    }
    sum->limit[limit_of(state)] += ticks;
    if (state->is_busy) {
        sum->busy += ticks;
        sum->prefill_busy += state->has_prefill ? ticks : 0;
        sum->bound[state->has_prefill ? 0 : 1][state->bound] += ticks;
    }
}

// The same for any time. Everything is a sum over time, so a long one is added in parts.
static void add_constant(struct serve_integrals *sum, const struct serve_state *state,
                         base_i128 ticks)
{
    for (; ticks > INT64_MAX; ticks -= INT64_MAX) {
        add_short(sum, state, INT64_MAX);
    }
    for (; ticks < -INT64_MAX; ticks += INT64_MAX) {
        add_short(sum, state, -INT64_MAX);
    }
    add_short(sum, state, (int64_t)ticks);
}

static void add_state(struct serve_integrals *sum, const struct serve_state *state, base_i128 ticks)
{
    add_constant(sum, state, ticks);
    sum->live_tokens += state->kv.live_tokens * ticks;
    sum->used_blocks += state->kv.used_blocks * ticks;
    sum->cached_blocks += state->kv.cached_blocks * ticks;
    for (size_t w = 0; w < state->window_count; w++) {
        sum->visible_tokens[w] += state->kv.visible_tokens[w] * ticks;
        sum->dropped_blocks[w] += state->kv.dropped_blocks[w] * ticks;
        sum->table_blocks[w] += state->kv.table_blocks[w] * ticks;
    }
}

void serve_tally_settle(struct serve_tally *tally, base_i128 now)
{
    if (now > tally->since_ticks) {
        add_state(&tally->sum, &tally->state, now - tally->since_ticks);
        tally->since_ticks = now;
    }
}

static size_t decode_cause_of(const struct serve_state *state)
{
    return state->has_prefill ? 0 : 1 + (size_t)state->bound;
}

static void add_decode_cause(struct serve_tally *tally, base_i128 ticks)
{
    if (tally->state.is_busy) {
        tally->decode_ticks[decode_cause_of(&tally->state)] += ticks;
    }
}

base_i128 serve_tally_decode_ticks(const struct serve_tally *tally, size_t cause, base_i128 now)
{
    base_i128 ahead = tally->since_ticks - now;
    bool is_running = tally->state.is_busy && decode_cause_of(&tally->state) == cause;
    return tally->decode_ticks[cause] - (is_running && ahead > 0 ? ahead : 0);
}

void serve_tally_interval(struct serve_tally *tally, base_i128 ticks)
{
    add_state(&tally->sum, &tally->state, ticks);
    add_decode_cause(tally, ticks);
    tally->since_ticks += ticks;
}

/*
 * Weighted sums over residues r of what a block taken after step r + q b, q = 0 ... m - 1, is held for: the intervals after
 * it, cost_piece_sum(count) - cost_piece_sum(k) with k = r + 1 + q b. As cost_piece_sum(k) = first k + delta (k^2 - k) / 2,
 * the sum over residues needs only the moments of the weights: of 1, r + 1 and (r + 1)^2.
 */
struct moments {
    int64_t w0, w1, w2;
};

// 0 + 1 + ... + (n - 1), and the squares of these. n >= 0; 128 bits are divided by a function, ten times slower.
static base_i128 sum_below(int64_t n)
{
    return n < (int64_t)1 << 31 ? n * (n - 1) / 2 : (base_i128)n * (n - 1) / 2;
}

static base_i128 squares_below(int64_t n)
{
    return n < (int64_t)1 << 20 ? n * (n - 1) * (2 * n - 1) / 6
                                : (base_i128)n * (n - 1) * (2 * n - 1) / 6;
}

static base_i128 held_of_moments(const struct cost_piece *piece, base_i128 total, struct moments of,
                                 int64_t b, int64_t m)
{
    if (m == 1) {
        return total * of.w0 - piece->first_ticks * (base_i128)of.w1 -
               piece->delta_ticks * (base_i128)((of.w2 - of.w1) / 2);
    }
    base_i128 q1 = sum_below(m), q2 = squares_below(m);
    base_i128 k = m * (base_i128)of.w1 + b * q1 * of.w0;
    base_i128 k2 = m * (base_i128)of.w2 + 2 * b * q1 * of.w1 + (base_i128)b * b * q2 * of.w0;
    return m * total * of.w0 - piece->first_ticks * k - piece->delta_ticks * ((k2 - k) / 2);
}

// Moments of the steps first <= r < last of a rhythm.
static struct moments moments_of(const sched_rhythm *steps_of, int64_t first, int64_t last)
{
    // Walked downwards, sums of sums: of 1, k and k (k + 1) / 2, with k = r + 1 - first.
    int64_t s0 = 0, s1 = 0, s2 = 0;
    for (int64_t r = last - 1; r >= first; r--) {
        s0 += steps_of[r];
        s1 += s0;
        s2 += s1;
    }
    return (struct moments){s0, s1 + first * s0, 2 * s2 - s1 + first * (2 * s1 + first * s0)};
}

// Integral of what changes within the stretch by steps_of[(at + i) mod b] at step i (0 ... count - 2).
static base_i128 steps_integral(const struct cost_piece *piece, int64_t count, base_i128 total,
                                const sched_rhythm *steps_of, int64_t b, int64_t at,
                                int64_t *changed)
{
    int64_t steps = count - 1, rounds = steps < b ? 0 : steps / b;
    int64_t rest = steps - rounds * b;
    // Residues that occur rounds + 1 and rounds times.
    struct moments more = moments_of(steps_of + at, 0, rest);
    struct moments less = rounds > 0 ? moments_of(steps_of + at, rest, b) : (struct moments){0};
    *changed = more.w0 * (rounds + 1) + less.w0 * rounds;
    base_i128 sum = more.w0 > 0 ? held_of_moments(piece, total, more, b, rounds + 1) : 0;
    return sum + (less.w0 > 0 && rounds > 0 ? held_of_moments(piece, total, less, b, rounds) : 0);
}

/* ---- the peak of a stretch ---- */

/* A stretch as its blocks come and go: its intervals, and the step after the first one: its place in the rhythm, and by how
 * much it comes after the front's next one. */
struct rhythm {
    const struct sched_front *front;
    int64_t count, at, ahead;
};

static int64_t place_of(const struct rhythm *rhythm, int64_t step)
{
    int64_t b = rhythm->front->period_tokens, place = rhythm->at + (step < b ? step : step % b);
    return place < b ? place : place - b;
}

static int64_t taken_at(const struct rhythm *rhythm, int64_t step)
{
    int64_t place = place_of(rhythm, step);
    return rhythm->front->boundary[place] - sched_front_windows_drop_at(rhythm->front, place);
}

static bool gives_blocks_back(const struct sched_front *front)
{
    const struct kv_tables *tables = front->windows.tables;
    for (size_t w = 0; w < tables->window_count; w++) {
        if (tables->windows[w].table_count > 0) {
            return true;
        }
    }
    return false;
}

// Blocks only grow: the first interval of the stretch with as many as the last.
static int64_t first_of_most(const struct rhythm *rhythm)
{
    int64_t i = rhythm->count - 1;
    while (i > 0 && rhythm->front->boundary[place_of(rhythm, i - 1)] == 0) {
        i--;
    }
    return i;
}

// Blocks come and go in a rhythm of period_tokens steps: the most is reached in its first round or, where each round leaves
// more, in one of its last two.
static int64_t first_of_most_in_rhythm(const struct rhythm *rhythm, int64_t *blocks)
{
    int64_t b = rhythm->front->period_tokens, steps = rhythm->count - 1, round = 0;
    for (int64_t i = 0; i < b; i++) {
        round += taken_at(rhythm, i);
    }
    int64_t rounds = steps / b;
    int64_t from = round > 0 && rounds > 0 ? (rounds - 1) * b : 0;
    int64_t until = round > 0 || steps < b ? steps : b;
    int64_t now = from / b * round, best = from;
    *blocks = now;
    for (int64_t i = from; i < until; i++) {
        now += taken_at(rhythm, i);
        best = now > *blocks ? i + 1 : best;
        *blocks = now > *blocks ? now : *blocks;
    }
    return best;
}

// The same where some that come back stay held by others.
static int64_t first_of_most_in_steps(const struct rhythm *rhythm, int64_t *blocks)
{
    const struct sched_front_windows *windows = &rhythm->front->windows;
    int64_t now = 0, best = 0;
    size_t next = 0;
    *blocks = 0;
    for (int64_t i = 0; i < rhythm->count - 1; i++) {
        now += taken_at(rhythm, i);
        if (next < windows->kept.count && windows->kept.at[next].ahead == rhythm->ahead + i) {
            now += windows->kept.at[next++].blocks;
        }
        best = now > *blocks ? i + 1 : best;
        *blocks = now > *blocks ? now : *blocks;
    }
    return best;
}

// Blocks that came back in the first steps of the stretch and stayed held.
static int64_t kept_of_steps(const struct rhythm *rhythm, int64_t steps)
{
    const struct sched_front_windows *windows = &rhythm->front->windows;
    int64_t blocks = 0;
    for (size_t i = 0; i < windows->kept.count; i++) {
        bool is_before = windows->kept.at[i].ahead < rhythm->ahead + steps;
        blocks += is_before ? windows->kept.at[i].blocks : 0;
    }
    return blocks;
}

// What the first steps of the stretch add to something that changes by `steps_of` in the rhythm.
static int64_t sum_of_steps(const struct rhythm *rhythm, const sched_rhythm *steps_of,
                            int64_t steps)
{
    int64_t b = rhythm->front->period_tokens;
    return steps / b * sched_rhythm_sum(steps_of, 0, b) +
           sched_rhythm_sum(steps_of, rhythm->at, steps % b);
}

// Tokens only grow, and nothing else changes.
static void note_last_interval(struct serve_tally *tally, const struct rhythm *rhythm)
{
    const struct sched_front *front = rhythm->front;
    int64_t steps = rhythm->count - 1;
    if (tally->state.kv.live_tokens + front->count * steps <= tally->peak.live_tokens) {
        return;
    }
    struct kv_paged_state *peak = &tally->peak;
    *peak = tally->state.kv;
    peak->live_tokens += front->count * steps;
    for (size_t w = 0; w < front->windows.tables->window_count; w++) {
        peak->visible_tokens[w] += front->windows.at[w].visible_growing * steps;
    }
}

// The first interval at which the stretch's largest number of blocks was reached, if it is the largest so far. The state is
// that of the first interval; blocks without windows grow by `taken`.
static void note_stretch_peak(struct serve_tally *tally, const struct rhythm *rhythm, int64_t taken)
{
    const struct sched_front *front = rhythm->front;
    if (tally->state.peak_is_by_tokens) {
        note_last_interval(tally, rhythm);
        return;
    }
    bool has_windows = gives_blocks_back(front);
    int64_t blocks = taken, i = 0;
    if (has_windows && front->windows.kept.count > 0) {
        i = first_of_most_in_steps(rhythm, &blocks);
    } else if (has_windows) {
        i = first_of_most_in_rhythm(rhythm, &blocks);
    }
    if (tally->state.kv.used_blocks + blocks <= tally->peak.used_blocks) {
        return;
    }
    i = has_windows ? i : first_of_most(rhythm);
    const struct kv_tables *tables = front->windows.tables;
    struct kv_queue_walk queue = tally->state.queue;
    struct kv_paged_state *peak = &tally->peak;
    *peak = tally->state.kv;
    peak->used_blocks += blocks;
    int64_t kept = kept_of_steps(rhythm, i);
    peak->shared_blocks -= kept;
    peak->cached_blocks -=
        kept + kv_queue_walk_pass(&queue, sum_of_steps(rhythm, front->boundary, i));
    peak->live_tokens += front->count * i;
    for (size_t w = 0; w < tables->window_count; w++) {
        const struct sched_front_window *window = &front->windows.at[w];
        int64_t dropped = sum_of_steps(rhythm, window->drop, i);
        peak->visible_tokens[w] += window->visible_growing * i;
        peak->dropped_blocks[w] += dropped;
        peak->table_blocks[w] += window->take != NULL ? sum_of_steps(rhythm, window->take, i) : 0;
        peak->cached_blocks +=
            tally->state.keeps_content ? dropped * tables->windows[w].table_count : 0;
    }
}

/* ---- a stretch ---- */

/* What windows give back within a stretch and nobody else holds: the integral, and how much it is at its end. */
struct given_back {
    base_i128 later;
    int64_t blocks;
};

static struct given_back add_windows(struct serve_tally *tally, const struct cost_piece *piece,
                                     const struct rhythm *rhythm, base_i128 ticks,
                                     base_i128 weighted)
{
    const struct sched_front_windows *windows = &rhythm->front->windows;
    struct kv_paged_state *kv = &tally->state.kv;
    struct given_back back = {0, 0};
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        const struct sched_front_window *window = &windows->at[w];
        int64_t tables = windows->tables->windows[w].table_count, dropped;
        base_i128 later = steps_integral(piece, rhythm->count, ticks, window->drop,
                                         rhythm->front->period_tokens, rhythm->at, &dropped);
        tally->sum.visible_tokens[w] +=
            kv->visible_tokens[w] * ticks + window->visible_growing * weighted;
        tally->sum.dropped_blocks[w] += kv->dropped_blocks[w] * ticks + later;
        kv->visible_tokens[w] += window->visible_growing * (rhythm->count - 1);
        kv->dropped_blocks[w] += dropped;
        if (window->take != NULL) {
            int64_t taken;
            base_i128 held = steps_integral(piece, rhythm->count, ticks, window->take,
                                            rhythm->front->period_tokens, rhythm->at, &taken);
            tally->sum.table_blocks[w] += kv->table_blocks[w] * ticks + held;
            kv->table_blocks[w] += taken;
        }
        back.later += later * tables;
        back.blocks += dropped * tables;
    }
    for (size_t i = 0; i < windows->kept.count; i++) {
        struct sched_window_kept kept = windows->kept.at[i];
        base_i128 later = ticks - cost_piece_sum(piece, kept.ahead - rhythm->ahead + 1);
        tally->sum.shared_blocks -= later * kept.blocks;
        kv->shared_blocks -= kept.blocks;
        back.later -= later * kept.blocks;
        back.blocks -= kept.blocks;
    }
    return back;
}

// Integral of the contents that are lost within the stretch to the `*taken` blocks, themselves `later` in all; how many they
// are. Where the queue holds both empty blocks and others it is walked step by step.
static base_i128 add_evicted(struct serve_tally *tally, const struct cost_piece *piece,
                             const struct rhythm *rhythm, base_i128 ticks, base_i128 later,
                             int64_t taken, int64_t *evicted)
{
    bool evicts;
    struct kv_queue_walk *queue = &tally->state.queue;
    if (kv_queue_walk_alike(queue, &evicts) >= taken) {
        *evicted = kv_queue_walk_pass(queue, taken);
        return evicts ? later : 0;
    }
    const struct sched_front *front = rhythm->front;
    base_i128 sum = 0;
    *evicted = 0;
    for (int64_t i = 0; taken > 0; i++) {
        int64_t here = front->boundary[place_of(rhythm, i)];
        int64_t lost = kv_queue_walk_pass(queue, here);
        sum += lost > 0 ? lost * (ticks - cost_piece_sum(piece, i + 1)) : 0;
        *evicted += lost;
        taken -= here;
    }
    return sum;
}

void serve_tally_stretch(struct serve_tally *tally, const struct cost_piece *piece, int64_t count,
                         const struct sched_front *front, int64_t ahead)
{
    base_require(count >= 1 && count <= piece->step_count);
    base_i128 ticks = cost_piece_sum(piece, count);
    struct kv_paged_state *kv = &tally->state.kv;
    add_constant(&tally->sum, &tally->state, ticks);
    add_decode_cause(tally, ticks);
    // sum of j * duration_j over j = 0 ... count - 1
    base_i128 weighted =
        piece->first_ticks * sum_below(count) + piece->delta_ticks * squares_below(count);
    tally->sum.live_tokens += kv->live_tokens * ticks + front->count * weighted;
    struct rhythm rhythm = {front, count, sched_front_residue(front, ahead), ahead};
    int64_t taken, evicted;
    base_i128 later = steps_integral(piece, count, ticks, front->boundary, front->period_tokens,
                                     rhythm.at, &taken);
    note_stretch_peak(tally, &rhythm, taken);
    base_i128 less_cached = add_evicted(tally, piece, &rhythm, ticks, later, taken, &evicted);
    if (tally->state.window_count > 0) {
        struct given_back back = add_windows(tally, piece, &rhythm, ticks, weighted);
        later -= back.later;
        taken -= back.blocks;
        less_cached -= tally->state.keeps_content ? back.later : 0;
        evicted -= tally->state.keeps_content ? back.blocks : 0;
    }
    tally->sum.used_blocks += kv->used_blocks * ticks + later;
    if (kv->cached_blocks != 0 || less_cached != 0) {
        tally->sum.cached_blocks += kv->cached_blocks * ticks - less_cached;
    }
    tally->since_ticks += ticks;
    kv->live_tokens += front->count * (count - 1);
    kv->used_blocks += taken;
    kv->cached_blocks -= evicted;
}

void serve_tally_set_waiting(struct serve_tally *tally, base_i128 now, int64_t waiting)
{
    if (tally->waiting > 0) {
        base_i128 ticks = now - tally->waiting_since_ticks;
        tally->sum.waiting += tally->waiting * ticks;
        tally->wait_ticks[tally->wait_cause] += ticks;
    }
    tally->waiting_since_ticks = now;
    tally->waiting = waiting;
    tally->peak_waiting = waiting > tally->peak_waiting ? waiting : tally->peak_waiting;
}

void serve_tally_note_peak(struct serve_tally *tally)
{
    const struct kv_paged_state *kv = &tally->state.kv;
    bool is_more = tally->state.peak_is_by_tokens ? kv->live_tokens > tally->peak.live_tokens
                                                  : kv->used_blocks > tally->peak.used_blocks;
    if (is_more) {
        tally->peak = *kv;
    }
    tally->peak_running = kv->sequences > tally->peak_running ? kv->sequences : tally->peak_running;
}

void serve_tally_at(const struct serve_tally *tally, base_i128 now, struct serve_integrals *out)
{
    *out = tally->sum;
    add_state(out, &tally->state, now - tally->since_ticks);
    out->waiting += tally->waiting * (now - tally->waiting_since_ticks);
}

void serve_integrals_subtract(struct serve_integrals *from, const struct serve_integrals *part)
{
    from->live_tokens -= part->live_tokens;
    for (size_t w = 0; w < KV_WINDOWS_MAX; w++) {
        from->visible_tokens[w] -= part->visible_tokens[w];
        from->dropped_blocks[w] -= part->dropped_blocks[w];
        from->table_blocks[w] -= part->table_blocks[w];
        from->kept_visible_tokens[w] -= part->kept_visible_tokens[w];
    }
    from->used_blocks -= part->used_blocks;
    from->shared_blocks -= part->shared_blocks;
    from->cached_blocks -= part->cached_blocks;
    from->promised_tokens -= part->promised_tokens;
    from->fragmented_blocks -= part->fragmented_blocks;
    from->loading_blocks -= part->loading_blocks;
    from->kept_sequences -= part->kept_sequences;
    from->blank_blocks -= part->blank_blocks;
    from->running -= part->running;
    from->waiting -= part->waiting;
    from->busy -= part->busy;
    from->prefill_busy -= part->prefill_busy;
    for (size_t i = 0; i < SERVE_LIMIT_COUNT; i++) {
        from->limit[i] -= part->limit[i];
    }
    for (size_t i = 0; i < COST_BOUND_COUNT; i++) {
        from->bound[0][i] -= part->bound[0][i];
        from->bound[1][i] -= part->bound[1][i];
    }
}
