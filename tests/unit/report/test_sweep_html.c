/* The page of a sweep made by hand, without plots. */
#include "support/made_sweep.h"
#include "support/markup.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/sweep_html.h"

#include <string.h>

static struct made_sweep made;
static struct printed printed;
static const char *page;

static void print_page(const struct record_run *const *runs)
{
    char fault[200];
    report_sweep_html(printed_begin(&printed), &made.sweep, runs, RECORD_OUTPUT_THROUGHPUT,
                      "results/kvsim.db", NULL);
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

static void must_have(const char *words)
{
    ck_assert_msg(strstr(page, words) != NULL, "'%s' is not on the page", words);
}

START_TEST(a_map)
{
    made_sweep_init(&made);
    print_page(made.run_of);
    must_have("meet its SLOs along concurrency × context?");
    must_have("3 of 6 points meet their targets.");
    must_have("The most output among them is 3,002 tokens/s at concurrency 4, context 1k.");
    must_have("The tightest promise there: ttft p99 is 1,322 ± 20 ms against 2 s.");
    must_have("6 points: 3 meet their targets, 2 miss one, 1 cannot start");
    must_have("Where targets are missed: KV memory (1), seats (max_num_seqs) (1)");
    must_have("Against KV memory, which binds at the first miss");
    must_have("<b>Cheapest: $0.500 per million output tokens</b> at concurrency 1, context 1k.");
    must_have("<th scope=\"row\" class=\"r\">4</th><td class=\"r\">3,002</td>"
              "<td class=\"r\">4,002 !</td>");
    must_have("<th scope=\"row\" class=\"r\">16</th><td class=\"r\">5,002 !</td>"
              "<td class=\"r\">refused</td>");
    teardown();
}
END_TEST

START_TEST(where_it_ends_and_why)
{
    made_sweep_init(&made);
    print_page(made.run_of);
    must_have("<tr><th scope=\"row\" class=\"r\">8k</th><td class=\"r\">1</td><td class=\"r\">none"
              "</td><td class=\"r\">4</td><td>4: an SLO is missed, kv_pool binds</td></tr>");
    must_have("the KV cache of one request does not fit &lt;one&gt; GPU (concurrency 16, context "
              "8k)");
    must_have("between two points nothing was simulated");
    must_have("compare options with them rather than promise a latency");
    must_have("kvsim sweep chat-8k.yaml --axis concurrency=1,4,16 --axis context=1024,8192");
    must_have("s0123456789ab");
    must_have("Read from results/kvsim.db.");
    teardown();
}
END_TEST

START_TEST(the_pareto_set)
{
    made_sweep_init(&made);
    print_page(made.run_of);
    const char *set = strstr(page, "no other one beats in both figures");
    ck_assert_ptr_nonnull(set);
    char rows[4096];
    snprintf(rows, sizeof rows, "%.*s", (int)(strstr(set, "</table>") - set), set);
    ck_assert_uint_eq(markup_count(rows, "<th scope=\"row\">"), 3);
    const char *first = strstr(rows, "1, 1k"), *last = strstr(rows, "4, 1k");
    ck_assert(first != NULL && last != NULL && first < last);
    teardown();
}
END_TEST

START_TEST(a_line)
{
    made_sweep_init_line(&made);
    print_page(made.run_of);
    must_have("Up to workload.arrival.rate 3/s.");
    must_have("At 4/s: an SLO is missed, kv_pool binds. The limit lies between the two");
    must_have("--axis workload.arrival.rate=1/s,2/s,3/s,4/s,5/s,6/s");
    ck_assert_ptr_null(strstr(page, "The map"));
    teardown();
    made_sweep_init_line(&made);
    made.sweep.points[0].status = RECORD_POINT_SLO_MISSED;
    print_page(made.run_of);
    must_have("Nowhere from 1/s on: the first value misses.");
    teardown();
}
END_TEST

START_TEST(what_is_not_steady_is_marked)
{
    made_sweep_init_line(&made);
    made_sweep_unsettle(&made, 2);
    made_sweep_overload(&made, 3);
    print_page(made.run_of);
    must_have("1 cannot start, 1 overloaded, 1 not settled");
    must_have("Its run had not settled");
    must_have("At 4/s: an SLO is missed, the queue grows, kv_pool binds");
    must_have("<td>slo missed, overloaded</td>");
    must_have("<td>ok, not settled</td>");
    // Both latencies of one point, and in no other place.
    ck_assert_uint_eq(markup_count(page, "<td class=\"r\">grows</td>"), 2);
    must_have("Overloaded: the queue grows without end, and latencies with the length of the run; "
              "not settled: ");
    must_have("<b>Most per GPU: 2,001 tokens/s</b> at workload.arrival.rate 2/s.");
    must_have("1 point that meets its targets is left out: overloaded, or not settled.");
    teardown();
    made_sweep_init(&made);
    made_sweep_overload(&made, 3);
    print_page(made.run_of);
    must_have("<td class=\"r\">4,002 !^</td>");
    must_have("! misses a target; ^ overloaded: ");
    teardown();
}
END_TEST

/* A code stands once: the words where they are the same, and the points it holds for. */
START_TEST(caveats_say_which_points)
{
    char words[32];
    made_sweep_init_line(&made);
    for (size_t i = 0; i < 5; i++) {
        struct record_run *run = &made.runs[i];
        snprintf(words, sizeof words, "%zu left", i);
        if (i > 0)
            record_run_add_caveat(run, "near_saturation", words);
        if (i == 1 || i == 4)
            record_run_add_caveat(run, "short_run", "make it longer");
    }
    print_page(made.run_of);
    must_have("<code>near_saturation</code> at workload.arrival.rate 2/s: 1 left; so too, with "
              "figures of their own, 3/s, 4/s, 5/s</li>");
    must_have("<code>short_run</code> at workload.arrival.rate 2/s, 5/s: make it longer</li>");
    must_have("<code>datasheet_rates</code> step times come");
    ck_assert_uint_eq(markup_count(page, "<code>near_saturation</code>"), 1);
    teardown();
    made_sweep_init(&made);
    record_run_add_caveat(&made.runs[3], "short_run", "make it longer");
    print_page(made.run_of);
    must_have("<code>short_run</code> at concurrency, context (4, 8k): make it longer</li>");
    teardown();
}
END_TEST

START_TEST(names_have_no_order)
{
    static const char *const names[] = {"h100-sxm", "l40s", "t4", "a100", "h200", "b200"};
    made_sweep_init_line(&made);
    made.sweep.axes[0] = "hardware";
    for (size_t i = 0; i < MADE_SWEEP_POINTS; i++)
        made.sweep.points[i].values[0] = names[i];
    print_page(made.run_of);
    must_have("Where does <span class=\"name\">chat-8k</span> meet its SLOs along hardware?");
    must_have("3 of 6 points meet their targets.");
    ck_assert_ptr_null(strstr(page, "Up to"));
    ck_assert_ptr_null(strstr(page, "Where it ends"));
    teardown();
}
END_TEST

START_TEST(without_targets)
{
    made_sweep_init(&made);
    for (size_t i = 0; i < 5; i++)
        made.runs[i].summary[RECORD_SLO_MET] = (struct record_value){.kind = RECORD_NULL};
    print_page(made.run_of);
    must_have("give along");
    must_have("points ran; no SLO was stated.");
    must_have("The best points");
    ck_assert_ptr_null(strstr(page, "meet their targets, 2 miss"));
    teardown();
}
END_TEST

START_TEST(inputs_that_points_share)
{
    made_sweep_init(&made);
    // 256 seats in every run but one; the rate is the same.
    made.runs[1].params.at[0].value = "64";
    struct record_param_row set = {"run.requests", "2000", "", "set", "assumed", ""};
    struct record_param_row of_axis = {"workload.max_tokens", "same", "", "set", "assumed", ""};
    for (size_t i = 0; i < 5; i++) {
        base_vec_push(&made.runs[i].params, set);
        base_vec_push(&made.runs[i].params, of_axis);
    }
    print_page(made.run_of);
    must_have("<th scope=\"row\">workload.arrival.rate</th>");
    ck_assert_ptr_null(strstr(page, "<th scope=\"row\">engine.max_num_seqs</th>"));
    must_have("context=1024,8192 --set run.requests=2000</code>");
    teardown();
}
END_TEST

START_TEST(without_its_runs)
{
    made_sweep_init(&made);
    print_page(NULL);
    must_have("3 of 6 points meet their targets.");
    must_have("Points in the order of the grid");
    ck_assert_ptr_null(strstr(page, "± half of a 95"));
    teardown();
}
END_TEST

START_TEST(not_decided_yet)
{
    made_sweep_init(&made);
    made.sweep.points[2].status = RECORD_POINT_OPEN;
    made.sweep.points[3].status = RECORD_POINT_FAILED;
    made.sweep.points[3].reason = "disk full";
    made.sweep.total_count = 8;
    print_page(made.run_of);
    must_have("2 of 8 points meet their targets.");
    must_have("1 failed, 3 are not decided yet");
    must_have("disk full");
    teardown();
}
END_TEST

START_TEST(nothing_at_all)
{
    made = (struct made_sweep){0};
    record_sweep_init(&made.sweep);
    print_page(NULL);
    must_have("0 of 0 points");
    teardown();
}
END_TEST

START_TEST(texts_are_escaped)
{
    static const char evil[] = "</style><script>alert(\"1\")</script>&'";
    made_sweep_init(&made);
    made.sweep.scenario = made.sweep.kvsim_version = evil;
    made.sweep.axes[0] = evil;
    for (size_t i = 0; i < MADE_SWEEP_POINTS; i++)
        made.sweep.points[i].values[1] = i % 2 == 0 ? evil : "b";
    made.sweep.points[0].summary[RECORD_BINDING_LIMIT].text = evil;
    made.sweep.points[5].reason = evil;
    print_page(made.run_of);
    ck_assert_ptr_null(strstr(page, "<script"));
    teardown();
}
END_TEST

int main(void)
{
    return unit_run("report.sweep_html",
                    (const TTest *const[]){
                        a_map, where_it_ends_and_why, the_pareto_set, a_line,
                        what_is_not_steady_is_marked, caveats_say_which_points, names_have_no_order,
                        without_targets, inputs_that_points_share, without_its_runs,
                        not_decided_yet, nothing_at_all, texts_are_escaped, NULL});
}
