#include "calib/fit.h"

#include "base/mem.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_multimin.h>
#include <math.h>
#include <stdlib.h>

/* Spread of a good model's logarithms: below it rows are not trusted more. */
static const double noise_least = 0.02, noise_first = 0.10;
static const double linear_from = 3, outlier_from = 7; /* spreads of the noise */
enum { ROUNDS = 4, ITERATIONS = 40 };

struct search {
    struct calib_problem *problem;
    double *values, *predicted, *weights;
    double noise;
};

/*
 * Within (min, max): ln value = ln min + (ln max - ln min) / (1 + exp(origin - x)). The origin keeps x away from 0, since
 * GSL takes its steps of differentiation as a share of x; they are wide enough to be seen through integer times.
 */
static const double place_origin = 8, step_share = 1e-4;

static double value_at(const struct calib_parameter *parameter, double x)
{
    double low = log(parameter->min), high = log(parameter->max);
    return exp(low + (high - low) / (1 + exp(place_origin - x)));
}

static double place_of(const struct calib_parameter *parameter, double value)
{
    double low = log(parameter->min), high = log(parameter->max);
    double share = (log(value) - low) / (high - low);
    share = fmin(fmax(share, 0.01), 0.99);
    return place_origin + log(share / (1 - share));
}

static void values_fill(const struct search *search, const gsl_vector *x)
{
    for (size_t i = 0; i < search->problem->parameter_count; i++)
        search->values[i] = value_at(&search->problem->parameters[i], gsl_vector_get(x, i));
}

static bool is_bound(const struct calib_problem *problem, size_t row)
{
    return problem->is_bound != NULL && problem->is_bound[row];
}

/* ln predicted / measured, 0 below a bound; a row whose prediction is no number counts as far off. */
static double row_residual(const struct search *search, size_t row)
{
    double ratio = search->predicted[row] / search->problem->measured[row];
    if (!(ratio > 0) || !isfinite(ratio))
        return 10;
    return is_bound(search->problem, row) ? fmax(log(ratio), 0) : log(ratio);
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
        if (is_used(problem, i) && !is_bound(problem, i))
            absolute[count++] = fabs(row_residual(search, i));
    qsort(absolute, count, sizeof *absolute, compare);
    double noise = count == 0 ? noise_first : 1.4826 * absolute[count / 2];
    base_free(absolute);
    return fmax(noise, noise_least);
}

