/*
 * The page of a comparison: the verdict first, then what was changed, what came of it, and where bytes and time went.
 */
#include "report/compare.h"

#include "base/text.h"
#include "report/number.h"

#include <math.h>
#include <string.h>

enum { PARAMS_MAX = 40 };

/* The figures of the page; all others are in the other formats. */
static const char *const shown[][2] = {
    {"ttft", "mean"},
    {"ttft", "p50"},
    {"ttft", "p99"},
    {"tpot", "mean"},
    {"tpot", "p99"},
    {"itl", "p99"},
    {"e2e", "mean"},
    {"e2e", "p99"},
    {"queue", "p99"},
    {"request_throughput", "value"},
    {"output_throughput", "value"},
    {"request_goodput", "value"},
    {"slo_attainment", "value"},
    {"kv_usage", "mean"},
    {"kv_usage", "peak"},
    {"kv_allocated", "mean"},
    {"running", "mean"},
    {"waiting", "mean"},
    {"preemptions", "value"},
    {"recomputed_tokens", "value"},
    {"prefix_hit_rate", "value"},
    {"busy_fraction", "value"},
    {"usd_per_mtok_output", "value"},
    {"energy_per_output_token", "value"},
};

size_t report_compare_count(void)
{
    return sizeof shown / sizeof *shown;
}

const struct record_difference *report_compare_row(const struct record_comparison *comparison,
                                                   size_t at)
{
    return record_comparison_find(comparison, shown[at][0], shown[at][1]);
}

const char *report_compare_name(const struct record_difference *row, char *text, size_t bytes)
{
    bool has_statistic = strcmp(row->statistic, "value") != 0;
    snprintf(text, bytes, "%s%s%s", row->name, has_statistic ? " " : "",
             has_statistic ? row->statistic : "");
    return text;
}

const char *report_compare_verdict(const struct record_difference *row, char *text, size_t bytes)
{
    base_copy(text, bytes, record_verdict_name(row->verdict));
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '_' ? ' ' : *at;
    size_t length = strlen(text);
    if (row->more_replications > 0)
        snprintf(text + length, bytes - length, " (%lld more replication%s would)",
                 (long long)row->more_replications, row->more_replications == 1 ? "" : "s");
    return text;
}

static const char *text_of(const struct record_side *side, enum record_summary column)
{
    return side->summary[column].kind == RECORD_TEXT ? side->summary[column].text : "";
}

static void put_side(struct report_page *page, const char *name, const struct record_side *side)
{
    char run[40] = "not stored";
    if (side->run_id > 0)
        snprintf(run, sizeof run, "run %lld", (long long)side->run_id);
    report_page_line(page, "%s: %s (%s), %s on %lld x %s, %s; %s, bound by %s, %s", name,
                     text_of(side, RECORD_SCENARIO), run, text_of(side, RECORD_MODEL),
                     (long long)side->summary[RECORD_GPUS].integer, text_of(side, RECORD_HARDWARE),
                     text_of(side, RECORD_ENGINE), text_of(side, RECORD_STABILITY),
                     text_of(side, RECORD_BINDING_LIMIT),
                     side->summary[RECORD_SLO_MET].kind == RECORD_NULL ? "no SLO"
                     : side->summary[RECORD_SLO_MET].integer != 0      ? "meets its targets"
                                                                       : "misses a target");
}

/* ---- the verdict ---- */

static void add_figure_name(struct base_text *text, const struct record_difference *row)
{
    char name[120];
    base_text_printf(text, "%s%s", text->count == 0 ? "" : ", ",
                     report_compare_name(row, name, sizeof name));
    if (!isnan(row->ratio))
        base_text_printf(text, " (%+.1f %%)", (row->ratio - 1) * 100);
}

