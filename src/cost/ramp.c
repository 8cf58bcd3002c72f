#include "cost/ops.h"

#include <math.h>

/* Times of the running sums at the first step of a stretch, and what they gain per step. */
struct sums {
    int64_t first[COST_SUM_WINDOW + COST_WINDOWS_MAX];
    int64_t gain[COST_SUM_WINDOW + COST_WINDOWS_MAX];
};

/* value + slope * j ticks at step j. 128 bits: alpha + beta * S may pass int64 before it is held at the limit. */
struct linear {
    base_i128 value, slope;
};

/* A stretch on which every maximum keeps its winner. */
struct segment {
    int64_t step_count;
    struct linear device;
    struct linear classes[COST_BOUND_COUNT];
};

/*
 * For how many steps from now on `a` stays above `b` (strictly, or at least level), at most `limit`. True now.
 * a.value - b.value + j * (a.slope - b.slope) >= strict, so j <= floor((difference - strict) / (loss per step)).
 */
static int64_t steps_above(struct linear a, struct linear b, bool strict, int64_t limit)
{
    if (a.slope >= b.slope)
        return limit;
    base_i128 slack = a.value - b.value - (strict ? 1 : 0);
    base_i128 loss = b.slope - a.slope;
    base_i128 last;
    if (loss > INT64_MAX)
        last = slack / loss;
    else if (loss * (limit - 1) <= slack)
        return limit; // the usual case, without a division
    else if (slack <= INT64_MAX)
        last = (int64_t)slack / (int64_t)loss; // 128-bit division is ten times slower
    else
        last = slack / loss;
    return last + 1 < limit ? (int64_t)(last + 1) : limit;
}

static struct linear line_at(const struct cost_line *line, int64_t sum, int64_t gain)
{
    return (struct linear){(base_i128)line->beta * sum + line->alpha, (base_i128)line->beta * gain};
}

/* Index of the largest value; the first of equal ones. */
static size_t largest(const struct linear *at, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (at[i].value > at[best].value)
            best = i;
    return best;
}

/* For how many steps `best` stays what largest() would return. */
static int64_t steps_largest(const struct linear *at, size_t count, size_t best, int64_t limit)
{
    for (size_t i = 0; i < count; i++)
        if (i != best)
            limit = steps_above(at[best], at[i], i < best, limit);
    return limit;
}

static void linear_add(struct linear *to, struct linear more)
{
    to->value += more.value;
    to->slope += more.slope;
}

static void segment_add_curve(struct segment *segment, const struct cost_curve *curve,
                              const struct sums *sums)
{
    struct linear at[COST_LINES_PER_CURVE];
    for (uint32_t i = 0; i < curve->line_count; i++)
        at[i] = line_at(&curve->lines[i], sums->first[curve->sum], sums->gain[curve->sum]);
    size_t best = largest(at, curve->line_count);
    segment->step_count = steps_largest(at, curve->line_count, best, segment->step_count);
    linear_add(&segment->classes[curve->lines[best].bound], at[best]);
    linear_add(&segment->device, at[best]);
}

static void segment_make(const struct cost_lines *lines, const struct sums *sums, int64_t max_steps,
                         struct segment *out)
{
    *out = (struct segment){.step_count = max_steps};
    for (int i = 0; i < COST_BOUND_COUNT; i++) {
        out->classes[i].value = lines->class_ticks[i];
        out->device.value += lines->class_ticks[i];
    }
    for (uint32_t i = 0; i < lines->curve_count; i++)
        segment_add_curve(out, &lines->curves[i], sums);
}

/* What the device has to exceed or reach, or be hidden: host and launch, or launch alone. */
static int64_t hiding_ticks(const struct cost_lines *lines)
{
    if (lines->overlap && lines->host_ticks > lines->launch_ticks)
        return lines->host_ticks;
    return lines->launch_ticks;
}

/* Host work that nothing hides. */
static int64_t exposed_ticks(const struct cost_lines *lines)
{
    return lines->exposed_ticks + (lines->overlap ? 0 : lines->host_ticks);
}

