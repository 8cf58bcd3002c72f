#include "calib/loads.h"

#include "base/field.h"
#include "calib/case_rows.h"
#include "scenario/scenario.h"
#include "serve/serve.h"

enum column {
    ID,
    MODEL,
    HARDWARE,
    GPUS,
    TP,
    QUANTIZATION,
    KV_CACHE_DTYPE,
    SEATS,
    BUDGET,
    LENGTH,
    ARRIVAL,
    PROMPT,
    OUTPUT,
    SHARED,
    REQUESTS,
    TTFT,
    ITL,
    THROUGHPUT,
    SOURCE,
    NOTE,
    COLUMNS
};
static const char *const names[COLUMNS] = {"id",
                                           "model",
                                           "hardware",
                                           "gpus",
                                           "tp",
                                           "quantization",
                                           "kv_cache_dtype",
                                           "max_num_seqs",
                                           "max_num_batched_tokens",
                                           "max_model_len",
                                           "arrival",
                                           "prompt_tokens",
                                           "output_tokens",
                                           "shared_prefix",
                                           "requests",
                                           "ttft_ms",
                                           "itl_ms",
                                           "output_tokens_per_s",
                                           "source",
                                           "note"};

struct row {
    const char *const *texts;
    double replicas;
};

/* Sums over the requests of one replica. */
struct served {
    struct record_sink sink; /* first: the sink is the sums */
    double requests, output_tokens, gaps;
    double ttft_ns, gap_ns;
    int64_t last_ns;
};

static void take_request(struct record_sink *sink, const struct record_request *row)
{
    struct served *served = (struct served *)sink;
    if (row->outcome != RECORD_OUTCOME_COMPLETED)
        return;
    served->requests++;
    served->output_tokens += (double)row->output_tokens;
    served->gaps += (double)row->output_tokens - 1;
    served->ttft_ns += (double)row->ttft_ns;
    served->gap_ns += (double)(row->e2e_ns - row->ttft_ns);
    served->last_ns = row->finish_ns > served->last_ns ? row->finish_ns : served->last_ns;
}

static const struct record_sink_ops served_ops = {.on_request = take_request};

static double figure_of(const struct served *served, const struct row *row, enum column figure)
{
    if (!(served->requests > 0))
        return 0;
    if (figure == TTFT)
        return served->ttft_ns / served->requests / 1e6;
    if (figure == ITL)
        return served->gaps > 0 ? served->gap_ns / served->gaps / 1e6 : 0;
    return row->replicas * 1e9 * served->output_tokens / (double)served->last_ns;
}

static enum kvsim_status load(const struct row *row, struct scenario **out, struct kvsim_error *err)
{
    bool shares = row->texts[SHARED][0] != '\0';
    const struct scenario_override overrides[] = {
        {"model", row->texts[MODEL]},
        {"hardware", row->texts[HARDWARE]},
        {"engine.profile", "vllm-0.19"},
        {"engine.tensor_parallel_size", row->texts[TP]},
        {"engine.quantization", row->texts[QUANTIZATION]},
        {"engine.kv_cache_dtype", row->texts[KV_CACHE_DTYPE]},
        {"engine.max_model_len", row->texts[LENGTH]},
        {"engine.max_num_seqs", row->texts[SEATS]},
        {"engine.max_num_batched_tokens", row->texts[BUDGET]},
        {"engine.gpu_memory_utilization", "0.95"},
        {"engine.enable_prefix_caching", shares ? "true" : "false"},
        {"workload.arrival", row->texts[ARRIVAL]},
        {"workload.prompt_tokens", row->texts[PROMPT]},
        {"workload.output_tokens", row->texts[OUTPUT]},
        {"run", "{replications: 1}"},
        {"run.requests", row->texts[REQUESTS]},
        {"cost", "{level: datasheet}"},
        {"workload.shared_prefix", row->texts[SHARED]}, // last: left out where nothing is shared
    };
    size_t count = sizeof overrides / sizeof overrides[0];
    const struct scenario_request request = {.overrides = overrides,
                                             .override_count = shares ? count : count - 1,
                                             .purpose = SCENARIO_FOR_RUN};
    struct kvsim_diags diags = {0};
    enum kvsim_status status = scenario_load(&request, out, &diags);
    if (status != KVSIM_OK)
        *err = diags.at[0];
    return status;
}

