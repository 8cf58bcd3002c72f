#include "cost/rates.h"

#include "base/field.h"

#include <math.h>

/* Lengths at which the medians of the three ranges stand: between 8192 and 16384, 2048 ... 8191, 512 ... 2047. */
static const double attention_long_tokens = 11585, attention_mid_tokens = 4096,
                    attention_short_tokens = 1024;

static struct spec_affine known_affine(struct spec_affine value, struct spec_affine same_width,
                                       struct spec_affine fallback)
{
    if (value.fraction > 0)
        return value;
    return same_width.fraction > 0 ? same_width : fallback;
}

/* The float of the same width, whose measurements stand in for a format that has none. */
static enum spec_dtype same_width(enum spec_dtype dtype)
{
    switch (dtype) {
    case SPEC_INT8:
        return SPEC_FP8;
    case SPEC_INT4:
        return SPEC_FP4;
    case SPEC_FP16:
    case SPEC_FP32:
        return SPEC_BF16;
    default:
        return dtype;
    }
}

/*
 * Prefill attention by length: an S-token prompt takes FLOPs / peak / f (1 + s / S), i.e. every query row costs s / 2
 * pairs more than its causal area (masked halves of tiles, start of a row). f and s from the shares measured for middle
 * and short prompts; f is bounded by what long ones reach. In sums: pairs + s / 2 * tokens, so no length is needed.
 */
static void attention_fit(struct cost_rates *rates, const struct spec_efficiency *efficiency)
{
    double long_share =
        cost_known(efficiency->prefill_attention_long, cost_defaults.prefill_attention_long);
    double mid = efficiency->prefill_attention_mid,
           short_share = efficiency->prefill_attention_short;
    double scale = long_share / cost_defaults.prefill_attention_long;
    mid = cost_known(mid, fmin(1.0, scale * cost_defaults.prefill_attention_mid));
    short_share = cost_known(short_share, fmin(1.0, scale * cost_defaults.prefill_attention_short));

    double slope =
        (1 / short_share - 1 / mid) / (1 / attention_short_tokens - 1 / attention_mid_tokens);
    double inverse = 1 / mid - slope / attention_mid_tokens;
    if (!(slope > 0) || !(inverse >= 1)) {
        rates->attention_fraction = long_share;
        rates->attention_row_tokens = 0;
        return;
    }
    double inverse_long = 1 / long_share - slope / attention_long_tokens;
    inverse = inverse_long >= 1 ? 0.5 * (inverse + inverse_long) : inverse;
    rates->attention_fraction = 1 / inverse;
    rates->attention_row_tokens = 0.5 * slope / inverse;
}

/*
 * What a device without measurements in this width reaches: as much better or worse than the default as it is in 16 bits.
 * Else an A100 that streams 0.68 in 16 bits and the default 0.73 in 8 would gain more than the bytes.
 */
static struct spec_affine narrower(const struct spec_affine *own,
                                   const struct spec_affine *defaults, enum spec_dtype dtype)
{
    struct spec_affine wide = own[SPEC_BF16], narrow = defaults[dtype];
    if (!(wide.fraction > 0))
        return narrow;
    narrow.fraction = fmin(1, narrow.fraction * wide.fraction / defaults[SPEC_BF16].fraction);
    narrow.fixed_s *= wide.fixed_s / defaults[SPEC_BF16].fixed_s;
    return narrow;
}

/*
 * Shares of products. The tables' 8- and 4-bit shares include the quantization of activations, which is counted on its
 * own here; the product itself reaches what 16-bit products reach (best shapes: 0.71-0.78 against 0.78-0.84).
 */