/* Whether there was anything to say. */
static bool put_verdict_line(struct report_page *page, const struct record_comparison *comparison,
                             enum record_verdict verdict, const char *intro)
{
    struct base_text text = {0};
    for (size_t i = 0; i < report_compare_count(); i++) {
        const struct record_difference *row = report_compare_row(comparison, i);
        if (row != NULL && row->verdict == verdict)
            add_figure_name(&text, row);
    }
    if (text.count > 0)
        report_page_line(page, "%s: %s", intro, text.at);
    bool has_any = text.count > 0;
    base_text_free(&text);
    return has_any;
}

static void put_verdict(struct report_page *page, const struct record_comparison *comparison)
{
    static const struct {
        enum record_verdict verdict;
        const char *intro;
    } lines[] = {
        {RECORD_BETTER, "better"},
        {RECORD_WORSE, "worse"},
        {RECORD_MORE, "more"},
        {RECORD_LESS, "less"},
        {RECORD_NO_DIFFERENCE_SHOWN, "no difference shown"},
        {RECORD_NO_INTERVAL, "no interval to judge by"},
    };
    bool is_same_run = comparison->a.run_id > 0 && comparison->a.run_id == comparison->b.run_id;
    bool has_any = false;
    report_page_heading(page, "B AGAINST A");
    if (is_same_run)
        report_page_line(page, "both are the same run");
    for (size_t i = 0; i < sizeof lines / sizeof *lines && !is_same_run; i++)
        has_any |= put_verdict_line(page, comparison, lines[i].verdict, lines[i].intro);
    if (is_same_run)
        return;
    if (!has_any)
        report_page_line(page, "every figure is the same");
    report_page_line(
        page, "%s",
        comparison->is_paired
            ? "paired on common random numbers, 95 % intervals by Student t over the "
              "differences of replications; those of latencies reach further from zero"
            : "not paired (seeds or replications differ), 95 % intervals by Welch's t");
}

/* ---- parameters ---- */

/* What follows from others, or names a source, is not what was changed. */
bool report_compare_is_changed(const struct record_param_difference *row)
{
    const char *key = row->key;
    return !base_ends_with(key, ".resulting_mean") && !base_ends_with(key, ".rows") &&
           !base_ends_with(key, ".used");
}

static void put_params(struct report_page *page, const struct record_comparison *comparison)
{
    size_t count = 0;
    report_page_heading(page, "PARAMETERS THAT DIFFER");
    if (comparison->params.count == 0) {
        report_page_line(page, "none: both are the same configuration");
        return;
    }
    report_page_table_begin(page, "lll");
    report_page_cell(page, "key");
    report_page_cell(page, "A");
    report_page_cell(page, "B");
    for (size_t i = 0; i < comparison->params.count && count < PARAMS_MAX; i++) {
        const struct record_param_difference *row = &comparison->params.at[i];
        if (!report_compare_is_changed(row))
            continue;
        report_page_cell(page, row->key);
        report_page_cell(page, row->a[0] == '\0' ? "-" : row->a);
        report_page_cell(page, row->b[0] == '\0' ? "-" : row->b);
        count++;
    }
    report_page_table_end(page);
    if (comparison->params.count > PARAMS_MAX)
        report_page_line(page, "more in --format json: %zu in all", comparison->params.count);
}

/* ---- figures ---- */

static void put_number(struct report_page *page, double value)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, report_print_rounded(value, 4, text, sizeof text));
}

static void put_difference(struct report_page *page, const struct record_difference *row)
{
    char number[REPORT_NUMBER_BYTES], ratio[REPORT_NUMBER_BYTES], verdict[96];
    if (isnan(row->ci_low))
        report_print_rounded(row->difference, 3, number, sizeof number);
    else
        report_print_difference(row->difference, row->ci_low, row->ci_high, number, sizeof number);
    report_page_cell(page, number);
    if (isnan(row->ratio))
        base_copy(ratio, sizeof ratio, "-");
    else
        snprintf(ratio, sizeof ratio, "%+.2f %%", (row->ratio - 1) * 100);
    report_page_cell(page, ratio);
    report_page_cell(page, report_compare_verdict(row, verdict, sizeof verdict));
}

