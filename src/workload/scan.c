/* One streaming pass over a workload: what a trace holds, and how many KV blocks its requests
 * hold on average. */
#include "workload/workload_int.h"

#include "base/i128.h"

/* Draws for the mean of held blocks; its relative error is about cv / 500. */
#define HELD_SAMPLES 262144

static void count_ids(struct workload_trace_info *info, struct workload_seen *seen,
                      const struct workload_row *row)
{
    bool is_leading = true;

    if (row->hash_block_tokens == 0)
        return;
    for (size_t i = 0; i < row->run_count; i++) {
        bool is_new = workload_seen_add(seen, row->runs[i].first);

        is_leading = is_leading && !is_new;
        info->seen_id_count += is_leading ? 1 : 0;
        info->distinct_id_count += is_new ? 1 : 0;
    }
    info->id_count += (int64_t)row->run_count;
}

enum kvsim_status workload_trace_scan(const char *path, int64_t hash_block_tokens,
                                      struct workload_trace_info *out, struct kvsim_error *err)
{
    struct workload_trace *trace;
    struct workload_row row;
    struct workload_seen seen = {0};
    base_i128 prompts = 0, outputs = 0;
    bool more = true;
    enum kvsim_status status = workload_trace_open(path, &trace, err);

    *out = (struct workload_trace_info){0};
    if (status == KVSIM_OK && hash_block_tokens > 0)
        workload_trace_set_hash_block(trace, hash_block_tokens);
    while (status == KVSIM_OK) {
        status = workload_trace_next(trace, &row, &more, err);
        if (status != KVSIM_OK || !more)
            break;
        if (out->row_count == 0)
            out->first_ns = row.at_ns;
        out->last_ns = row.at_ns;
        out->row_count++;
        prompts += row.prompt_tokens;
        outputs += row.output_tokens;
        count_ids(out, &seen, &row);
        if (row.sequence_count > out->sequences_max)
            out->sequences_max = row.sequence_count;
        if (row.prompt_tokens > out->prompt_max)
            out->prompt_max = row.prompt_tokens;
        if (row.output_tokens > out->output_max)
            out->output_max = row.output_tokens;
    }
    if (status == KVSIM_OK && out->row_count > 0) {
        out->prompt_mean = base_i128_to_double(prompts) / (double)out->row_count;
        out->output_mean = base_i128_to_double(outputs) / (double)out->row_count;
    }
    if (trace != NULL) {
        out->skipped_count = workload_trace_skipped(trace);
        out->has_class = workload_trace_has_class(trace);
        out->has_session = workload_trace_has_session(trace);
        out->has_content = workload_trace_has_content(trace);
    }
    workload_trace_close(trace);
    base_free(seen.at);
    return status;
}

struct held {
    base_i128 sum, outputs, time; /* outputs of all answers, time of the longest */
    /* by request: */
    double mean_sum;
    int64_t requests, sequences;
};

/* What is held over the time of a request, and how long that is. */
struct span {
    base_i128 sum, outputs;
    int64_t longest;
};

static uint32_t sequences_of(const struct workload_request *request)
{
    return request->sequence_count > 1 ? request->sequence_count : 1;
}

static void add_answer(struct span *span, const struct workload_hold *hold, int64_t prompt,
                       int64_t output, int64_t most)
{
    output = output < most ? output : most;
    if (prompt <= 0 || output <= 0) /* refused on arrival */
        return;
    span->sum += hold->sum(hold->context, prompt, output, most);
    if (hold->shared != NULL)
        span->sum -= hold->shared(hold->context, prompt, output);
    span->outputs += output;
    span->longest = output > span->longest ? output : span->longest;
}

static void add_held(struct held *held, const struct workload_request *request,
                     const struct workload_hold *hold, int64_t max_model_tokens)
{
    int64_t prompt = request->prompt_tokens, most = request->output_tokens;
    uint32_t sequences = sequences_of(request);
    struct span span = {0};

    if (request->max_tokens > 0)
        most = request->max_tokens;
    if (max_model_tokens > 0 && most > max_model_tokens - prompt)
        most = max_model_tokens - prompt;
    for (uint32_t i = 0; i < sequences; i++)
        add_answer(&span, hold, prompt,
                   request->sequence_outputs != NULL ? request->sequence_outputs[i]
                                                     : request->output_tokens,
                   most);
    if (span.longest == 0)
        return;
    if (hold->shared != NULL)
        span.sum += hold->shared(hold->context, prompt, span.longest);
    held->sum += span.sum;
    held->outputs += span.outputs;
    held->time += span.longest;
    held->mean_sum += base_i128_to_double(span.sum) / (double)span.longest;
    held->requests++;
    held->sequences += sequences;
}

static enum kvsim_status held_of_trace(const struct workload_spec *spec, uint64_t seed,
                                       const struct workload_hold *hold, int64_t max_model_tokens,
                                       struct held *held, struct kvsim_error *err)
{
    struct workload_source *source;
    struct workload_request request;
    bool more = true;
    enum kvsim_status status = workload_source_open(spec, seed, 1, &source, err);

    while (status == KVSIM_OK) {
        status = workload_next(source, &request, &more, err);
        if (status != KVSIM_OK || !more)
            break;
        add_held(held, &request, hold, max_model_tokens);
    }
    workload_source_close(source);
    return status;
}

