#include "cost/rates.h"

#include "fixture.h"

#include <math.h>

static struct spec_hardware hardware;

static struct cost_rates rates_of(struct spec_hardware of)
{
    struct cost_rates rates;
    struct kvsim_error err;
    hardware = of;
    ck_assert_int_eq(cost_rates_init(&rates, &hardware, COST_KERNELS_CURRENT, &err), KVSIM_OK);
    return rates;
}

static const struct cost_matrix bf16 = {.weight_bytes = 2, .rate = SPEC_BF16};
static const struct cost_matrix fp8 = {.weight_bytes = 1, .rate = SPEC_FP8, .quantizes = true};

START_TEST(few_rows_stream_weights)
{
    struct cost_rates rates = rates_of(fixture_h100());
    struct cost_time time = cost_gemm(&rates, &bf16, 1, 8192, 8192);
    double bytes = 2.0 * (8192.0 * 8192 + 8192 + 8192);
    ck_assert_double_eq_tol(time.s, 3.1e-6 + bytes / (0.86 * 3350e9), 1e-12);
    ck_assert_double_eq_tol(time.bytes, bytes, 1e-3);
    ck_assert_int_eq(time.bound, COST_WEIGHT_BANDWIDTH);
}
END_TEST

/* Where memory and compute take as long, a product takes 2^(1/p) times that: p = 4 with bulk copies, 2 without. */
START_TEST(loads_and_products_overlap_in_part)
{
    struct spec_hardware a100 = fixture_a100();
    a100.architecture = "ampere";
    struct cost_rates hopper = rates_of(fixture_h100()), ampere = rates_of(a100);
    struct cost_rates *const both[] = {&hopper, &ampere};
    for (size_t i = 0; i < 2; i++) {
        struct cost_rates *rates = both[i];
        rates->weight_stream[SPEC_BF16] = (struct spec_affine){.fixed_s = 0, .fraction = 1};
        double m = 64, bytes = 2 * (8192.0 * 8192 + 2 * m * 8192);
        double memory_s = bytes / rates->bytes_per_s;
        rates->gemm_fraction[SPEC_BF16] = 1e3;
        double rows = cost_gemm(rates, &bf16, m, 8192, 8192).s;
        ck_assert(rows >= memory_s && rows < 1.001 * memory_s);
        // The tiles of few rows fill part of the chip; a peak at which that takes as long as the bytes.
        rates->gemm_fraction[SPEC_BF16] = 1e-6;
        double compute_s = cost_gemm(rates, &bf16, m, 8192, 8192).s * 1e-6;
        rates->gemm_fraction[SPEC_BF16] = compute_s / memory_s;
        ck_assert_double_eq_tol(cost_gemm(rates, &bf16, m, 8192, 8192).s,
                                memory_s * (i == 0 ? sqrt(sqrt(2)) : sqrt(2)), 1e-4 * memory_s);
    }
}
END_TEST

/* Kernels of 2024 are never faster, and elementwise ones have a longer floor. */
START_TEST(old_kernels_are_slower)
{
    struct kvsim_error err;
    struct spec_hardware h100 = fixture_h100();
    struct cost_rates now = rates_of(fixture_h100()), old;
    ck_assert_int_eq(cost_rates_init(&old, &h100, COST_KERNELS_2024, &err), KVSIM_OK);
    for (double m = 1; m < 10000; m *= 3)
        ck_assert(cost_gemm(&old, &bf16, m, 8192, 8192).s >=
                  cost_gemm(&now, &bf16, m, 8192, 8192).s);
    ck_assert_double_eq_tol(cost_stream(&old, 1, COST_WEIGHT_BANDWIDTH).s, 3e-6, 1e-9);
    ck_assert(cost_stream(&old, 1e9, COST_WEIGHT_BANDWIDTH).s >
              1.5 * cost_stream(&now, 1e9, COST_WEIGHT_BANDWIDTH).s);
}
END_TEST

START_TEST(many_rows_compute)
{
    struct cost_rates rates = rates_of(fixture_h100());
    struct cost_time time = cost_gemm(&rates, &bf16, 8192, 8192, 8192);
    ck_assert_double_eq_tol(time.s, 3.1e-6 + 2 * pow(8192, 3) / (0.79 * 989e12), 1e-3 * time.s);
    ck_assert_int_eq(time.bound, COST_COMPUTE);
    ck_assert_double_eq_tol(time.flops, 2 * pow(8192, 3), 1);
}
END_TEST

