/*
 * kvsim-microbench: what one NVIDIA GPU (and its links) reaches, as the file that `kvsim calibrate` reads.
 *
 * Every figure is the median of repeated runs timed by CUDA events after a warm-up; every kernel's result is first checked
 * against the host's on random inputs. The card's settings are left alone. Matrices and caches rotate through buffers
 * larger than the L2, as in a serving step, where nothing is found there from the step before.
 */
#include "attention.cuh"
#include "bench_host.h"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vector>

static void check(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "kvsim-microbench: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

static void check_blas(cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "kvsim-microbench: %s: cuBLASLt status %d\n", what, (int)status);
    exit(1);
}

struct bench {
    bench_options options;
    bench_info info;
    FILE *file;
    cudaStream_t stream;
    cudaDeviceProp card;
    double began_s;
    int failures; /* kernels whose results were wrong */
};

static double now_s()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool has_time(const bench &b)
{
    return now_s() - b.began_s < b.options.seconds;
}

/* Device memory that is given back at the end of its scope. */
template <typename T> struct buffer {
    T *at;
    size_t count;
    explicit buffer(size_t n) : at(nullptr), count(n)
    {
        check(cudaMalloc(&at, n * sizeof(T) + 256), "device memory");
        check(cudaMemset(at, 0, n * sizeof(T)), "clearing device memory");
    }
    ~buffer() { cudaFree(at); }
    buffer(const buffer &) = delete;
    void put(const std::vector<T> &from)
    {
        check(cudaMemcpy(at, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
    }
    std::vector<T> get() const
    {
        std::vector<T> to(count);
        check(cudaMemcpy(to.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost), "copy to the host");
        return to;
    }
};

/* Median time of one call, ms: several calls per sample, so that a sample is well above the timer's grain. */
template <typename Call> static bench_stats measure(bench &b, Call call)
{
    enum { SAMPLES = 11 };
    cudaEvent_t begin, end;
    double samples[SAMPLES];
    bench_stats stats;
    float ms = 0;
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&end), "event");
    for (int i = 0; i < 2; i++)
        call(i);
    check(cudaEventRecord(begin, b.stream), "event");
    call(2);
    check(cudaEventRecord(end, b.stream), "event");
    check(cudaEventSynchronize(end), "warm-up");
    check(cudaEventElapsedTime(&ms, begin, end), "event");
    int calls = ms > 2 ? 1 : (int)fmin(50.0, 2.0 / fmax((double)ms, 0.002));
    for (int s = 0; s < SAMPLES; s++) {
        check(cudaEventRecord(begin, b.stream), "event");
        for (int i = 0; i < calls; i++)
            call(s * calls + i);
        check(cudaEventRecord(end, b.stream), "event");
        check(cudaEventSynchronize(end), "run");
        check(cudaEventElapsedTime(&ms, begin, end), "event");
        samples[s] = (double)ms / calls;
    }
    check(cudaGetLastError(), "kernel");
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    bench_stats_of(samples, SAMPLES, &stats);
    return stats;
}

static void verify(bench &b, const char *what, const std::vector<float> &got, const std::vector<float> &want, double bound)
{
    double distance = bench_distance(got.data(), want.data(), want.size());
    if (distance <= bound)
        return;
    b.failures++;
    fprintf(stderr, "kvsim-microbench: %s is wrong: off by %.3g of the result's size (bound %.3g)\n", what, distance, bound);
}

/* ---- memory ---- */

__global__ void read_kernel(const uint4 *from, size_t count, unsigned *out)
{
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        uint4 value = from[i];
        sum.x += value.x;
        sum.y ^= value.y;
        sum.z += value.z;
        sum.w ^= value.w;
    }
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x9e3779b9U)
        *out = 1; // keeps the loads
}

__global__ void write_kernel(uint4 *to, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        to[i] = make_uint4(1, 2, 3, 4);
}

