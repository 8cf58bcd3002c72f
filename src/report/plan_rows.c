#include "report/plan.h"

#include "base/field.h"
#include "report/csv.h"
#include "report/json.h"

#include <math.h>

/* ---- JSON ---- */

static void put_count(struct report_json *json, const char *key, int64_t count)
{
    if (count > 0)
        report_json_integer(json, key, count);
    else
        report_json_null(json, key);
}

static void put_interval(struct report_json *json, const char *key, double low, double high)
{
    if (isnan(low) || isnan(high)) {
        report_json_null(json, key);
        return;
    }
    report_json_begin_list(json, key);
    report_json_real(json, NULL, low);
    report_json_real(json, NULL, high);
    report_json_end_list(json);
}

/*
 * max_rate is of requests per second, whatever the load was; max_concurrency, max_speedup and max_session_rate are the load
 * itself. Where no run could tell the limit they are null; *_at_least says how far the targets were seen to be met, *_below
 * from where on they were seen to be missed.
 */
static void put_load(struct report_json *json, const struct record_plan *plan,
                     const struct record_candidate *candidate)
{
    char key[48];
    bool has_answer = candidate->status == RECORD_CANDIDATE_OK,
         has_bound = candidate->status == RECORD_CANDIDATE_NOT_REACHED && candidate->max_load > 0;
    double none = (double)NAN;
    report_json_real(json, "max_rate", has_answer ? candidate->max_rate : none);
    report_json_real(json, "max_rate_at_least", has_bound ? candidate->max_rate : none);
    double scale = plan->load == RECORD_LOAD_RATE ? 1 : candidate->max_rate / candidate->max_load;
    put_interval(json, "max_rate_ci", candidate->ci_low * scale, candidate->ci_high * scale);
    report_json_real(json, "max_rate_of_longer_runs", candidate->longer_root * scale);
    report_json_real(json, "longer_run_requests",
                     isnan(candidate->longer_root) ? none : (double)candidate->longer_requests);
    report_json_real(json, "max_rate_at_confidence",
                     candidate->sure_load > 0 ? candidate->sure_load * scale : none);
    snprintf(key, sizeof key, "max_%s_below", record_load_name(plan->load));
    report_json_real(json, key, candidate->missed_load);
    if (plan->load == RECORD_LOAD_RATE)
        return;
    snprintf(key, sizeof key, "max_%s", record_load_name(plan->load));
    report_json_real(json, key, has_answer ? candidate->max_load : none);
    snprintf(key, sizeof key, "max_%s_at_least", record_load_name(plan->load));
    report_json_real(json, key, has_bound ? candidate->max_load : none);
    snprintf(key, sizeof key, "max_%s_ci", record_load_name(plan->load));
    put_interval(json, key, candidate->ci_low, candidate->ci_high);
    snprintf(key, sizeof key, "max_%s_at_confidence", record_load_name(plan->load));
    report_json_real(json, key, candidate->sure_load > 0 ? candidate->sure_load : none);
}

static void put_precision(struct report_json *json, const struct record_plan *plan,
                          const struct record_candidate *candidate)
{
    put_count(json, "replications", candidate->replications);
    report_json_real(json, "precision", candidate->half_width);
    report_json_real(json, "precision_asked", plan->half_width);
    if (isnan(candidate->half_width))
        report_json_null(json, "precision_reached");
    else
        report_json_bool(json, "precision_reached", record_candidate_is_precise(plan, candidate));
}

