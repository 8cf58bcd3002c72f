#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_set(struct bench *bench, const char *key, const char *value)
{
    size_t i = 0;
    while (i < bench->override_count && strcmp(bench->overrides[i].key, key) != 0) {
        i++;
    }
    if (i == BENCH_OVERRIDES_MAX) {
        fprintf(stderr, "bench: too many overrides\n");
        exit(70);
    }
    snprintf(bench->texts[i], sizeof bench->texts[i], "%s", value);
    bench->overrides[i] = (struct scenario_override){key, bench->texts[i]};
    bench->override_count += i == bench->override_count ? 1 : 0;
}

void bench_begin(struct bench *bench, const char *path, uint64_t requests)
{
    char number[32];
    *bench = (struct bench){.path = path};
    snprintf(number, sizeof number, "%" PRIu64, requests);
    bench_set(bench, "run.requests", number);
    bench_set(bench, "run.replications", "1");
    bench_set(bench, "record", "{requests: none, timeline: none}");
    bench_set(bench, "run.stop_when_overloaded", "false");
    bench_set(bench, "engine.enable_prefix_caching", "false");
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct scenario *bench_load(const struct bench *bench)
{
    struct kvsim_diags diags = {0};
    struct scenario *scenario = NULL;
    struct scenario_request request = {.path = bench->path,
                                       .overrides = bench->overrides,
                                       .override_count = bench->override_count,
                                       .purpose = SCENARIO_FOR_RUN};
    if (scenario_load(&request, &scenario, &diags) != KVSIM_OK) {
        for (size_t i = 0; i < diags.count; i++) {
            base_error_print(stderr, &diags.at[i], "error");
        }
        exit(3);
    }
    return scenario;
}

struct bench_figures bench_run(const struct bench *bench, enum serve_mode mode)
{
    struct scenario *scenario = bench_load(bench);
    struct serve_run_options options = {.replication = 1, .mode = mode};
    struct serve_result result;
    struct kvsim_error err = {0};
    double start = now_s();
    if (serve_run(scenario_config(scenario), &options, &result, &err) != KVSIM_OK) {
        base_error_print(stderr, &err, "error");
        exit(70);
    }
    struct bench_figures figures = {.cpu_s = now_s() - start,
                                    .requests = result.arrived,
                                    .steps = result.replicas[0].steps,
                                    .tokens = result.replicas[0].computed_tokens,
                                    .outputs = result.output_tokens,
                                    .looked_up = result.replicas[0].lookup_tokens,
                                    .found = result.replicas[0].hit_tokens,
                                    .evicted = result.replicas[0].evicted_blocks,
                                    .preemptions = (int64_t)result.replicas[0].preemptions};
    double window_s = base_i128_to_double(result.window_ticks) / (1e9 * (double)BASE_TICKS_PER_NS);
    figures.completions_per_s = window_s > 0 ? (double)result.window_completed / window_s : 0;
    serve_result_release(&result);
    scenario_free(scenario);
    return figures;
}

void bench_print_machine(void)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) == 0) {
            printf("machine: %s", strchr(line, ':') + 2);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}