/* Holds a piece within [1, COST_TICKS_MAX]; a held stretch is constant because steps never get shorter. */
static void piece_set(struct cost_piece *out, struct linear total, int64_t step_count)
{
    const struct linear limit = {COST_TICKS_MAX, 0};
    if (total.value >= COST_TICKS_MAX) {
        total = limit;
    } else if (total.slope > COST_TICKS_MAX) {
        step_count = 1;
        total.slope = 0;
    } else if (total.value + total.slope * (step_count - 1) > COST_TICKS_MAX) {
        step_count = (int64_t)((COST_TICKS_MAX - total.value) / total.slope) + 1;
    }
    if (total.value < 1) {
        step_count = total.slope > 0 ? 1 : step_count;
        total = (struct linear){1, 0};
    }
    out->step_count = step_count;
    out->first_ticks = (int64_t)total.value;
    out->delta_ticks = (int64_t)total.slope;
}

static void sums_advance(struct sums *sums, int64_t steps)
{
    for (size_t i = 0; i < COST_SUM_WINDOW + COST_WINDOWS_MAX; i++)
        sums->first[i] += steps * sums->gain[i];
}

/* The device is hidden behind launch or host: a constant piece, over as many segments as stay below. */
static void piece_hidden(const struct cost_lines *lines, struct sums sums, struct segment segment,
                         int64_t max_steps, struct cost_piece *out)
{
    const struct linear hiding = {hiding_ticks(lines), 0};
    int64_t steps = 0;
    while (steps < max_steps && segment.device.value < hiding.value) {
        int64_t here = steps_above(hiding, segment.device, true, segment.step_count);
        steps += here;
        if (steps >= max_steps)
            break;
        sums_advance(&sums, here);
        segment_make(lines, &sums, max_steps - steps, &segment);
    }
    struct linear total = hiding;
    total.value += exposed_ticks(lines);
    piece_set(out, total, steps);
    out->bound = COST_HOST;
}

static void lines_piece(const struct cost_lines *lines, const struct sums *sums, int64_t max_steps,
                        struct cost_piece *out)
{
    struct segment segment;
    segment_make(lines, sums, max_steps, &segment);
    if (segment.device.value < hiding_ticks(lines)) {
        piece_hidden(lines, *sums, segment, max_steps, out);
        return;
    }
    struct linear total = segment.device;
    total.value += exposed_ticks(lines);
    segment.classes[COST_HOST].value += exposed_ticks(lines);
    size_t bound = largest(segment.classes, COST_BOUND_COUNT);
    int64_t steps = steps_largest(segment.classes, COST_BOUND_COUNT, bound, segment.step_count);
    piece_set(out, total, steps);
    out->bound = (enum cost_bound)bound;
}

void cost_lines_piece(const struct cost_lines *lines, const struct cost_ramp *ramp,
                      int64_t max_steps, struct cost_piece *out)
{
    struct sums sums;
    sums.first[COST_SUM_CONTEXT] = ramp->context_tokens;
    sums.gain[COST_SUM_CONTEXT] = ramp->seq_count;
    for (size_t i = 0; i < COST_WINDOWS_MAX; i++) {
        sums.first[COST_SUM_WINDOW + i] = ramp->window_tokens[i];
        sums.gain[COST_SUM_WINDOW + i] = ramp->window_gain[i];
    }
    lines_piece(lines, &sums, max_steps, out);
}

struct cost_result cost_lines_result(const struct cost_lines *lines)
{
    struct cost_piece piece;
    const struct sums none = {{0}, {0}};
    lines_piece(lines, &none, 1, &piece);
    return (struct cost_result){piece.first_ticks, piece.bound};
}

static bool depends_on_context_only(const struct cost_lines *lines)
{
    for (uint32_t i = 0; i < lines->curve_count; i++)
        if (lines->curves[i].sum != COST_SUM_CONTEXT)
            return false;
    return true;
}

/*
 * The pieces of a stretch that gains one token a step from context sum 0 on are the ranges of the step as a function of
 * the sum. They serve every stretch of the batch size: that one visits some of the same sums.
 */
static void lines_add_segments(struct cost_lines *lines, struct base_arena *arena)
{
    const int64_t last_sum = (int64_t)1 << 44;
    struct cost_segment found[COST_SEGMENTS_MAX];
    uint32_t count = 0;
    struct sums sums = {{0}, {0}};
    sums.gain[COST_SUM_CONTEXT] = 1;
    while (sums.first[COST_SUM_CONTEXT] < last_sum) {
        struct cost_piece piece;
        if (count == COST_SEGMENTS_MAX)
            return;
        lines_piece(lines, &sums, last_sum - sums.first[COST_SUM_CONTEXT], &piece);
        found[count++] = (struct cost_segment){sums.first[COST_SUM_CONTEXT], piece.first_ticks,
                                               piece.delta_ticks, piece.bound};
        sums.first[COST_SUM_CONTEXT] += piece.step_count;
    }
    lines->segments = base_arena_array(arena, count, sizeof *lines->segments);
    for (uint32_t i = 0; i < count; i++)
        lines->segments[i] = found[i];
    lines->segment_count = count;
}

