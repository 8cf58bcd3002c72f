#include "support/unit.h"

#include "conf/json.h"

#include <string.h>

static struct conf_json_cursor at(const char *text)
{
    return (struct conf_json_cursor){.at = text, .end = text + strlen(text)};
}

static void string_is(const char *json, const char *value)
{
    struct base_text got = {0};
    struct conf_json_cursor cursor = at(json);
    base_text_add(&got, "");
    ck_assert_msg(conf_json_string(&cursor, &got), "%s: %s", json, cursor.problem);
    ck_assert_str_eq(got.at, value);
    ck_assert_ptr_eq(cursor.at, cursor.end);
    base_text_free(&got);
}

static void value_is_good(const char *json, bool good)
{
    struct conf_json_cursor cursor = at(json);
    bool got =
        conf_json_value(&cursor, 3) && (conf_json_skip_blanks(&cursor), cursor.at == cursor.end);
    ck_assert_msg(got == good, "%s is %s", json, got ? "accepted" : "refused");
}

START_TEST(strings)
{
    string_is("\"\"", "");
    string_is("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t");
    string_is("\"\\u0041\\u00e4\\u20AC\"", "A\xC3\xA4\xE2\x82\xAC");
    string_is("\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80");
    string_is("\"\\ud83d\"", "\xEF\xBF\xBD"); // half of a pair
    string_is("\"\\ude00x\"", "\xEF\xBF\xBDx");
    string_is("\"\\ud83d\\u0041\"", "\xEF\xBF\xBD"
                                    "A");
    string_is("\"\xC3\xA4\"", "\xC3\xA4");
}
END_TEST

START_TEST(strings_that_are_none)
{
    static const char *const bad[] = {"\"a",         "\"a\\",       "\"\\x\"",  "\"\\u12\"",
                                      "\"\\u12g4\"", "\"\\u0000\"", "\"a\nb\"", "\"a\tb\""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct conf_json_cursor cursor = at(bad[i]);
        ck_assert_msg(!conf_json_string(&cursor, NULL), "%s", bad[i]);
        ck_assert_ptr_nonnull(cursor.problem);
        ck_assert(cursor.at <= cursor.end);
    }
}
END_TEST

START_TEST(values)
{
    static const char *const good[] = {
        "0",
        "-1.5e+10",
        "1E5",
        "true",
        "false",
        "null",
        "NaN",
        "Infinity",
        "-Infinity",
        " [ ] ",
        "{}",
        "[1,[2,[3]]]",
        "{\"a\" : {\"b\":[null , \"x\"]}}",
        "\"text\"",
    };
    static const char *const bad[] = {
        "",     "01",    "1.",        ".5",       "+1",    "1e",         "truex",     "nul",
        "[1,]", "[1 2]", "{\"a\"}",   "{\"a\":}", "{a:1}", "{\"a\":1,}", "[",         "{",
        "]",    "1 2",   "[[[[1]]]]", "'x'",      "0x10",  "-",          "{\"a\":1]", "-Infinit",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        value_is_good(good[i], true);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        value_is_good(bad[i], false);
}
END_TEST

int main(void)
{
    return unit_run("conf.json",
                    (const TTest *const[]){strings, strings_that_are_none, values, NULL});
}
