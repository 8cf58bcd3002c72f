#include "support/unit.h"

#include "unit/conf/table.h"

START_TEST(fields_and_quotes)
{
    table_is("a,b,c\n1,2,3\n4,,6\n", "a|b|c;1|2|3;4||6");
    table_is("a,b\n\"x, y\",\"say \"\"hi\"\"\"\n\"\",z\n", "a|b;x, y|say \"hi\";|z");
    table_is("a,b\n\"two\nlines\",1\n\"crlf\r\ntoo\",2\n", "a|b;two\nlines|1;crlf\ntoo|2");
    table_is("a\n1\n2\n", "a;1;2");
    table_is("a,b\n 1 , 2\n", "a|b; 1 | 2");
}
END_TEST

START_TEST(fields_at_fault)
{
    table_fails("a,b\n1\n", 2, 2, "field-count");
    table_fails("a,b\n1,2,3\n", 2, 5, "field-count");
    table_fails("a,b,c\n1,2,3\n4,5", 3, 4, "field-count"); // a cut line
    table_fails("a,b\n1,x\"y\"\n", 2, 4, "bad-quote");
    table_fails("a,b\n\"x\"y,2\n", 2, 4, "bad-quote");
    table_fails("a,b\n1,2\n3,\"never\nclosed,4\n", 3, 3, "unclosed-quote");
    table_fails("a,b\n\"two\nlines\",1,\xC3\xA4,x\n", 3, 10, "field-count");
}
END_TEST

START_TEST(too_many_columns)
{
    struct base_text text = {0};
    for (int i = 0; i < 5000; i++)
        base_text_printf(&text, "%sc%d", i > 0 ? "," : "", i);
    struct conf_rows *rows = NULL;
    struct kvsim_error err = {0};
    ck_assert_int_eq(table_open_bytes(text.at, text.count, &rows, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "too-many-columns");
    base_text_free(&text);
}
END_TEST

int main(void)
{
    return unit_run("conf.rows_csv", (const TTest *const[]){fields_and_quotes, fields_at_fault,
                                                            too_many_columns, NULL});
}