static void segments_piece(const struct cost_lines *lines, const struct cost_ramp *ramp,
                           int64_t max_steps, struct cost_piece *out)
{
    uint32_t at = lines->segment_count - 1;
    while (at > 0 && lines->segments[at].from > ramp->context_tokens)
        at--;
    const struct cost_segment *segment = &lines->segments[at];
    int64_t gain = ramp->seq_count;
    out->step_count = max_steps;
    if (at + 1 < lines->segment_count) {
        // Sums below the next range's first one.
        int64_t room = segment[1].from - ramp->context_tokens;
        if (room <= (max_steps - 1) * gain)
            out->step_count = (room + gain - 1) / gain;
    }
    out->first_ticks =
        segment->first_ticks + segment->delta_ticks * (ramp->context_tokens - segment->from);
    out->delta_ticks = segment->delta_ticks * gain;
    out->bound = segment->bound;
}

// The lines of a batch size, made on first use.
static const struct cost_lines *lines_of(struct cost *cost, uint32_t seq_count)
{
    base_require(seq_count >= 1 && seq_count <= cost->config.max_decode_seqs);
    struct cost_lines *lines = &cost->lines[seq_count];
    if (!lines->ready) {
        cost->ops->ramp(cost, seq_count, lines);
        if (depends_on_context_only(lines))
            lines_add_segments(lines, cost->arena);
        lines->ready = true;
    }
    return lines;
}

void cost_ramp_piece(struct cost *cost, const struct cost_ramp *ramp, int64_t max_steps,
                     struct cost_piece *out)
{
    const int64_t small = (int64_t)1 << 40; // sums and steps below it keep the products in 64 bits
    base_require(max_steps >= 1);
    const struct cost_lines *lines =
        cost->ops->piece == NULL ? lines_of(cost, ramp->seq_count) : NULL;
    if (lines == NULL)
        cost->ops->piece(cost, ramp, max_steps, out);
    else if (lines->segment_count > 0 && ramp->context_tokens < small && max_steps < INT32_MAX)
        segments_piece(lines, ramp, max_steps, out);
    else
        cost_lines_piece(lines, ramp, max_steps, out);
    cost_note_held(cost, out->first_ticks);
}

bool cost_shape_is_decode(const struct cost_shape *shape)
{
    return shape->prefill_tokens == 0 && shape->decode_seq_count > 0;
}

void cost_ramp_from_shape(const struct cost_shape *shape, struct cost_ramp *ramp)
{
    *ramp = (struct cost_ramp){.seq_count = shape->decode_seq_count,
                               .context_tokens = shape->decode_context_tokens};
    for (size_t i = 0; i < COST_WINDOWS_MAX; i++)
        ramp->window_tokens[i] = shape->decode_window_tokens[i];
}

/*
 * n * first + delta * n (n - 1) / 2 = ticks, solved in double as
 * 2 t / (b + sqrt(b^2 + 4 a t)) with a = delta / 2, b = first - a, which does not cancel where steps are
 * longer than half of what each adds; then corrected in integers.
 */
int64_t cost_piece_steps_until(const struct cost_piece *piece, base_i128 ticks)
{
    if (ticks <= piece->first_ticks)
        return 1;
    double a = 0.5 * (double)piece->delta_ticks, b = (double)piece->first_ticks - a;
    double t = base_i128_to_double(ticks);
    double guess = 2.0 * t / (b + sqrt(b * b + 4.0 * a * t)) + 1.0;
    int64_t n = guess >= (double)piece->step_count ? piece->step_count : (int64_t)guess;
    base_i128 before = cost_piece_sum(piece, n - 1);
    while (before >= ticks) {
        n--;
        before -= piece->first_ticks + (base_i128)piece->delta_ticks * (n - 1);
    }
    while (n < piece->step_count &&
           before + piece->first_ticks + (base_i128)piece->delta_ticks * (n - 1) < ticks) {
        before += piece->first_ticks + (base_i128)piece->delta_ticks * (n - 1);
        n++;
    }
    return n;
}
