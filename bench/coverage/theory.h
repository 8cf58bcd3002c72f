/*
 * theory.h - waiting and sojourn times of M/G/1 queues whose service times are multiples of one step: M/Geo/1 and M/D/1.
 *
 * Means: Pollaczek and Khinchine. Distribution of the wait: F' = lambda (F - F * B), F(0) = 1 - rho (L. Takacs,
 * Introduction to the Theory of Queues, 1962), integrated on a grid of a tenth of a step with an error of its square;
 * F * B, the distribution of the sojourn, needs only earlier values. All times in seconds.
 */
#ifndef KVSIM_BENCH_COVERAGE_THEORY_H
#define KVSIM_BENCH_COVERAGE_THEORY_H

#include <stdbool.h>

struct queue {
    bool is_geometric; /* service steps: geometric from 1, else constant */
    double mean_steps; /* whole where constant */
    double step_s;
    double utilization; /* rho */
};

struct queue_truth {
    double wait_mean_s, sojourn_mean_s;
    double wait_p99_s, sojourn_p99_s;
    double mean_error; /* of the integrated mean wait against the closed form, relative */
};

double queue_rate_per_s(const struct queue *queue);
void queue_solve(const struct queue *queue, struct queue_truth *out);

#endif