static void weights_set(struct search *search)
{
    for (size_t i = 0; i < search->problem->row_count; i++) {
        double r = row_residual(search, i) / (linear_from * search->noise);
        search->weights[i] = is_used(search->problem, i) ? 1 / sqrt(1 + r * r) : 0;
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
        double share = 1 / (1 + exp(place_origin - gsl_vector_get(x, i)));
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
    parameters.h_df = step_share;
    gsl_multifit_nlinear_fdf fdf = {.f = residuals,
                                    .n = problem->row_count + problem->parameter_count,
                                    .p = problem->parameter_count,
                                    .params = search};
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, fdf.n, fdf.p);
    int status = GSL_ENOMEM;
    for (int round = 0; work != NULL && round < ROUNDS; round++) {
        int info;
        status = gsl_multifit_nlinear_init(x, &fdf, work);
        if (status == GSL_SUCCESS)
            status =
                gsl_multifit_nlinear_driver(ITERATIONS, 1e-6, 1e-6, 0, NULL, NULL, &info, work);
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

/* ---- without derivatives: Nelder and Mead's simplex on the robust loss (Cauchy) ---- */

static double rough_loss(const gsl_vector *x, void *context)
{
    struct search *search = context;
    double loss = 0;
    gsl_vector *f = gsl_vector_alloc(search->problem->row_count + search->problem->parameter_count);
    residuals(x, search, f);
    for (size_t i = 0; i < f->size; i++) {
        double r = gsl_vector_get(f, i);
        loss += i < search->problem->row_count ? log1p(r * r) : r * r;
    }
    gsl_vector_free(f);
    return loss;
}

/* Spreads of ln value from differences over a width at which roughness averages out. */
static void rough_spreads(struct search *search, const gsl_vector *x)
{
    const double width = 0.1;
    const struct calib_problem *problem = search->problem;
    size_t rows = problem->row_count + problem->parameter_count;
    gsl_matrix *jacobian = gsl_matrix_alloc(rows, problem->parameter_count);
    gsl_vector *at = gsl_vector_alloc(problem->parameter_count), *low = gsl_vector_alloc(rows),
               *high = gsl_vector_alloc(rows);
    for (size_t i = 0; i < problem->parameter_count; i++) {
        gsl_vector_memcpy(at, x);
        gsl_vector_set(at, i, gsl_vector_get(x, i) - width);
        residuals(at, search, low);
        gsl_vector_set(at, i, gsl_vector_get(x, i) + width);
        residuals(at, search, high);
        for (size_t r = 0; r < rows; r++)
            gsl_matrix_set(jacobian, r, i,
                           (gsl_vector_get(high, r) - gsl_vector_get(low, r)) / (2 * width));
    }
    spreads_set(search, jacobian, x);
    gsl_vector_free(high);
    gsl_vector_free(low);
    gsl_vector_free(at);
    gsl_matrix_free(jacobian);
}

/* One descent from x, which becomes the best point found; *loss its loss. */
static int rough_descend(struct search *search, gsl_vector *x, double *loss)
{
    enum { STEPS = 150 };
    gsl_multimin_function function = {.f = rough_loss, .n = x->size, .params = search};
    gsl_multimin_fminimizer *work =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, x->size);
    gsl_vector *size = gsl_vector_alloc(x->size);
    gsl_vector_set_all(size, 0.5);
    int status = gsl_multimin_fminimizer_set(work, &function, x, size);
    for (int i = 0; i < STEPS && status == GSL_SUCCESS; i++) {
        status = gsl_multimin_fminimizer_iterate(work);
        if (gsl_multimin_fminimizer_size(work) < 1e-3)
            break;
    }
    gsl_vector_memcpy(x, gsl_multimin_fminimizer_x(work));
    *loss = gsl_multimin_fminimizer_minimum(work);
    gsl_multimin_fminimizer_free(work);
    gsl_vector_free(size);
    return status == GSL_ENOPROG ? GSL_SUCCESS : status;
}

/* A simplex that has collapsed along a valley stops short of its bottom: a new one goes on from there. */
static int rough_run(struct search *search, gsl_vector *x)
{
    enum { DESCENTS = 6 };
    double before = INFINITY, loss = 0;
    search->noise = 0.04;
    int status = rough_descend(search, x, &loss);
    for (int i = 1; i < DESCENTS && status == GSL_SUCCESS && loss < before * (1 - 1e-3); i++) {
        before = loss;
        status = rough_descend(search, x, &loss);
    }
    values_fill(search, x);
    search->problem->predict(search->problem->context, search->values, search->predicted);
    search->noise = robust_noise(search);
    rough_spreads(search, x);
    values_fill(search, x);
    search->problem->predict(search->problem->context, search->values, search->predicted);
    weights_set(search);
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
    int status = problem->is_rough ? rough_run(&search, x) : search_run(&search, x);
    gsl_set_error_handler(handler);
    for (size_t i = 0; i < count; i++)
        problem->parameters[i].value = value_at(&problem->parameters[i], gsl_vector_get(x, i));
    for (size_t i = 0; i < rows; i++)
        out->outlier_count += is_used(problem, i) && !is_bound(problem, i) &&
                              fabs(row_residual(&search, i)) > outlier_from * search.noise;
    out->noise = search.noise;
    gsl_vector_free(x);
    base_free(search.weights);
    base_free(search.predicted);
    base_free(search.values);
    if (status != GSL_SUCCESS)
        return base_fail(err, KVSIM_ERR_SCENARIO, "the fit failed: %s", gsl_strerror(status));
    return KVSIM_OK;
}