/* Doubling the rate on paper gives less: activations are quantized first. 1.2-1.6 at 4096, measured on H100 and H200. */
START_TEST(eight_bits_are_not_twice_as_fast)
{
    struct cost_rates rates = rates_of(fixture_h100());
    double small =
        cost_gemm(&rates, &bf16, 4096, 4096, 4096).s / cost_gemm(&rates, &fp8, 4096, 4096, 4096).s;
    double large = cost_gemm(&rates, &bf16, 4096, 16384, 16384).s /
                   cost_gemm(&rates, &fp8, 4096, 16384, 16384).s;
    ck_assert(small > 1.1 && small < 1.6);
    ck_assert(large > small && large < 2);
}
END_TEST

START_TEST(no_kernel_beats_the_roofline)
{
    uint64_t state = 1;
    struct cost_rates devices[2] = {rates_of(fixture_h100()), rates_of(fixture_h100())};
    for (int i = 0; i < 3000; i++) {
        const struct cost_matrix *matrix = i & 1 ? &fp8 : &bf16;
        const struct cost_rates *rates = &devices[i & 1];
        double m = 1 + (double)fixture_below(&state, 10000),
               n = 1 + (double)fixture_below(&state, 30000);
        double k = 1 + (double)fixture_below(&state, 30000);
        struct cost_time time = cost_gemm(rates, matrix, m, n, k);
        struct cost_time more = cost_gemm(rates, matrix, m + 1, n, k);
        if (time.s < time.bytes / rates->bytes_per_s ||
            time.s < time.flops / rates->flop_per_s[matrix->rate] || more.s < time.s)
            ck_abort_msg("m %g n %g k %g", m, n, k);
    }
}
END_TEST

/* The shares that the hardware file states for prefill attention come out again at lengths inside their ranges. */
START_TEST(prefill_attention_by_length)
{
    struct cost_rates rates = rates_of(fixture_h100());
    const double lengths[] = {1024, 4096, 12000}, shares[] = {0.32, 0.53, 0.61};
    for (int i = 0; i < 3; i++) {
        double length = lengths[i], heads = 32, batch = 64;
        struct cost_attention_prefill work = {.pairs = batch * length * (length + 1) / 2,
                                              .tokens = batch * length,
                                              .flops_per_pair = 4 * heads * 128,
                                              .kv_bytes = batch * length * 4096,
                                              .kv_dtype = SPEC_BF16};
        struct cost_time time = cost_attention_prefill(&rates, &work);
        ck_assert_double_eq_tol(time.flops / (time.s * 989e12), shares[i], 0.1 * shares[i]);
    }
}
END_TEST

START_TEST(cached_tokens_cost_their_pairs)
{
    struct cost_rates rates = rates_of(fixture_h100());
    struct cost_attention_prefill work = {.pairs = 512 * 513 / 2,
                                          .tokens = 512,
                                          .flops_per_pair = 16384,
                                          .kv_bytes = 512 * 4096,
                                          .kv_dtype = SPEC_BF16};
    double alone_s = cost_attention_prefill(&rates, &work).s;
    work.pairs += 512 * 30000.0;
    double chunk_s = cost_attention_prefill(&rates, &work).s;
    ck_assert_double_eq_tol(chunk_s - alone_s,
                            512 * 30000.0 * 16384 / (rates.attention_fraction * 989e12), 1e-9);
    ck_assert(rates.attention_fraction > 0.55 && rates.attention_fraction < 0.75);
}
END_TEST

START_TEST(decode_attention_has_three_lines)
{
    struct cost_rates rates = rates_of(fixture_h100());
    struct cost_attention_decode work = {.sequences = 256,
                                         .kv_heads = 8,
                                         .bytes_per_token = 4096,
                                         .flops_per_token = 16384,
                                         .kv_dtype = SPEC_BF16};
    struct cost_decode_lines lines;
    cost_attention_decode_lines(&rates, &work, &lines);
    double floor_s = cost_attention_decode_at(&lines, &work, 256).s;
    ck_assert_double_eq(cost_attention_decode_at(&lines, &work, 512).s, floor_s);
    double contexts = 256 * 8192.0;
    struct cost_time time = cost_attention_decode_at(&lines, &work, contexts);
    ck_assert_double_eq_tol(time.s, 13.1e-6 + contexts * 4096 / (0.85 * 3350e9), 1e-9);
    ck_assert_int_eq(time.bound, COST_KV_BANDWIDTH);

    work.flops_per_token = 128 * 2 * 1088; // MLA, 128 heads: 242 FLOPs a byte
    work.bytes_per_token = 1152;
    work.kv_heads = 1;
    cost_attention_decode_lines(&rates, &work, &lines);
    ck_assert_int_eq(cost_attention_decode_at(&lines, &work, contexts).bound, COST_COMPUTE);
}
END_TEST

