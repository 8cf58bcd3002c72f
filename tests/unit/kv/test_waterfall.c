#include "kv/waterfall.h"

#include "unit/kv/waterfall_inputs.h"

#include <string.h>

START_TEST(the_parts_add_up_to_what_the_driver_shows)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    int64_t memory = (int64_t)card_80gb.memory_bytes;
    ck_assert_int_eq(out.budget_bytes_per_gpu, (memory * 9 + 9) / 10);
    int64_t available =
        out.budget_bytes_per_gpu - row_bytes(&out, KV_WF_WEIGHTS) - (GIB + 1024 * 8192) - 256 * MIB;
    ck_assert_int_eq(out.kv_available_bytes_per_gpu, available);
    ck_assert_int_eq(out.kv_pool_blocks, available / (131072 * 16));
    ck_assert_int_eq(row_bytes(&out, KV_WF_REMAINDER), available % (131072 * 16));
    ck_assert_int_eq(row_bytes(&out, KV_WF_KV_POOL), out.kv_pool_blocks * 131072 * 16);
    ck_assert_int_eq(row_bytes(&out, KV_WF_NOMINAL), 80 * GIB);
    ck_assert(out.starts);
    ck_assert_int_eq(out.refusal.stage, KV_STAGE_NONE);
}
END_TEST

START_TEST(figures_are_those_that_engines_print)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert_int_eq(out.kv_pool_tokens, out.kv_pool_blocks * 16);
    ck_assert_int_eq(out.kv_usable_blocks, out.kv_pool_blocks - 1);
    ck_assert_int_eq(out.kv_usable_tokens, out.kv_pool_tokens - 16);
    ck_assert_int_eq(out.sequence_blocks, 512);
    ck_assert_double_eq(out.max_concurrency, (double)out.kv_pool_blocks / 512);
    ck_assert_int_eq(out.concurrency_guaranteed, out.kv_usable_blocks / 512);
    ck_assert_int_eq(out.kv_pool_bytes, out.kv_pool_bytes_per_gpu);
}
END_TEST

START_TEST(graphs_are_charged_or_lie_outside)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    struct kv_waterfall outside = waterfall_of(&in);
    in.charge_graphs = true;
    struct kv_waterfall charged = waterfall_of(&in);
    check_sum(&charged);
    ck_assert_int_eq(outside.kv_available_bytes_per_gpu - charged.kv_available_bytes_per_gpu,
                     512 * MIB);
    ck_assert_int_eq(row_bytes(&charged, KV_WF_OUTSIDE_UTILIZATION) -
                         row_bytes(&outside, KV_WF_OUTSIDE_UTILIZATION),
                     512 * MIB);
    ck_assert_int_eq(row_bytes(&outside, KV_WF_GRAPHS), row_bytes(&charged, KV_WF_GRAPHS));
}
END_TEST

START_TEST(block_tables_lie_outside_the_budget)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    struct kv_waterfall without = waterfall_of(&in);
    in.block_table_entry_bytes = 4;
    in.sizing.place[KV_PART_BLOCK_TABLES] = KV_PLACE_BESIDE;
    struct kv_waterfall with = waterfall_of(&in);
    check_sum(&with);
    ck_assert_ptr_null(kv_waterfall_find(&without, KV_WF_BLOCK_TABLES));
    ck_assert_int_eq(row_bytes(&with, KV_WF_BLOCK_TABLES),
                     4 * in.max_num_seqs * (in.max_model_len / 16));
    ck_assert_int_eq(with.kv_pool_blocks, without.kv_pool_blocks);
    ck_assert_int_eq(row_bytes(&without, KV_WF_OUTSIDE_UTILIZATION) -
                         row_bytes(&with, KV_WF_OUTSIDE_UTILIZATION),
                     row_bytes(&with, KV_WF_BLOCK_TABLES));
}
END_TEST

