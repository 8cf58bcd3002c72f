/* The page of a comparison of two runs made by hand, without plots. */
#include "support/made_run.h"
#include "support/markup.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/compare_html.h"

#include <math.h>
#include <string.h>

static struct record_comparison comparison;
static struct record_run a, b;
static struct printed printed;
static const char *page;

static void add_figure(const char *name, const char *statistic, double relative,
                       enum record_verdict verdict)
{
    struct record_difference row = {.name = name,
                                    .statistic = statistic,
                                    .class_name = "",
                                    .unit = "ms",
                                    .a = 100,
                                    .b = 100 * relative,
                                    .difference = 100 * (relative - 1),
                                    .ci_low = 100 * (relative - 1) - 2,
                                    .ci_high = 100 * (relative - 1) + 2,
                                    .ratio = relative,
                                    .ratio_ci_low = relative - 0.02,
                                    .ratio_ci_high = relative + 0.02,
                                    .n = 5,
                                    .more_replications = -1,
                                    .method = "paired_t",
                                    .verdict = verdict};
    if (verdict == RECORD_NO_DIFFERENCE_SHOWN)
        row.more_replications = 12;
    base_vec_push(&comparison.figures, row);
}

static void setup(void)
{
    record_comparison_init(&comparison);
    made_run_init(&a, 0);
    made_run_init(&b, 1);
    memcpy(comparison.a.summary, a.summary, sizeof a.summary);
    memcpy(comparison.b.summary, b.summary, sizeof b.summary);
    comparison.is_paired = true;
    struct record_bytes_difference bytes = {"mean", "free", 1073741824, 2147483648};
    base_vec_push(&comparison.bytes, bytes);
    struct record_share_difference share = {"tail_ms", "ttft", "prefill", 12, 10};
    base_vec_push(&comparison.shares, share);
}

static void add_param(const char *key, const char *from, const char *to)
{
    struct record_param_difference row = {key, from, to};
    base_vec_push(&comparison.params, row);
}

static void print_page(const char *gnuplot)
{
    char fault[200];
    report_compare_html(printed_begin(&printed), &comparison, &a, &b, "kvsim compare 1 2", gnuplot);
    page = printed_end(&printed);
    const char *what = markup_fault(page, fault, sizeof fault);
    ck_assert_msg(what == NULL, "%s", what == NULL ? "" : what);
    ck_assert_ptr_null(markup_outside(page));
}

static void teardown(void)
{
    printed_free(&printed);
    record_comparison_free(&comparison);
    record_run_free(&a);
    record_run_free(&b);
}

static void must_have(const char *words)
{
    ck_assert_msg(strstr(page, words) != NULL, "'%s' is not on the page", words);
}

START_TEST(a_change_that_helps)
{
    setup();
    add_param("hardware.name", "h100", "h200");
    add_param("hardware.memory_bandwidth", "3350 GB/s", "4800 GB/s");
    add_figure("ttft", "p99", 0.9, RECORD_BETTER);
    add_figure("queue", "p99", 1.01, RECORD_NO_DIFFERENCE_SHOWN);
    print_page(NULL);
    must_have("when hardware goes from h100 to h200?");
    must_have(
        "<div class=\"answer yes\">\n<strong>B is better: 1 figure, and none worse.</strong>");
    must_have("ttft p99 -10.0\xC2\xA0% (-12.0 to -8.0)");
    must_have("Take B: no figure that differs is worse.");
    must_have("<code>hardware=h200</code>");
    must_have("12 more replications would show the smallest open difference");
    must_have("1,073,741,824");
    must_have("hardware.memory_bandwidth");
    must_have("<code>kvsim compare 1 2</code>");
    must_have("of twenty figures that do not differ");
    teardown();
}
END_TEST

START_TEST(a_trade_and_a_loss)
{
    setup();
    add_figure("ttft", "p99", 0.9, RECORD_BETTER);
    add_figure("tpot", "p99", 1.2, RECORD_WORSE);
    print_page(NULL);
    must_have("A trade: B is better in 1 figure and worse in 1.");
    must_have("It depends on which of the figures counts more.");
    printed_free(&printed);
    comparison.figures.at[0].verdict = RECORD_WORSE;
    print_page(NULL);
    must_have(
        "<div class=\"answer no\">\n<strong>B is worse: 2 figures, and none better.</strong>");
    must_have("Nothing: keep A.");
    teardown();
}
END_TEST

START_TEST(nothing_differs)
{
    setup();
    comparison.bytes.count = comparison.shares.count = 0;
    print_page(NULL);
    must_have("<strong>Nothing differs.</strong>");
    must_have("Nothing: both are the same configuration.");
    must_have("None: ledger and waterfall are the same.");
    teardown();
}
END_TEST

START_TEST(an_overload_is_said_first)
{
    setup();
    comparison.b.summary[RECORD_STABILITY] =
        (struct record_value){.kind = RECORD_TEXT, .text = "overloaded"};
    add_figure("tpot", "p99", 0.9, RECORD_BETTER);
    print_page(NULL);
    must_have("<div class=\"answer no\">\n<strong>B is overloaded: latencies there grow");
    must_have("Nothing: keep A.");
    teardown();
}
END_TEST

START_TEST(plots_stand_in_the_page)
{
    setup();
    add_figure("ttft", "p99", 0.9, RECORD_BETTER);
    print_page("gnuplot");
    if (strstr(page, "There are no plots") == NULL) {
        must_have("id=\"plot-differences\"");
        must_have("id=\"plot-bytes\"");
        must_have("id=\"plot-tail-ttft\"");
    }
    teardown();
}
END_TEST

int main(void)
{
    return unit_run("report.compare_html",
                    (const TTest *const[]){a_change_that_helps, a_trade_and_a_loss, nothing_differs,
                                           an_overload_is_said_first, plots_stand_in_the_page,
                                           NULL});
}
