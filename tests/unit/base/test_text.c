#include "support/unit.h"

#include "base/text.h"

#include <string.h>

START_TEST(a_text_grows)
{
    struct base_text text = {0};
    base_text_add(&text, "");
    ck_assert_str_eq(text.at, "");
    for (int i = 0; i < 1000; i++)
        base_text_add(&text, "abc");
    ck_assert_uint_eq(text.count, 3000);
    ck_assert_uint_eq(strlen(text.at), 3000);
    base_text_clear(&text);
    ck_assert_str_eq(text.at, "");
    base_text_printf(&text, "%d-%s", 12, "x");
    base_text_add_n(&text, "yz!", 2);
    ck_assert_str_eq(text.at, "12-xyz");
    base_text_free(&text);
    ck_assert_ptr_null(text.at);
    base_text_clear(&text);
}
END_TEST

START_TEST(printing_more_than_there_is_room_for)
{
    struct base_text text = {0};
    base_text_printf(&text, "%0500d", 7);
    ck_assert_uint_eq(text.count, 500);
    ck_assert_int_eq(text.at[499], '7');
    base_text_free(&text);
}
END_TEST

START_TEST(copies_are_cut_and_ended)
{
    char four[4];
    ck_assert(base_copy(four, sizeof four, "abc"));
    ck_assert_str_eq(four, "abc");
    ck_assert(!base_copy(four, sizeof four, "abcd"));
    ck_assert_str_eq(four, "abc");
    ck_assert(!base_copy(four, 1, "a"));
    ck_assert_str_eq(four, "");
}
END_TEST

START_TEST(starts_and_ends)
{
    char upper[] = "AbC-Z_9";
    base_lower(upper);
    ck_assert_str_eq(upper, "abc-z_9");
    ck_assert(base_starts_with("--set x", "--set"));
    ck_assert(base_starts_with("x", ""));
    ck_assert(!base_starts_with("--se", "--set"));
    ck_assert(base_ends_with("a.json", ".json"));
    ck_assert(!base_ends_with("json", ".json"));
    ck_assert(base_ends_with("", ""));
}
END_TEST

int main(void)
{
    return unit_run("base.text",
                    (const TTest *const[]){a_text_grows, printing_more_than_there_is_room_for,
                                           copies_are_cut_and_ended, starts_and_ends, NULL});
}
