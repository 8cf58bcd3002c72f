/* The fallbacks are shares and times in the range of what devices reach. */
#include "cost/rates.h"

#include "fixture.h"

static bool is_share(double value)
{
    return value > 0.1 && value <= 1;
}

START_TEST(every_dtype_has_its_row)
{
    for (int i = 0; i < SPEC_DTYPE_COUNT; i++) {
        ck_assert(is_share(cost_defaults.gemm_fraction[i]));
        ck_assert(is_share(cost_defaults.weight_stream[i].fraction));
        ck_assert(is_share(cost_defaults.decode_attention[i].fraction));
        ck_assert(cost_defaults.weight_stream[i].fixed_s > 1e-6 &&
                  cost_defaults.weight_stream[i].fixed_s < 20e-6);
        ck_assert(cost_defaults.decode_attention[i].fixed_s > 5e-6 &&
                  cost_defaults.decode_attention[i].fixed_s < 40e-6);
    }
}
END_TEST

START_TEST(longer_prompts_reach_more)
{
    ck_assert(is_share(cost_defaults.prefill_attention_long));
    ck_assert(cost_defaults.prefill_attention_long > cost_defaults.prefill_attention_mid);
    ck_assert(cost_defaults.prefill_attention_mid > cost_defaults.prefill_attention_short);
}
END_TEST

START_TEST(a_graph_launches_faster)
{
    ck_assert(cost_defaults.graph_launch_s > 0 &&
              cost_defaults.graph_launch_s < cost_defaults.launch_s);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("defaults");
    tcase_add_test(tests, every_dtype_has_its_row);
    tcase_add_test(tests, longer_prompts_reach_more);
    tcase_add_test(tests, a_graph_launches_faster);
    return fixture_run(tests);
}
