/*
 * The page of a run made by hand, without plots: well-formed, whole, escaped, and the same for equal runs but for its last
 * line.
 */
#include "support/made_run.h"
#include "support/markup.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/run_html.h"

#include <string.h>

static struct record_run run;
static struct printed printed;
static const char *page;

static void print_page(const char *db_path, const char *gnuplot)
{
    char fault[200];
    report_run_html(printed_begin(&printed), &run, db_path, gnuplot);
    page = printed_end(&printed);
    const char *what = markup_fault(page, fault, sizeof fault);
    ck_assert_msg(what == NULL, "%s", what == NULL ? "" : what);
    ck_assert_ptr_null(markup_outside(page));
}

static void setup(void)
{
    made_run_init(&run, 0);
    run.run_id = 3;
    print_page("results/kvsim.db", NULL);
}

static void teardown(void)
{
    printed_free(&printed);
    record_run_free(&run);
}

static void must_have(const char *words)
{
    ck_assert_msg(strstr(page, words) != NULL, "'%s' is not on the page", words);
}

/* The first words stand before the next ones, and so on; NULL-ended. */
static void must_follow(const char *const *words)
{
    const char *at = page;
    for (; *words != NULL; words++) {
        at = strstr(at, *words);
        ck_assert_msg(at != NULL, "'%s' is not there, or not in its place", *words);
    }
}

START_TEST(sections_in_their_order)
{
    setup();
    must_follow((const char *const[]){
        "<h1>Can <span class=\"name\">1 × h100", "Yes: every SLO is met.",
        "ttft p99 is 1,320 ms against 2 s", "What binds", "What to change", "What it costs",
        "The promises", "<h2 id=\"latency\">", "Latency by class", "Throughput, cost and load",
        "Over time", "<h2 id=\"memory\">", "What limits", "Assumptions",
        "What these figures do not support", "How to get these figures again", "<footer>", NULL});
    ck_assert_uint_eq(markup_count(page, "<h1>"), 1);
    teardown();
}
END_TEST

START_TEST(figures_and_their_kinds)
{
    setup();
    must_have("20,000 requests");
    must_have("half of a 95\xC2\xA0% interval");
    must_have("the weakest input is <span class=\"claim assumed\">");
    must_have("27,953 blocks of 2 MiB");
    must_have("<span class=\"claim measured\">measured</span></td><td>nvidia-smi, driver 550.54");
    must_have("<th scope=\"row\">lower_bound</th>");
    must_have("150,000,000");
    must_have("The KV ledger: where the bytes of the pool go: <span class=\"claim simulated\">");
    must_have("<span class=\"claim calculated\">calculated</span></td></tr>");
    must_have("withheld: needs 1,200 requests");
    must_have("1.20 of 20,000 requests failed");
    must_have("compare options with them rather than promise a latency");
    teardown();
}
END_TEST

START_TEST(how_to_get_it_again)
{
    setup();
    must_have("<pre><code>kvsim run chat-8k.yaml</code></pre>");
    must_have("00112233445566778899aabbccddeeff");
    must_have("name: chat-8k");
    must_have("Run 3 of results/kvsim.db. Simulated 2026-01-02T03:04:05Z on somewhere");
    teardown();
    made_run_init(&run, 0);
    struct record_param_row row = {"workload.arrival.rate", "9", "1/s", "set", "assumed", ""};
    struct record_param_row odd = {"name", "it's; $(x)", "", "set", "assumed", ""};
    base_vec_push(&run.params, row);
    base_vec_push(&run.params, odd);
    print_page(NULL, NULL);
    must_have("--set workload.arrival.rate=9/s --set &#39;name=it&#39;\\&#39;&#39;s; $(x)&#39;");
    must_have("This run is not stored.");
    teardown();
}
END_TEST

