#include "load_text.h"

#include "support/check_main.h"

static void load_one(struct base_arena *arena, const char *name, struct spec_hardware *out)
{
    struct kvsim_error err = {0};
    enum kvsim_status status = scenario_load_hardware(arena, name, out, &err);
    ck_assert_msg(status == KVSIM_OK, "%s: %s", name, err.message);
}

START_TEST(every_shipped_device_loads)
{
    struct scenario_entries entries;
    scenario_list_data(SCENARIO_HARDWARE, NULL, &entries);
    ck_assert_uint_ge(entries.count, 48);
    for (size_t i = 0; i < entries.count; i++) {
        struct base_arena arena;
        struct spec_hardware hardware;
        base_arena_init(&arena);
        load_one(&arena, entries.at[i].name, &hardware);
        ck_assert_double_gt(hardware.memory_bytes_per_s, 0);
        ck_assert_uint_gt(hardware.memory_nominal_bytes, 0);
        ck_assert(hardware.memory_bytes <= hardware.memory_nominal_bytes);
        ck_assert(hardware.efficiency.present);
        ck_assert_double_gt(hardware.efficiency.weight_stream[SPEC_BF16].fraction, 0);
        base_arena_release(&arena);
    }
    scenario_entries_free(&entries);
}
END_TEST

START_TEST(figures_of_one_device)
{
    struct base_arena arena;
    struct spec_hardware h100;
    base_arena_init(&arena);
    load_one(&arena, "h100-sxm", &h100);
    ck_assert_str_eq(h100.name, "h100-sxm5-80gb");
    ck_assert_uint_eq(h100.memory_bytes, UINT64_C(85018877624)); // 79.18 GiB
    ck_assert_uint_eq(h100.memory_nominal_bytes, UINT64_C(85899345920));
    ck_assert_double_eq(h100.memory_bytes_per_s, 3.35e12);
    ck_assert_double_eq(h100.flop_per_s[SPEC_BF16], 989e12); // dense
    ck_assert_double_eq(h100.flop_per_s[SPEC_FP8], 1979e12);
    ck_assert_double_eq(h100.link_bytes_per_s, 450e9);
    ck_assert_double_eq(h100.pcie_bytes_per_s, 55e9);
    ck_assert_double_eq_tol(h100.link_latency_s, 4.25e-6, 1e-15);
    ck_assert_int_eq(h100.memory_claim, SPEC_MEASURED);
    ck_assert(!h100.memory_is_derived);
    ck_assert_uint_eq(h100.allreduce_count, 3);
    ck_assert_uint_eq(h100.allreduce[1].gpu_count, 4);
    ck_assert_uint_eq(h100.allreduce[1].point_count, 6);
    ck_assert_double_eq(h100.allreduce[1].message_bytes[0], 32768);
    base_arena_release(&arena);
}
END_TEST

START_TEST(an_efficiency_comes_leaf_by_leaf)
{
    struct base_arena arena;
    struct spec_hardware hardware;
    base_arena_init(&arena);
    load_one(&arena, "h100-sxm", &hardware);
    ck_assert_double_eq(hardware.efficiency.gemm_prefill[SPEC_BF16], 0.81); // its own
    ck_assert_double_eq_tol(hardware.efficiency.launch_s, 2.5e-6, 1e-15);   // of its generation
    ck_assert_double_eq(hardware.efficiency.gemm_prefill[SPEC_FP4], 0.37);  // of all devices
    load_one(&arena, "gh200", &hardware);
    ck_assert_double_eq(hardware.efficiency.gemm_prefill[SPEC_BF16], 0.8);
    ck_assert_double_eq(hardware.pcie_bytes_per_s, 359e9); // NVLink-C2C instead of PCIe
    base_arena_release(&arena);
}
END_TEST

