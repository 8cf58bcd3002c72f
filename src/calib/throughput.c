#include "calib/throughput.h"

#include "conf/rows.h"
#include "scenario/scenario.h"
#include "serve/serve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS_MAX = 12, VALUE_BYTES = 64 };

/* A row's texts, by column. */
struct row {
    struct conf_rows *rows;
    int columns[COLUMNS_MAX];
};

static enum kvsim_status open_rows(const char *path, const char *const *names, size_t count,
                                   struct row *out, struct kvsim_error *err)
{
    base_require(count <= COLUMNS_MAX);
    enum kvsim_status status = conf_rows_open(path, &out->rows, err);
    if (status != KVSIM_OK)
        return status;
    status = conf_rows_find(out->rows, names, count, "rows of this group", out->columns, err);
    if (status != KVSIM_OK)
        conf_rows_close(out->rows);
    return status;
}

static const char *text_of(const struct row *row, size_t column)
{
    const char *text = conf_rows_text(row->rows, row->columns[column]);
    return text == NULL ? "" : text;
}

/* ---- throughput ---- */

enum { MODEL, HARDWARE, TP, PP, PRECISION, ISL, OSL, REQUESTS, RATE, SOURCE };
static const char *const throughput_names[] = {
    "model", "hardware", "tp", "pp", "precision", "isl", "osl", "requests", "output_tokens_per_s",
    "source"};
enum { THROUGHPUT_COLUMNS = sizeof throughput_names / sizeof throughput_names[0] };

struct span {
    struct record_sink sink; /* first: the sink is the span */
    int64_t first_ns, last_ns, tokens;
};

static void take_request(struct record_sink *sink, const struct record_request *row)
{
    struct span *span = (struct span *)sink;
    if (row->outcome != RECORD_OUTCOME_COMPLETED)
        return;
    span->tokens += row->output_tokens;
    span->last_ns = row->finish_ns > span->last_ns ? row->finish_ns : span->last_ns;
}

static const struct record_sink_ops span_ops = {.on_request = take_request};

/* Output tokens per second from the first arrival to the last completion; 0 when the run cannot start. */
static enum kvsim_status simulate(const struct scenario_request *request, double *out,
                                  struct kvsim_error *err)
{
    struct scenario *scenario;
    struct kvsim_diags diags = {0};
    struct serve_result result;
    struct span span = {.sink = {.ops = &span_ops, .request_limit = UINT64_MAX}};
    *out = 0;
    enum kvsim_status status = scenario_load(request, &scenario, &diags);
    if (status != KVSIM_OK) {
        *err = diags.at[0];
        return status;
    }
    const struct serve_config *config = scenario_config(scenario);
    if (config->pool_blocks > 0) {
        const struct serve_run_options options = {
            .replication = 1, .mode = SERVE_JUMP, .sink = &span.sink};
        status = serve_run(config, &options, &result, err);
        serve_result_release(&result);
    }
    if (status == KVSIM_OK && span.last_ns > 0)
        *out = 1e9 * (double)span.tokens / (double)span.last_ns;
    scenario_free(scenario);
    return status;
}

static enum kvsim_status throughput_of(const struct row *row, double *out, struct kvsim_error *err)
{
    char longest[VALUE_BYTES];
    long long isl = 0, osl = 0;
    enum kvsim_status status = conf_rows_int(row->rows, row->columns[ISL], &isl, err);
    if (status == KVSIM_OK)
        status = conf_rows_int(row->rows, row->columns[OSL], &osl, err);
    if (status != KVSIM_OK)
        return status;
    snprintf(longest, sizeof longest, "%lld", isl + osl);
    bool is_fp8 = strcmp(text_of(row, PRECISION), "fp8") == 0;
    const struct scenario_override overrides[] = {
        {"model", text_of(row, MODEL)},
        {"hardware", text_of(row, HARDWARE)},
        {"engine.profile", "vllm-0.19"},
        {"engine.tensor_parallel_size", text_of(row, TP)},
        {"engine.pipeline_parallel_size", text_of(row, PP)},
        {"engine.quantization", is_fp8 ? "fp8" : "none"},
        {"engine.kv_cache_dtype", is_fp8 ? "fp8" : "auto"},
        {"engine.max_model_len", longest},
        {"engine.max_num_seqs", "2048"},
        {"engine.max_num_batched_tokens", "8192"},
        {"engine.gpu_memory_utilization", "0.95"},
        {"engine.enable_prefix_caching", "false"},
        {"workload.arrival", "{process: all_at_once}"},
        {"workload.prompt_tokens", text_of(row, ISL)},
        {"workload.output_tokens", text_of(row, OSL)},
        {"run", "{replications: 1}"},
        {"run.requests", text_of(row, REQUESTS)},
        {"cost", "{level: datasheet}"},
    };
    const struct scenario_request request = {.overrides = overrides,
                                             .override_count =
                                                 sizeof overrides / sizeof overrides[0],
                                             .purpose = SCENARIO_FOR_RUN};
    return simulate(&request, out, err);
}