START_TEST(texts_of_the_run_are_escaped)
{
    made_run_init(&run, 0);
    static const char evil[] = "</style><script>alert(\"1\")</script>&'";
    record_set_text(&run, RECORD_SCENARIO, evil);
    record_set_text(&run, RECORD_MODEL, evil);
    record_set_text(&run, RECORD_HARDWARE, evil);
    record_set_text(&run, RECORD_BINDING_LIMIT, evil);
    record_set_text(&run, RECORD_STABILITY, "<i>");
    record_set_text(&run, RECORD_SCENARIO_HASH, evil);
    run.metrics.at[0].class_name = evil;
    run.waterfall.at[0] = (struct record_waterfall_row){evil, 1, evil, evil};
    run.limits.at[0] = (struct record_limit_row){"bound", "all", evil, 0.5};
    run.tails.at[0] = (struct record_tail_row){evil, evil, 0.5, 1.0};
    run.params.at[0] = (struct record_param_row){evil, evil, evil, evil, evil, evil};
    run.caveats.at[0] = (struct record_caveat_row){evil, evil};
    run.slo_lines.at[0] = evil;
    run.scenario_yaml = evil;
    run.created_at = run.host = evil;
    print_page(evil, NULL);
    ck_assert_ptr_null(strstr(page, "<script"));
    must_have("&lt;script&gt;");
    teardown();
}
END_TEST

START_TEST(equal_runs_differ_in_one_line)
{
    setup();
    struct printed first = printed;
    const char *a = page;
    run.run_id = 8;
    run.created_at = "2031-01-01T00:00:00Z";
    run.host = "elsewhere";
    run.wall_s = 9;
    run.jobs = 1;
    print_page("other.db", NULL);
    const char *b = page;
    unsigned differing = 0;
    while (*a != '\0' && *b != '\0') {
        size_t length_a = strcspn(a, "\n"), length_b = strcspn(b, "\n");
        bool is_equal = length_a == length_b && memcmp(a, b, length_a) == 0;
        if (!is_equal) {
            ck_assert_int_eq(strncmp(a, "<footer>", 8), 0);
            differing++;
        }
        a += length_a + (a[length_a] == '\n');
        b += length_b + (b[length_b] == '\n');
    }
    ck_assert_str_eq(a, b);
    ck_assert_uint_eq(differing, 1);
    printed_free(&first);
    teardown();
}
END_TEST

START_TEST(without_plots)
{
    setup();
    must_have("Plots are left out; the tables have the figures.");
    must_have("Means of equal spans of simulated time");
    ck_assert_ptr_null(strstr(page, "<svg"));
    teardown();
    made_run_init(&run, 0);
    print_page(NULL, "kvsim-has-no-such-program");
    must_have("There are no plots, since gnuplot could not draw them: it is not installed.");
    must_have("Means of equal spans of simulated time");
    ck_assert_ptr_null(strstr(page, "<svg"));
    teardown();
}
END_TEST

START_TEST(without_a_timeline)
{
    made_run_init(&run, 0);
    run.samples.count = run.sample_replications.count = 0;
    print_page(NULL, NULL);
    must_have("No timeline was recorded (record.timeline).");
    ck_assert_ptr_null(strstr(page, "Means of equal spans"));
    teardown();
}
END_TEST

START_TEST(an_empty_run)
{
    record_run_init(&run);
    print_page(NULL, NULL);
    must_have("No SLO was stated");
    must_have("There is no latency to state");
    must_have("No price was stated");
    teardown();
}
END_TEST

START_TEST(yaml_gets_lines)
{
    made_run_init(&run, 0);
    run.scenario_yaml = "{a: {b: 1, c: [1, 2], d: {e: \"x, {y}\", f: 2}}, g: 'it, is', h: {}}";
    print_page(NULL, NULL);
    must_have("<pre><code>{\n  a: {\n    b: 1,\n    c: [1, 2],\n    d: {e: &quot;x, {y}&quot;, f: "
              "2}\n  },\n  g: &#39;it, is&#39;,\n  h: {");
    teardown();
}
END_TEST

int main(void)
{
    return unit_run("report.run_html",
                    (const TTest *const[]){
                        sections_in_their_order, figures_and_their_kinds, how_to_get_it_again,
                        texts_of_the_run_are_escaped, equal_runs_differ_in_one_line, without_plots,
                        without_a_timeline, an_empty_run, yaml_gets_lines, NULL});
}
