#include "kv/content.h"

#include "support/check_main.h"

static const struct spec_token_run cut[] = {{10, 3}, {13, 2}, {90, 4}};
static const struct spec_token_run joined[] = {{10, 5}, {90, 9}};

START_TEST(a_cursor_stands_in_the_run_that_holds_its_token)
{
    struct kv_content content = {cut, 3, 9};
    struct kv_cursor at = kv_cursor_at(&content, 4);
    ck_assert_uint_eq(at.run, 1);
    ck_assert_int_eq(at.offset, 1);
    ck_assert_uint_eq(kv_cursor_at(&content, 5).run, 2);
    ck_assert_uint_eq(kv_cursor_at(&content, 9).run, 3); // past the end
}
END_TEST

START_TEST(a_match_ends_where_tokens_differ_or_one_ends)
{
    struct kv_content a = {cut, 3, 9}, b = {joined, 2, 14};
    struct kv_cursor x = kv_cursor_at(&a, 0), y = kv_cursor_at(&b, 0);
    ck_assert_int_eq(kv_cursor_match(&x, &y, 7), 7);
    ck_assert_int_eq(kv_cursor_match(&x, &y, 100), 2); // a is over
    ck_assert_int_eq(kv_cursor_match(&x, &y, 100), 0);
    x = kv_cursor_at(&a, 1);
    y = kv_cursor_at(&b, 0);
    ck_assert_int_eq(kv_cursor_match(&x, &y, 100), 0);
}
END_TEST

START_TEST(keys_and_copies_do_not_depend_on_the_cuts)
{
    struct kv_content a = {cut, 3, 9}, b = {joined, 2, 14};
    for (int64_t from = 0; from < 9; from++) {
        for (int64_t tokens = 1; from + tokens <= 9; tokens++) {
            struct kv_cursor x = kv_cursor_at(&a, from), y = kv_cursor_at(&b, from);
            ck_assert_uint_eq(kv_cursor_key(&x, tokens), kv_cursor_key(&y, tokens));
        }
    }
    struct kv_cursor x = kv_cursor_at(&a, 1), other = kv_cursor_at(&a, 2);
    uint64_t key = kv_cursor_key(&x, 4);
    ck_assert_uint_ne(key, kv_cursor_key(&other, 4));
    struct spec_token_run runs[3];
    x = kv_cursor_at(&a, 1);
    ck_assert_uint_eq(kv_cursor_copy(&x, 6, NULL), 2);
    x = kv_cursor_at(&a, 1);
    ck_assert_uint_eq(kv_cursor_copy(&x, 6, runs), 2);
    ck_assert_int_eq(runs[0].first, 11);
    ck_assert_int_eq(runs[0].count, 4);
    ck_assert_int_eq(runs[1].first, 90);
    ck_assert_int_eq(runs[1].count, 2);
    ck_assert_uint_eq(x.run, 2);
}
END_TEST

CHECK_MAIN("kv.content", a_cursor_stands_in_the_run_that_holds_its_token,
           a_match_ends_where_tokens_differ_or_one_ends, keys_and_copies_do_not_depend_on_the_cuts)