START_TEST(ranks_share_weights_and_heads)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_70b);
    in.kv.tensor_parallel = 4;
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    ck_assert(out.starts);
    ck_assert_int_eq(out.kv_pool_bytes, out.kv_pool_blocks * 327680 * 16);
    ck_assert_int_eq(out.kv_pool_bytes_per_gpu * 4, out.kv_pool_bytes);
    ck_assert_int_eq(out.weights_bytes, 4 * row_bytes(&out, KV_WF_WEIGHTS));
    ck_assert_int_eq(out.kv_available_bytes, 4 * out.kv_available_bytes_per_gpu);
}
END_TEST

START_TEST(overrides_replace_what_is_derived)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.weights_bytes = (struct kv_waterfall_bytes){true, 15 * GIB, SPEC_MEASURED, "a log"};
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    const struct kv_waterfall_row *row = kv_waterfall_find(&out, KV_WF_WEIGHTS);
    ck_assert_int_eq(row->bytes_per_gpu, 15 * GIB);
    ck_assert_int_eq(row->claim, SPEC_MEASURED);
    ck_assert_str_eq(row->source, "a log");
}
END_TEST

START_TEST(unknown_parts_are_zero_and_say_so)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.activation.is_set = false;
    in.non_torch.is_set = false;
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    const struct kv_waterfall_row *row = kv_waterfall_find(&out, KV_WF_ACTIVATION);
    ck_assert_int_eq(row->bytes_per_gpu, 0);
    ck_assert_int_eq(row->claim, SPEC_ASSUMED);
    ck_assert_ptr_nonnull(strstr(row->source, "not known"));
}
END_TEST

START_TEST(states_beside_the_pool_are_a_line)
{
    struct kv_waterfall_inputs in = inputs_of(&model_qwen35_27b);
    in.max_num_seqs = 32;
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    ck_assert_int_eq(row_bytes(&out, KV_WF_STATE_POOL), INT64_C(32) * 153944064);
    in.pages.hybrid = true;
    out = waterfall_of(&in);
    check_sum(&out);
    ck_assert_ptr_null(kv_waterfall_find(&out, KV_WF_STATE_POOL));
}
END_TEST

// SGLang's mamba_full_memory_ratio: 0.9 bytes of states for one of tokens, in whole states.
START_TEST(states_share_what_is_left_with_tokens)
{
    struct kv_waterfall_inputs in = inputs_of(&model_qwen35_27b);
    const int64_t state = 153944064;
    in.max_num_seqs = 1;
    struct kv_waterfall alone = waterfall_of(&in);
    int64_t rest = alone.kv_available_bytes_per_gpu + state;
    in.sizing.state_share = (struct base_rational){9, 10};
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    ck_assert_int_gt(out.state_slots, 3);
    ck_assert_int_eq(out.state_slots, rest * 9 / 19 / state);
    ck_assert_int_eq(row_bytes(&out, KV_WF_STATE_POOL), out.state_slots * state);
    ck_assert_int_eq(out.kv_available_bytes_per_gpu, rest - out.state_slots * state);
    ck_assert_int_le(out.concurrency_guaranteed, out.state_slots);
}
END_TEST

// With SGLang's radix cache, running requests are at most a third of the states.
START_TEST(a_running_sequence_may_need_several_states)
{
    struct kv_waterfall_inputs in = inputs_of(&model_qwen35_27b);
    const int64_t state = 153944064;
    in.max_num_seqs = 1;
    int64_t rest = waterfall_of(&in).kv_available_bytes_per_gpu + state;
    in.sizing.state_share = (struct base_rational){8 * state, rest - 8 * state};
    in.sizing.state_slots_per_sequence = 3;
    in.demand_sequences = 2;
    in.demand_tokens = 16;
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert_int_eq(out.state_slots, 8);
    ck_assert_int_eq(out.state_sequences, 2);
    ck_assert_int_le(out.concurrency_guaranteed, 2);
    ck_assert(out.starts && out.fits_demand);
    in.demand_sequences = 3;
    ck_assert(!waterfall_of(&in).fits_demand);
    in.sizing.state_share = (struct base_rational){2 * state, rest - 2 * state};
    struct kv_waterfall none = waterfall_of(&in);
    ck_assert(!none.starts && none.state_slots == 2 && none.state_sequences == 0);
    ck_assert_str_eq(none.refusal.limit, "state_pool");
    ck_assert_int_eq(none.refusal.needed_bytes, 3 * state);
}
END_TEST

