#include "calib/errors.h"

#include "support/unit.h"

#include <math.h>

START_TEST(figures_of_a_few)
{
    const double relative[] = {0.1, -0.3, 0.2, 0.0};
    struct calib_errors errors;
    calib_errors_of(relative, 4, &errors);
    ck_assert_uint_eq(errors.count, 4);
    ck_assert_double_eq_tol(errors.mean, 0.15, 1e-12);
    ck_assert_double_eq_tol(errors.median, 0.15, 1e-12);
    ck_assert_double_eq_tol(errors.p90, 0.27, 1e-12);
    ck_assert_double_eq_tol(errors.bias, 0, 1e-12);
    ck_assert_double_eq(errors.worst, -0.3);
    ck_assert_uint_eq(errors.worst_index, 1);
    const double unknown[] = {0.1, (double)NAN, 0.2};
    calib_errors_of(unknown, 3, &errors); // no bound holds for what could not be predicted
    ck_assert(isinf(errors.mean) && isnan(errors.bias));
    calib_errors_of(NULL, 0, &errors);
    ck_assert_double_eq(errors.mean, 0);
}
END_TEST

START_TEST(tau_counts_pairs)
{
    const double up[] = {1, 2, 3, 4}, down[] = {4, 3, 2, 1}, swapped[] = {1, 3, 2, 4},
                 flat[] = {1, 1, 1, 1};
    ck_assert_double_eq(calib_kendall_tau(up, up, 4), 1);
    ck_assert_double_eq(calib_kendall_tau(up, down, 4), -1);
    ck_assert_double_eq_tol(calib_kendall_tau(up, swapped, 4), 4.0 / 6, 1e-12);
    ck_assert(isnan(calib_kendall_tau(up, flat, 4)));
}
END_TEST

int main(void)
{
    return unit_run("calib.errors",
                    (const TTest *const[]){figures_of_a_few, tau_counts_pairs, NULL});
}
