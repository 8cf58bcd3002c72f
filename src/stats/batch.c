#include "stats/batch.h"

#include "base/error.h"
#include "base/mem.h"
#include "stats/interval.h"

#include <math.h>

static double mean_of(const double *values, size_t count)
{
    return stats_sum(values, count) / (double)count;
}

static double squares_about(const double *values, size_t count, double mean)
{
    double squares = 0.0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return squares;
}

bool stats_is_correlated(const double *values, size_t count)
{
    if (count < 4)
        return true;
    double steps = 0.0, squares = squares_about(values, count, mean_of(values, count));
    for (size_t i = 1; i < count; i++)
        steps += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
    if (!(squares > 0.0))
        return false;
    // Under independence the ratio has mean 2 and variance 4 (n - 2) / (n^2 - 1).
    double n = (double)count;
    return steps / squares < 2.0 * n / (n - 1.0) - 1.645 * 2.0 * sqrt((n - 2.0) / (n * n - 1.0));
}

static void fill_batches(const double *segments, size_t count, size_t width, double *out)
{
    size_t batches = count / width, skipped = count % width;
    for (size_t i = 0; i < batches; i++)
        out[i] = mean_of(segments + skipped + i * width, width);
}

size_t stats_batch_width(const double *segments, size_t count)
{
    size_t found = 0;
    if (count < STATS_BATCHES_LEAST)
        return 0;
    double *batches = base_alloc(base_mul_size(count, sizeof *batches));
    size_t width = (count + STATS_BATCHES_MOST - 1) / STATS_BATCHES_MOST;
    for (; found == 0 && count / width >= STATS_BATCHES_LEAST; width++) {
        fill_batches(segments, count, width, batches);
        if (!stats_is_correlated(batches, count / width))
            found = width;
    }
    base_free(batches);
    return found;
}

double stats_effective_count(const double *batches, size_t count, double variance)
{
    base_require(count >= 2);
    double of_means = squares_about(batches, count, mean_of(batches, count)) / (double)(count - 1);
    return of_means > 0.0 ? (double)count * variance / of_means : (double)INFINITY;
}

size_t stats_mser(const double *segments, size_t count)
{
    size_t best = 0;
    double least = (double)INFINITY;
    for (size_t cut = 0; cut < count && cut <= count / 2; cut++) {
        size_t left = count - cut;
        double n = (double)left;
        double error = squares_about(segments + cut, left, mean_of(segments + cut, left)) / (n * n);
        if (error < least) {
            least = error;
            best = cut;
        }
    }
    return best;
}

// Variance per step of the rises over `stride` steps.
static double step_variance(const double *levels, size_t count, size_t stride)
{
    size_t steps = (count - 1) / stride;
    if (steps < 2)
        return 0.0;
    double mean = (levels[steps * stride] - levels[0]) / (double)steps, squares = 0.0;
    for (size_t i = 0; i < steps; i++) {
        double off = levels[(i + 1) * stride] - levels[i * stride] - mean;
        squares += off * off;
    }
    return squares / (double)(steps - 1) / (double)stride;
}

void stats_rise(const double *levels, size_t count, double *rise, double *error)
{
    base_require(count >= 2);
    *rise = levels[count - 1] - levels[0];
    *error = sqrt(fmax(step_variance(levels, count, 1), step_variance(levels, count, 4)) *
                  (double)(count - 1));
}
