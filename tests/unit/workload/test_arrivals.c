/* The processes of a constant rate, and the table of all. */
#include "support/unit.h"

#include "unit/workload/spec_util.h"

#include <gsl/gsl_cdf.h>

enum { COUNT = 20000 };

static int64_t arrivals[COUNT];

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: the distance of the gaps' distribution from `cdf`, times sqrt(n);
 * above 1.95 in 1 of 1,000. */
static double gap_distance(const struct workload_spec *spec,
                           double (*cdf)(double gap_s, const struct workload_spec *spec))
{
    static double gaps[COUNT];
    size_t count = take_arrivals(spec, 7, arrivals, COUNT);
    double worst = 0.0;

    ck_assert_uint_eq(count, COUNT);
    for (size_t i = 0; i < count; i++)
        gaps[i] = (double)(arrivals[i] - (i > 0 ? arrivals[i - 1] : 0)) / 1e9;
    qsort(gaps, count, sizeof gaps[0], compare);
    for (size_t i = 0; i < count; i++) {
        double p = cdf(gaps[i], spec);

        worst = fmax(worst, fmax((double)(i + 1) / COUNT - p, p - (double)i / COUNT));
    }
    return worst * sqrt(COUNT);
}

static double exponential_cdf(double gap_s, const struct workload_spec *spec)
{
    return gsl_cdf_exponential_P(gap_s, 1.0 / spec->rate_per_s);
}

static double gamma_cdf(double gap_s, const struct workload_spec *spec)
{
    return gsl_cdf_gamma_P(gap_s, spec->burstiness, 1.0 / (spec->rate_per_s * spec->burstiness));
}

/* cv 2: shape k with Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 = 5 */
#define WEIBULL_SHAPE_OF_CV_2 0.5426887

static double weibull_cdf(double gap_s, const struct workload_spec *spec)
{
    double scale = 1.0 / (spec->rate_per_s * tgamma(1.0 + 1.0 / WEIBULL_SHAPE_OF_CV_2));

    return gsl_cdf_weibull_P(gap_s, scale, WEIBULL_SHAPE_OF_CV_2);
}

START_TEST(gaps_have_their_distribution)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);

    spec.request_limit = COUNT;
    ck_assert_double_lt(gap_distance(&spec, exponential_cdf), 1.95);
    spec.process = WORKLOAD_GAMMA;
    spec.burstiness = 0.4;
    ck_assert_double_lt(gap_distance(&spec, gamma_cdf), 1.95);
    spec.burstiness = 5.0;
    ck_assert_double_lt(gap_distance(&spec, gamma_cdf), 1.95);
    spec.process = WORKLOAD_WEIBULL;
    spec.cv = 2.0;
    ck_assert_double_lt(gap_distance(&spec, weibull_cdf), 1.95);
}
END_TEST

START_TEST(burstiness_one_is_poisson)
{
    static int64_t poisson[1000], gamma[1000];
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);

    take_arrivals(&spec, 3, poisson, 1000);
    spec.process = WORKLOAD_GAMMA;
    take_arrivals(&spec, 3, gamma, 1000);
    ck_assert_mem_eq(poisson, gamma, sizeof poisson);
}
END_TEST

START_TEST(equal_gaps_begin_one_gap_after_zero)
{
    struct workload_spec spec = simple_spec(WORKLOAD_DETERMINISTIC);

    spec.rate_per_s = 3.0;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, COUNT), 1000);
    ck_assert_int_eq(arrivals[0], 333333333);
    ck_assert_int_eq(arrivals[2], 1000000000);
    ck_assert_int_eq(arrivals[998], INT64_C(333000000000));
    spec.process = WORKLOAD_GAMMA;
    spec.burstiness = (double)INFINITY;
    take_arrivals(&spec, 1, arrivals, COUNT);
    ck_assert_int_eq(arrivals[998], INT64_C(333000000000));
    spec = simple_spec(WORKLOAD_DETERMINISTIC);
    spec.rate_per_s = 0.0;
    spec.interval_ns = 700;
    take_arrivals(&spec, 1, arrivals, COUNT);
    ck_assert_int_eq(arrivals[999], 700000);
}
END_TEST

START_TEST(rates_share_their_randomness)
{
    static int64_t slow[1000], fast[1000];
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);

    take_arrivals(&spec, 3, slow, 1000);
    spec.rate_per_s *= 2.0;
    take_arrivals(&spec, 3, fast, 1000);
    for (size_t i = 0; i < 1000; i++)
        ck_assert_double_eq_tol((double)slow[i] / (double)fast[i], 2.0, 1e-5);
}
END_TEST

