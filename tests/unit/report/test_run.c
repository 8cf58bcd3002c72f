/*
 * The whole report of a run made by hand against committed texts. With KVSIM_UPDATE_GOLDEN set in the environment the
 * texts are written anew; the difference is then read like code.
 */
#include "support/made_run.h"
#include "support/printed.h"
#include "support/scratch.h"
#include "support/unit.h"

#include "report/number.h"
#include "report/run.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define GOLDEN KVSIM_TEST_DATA "/tests/unit/report/"

static void must_be_golden(const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, GOLDEN "%s", name);
    if (getenv("KVSIM_UPDATE_GOLDEN") != NULL)
        scratch_write(path, text, strlen(text));
    char *golden = scratch_read(path, NULL);
    ck_assert_ptr_nonnull(golden);
    ck_assert_str_eq(text, golden);
    free(golden);
}

START_TEST(text)
{
    struct record_run run;
    struct printed printed;
    made_run_init(&run, 0);
    run.run_id = 3;
    report_run_text(printed_begin(&printed), &run, "results/kvsim.db");
    must_be_golden("made_run.txt", printed_end(&printed));
    printed_free(&printed);
    record_run_free(&run);
}
END_TEST

START_TEST(markdown)
{
    struct record_run run;
    struct printed printed;
    made_run_init(&run, 0);
    report_run_markdown(printed_begin(&printed), &run, NULL);
    must_be_golden("made_run.md", printed_end(&printed));
    printed_free(&printed);
    record_run_free(&run);
}
END_TEST

START_TEST(json)
{
    struct record_run run;
    struct printed printed;
    made_run_init(&run, 0);
    run.run_id = 3;
    report_run_json(printed_begin(&printed), &run);
    must_be_golden("made_run.json", printed_end(&printed));
    printed_free(&printed);
    record_run_free(&run);
}
END_TEST

START_TEST(csv)
{
    struct record_run run;
    struct printed printed;
    made_run_init(&run, 0);
    record_set_text(&run, RECORD_SCENARIO, "a, \"b\"");
    report_run_csv_header(printed_begin(&printed));
    report_run_csv(printed.out, &run);
    must_be_golden("made_run.csv", printed_end(&printed));
    printed_free(&printed);
    record_run_free(&run);
}
END_TEST

START_TEST(several_runs_are_a_list)
{
    struct record_run run;
    struct printed printed;
    struct report_json list;
    record_run_init(&run);
    report_json_list_begin(&list, printed_begin(&printed));
    report_run_json_object(&list, NULL, &run);
    report_run_json_object(&list, NULL, &run);
    report_json_list_end(&list);
    const char *out = printed_end(&printed);
    ck_assert(strncmp(out, "[\n  {\n    \"run_id\": null,\n    \"created_at\": \"\",", 46) == 0);
    ck_assert_ptr_nonnull(strstr(out, "\n  },\n  {\n"));
    ck_assert_str_eq(out + strlen(out) - 7, "\n  }\n]\n");
    printed_free(&printed);
    record_run_free(&run);
}
END_TEST

static bool has_line(const struct record_run *run, const char *words)
{
    struct printed printed;
    report_run_text(printed_begin(&printed), run, NULL);
    bool is_there = strstr(printed_end(&printed), words) != NULL;
    printed_free(&printed);
    return is_there;
}

START_TEST(the_text_fits_a_terminal)
{
    struct record_run run;
    struct printed printed;
    made_run_init(&run, 0);
    report_run_text(printed_begin(&printed), &run, "results/kvsim.db");
    int lines = 0;
    for (char *line = strtok((char *)(size_t)printed_end(&printed), "\n"); line != NULL;
         line = strtok(NULL, "\n"), lines++)
        ck_assert_msg(report_text_width(line) <= REPORT_WIDTH, "%s", line);
    ck_assert_int_le(lines, 72);
    printed_free(&printed);
    record_run_free(&run);
}
END_TEST

START_TEST(verdicts)
{
    struct record_run run;
    made_run_init(&run, 0);
    ck_assert(has_line(&run, "VERDICT: every SLO is met"));
    ck_assert(!has_line(&run, "OVERLOADED"));
    record_set_integer(&run, RECORD_SLO_MET, 0);
    record_set_text(&run, RECORD_STATUS, "overloaded");
    ck_assert(has_line(&run, "VERDICT: AN SLO IS MISSED"));
    ck_assert(has_line(&run, "OVERLOADED"));
    run.summary[RECORD_SLO_MET] = (struct record_value){.kind = RECORD_NULL};
    ck_assert(has_line(&run, "VERDICT: no SLO was stated"));
    record_set_text(&run, RECORD_STATUS, "not_settled");
    ck_assert(has_line(&run, "NOT SETTLED"));
    record_run_free(&run);
}
END_TEST

START_TEST(a_missing_interval_is_explained)
{
    struct record_run run;
    made_run_init(&run, 0);
    ck_assert(has_line(&run, "without ±: too few requests"));
    record_set_integer(&run, RECORD_REPLICATIONS, 1);
    ck_assert(has_line(&run, "without ±: one replication alone gives no interval"));
    record_run_free(&run);
}
END_TEST

START_TEST(several_replicas_share_one_ledger)
{
    struct record_run run;
    made_run_init(&run, 0);
    size_t count = run.ledger.count;
    for (size_t i = 0; i < count; i++) {
        struct record_ledger_row row = run.ledger.at[i];
        row.replica = 1;
        // The second replica's peak holds a block more.
        if (strcmp(row.at, "peak") == 0 && strcmp(row.component, "lower_bound") == 0)
            row.bytes += 2097152;
        if (strcmp(row.at, "peak") == 0 && strcmp(row.component, "free") == 0)
            row.bytes -= 2097152;
        base_vec_push(&run.ledger, row);
    }
    record_set_integer(&run, RECORD_REPLICAS, 2);
    ck_assert(has_line(&run, "mean of all 2 replicas together, peak of replica 1"));
    ck_assert(has_line(&run, "peak of a replica"));
    ck_assert(has_line(&run, "152,097,152"));
    ck_assert(has_line(&run, "  =  pool                0.39  100.0 %      0.20  100.0 %"));
    record_run_free(&run);
}
END_TEST

START_TEST(an_empty_run_is_printed_without_a_crash)
{
    struct record_run run;
    struct printed printed;
    record_run_init(&run);
    report_run_text(printed_begin(&printed), &run, NULL);
    report_run_markdown(printed.out, &run, "x.db");
    report_run_json(printed.out, &run);
    ck_assert_ptr_nonnull(strstr(printed_end(&printed), "\"ttft_p99_ms\": null"));
    printed_free(&printed);
    record_run_free(&run);
}
END_TEST

int main(void)
{
    return unit_run("report.run",
                    (const TTest *const[]){text, markdown, json, csv, several_runs_are_a_list,
                                           the_text_fits_a_terminal, verdicts,
                                           a_missing_interval_is_explained,
                                           several_replicas_share_one_ledger,
                                           an_empty_run_is_printed_without_a_crash, NULL});
}
