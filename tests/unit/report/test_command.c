/* Words as a shell reads them. */
#include "support/scratch.h"
#include "support/unit.h"

#include "report/command.h"

#include <string.h>

START_TEST(words)
{
    struct base_text text = {0};
    report_command_word(&text, "a.yaml");
    report_command_word(&text, "it's; $(x) `y` \"z\"");
    report_command_word(&text, "");
    ck_assert_str_eq(text.at, " a.yaml 'it'\\''s; $(x) `y` \"z\"' ''");
    base_text_free(&text);
}
END_TEST

START_TEST(a_shell_reads_them_back)
{
    static const char odd[] = "it's; $(x) `y` \"z\" \\ *";
    struct base_text text = {0};
    int code;
    base_text_add(&text, "printf %s");
    report_command_word(&text, odd);
    char *said = scratch_run(text.at, &code);
    ck_assert_int_eq(code, 0);
    ck_assert_str_eq(said, odd);
    free(said);
    base_text_free(&text);
}
END_TEST

START_TEST(settings_have_their_unit)
{
    static const struct {
        struct record_param_row row;
        const char *set;
    } cases[] = {
        {{"workload.arrival.rate", "9", "1/s", "set", "", ""}, " --set workload.arrival.rate=9/s"},
        {{"engine.memory.graphs", "1024", "bytes", "set", "", ""},
         " --set engine.memory.graphs=1024B"},
        {{"cost.step", "250", "ns", "set", "", ""}, " --set cost.step=250ns"},
        {{"engine.max_model_len", "8192", "tokens", "set", "", ""},
         " --set engine.max_model_len=8192"},
        {{"slo.0", "ttft p99 <= 2 s", "", "set", "", ""}, " --set 'slo.0=ttft p99 <= 2 s'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct base_text text = {0};
        report_command_set(&text, &cases[i].row);
        ck_assert_str_eq(text.at, cases[i].set);
        base_text_free(&text);
    }
}
END_TEST

int main(void)
{
    return unit_run("report.command", (const TTest *const[]){words, a_shell_reads_them_back,
                                                             settings_have_their_unit, NULL});
}
