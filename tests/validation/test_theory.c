/*
 * Queueing theory: the engine as a server whose mean times are known.
 *
 * One seat, fixed step s, one prompt token and O output tokens: a request holds the engine for
 * exactly O steps, and the next one begins at the very instant at which it ends. An idle engine
 * begins at once. So this is M/G/1, first come first served, with service O s and no discretization
 * at all: W = lambda E[S^2] / (2 (1 - rho)) (Pollaczek-Khinchine).
 *
 * c seats, the step lasting s whatever the batch: a request that comes while a step runs waits for
 * its end even if a seat is free, and then for a free seat. An own simulation of 30 lines, step by
 * step with its own random numbers, has the same rules; and for many steps a request M/M/c (Erlang
 * C) is met within one step.
 *
 * A step that costs c for every sequence in it is processor sharing: E[T] = E[S] / (1 - rho) for
 * any distribution of S, up to the step that an arrival waits for.
 *
 * Values are means over replications, intervals Student's t at 99.9 %, narrow enough to tell a
 * wrong formula.
 */
#include "support/result_compare.h"
#include "support/service.h"

#include "stats/interval.h"
#include "study/study.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_NS = 10000000, REPLICATIONS_MAX = 64 };

static const double STEP_S = STEP_NS / 1e9;

/* ---- running ---- */

struct sample {
    double values[REPLICATIONS_MAX];
    size_t count;
};

// The values by replication of one figure, in seconds where it is a time.
static void take(const struct record_run *run, const char *name, const char *statistic, double unit,
                 struct sample *out)
{
    out->count = 0;
    for (size_t i = 0; i < run->replication_metrics.count; i++) {
        const struct record_replication_metric *row = &run->replication_metrics.at[i];
        if (strcmp(row->name, name) == 0 && strcmp(row->statistic, statistic) == 0 &&
            row->class_name[0] == '\0') {
            out->values[out->count++] = row->value * unit;
        }
    }
    ck_assert_uint_ge(out->count, 8);
}

static void run_study(const struct serve_config *config, struct record_run *out)
{
    struct study_options options = {.jobs = 2};
    struct kvsim_error err = {0};
    record_run_init(out);
    enum kvsim_status status = study_run(config, &options, out, &err);
    ck_assert_msg(status == KVSIM_OK, "%s", err.message);
    ck_assert_str_eq(record_get_text(out, RECORD_STATUS), "done");
}

// `theory` lies in the interval, and the interval is narrow: `width` of the value to each side at
// most.
static void expect_value(const struct sample *sample, double theory, double width, const char *what,
                         double rho)
{
    struct stats_interval interval = stats_interval_t(sample->values, sample->count, 0.999, 0);
    ck_assert_msg(!interval.is_withheld, "%s: no interval", what);
    ck_assert_msg(interval.low <= theory && theory <= interval.high,
                  "%s at rho %.2f: theory %.6g, found %.6g [%.6g, %.6g]", what, rho, theory,
                  interval.value, interval.low, interval.high);
    double half = (interval.high - interval.low) / 2;
    ck_assert_msg(half <= width * theory, "%s at rho %.2f: interval of %.1f %% tells nothing", what,
                  rho, 100 * half / theory);
}

static void set_outputs(struct service *service, enum rng_kind kind, double mean)
{
    struct rng_dist_options output = {.kind = kind};
    if (kind == RNG_FIXED) {
        output.value = mean;
    } else {
        output.has_mean = true;
        output.mean = mean;
    }
    service->config.workload.classes[0].output = service_dist(service, &output, true);
}

static void set_load(struct service *service, double rho, double capacity_per_s, uint64_t requests,
                     int64_t replications)
{
    service_set_poisson(service, rho * capacity_per_s, requests);
    service->config.replications = replications;
}

/* ---- one seat ---- */

struct one_seat {
    const char *name;
    enum rng_kind kind; /* of the outputs */
    double rho;
    int64_t replications;
    double width;
};

static const struct one_seat one_seats[] = {
    {"M/D/1", RNG_FIXED, 0.3, 12, 0.03},       {"M/D/1", RNG_FIXED, 0.6, 12, 0.04},
    {"M/D/1", RNG_FIXED, 0.85, 20, 0.08},      {"M/Geo/1", RNG_GEOMETRIC, 0.3, 12, 0.06},
    {"M/Geo/1", RNG_GEOMETRIC, 0.6, 16, 0.06}, {"M/Geo/1", RNG_GEOMETRIC, 0.85, 20, 0.13},
};

