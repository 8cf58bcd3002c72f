/*
 * cost.h - from the shape of a step to its duration in whole ticks (2^-20 ns) and what bound it.
 *
 * Two doors. cost_step() prices any step; one with prefill in double, rounded once. cost_ramp_piece() prices a stretch of
 * pure decode steps in which every sequence gains one token a step: within one batch size every operator is a maximum of
 * lines alpha + beta * S in the running context sums S, with alpha (for this batch size) and beta (per token) rounded once
 * to ticks, so the stretch falls into pieces on which the duration is an exact integer line. Cutting a stretch anywhere
 * gives the same ticks for each step. A single pure decode step is a ramp of one step, through either door: whether a step
 * is pure decode is a property of its shape alone.
 *
 * An instance belongs to one run (it caches lines by batch size); the configuration it points to is shared and const.
 * Each formula carries its source where it stands, in body.c, datasheet.c and rates.c.
 */
#ifndef KVSIM_COST_COST_H
#define KVSIM_COST_COST_H

#include "base/i128.h"

#include <kvsim/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COST_WINDOWS_MAX = 4 };

/* What bounds an operator or a step; the first five are also values of `binding_limit`. */
enum cost_bound {
    COST_COMPUTE,
    COST_WEIGHT_BANDWIDTH,
    COST_KV_BANDWIDTH,
    COST_COMMUNICATION,
    COST_HOST,
    COST_BOUND_COUNT
};
const char *cost_bound_name(enum cost_bound bound); /* "compute", "weight_bandwidth", ... */

/*
 * A step of one replica. Decodes compute one output token and emit one; all else is prefill.
 * Windows: for the w-th distinct window of the model (cost_window), the query-key pairs of prefills and the keys that
 * decodes see.
 */
struct cost_shape {
    uint32_t prefill_seq_count;
    int64_t prefill_tokens; /* new tokens, sum over prefilling sequences */
    /* sum of q*c + q*(q+1)/2: query-key pairs, causal; c = tokens cached before */
    base_i128 prefill_area;
    int64_t prefill_cached_tokens; /* sum of c */
    /* sequences whose last prompt token is computed, decodes not counted */
    uint32_t emitting_count;
    uint32_t decode_seq_count;
    int64_t decode_context_tokens; /* sum over decodes, after the step */
    base_i128 prefill_window_area[COST_WINDOWS_MAX];
    int64_t decode_window_tokens[COST_WINDOWS_MAX];
    /* For level table: the step of its axis of cached tokens (0: none), and sums over prefilling sequences. */
    int64_t cached_step_tokens, prefill_cached_rounded; /* sum of c, each rounded up to the step */
    base_i128 prefill_chunk_squares;                    /* sum of q^2 */
};

/* `count` sequences that compute q new tokens each on c cached ones. Window areas are the caller's. */
static inline void cost_shape_add_prefill(struct cost_shape *shape, int64_t count, int64_t q,
                                          int64_t c)
{
    int64_t step = shape->cached_step_tokens;
    shape->prefill_seq_count += (uint32_t)count;
    shape->prefill_tokens += count * q;
    shape->prefill_cached_tokens += count * c;
    shape->prefill_area += count * ((base_i128)q * c + (base_i128)q * (q + 1) / 2);
    shape->prefill_chunk_squares += (base_i128)count * q * q;
    if (step > 0)
        shape->prefill_cached_rounded += count * ((c + step - 1) / step * step);
}

/* Takes away what was added: every member is a sum, but for cached_step_tokens. */
void cost_shape_subtract(struct cost_shape *shape, const struct cost_shape *part);

/* Layers whose queries see the last `tokens` keys, themselves included; or, in chunks, those of their chunk of `tokens`. */
struct cost_window {
    int64_t tokens;
    bool is_chunked;
};

/* Keys that the last of `tokens` sees. */
static inline int64_t cost_window_keys(const struct cost_window *window, int64_t tokens)
{
    if (window->is_chunked)
        return tokens > 0 ? (tokens - 1) % window->tokens + 1 : 0;
    return tokens < window->tokens ? tokens : window->tokens;
}

/* Pairs of the first n queries and the keys that they see. */
static inline base_i128 cost_window_pairs(const struct cost_window *window, int64_t n)
{
    int64_t w = window->tokens, first = n < w ? n : w;
    if (window->is_chunked)
        return (base_i128)(n / w) * w * (w + 1) / 2 + (base_i128)(n % w) * (n % w + 1) / 2;
    return (base_i128)first * (first + 1) / 2 + (base_i128)(n - first) * w;
}

/* Pairs of q new tokens on c cached ones. */
static inline base_i128 cost_window_area(const struct cost_window *window, int64_t q, int64_t c)
{
    return cost_window_pairs(window, c + q) - cost_window_pairs(window, c);
}

struct cost_result {
    int64_t ticks; /* >= 1 */
    /* class with the largest time in the step; ties: the order of the enum */
    enum cost_bound bound;
};

/* Whose kernels: today's, or those of 2023 and 2024 (defaults.c). */
enum cost_kernels { COST_KERNELS_CURRENT, COST_KERNELS_2024 };

enum cost_level { COST_DATASHEET, COST_CALIBRATED, COST_AFFINE, COST_FIXED, COST_TABLE };

