/*
 * explain.h - what a figure of run_summary is, in words.
 */
#ifndef KVSIM_CLI_EXPLAIN_H
#define KVSIM_CLI_EXPLAIN_H

#include "record/run.h"

/* Stated once for all statistics of a metric: ttft_p99_ms has the words of ttft_mean_ms. "" where there are none. */
const char *cli_figure_help(enum record_summary column);

#endif