enum { MEAN_OUTPUTS = 8, ONE_SEAT_COUNT = sizeof one_seats / sizeof *one_seats };

START_TEST(one_seat_is_pollaczek_khinchine)
{
    const struct one_seat *test = &one_seats[_i];
    struct service service;
    service_init(&service);
    service_set_fixed_step(&service, STEP_NS, 1);
    set_outputs(&service, test->kind, MEAN_OUTPUTS);
    double mean_s = MEAN_OUTPUTS * STEP_S;
    set_load(&service, test->rho, 1 / mean_s, 20000, test->replications);
    struct record_run run;
    run_study(&service.config, &run);

    // E[O^2]: fixed m^2; geometric with p = 1 / m: (2 - p) / p^2.
    double p = 1.0 / MEAN_OUTPUTS;
    double second = test->kind == RNG_FIXED ? MEAN_OUTPUTS * MEAN_OUTPUTS : (2 - p) / (p * p);
    double rate = test->rho / mean_s;
    double wait_s = rate * second * STEP_S * STEP_S / (2 * (1 - test->rho));
    struct sample sample;
    take(&run, "queue", "mean", 1e-3, &sample);
    expect_value(&sample, wait_s, test->width, test->name, test->rho);
    take(&run, "e2e", "mean", 1e-3, &sample);
    expect_value(&sample, wait_s + mean_s, test->width, test->name, test->rho);
    take(&run, "ttft", "mean", 1e-3, &sample);
    expect_value(&sample, wait_s + STEP_S, test->width, test->name, test->rho);
    take(&run, "busy_fraction", "value", 1, &sample);
    expect_value(&sample, test->rho, test->width, "busy", test->rho);
    take(&run, "in_flight", "mean", 1, &sample);
    expect_value(&sample, rate * (wait_s + mean_s), 2 * test->width, "L = lambda W", test->rho);
    take(&run, "waiting", "mean", 1, &sample);
    expect_value(&sample, rate * wait_s, 2 * test->width, "Lq = lambda Wq", test->rho);
    record_run_free(&run);
    service_release(&service);
}
END_TEST

/* ---- c seats ---- */

struct dice {
    uint64_t state;
};

/* splitmix64: another generator than the simulator's streams. In (0, 1). */
static double roll(struct dice *dice)
{
    uint64_t x = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((x ^ (x >> 31)) >> 11) + 0.5) * 0x1.0p-53;
}

enum { SEATS = 4, QUEUE_ROOM = 1 << 14 };

struct naive {
    double wait_s, stay_s; /* means */
};

// One replication: seats, a queue of arrival times, a clock. The first tenth is left out.
static struct naive simulate_seats(double rate, double mean_outputs, int requests, uint64_t seed)
{
    static double queue[QUEUE_ROOM];
    struct dice dice = {seed};
    struct {
        double arrival;
        int left;
        bool counts;
    } seats[SEATS] = {{0}};
    double now = 0, next = -log(roll(&dice)) / rate, wait = 0, stay = 0;
    int head = 0, tail = 0, arrived = 0, admitted = 0, counted = 0, busy = 0, ended = 0;
    while (ended < requests) {
        now = busy == 0 && head == tail ? next : now; // idle until the next arrival
        for (; arrived < requests && next <= now; next += -log(roll(&dice)) / rate, arrived++) {
            queue[tail++ % QUEUE_ROOM] = next;
        }
        for (int i = 0; i < SEATS && head != tail; i++) {
            if (seats[i].left == 0) {
                bool counts = admitted++ >= requests / 10;
                double arrival = queue[head++ % QUEUE_ROOM];
                int outputs = 1 + (int)floor(log(roll(&dice)) / log(1 - 1 / mean_outputs));
                seats[i].arrival = arrival, seats[i].left = outputs, seats[i].counts = counts;
                wait += counts ? now - arrival : 0;
                busy++;
            }
        }
        now += STEP_S;
        for (int i = 0; i < SEATS; i++) {
            if (seats[i].left > 0 && --seats[i].left == 0) {
                stay += seats[i].counts ? now - seats[i].arrival : 0;
                counted += seats[i].counts ? 1 : 0;
                busy--, ended++;
            }
        }
    }
    return (struct naive){wait / counted, stay / counted};
}

