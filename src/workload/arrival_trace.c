/* Trace replay: arrivals, lengths and what else a row states come from the file; `speedup`
 * divides the times. */
#include "workload/workload_int.h"

#include "base/i128.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

/* Ids of the answers' tokens, so that a later prompt can state an answer as its content (prompt_ranges). */
#define ANSWER_BASE INT64_C(1000000000)
#define ANSWER_STRIDE INT64_C(100000)

struct state {
    const struct workload_spec *spec;
    struct workload_trace *trace;
    struct workload_seen seen;
    struct base_rational speedup;
};

static const struct base_field fields[] = {
    {.key = "file",
     .type = BASE_TEXT,
     .offset = offsetof(struct workload_arrival_opts, file),
     .required = true,
     .help = "CSV with a header or JSON lines: Azure, BurstGPT, Mooncake, Qwen, or "
             "arrival_s,input_tokens,output_tokens"},
    {.key = "speedup",
     .type = BASE_REAL,
     .unit = BASE_NONE,
     .offset = offsetof(struct workload_arrival_opts, speedup),
     .max = 1e6,
     .min_open = true,
     .def = "1",
     .help = "divides the arrival times: 2 = twice the rate"},
    {.key = "hash_block_tokens",
     .type = BASE_INT,
     .unit = BASE_TOKENS,
     .offset = offsetof(struct workload_arrival_opts, hash_block_tokens),
     .min = 1,
     .max = WORKLOAD_HASH_BLOCK_MAX,
     .help = "tokens that one of the file's hash_ids stands for; absent: its column of that name, "
             "else 16 in Qwen traces and 512 in others"},
    {0},
};

static enum kvsim_status check_speedup(double speedup, struct kvsim_error *err)
{
    if (speedup >= 1e-6 && speedup <= 1e6)
        return KVSIM_OK;
    return workload_fail_key(err, "speedup", "out-of-range", "'speedup' must be from 1e-6 to 1e6");
}

static enum kvsim_status compile(const struct workload_arrival_opts *opts, struct base_arena *arena,
                                 struct workload_spec *spec, struct kvsim_error *err)
{
    (void)arena;
    if (opts->file == NULL || opts->file[0] == '\0')
        return workload_fail_key(err, "file", "missing-key", "a trace needs a 'file'");
    spec->process = WORKLOAD_TRACE;
    spec->trace_path = opts->file;
    spec->speedup = opts->speedup;
    spec->hash_block_tokens = opts->hash_block_tokens;
    return check_speedup(opts->speedup, err);
}

static enum kvsim_status init(void *state, const struct workload_arrival_context *context,
                              struct kvsim_error *err)
{
    struct state *replay = state;
    enum kvsim_status status = check_speedup(context->spec->speedup, err);

    if (status != KVSIM_OK)
        return status;
    replay->spec = context->spec;
    replay->speedup = workload_rational(context->spec->speedup);
    status = workload_trace_open(context->spec->trace_path, &replay->trace, err);
    if (status == KVSIM_OK && context->spec->hash_block_tokens > 0)
        workload_trace_set_hash_block(replay->trace, context->spec->hash_block_tokens);
    return status;
}

static enum kvsim_status scale_time(const struct state *replay, int64_t at_ns, int64_t *out_ns,
                                    struct kvsim_error *err)
{
    base_i128 twice = (base_i128)at_ns * replay->speedup.den * 2 + replay->speedup.num;
    base_i128 at = twice / ((base_i128)replay->speedup.num * 2);

    if (at > INT64_MAX)
        return workload_fail_key(err, "speedup", "out-of-range",
                                 "an arrival lies more than 292 years ahead");
    *out_ns = (int64_t)at;
    return KVSIM_OK;
}

/* Without classes in the scenario a row's class is a label that nothing asks for. */
static enum kvsim_status find_class(const struct state *replay, const char *name, uint32_t *index,
                                    struct kvsim_error *err)
{
    const struct workload_spec *spec = replay->spec;

    *index = WORKLOAD_CLASS_NONE;
    if (name == NULL || (spec->class_count == 1 && spec->classes[0].name[0] == '\0'))
        return KVSIM_OK;
    for (uint32_t i = 0; i < spec->class_count; i++) {
        if (strcmp(spec->classes[i].name, name) == 0) {
            *index = i;
            return KVSIM_OK;
        }
    }
    return workload_trace_fail_class(replay->trace, err);
}

/* Leading tokens of ids that earlier rows have had. */
static int64_t seen_tokens(struct state *replay, const struct workload_row *row)
{
    int64_t tokens = 0;
    bool is_leading = true;

    if (row->hash_block_tokens == 0)
        return row->run_count > 0 ? -1 : 0;
    for (size_t i = 0; i < row->run_count; i++) {
        is_leading = !workload_seen_add(&replay->seen, row->runs[i].first) && is_leading;
        tokens += is_leading ? row->runs[i].count : 0;
    }
    return tokens;
}

static enum kvsim_status next(void *state, struct workload_request *request, bool *more,
                              struct kvsim_error *err)
{
    struct state *replay = state;
    struct workload_row row;
    enum kvsim_status status = workload_trace_next(replay->trace, &row, more, err);

    if (status != KVSIM_OK || !*more)
        return status;
    status = find_class(replay, row.class_name, &request->class_index, err);
    if (status != KVSIM_OK)
        return status;
    request->prompt_tokens = row.prompt_tokens;
    request->output_tokens = row.output_tokens;
    request->max_tokens = row.max_tokens;
    request->sequence_count = row.sequence_count;
    request->priority = row.priority;
    request->seen_tokens = seen_tokens(replay, &row);
    request->runs = row.run_count > 0 ? row.runs : NULL;
    request->run_count = workload_runs_join(row.runs, row.run_count);
    request->answer_first = ANSWER_BASE + ANSWER_STRIDE * (int64_t)row.number;
    if (row.id != NULL)
        base_copy(request->id, sizeof request->id, row.id);
    return scale_time(replay, row.at_ns, &request->arrival_ns, err);
}

static void release(void *state)
{
    struct state *replay = state;

    workload_trace_close(replay->trace);
    base_free(replay->seen.at);
}

const struct workload_arrival_ops workload_arrival_trace = {
    .policy = {.name = "trace",
               .summary = "arrivals and lengths from a file",
               .opts = fields,
               .opts_bytes = sizeof(struct workload_arrival_opts),
               .state_bytes = sizeof(struct state)},
    .process = WORKLOAD_TRACE,
    .compile = compile,
    .init = init,
    .next = next,
    .release = release,
};
