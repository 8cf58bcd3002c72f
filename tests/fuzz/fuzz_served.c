/*
 * A run as a benchmark's client saves it: taken whole, with arrivals in order and times that a run can have, or refused.
 */
#include "base/error.h"
#include "calib/served.h"
#include "fuzz/fuzz_file.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_requests(const struct calib_served *served)
{
    struct base_text trace = {0};
    double last = 0;
    base_require(served->count > 0 && served->condition.count > 0);
    for (size_t i = 0; i < served->count; i++) {
        const struct calib_served_request *at = &served->at[i];
        base_require(at->arrival_s >= last && isfinite(at->arrival_s));
        base_require(at->prompt_tokens >= 0 && at->output_tokens >= 1);
        base_require(at->ttft_ms > 0 && isfinite(at->ttft_ms));
        base_require(isnan(at->e2e_ms) || at->e2e_ms >= at->ttft_ms);
        base_require(isnan(at->tpot_ms) || (at->tpot_ms > 0 && at->output_tokens > 1));
        last = at->arrival_s;
    }
    calib_served_print_trace(served, &trace);
    base_require(trace.count > 0);
    base_text_free(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_file input = fuzz_file(data, size);
    struct calib_served served;
    struct kvsim_error err = {0};
    (void)calib_served_knows(input.path);
    if (calib_served_read(input.path, &served, &err) == KVSIM_OK)
        check_requests(&served);
    else
        base_require(err.status == KVSIM_ERR_SCENARIO && err.code[0] != '\0' &&
                     strcmp(err.file, input.path) == 0 && err.message[0] != '\0');
    calib_served_free(&served);
    fclose(input.file);
    return 0;
}