static double mean_and_error(const struct sample *sample, double *error)
{
    double mean = stats_sum(sample->values, sample->count) / (double)sample->count, sum = 0;
    for (size_t i = 0; i < sample->count; i++) {
        sum += (sample->values[i] - mean) * (sample->values[i] - mean);
    }
    *error = sqrt(sum / (double)(sample->count - 1) / (double)sample->count);
    return mean;
}

// Two means of independent samples, by their standard errors; and those are small.
static void expect_same_mean(const struct sample *a, const struct sample *b, const char *what,
                             double rho)
{
    double x_error, y_error, x = mean_and_error(a, &x_error), y = mean_and_error(b, &y_error);
    double error = sqrt(x_error * x_error + y_error * y_error);
    ck_assert_msg(fabs(x - y) <= 3.5 * error, "%s at rho %.2f: %.6g and %.6g, standard error %.3g",
                  what, rho, x, y, error);
    ck_assert_msg(3.5 * error < 0.2 * y,
                  "%s at rho %.2f: an error of %.3g tells nothing about %.3g", what, rho, error, y);
}

// Erlang's C formula: the mean wait of M/M/c.
static double erlang_wait_s(double rate, double mean_s, int seats)
{
    double load = rate * mean_s, term = 1, sum = 0;
    for (int k = 0; k < seats; k++) {
        sum += term;
        term *= load / (k + 1);
    }
    double all_busy = term / (1 - load / seats);
    return all_busy / (sum + all_busy) * mean_s / (seats - load);
}

static const double seat_loads[] = {0.3, 0.7, 0.85};

START_TEST(seats_agree_with_a_naive_simulation)
{
    enum { OUTPUTS = 12, REQUESTS = 10000, REPLICATIONS = 24 };
    double rho = seat_loads[_i], rate = rho * SEATS / (OUTPUTS * STEP_S);
    struct service service;
    service_init(&service);
    service_set_fixed_step(&service, STEP_NS, SEATS);
    set_outputs(&service, RNG_GEOMETRIC, OUTPUTS);
    set_load(&service, 1, rate, REQUESTS, REPLICATIONS);
    struct record_run run;
    run_study(&service.config, &run);
    struct sample wait, stay, naive_wait = {.count = REPLICATIONS}, naive_stay = naive_wait;
    take(&run, "queue", "mean", 1e-3, &wait);
    take(&run, "e2e", "mean", 1e-3, &stay);
    for (size_t i = 0; i < REPLICATIONS; i++) {
        struct naive naive = simulate_seats(rate, OUTPUTS, REQUESTS, 77 * (i + 1));
        naive_wait.values[i] = naive.wait_s;
        naive_stay.values[i] = naive.stay_s;
    }
    expect_same_mean(&wait, &naive_wait, "wait", rho);
    expect_same_mean(&stay, &naive_stay, "stay", rho);
    record_run_free(&run);
    service_release(&service);
}
END_TEST

START_TEST(many_small_steps_are_erlang_c)
{
    enum { OUTPUTS = 400, REPLICATIONS = 40 };
    const double rho = 0.7, rate = rho * SEATS / (OUTPUTS * STEP_S);
    struct service service;
    service_init(&service);
    service_set_fixed_step(&service, STEP_NS, SEATS);
    set_outputs(&service, RNG_GEOMETRIC, OUTPUTS);
    set_load(&service, 1, rate, 10000, REPLICATIONS);
    struct record_run run;
    run_study(&service.config, &run);
    struct sample wait;
    take(&run, "queue", "mean", 1e-3, &wait);
    struct stats_interval interval = stats_interval_t(wait.values, wait.count, 0.999, 0);
    double theory = erlang_wait_s(rate, OUTPUTS * STEP_S, SEATS);
    // Waiting for the end of the running step adds up to one step.
    ck_assert_msg(interval.low <= theory + STEP_S && theory <= interval.high,
                  "M/M/%d at rho %.2f: theory %.4f, found [%.4f, %.4f]", SEATS, rho, theory,
                  interval.low, interval.high);
    ck_assert_double_lt(interval.high - interval.low, 0.3 * theory);
    record_run_free(&run);
    service_release(&service);
}
END_TEST

/* ---- processor sharing ---- */

static const enum rng_kind sharing_kinds[] = {RNG_FIXED, RNG_GEOMETRIC};

