#include "stats/hist.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUB = 1 << STATS_SUB_BITS, EXACT_FIRST = 64 };

size_t stats_bucket_of(int64_t value_ns)
{
    uint64_t value = (uint64_t)value_ns;
    unsigned top;

    if (value < SUB)
        return (size_t)value;
    top = 63U - (unsigned)__builtin_clzll(value);
    return (size_t)(top - STATS_SUB_BITS + 1) * SUB +
           (size_t)((value >> (top - STATS_SUB_BITS)) - SUB);
}

int64_t stats_bucket_low(size_t bucket)
{
    size_t octave = bucket / SUB, sub = bucket % SUB;

    if (octave == 0)
        return (int64_t)sub;
    if (octave > 56) /* beyond the largest int64 */
        return INT64_MAX;
    return (int64_t)(((uint64_t)SUB + sub) << (octave - 1));
}

/* The largest value of a bucket. */
static int64_t bucket_last(size_t bucket)
{
    int64_t next = stats_bucket_low(bucket + 1);

    return next == INT64_MAX ? next : next - 1;
}

void stats_hist_init(struct stats_hist *hist)
{
    *hist = (struct stats_hist){.min = INT64_MAX, .max = INT64_MIN};
}

void stats_hist_init_bucketed(struct stats_hist *hist)
{
    stats_hist_init(hist);
    hist->is_bucketed = true;
}

void stats_hist_release(struct stats_hist *hist)
{
    for (size_t i = 0; i < STATS_OCTAVES; i++)
        base_free(hist->octaves[i]);
    base_free(hist->exact);
    stats_hist_init(hist);
}

bool stats_hist_is_exact(const struct stats_hist *hist)
{
    return hist->count <= STATS_EXACT_MAX && !hist->is_bucketed;
}

/* Makes room for `more` exact values, or gives the exact values up for good. The outcome follows
 * from the counts alone, so it is the same in whatever order values come. */
static bool exact_reserve(struct stats_hist *hist, uint64_t more)
{
    size_t needed;

    hist->is_sorted = false;
    if (hist->is_bucketed)
        more = UINT64_MAX;
    if (more > STATS_EXACT_MAX || hist->count > STATS_EXACT_MAX - more) {
        base_free(hist->exact);
        hist->exact = NULL;
        hist->exact_capacity = 0;
        return false;
    }
    needed = (size_t)(hist->count + more);
    if (needed > hist->exact_capacity) {
        size_t capacity = hist->exact_capacity > 0 ? hist->exact_capacity : EXACT_FIRST;

        while (capacity < needed)
            capacity *= 2;
        hist->exact = base_realloc(hist->exact, base_mul_size(capacity, sizeof *hist->exact));
        hist->exact_capacity = capacity;
    }
    return true;
}

static void bucket_add(struct stats_hist *hist, size_t bucket, uint64_t count)
{
    uint64_t **octave = &hist->octaves[bucket / SUB];

    if (*octave == NULL)
        *octave = base_alloc(SUB * sizeof **octave);
    (*octave)[bucket % SUB] += count;
}

static void widen(struct stats_hist *hist, int64_t low, int64_t high)
{
    if (low < hist->min)
        hist->min = low;
    if (high > hist->max)
        hist->max = high;
}

void stats_hist_add(struct stats_hist *hist, int64_t value_ns, uint64_t weight)
{
    base_require(value_ns >= 0);
    if (weight == 0)
        return;
    if (exact_reserve(hist, weight)) {
        for (uint64_t i = 0; i < weight; i++)
            hist->exact[hist->count + i] = value_ns;
    }
    bucket_add(hist, stats_bucket_of(value_ns), weight);
    widen(hist, value_ns, value_ns);
    hist->count += weight;
    hist->sum_ticks += base_ticks_from_ns(value_ns) * (base_i128)weight;
}

static void exact_add_ramp(struct stats_hist *hist, int64_t first, int64_t delta, uint64_t steps,
                           uint64_t weight)
{
    int64_t *at = hist->exact + hist->count;

    for (uint64_t i = 0; i < steps; i++) {
        int64_t value = (first + delta * (int64_t)i) >> BASE_TICKS_SHIFT;

        for (uint64_t w = 0; w < weight; w++)
            *at++ = value;
    }
}

