/*
 * Sizes of the whole catalog: bytes per token of every row of models.csv, and every model on every accelerator with every
 * KV dtype answered, quickly.
 */
#include "conf/rows.h"
#include "kv/hold.h"
#include "kv/waterfall.h"
#include "scenario/scenario.h"

#include "support/check_main.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE KVSIM_REFERENCE_DATA "/../reference"

static double field(const struct conf_rows *rows, const char *name)
{
    const char *text = conf_rows_text(rows, conf_rows_column(rows, name));
    return text == NULL || text[0] == '\0' ? (double)NAN : strtod(text, NULL);
}

static struct spec_kv_options options(const char *dtype, const char *state)
{
    return (struct spec_kv_options){.tensor_parallel = 1,
                                    .pipeline_parallel = 1,
                                    .block_tokens = 16,
                                    .k_dtype = dtype,
                                    .v_dtype = dtype,
                                    .state_dtype = state};
}

static struct spec_kv_layout layout_of(const struct spec_model *model, const char *state)
{
    struct spec_kv_options bf16 = options("bf16", state);
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    ck_assert_msg(spec_kv_layout_make(model, &bf16, &layout, &err) == KVSIM_OK, "%s: %s",
                  model->name, err.message);
    return layout;
}

/* The columns leave index keys out: they are not part of the attention's cache. */
static void check_row(const struct conf_rows *rows, const struct spec_model *model)
{
    const char *id = conf_rows_text(rows, conf_rows_column(rows, "hf_id"));
    struct spec_kv_layout layout = layout_of(model, "fp32");
    double full = 0, all = 0, cap = 0;
    for (size_t i = 0; i < layout.group_count; i++) {
        const struct spec_kv_slot *slot = &layout.groups[i];
        double bytes = (double)slot->lower_bound_bytes;
        if (slot->kind == SPEC_KV_INDEX)
            continue;
        full += slot->kind == SPEC_KV_FULL ? bytes : 0;
        all += bytes;
        cap += bytes * slot->window_tokens;
    }
    ck_assert_msg(full == field(rows, "kv_bytes_per_token_bf16"), "%s: %.0f", id, full);
    ck_assert_msg(all == field(rows, "kv_bytes_per_token_bf16_all_kv_layers"),
                  "%s: %.0f of all layers", id, all);
    double window = field(rows, "kv_window_cap_bytes_per_seq_bf16");
    ck_assert_msg(isnan(window) ? cap == 0 : cap == window, "%s: window of %.0f", id, cap);
    double state = field(rows, "linear_state_bytes_per_seq_rec_fp32");
    ck_assert_msg(isnan(state) || (double)layout.sequence_bytes == state, "%s: state of %llu", id,
                  (unsigned long long)layout.sequence_bytes);
}

START_TEST(bytes_per_token_are_those_of_the_table)
{
    struct conf_rows *rows;
    struct kvsim_error err = {0};
    bool more = true;
    size_t count = 0;
    ck_assert_int_eq(conf_rows_open(REFERENCE "/models.csv", &rows, &err), KVSIM_OK);
    while (conf_rows_next(rows, &more, &err) == KVSIM_OK && more) {
        struct base_arena arena;
        struct spec_model model;
        base_arena_init(&arena);
        const char *id = conf_rows_text(rows, conf_rows_column(rows, "hf_id"));
        ck_assert_msg(scenario_load_model(&arena, id, &model, &err) == KVSIM_OK, "%s: %s", id,
                      err.message);
        check_row(rows, &model);
        base_arena_release(&arena);
        count++;
    }
    ck_assert_uint_eq(count, 88);
    conf_rows_close(rows);
}
END_TEST

struct names {
    char at[128][96];
    size_t count;
};

static void read_names(const char *path, const char *column, struct names *out)
{
    struct conf_rows *rows;
    struct kvsim_error err = {0};
    bool more = true;
    ck_assert_int_eq(conf_rows_open(path, &rows, &err), KVSIM_OK);
    while (conf_rows_next(rows, &more, &err) == KVSIM_OK && more) {
        ck_assert_uint_lt(out->count, 128);
        snprintf(out->at[out->count++], sizeof out->at[0], "%s",
                 conf_rows_text(rows, conf_rows_column(rows, column)));
    }
    conf_rows_close(rows);
}