START_TEST(all_reduce_reads_its_table)
{
    struct cost_rates rates = rates_of(fixture_h100());
    ck_assert_double_eq(cost_all_reduce(&rates, 1, 1e6).s, 0);
    ck_assert_double_eq_tol(cost_all_reduce(&rates, 2, 1048576).s, 1048576 / 126e9, 1e-12);
    ck_assert_double_eq_tol(cost_all_reduce(&rates, 2, 4.0 * 1073741824).s,
                            4.0 * 1073741824 / 333e9, 1e-9);
    double between = sqrt(1048576.0 * 16777216.0); // the middle in log-log
    ck_assert_double_eq_tol(cost_all_reduce(&rates, 2, between).s, between / sqrt(126e9 * 204e9),
                            1e-12);
    ck_assert_double_eq_tol(cost_all_reduce(&rates, 2, 1).s, 4.25e-6, 1e-9);
    double last = 0;
    for (double bytes = 1; bytes < 1e10; bytes *= 1.1) {
        double s = cost_all_reduce(&rates, 2, bytes).s;
        ck_assert(s >= last);
        last = s;
    }
}
END_TEST

START_TEST(all_reduce_without_a_table)
{
    struct cost_rates rates = rates_of(fixture_h100());
    double link = cost_defaults.link_fraction * 450e9;
    ck_assert_double_eq_tol(cost_all_reduce(&rates, 4, 1e8).s, 4.25e-6 + 1.5e8 / link, 1e-9);
    struct spec_hardware pcie = fixture_h100();
    pcie.link_bytes_per_s = pcie.link_latency_s = 0;
    pcie.allreduce_count = 0;
    pcie.pcie_bytes_per_s = 55e9;
    rates = rates_of(pcie);
    ck_assert_double_eq_tol(
        cost_all_reduce(&rates, 2, 1e8).s,
        2 * cost_defaults.pcie_hop_s + 1e8 / (cost_defaults.pcie_fraction * 55e9), 1e-9);
}
END_TEST

/* Four GPUs on PCIe: six hops by the low-latency protocol at half the rate, then by the bulk one. */
START_TEST(pcie_has_two_protocols)
{
    struct spec_hardware pcie = fixture_h100();
    pcie.link_bytes_per_s = pcie.link_latency_s = 0;
    pcie.allreduce_count = 0;
    pcie.pcie_bytes_per_s = 55e9;
    struct cost_rates rates = rates_of(pcie);
    double shared = cost_defaults.pcie_fraction * 55e9 * pow(0.5, cost_defaults.pcie_crowding);
    ck_assert_double_eq_tol(cost_all_reduce(&rates, 4, 8192).s,
                            6 * cost_defaults.pcie_hop_s + 1.5 * 8192 / (0.5 * shared), 1e-12);
    ck_assert_double_eq_tol(cost_all_reduce(&rates, 4, 1e8).s,
                            6 * cost_defaults.pcie_bulk_hop_s + 1.5e8 / shared, 1e-9);
    for (double bytes = 1024; bytes < 1e9; bytes *= 1.3)
        ck_assert_double_ge(cost_all_reduce(&rates, 4, 1.3 * bytes).s,
                            cost_all_reduce(&rates, 4, bytes).s);
}
END_TEST

