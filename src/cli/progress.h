/*
 * progress.h - a bar on the terminal while a study runs, and the answer to Ctrl-C, SIGTERM and SIGHUP.
 *
 * The bar is drawn on stderr when that is a terminal, with share, rate and time left, and erased at the end; elsewhere a grid of
 * many points has a line when a stage begins. The signals
 * are held back from cli_progress_begin() to cli_progress_end() and looked for at each report of progress: while a study
 * runs nothing has been stored yet, so the process can simply end with exit status 128 + signal; while a run is being
 * stored the signal waits.
 */
#ifndef KVSIM_CLI_PROGRESS_H
#define KVSIM_CLI_PROGRESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct study_progress;

struct cli_progress {
    bool is_shown, is_drawn;             /* the bar */
    bool is_logged;                      /* no terminal: a line for each long stage of a grid */
    double start_s;                      /* monotonic clock */
    const char *what;                    /* before the bar */
    const char *after_interrupt;         /* what stays then; NULL: nothing was stored */
    void (*on_interrupt)(void *context); /* removes what must not stay */
    void *context;
    sigset_t signals_before;
};

/* Seconds of a clock that never goes back. */
double cli_clock_s(void);

/* The caller sets `on_interrupt` and `context` afterwards where it needs them. */
void cli_progress_begin(struct cli_progress *progress, bool is_wanted);
void cli_progress_start(struct cli_progress *progress, const char *what); /* of one study */
void cli_progress_show(void *progress,
                       const struct study_progress *state); /* study_options.progress */
struct study_sweep_progress;
void cli_progress_show_points(void *progress, const struct study_sweep_progress *state);
void cli_progress_erase(struct cli_progress *progress);
void cli_progress_end(struct cli_progress *progress);

/* The bar's line for `done` of `total` after `elapsed_s`; total 0 = not known. At most 79 columns. */
void cli_progress_line(const char *what, uint64_t done, uint64_t total, double elapsed_s,
                       char *line, size_t bytes);

#endif