__global__ void copy_kernel(const uint4 *from, uint4 *to, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

/* Pages of `words` 16-byte words, read in the order of a table: the access of paged attention. */
__global__ void gather_kernel(const uint4 *from, const int *table, int pages, int words, unsigned *out)
{
    unsigned sum = 0;
    for (int p = blockIdx.x; p < pages; p += gridDim.x)
        for (int i = threadIdx.x; i < words; i += blockDim.x)
            sum += from[(size_t)table[p] * words + i].x;
    if (sum == 0x9e3779b9U)
        *out = 1;
}

static void put_bytes(bench &b, const char *op, int64_t bytes, int64_t block, bench_stats stats)
{
    bench_row row = {};
    row.op = op;
    row.bytes = bytes;
    row.block_tokens = block;
    row.ms = stats;
    bench_file_row(b.file, &b.info, &row);
}

static void measure_memory(bench &b)
{
    const size_t bytes = b.options.is_quick ? (size_t)256 << 20 : (size_t)1 << 30, count = bytes / 16;
    const int blocks = b.card.multiProcessorCount * 8;
    buffer<uint4> from(count), to(count);
    buffer<unsigned> out(1);
    put_bytes(b, "read", (int64_t)bytes, 0, measure(b, [&](int) { read_kernel<<<blocks, 512, 0, b.stream>>>(from.at, count, out.at); }));
    put_bytes(b, "write", (int64_t)bytes, 0, measure(b, [&](int) { write_kernel<<<blocks, 512, 0, b.stream>>>(to.at, count); }));
    for (size_t size = (size_t)1 << 20; size <= bytes; size *= 8)
        put_bytes(b, "copy", (int64_t)(2 * size), 0, measure(b, [&](int i) {
            size_t at = (size_t)i * (size / 16) % (count - size / 16 + 1);
            copy_kernel<<<blocks, 512, 0, b.stream>>>(from.at + at, to.at + at, size / 16);
        }));
    // 1 KiB a token and layer on one GPU: eight KV heads of 64 16-bit numbers, keys alone.
    const int token_words = 64;
    for (int tokens = 8; tokens <= 256 && has_time(b); tokens *= 2) {
        int words = tokens * token_words, pages = (int)(count / (size_t)words);
        std::vector<int> order((size_t)pages);
        bench_pages(7, order.data(), pages);
        buffer<int> table((size_t)pages);
        table.put(order);
        put_bytes(b, "gather", (int64_t)pages * words * 16, tokens, measure(b, [&](int) {
            gather_kernel<<<blocks, 256, 0, b.stream>>>(from.at, table.at, pages, words, out.at);
        }));
    }
}

/* ---- launches ---- */

__global__ void empty_kernel() {}

static void measure_launch(bench &b)
{
    enum { KERNELS = 500 };
    bench_row row = {};
    row.op = "launch";
    row.ms = measure(b, [&](int) {
        for (int i = 0; i < KERNELS; i++)
            empty_kernel<<<1, 32, 0, b.stream>>>();
    });
    row.ms.median /= KERNELS;
    row.ms.low /= KERNELS;
    row.ms.high /= KERNELS;
    bench_file_row(b.file, &b.info, &row);

    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeGlobal), "capture");
    for (int i = 0; i < KERNELS; i++)
        empty_kernel<<<1, 32, 0, b.stream>>>();
    check(cudaStreamEndCapture(b.stream, &graph), "capture");
    check(cudaGraphInstantiate(&executable, graph, 0), "graph");
    row.op = "graph";
    row.ms = measure(b, [&](int) { check(cudaGraphLaunch(executable, b.stream), "graph"); });
    row.ms.median /= KERNELS;
    row.ms.low /= KERNELS;
    row.ms.high /= KERNELS;
    bench_file_row(b.file, &b.info, &row);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
}

/* ---- products ---- */

struct gemm_type {
    const char *name;
    cudaDataType_t in, out, scale;
    cublasComputeType_t compute;
    size_t in_bytes, out_bytes;
};

static const gemm_type gemm_types[] = {
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 2},
    {"fp8", CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1, 2},
    {"int8", CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 1, 4},
};

static bool card_has(const bench &b, const gemm_type &type)
{
    int level = b.card.major * 10 + b.card.minor;
    return type.in == CUDA_R_8F_E4M3 ? level >= 89 : type.in == CUDA_R_8I ? level >= 75 : level >= 80;
}

