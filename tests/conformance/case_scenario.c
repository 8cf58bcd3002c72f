#include "conformance/case_scenario.h"

#include "conformance/case.h"
#include "support/scratch.h"

#include <stdlib.h>

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

static void add_watermark(struct case_text *text, const struct ref_engine *engine)
{
    int64_t num = engine->watermark_num, den = engine->watermark_den;
    case_text_add(text, "  watermark: %lld", (long long)(den > 0 ? num / den : 0));
    for (const char *point = "."; den > 1 && num % den != 0; point = "") {
        num = num % den * 10;
        case_text_add(text, "%s%lld", point, (long long)(num / den));
    }
    case_text_add(text, "\n");
}

static void add_orca(struct case_text *text, const struct ref_engine *engine)
{
    static const char *const policies[] = {"reserved_max", "reserved_pow2",   "reserved_exact",
                                           "concat",       "concat_doubling", "no_cache"};
    static const char *const placements[] = {"blocks", "first_fit", "best_fit", "buddy"};
    const bool reserves = engine->reservation <= REF_RESERVE_EXACT;
    case_text_add(text, "engine:\n  profile: orca-max\n");
    if (engine->reservation != REF_GROW &&
        engine->reservation != REF_DOUBLE) { // a tensor has no blocks
        case_text_add(text, "  block_size: %lld\n", (long long)engine->block_size);
    }
    case_text_add(text, "  num_gpu_blocks_override: %lld\n", (long long)engine->num_blocks);
    case_text_add(text, "  max_model_len: %lld\n", (long long)engine->max_model_len);
    case_text_add(text, "  max_num_seqs: %lld\n", (long long)engine->max_num_seqs);
    case_text_add(text, "  kv_policy: %s\n", policies[engine->reservation]);
    if (reserves) {
        case_text_add(text, "  kv_placement: %s\n", placements[engine->allocator]);
    }
    case_text_add(text, "  switch: {static_batch: %s}\n", truth(engine->is_static));
}

static void add_llama_cpp(struct case_text *text, const struct ref_engine *engine)
{
    case_text_add(text, "engine:\n  profile: llama.cpp\n");
    case_text_add(text, "  kv_policy: %s\n", engine->shares_cells ? "cells" : "slots");
    case_text_add(text, "  num_gpu_blocks_override: %lld\n", (long long)engine->num_blocks);
    case_text_add(text, "  max_model_len: %lld\n", (long long)engine->max_model_len);
    case_text_add(text, "  parallel: %lld\n", (long long)engine->max_num_seqs);
    case_text_add(text, "  batch_size: %lld\n", (long long)engine->max_num_batched_tokens);
    case_text_add(text, "  ubatch_size: %lld\n", (long long)engine->pass_tokens);
    case_text_add(text, "  slot_prompt_similarity: %lld.%lld\n",
                  (long long)(engine->similarity_num / engine->similarity_den),
                  (long long)(engine->similarity_num % engine->similarity_den));
    case_text_add(text, "  enable_prefix_caching: %s\n", truth(engine->enable_prefix_caching));
}

