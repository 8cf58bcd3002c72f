#include "cli/progress.h"

#include "base/text.h"
#include "cli/cli_int.h"
#include "study/study.h"
#include "study/sweep.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Reading fewer points takes no time that anybody would wonder about. */
enum { BAR_WIDTH = 24, MANY_POINTS = 1000 };

double cli_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* 12.3k, 4.56M: a count in at most six columns. */
static void print_short(double value, char *text, size_t bytes)
{
    static const char *const units[] = {"", "k", "M", "G"};
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1000.0;
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, bytes, "%.*f%s", decimals, value, units[unit]);
}

static void print_left(double left_s, char *text, size_t bytes)
{
    enum { LEFT_SHOWN_S = 99 * 3600 };
    if (left_s > LEFT_SHOWN_S)
        snprintf(text, bytes, "> 99 h");
    else if (left_s < 120)
        snprintf(text, bytes, "%.0f s", left_s);
    else if (left_s < 7200)
        snprintf(text, bytes, "%.0f min", left_s / 60);
    else
        snprintf(text, bytes, "%.1f h", left_s / 3600);
}

void cli_progress_line(const char *what, uint64_t done, uint64_t total, double elapsed_s,
                       char *line, size_t bytes)
{
    char name[21], rate[16] = "", left[16] = "", bar[BAR_WIDTH + 1];
    base_copy(name, sizeof name, what);
    double per_s = elapsed_s > 0 ? (double)done / elapsed_s : 0;
    print_short(per_s, rate, sizeof rate);
    if (total == 0) {
        snprintf(line, bytes, "%s %s requests/s", name, rate);
        return;
    }
    double share = done < total ? (double)done / (double)total : 1.0;
    size_t full = (size_t)(share * BAR_WIDTH);
    memset(bar, ' ', BAR_WIDTH);
    memset(bar, '#', full);
    bar[BAR_WIDTH] = '\0';
    if (per_s > 0)
        print_left((double)(done < total ? total - done : 0) / per_s, left, sizeof left);
    snprintf(line, bytes, "%s [%s] %3.0f %%  %s/s%s%s%s", name, bar, share * 100, rate,
             left[0] == '\0' ? "" : "  ", left, left[0] == '\0' ? "" : " left");
}

/* End a process as Ctrl-C does: a batch system's limit, a closed terminal. */
static const int enders[] = {SIGTERM, SIGHUP};

void cli_progress_begin(struct cli_progress *progress, bool is_wanted)
{
    bool is_terminal = isatty(STDERR_FILENO) != 0;
    *progress = (struct cli_progress){.is_shown = is_wanted && is_terminal,
                                      .is_logged = is_wanted && !is_terminal};
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    for (size_t i = 0; i < sizeof enders / sizeof enders[0]; i++) {
        struct sigaction action;
        if (sigaction(enders[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&held, enders[i]); // one that is ignored (nohup) would become pending
    }
    // Threads that a study starts take this mask over.
    sigprocmask(SIG_BLOCK, &held, &progress->signals_before);
}

void cli_progress_start(struct cli_progress *progress, const char *what)
{
    progress->what = what;
    progress->start_s = cli_clock_s();
}

static void end_if_interrupted(struct cli_progress *progress)
{
    sigset_t pending;
    if (sigpending(&pending) != 0)
        return;
    int ender = sigismember(&pending, SIGINT) == 1 ? SIGINT : 0;
    for (size_t i = 0; i < sizeof enders / sizeof enders[0] && ender == 0; i++)
        ender = sigismember(&pending, enders[i]) == 1 ? enders[i] : 0;
    if (ender == 0)
        return;
    cli_progress_erase(progress);
    if (progress->on_interrupt != NULL)
        progress->on_interrupt(progress->context);
    char message[160];
    snprintf(message, sizeof message, "kvsim: interrupted, %s\n",
             progress->after_interrupt == NULL ? "nothing was stored" : progress->after_interrupt);
    int code = CLI_EXIT_SIGNAL + ender;
    if (write(STDERR_FILENO, message, strlen(message)) < 0)
        _exit(code);
    _exit(code);
}

void cli_progress_show(void *context, const struct study_progress *state)
{
    struct cli_progress *progress = context;
    end_if_interrupted(progress);
    if (!progress->is_shown)
        return;
    char line[80];
    cli_progress_line(progress->what, state->done, state->total, cli_clock_s() - progress->start_s,
                      line, sizeof line);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    progress->is_drawn = true;
}

/* The bar of a grid: points, not requests. */
static void draw_points(struct cli_progress *progress, const struct study_sweep_progress *state)
{
    char bar[BAR_WIDTH + 1], left[16] = "";
    double elapsed_s = cli_clock_s() - progress->start_s;
    double share = state->total > 0 ? (double)state->decided / (double)state->total : 1;
    memset(bar, ' ', BAR_WIDTH);
    memset(bar, '#', (size_t)(share * BAR_WIDTH));
    bar[BAR_WIDTH] = '\0';
    if (share > 0 && share < 1)
        print_left(elapsed_s / share * (1 - share), left, sizeof left);
    fprintf(stderr, "\r\033[K%-10.20s [%s] %zu of %zu points%s%s%s", state->stage, bar,
            state->decided, state->total, left[0] == '\0' ? "" : "  ", left,
            left[0] == '\0' ? "" : " left");
    if (state->detail > 0)
        fprintf(stderr, ", %zu runs", state->detail);
    fflush(stderr);
}

/* Where there is no bar to look at, a log tells what takes so long. */
static void log_stage(const struct cli_progress *progress, const struct study_sweep_progress *state)
{
    if (!progress->is_logged || state->total < MANY_POINTS)
        return;
    fprintf(stderr, "kvsim: %s %zu points%s\n", state->stage, state->total,
            state->is_ahead ? ", all of them before the first is simulated" : "");
    fflush(stderr);
}

void cli_progress_show_points(void *context, const struct study_sweep_progress *state)
{
    struct cli_progress *progress = context;
    end_if_interrupted(progress);
    if (progress->what != state->stage) { // each stage has a rate of its own
        cli_progress_start(progress, state->stage);
        log_stage(progress, state);
    }
    if (!progress->is_shown)
        return;
    draw_points(progress, state);
    progress->is_drawn = true;
}

void cli_progress_erase(struct cli_progress *progress)
{
    if (!progress->is_drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->is_drawn = false;
}

void cli_progress_end(struct cli_progress *progress)
{
    cli_progress_erase(progress);
    sigprocmask(SIG_SETMASK, &progress->signals_before, NULL);
}
