#include "base/text.h"
#include "calib/calibrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static void print_value(struct base_text *out, enum spec_coefficient_unit unit, double value)
{
    switch (unit) {
    case SPEC_SECONDS:
        base_text_printf(out, "%.6g us", value * 1e6);
        return;
    case SPEC_BYTES:
        base_text_printf(out, "%.6g B", value);
        return;
    case SPEC_SHARE:
    case SPEC_TIMES:
        base_text_printf(out, "%.6g", value);
        return;
    }
}

/* Within double quotes of YAML. */
static void print_quoted(struct base_text *out, const char *text)
{
    base_text_add(out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            base_text_add(out, "\\");
        base_text_add_n(out, (unsigned char)*text < ' ' ? " " : text, 1);
    }
    base_text_add(out, "\"\n");
}

static void print_coefficients(const struct calib_result *result, struct base_text *out)
{
    bool any = false;
    for (size_t i = 0; i < SPEC_COEFFICIENT_COUNT; i++)
        any = any || result->calibration.has[i];
    if (!any)
        return;
    base_text_add(out, "  coefficients:\n");
    for (size_t i = 0; i < SPEC_COEFFICIENT_COUNT; i++) {
        if (!result->calibration.has[i])
            continue;
        base_text_printf(out, "    %s: ", spec_coefficients[i].name);
        print_value(out, spec_coefficients[i].unit, result->calibration.value[i]);
        double spread = i < result->coefficient_count ? result->coefficients[i].spread : 0;
        if (spread > 0)
            base_text_printf(out, "   # +- %.2g %%", 100 * spread);
        base_text_add(out, "\n");
    }
}

static void print_collectives(const struct spec_calibration *calibration, struct base_text *out)
{
    if (calibration->collective_count == 0)
        return;
    base_text_add(out, "  all_reduce:\n");
    for (size_t i = 0; i < calibration->collective_count; i++) {
        const struct spec_collective *fit = &calibration->collectives[i];
        base_text_printf(out, "    - {gpus: %" PRIu32 ", latency: %.6g us, bandwidth: %.6g GB/s",
                         fit->gpu_count, fit->latency_s * 1e6, fit->bytes_per_s * 1e-9);
        if (fit->bulk_bytes_per_s > 0)
            base_text_printf(out, ", bulk_latency: %.6g us, bulk_bandwidth: %.6g GB/s",
                             fit->bulk_latency_s * 1e6, fit->bulk_bytes_per_s * 1e-9);
        base_text_add(out, "}\n");
    }
}

static void print_fit(const struct calib_result *result, struct base_text *out)
{
    base_text_printf(out, "  fit:\n    rows: %zu\n    times: %zu\n    outliers: %zu\n",
                     result->row_count, result->time_count, result->outlier_count);
    if (result->bound_count > 0)
        base_text_printf(out, "    bounds: {n: %zu, broken: %zu}\n", result->bound_count,
                         result->bound_broken_count);
    base_text_add(out, "    groups:\n");
    for (size_t i = 0; i < result->group_count; i++) {
        const struct calib_group_errors *group = &result->groups[i];
        base_text_printf(
            out,
            "      %s: {n: %zu, before: %.4f, fitted: %.4f, cross_validated: %.4f, bias: %.4f}\n",
            group->name, group->fitted.count, group->before.mean, group->fitted.mean,
            group->crossed.mean, group->fitted.bias);
    }
    if (result->by_model.count > 0)
        base_text_printf(out, "    left_out_models: {n: %zu, mean: %.4f, bias: %.4f}\n",
                         result->by_model.count, result->by_model.mean, result->by_model.bias);
    base_text_add(out, "    not_determined: [");
    bool is_first = true;
    for (size_t i = 0; i < result->coefficient_count; i++) {
        if (result->coefficients[i].is_determined)
            continue;
        base_text_printf(out, "%s%s", is_first ? "" : ", ", result->coefficients[i].name);
        is_first = false;
    }
    base_text_add(out, "]\n");
}

/* What the machine was; and whose kernels ran, where they are not today's. */
static void print_condition(const struct calib_result *result, struct base_text *out)
{
    struct base_text text = {0};
    base_text_add(&text, result->condition[0] != '\0' ? result->condition : "as in the source");
    if (result->kernels == COST_KERNELS_2024)
        base_text_add(&text, "; kernels of 2024, to be used with cost.kernels: 2024");
    print_quoted(out, text.at);
    base_text_free(&text);
}

void calib_result_print(const struct calib_result *result, struct base_text *out)
{
    struct timespec clock;
    time_t now = clock_gettime(CLOCK_REALTIME, &clock) == 0 ? clock.tv_sec : 0;
    struct tm today;
    char date[16] = "";
    if (gmtime_r(&now, &today) != NULL)
        strftime(date, sizeof date, "%Y-%m-%d", &today);
    base_text_printf(out,
                     "# %s with coefficients fitted to measurements. Written by kvsim calibrate.\n"
                     "# Errors are mean absolute relative ones; cross_validated: each fifth of the "
                     "rows from the rest.\n"
                     "base: %s\n"
                     "calibration:\n"
                     "  claim: measured\n"
                     "  date: \"%s\"\n"
                     "  source: ",
                     result->base, result->base, date);
    struct base_text names = {0};
    for (size_t i = 0; i < result->file_count; i++)
        base_text_printf(&names, "%s%s", i == 0 ? "" : ", ", result->file_names[i]);
    print_quoted(out, names.count > 0 ? names.at : "");
    base_text_free(&names);
    base_text_add(out, "  conditions: ");
    print_condition(result, out);
    print_coefficients(result, out);
    print_collectives(&result->calibration, out);
    print_fit(result, out);
}
