/*
 * steps.h - the file of --steps: one row of CSV for every iteration, as a record sink.
 *
 * Columns, in this order: replication, replica, step, sched_ns, start_ns, end_ns, prefill_tokens, decode_seqs,
 * context_tokens, running, waiting, free_blocks, used_blocks, cached_blocks; the ledger's lines in bytes, `allocated`
 * and `pool` in their places; scheduled ("id:tokens"), admitted, preempted, swapped_out, swapped_in, finished ("id"),
 * lists separated by blanks; running_end, free_blocks_end. Quoted as RFC 4180 says, lines end with LF.
 *
 * The rows go to a report_file: a run that fails leaves what was there before. Rows must come from one thread at a time.
 */
#ifndef KVSIM_REPORT_STEPS_H
#define KVSIM_REPORT_STEPS_H

#include "base/error.h"
#include "record/rows.h"
#include "report/file.h"

#include <stdbool.h>
#include <stdio.h>

struct report_steps {
    struct record_sink sink; /* first; wants_steps is set, everything else off */
    struct report_file file;
};

/* On failure (KVSIM_ERR_IO) nothing has been made. */
enum kvsim_status report_steps_open(struct report_steps *steps, const char *path,
                                    struct kvsim_error *err) KVSIM_MUST_CHECK;
/* Gives the file its name. After either of these two the struct holds nothing. */
enum kvsim_status report_steps_finish(struct report_steps *steps,
                                      struct kvsim_error *err) KVSIM_MUST_CHECK;
void report_steps_abandon(struct report_steps *steps);

void report_steps_write_header(FILE *out);
void report_steps_write_row(FILE *out, const struct record_step *row);

#endif
