/*
 * engine_output.h - what the engine reported, in the form of the reference's output, so that a case
 * judges both alike.
 */
#ifndef KVSIM_TESTS_CONFORMANCE_ENGINE_OUTPUT_H
#define KVSIM_TESTS_CONFORMANCE_ENGINE_OUTPUT_H

#include "reference/ref.h"
#include "support/engine_run.h"

/* `run` is a stepping run of `input`. Free with ref_output_free. */
void engine_output(const struct ref_input *input, const struct engine_run *run,
                   struct ref_output *out);

#endif
