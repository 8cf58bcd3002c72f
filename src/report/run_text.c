/*
 * The report for people. Each section is one function that says one thing; sections without data are left out.
 */
#include "report/run.h"

#include "base/text.h"
#include "base/units.h"
#include "report/number.h"
#include "report/run_view.h"
#include "report/table.h"
#include "report/tiers.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static void print_title(struct report_page *page, const struct record_run *run)
{
    char title[256];
    if (run->run_id > 0)
        snprintf(title, sizeof title, "kvsim %s: %s (run %lld)",
                 record_get_text(run, RECORD_KVSIM_VERSION), record_get_text(run, RECORD_SCENARIO),
                 (long long)run->run_id);
    else
        snprintf(title, sizeof title, "kvsim %s: %s (not stored)",
                 record_get_text(run, RECORD_KVSIM_VERSION), record_get_text(run, RECORD_SCENARIO));
    report_page_title(page, title);
}

static void print_setting(struct report_page *page, const struct record_run *run)
{
    char requests[REPORT_NUMBER_BYTES], rate[REPORT_NUMBER_BYTES], seconds[REPORT_NUMBER_BYTES];
    char wall[REPORT_NUMBER_BYTES];
    report_page_line(
        page, "%s on %lld x %s, %s, %lld replica%s of TP %lld PP %lld DP %lld",
        record_get_text(run, RECORD_MODEL), (long long)run->summary[RECORD_GPUS].integer,
        record_get_text(run, RECORD_HARDWARE), record_get_text(run, RECORD_ENGINE),
        (long long)run->summary[RECORD_REPLICAS].integer,
        run->summary[RECORD_REPLICAS].integer == 1 ? "" : "s",
        (long long)run->summary[RECORD_TP].integer, (long long)run->summary[RECORD_PP].integer,
        (long long)run->summary[RECORD_DP].integer);
    report_page_line(page, "KV cache %s in blocks of %lld tokens; step times: level '%s'",
                     record_get_text(run, RECORD_KV_CACHE_DTYPE),
                     (long long)run->summary[RECORD_BLOCK_SIZE].integer,
                     record_get_text(run, RECORD_COST_LEVEL));
    report_print_rounded(record_get_real(run, RECORD_REQUESTS), 4, requests, sizeof requests);
    report_print_rounded(record_get_real(run, RECORD_OFFERED_RATE), 3, rate, sizeof rate);
    report_print_rounded(record_get_real(run, RECORD_DURATION_S), 3, seconds, sizeof seconds);
    report_print_rounded(run->wall_s, 2, wall, sizeof wall);
    report_page_line(page,
                     "%s requests at %s/s, %lld replication%s from seed %lld; %s s simulated each, "
                     "in %s s",
                     requests, rate, (long long)run->summary[RECORD_REPLICATIONS].integer,
                     run->summary[RECORD_REPLICATIONS].integer == 1 ? "" : "s",
                     (long long)run->summary[RECORD_SEED].integer, seconds, wall);
}

static void print_verdict(struct report_page *page, const struct record_run *run)
{
    const struct record_value *met = &run->summary[RECORD_SLO_MET];
    report_page_heading(page, met->kind == RECORD_NULL ? "VERDICT: no SLO was stated"
                              : met->integer != 0      ? "VERDICT: every SLO is met"
                                                       : "VERDICT: AN SLO IS MISSED");
    const char *warning = report_run_warning(run);
    if (warning != NULL)
        report_page_line(page, "%s", warning);
    for (size_t i = 0; i < run->slo_lines.count; i++)
        report_page_line(page, "%s", run->slo_lines.at[i]);
    char spare[REPORT_NUMBER_BYTES];
    const char *limit = record_get_text(run, RECORD_BINDING_LIMIT);
    report_page_line(
        page, "load: %s; left of the fullest limit: %s; what limits most of the time: %s",
        record_get_text(run, RECORD_STABILITY),
        report_print_share(record_get_real(run, RECORD_SPARE_SHARE), spare, sizeof spare),
        limit[0] == '\0' ? "nothing that was seen" : limit);
}

static void print_cells(struct report_page *page, const char *const *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        report_page_cell(page, cells[i]);
}

