#include "calib/fit.h"

#include "base/mem.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>

/* Spread of a good model's logarithms: below it rows are not trusted more. */
static const double noise_least = 0.02, noise_first = 0.10;
enum { ROUNDS = 4, ITERATIONS = 40 };

struct search {
    struct calib_problem *problem;
    double *values, *predicted, *weights;
    double noise;
};

/* Within (min, max): ln value = ln min + (ln max - ln min) / (1 + exp(-u)). */
static double value_at(const struct calib_parameter *parameter, double u)
{
    double low = log(parameter->min), high = log(parameter->max);
    return exp(low + (high - low) / (1 + exp(-u)));
}

static double place_of(const struct calib_parameter *parameter, double value)
{
    double low = log(parameter->min), high = log(parameter->max);
    double share = (log(value) - low) / (high - low);
    share = fmin(fmax(share, 0.01), 0.99);
    return log(share / (1 - share));
}

static void values_fill(const struct search *search, const gsl_vector *x)
{
    for (size_t i = 0; i < search->problem->parameter_count; i++)
        search->values[i] = value_at(&search->problem->parameters[i], gsl_vector_get(x, i));
}

/* ln predicted / measured; a row whose prediction is no number counts as far off. */
static double row_residual(const struct search *search, size_t row)
{
    double ratio = search->predicted[row] / search->problem->measured[row];
    return ratio > 0 && isfinite(ratio) ? log(ratio) : 10;
}

static int residuals(const gsl_vector *x, void *context, gsl_vector *f)
{
    struct search *search = context;
    const struct calib_problem *problem = search->problem;
    values_fill(search, x);
    problem->predict(problem->context, search->values, search->predicted);
    for (size_t i = 0; i < problem->row_count; i++)
        gsl_vector_set(f, i, sqrt(search->weights[i]) * row_residual(search, i) / search->noise);
    for (size_t i = 0; i < problem->parameter_count; i++) {
        const struct calib_parameter *parameter = &problem->parameters[i];
        gsl_vector_set(f, problem->row_count + i,
                       log(search->values[i] / parameter->initial) / parameter->prior);
    }
    return GSL_SUCCESS;
}

static bool is_used(const struct calib_problem *problem, size_t row)
{
    return problem->is_left_out == NULL || !problem->is_left_out[row];
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median absolute residual x 1.4826, the standard deviation where errors are normal. */
static double robust_noise(const struct search *search)
{
    const struct calib_problem *problem = search->problem;
    double *absolute = base_alloc(base_mul_size(problem->row_count, sizeof *absolute));
    size_t count = 0;
    for (size_t i = 0; i < problem->row_count; i++)
        if (is_used(problem, i))
            absolute[count++] = fabs(row_residual(search, i));
    qsort(absolute, count, sizeof *absolute, compare);
    double noise = 1.4826 * absolute[count / 2];
    base_free(absolute);
    return fmax(noise, noise_least);
}

static void weights_set(struct search *search)
{
    const double cauchy = 2.385; // 95 % efficient for normal errors
    for (size_t i = 0; i < search->problem->row_count; i++) {
        double r = row_residual(search, i) / (cauchy * search->noise);
        search->weights[i] = is_used(search->problem, i) ? 1 / (1 + r * r) : 0;
    }
}

/* Spreads from the Jacobian at the end: the diagonal of (J' J)^-1, from u to ln value. */
static void spreads_set(struct search *search, const gsl_matrix *jacobian, const gsl_vector *x)
{
    struct calib_problem *problem = search->problem;
    size_t count = problem->parameter_count;
    gsl_matrix *covariance = gsl_matrix_alloc(count, count);
    gsl_multifit_nlinear_covar(jacobian, 0, covariance);
    for (size_t i = 0; i < count; i++) {
        struct calib_parameter *parameter = &problem->parameters[i];
        double share = 1 / (1 + exp(-gsl_vector_get(x, i)));
        double slope = (log(parameter->max) - log(parameter->min)) * share * (1 - share);
        parameter->spread = slope * sqrt(gsl_matrix_get(covariance, i, i));
        parameter->is_determined = parameter->spread < 0.5 * parameter->prior;
    }
    gsl_matrix_free(covariance);
}

static int search_run(struct search *search, gsl_vector *x)
{
    const struct calib_problem *problem = search->problem;
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf fdf = {.f = residuals,
                                    .n = problem->row_count + problem->parameter_count,
                                    .p = problem->parameter_count,
                                    .params = search};
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust,
                                                                      &parameters, fdf.n, fdf.p);
    int status = GSL_ENOMEM;
    for (int round = 0; work != NULL && round < ROUNDS; round++) {
        int info;
        status = gsl_multifit_nlinear_init(x, &fdf, work);
        if (status == GSL_SUCCESS)
            status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-6, 1e-6, 0, NULL, NULL, &info, work);
        if (status == GSL_EMAXITER || status == GSL_ENOPROG)
            status = GSL_SUCCESS; // as far as it goes
        gsl_vector_memcpy(x, gsl_multifit_nlinear_position(work));
        values_fill(search, x);
        problem->predict(problem->context, search->values, search->predicted);
        search->noise = robust_noise(search);
        weights_set(search);
        spreads_set(search, gsl_multifit_nlinear_jac(work), x);
    }
    gsl_multifit_nlinear_free(work);
    return status;
}

enum kvsim_status calib_fit_run(struct calib_problem *problem, struct calib_fit *out,
                                struct kvsim_error *err)
{
    size_t rows = problem->row_count, count = problem->parameter_count;
    *out = (struct calib_fit){0};
    for (size_t i = 0; i < rows; i++)
        out->used_count += is_used(problem, i) ? 1 : 0;
    if (out->used_count == 0 || count == 0)
        return base_fail(err, KVSIM_ERR_SCENARIO, "there is nothing to fit");

    struct search search = {.problem = problem, .noise = noise_first};
    search.values = base_alloc(base_mul_size(count, sizeof(double)));
    search.predicted = base_alloc(base_mul_size(rows, sizeof(double)));
    search.weights = base_alloc(base_mul_size(rows, sizeof(double)));
    for (size_t i = 0; i < rows; i++)
        search.weights[i] = is_used(problem, i) ? 1 : 0;
    gsl_vector *x = gsl_vector_alloc(count);
    for (size_t i = 0; i < count; i++)
        gsl_vector_set(x, i, place_of(&problem->parameters[i], problem->parameters[i].initial));
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    int status = search_run(&search, x);
    gsl_set_error_handler(handler);
    for (size_t i = 0; i < count; i++)
        problem->parameters[i].value = value_at(&problem->parameters[i], gsl_vector_get(x, i));
    for (size_t i = 0; i < rows; i++)
        out->outlier_count += is_used(problem, i) && search.weights[i] < 0.1;
    out->noise = search.noise;
    gsl_vector_free(x);
    base_free(search.weights);
    base_free(search.predicted);
    base_free(search.values);
    if (status != GSL_SUCCESS)
        return base_fail(err, KVSIM_ERR_SCENARIO, "the fit failed: %s", gsl_strerror(status));
    return KVSIM_OK;
}