static void put_answer(struct report_json *json, const struct record_plan *plan,
                       const struct record_candidate *candidate)
{
    report_json_text(json, "status", record_candidate_status_name(candidate->status));
    report_json_text(json, "reason", candidate->reason);
    report_json_text(json, "model", candidate->model);
    report_json_text(json, "hardware", candidate->hardware);
    put_load(json, plan, candidate);
    put_precision(json, plan, candidate);
    report_json_text(json, "limit", candidate->limit[0] == '\0' ? NULL : candidate->limit);
    report_json_text(json, "binding_limit",
                     candidate->binding_limit[0] == '\0' ? NULL : candidate->binding_limit);
    put_count(json, "gpus_per_replica", candidate->gpus_per_replica);
    put_count(json, "replicas", candidate->replicas);
    put_count(json, "replicas_with_spare",
              candidate->replicas > 0 ? candidate->replicas + plan->spare_replicas : 0);
    put_count(json, "gpus", candidate->gpus);
    report_json_text(json, "replicas_claim",
                     candidate->replicas == 0 ? NULL
                     : candidate->is_verified ? "simulated"
                                              : "calculated");
    report_json_real(json, "carried_load", candidate->carried_load);
    report_json_real(json, "usd_per_hour", candidate->usd_per_hour);
    report_json_real(json, "usd_per_mtok_output", candidate->usd_per_mtok_output);
    report_json_real(json, "headroom", candidate->headroom);
    put_interval(json, "headroom_ci", candidate->headroom_low, candidate->headroom_high);
    report_json_real(json, "months_to_breach", candidate->months_to_breach);
    put_interval(json, "months_to_breach_ci", candidate->months_low, candidate->months_high);
    report_json_real(json, "gpu_hours_elastic", candidate->gpu_hours_elastic);
    report_json_real(json, "gpu_hours_static", candidate->gpu_hours_static);
}