/* c [m][n] = a [m][k] b [n][k]^T, as a linear layer has it; column-major for cuBLASLt: C^T = B A^T. */
struct gemm {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulHeuristicResult_t found;
    void *workspace;
    bool is_there;
    gemm(cublasLtHandle_t lt, const gemm_type &type, int64_t m, int64_t n, int64_t k, void *space, size_t space_bytes)
        : handle(lt), workspace(space), is_there(false)
    {
        cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
        cublasLtMatmulPreference_t preference;
        int count = 0;
        check_blas(cublasLtMatmulDescCreate(&desc, type.compute, type.scale), "product");
        check_blas(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "product");
        check_blas(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain), "product");
        check_blas(cublasLtMatrixLayoutCreate(&a, type.in, (uint64_t)k, (uint64_t)n, k), "layout");
        check_blas(cublasLtMatrixLayoutCreate(&b, type.in, (uint64_t)k, (uint64_t)m, k), "layout");
        check_blas(cublasLtMatrixLayoutCreate(&c, type.out, (uint64_t)n, (uint64_t)m, n), "layout");
        check_blas(cublasLtMatmulPreferenceCreate(&preference), "preference");
        check_blas(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space_bytes, sizeof space_bytes), "preference");
        is_there = cublasLtMatmulAlgoGetHeuristic(lt, desc, a, b, c, c, preference, 1, &found, &count) == CUBLAS_STATUS_SUCCESS && count > 0;
        cublasLtMatmulPreferenceDestroy(preference);
    }
    ~gemm()
    {
        cublasLtMatrixLayoutDestroy(a);
        cublasLtMatrixLayoutDestroy(b);
        cublasLtMatrixLayoutDestroy(c);
        cublasLtMatmulDescDestroy(desc);
    }
    void run(const void *weights, const void *rows, void *out, bool is_int, size_t space_bytes, cudaStream_t stream) const
    {
        const float one = 1, zero = 0;
        const int one_int = 1, zero_int = 0;
        check_blas(cublasLtMatmul(handle, desc, is_int ? (const void *)&one_int : &one, weights, a, rows, b,
                                  is_int ? (const void *)&zero_int : &zero, out, c, out, c, &found.algo, workspace, space_bytes, stream), "product");
    }
};

static const size_t space_bytes = (size_t)64 << 20;

static void verify_gemm(bench &b, cublasLtHandle_t lt, void *space)
{
    const int m = 48, n = 64, k = 128;
    std::vector<float> fa((size_t)m * k), fb((size_t)n * k), want((size_t)m * n), got((size_t)m * n);
    std::vector<__nv_bfloat16> ha(fa.size()), hb(fb.size());
    uint64_t seed = 1;
    for (size_t i = 0; i < fa.size(); i++)
        ha[i] = __float2bfloat16(fa[i] = bench_bf16_round(bench_random(&seed)));
    for (size_t i = 0; i < fb.size(); i++)
        hb[i] = __float2bfloat16(fb[i] = bench_bf16_round(bench_random(&seed)));
    bench_gemm_reference(m, n, k, fa.data(), fb.data(), want.data());
    buffer<__nv_bfloat16> da(ha.size()), db(hb.size()), dc(want.size());
    da.put(ha);
    db.put(hb);
    gemm product(lt, gemm_types[0], m, n, k, space, space_bytes);
    if (!product.is_there)
        return;
    product.run(db.at, da.at, dc.at, false, space_bytes, b.stream);
    check(cudaStreamSynchronize(b.stream), "product");
    std::vector<__nv_bfloat16> hc = dc.get();
    for (size_t i = 0; i < got.size(); i++)
        got[i] = __bfloat162float(hc[i]);
    verify(b, "product in bf16", got, want, 0.05);
}

static void measure_gemm(bench &b)
{
    int64_t rows[16], shapes[16][2];
    int row_count = bench_plan_rows(b.options.is_quick, rows, 16), shape_count = bench_plan_matrices(b.options.is_quick, shapes, 16);
    const size_t pool_bytes = (size_t)2 << 30;
    cublasLtHandle_t lt;
    check_blas(cublasLtCreate(&lt), "cuBLASLt");
    buffer<unsigned char> space(space_bytes), weights(pool_bytes), in((size_t)8192 * 28672 * 2), out((size_t)8192 * 57344 * 4);
    verify_gemm(b, lt, space.at);
    for (const gemm_type &type : gemm_types) {
        for (int s = 0; s < shape_count && card_has(b, type) && has_time(b); s++) {
            for (int r = 0; r < row_count && has_time(b); r++) {
                int64_t m = rows[r], n = shapes[s][0], k = shapes[s][1];
                gemm product(lt, type, m, n, k, space.at, space_bytes);
                if (!product.is_there)
                    continue;
                size_t matrix = (size_t)n * (size_t)k * type.in_bytes, copies = pool_bytes / matrix;
                bench_row row = {};
                row.op = "gemm";
                row.dtype = type.name;
                row.m = m;
                row.n = n;
                row.k = k;
                row.ms = measure(b, [&](int i) {
                    product.run(weights.at + (size_t)i % copies * matrix, in.at, out.at, type.in == CUDA_R_8I, space_bytes, b.stream);
                });
                bench_file_row(b.file, &b.info, &row);
            }
        }
    }
    cublasLtDestroy(lt);
}

