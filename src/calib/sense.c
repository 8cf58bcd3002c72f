#include "calib/calib_int.h"

#include <math.h>
#include <stdlib.h>

static enum kvsim_status fail_at(const struct calib_work *work, size_t row, struct kvsim_error *err)
{
    const struct calib_row *at = &work->table->rows.at[row];
    base_error_at(err, work->table->files.at[at->file], at->line, 1);
    return err->status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Different times that the model expects: rows of equal sizes, however many, say one thing. */
static size_t count_different(const struct calib_work *work)
{
    size_t count = 0, different = 0;
    double *expected = base_alloc(base_mul_size(work->table->rows.count + 1, sizeof *expected));
    for (size_t i = 0; i < work->table->rows.count; i++)
        if (!work->is_bound[i])
            expected[count++] = work->before[i];
    qsort(expected, count, sizeof *expected, compare);
    for (size_t i = 0; i < count; i++)
        different += i == 0 || expected[i] > expected[i - 1] * (1 + 1e-9);
    base_free(expected);
    return different;
}

static enum kvsim_status check_counts(const struct calib_work *work,
                                      const struct calib_result *result, struct kvsim_error *err)
{
    enum { ROWS_LEAST = 8 };
    size_t count = work->table->rows.count;
    if (count == 0) {
        bool has_other = work->table->other[0] != '\0';
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "no row is of %s (%zu of other devices%s%s%s, %zu without a time)",
                         result->base, result->other_count, has_other ? ", the first of '" : "",
                         work->table->other, has_other ? "'" : "", result->untimed_count);
    }
    if (count - work->bound_count < ROWS_LEAST)
        return base_fail(err, KVSIM_ERR_SCENARIO, "%zu rows are too few to fit: at least %d%s",
                         count - work->bound_count, (int)ROWS_LEAST,
                         work->bound_count > 0 ? " that are not of kvsim's own kernels" : "");
    for (size_t i = 0; i < count; i++) {
        if (isfinite(work->before[i]) && work->before[i] > 0)
            continue;
        base_fail(err, KVSIM_ERR_SCENARIO,
                  "%s cannot run this %s: a size of 0, or a dtype that it lacks", result->base,
                  calib_kind_name(work->table->rows.at[i].kind));
        return fail_at(work, i, err);
    }
    size_t different = count_different(work);
    if (different < ROWS_LEAST)
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "the rows are of %zu different size%s, too few to fit: at least %d",
                         different, different == 1 ? "" : "s", (int)ROWS_LEAST);
    return KVSIM_OK;
}

static const double slow_ratio = 20, fast_ratio = 0.3;

enum kvsim_status calib_check_scale(const double *measured, const double *least, size_t count,
                                    const char *what, struct kvsim_error *err)
{
    size_t slow = 0, fast = 0;
    for (size_t i = 0; i < count; i++) {
        slow += measured[i] > slow_ratio * least[i];
        fast += measured[i] < fast_ratio * least[i];
    }
    if (2 * slow > count)
        return base_fail(
            err, KVSIM_ERR_SCENARIO,
            "%zu of %zu %s are more than 20 times slower than the device: are the times in ms?",
            slow, count, what);
    if (5 * fast > count)
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "%zu of %zu %s are faster than the device can be: are the times in ms, "
                         "and of this device?",
                         fast, count, what);
    return KVSIM_OK;
}

/* A kernel alone on the GPU: no host, no queue, no peer to wait for. */
static bool is_kernel(const struct calib_row *row)
{
    switch (row->kind) {
    case CALIB_GEMM:
    case CALIB_ATTENTION:
    case CALIB_MLA:
    case CALIB_STREAM:
        return true;
    case CALIB_LAYER:
        return row->operators != 1U << COST_OP_ALL_REDUCE;
    default:
        return false;
    }
}

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/*
 * Published kernels take 0.97 to 1.02 times what the device's file says (medians; products and attention of A100, H200 and
 * B200). Half again as long is worth a word, two and a half times is another device.
 */
static const double doubtful_ratio = 1.5, strange_ratio = 2.5;