/* The claim and basis that most latency figures share, and why some have no interval. */
static void print_latency_notes(struct report_page *page, const struct record_run *run)
{
    int64_t replications = run->summary[RECORD_REPLICATIONS].integer;
    const struct record_metric *row = record_run_metric(run, "ttft", "mean", "");
    report_page_line(page, "%s, %lld replication%s, 95 %% interval %s; basis: %s",
                     row != NULL && row->claim != NULL ? row->claim : "simulated",
                     (long long)replications, replications == 1 ? "" : "s",
                     replications == 1 ? "within it" : "over replications",
                     row != NULL && row->basis != NULL ? row->basis : "assumed");
    bool is_withheld = false;
    for (int i = RECORD_TTFT_MEAN; i <= RECORD_QUEUE_P99; i++)
        is_withheld |= run->summary[i].kind != RECORD_NULL &&
                       !report_run_has_interval(run, (enum record_summary)i);
    if (is_withheld && replications <= 1)
        report_page_line(page, "without ±: one replication alone gives no interval "
                               "(--replications 5 does)");
    else if (is_withheld && row != NULL && row->method != NULL &&
             strcmp(row->method, RECORD_METHOD_REPEATED) == 0)
        report_page_line(page, "without ±: a trace is one sample of its load, and replications "
                               "repeat it");
    else if (is_withheld)
        report_page_line(page, "without ±: too few requests beyond the percentile for an interval; "
                               "run_metric.method says how many it takes");
    double failed = record_get_real(run, RECORD_FAILED);
    char failures[REPORT_NUMBER_BYTES], requests[REPORT_NUMBER_BYTES];
    if (failed > 0.0)
        report_page_line(page, "%s of %s requests failed: the figures above are of the others",
                         report_print_rounded(failed, 3, failures, sizeof failures),
                         report_print_rounded(record_get_real(run, RECORD_REQUESTS), 4, requests,
                                              sizeof requests));
    double unfinished = record_get_real(run, RECORD_UNFINISHED);
    if (unfinished > 0.0)
        report_page_line(page, "%s of %s requests were still in the system when the run ended",
                         report_print_rounded(unfinished, 4, failures, sizeof failures),
                         report_print_rounded(record_get_real(run, RECORD_REQUESTS), 4, requests,
                                              sizeof requests));
}

static void print_latency(struct report_page *page, const struct record_run *run)
{
    static const struct {
        const char *name;
        enum record_summary mean;
    } rows[] = {{"ttft", RECORD_TTFT_MEAN},
                {"tpot", RECORD_TPOT_MEAN},
                {"itl", RECORD_ITL_MEAN},
                {"e2e", RECORD_E2E_MEAN},
                {"queue", RECORD_QUEUE_MEAN}};
    static const char *const header[] = {"", "mean", "p50", "p90", "p95", "p99"};
    report_page_heading(page, "LATENCY (ms)");
    report_page_table_begin(page, "lrrrrr");
    print_cells(page, header, COUNT_OF(header));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        report_page_cell(page, rows[i].name);
        for (int statistic = 0; statistic < 5; statistic++) {
            char text[REPORT_NUMBER_BYTES];
            enum record_summary column = (enum record_summary)((int)rows[i].mean + statistic);
            report_page_cell(page, report_run_figure(run, column, text, sizeof text));
        }
    }
    report_page_table_end(page);
    print_latency_notes(page, run);
}

/* A row of up to three "label figure" pairs. */
struct pair {
    const char *label;
    enum record_summary column;
    bool is_share;
};

static void print_pairs(struct report_page *page, const struct record_run *run,
                        const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[REPORT_NUMBER_BYTES];
        double value = record_get_real(run, pairs[i].column);
        report_page_cell(page, pairs[i].label);
        report_page_cell(page, pairs[i].is_share
                                   ? report_print_share(value, text, sizeof text)
                                   : report_run_figure(run, pairs[i].column, text, sizeof text));
    }
}