/* ---- attention ---- */

static __nv_bfloat16 make_kv(float value, __nv_bfloat16 *)
{
    return __float2bfloat16(value);
}

static __nv_fp8_e4m3 make_kv(float value, __nv_fp8_e4m3 *)
{
    return __nv_fp8_e4m3(value);
}

template <typename KV, int ROWS, int BN, int D, int DV, bool LATENT, bool PREFILL>
static bool attention_fits(const bench &b)
{
    size_t bytes = sizeof(attention_shared<ROWS, BN, D, DV, LATENT>);
    if (bytes > b.card.sharedMemPerBlockOptin)
        return false;
    check(cudaFuncSetAttribute(attention_kernel<KV, ROWS, BN, D, DV, LATENT, PREFILL>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), "shared memory");
    return true;
}

template <typename KV, int ROWS, int BN, int D, int DV, bool LATENT, bool PREFILL>
static void attention_run(const bench &b, const attention_args &a, float *out)
{
    int group = a.q_heads / a.kv_heads, head_tiles = (group + ROWS - 1) / ROWS;
    dim3 grid(PREFILL ? (a.new_tokens + ROWS - 1) / ROWS : 1, PREFILL ? a.q_heads : a.kv_heads * head_tiles, a.batch * a.splits);
    attention_kernel<KV, ROWS, BN, D, DV, LATENT, PREFILL>
        <<<grid, 128, sizeof(attention_shared<ROWS, BN, D, DV, LATENT>), b.stream>>>(a);
    attention_combine<DV><<<a.batch * a.new_tokens * a.q_heads, DV, 0, b.stream>>>(a.partial, a.splits, out);
}

/* Enough splits that the chip has two blocks a unit. */
static int splits_for(const bench &b, int64_t batch, int heads, int64_t context)
{
    int64_t wanted = (2 * b.card.multiProcessorCount + batch * heads - 1) / (batch * heads), most = (context + 255) / 256;
    return (int)(wanted < 1 ? 1 : wanted > most ? most : wanted > 64 ? 64 : wanted);
}

/* A paged cache of random numbers, its table in random order, and queries. */
template <typename KV> struct attention_data {
    int pages_each, block_tokens;
    buffer<KV> k, v;
    buffer<int> table;
    buffer<__nv_bfloat16> q;
    buffer<float> partial, out;
    attention_data(int64_t batch, int64_t context, int new_tokens, int q_heads, int kv_heads, int d, int dv, bool latent, int block, int splits)
        : pages_each((int)((context + block - 1) / block)), block_tokens(block), k((size_t)batch * pages_each * block * kv_heads * d),
          v(latent ? 1 : (size_t)batch * pages_each * block * kv_heads * dv), table((size_t)batch * pages_each),
          q((size_t)batch * new_tokens * q_heads * d), partial((size_t)batch * new_tokens * q_heads * splits * (dv + 2)),
          out((size_t)batch * new_tokens * q_heads * dv)
    {
        std::vector<int> order(table.count);
        bench_pages(11, order.data(), (int)order.size());
        table.put(order);
    }
    attention_args args(int64_t batch, int64_t context, int new_tokens, int q_heads, int kv_heads, int d, int splits) const
    {
        attention_args a = {q.at, k.at, v.at, table.at, partial.at, (int)batch, new_tokens, (int)context, q_heads, kv_heads,
                            block_tokens, pages_each, splits, 1.0f / sqrtf((float)d)};
        return a;
    }
};