static void gemm_fill(struct cost_rates *rates, const struct spec_efficiency *efficiency)
{
    for (int i = 0; i < SPEC_DTYPE_COUNT; i++) {
        enum spec_dtype like = same_width((enum spec_dtype)i);
        double own = cost_known(efficiency->gemm_prefill[i], efficiency->gemm_prefill[like]);
        double share = fmax(own, efficiency->gemm_prefill[SPEC_BF16]);
        rates->gemm_fraction[i] = cost_known(share, cost_defaults.gemm_fraction[i]);
        rates->weight_stream[i] =
            known_affine(efficiency->weight_stream[i], efficiency->weight_stream[like],
                         cost_defaults.weight_stream[i]);
        rates->decode_attention[i] =
            known_affine(efficiency->decode_attention[i], efficiency->decode_attention[like],
                         narrower(efficiency->decode_attention, cost_defaults.decode_attention,
                                  (enum spec_dtype)i));
    }
}

static bool is_one_of(const struct spec_hardware *hardware, const char *const *names)
{
    for (; hardware->architecture != NULL && *names != NULL; names++)
        if (base_key_equal(*names, hardware->architecture))
            return true;
    return false;
}

/* Generations that FlashAttention-3 and the tensor-memory kernels of Blackwell do not serve. */
static bool packs_decodes_alone(const struct spec_hardware *hardware)
{
    static const char *const names[] = {"volta", "turing", "ampere", "ada", "blackwell-rtx", NULL};
    return is_one_of(hardware, names);
}

/* Copies are made by the threads that multiply. */
static bool lacks_bulk_copies(const struct spec_hardware *hardware)
{
    static const char *const names[] = {"volta", "turing", "ampere", "ada", NULL};
    return is_one_of(hardware, names);
}

static bool is_before_hopper(const struct spec_hardware *hardware)
{
    static const char *const names[] = {"volta", "turing", "ampere", NULL};
    return is_one_of(hardware, names);
}

static void take_old_kernels(struct cost_rates *rates)
{
    for (int i = 0; i < SPEC_DTYPE_COUNT; i++)
        rates->gemm_fraction[i] = fmin(rates->gemm_fraction[i], cost_defaults.old_gemm_fraction);
    rates->stream_fraction = cost_defaults.old_stream_fraction;
    rates->stream_fixed_s = cost_defaults.old_stream_s;
    rates->copies_in_bulk = false;
    rates->adds_apart = true;
}

enum kvsim_status cost_rates_init(struct cost_rates *rates, const struct spec_hardware *hardware,
                                  enum cost_kernels kernels, struct kvsim_error *err)
{
    *rates = (struct cost_rates){.hardware = hardware, .bytes_per_s = hardware->memory_bytes_per_s};
    for (int i = 0; i < SPEC_DTYPE_COUNT; i++)
        rates->flop_per_s[i] = hardware->flop_per_s[i];
    if (!(rates->bytes_per_s > 0))
        return base_fail(err, KVSIM_ERR_SCENARIO, "the memory bandwidth of %s is not known",
                         hardware->name);
    if (!(rates->flop_per_s[cost_rates_dtype(rates, SPEC_BF16)] > 0))
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "no compute rate of %s is known for 16 or 32 bits", hardware->name);
    const struct spec_efficiency *efficiency = &hardware->efficiency;
    gemm_fill(rates, efficiency);
    attention_fit(rates, efficiency);
    rates->copies_in_bulk = !lacks_bulk_copies(hardware);
    rates->is_unsplit = packs_decodes_alone(hardware);
    rates->attention_mixed_reads = rates->is_unsplit ? cost_defaults.attention_mixed_reads : 1;
    rates->prefill_fixed_share =
        packs_decodes_alone(hardware) ? cost_defaults.prefill_fixed_share : 1;
    rates->attention_tile_bytes = cost_defaults.attention_tile_bytes;
    rates->latent_fraction = cost_defaults.latent_fraction;
    rates->latent_unsplit_s = is_before_hopper(hardware) ? cost_defaults.latent_unsplit_s : 0;
    rates->stream_fraction = cost_defaults.stream_fraction;
    rates->quantize_bytes_per_element = cost_defaults.quantize_bytes_per_element;
    rates->quantize_row_s = cost_defaults.quantize_row_s;
    rates->host_per_step_s = cost_defaults.host_per_step_s;
    rates->host_per_sequence_s = cost_defaults.host_per_sequence_s;
    rates->launch_s = cost_known(efficiency->launch_s, cost_defaults.launch_s);
    rates->graph_launch_s = cost_known(efficiency->graph_launch_s, cost_defaults.graph_launch_s);
    if (kernels == COST_KERNELS_2024)
        take_old_kernels(rates);
    return KVSIM_OK;
}

