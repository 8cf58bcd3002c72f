/* The plots of a sweep, drawn by gnuplot itself; without it the test is skipped (exit status 77). */
#include "support/made_sweep.h"
#include "support/markup.h"
#include "support/printed.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "report/sweep_html.h"

#include <string.h>

static struct made_sweep made;
static struct printed printed;
static const char *page;

static void print_page(void)
{
    char fault[200];
    report_sweep_html(printed_begin(&printed), &made.sweep, made.run_of, RECORD_OUTPUT_THROUGHPUT,
                      NULL, "gnuplot");
    page = printed_end(&printed);
    const char *what = markup_fault(page, fault, sizeof fault);
    ck_assert_msg(what == NULL, "%s", what == NULL ? "" : what);
    ck_assert_ptr_null(markup_outside(page));
}

static void teardown(void)
{
    printed_free(&printed);
    made_sweep_free(&made);
}

/* How often `words` stand in the figure of that id. */
static unsigned in_figure(const char *id, const char *words)
{
    char start[64];
    snprintf(start, sizeof start, "<h3 id=\"%s\">", id);
    const char *at = strstr(page, start);
    ck_assert_msg(at != NULL, "no figure %s", id);
    char *figure = strndup(at, (size_t)(strstr(at, "</figure>") - at));
    unsigned count = markup_count(figure, words);
    free(figure);
    return count;
}

START_TEST(figures_of_a_map)
{
    made_sweep_init(&made);
    print_page();
    // Five cells and no more: the refused one has none.
    ck_assert_uint_eq(in_figure("plot-heat-1", "<polygon"), 5);
    ck_assert_uint_eq(in_figure("plot-heat-1", ">4.0k</text>"), 1);
    ck_assert_uint_eq(in_figure("plot-heat-1", ">–</text>"), 1);
    ck_assert_uint_ge(in_figure("plot-heat-1", "<path class=\"k4\""), 1);
    ck_assert_uint_eq(in_figure("plot-binding-1", "<polygon"), 5);
    ck_assert_uint_eq(in_figure("plot-binding-1", ">KV</text>"), 1);
    // Two lines over concurrency, and the SLO of 2 s.
    ck_assert_uint_ge(in_figure("plot-along-ttft", "<path class=\"k16\""), 1);
    ck_assert_uint_ge(in_figure("plot-along-ttft", "<path class=\"k17\""), 1);
    ck_assert_uint_ge(in_figure("plot-along-ttft", "<path class=\"k4\""), 1);
    ck_assert_uint_eq(in_figure("plot-along-ttft", ">16</text>"), 1);
    ck_assert_uint_ge(in_figure("plot-pareto", "<circle class=\"k16\""), 3);
    ck_assert_uint_ge(in_figure("plot-pareto", "<circle class=\"k5\""), 2);
    teardown();
}
END_TEST

START_TEST(a_cell_without_the_figure)
{
    made_sweep_init(&made);
    made.sweep.points[3].summary[RECORD_OUTPUT_THROUGHPUT].kind = RECORD_NULL;
    print_page();
    ck_assert_uint_eq(in_figure("plot-heat-1", "<polygon"), 4);
    ck_assert_uint_eq(in_figure("plot-heat-1", ">none</text>"), 1);
    teardown();
}
END_TEST

START_TEST(figures_of_a_line)
{
    made_sweep_init_line(&made);
    print_page();
    ck_assert_ptr_null(strstr(page, "plot-heat"));
    ck_assert_uint_ge(in_figure("plot-along-ttft", "<circle"), 5);
    ck_assert_uint_eq(in_figure("plot-along-ttft", ">6/s</text>"), 1);
    teardown();
}
END_TEST

/* What grows has no dot; in a map its cell says so. */
START_TEST(figures_of_overloaded_points)
{
    made_sweep_init_line(&made);
    print_page();
    unsigned dots = in_figure("plot-along-ttft", "<circle");
    printed_free(&printed);
    made_sweep_overload(&made, 4);
    print_page();
    ck_assert_uint_eq(in_figure("plot-along-ttft", "<circle"), dots / 5 * 4);
    ck_assert_uint_eq(in_figure("plot-along-ttft", "Overloaded points have no dot"), 1);
    teardown();
    made_sweep_init(&made);
    made_sweep_overload(&made, 3);
    made_sweep_unsettle(&made, 0);
    print_page();
    ck_assert_uint_eq(in_figure("plot-heat-1", ">4.0k^</text>"), 1);
    ck_assert_uint_eq(in_figure("plot-heat-1", ">1.0k?</text>"), 1);
    teardown();
}
END_TEST

START_TEST(names_on_the_axes)
{
    static const char *const names[] = {"it's `touch harmed`", "5 % \"x\"", "<b>"};
    made_sweep_init(&made);
    made.sweep.axes[0] = "hard'ware";
    for (size_t i = 0; i < MADE_SWEEP_POINTS; i++)
        made.sweep.points[i].values[0] = names[i / 2];
    scratch_enter();
    print_page();
    ck_assert_int_eq(scratch_count("."), 0);
    scratch_leave();
    ck_assert_uint_eq(in_figure("plot-heat-1", ">5 % \"x\"</text>"), 1);
    ck_assert_uint_eq(in_figure("plot-heat-1", ">&lt;b></text>"), 1);
    ck_assert_uint_ge(in_figure("plot-along-ttft", "<circle"), 5);
    teardown();
}
END_TEST

int main(void)
{
    if (system("gnuplot --version >/dev/null 2>&1") != 0) {
        puts("skipped: gnuplot is not installed");
        return 77;
    }
    return unit_run("report.sweep_plots",
                    (const TTest *const[]){figures_of_a_map, a_cell_without_the_figure,
                                           figures_of_a_line, figures_of_overloaded_points,
                                           names_on_the_axes, NULL});
}
