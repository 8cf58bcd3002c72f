#include "calib/kv_left_out.h"

#include "support/check_main.h"

#include <math.h>

static const double gib = 1073741824.0;

/* Points of one engine whose profile says 0.5 GiB of context and 0.4 GiB for each further rank. */
static struct calib_kv_point point_of(const char *family, int64_t further_ranks, double logits)
{
    const int64_t mib = INT64_C(1) << 20;
    struct calib_kv_point point = {
        .family = family,
        .profile = "engine-1.0",
        .available = 20 * gib,
        .activation_slope = -1,
        .non_torch_slope = -1,
        .runtime = {.rule = {.logit_bytes = 10},
                    .context_bytes = 512 * mib,
                    .collective_bytes = 400 * mib,
                    .further_ranks = further_ranks,
                    .logit_count = logits,
                    .layer_bytes = 256 * mib},
    };
    point.runtime.sampler_bytes = (int64_t)(10 * logits) + 64 * mib;
    point.runtime.activation_bytes = point.runtime.sampler_bytes > point.runtime.layer_bytes
                                         ? point.runtime.sampler_bytes
                                         : point.runtime.layer_bytes;
    point.runtime.non_torch_bytes = (512 + 400 * further_ranks) * mib;
    return point;
}

// What the machine does: a quarter less context, half as much again for each further rank and logit.
static void measure(struct calib_kv_point *point)
{
    const double mib = 1048576.0;
    double sampler = 15 * point->runtime.logit_count + 64 * mib;
    double activation = fmax((double)point->runtime.layer_bytes, sampler);
    double non_torch = (384 + 600 * (double)point->runtime.further_ranks) * mib;
    point->measured = point->available - (activation - (double)point->runtime.activation_bytes) -
                      (non_torch - (double)point->runtime.non_torch_bytes);
}

START_TEST(other_families_tell_the_constants)
{
    struct calib_kv_point points[] = {
        point_of("a", 0, 1e6), point_of("a", 3, 4e7), point_of("b", 0, 3e7),
        point_of("b", 7, 1e6), point_of("c", 1, 5e7), point_of("c", 0, 1e6),
    };
    enum { COUNT = sizeof points / sizeof points[0] };
    for (int i = 0; i < COUNT; i++)
        measure(&points[i]);
    double worst = 0;
    calib_kv_leave_families_out(points, COUNT);
    for (int i = 0; i < COUNT; i++) {
        worst = fmax(worst, fabs(points[i].available / points[i].measured - 1));
        ck_assert_double_eq_tol(points[i].left_out / points[i].measured, 1, 0.003);
    }
    ck_assert_double_gt(worst, 0.05);
}
END_TEST

// Ranks that no other family has cost what ranks cost elsewhere, not what the row itself says.
START_TEST(what_no_other_family_tells_is_the_usual_value)
{
    struct calib_kv_point points[] = {point_of("c", 0, 1e6), point_of("c", 2, 1e6),
                                      point_of("d", 3, 1e6)};
    enum { COUNT = sizeof points / sizeof points[0] };
    points[2].runtime.collective_bytes = INT64_C(300) << 20; // a constant of its own
    points[2].runtime.non_torch_bytes = (INT64_C(512) + 900) << 20;
    for (int i = 0; i < COUNT; i++)
        measure(&points[i]);
    calib_kv_leave_families_out(points, COUNT);
    // 384 and 600 MiB a rank from family c alone.
    ck_assert_double_eq_tol(points[2].left_out / points[2].measured, 1, 0.001);
    // Family d cannot part its context from its ranks.
    ck_assert_double_gt(fabs(points[1].left_out / points[1].measured - 1), 0.001);
    // With one family alone nothing is told.
    struct calib_kv_point alone[] = {point_of("a", 1, 1e6), point_of("a", 0, 1e6)};
    measure(&alone[0]);
    measure(&alone[1]);
    calib_kv_leave_families_out(alone, 2);
    ck_assert_double_eq_tol((alone[0].left_out - alone[0].available) / gib, 912 / 1024.0, 1e-6);
}
END_TEST

CHECK_MAIN("calib.kv_left_out", other_families_tell_the_constants,
           what_no_other_family_tells_is_the_usual_value)
