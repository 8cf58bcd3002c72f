#include "kv/waterfall.h"

#include "unit/kv/waterfall_inputs.h"

#include <string.h>

static const struct kv_waterfall_change *find_change(const struct kv_waterfall *waterfall,
                                                     const char *key)
{
    for (size_t i = 0; i < waterfall->refusal.change_count; i++) {
        if (strcmp(waterfall->refusal.changes[i].key, key) == 0)
            return &waterfall->refusal.changes[i];
    }
    return NULL;
}

static const char *change_value(const struct kv_waterfall *waterfall, const char *key)
{
    const struct kv_waterfall_change *change = find_change(waterfall, key);
    return change == NULL ? "" : change->value;
}

static bool starts(const struct kv_waterfall_inputs *inputs)
{
    return waterfall_of(inputs).starts;
}

// A 70B in bf16 on one 80 GB card, for 32 users of 8,192 tokens.
START_TEST(mission_row_12)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_70b);
    in.demand_sequences = 32;
    in.demand_tokens = 8192;
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    ck_assert(!out.starts);
    ck_assert_int_eq(out.refusal.stage, KV_STAGE_WEIGHTS);
    ck_assert_str_eq(out.refusal.limit, "gpu_memory_utilization");
    ck_assert_uint_eq(out.demand_lower_bound_bytes, UINT64_C(85899345920));
    ck_assert_uint_eq(out.demand_lower_bound_bytes, card_80gb.memory_nominal_bytes);
    ck_assert_uint_gt(out.demand_lower_bound_bytes, card_80gb.memory_bytes);
    ck_assert(!out.fits_demand);
    ck_assert_double_eq_tol((double)out.weights_bytes / 1e9, 141.1, 0.1);
    ck_assert_int_eq(out.refusal.needed_bytes, out.weights_bytes);
    ck_assert_int_eq(out.refusal.available_bytes, out.budget_bytes_per_gpu);
    ck_assert_int_eq(out.kv_pool_blocks, 0);

    // Neither memory nor length helps; two cards or weights of a quarter of the size do. In fp8 they would fit, but not
    // one sequence of 8,192 tokens beside them.
    ck_assert_ptr_null(find_change(&out, "gpu_memory_utilization"));
    ck_assert_ptr_null(find_change(&out, "max_model_len"));
    ck_assert_ptr_null(find_change(&out, "kv_cache_dtype"));
    ck_assert_str_eq(change_value(&out, "tensor_parallel_size"), "2");
    ck_assert_str_eq(change_value(&out, "quantization"), "awq");
    ck_assert(!find_change(&out, "tensor_parallel_size")->fits_demand);
}
END_TEST

// Weights fit; one sequence of max_model_len doesn't.
static struct kv_waterfall_inputs short_of_pool(void)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.max_model_len = 131072;
    in.gpu_memory_utilization = (struct base_rational){38, 100};
    return in;
}

START_TEST(every_change_starts_and_a_smaller_one_does_not)
{
    struct kv_waterfall_inputs in = short_of_pool();
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert(!out.starts);
    ck_assert_int_eq(out.refusal.stage, KV_STAGE_KV_CACHE);
    ck_assert_int_eq(out.refusal.needed_bytes, INT64_C(131072) * 131072);
    ck_assert_int_eq(out.refusal.available_bytes, out.kv_usable_blocks * 131072 * 16);
    ck_assert_int_eq(out.refusal.estimated_max_model_len, out.kv_usable_tokens);

    int64_t hundredths = strtol(change_value(&out, "gpu_memory_utilization") + 2, NULL, 10);
    ck_assert_int_gt(hundredths, 38);
    in.gpu_memory_utilization.num = hundredths;
    ck_assert(starts(&in));
    in.gpu_memory_utilization.num = hundredths - 1;
    ck_assert(!starts(&in));

    in = short_of_pool();
    in.max_model_len = strtol(change_value(&out, "max_model_len"), NULL, 10);
    ck_assert_int_eq(in.max_model_len, out.kv_usable_tokens);
    ck_assert(starts(&in));
    in.max_model_len++;
    ck_assert(!starts(&in));

    in = short_of_pool();
    in.kv.tensor_parallel = (uint32_t)strtol(change_value(&out, "tensor_parallel_size"), NULL, 10);
    ck_assert_uint_eq(in.kv.tensor_parallel, 2);
    ck_assert(starts(&in));

    in = short_of_pool();
    ck_assert_str_eq(change_value(&out, "kv_cache_dtype"), "fp8");
    in.kv.k_dtype = in.kv.v_dtype = "fp8";
    ck_assert(starts(&in));

    in = short_of_pool();
    ck_assert_str_eq(change_value(&out, "quantization"), "fp8");
    in.weights.quantization = "fp8";
    ck_assert(starts(&in));
}
END_TEST

START_TEST(changes_carry_their_own_figures)
{
    struct kv_waterfall_inputs in = short_of_pool();
    struct kv_waterfall out = waterfall_of(&in);
    in.kv.k_dtype = in.kv.v_dtype = "fp8";
    struct kv_waterfall changed = waterfall_of(&in);
    const struct kv_waterfall_change *change = find_change(&out, "kv_cache_dtype");
    ck_assert_int_eq(change->kv_usable_tokens, changed.kv_usable_tokens);
    ck_assert_double_eq(change->max_concurrency, changed.max_concurrency);
    ck_assert(change->fits_demand);
}
END_TEST

