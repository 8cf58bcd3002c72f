#include "support/unit.h"

#include "cli/progress.h"
#include "study/sweep.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* What stands on stderr, which is no terminal here, after two stages of a grid. */
static void log_grid(size_t points, bool is_wanted, char *text, size_t bytes)
{
    struct cli_progress progress;
    struct study_sweep_progress reading = {.stage = "reading", .is_ahead = true, .total = points},
                                simulating = {.stage = "simulating", .total = points};
    FILE *log = tmpfile();
    int kept = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(log), STDERR_FILENO);
    cli_progress_begin(&progress, is_wanted);
    cli_progress_show_points(&progress, &reading);
    cli_progress_show_points(&progress, &reading);
    cli_progress_show_points(&progress, &simulating);
    cli_progress_end(&progress);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(log);
    text[fread(text, 1, bytes - 1, log)] = '\0';
    fclose(log);
}

START_TEST(a_log_says_what_a_large_grid_waits_for)
{
    char text[400];
    log_grid(10000, true, text, sizeof text);
    ck_assert_str_eq(text,
                     "kvsim: reading 10000 points, all of them before the first is simulated\n"
                     "kvsim: simulating 10000 points\n");
    log_grid(10000, false, text, sizeof text);
    ck_assert_str_eq(text, "");
    log_grid(12, true, text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
    return unit_run("cli.progress",
                    (const TTest *const[]){a_bar_shows_share_rate_and_time_left,
                                           nothing_is_known_at_the_start,
                                           more_than_expected_stays_a_bar, a_line_fits_a_terminal,
                                           a_log_says_what_a_large_grid_waits_for, NULL});
}
