#include "support/made_validation.h"

#include <math.h>

static const struct record_validation_case cases[] = {
    {.id = "a:1",
     .family = "a",
     .source = "s",
     .what = "layer_ms",
     .device = "a",
     .phase = "decode",
     .predicted = 1.1,
     .measured = 1,
     .error = 0.1,
     .agrees = true,
     .note = ""},
    {.id = "a:2",
     .family = "a",
     .source = "s",
     .what = "layer_ms",
     .device = "a",
     .phase = "prefill",
     .predicted = 0.7,
     .measured = 1,
     .error = -0.3,
     .agrees = true,
     .is_fitted = true,
     .note = "it's \"so\""},
};

void made_validation_init(struct record_validation *validation, double bound)
{
    struct record_validation_group group = {.name = "layers",
                                            .summary = "layers",
                                            .level = "datasheet",
                                            .basis = "every other row",
                                            .is_within = bound >= 0.1};
    struct record_validation_part all = {.kind = RECORD_VALIDATION_ALL,
                                         .name = "",
                                         .count = 1,
                                         .agreeing = 1,
                                         .median = 0.1,
                                         .mean = 0.1,
                                         .p90 = 0.1,
                                         .bias = 0.1,
                                         .worst = 0.1,
                                         .tau = NAN,
                                         .worst_case = "a:1"};
    struct record_validation_part fitted = all;
    struct record_validation_bound limits[] = {{"mean_error", "", bound, 0.1, bound < 0.1},
                                               {"bias", "decode", 0.2, 0.1, false}};
    fitted.kind = RECORD_VALIDATION_FITTED;
    fitted.mean = 0.3;
    record_validation_init(validation);
    for (size_t i = 0; i < 2; i++) {
        base_vec_push(&group.cases, cases[i]);
        base_vec_push(&group.bounds, limits[i]);
    }
    base_vec_push(&group.parts, all);
    base_vec_push(&group.parts, fitted);
    base_vec_push(&validation->groups, group);
}
