#include "calib/exchanges.h"

#include "base/field.h"
#include "calib/case_rows.h"
#include "cost/explain.h"
#include "scenario/scenario.h"
#include "serve/serve.h"
#include "spec/model.h"

enum column { HARDWARE, MODEL, QUANTIZATION, RANKS, PHASE, TOKENS, MS, SOURCE, NOTE, COLUMNS };
static const char *const columns[COLUMNS] = {"hardware", "model", "quantization", "ranks", "phase",
                                             "tokens",   "ms",    "source",       "note"};

struct exchange {
    const char *const *texts;
    long long tokens;
    double measured_ms;
    bool is_decode;
};

static enum kvsim_status load(const struct exchange *exchange, struct scenario **out,
                              struct kvsim_error *err)
{
    const struct scenario_override overrides[] = {
        {"model", exchange->texts[MODEL]},
        {"hardware", exchange->texts[HARDWARE]},
        {"engine.quantization", exchange->texts[QUANTIZATION]},
        {"engine.data_parallel_size", exchange->texts[RANKS]},
        {"engine.enable_expert_parallel", "true"},
        {"cost.level", "datasheet"},
    };
    const struct scenario_request request = {.overrides = overrides,
                                             .override_count =
                                                 sizeof overrides / sizeof overrides[0],
                                             .purpose = SCENARIO_FOR_STEP};
    struct kvsim_diags diags = {0};
    enum kvsim_status status = scenario_load(&request, out, &diags);
    if (status != KVSIM_OK)
        *err = diags.at[0];
    return status;
}

static double exchange_s(struct cost *cost, const struct exchange *exchange)
{
    struct cost_explanation explanation;
    struct cost_shape shape = {0};
    double s = 0;
    if (exchange->is_decode)
        shape = (struct cost_shape){.decode_seq_count = (uint32_t)exchange->tokens,
                                    .decode_context_tokens = exchange->tokens};
    else
        cost_shape_add_prefill(&shape, 1, exchange->tokens, 0);
    cost_explain(cost, &shape, &explanation);
    for (size_t i = 0; i < explanation.row_count; i++)
        if (explanation.rows[i].op == COST_OP_ALL_TO_ALL)
            s += explanation.rows[i].total_s;
    return s;
}

static enum kvsim_status predict(const struct exchange *exchange, double *out_ms,
                                 struct kvsim_error *err)
{
    struct scenario *scenario;
    struct base_arena arena;
    struct cost *cost;
    enum kvsim_status status = load(exchange, &scenario, err);
    if (status != KVSIM_OK)
        return status;
    base_arena_init(&arena);
    struct cost_config config = scenario_config(scenario)->cost;
    config.max_decode_seqs = (uint32_t)exchange->tokens;
    status = cost_new(&config, &arena, &cost, err);
    if (status == KVSIM_OK)
        *out_ms = 1e3 * exchange_s(cost, exchange) / config.model->moe_layer_count;
    base_arena_release(&arena);
    scenario_free(scenario);
    return status;
}

static enum kvsim_status read_exchange(const struct calib_case_row *row, struct exchange *out,
                                       struct kvsim_error *err)
{
    enum { TOKENS_MOST = 1 << 20 };
    out->texts = row->texts;
    out->is_decode = base_key_equal(out->texts[PHASE], "decode");
    if (!out->is_decode && !base_key_equal(out->texts[PHASE], "prefill"))
        return conf_rows_fail(row->rows, row->found[PHASE], err, "bad-choice",
                              "phase is prefill or decode");
    enum kvsim_status status = calib_case_count(row, TOKENS, TOKENS_MOST, &out->tokens, err);
    return status == KVSIM_OK ? calib_case_positive(row, MS, &out->measured_ms, err) : status;
}

static enum kvsim_status add_case(const struct calib_case_row *row, void *context,
                                  struct kvsim_error *err)
{
    struct exchange exchange;
    (void)context;
    double predicted_ms = 0;
    enum kvsim_status status = read_exchange(row, &exchange, err);
    if (status == KVSIM_OK)
        status = predict(&exchange, &predicted_ms, err);
    if (status != KVSIM_OK)
        return status;
    struct record_validation_case found = {
        .id = base_arena_printf(row->arena, "%s x %s, %lld tokens each", exchange.texts[RANKS],
                                exchange.texts[HARDWARE], exchange.tokens),
        .family =
            base_arena_printf(row->arena, "%s %s", exchange.texts[HARDWARE], exchange.texts[MODEL]),
        .source = exchange.texts[SOURCE],
        .what = "exchange_ms",
        .device = exchange.texts[HARDWARE],
        .phase = exchange.is_decode ? "decode" : "prefill",
        .predicted = predicted_ms,
        .measured = exchange.measured_ms,
        .error = predicted_ms / exchange.measured_ms - 1,
        .agrees = true,
        .note = exchange.texts[NOTE]};
    base_vec_push(row->out, found);
    return KVSIM_OK;
}

enum kvsim_status calib_exchanges(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err)
{
    const struct calib_case_table table = {"exchanges", columns, COLUMNS};
    return calib_case_rows_each(path, &table, add_case, NULL, arena, out, err);
}