/* A fitted coefficient of 8 bits is measured on products in fp8; int8 runs the same kernels. */
static void calibrate_width(struct cost_rates *rates, const struct spec_calibration *calibration,
                            enum spec_dtype dtype, bool is_narrow)
{
    const enum spec_coefficient gemm = is_narrow ? SPEC_GEMM_FP8 : SPEC_GEMM_BF16;
    const enum spec_coefficient weights = is_narrow ? SPEC_WEIGHTS_FP8 : SPEC_WEIGHTS_BF16;
    const enum spec_coefficient weights_fixed =
        is_narrow ? SPEC_WEIGHTS_FIXED_FP8 : SPEC_WEIGHTS_FIXED_BF16;
    const enum spec_coefficient decode = is_narrow ? SPEC_DECODE_FP8 : SPEC_DECODE_BF16;
    const enum spec_coefficient decode_fixed =
        is_narrow ? SPEC_DECODE_FIXED_FP8 : SPEC_DECODE_FIXED_BF16;
    const bool *has = calibration->has;
    const double *value = calibration->value;
    if (has[gemm])
        rates->gemm_fraction[dtype] = value[gemm];
    if (has[weights])
        rates->weight_stream[dtype].fraction = value[weights];
    if (has[weights_fixed])
        rates->weight_stream[dtype].fixed_s = value[weights_fixed];
    if (has[decode])
        rates->decode_attention[dtype].fraction = value[decode];
    if (has[decode_fixed])
        rates->decode_attention[dtype].fixed_s = value[decode_fixed];
}

void cost_rates_calibrate(struct cost_rates *rates, const struct spec_calibration *calibration)
{
    const struct {
        enum spec_coefficient coefficient;
        double *at;
    } single[] = {
        {SPEC_GEMM_START, &rates->gemm_start},
        {SPEC_QUANTIZE_BYTES, &rates->quantize_bytes_per_element},
        {SPEC_QUANTIZE_ROW, &rates->quantize_row_s},
        {SPEC_DECODE_TILE_BYTES, &rates->attention_tile_bytes},
        {SPEC_LATENT_COMPUTE, &rates->latent_fraction},
        {SPEC_PREFILL, &rates->attention_fraction},
        {SPEC_PREFILL_ROW, &rates->attention_row_tokens},
        {SPEC_PREFILL_FIXED, &rates->prefill_fixed_s},
        {SPEC_MIXED_READS, &rates->attention_mixed_reads},
        {SPEC_ACTIVATIONS, &rates->stream_fraction},
        {SPEC_LAUNCH, &rates->launch_s},
        {SPEC_GRAPH_LAUNCH, &rates->graph_launch_s},
        {SPEC_HOST_STEP, &rates->host_per_step_s},
        {SPEC_HOST_SEQUENCE, &rates->host_per_sequence_s},
        {SPEC_HOST_LAYER, &rates->host_per_layer_s},
        {SPEC_HOST_EXPOSED, &rates->host_exposed_s},
    };
    static const enum spec_dtype wide[] = {SPEC_FP32, SPEC_FP16, SPEC_BF16};
    static const enum spec_dtype narrow[] = {SPEC_FP8, SPEC_INT8};
    rates->calibration = calibration;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        calibrate_width(rates, calibration, wide[i], false);
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++)
        calibrate_width(rates, calibration, narrow[i], true);
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        if (calibration->has[single[i].coefficient])
            *single[i].at = calibration->value[single[i].coefficient];
}

enum spec_dtype cost_rates_dtype(const struct cost_rates *rates, enum spec_dtype wanted)
{
    if (rates->flop_per_s[wanted] > 0)
        return wanted;
    if (rates->flop_per_s[SPEC_BF16] > 0)
        return SPEC_BF16;
    return rates->flop_per_s[SPEC_FP16] > 0 ? SPEC_FP16 : SPEC_FP32;
}

