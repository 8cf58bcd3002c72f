#include "report/run_answer.h"

#include "base/text.h"
#include "report/number.h"
#include "report/run_view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The load in words: "at 8.01 requests/s", "with 64 clients in a closed loop". */
static void describe_load(const struct record_run *run, char *text, size_t bytes)
{
    const struct record_param_row *process = report_run_param(run, "workload.arrival.process");
    const struct record_param_row *clients = report_run_param(run, "workload.arrival.concurrency");
    const char *name = process == NULL ? "" : process->value;
    char rate[REPORT_NUMBER_BYTES];
    report_print_rounded(record_get_real(run, RECORD_OFFERED_RATE), 3, rate, sizeof rate);
    if (strcmp(name, "closed_loop") == 0 && clients != NULL)
        snprintf(text, bytes, "to %s clients in a closed loop", clients->value);
    else if (strcmp(name, "all_at_once") == 0)
        snprintf(text, bytes, "to requests that all come at once");
    else if (strcmp(name, "trace") == 0)
        snprintf(text, bytes, "under a recorded trace of %s requests/s", rate);
    else
        snprintf(text, bytes, "at %s requests/s", rate);
}

static void write_question(const struct record_run *run, char *text, size_t bytes)
{
    char load[128];
    describe_load(run, load, sizeof load);
    bool has_slo = run->summary[RECORD_SLO_MET].kind != RECORD_NULL;
    snprintf(text, bytes,
             has_slo ? "Can %lld × %s serve %s %s within its SLOs?"
                     : "What do %lld × %s give when they serve %s %s?",
             (long long)run->summary[RECORD_GPUS].integer, record_get_text(run, RECORD_HARDWARE),
             record_get_text(run, RECORD_MODEL), load);
}

/* The SLO with the least headroom, or NULL when none can be judged. */
static const struct report_slo *find_tightest(const struct record_run *run, struct report_slo *out)
{
    double least = HUGE_VAL;
    size_t at = run->slo_lines.count;
    for (size_t i = 0; i < run->slo_lines.count; i++) {
        report_slo_read(run, i, out);
        double headroom = report_slo_headroom(out);
        if (headroom < least) {
            least = headroom;
            at = i;
        }
    }
    if (at == run->slo_lines.count)
        return NULL;
    report_slo_read(run, at, out);
    return out;
}

static void write_tightest(const struct record_run *run, char *text, size_t bytes)
{
    struct report_slo slo;
    char figure[REPORT_NUMBER_BYTES];
    text[0] = '\0';
    if (find_tightest(run, &slo) == NULL)
        return;
    report_print_interval(slo.row->value, slo.row->ci_low, slo.row->ci_high, figure, sizeof figure);
    double bound_ms = (double)slo.slo.bound_ns / 1e6;
    bool is_in_doubt = slo.row->ci_low <= bound_ms && slo.row->ci_high > bound_ms;
    snprintf(text, bytes, "%s %s is %s ms%s%s against %s%s", spec_metric_name(slo.slo.metric),
             spec_statistic_name(slo.slo.statistic), figure,
             slo.slo.class_name == NULL ? "" : " for ",
             slo.slo.class_name == NULL ? "" : slo.slo.class_name, slo.bound,
             is_in_doubt ? "; the interval reaches across" : "");
}

static void write_throughput(const struct record_run *run, char *text, size_t bytes)
{
    char requests[REPORT_NUMBER_BYTES], tokens[REPORT_NUMBER_BYTES], ttft[REPORT_NUMBER_BYTES];
    report_run_figure(run, RECORD_REQUEST_THROUGHPUT, requests, sizeof requests);
    report_run_figure(run, RECORD_OUTPUT_THROUGHPUT, tokens, sizeof tokens);
    report_run_figure(run, RECORD_TTFT_P99, ttft, sizeof ttft);
    snprintf(text, bytes, "%s requests/s are done, %s output tokens/s; ttft p99 is %s ms.",
             requests, tokens, ttft);
}

static void count_slos(const struct record_run *run, size_t *missed)
{
    *missed = 0;
    for (size_t i = 0; i < run->slo_lines.count; i++) {
        struct report_slo slo;
        report_slo_read(run, i, &slo);
        *missed += !slo.is_met;
    }
}

