/*
 * The figures behind the answer: latency, load, time, memory, limits. Every table has a column with the claim kind, or one
 * line that says it for the whole table.
 */
#include "report/run_html_int.h"

#include "base/units.h"
#include "report/number.h"
#include "report/run_plots.h"
#include "report/run_view.h"
#include "report/tiers.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { MOMENTS_PLOTTED = 220, MOMENTS_LISTED = 12 };

static void put_cells(struct report_html *html, const char *const *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        report_html_cell(html, cells[i]);
}

static void put_figure_cell(struct report_html *html, const struct record_run *run,
                            enum record_summary column)
{
    char text[REPORT_NUMBER_BYTES];
    report_html_cell(html, report_run_figure(run, column, text, sizeof text));
}

static void put_row_claim(struct report_html *html, const struct record_run *run,
                          enum record_summary column)
{
    const struct record_metric *row = report_run_row(run, column);
    report_html_claim_cell(html, row == NULL ? NULL : row->claim, row == NULL ? NULL : row->basis);
}

/* The claim and basis that all these figures share; false when they differ. */
struct shared {
    const char *claim, *basis;
    bool is_shared;
};

static bool is_same(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

static void share_claim(struct shared *shared, const struct record_run *run,
                        enum record_summary column)
{
    const struct record_metric *row = report_run_row(run, column);
    if (isnan(record_get_real(run, column)))
        return;
    const char *claim = row == NULL ? "" : row->claim, *basis = row == NULL ? "" : row->basis;
    if (shared->claim == NULL) {
        *shared = (struct shared){claim, basis, true};
    } else if (!is_same(shared->claim, claim) || !is_same(shared->basis, basis)) {
        shared->is_shared = false;
    }
}

/* Latency. */

static const struct {
    const char *name, *meaning;
    enum record_summary mean;
} latencies[] = {
    {"ttft", "time to first token", RECORD_TTFT_MEAN},
    {"tpot", "time per output token, by request", RECORD_TPOT_MEAN},
    {"itl", "gaps between tokens, pooled", RECORD_ITL_MEAN},
    {"e2e", "arrival to last token", RECORD_E2E_MEAN},
    {"queue", "arrival to first scheduling", RECORD_QUEUE_MEAN},
};

static void put_latency_table(struct report_html *html, const struct record_run *run)
{
    static const char *const header[] = {"ms", "mean", "p50", "p90", "p95", "p99", "kind"};
    struct shared shared = {0};
    for (size_t i = 0; i < COUNT_OF(latencies); i++)
        share_claim(&shared, run, latencies[i].mean);
    report_html_table(html, "Latency in ms, ± half of the 95 % interval",
                      shared.is_shared ? shared.claim : NULL, shared.basis,
                      shared.is_shared ? "lrrrrr" : "lrrrrrk");
    put_cells(html, header, COUNT_OF(header) - shared.is_shared);
    report_html_table_body(html);
    for (size_t i = 0; i < COUNT_OF(latencies); i++) {
        report_html_cell(html, latencies[i].name);
        for (int k = 0; k < 5; k++)
            put_figure_cell(html, run, (enum record_summary)((int)latencies[i].mean + k));
        if (!shared.is_shared)
            put_row_claim(html, run, latencies[i].mean);
    }
    report_html_table_end(html);
}

static bool has_latency(const struct record_run *run)
{
    bool has_any = false;
    for (int i = RECORD_TTFT_MEAN; i <= RECORD_QUEUE_P99; i++)
        has_any |= !isnan(record_get_real(run, (enum record_summary)i));
    return has_any;
}

/* A figure whose interval was withheld, with the reason; the first few of them. */
static void put_withheld(struct report_html *html, const struct record_run *run)
{
    size_t count = 0;
    for (int i = RECORD_TTFT_MEAN; i <= RECORD_QUEUE_P99 && count < 3; i++) {
        const struct record_metric *row = report_run_row(run, (enum record_summary)i);
        if (row == NULL || isnan(row->value) || !isnan(row->ci_low) || row->method == NULL)
            continue;
        report_html_paragraph(html, "note", "%s %s has no interval: %s.", row->name, row->statistic,
                              run->summary[RECORD_REPLICATIONS].integer > 1
                                  ? row->method
                                  : "one replication gives none (--replications 5 does)");
        count++;
    }
}

static void put_failures(struct report_html *html, const struct record_run *run)
{
    char text[REPORT_NUMBER_BYTES], requests[REPORT_NUMBER_BYTES];
    double all = record_get_real(run, RECORD_REQUESTS),
           failed = record_get_real(run, RECORD_FAILED);
    double unfinished = record_get_real(run, RECORD_UNFINISHED);
    report_print_rounded(all, 4, requests, sizeof requests);
    if (failed > 0.0)
        report_html_paragraph(html, "",
                              "%s of %s requests failed; latencies are those of the others.",
                              report_print_rounded(failed, 3, text, sizeof text), requests);
    if (unfinished > 0.0)
        report_html_paragraph(html, "",
                              "%s of %s requests were still in the system when the run ended.",
                              report_print_rounded(unfinished, 4, text, sizeof text), requests);
}

void report_html_latency(struct report_html *html, struct report_plotter *plotter,
                         const struct record_run *run)
{
    report_html_section(html, "latency", "Latency");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_latency(html, plotter, run);
    report_html_markup(html, "<div>\n<h3>What the rows mean</h3>\n<ul class=\"note\">\n");
    for (size_t i = 0; i < COUNT_OF(latencies); i++) {
        report_html_markup(html, "<li><b>");
        report_html_text(html, latencies[i].name);
        report_html_markup(html, "</b> ");
        report_html_text(html, latencies[i].meaning);
        report_html_markup(html, "</li>\n");
    }
    report_html_markup(html, "</ul>\n<p class=\"note\">Over completed requests after the warm-up. "
                             "A percentile is the mean of the replications' percentiles.</p>\n");
    put_withheld(html, run);
    report_html_markup(html, "</div>\n</div>\n");
    put_failures(html, run);
    if (has_latency(run))
        put_latency_table(html, run);
    else
        report_html_paragraph(html, "", "%s",
                              "There is no latency to state: no completed request is counted, or "
                              "the queue grows without end.");
    report_html_section_end(html);
}

static const char *const class_metrics[] = {"ttft", "tpot", "e2e"};
static const char *const class_statistics[] = {"p50", "p95", "p99"};

/* Whether it is the first row of a class of requests. */
static bool begins_class(const struct record_run *run, size_t at)
{
    const char *name = run->metrics.at[at].class_name;
    bool is_first = name[0] != '\0';
    for (size_t i = 0; i < at && is_first; i++)
        is_first = strcmp(run->metrics.at[i].class_name, name) != 0;
    return is_first;
}

static void put_class_row(struct report_html *html, const struct record_run *run,
                          const char *class_name, const char *metric)
{
    char text[REPORT_NUMBER_BYTES];
    int64_t count = 0;
    report_html_cell(html, class_name);
    report_html_cell(html, metric);
    for (size_t i = 0; i < COUNT_OF(class_statistics); i++) {
        const struct record_metric *row =
            record_run_metric(run, metric, class_statistics[i], class_name);
        count = row == NULL ? count : row->n;
        report_html_cell(html, row == NULL
                                   ? "-"
                                   : report_print_interval(row->value, row->ci_low, row->ci_high,
                                                           text, sizeof text));
    }
    report_html_cell(html, base_print_count((double)count, text, sizeof text));
}

void report_html_classes(struct report_html *html, const struct record_run *run)
{
    static const char *const header[] = {"class", "ms", "p50", "p95", "p99", "requests"};
    const struct record_metric *first = NULL;
    for (size_t i = 0; i < run->metrics.count && first == NULL; i++)
        first = begins_class(run, i) ? &run->metrics.at[i] : NULL;
    if (first == NULL)
        return;
    report_html_section(html, "classes", "Latency by class");
    report_html_table(html, "Each class of requests by itself, in ms", first->claim, first->basis,
                      "llrrrr");
    put_cells(html, header, COUNT_OF(header));
    report_html_table_body(html);
    for (size_t i = 0; i < run->metrics.count; i++) {
        for (size_t k = 0; k < COUNT_OF(class_metrics) && begins_class(run, i); k++)
            put_class_row(html, run, run->metrics.at[i].class_name, class_metrics[k]);
    }
    report_html_table_end(html);
    report_html_section_end(html);
}

/* Throughput, cost and load. */

static const struct {
    const char *name, *unit;
    enum record_summary column;
    bool is_share;
} load_rows[] = {
    {"requests offered", "1/s", RECORD_OFFERED_RATE, false},
    {"requests done", "1/s", RECORD_REQUEST_THROUGHPUT, false},
    {"done within all SLOs", "1/s", RECORD_REQUEST_GOODPUT, false},
    {"share within all SLOs", "", RECORD_SLO_ATTAINMENT, true},
    {"output tokens", "tokens/s", RECORD_OUTPUT_THROUGHPUT, false},
    {"… per GPU", "tokens/s", RECORD_OUTPUT_THROUGHPUT_PER_GPU, false},
    {"… per user", "tokens/s", RECORD_OUTPUT_THROUGHPUT_PER_USER, false},
    {"prompt tokens", "tokens/s", RECORD_PROMPT_THROUGHPUT, false},
    {"cost of output tokens", "$ per million", RECORD_USD_PER_MTOK_OUTPUT, false},
    {"cost of input tokens", "$ per million", RECORD_USD_PER_MTOK_INPUT, false},
    {"cost of all tokens", "$ per million", RECORD_USD_PER_MTOK_TOTAL, false},
    {"energy per output token", "J at rated power", RECORD_ENERGY_PER_OUTPUT_TOKEN_J, false},
    {"running, mean", "requests", RECORD_RUNNING_MEAN, false},
    {"running, peak", "of one replica", RECORD_RUNNING_PEAK, false},
    {"waiting, mean", "requests", RECORD_WAITING_MEAN, false},
    {"waiting, peak", "of one replica", RECORD_WAITING_PEAK, false},
    {"time in which a step runs", "", RECORD_BUSY_FRACTION, true},
    {"of it in steps with prefill", "", RECORD_PREFILL_TIME_FRACTION, true},
    {"preemptions", "per replication", RECORD_PREEMPTIONS, false},
    {"tokens computed again", "per replication", RECORD_RECOMPUTED_TOKENS, false},
    {"prefix cache hits", "of asked tokens", RECORD_PREFIX_HIT_RATE, true},
};

/* The rows from here on are about the load, those before about what is delivered. */
enum { FIRST_OF_LOAD = 12 };

static void put_load_row(struct report_html *html, const struct record_run *run, size_t at,
                         bool has_kind)
{
    char text[REPORT_NUMBER_BYTES];
    double value = record_get_real(run, load_rows[at].column);
    if (isnan(value))
        return;
    report_html_cell(html, load_rows[at].name);
    if (load_rows[at].is_share)
        report_html_cell(html, report_print_share(value, text, sizeof text));
    else
        put_figure_cell(html, run, load_rows[at].column);
    report_html_cell(html, load_rows[at].unit);
    if (has_kind)
        put_row_claim(html, run, load_rows[at].column);
}

static void put_load_table(struct report_html *html, const struct record_run *run,
                           const char *caption, size_t first, size_t end)
{
    static const char *const header[] = {"figure", "value", "unit", "kind"};
    struct shared shared = {0};
    for (size_t i = first; i < end; i++)
        share_claim(&shared, run, load_rows[i].column);
    report_html_markup(html, "<div>\n");
    report_html_table(html, caption, shared.is_shared ? shared.claim : NULL, shared.basis,
                      shared.is_shared ? "lrl" : "lrlk");
    put_cells(html, header, COUNT_OF(header) - shared.is_shared);
    report_html_table_body(html);
    for (size_t i = first; i < end; i++)
        put_load_row(html, run, i, !shared.is_shared);
    report_html_table_end(html);
    report_html_markup(html, "</div>\n");
}

void report_html_load(struct report_html *html, const struct record_run *run)
{
    report_html_section(html, "load", "Throughput, cost and load");
    report_html_markup(html, "<div class=\"figures\">\n");
    put_load_table(html, run, "What is delivered, and what it costs", 0, FIRST_OF_LOAD);
    put_load_table(html, run, "What the engine bears", FIRST_OF_LOAD, COUNT_OF(load_rows));
    report_html_markup(html, "</div>\n<p class=\"note\">All replicas together, mean of the "
                             "replications.</p>\n");
    report_html_section_end(html);
}

/* Over time. */

static double allocated_bytes(const struct report_moment *moment)
{
    double sum = 0.0;
    for (size_t line = 0; line < RECORD_LEDGER_SHARED; line++)
        sum += moment->ledger_bytes[line];
    return sum - moment->ledger_bytes[RECORD_LEDGER_SHARED];
}

/* In place of the plots. */
static void put_timeline_table(struct report_html *html, const struct report_timeline *timeline)
{
    static const char *const header[] = {"s", "running", "waiting", "KV allocated, GiB", "of pool"};
    report_html_table(html, "Means of equal spans of simulated time", "simulated", NULL, "rrrrr");
    put_cells(html, header, COUNT_OF(header));
    report_html_table_body(html);
    for (size_t i = 0; i < timeline->count; i++) {
        const struct report_moment *moment = &timeline->at[i];
        double allocated = allocated_bytes(moment);
        char text[REPORT_NUMBER_BYTES];
        report_html_cell(html, report_print_rounded(moment->t_s, 3, text, sizeof text));
        report_html_cell(html, report_print_rounded(moment->running, 3, text, sizeof text));
        report_html_cell(html, report_print_rounded(moment->waiting, 3, text, sizeof text));
        report_html_cell(html, report_print_gib(allocated, text, sizeof text));
        report_html_cell(html,
                         report_print_share(allocated / timeline->pool_bytes, text, sizeof text));
    }
    report_html_table_end(html);
}

void report_html_timeline(struct report_html *html, struct report_plotter *plotter,
                          const struct record_run *run)
{
    struct base_arena arena;
    struct report_timeline timeline;
    base_arena_init(&arena);
    report_timeline_read(run, MOMENTS_PLOTTED, &arena, &timeline);
    report_html_section(html, "time", "Over time");
    if (timeline.count < 2) {
        report_html_paragraph(html, "", "No timeline was recorded (record.timeline).");
        report_html_section_end(html);
        base_arena_release(&arena);
        return;
    }
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_requests(html, plotter, &timeline);
    report_figure_ledger(html, plotter, &timeline);
    report_html_markup(html, "</div>\n");
    if (plotter->program == NULL || plotter->failure[0] != '\0') {
        report_timeline_read(run, MOMENTS_LISTED, &arena, &timeline);
        put_timeline_table(html, &timeline);
    }
    report_html_markup(html, "<p class=\"note\">");
    report_html_claim(html, "simulated", NULL);
    report_html_text(html, " The first replication alone; from the first sample, the warm-up "
                           "included.");
    report_html_markup(html, "</p>\n");
    report_html_section_end(html);
    base_arena_release(&arena);
}

/* Memory. */

static void put_waterfall_table(struct report_html *html, const struct record_run *run)
{
    static const char *const header[] = {"line", "", "GiB", "bytes", "kind", "source"};
    report_html_table(html, "Memory of one GPU, the fullest", NULL, NULL, "llrrkl");
    put_cells(html, header, COUNT_OF(header));
    report_html_table_body(html);
    for (size_t i = 0; i < run->waterfall.count; i++) {
        const struct record_waterfall_row *row = &run->waterfall.at[i];
        char text[REPORT_NUMBER_BYTES];
        report_html_cell(html, row->line);
        report_html_cell(html, report_waterfall_sign(row->line));
        report_html_cell(html, report_print_gib((double)row->bytes_per_gpu, text, sizeof text));
        report_html_cell(html, base_print_count((double)row->bytes_per_gpu, text, sizeof text));
        report_html_cell(html, row->claim);
        report_html_cell(html, row->source);
    }
    report_html_table_end(html);
}

static void put_ledger_row(struct report_html *html, const char *sign, const char *name,
                           int64_t mean_bytes, int64_t peak_bytes,
                           const struct report_ledger *ledger)
{
    char text[REPORT_NUMBER_BYTES];
    double mean_pool = (double)ledger->mean_bytes[RECORD_LEDGER_POOL];
    double peak_pool = (double)ledger->peak_bytes[RECORD_LEDGER_POOL];
    report_html_cell(html, name);
    report_html_cell(html, sign);
    report_html_cell(html, report_print_gib((double)mean_bytes, text, sizeof text));
    report_html_cell(html, report_print_share((double)mean_bytes / mean_pool, text, sizeof text));
    report_html_cell(html, report_print_gib((double)peak_bytes, text, sizeof text));
    report_html_cell(html, report_print_share((double)peak_bytes / peak_pool, text, sizeof text));
    report_html_cell(html, base_print_count((double)peak_bytes, text, sizeof text));
}

static void put_ledger_rows(struct report_html *html, const struct report_ledger *ledger)
{
    for (size_t line = 0; line < RECORD_LEDGER_LINES; line++) {
        int64_t mean_bytes = ledger->mean_bytes[line], peak_bytes = ledger->peak_bytes[line];
        if (mean_bytes != 0 || peak_bytes != 0)
            put_ledger_row(html, report_ledger_sign(line), record_ledger_name(line), mean_bytes,
                           peak_bytes, ledger);
        if (line == RECORD_LEDGER_SHARED)
            put_ledger_row(html, "=", "allocated", record_ledger_allocated(ledger->mean_bytes),
                           record_ledger_allocated(ledger->peak_bytes), ledger);
    }
}

/* Lines that are 0 throughout. */
static void put_zero_lines(struct report_html *html, const struct report_ledger *ledger)
{
    bool is_first = true;
    for (size_t line = 0; line < RECORD_LEDGER_LINES; line++) {
        if (ledger->mean_bytes[line] != 0 || ledger->peak_bytes[line] != 0)
            continue;
        report_html_markup(html, is_first ? "<p class=\"note\">0 at mean and peak: " : ", ");
        report_html_text(html, record_ledger_name(line));
        is_first = false;
    }
    if (!is_first)
        report_html_markup(html, ".</p>\n");
}

static void put_ledger_table(struct report_html *html, const struct record_run *run)
{
    static const char *const header[] = {"line",      "",        "mean, GiB",  "of pool",
                                         "peak, GiB", "of pool", "peak, bytes"};
    struct report_ledger ledger;
    char caption[160];
    report_ledger_read(run, &ledger);
    if (ledger.replica_count == 1)
        snprintf(caption, sizeof caption, "The KV ledger: where the bytes of the pool go");
    else
        snprintf(caption, sizeof caption,
                 "The KV ledger: mean of all %lu replicas together, peak of replica %lu",
                 (unsigned long)ledger.replica_count, (unsigned long)ledger.peak_replica);
    report_html_table(html, caption, run->ledger.at[0].claim, NULL, "llrrrrr");
    put_cells(html, header, COUNT_OF(header));
    report_html_table_body(html);
    put_ledger_rows(html, &ledger);
    report_html_table_end(html);
    put_zero_lines(html, &ledger);
    report_html_markup(html, "<p class=\"note\">");
    report_html_text(html, "The lower bound is what the live tokens need and nothing else; what "
                           "is allocated is more. The lines add up to the pool, to the byte.");
    report_html_markup(html, "</p>\n");
}

static void put_fit_table(struct report_html *html, const struct record_run *run)
{
    static const char *const header[] = {"", "requests", "means", "kind"};
    report_html_table(html, "How many requests fit at once: three answers to three questions", NULL,
                      NULL, "lrlk");
    put_cells(html, header, COUNT_OF(header));
    report_html_table_body(html);
    for (size_t i = 0; i < REPORT_FITS; i++) {
        struct report_fit fit = report_run_fit(run, i);
        report_html_cell(html, fit.name);
        put_figure_cell(html, run, fit.column);
        report_html_cell(html, fit.means);
        report_html_cell(html, fit.claim);
    }
    report_html_table_end(html);
    char pool[REPORT_NUMBER_BYTES], bound[REPORT_NUMBER_BYTES];
    report_print_rounded(record_get_real(run, RECORD_KV_POOL_TOKENS), 3, pool, sizeof pool);
    report_print_rounded(record_get_real(run, RECORD_LOWER_BOUND_BYTES_PER_TOKEN), 3, bound,
                         sizeof bound);
    report_html_paragraph(html, "note",
                          "The pool holds %s tokens per replica in blocks of %lld; the lower bound "
                          "is %s bytes per token (%s).",
                          pool, (long long)run->summary[RECORD_BLOCK_SIZE].integer, bound,
                          record_get_text(run, RECORD_KV_CACHE_DTYPE));
}

void report_html_memory(struct report_html *html, struct report_plotter *plotter,
                        const struct record_run *run)
{
    report_html_section(html, "memory", "Memory");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_waterfall(html, plotter, run);
    report_html_markup(html, "<div>\n");
    put_fit_table(html, run);
    report_html_markup(html, "</div>\n</div>\n");
    if (run->ledger.count > 0)
        put_ledger_table(html, run);
    report_tiers_html(html, run);
    if (run->waterfall.count > 0)
        put_waterfall_table(html, run);
    report_html_section_end(html);
}

/* Limits. */

static void put_limit_table(struct report_html *html, const struct record_run *run)
{
    static const char *const header[] = {"limit", "while", "phase", "share"};
    report_html_table(html, "Shares of the measured time, those above 0", "simulated", NULL,
                      "lllr");
    put_cells(html, header, COUNT_OF(header));
    report_html_table_body(html);
    for (size_t i = 0; i < run->limits.count; i++) {
        const struct record_limit_row *row = &run->limits.at[i];
        char text[REPORT_NUMBER_BYTES];
        if (!(row->share >= 0.0005))
            continue;
        report_html_cell(html, row->name);
        report_html_cell(html, strcmp(row->kind, "waiting") == 0 ? "the queue's head waits"
                                                                 : "a step runs");
        report_html_cell(html, row->phase);
        report_html_cell(html, report_print_share(row->share, text, sizeof text));
    }
    report_html_table_end(html);
}

static void put_tail_table(struct report_html *html, const struct record_run *run)
{
    static const char *const header[] = {"metric", "cause", "share", "ms"};
    report_html_table(html, "Time of the slowest 1 %, causes above 0", "simulated", NULL, "llrr");
    put_cells(html, header, COUNT_OF(header));
    report_html_table_body(html);
    for (size_t i = 0; i < run->tails.count; i++) {
        const struct record_tail_row *row = &run->tails.at[i];
        char text[REPORT_NUMBER_BYTES];
        if (!(row->share >= 0.0005))
            continue;
        report_html_cell(html, row->metric);
        report_html_cell(html, row->cause);
        report_html_cell(html, report_print_share(row->share, text, sizeof text));
        report_html_cell(html, report_print_rounded(row->ms, 3, text, sizeof text));
    }
    report_html_table_end(html);
}

void report_html_limits(struct report_html *html, struct report_plotter *plotter,
                        const struct record_run *run)
{
    if (run->limits.count == 0 && run->tails.count == 0)
        return;
    report_html_section(html, "limits", "What limits");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_limits(html, plotter, run);
    report_figure_tail(html, plotter, run);
    report_html_markup(html, "</div>\n<div class=\"figures\">\n<div>\n");
    if (run->limits.count > 0)
        put_limit_table(html, run);
    report_html_markup(html, "</div>\n<div>\n");
    if (run->tails.count > 0)
        put_tail_table(html, run);
    report_html_markup(html, "</div>\n</div>\n");
    report_html_section_end(html);
}
