/*
 * requests.h - a server's recorded run: replayed by its arrivals, scored, and used to fit the host's coefficients.
 *
 * A file of requests has the columns arrival_s, input_tokens, output_tokens, ttft_ms, tpot_ms, latency_ms, or is what
 * `vllm bench serve` saves (served.h).
 */
#ifndef KVSIM_CALIB_REQUESTS_H
#define KVSIM_CALIB_REQUESTS_H

#include "calib/calibrate.h"

bool calib_requests_knows(const char *path);

/* Mean and P99 of a run's requests, ms. */
struct calib_latencies {
    double ttft_mean, tpot_mean, e2e_mean, ttft_p99, tpot_p99, e2e_p99;
};

/* The run's requests from `first_share` on, as measured and as simulated. */
struct calib_replay {
    size_t request_count;
    struct calib_latencies measured, predicted;
};

/*
 * Simulates a recorded run under a scenario (its model, engine and hardware; its workload is replaced by the file's
 * arrivals). `calibration` NULL: the datasheet level. KVSIM_ERR_SCENARIO for a run that does not finish.
 */
enum kvsim_status calib_replay(const char *scenario, const char *hardware, const char *file,
                               const struct spec_calibration *calibration, double first_share,
                               struct calib_replay *out, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* fits the host coefficients to the first requests of a run, on top of the result's calibration. */
enum kvsim_status calib_requests_fit(const struct calib_request *request, const char *file,
                                     struct calib_result *result,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;

#endif