static void write_verdict(const struct record_run *run, struct report_answer *out)
{
    const struct record_value *met = &run->summary[RECORD_SLO_MET];
    size_t missed;
    count_slos(run, &missed);
    if (met->kind == RECORD_NULL) {
        out->tone = REPORT_OPEN;
        snprintf(out->answer, sizeof out->answer, "No SLO was stated, so nothing is judged.");
        write_throughput(run, out->detail, sizeof out->detail);
        return;
    }
    out->tone = met->integer != 0 ? REPORT_YES : REPORT_NO;
    if (met->integer != 0)
        snprintf(out->answer, sizeof out->answer, "Yes: every SLO is met.");
    else
        snprintf(out->answer, sizeof out->answer, "No: %zu of %zu promises %s missed.", missed,
                 run->slo_lines.count, missed == 1 ? "is" : "are");
    write_tightest(run, out->tightest, sizeof out->tightest);
    if (out->tightest[0] != '\0')
        snprintf(out->detail, sizeof out->detail, "%s: %s.",
                 run->slo_lines.count > 1 ? "The tightest promise" : "The promise", out->tightest);
}

void report_answer_read(const struct record_run *run, struct report_answer *out)
{
    *out = (struct report_answer){0};
    write_question(run, out->question, sizeof out->question);
    write_verdict(run, out);
    if (report_run_is(run, RECORD_STATUS, "overloaded")) {
        out->tone = REPORT_NO;
        snprintf(out->answer, sizeof out->answer, "No: more requests arrive than can leave.");
        write_throughput(run, out->detail, sizeof out->detail);
        char requests[REPORT_NUMBER_BYTES];
        report_run_figure(run, RECORD_REQUEST_THROUGHPUT, requests, sizeof requests);
        snprintf(out->detail, sizeof out->detail,
                 "The queue grows without end; %s requests/s leave. Latencies grow with the length "
                 "of the run and are no steady figures.",
                 requests);
    } else if (report_run_is(run, RECORD_STATUS, "not_settled")) {
        out->tone = REPORT_OPEN;
        snprintf(out->answer, sizeof out->answer, "Not decided: the run had not settled.");
        snprintf(out->detail, sizeof out->detail,
                 "Its figures depend on where it was cut; a longer run decides "
                 "(run.requests).");
    } else if (report_run_is(run, RECORD_STATUS, "stuck") ||
               report_run_is(run, RECORD_STATUS, "engine_died")) {
        out->tone = REPORT_NO;
        snprintf(out->answer, sizeof out->answer, "No: the engine could not go on.");
        snprintf(out->detail, sizeof out->detail, "The figures end where it stopped.");
    }
}

static const struct {
    const char *name, *title, *meaning;
} limits[] = {
    {"kv_pool", "KV memory",
     "Requests at the head of the queue wait for free KV blocks: the pool is the limit."},
    {"max_num_seqs", "Seats (max_num_seqs)",
     "Requests wait although blocks are free: the engine runs no more sequences at once."},
    {"max_num_batched_tokens", "The token budget of a step (max_num_batched_tokens)",
     "Prompts wait for room in the next step, not for memory."},
    {"link", "Transfers between pools",
     "Requests wait for KV blocks that are on their way from another replica."},
    {"compute", "Compute",
     "Steps last as long as their arithmetic does; memory bandwidth is left over. Prefill does "
     "most of it."},
    {"weight_bandwidth", "Memory bandwidth, spent on reading the weights",
     "A decode step reads all weights, however few sequences it serves: more sequences at once "
     "cost little time until another limit comes."},
    {"kv_bandwidth", "Memory bandwidth, spent on reading the KV cache",
     "Long contexts are read again at every step: latency grows with the tokens in the cache."},
    {"communication", "Communication between GPUs", "Steps wait for exchanges between the ranks."},
    {"host", "The host", "Scheduling and launching take longer than the GPU's own work."},
    {"arrival", "Nothing but the load",
     "The engine is idle for most of the time, waiting for requests."},
};

const char *report_limit_title(const char *limit)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        if (strcmp(limits[i].name, limit) == 0)
            return limits[i].title;
    }
    return limit;
}

const char *report_limit_meaning(const char *limit)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        if (strcmp(limits[i].name, limit) == 0)
            return limits[i].meaning;
    }
    return "";
}

double report_limit_share(const struct record_run *run, const char *limit)
{
    for (size_t i = 0; i < run->limits.count; i++) {
        const struct record_limit_row *row = &run->limits.at[i];
        if (strcmp(row->phase, "all") == 0 && strcmp(row->name, limit) == 0)
            return row->share;
    }
    return (double)NAN;
}

/* Levers. */

struct lever_list {
    struct report_lever *at;
    size_t count;
};