static void put_targets(struct report_json *json, const struct record_probe *probe)
{
    report_json_begin_list(json, "targets");
    for (size_t i = 0; i < probe->target_count; i++) {
        const struct record_target *target = &probe->targets[i];
        report_json_begin_object(json, NULL);
        report_json_text(json, "target", target->text);
        report_json_real(json, "bound_ms", target->bound_ms);
        report_json_real(json, "value_ms", target->value_ms);
        report_json_real(json, "ci_low", target->ci_low_ms);
        report_json_real(json, "ci_high", target->ci_high_ms);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_probe(struct report_json *json, const struct record_plan *plan,
                      const struct record_probe *probe)
{
    static const enum record_summary columns[] = {
        RECORD_TTFT_P99,          RECORD_TPOT_P99,           RECORD_E2E_P99,
        RECORD_OUTPUT_THROUGHPUT, RECORD_REQUEST_THROUGHPUT, RECORD_KV_USAGE_PEAK,
        RECORD_PREEMPTIONS,       RECORD_BINDING_LIMIT,      RECORD_STABILITY};
    report_json_begin_object(json, NULL);
    report_json_real(json, record_load_name(plan->load), probe->load);
    report_json_integer(json, "replicas", probe->replicas);
    report_json_integer(json, "replications", probe->replications);
    put_count(json, "run_id", probe->run_id);
    report_json_bool(json, "met", probe->is_met);
    report_json_bool(json, "met_at_confidence", probe->is_met_surely);
    report_json_bool(json, "too_short", probe->is_short);
    report_json_text(json, "worst", probe->worst);
    report_json_real(json, "margin", probe->margin);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_json_value(json, record_summary_columns[columns[i]].name,
                          &probe->summary[columns[i]]);
    put_targets(json, probe);
    report_json_end_object(json);
}

static void put_curve(struct report_json *json, const struct record_plan *plan,
                      const struct record_candidate *candidate)
{
    report_json_begin_list(json, "curve");
    for (size_t i = 0; i < candidate->probes.count; i++)
        put_probe(json, plan, &candidate->probes.at[i]);
    report_json_end_list(json);
}

static void put_candidates(struct report_json *json, const struct record_plan *plan)
{
    char key[32];
    report_json_begin_list(json, "candidates");
    for (size_t i = 0; i < plan->candidate_count; i++) {
        const struct record_candidate *candidate = &plan->candidates[i];
        report_json_begin_object(json, NULL);
        for (size_t k = 0; k < plan->axis_count; k++) {
            snprintf(key, sizeof key, "axis_%zu", k + 1);
            report_json_text(json, key, plan->axes[k]);
            snprintf(key, sizeof key, "value_%zu", k + 1);
            report_json_text(json, key, candidate->values[k]);
        }
        put_answer(json, plan, candidate);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_stages(struct report_json *json, const struct record_plan *plan)
{
    report_json_begin_list(json, "stages");
    for (size_t i = 0; i < plan->stages.count; i++) {
        report_json_begin_object(json, NULL);
        report_json_real(json, "peak_rate", plan->stages.at[i].peak_rate);
        report_json_real(json, "duration_s", plan->stages.at[i].duration_s);
        report_json_integer(json, "replicas", plan->stages.at[i].replicas);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

/* A day as text, or null. */
static void put_date(struct report_json *json, const char *key, const struct record_plan *plan,
                     double months)
{
    char text[RECORD_DATE_BYTES];
    if (plan->start.year == 0 || !(months < REPORT_MONTHS_MAX))
        report_json_null(json, key);
    else
        report_json_text(
            json, key,
            record_date_print(record_date_after(plan->start, months), text, sizeof text));
}

static void put_growth(struct report_json *json, const struct record_plan *plan)
{
    put_date(json, "breach_date", plan, plan->candidates[0].months_to_breach);
    put_date(json, "breach_date_earliest", plan, plan->candidates[0].months_low);
    put_date(json, "breach_date_latest", plan, plan->candidates[0].months_high);
    report_json_begin_list(json, "forecast");
    for (size_t i = 0; i < plan->forecast.count; i++) {
        const struct record_forecast *row = &plan->forecast.at[i];
        report_json_begin_object(json, NULL);
        report_json_integer(json, "months", row->months);
        put_date(json, "date", plan, row->months);
        report_json_real(json, "demand", row->demand);
        report_json_integer(json, "replicas", row->replicas);
        report_json_integer(json, "gpus", row->gpus);
        report_json_real(json, "usd_per_hour", row->usd_per_hour);
        report_json_end_object(json);
    }
    report_json_end_list(json);
}

static void put_input(struct report_json *json, const struct record_input *input)
{
    report_json_begin_object(json, NULL);
    report_json_text(json, "key", input->key);
    report_json_text(json, "value", input->value[0] == '\0' ? NULL : input->value);
    report_json_text(json, "distribution", record_spread_name(input->distribution));
    report_json_real(json, "spread", input->spread);
    report_json_real(json, "max_load_low", input->low.max_load);
    report_json_real(json, "max_load_high", input->high.max_load);
    report_json_real(json, "headroom_low", input->low.headroom);
    report_json_real(json, "headroom_high", input->high.headroom);
    report_json_end_object(json);
}

static void put_uncertainty(struct report_json *json, const struct record_plan *plan)
{
    const struct record_odds *odds = &plan->odds;
    double none = (double)NAN;
    bool is_known = odds->samples > 0;
    report_json_begin_object(json, "uncertainty");
    report_json_real(json, "probability", is_known ? odds->probability : none);
    put_interval(json, "probability_ci", is_known ? odds->ci_low : none,
                 is_known ? odds->ci_high : none);
    report_json_integer(json, "samples", odds->samples);
    report_json_integer(json, "met", odds->met);
    report_json_integer(json, "undecided", odds->undecided);
    report_json_text(json, "missed_most", odds->limit_count > 0 ? odds->limit : NULL);
    report_json_real(json, "max_load_as_stated", plan->candidates[0].root);
    report_json_real(json, "headroom_as_stated", plan->headroom_as_stated);
    report_json_begin_list(json, "inputs");
    for (size_t i = 0; i < plan->inputs.count; i++)
        put_input(json, &plan->inputs.at[i]);
    report_json_end_list(json);
    report_json_end_object(json);
}

void report_plan_json(FILE *out, const struct record_plan *plan)
{
    const struct record_candidate *best = &plan->candidates[0];
    struct report_json json;
    report_json_init(&json, out);
    report_json_begin_object(&json, NULL);
    report_json_text(&json, "scenario", plan->scenario);
    report_json_text(&json, "load", record_load_name(plan->load));
    report_json_text(&json, "load_unit", record_load_unit(plan->load));
    report_json_real(&json, "demand", plan->demand);
    report_json_real(&json, "confidence", plan->confidence);
    put_answer(&json, plan, best);
    if (plan->growth_per_month > 0)
        put_growth(&json, plan);
    if (plan->inputs.count > 0)
        put_uncertainty(&json, plan);
    put_curve(&json, plan, best);
    put_candidates(&json, plan);
    if (plan->stages.count > 0)
        put_stages(&json, plan);
    report_json_end_object(&json);
    report_json_finish(&json);
}

/* ---- CSV ---- */

static void put_real(FILE *out, double value)
{
    struct record_value cell = {.kind = isnan(value) ? RECORD_NULL : RECORD_REAL, .real = value};
    fputc(',', out);
    report_csv_value(out, &cell);
}

static void put_text(FILE *out, const char *text)
{
    fputc(',', out);
    report_csv_field(out, text);
}

static void put_whole(FILE *out, int64_t count)
{
    fputc(',', out);
    if (count > 0)
        fprintf(out, "%lld", (long long)count);
}

/* An axis of the same name has the column. */
static bool has_column(const struct record_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->axis_count; i++) {
        if (base_key_equal(plan->axes[i], name))
            return false;
    }
    return true;
}

static double above_zero(double value)
{
    return value > 0 ? value : (double)NAN;
}

static void put_row(FILE *out, const struct record_plan *plan,
                    const struct record_candidate *candidate)
{
    double none = (double)NAN, load = above_zero(candidate->max_load);
    bool is_bound = candidate->status == RECORD_CANDIDATE_NOT_REACHED;
    fputs(record_candidate_status_name(candidate->status), out);
    for (size_t i = 0; i < plan->axis_count; i++)
        put_text(out, candidate->values[i]);
    if (has_column(plan, "model"))
        put_text(out, candidate->model);
    if (has_column(plan, "hardware"))
        put_text(out, candidate->hardware);
    put_real(out, is_bound ? none : load);
    put_real(out, is_bound ? load : none);
    put_real(out, candidate->missed_load);
    put_real(out, candidate->ci_low);
    put_real(out, candidate->ci_high);
    put_real(out, above_zero(candidate->sure_load));
    put_real(out, above_zero(candidate->max_rate));
    put_text(out, candidate->limit);
    put_text(out, candidate->binding_limit);
    put_whole(out, candidate->replicas);
    put_whole(out, candidate->gpus);
    put_real(out, candidate->usd_per_hour);
    put_real(out, candidate->usd_per_mtok_output);
    put_real(out, candidate->headroom);
    put_real(out, candidate->months_to_breach);
    bool is_best = candidate == plan->candidates && plan->odds.samples > 0;
    put_real(out, is_best ? plan->odds.probability : none);
    put_real(out, is_best ? plan->odds.ci_low : none);
    put_real(out, is_best ? plan->odds.ci_high : none);
    put_text(out, candidate->reason);
    fputc('\n', out);
}

void report_plan_csv(FILE *out, const struct record_plan *plan)
{
    fputs("status", out);
    for (size_t i = 0; i < plan->axis_count; i++)
        put_text(out, plan->axes[i]);
    fputs(has_column(plan, "model") ? ",model" : "", out);
    fputs(has_column(plan, "hardware") ? ",hardware" : "", out);
    fprintf(out,
            ",max_%s,at_least,below,ci_low,ci_high,at_confidence,max_rate,limit,binding_limit,"
            "replicas,gpus,usd_per_hour,usd_per_mtok_output,headroom,months_to_breach,"
            "probability,probability_low,probability_high,reason\n",
            plan->load == RECORD_LOAD_RATE ? "load" : record_load_name(plan->load));
    for (size_t i = 0; i < plan->candidate_count; i++)
        put_row(out, plan, &plan->candidates[i]);
}
