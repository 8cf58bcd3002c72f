#include "calib/kv_shares.h"

#include "base/i128.h"
#include "calib/case_rows.h"
#include "scenario/scenario.h"
#include "serve/serve.h"

#include <string.h>

enum column { ID, SCENARIO, PROFILE, KV_POLICY, KV_PLACEMENT, SHARE, SOURCE, COLUMNS };
static const char *const columns[COLUMNS] = {"id",           "scenario", "profile", "kv_policy",
                                             "kv_placement", "share",    "source"};

struct row {
    const char **texts;
    double share;
};

static const char *beside(struct base_arena *arena, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? name
                         : base_arena_printf(arena, "%.*s/%s", (int)(slash - path), path, name);
}

static enum kvsim_status load(const struct row *row, struct scenario **out, struct kvsim_error *err)
{
    const struct scenario_override overrides[] = {
        {"engine.profile", row->texts[PROFILE]},
        {"engine.kv_policy", row->texts[KV_POLICY]},
        {"engine.kv_placement", row->texts[KV_PLACEMENT]},
        {"run.replications", "1"},
    };
    // Paged memory has nothing to place.
    bool places = row->texts[KV_PLACEMENT][0] != '\0';
    struct scenario_override used[4];
    size_t count = 0;
    for (size_t i = 0; i < 4; i++) {
        if (i != 2 || places)
            used[count++] = overrides[i];
    }
    const struct scenario_request request = {.path = row->texts[SCENARIO],
                                             .overrides = used,
                                             .override_count = count,
                                             .purpose = SCENARIO_FOR_RUN,
                                             .rows_unwanted = true};
    struct kvsim_diags diags = {0};
    enum kvsim_status status = scenario_load(&request, out, &diags);
    if (status != KVSIM_OK)
        *err = diags.at[0];
    return status;
}

// Integrals over the window, bytes times ticks: what tokens need, what is allocated, what is free and of no use.
static double share_of(const struct serve_config *config, const struct serve_result *result)
{
    double needed = 0, taken = 0;
    for (size_t i = 0; i < result->replica_count; i++) {
        const struct serve_integrals *window = &result->replicas[i].window;
        needed += base_i128_to_double(window->live_tokens) *
                  (double)config->layout.lower_bound_bytes_per_token;
        taken += base_i128_to_double(window->used_blocks + window->fragmented_blocks) *
                 (double)config->layout.block_bytes;
    }
    return taken > 0 ? needed / taken : 0;
}

static enum kvsim_status simulate(const struct row *row, double *share, struct kvsim_error *err)
{
    struct scenario *scenario;
    enum kvsim_status status = load(row, &scenario, err);
    if (status != KVSIM_OK)
        return status;
    struct serve_result result;
    const struct serve_run_options options = {.replication = 1};
    status = serve_run(scenario_config(scenario), &options, &result, err);
    if (status == KVSIM_OK)
        *share = share_of(scenario_config(scenario), &result);
    serve_result_release(&result);
    scenario_free(scenario);
    return status;
}

static enum kvsim_status add_case(const struct calib_case_row *from, void *context,
                                  struct kvsim_error *err)
{
    struct row row = {.texts = from->texts};
    row.texts[SCENARIO] = beside(from->arena, context, row.texts[SCENARIO]);
    enum kvsim_status status = calib_case_positive(from, SHARE, &row.share, err);
    double share = 0;
    if (status == KVSIM_OK)
        status = simulate(&row, &share, err);
    if (status != KVSIM_OK)
        return status;
    struct record_validation_case one = {
        .id = row.texts[ID],
        .family = row.texts[KV_POLICY],
        .source = row.texts[SOURCE],
        .what = base_arena_printf(from->arena, "share of KV memory that holds tokens"),
        .predicted = share,
        .measured = row.share,
        .error = share / row.share - 1,
        .agrees = true,
        .note = ""};
    base_vec_push(from->out, one);
    return KVSIM_OK;
}

enum kvsim_status calib_kv_shares(const char *path, struct base_arena *arena,
                                  struct record_validation_cases *out, struct kvsim_error *err)
{
    const struct calib_case_table table = {"shares", columns, COLUMNS};
    return calib_case_rows_each(path, &table, add_case, base_arena_copy(arena, path), arena, out,
                                err);
}
