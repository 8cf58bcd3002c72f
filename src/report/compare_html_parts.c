/*
 * The sections of a comparison's page with the figures behind the verdict.
 */
#include "report/compare_html_int.h"

#include "report/compare.h"
#include "report/compare_plots.h"
#include "report/figure.h"
#include "report/number.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { PARAMS_MAX = 60 };

static void put_heads(struct report_html *html, const char *const *heads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        report_html_cell(html, heads[i]);
}

static void put_number(struct report_html *html, double value)
{
    char text[REPORT_NUMBER_BYTES];
    report_html_cell(html, report_print_rounded(value, 4, text, sizeof text));
}

/* ---- parameters ---- */

void report_html_changed(struct report_html *html, const struct record_comparison *comparison)
{
    static const char *const heads[] = {"key", "A", "B"};
    size_t count = 0;
    report_html_section(html, "changed", "What was changed");
    if (comparison->params.count == 0) {
        report_html_paragraph(html, "", "Nothing: both are the same configuration.");
        report_html_section_end(html);
        return;
    }
    report_html_table(html, "Parameters that differ", NULL, NULL, "lll");
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < comparison->params.count && count < PARAMS_MAX; i++) {
        const struct record_param_difference *row = &comparison->params.at[i];
        if (!report_compare_is_changed(row))
            continue;
        report_html_cell(html, row->key);
        report_html_cell(html, row->a[0] == '\0' ? "-" : row->a);
        report_html_cell(html, row->b[0] == '\0' ? "-" : row->b);
        count++;
    }
    report_html_table_end(html);
    if (count == PARAMS_MAX)
        report_html_paragraph(html, "note", "The first %d; --format json has all of them.",
                              (int)PARAMS_MAX);
    report_html_section_end(html);
}

/* ---- figures ---- */

static void put_difference_row(struct report_html *html, const struct record_difference *row)
{
    char text[120], words[120];
    report_compare_name(row, text, sizeof text);
    report_html_cell(html, report_words(text, words, sizeof words));
    bool is_size = strcmp(row->unit, "bytes") == 0;
    double scale = is_size ? 0x1p-30 : 1;
    report_html_cell(html, is_size ? "GiB" : row->unit);
    put_number(html, row->a * scale);
    put_number(html, row->b * scale);
    if (isnan(row->ci_low))
        report_print_rounded(row->difference * scale, 3, text, sizeof text);
    else
        report_print_difference(row->difference * scale, row->ci_low * scale, row->ci_high * scale,
                                text, sizeof text);
    report_html_cell(html, text);
    snprintf(text, sizeof text, "%+.2f %%", (row->ratio - 1) * 100);
    report_html_cell(html, isnan(row->ratio) ? "-" : text);
    report_html_cell(html, report_compare_verdict(row, text, sizeof text));
}

void report_html_differences(struct report_html *html, struct report_plotter *plotter,
                             const struct record_comparison *comparison)
{
    static const char *const heads[] = {"figure", "unit", "A", "B", "B - A", "relative", "verdict"};
    report_html_section(html, "differences", "What came of it");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_differences(html, plotter, comparison);
    report_html_markup(html, "</div>\n");
    report_html_table(html, "Figures of both runs, with the 95 % interval of the difference",
                      "simulated", "assumed", "llrrrrl");
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < report_compare_count(); i++) {
        const struct record_difference *row = report_compare_row(comparison, i);
        if (row != NULL)
            put_difference_row(html, row);
    }
    report_html_table_end(html);
    report_html_section_end(html);
}

/* ---- bytes ---- */

static void put_bytes_row(struct report_html *html, const struct record_bytes_difference *row)
{
    char text[REPORT_NUMBER_BYTES], words[96];
    report_html_cell(html, report_words(row->component, words, sizeof words));
    report_html_cell(html, strcmp(row->at, "waterfall") == 0 ? "one GPU" : row->at);
    report_html_cell(html, report_print_gib((double)row->a, text, sizeof text));
    report_html_cell(html, report_print_gib((double)row->b, text, sizeof text));
    report_html_cell(html, report_print_rounded((double)(row->b - row->a), 20, text, sizeof text));
}

