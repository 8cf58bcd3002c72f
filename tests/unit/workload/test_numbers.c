#include "support/unit.h"

#include "unit/workload/spec_util.h"

static void check_fraction(double value, int64_t num, int64_t den)
{
    struct base_rational rational = workload_rational(value);

    ck_assert_msg(rational.num == num && rational.den == den, "%g is %lld/%lld", value,
                  (long long)rational.num, (long long)rational.den);
}

START_TEST(rates_are_the_fractions_that_were_written)
{
    check_fraction(3.0, 3, 1);
    check_fraction(0.1, 1, 10);
    check_fraction(1.0 / 3.0, 1, 3);
    check_fraction(7.3, 73, 10);
    check_fraction(0.5, 1, 2);
    check_fraction(123456.789, 123456789, 1000);
    check_fraction(1e-9, 1, 1000000000);
    check_fraction(240.0 / 60.0, 4, 1);
}
END_TEST

START_TEST(every_value_comes_back)
{
    for (double value = 1.2345e-9; value < 1e12; value *= 3.7) {
        struct base_rational rational = workload_rational(value);

        ck_assert_double_eq_tol((double)rational.num / (double)rational.den / value, 1.0, 1e-15);
    }
}
END_TEST

START_TEST(constant_rates_do_not_drift)
{
    struct base_rational third = {.num = 3, .den = 1};
    int64_t at_ns;

    ck_assert_int_eq(workload_time_at_rate(1, third, &at_ns, NULL), KVSIM_OK);
    ck_assert_int_eq(at_ns, 333333333);
    ck_assert_int_eq(workload_time_at_rate(2, third, &at_ns, NULL), KVSIM_OK);
    ck_assert_int_eq(at_ns, 666666667);
    ck_assert_int_eq(workload_time_at_rate(30000000, third, &at_ns, NULL), KVSIM_OK);
    ck_assert_int_eq(at_ns, INT64_C(10000000) * 1000000000);
}
END_TEST

START_TEST(gaps_are_rounded_and_bounded)
{
    int64_t at_ns = 10;

    ck_assert_int_eq(workload_add_gap(&at_ns, 2.5, NULL), KVSIM_OK);
    ck_assert_int_eq(at_ns, 13);
    ck_assert_int_eq(workload_add_gap(&at_ns, 0.49, NULL), KVSIM_OK);
    ck_assert_int_eq(at_ns, 13);
    ck_assert_int_eq(workload_add_gap(&at_ns, 1e19, NULL), KVSIM_ERR_SCENARIO);
    at_ns = INT64_MAX - 5;
    ck_assert_int_eq(workload_add_gap(&at_ns, 6.0, NULL), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(workload_add_gap(&at_ns, (double)NAN, NULL), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(
        workload_time_at_rate(1000, (struct base_rational){1, 100000000000}, &at_ns, NULL),
        KVSIM_ERR_SCENARIO);
}
END_TEST

START_TEST(rates_have_a_range)
{
    static const double bad[] = {0.0, -1.0, 1e-10, 1e13, (double)INFINITY, (double)NAN};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct kvsim_error err = {0};

        ck_assert_int_eq(workload_check_rate(bad[i], "rate", &err), KVSIM_ERR_SCENARIO);
        ck_assert_str_eq(err.key, "rate");
    }
    ck_assert_int_eq(workload_check_rate(8.0, "rate", NULL), KVSIM_OK);
}
END_TEST

int main(void)
{
    return unit_run("workload.numbers", (const TTest *const[]){
                                            rates_are_the_fractions_that_were_written,
                                            every_value_comes_back,
                                            constant_rates_do_not_drift,
                                            gaps_are_rounded_and_bounded,
                                            rates_have_a_range,
                                            NULL,
                                        });
}