static void print_rates(struct report_page *page, const struct record_run *run)
{
    bool has_one_replica = run->summary[RECORD_REPLICAS].integer == 1;
    const char *peak = has_one_replica ? "peak" : "peak of a replica";
    const struct pair pairs[] = {
        {"requests/s done", RECORD_REQUEST_THROUGHPUT, false},
        {"within SLO", RECORD_REQUEST_GOODPUT, false},
        {"share within SLO", RECORD_SLO_ATTAINMENT, true},
        {"output tokens/s", RECORD_OUTPUT_THROUGHPUT, false},
        {"per GPU", RECORD_OUTPUT_THROUGHPUT_PER_GPU, false},
        {"per user", RECORD_OUTPUT_THROUGHPUT_PER_USER, false},
        {"prompt tokens/s", RECORD_PROMPT_THROUGHPUT, false},
        {"both", RECORD_TOTAL_TOKEN_THROUGHPUT, false},
        {"J per output token", RECORD_ENERGY_PER_OUTPUT_TOKEN_J, false},
        {"$ per M output tokens", RECORD_USD_PER_MTOK_OUTPUT, false},
        {"input", RECORD_USD_PER_MTOK_INPUT, false},
        {"all tokens", RECORD_USD_PER_MTOK_TOTAL, false},
        {"running, mean", RECORD_RUNNING_MEAN, false},
        {peak, RECORD_RUNNING_PEAK, false},
        {"busy", RECORD_BUSY_FRACTION, true},
        {"waiting, mean", RECORD_WAITING_MEAN, false},
        {peak, RECORD_WAITING_PEAK, false},
        {"of it with prefill", RECORD_PREFILL_TIME_FRACTION, true},
        {"preemptions", RECORD_PREEMPTIONS, false},
        {"recomputed tokens", RECORD_RECOMPUTED_TOKENS, false},
        {"prefix hit rate", RECORD_PREFIX_HIT_RATE, true},
    };
    static const struct pair reuse[] = {
        {"prefix blocks found", RECORD_PREFIX_HIT_BLOCKS, false},
        {"asked for", RECORD_PREFIX_LOOKUP_BLOCKS, false},
        {"not whole", RECORD_PREFIX_CUT_BLOCKS, false},
        {"lost since sent", RECORD_PREFIX_LOST_BLOCKS, false},
        {"being computed", RECORD_PREFIX_PENDING_BLOCKS, false},
        {"own, preempted", RECORD_PREFIX_RECOMPUTED_BLOCKS, false},
    };
    static const struct pair candidates[] = {
        {"tokens returned", RECORD_OUTPUT_TOKENS, false},
        {"generated", RECORD_GENERATED_TOKENS, false},
        {"bytes copied", RECORD_COPIED_BYTES, false},
        {"engine requests", RECORD_ENGINE_REQUESTS, false},
        {"tokens computed", RECORD_COMPUTED_TOKENS, false},
        {"steps", RECORD_STEPS, false},
    };
    static const char *const header[] = {"", "figure", "", "figure", "", "figure"};
    report_page_heading(page, "THROUGHPUT, COST AND LOAD (all replicas, mean of the replications)");
    report_page_table_begin(page, "lrlrlr");
    if (page->style == REPORT_MARKDOWN)
        print_cells(page, header, COUNT_OF(header));
    print_pairs(page, run, pairs, COUNT_OF(pairs));
    if (record_get_real(run, RECORD_PREFIX_HIT_BLOCKS) > 0)
        print_pairs(page, run, reuse, COUNT_OF(reuse));
    if (record_get_real(run, RECORD_GENERATED_TOKENS) > record_get_real(run, RECORD_OUTPUT_TOKENS))
        print_pairs(page, run, candidates, COUNT_OF(candidates));
    report_page_table_end(page);
}

static void print_waterfall(struct report_page *page, const struct record_run *run)
{
    if (run->waterfall.count == 0)
        return;
    static const char *const header[] = {"", "", "GiB", "bytes", "claim", "source"};
    report_page_heading(page, "MEMORY OF ONE GPU (the fullest)");
    report_page_table_begin(page, "llrrlw");
    print_cells(page, header, COUNT_OF(header));
    for (size_t i = 0; i < run->waterfall.count; i++) {
        const struct record_waterfall_row *row = &run->waterfall.at[i];
        char gib[REPORT_NUMBER_BYTES], bytes[REPORT_NUMBER_BYTES];
        report_page_cell(page, report_waterfall_sign(row->line));
        report_page_cell(page, row->line);
        report_page_cell(page, report_print_gib((double)row->bytes_per_gpu, gib, sizeof gib));
        report_page_cell(page, base_print_count((double)row->bytes_per_gpu, bytes, sizeof bytes));
        report_page_cell(page, row->claim);
        report_page_cell(page, row->source);
    }
    report_page_table_end(page);
}

