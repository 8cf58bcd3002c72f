#include "spec/calibration.h"

#include "support/unit.h"

#include <string.h>

START_TEST(every_coefficient_has_its_row)
{
    for (size_t i = 0; i < SPEC_COEFFICIENT_COUNT; i++) {
        const struct spec_coefficient_row *row = &spec_coefficients[i];
        ck_assert_ptr_nonnull(row->name);
        ck_assert_ptr_nonnull(row->help);
        ck_assert(row->min > 0 && row->min < row->max);
        if (row->unit == SPEC_SHARE)
            ck_assert_double_le(row->max, 1);
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(row->name, spec_coefficients[j].name);
    }
}
END_TEST

/* Four GPUs move 1.5 bytes for each of the message; the faster protocol is taken. */
START_TEST(collectives_take_the_faster_protocol)
{
    struct spec_collective fit = {4, 5e-6, 1e9, 0, 0};
    ck_assert_double_eq_tol(spec_collective_s(&fit, 1e6), 5e-6 + 1.5e-3, 1e-12);
    fit.bulk_latency_s = 100e-6;
    fit.bulk_bytes_per_s = 10e9;
    ck_assert_double_eq_tol(spec_collective_s(&fit, 1e6), 100e-6 + 150e-6, 1e-12);
    ck_assert_double_eq_tol(spec_collective_s(&fit, 1e3), 5e-6 + 1.5e-6, 1e-12);
}
END_TEST

int main(void)
{
    return unit_run("spec.calibration",
                    (const TTest *const[]){every_coefficient_has_its_row,
                                           collectives_take_the_faster_protocol, NULL});
}
