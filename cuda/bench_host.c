#include "bench_host.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int low = (int)at;
    double high = low + 1 < count ? sorted[low + 1] : sorted[low];
    return sorted[low] + (at - low) * (high - sorted[low]);
}

void bench_stats_of(double *values, int count, struct bench_stats *out)
{
    *out = (struct bench_stats){.count = count};
    if (count <= 0)
        return;
    qsort(values, (size_t)count, sizeof *values, compare);
    out->median = quantile(values, count, 0.5);
    out->low = quantile(values, count, 0.1);
    out->high = quantile(values, count, 0.9);
}

/* ---- number formats ---- */

float bench_bf16_round(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += 0x7fff + ((bits >> 16) & 1);
    bits &= 0xffff0000U;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float bench_fp8_to(uint8_t bits)
{
    int exponent = (bits >> 3) & 15, mantissa = bits & 7;
    float sign = bits & 0x80 ? -1.0F : 1.0F;
    if (exponent == 15 && mantissa == 7)
        return NAN;
    if (exponent == 0)
        return sign * ldexpf((float)mantissa, -9);
    return sign * ldexpf(1.0F + (float)mantissa / 8.0F, exponent - 7);
}

uint8_t bench_fp8_from(float value)
{
    float size = fabsf(value);
    uint8_t sign = signbit(value) ? 0x80 : 0;
    if (isnan(value))
        return 0x7f;
    if (size >= 448.0F)
        return (uint8_t)(sign | 0x7e);
    // The representable numbers rise with their bits: the two around the value, then the nearer, ties to even.
    int low = 0, high = 0x7e;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (bench_fp8_to((uint8_t)middle) <= size)
            low = middle;
        else
            high = middle;
    }
    float below = size - bench_fp8_to((uint8_t)low), above = bench_fp8_to((uint8_t)high) - size;
    bool up = above < below || (!(above > below) && (low & 1));
    return (uint8_t)(sign | (up ? high : low));
}

static uint64_t next(uint64_t *state)
{
    uint64_t x = (*state += UINT64_C(0x9e3779b97f4a7c15)); // SplitMix64, Steele et al. 2014
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

float bench_random(uint64_t *state)
{
    return (float)(next(state) >> 40) / 8388608.0F - 1.0F;
}

void bench_pages(uint64_t seed, int32_t *pages, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        pages[i] = i;
    for (int32_t i = count - 1; i > 0; i--) {
        int32_t j = (int32_t)(next(&seed) % ((uint64_t)i + 1));
        int32_t other = pages[i];
        pages[i] = pages[j];
        pages[j] = other;
    }
}

/* ---- references ---- */

/* One row of queries over the keys that it sees; `weights` has room for all of them. */
static void attend(const struct bench_attention *shape, const float *q, const float *k,
                   const float *v, int keys, double *weights, float *out)
{
    size_t k_stride = (size_t)shape->kv_heads * (size_t)shape->k_dim;
    size_t v_stride = (size_t)shape->kv_heads * (size_t)shape->v_dim;
    double largest = -INFINITY, sum = 0;
    for (int t = 0; t < keys; t++) {
        double dot = 0;
        for (int d = 0; d < shape->k_dim; d++)
            dot += (double)q[d] * (double)k[(size_t)t * k_stride + (size_t)d];
        weights[t] = dot * (double)shape->scale;
        largest = fmax(largest, weights[t]);
    }
    for (int t = 0; t < keys; t++) {
        weights[t] = exp(weights[t] - largest);
        sum += weights[t];
    }
    for (int d = 0; d < shape->v_dim; d++) {
        double value = 0;
        for (int t = 0; t < keys; t++)
            value += weights[t] * (double)v[(size_t)t * v_stride + (size_t)d];
        out[d] = (float)(value / sum);
    }
}

void bench_attention_reference(const struct bench_attention *shape, const float *q, const float *k,
                               const float *v, float *out)
{
    double *weights = malloc((size_t)shape->context * sizeof *weights);
    int group = shape->q_heads / shape->kv_heads;
    for (int b = 0; b < shape->batch && weights != NULL; b++) {
        for (int i = 0; i < shape->new_tokens; i++) {
            for (int h = 0; h < shape->q_heads; h++) {
                size_t row =
                    ((size_t)b * (size_t)shape->new_tokens + (size_t)i) * (size_t)shape->q_heads +
                    (size_t)h;
                size_t head = (size_t)b * (size_t)shape->context * (size_t)shape->kv_heads +
                              (size_t)(h / group);
                attend(shape, q + row * (size_t)shape->k_dim, k + head * (size_t)shape->k_dim,
                       v + head * (size_t)shape->v_dim, shape->context - shape->new_tokens + i + 1,
                       weights, out + row * (size_t)shape->v_dim);
            }
        }
    }
    free(weights);
}

void bench_gemm_reference(int m, int n, int k, const float *a, const float *b, float *c)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int x = 0; x < k; x++)
                sum += (double)a[(size_t)i * (size_t)k + (size_t)x] *
                       (double)b[(size_t)j * (size_t)k + (size_t)x];
            c[(size_t)i * (size_t)n + (size_t)j] = (float)sum;
        }
    }
}