KVSIM_PRINTF(3, 4)
static void add_lever(struct lever_list *list, const char *effect, const char *fmt, ...)
{
    if (list->count == REPORT_LEVERS_MAX)
        return;
    struct report_lever *lever = &list->at[list->count++];
    va_list args;
    va_start(args, fmt);
    vsnprintf(lever->setting, sizeof lever->setting, fmt, args);
    va_end(args);
    lever->effect = effect;
}

static double param_real(const struct record_run *run, const char *key)
{
    const struct record_param_row *row = report_run_param(run, key);
    return row == NULL ? (double)NAN : strtod(row->value, NULL);
}

static void add_replica(struct lever_list *list, const struct record_run *run)
{
    if (report_run_param(run, "cluster.replicas") != NULL)
        add_lever(list, "one more replica shares the load", "cluster.replicas=%lld",
                  (long long)run->summary[RECORD_REPLICAS].integer + 1);
}

static void add_ranks(struct lever_list *list, const struct record_run *run)
{
    int64_t tp = run->summary[RECORD_TP].integer;
    double gpus = param_real(run, "hardware.link.gpus");
    if (tp > 0 && gpus >= 2.0 * (double)tp)
        add_lever(list, "twice the GPUs behind one replica: their memory, bandwidth and compute",
                  "engine.tensor_parallel_size=%lld", (long long)tp * 2);
}

static void add_small_kv(struct lever_list *list, const struct record_run *run)
{
    const char *dtype = record_get_text(run, RECORD_KV_CACHE_DTYPE);
    if (strcmp(dtype, "bf16") == 0 || strcmp(dtype, "fp16") == 0)
        add_lever(list, "half the bytes per token in the cache; check the quality of answers",
                  "engine.kv_cache_dtype=fp8");
}

static void add_small_weights(struct lever_list *list, const struct record_run *run)
{
    const struct record_param_row *used = report_run_param(run, "engine.quantization.used");
    if (used != NULL && strcmp(used->value, "none") == 0 &&
        report_run_param(run, "hardware.tflops.fp8") != NULL)
        add_lever(list,
                  "half the bytes of weights and faster products; check the quality of answers",
                  "engine.quantization=fp8");
}

static void add_doubled(struct lever_list *list, const struct record_run *run, const char *key,
                        const char *effect)
{
    double value = param_real(run, key);
    if (value > 0.0)
        add_lever(list, effect, "%s=%.0f", key, value * 2.0);
}

static void add_more_load(struct lever_list *list, const struct record_run *run)
{
    const struct record_param_row *row = report_run_param(run, "workload.arrival.rate");
    double rate = param_real(run, "workload.arrival.rate");
    if (row != NULL && isfinite(rate) && rate > 0.0)
        add_lever(list, "more load on the same GPUs: how far do the SLOs hold?",
                  "workload.arrival.rate=%g/s", rate * 1.25);
}

static void add_for_limit(struct lever_list *list, const struct record_run *run, const char *limit)
{
    if (strcmp(limit, "kv_pool") == 0 || strcmp(limit, "kv_bandwidth") == 0) {
        add_small_kv(list, run);
        add_ranks(list, run);
    } else if (strcmp(limit, "compute") == 0 || strcmp(limit, "weight_bandwidth") == 0) {
        add_small_weights(list, run);
        add_ranks(list, run);
    } else if (strcmp(limit, "max_num_seqs") == 0) {
        add_doubled(list, run, "engine.max_num_seqs", "more sequences at once, as blocks allow");
    } else if (strcmp(limit, "max_num_batched_tokens") == 0) {
        add_doubled(list, run, "engine.max_num_batched_tokens",
                    "prompts enter sooner; steps that prefill last longer for those who decode");
    }
}

size_t report_levers_find(const struct record_run *run,
                          struct report_lever levers[REPORT_LEVERS_MAX])
{
    struct lever_list list = {.at = levers};
    const struct record_value *met = &run->summary[RECORD_SLO_MET];
    if (met->kind != RECORD_NULL && met->integer != 0 && report_run_is(run, RECORD_STATUS, "done"))
        add_more_load(&list, run);
    add_for_limit(&list, run, record_get_text(run, RECORD_BINDING_LIMIT));
    if (!report_run_is(run, RECORD_BINDING_LIMIT, "arrival"))
        add_replica(&list, run);
    return list.count;
}

size_t report_levers_against(const struct record_run *run, const char *limit,
                             struct report_lever levers[REPORT_LEVERS_MAX])
{
    struct lever_list list = {.at = levers};
    add_for_limit(&list, run, limit);
    return list.count;
}
