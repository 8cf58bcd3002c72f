#include "support/printed.h"
#include "support/unit.h"

#include "report/number.h"
#include "report/table.h"

#include <string.h>

static void print_table(struct report_page *page)
{
    static const char *const cells[] = {"",    "ms", "note", "ttft", "34.2 ± 0.1",
                                        "a|b", "x",  "7",    ""};
    report_page_table_begin(page, "lrl");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        report_page_cell(page, cells[i]);
    report_page_table_end(page);
}

START_TEST(text_is_aligned_by_characters)
{
    struct printed printed;
    struct report_page page;
    report_page_init(&page, printed_begin(&printed), REPORT_TEXT);
    print_table(&page);
    ck_assert_str_eq(printed_end(&printed), "                ms  note\n"
                                            "  ttft  34.2 ± 0.1  a|b\n"
                                            "  x              7\n");
    printed_free(&printed);
}
END_TEST

START_TEST(markdown_has_pipes_and_a_rule)
{
    struct printed printed;
    struct report_page page;
    report_page_init(&page, printed_begin(&printed), REPORT_MARKDOWN);
    report_page_title(&page, "Title");
    report_page_line(&page, "one");
    report_page_heading(&page, "Part");
    print_table(&page);
    report_page_line(&page, "two %d", 2);
    report_page_heading(&page, "Do");
    report_page_command(&page, "sqlite3 x.db");
    ck_assert_str_eq(printed_end(&printed), "# Title\n\n- one\n\n## Part\n\n"
                                            "|  | ms | note |\n| --- | ---: | --- |\n"
                                            "| ttft | 34.2 ± 0.1 | a\\|b |\n| x | 7 |  |\n"
                                            "\n- two 2\n\n## Do\n\n    sqlite3 x.db\n");
    printed_free(&printed);
}
END_TEST

/* Nothing is cut: the last column goes on under itself, and a table's other rows are as they were. */
START_TEST(a_wrapped_column_goes_on_under_itself)
{
    struct printed printed;
    struct report_page page;
    char text[161] = "";
    for (size_t i = 0; i < 20; i++)
        strcat(text, "seven77 ");
    report_page_init(&page, printed_begin(&printed), REPORT_TEXT);
    report_page_table_begin(&page, "lw");
    report_page_cell(&page, "name");
    report_page_cell(&page, "source");
    report_page_cell(&page, "a");
    report_page_cell(&page, text);
    report_page_table_end(&page);
    const char *out = printed_end(&printed);
    ck_assert_msg(strncmp(out, "  name  source\n  a     seven77 ", 31) == 0, "%s", out);
    ck_assert_ptr_nonnull(strstr(out, "\n        seven77 "));
    size_t words = 0;
    for (const char *at = out; (at = strstr(at, "seven77")) != NULL; at++)
        words++;
    ck_assert_uint_eq(words, 20);
    for (const char *line = out; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), REPORT_WIDTH);
    printed_free(&printed);
}
END_TEST

START_TEST(long_lines_are_wrapped_between_words)
{
    struct printed printed;
    struct report_page page;
    report_page_init(&page, printed_begin(&printed), REPORT_TEXT);
    report_page_line(&page, "%s%s%s%s", "word ± word word word word word word ± word word word ",
                     "word word word word word word word word word word word word word word word ",
                     "word word word word word word word word word word word word word word word ",
                     "word word word word word word word word word word word word word word last");
    const char *text = printed_end(&printed);
    int lines = 0;
    for (const char *at = text; *at != '\0'; lines++) {
        char line[512] = "";
        size_t length = strcspn(at, "\n");
        memcpy(line, at, length);
        ck_assert_uint_le(report_text_width(line), REPORT_WIDTH);
        ck_assert_int_ne(line[length - 1], ' ');
        ck_assert(strncmp(line, lines == 0 ? "  word" : "    word", lines == 0 ? 6 : 8) == 0);
        at += length + 1;
    }
    ck_assert_int_eq(lines, 3);
    printed_free(&printed);
}
END_TEST

START_TEST(a_word_longer_than_the_line_stays_whole)
{
    struct printed printed;
    struct report_page page;
    char word[151];
    memset(word, 'x', 150);
    word[150] = '\0';
    report_page_init(&page, printed_begin(&printed), REPORT_TEXT);
    report_page_line(&page, "%s end", word);
    const char *text = printed_end(&printed);
    ck_assert_ptr_nonnull(strstr(text, word));
    ck_assert_ptr_nonnull(strstr(text, "\n    end\n"));
    printed_free(&printed);
}
END_TEST

int main(void)
{
    return unit_run("report.table",
                    (const TTest *const[]){
                        text_is_aligned_by_characters, markdown_has_pipes_and_a_rule,
                        a_wrapped_column_goes_on_under_itself, long_lines_are_wrapped_between_words,
                        a_word_longer_than_the_line_stays_whole, NULL});
}