template <typename KV, int ROWS, int BN, int D, int DV, bool LATENT, bool PREFILL>
static void verify_attention(bench &b, const char *what, int q_heads, int kv_heads)
{
    const int batch = 2, context = 150, fresh = PREFILL ? 100 : 1, block = 16, splits = PREFILL ? 1 : 3;
    attention_data<KV> data(batch, context, fresh, q_heads, kv_heads, D, DV, LATENT, block, splits);
    std::vector<float> q((size_t)batch * fresh * q_heads * D), k((size_t)batch * context * kv_heads * D), v((size_t)batch * context * kv_heads * DV),
        want((size_t)batch * fresh * q_heads * DV);
    std::vector<__nv_bfloat16> hq(q.size());
    std::vector<KV> hk(data.k.count), hv(data.v.count);
    std::vector<int> table = data.table.get();
    uint64_t seed = 3;
    for (size_t i = 0; i < q.size(); i++)
        hq[i] = __float2bfloat16(q[i] = bench_bf16_round(bench_random(&seed)));
    for (int s = 0; s < batch; s++)
        for (int t = 0; t < context; t++)
            for (int h = 0; h < kv_heads; h++) {
                size_t from = ((size_t)s * context + t) * kv_heads + h;
                size_t to = ((size_t)table[(size_t)s * data.pages_each + t / block] * block + t % block) * kv_heads + h;
                for (int d = 0; d < D; d++) {
                    KV value = make_kv(bench_random(&seed), (KV *)nullptr);
                    hk[to * D + d] = value;
                    k[from * D + d] = (float)value;
                    if (LATENT && d < DV)
                        v[from * DV + d] = (float)value;
                }
                for (int d = 0; !LATENT && d < DV; d++) {
                    KV value = make_kv(bench_random(&seed), (KV *)nullptr);
                    hv[to * DV + d] = value;
                    v[from * DV + d] = (float)value;
                }
            }
    data.q.put(hq);
    data.k.put(hk);
    data.v.put(hv);
    bench_attention shape = {batch, fresh, context, q_heads, kv_heads, D, DV, 1.0f / sqrtf((float)D)};
    bench_attention_reference(&shape, q.data(), k.data(), v.data(), want.data());
    attention_run<KV, ROWS, BN, D, DV, LATENT, PREFILL>(b, data.args(batch, context, fresh, q_heads, kv_heads, D, splits), data.out.at);
    check(cudaStreamSynchronize(b.stream), what);
    verify(b, what, data.out.get(), want, 0.1);
}

template <typename KV, int ROWS, int BN, int D, int DV, bool LATENT, bool PREFILL>
static void measure_attention(bench &b, const char *op, const char *dtype, int q_heads, int kv_heads, const int64_t (*shapes)[2], int count)
{
    if (!attention_fits<KV, ROWS, BN, D, DV, LATENT, PREFILL>(b))
        return;
    verify_attention<KV, ROWS, BN, D, DV, LATENT, PREFILL>(b, op, q_heads, kv_heads);
    for (int i = 0; i < count && has_time(b); i++) {
        int64_t batch = shapes[i][0], context = shapes[i][1];
        int fresh = PREFILL ? (int)context : 1, splits = PREFILL ? 1 : splits_for(b, batch, kv_heads, context);
        size_t free_bytes, total_bytes, needed = (size_t)batch * context * kv_heads * (D + (LATENT ? 0 : DV)) * sizeof(KV);
        check(cudaMemGetInfo(&free_bytes, &total_bytes), "memory");
        if (needed > free_bytes / 2)
            continue;
        attention_data<KV> data(batch, context, fresh, q_heads, kv_heads, D, DV, LATENT, 16, splits);
        attention_args args = data.args(batch, context, fresh, q_heads, kv_heads, D, splits);
        bench_row row = {};
        row.op = op;
        row.phase = PREFILL ? "prefill" : "decode";
        row.kv_cache_dtype = dtype;
        row.batch = batch;
        row.seq_len = context;
        row.q_heads = q_heads;
        row.kv_heads = LATENT ? 0 : kv_heads;
        row.head_dim = LATENT ? 0 : D;
        row.kv_lora_rank = LATENT ? DV : 0;
        row.qk_rope_head_dim = LATENT ? D - DV : 0;
        row.block_tokens = 16;
        row.ms = measure(b, [&](int) { attention_run<KV, ROWS, BN, D, DV, LATENT, PREFILL>(b, args, data.out.at); });
        bench_file_row(b.file, &b.info, &row);
    }
}

