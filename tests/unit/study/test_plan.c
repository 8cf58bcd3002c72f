/* Plans of small queues with fixed step times: the answer, what it may claim, and the demand. */
#include "queue_plan.h"

START_TEST(the_answer_does_not_lean_on_where_the_search_began)
{
    static const char *const starts[] = {"{process: poisson, rate: 0.02/s}",
                                         "{process: poisson, rate: 8/s}"};
    double roots[2], headrooms[2];
    for (size_t i = 0; i < 2; i++) {
        struct study_plan_request request = usual();
        request.demand = 0.7;
        request.demand_is_rate = true;
        must_make(starts[i], targets, &request);
        ck_assert_int_eq(best()->status, RECORD_CANDIDATE_OK);
        ck_assert_int_eq(best()->replicas, 1);
        roots[i] = best()->root;
        headrooms[i] = best()->headroom;
        ck_assert_double_ge(headrooms[i], 0);
        // The loads that are shown say the same: whoever divides them by the demand finds these headrooms.
        ck_assert_double_eq_tol(headrooms[i], best()->max_load / 0.7 - 1, 1e-9);
        ck_assert_double_eq_tol(best()->headroom_low, best()->ci_low / 0.7 - 1, 1e-9);
        ck_assert_double_eq_tol(best()->headroom_high, best()->ci_high / 0.7 - 1, 1e-9);
        ck_assert_double_le(best()->headroom_low, headrooms[i]);
        ck_assert_double_ge(best()->headroom_high, headrooms[i]);
        record_plan_free(&plan);
    }
    ck_assert_double_eq_tol(roots[1], roots[0], 0.004 * roots[0]);
}
END_TEST

START_TEST(several_replicas_carry_what_they_are_shown_to_carry)
{
    struct study_plan_request request = usual();
    request.demand = 1.8;
    request.demand_is_rate = true;
    request.growth_per_month = 0.1;
    must_make(poisson, targets, &request);
    ck_assert_int_eq(best()->replicas, 2);
    ck_assert(best()->is_verified);
    ck_assert_double_ge(best()->carried_load, 1.8);
    ck_assert_double_ge(best()->carried_load, 2 * best()->root); // the seats are shared
    ck_assert_double_eq_tol(best()->headroom, best()->carried_load / 1.8 - 1, 1e-9);
    // The growth table has the same number: it steps up where the headroom is used up.
    ck_assert_int_eq(plan.forecast.at[0].replicas, 2);
    for (size_t i = 0; i < plan.forecast.count; i++) {
        const struct record_forecast *row = &plan.forecast.at[i];
        ck_assert_int_eq(row->replicas > 2, row->months > best()->months_to_breach);
        ck_assert_double_ge((double)row->replicas * best()->carried_load / 2, row->demand * 0.9999);
    }
    record_plan_free(&plan);
}
END_TEST

START_TEST(too_few_requests_reach_no_limit)
{
    struct study_plan_request request = usual();
    must_make(poisson, "run: {requests: 2, replications: 4}\nslo: [\"queue mean <= 200 ms\"]\n",
              &request);
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_NOT_REACHED);
    ck_assert_double_eq(best()->max_load, 0);
    ck_assert_double_eq(best()->sure_load, 0);
    ck_assert_int_eq(best()->replicas, 0);
    ck_assert_ptr_nonnull(strstr(best()->reason, "a run of 2 requests is too short"));
    record_plan_free(&plan);

    // 200 requests: beyond 20 clients each would have less than ten.
    request = usual();
    must_make("{process: closed_loop, concurrency: 2}",
              "run: {requests: 200, replications: 2}\nslo: [\"queue mean <= 1000 s\"]\n", &request);
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_NOT_REACHED);
    ck_assert_double_ge(best()->max_load, 4);
    ck_assert_double_le(best()->max_load, 24);
    ck_assert_ptr_nonnull(strstr(best()->reason, "set run.requests to more"));
    ck_assert(isnan(best()->missed_load));
    ck_assert(isnan(best()->ci_low));
    ck_assert_double_eq(best()->sure_load, 0);
    record_plan_free(&plan);

    request = usual();
    must_make("{process: closed_loop, concurrency: 2}", "run: {requests: 200, replications: 2}\n",
              &request);
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_NOT_REACHED);
    ck_assert_ptr_nonnull(strstr(best()->reason, "no target is stated"));
    record_plan_free(&plan);
}
END_TEST

static const struct record_probe *probe_at(double load)
{
    for (size_t i = 0; i < best()->probes.count; i++) {
        const struct record_probe *probe = &best()->probes.at[i];
        if (!(probe->load < load) && !(probe->load > load))
            return probe;
    }
    ck_abort_msg("no run at %g", load);
}

/* Of 30 requests, 8/s miss the target, as do 4/s and 2/s; from about 1.4/s on a run is too short to be met. */
static const char short_above[] = "run: {requests: 30, replications: 3, seed: 1}\n"
                                  "slo: [\"queue mean <= 500 ms\"]\n";

