/*
 * bench.h - what the benches share: a scenario with overrides, run once on one core, and what it took.
 *
 * Nothing is recorded and every request runs to its end; prefix caching is off unless a bench turns it on. A scenario that cannot be
 * read ends the process.
 */
#ifndef KVSIM_BENCH_BENCH_H
#define KVSIM_BENCH_BENCH_H

#include "scenario/scenario.h"
#include "serve/serve.h"

#include <stdint.h>

enum { BENCH_OVERRIDES_MAX = 24 };

struct bench {
    const char *path;
    struct scenario_override overrides[BENCH_OVERRIDES_MAX];
    size_t override_count;
    char texts[BENCH_OVERRIDES_MAX][160];
};

struct bench_figures {
    double cpu_s, completions_per_s;
    uint64_t requests, steps;
    int64_t tokens, outputs, looked_up, found, evicted, preemptions;
};

void bench_begin(struct bench *bench, const char *path, uint64_t requests);
/* `key` must stay; the value is copied. A later value of a key replaces an earlier one. */
void bench_set(struct bench *bench, const char *key, const char *value);
struct scenario *bench_load(const struct bench *bench);
/* One replication. */
struct bench_figures bench_run(const struct bench *bench, enum serve_mode mode);
void bench_print_machine(void);

#endif