static void print_ledger_line(struct report_page *page, const char *sign, const char *name,
                              int64_t mean_bytes, int64_t peak_bytes,
                              const struct report_ledger *ledger)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, sign);
    report_page_cell(page, name);
    report_page_cell(page, report_print_gib((double)mean_bytes, text, sizeof text));
    double pool = (double)ledger->mean_bytes[RECORD_LEDGER_POOL];
    report_page_cell(page, report_print_share((double)mean_bytes / pool, text, sizeof text));
    report_page_cell(page, report_print_gib((double)peak_bytes, text, sizeof text));
    pool = (double)ledger->peak_bytes[RECORD_LEDGER_POOL];
    report_page_cell(page, report_print_share((double)peak_bytes / pool, text, sizeof text));
    report_page_cell(page, base_print_count((double)peak_bytes, text, sizeof text));
}

/* Prints all lines but those that are 0 throughout, which are named in one sentence. */
static void print_ledger_table(struct report_page *page, const struct report_ledger *ledger,
                               struct base_text *zeros)
{
    for (size_t line = 0; line < RECORD_LEDGER_LINES; line++) {
        int64_t mean_bytes = ledger->mean_bytes[line], peak_bytes = ledger->peak_bytes[line];
        const char *sign = report_ledger_sign(line);
        if (mean_bytes != 0 || peak_bytes != 0)
            print_ledger_line(page, sign, record_ledger_name(line), mean_bytes, peak_bytes, ledger);
        else
            base_text_printf(zeros, "%s%s", zeros->count == 0 ? "" : ", ",
                             record_ledger_name(line));
        if (line == RECORD_LEDGER_SHARED)
            print_ledger_line(page, "=", "allocated", record_ledger_allocated(ledger->mean_bytes),
                              record_ledger_allocated(ledger->peak_bytes), ledger);
    }
}

static void print_ledger(struct report_page *page, const struct record_run *run)
{
    if (run->ledger.count == 0)
        return;
    struct report_ledger ledger;
    report_ledger_read(run, &ledger);
    static const char *const header[] = {"",         "",        "mean GiB",  "of pool",
                                         "peak GiB", "of pool", "peak bytes"};
    char heading[128];
    if (ledger.replica_count == 1)
        base_copy(heading, sizeof heading, "KV LEDGER: where the bytes of the pool go");
    else
        snprintf(heading, sizeof heading,
                 "KV LEDGER: mean of all %lu replicas together, peak of replica %lu",
                 (unsigned long)ledger.replica_count, (unsigned long)ledger.peak_replica);
    report_page_heading(page, heading);
    report_page_table_begin(page, "llrrrrr");
    print_cells(page, header, COUNT_OF(header));
    struct base_text zeros = {0};
    print_ledger_table(page, &ledger, &zeros);
    report_page_table_end(page);
    if (zeros.count > 0)
        report_page_line(page, "0 at mean and peak: %s", zeros.at);
    base_text_free(&zeros);
}

static void print_fit(struct report_page *page, const struct record_run *run)
{
    char text[REPORT_NUMBER_BYTES], pool[REPORT_NUMBER_BYTES], bound[REPORT_NUMBER_BYTES];
    report_page_heading(page, "HOW MANY REQUESTS FIT AT ONCE (three answers to three questions)");
    report_page_table_begin(page, "lrl");
    static const char *const header[] = {"", "requests", "means"};
    print_cells(page, header, COUNT_OF(header));
    for (size_t i = 0; i < REPORT_FITS; i++) {
        struct report_fit fit = report_run_fit(run, i);
        struct base_text means = {0};
        base_text_printf(&means, "%s (%s)", fit.means, fit.claim);
        report_page_cell(page, fit.name);
        report_page_cell(page, report_run_figure(run, fit.column, text, sizeof text));
        report_page_cell(page, means.at);
        base_text_free(&means);
    }
    report_page_table_end(page);
    report_page_line(
        page, "pool: %s tokens per replica; lower bound %s bytes per token (2 L H_kv d_h b)",
        report_print_rounded(record_get_real(run, RECORD_KV_POOL_TOKENS), 3, pool, sizeof pool),
        report_print_rounded(record_get_real(run, RECORD_LOWER_BOUND_BYTES_PER_TOKEN), 3, bound,
                             sizeof bound));
}