START_TEST(a_step_that_costs_by_sequence_is_processor_sharing)
{
    enum { OUTPUTS = 200, REPLICATIONS = 20 };
    const double rho = 0.6, per_seq_s = 1e-3, mean_s = OUTPUTS * per_seq_s;
    struct service service;
    service_init(&service);
    service.cost = (struct cost_options){.level = COST_AFFINE, .has_level = true};
    service.cost.affine.per_decode_seq_ns = service.cost.affine.per_prefill_token_ns =
        per_seq_s * 1e9;
    set_outputs(&service, sharing_kinds[_i], OUTPUTS);
    set_load(&service, rho, 1 / mean_s, 5000, REPLICATIONS);
    struct record_run run;
    run_study(&service.config, &run);
    struct sample stay;
    take(&run, "e2e", "mean", 1e-3, &stay);
    struct stats_interval interval = stats_interval_t(stay.values, stay.count, 0.999, 0);
    double theory = mean_s / (1 - rho);
    // An arrival waits for the running step, of as many sequences as there are: rho / (1 - rho) in
    // the mean, a little more when one comes. That is the discretization.
    double running_step_s = per_seq_s * (1 + rho) / (1 - rho);
    ck_assert_msg(interval.low <= theory + running_step_s && theory <= interval.high,
                  "sharing: theory %.5f, found [%.5f, %.5f]", theory, interval.low, interval.high);
    ck_assert_double_lt(interval.high - interval.low, 0.15 * theory);
    record_run_free(&run);
    service_release(&service);
}
END_TEST

/* ---- identities ---- */

// One seat, step by step: what a run's integrals are follows from its rows.
START_TEST(integrals_follow_from_the_rows_of_one_seat)
{
    struct service service;
    service_init(&service);
    service_set_fixed_step(&service, STEP_NS, 1);
    set_outputs(&service, RNG_GEOMETRIC, MEAN_OUTPUTS);
    set_load(&service, 0.8, 1 / (MEAN_OUTPUTS * STEP_S), 3000, 1);
    struct record_run rows;
    struct record_memory memory;
    struct serve_result result;
    struct kvsim_error err = {0};
    record_run_init(&rows);
    record_memory_init(&memory, &rows, 1);
    memory.sink.request_limit = UINT64_MAX;
    struct serve_run_options options = {.replication = 1, .sink = &memory.sink};
    ck_assert_int_eq(serve_run(&service.config, &options, &result, &err), KVSIM_OK);
    base_i128 waiting_ns = 0, running_ns = 0, busy_ns = 0;
    base_i128 block_steps = 0, token_steps = 0;
    for (size_t i = 0; i < rows.requests.count; i++) {
        const struct record_request *row = &rows.requests.at[i];
        waiting_ns += row->queue_ns;
        running_ns += row->e2e_ns - row->queue_ns;
        busy_ns += row->output_tokens * STEP_NS;
        for (int64_t tokens = 1; tokens <= row->output_tokens; tokens++) {
            token_steps += tokens;
            block_steps += (tokens + 15) / 16;
        }
    }
    const struct serve_integrals *whole = &result.replicas[0].whole;
    ck_assert_uint_eq(rows.requests.count, 3000);
    ck_assert(whole->waiting == waiting_ns * BASE_TICKS_PER_NS);
    ck_assert(whole->running == running_ns * BASE_TICKS_PER_NS);
    ck_assert(whole->running == whole->busy);
    ck_assert(whole->busy == busy_ns * BASE_TICKS_PER_NS);
    ck_assert(whole->live_tokens == token_steps * STEP_NS * BASE_TICKS_PER_NS);
    ck_assert(whole->used_blocks == block_steps * STEP_NS * BASE_TICKS_PER_NS);
    ck_assert(result.sojourn_ticks == result.in_flight_ticks);
    ck_assert(result.in_flight_ticks == whole->waiting + whole->running);
    char broken[200];
    result_check_identities(&service.config, &result, broken, sizeof broken);
    ck_assert_str_eq(broken, "");
    serve_result_release(&result);
    record_run_free(&rows);
    service_release(&service);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("theory");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, one_seat_is_pollaczek_khinchine, 0, ONE_SEAT_COUNT);
    tcase_add_loop_test(tcase, seats_agree_with_a_naive_simulation, 0, 3);
    tcase_add_test(tcase, many_small_steps_are_erlang_c);
    tcase_add_loop_test(tcase, a_step_that_costs_by_sequence_is_processor_sharing, 0, 2);
    tcase_add_test(tcase, integrals_follow_from_the_rows_of_one_seat);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
