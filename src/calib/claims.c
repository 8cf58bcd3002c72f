#include "calib/claims.h"

#include "calib/case_rows.h"
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
    const char *const *texts;
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

static enum kvsim_status read_claim(const struct calib_case_row *row, struct claim *out,
                                    struct kvsim_error *err)
{
    const struct {
        enum column column;
        double *at;
    } numbers[] = {{AMOUNT, &out->amount}, {VALUE, &out->value}, {TOLERANCE, &out->tolerance}};
    enum kvsim_status status = KVSIM_OK;
    out->texts = row->texts;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == KVSIM_OK; i++)
        status = conf_rows_real(row->rows, row->found[numbers[i].column], numbers[i].at, err);
    return status;
}

static enum kvsim_status add_case(const struct calib_case_row *row, void *context,
                                  struct kvsim_error *err)
{
    struct claim claim;
    (void)context;
    enum kvsim_status status = read_claim(row, &claim, err);
    if (status != KVSIM_OK)
        return status;
    const size_t count = sizeof figures / sizeof figures[0];
    size_t figure = 0;
    while (figure < count && strcmp(figures[figure].name, claim.texts[FIGURE]) != 0)
        figure++;
    if (figure == count)
        return conf_rows_fail(row->rows, row->found[FIGURE], err, "unknown-name",
                              "unknown figure '%s'", claim.texts[FIGURE]);
    struct record_validation_case one = {.id = claim.texts[ID],
                                         .family = claim.texts[MODEL],
                                         .source = claim.texts[SOURCE],
                                         .what = figures[figure].name,
                                         .measured = claim.value,
                                         .note = claim.texts[NOTE]};
    status = predict(&claim, figure, &one.predicted, err);
    if (status != KVSIM_OK)
        return status;
    one.agrees = fabs(one.predicted - one.measured) <= claim.tolerance;
    one.error = one.agrees ? 0 : one.predicted / one.measured - 1;
    base_vec_push(row->out, one);
    return KVSIM_OK;
}

enum kvsim_status calib_claims(const char *path, struct base_arena *arena,
                               struct record_validation_cases *out, struct kvsim_error *err)
{
    const struct calib_case_table table = {"claims", columns, COLUMNS};
    return calib_case_rows_each(path, &table, add_case, NULL, arena, out, err);
}