START_TEST(a_device_is_not_asked_to_compute_what_it_cannot)
{
    struct spec_hardware old = card_80gb;
    old.flop_per_s[SPEC_FP8] = 0;
    struct kv_waterfall_inputs in = inputs_of(&model_llama_70b);
    in.max_model_len = 4096;
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert_str_eq(change_value(&out, "quantization"), "fp8");
    in.hardware = &old;
    out = waterfall_of(&in);
    ck_assert_str_eq(change_value(&out, "quantization"), "awq");
    old.flop_per_s[SPEC_INT8] = 624e12;
    out = waterfall_of(&in);
    ck_assert_str_eq(change_value(&out, "quantization"), "int8");
}
END_TEST

START_TEST(heads_that_do_not_divide_are_passed_over)
{
    // 12 query heads on 4 KV heads: after 1 rank comes 2, then 4; 3 divides the one but not the other.
    struct spec_model model = model_llama_70b;
    model.q_head_count = 48;
    model.kv_head_count = 4;
    model.groups[0].kv_head_count = 4;
    struct kv_waterfall_inputs in = inputs_of(&model);
    in.kv.tensor_parallel = 2;
    in.gpu_memory_utilization = (struct base_rational){6, 10};
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert(!out.starts);
    ck_assert_str_eq(change_value(&out, "tensor_parallel_size"), "4");
}
END_TEST

// Conformance: six blocks of four tokens, one of them null, for sequences of 24.
START_TEST(a_stated_pool_that_is_too_small)
{
    struct spec_model model = {
        .only_groups = true,
        .group_count = 1,
        .groups = {{.layer_count = 1, .stated_bytes_per_token = 1}},
    };
    struct kv_waterfall_inputs in = inputs_of(&model);
    in.hardware = NULL;
    in.kv.block_tokens = 4;
    in.max_model_len = 24;
    in.num_gpu_blocks_override = 6;
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert(!out.starts);
    ck_assert_int_eq(out.refusal.stage, KV_STAGE_KV_CACHE);
    ck_assert_int_eq(out.sequence_blocks, 6);
    ck_assert_int_eq(out.kv_usable_blocks, 5);
    ck_assert_int_eq(out.refusal.estimated_max_model_len, 20);
    ck_assert_uint_eq(out.refusal.change_count, 2);
    ck_assert_str_eq(change_value(&out, "num_gpu_blocks_override"), "7");
    ck_assert_str_eq(change_value(&out, "max_model_len"), "20");

    in.num_gpu_blocks_override = 0;
    in.kv_cache_memory_bytes = 24;
    out = waterfall_of(&in);
    ck_assert_str_eq(change_value(&out, "kv_cache_memory_bytes"), "28");
    in.kv_cache_memory_bytes = 0;
    in.kv_cache_tokens = 24;
    out = waterfall_of(&in);
    ck_assert_str_eq(change_value(&out, "kv_cache_tokens"), "28");
}
END_TEST

START_TEST(memory_in_use_before_lowers_what_can_be_asked_for)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.in_use_before = assumed_bytes(20 * GIB);
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert_int_eq(out.refusal.stage, KV_STAGE_FREE_MEMORY);
    ck_assert_int_eq(out.refusal.needed_bytes, out.budget_bytes_per_gpu);
    ck_assert_int_eq(out.refusal.available_bytes, (int64_t)card_80gb.memory_bytes - 20 * GIB);
    // (79.18 - 20) / 79.18 = 0.7474, less half a GiB of graphs beside it.
    ck_assert_str_eq(change_value(&out, "gpu_memory_utilization"), "0.74");
}
END_TEST

START_TEST(run_time_memory_alone_can_be_too_much)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.gpu_memory_utilization = (struct base_rational){20, 100};
    struct kv_waterfall out = waterfall_of(&in);
    check_sum(&out);
    ck_assert_int_eq(out.refusal.stage, KV_STAGE_PROFILE);
    ck_assert_int_lt(out.kv_available_bytes_per_gpu, 0);
    ck_assert_int_lt(row_bytes(&out, KV_WF_REMAINDER), 0);
    ck_assert_int_eq(out.refusal.estimated_max_model_len, 0);
}
END_TEST

START_TEST(graphs_need_room_beside_the_budget)
{
    struct kv_waterfall_inputs in = inputs_of(&model_llama_8b);
    in.gpu_memory_utilization = (struct base_rational){99, 100};
    in.activation.is_set = false;
    in.graphs = assumed_bytes(2 * GIB);
    struct kv_waterfall out = waterfall_of(&in);
    ck_assert_int_eq(out.refusal.stage, KV_STAGE_GRAPHS);
    ck_assert_str_eq(change_value(&out, "gpu_memory_utilization"), "0.97");
    in.charge_graphs = true;
    ck_assert(starts(&in));
}
END_TEST

CHECK_MAIN("kv.changes", mission_row_12, every_change_starts_and_a_smaller_one_does_not,
           changes_carry_their_own_figures, a_device_is_not_asked_to_compute_what_it_cannot,
           heads_that_do_not_divide_are_passed_over, a_stated_pool_that_is_too_small,
           memory_in_use_before_lowers_what_can_be_asked_for, run_time_memory_alone_can_be_too_much,
           graphs_need_room_beside_the_budget)