/* first + delta * i in bucket b  <=>  low(b) <= floor((first + delta * i) / 2^20) < low(b + 1);
 * so the steps that stay below low(b + 1) are counted by one division. delta > 0. */
static void bucket_add_ramp(struct stats_hist *hist, int64_t first, int64_t delta, uint64_t steps,
                            uint64_t weight)
{
    int64_t last_ns = (first + delta * (int64_t)(steps - 1)) >> BASE_TICKS_SHIFT;
    uint64_t done = 0;

    while (done < steps) {
        int64_t ticks = first + delta * (int64_t)done;
        size_t bucket = stats_bucket_of(ticks >> BASE_TICKS_SHIFT);
        int64_t next = stats_bucket_low(bucket + 1);
        uint64_t end = steps;

        if (next <= last_ns) { /* the last bucket takes the rest, without a division */
            uint64_t room = (uint64_t)(next * BASE_TICKS_PER_NS - first);

            end = (room - 1) / (uint64_t)delta + 1;
        }
        if (end > steps)
            end = steps;
        bucket_add(hist, bucket, (end - done) * weight);
        done = end;
    }
}

/* One duration, the commonest ramp: no product of steps. */
static void add_duration(struct stats_hist *hist, int64_t ticks, uint64_t weight)
{
    int64_t value_ns = ticks >> BASE_TICKS_SHIFT;

    if (hist->count <= STATS_EXACT_MAX && exact_reserve(hist, weight)) {
        for (uint64_t i = 0; i < weight; i++)
            hist->exact[hist->count + i] = value_ns;
    }
    bucket_add(hist, stats_bucket_of(value_ns), weight);
    widen(hist, value_ns, value_ns);
    hist->count += weight;
    hist->sum_ticks += (base_i128)ticks * (base_i128)weight;
}

void stats_hist_add_ramp(struct stats_hist *hist, int64_t first_ticks, int64_t delta_ticks,
                         uint64_t steps, uint64_t weight)
{
    base_i128 last, sum;
    uint64_t values;

    if (steps == 0 || weight == 0)
        return;
    if (steps == 1) {
        base_require(first_ticks >= 0);
        add_duration(hist, first_ticks, weight);
        return;
    }
    base_require(steps <= (uint64_t)INT64_MAX);
    base_require((steps | weight) >> 32 == 0 || weight <= UINT64_MAX / steps);
    last = (base_i128)first_ticks + (base_i128)delta_ticks * (base_i128)(steps - 1);
    base_require(first_ticks >= 0 && last >= 0 && last <= INT64_MAX);
    values = steps * weight;
    sum = ((base_i128)first_ticks + last) * (base_i128)steps /
          2;               /* exact: one of the factors is even */
    if (delta_ticks < 0) { /* the same values, rising */
        first_ticks = (int64_t)last;
        delta_ticks = -delta_ticks;
        last = (base_i128)first_ticks + (base_i128)delta_ticks * (base_i128)(steps - 1);
    }
    if (hist->count <= STATS_EXACT_MAX && exact_reserve(hist, values))
        exact_add_ramp(hist, first_ticks, delta_ticks, steps, weight);
    if (delta_ticks == 0)
        bucket_add(hist, stats_bucket_of(first_ticks >> BASE_TICKS_SHIFT), values);
    else
        bucket_add_ramp(hist, first_ticks, delta_ticks, steps, weight);
    widen(hist, first_ticks >> BASE_TICKS_SHIFT, (int64_t)last >> BASE_TICKS_SHIFT);
    hist->count += values;
    hist->sum_ticks += sum * (base_i128)weight;
}

void stats_hist_merge(struct stats_hist *into, const struct stats_hist *from)
{
    if (from->count == 0)
        return;
    if (from->exact == NULL)
        into->is_bucketed = into->is_bucketed || from->is_bucketed;
    if (exact_reserve(into, from->exact != NULL ? from->count : UINT64_MAX))
        memcpy(into->exact + into->count, from->exact, (size_t)from->count * sizeof *from->exact);
    for (size_t i = 0; i < STATS_OCTAVES; i++) {
        if (from->octaves[i] == NULL)
            continue;
        for (size_t sub = 0; sub < SUB; sub++) {
            if (from->octaves[i][sub] > 0)
                bucket_add(into, i * SUB + sub, from->octaves[i][sub]);
        }
    }
    widen(into, from->min, from->max);
    into->count += from->count;
    into->sum_ticks += from->sum_ticks;
}