/* "name 12.3 %" for every row of one kind and phase that is worth a word. */
static void add_share(struct base_text *text, const char *name, double share)
{
    char number[REPORT_NUMBER_BYTES];
    if (share >= 0.0005)
        base_text_printf(text, "%s%s %s", text->count == 0 ? "" : ", ", name,
                         report_print_share(share, number, sizeof number));
}

static void print_limit_group(struct report_page *page, const struct record_run *run, size_t first)
{
    const struct record_limit_row *group = &run->limits.at[first];
    struct base_text text = {0};
    for (size_t i = first; i < run->limits.count; i++) {
        const struct record_limit_row *row = &run->limits.at[i];
        if (strcmp(row->kind, group->kind) == 0 && strcmp(row->phase, group->phase) == 0)
            add_share(&text, row->name, row->share);
    }
    const char *what =
        strcmp(group->kind, "waiting") == 0 ? "the queue's head waits for" : "steps bound by";
    report_page_line(page, "%s (%s): %s", what, group->phase, text.count > 0 ? text.at : "nothing");
    base_text_free(&text);
}

static void print_limits(struct report_page *page, const struct record_run *run)
{
    if (run->limits.count == 0)
        return;
    char heading[128];
    snprintf(heading, sizeof heading, "WHAT LIMITS: %s (shares of the measured time)",
             record_get_text(run, RECORD_BINDING_LIMIT));
    report_page_heading(page, heading);
    for (size_t i = 0; i < run->limits.count; i++) {
        if (report_limit_is_first(run, i))
            print_limit_group(page, run, i);
    }
}

static void print_tail(struct report_page *page, const struct record_run *run)
{
    if (run->tails.count == 0)
        return;
    report_page_heading(page, "WHERE THE SLOWEST 1 % SPEND THEIR TIME");
    for (size_t i = 0; i < run->tails.count; i++) {
        const char *metric = run->tails.at[i].metric;
        if (i > 0 && strcmp(run->tails.at[i - 1].metric, metric) == 0)
            continue;
        struct base_text text = {0};
        for (size_t k = i; k < run->tails.count && strcmp(run->tails.at[k].metric, metric) == 0;
             k++)
            add_share(&text, run->tails.at[k].cause, run->tails.at[k].share);
        report_page_line(page, "%s: %s", metric, text.count > 0 ? text.at : "nothing");
        base_text_free(&text);
    }
}

static void print_caveats(struct report_page *page, const struct record_run *run)
{
    report_page_heading(page, "WHAT THESE FIGURES DO NOT SUPPORT");
    for (size_t i = 0; i < run->caveats.count; i++)
        report_page_line(page, "%s: %s", run->caveats.at[i].code, run->caveats.at[i].text);
    if (run->caveats.count == 0)
        report_page_line(page, "no caveat was recorded; the figures hold for this load, model, "
                               "hardware and engine release only");
}

static void print_query(struct report_page *page, const struct record_run *run, const char *db_path)
{
    if (db_path == NULL || run->run_id <= 0)
        return;
    char command[512];
    report_page_heading(page, "ASK FURTHER");
    snprintf(command, sizeof command, "sqlite3 %s \"SELECT * FROM run_metric WHERE run_id = %lld\"",
             db_path, (long long)run->run_id);
    report_page_command(page, command);
}

static void print_run(FILE *out, const struct record_run *run, const char *db_path,
                      enum report_style style)
{
    struct report_page page;
    report_page_init(&page, out, style);
    print_title(&page, run);
    print_setting(&page, run);
    print_verdict(&page, run);
    print_latency(&page, run);
    print_rates(&page, run);
    print_waterfall(&page, run);
    print_ledger(&page, run);
    report_tiers_page(&page, run);
    print_fit(&page, run);
    print_limits(&page, run);
    print_tail(&page, run);
    print_caveats(&page, run);
    print_query(&page, run, db_path);
}

void report_run_text(FILE *out, const struct record_run *run, const char *db_path)
{
    print_run(out, run, db_path, REPORT_TEXT);
}

void report_run_markdown(FILE *out, const struct record_run *run, const char *db_path)
{
    print_run(out, run, db_path, REPORT_MARKDOWN);
}
