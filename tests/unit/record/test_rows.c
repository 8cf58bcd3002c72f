#include "support/unit.h"

#include "kv/ledger.h"
#include "record/rows.h"

#include <string.h>

START_TEST(every_name_is_there_and_its_own)
{
    for (int i = 0; i < RECORD_CAUSE_COUNT; i++) {
        const char *name = record_cause_name((enum record_cause)i);
        ck_assert_uint_gt(strlen(name), 0);
        ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(name, record_cause_name((enum record_cause)k));
    }
    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++) {
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(record_outcome_name((enum record_outcome)i),
                             record_outcome_name((enum record_outcome)k));
    }
    ck_assert_str_eq(record_outcome_name(RECORD_OUTCOME_TIMED_OUT), "timed_out");
    ck_assert_str_eq(record_finish_name(RECORD_FINISH_NONE), "");
    ck_assert_str_eq(record_finish_name(RECORD_FINISH_LENGTH), "length");
    ck_assert_str_eq(record_cause_name(RECORD_WAIT_KV_POOL), "wait_kv_pool");
    ck_assert_str_eq(record_cause_name(RECORD_DECODE_HOST), "decode_host");
}
END_TEST

START_TEST(ledger_lines_are_those_of_kv)
{
    ck_assert_uint_eq(kv_ledger_line_count() + 1, RECORD_LEDGER_LINES);
    for (size_t line = 0; line < kv_ledger_line_count(); line++) {
        ck_assert_str_eq(record_ledger_name(line), kv_ledger_line_name(line));
        ck_assert_int_eq(kv_ledger_line_sign(line), line == RECORD_LEDGER_SHARED ? -1 : 1);
    }
    ck_assert_str_eq(record_ledger_name(RECORD_LEDGER_POOL), "pool");
}
END_TEST

START_TEST(allocated_follows_from_the_lines)
{
    struct kv_ledger ledger = {0};
    int64_t bytes[RECORD_LEDGER_LINES] = {0};
    for (size_t line = 0; line < kv_ledger_line_count(); line++) {
        bytes[line] = (int64_t)1 << line;
        kv_ledger_set_line(&ledger, line, bytes[line]);
    }
    ck_assert_int_eq(record_ledger_allocated(bytes), kv_ledger_allocated_bytes(&ledger));
    ck_assert_int_eq(record_ledger_allocated(bytes), 127 - 128);
}
END_TEST

int main(void)
{
    return unit_run("record.rows", (const TTest *const[]){every_name_is_there_and_its_own,
                                                          ledger_lines_are_those_of_kv,
                                                          allocated_follows_from_the_lines, NULL});
}
