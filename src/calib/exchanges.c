#include "calib/exchanges.h"

#include "base/field.h"
#include "conf/rows.h"
#include "cost/explain.h"
#include "scenario/scenario.h"
#include "serve/serve.h"
#include "spec/model.h"

enum column { HARDWARE, MODEL, QUANTIZATION, RANKS, PHASE, TOKENS, MS, SOURCE, NOTE, COLUMNS };
static const char *const columns[COLUMNS] = {"hardware", "model", "quantization", "ranks", "phase",
                                             "tokens",   "ms",    "source",       "note"};

struct exchange {
    const char *texts[COLUMNS]; /* in the group's arena */
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

static enum kvsim_status read_exchange(struct conf_rows *rows, const int found[COLUMNS],
                                       struct base_arena *arena, struct exchange *out,
                                       struct kvsim_error *err)
{
    enum { TOKENS_MOST = 1 << 20 };
    for (size_t i = 0; i < COLUMNS; i++) {
        const char *text = conf_rows_text(rows, found[i]);
        out->texts[i] = base_arena_copy(arena, text == NULL ? "" : text);
    }
    out->is_decode = base_key_equal(out->texts[PHASE], "decode");
    if (!out->is_decode && !base_key_equal(out->texts[PHASE], "prefill"))
        return conf_rows_fail(rows, found[PHASE], err, "bad-choice", "phase is prefill or decode");
    enum kvsim_status status = conf_rows_int(rows, found[TOKENS], &out->tokens, err);
    if (status == KVSIM_OK && (out->tokens < 1 || out->tokens > TOKENS_MOST))
        return conf_rows_fail(rows, found[TOKENS], err, "out-of-range", "tokens must be 1 to %d",
                              (int)TOKENS_MOST);
    if (status == KVSIM_OK)
        status = conf_rows_real(rows, found[MS], &out->measured_ms, err);
    if (status == KVSIM_OK && !(out->measured_ms > 0))
        return conf_rows_fail(rows, found[MS], err, "out-of-range", "a time must be positive");
    return status;
}

static enum kvsim_status add_case(const struct exchange *exchange, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err)
{
    double predicted_ms = 0;
    enum kvsim_status status = predict(exchange, &predicted_ms, err);
    if (status != KVSIM_OK)
        return status;
    struct record_validation_case found = {
        .id = base_arena_printf(arena, "%s x %s, %lld tokens each", exchange->texts[RANKS],
                                exchange->texts[HARDWARE], exchange->tokens),
        .family =
            base_arena_printf(arena, "%s %s", exchange->texts[HARDWARE], exchange->texts[MODEL]),
        .source = exchange->texts[SOURCE],
        .what = "exchange_ms",
        .device = exchange->texts[HARDWARE],
        .phase = exchange->is_decode ? "decode" : "prefill",
        .predicted = predicted_ms,
        .measured = exchange->measured_ms,
        .error = predicted_ms / exchange->measured_ms - 1,
        .agrees = true,
        .note = exchange->texts[NOTE]};
    base_vec_push(out, found);
    return KVSIM_OK;
}

enum kvsim_status calib_exchanges(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err)
{
    struct conf_rows *rows;
    int found[COLUMNS];
    bool more = true;
    enum kvsim_status status = conf_rows_open(path, &rows, err);
    if (status != KVSIM_OK)
        return status;
    status = conf_rows_find(rows, columns, COLUMNS, "exchanges", found, err);
    while (status == KVSIM_OK && (status = conf_rows_next(rows, &more, err)) == KVSIM_OK && more) {
        struct exchange exchange;
        status = read_exchange(rows, found, arena, &exchange, err);
        if (status == KVSIM_OK)
            status = add_case(&exchange, arena, out, err);
    }
    conf_rows_close(rows);
    return status;
}
