#include "support/unit.h"

#include "unit/conf/table.h"

START_TEST(objects_are_rows)
{
    table_is("{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\\n\\u00e4\",\"a\":2.5}\n",
             "a|b;1|x;2.5|y\n\xC3\xA4");
    table_is("{\"t\":0,\"h\":[1, 2,{\"x\":\"]\"}],\"n\":null}\n\n{\"t\":true}",
             "t|h|n;0|[1, 2,{\"x\":\"]\"}]|;true|-|-");
    table_is(" { \"a\" : 1 } \r\n{\"a\":2}\r\n", "a;1;2");
}
END_TEST

START_TEST(later_objects_may_have_keys_of_their_own)
{
    struct conf_rows *rows =
        table_open("{\"a\":1}\n{\"b\":2,\"a\":3}\n{\"a\":4,\"c-d\":5}\n{\"c_d\":6}\n");
    struct kvsim_error err = {0};
    bool more;
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert_int_eq(conf_rows_column(rows, "b"), -1);
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert_str_eq(conf_rows_text(rows, conf_rows_column(rows, "b")), "2");
    ck_assert_str_eq(conf_rows_text(rows, conf_rows_column(rows, "a")), "3");
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert_ptr_null(conf_rows_text(rows, conf_rows_column(rows, "b")));
    ck_assert_str_eq(conf_rows_text(rows, conf_rows_column(rows, "c_d")), "5");
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert_str_eq(conf_rows_text(rows, conf_rows_column(rows, "c_d")), "6");
    ck_assert_uint_eq(conf_rows_column_count(rows), 3);
    ck_assert_ptr_null(conf_rows_text(rows, conf_rows_column(rows, "a")));
    conf_rows_close(rows);
}
END_TEST

START_TEST(objects_at_fault)
{
    table_fails("{\"a_b\":1}\n{\"a_b\":1,\"a-b\":2}\n", 2, 10, "duplicate-key");
    table_fails("{\"a\":1}\n{\"a\":1,\"a\":2}\n", 2, 8, "duplicate-key");
    table_fails("{\"a\":1,\"a\":2}\n", 1, 8, "duplicate-key");
    table_fails("{\"a-b\":1,\"a_b\":2}\n", 1, 16, "duplicate-column");
    table_fails("{\"a\":1}\n{\"a\":\n", 2, 6, "bad-json"); // a cut line
    table_fails("{\"a\":1}\n{\"a\":\"x", 2, 8, "bad-json");
    table_fails("{\"a\":1}\n{\"a\":1} x\n", 2, 9, "bad-json");
    table_fails("{\"a\":1}\n[1]\n", 2, 1, "bad-json");
    table_fails("{\"a\":1}\n5\n", 2, 1, "bad-json");
    table_fails("{a:1}\n", 1, 2, "bad-json");
    table_fails("{}\n", 1, 1, "no-header");
    table_fails("[{\"a\":1}]\n", 1, 1, "no-header");
    table_fails("{\"a\":\"\\u0000\"}\n", 1, 13, "bad-json");
}
END_TEST

START_TEST(deep_values_are_refused)
{
    struct base_text text = {0};
    base_text_add(&text, "{\"a\":");
    for (int i = 0; i < 100000; i++)
        base_text_add(&text, "[");
    struct conf_rows *rows = NULL;
    struct kvsim_error err = {0};
    ck_assert_int_eq(table_open_bytes(text.at, text.count, &rows, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.message, "nested too deeply");
    base_text_free(&text);
}
END_TEST

int main(void)
{
    return unit_run("conf.rows_json",
                    (const TTest *const[]){objects_are_rows,
                                           later_objects_may_have_keys_of_their_own,
                                           objects_at_fault, deep_values_are_refused, NULL});
}