START_TEST(a_miss_above_runs_that_are_too_short_is_kept)
{
    struct study_plan_request request = usual();
    must_make("{process: poisson, rate: 8/s}", short_above, &request);
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_NOT_REACHED);
    ck_assert_double_eq(best()->missed_load, 2);
    ck_assert(!probe_at(2)->is_met);
    ck_assert_ptr_nonnull(strstr(best()->reason, "at 2 requests/s queue mean <= 500 ms is missed, "
                                                 "but at "));
    ck_assert_double_gt(best()->max_load, 1);
    ck_assert_double_lt(best()->max_load, 2);
    // What is not enough is never said to be: this run lasts 9.97 times as long as a request takes.
    ck_assert_ptr_nonnull(strstr(best()->reason, "it lasts 9.9 times"));
    record_plan_free(&plan);
}
END_TEST

START_TEST(a_bound_is_counted_where_it_is_surely_met)
{
    struct study_plan_request request = usual();
    request.demand = 0.5;
    request.demand_is_rate = true;
    must_make("{process: poisson, rate: 8/s}", short_above, &request);
    ck_assert(!probe_at(best()->max_load)->is_met_surely); // the bound itself is not
    ck_assert_double_eq(best()->counted_load, 1);
    ck_assert(probe_at(1)->is_met_surely);
    ck_assert_int_eq(best()->replicas, 1);
    ck_assert(best()->is_verified);
    record_plan_free(&plan);
}
END_TEST

START_TEST(requests_that_never_end_show_no_load)
{
    // Longer than the model may read: every one is turned away.
    static const struct scenario_override longer = {.key = "workload.prompt_tokens",
                                                    .value = "9000"};
    struct study_plan_request request = usual();
    request.overrides = &longer;
    request.override_count = 1;
    must_make(poisson, "run: {requests: 20, replications: 2}\n", &request);
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_NOT_REACHED);
    ck_assert_double_eq(best()->max_load, 0);
    ck_assert_double_eq(best()->counted_load, 0);
    ck_assert_ptr_nonnull(strstr(best()->reason, "none of a run's requests is answered"));
    for (size_t i = 0; i < best()->probes.count; i++) {
        ck_assert_double_eq(best()->probes.at[i].rounds, 0);
        ck_assert(best()->probes.at[i].is_short);
    }
    record_plan_free(&plan);
}
END_TEST

START_TEST(the_run_that_is_shown_is_the_one_behind_the_answer)
{
    struct study_plan_request request = usual();
    request.half_width = 0.15; // more replications than the scenario has
    request.run_wanted = true;
    request.demand = 40; // too much to be simulated whole
    request.demand_is_rate = true;
    must_make(poisson, targets, &request);
    ck_assert(!best()->is_verified);
    ck_assert_int_gt(best()->replications, 3);
    ck_assert(plan.has_run);
    ck_assert_int_eq(plan.run.summary[RECORD_REPLICATIONS].integer, best()->replications);
    ck_assert_uint_eq(plan.runs_simulated, best()->probes.count + 1); // nothing is stored here
    record_plan_free(&plan);

    request.demand = 0.7;
    must_make(poisson, targets, &request);
    ck_assert(best()->is_verified);
    ck_assert_int_eq(plan.run.summary[RECORD_REPLICATIONS].integer, 3); // as the demand's was
    record_plan_free(&plan);
}
END_TEST

START_TEST(a_missing_interval_says_why)
{
    struct study_plan_request request = usual();
    must_make(poisson, "run: {requests: 800, replications: 2, seed: 1}\n", &request);
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_OK);
    ck_assert(isnan(best()->ci_low));
    ck_assert_str_eq(best()->no_interval, "no target is stated (slo), and overload has no margin");
    record_plan_free(&plan);
}
END_TEST

/* 150 requests that begin with empty seats wait less than those of the steady state, for which Erlang's formula says 1.037/s. */
START_TEST(longer_runs_show_what_the_scenarios_are_too_short_for)
{
    struct study_plan_request request = usual();
    request.half_width = 0.045;
    must_make(poisson,
              "run: {requests: 150, replications: 10, seed: 1}\n"
              "slo: [\"queue mean <= 200 ms\"]\n",
              &request);
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_OK);
    ck_assert_int_eq(best()->longer_requests, 600);
    ck_assert_double_eq_tol(best()->longer_root, 1.037, 0.02);
    ck_assert_double_lt(best()->longer_root, best()->root);
    ck_assert_double_le(best()->ci_low, best()->longer_root);
    ck_assert_double_le(best()->ci_low, 1.037);
    ck_assert_double_ge(best()->ci_high, 1.037);
    ck_assert_double_lt(best()->sure_load, best()->longer_root);
    for (size_t i = 0; i < best()->probes.count; i++) // the curve is that of the scenario's runs
        ck_assert_double_eq(record_value_real(&best()->probes.at[i].summary[RECORD_REQUESTS]), 150);
    record_plan_free(&plan);
}
END_TEST