/* `cost:` of a scenario. Durations in ns as doubles (affine coefficients may be below 1 ns). */
struct cost_affine_options {
    double base_ns, per_prefill_token_ns;
    double per_prefill_token_context_ns; /* per query-key pair: times cost_shape.prefill_area */
    double per_decode_seq_ns;
    double per_context_token_ns; /* tokens in the cache after the step, prefilling sequences too */
    bool has_prefill_rate;       /* then per_prefill_token is 1 / prefill_rate */
    double prefill_rate_per_s;
};

/* `cost.kv_dtype.DTYPE`: what reading and writing a quantized KV cache costs beyond its bytes. */
struct cost_kv_dtype_options {
    const char *name;
    /* read_efficiency: share of bandwidth of decode attention; 0 = the hardware file's */
    double read_fraction;
    double write_ns_per_token; /* write_cost: per new token and layer */
    /* dequant_cost: per token of context and layer in decode attention */
    double dequant_ns_per_token;
};
enum { COST_KV_DTYPES_MAX = 8 };

struct cost_table;
struct cost_options {
    enum cost_level level;
    bool has_level;
    enum cost_kernels kernels;
    double expert_skew; /* of a router's choices, moe.h; 0 = even */
    int64_t fixed_step_ns;
    struct cost_affine_options affine;
    bool has_host_per_step, has_host_per_sequence, has_host_per_layer, has_host_exposed,
        has_host_overlap;
    double host_per_step_ns, host_per_sequence_ns, host_per_layer_ns;
    double host_exposed_ns;         /* of every step, overlapped or not */
    bool host_overlap;              /* true: step = max(device, host); false: sum */
    const struct cost_table *table; /* level table; NULL elsewhere */
    size_t kv_dtype_count;
    struct cost_kv_dtype_options kv_dtypes[COST_KV_DTYPES_MAX];
};

struct spec_model;
struct spec_hardware;
struct spec_kv_layout;

struct cost_config {
    const struct cost_options *options;
    const struct spec_model *model;       /* may be NULL at levels affine and fixed */
    const struct spec_hardware *hardware; /* the same */
    const struct spec_kv_layout *layout;  /* the same */
    uint32_t tensor_parallel, pipeline_parallel, data_parallel;
    bool expert_parallel;
    bool async_scheduling;
    bool cuda_graphs;         /* false: enforce_eager */
    bool mla_absorbed;        /* decode; default true */
    const char *quantization; /* weights; resolved, "none" or a format's name */
    const char *dtype;        /* compute dtype of unquantized parts: "bf16" */
    const char *kv_dtype;     /* resolved name */
    uint32_t max_decode_seqs; /* largest batch that can occur: size of the cache of lines */
};

struct base_arena;
struct cost;

/* Checks that the hardware has the rates this model needs (fp8 weights on a part without fp8, no bandwidth, ...). */
enum kvsim_status cost_new(const struct cost_config *config, struct base_arena *arena,
                           struct cost **out, struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Any step; a pure decode is priced as a ramp of one step, by the same lines as the stretch it belongs to. */
struct cost_result cost_step(struct cost *cost, const struct cost_shape *shape);

/*
 * A step never lasts longer than this (about 73 minutes), what it waits for included; what would is held at it, so that sums
 * stay in 128 bits, and is a fault of the instance.
 */
#define COST_TICKS_MAX ((int64_t)1 << 62)
/* A step of so many ticks: a fault if it was held. */
void cost_note_held(struct cost *cost, int64_t ticks);

/* Why a step could not be priced (a point beyond a table's grid, a step of more than 73 minutes), or NULL; such a step counts
 * as one tick or more. */
const struct kvsim_error *cost_fault(const struct cost *cost);
/* The step of the axis of cached tokens, for cost_shape.cached_step_tokens; 0 where the level has none. */
int64_t cost_cached_step_tokens(const struct cost_options *options);

/* A stretch of pure decode: sums after its first step, and what each gains per step. */
struct cost_ramp {
    uint32_t seq_count;
    int64_t context_tokens;                  /* after the first step; gains seq_count per step */
    int64_t window_tokens[COST_WINDOWS_MAX]; /* after the first step */
    /* sequences not yet saturated: constant over the stretch */
    int64_t window_gain[COST_WINDOWS_MAX];
};

/* The next piece: `step_count` (1 ... max_steps) steps that last first, first + delta, ... ticks, one bound. */
struct cost_piece {
    int64_t step_count;
    int64_t first_ticks, delta_ticks;
    enum cost_bound bound;
};
void cost_ramp_piece(struct cost *cost, const struct cost_ramp *ramp, int64_t max_steps,
                     struct cost_piece *out);

size_t cost_window_count(const struct cost *cost);
const struct cost_window *cost_window_at(const struct cost *cost, size_t window);

/* Sum of the first n terms of a piece: n*first + delta*n*(n-1)/2. */
static inline base_i128 cost_piece_sum(const struct cost_piece *piece, int64_t n)
{
    const int64_t short_n = (int64_t)1 << 31; // below it the pairs fit 64 bits
    base_i128 pairs = n < short_n ? n * (n - 1) / 2 : (base_i128)n * (n - 1) / 2;
    return (base_i128)n * piece->first_ticks + piece->delta_ticks * pairs;
}
/* The fewest steps, at least one, that take `ticks` or more; step_count where all of them take less. */
int64_t cost_piece_steps_until(const struct cost_piece *piece, base_i128 ticks);

/* The name for run_summary.cost_level, and the level in use: as stated, else calibrated where the hardware file holds a
 * calibration, else datasheet. `hardware` may be NULL. */
const char *cost_level_name(enum cost_level level);
enum cost_level cost_level_resolve(const struct cost_options *options,
                                   const struct spec_hardware *hardware);

#endif
