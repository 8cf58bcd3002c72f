/*
 * bench_coverage - how often kvsim's 95 % intervals hold the truth, on queues whose truth is known.
 *
 *   bench_coverage FOLDER [SHARE [BLOCK]]
 *
 * FOLDER holds queue.yaml (bench/coverage). SHARE scales the number of seeds (1 = 1,000 of 20,000 requests with 5 and with
 * 20 replications, 300 of 200,000 with 5, and 300 single runs of 200,000: about two hours of one core). BLOCK does one
 * part alone: 1 to 4 those sizes, 5 the paired differences, 6 overload. The table goes to stdout as CSV, progress to stderr.
 */
#include "coverage/cell.h"

#include <stdlib.h>

static const double utilizations[] = {0.5, 0.8, 0.9, 0.95};

enum { UTILIZATIONS = sizeof utilizations / sizeof *utilizations };

static struct cell cell_of(bool is_geometric, double utilization, int64_t requests,
                           int64_t replications, double seeds)
{
    return (struct cell){.queue = {is_geometric, 100, 0.01, utilization},
                         .requests = requests,
                         .replications = replications,
                         .seeds = seeds < 2 ? 2 : (size_t)seeds};
}

static enum kvsim_status one_cell(const char *folder, const struct cell *cell,
                                  struct kvsim_error *err)
{
    struct cell_result result;
    enum kvsim_status status = cell_run(folder, cell, NULL, NULL, &result, err);
    if (status == KVSIM_OK) {
        cell_print(stdout, cell, &result);
        fprintf(stderr, "%s rho %.2f: %lld requests x %lld, %zu seeds\n",
                cell->queue.is_geometric ? "M/Geo/1" : "M/D/1", cell->queue.utilization,
                (long long)cell->requests, (long long)cell->replications, cell->seeds);
    }
    return status;
}

static enum kvsim_status cells(const char *folder, double part, size_t block,
                               struct kvsim_error *err)
{
    static const struct {
        int64_t requests, replications;
        double seeds;
    } sizes[] = {{20000, 5, 1000}, {20000, 20, 1000}, {200000, 5, 300}, {200000, 1, 300}};
    enum kvsim_status status = KVSIM_OK;
    if (block == 1) {
        cell_print_header(stdout);
    }
    for (size_t i = 0; i < 2 * UTILIZATIONS && status == KVSIM_OK; i++) {
        struct cell cell =
            cell_of(i < UTILIZATIONS, utilizations[i % UTILIZATIONS], sizes[block - 1].requests,
                    sizes[block - 1].replications, part * sizes[block - 1].seeds);
        status = one_cell(folder, &cell, err);
    }
    return status;
}

static enum kvsim_status all_pairs(const char *folder, double part, struct kvsim_error *err)
{
    static const int64_t counts[] = {5, 20};
    static const char *const statistics[] = {"mean", "p99"};
    enum kvsim_status status = KVSIM_OK;
    printf("\nqueue,difference,requests,replications,seeds,statistic,truth_ms,covered_paired,"
           "covered_unpaired,"
           "width_unpaired_over_paired,bias\n");
    for (size_t i = 0; i < 4 && status == KVSIM_OK; i++) {
        struct cell low =
            cell_of(true, 0.80, 20000, counts[i / 2], part * (i / 2 == 0 ? 1000 : 300));
        struct cell high = low;
        struct pair_count pair;
        high.queue.utilization = 0.82;
        status = pair_run(folder, &low, &high, statistics[i % 2], &pair, err);
        double n = (double)pair.seeds;
        printf("M/Geo/1,0.82-0.80,20000,%lld,%zu,%s,%.1f,%.3f,%.3f,%.2f,%+.4f\n",
               (long long)low.replications, pair.seeds, statistics[i % 2], pair.truth_ms,
               (double)pair.covered_paired / n, (double)pair.covered_unpaired / n,
               pair.width_unpaired / pair.width_paired,
               pair.difference_sum_ms / n / pair.truth_ms - 1);
        fflush(stdout);
    }
    return status;
}

// Beyond saturation every run must be found overloaded; there is no truth to cover.
static enum kvsim_status overloads(const char *folder, double part, struct kvsim_error *err)
{
    static const double beyond[] = {0.98, 1.02, 1.05};
    enum kvsim_status status = KVSIM_OK;
    printf("\nqueue,rho,requests,replications,seeds,overloaded_share,not_settled_share\n");
    for (size_t i = 0; i < 3 && status == KVSIM_OK; i++) {
        // A rate of the queue at 0.98 stands for the ones without a truth.
        struct cell cell = cell_of(true, 0.98, 20000, 5, part * 300);
        struct cell_result result;
        cell.rate_factor = beyond[i] / 0.98;
        status = cell_run(folder, &cell, NULL, NULL, &result, err);
        printf("M/Geo/1,%.2f,20000,5,%zu,%.4f,%.4f\n", beyond[i], cell.seeds,
               (double)result.overloaded / (double)cell.seeds,
               (double)result.not_settled / (double)cell.seeds);
        fflush(stdout);
    }
    return status;
}

static enum kvsim_status do_block(const char *folder, double part, size_t block,
                                  struct kvsim_error *err)
{
    switch (block) {
    case 5:
        return all_pairs(folder, part, err);
    case 6:
        return overloads(folder, part, err);
    default:
        return cells(folder, part, block, err);
    }
}

int main(int argc, char **argv)
{
    enum { BLOCKS = 6 };
    struct kvsim_error err = {0};
    double part = argc > 2 ? strtod(argv[2], NULL) : 1;
    size_t only = argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : 0;
    if (argc < 2 || argc > 4 || !(part > 0) || only > BLOCKS) {
        fprintf(stderr, "usage: bench_coverage FOLDER [SHARE [BLOCK]]\n");
        return 2;
    }
    enum kvsim_status status = KVSIM_OK;
    for (size_t block = 1; block <= BLOCKS && status == KVSIM_OK; block++) {
        if (only == 0 || only == block) {
            status = do_block(argv[1], part, block, &err);
        }
    }
    if (status != KVSIM_OK) {
        fprintf(stderr, "bench_coverage: %s\n", err.message);
    }
    return status == KVSIM_OK ? 0 : 1;
}
