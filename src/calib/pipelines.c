#include "calib/pipelines.h"

#include "calib/case_rows.h"
#include "cost/explain.h"
#include "scenario/scenario.h"
#include "serve/serve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum column { MODEL, HARDWARE, QUANTIZATION, KV_DTYPE, PP, PROMPT, OUTPUT, RATE, SOURCE, COLUMNS };
static const char *const columns[COLUMNS] = {
    "model",         "hardware",      "quantization",        "kv_cache_dtype", "pp",
    "prompt_tokens", "output_tokens", "output_tokens_per_s", "source"};

struct row {
    const char *const *texts;
    long long stages, prompt, output;
    double measured, predicted; /* output tokens/s */
};

/* Engine limits of the published runs: tokens of a step, sequences of a step. */
enum { STEP_TOKENS = 8192, STEP_SEQUENCES = 2048 };

static enum kvsim_status load(const struct row *row, struct scenario **out, struct kvsim_error *err)
{
    char longest[32], step_tokens[32], step_sequences[32];
    snprintf(longest, sizeof longest, "%lld", row->prompt + row->output);
    snprintf(step_tokens, sizeof step_tokens, "%d", STEP_TOKENS);
    snprintf(step_sequences, sizeof step_sequences, "%d", STEP_SEQUENCES);
    const struct scenario_override overrides[] = {
        {"model", row->texts[MODEL]},
        {"hardware", row->texts[HARDWARE]},
        {"engine.pipeline_parallel_size", row->texts[PP]},
        {"engine.quantization", row->texts[QUANTIZATION]},
        {"engine.kv_cache_dtype", row->texts[KV_DTYPE]},
        {"engine.max_model_len", longest},
        {"engine.max_num_batched_tokens", step_tokens},
        {"engine.max_num_seqs", step_sequences},
        {"engine.gpu_memory_utilization", "0.95"},
        {"cost.level", "datasheet"},
    };
    const struct scenario_request request = {.overrides = overrides,
                                             .override_count =
                                                 sizeof overrides / sizeof overrides[0],
                                             .purpose = SCENARIO_FOR_SIZE};
    struct kvsim_diags diags = {0};
    enum kvsim_status status = scenario_load(&request, out, &diags);
    if (status != KVSIM_OK)
        *err = diags.at[0];
    return status;
}

/* Decoding sequences of one step: the pool's share, and no more than the prompts that take their places let pass. */
static double sequences_of(const struct serve_config *config, const struct row *row)
{
    double prompt = (double)row->prompt, output = (double)row->output;
    double pool = (double)config->pool_blocks * (double)config->layout.block_tokens;
    double share = pool / (prompt + output / 2) / (double)row->stages;
    double most = STEP_TOKENS / (1 + prompt / output);
    return floor(fmax(1, fmin(share, fmin(most, STEP_SEQUENCES))));
}

static void shape_of(const struct row *row, double sequences, struct cost_shape *out)
{
    double prompt = (double)row->prompt, output = (double)row->output;
    double tokens = fmax(1, nearbyint(sequences * prompt / output));
    double prompts = fmax(1, nearbyint(sequences / output));
    *out = (struct cost_shape){
        .decode_seq_count = (uint32_t)sequences,
        .decode_context_tokens = (int64_t)(sequences * (prompt + output / 2)),
        .prefill_seq_count = (uint32_t)prompts,
        .emitting_count = (uint32_t)prompts,
        .prefill_tokens = (int64_t)tokens,
        .prefill_area = (base_i128)(int64_t)(tokens * (prompt + 1) / 2),
    };
}

static enum kvsim_status predict(struct row *row, struct kvsim_error *err)
{
    struct scenario *scenario;
    struct base_arena arena;
    struct cost *cost;
    struct cost_shape shape;
    struct cost_explanation step;
    struct cost_pipeline pipeline;
    enum kvsim_status status = load(row, &scenario, err);
    if (status != KVSIM_OK)
        return status;
    base_arena_init(&arena);
    const struct serve_config *config = scenario_config(scenario);
    struct cost_config cost_config = config->cost;
    double sequences = sequences_of(config, row);
    cost_config.max_decode_seqs = (uint32_t)sequences;
    status = cost_new(&cost_config, &arena, &cost, err);
    if (status == KVSIM_OK) {
        shape_of(row, sequences, &shape);
        cost_explain(cost, &shape, &step);
        cost_pipeline_of(&step, (uint32_t)row->stages, (uint32_t)row->stages, &pipeline);
        row->predicted = sequences / pipeline.interval_s;
    }
    base_arena_release(&arena);
    scenario_free(scenario);
    return status;
}

static enum kvsim_status read_row(const struct calib_case_row *from, struct row *out,
                                  struct kvsim_error *err)
{
    enum { TOKENS_MOST = 1 << 20, STAGES_MOST = 64 };
    *out = (struct row){.texts = from->texts};
    enum kvsim_status status = calib_case_count(from, PP, STAGES_MOST, &out->stages, err);
    if (status == KVSIM_OK)
        status = calib_case_count(from, PROMPT, TOKENS_MOST, &out->prompt, err);
    if (status == KVSIM_OK)
        status = calib_case_count(from, OUTPUT, TOKENS_MOST, &out->output, err);
    return status == KVSIM_OK ? calib_case_positive(from, RATE, &out->measured, err) : status;
}

static bool is_same_load(const struct row *a, const struct row *b)
{
    static const enum column same[] = {MODEL, HARDWARE, QUANTIZATION, KV_DTYPE, PROMPT, OUTPUT};
    bool is = a->texts != NULL;
    for (size_t i = 0; i < sizeof same / sizeof same[0] && is; i++)
        is = strcmp(a->texts[same[i]], b->texts[same[i]]) == 0;
    return is;
}

static void add_case(const struct row *one, const struct row *row, struct base_arena *arena,
                     struct record_validation_cases *out)
{
    struct record_validation_case found = {
        .id = base_arena_printf(arena, "%s pp%lld %lld/%lld", row->texts[MODEL], row->stages,
                                row->prompt, row->output),
        .family = base_arena_printf(arena, "%s %s", row->texts[HARDWARE], row->texts[MODEL]),
        .source = row->texts[SOURCE],
        .what = "rate over one GPU's",
        .device = row->texts[HARDWARE],
        .predicted = row->predicted / one->predicted,
        .measured = row->measured / one->measured,
        .agrees = true,
        .note = base_arena_printf(arena, "%.4g of %.4g tokens/s", row->predicted, row->measured)};
    found.error = found.predicted / found.measured - 1;
    base_vec_push(out, found);
}

/* The context is the last row of one stage. */
static enum kvsim_status take_row(const struct calib_case_row *from, void *context,
                                  struct kvsim_error *err)
{
    struct row *one = context, row;
    enum kvsim_status status = read_row(from, &row, err);
    if (status == KVSIM_OK)
        status = predict(&row, err);
    if (status != KVSIM_OK)
        return status;
    if (row.stages == 1)
        *one = row;
    else if (is_same_load(one, &row))
        add_case(one, &row, from->arena, from->out);
    else
        status = conf_rows_fail(from->rows, from->found[PP], err, "missing-value",
                                "the row of this load with pp 1 must come before");
    return status;
}

enum kvsim_status calib_pipelines(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err)
{
    struct row one = {.texts = NULL};
    const struct calib_case_table table = {"pipelines", columns, COLUMNS};
    return calib_case_rows_each(path, &table, take_row, &one, arena, out, err);
}