/* 64 x 128 tiles: one more row than whole waves hold starts another wave, and no row is ever cheaper. */
START_TEST(tiles_come_in_waves)
{
    struct spec_hardware tiled = fixture_h100();
    struct cost_matrix matrix = {.weight_bytes = 2, .rate = SPEC_BF16};
    struct cost_rates smooth = rates_of(tiled);
    double without = cost_gemm(&smooth, &matrix, 64 * 132, 128 * 8, 8192).s;
    tiled.compute_unit_count = 132;
    struct cost_rates waves = rates_of(tiled);
    double full = cost_gemm(&waves, &matrix, 64 * 132, 128 * 8, 8192).s;
    ck_assert_double_eq_tol(full, without, 1e-12);
    ck_assert_double_gt(cost_gemm(&waves, &matrix, 64 * 132 + 1, 128 * 8, 8192).s, 1.01 * full);
    double last = 0;
    for (int m = 1; m < 3000; m += 7) {
        double s = cost_gemm(&waves, &matrix, m, 4096, 4096).s;
        ck_assert_double_ge(s, last);
        last = s;
    }
}
END_TEST

/* Ampere gives a sequence of latents to one block of threads: a longer context, not more sequences, is what it costs. */
START_TEST(latents_are_not_split_before_hopper)
{
    struct spec_hardware ampere = fixture_a100();
    ampere.architecture = "ampere";
    struct cost_rates rates = rates_of(ampere);
    struct cost_attention_decode work = {.sequences = 1,
                                         .kv_heads = 1,
                                         .bytes_per_token = 1152,
                                         .flops_per_token = 2.0 * 16 * 1088,
                                         .latent_heads = 16,
                                         .kv_dtype = SPEC_BF16};
    struct cost_decode_lines one, four;
    cost_attention_decode_lines(&rates, &work, &one);
    double s = cost_attention_decode_at(&one, &work, 8192).s;
    ck_assert_double_eq_tol(
        s, one.alpha_s[COST_DECODE_MEMORY] + 8192 * cost_defaults.latent_unsplit_s, 1e-9);
    work.sequences = 4;
    cost_attention_decode_lines(&rates, &work, &four);
    ck_assert_double_eq_tol(cost_attention_decode_at(&four, &work, 4 * 8192).s, s, 1e-6);
    work.latent_heads = 0;
    cost_attention_decode_lines(&rates, &work, &four);
    ck_assert_double_lt(cost_attention_decode_at(&four, &work, 4 * 8192).s, s / 10);
}
END_TEST

/* What is stated replaces the datasheet's value, and nothing else moves. */
START_TEST(fitted_coefficients_replace)
{
    struct cost_rates plain = rates_of(fixture_h100()), fitted = plain;
    struct spec_calibration calibration = {.collective_count = 1};
    calibration.has[SPEC_GEMM_BF16] = true;
    calibration.value[SPEC_GEMM_BF16] = 0.5 * plain.gemm_fraction[SPEC_BF16];
    calibration.has[SPEC_HOST_STEP] = true;
    calibration.value[SPEC_HOST_STEP] = 3e-3;
    calibration.collectives[0] = (struct spec_collective){2, 7e-6, 1e9, 50e-6, 10e9};
    cost_rates_calibrate(&fitted, &calibration);
    struct cost_matrix matrix = {.weight_bytes = 2, .rate = SPEC_BF16};
    double fixed = plain.weight_stream[SPEC_BF16].fixed_s;
    double before = cost_gemm(&plain, &matrix, 8192, 8192, 8192).s - fixed;
    ck_assert_double_eq_tol(cost_gemm(&fitted, &matrix, 8192, 8192, 8192).s - fixed, 2 * before,
                            1e-3 * before);
    ck_assert_double_eq_tol(cost_gemm(&fitted, &matrix, 1, 8192, 8192).s,
                            cost_gemm(&plain, &matrix, 1, 8192, 8192).s, 1e-9);
    ck_assert_double_eq(fitted.host_per_step_s, 3e-3);
    ck_assert_double_eq_tol(cost_all_reduce(&fitted, 2, 1000).s, 8e-6, 1e-12);
    ck_assert_double_eq_tol(cost_all_reduce(&fitted, 2, 1e7).s, 50e-6 + 1e-3, 1e-12);
    ck_assert_double_eq(cost_all_reduce(&fitted, 4, 1e7).s, cost_all_reduce(&plain, 4, 1e7).s);
}
END_TEST