static enum kvsim_status throughput_case(const struct row *row, struct base_arena *arena,
                                         struct record_validation_cases *out,
                                         struct kvsim_error *err)
{
    struct record_validation_case found = {
        .what = "output_tokens_per_s", .agrees = true, .note = ""};
    enum kvsim_status status = conf_rows_real(row->rows, row->columns[RATE], &found.measured, err);
    if (status == KVSIM_OK)
        status = throughput_of(row, &found.predicted, err);
    if (status != KVSIM_OK)
        return status;
    found.family = base_arena_printf(arena, "%s %s", text_of(row, HARDWARE), text_of(row, MODEL));
    found.id = base_arena_printf(arena, "%s tp%s %s %s/%s", found.family, text_of(row, TP),
                                 text_of(row, PRECISION), text_of(row, ISL), text_of(row, OSL));
    found.device = base_arena_copy(arena, text_of(row, HARDWARE));
    found.source = base_arena_copy(arena, text_of(row, SOURCE));
    found.error = found.predicted / found.measured - 1;
    base_vec_push(out, found);
    return KVSIM_OK;
}

enum kvsim_status calib_throughput(const char *path, struct base_arena *arena,
                                   struct record_validation_cases *out, struct kvsim_error *err)
{
    struct row row;
    bool more = true;
    enum kvsim_status status = open_rows(path, throughput_names, THROUGHPUT_COLUMNS, &row, err);
    if (status != KVSIM_OK)
        return status;
    while (status == KVSIM_OK && (status = conf_rows_next(row.rows, &more, err)) == KVSIM_OK &&
           more)
        status = throughput_case(&row, arena, out, err);
    conf_rows_close(row.rows);
    return status;
}

/* ---- the slope over the context ---- */

enum { SLOPE_MODEL, SLOPE_HARDWARE, SLOPE_BF16, SLOPE_FP8, SLOPE_SOURCE };
static const char *const slope_names[] = {"model", "hardware", "bf16_ms_per_token",
                                          "fp8_ms_per_token", "source"};
enum { SLOPE_COLUMNS = sizeof slope_names / sizeof slope_names[0] };

/* Step time of one sequence per token of context, between 8k and 64k tokens, ns. */
static enum kvsim_status slope_of(const struct row *row, const char *kv_dtype, double *out,
                                  struct kvsim_error *err)
{
    const int64_t low = 8192, high = 65536;
    const struct scenario_override overrides[] = {
        {"model", text_of(row, SLOPE_MODEL)},
        {"hardware", text_of(row, SLOPE_HARDWARE)},
        {"engine.kv_cache_dtype", kv_dtype},
        {"cost.level", "datasheet"},
    };
    const struct scenario_request request = {.overrides = overrides,
                                             .override_count =
                                                 sizeof overrides / sizeof overrides[0],
                                             .purpose = SCENARIO_FOR_STEP};
    struct scenario *scenario;
    struct kvsim_diags diags = {0};
    struct base_arena arena;
    struct cost *cost;
    enum kvsim_status status = scenario_load(&request, &scenario, &diags);
    if (status != KVSIM_OK) {
        *err = diags.at[0];
        return status;
    }
    base_arena_init(&arena);
    status = cost_new(&scenario_config(scenario)->cost, &arena, &cost, err);
    if (status == KVSIM_OK) {
        struct cost_shape a = {.decode_seq_count = 1, .decode_context_tokens = low}, b = a;
        b.decode_context_tokens = high;
        int64_t ticks = cost_step(cost, &b).ticks - cost_step(cost, &a).ticks;
        *out = (double)ticks / (double)BASE_TICKS_PER_NS / (double)(high - low);
    }
    base_arena_release(&arena);
    scenario_free(scenario);
    return status;
}

static enum kvsim_status slope_case(const struct row *row, struct base_arena *arena,
                                    struct record_validation_cases *out, struct kvsim_error *err)
{
    double bf16_ms = 0, fp8_ms = 0, bf16_ns = 0, fp8_ns = 0;
    enum kvsim_status status = conf_rows_real(row->rows, row->columns[SLOPE_BF16], &bf16_ms, err);
    if (status == KVSIM_OK)
        status = conf_rows_real(row->rows, row->columns[SLOPE_FP8], &fp8_ms, err);
    if (status == KVSIM_OK)
        status = slope_of(row, "bf16", &bf16_ns, err);
    if (status == KVSIM_OK)
        status = slope_of(row, "fp8", &fp8_ns, err);
    if (status != KVSIM_OK)
        return status;
    struct record_validation_case found = {.what = "fp8/bf16 slope", .agrees = true, .note = ""};
    found.family =
        base_arena_printf(arena, "%s %s", text_of(row, SLOPE_HARDWARE), text_of(row, SLOPE_MODEL));
    found.id = found.family;
    found.source = base_arena_copy(arena, text_of(row, SLOPE_SOURCE));
    found.predicted = fp8_ns / bf16_ns;
    found.measured = fp8_ms / bf16_ms;
    found.error = found.predicted / found.measured - 1;
    base_vec_push(out, found);
    return KVSIM_OK;
}

enum kvsim_status calib_fp8_slope(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err)
{
    struct row row;
    bool more = true;
    enum kvsim_status status = open_rows(path, slope_names, SLOPE_COLUMNS, &row, err);
    if (status != KVSIM_OK)
        return status;
    while (status == KVSIM_OK && (status = conf_rows_next(row.rows, &more, err)) == KVSIM_OK &&
           more)
        status = slope_case(&row, arena, out, err);
    conf_rows_close(row.rows);
    return status;
}
