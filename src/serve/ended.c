#include "serve/ended.h"

#include "serve/segments.h"
#include "serve/sequences.h"
#include "serve/window.h"

#include <inttypes.h>
#include <stdio.h>

void serve_first_token(struct serve *serve, struct serve_request *request)
{
    if (request->parent != NULL) {
        if (!serve_sequences_note_first_token(request)) {
            return;
        }
        request = request->parent;
    }
    // The first token ends the client's wait for it.
    if (des_event_is_queued(&request->limit_event) && request->asked.timeout_first_ns > 0) {
        des_heap_cancel(&serve->external, &request->limit_event);
        serve_push_limit(serve, request);
    }
}

void serve_gap(struct serve *serve, struct serve_request *request, base_i128 gap_ticks)
{
    if (request->seq.is_counted) {
        struct stats_hist *itl =
            &serve->result->classes[request->asked.class_index].metric[SPEC_ITL];
        stats_hist_add(itl, base_ticks_floor_ns(gap_ticks), 1);
    }
}

/* A request's own figures, in ns; -1 where one does not exist. */
struct figures {
    int64_t value[SPEC_METRIC_COUNT];
};

static struct figures figures_of(const struct serve_request *request, base_i128 now,
                                 int64_t longest)
{
    struct figures figures = {{-1, -1, -1, -1, -1}};
    int64_t arrival_ns = base_ticks_floor_ns(request->arrival_ticks);
    figures.value[SPEC_E2E] = base_ticks_floor_ns(now - request->arrival_ticks);
    if (request->first_scheduled_ns >= 0) {
        figures.value[SPEC_QUEUE] = request->first_scheduled_ns - arrival_ns;
    }
    if (request->has_first_token) {
        figures.value[SPEC_TTFT] =
            base_ticks_floor_ns(request->first_token_ticks - request->arrival_ticks);
        if (longest > 1) {
            // (e2e - ttft) / (outputs - 1), as vllm/benchmarks/serve.py has it.
            figures.value[SPEC_TPOT] =
                base_ticks_floor_ns((now - request->first_token_ticks) / (longest - 1));
        }
    }
    return figures;
}

// A request is good when it meets the bounds of its ttft, tpot and e2e SLOs; one without tpot passes that one.
static bool is_good(const struct serve *serve, const struct serve_request *request,
                    const struct figures *figures)
{
    const struct serve_config *config = serve->config;
    const char *class_name = config->workload.classes[request->asked.class_index].name;
    for (size_t i = 0; i < config->slo_count; i++) {
        const struct spec_slo *slo = &config->slos[i];
        bool is_judged =
            slo->metric == SPEC_TTFT || slo->metric == SPEC_TPOT || slo->metric == SPEC_E2E;
        bool is_for_class = slo->class_name == NULL || base_key_equal(slo->class_name, class_name);
        if (is_judged && slo->statistic != SPEC_MEAN && is_for_class &&
            figures->value[slo->metric] > slo->bound_ns) {
            return false;
        }
    }
    return true;
}

static void add_metrics(struct serve *serve, const struct serve_request *request,
                        const struct figures *figures)
{
    struct serve_result *result = serve->result;
    struct serve_class_result *class_result = &result->classes[request->asked.class_index];
    for (size_t m = 0; m < SPEC_METRIC_COUNT; m++) {
        if (m != SPEC_ITL && figures->value[m] >= 0) {
            stats_hist_add(&class_result->metric[m], figures->value[m], 1);
        }
    }
    stats_cohort_add(&result->ttft_cohort, figures->value[SPEC_TTFT], request->ttft_cause_ns);
    stats_cohort_add(&result->e2e_cohort, figures->value[SPEC_E2E], request->cause_ns);
}

