#include "study/size.h"

#include "support/check_main.h"

#include <math.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

struct asked {
    struct study_sizes sizes;
    struct kvsim_diags diags;
    enum kvsim_status status;
};

static void ask(struct asked *asked, const char *const *pairs,
                const struct study_size_options *options, const char *axis)
{
    struct scenario_override overrides[16];
    size_t count = 0;
    for (; pairs[2 * count] != NULL; count++)
        overrides[count] = (struct scenario_override){pairs[2 * count], pairs[2 * count + 1]};
    struct scenario_request request = {
        .overrides = overrides, .override_count = count, .purpose = SCENARIO_FOR_SIZE};
    request.demand_sequences = options->sequences;
    request.demand_tokens = options->context_count > 0 ? options->contexts[0] : 0;
    struct study_axes axes;
    struct kvsim_error err;
    study_axes_init(&axes);
    if (axis != NULL)
        ck_assert_int_eq(study_axes_add(&axes, axis, &err), KVSIM_OK);
    asked->diags = (struct kvsim_diags){0};
    asked->status = study_sizes_make(&request, &axes, options, &asked->sizes, &asked->diags);
    study_axes_free(&axes);
    ck_assert_msg(asked->status == KVSIM_OK || axis == NULL, "%s", asked->diags.at[0].message);
}

#define PAIRS(...)              \
    (const char *const[])       \
    {                           \
        __VA_ARGS__, NULL, NULL \
    }

static int64_t line_of(const struct record_size_line *lines, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(lines[i].name, name) == 0)
            return lines[i].bytes;
    }
    return 0;
}

static void check_sums(const struct record_size *size)
{
    int64_t parts = 0;
    for (size_t i = 0; i < size->waterfall_count; i++) {
        if (strcmp(size->waterfall[i].name, "nominal") != 0 &&
            strcmp(size->waterfall[i].name, "driver") != 0)
            parts += size->waterfall[i].bytes;
    }
    ck_assert_int_eq(parts, size->driver_bytes_per_gpu);
    for (size_t i = 0; i < size->context_count; i++) {
        const struct record_size_context *row = &size->by_context[i];
        int64_t allocated = 0, all = 0;
        for (size_t j = 0; j < row->ledger_count; j++) {
            int64_t bytes = row->ledger[j].bytes;
            ck_assert_int_ge(bytes, 0);
            bool late = strcmp(row->ledger[j].name, "cached") == 0 ||
                        strcmp(row->ledger[j].name, "fragmented") == 0 ||
                        strcmp(row->ledger[j].name, "held_back") == 0 ||
                        strcmp(row->ledger[j].name, "free") == 0;
            all += bytes;
            allocated += late ? 0 : bytes;
        }
        ck_assert_int_eq(allocated, row->allocated_bytes);
        if (row->fits)
            ck_assert_int_eq(all, size->kv_pool_bytes);
    }
}

START_TEST(seventy_billion_on_one_card_is_refused_with_its_numbers)
{
    int64_t contexts[] = {8192};
    struct study_size_options options = {contexts, 1, 32};
    struct asked asked;
    ask(&asked,
        PAIRS("model", "llama-3.1-70b", "hardware", "h100-sxm", "engine.profile", "vllm-0.19"),
        &options, NULL);
    const struct record_size *size = &asked.sizes.at[0];
    ck_assert(!size->starts);
    ck_assert_str_eq(size->refusal_stage, "weights");
    ck_assert_int_eq(size->by_context[0].lower_bound_bytes, INT64_C(85899345920));
    ck_assert_uint_gt(size->note_count, 0);
    ck_assert_ptr_nonnull(strstr(size->notes[0], "85,899,345,920"));
    ck_assert_ptr_nonnull(strstr(size->notes[0], "79.18 GiB"));
    ck_assert_uint_gt(size->change_count, 0);
    study_sizes_free(&asked.sizes);
}
END_TEST

START_TEST(figures_of_the_literature)
{
    static const struct {
        const char *model;
        int64_t bytes;
    } known[] = {{"deepseek-v3", 70272},
                 {"qwen2.5-72b", 327680},
                 {"llama-3.1-405b", 516096},
                 {"falcon-7b", 8192}};
    struct study_size_options options = {0};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct asked asked;
        ask(&asked, PAIRS("model", known[i].model, "hardware", "h200-sxm"), &options, NULL);
        ck_assert_int_eq(asked.sizes.at[0].lower_bound_bytes_per_token, known[i].bytes);
        check_sums(&asked.sizes.at[0]);
        study_sizes_free(&asked.sizes);
    }
    struct asked asked;
    ask(&asked,
        PAIRS("model", "deepseek-v3", "hardware", "h200-sxm", "engine.tensor_parallel_size", "8"),
        &options, NULL);
    ck_assert_double_eq_tol(asked.sizes.at[0].comparison.ratio, 56.9, 0.02);
    ck_assert_int_eq(asked.sizes.at[0].kv_replication, 8);
    study_sizes_free(&asked.sizes);
}
END_TEST

START_TEST(twice_the_context_twice_the_bound)
{
    int64_t contexts[] = {4096, 8192, 8193};
    struct study_size_options options = {contexts, 3, 2};
    struct asked asked;
    ask(&asked, PAIRS("model", "llama-3.1-8b", "hardware", "h100-sxm"), &options, NULL);
    const struct record_size *size = &asked.sizes.at[0];
    check_sums(size);
    ck_assert_int_eq(2 * size->by_context[0].lower_bound_bytes,
                     size->by_context[1].lower_bound_bytes);
    const struct record_size_context *odd = &size->by_context[2];
    ck_assert_int_eq(line_of(odd->ledger, odd->ledger_count, "block_rounding"), 2 * 15 * 131072);
    ck_assert_str_eq(size->groups[0].formula, "2 x L 32 x H_kv 8 x d_h 128 x b 2");
    study_sizes_free(&asked.sizes);
}
END_TEST