static void add_engine(struct case_text *text, const struct ref_engine *engine)
{
    if (engine->kind == REF_LLAMA_CPP) {
        add_llama_cpp(text, engine);
        return;
    }
    if (engine->kind == REF_ORCA) {
        add_orca(text, engine);
        return;
    }
    case_text_add(text, "engine:\n  profile: vllm-2026-08\n");
    case_text_add(text, "  block_size: %lld\n", (long long)engine->block_size);
    case_text_add(text, "  num_gpu_blocks_override: %lld\n", (long long)engine->num_blocks);
    case_text_add(text, "  max_model_len: %lld\n", (long long)engine->max_model_len);
    case_text_add(text, "  max_num_batched_tokens: %lld\n",
                  (long long)engine->max_num_batched_tokens);
    case_text_add(text, "  max_num_seqs: %lld\n", (long long)engine->max_num_seqs);
    case_text_add(text, "  long_prefill_token_threshold: %lld\n",
                  (long long)engine->long_prefill_token_threshold);
    case_text_add(text, "  enable_chunked_prefill: %s\n", truth(engine->enable_chunked_prefill));
    case_text_add(text, "  enable_prefix_caching: %s\n", truth(engine->enable_prefix_caching));
    case_text_add(text, "  async_scheduling: %s\n", truth(engine->async_scheduling));
    case_text_add(text, "  scheduling_policy: %s\n",
                  engine->policy == REF_PRIORITY ? "priority" : "fcfs");
    add_watermark(text, engine);
    if (engine->skip_startup_check) {
        case_text_add(text, "  startup_check: false\n");
    }
    case_text_add(text, "  switch:\n");
    case_text_add(text, "    scheduler_reserve_full_isl: %s\n",
                  truth(engine->scheduler_reserve_full_isl));
    case_text_add(text, "    unchunked_misfit: %s\n",
                  engine->unchunked_misfit == REF_MISFIT_SKIP ? "skip" : "stop");
    case_text_add(text, "    free_order: %s\n", engine->free_order == REF_FREE_OLD ? "old" : "new");
    case_text_add(text, "    count_every_lookup: %s\n", truth(engine->count_every_lookup));
    case_text_add(text, "    preempted_budget_returned: %s\n",
                  truth(!engine->preempt_keeps_budget));
    case_text_add(text, "    priority_tie: %s\n",
                  engine->priority_tie == REF_TIE_FIRST ? "first" : "latest");
}

// Ticks of 2^-20 ns as a decimal of ns: at most 20 digits behind the point, since 2^20 divides
// 10^20.
static void add_ns(struct case_text *text, const char *key, int64_t ticks)
{
    case_text_add(text, "%s: %lld", key, (long long)(ticks / REF_TICKS_PER_NS));
    int64_t rest = ticks % REF_TICKS_PER_NS;
    for (const char *point = "."; rest != 0; point = "") {
        rest *= 10;
        case_text_add(text, "%s%lld", point, (long long)(rest / REF_TICKS_PER_NS));
        rest %= REF_TICKS_PER_NS;
    }
    case_text_add(text, "ns");
}

static void add_cost(struct case_text *text, const struct ref_affine *step)
{
    if (step->b == 0 && step->c == 0 && step->d == 0 && step->a % REF_TICKS_PER_NS == 0) {
        add_ns(text, "cost: {level: fixed, step", step->a);
    } else {
        add_ns(text, "cost: {level: affine, base", step->a);
        add_ns(text, ", per_prefill_token", step->b);
        add_ns(text, ", per_decode_seq", step->c);
        add_ns(text, ", per_context_token", step->d);
    }
    case_text_add(text, "}\n");
}

/* ---- the workload ---- */

static bool has_limits(const struct ref_request_in *request)
{
    return request->abort_ns > 0 || request->timeout_ns > 0 || request->first_token_timeout_ns > 0;
}

static void add_limits(struct case_text *text, const struct ref_request_in *request)
{
    if (request->abort_ns > 0) {
        case_text_add(text, ", abort_after: %lldns", (long long)request->abort_ns);
    }
    if (request->timeout_ns > 0 || request->first_token_timeout_ns > 0) {
        const char *between = "";
        case_text_add(text, ", timeout: {");
        if (request->first_token_timeout_ns > 0) {
            case_text_add(text, "first_token: %lldns", (long long)request->first_token_timeout_ns);
            between = ", ";
        }
        if (request->timeout_ns > 0) {
            case_text_add(text, "%stotal: %lldns", between, (long long)request->timeout_ns);
        }
        case_text_add(text, "}");
    }
}

