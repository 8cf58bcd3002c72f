/*
 * spec_util.h - workloads made in a line, for the tests of this room.
 */
#ifndef KVSIM_TESTS_UNIT_WORKLOAD_SPEC_UTIL_H
#define KVSIM_TESTS_UNIT_WORKLOAD_SPEC_UTIL_H

#include "workload/workload_int.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* One class without name, prompts of 100 and answers of 10 tokens; 1,000 requests. */
static inline struct workload_spec simple_spec(enum workload_process process)
{
    struct workload_spec spec = {.process = process,
                                 .rate_per_s = 4.0,
                                 .burstiness = 1.0,
                                 .speedup = 1.0,
                                 .class_count = 1,
                                 .request_limit = 1000};

    spec.classes[0].name = "";
    spec.classes[0].weight = 1.0;
    spec.classes[0].prompt = (struct rng_dist){.kind = RNG_FIXED, .a = 100.0, .whole = true};
    spec.classes[0].output = (struct rng_dist){.kind = RNG_FIXED, .a = 10.0, .whole = true};
    return spec;
}

static inline struct workload_source *open_source(const struct workload_spec *spec, uint64_t seed,
                                                  uint32_t replication)
{
    struct workload_source *source;
    struct kvsim_error err = {0};

    ck_assert_msg(workload_source_open(spec, seed, replication, &source, &err) == KVSIM_OK,
                  "%s: %s", err.key, err.message);
    return source;
}

/* The next request; false at the end. */
static inline bool take(struct workload_source *source, struct workload_request *request)
{
    struct kvsim_error err = {0};
    bool more;

    ck_assert_msg(workload_next(source, request, &more, &err) == KVSIM_OK, "%s:%d: %s", err.file,
                  err.line, err.message);
    return more;
}

/* `request` has ended at `at_ns` with its whole answer; false when nobody follows, else *next is who does. */
static inline bool follow(struct workload_source *source, const struct workload_request *request,
                          int64_t at_ns, struct workload_request *next)
{
    struct workload_request last = *request; /* the two may be one */
    struct workload_ended ended = {.request = &last,
                                   .at_ns = at_ns,
                                   .output_tokens = last.output_tokens,
                                   .is_completed = true};
    bool more;

    ck_assert_int_eq(workload_done(source, &ended, next, &more, NULL), KVSIM_OK);
    return more;
}

/* All arrival times of a run, at most `capacity`; returns how many. They never fall. */
static inline size_t take_arrivals(const struct workload_spec *spec, uint64_t seed, int64_t *at_ns,
                                   size_t capacity)
{
    struct workload_source *source = open_source(spec, seed, 1);
    struct workload_request request;
    size_t count = 0;

    while (count < capacity && take(source, &request)) {
        if (request.index != count || (count > 0 && request.arrival_ns < at_ns[count - 1]))
            ck_abort_msg("request %zu at %lld", count, (long long)request.arrival_ns);
        at_ns[count++] = request.arrival_ns;
    }
    workload_source_close(source);
    return count;
}

static inline void check_open_refused(const struct workload_spec *spec, const char *key)
{
    struct workload_source *source;
    struct kvsim_error err = {0};

    ck_assert_int_eq(workload_source_open(spec, 1, 1, &source, &err), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_null(source);
    ck_assert_str_eq(err.key, key);
    ck_assert(err.message[0] != '\0' && err.code[0] != '\0');
}

#endif
