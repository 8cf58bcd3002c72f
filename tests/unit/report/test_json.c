#include "support/printed.h"
#include "support/unit.h"

#include "report/json.h"

#include <math.h>

START_TEST(containers_nest_with_commas_and_lines)
{
    struct printed printed;
    struct report_json json;
    report_json_init(&json, printed_begin(&printed));
    report_json_begin_object(&json, NULL);
    report_json_integer(&json, "a", -3);
    report_json_begin_list(&json, "rows");
    report_json_begin_object(&json, NULL);
    report_json_bool(&json, "x", true);
    report_json_null(&json, "y");
    report_json_end_object(&json);
    report_json_begin_object(&json, NULL);
    report_json_end_object(&json);
    report_json_end_list(&json);
    report_json_begin_list(&json, "none");
    report_json_end_list(&json);
    report_json_end_object(&json);
    report_json_finish(&json);
    ck_assert_str_eq(printed_end(&printed), "{\n"
                                            "  \"a\": -3,\n"
                                            "  \"rows\": [\n"
                                            "    {\"x\": true, \"y\": null},\n"
                                            "    {}\n"
                                            "  ],\n"
                                            "  \"none\": []\n"
                                            "}\n");
    printed_free(&printed);
}
END_TEST

START_TEST(a_list_of_objects_spreads_each)
{
    struct printed printed;
    struct report_json json;
    report_json_init(&json, printed_begin(&printed));
    report_json_begin_list(&json, NULL);
    for (int i = 0; i < 2; i++) {
        report_json_begin_object(&json, NULL);
        report_json_integer(&json, "i", i);
        report_json_begin_list(&json, "rows");
        report_json_begin_object(&json, NULL);
        report_json_end_object(&json);
        report_json_end_list(&json);
        report_json_end_object(&json);
    }
    report_json_end_list(&json);
    report_json_finish(&json);
    ck_assert_str_eq(printed_end(&printed),
                     "[\n"
                     "  {\n    \"i\": 0,\n    \"rows\": [\n      {}\n    ]\n  },\n"
                     "  {\n    \"i\": 1,\n    \"rows\": [\n      {}\n    ]\n  }\n"
                     "]\n");
    printed_free(&printed);
}
END_TEST

static void text_is(const char *value, const char *expected)
{
    struct printed printed;
    struct report_json json;
    report_json_init(&json, printed_begin(&printed));
    report_json_text(&json, NULL, value);
    ck_assert_str_eq(printed_end(&printed), expected);
    printed_free(&printed);
}

START_TEST(texts_are_escaped)
{
    text_is(NULL, "null");
    text_is("", "\"\"");
    text_is("a\"b\\c", "\"a\\\"b\\\\c\"");
    text_is("\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\"");
    text_is("\x01\x0b\x1f\x7f", "\"\\u0001\\u000b\\u001f\\u007f\"");
    text_is("±−€😀", "\"±−€😀\"");
}
END_TEST

START_TEST(broken_utf8_becomes_replacement_characters)
{
    text_is("a\xff", "\"a\\ufffd\"");
    text_is("\xc3", "\"\\ufffd\"");
    text_is("\xc0\xaf", "\"\\ufffd\\ufffd\"");                       // overlong
    text_is("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");            // surrogate
    text_is("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); // beyond U+10FFFF
    text_is("\xe2\x82", "\"\\ufffd\\ufffd\"");
}
END_TEST

START_TEST(numbers_are_numbers_or_null)
{
    struct printed printed;
    struct report_json json;
    struct record_value value = {.kind = RECORD_REAL, .real = NAN};
    report_json_init(&json, printed_begin(&printed));
    report_json_begin_list(&json, NULL);
    report_json_real(&json, NULL, 0.1);
    report_json_real(&json, NULL, NAN);
    report_json_real(&json, NULL, HUGE_VAL);
    report_json_integer(&json, NULL, INT64_MIN);
    report_json_value(&json, NULL, &value);
    value = (struct record_value){.kind = RECORD_TEXT, .text = "x"};
    report_json_value(&json, NULL, &value);
    value = (struct record_value){.kind = RECORD_NULL};
    report_json_value(&json, NULL, &value);
    report_json_end_list(&json);
    ck_assert_str_eq(printed_end(&printed), "[\n  0.1,\n  null,\n  null,\n  -9223372036854775808,\n"
                                            "  null,\n  \"x\",\n  null\n]");
    printed_free(&printed);
}
END_TEST

int main(void)
{
    return unit_run("report.json",
                    (const TTest *const[]){containers_nest_with_commas_and_lines,
                                           a_list_of_objects_spreads_each, texts_are_escaped,
                                           broken_utf8_becomes_replacement_characters,
                                           numbers_are_numbers_or_null, NULL});
}