START_TEST(memory_is_derived_where_no_driver_was_seen)
{
    struct base_arena arena;
    struct spec_hardware hardware;
    base_arena_init(&arena);
    load_one(&arena, "inferentia2", &hardware);
    ck_assert(hardware.memory_is_derived);
    ck_assert_int_eq(hardware.memory_claim, SPEC_ASSUMED);
    ck_assert_uint_eq(hardware.memory_nominal_bytes, (uint64_t)32 << 30);
    ck_assert_uint_eq(hardware.memory_bytes, (uint64_t)(0.98 * (double)((uint64_t)32 << 30)));
    ck_assert_uint_eq(hardware.memory_high_bytes, (uint64_t)32 << 30);
    load_one(&arena, "gb300", &hardware); // as B300: 0.930
    ck_assert_uint_eq(hardware.memory_bytes, (uint64_t)(0.930 * 288 * (double)((uint64_t)1 << 30)));
    load_one(&arena, "h800-sxm", &hardware); // the middle of what its sibling shows
    ck_assert(hardware.memory_is_derived);
    ck_assert_uint_gt(hardware.memory_bytes, hardware.memory_low_bytes);
    ck_assert_uint_lt(hardware.memory_bytes, hardware.memory_high_bytes);
    load_one(&arena, "m2-ultra", &hardware); // never for Apple
    ck_assert_uint_eq(hardware.memory_bytes, 0);
    base_arena_release(&arena);
}
END_TEST

#define RUN BARE_WORKLOAD "model: llama-3.1-8b\nengine: {max_model_len: 64}\n"

static void refuse(const char *hardware, const char *code)
{
    struct loaded loaded;
    char text[2048];
    snprintf(text, sizeof text, "hardware: %s\n%s", hardware, RUN);
    load_text(&loaded, text);
    ck_assert_msg(loaded.status == KVSIM_ERR_SCENARIO, "%s", hardware);
    ck_assert_msg(strcmp(loaded.diags.at[0].code, code) == 0, "%s: %s [%s]", hardware,
                  loaded.diags.at[0].message, loaded.diags.at[0].code);
    ck_assert_int_eq(loaded.diags.at[0].line, 1);
    loaded_end(&loaded);
}

START_TEST(bad_devices_are_refused)
{
    refuse("{base: h100-sxm, memory: -4GiB}", "out-of-range");
    refuse("{base: h100-sxm, memory: 4 pounds}", "unknown-unit");
    refuse("{base: h100-sxm, memory_range: [4GiB]}", "wrong-type");
    refuse("{base: h100-sxm, memory_range: [4GiB, 3GiB]}", "out-of-order");
    refuse("{base: h100-sxm, tflops: {bf17: 4}}", "unknown-key");
    refuse("{base: h100-sxm, efficiency: {gem: {}}}", "unknown-key");
    refuse("{base: h100-sxm, efficiency: {gemm: {bf61: {}}}}", "unknown-key");
    refuse("{base: h100-sxm, efficiency: {gemm: {bf16: {prefill: 1.5}}}}", "out-of-range");
    refuse("{base: h100-sxm, all_reduce: [{gpus: 1, busbw: [[1, 1 GB/s]]}]}", "out-of-range");
    refuse("{base: h100-sxm, all_reduce: [{gpus: 2, busbw: [[2, 1 GB/s], [1, 1 GB/s]]}]}",
           "out-of-order");
    refuse("{base: h100-sxm, all_reduce: [{gpus: 2, claim: measured, busbw: [[2, 1 GB/s]]}]}",
           "missing-conditions");
    refuse("{base: h100-sxm, provenance: {power: {claim: measured, source: x}}}",
           "missing-conditions");
    refuse("[1]", "wrong-type");
    refuse("{base: [1]}", "wrong-type");
}
END_TEST

CHECK_MAIN("scenario.hardware", every_shipped_device_loads, figures_of_one_device,
           an_efficiency_comes_leaf_by_leaf, memory_is_derived_where_no_driver_was_seen,
           bad_devices_are_refused)
