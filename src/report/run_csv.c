#include "report/run.h"

#include "report/csv.h"

void report_run_csv_header(FILE *out)
{
    fputs("run_id,created_at", out);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++)
        fprintf(out, ",%s", record_summary_columns[i].name);
    fputs(",wall_s\n", out);
}

void report_run_csv(FILE *out, const struct record_run *run)
{
    if (run->run_id > 0)
        fprintf(out, "%lld", (long long)run->run_id);
    fputc(',', out);
    report_csv_field(out, run->created_at);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        fputc(',', out);
        report_csv_value(out, &run->summary[i]);
    }
    struct record_value wall_s = {.kind = RECORD_REAL, .real = run->wall_s};
    fputc(',', out);
    report_csv_value(out, &wall_s);
    fputc('\n', out);
}
