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
    sum->running += state->running * wide;
    sum->out_of_window_tokens += state->out_of_window_tokens * wide;
    sum->shared_blocks += state->shared_blocks * wide;
    sum->promised_tokens += state->promised_tokens * wide;
    sum->fragmented_blocks += state->fragmented_blocks * wide;
    sum->loading_blocks += state->loading_blocks * wide;
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
    sum->live_tokens += state->live_tokens * ticks;
    sum->used_blocks += state->used_blocks * ticks;
    sum->cached_blocks += state->cached_blocks * ticks;
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

// Moments of the residues first <= r < last, counted from place `at` of the front's boundaries.
static struct moments moments_of(const struct sched_front *front, int64_t at, int64_t first,
                                 int64_t last)
{
    // Walked downwards, sums of sums: of 1, k and k (k + 1) / 2, with k = r + 1 - first.
    int64_t s0 = 0, s1 = 0, s2 = 0, residue = at + last;
    residue -= residue >= front->block_tokens ? front->block_tokens : 0;
    for (int64_t r = first; r < last; r++) {
        residue = (residue == 0 ? front->block_tokens : residue) - 1;
        s0 += front->boundary[residue];
        s1 += s0;
        s2 += s1;
    }
    return (struct moments){s0, s1 + first * s0, 2 * s2 - s1 + first * (2 * s1 + first * s0)};
}

// Integral of the blocks that are taken within the stretch; step i (0 ... count - 2) takes boundary[(at + i) mod b].
static base_i128 taken_blocks_integral(const struct cost_piece *piece, int64_t count,
                                       base_i128 total, const struct sched_front *front, int64_t at,
                                       int64_t *taken)
{
    int64_t b = front->block_tokens, steps = count - 1, rounds = steps < b ? 0 : steps / b;
    int64_t rest = steps - rounds * b;
    // Residues that occur rounds + 1 and rounds times.
    struct moments more = moments_of(front, at, 0, rest);
    struct moments less = rounds > 0 ? moments_of(front, at, rest, b) : (struct moments){0};
    *taken = more.w0 * (rounds + 1) + less.w0 * rounds;
    base_i128 sum = more.w0 > 0 ? held_of_moments(piece, total, more, b, rounds + 1) : 0;
    return sum + (less.w0 > 0 && rounds > 0 ? held_of_moments(piece, total, less, b, rounds) : 0);
}

// The first interval at which the stretch's largest number of blocks was reached.
static void note_stretch_peak(struct serve_tally *tally, int64_t count,
                              const struct sched_front *front, int64_t ahead)
{
    if (tally->state.used_blocks <= tally->peak_used_blocks) {
        return;
    }
    int64_t i = count - 1;
    while (i > 0 && front->boundary[sched_front_residue(front, ahead + i - 1)] == 0) {
        i--;
    }
    tally->peak_used_blocks = tally->state.used_blocks;
    tally->peak_live_tokens = tally->state.live_tokens - front->count * (count - 1 - i);
    tally->peak_shared_blocks = tally->state.shared_blocks;
    tally->peak_cached_blocks = tally->state.cached_blocks;
    tally->peak_promised_tokens = tally->state.promised_tokens;
    tally->peak_fragmented_blocks = tally->state.fragmented_blocks;
    tally->peak_loading_blocks = tally->state.loading_blocks;
}

void serve_tally_stretch(struct serve_tally *tally, const struct cost_piece *piece, int64_t count,
                         const struct sched_front *front, int64_t ahead)
{
    base_require(count >= 1 && count <= piece->step_count);
    base_i128 ticks = cost_piece_sum(piece, count);
    struct serve_state *state = &tally->state;
    add_constant(&tally->sum, state, ticks);
    add_decode_cause(tally, ticks);
    // sum of j * duration_j over j = 0 ... count - 1
    base_i128 weighted =
        piece->first_ticks * sum_below(count) + piece->delta_ticks * squares_below(count);
    tally->sum.live_tokens += state->live_tokens * ticks + front->count * weighted;
    int64_t taken;
    base_i128 later = taken_blocks_integral(piece, count, ticks, front,
                                            sched_front_residue(front, ahead), &taken);
    tally->sum.used_blocks += state->used_blocks * ticks + later;
    tally->sum.cached_blocks += state->cached_blocks * ticks - (state->evicts ? later : 0);
    tally->since_ticks += ticks;
    state->live_tokens += front->count * (count - 1);
    state->used_blocks += taken;
    state->cached_blocks -= state->evicts ? taken : 0;
    note_stretch_peak(tally, count, front, ahead);
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
    const struct serve_state *state = &tally->state;
    if (state->used_blocks > tally->peak_used_blocks) {
        tally->peak_used_blocks = state->used_blocks;
        tally->peak_live_tokens = state->live_tokens;
        tally->peak_out_of_window_tokens = state->out_of_window_tokens;
        tally->peak_shared_blocks = state->shared_blocks;
        tally->peak_cached_blocks = state->cached_blocks;
        tally->peak_promised_tokens = state->promised_tokens;
        tally->peak_fragmented_blocks = state->fragmented_blocks;
        tally->peak_loading_blocks = state->loading_blocks;
    }
    tally->peak_running =
        state->running > tally->peak_running ? state->running : tally->peak_running;
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
    from->out_of_window_tokens -= part->out_of_window_tokens;
    from->used_blocks -= part->used_blocks;
    from->shared_blocks -= part->shared_blocks;
    from->cached_blocks -= part->cached_blocks;
    from->promised_tokens -= part->promised_tokens;
    from->fragmented_blocks -= part->fragmented_blocks;
    from->loading_blocks -= part->loading_blocks;
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
