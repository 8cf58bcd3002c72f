#include "coverage/theory.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>

enum { GRID = 10 }; /* points a step */

double queue_rate_per_s(const struct queue *queue)
{
    return queue->utilization / (queue->mean_steps * queue->step_s);
}

static double mean_wait_s(const struct queue *queue)
{
    double m = queue->mean_steps, d = queue->step_s;
    double second = (queue->is_geometric ? 2 * m * m - m : m * m) * d * d;
    return queue_rate_per_s(queue) * second / (2 * (1 - queue->utilization));
}

/* Values just before and just after each grid point: the service adds lumps at whole steps. */
struct curve {
    double *before, *after;
};

static struct curve curve_new(size_t points)
{
    struct curve curve = {base_alloc(base_mul_size(points, sizeof(double))),
                          base_alloc(base_mul_size(points, sizeof(double)))};
    return curve;
}

static void curve_free(struct curve *curve)
{
    base_free(curve->before);
    base_free(curve->after);
}

// F * B at grid point j from earlier points.
static void convolve(const struct queue *queue, const struct curve *wait, struct curve *sojourn,
                     size_t j)
{
    size_t back = queue->is_geometric ? GRID : (size_t)queue->mean_steps * GRID;
    double stay = queue->is_geometric ? 1 - 1 / queue->mean_steps : 0;
    sojourn->before[j] = sojourn->after[j] = 0;
    if (j >= back) {
        sojourn->before[j] = (1 - stay) * wait->before[j - back] + stay * sojourn->before[j - back];
        sojourn->after[j] = (1 - stay) * wait->after[j - back] + stay * sojourn->after[j - back];
    }
}

static double crossing(const struct curve *curve, size_t points, double share, double grid_s)
{
    for (size_t j = 1; j < points; j++) {
        if (curve->after[j] >= share) {
            double from = curve->after[j - 1], to = curve->before[j];
            double part = to > from ? fmin((share - from) / (to - from), 1) : 1;
            return ((double)(j - 1) + part) * grid_s;
        }
    }
    return (double)NAN;
}

void queue_solve(const struct queue *queue, struct queue_truth *out)
{
    double rate = queue_rate_per_s(queue), grid_s = queue->step_s / GRID,
           growth = exp(rate * grid_s);
    double service_s = queue->mean_steps * queue->step_s, sum = 0;
    out->wait_mean_s = mean_wait_s(queue);
    out->sojourn_mean_s = out->wait_mean_s + service_s;
    size_t points = (size_t)(30 * out->sojourn_mean_s / grid_s) + 2;
    struct curve wait = curve_new(points), sojourn = curve_new(points);
    wait.before[0] = 0;
    wait.after[0] = 1 - queue->utilization;
    convolve(queue, &wait, &sojourn, 0);
    for (size_t j = 1; j < points; j++) {
        convolve(queue, &wait, &sojourn, j);
        // F(t + h) = e^{lambda h} F(t) - lambda int e^{lambda (h - s)} (F * B)(t + s) ds, F * B a line in between.
        double from = sojourn.after[j - 1], to = sojourn.before[j], x = rate * grid_s;
        double constant = growth - 1, slope = (growth - 1 - x) / x;
        wait.before[j] = wait.after[j] =
            growth * wait.after[j - 1] - from * constant - (to - from) * slope;
        sum += (1 - 0.5 * (wait.after[j] + wait.after[j - 1])) * grid_s;
    }
    out->mean_error = sum / out->wait_mean_s - 1;
    out->wait_p99_s = crossing(&wait, points, 0.99, grid_s);
    out->sojourn_p99_s = crossing(&sojourn, points, 0.99, grid_s);
    curve_free(&wait);
    curve_free(&sojourn);
}
