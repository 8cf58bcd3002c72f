/*
 * served.h - a run of a real server, as `vllm bench serve --save-result --save-detailed` saves it.
 *
 * The file is one JSON object: what was asked for (model_id, date, request_rate, max_concurrency), averages, and lists with
 * one item for each request: input_lens and output_lens in tokens, ttfts and start_times in seconds, itls as a list of the
 * seconds between parts of the answer, errors as texts. An end-to-end time is ttft + the sum of its itls, a TPOT that sum
 * over the tokens after the first. Requests that failed are left out and counted.
 */
#ifndef KVSIM_CALIB_SERVED_H
#define KVSIM_CALIB_SERVED_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calib_served_request {
    double arrival_s; /* after the first request's */
    int64_t prompt_tokens, output_tokens;
    double ttft_ms, tpot_ms, e2e_ms; /* tpot and e2e NaN where the server did not stream */
    size_t index;                    /* in the file */
};

/* By arrival. */
struct calib_served {
    struct calib_served_request *at;
    size_t count, capacity;
    size_t failed_count;
    struct base_text condition; /* model, date and load, as the file says them */
};

/* True for a file that is such a JSON, also a broken one: reading it then says what is wrong. */
bool calib_served_knows(const char *path);

/*
 * KVSIM_ERR_IO; KVSIM_ERR_SCENARIO with the place for text that is not JSON or is cut, lists that are missing or of other
 * lengths, values that no run can have (NaN, negative), more than a tenth of the requests failed, several runs in one file.
 */
enum kvsim_status calib_served_read(const char *path, struct calib_served *out,
                                    struct kvsim_error *err) KVSIM_MUST_CHECK;
void calib_served_free(struct calib_served *served);

/* The arrivals as a trace (arrival_s, input_tokens, output_tokens). */
void calib_served_print_trace(const struct calib_served *served, struct base_text *out);

#endif