/* An octave's gain; what gained widens the range by the ends of its bucket. */
static void octave_take_since(struct stats_hist *into, const uint64_t *now, uint64_t *before,
                              size_t first_bucket)
{
    for (size_t sub = 0; sub < SUB; sub++) {
        if (now[sub] > before[sub]) {
            size_t bucket = first_bucket + sub;

            bucket_add(into, bucket, now[sub] - before[sub]);
            widen(into, stats_bucket_low(bucket), bucket_last(bucket));
        }
    }
    memcpy(before, now, SUB * sizeof *before);
}

void stats_hist_take_since(struct stats_hist *into, const struct stats_hist *now,
                           struct stats_hist *before)
{
    base_require(into->is_bucketed && before->is_bucketed && before->count <= now->count);
    for (size_t i = 0; i < STATS_OCTAVES; i++) {
        if (now->octaves[i] == NULL)
            continue;
        if (before->octaves[i] == NULL)
            before->octaves[i] = base_alloc(SUB * sizeof *before->octaves[i]);
        octave_take_since(into, now->octaves[i], before->octaves[i], i * SUB);
    }
    into->count += now->count - before->count;
    into->sum_ticks += now->sum_ticks - before->sum_ticks;
    before->count = now->count;
    before->sum_ticks = now->sum_ticks;
}

