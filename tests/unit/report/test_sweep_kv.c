#include "report/sweep_kv.h"

#include "support/made_sweep.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/sweep.h"

#include <math.h>
#include <string.h>

static void print(struct printed *printed, const struct made_sweep *made)
{
    report_sweep_page(printed_begin(printed), REPORT_TEXT, &made->sweep, RECORD_OUTPUT_THROUGHPUT);
    printed_end(printed);
}

START_TEST(only_a_sweep_of_allocators_has_the_table)
{
    struct made_sweep made;
    struct printed printed;
    made_sweep_init_line(&made);
    ck_assert(!report_sweep_compares_allocators(&made.sweep));
    print(&printed, &made);
    ck_assert_ptr_null(strstr(printed.text, "SIDE BY SIDE"));
    printed_free(&printed);
    made.sweep.axes[0] = "engine.kv_placement";
    ck_assert(report_sweep_compares_allocators(&made.sweep));
    made_sweep_free(&made);
}
END_TEST

START_TEST(a_row_has_use_copies_and_latency)
{
    struct made_sweep made;
    struct printed printed;
    made_sweep_init_line(&made);
    made.sweep.axes[0] = "engine.kv_policy";
    struct record_run *run = &made.runs[0];
    record_set_real(run, RECORD_KV_LOWER_BOUND_BYTES_MEAN, 3e9);
    record_set_real(run, RECORD_KV_ALLOCATED_BYTES_MEAN, 4e9);
    record_set_real(run, RECORD_COPIED_BYTES, 5.0 * 1024 * 1024 * 1024);
    record_set_real(run, RECORD_RUNNING_PEAK, 77);
    record_set_real(run, RECORD_FAILED, 3.25);
    record_point_take(&made.sweep, &made.sweep.points[0], run->summary);
    print(&printed, &made);
    const char *table = strstr(printed.text, "SIDE BY SIDE");
    ck_assert_ptr_nonnull(table);
    const char *row = strstr(table, "75.0 %");
    ck_assert_msg(row != NULL, "%s", table);
    char line[256] = "";
    sscanf(row, "%255[^\n]", line);
    ck_assert_msg(strstr(line, " 5.00") != NULL && strstr(line, " 77") != NULL &&
                      strstr(line, " 3.25") != NULL,
                  "%s", line);
    printed_free(&printed);
    made_sweep_free(&made);
}
END_TEST

// Nothing was allocated: there is no share of it.
START_TEST(what_does_not_exist_is_a_dash)
{
    struct made_sweep made;
    struct printed printed;
    made_sweep_init_line(&made);
    made.sweep.axes[0] = "engine.kv_policy";
    record_set_real(&made.runs[0], RECORD_KV_ALLOCATED_BYTES_MEAN, 0);
    record_set_real(&made.runs[0], RECORD_COPIED_BYTES, (double)NAN);
    record_point_take(&made.sweep, &made.sweep.points[0], made.runs[0].summary);
    print(&printed, &made);
    const char *table = strstr(printed.text, "SIDE BY SIDE");
    ck_assert_ptr_nonnull(table);
    ck_assert_ptr_nonnull(strstr(table, " - "));
    printed_free(&printed);
    made_sweep_free(&made);
}
END_TEST

int main(void)
{
    return unit_run("report.sweep_kv",
                    (const TTest *const[]){only_a_sweep_of_allocators_has_the_table,
                                           a_row_has_use_copies_and_latency,
                                           what_does_not_exist_is_a_dash, NULL});
}
