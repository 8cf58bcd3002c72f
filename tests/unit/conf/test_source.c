#include "support/unit.h"

#include "conf/conf_int.h"

#include <string.h>

START_TEST(places_count_characters_and_all_line_ends)
{
    static const char text[] = "ab\ncd\r\n\xC3\xA4x\rz";
    static const struct {
        size_t offset;
        int line, column;
    } places[] = {{0, 1, 1}, {1, 1, 2}, {3, 2, 1},  {5, 2, 3},
                  {7, 3, 1}, {9, 3, 2}, {11, 4, 1}, {12, 4, 2}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct conf_place place = {.at = text, .line = 1, .column = 1};
        conf_place_move(&place, text + places[i].offset);
        ck_assert_int_eq(place.line, places[i].line);
        ck_assert_int_eq(place.column, places[i].column);
    }
}
END_TEST

static void fault_is_at(const char *bytes, size_t length, long expected)
{
    // A copy of the exact length, so that reading past it is seen.
    char *copy = malloc(length + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy + 1, bytes, length);
    const char *fault = conf_text_fault(copy + 1, length);
    ck_assert_int_eq(fault == NULL ? -1 : (long)(fault - copy - 1), expected);
    free(copy);
}

START_TEST(utf8_is_told_from_the_rest)
{
    fault_is_at("", 0, -1);
    fault_is_at("a\tb\r\n", 5, -1);
    fault_is_at("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9, -1);
    fault_is_at("\xF4\x8F\xBF\xBF", 4, -1);
    fault_is_at("a\0b", 3, 1);
    fault_is_at("ab\x1b", 3, 2);
    fault_is_at("\x7F", 1, 0);
    fault_is_at("\x80", 1, 0);             // a continuation alone
    fault_is_at("x\xC0\xAF", 3, 1);        // overlong
    fault_is_at("\xE0\x9F\xBF", 3, 0);     // overlong
    fault_is_at("\xF0\x8F\xBF\xBF", 4, 0); // overlong
    fault_is_at("\xED\xA0\x80", 3, 0);     // a surrogate
    fault_is_at("\xF4\x90\x80\x80", 4, 0); // above U+10FFFF
    fault_is_at("\xF5\x80\x80\x80", 4, 0);
    fault_is_at("\xE2\x82", 2, 0); // cut
    fault_is_at("\xE2\x82x", 3, 0);
    fault_is_at("\xFF\xFE"
                "a\0",
                4, 0); // UTF-16
}
END_TEST

START_TEST(faults_have_names)
{
    ck_assert_str_eq(conf_text_fault_name("\0"), "holds binary data");
    ck_assert_str_eq(conf_text_fault_name("\xFF"), "is not UTF-8 text");
}
END_TEST

START_TEST(byte_order_marks)
{
    ck_assert_uint_eq(conf_text_bom("\xEF\xBB\xBFx", 4), 3);
    ck_assert_uint_eq(conf_text_bom("\xEF\xBB", 2), 0);
    ck_assert_uint_eq(conf_text_bom("abc", 3), 0);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
    struct kvsim_error err;
    FILE *file = NULL;
    long long bytes = 0;
    ck_assert_int_eq(conf_file_open("/nowhere/x.yaml", &file, &bytes, &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.file, "/nowhere/x.yaml");
    ck_assert_str_eq(err.message, "cannot open: No such file or directory");
    ck_assert_int_eq(conf_file_open("/", &file, &bytes, &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.message, "cannot open: is a directory");
    ck_assert_int_eq(conf_file_open("", &file, &bytes, &err), KVSIM_ERR_IO);
    ck_assert_int_eq(conf_file_open(KVSIM_TEST_DATA "/CMakeLists.txt", &file, &bytes, &err),
                     KVSIM_OK);
    ck_assert_int_gt(bytes, 0);
    fclose(file);
}
END_TEST

int main(void)
{
    return unit_run("conf.source", (const TTest *const[]){
                                       places_count_characters_and_all_line_ends,
                                       utf8_is_told_from_the_rest,
                                       faults_have_names,
                                       byte_order_marks,
                                       what_cannot_be_opened,
                                       NULL,
                                   });
}