START_TEST(one_replication_is_sure_of_nothing)
{
    struct study_plan_request request = usual();
    must_make(poisson, "run: {requests: 400, replications: 1}\nslo: [\"queue mean <= 200 ms\"]\n",
              &request);
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_OK);
    ck_assert(isnan(best()->ci_low) && isnan(best()->half_width));
    ck_assert_str_eq(best()->no_interval, "one replication");
    ck_assert_double_eq(best()->sure_load, 0);
    ck_assert_double_eq(best()->counted_load, best()->max_load);
    ck_assert_int_eq(best()->replicas, 1);
    for (size_t i = 0; i < best()->probes.count; i++)
        ck_assert(!best()->probes.at[i].is_met_surely);
    record_plan_free(&plan);
}
END_TEST

START_TEST(a_precision_out_of_reach_is_not_claimed)
{
    struct study_plan_request request = usual();
    request.half_width = 0.001;
    must_make(poisson, "run: {requests: 60, replications: 2}\nslo: [\"queue mean <= 200 ms\"]\n",
              &request);
    ck_assert_int_eq(best()->replications, 16); // eight times the scenario's
    ck_assert_double_gt(best()->half_width, 0.001);
    ck_assert(!record_candidate_is_precise(&plan, best()));
    record_plan_free(&plan);
    request = usual();
    must_make(poisson, targets, &request);
    ck_assert(record_candidate_is_precise(&plan, best()));
    record_plan_free(&plan);
}
END_TEST

START_TEST(sessions_are_counted_as_such)
{
    struct study_plan_request request = usual();
    must_make("{process: poisson, rate: 0.1/s}\n"
              "  sessions: {turns: 3, prompt_growth: 1}",
              "run: {requests: 120, replications: 2, seed: 1}\n"
              "slo: [\"queue mean <= 200 ms\"]\n",
              &request);
    ck_assert_int_eq(plan.load, RECORD_LOAD_SESSION_RATE);
    ck_assert_str_eq(record_load_unit(plan.load), "sessions/s");
    ck_assert_int_eq(best()->status, RECORD_CANDIDATE_OK);
    ck_assert_double_eq_tol(best()->max_rate, 3 * best()->max_load, 0.3 * best()->max_load);
    record_plan_free(&plan);
}
END_TEST

static void refuse_demand(const char *arrival, double demand, bool is_rate, const char *words)
{
    struct study_plan_request request = usual();
    request.demand = demand;
    request.demand_is_rate = is_rate;
    ck_assert_int_eq(make(arrival, targets, &request), KVSIM_ERR_USAGE);
    ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
    record_plan_free(&plan);
}

START_TEST(a_demand_has_the_unit_of_the_arrivals)
{
    static const char loop[] = "{process: closed_loop, concurrency: 2}";
    refuse_demand(poisson, 5, false, "arrivals have a rate, such as 5/s");
    refuse_demand(loop, 5, true, "a closed loop has clients");
    refuse_demand(loop, 2.5, false, "a whole number");
    struct study_plan_request request = usual();
    request.demand = 3;
    must_make(loop, "run: {requests: 400, replications: 2}\nslo: [\"queue mean <= 1 s\"]\n",
              &request);
    ck_assert_int_eq(plan.load, RECORD_LOAD_CONCURRENCY);
    ck_assert_double_eq(plan.demand, 3);
    record_plan_free(&plan);
}
END_TEST

START_TEST(candidates_are_compared_under_one_demand)
{
    struct study_axes axes;
    struct study_plan_request request = usual();
    study_axes_init(&axes);
    ck_assert_int_eq(study_axes_add(&axes, "workload.arrival.rate=0.4/s,0.6/s", &err), KVSIM_OK);
    request.axes = &axes;
    ck_assert_int_eq(make(poisson, targets, &request), KVSIM_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, "different demands, 0.4 requests/s and 0.6"));
    record_plan_free(&plan);
    study_axes_free(&axes);
}
END_TEST

int main(void)
{
    return unit_run(
        "study.plan",
        (const TTest *const[]){
            the_answer_does_not_lean_on_where_the_search_began,
            several_replicas_carry_what_they_are_shown_to_carry, too_few_requests_reach_no_limit,
            a_miss_above_runs_that_are_too_short_is_kept, a_bound_is_counted_where_it_is_surely_met,
            requests_that_never_end_show_no_load,
            the_run_that_is_shown_is_the_one_behind_the_answer, a_missing_interval_says_why,
            longer_runs_show_what_the_scenarios_are_too_short_for,
            one_replication_is_sure_of_nothing, a_precision_out_of_reach_is_not_claimed,
            sessions_are_counted_as_such, a_demand_has_the_unit_of_the_arrivals,
            candidates_are_compared_under_one_demand, NULL});
}
