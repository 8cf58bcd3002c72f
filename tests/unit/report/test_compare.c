#include "support/printed.h"
#include "support/unit.h"

#include "report/compare.h"

#include <math.h>
#include <string.h>

static void make(struct record_comparison *comparison)
{
    double none = (double)NAN;
    record_comparison_init(comparison);
    comparison->a.run_id = 3;
    comparison->b.run_id = 5;
    comparison->is_paired = true;
    comparison->a.summary[RECORD_SCENARIO] =
        (struct record_value){.kind = RECORD_TEXT, .text = "old"};
    comparison->b.summary[RECORD_SCENARIO] =
        (struct record_value){.kind = RECORD_TEXT, .text = "new"};
    struct record_difference rows[] = {
        {"ttft", "p99", "", "ms", 100, 90, -10, -12, -8, 0.9, 0.88, 0.92, 5, -1, "paired_t",
         RECORD_BETTER},
        {"queue", "p99", "", "ms", 4, 4.1, 0.1, -1, 1.2, 1.025, 0.8, 1.3, 5, 120, "paired_t",
         RECORD_NO_DIFFERENCE_SHOWN},
        {"itl", "p99", "chat", "ms", 4, 5, 1, none, none, 1.25, none, none, 5, -1, "none",
         RECORD_NO_INTERVAL},
    };
    for (size_t i = 0; i < 3; i++)
        base_vec_push(&comparison->figures, rows[i]);
    struct record_param_difference param = {"engine.block_size", "16", "32"};
    base_vec_push(&comparison->params, param);
    struct record_bytes_difference bytes = {"mean", "free", 1073741824, 2147483648};
    base_vec_push(&comparison->bytes, bytes);
    struct record_share_difference share = {"tail_ms", "ttft", "prefill", 12, 10};
    base_vec_push(&comparison->shares, share);
}

static void has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in:\n%s", words, text);
}

START_TEST(the_page_begins_with_the_verdict)
{
    struct record_comparison comparison;
    struct printed printed;
    make(&comparison);
    report_compare_page(printed_begin(&printed), REPORT_TEXT, &comparison);
    const char *text = printed_end(&printed);
    has(text, "comparison: A old, B new");
    has(text, "better: ttft p99 (-10.0 %)");
    has(text, "no difference shown: queue p99 (+2.5 %)");
    has(text, "engine.block_size  16  32");
    has(text, "no difference shown (120 more replications would)");
    has(text, "1,073,741,824");
    ck_assert(strstr(text, "better:") < strstr(text, "PARAMETERS"));
    printed_free(&printed);
    record_comparison_free(&comparison);
}
END_TEST

START_TEST(programs_get_every_row)
{
    struct record_comparison comparison;
    struct printed printed;
    make(&comparison);
    report_compare_json(printed_begin(&printed), &comparison);
    const char *json = printed_end(&printed);
    has(json, "\"run_a\": 3");
    has(json, "\"paired\": true");
    has(json,
        "{\"run_a\": 3, \"run_b\": 5, \"name\": \"ttft\", \"statistic\": \"p99\", \"class\": \"\", "
        "\"unit\": \"ms\", \"a\": 100, \"b\": 90, \"difference\": -10, \"ci_low\": -12, "
        "\"ci_high\": -8, "
        "\"ratio\": 0.9, \"ratio_ci_low\": 0.88, \"ratio_ci_high\": 0.92, \"n\": 5, "
        "\"more_replications\": null, \"method\": \"paired_t\", \"verdict\": \"better\"}");
    has(json, "\"verdict\": \"no_interval\"");
    printed_free(&printed);
    report_compare_csv(printed_begin(&printed), &comparison);
    const char *csv = printed_end(&printed);
    has(csv,
        "\n3,5,queue,p99,,ms,4,4.1,0.1,-1,1.2,1.025,0.8,1.3,5,120,paired_t,no_difference_shown\n");
    has(csv, "\n3,5,itl,p99,chat,ms,4,5,1,,,1.25,,,5,,none,no_interval\n");
    printed_free(&printed);
    record_comparison_free(&comparison);
}
END_TEST

int main(void)
{
    return unit_run("report.compare", (const TTest *const[]){the_page_begins_with_the_verdict,
                                                             programs_get_every_row, NULL});
}
