/*
 * bench_run - simulated requests per second of a scenario, on one core, as ratios within one run of this program.
 *
 *   bench_run SCENARIO.yaml [REQUESTS]
 *
 * 1. Capacity: completions per second of the same scenario in a closed loop of max_num_seqs clients.
 * 2. Requests simulated per second at 20 %, 60 % and 90 % of it (one replication, nothing recorded, prefix caching off,
 *    every request run to its end), jumping and stepping, whose steps and tokens must be equal; and with outputs ten times as long.
 * 3. Peak memory after 100,000 and after REQUESTS_LARGE requests (each in a process of its own).
 *
 * Speeds depend on the machine and on what else it does: the ratios and the instruction counts of tools/bench say more.
 */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double capacity(const char *path, const char *output_override)
{
    struct bench bench;
    bench_begin(&bench, path, 20000);
    struct scenario *scenario = bench_load(&bench);
    char arrival[96];
    snprintf(arrival, sizeof arrival, "{process: closed_loop, concurrency: %" PRId64 "}",
             scenario_config(scenario)->sched.max_num_seqs);
    scenario_free(scenario);
    bench_set(&bench, "workload.arrival", arrival);
    if (output_override != NULL) {
        bench_set(&bench, "workload.output_tokens", output_override);
    }
    return bench_run(&bench, SERVE_JUMP).completions_per_s;
}

static struct bench_figures at_share(const char *path, double rate_per_s, uint64_t requests,
                                     const char *output_override, enum serve_mode mode)
{
    struct bench bench;
    char arrival[96];
    bench_begin(&bench, path, requests);
    snprintf(arrival, sizeof arrival, "{process: poisson, rate: %.9g/s}", rate_per_s);
    bench_set(&bench, "workload.arrival", arrival);
    if (output_override != NULL) {
        bench_set(&bench, "workload.output_tokens", output_override);
    }
    return bench_run(&bench, mode);
}

// The quickest of three runs: figures of one are the same each time, but for the time taken.
static struct bench_figures quickest_at_share(const char *path, double rate_per_s,
                                              uint64_t requests, const char *output_override)
{
    enum { TRIES = 3 };
    struct bench_figures best = at_share(path, rate_per_s, requests, output_override, SERVE_JUMP);
    for (int i = 1; i < TRIES; i++) {
        struct bench_figures again =
            at_share(path, rate_per_s, requests, output_override, SERVE_JUMP);
        best = again.cpu_s < best.cpu_s ? again : best;
    }
    return best;
}

static const double shares[] = {0.2, 0.6, 0.9};
enum { SHARE_COUNT = sizeof shares / sizeof *shares };

static void print_speeds(const char *path, const char *title, uint64_t requests,
                         const char *output_override, double *ns_per_request)
{
    double most = capacity(path, output_override);
    printf("\n%s: capacity %.3f completions/s\n", title, most);
    printf("  share  requests/s   steps/s      ns/request  steps        tokens         stepping: "
           "ns/request  equal\n");
    for (size_t i = 0; i < SHARE_COUNT; i++) {
        struct bench_figures jump =
            quickest_at_share(path, shares[i] * most, requests, output_override);
        struct bench_figures step =
            at_share(path, shares[i] * most, requests / 10, output_override, SERVE_STEP);
        struct bench_figures same =
            at_share(path, shares[i] * most, requests / 10, output_override, SERVE_JUMP);
        bool is_equal =
            step.steps == same.steps && step.tokens == same.tokens && step.outputs == same.outputs;
        ns_per_request[i] = 1e9 * jump.cpu_s / (double)jump.requests;
        printf("  %3.0f %%  %10.0f  %11.0f  %10.0f  %-11" PRIu64 "  %-13" PRId64 "  %20.0f  %s\n",
               100 * shares[i], (double)jump.requests / jump.cpu_s, (double)jump.steps / jump.cpu_s,
               ns_per_request[i], jump.steps, jump.tokens, 1e9 * step.cpu_s / (double)step.requests,
               is_equal ? "yes" : "NO");
    }
}

static void print_peak_memory(const char *path, double rate_per_s, uint64_t requests)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        at_share(path, rate_per_s, requests, NULL, SERVE_JUMP);
        _exit(0);
    }
    int status = 0;
    struct rusage usage; // of the largest child so far: the few requests come first
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0 &&
        getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        printf("  %10" PRIu64 " requests: %ld KiB\n", requests, usage.ru_maxrss);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_run SCENARIO.yaml [REQUESTS]\n");
        return 2;
    }
    uint64_t requests = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    double normal[SHARE_COUNT], longer[SHARE_COUNT];
    bench_print_machine();
    print_speeds(argv[1], "as written", requests, NULL, normal);
    print_speeds(argv[1], "outputs ten times as long", requests,
                 "{distribution: lognormal, mean: 2600, cv: 0.8, min: 1, max: 10240}", longer);
    printf("\ntime per request with outputs ten times as long, as a ratio:");
    for (size_t i = 0; i < SHARE_COUNT; i++) {
        printf("  %.0f %%: %.2f", 100 * shares[i], longer[i] / normal[i]);
    }
    printf("\n\npeak memory at 60 %% of capacity\n");
    double rate = 0.6 * capacity(argv[1], NULL);
    print_peak_memory(argv[1], rate, 100000);
    print_peak_memory(argv[1], rate, 10 * requests);
    return 0;
}