START_TEST(every_layout_adds_up)
{
    static const char *const models[] = {
        "gemma-3-27b",           "qwen3.5-27b",         "gpt-oss-120b", "deepseek-v3.2",
        "llama-4-scout-17b-16e", "ai21-jamba-1.5-mini", "gemma-3n-e4b", "mistral-7b"};
    static const char *const engines[] = {"vllm-0.6", "vllm-0.10", "vllm-2026-08", "sglang",
                                          "trtllm",   "tgi",       "hf-concat"};
    int64_t contexts[] = {1, 1000, 5000, 20000};
    struct study_size_options options = {contexts, 4, 1};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        for (size_t j = 0; j < sizeof engines / sizeof engines[0]; j++) {
            struct asked asked;
            ask(&asked,
                PAIRS("model", models[i], "hardware", "b300-sxm", "engine.profile", engines[j],
                      "engine.max_model_len", "8192"),
                &options, NULL);
            if (asked.status == KVSIM_OK && strcmp(engines[j], "sglang") != 0 &&
                asked.sizes.at[0].starts) {
                bool has_states = false;
                for (size_t k = 0; k < asked.sizes.at[0].waterfall_count; k++)
                    has_states = has_states ||
                                 strcmp(asked.sizes.at[0].waterfall[k].name, "state_pool") == 0;
                if (!has_states)
                    check_sums(&asked.sizes.at[0]);
            } else if (asked.status != KVSIM_OK) {
                ck_assert_str_eq(asked.diags.at[0].code, "unequal-pages");
            }
            study_sizes_free(&asked.sizes);
        }
    }
}
END_TEST

/* Windowed layers with a pool of their own: what a sequence takes of both, and that it fits where both hold it. */
START_TEST(two_pools_hold_what_is_said_to_fit)
{
    static const int64_t contexts[] = {512, 1024, 20000, 131072};
    static const int64_t sequences[] = {1, 2, 40, 400};
    for (size_t s = 0; s < 4; s++) {
        struct asked asked;
        struct study_size_options options = {
            .contexts = contexts, .context_count = 4, .sequences = sequences[s]};
        ask(&asked,
            PAIRS("model", "gemma-3-12b", "hardware", "h100-sxm", "engine.profile", "sglang-0.5"),
            &options, NULL);
        const struct record_size *size = &asked.sizes.at[0];
        ck_assert_int_gt(size->kv_window_tokens, 0);
        ck_assert_int_lt(size->kv_window_tokens, 131072);
        ck_assert_int_eq(size->fixed_bytes, 1024 * 40 * 8192); // full windows
        ck_assert_int_eq(size->marginal_bytes_per_token, size->lower_bound_bytes_per_token);
        for (size_t i = 0; i < size->context_count; i++) {
            const struct record_size_context *row = &size->by_context[i];
            ck_assert_int_eq(row->fits, row->sequences <= row->concurrency_guaranteed);
            ck_assert_int_eq(row->allocated_bytes, row->lower_bound_bytes); // pages of a token
            ck_assert(!row->fits || row->allocated_bytes <= size->kv_pool_bytes);
        }
        study_sizes_free(&asked.sizes);
    }
}
END_TEST

START_TEST(a_table_keeps_going_over_what_cannot_be)
{
    struct study_size_options options = {0};
    struct asked asked;
    ask(&asked, PAIRS("model", "llama-3.1-8b", "hardware", "h100-sxm"), &options,
        "engine.tensor_parallel_size=1,3,4");
    ck_assert_uint_eq(asked.sizes.count, 3);
    ck_assert(asked.sizes.at[0].starts);
    ck_assert_ptr_nonnull(asked.sizes.at[1].refusal_message);
    ck_assert_str_eq(asked.sizes.at[2].axes[0].value, "4");
    ck_assert_int_gt(asked.sizes.at[2].kv_pool_tokens, asked.sizes.at[0].kv_pool_tokens);
    study_sizes_free(&asked.sizes);
}
END_TEST

START_TEST(cells_are_what_was_asked_for)
{
    struct study_size_options options = {0};
    struct asked asked;
    ask(&asked,
        PAIRS("model", "qwen2.5-7b", "hardware", "rtx4090", "engine.profile", "llama.cpp",
              "engine.ctx_size", "32k", "engine.parallel", "4", "engine.cache_type_k", "q8_0",
              "engine.cache_type_v", "q8_0"),
        &options, NULL);
    const struct record_size *size = &asked.sizes.at[0];
    ck_assert(size->starts);
    ck_assert_int_eq(size->kv_slots, 4);
    ck_assert_int_eq(size->kv_slot_tokens, 8192);
    ck_assert_int_eq(size->kv_pool_bytes, 952 * MIB);
    study_sizes_free(&asked.sizes);
}
END_TEST

CHECK_MAIN("study.size", seventy_billion_on_one_card_is_refused_with_its_numbers,
           figures_of_the_literature, twice_the_context_twice_the_bound, every_layout_adds_up,
           two_pools_hold_what_is_said_to_fit, a_table_keeps_going_over_what_cannot_be,
           cells_are_what_was_asked_for)
