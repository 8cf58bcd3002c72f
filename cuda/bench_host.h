/*
 * bench_host.h - what kvsim-microbench does without a GPU: points to measure, statistics, number formats, the results that
 * kernels must give, and the file that is written. Plain C, so that it is tested where there is no GPU and no nvcc.
 */
#ifndef KVSIM_CUDA_BENCH_HOST_H
#define KVSIM_CUDA_BENCH_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- statistics ---- */

struct bench_stats {
    double median, low, high; /* 10th and 90th percentile */
    int count;
};
/* Sorts `values`. */
void bench_stats_of(double *values, int count, struct bench_stats *out);

/* ---- number formats ---- */

float bench_bf16_round(float value); /* nearest even */
uint8_t bench_fp8_from(float value); /* E4M3, nearest even, held at +-448 */
float bench_fp8_to(uint8_t bits);    /* NaN for 0x7f and 0xff */
float bench_random(uint64_t *state); /* [-1, 1), the same everywhere */
/* A permutation of 0 ... count-1: pages lie in random order, as after hours of serving. */
void bench_pages(uint64_t seed, int32_t *pages, int32_t count);

/* ---- results that kernels must give ---- */

struct bench_attention {
    int batch, new_tokens, context; /* new_tokens 1: decode; context includes them */
    int q_heads, kv_heads, k_dim, v_dim;
    float scale;
};
/* q [batch][new][q_heads][k_dim], k and v [batch][context][kv_heads][dim], out [batch][new][q_heads][v_dim]; causal. */
void bench_attention_reference(const struct bench_attention *shape, const float *q, const float *k,
                               const float *v, float *out);
/* c = a b: a [m][k], b [n][k] (transposed), c [m][n]. */
void bench_gemm_reference(int m, int n, int k, const float *a, const float *b, float *c);
/* Largest |got - want| over the root mean square of want. */
double bench_distance(const float *got, const float *want, size_t count);

/* ---- the measurement file ---- */

/* One line; fields that an operator lacks are 0 or NULL and stay empty. */
struct bench_row {
    const char *op, *phase, *dtype, *kv_cache_dtype;
    /* whose it is: "own" is kvsim's, which engines' kernels may be faster than; a library's name */
    const char *kernel;
    int64_t m, n, k, batch, seq_len, q_heads, kv_heads, head_dim, kv_lora_rank, qk_rope_head_dim;
    int64_t bytes, gpus, block_tokens;
    struct bench_stats ms;
    const char *note;
};
struct bench_info {
    const char *gpu, *driver, *runtime, *clocks, *date;
    int64_t memory_total_bytes, memory_free_bytes;
};
void bench_file_begin(FILE *file, const struct bench_info *info);
void bench_file_row(FILE *file, const struct bench_info *info, const struct bench_row *row);

/* ---- options ---- */

struct bench_options {
    const char *output; /* NULL: standard output */
    double seconds;     /* for everything; 240 unless given */
    int device;
    bool is_quick, wants_help;
    bool only_checks; /* results are compared, nothing is timed */
};
/* False with a message on stderr for a word that is not an option. */
bool bench_options_parse(int count, const char *const *words, struct bench_options *out);

/* Parts into which `tiles` of keys are cut so that so many blocks leave the least of `slots` idle: 1 to 64. */
int bench_splits(int blocks, int slots, int tiles);

enum { BENCH_PLAN_MAX = 16 };
/* Points of a plan: sizes that spread over what serving meets, smallest first. Returns how many. */
int bench_plan_rows(bool is_quick, int64_t *rows, int max);            /* m of products */
int bench_plan_matrices(bool is_quick, int64_t (*shapes)[2], int max); /* n, k */
int bench_plan_decodes(bool is_quick, int64_t (*shapes)[2], int max);  /* batch, context */
int bench_plan_prefills(bool is_quick, int64_t (*shapes)[2], int max); /* batch, tokens */
int bench_plan_messages(bool is_quick, int64_t *bytes, int max);

#ifdef __cplusplus
}
#endif

#endif