static void measure_attentions(bench &b)
{
    int64_t decodes[16][2], prefills[16][2];
    int decode_count = bench_plan_decodes(b.options.is_quick, decodes, 16), prefill_count = bench_plan_prefills(b.options.is_quick, prefills, 16);
    measure_attention<__nv_bfloat16, 16, 64, 128, 128, false, false>(b, "attention", "bf16", 32, 8, decodes, decode_count);
    measure_attention<__nv_fp8_e4m3, 16, 64, 128, 128, false, false>(b, "attention", "fp8", 32, 8, decodes, decode_count);
    measure_attention<__nv_bfloat16, 64, 64, 128, 128, false, true>(b, "attention", "bf16", 32, 8, prefills, prefill_count);
    measure_attention<__nv_fp8_e4m3, 64, 64, 128, 128, false, true>(b, "attention", "fp8", 32, 8, prefills, prefill_count);
    measure_attention<__nv_bfloat16, 16, 32, 576, 512, true, false>(b, "mla", "bf16", 16, 1, decodes, decode_count);
    measure_attention<__nv_fp8_e4m3, 16, 32, 576, 512, true, false>(b, "mla", "fp8", 16, 1, decodes, decode_count);
}

/* ---- host and peers ---- */

static void measure_host(bench &b)
{
    const size_t bytes = (size_t)64 << 20;
    buffer<unsigned char> device(bytes);
    void *pinned = nullptr, *plain = calloc(bytes, 1);
    if (cudaMallocHost(&pinned, bytes) != cudaSuccess || plain == nullptr) {
        free(plain);
        return;
    }
    const struct {
        const char *op;
        void *host;
        bool down;
    } ways[] = {{"h2d_pinned", pinned, true}, {"d2h_pinned", pinned, false}, {"h2d_pageable", plain, true}, {"d2h_pageable", plain, false}};
    for (const auto &way : ways)
        put_bytes(b, way.op, (int64_t)bytes, 0, measure(b, [&](int) {
            void *to = way.down ? (void *)device.at : way.host, *from = way.down ? way.host : (void *)device.at;
            check(cudaMemcpyAsync(to, from, bytes, way.down ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, b.stream), "copy");
        }));
    cudaFreeHost(pinned);
    free(plain);
}

enum { PEERS_MAX = 8 };

struct peers {
    float *at[PEERS_MAX];
};

/* Every GPU reads its share from all, adds up, and writes the sum to all: an all-reduce by direct access. */
__global__ void reduce_kernel(peers p, int count, int rank, size_t elements)
{
    size_t share = (elements + count - 1) / count, begin = share * rank, end = begin + share < elements ? begin + share : elements;
    for (size_t i = begin + blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < end; i += (size_t)gridDim.x * blockDim.x) {
        float sum = 0;
        for (int g = 0; g < count; g++)
            sum += p.at[g][i];
        for (int g = 0; g < count; g++)
            p.at[g][i] = sum;
    }
}

static bool can_reach_all(int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int can = i == j;
            if (i != j)
                check(cudaDeviceCanAccessPeer(&can, i, j), "peer");
            if (!can)
                return false;
        }
    return true;
}

static void measure_reduce(bench &b, int count, int64_t bytes)
{
    enum { SAMPLES = 11 };
    peers p = {};
    cudaStream_t streams[PEERS_MAX];
    double samples[SAMPLES];
    for (int g = 0; g < count; g++) {
        check(cudaSetDevice(g), "device");
        check(cudaMalloc((void **)&p.at[g], (size_t)bytes * 2), "device memory");
        check(cudaMemset(p.at[g], 0, (size_t)bytes * 2), "device memory");
        check(cudaStreamCreateWithFlags(&streams[g], cudaStreamNonBlocking), "stream");
    }
    for (int s = -2; s < SAMPLES; s++) {
        for (int g = 0; g < count; g++) {
            check(cudaSetDevice(g), "device");
            check(cudaDeviceSynchronize(), "device");
        }
        double begin = now_s();
        for (int g = 0; g < count; g++) {
            check(cudaSetDevice(g), "device");
            reduce_kernel<<<128, 512, 0, streams[g]>>>(p, count, g, (size_t)bytes / 2); // 16-bit elements, added in 32
        }
        for (int g = 0; g < count; g++)
            check(cudaStreamSynchronize(streams[g]), "all-reduce");
        if (s >= 0)
            samples[s] = 1e3 * (now_s() - begin);
    }
    for (int g = 0; g < count; g++) {
        check(cudaSetDevice(g), "device");
        cudaStreamDestroy(streams[g]);
        cudaFree(p.at[g]);
    }
    check(cudaSetDevice(b.options.device), "device");
    bench_row row = {};
    row.op = "all_reduce";
    row.bytes = bytes;
    row.gpus = count;
    row.note = "direct access, host-timed: launches included";
    bench_stats_of(samples, SAMPLES, &row.ms);
    bench_file_row(b.file, &b.info, &row);
}

