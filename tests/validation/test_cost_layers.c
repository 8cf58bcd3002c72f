/*
 * One transformer layer at level datasheet against layers composed of measured kernels (reference data,
 * aic_layer_times.csv: QKV, attention, output, MLP and two all-reduces; no norms, rope, activations or host).
 *
 * The devices carry the shares that the reference table of efficiencies states for them: what is tested is the form of
 * the model, and that a change does not make it worse. Bounds are a little above what was reached when they were set.
 */
#include "unit/cost/fixture.h"

#include <math.h>
#include <stdio.h>

enum { DEVICES = 4, ROWS_MAX = 4096, PHASES = 2 };

static const char *const device_names[DEVICES] = {"a100_sxm", "h100_sxm", "h200_sxm", "b200_sxm"};
static const double median_bounds[PHASES] = {0.06, 0.07}; /* decode, prefill */

static struct spec_allreduce all_reduce(uint32_t gpu_count, double latency_us,
                                        const double gb_per_s[6])
{
    struct spec_allreduce table = {
        .gpu_count = gpu_count,
        .latency_s = latency_us * 1e-6,
        .point_count = 6,
        .message_bytes = {32768, 262144, 1048576, 16777216, 134217728, 1073741824}};
    for (int i = 0; i < 6; i++)
        table.busbw_bytes_per_s[i] = gb_per_s[i] * 1e9;
    return table;
}

static struct spec_hardware device(int index)
{
    struct spec_hardware hardware = {.name = device_names[index], .allreduce_count = 3};
    struct spec_efficiency *efficiency = &hardware.efficiency;
    static const double bandwidth[DEVICES] = {2039e9, 3350e9, 4800e9, 8000e9};
    static const double flop_per_s[DEVICES] = {312e12, 989e12, 989e12, 2250e12};
    static const double gemm[DEVICES] = {0.90, 0.79, 0.79, 0.70};
    static const struct spec_affine stream[DEVICES] = {
        {4.4e-6, 0.72}, {3.1e-6, 0.86}, {3.4e-6, 0.82}, {2.7e-6, 0.77}};
    static const struct spec_affine stream8[DEVICES] = {
        {0, 0}, {5.8e-6, 0.79}, {6.1e-6, 0.74}, {6.5e-6, 0.68}};
    static const struct spec_affine decode[DEVICES] = {
        {18.4e-6, 0.68}, {13.1e-6, 0.85}, {13.4e-6, 0.81}, {9.9e-6, 0.88}};
    static const struct spec_affine decode8[DEVICES] = {
        {0, 0}, {16.1e-6, 0.73}, {16e-6, 0.56}, {10.5e-6, 0.85}};
    static const double attention[DEVICES][3] = {
        {0.56, 0.51, 0.37}, {0.61, 0.53, 0.32}, {0.60, 0.52, 0.33}, {0.53, 0.43, 0.23}};
    static const double latency_us[DEVICES][3] = {
        {4.87, 5.16, 5.7}, {4.25, 4.52, 4.57}, {4.41, 4.48, 4.71}, {6.59, 6.86, 7.42}};
    static const double busbw[DEVICES][3][6] = {{{6.27, 39.9, 98, 133, 180, 199},
                                                 {8.19, 39.7, 85.8, 138, 202, 221},
                                                 {8.3, 26.8, 84.5, 137, 202, 228}},
                                                {{7.43, 50.8, 126, 204, 288, 333},
                                                 {10.1, 55.2, 125, 255, 327, 357},
                                                 {10.5, 42.9, 124, 318, 409, 468}},
                                                {{7.09, 50.5, 124, 219, 290, 330},
                                                 {9.99, 56.3, 130, 268, 331, 356},
                                                 {10.1, 45.6, 130, 337, 418, 470}},
                                                {{4.68, 34.2, 79.9, 292, 479, 565},
                                                 {6.65, 45.6, 85.4, 370, 571, 641},
                                                 {6.98, 17.8, 107, 464, 531, 722}}};
    hardware.memory_bytes_per_s = bandwidth[index];
    hardware.flop_per_s[SPEC_BF16] = flop_per_s[index];
    hardware.flop_per_s[SPEC_FP8] = index == 0 ? 0 : 2 * flop_per_s[index];
    efficiency->gemm_prefill[SPEC_BF16] = gemm[index];
    efficiency->weight_stream[SPEC_BF16] = stream[index];
    efficiency->weight_stream[SPEC_FP8] = stream8[index];
    efficiency->decode_attention[SPEC_BF16] = decode[index];
    efficiency->decode_attention[SPEC_FP8] = decode8[index];
    efficiency->prefill_attention_long = attention[index][0];
    efficiency->prefill_attention_mid = attention[index][1];
    efficiency->prefill_attention_short = attention[index][2];
    for (int i = 0; i < 3; i++)
        hardware.allreduce[i] = all_reduce(2u << i, latency_us[index][i], busbw[index][i]);
    return hardware;
}

