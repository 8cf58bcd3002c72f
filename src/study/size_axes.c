/*
 * size_axes.c - one size per combination of axis values, each a scenario of its own.
 */
#include "study/fit.h"
#include "study/size.h"

#include <string.h>

static const struct record_size_axis *cell_axes(const struct study_axes *axes, size_t point,
                                                struct base_arena *arena)
{
    struct record_size_axis *out = base_arena_array(arena, axes->count + 1, sizeof *out);
    for (size_t i = 0; i < axes->count; i++) {
        out[i].key = base_arena_copy(arena, axes->at[i].key);
        out[i].value = base_arena_copy(arena, study_axes_value(axes, point, i));
    }
    return out;
}

/* Bytes are 64-bit integers: what would not fit in them is no question of memory. */
static enum kvsim_status check_countable(const struct serve_config *config,
                                         const struct study_size_options *options,
                                         struct kvsim_diags *diags)
{
    const int64_t longest[] = {config->sched.max_model_len};
    const int64_t *contexts = options->context_count != 0 ? options->contexts : longest;
    size_t count = options->context_count != 0 ? options->context_count : 1;
    double states = (double)config->waterfall.layout.sequence_bytes;
    const struct kv_pages *pages = &config->waterfall.pages;
    struct kvsim_error err = {.status = KVSIM_OK};
    for (size_t i = 0; i < count; i++) {
        struct kv_hold_share share;
        study_fit_share(config, contexts[i], &share);
        int64_t grown = kv_pages_sequence_blocks(pages, contexts[i]) + pages->table_count;
        int64_t blocks = grown > share.blocks ? grown : share.blocks;
        double bytes =
            ((double)blocks * (double)pages->block_bytes + states) * (double)options->sequences;
        if (bytes < SPEC_KV_BYTES_MAX)
            continue;
        base_fail(&err, KVSIM_ERR_USAGE,
                  "%lld sequences of %lld tokens are more bytes than can be counted",
                  (long long)options->sequences, (long long)contexts[i]);
        base_error_at(&err, "kvsim size", 0, 0);
        base_diags_add(diags, &err);
        return err.status;
    }
    return KVSIM_OK;
}

static enum kvsim_status make_cell(const struct scenario_request *request,
                                   const struct record_size_axis *axes, size_t axis_count,
                                   const struct study_size_options *options,
                                   struct base_arena *arena, struct record_size *out,
                                   struct kvsim_diags *diags)
{
    size_t count = request->override_count + axis_count;
    struct scenario_override *overrides = base_arena_array(arena, count + 1, sizeof *overrides);
    for (size_t i = 0; i < request->override_count; i++)
        overrides[i] = request->overrides[i];
    for (size_t i = 0; i < axis_count; i++)
        overrides[request->override_count + i] =
            (struct scenario_override){.key = axes[i].key, .value = axes[i].value};
    struct scenario_request cell = *request;
    cell.overrides = overrides;
    cell.override_count = count;
    cell.axis_count = axis_count;
    struct scenario *scenario;
    enum kvsim_status status = scenario_load(&cell, &scenario, diags);
    if (status != KVSIM_OK)
        return status;
    status = check_countable(scenario_config(scenario), options, diags);
    if (status == KVSIM_OK)
        study_size_make(scenario_config(scenario), options, arena, out);
    scenario_free(scenario);
    return status;
}

/* A cell that has no configuration is an answer too: in words. */
static void refuse_cell(const struct kvsim_diags *diags, struct base_arena *arena,
                        struct record_size *out)
{
    *out = (struct record_size){
        .scenario = "",
        .refusal_message =
            base_arena_copy(arena, diags->count > 0 ? diags->at[0].message : "invalid"),
    };
}

enum kvsim_status study_sizes_make(const struct scenario_request *request,
                                   const struct study_axes *axes,
                                   const struct study_size_options *options,
                                   struct study_sizes *out, struct kvsim_diags *diags)
{
    size_t axis_count = axes->count;
    *out = (struct study_sizes){.count = study_axes_point_count(axes)};
    base_arena_init(&out->arena);
    out->at = base_arena_array(&out->arena, out->count, sizeof *out->at);
    struct kvsim_diags *cell_diags = base_arena_take(&out->arena, sizeof *cell_diags);
    enum kvsim_status last_fault = KVSIM_OK;
    size_t invalid_count = 0;
    for (size_t i = 0; i < out->count; i++) {
        const struct record_size_axis *values = cell_axes(axes, i, &out->arena);
        *cell_diags = (struct kvsim_diags){0};
        enum kvsim_status status = make_cell(request, values, axis_count, options, &out->arena,
                                             &out->at[i], axis_count == 0 ? diags : cell_diags);
        if (status == KVSIM_ERR_IO || (status != KVSIM_OK && axis_count == 0)) {
            if (axis_count != 0)
                *diags = *cell_diags;
            return status;
        }
        if (status != KVSIM_OK) {
            refuse_cell(cell_diags, &out->arena, &out->at[i]);
            last_fault = status;
            invalid_count++;
        }
        out->at[i].axes = values;
        out->at[i].axis_count = axis_count;
    }
    if (invalid_count < out->count)
        return KVSIM_OK;
    *diags = *cell_diags; // no value is to blame, but the axis or what stands beside it
    return last_fault;
}

void study_sizes_free(struct study_sizes *sizes)
{
    base_arena_release(&sizes->arena);
    *sizes = (struct study_sizes){0};
}