START_TEST(infinite_rates_are_all_at_once)
{
    static const enum workload_process processes[] = {WORKLOAD_POISSON, WORKLOAD_GAMMA,
                                                      WORKLOAD_WEIBULL, WORKLOAD_DETERMINISTIC,
                                                      WORKLOAD_ALL_AT_ONCE};

    for (size_t i = 0; i < sizeof processes / sizeof processes[0]; i++) {
        struct workload_spec spec = simple_spec(processes[i]);

        spec.rate_per_s = (double)INFINITY;
        ck_assert(!workload_is_steady(&spec));
        ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, COUNT), 1000);
        ck_assert_int_eq(arrivals[999], 0);
        spec.request_limit = 0;
        spec.duration_ns = 5;
        check_open_refused(&spec, "requests");
    }
}
END_TEST

START_TEST(bad_parameters_are_refused)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);

    spec.rate_per_s = 0.0;
    check_open_refused(&spec, "rate");
    spec = simple_spec(WORKLOAD_GAMMA);
    spec.burstiness = 0.0;
    check_open_refused(&spec, "burstiness");
    spec = simple_spec(WORKLOAD_WEIBULL);
    spec.cv = -1.0;
    check_open_refused(&spec, "cv");
    spec = simple_spec(WORKLOAD_DETERMINISTIC);
    spec.rate_per_s = (double)NAN;
    check_open_refused(&spec, "rate");
}
END_TEST

START_TEST(slow_rates_end_in_an_error_not_in_overflow)
{
    struct workload_spec spec = simple_spec(WORKLOAD_DETERMINISTIC);
    struct workload_request request;
    struct kvsim_error err = {0};
    struct workload_source *source;
    enum kvsim_status status = KVSIM_OK;
    bool more;

    spec.rate_per_s = 1e-9;
    source = open_source(&spec, 1, 1);
    for (int i = 0; i < 20 && status == KVSIM_OK; i++)
        status = workload_next(source, &request, &more, &err);
    ck_assert_int_eq(status, KVSIM_ERR_SCENARIO);
    workload_source_close(source);
}
END_TEST

START_TEST(the_table_holds_every_process)
{
    size_t count = 0;

    for (; workload_arrivals[count] != NULL; count++) {
        const struct workload_arrival_ops *ops = workload_arrivals[count];

        ck_assert_int_eq((int)ops->process, (int)count);
        ck_assert_str_eq(workload_process_choices[count].name, ops->policy.name);
        ck_assert_int_eq(workload_process_choices[count].value, (int)count);
        ck_assert_ptr_eq(workload_arrival_find(ops->policy.name), ops);
        ck_assert_ptr_nonnull(ops->policy.opts);
        ck_assert_uint_gt(strlen(ops->policy.summary), 5);
    }
    ck_assert_uint_eq(count, WORKLOAD_TRACE + 1);
    ck_assert_ptr_null(workload_process_choices[count].name);
    ck_assert_ptr_eq(workload_arrival_find("closed-loop"), &workload_arrival_closed_loop);
    ck_assert_ptr_null(workload_arrival_find("poison"));
}
END_TEST

START_TEST(options_become_specs)
{
    struct workload_arrival_opts opts = {.rate_per_s = 8.0,
                                         .burstiness = 2.0,
                                         .cv = 0.5,
                                         .concurrency = 64,
                                         .speedup = 2.0,
                                         .file = "t.csv"};
    struct base_arena arena;
    struct workload_spec spec = {0};
    struct kvsim_error err = {0};

    base_arena_init(&arena);
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        bool needs_list = i == WORKLOAD_MMPP || i == WORKLOAD_PROFILE;

        ck_assert_int_eq(workload_arrivals[i]->compile(&opts, &arena, &spec, &err),
                         needs_list ? KVSIM_ERR_SCENARIO : KVSIM_OK);
        if (!needs_list)
            ck_assert_uint_eq(spec.process, i);
    }
    ck_assert_int_eq(spec.interval_ns, 125000000);
    ck_assert_double_eq(spec.burstiness, 2.0);
    ck_assert_uint_eq(spec.concurrency, 64);
    ck_assert_str_eq(spec.trace_path, "t.csv");
    opts.speedup = 0.0;
    ck_assert_int_eq(workload_arrival_trace.compile(&opts, &arena, &spec, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.key, "speedup");
    opts.rate_per_s = 0.0;
    ck_assert_int_eq(workload_arrival_poisson.compile(&opts, &arena, &spec, &err),
                     KVSIM_ERR_SCENARIO);
    opts.concurrency = 0;
    ck_assert_int_eq(workload_arrival_closed_loop.compile(&opts, &arena, &spec, &err),
                     KVSIM_ERR_SCENARIO);
    base_arena_release(&arena);
}
END_TEST

int main(void)
{
    return unit_run("workload.arrivals", (const TTest *const[]){
                                             gaps_have_their_distribution,
                                             burstiness_one_is_poisson,
                                             equal_gaps_begin_one_gap_after_zero,
                                             rates_share_their_randomness,
                                             infinite_rates_are_all_at_once,
                                             bad_parameters_are_refused,
                                             slow_rates_end_in_an_error_not_in_overflow,
                                             the_table_holds_every_process,
                                             options_become_specs,
                                             NULL,
                                         });
}