/* fixed + max(memory, compute), with what it moved and computed. */
static struct cost_time roofline(double fixed_s, double memory_s, double compute_s,
                                 enum cost_bound memory_bound)
{
    return (struct cost_time){
        .s = fixed_s + fmax(memory_s, compute_s),
        .kernel_count = 1,
        .bound = compute_s >= memory_s ? COST_COMPUTE : memory_bound,
    };
}

/*
 * Weights stream in while tiles are multiplied, not quite at once: (memory^p + compute^p)^(1/p), at most a factor 2^(1/p)
 * above the roofline where the two are equal. p: defaults.c.
 */
static double overlapped_s(const struct cost_rates *rates, double memory_s, double compute_s)
{
    double most = fmax(memory_s, compute_s), share = fmin(memory_s, compute_s) / most;
    double squares = share * share;
    return most * (rates->copies_in_bulk ? sqrt(sqrt(1 + squares * squares)) : sqrt(1 + squares));
}

static struct cost_time product(const struct cost_rates *rates, double fixed_s, double memory_s,
                                double compute_s)
{
    struct cost_time time = roofline(fixed_s, memory_s, compute_s, COST_WEIGHT_BANDWIDTH);
    time.s = fixed_s + overlapped_s(rates, memory_s, compute_s);
    return time;
}

static double quantize_s(const struct cost_rates *rates, const struct cost_matrix *matrix,
                         double rows, double k)
{
    if (!matrix->quantizes)
        return 0;
    return rows *
           (k * rates->quantize_bytes_per_element / rates->bytes_per_s + rates->quantize_row_s);
}

static double activation_bytes(const struct cost_matrix *matrix)
{
    return matrix->quantizes ? spec_dtype_bytes(matrix->rate) : 2;
}

/*
 * Outputs of the whole waves of 64 x 128 tiles over m n, the ratio by which the chip is filled in part; >= 1. m n times it
 * grows with m and with n, so more rows are never cheaper.
 */
static double wave_factor(const struct cost_rates *rates, double m, double n)
{
    const double tile_rows = 64, tile_columns = 128;
    double units = rates->hardware->compute_unit_count;
    if (!(units > 0))
        return 1;
    double tiles = ceil(m / tile_rows) * ceil(n / tile_columns);
    double outputs = ceil(tiles / units) * units * tile_rows * tile_columns;
    return 1 + cost_defaults.wave_share * (outputs / (m * n) - 1);
}

struct cost_time cost_gemm(const struct cost_rates *rates, const struct cost_matrix *matrix,
                           double m, double n, double k)
{
    if (!(m > 0 && n > 0 && k > 0))
        return (struct cost_time){0};
    struct spec_affine stream = rates->weight_stream[matrix->rate];
    double flops = 2 * m * n * k;
    double bytes = n * k * matrix->weight_bytes + m * k * activation_bytes(matrix) + 2 * m * n;
    struct cost_time time =
        product(rates, stream.fixed_s + quantize_s(rates, matrix, m, k),
                bytes / (stream.fraction * rates->bytes_per_s),
                wave_factor(rates, m, n) * (1 + rates->gemm_start / k) * flops /
                    (rates->gemm_fraction[matrix->rate] * rates->flop_per_s[matrix->rate]));
    time.flops = flops;
    time.bytes = bytes;
    time.kernel_count = matrix->quantizes ? 2 : 1;
    return time;
}

struct cost_time cost_gemm_grouped(const struct cost_rates *rates, const struct cost_matrix *matrix,
                                   double rows, double touched, double weights, double row_elements,
                                   double kernel_count)
{
    if (!(rows > 0))
        return (struct cost_time){0};
    struct spec_affine stream = rates->weight_stream[matrix->rate];
    double bytes = touched * weights * matrix->weight_bytes + 2 * rows * row_elements;
    double padded = rows + touched * cost_defaults.expert_padding_rows;
    double compute_s = 2 * padded * weights /
                       (rates->gemm_fraction[matrix->rate] * rates->flop_per_s[matrix->rate]);
    struct cost_time time = product(
        rates, kernel_count * stream.fixed_s + quantize_s(rates, matrix, rows, 0.5 * row_elements),
        bytes / (stream.fraction * rates->bytes_per_s), compute_s);
    time.flops = 2 * rows * weights;
    time.bytes = bytes;
    time.kernel_count = kernel_count * (matrix->quantizes ? 2 : 1);
    return time;
}

