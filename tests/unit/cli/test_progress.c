#include "support/unit.h"

#include "cli/progress.h"

#include <string.h>

START_TEST(a_bar_shows_share_rate_and_time_left)
{
    char line[80];
    cli_progress_line("chat-8k", 50000, 100000, 2.0, line, sizeof line);
    ck_assert_str_eq(line, "chat-8k [############            ]  50 %  25.0k/s  2 s left");
    cli_progress_line("chat-8k", 100000, 100000, 4.0, line, sizeof line);
    ck_assert_str_eq(line, "chat-8k [########################] 100 %  25.0k/s  0 s left");
}
END_TEST

START_TEST(nothing_is_known_at_the_start)
{
    char line[80];
    cli_progress_line("chat-8k", 0, 100, 0.0, line, sizeof line);
    ck_assert_str_eq(line, "chat-8k [                        ]   0 %  0/s");
    cli_progress_line("trace", 1234567, 0, 1.0, line, sizeof line);
    ck_assert_str_eq(line, "trace 1.23M requests/s");
}
END_TEST

START_TEST(more_than_expected_stays_a_bar)
{
    char line[80];
    cli_progress_line("x", 300, 100, 1.0, line, sizeof line);
    ck_assert_ptr_nonnull(strstr(line, "100 %"));
}
END_TEST

START_TEST(a_line_fits_a_terminal)
{
    char line[200];
    cli_progress_line("a-name-that-is-much-longer-than-anyone-would-write-it", 1, UINT64_MAX, 1e-9,
                      line, sizeof line);
    ck_assert_uint_lt(strlen(line), 80);
    cli_progress_line("a-name-that-is-much-longer-than-anyone-would-write-it", 1, UINT64_MAX, 1e9,
                      line, sizeof line);
    ck_assert_uint_lt(strlen(line), 80);
}
END_TEST

int main(void)
{
    return unit_run("cli.progress", (const TTest *const[]){a_bar_shows_share_rate_and_time_left,
                                                           nothing_is_known_at_the_start,
                                                           more_than_expected_stays_a_bar,
                                                           a_line_fits_a_terminal, NULL});
}
