#include "calib/claims.h"

#include "conf/rows.h"
#include "scenario/scenario.h"
#include "serve/serve.h"

#include <math.h>
#include <string.h>

enum column {
    ID,
    MODEL,
    TP,
    KV_DTYPE,
    BLOCK,
    FIGURE,
    AMOUNT,
    VALUE,
    TOLERANCE,
    SOURCE,
    NOTE,
    COLUMNS
};
static const char *const columns[COLUMNS] = {"id",         "model",  "tp",     "kv_cache_dtype",
                                             "block_size", "figure", "amount", "value",
                                             "tolerance",  "source", "note"};

struct claim {
    const char *texts[COLUMNS];
    double amount, value, tolerance;
};

/* ---- figures ---- */

static double bytes_per_token(const struct serve_config *config, double amount)
{
    (void)amount;
    return (double)config->layout.lower_bound_bytes_per_token;
}

static double block_bytes_per_gpu(const struct serve_config *config, double amount)
{
    (void)amount;
    return (double)config->layout.block_bytes_per_gpu;
}

static double bytes_of_tokens(const struct serve_config *config, double amount)
{
    return amount * (double)config->layout.lower_bound_bytes_per_token;
}

static double tokens_of_bytes(const struct serve_config *config, double amount)
{
    double blocks = floor(amount / (double)config->layout.block_bytes_per_gpu);
    return blocks * (double)config->layout.block_tokens;
}

static const struct {
    const char *name;
    double (*value)(const struct serve_config *config, double amount);
} figures[] = {{"bytes_per_token", bytes_per_token},
               {"block_bytes_per_gpu", block_bytes_per_gpu},
               {"bytes_of_tokens", bytes_of_tokens},
               {"tokens_of_bytes", tokens_of_bytes}};

/* ---- cases ---- */

static enum kvsim_status predict(const struct claim *claim, size_t figure, double *out,
                                 struct kvsim_error *err)
{
    const struct scenario_override overrides[] = {
        {"model", claim->texts[MODEL]},
        {"hardware", "a100-sxm-80gb"},
        {"engine.tensor_parallel_size", claim->texts[TP]},
        {"engine.kv_cache_dtype", claim->texts[KV_DTYPE]},
        {"engine.block_size", claim->texts[BLOCK]},
    };
    const struct scenario_request request = {.overrides = overrides,
                                             .override_count =
                                                 sizeof overrides / sizeof overrides[0],
                                             .purpose = SCENARIO_FOR_STEP};
    struct scenario *scenario;
    struct kvsim_diags diags = {0};
    enum kvsim_status status = scenario_load(&request, &scenario, &diags);
    if (status != KVSIM_OK) {
        *err = diags.at[0];
        return status;
    }
    *out = figures[figure].value(scenario_config(scenario), claim->amount);
    scenario_free(scenario);
    return KVSIM_OK;
}

static enum kvsim_status add_case(struct conf_rows *rows, const int found[COLUMNS],
                                  const struct claim *claim, struct record_validation_cases *out,
                                  struct kvsim_error *err)
{
    const size_t count = sizeof figures / sizeof figures[0];
    size_t figure = 0;
    while (figure < count && strcmp(figures[figure].name, claim->texts[FIGURE]) != 0)
        figure++;
    if (figure == count)
        return conf_rows_fail(rows, found[FIGURE], err, "unknown-name", "unknown figure '%s'",
                              claim->texts[FIGURE]);
    struct record_validation_case one = {.id = claim->texts[ID],
                                         .family = claim->texts[MODEL],
                                         .source = claim->texts[SOURCE],
                                         .what = figures[figure].name,
                                         .measured = claim->value,
                                         .note = claim->texts[NOTE]};
    enum kvsim_status status = predict(claim, figure, &one.predicted, err);
    if (status != KVSIM_OK)
        return status;
    one.agrees = fabs(one.predicted - one.measured) <= claim->tolerance;
    one.error = one.agrees ? 0 : one.predicted / one.measured - 1;
    base_vec_push(out, one);
    return KVSIM_OK;
}

static enum kvsim_status read_claim(struct conf_rows *rows, const int found[COLUMNS],
                                    struct base_arena *arena, struct claim *out,
                                    struct kvsim_error *err)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        const char *text = conf_rows_text(rows, found[i]);
        out->texts[i] = base_arena_copy(arena, text == NULL ? "" : text);
    }
    enum kvsim_status status = conf_rows_real(rows, found[AMOUNT], &out->amount, err);
    if (status == KVSIM_OK)
        status = conf_rows_real(rows, found[VALUE], &out->value, err);
    if (status == KVSIM_OK)
        status = conf_rows_real(rows, found[TOLERANCE], &out->tolerance, err);
    return status;
}

enum kvsim_status calib_claims(const char *path, struct base_arena *arena,
                               struct record_validation_cases *out, struct kvsim_error *err)
{
    struct conf_rows *rows;
    int found[COLUMNS];
    bool more = true;
    enum kvsim_status status = conf_rows_open(path, &rows, err);
    if (status != KVSIM_OK)
        return status;
    status = conf_rows_find(rows, columns, COLUMNS, "claims", found, err);
    while (status == KVSIM_OK && (status = conf_rows_next(rows, &more, err)) == KVSIM_OK && more) {
        struct claim claim;
        status = read_claim(rows, found, arena, &claim, err);
        if (status == KVSIM_OK)
            status = add_case(rows, found, &claim, out, err);
    }
    conf_rows_close(rows);
    return status;
}