struct cost_time cost_stream(const struct cost_rates *rates, double bytes, enum cost_bound bound)
{
    if (!(bytes > 0))
        return (struct cost_time){0};
    return (struct cost_time){
        .s = fmax(rates->graph_launch_s, rates->stream_fixed_s) +
             bytes / (rates->stream_fraction * rates->bytes_per_s),
        .bytes = bytes,
        .kernel_count = 1,
        .bound = bound,
    };
}

static double attention_flop_per_s(const struct cost_rates *rates)
{
    return rates->attention_fraction * rates->flop_per_s[cost_rates_dtype(rates, SPEC_BF16)];
}

/*
 * A block of threads walks the keys of a tile of query rows of one head, at its compute unit's share of the rate; blocks
 * run in waves, each of which starts anew.
 */
static double unsplit_waves(const struct cost_rates *rates, double blocks)
{
    double units = rates->hardware->compute_unit_count;
    return rates->is_unsplit && units > 0 ? ceil(blocks / units) : 0;
}

static double unsplit_key_s(const struct cost_rates *rates, double flops_per_head_pair)
{
    double unit_flop_per_s = attention_flop_per_s(rates) / rates->hardware->compute_unit_count;
    return cost_defaults.attention_unsplit_rows * flops_per_head_pair / unit_flop_per_s;
}

static double unsplit_prefill_s(const struct cost_rates *rates,
                                const struct cost_attention_prefill *work)
{
    double tiles = ceil(work->tokens / cost_defaults.attention_unsplit_rows +
                        0.5 * fmax(work->sequences - 1, 0));
    double waves = unsplit_waves(rates, tiles * work->q_heads);
    if (!(waves > 0))
        return 0;
    double keys =
        waves * work->pairs / work->tokens + (waves - 1) * cost_defaults.attention_unsplit_start;
    return keys * unsplit_key_s(rates, work->flops_per_pair / work->q_heads);
}

/* Decodes among prefills: a tile holds one row. */
static void unsplit_lines(const struct cost_rates *rates, const struct cost_attention_decode *work,
                          struct cost_decode_lines *out)
{
    double waves = unsplit_waves(rates, work->sequences * work->unpacked_heads);
    if (!(waves > 0))
        return;
    double key_s = unsplit_key_s(rates, work->flops_per_token / work->unpacked_heads);
    out->alpha_s[COST_DECODE_SEQUENTIAL] =
        out->alpha_s[COST_DECODE_MEMORY] +
        (waves - 1) * cost_defaults.attention_unsplit_start * key_s;
    out->beta_s[COST_DECODE_SEQUENTIAL] = waves * key_s / work->sequences;
}

double cost_attention_mixed_reads(const struct cost_rates *rates, double kv_bytes,
                                  double heads_per_kv_head)
{
    const double l2_unknown = 96e6;
    double most = fmin(rates->attention_mixed_reads, heads_per_kv_head);
    double half_bytes =
        cost_defaults.attention_mixed_l2 * cost_known(rates->hardware->l2_bytes, l2_unknown);
    return most > 1 ? 1 + (most - 1) * kv_bytes / (kv_bytes + half_bytes) : 1;
}

double cost_attention_prefill_fixed_s(const struct cost_rates *rates, enum spec_dtype kv_dtype)
{
    if (rates->prefill_fixed_s > 0)
        return rates->prefill_fixed_s;
    return rates->prefill_fixed_share * rates->decode_attention[kv_dtype].fixed_s;
}