double bench_distance(const float *got, const float *want, size_t count)
{
    double square = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)got[i] - (double)want[i]);
        if (isnan(off))
            return INFINITY;
        square += (double)want[i] * (double)want[i] / (double)count;
        largest = fmax(largest, off);
    }
    return square > 0 ? largest / sqrt(square) : largest;
}

/* ---- the file ---- */

static const char header[] =
    "hardware,op,phase,m,n,k,dtype,batch,seq_len,q_heads,kv_heads,head_dim,kv_lora_rank,"
    "qk_rope_head_dim,kv_cache_dtype,bytes,gpus,block_tokens,kernel,ms,ms_low,ms_high,repeats,"
    "note\n";

static void put_text(FILE *file, const char *text)
{
    fputc(',', file);
    if (text == NULL)
        return;
    bool quotes = strpbrk(text, ",\"\n") != NULL;
    if (quotes)
        fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    if (quotes)
        fputc('"', file);
}

static void put_whole(FILE *file, int64_t value)
{
    fputc(',', file);
    if (value != 0)
        fprintf(file, "%" PRId64, value);
}

static void put_real(FILE *file, double value)
{
    fputc(',', file);
    if (value > 0)
        fprintf(file, "%.6g", value);
}

void bench_file_begin(FILE *file, const struct bench_info *info)
{
    char note[512];
    snprintf(note, sizeof note,
             "%s; driver %s; CUDA %s; clocks %s; memory %" PRId64 " B, free %" PRId64
             " B; %s; kvsim-microbench",
             info->gpu, info->driver, info->runtime, info->clocks, info->memory_total_bytes,
             info->memory_free_bytes, info->date);
    struct bench_row row = {.op = "info", .bytes = info->memory_total_bytes, .note = note};
    fputs(header, file);
    bench_file_row(file, info, &row);
}

void bench_file_row(FILE *file, const struct bench_info *info, const struct bench_row *row)
{
    fputs(info->gpu, file);
    put_text(file, row->op);
    put_text(file, row->phase);
    put_whole(file, row->m);
    put_whole(file, row->n);
    put_whole(file, row->k);
    put_text(file, row->dtype);
    put_whole(file, row->batch);
    put_whole(file, row->seq_len);
    put_whole(file, row->q_heads);
    put_whole(file, row->kv_heads);
    put_whole(file, row->head_dim);
    put_whole(file, row->kv_lora_rank);
    put_whole(file, row->qk_rope_head_dim);
    put_text(file, row->kv_cache_dtype);
    put_whole(file, row->bytes);
    put_whole(file, row->gpus);
    put_whole(file, row->block_tokens);
    put_text(file, row->kernel);
    put_real(file, row->ms.median);
    put_real(file, row->ms.low);
    put_real(file, row->ms.high);
    put_whole(file, row->ms.count);
    put_text(file, row->note);
    fputc('\n', file);
}

/* ---- options ---- */

static bool read_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out) && *out >= 0;
}

