/*
 * case_scenario.h - a case as files for the program: case.yaml and trace.jsonl in the working directory, as the README of
 * the reference data says ("How a case becomes a scenario").
 */
#ifndef KVSIM_TESTS_CONFORMANCE_CASE_SCENARIO_H
#define KVSIM_TESTS_CONFORMANCE_CASE_SCENARIO_H

#include "reference/ref.h"

#include <stdbool.h>

/*
 * False, and nothing written, for a case that no scenario can say: a request that follows another one. Requests with
 * limits of their clients become classes of one request each.
 */
bool case_write_scenario(const struct ref_input *input);

#endif
