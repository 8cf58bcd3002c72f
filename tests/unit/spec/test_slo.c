#include "spec/slo.h"

#include "support/check_main.h"

START_TEST(a_bound_is_read)
{
    struct spec_slo slo;
    struct kvsim_error err = {0};
    ck_assert_int_eq(spec_slo_parse("ttft p99 <= 2 s", &slo, &err), KVSIM_OK);
    ck_assert_int_eq(slo.metric, SPEC_TTFT);
    ck_assert_int_eq(slo.statistic, SPEC_P99);
    ck_assert_int_eq(slo.bound_ns, 2000000000);
    ck_assert_ptr_null(slo.class_name);
    ck_assert_str_eq(slo.text, "ttft p99 <= 2 s");
}
END_TEST

START_TEST(blanks_case_and_class)
{
    struct spec_slo slo;
    struct kvsim_error err = {0};
    ck_assert_int_eq(spec_slo_parse("  TPOT mean<=50ms  for  batch jobs", &slo, &err), KVSIM_OK);
    ck_assert_int_eq(slo.metric, SPEC_TPOT);
    ck_assert_int_eq(slo.statistic, SPEC_MEAN);
    ck_assert_int_eq(slo.bound_ns, 50000000);
    ck_assert_str_eq(slo.class_name, "batch jobs");
}
END_TEST

START_TEST(every_metric_and_statistic_reads_its_own_name)
{
    for (int m = 0; m < SPEC_METRIC_COUNT; m++) {
        for (int s = 0; s < SPEC_STATISTIC_COUNT; s++) {
            char text[64];
            struct spec_slo slo;
            struct kvsim_error err = {0};
            snprintf(text, sizeof text, "%s %s <= 1 ms", spec_metric_name((enum spec_metric)m),
                     spec_statistic_name((enum spec_statistic)s));
            ck_assert_int_eq(spec_slo_parse(text, &slo, &err), KVSIM_OK);
            ck_assert_int_eq(slo.metric, m);
            ck_assert_int_eq(slo.statistic, s);
        }
    }
}
END_TEST

START_TEST(nonsense_is_refused)
{
    static const char *const texts[] = {
        "",
        "ttft",
        "ttft p99",
        "ttft p99 <=",
        "ttft p99 <= 2",
        "ttft p99 <= 0 s",
        "ttft p99 <= -1 s",
        "ttft p99 < 2 s",
        "ttft p98 <= 2 s",
        "latency p99 <= 2 s",
        "ttft p99 <= 2 s for",
        "ttft p99 <= for chat",
        "ttft p99 <= 2 s please",
        "ttftttttttttttttttttttttttttttttttttttttttttttttttt p99 <= 2 s",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct spec_slo slo;
        struct kvsim_error err = {0};
        ck_assert_msg(spec_slo_parse(texts[i], &slo, &err) == KVSIM_ERR_SCENARIO, "'%s'", texts[i]);
        ck_assert_msg(err.message[0] != '\0', "'%s'", texts[i]);
    }
}
END_TEST

/* The cause, not what follows from it: p99.9 is not p99 with something wrong behind it. */
START_TEST(the_statistic_is_read_whole)
{
    struct spec_slo slo;
    struct kvsim_error err = {0};
    ck_assert_int_eq(spec_slo_parse("ttft p99.9 <= 1 s", &slo, &err), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, "no known statistic") != NULL, "%s", err.message);
    ck_assert_ptr_nonnull(strstr(err.hint, "p95, p99"));
}
END_TEST

START_TEST(quantiles)
{
    ck_assert_double_eq(spec_statistic_quantile(SPEC_P50), 0.5);
    ck_assert_double_eq(spec_statistic_quantile(SPEC_P90), 0.9);
    ck_assert_double_eq(spec_statistic_quantile(SPEC_P95), 0.95);
    ck_assert_double_eq(spec_statistic_quantile(SPEC_P99), 0.99);
    ck_assert_double_eq(spec_statistic_quantile(SPEC_MEAN), -1);
}
END_TEST

CHECK_MAIN("spec.slo", a_bound_is_read, blanks_case_and_class,
           every_metric_and_statistic_reads_its_own_name, nonsense_is_refused,
           the_statistic_is_read_whole, quantiles)
