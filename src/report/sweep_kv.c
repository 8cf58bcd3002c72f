#include "report/sweep_kv.h"

#include "report/number.h"
#include "report/sweep_view.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { ROWS_MAX = 64 };

bool report_sweep_compares_allocators(const struct record_sweep *sweep)
{
    for (size_t i = 0; i < sweep->axis_count; i++) {
        if (strcmp(sweep->axes[i], "engine.kv_policy") == 0 ||
            strcmp(sweep->axes[i], "engine.kv_placement") == 0)
            return true;
    }
    return false;
}

static void put_share(struct report_page *page, double share)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, isnan(share) ? "-" : report_print_share(share, text, sizeof text));
}

static void put_rounded(struct report_page *page, double value)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, isnan(value) ? "-" : report_print_rounded(value, 3, text, sizeof text));
}

static void put_latency(struct report_page *page, const struct record_point *point,
                        enum record_summary column)
{
    char text[REPORT_NUMBER_BYTES];
    bool has_none = isnan(record_point_real(point, column));
    report_page_cell(page, has_none ? "-" : report_point_figure(point, column, text, sizeof text));
}

static void put_gib(struct report_page *page, double bytes)
{
    char text[REPORT_NUMBER_BYTES];
    report_page_cell(page, isnan(bytes) ? "-" : report_print_gib(bytes, text, sizeof text));
}

static void put_row(struct report_page *page, const struct record_sweep *sweep,
                    const struct record_point *point)
{
    struct base_text place = {0};
    double needed = record_point_real(point, RECORD_KV_LOWER_BOUND_BYTES_MEAN);
    double allocated = record_point_real(point, RECORD_KV_ALLOCATED_BYTES_MEAN);
    report_sweep_add_values(&place, sweep, point, 0);
    report_page_cell(page, place.at);
    base_text_free(&place);
    put_share(page, allocated > 0 ? needed / allocated : (double)NAN);
    put_share(page, record_point_real(point, RECORD_KV_USAGE_MEAN));
    put_rounded(page, record_point_real(point, RECORD_RUNNING_MEAN));
    put_rounded(page, record_point_real(point, RECORD_RUNNING_PEAK));
    put_rounded(page, record_point_real(point, RECORD_REQUEST_THROUGHPUT));
    put_rounded(page, record_point_real(point, RECORD_OUTPUT_THROUGHPUT));
    put_rounded(page, record_point_real(point, RECORD_PREEMPTIONS));
    put_rounded(page, record_point_real(point, RECORD_FAILED));
    put_gib(page, record_point_real(point, RECORD_COPIED_BYTES));
    put_latency(page, point, RECORD_TTFT_P99);
    put_latency(page, point, RECORD_TPOT_P99);
    put_latency(page, point, RECORD_ITL_P99);
    put_latency(page, point, RECORD_E2E_P99);
}

void report_sweep_allocators(struct report_page *page, const struct record_sweep *sweep)
{
    static const char *const heads[] = {
        "",           "needed / allocated", "allocated / pool", "running",
        "at most",    "requests/s",         "tokens/s",         "preempted",
        "failed",     "copied GiB",         "ttft p99 ms",      "tpot p99 ms",
        "itl p99 ms", "e2e p99 ms"};
    report_page_heading(page, "ALLOCATORS SIDE BY SIDE: the same load, ways of keeping its KV");
    report_page_table_begin(page, "lrrrrrrrrrrrrr");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        report_page_cell(page, heads[i]);
    size_t shown = 0;
    for (size_t i = 0; i < sweep->point_count && shown < ROWS_MAX; i++) {
        if (!report_point_starts(&sweep->points[i]))
            continue;
        put_row(page, sweep, &sweep->points[i]);
        shown++;
    }
    report_page_table_end(page);
    report_page_line(page, "needed: the lower bound of live tokens; both bytes are time means");
}
