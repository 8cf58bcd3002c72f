/* The page of a sweep as text and Markdown: points whose figures are not steady say so. */
#include "support/made_sweep.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/sweep.h"

#include <string.h>

static struct made_sweep made;
static struct printed printed;

static void print(enum report_style style, enum record_summary metric)
{
    report_sweep_page(printed_begin(&printed), style, &made.sweep, metric);
    printed_end(&printed);
}

static void must_have(const char *words)
{
    ck_assert_msg(strstr(printed.text, words) != NULL, "'%s' is not in:\n%s", words, printed.text);
}

static void must_lack(const char *words)
{
    ck_assert_msg(strstr(printed.text, words) == NULL, "'%s' is in:\n%s", words, printed.text);
}

static void end(void)
{
    printed_free(&printed);
    made_sweep_free(&made);
}

START_TEST(a_steady_grid_says_nothing_of_it)
{
    made_sweep_init_line(&made);
    print(REPORT_TEXT, RECORD_OUTPUT_THROUGHPUT);
    must_have("6 points: 3 ok, 2 miss an SLO, 1 refused\n");
    must_have("slo missed\n");
    must_lack("overloaded");
    must_lack("settled");
    must_lack("left out");
    end();
}
END_TEST

START_TEST(latencies_of_an_overloaded_point_grow)
{
    made_sweep_init_line(&made);
    made_sweep_overload(&made, 3);
    print(REPORT_MARKDOWN, RECORD_OUTPUT_THROUGHPUT);
    must_have(", 1 refused, 1 overloaded\n");
    // Its throughput is what leaves, and is shown.
    must_have("| 4/s | 4,002 | grows | grows |");
    must_have("| slo missed, overloaded |");
    must_have("| 5/s | 5,002 | 1,324 |");
    must_have("overloaded: the queue grows without end");
    must_lack("not settled");
    end();
}
END_TEST

START_TEST(a_point_that_has_not_settled_is_marked)
{
    made_sweep_init_line(&made);
    made_sweep_unsettle(&made, 0);
    print(REPORT_MARKDOWN, RECORD_OUTPUT_THROUGHPUT);
    must_have("| 1/s | 1,000 | 1,320 |");
    must_have("| ok, not settled |");
    must_have("not settled: the figures depend on where the run was cut");
    end();
}
END_TEST

/* Nobody was answered there: that is no point that was never asked, and no refused one. */
START_TEST(a_run_without_the_figure_is_told_from_no_run)
{
    made_sweep_init(&made);
    print(REPORT_MARKDOWN, RECORD_TTFT_P99);
    must_lack("none:");
    made.sweep.points[3].summary[RECORD_TTFT_P99].kind = RECORD_NULL; // missed
    made.sweep.points[4].status = RECORD_POINT_OPEN;
    made.sweep.points[4].summary[RECORD_TTFT_P99].kind = RECORD_NULL;
    printed_free(&printed);
    print(REPORT_MARKDOWN, RECORD_TTFT_P99);
    must_have(" none! |\n| 16 |  | - |");
    must_have("; none: it ran, and there is no such figure; - cannot start");
    end();
}
END_TEST

START_TEST(a_map_has_marks)
{
    made_sweep_init(&made);
    made_sweep_unsettle(&made, 0);
    made_sweep_overload(&made, 3);
    made.sweep.points[4].summary[RECORD_BINDING_LIMIT].text = "";
    print(REPORT_MARKDOWN, RECORD_TTFT_P99);
    must_have("| 1 | 1,320? | 1,321 |");
    must_have("| 4 | 1,322 | grows!^ |");
    must_have("| 16 | 1,324! | - |");
    must_have("kv_pool!^");
    must_have("! misses an SLO or a requirement; ^ overloaded: ");
    must_have("? not settled: ");
    must_have("4: an SLO is missed, the queue grows, kv_pool binds");
    must_have("16: an SLO is missed |"); // a run too short to say what binds
    printed_free(&printed);
    // A figure that is no latency stays; what grows lies at the dark end of the scale.
    print(REPORT_TEXT, RECORD_OUTPUT_THROUGHPUT);
    must_have("4,002!^");
    printed_free(&printed);
    print(REPORT_TEXT, RECORD_TTFT_P99);
    must_have("\u2588grows!^");
    end();
}
END_TEST

START_TEST(the_pareto_set_is_of_steady_points)
{
    made_sweep_init_line(&made);
    made_sweep_unsettle(&made, 1);
    made_sweep_overload(&made, 2);
    print(REPORT_MARKDOWN, RECORD_OUTPUT_THROUGHPUT);
    const char *set = strstr(printed.text, "PARETO SET");
    ck_assert_ptr_nonnull(set);
    ck_assert_ptr_nonnull(strstr(set, "| 1/s |"));
    ck_assert_ptr_null(strstr(set, "| 2/s |"));
    ck_assert_ptr_null(strstr(set, "| 3/s |"));
    ck_assert_ptr_nonnull(
        strstr(set, "2 points that meet their targets are left out: overloaded, or not settled"));
    end();
}
END_TEST

// A point that is left out does not hide those that it would beat.
START_TEST(an_overloaded_point_beats_nothing)
{
    made_sweep_init_line(&made);
    record_set_real(&made.runs[2], RECORD_OUTPUT_THROUGHPUT_PER_USER, 1000);
    record_set_real(&made.runs[2], RECORD_OUTPUT_THROUGHPUT_PER_GPU, 1e6);
    record_point_take(&made.sweep, &made.sweep.points[2], made.runs[2].summary);
    ck_assert(!report_sweep_is_pareto(&made.sweep, 0, RECORD_OUTPUT_THROUGHPUT_PER_GPU,
                                      RECORD_OUTPUT_THROUGHPUT_PER_USER));
    made_sweep_overload(&made, 2);
    ck_assert(report_sweep_is_pareto(&made.sweep, 0, RECORD_OUTPUT_THROUGHPUT_PER_GPU,
                                     RECORD_OUTPUT_THROUGHPUT_PER_USER));
    made_sweep_free(&made);
}
END_TEST

START_TEST(no_steady_point_is_said)
{
    made_sweep_init_line(&made);
    for (size_t i = 0; i < 3; i++)
        made_sweep_unsettle(&made, i);
    print(REPORT_TEXT, RECORD_OUTPUT_THROUGHPUT);
    must_have("PARETO SET");
    must_have("3 points that meet their targets are left out: overloaded, or not settled");
    must_lack("tok/s/user");
    end();
}
END_TEST

int main(void)
{
    return unit_run("report.sweep_page",
                    (const TTest *const[]){
                        a_steady_grid_says_nothing_of_it, latencies_of_an_overloaded_point_grow,
                        a_point_that_has_not_settled_is_marked,
                        a_run_without_the_figure_is_told_from_no_run, a_map_has_marks,
                        the_pareto_set_is_of_steady_points, an_overloaded_point_beats_nothing,
                        no_steady_point_is_said, NULL});
}