/* The requests of an undisturbed run, one after the other: beginnings in order, each with all its turns. */
struct sample {
    struct workload_draws draws;
    struct workload_lengths answers;
    struct workload_request request;
    struct spec_token_run runs[WORKLOAD_RUNS];
    uint64_t turn_count;
};

static void draw_sequences(struct sample *sample, uint64_t address)
{
    sample->request.sequence_count = 0; /* of the former turn */
    sample->request.sequence_outputs = NULL;
    workload_draws_sequences(&sample->draws, address, &sample->request);
    workload_draws_answers(&sample->draws, address, &sample->request, &sample->answers);
}

static void sample_begin(struct sample *sample)
{
    struct workload_request *request = &sample->request;
    uint64_t address, beginning = request->beginning;
    bool is_by_client = workload_has_follow_ups(sample->draws.spec);

    *request = (struct workload_request){.beginning = beginning, .client = (uint32_t)beginning};
    address = is_by_client ? workload_address(request->client, 0) : beginning;
    request->class_index = workload_draws_class(&sample->draws, address);
    workload_draws_lengths(&sample->draws, address, request);
    workload_draws_beginning(&sample->draws, address, request, sample->runs);
    draw_sequences(sample, address);
    sample->turn_count = 1;
    if (sample->draws.spec->classes[request->class_index].sessions != NULL)
        sample->turn_count =
            workload_draws_turn_count(&sample->draws, request->class_index, address);
}

/* The answer that the client of a request in progress is given. */
static int64_t answer_of(const struct workload_spec *spec, const struct workload_request *request)
{
    return spec->ignore_eos || request->output_tokens > request->max_tokens
               ? request->max_tokens
               : request->output_tokens;
}

static bool sample_turn(struct sample *sample)
{
    const struct workload_spec *spec = sample->draws.spec;
    struct workload_request *request = &sample->request, last = *request;
    struct workload_ended ended = {
        .request = &last, .output_tokens = answer_of(spec, &last), .is_completed = true};
    uint64_t address = workload_address(last.client, last.turn + 1);

    if (last.session_turn + 1 >= sample->turn_count)
        return false;
    request->turn++;
    request->session_turn++;
    workload_draws_lengths(&sample->draws, address, request);
    workload_draws_turn(&sample->draws, address, &ended, request, sample->runs);
    draw_sequences(sample, address);
    return spec->max_context_tokens == 0 || request->prompt_tokens < spec->max_context_tokens;
}

static void sample_next(struct sample *sample)
{
    if (!sample_turn(sample)) {
        sample->request.beginning++;
        sample_begin(sample);
    }
}

static void sample_open(struct sample *sample, const struct workload_spec *spec, uint64_t seed)
{
    *sample = (struct sample){.turn_count = 0};
    workload_draws_init(&sample->draws, spec, seed, 1);
    sample_begin(sample);
}

static void sample_close(struct sample *sample)
{
    base_vec_free(&sample->answers);
}

static void held_of_draws(const struct workload_spec *spec, uint64_t seed,
                          const struct workload_hold *hold, int64_t max_model_tokens,
                          struct held *held)
{
    struct sample sample;

    sample_open(&sample, spec, seed);
    for (uint64_t i = 0; i < HELD_SAMPLES; i++, sample_next(&sample)) {
        struct workload_request request = sample.request;

        if (spec->ignore_eos)
            request.output_tokens = request.max_tokens;
        add_held(held, &request, hold, max_model_tokens);
    }
    sample_close(&sample);
}

void workload_mean_lengths(const struct workload_spec *spec, uint64_t seed, double *prompt_tokens,
                           double *output_tokens)
{
    struct sample sample;
    base_i128 prompts = 0, outputs = 0;

    sample_open(&sample, spec, seed);
    for (uint64_t i = 0; i < HELD_SAMPLES; i++, sample_next(&sample)) {
        prompts += sample.request.prompt_tokens;
        outputs += answer_of(spec, &sample.request);
    }
    sample_close(&sample);
    *prompt_tokens = base_i128_to_double(prompts) / HELD_SAMPLES;
    *output_tokens = base_i128_to_double(outputs) / HELD_SAMPLES;
}

enum kvsim_status workload_mean_held(const struct workload_spec *spec, uint64_t seed,
                                     const struct workload_hold *hold, int64_t max_model_tokens,
                                     struct workload_held *out, struct kvsim_error *err)
{
    struct held held = {0};
    enum kvsim_status status = KVSIM_OK;

    if (spec->process == WORKLOAD_TRACE)
        status = held_of_trace(spec, seed, hold, max_model_tokens, &held, err);
    else
        held_of_draws(spec, seed, hold, max_model_tokens, &held);
    if (status != KVSIM_OK)
        return status;
    if (held.requests == 0)
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "no request of the workload fits into the model's length limit");
    double requests = (double)held.requests, time = base_i128_to_double(held.time);
    *out = hold->is_by_request
               ? (struct workload_held){held.mean_sum / requests, (double)held.sequences / requests}
               : (struct workload_held){base_i128_to_double(held.sum) / time,
                                        base_i128_to_double(held.outputs) / time};
    return KVSIM_OK;
}
