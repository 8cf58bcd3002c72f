#include "support/unit.h"

#include "unit/conf/table.h"

#include <stdlib.h>

START_TEST(line_ends_marks_and_blank_lines)
{
    table_is("\xEF\xBB\xBF"
             "a,b\r\n1,2\r\n\r\n3,4",
             "a|b;1|2;3|4");
    table_is("\n \na,b\n\n1,2\n\n", "a|b;1|2");
    table_is("a,b", "a|b");
    table_is(" a , b \n1,2\n", "a|b;1|2");
    table_is(",a\n0,x\n", "|a;0|x");
}
END_TEST

START_TEST(columns_are_found_by_name)
{
    struct conf_rows *rows = table_open("arrival_s,input-tokens\n1,2\n");
    ck_assert_int_eq(conf_rows_column(rows, "arrival_s"), 0);
    ck_assert_int_eq(conf_rows_column(rows, "input_tokens"), 1);
    ck_assert_int_eq(conf_rows_column(rows, "output_tokens"), -1);

    static const char *const names[] = {"input_tokens", "arrival-s", "output_tokens"};
    struct kvsim_error err;
    int found[3];
    ck_assert_int_eq(conf_rows_find(rows, names, 2, "traces", found, &err), KVSIM_OK);
    ck_assert_int_eq(found[0], 1);
    ck_assert_int_eq(found[1], 0);
    ck_assert_int_eq(conf_rows_find(rows, names, 3, "traces", found, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.message, "traces have a column output_tokens");
    conf_rows_close(rows);
}
END_TEST

START_TEST(files_that_are_no_tables)
{
    table_fails("", 1, 1, "empty-file");
    table_fails("\n\n", 1, 1, "empty-file");
    table_fails("\xEF\xBB\xBF", 1, 1, "empty-file");
    table_fails("1,2,3\n4,5,6\n", 1, 1, "no-header");
    table_fails("a,b,a\n", 1, 5, "duplicate-column");
    table_fails("a-x,b,a_x\n", 1, 7, "duplicate-column");
    table_bytes_fail("a,b\n1,\0\n", 8, 2, 3, "bad-text");
    table_bytes_fail("\x1F\x8B\x08", 3, 1, 1, "bad-text");
    table_fails("a,b\n1,\xFF\n", 2, 3, "bad-text");
    table_fails("a,b\r1,2\r", 1, 4, "bad-text");
}
END_TEST

START_TEST(files_that_cannot_be_opened)
{
    struct conf_rows *rows = NULL;
    struct kvsim_error err = {0};
    ck_assert_int_eq(conf_rows_open("/nowhere/t.csv", &rows, &err), KVSIM_ERR_IO);
    ck_assert_int_eq(conf_rows_open(".", &rows, &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.message, "cannot open: is a directory");
    conf_rows_close(NULL);
}
END_TEST

START_TEST(rows_know_their_lines)
{
    struct conf_rows *rows = table_open("a,b\n1,\"x\ny\"\n\n2,z\n");
    struct kvsim_error err = {0};
    bool more = false;
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert_int_eq(conf_rows_line(rows), 2);
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert_int_eq(conf_rows_line(rows), 5);
    ck_assert_int_eq(conf_rows_fail(rows, 1, &err, "my-code", "bad %s", "z"), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(err.line, 5);
    ck_assert_int_eq(err.column, 3);
    ck_assert_str_eq(err.message, "bad z");
    ck_assert_str_eq(err.code, "my-code");
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert(!more);
    conf_rows_close(rows);
}
END_TEST

/* One row of one column, read in the three ways. */
struct reading {
    bool is_int, is_seconds, is_real;
    long long whole, ns;
    double real;
};

static struct reading read_number(const char *field)
{
    char text[128];
    struct reading got = {0};
    struct kvsim_error err = {0};
    bool more = false;
    snprintf(text, sizeof text, "x,y\n0,%s\n", field);
    struct conf_rows *rows = table_open(text);
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    got.is_int = conf_rows_int(rows, 1, &got.whole, &err) == KVSIM_OK;
    got.is_seconds = conf_rows_seconds(rows, 1, &got.ns, &err) == KVSIM_OK;
    got.is_real = conf_rows_real(rows, 1, &got.real, &err) == KVSIM_OK;
    conf_rows_close(rows);
    return got;
}

START_TEST(numbers)
{
    struct reading got = read_number("17");
    ck_assert(got.is_int && got.whole == 17 && got.ns == INT64_C(17000000000) && got.real == 17.0);
    got = read_number("0.6185180005");
    ck_assert(!got.is_int && got.is_seconds && got.ns == 618518000 && got.real == 0.6185180005);
    got = read_number("-3");
    ck_assert(got.is_int && got.whole == -3 && !got.is_seconds && got.real == -3.0);
    got = read_number("8k");
    ck_assert(!got.is_int && !got.is_seconds && !got.is_real);
    got = read_number("nan");
    ck_assert(!got.is_int && !got.is_seconds && !got.is_real);
    got = read_number("9223372036854775808");
    ck_assert(!got.is_int && !got.is_seconds && got.is_real);
}
END_TEST

START_TEST(number_errors_name_the_column_and_the_place)
{
    struct conf_rows *rows = table_open("arrival_s,tokens\n1.5,ten\n,2\n");
    struct kvsim_error err = {0};
    long long value = 0;
    bool more = false;
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert_int_eq(conf_rows_int(rows, 1, &value, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.message, "column 'tokens': 'ten' is not a number such as 12 or 0.5");
    ck_assert_str_eq(err.code, "bad-number");
    ck_assert_int_eq(err.line, 2);
    ck_assert_int_eq(err.column, 5);
    ck_assert_int_eq(conf_rows_int(rows, 0, &value, NULL), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert_int_eq(conf_rows_seconds(rows, 0, &value, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.message, "column 'arrival_s' has no value");
    ck_assert_int_eq(conf_rows_int(rows, -1, &value, &err), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(conf_rows_int(rows, 7, &value, &err), KVSIM_ERR_SCENARIO);
    conf_rows_close(rows);
}
END_TEST

START_TEST(a_row_is_never_longer_than_a_mebibyte)
{
    static const char start[] = {'a', ',', 'b', '\n', '"'};
    size_t length = 3145728;
    char *text = malloc(length);
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', length);
    table_bytes_fail(text, length, 1, 1, "too-long");
    memcpy(text, start, sizeof start);
    for (size_t i = 100; i < length; i += 100)
        text[i] = '\n';
    table_bytes_fail(text, length, 2, 1, "too-long"); // an open quote eats lines only so far
    free(text);
}
END_TEST

/* A table larger than the buffer, cut by it at every possible place. */
START_TEST(rows_cross_the_buffer)
{
    struct base_text text = {0};
    base_text_add(&text, "a,b\n");
    for (int i = 0; i < 20000; i++)
        base_text_printf(&text, "%d,\"%d\"\n", i, i * i % 1000);
    struct conf_rows *rows = table_open(text.at);
    struct kvsim_error err = {0};
    bool more = false;
    for (int i = 0; i < 20000; i++) {
        long long a = 0, b = 0;
        bool good = conf_rows_next(rows, &more, &err) == KVSIM_OK && more &&
                    conf_rows_int(rows, 0, &a, &err) == KVSIM_OK &&
                    conf_rows_int(rows, 1, &b, &err) == KVSIM_OK;
        if (!good || a != i || b != (long long)(i * i % 1000) || conf_rows_line(rows) != i + 2)
            ck_abort_msg("row %d", i);
    }
    ck_assert_int_eq(conf_rows_next(rows, &more, &err), KVSIM_OK);
    ck_assert(!more);
    conf_rows_close(rows);
    base_text_free(&text);
}
END_TEST

int main(void)
{
    return unit_run("conf.rows", (const TTest *const[]){
                                     line_ends_marks_and_blank_lines,
                                     columns_are_found_by_name,
                                     files_that_are_no_tables,
                                     files_that_cannot_be_opened,
                                     rows_know_their_lines,
                                     numbers,
                                     number_errors_name_the_column_and_the_place,
                                     a_row_is_never_longer_than_a_mebibyte,
                                     rows_cross_the_buffer,
                                     NULL,
                                 });
}
