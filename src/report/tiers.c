#include "report/tiers.h"

#include "report/number.h"

#include <math.h>

enum { COLUMNS = 10, WORTH_SAYING_MS = 1 };

static const char *const header[COLUMNS] = {"tier",      "GiB",           "held GiB",   "hits",
                                            "of tokens", "stored GiB",    "loaded GiB", "reads",
                                            "writes",    "evicted blocks"};
static const char align[] = "lrrrrrrrrr";

struct cells {
    char text[COLUMNS][REPORT_NUMBER_BYTES];
};

static void print_gib(double bytes, char *text)
{
    if (isnan(bytes)) {
        text[0] = '-';
        text[1] = '\0';
        return;
    }
    report_print_gib(bytes, text, REPORT_NUMBER_BYTES);
}

static void print_row(const struct record_tier_row *row, struct cells *out)
{
    snprintf(out->text[0], REPORT_NUMBER_BYTES, "%.30s", row->tier);
    print_gib(row->capacity_bytes, out->text[1]);
    print_gib(row->held_bytes, out->text[2]);
    report_print_share(row->hit_rate, out->text[3], REPORT_NUMBER_BYTES);
    report_print_rounded(row->queried_tokens, 4, out->text[4], REPORT_NUMBER_BYTES);
    print_gib(row->bytes_in, out->text[5]);
    print_gib(row->bytes_out, out->text[6]);
    report_print_share(row->read_busy, out->text[7], REPORT_NUMBER_BYTES);
    report_print_share(row->write_busy, out->text[8], REPORT_NUMBER_BYTES);
    report_print_rounded(row->evicted, 4, out->text[9], REPORT_NUMBER_BYTES);
}

// What waiting for links costs: steps, and the transfers of each tier.
static void print_waits(struct report_page *page, const struct record_run *run)
{
    char stall[REPORT_NUMBER_BYTES], tokens[REPORT_NUMBER_BYTES];
    double declined = record_get_real(run, RECORD_TIER_DECLINED_TOKENS);
    report_print_rounded(declined, 4, tokens, sizeof tokens);
    report_page_line(
        page, "reads, writes: link busy; steps waited %s%s%s%s",
        report_print_share(record_get_real(run, RECORD_TIER_STALL_FRACTION), stall, sizeof stall),
        declined > 0 ? "; " : "", declined > 0 ? tokens : "",
        declined > 0 ? " tokens computed although found" : "");
    for (size_t i = 1; i < run->tiers.count; i++) {
        const struct record_tier_row *row = &run->tiers.at[i];
        char read[REPORT_NUMBER_BYTES], write[REPORT_NUMBER_BYTES];
        if (row->read_wait_ms >= WORTH_SAYING_MS || row->write_wait_ms >= WORTH_SAYING_MS)
            report_page_line(page, "%s: a read waits %s ms for its link, a write %s ms", row->tier,
                             report_print_rounded(row->read_wait_ms, 3, read, sizeof read),
                             report_print_rounded(row->write_wait_ms, 3, write, sizeof write));
    }
}

void report_tiers_page(struct report_page *page, const struct record_run *run)
{
    if (run->tiers.count == 0)
        return;
    report_page_heading(page, "TIERS: where content was found, and what moved (all replicas)");
    report_page_table_begin(page, align);
    for (size_t i = 0; i < COLUMNS; i++)
        report_page_cell(page, header[i]);
    for (size_t i = 0; i < run->tiers.count; i++) {
        struct cells cells;
        print_row(&run->tiers.at[i], &cells);
        for (size_t k = 0; k < COLUMNS; k++)
            report_page_cell(page, cells.text[k]);
    }
    report_page_table_end(page);
    print_waits(page, run);
}

void report_tiers_html(struct report_html *html, const struct record_run *run)
{
    if (run->tiers.count == 0)
        return;
    report_html_table(html, "Tiers: where content was found, and what moved", "simulated", NULL,
                      align);
    for (size_t i = 0; i < COLUMNS; i++)
        report_html_cell(html, header[i]);
    report_html_table_body(html);
    for (size_t i = 0; i < run->tiers.count; i++) {
        struct cells cells;
        print_row(&run->tiers.at[i], &cells);
        for (size_t k = 0; k < COLUMNS; k++)
            report_html_cell(html, cells.text[k]);
    }
    report_html_table_end(html);
}