static enum kvsim_status fail_strange(const struct calib_result *result, double ratio, size_t count,
                                      struct kvsim_error *err)
{
    base_fail(err, KVSIM_ERR_SCENARIO,
              "these %zu kernels take %.2g times what %s takes (the median): are the times in ms, "
              "and of this device?",
              count, ratio, result->base);
    base_error_hint(err, "name the device that was measured, or state its own peaks in a hardware "
                         "file with 'base:'");
    return err->status;
}

static enum kvsim_status check_kernels(const struct calib_work *work, struct calib_result *result,
                                       struct kvsim_error *err)
{
    size_t count = 0;
    double *ratios = base_alloc(base_mul_size(work->table->rows.count + 1, sizeof *ratios));
    for (size_t i = 0; i < work->table->rows.count; i++)
        if (!work->is_bound[i] && is_kernel(&work->table->rows.at[i]))
            ratios[count++] = work->measured[i] / work->before[i];
    double ratio = count == 0 ? 1 : median_of(ratios, count);
    base_free(ratios);
    if (ratio > strange_ratio || ratio < 1 / strange_ratio)
        return fail_strange(result, ratio, count, err);
    result->kernel_count = count;
    result->kernel_ratio = ratio;
    result->is_doubtful = ratio > doubtful_ratio || ratio < 1 / doubtful_ratio;
    return KVSIM_OK;
}

/*
 * Whether times grow with what is measured. Of two rows of one kind of which one should take twice as long or more, it does in all
 * but a few; in a column that was shuffled or sorted the other way it does in half of them or fewer.
 */
static enum kvsim_status check_order(const struct calib_work *work, struct kvsim_error *err)
{
    enum { LEAST = 20 };
    size_t pairs = 0, reversed = 0, first = 0, rows = work->table->rows.count;
    size_t stride = rows / 512 + 1; // pairs of 512 rows are enough
    for (size_t i = 0; i < rows; i += stride) {
        for (size_t k = 0; k < rows; k += stride) {
            if (work->is_bound[i] || work->is_bound[k] ||
                work->table->rows.at[i].kind != work->table->rows.at[k].kind ||
                !(work->before[i] >= 2 * work->before[k]))
                continue;
            pairs++;
            if (work->measured[i] < work->measured[k])
                first = reversed++ == 0 ? i : first;
        }
    }
    if (pairs < LEAST || 3 * reversed <= pairs)
        return KVSIM_OK;
    base_fail(
        err, KVSIM_ERR_SCENARIO,
        "the times do not grow with the sizes: of %zu pairs of rows of which one should take twice "
        "as long, it took less in %zu, this row in the first of them",
        pairs, reversed);
    return fail_at(work, first, err);
}

/* A twentieth of the rows far beyond the others: two units in one file. */
static enum kvsim_status check_units(const struct calib_work *work, struct kvsim_error *err)
{
    enum { LEAST = 3 };
    size_t count = work->table->rows.count - work->bound_count, slow = 0, first = 0;
    for (size_t i = 0; i < work->table->rows.count; i++) {
        if (work->is_bound[i] || !(work->measured[i] > slow_ratio * work->before[i]))
            continue;
        first = slow++ == 0 ? i : first;
    }
    if (slow < LEAST || 20 * slow <= count)
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_SCENARIO,
              "%zu of %zu rows are more than 20 times slower than the device, this one first: are "
              "all times in ms?",
              slow, count);
    return fail_at(work, first, err);
}

enum kvsim_status calib_check_rows(const struct calib_work *work, struct calib_result *result,
                                   struct kvsim_error *err)
{
    enum kvsim_status status = check_counts(work, result, err);
    if (status != KVSIM_OK)
        return status;
    size_t count = 0, rows = work->table->rows.count;
    double *measured = base_alloc(base_mul_size(rows + 1, sizeof *measured));
    double *least = base_alloc(base_mul_size(rows + 1, sizeof *least));
    for (size_t i = 0; i < rows; i++) {
        if (work->is_bound[i])
            continue;
        measured[count] = work->measured[i];
        least[count++] = work->before[i];
    }
    status = calib_check_scale(measured, least, count, "rows", err);
    base_free(measured);
    base_free(least);
    if (status == KVSIM_OK)
        status = check_units(work, err);
    if (status == KVSIM_OK)
        status = check_kernels(work, result, err);
    return status == KVSIM_OK ? check_order(work, err) : status;
}
