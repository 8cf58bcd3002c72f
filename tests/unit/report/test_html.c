/* Escaping, and the structure of tables and claims. */
#include "support/markup.h"
#include "support/printed.h"
#include "support/unit.h"

#include "report/html.h"

#include <string.h>

static void must_escape_to(const char *text, const char *expected)
{
    struct printed printed;
    struct report_html html = {.out = printed_begin(&printed)};
    report_html_text(&html, text);
    ck_assert_str_eq(printed_end(&printed), expected);
    printed_free(&printed);
}

START_TEST(texts_are_escaped)
{
    must_escape_to("<b onclick='x'>&\"", "&lt;b onclick=&#39;x&#39;&gt;&amp;&quot;");
    must_escape_to("±, µs, 日本, \xF0\x9F\x90\x8C", "±, µs, 日本, \xF0\x9F\x90\x8C");
    must_escape_to("a\xFF"
                   "b\xC0\xAF",
                   "a\xEF\xBF\xBD"
                   "b\xEF\xBF\xBD\xEF\xBF\xBD");
    must_escape_to("a\x01\x7F\n\t", "a\xEF\xBF\xBD\xEF\xBF\xBD\n\t");
    must_escape_to("\xEF\xBF\xBF", "\xEF\xBF\xBD");                         // U+FFFF
    must_escape_to("\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); // a surrogate
    must_escape_to(NULL, "");
}
END_TEST

START_TEST(formatted_texts_are_escaped)
{
    struct printed printed;
    struct report_html html = {.out = printed_begin(&printed)};
    report_html_printf(&html, "%s < %d", "<i>", 3);
    report_html_code(&html, "a & b");
    report_html_paragraph(&html, "note", "%s", "</p>");
    ck_assert_str_eq(printed_end(&printed),
                     "&lt;i&gt; &lt; 3<code>a &amp; b</code><p class=\"note\">&lt;/p&gt;</p>\n");
    printed_free(&printed);
}
END_TEST

START_TEST(names_stay_together)
{
    struct printed printed;
    struct report_html html = {.out = printed_begin(&printed)};
    report_html_words(&html, "serve llama-3.1-8b <now>");
    ck_assert_str_eq(printed_end(&printed),
                     "serve <span class=\"name\">llama-3.1-8b</span> &lt;now&gt;");
    printed_free(&printed);
}
END_TEST

START_TEST(claims)
{
    struct printed printed;
    struct report_html html = {.out = printed_begin(&printed)};
    report_html_claim(&html, "simulated", "assumed");
    report_html_claim(&html, "calculated", "calculated");
    report_html_claim(&html, "\"odd\"", NULL);
    report_html_claim(&html, "", "assumed");
    report_html_claim(&html, NULL, NULL);
    ck_assert_str_eq(printed_end(&printed), "<span class=\"claim simulated\">simulated</span> on "
                                            "<span class=\"claim assumed\">assumed</span>"
                                            "<span class=\"claim calculated\">calculated</span>"
                                            "<span class=\"claim other\">&quot;odd&quot;</span>");
    printed_free(&printed);
}
END_TEST

START_TEST(a_table_has_headers)
{
    struct printed printed;
    struct report_html html = {.out = printed_begin(&printed)};
    report_html_table(&html, "a & b", "measured", NULL, "lrk");
    report_html_cell(&html, "name");
    report_html_cell(&html, "value");
    report_html_cell(&html, "kind");
    report_html_table_body(&html);
    report_html_cell(&html, "x");
    report_html_cell(&html, "1");
    report_html_cell(&html, "vendor");
    report_html_table_end(&html);
    const char *text = printed_end(&printed);
    ck_assert_ptr_nonnull(strstr(text, "aria-label=\"a &amp; b\""));
    ck_assert_ptr_nonnull(strstr(text, "<caption>a &amp; b: <span class=\"claim measured\">"));
    ck_assert_ptr_nonnull(strstr(text, "<tr><th scope=\"col\">name</th>"
                                       "<th scope=\"col\" class=\"r\">value</th>"
                                       "<th scope=\"col\">kind</th></tr>"));
    ck_assert_ptr_nonnull(strstr(text, "<tr><th scope=\"row\">x</th><td class=\"r\">1</td>"
                                       "<td><span class=\"claim vendor\">vendor</span></td></tr>"));
    printed_free(&printed);
}
END_TEST

/* Only there may the half width go to a line of its own, and only as a whole. */
START_TEST(an_interval_may_break_in_a_dense_table)
{
    static const char *const aligns[] = {"lr", "lrrrrrrrr"};
    for (size_t i = 0; i < 2; i++) {
        struct printed printed;
        struct report_html html = {.out = printed_begin(&printed)};
        report_html_table(&html, "a", NULL, NULL, aligns[i]);
        for (size_t k = 0; aligns[i][k] != '\0'; k++)
            report_html_cell(&html, "head");
        report_html_table_body(&html);
        for (size_t k = 0; aligns[i][k] != '\0'; k++)
            report_html_cell(&html, k == 1 ? "254.029 \u00b1 0.007" : "100.0 %");
        report_html_table_end(&html);
        const char *text = printed_end(&printed);
        ck_assert_ptr_nonnull(strstr(text, i == 0 ? "<td class=\"r\">254.029 \u00b1 0.007</td>"
                                                  : "<td class=\"r\"><span class=\"interval\">"
                                                    "254.029 <span>\u00b1 0.007</span></span></td>"
                                                    "<td class=\"r\">100.0\u00a0%</td>"));
        ck_assert((strstr(text, "class=\"dense\"") != NULL) == (i == 1));
        printed_free(&printed);
    }
}
END_TEST

START_TEST(an_empty_page)
{
    struct printed printed;
    struct report_html html;
    char fault[200];
    report_html_begin(&html, printed_begin(&printed), "<title> & \"co\"");
    report_html_section(&html, "one", "One & two");
    report_html_section_end(&html);
    report_html_end(&html);
    const char *page = printed_end(&printed);
    ck_assert_ptr_null(markup_fault(page, fault, sizeof fault));
    ck_assert_ptr_null(markup_outside(page));
    ck_assert_ptr_nonnull(strstr(page, "prefers-color-scheme:dark"));
    ck_assert_ptr_nonnull(strstr(page, "@media print"));
    ck_assert_ptr_nonnull(strstr(page, "no-repeat local")); // the edge of a table that goes on
    ck_assert_ptr_nonnull(strstr(page, "<h2 id=\"one\">One &amp; two</h2>"));
    printed_free(&printed);
}
END_TEST

START_TEST(the_checker_sees_faults)
{
    static const char *const bad[] = {"<p>",          "<p></b></p>",
                                      "<p a=1></p>",  "a & b",
                                      "<p a=\"<\"/>", "<p id=\"a\"/><p id=\"a\"/>",
                                      "< p></p>",     "<p aria-labelledby=\"a\"/>",
                                      "\x01"};
    char page[128], fault[200];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(page, sizeof page, "<!DOCTYPE html>\n%s", bad[i]);
        ck_assert_ptr_nonnull(markup_fault(page, fault, sizeof fault));
    }
    ck_assert_ptr_nonnull(markup_outside("<p><img src=\"a\" /></p>"));
}
END_TEST

int main(void)
{
    return unit_run("report.html",
                    (const TTest *const[]){texts_are_escaped, formatted_texts_are_escaped,
                                           names_stay_together, claims, a_table_has_headers,
                                           an_interval_may_break_in_a_dense_table, an_empty_page,
                                           the_checker_sees_faults, NULL});
}
