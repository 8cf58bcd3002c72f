/*
 * case.h - conformance cases: one small scenario and the trace it must give, as JSON.
 *
 * The form is described in README.md of this folder. A case is read into an input of the
 * reference, and an output of the reference is written in the same form, so that a case can be
 * checked and a new one made.
 */
#ifndef KVSIM_TESTS_CONFORMANCE_CASE_H
#define KVSIM_TESTS_CONFORMANCE_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "reference/ref.h"
#include "support/json.h"

/* Text that grows. Free `text`. */
struct case_text {
    char *text;
    size_t length, room;
};

/* True if the case is of the engine that the reference knows. */
bool case_is_vllm_v1(const struct json_value *root);
bool case_is_orca(const struct json_value *root);
bool case_is_llama_cpp(const struct json_value *root);

/*
 * Reads `root`'s member "input". Returns false, with the reason in `why`, if it has a key that is
 * not known. Free with ref_input_free.
 */
bool case_read_input(const struct json_value *root, struct ref_input *input, char *why,
                     size_t why_bytes);

/* Appends the value of "expected". */
void case_write_output(const struct ref_input *input, const struct ref_output *output,
                       struct case_text *text);

/* Appends the value of "input" with every key written, so that any input can be read again. */
void case_write_input(const struct ref_input *input, struct case_text *text);

/*
 * True if every value that "expected" states is that of the output, and the members of each
 * "scheduled" are the same in the same order. Else the first difference is in `where`.
 */
bool case_agrees(const struct json_value *expected, const struct ref_input *input,
                 const struct ref_output *output, char *where, size_t where_bytes);

void case_text_add(struct case_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