static struct spec_model model_named(const char *name)
{
    struct spec_model model = fixture_llama8b();
    if (strcmp(name, "Llama-3.1-70B") == 0) {
        model.layer_count = 80;
        model.hidden = 8192;
        model.q_head_count = 64;
        model.intermediate = 28672;
    } else if (strcmp(name, "Qwen3-8B") == 0) {
        model.layer_count = 36;
        model.intermediate = 12288;
    } else if (strcmp(name, "Qwen3-32B") == 0) {
        model.layer_count = 64;
        model.hidden = 5120;
        model.q_head_count = 64;
        model.intermediate = 25600;
    } else {
        ck_assert_str_eq(name, "Llama-3.1-8B");
    }
    model.attention_layer_count = model.groups[0].layer_count = model.layer_count;
    return model;
}

struct row {
    char gpu[32], model[32], weight_dtype[16], kv_dtype[16], phase[16];
    int tp;
    long batch, new_tokens, context;
    double layer_ms;
};

static bool row_read(const char *line, struct row *row)
{
    return sscanf(line,
                  "%31[^,],%31[^,],%d,%15[^,],%15[^,],%15[^,],%ld,%ld,%ld,%*[^,],%*[^,],%*[^,],%*[^"
                  ",],%*[^,],%*[^,],%lf",
                  row->gpu, row->model, &row->tp, row->weight_dtype, row->kv_dtype, row->phase,
                  &row->batch, &row->new_tokens, &row->context, &row->layer_ms) == 10;
}

static double layer_ms(const struct row *row, int index)
{
    struct fixture fixture;
    fixture_init(&fixture, device(index), model_named(row->model));
    fixture.config.tensor_parallel = (uint32_t)row->tp;
    fixture.config.quantization = strcmp(row->weight_dtype, "fp8") == 0 ? "fp8" : "none";
    fixture.config.kv_dtype = strcmp(row->kv_dtype, "fp8") == 0 ? "fp8" : "bf16";
    fixture.config.max_decode_seqs = (uint32_t)row->batch;
    fixture_start(&fixture);
    struct cost_shape shape = {0};
    if (strcmp(row->phase, "decode") == 0)
        fixture_add_decode(&fixture, &shape, (uint32_t)row->batch, row->context);
    else
        fixture_add_prefill(&fixture, &shape, (uint32_t)row->batch, row->new_tokens, 0);
    struct cost_explanation explanation;
    cost_explain(fixture.cost, &shape, &explanation);
    static const enum cost_operator measured[] = {
        COST_OP_QKV,       COST_OP_ATTENTION_PREFILL, COST_OP_ATTENTION_DECODE,
        COST_OP_O,         COST_OP_GATE_UP,           COST_OP_DOWN,
        COST_OP_ALL_REDUCE};
    double s = 0;
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++)
        s += explanation.rows[measured[i]].per_layer_s;
    fixture_release(&fixture);
    return 1e3 * s;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double errors[DEVICES][PHASES][ROWS_MAX];
static size_t error_counts[DEVICES][PHASES];

static void rows_collect(FILE *file)
{
    char line[512];
    struct row row;
    while (fgets(line, sizeof line, file)) {
        if (!row_read(line, &row))
            continue;
        int phase = strcmp(row.phase, "decode") != 0;
        for (int i = 0; i < DEVICES; i++)
            if (strcmp(row.gpu, device_names[i]) == 0 && error_counts[i][phase] < ROWS_MAX)
                errors[i][phase][error_counts[i][phase]++] =
                    fabs(layer_ms(&row, i) / row.layer_ms - 1);
    }
}

START_TEST(layers_are_near_the_measured_ones)
{
    FILE *file = fopen(KVSIM_REFERENCE_DATA "/measured/aic_layer_times.csv", "r");
    ck_assert_ptr_nonnull(file);
    rows_collect(file);
    fclose(file);
    for (int i = 0; i < DEVICES; i++) {
        for (int phase = 0; phase < PHASES; phase++) {
            size_t count = error_counts[i][phase];
            ck_assert_uint_gt(count, 100);
            qsort(errors[i][phase], count, sizeof errors[i][phase][0], compare);
            double median = errors[i][phase][count / 2], p90 = errors[i][phase][count * 9 / 10];
            printf("%-9s %-7s n %4zu  median error %4.1f %%  90th percentile %4.1f %%\n",
                   device_names[i], phase ? "prefill" : "decode", count, 100 * median, 100 * p90);
            ck_assert_msg(median <= median_bounds[phase], "%s", device_names[i]);
        }
    }
}
END_TEST

int main(void)
{
    FILE *file = fopen(KVSIM_REFERENCE_DATA "/measured/aic_layer_times.csv", "r");
    if (!file) {
        puts("reference data are absent: skipped");
        return 77;
    }
    fclose(file);
    TCase *tests = tcase_create("layers");
    tcase_add_test(tests, layers_are_near_the_measured_ones);
    return fixture_run(tests);
}
