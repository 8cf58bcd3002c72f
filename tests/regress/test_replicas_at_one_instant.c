/*
 * Two replicas whose steps end at one instant: the order of their completions was that in which
 * their last stretches had begun, which jumping changes. Here replica 1 jumps from 0 to 40 ms,
 * replica 0 from 20 to 40 ms.
 */
#include "support/check_main.h"
#include "support/engine_run.h"
#include "support/service.h"

#include <stdio.h>

static enum kvsim_status three_at_once(void *context, struct workload_request *out, bool *more,
                                       struct kvsim_error *err)
{
    (void)err;
    int *at = context;
    *more = *at < 3;
    *out = (struct workload_request){.prompt_tokens = 1, .sequence_count = 1};
    out->output_tokens = out->max_tokens = *at == 0 ? 2 : 4;
    snprintf(out->id, sizeof out->id, "r%d", (*at)++);
    return KVSIM_OK;
}

static enum kvsim_status no_more(void *context, const struct workload_ended *ended,
                                 struct workload_request *out, bool *more, struct kvsim_error *err)
{
    (void)context;
    (void)ended;
    (void)out;
    (void)err;
    *more = false;
    return KVSIM_OK;
}

START_TEST(lower_number_first)
{
    struct service service;
    service_init(&service);
    service_set_fixed_step(&service, 10000000, 8);
    service.config.replica_count = 2;
    service.config.workload.process = WORKLOAD_TRACE;
    static const enum serve_mode modes[] = {SERVE_STEP, SERVE_JUMP};
    for (size_t i = 0; i < 2; i++) {
        int at = 0;
        struct serve_source source = {&at, three_at_once, no_more};
        struct engine_options options = {
            .mode = modes[i], .request_rows = UINT64_MAX, .source = &source};
        struct engine_run run;
        engine_run_config(&service.config, &options, &run);
        ck_assert_uint_eq(run.requests.count, 3);
        ck_assert_str_eq(run.requests.at[0].id, "r0");
        ck_assert_str_eq(run.requests.at[1].id, "r2");
        ck_assert_str_eq(run.requests.at[2].id, "r1");
        ck_assert_int_eq(run.requests.at[1].finish_ns, run.requests.at[2].finish_ns);
        engine_run_release(&run);
    }
    service_release(&service);
}
END_TEST

CHECK_MAIN("replicas at one instant", lower_number_first)