void report_html_moved_bytes(struct report_html *html, struct report_plotter *plotter,
                             const struct record_comparison *comparison)
{
    static const char *const heads[] = {"line", "at", "A GiB", "B GiB", "B - A bytes"};
    size_t count = 0;
    for (size_t i = 0; i < comparison->bytes.count; i++)
        count += comparison->bytes.at[i].a != comparison->bytes.at[i].b;
    report_html_section(html, "bytes", "Bytes that moved");
    if (count == 0) {
        report_html_paragraph(html, "", "None: ledger and waterfall are the same.");
        report_html_section_end(html);
        return;
    }
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_moved_bytes(html, plotter, comparison);
    report_html_markup(html, "</div>\n");
    report_html_table(html,
                      "The ledger of all replicas (time mean, peak) and the waterfall of one "
                      "GPU, where they differ",
                      NULL, NULL, "llrrr");
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < comparison->bytes.count; i++) {
        if (comparison->bytes.at[i].a != comparison->bytes.at[i].b)
            put_bytes_row(html, &comparison->bytes.at[i]);
    }
    report_html_table_end(html);
    report_html_section_end(html);
}

/* ---- time ---- */

static bool is_limit(const struct record_share_difference *row)
{
    return strcmp(row->phase, "all") == 0 && strcmp(row->kind, "tail_ms") != 0 &&
           (row->a > 0 || row->b > 0);
}

static bool is_cause(const struct record_share_difference *row)
{
    return strcmp(row->kind, "tail_ms") == 0 && (row->a > 0 || row->b > 0);
}

static size_t count_rows(const struct record_comparison *comparison,
                         bool (*is_one)(const struct record_share_difference *row))
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->shares.count; i++)
        count += is_one(&comparison->shares.at[i]);
    return count;
}

static void put_limits(struct report_html *html, const struct record_comparison *comparison)
{
    static const char *const heads[] = {"limit", "kind", "A", "B"};
    char text[REPORT_NUMBER_BYTES], words[96];
    if (count_rows(comparison, is_limit) == 0)
        return;
    report_html_table(html, "What limits, as shares of the measured time", "simulated", "assumed",
                      "llrr");
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < comparison->shares.count; i++) {
        const struct record_share_difference *row = &comparison->shares.at[i];
        if (!is_limit(row))
            continue;
        report_html_cell(html, report_words(row->name, words, sizeof words));
        report_html_cell(html, strcmp(row->kind, "waiting") == 0 ? "the queue waits for it"
                                                                 : "steps are bound by it");
        report_html_cell(html, report_print_share(row->a, text, sizeof text));
        report_html_cell(html, report_print_share(row->b, text, sizeof text));
    }
    report_html_table_end(html);
}

static void put_causes(struct report_html *html, const struct record_comparison *comparison)
{
    static const char *const heads[] = {"cause", "of", "A ms", "B ms", "B - A"};
    char words[96];
    if (count_rows(comparison, is_cause) == 0)
        return;
    report_html_table(html, "The slowest 1 % by cause", "simulated", "assumed", "llrrr");
    put_heads(html, heads, COUNT_OF(heads));
    report_html_table_body(html);
    for (size_t i = 0; i < comparison->shares.count; i++) {
        const struct record_share_difference *row = &comparison->shares.at[i];
        if (!is_cause(row))
            continue;
        report_html_cell(html, report_words(row->name, words, sizeof words));
        report_html_cell(html, row->phase);
        put_number(html, row->a);
        put_number(html, row->b);
        put_number(html, row->b - row->a);
    }
    report_html_table_end(html);
}

void report_html_moved_time(struct report_html *html, struct report_plotter *plotter,
                            const struct record_comparison *comparison)
{
    report_html_section(html, "why", "Why");
    report_html_markup(html, "<div class=\"figures\">\n");
    report_figure_moved_tail(html, plotter, comparison, "ttft");
    report_figure_moved_tail(html, plotter, comparison, "e2e");
    report_html_markup(html, "</div>\n");
    put_limits(html, comparison);
    put_causes(html, comparison);
    report_html_section_end(html);
}