// A share of the memory that is smaller than one state: the blocks alone run nothing.
START_TEST(a_share_below_one_state_starts_nothing)
{
    struct kv_waterfall_inputs in = inputs_of(&model_qwen35_27b);
    const int64_t state = 153944064;
    in.max_num_seqs = 1;
    in.demand_sequences = in.demand_tokens = 1;
    struct kv_waterfall alone = waterfall_of(&in);
    ck_assert(!alone.has_state_slots && alone.fits_demand);
    int64_t rest = alone.kv_available_bytes_per_gpu + state;
    in.sizing.state_share = (struct base_rational){state, rest - state};
    struct kv_waterfall one = waterfall_of(&in);
    ck_assert(one.starts && one.fits_demand);
    ck_assert_int_eq(one.state_slots, 1);
    ck_assert_int_eq(one.concurrency_guaranteed, 1);
    in.sizing.state_share = (struct base_rational){state - 1, rest - state + 1};
    struct kv_waterfall none = waterfall_of(&in);
    ck_assert(none.has_state_slots && !none.starts && !none.fits_demand);
    ck_assert_int_eq(none.state_slots, 0);
    ck_assert_int_eq(none.concurrency_guaranteed, 0);
    ck_assert_int_gt(none.kv_usable_blocks, none.sequence_blocks);
    ck_assert_str_eq(none.refusal.limit, "state_pool");
    ck_assert_int_eq(none.refusal.needed_bytes, state);
    ck_assert_int_eq(none.refusal.available_bytes, state - 1);
    ck_assert_int_eq(none.refusal.estimated_max_model_len, 0);
}
END_TEST

// 65 layers with states over two stages: 33 on the first, and a drafter on the last leaves that one fewer blocks.
START_TEST(the_stage_with_the_fewest_states_counts)
{
    struct spec_model model = model_qwen35_27b;
    model.layer_count = 65;
    model.linear_layer_count = model.groups[1].layer_count = 65;
    struct kv_waterfall_inputs in = inputs_of(&model);
    in.kv.pipeline_parallel = 2;
    in.weights_bytes = assumed_bytes(30 * GIB);
    in.draft = assumed_bytes(512 * MIB);
    in.sizing.state_share = (struct base_rational){9, 10};
    struct kv_waterfall out = waterfall_of(&in);
    const int64_t state = INT64_C(153944064) / 48 * 33;
    int64_t rest = out.budget_bytes_per_gpu - 30 * GIB - row_bytes(&out, KV_WF_ACTIVATION) -
                   row_bytes(&out, KV_WF_NON_TORCH);
    ck_assert_int_eq(row_bytes(&out, KV_WF_DRAFT), 512 * MIB);
    ck_assert_int_eq(row_bytes(&out, KV_WF_STATE_POOL) % (state / 33 * 32), 0);
    ck_assert_int_eq(out.state_slots, rest * 9 / 19 / state);
    ck_assert_int_le(out.concurrency_guaranteed, out.state_slots);
}
END_TEST