/* Nothing is served where the engine cannot start. */
static enum kvsim_status simulate(const struct row *row, struct served *served,
                                  struct kvsim_error *err)
{
    struct scenario *scenario;
    *served = (struct served){.sink = {.ops = &served_ops, .request_limit = UINT64_MAX}};
    enum kvsim_status status = load(row, &scenario, err);
    if (status != KVSIM_OK)
        return status;
    const struct serve_config *config = scenario_config(scenario);
    if (config->pool_blocks > 0) {
        struct serve_result result;
        const struct serve_run_options options = {
            .replication = 1, .mode = SERVE_JUMP, .sink = &served->sink};
        status = serve_run(config, &options, &result, err);
        serve_result_release(&result);
    }
    scenario_free(scenario);
    return status;
}

static enum kvsim_status read_row(const struct calib_case_row *from, struct row *row,
                                  struct kvsim_error *err)
{
    enum { GPUS_MOST = 1 << 20 };
    long long gpus = 0, tp = 0;
    row->texts = from->texts;
    enum kvsim_status status = calib_case_count(from, GPUS, GPUS_MOST, &gpus, err);
    if (status == KVSIM_OK)
        status = calib_case_count(from, TP, gpus, &tp, err);
    row->replicas = tp > 0 ? (double)gpus / (double)tp : 0;
    return status;
}

static enum kvsim_status add_case(const struct row *row, enum column figure,
                                  const struct calib_case_row *from, struct kvsim_error *err)
{
    struct served served;
    struct record_validation_case found = {.id = row->texts[ID],
                                           .source = row->texts[SOURCE],
                                           .what = names[figure],
                                           .device = row->texts[HARDWARE],
                                           .agrees = true,
                                           .note = row->texts[NOTE]};
    enum kvsim_status status = base_parse_real(row->texts[figure], BASE_NONE, &found.measured, err);
    if (status == KVSIM_OK)
        status = simulate(row, &served, err);
    if (status != KVSIM_OK)
        return status;
    found.family = base_arena_printf(from->arena, "%s %s", row->texts[HARDWARE], row->texts[MODEL]);
    found.predicted = figure_of(&served, row, figure);
    found.error = found.predicted / found.measured - 1;
    base_vec_push(from->out, found);
    return KVSIM_OK;
}

static enum kvsim_status take_row(const struct calib_case_row *from, void *context,
                                  struct kvsim_error *err)
{
    enum column figure = *(const enum column *)context;
    struct row row;
    enum kvsim_status status = read_row(from, &row, err);
    return status == KVSIM_OK && row.texts[figure][0] != '\0' ? add_case(&row, figure, from, err)
                                                              : status;
}

static enum kvsim_status run(const char *path, enum column figure, struct base_arena *arena,
                             struct record_validation_cases *out, struct kvsim_error *err)
{
    const struct calib_case_table table = {"served loads", names, COLUMNS};
    return calib_case_rows_each(path, &table, take_row, &figure, arena, out, err);
}

enum kvsim_status calib_loads_throughput(const char *path, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err)
{
    return run(path, THROUGHPUT, arena, out, err);
}

enum kvsim_status calib_loads_ttft(const char *path, struct base_arena *arena,
                                   struct record_validation_cases *out, struct kvsim_error *err)
{
    return run(path, TTFT, arena, out, err);
}

enum kvsim_status calib_loads_itl(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err)
{
    return run(path, ITL, arena, out, err);
}