static bool add_workload(struct case_text *text, const struct ref_input *input)
{
    bool has_classes = false;
    for (int64_t i = 0; i < input->request_count; i++) {
        has_classes = has_classes || has_limits(&input->requests[i]);
    }
    case_text_add(text, "workload:\n  arrival: {process: trace, file: trace.jsonl}\n");
    if (has_classes) {
        case_text_add(text, "  classes:\n    - {name: patient, weight: 1}\n");
        for (int64_t i = 0; i < input->request_count; i++) {
            if (has_limits(&input->requests[i])) {
                case_text_add(text, "    - {name: c%lld, weight: 1", (long long)i);
                add_limits(text, &input->requests[i]);
                case_text_add(text, "}\n");
            }
        }
    }
    return has_classes;
}

// A row states what its request has: other rows may state more.
static void add_row(struct case_text *text, const struct ref_request_in *request, int64_t index,
                    bool has_classes)
{
    case_text_add(text, "{\"id\":\"%s\",\"arrival_s\":%lld.%09lld", request->id,
                  (long long)(request->arrival_ns / 1000000000),
                  (long long)(request->arrival_ns % 1000000000));
    case_text_add(text, ",\"input_tokens\":%lld,\"output_tokens\":%lld",
                  (long long)request->prompt_tokens, (long long)request->output_tokens);
    if (request->max_tokens != request->output_tokens) {
        case_text_add(text, ",\"max_tokens\":%lld", (long long)request->max_tokens);
    }
    if (request->priority != 0) {
        case_text_add(text, ",\"priority\":%lld", (long long)request->priority);
    }
    if (request->range_count > 0) {
        case_text_add(text, ",\"prompt_ranges\":[");
        for (int64_t i = 0; i < request->range_count; i++) {
            case_text_add(text, "%s[%lld,%lld]", i > 0 ? "," : "",
                          (long long)request->ranges[i].first, (long long)request->ranges[i].count);
        }
        case_text_add(text, "]");
    }
    if (has_classes && has_limits(request)) {
        case_text_add(text, ",\"class\":\"c%lld\"", (long long)index);
    } else if (has_classes) {
        case_text_add(text, ",\"class\":\"patient\"");
    }
    case_text_add(text, "}\n");
}

// A trace is in order of time; equal arrivals keep the order of the list.
static void add_trace(struct case_text *text, const struct ref_input *input, bool has_classes)
{
    bool *is_written = calloc((size_t)input->request_count + 1, sizeof *is_written);
    for (int64_t written = 0; is_written != NULL && written < input->request_count; written++) {
        int64_t next = -1;
        for (int64_t i = 0; i < input->request_count; i++) {
            if (!is_written[i] &&
                (next < 0 || input->requests[i].arrival_ns < input->requests[next].arrival_ns)) {
                next = i;
            }
        }
        is_written[next] = true;
        add_row(text, &input->requests[next], next, has_classes);
    }
    free(is_written);
}

bool case_write_scenario(const struct ref_input *input)
{
    for (int64_t i = 0; i < input->request_count; i++) {
        if (input->requests[i].after >= 0) {
            return false;
        }
    }
    if (input->engine.kind == REF_LLAMA_CPP && input->engine.sliding_window > 0) {
        return false; // layers with and without a window, in rings of the case's own length
    }
    struct case_text scenario = {0}, trace = {0};
    if (input->engine.sliding_window > 0) {
        case_text_add(&scenario,
                      "name: case\nmodel: {kv_groups: [{kind: sliding, window: %lld, layers: 1, "
                      "bytes_per_token: 1}]}\n",
                      (long long)input->engine.sliding_window);
    } else {
        case_text_add(
            &scenario,
            "name: case\nmodel: {kv_groups: [{kind: full, layers: 1, bytes_per_token: 1}]}\n");
    }
    add_engine(&scenario, &input->engine);
    add_cost(&scenario, &input->step);
    add_trace(&trace, input, add_workload(&scenario, input));
    case_text_add(&scenario, "run: {replications: 1}\nrecord: {requests: all, timeline: none}\n");
    scratch_write("case.yaml", scenario.text, scenario.length);
    scratch_write("trace.jsonl", trace.text != NULL ? trace.text : "", trace.length);
    free(scenario.text);
    free(trace.text);
    return true;
}