static void check_uncountable(const struct kv_waterfall_inputs *in, const char *key)
{
    struct kv_waterfall out;
    struct kvsim_error err = {0};
    ck_assert_int_eq(kv_waterfall_make(in, &out, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "uncountable-bytes");
    ck_assert_str_eq(err.key, key);
}

START_TEST(what_64_bits_do_not_count_is_refused_with_its_key)
{
    struct spec_model model = {
        .only_groups = true,
        .group_count = 1,
        .groups = {{.layer_count = 1, .stated_bytes_per_token = 4294967296.0}},
    };
    struct kv_waterfall_inputs in = inputs_of(&model);
    in.num_gpu_blocks_override = 1000;
    in.max_model_len = 900000000; // 3.9e18 bytes
    ck_assert(!waterfall_of(&in).starts);
    in.max_model_len = INT64_C(4000000000);
    check_uncountable(&in, "engine.max_model_len");
    in.max_model_len = 8192;
    in.num_gpu_blocks_override = INT64_C(1) << 30;
    check_uncountable(&in, "engine.num_gpu_blocks_override");
    in.num_gpu_blocks_override = 0;
    in.kv_cache_tokens = INT64_C(1) << 34;
    check_uncountable(&in, "engine.kv_cache_tokens");
    in.kv_cache_tokens = 0;
    in.kv_cache_memory_bytes = INT64_C(1) << 62;
    check_uncountable(&in, "engine.kv_cache_memory_bytes");
    in.kv_cache_memory_bytes = INT64_C(1) << 50;
    model.groups[1] = (struct spec_kv_group){
        .kind = SPEC_KV_STATE, .layer_count = 1, .stated_bytes_per_sequence = UINT64_C(1) << 40};
    model.group_count = 2;
    in.max_num_seqs = 1 << 22;
    check_uncountable(&in, "engine.max_num_seqs");
    model.groups[1].layer_count = 1 << 23;
    check_uncountable(&in, "model");
    model.group_count = 1;
    in.max_num_seqs = 256;
    // A demand beyond all numbers is one that does not fit.
    in.demand_sequences = INT64_C(1) << 40;
    in.demand_tokens = INT64_C(1) << 40;
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert(!out.fits_demand);
    ck_assert_int_eq(out.demand_blocks, INT64_MAX);
    ck_assert_uint_eq(out.demand_lower_bound_bytes, INT64_MAX);
}
END_TEST

// Qwen3-4B on an accelerator, logged: 26,954,181,529 B are 1,428 blocks of 128 tokens, 44.62 sequences of 4,096.
START_TEST(a_stated_pool_in_bytes)
{
    struct spec_model model = {
        .only_groups = true,
        .group_count = 1,
        .groups = {{.layer_count = 36, .kv_head_count = 8, .k_dim = 128, .v_dim = 128}},
    };
    struct kv_waterfall_inputs in = inputs_of(&model);
    in.hardware = NULL;
    in.kv.block_tokens = 128;
    in.max_model_len = 4096;
    in.kv_cache_memory_bytes = 26954181529;
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert(out.pool_is_stated && out.starts);
    ck_assert_int_eq(out.kv_pool_blocks, 1428);
    ck_assert_int_eq(out.kv_pool_tokens, 182784);
    ck_assert_double_eq_tol(out.max_concurrency, 44.62, 0.006);
    ck_assert_int_eq(row_bytes(&out, KV_WF_REMAINDER) + row_bytes(&out, KV_WF_KV_POOL),
                     26954181529);
}
END_TEST

// TensorRT-LLM 0.13 prints 631 blocks of 64 tokens, 512 KiB each, for 19.70 GiB.
START_TEST(blocks_may_be_rounded_up)
{
    struct spec_model model = {
        .only_groups = true,
        .group_count = 1,
        .groups = {{.layer_count = 32, .kv_head_count = 32, .k_dim = 128, .v_dim = 128}},
    };
    struct kv_waterfall_inputs in = inputs_of(&model);
    in.hardware = NULL;
    in.kv.block_tokens = 64;
    in.max_model_len = 4096;
    in.kv_cache_memory_bytes = INT64_C(1970) * (1 << 30) / 100;
    ck_assert_int_eq(waterfall_of(&in).kv_pool_blocks, 630);
    in.sizing.rounds_blocks_up = true;
    ck_assert_int_eq(waterfall_of(&in).kv_pool_blocks, 631);
    // Whole blocks stay what they are, as does what is less than a token.
    in.kv_cache_memory_bytes = INT64_C(630) << 25;
    ck_assert_int_eq(waterfall_of(&in).kv_pool_blocks, 630);
    in.kv_cache_memory_bytes += (1 << 19) - 1;
    ck_assert_int_eq(waterfall_of(&in).kv_pool_blocks, 630);
    in.kv_cache_memory_bytes += 1;
    ck_assert_int_eq(waterfall_of(&in).kv_pool_blocks, 631);
}
END_TEST

// gemma-3-27b, logged: 89,994 blocks, 205,696 tokens, 50.05 sequences of 4,096.
START_TEST(a_stated_pool_in_blocks_with_windows)
{
    struct kv_waterfall_inputs in = inputs_of(&model_gemma3_27b);
    in.num_gpu_blocks_override = 89994;
    in.max_model_len = 4096;
    in.pages = (struct kv_pages_options){.hybrid = true, .window_extra_tokens = 8192};
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert_int_eq(out.kv_pool_tokens, 205696);
    ck_assert_double_eq_tol(out.max_concurrency, 50.05, 0.005);
}
END_TEST

START_TEST(a_stated_pool_in_tokens_is_as_a_log_prints_it)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.kv_cache_tokens = 702800;
    in.max_model_len = 131072;
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert_int_eq(out.kv_pool_blocks, 43925);
    ck_assert_int_eq(out.kv_pool_tokens, 702800);
    ck_assert_double_eq_tol(out.max_concurrency, 5.36, 0.005);
    // 85.79 GiB: more than the card has, and not checked.
    ck_assert(out.starts);
    ck_assert_int_gt(out.kv_pool_bytes, (int64_t)card_80gb.memory_bytes);
}
END_TEST