static void put_figures(struct report_page *page, const struct record_comparison *comparison)
{
    static const char *const heads[] = {"figure", "unit", "A", "B", "B - A", "relative", "verdict"};
    report_page_heading(page, "FIGURES");
    report_page_table_begin(page, "llrrrrl");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    for (size_t i = 0; i < report_compare_count(); i++) {
        const struct record_difference *row = report_compare_row(comparison, i);
        if (row == NULL)
            continue;
        char name[120];
        report_compare_name(row, name, sizeof name);
        report_page_cell(page, name);
        report_page_cell(page, row->unit);
        put_number(page, row->a);
        put_number(page, row->b);
        put_difference(page, row);
    }
    report_page_table_end(page);
}

/* ---- bytes, limits, causes ---- */

static void put_bytes(struct report_page *page, const struct record_comparison *comparison)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_heading(page,
                        "BYTES THAT DIFFER (the ledger of all replicas; the waterfall of one GPU)");
    report_page_table_begin(page, "llrrr");
    static const char *const heads[] = {"at", "line", "A GiB", "B GiB", "B - A bytes"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    size_t count = 0;
    for (size_t i = 0; i < comparison->bytes.count; i++) {
        const struct record_bytes_difference *row = &comparison->bytes.at[i];
        if (row->a == row->b)
            continue;
        report_page_cell(page, row->at);
        report_page_cell(page, row->component);
        report_page_cell(page, report_print_gib((double)row->a, text, sizeof text));
        report_page_cell(page, report_print_gib((double)row->b, text, sizeof text));
        report_page_cell(page,
                         report_print_rounded((double)(row->b - row->a), 20, text, sizeof text));
        count++;
    }
    report_page_table_end(page);
    if (count == 0)
        report_page_line(page, "none");
}

static void put_limits(struct report_page *page, const struct record_comparison *comparison)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_heading(page, "WHAT LIMITS (shares of the measured time)");
    report_page_table_begin(page, "llrr");
    static const char *const heads[] = {"kind", "limit", "A", "B"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    for (size_t i = 0; i < comparison->shares.count; i++) {
        const struct record_share_difference *row = &comparison->shares.at[i];
        bool is_whole = strcmp(row->phase, "all") == 0 && strcmp(row->kind, "tail_ms") != 0;
        if (!is_whole || !(row->a > 0 || row->b > 0))
            continue;
        report_page_cell(page, row->kind);
        report_page_cell(page, row->name);
        report_page_cell(page, report_print_share(row->a, text, sizeof text));
        report_page_cell(page, report_print_share(row->b, text, sizeof text));
    }
    report_page_table_end(page);
}

static void put_tails(struct report_page *page, const struct record_comparison *comparison)
{
    report_page_heading(page, "WHY: milliseconds of the slowest 1 % by cause");
    report_page_table_begin(page, "llrrr");
    static const char *const heads[] = {"metric", "cause", "A", "B", "B - A"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    for (size_t i = 0; i < comparison->shares.count; i++) {
        const struct record_share_difference *row = &comparison->shares.at[i];
        if (strcmp(row->kind, "tail_ms") != 0 || !(row->a > 0 || row->b > 0))
            continue;
        report_page_cell(page, row->phase);
        report_page_cell(page, row->name);
        put_number(page, row->a);
        put_number(page, row->b);
        put_number(page, row->b - row->a);
    }
    report_page_table_end(page);
}

void report_compare_page(FILE *out, enum report_style style,
                         const struct record_comparison *comparison)
{
    struct report_page page;
    char title[200];
    report_page_init(&page, out, style);
    snprintf(title, sizeof title, "comparison: A %s, B %s",
             text_of(&comparison->a, RECORD_SCENARIO), text_of(&comparison->b, RECORD_SCENARIO));
    report_page_title(&page, title);
    put_side(&page, "A", &comparison->a);
    put_side(&page, "B", &comparison->b);
    put_verdict(&page, comparison);
    put_params(&page, comparison);
    put_figures(&page, comparison);
    put_bytes(&page, comparison);
    put_limits(&page, comparison);
    put_tails(&page, comparison);
}