double stats_hist_mean_ns(const struct stats_hist *hist)
{
    if (hist->count == 0)
        return (double)NAN;
    return base_i128_to_double(hist->sum_ticks) / (double)BASE_TICKS_PER_NS / (double)hist->count;
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The rank-th value (from 0) in order of size: in its bucket, equally spaced. */
static double ranked_value(const struct stats_hist *hist, uint64_t rank)
{
    uint64_t before = 0;

    for (size_t bucket = 0; bucket < (size_t)STATS_OCTAVES * SUB; bucket++) {
        const uint64_t *octave = hist->octaves[bucket / SUB];
        uint64_t count;

        if (octave == NULL) {
            bucket += SUB - 1;
            continue;
        }
        count = octave[bucket % SUB];
        if (rank < before + count) {
            double low = (double)(stats_bucket_low(bucket) > hist->min ? stats_bucket_low(bucket)
                                                                       : hist->min);
            double high =
                (double)(bucket_last(bucket) < hist->max ? bucket_last(bucket) : hist->max);

            return low + (high - low) * (((double)(rank - before) + 0.5) / (double)count);
        }
        before += count;
    }
    return (double)hist->max;
}

/* By digits of 11 bits, from the lowest: as many passes as the largest value has digits. Of 8 bits where the values are so few
 * that the counts of a pass take longer than the values. */
static void sort_by_digits(int64_t *values, size_t count, int64_t largest)
{
    enum { DIGIT_BITS_MAX = 11, DIGIT_BITS_FEW = 8, FEW = 2000 };
    const unsigned bits = count < FEW ? DIGIT_BITS_FEW : DIGIT_BITS_MAX;
    const size_t digits = (size_t)1 << bits;
    int64_t *from = values, *to = base_alloc(base_mul_size(count, sizeof *to)), *spare = to;

    for (unsigned shift = 0; shift < 63 && (largest >> shift) > 0; shift += bits) {
        size_t starts[(1 << DIGIT_BITS_MAX) + 1];

        memset(starts, 0, (digits + 1) * sizeof *starts);
        for (size_t i = 0; i < count; i++)
            starts[((size_t)(from[i] >> shift) & (digits - 1)) + 1]++;
        for (size_t i = 1; i <= digits; i++)
            starts[i] += starts[i - 1];
        for (size_t i = 0; i < count; i++)
            to[starts[(size_t)(from[i] >> shift) & (digits - 1)]++] = from[i];
        int64_t *other = from;
        from = to;
        to = other;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
    base_free(spare);
}

void stats_hist_sort(struct stats_hist *hist)
{
    if (hist->exact != NULL && !hist->is_sorted)
        sort_by_digits(hist->exact, (size_t)hist->count, hist->max);
    hist->is_sorted = hist->exact != NULL;
}

double stats_hist_variance_ns2(const struct stats_hist *hist)
{
    double mean = stats_hist_mean_ns(hist), squares = 0.0;

    if (hist->count == 0)
        return (double)NAN;
    for (uint64_t i = 0; hist->exact != NULL && i < hist->count; i++)
        squares += ((double)hist->exact[i] - mean) * ((double)hist->exact[i] - mean);
    for (size_t bucket = 0; hist->exact == NULL && bucket < (size_t)STATS_OCTAVES * SUB; bucket++) {
        const uint64_t *octave = hist->octaves[bucket / SUB];

        if (octave == NULL) {
            bucket += SUB - 1;
            continue;
        }
        double low = (double)stats_bucket_low(bucket), width = (double)bucket_last(bucket) - low;
        double off = low + 0.5 * width - mean;

        /* evenly spread within the bucket */
        squares += (double)octave[bucket % SUB] * (off * off + width * width / 12.0);
    }
    return squares / (double)hist->count;
}

/* numpy's "linear": the place q (n - 1) between neighbours in order of size. */
double stats_hist_quantile_ns(const struct stats_hist *hist, double q)
{
    double place, share, low, high;
    uint64_t rank;

    if (hist->count == 0)
        return (double)NAN;
    base_require(q >= 0.0 && q <= 1.0);
    place = q * (double)(hist->count - 1);
    rank = (uint64_t)place;
    share = place - (double)rank;
    if (hist->exact != NULL && hist->is_sorted) {
        low = (double)hist->exact[rank];
        high = (double)hist->exact[rank + 1 < hist->count ? rank + 1 : rank];
    } else if (hist->exact != NULL) {
        int64_t *sorted = base_alloc(base_mul_size((size_t)hist->count, sizeof *sorted));

        memcpy(sorted, hist->exact, (size_t)hist->count * sizeof *sorted);
        qsort(sorted, (size_t)hist->count, sizeof *sorted, compare_values);
        low = (double)sorted[rank];
        high = (double)sorted[rank + 1 < hist->count ? rank + 1 : rank];
        base_free(sorted);
    } else {
        low = ranked_value(hist, rank);
        high = share > 0.0 ? ranked_value(hist, rank + 1) : low;
    }
    return low + (high - low) * share;
}

/* Beyond the exact values, a bucket that the bound cuts counts by its share: bound - low + 1 of
 * its width. */
uint64_t stats_hist_count_at_most(const struct stats_hist *hist, int64_t value_ns)
{
    uint64_t count = 0;
    size_t last;

    if (hist->count == 0 || value_ns < hist->min)
        return 0;
    if (value_ns >= hist->max)
        return hist->count;
    if (hist->exact != NULL && hist->is_sorted) {
        uint64_t below = 0, above = hist->count; /* exact[below - 1] <= value < exact[above] */

        while (below < above) {
            uint64_t middle = below + (above - below) / 2;

            if (hist->exact[middle] <= value_ns)
                below = middle + 1;
            else
                above = middle;
        }
        return below;
    }
    if (hist->exact != NULL) {
        for (uint64_t i = 0; i < hist->count; i++)
            count += hist->exact[i] <= value_ns;
        return count;
    }
    last = stats_bucket_of(value_ns);
    for (size_t bucket = 0; bucket <= last; bucket++) {
        const uint64_t *octave = hist->octaves[bucket / SUB];
        uint64_t in_bucket = octave != NULL ? octave[bucket % SUB] : 0;

        if (bucket == last) {
            double width = (double)(bucket_last(bucket) - stats_bucket_low(bucket)) + 1.0;
            double part = (double)(value_ns - stats_bucket_low(bucket)) + 1.0;

            in_bucket = (uint64_t)((double)in_bucket * (part / width) + 0.5);
        }
        count += in_bucket;
    }
    return count;
}