struct cost_time cost_attention_prefill(const struct cost_rates *rates,
                                        const struct cost_attention_prefill *work)
{
    if (!(work->tokens > 0))
        return (struct cost_time){0};
    struct spec_affine affine = rates->decode_attention[work->kv_dtype];
    double pairs = work->pairs + rates->attention_row_tokens * work->tokens;
    struct cost_time time =
        roofline(cost_attention_prefill_fixed_s(rates, work->kv_dtype),
                 work->kv_bytes / (affine.fraction * rates->bytes_per_s),
                 fmax(work->flops_per_pair * pairs / attention_flop_per_s(rates),
                      unsplit_prefill_s(rates, work)),
                 COST_KV_BANDWIDTH);
    time.flops = work->flops_per_pair * work->pairs;
    time.bytes = work->kv_bytes;
    return time;
}

const enum cost_bound cost_decode_bounds[COST_DECODE_LINES] = {COST_KV_BANDWIDTH, COST_KV_BANDWIDTH,
                                                               COST_COMPUTE, COST_KV_BANDWIDTH};

/* One block of threads streams a whole sequence, once for so many heads. */
static void latent_unsplit_lines(const struct cost_rates *rates,
                                 const struct cost_attention_decode *work,
                                 struct cost_decode_lines *out)
{
    double reads = ceil(work->latent_heads / cost_defaults.latent_unsplit_heads);
    out->alpha_s[COST_DECODE_SEQUENTIAL] = out->alpha_s[COST_DECODE_MEMORY];
    out->beta_s[COST_DECODE_SEQUENTIAL] = rates->latent_unsplit_s / work->sequences;
    double memory_s = reads * work->bytes_per_token /
                      (cost_defaults.latent_unsplit_fraction * rates->bytes_per_s);
    out->beta_s[COST_DECODE_MEMORY] = fmax(out->beta_s[COST_DECODE_MEMORY], memory_s);
}

void cost_attention_decode_lines(const struct cost_rates *rates,
                                 const struct cost_attention_decode *work,
                                 struct cost_decode_lines *out)
{
    struct spec_affine affine = rates->decode_attention[work->kv_dtype];
    double fraction = cost_known(work->read_fraction, affine.fraction);
    double tiles_s =
        work->sequences * work->kv_heads * rates->attention_tile_bytes / rates->bytes_per_s;
    out->alpha_s[COST_DECODE_FLOOR] = affine.fixed_s + tiles_s;
    out->beta_s[COST_DECODE_FLOOR] = 0;
    out->alpha_s[COST_DECODE_MEMORY] = affine.fixed_s;
    out->beta_s[COST_DECODE_MEMORY] =
        cost_known(work->reads, 1) * work->bytes_per_token / (fraction * rates->bytes_per_s) +
        work->dequant_s_per_token;
    out->alpha_s[COST_DECODE_COMPUTE] = affine.fixed_s;
    double peak = rates->flop_per_s[cost_rates_dtype(rates, SPEC_BF16)];
    double flop_per_s =
        work->latent_heads > 0 ? rates->latent_fraction * peak : attention_flop_per_s(rates);
    out->beta_s[COST_DECODE_COMPUTE] = work->flops_per_token / flop_per_s;
    out->alpha_s[COST_DECODE_SEQUENTIAL] = out->beta_s[COST_DECODE_SEQUENTIAL] = 0;
    if (work->latent_heads > 0 && rates->latent_unsplit_s > 0)
        latent_unsplit_lines(rates, work, out);
    if (work->unpacked_heads > 0)
        unsplit_lines(rates, work, out);
}

struct cost_time cost_attention_decode_at(const struct cost_decode_lines *lines,
                                          const struct cost_attention_decode *work, double contexts)
{
    struct cost_time time = {.flops = work->flops_per_token * contexts,
                             .bytes = work->bytes_per_token * contexts,
                             .kernel_count = 1};
    for (int i = 0; i < COST_DECODE_LINES; i++) {
        double s = lines->alpha_s[i] + lines->beta_s[i] * contexts;
        if (s > time.s) {
            time.s = s;
            time.bound = cost_decode_bounds[i];
        }
    }
    return time;
}
