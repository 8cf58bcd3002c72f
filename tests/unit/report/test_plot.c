/* Scripts, and programs in gnuplot's place that are absent, fail, or draw something else. */
#include "support/scratch.h"
#include "support/unit.h"

#include "report/plot.h"

#include <string.h>
#include <sys/stat.h>

START_TEST(texts_cannot_end_their_string)
{
    struct report_plot plot = {.height = 10};
    report_plot_quote(&plot, "it's `id` \\ \n a % 日");
    ck_assert_str_eq(plot.script.at, "'its id   a % 日'");
    report_plot_release(&plot);
    plot = (struct report_plot){.height = 10};
    report_plot_tic(&plot, "5 %'");
    ck_assert_str_eq(plot.script.at, "'5 %%'");
    report_plot_release(&plot);
}
END_TEST

START_TEST(a_plot_begins_without_frame_and_key)
{
    struct report_plot plot;
    report_plot_begin(&plot, 123);
    ck_assert_ptr_nonnull(strstr(plot.script.at, "set terminal svg size 460,123"));
    ck_assert_ptr_nonnull(strstr(plot.script.at, "unset key"));
    report_plot_colour(&plot, REPORT_SERIES);
    ck_assert_ptr_nonnull(strstr(plot.script.at, "rgb '#000010'"));
    report_plot_release(&plot);
}
END_TEST

static void must_fail(const char *program, const char *why)
{
    struct report_plotter plotter = {.program = program};
    struct report_plot plot;
    struct base_text svg = {0};
    report_plot_begin(&plot, 100);
    ck_assert(!report_plot_draw(&plotter, &plot, &svg));
    ck_assert_str_eq(plotter.failure, why);
    ck_assert_uint_eq(svg.count, 0);
    report_plot_release(&plot);
    base_text_free(&svg);
}

START_TEST(programs_that_do_not_draw)
{
    must_fail("kvsim-has-no-such-program", "it is not installed");
    must_fail("false", "it failed");
    must_fail("true", "what it drew cannot be read");
    must_fail(NULL, "");
}
END_TEST

/* The script reaches standard input, and what comes from standard output is read. */
START_TEST(a_program_that_draws)
{
    static const char text[] = "#!/bin/sh\n[ \"$1\" = -d ] || exit 3\ngrep -q 'svg size 460,77' || "
                               "exit 4\necho 'to stderr' >&2\n"
                               "echo \"<svg><path stroke='rgb(0,0,16)' d='M1'/></svg>\"\n";
    scratch_enter();
    scratch_write("draws", text, strlen(text));
    ck_assert_int_eq(chmod("draws", 0755), 0);
    struct report_plotter plotter = {.program = "./draws"};
    struct report_plot plot;
    struct base_text svg = {0};
    report_plot_begin(&plot, 77);
    ck_assert(report_plot_draw(&plotter, &plot, &svg));
    ck_assert_str_eq(svg.at, "<path class=\"k16\" d=\"M1\"/>\n");
    ck_assert_str_eq(plotter.failure, "");
    report_plot_release(&plot);
    base_text_free(&svg);
    scratch_leave();
}
END_TEST

START_TEST(after_a_failure_nothing_is_tried)
{
    struct report_plotter plotter = {.program = "true", .failure = "before"};
    struct report_plot plot;
    struct base_text svg = {0};
    report_plot_begin(&plot, 100);
    ck_assert(!report_plot_draw(&plotter, &plot, &svg));
    ck_assert_str_eq(plotter.failure, "before");
    report_plot_release(&plot);
}
END_TEST

int main(void)
{
    return unit_run("report.plot",
                    (const TTest *const[]){texts_cannot_end_their_string,
                                           a_plot_begins_without_frame_and_key,
                                           programs_that_do_not_draw, a_program_that_draws,
                                           after_a_failure_nothing_is_tried, NULL});
}