/* Half the bytes are read in no less than half the time, whichever width was measured. */
/* The start of a tile weighs the more the shorter the inner dimension is. */
START_TEST(tiles_start_and_end)
{
    struct cost_rates rates = rates_of(fixture_h100());
    double before[2], ratio[2];
    for (int i = 0; i < 2; i++)
        before[i] = cost_gemm(&rates, &bf16, 16384, 16384, i == 0 ? 1024 : 16384).s;
    struct spec_calibration calibration = {.source = ""};
    calibration.has[SPEC_GEMM_START] = true;
    calibration.value[SPEC_GEMM_START] = 256;
    cost_rates_calibrate(&rates, &calibration);
    for (int i = 0; i < 2; i++)
        ratio[i] = cost_gemm(&rates, &bf16, 16384, 16384, i == 0 ? 1024 : 16384).s / before[i];
    ck_assert_double_eq_tol(ratio[0], 1.25, 0.02);
    ck_assert_double_eq_tol(ratio[1], 1 + 256.0 / 16384, 0.002);
}
END_TEST

START_TEST(narrow_keys_gain_no_more_than_their_bytes)
{
    struct spec_hardware card = fixture_h100();
    struct cost_rates found;
    struct kvsim_error problem;
    for (int i = 1; i <= 20; i++) {
        card.efficiency = (struct spec_efficiency){.present = true};
        card.efficiency.decode_attention[SPEC_BF16] = (struct spec_affine){1e-6 * i, 0.05 * i};
        ck_assert_int_eq(cost_rates_init(&found, &card, COST_KERNELS_CURRENT, &problem), KVSIM_OK);
        ck_assert_double_lt(found.decode_attention[SPEC_FP8].fraction, 0.05 * i);
        ck_assert_double_gt(found.decode_attention[SPEC_FP8].fraction, 0.045 * i - 1e-9);
        ck_assert_double_gt(found.decode_attention[SPEC_FP8].fixed_s, 1e-6 * i);
    }
    card.efficiency.decode_attention[SPEC_FP8] = (struct spec_affine){5e-6, 0.99};
    ck_assert_int_eq(cost_rates_init(&found, &card, COST_KERNELS_CURRENT, &problem), KVSIM_OK);
    ck_assert_double_eq(found.decode_attention[SPEC_FP8].fraction, 0.99); // measured
}
END_TEST

START_TEST(gaps_are_filled)
{
    struct cost_rates rates = rates_of(fixture_a100());
    for (int i = 0; i < SPEC_DTYPE_COUNT; i++) {
        ck_assert(rates.gemm_fraction[i] > 0);
        ck_assert(rates.weight_stream[i].fraction > 0);
        ck_assert(rates.decode_attention[i].fraction > 0);
    }
    ck_assert_int_eq(cost_rates_dtype(&rates, SPEC_FP8), SPEC_BF16);
    struct spec_hardware volta = {
        .name = "v100", .memory_bytes_per_s = 900e9, .flop_per_s = {[SPEC_FP16] = 125e12}};
    rates = rates_of(volta);
    ck_assert_int_eq(cost_rates_dtype(&rates, SPEC_BF16), SPEC_FP16);
    ck_assert_double_eq(rates.weight_stream[SPEC_INT8].fraction,
                        cost_defaults.weight_stream[SPEC_INT8].fraction);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rates");
    tcase_add_test(tests, few_rows_stream_weights);
    tcase_add_test(tests, tiles_start_and_end);
    tcase_add_test(tests, loads_and_products_overlap_in_part);
    tcase_add_test(tests, old_kernels_are_slower);
    tcase_add_test(tests, many_rows_compute);
    tcase_add_test(tests, eight_bits_are_not_twice_as_fast);
    tcase_add_test(tests, no_kernel_beats_the_roofline);
    tcase_add_test(tests, prefill_attention_by_length);
    tcase_add_test(tests, cached_tokens_cost_their_pairs);
    tcase_add_test(tests, decode_attention_has_three_lines);
    tcase_add_test(tests, all_reduce_reads_its_table);
    tcase_add_test(tests, all_reduce_without_a_table);
    tcase_add_test(tests, pcie_has_two_protocols);
    tcase_add_test(tests, tiles_come_in_waves);
    tcase_add_test(tests, latents_are_not_split_before_hopper);
    tcase_add_test(tests, fitted_coefficients_replace);
    tcase_add_test(tests, gaps_are_filled);
    tcase_add_test(tests, narrow_keys_gain_no_more_than_their_bytes);
    return fixture_run(tests);
}