START_TEST(derived_memory_gives_an_interval)
{
    struct spec_hardware card = {.memory_nominal_bytes = UINT64_C(80) << 30};
    ck_assert(spec_hardware_derive_memory(&card, &spec_memory_ratio_unknown));
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.hardware = &card;
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    ck_assert(out.memory_is_derived);
    ck_assert_int_lt(out.kv_pool_blocks_low, out.kv_pool_blocks);
    ck_assert_int_gt(out.kv_pool_blocks_high, out.kv_pool_blocks);
    ck_assert_int_eq(kv_waterfall_find(&out, KV_WF_DRIVER)->claim, SPEC_ASSUMED);
    // 5 % less memory is 5 % of 80 GiB x 0.9 less pool.
    double low = (double)(out.kv_pool_blocks - out.kv_pool_blocks_low) * 131072 * 16;
    ck_assert_double_eq_tol(low, 0.05 * 80 * (double)GIB * 0.9, 131072 * 16);
}
END_TEST

START_TEST(a_skipped_check_starts_and_warns)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.num_gpu_blocks_override = 100;
    in.startup_check = false;
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert(out.starts && out.startup_check_skipped);
    ck_assert_int_eq(out.refusal.stage, KV_STAGE_KV_CACHE);
    // Without any block it can't run at all.
    in.num_gpu_blocks_override = 1;
    out = waterfall_of(&in);
    ck_assert(!out.starts);
}
END_TEST