static void measure_peers(bench &b)
{
    int count = 0;
    const size_t bytes = (size_t)256 << 20;
    check(cudaGetDeviceCount(&count), "devices");
    count = count > PEERS_MAX ? PEERS_MAX : count;
    if (count < 2 || b.options.device != 0 || !has_time(b))
        return;
    {
        buffer<unsigned char> here(bytes);
        check(cudaSetDevice(1), "device");
        buffer<unsigned char> there(bytes);
        check(cudaSetDevice(0), "device");
        put_bytes(b, "p2p", (int64_t)bytes, 0, measure(b, [&](int) { check(cudaMemcpyPeerAsync(there.at, 1, here.at, 0, bytes, b.stream), "peer copy"); }));
    }
    if (!can_reach_all(count))
        return;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (i != j) {
                check(cudaSetDevice(i), "device");
                cudaError_t status = cudaDeviceEnablePeerAccess(j, 0);
                if (status != cudaErrorPeerAccessAlreadyEnabled)
                    check(status, "peer access");
            }
    check(cudaSetDevice(0), "device");
    int64_t messages[16];
    int message_count = bench_plan_messages(b.options.is_quick, messages, 16);
    for (int gpus = 2; gpus <= count; gpus *= 2)
        for (int i = 0; i < message_count && has_time(b); i++)
            measure_reduce(b, gpus, messages[i]);
}

/* ---- all of it ---- */

static int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "device");
    return value;
}

static void describe(bench &b, char text[5][128])
{
    int driver = 0, runtime = 0;
    size_t free_bytes = 0, total_bytes = 0;
    check(cudaDriverGetVersion(&driver), "driver");
    check(cudaRuntimeGetVersion(&runtime), "runtime");
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "memory");
    time_t now = time(nullptr);
    snprintf(text[0], 128, "%s", b.card.name);
    snprintf(text[1], 128, "%d.%d", driver / 1000, driver % 1000 / 10);
    snprintf(text[2], 128, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    snprintf(text[3], 128, "%d MHz cores and %d MHz memory at most", attribute(cudaDevAttrClockRate, b.options.device) / 1000,
             attribute(cudaDevAttrMemoryClockRate, b.options.device) / 1000);
    strftime(text[4], 128, "%Y-%m-%d", gmtime(&now));
    for (char *at = text[0]; *at != '\0'; at++)
        if (*at == ',' || *at == '"')
            *at = ' ';
    b.info = {text[0], text[1], text[2], text[3], text[4], (int64_t)total_bytes, (int64_t)free_bytes};
}

int main(int count, char **words)
{
    bench b = {};
    char text[5][128];
    int devices = 0;
    if (!bench_options_parse(count, (const char *const *)words, &b.options))
        return 2;
    if (b.options.wants_help) {
        puts("usage: kvsim-microbench [--output FILE.csv] [--device N] [--seconds S] [--quick]\n"
             "Measures one GPU for 'kvsim calibrate FILE.csv --hardware NAME'. Within 5 minutes; nothing of the card is changed.");
        return 0;
    }
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices <= b.options.device) {
        fprintf(stderr, "kvsim-microbench: there is no GPU %d here\n", b.options.device);
        return 4;
    }
    b.file = b.options.output == nullptr ? stdout : fopen(b.options.output, "wb");
    if (b.file == nullptr) {
        perror(b.options.output);
        return 4;
    }
    b.began_s = now_s();
    check(cudaSetDevice(b.options.device), "device");
    check(cudaGetDeviceProperties(&b.card, b.options.device), "device");
    check(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking), "stream");
    describe(b, text);
    bench_file_begin(b.file, &b.info);
    measure_memory(b);
    measure_launch(b);
    measure_host(b);
    measure_gemm(b);
    measure_attentions(b);
    measure_peers(b);
    if (!has_time(b))
        fprintf(stderr, "kvsim-microbench: the time was up before all was measured; --seconds gives more\n");
    bool ok = fflush(b.file) == 0 && !ferror(b.file);
    if (b.file != stdout)
        ok = fclose(b.file) == 0 && ok;
    return !ok ? 4 : b.failures > 0 ? 1 : 0;
}
