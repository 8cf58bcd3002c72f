/* What inputs that are not known exactly do to the plan of a small queue. */
#include "queue_plan.h"

static const struct record_input *find_input(const char *key)
{
    for (size_t i = 0; i < plan.inputs.count; i++) {
        if (strcmp(plan.inputs.at[i].key, key) == 0)
            return &plan.inputs.at[i];
    }
    ck_abort_msg("no input %s", key);
}

START_TEST(the_ends_lie_about_the_answer_itself)
{
    static const struct study_uncertain inputs[] = {
        {"demand", RECORD_SPREAD_UNIFORM, 0.25},
        {"price.usd_per_gpu_hour", RECORD_SPREAD_UNIFORM, 0.5},
        {"workload.output_tokens", RECORD_SPREAD_UNIFORM, 0.5}};
    struct study_plan_request request = usual();
    request.half_width = 0.1; // more replications than the scenario has
    request.uncertain = inputs;
    request.uncertain_count = 3;
    must_make(poisson,
              "run: {requests: 250, replications: 3, seed: 1}\n"
              "slo: [\"queue mean <= 200 ms\"]\nprice: {usd_per_gpu_hour: 2}\n",
              &request);
    ck_assert_int_gt(best()->replications, 3);
    const struct record_input *demand = find_input("demand"),
                              *price = find_input("price.usd_per_gpu_hour"),
                              *output = find_input("workload.output_tokens");
    ck_assert_double_eq(demand->low.max_load, best()->root);
    ck_assert_double_eq(demand->high.max_load, best()->root);
    ck_assert_double_eq_tol(1 + demand->high.headroom, (1 + plan.headroom_as_stated) / 1.25, 1e-9);
    // What moves nothing leaves the answer where it is: the same random numbers.
    ck_assert_double_eq_tol(price->low.max_load, best()->root, 0.004 * best()->root);
    ck_assert_double_eq_tol(price->high.headroom, plan.headroom_as_stated, 0.01);
    // Answers of half the length: more than twice the rate.
    ck_assert_double_gt(output->low.max_load, 1.9 * best()->root);
    ck_assert_double_lt(output->high.max_load, 0.8 * best()->root);
    ck_assert_ptr_eq(output, &plan.inputs.at[0]); // the largest effect first
    record_plan_free(&plan);
}
END_TEST

START_TEST(one_more_input_moves_no_sample_of_another)
{
    static const struct study_uncertain inputs[] = {
        {"demand", RECORD_SPREAD_NORMAL, 0.4},
        {"price.usd_per_gpu_hour", RECORD_SPREAD_UNIFORM, 0.5}};
    struct record_odds odds[2];
    for (size_t i = 0; i < 2; i++) {
        struct study_plan_request request = usual();
        request.demand = 0.85;
        request.demand_is_rate = true;
        request.uncertain = inputs;
        request.uncertain_count = i + 1;
        request.samples = 8;
        must_make(poisson,
                  "run: {requests: 200, replications: 3, seed: 1}\n"
                  "slo: [\"queue mean <= 200 ms\"]\nprice: {usd_per_gpu_hour: 2}\n",
                  &request);
        odds[i] = plan.odds;
        record_plan_free(&plan);
    }
    ck_assert_int_eq(odds[0].samples, 8);
    ck_assert_int_gt(odds[0].met, 0);
    ck_assert_int_lt(odds[0].met, 8);
    ck_assert_int_eq(odds[1].met, odds[0].met);
    ck_assert_int_eq(odds[1].undecided, odds[0].undecided);
    ck_assert_double_le(odds[0].ci_low, odds[0].probability);
    ck_assert_double_ge(odds[0].ci_high, odds[0].probability);
    ck_assert_int_eq(odds[0].limit_count, odds[0].samples - odds[0].met);
}
END_TEST

static void refuse_input(const char *key, double spread, const char *words)
{
    struct study_uncertain input = {key, RECORD_SPREAD_UNIFORM, spread};
    struct study_plan_request request = usual();
    request.uncertain = &input;
    request.uncertain_count = 1;
    ck_assert_int_eq(make(poisson, targets, &request), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.file, "--uncertain");
    ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
    ck_assert_uint_eq(plan.runs_simulated, 0);
    record_plan_free(&plan);
}

START_TEST(an_input_is_a_number_within_its_range)
{
    refuse_input("engine.profile", 0.1, "'engine.profile' is 'vllm-0.19' here");
    ck_assert_ptr_null(strstr(err.hint, "did you mean"));
    refuse_input("engine.max_num_seq", 0.1, "'engine.max_num_seq' is not a number");
    ck_assert_str_eq(err.hint, "did you mean 'engine.max_num_seqs'?");
}
END_TEST

int main(void)
{
    return unit_run("study.plan_uncertain",
                    (const TTest *const[]){the_ends_lie_about_the_answer_itself,
                                           one_more_input_moves_no_sample_of_another,
                                           an_input_is_a_number_within_its_range, NULL});
}
