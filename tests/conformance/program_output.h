/*
 * program_output.h - what the program wrote (--steps, the views of its database, --format json), in
 * the form of the reference's output, so that a case judges both alike. Read by column and key
 * names alone, as another program would.
 */
#ifndef KVSIM_TESTS_CONFORMANCE_PROGRAM_OUTPUT_H
#define KVSIM_TESTS_CONFORMANCE_PROGRAM_OUTPUT_H

#include "reference/ref.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Files of the working directory: steps.csv, run.json, and the newest run of run.db. Times of
 * requests are those of request_detail, ms rounded to ns. False, with the reason, where something
 * is not there or not as the contracts say. Free with ref_output_free in any case.
 */
bool program_output(const struct ref_input *input, struct ref_output *out, char *why,
                    size_t why_bytes);

#endif