START_TEST(inputs_without_an_answer_are_errors)
{
    struct kv_waterfall out;
    struct kvsim_error err = {0};
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.hardware = NULL;
    ck_assert_int_eq(kv_waterfall_make(&in, &out, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "no-hardware");

    struct spec_hardware unknown = {.memory_nominal_bytes = 1};
    in.hardware = &unknown;
    ck_assert_int_eq(kv_waterfall_make(&in, &out, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "no-memory");

    in = inputs_of(&model_llama_8b);
    struct spec_model nothing = model_llama_8b;
    nothing.group_count = 0;
    in.model = &nothing;
    ck_assert_int_eq(kv_waterfall_make(&in, &out, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "no-kv");

    in = inputs_of(&model_llama_8b);
    in.kv.k_dtype = "fp7";
    ck_assert_int_eq(kv_waterfall_make(&in, &out, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "kv-dtype");
}
END_TEST

START_TEST(lines_and_stages_are_named)
{
    ck_assert_str_eq(kv_waterfall_line_name(KV_WF_OUTSIDE_UTILIZATION), "outside_utilization");
    ck_assert_str_eq(kv_waterfall_line_name(KV_WF_KV_POOL), "kv_pool");
    for (int i = 0; i < KV_WF_LINE_COUNT; i++)
        ck_assert_ptr_nonnull(kv_waterfall_line_name((enum kv_waterfall_line)i));
    ck_assert_str_eq(kv_waterfall_stage_name(KV_STAGE_KV_CACHE), "kv_cache");
    ck_assert_str_eq(kv_waterfall_stage_name(KV_STAGE_GRAPHS), "graphs");
}
END_TEST

// 61 layers over two stages: 30 and 31, and the embedding or the head on one of them; the least blocks count for both.
START_TEST(the_smallest_stage_counts)
{
    struct kv_waterfall_inputs inputs = inputs_of(&model_deepseek_v3);
    inputs.kv.tensor_parallel = 8;
    inputs.kv.pipeline_parallel = 2;
    struct kv_waterfall both = waterfall_of(&inputs);
    int64_t least = INT64_MAX, layers = 0;
    for (uint32_t stage = 1; stage <= 2; stage++) {
        struct spec_kv_options kv = inputs.kv;
        struct spec_weights_options weights = {.tensor_parallel = 8,
                                               .pipeline_parallel = 2,
                                               .stage = stage,
                                               .quantization = "none",
                                               .dtype = "bf16"};
        struct spec_kv_layout layout;
        struct kvsim_error err = {0};
        uint64_t bytes;
        kv.stage = stage;
        ck_assert_int_eq(spec_kv_layout_make(&model_deepseek_v3, &kv, &layout, &err), KVSIM_OK);
        ck_assert_int_eq(spec_weights_bytes_per_gpu(&model_deepseek_v3, &weights, &bytes, &err),
                         KVSIM_OK);
        layers += layout.groups[0].layer_count_per_gpu;
        int64_t rest = both.budget_bytes_per_gpu - (int64_t)bytes -
                       row_bytes(&both, KV_WF_ACTIVATION) - row_bytes(&both, KV_WF_NON_TORCH);
        int64_t blocks = rest > 0 ? rest / (int64_t)layout.block_bytes_per_gpu : 0;
        least = blocks < least ? blocks : least;
    }
    ck_assert_int_eq(layers, 61);
    ck_assert_int_eq(both.kv_pool_blocks, least);
    check_sum(&both);
}
END_TEST

CHECK_MAIN("kv.waterfall", a_share_below_one_state_starts_nothing,
           a_running_sequence_may_need_several_states, the_stage_with_the_fewest_states_counts,
           what_64_bits_do_not_count_is_refused_with_its_key, the_smallest_stage_counts,
           the_parts_add_up_to_what_the_driver_shows, figures_are_those_that_engines_print,
           graphs_are_charged_or_lie_outside, block_tables_lie_outside_the_budget,
           ranks_share_weights_and_heads, overrides_replace_what_is_derived,
           unknown_parts_are_zero_and_say_so, states_beside_the_pool_are_a_line,
           states_share_what_is_left_with_tokens, a_stated_pool_in_bytes,
           a_stated_pool_in_blocks_with_windows, a_stated_pool_in_tokens_is_as_a_log_prints_it,
           derived_memory_gives_an_interval, a_skipped_check_starts_and_warns,
           inputs_without_an_answer_are_errors, lines_and_stages_are_named,
           blocks_may_be_rounded_up)