static void check_answer(const struct kv_waterfall *waterfall, enum kvsim_status status,
                         const struct kvsim_error *err)
{
    static const char *const answers[] = {"kv-dtype", "no-memory", "unequal-pages", "no-kv", NULL};
    if (status != KVSIM_OK) {
        size_t i = 0;
        while (answers[i] != NULL && strcmp(answers[i], err->code) != 0)
            i++;
        ck_assert_msg(answers[i] != NULL, "[%s] %s", err->code, err->message);
        return;
    }
    int64_t parts = 0;
    for (size_t i = 0; i < waterfall->row_count; i++)
        parts += waterfall->rows[i].line > KV_WF_DRIVER ? waterfall->rows[i].bytes_per_gpu : 0;
    ck_assert_int_eq(parts, kv_waterfall_find(waterfall, KV_WF_DRIVER)->bytes_per_gpu);
    ck_assert(waterfall->starts || waterfall->refusal.stage != KV_STAGE_NONE);
}

START_TEST(every_model_on_every_accelerator_is_answered)
{
    static const char *const dtypes[] = {"bf16", "fp8",   "fp8_per_token_head", "int8",
                                         "int4", "nvfp4", "fp8_ds_mla",         "q8_0",
                                         "q5_1", "q4_0"};
    static const struct kv_runtime_rule runtime = {
        .logit_bytes = 8, .hidden_copies = 2, .context_bytes = 1 << 28};
    struct names models = {.count = 0}, cards = {.count = 0};
    read_names(REFERENCE "/models.csv", "hf_id", &models);
    read_names(REFERENCE "/gpus.csv", "name", &cards);
    ck_assert_uint_eq(cards.count, 48);
    struct base_arena arena;
    struct kvsim_error err = {0};
    base_arena_init(&arena);
    struct spec_hardware *hardware = base_arena_array(&arena, cards.count, sizeof *hardware);
    for (size_t j = 0; j < cards.count; j++)
        ck_assert_msg(scenario_load_hardware(&arena, cards.at[j], &hardware[j], &err) == KVSIM_OK,
                      "%s: %s", cards.at[j], err.message);
    size_t started = 0, refused = 0;
    for (size_t i = 0; i < models.count; i++) {
        struct spec_model model;
        ck_assert_msg(scenario_load_model(&arena, models.at[i], &model, &err) == KVSIM_OK, "%s",
                      err.message);
        for (size_t j = 0; j < cards.count; j++) {
            for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
                struct kv_waterfall_inputs inputs = {
                    .model = &model,
                    .hardware = &hardware[j],
                    .kv = options(dtypes[d], "fp32"),
                    .weights = {.tensor_parallel = 1,
                                .pipeline_parallel = 1,
                                .quantization = "auto",
                                .dtype = "bf16"},
                    .pages = {.hybrid = true, .window_extra_tokens = 2048},
                    .gpu_memory_utilization = {9, 10},
                    .max_model_len = 8192,
                    .max_num_batched_tokens = 2048,
                    .max_num_seqs = 256,
                    .reserved_blocks = 1,
                    .startup_check = true,
                    .runtime = &runtime,
                    .runtime_source = "test",
                };
                struct kv_waterfall waterfall;
                err = (struct kvsim_error){0};
                enum kvsim_status status = kv_waterfall_make(&inputs, &waterfall, &err);
                check_answer(&waterfall, status, &err);
                started += status == KVSIM_OK && waterfall.starts ? 1 : 0;
                refused += status == KVSIM_OK && !waterfall.starts ? 1 : 0;
            }
        }
    }
    ck_assert_uint_gt(started, 5000);
    ck_assert_uint_gt(refused, 5000);
    base_arena_release(&arena);
}
END_TEST

int main(void)
{
    FILE *file = fopen(REFERENCE "/models.csv", "r");
    if (file == NULL)
        return 77; // the reference data is not there
    fclose(file);
    const TTest *const tests[] = {bytes_per_token_are_those_of_the_table,
                                  every_model_on_every_accelerator_is_answered};
    return check_run("validation.size_catalog", tests, sizeof tests / sizeof tests[0]);
}
