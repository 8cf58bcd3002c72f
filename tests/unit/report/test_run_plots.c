/* The plots of a run, drawn by gnuplot itself; without it the test is skipped (exit status 77). */
#include "support/made_run.h"
#include "support/markup.h"
#include "support/printed.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "report/run_html.h"

#include <string.h>

static struct record_run run;
static struct printed printed;
static const char *page;

static void print_page(void)
{
    char fault[200];
    report_run_html(printed_begin(&printed), &run, NULL, "gnuplot");
    page = printed_end(&printed);
    const char *what = markup_fault(page, fault, sizeof fault);
    ck_assert_msg(what == NULL, "%s", what == NULL ? "" : what);
    ck_assert_ptr_null(markup_outside(page));
}

static void teardown(void)
{
    printed_free(&printed);
    record_run_free(&run);
}

/* The figure of that id, up to its end. */
static char *figure_of(const char *id)
{
    char start[64];
    snprintf(start, sizeof start, "<h3 id=\"%s\">", id);
    const char *at = strstr(page, start);
    ck_assert_msg(at != NULL, "no figure %s", id);
    const char *end = strstr(at, "</figure>");
    ck_assert_ptr_nonnull(end);
    return strndup(at, (size_t)(end - at));
}

static void must_draw(const char *id, const char *element, unsigned least)
{
    char *figure = figure_of(id);
    ck_assert_msg(markup_count(figure, element) >= least, "%s has %u of %s", id,
                  markup_count(figure, element), element);
    ck_assert_ptr_nonnull(strstr(figure, "role=\"img\""));
    ck_assert_ptr_nonnull(strstr(figure, "<desc"));
    free(figure);
}

START_TEST(all_figures)
{
    made_run_init(&run, 0);
    print_page();
    // 25 figures with their intervals; both bounds in one path, each with its label.
    must_draw("plot-latency", "<circle", 25);
    must_draw("plot-latency", "class=\"k4\"", 3);
    must_draw("plot-latency", "p99 ≤ 50 ms", 1);
    must_draw("plot-ledger", "<polygon class=\"k16\"", 1);
    must_draw("plot-requests", "<path class=\"k17\"", 1);
    must_draw("plot-waterfall", "<polygon", 9);
    must_draw("plot-limits", "<polygon", 3);
    must_draw("plot-tail", "<polygon", 3);
    ck_assert_ptr_null(strstr(page, "There are no plots"));
    ck_assert_ptr_null(strstr(page, "could not be drawn"));
    teardown();
}
END_TEST

START_TEST(equal_runs_give_equal_pictures)
{
    made_run_init(&run, 0);
    print_page();
    struct printed first = printed;
    const char *before = page;
    print_page();
    ck_assert_str_eq(before, page);
    printed_free(&first);
    teardown();
}
END_TEST

START_TEST(names_cannot_harm)
{
    made_run_init(&run, 0);
    run.tails.at[0].metric = "a' ; system \"touch harmed\" ; '<b>&amp; 5 %";
    run.limits.at[0].name = "`touch harmed`";
    scratch_enter();
    print_page();
    must_draw("plot-tail", "<polygon", 3);
    ck_assert_int_eq(scratch_count("."), 0);
    scratch_leave();
    teardown();
}
END_TEST

int main(void)
{
    if (system("gnuplot --version >/dev/null 2>&1") != 0) {
        puts("skipped: gnuplot is not installed");
        return 77;
    }
    return unit_run("report.run_plots",
                    (const TTest *const[]){all_figures, equal_runs_give_equal_pictures,
                                           names_cannot_harm, NULL});
}