static void write_row(struct serve *serve, const struct serve_request *request, base_i128 now,
                      enum record_outcome outcome, const struct serve_delivered *delivered,
                      const struct figures *figures, bool good)
{
    struct record_sink *sink = serve->sink;
    if (sink == NULL || serve->rows_recorded >= sink->request_limit) {
        return;
    }
    serve->rows_recorded++;
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, request->asked.index);
    enum record_finish finish =
        outcome == RECORD_OUTCOME_COMPLETED
            ? (request->seq.stops_early ? RECORD_FINISH_STOP : RECORD_FINISH_LENGTH)
            : (outcome == RECORD_OUTCOME_REJECTED ? RECORD_FINISH_NONE : RECORD_FINISH_ABORT);
    struct record_request row = {
        .index = request->asked.index,
        .id = request->asked.id[0] != '\0' ? request->asked.id : number,
        .class_name = serve->config->workload.classes[request->asked.class_index].name,
        .replica = request->replica != NULL ? request->replica->number : 0,
        .arrival_ns = base_ticks_floor_ns(request->arrival_ticks),
        .prompt_tokens = request->asked.prompt_tokens,
        .output_tokens = delivered->longest,
        .generated_tokens = delivered->generated,
        .sequences = request->sequences != NULL ? request->asked.sequence_count : 1,
        .cached_tokens = request->seq.cached_tokens,
        .cached_tokens_total = request->seq.cached_total,
        .computed_tokens = request->seq.computed_total,
        .recomputed_tokens = request->seq.recomputed_total,
        .queue_ns = figures->value[SPEC_QUEUE],
        .ttft_ns = figures->value[SPEC_TTFT],
        .tpot_ns = figures->value[SPEC_TPOT],
        .e2e_ns = figures->value[SPEC_E2E],
        .finish_ns = outcome == RECORD_OUTCOME_UNSERVABLE ? -1 : base_ticks_floor_ns(now),
        .preemptions = request->seq.preemptions,
        .outcome = outcome,
        .finish_reason = finish,
        .is_counted = request->seq.is_counted,
        .is_good = good,
    };
    for (size_t i = 0; i < RECORD_CAUSE_COUNT; i++) {
        row.cause_ns[i] = request->cause_ns[i];
    }
    sink->ops->on_request(sink, &row);
}

void serve_request_ended(struct serve *serve, struct serve_request *request, base_i128 now,
                         enum record_outcome outcome, const struct serve_delivered *delivered)
{
    struct serve_result *result = serve->result;
    struct serve_class_result *class_result = &result->classes[request->asked.class_index];
    bool is_completed = outcome == RECORD_OUTCOME_COMPLETED;
    struct figures figures = figures_of(request, now, delivered->longest);
    bool good = is_completed && is_good(serve, request, &figures);
    des_heap_cancel(&serve->external, &request->limit_event);
    result->outcomes[outcome]++;
    result->output_tokens += delivered->all;
    result->generated_tokens += delivered->generated;
    result->recomputed_tokens += request->seq.recomputed_total;
    result->sojourn_ticks += now - request->arrival_ticks;
    *(is_completed ? &class_result->completed : &class_result->failed) += 1;
    for (unsigned m = 0; is_completed && m < SPEC_METRIC_COUNT; m++) {
        if (m != SPEC_ITL && figures.value[m] >= 0) {
            serve_segments_add(serve, request->asked.index, (enum spec_metric)m, figures.value[m]);
        }
    }
    if (request->seq.is_counted) {
        class_result->counted++;
        class_result->good += good ? 1 : 0;
        if (is_completed) {
            add_metrics(serve, request, &figures);
        }
    }
    serve_window_note_end(serve, request, now, is_completed, good, delivered->all);
    write_row(serve, request, now, outcome, delivered, &figures, good);
    serve_follow_up(serve, request, now, is_completed, delivered->first);
}

void serve_sequence_completed(struct serve *serve, struct serve_request *request, base_i128 now)
{
    int64_t outputs = request->seq.end_outputs;
    if (request->parent != NULL) {
        serve_sequences_note_completed(serve, request, now);
    } else {
        struct serve_delivered delivered = serve_delivered_one(outputs);
        request->replica->in_flight--;
        serve_request_ended(serve, request, now, RECORD_OUTCOME_COMPLETED, &delivered);
    }
    serve_request_free(serve, request);
}
