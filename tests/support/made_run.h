/*
 * made_run.h - a finished run made by hand, with every kind of row, for tests of store and report.
 *
 * Figures are chosen, not simulated; the ledger adds up, texts hold quotes, commas and UTF-8, one interval is withheld.
 * `variant` changes figures, not shape.
 */
#ifndef KVSIM_TESTS_SUPPORT_MADE_RUN_H
#define KVSIM_TESTS_SUPPORT_MADE_RUN_H

#include "record/run.h"

void made_run_init(struct record_run *run, int variant);

#endif