bool bench_options_parse(int count, const char *const *words, struct bench_options *out)
{
    *out = (struct bench_options){.seconds = 240};
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : NULL;
        double number;
        if (strcmp(words[i], "--help") == 0) {
            out->wants_help = true;
        } else if (strcmp(words[i], "--quick") == 0) {
            out->is_quick = true;
        } else if (strcmp(words[i], "--checks") == 0) {
            out->only_checks = true;
        } else if (strcmp(words[i], "--output") == 0 && value != NULL) {
            out->output = value;
            i++;
        } else if (strcmp(words[i], "--seconds") == 0 && value != NULL &&
                   read_number(value, &number)) {
            out->seconds = number;
            i++;
        } else if (strcmp(words[i], "--device") == 0 && value != NULL &&
                   read_number(value, &number)) {
            out->device = (int)number;
            i++;
        } else {
            fprintf(stderr,
                    "kvsim-microbench: '%s' is no option or lacks its value; --help lists them\n",
                    words[i]);
            return false;
        }
    }
    return true;
}

/* ---- plans ---- */

static int copy_pairs(const int64_t (*from)[2], int count, int step, int64_t (*to)[2], int max)
{
    int kept = 0;
    for (int i = 0; i < count && kept < max; i += step, kept++) {
        to[kept][0] = from[i][0];
        to[kept][1] = from[i][1];
    }
    return kept;
}

static int copy_numbers(const int64_t *from, int count, int step, int64_t *to, int max)
{
    int kept = 0;
    for (int i = 0; i < count && kept < max; i += step)
        to[kept++] = from[i];
    return kept;
}

int bench_splits(int blocks, int slots, int tiles)
{
    enum { SPLITS_MAX = 64 };
    const int each_more = 2; /* tiles' time that a block needs to begin and to end */
    int best = 1;
    int64_t least = INT64_MAX;
    for (int splits = 1; splits <= SPLITS_MAX && splits <= tiles; splits++) {
        int64_t waves = ((int64_t)blocks * splits + slots - 1) / slots;
        int64_t time = waves * ((tiles + splits - 1) / splits + each_more);
        if (time < least) {
            least = time;
            best = splits;
        }
    }
    return best;
}

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

int bench_plan_rows(bool is_quick, int64_t *rows, int max)
{
    static const int64_t all[] = {1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
    return copy_numbers(all, COUNT(all), is_quick ? 3 : 1, rows, max);
}

int bench_plan_matrices(bool is_quick, int64_t (*shapes)[2], int max)
{
    static const int64_t all[][2] = {{1024, 4096},  {4096, 4096},  {6144, 4096}, {4096, 14336},
                                     {28672, 4096}, {8192, 28672}, {57344, 8192}};
    return copy_pairs(all, COUNT(all), is_quick ? 3 : 1, shapes, max);
}

int bench_plan_decodes(bool is_quick, int64_t (*shapes)[2], int max)
{
    static const int64_t all[][2] = {{1, 128},    {1, 4096},   {1, 32768}, {8, 512},   {8, 4096},
                                     {8, 16384},  {32, 1024},  {32, 8192}, {64, 2048}, {128, 512},
                                     {128, 4096}, {256, 1024}, {256, 4096}};
    return copy_pairs(all, COUNT(all), is_quick ? 4 : 1, shapes, max);
}

int bench_plan_prefills(bool is_quick, int64_t (*shapes)[2], int max)
{
    static const int64_t all[][2] = {{1, 128},  {1, 512},  {1, 1024}, {1, 2048},
                                     {1, 4096}, {1, 8192}, {4, 512},  {4, 2048}};
    return copy_pairs(all, COUNT(all), is_quick ? 3 : 1, shapes, max);
}

int bench_plan_messages(bool is_quick, int64_t *bytes, int max)
{
    static const int64_t all[] = {8192,    32768,   131072,   262144,   524288,   1048576,
                                  2097152, 8388608, 33554432, 67108864, 268435456};
    return copy_numbers(all, COUNT(all), is_quick ? 4 : 1, bytes, max);
}
