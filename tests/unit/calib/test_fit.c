#include "calib/fit.h"

#include "support/unit.h"

#include <math.h>
#include <string.h>

/* y = a + b x, with a and b in turn; c has no part in it. */
enum { ROWS = 40 };

static void line(void *context, const double *values, double *predicted)
{
    (void)context;
    for (int i = 0; i < ROWS; i++)
        predicted[i] = values[0] + values[1] * i;
}

static void start(struct calib_parameter parameters[3], struct calib_problem *problem,
                  const double *measured)
{
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        parameters[i] = (struct calib_parameter){
            .name = names[i], .initial = 1, .min = 0.001, .max = 1000, .prior = 1};
    *problem = (struct calib_problem){.parameters = parameters,
                                      .parameter_count = 3,
                                      .row_count = ROWS,
                                      .measured = measured,
                                      .predict = line};
}

START_TEST(values_come_back)
{
    for (int rough = 0; rough < 2; rough++) {
        double measured[ROWS];
        struct calib_parameter parameters[3];
        struct calib_problem problem;
        struct calib_fit fit;
        struct kvsim_error err;
        for (int i = 0; i < ROWS; i++)
            measured[i] = 7 + 0.4 * i;
        start(parameters, &problem, measured);
        problem.is_rough = rough == 1;
        ck_assert_int_eq(calib_fit_run(&problem, &fit, &err), KVSIM_OK);
        ck_assert_double_eq_tol(parameters[0].value, 7, rough ? 0.5 : 0.1);
        ck_assert_double_eq_tol(parameters[1].value, 0.4, rough ? 0.04 : 0.01);
        ck_assert(parameters[0].is_determined && parameters[1].is_determined);
        ck_assert(!parameters[2].is_determined);
        ck_assert_uint_eq(fit.used_count, ROWS);
        ck_assert_uint_eq(fit.outlier_count, 0);
    }
}
END_TEST

/* One row in eight takes five times as long: it pulls a coefficient by less than a tenth. */
START_TEST(outliers_pull_little)
{
    double measured[ROWS];
    struct calib_parameter parameters[3];
    struct calib_problem problem;
    struct calib_fit fit;
    struct kvsim_error err;
    for (int i = 0; i < ROWS; i++)
        measured[i] = (7 + 0.4 * i) * (i % 8 == 3 ? 5 : 1);
    start(parameters, &problem, measured);
    ck_assert_int_eq(calib_fit_run(&problem, &fit, &err), KVSIM_OK);
    ck_assert_double_eq_tol(parameters[0].value, 7, 0.7);
    ck_assert_double_eq_tol(parameters[1].value, 0.4, 0.03);
    ck_assert_uint_eq(fit.outlier_count, 5);
}
END_TEST

START_TEST(bounds_hold)
{
    double measured[ROWS];
    struct calib_parameter parameters[3];
    struct calib_problem problem;
    struct calib_fit fit;
    struct kvsim_error err;
    for (int i = 0; i < ROWS; i++)
        measured[i] = 7 + 0.4 * i;
    start(parameters, &problem, measured);
    parameters[0].max = 3;
    ck_assert_int_eq(calib_fit_run(&problem, &fit, &err), KVSIM_OK);
    ck_assert_double_le(parameters[0].value, 3);
    ck_assert_double_ge(parameters[0].value, 2.5);
}
END_TEST

START_TEST(rows_that_are_left_out_have_no_say)
{
    double measured[ROWS];
    bool is_left_out[ROWS];
    struct calib_parameter parameters[3];
    struct calib_problem problem;
    struct calib_fit fit;
    struct kvsim_error err;
    for (int i = 0; i < ROWS; i++) {
        is_left_out[i] = i >= ROWS / 2;
        measured[i] = is_left_out[i] ? 1000 : 7 + 0.4 * i;
    }
    start(parameters, &problem, measured);
    problem.is_left_out = is_left_out;
    ck_assert_int_eq(calib_fit_run(&problem, &fit, &err), KVSIM_OK);
    ck_assert_double_eq_tol(parameters[0].value, 7, 0.2);
    ck_assert_uint_eq(fit.used_count, ROWS / 2);
    memset(is_left_out, true, sizeof is_left_out);
    ck_assert_int_eq(calib_fit_run(&problem, &fit, &err), KVSIM_ERR_SCENARIO);
}
END_TEST

/* The most that a time can be: it pulls where it is broken and is silent where it holds. */
START_TEST(bounds_on_times_pull_one_way)
{
    static const double shares[] = {2, 0.5}; // of the value before
    for (int i = 0; i < 2; i++) {
        double measured[ROWS];
        bool is_bound[ROWS];
        struct calib_parameter parameters[3];
        struct calib_problem problem;
        struct calib_fit fit;
        struct kvsim_error err;
        for (int row = 0; row < ROWS; row++) {
            measured[row] = shares[i] * (1 + row);
            is_bound[row] = true;
        }
        start(parameters, &problem, measured);
        problem.is_bound = is_bound;
        ck_assert_int_eq(calib_fit_run(&problem, &fit, &err), KVSIM_OK);
        ck_assert_double_eq_tol(parameters[1].value, i == 0 ? 1 : 0.5, 0.02);
        ck_assert_int_eq(parameters[1].is_determined, i == 1);
        ck_assert_uint_eq(fit.outlier_count, 0);
    }
}
END_TEST

int main(void)
{
    return unit_run("calib.fit",
                    (const TTest *const[]){values_come_back, outliers_pull_little, bounds_hold,
                                           rows_that_are_left_out_have_no_say,
                                           bounds_on_times_pull_one_way, NULL});
}
