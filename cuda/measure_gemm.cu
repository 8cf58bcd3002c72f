/*
 * Products of a linear layer by rows and dtype, in cuBLASLt with the algorithm that its heuristic names first, as engines
 * take it. Activations come in 16 bits: a product in 8 bits is timed with their quantization (op `gemm`) and, for people,
 * without (op `gemm_quantized`).
 */
#include "bench.cuh"
#include "quantize.cuh"

#include <cublasLt.h>

static const size_t space_bytes = (size_t)64 << 20;

static void check_blas(cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "kvsim-microbench: %s: cuBLASLt status %d\n", what, (int)status);
    exit(1);
}

struct gemm_type {
    const char *name;
    cudaDataType_t in, out, scale;
    cublasComputeType_t compute;
    size_t in_bytes, out_bytes;
    double bound; /* of a result's distance from the reference: the output's rounding; whole numbers are exact */
};

static const gemm_type gemm_types[] = {
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 2, 0.02},
    {"fp8", CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1, 2, 0.02},
    {"int8", CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 1, 4, 0},
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
    cublasLtMatrixLayout_t weights, rows, out;
    cublasLtMatmulHeuristicResult_t found;
    void *space;
    bool is_there, is_whole;
    gemm(cublasLtHandle_t lt, const gemm_type &type, int64_t m, int64_t n, int64_t k, void *workspace)
        : handle(lt), space(workspace), is_there(false), is_whole(type.in == CUDA_R_8I)
    {
        cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
        cublasLtMatmulPreference_t preference;
        int count = 0;
        check_blas(cublasLtMatmulDescCreate(&desc, type.compute, type.scale), "product");
        check_blas(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "product");
        check_blas(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain), "product");
        check_blas(cublasLtMatrixLayoutCreate(&weights, type.in, (uint64_t)k, (uint64_t)n, k), "layout");
        check_blas(cublasLtMatrixLayoutCreate(&rows, type.in, (uint64_t)k, (uint64_t)m, k), "layout");
        check_blas(cublasLtMatrixLayoutCreate(&out, type.out, (uint64_t)n, (uint64_t)m, n), "layout");
        check_blas(cublasLtMatmulPreferenceCreate(&preference), "preference");
        check_blas(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space_bytes,
                                                        sizeof space_bytes), "preference");
        is_there = cublasLtMatmulAlgoGetHeuristic(lt, desc, weights, rows, out, out, preference, 1, &found, &count) ==
                       CUBLAS_STATUS_SUCCESS && count > 0;
        check_blas(cublasLtMatmulPreferenceDestroy(preference), "preference");
    }
    ~gemm()
    {
        cublasLtMatrixLayoutDestroy(weights);
        cublasLtMatrixLayoutDestroy(rows);
        cublasLtMatrixLayoutDestroy(out);
        cublasLtMatmulDescDestroy(desc);
    }
    gemm(const gemm &) = delete;
    void run(const void *b, const void *a, void *c, cudaStream_t stream) const
    {
        const float one = 1, zero = 0;
        const int32_t one_whole = 1, zero_whole = 0;
        check_blas(cublasLtMatmul(handle, desc, is_whole ? (const void *)&one_whole : &one, b, weights, a, rows,
                                  is_whole ? (const void *)&zero_whole : &zero, c, out, c, out, &found.algo, space, space_bytes,
                                  stream), "product");
    }
};

/* ---- results ---- */

/* Random numbers of a type as bytes, and as the reference takes them. */
static void draw(const gemm_type &type, uint64_t seed, std::vector<float> &values, std::vector<uint8_t> &bytes)
{
    bytes.resize(values.size() * type.in_bytes);
    for (size_t i = 0; i < values.size(); i++) {
        float value = bench_random(&seed);
        if (type.in == CUDA_R_16BF) {
            __nv_bfloat16 narrow = __float2bfloat16(value);
            values[i] = __bfloat162float(narrow);
            memcpy(&bytes[2 * i], &narrow, 2);
        } else if (type.in == CUDA_R_8F_E4M3) {
            bytes[i] = bench_fp8_from(value);
            values[i] = bench_fp8_to(bytes[i]);
        } else {
            int8_t whole = (int8_t)floorf(127 * value);
            values[i] = (float)whole;
            memcpy(&bytes[i], &whole, 1);
        }
    }
}

static std::vector<float> widened(const gemm_type &type, const std::vector<uint8_t> &bytes)
{
    std::vector<float> values(bytes.size() / type.out_bytes);
    for (size_t i = 0; i < values.size(); i++) {
        __nv_bfloat16 narrow;
        int32_t whole;
        if (type.out == CUDA_R_16BF) {
            memcpy(&narrow, &bytes[2 * i], 2);
            values[i] = __bfloat162float(narrow);
        } else {
            memcpy(&whole, &bytes[4 * i], 4);
            values[i] = (float)whole;
        }
    }
    return values;
}

static void verify_gemm(bench &b, cublasLtHandle_t lt, const gemm_type &type, int m, int n, int k, void *space)
{
    gemm product(lt, type, m, n, k, space);
    if (!product.is_there)
        return;
    std::vector<float> a((size_t)m * k), weights((size_t)n * k), want((size_t)m * n);
    std::vector<uint8_t> a_bytes, weight_bytes;
    draw(type, 1, a, a_bytes);
    draw(type, 2, weights, weight_bytes);
    bench_gemm_reference(m, n, k, a.data(), weights.data(), want.data());
    buffer<uint8_t> da(a_bytes.size()), db(weight_bytes.size()), dc(want.size() * type.out_bytes);
    da.put(a_bytes);
    db.put(weight_bytes);
    dc.poison(b.stream);
    product.run(db.at, da.at, dc.at, b.stream);
    check(cudaStreamSynchronize(b.stream), "product");
    const std::vector<float> got = widened(type, dc.get());
    char what[64];
    snprintf(what, sizeof what, "the product of %d rows in %s", m, type.name);
    verify(b, what, bench_distance(got.data(), want.data(), want.size()), type.bound);
}

static float quantized(fp8 value)
{
    return bench_fp8_to(value.bits);
}

static float quantized(int8_t value)
{
    return value;
}

/* Every number within a step of its row's scale. */
template <typename T> static void verify_quantize(bench &b, const char *what, double step)
{
    const int m = 5, k = 4104;
    buffer<__nv_bfloat16> from((size_t)m * k);
    buffer<T> to(from.count);
    buffer<float> scales(m);
    fill(b, from.at, from.count, 6);
    to.poison(b.stream);
    quantize_kernel<<<m, QUANTIZE_THREADS, QUANTIZE_THREADS / 32 * sizeof(float), b.stream>>>(from.at, to.at, scales.at, k);
    check(cudaGetLastError(), what);
    check(cudaStreamSynchronize(b.stream), what);
    const std::vector<__nv_bfloat16> in = from.get();
    const std::vector<T> out = to.get();
    const std::vector<float> by = scales.get();
    double worst = 0;
    for (size_t i = 0; i < in.size(); i++) {
        double off = fabs((double)quantized(out[i]) * by[i / k] - __bfloat162float(in[i]));
        worst = off <= worst ? worst : off; // NaN is worst
    }
    verify(b, what, worst, step);
}

/* ---- times ---- */

struct gemm_memory {
    buffer<uint8_t> space, weights, in, narrow, out;
    buffer<float> scales;
};

static void quantize(const bench &b, const gemm_type &type, int64_t m, int64_t k, const gemm_memory &memory)
{
    const __nv_bfloat16 *from = (const __nv_bfloat16 *)memory.in.at;
    const size_t shared = QUANTIZE_THREADS / 32 * sizeof(float);
    if (type.in == CUDA_R_8F_E4M3)
        quantize_kernel<<<(unsigned)m, QUANTIZE_THREADS, shared, b.stream>>>(from, (fp8 *)memory.narrow.at, memory.scales.at, (int)k);
    else
        quantize_kernel<<<(unsigned)m, QUANTIZE_THREADS, shared, b.stream>>>(from, (int8_t *)memory.narrow.at, memory.scales.at, (int)k);
}

static void fill_gemm(bench &b, const gemm_type &type, gemm_memory &memory)
{
    fill(b, (__nv_bfloat16 *)memory.in.at, memory.in.count / 2, 7);
    for (buffer<uint8_t> *to : {&memory.weights, &memory.narrow}) {
        if (type.in == CUDA_R_16BF)
            fill(b, (__nv_bfloat16 *)to->at, to->count / 2, 5);
        else if (type.in == CUDA_R_8F_E4M3)
            fill(b, (fp8 *)to->at, to->count, 5);
        else
            fill(b, to->at, to->count, 5);
    }
}

static void measure_product(bench &b, cublasLtHandle_t lt, const gemm_type &type, int64_t m, int64_t n, int64_t k, gemm_memory &memory)
{
    gemm product(lt, type, m, n, k, memory.space.at);
    if (!product.is_there)
        return;
    const size_t matrix = (size_t)n * (size_t)k * type.in_bytes, copies = memory.weights.count / matrix;
    const bool is_narrow = type.in_bytes == 1;
    const uint8_t *in = is_narrow ? memory.narrow.at : memory.in.at;
    bench_row row = {};
    row.kernel = "cublaslt";
    row.dtype = type.name;
    row.m = m;
    row.n = n;
    row.k = k;
    for (bool quantizes : {false, true}) {
        if (quantizes && !is_narrow)
            continue;
        row.op = is_narrow && !quantizes ? "gemm_quantized" : "gemm";
        row.note = quantizes ? "with the quantization of its rows, by a kernel of kvsim's" : nullptr;
        row.ms = measure(b, AS_GRAPH, [&](int i) {
            if (quantizes)
                quantize(b, type, m, k, memory);
            product.run(memory.weights.at + (size_t)i % copies * matrix, in, memory.out.at, b.stream);
        });
        bench_file_row(b.file, &b.info, &row);
    }
}

void measure_gemm(bench &b)
{
    int64_t rows[BENCH_PLAN_MAX], shapes[BENCH_PLAN_MAX][2], largest[3] = {0, 0, 0};
    int row_count = bench_plan_rows(b.options.is_quick, rows, BENCH_PLAN_MAX),
        shape_count = bench_plan_matrices(b.options.is_quick, shapes, BENCH_PLAN_MAX);
    for (int s = 0; s < shape_count; s++) {
        largest[0] = largest[0] > shapes[s][0] * shapes[s][1] * 2 ? largest[0] : shapes[s][0] * shapes[s][1] * 2;
        largest[1] = largest[1] > rows[row_count - 1] * shapes[s][1] * 2 ? largest[1] : rows[row_count - 1] * shapes[s][1] * 2;
        largest[2] = largest[2] > rows[row_count - 1] * shapes[s][0] * 4 ? largest[2] : rows[row_count - 1] * shapes[s][0] * 4;
    }
    const size_t weight_bytes = largest[0] > (int64_t)1 << 30 ? (size_t)largest[0] : (size_t)1 << 30;
    gemm_memory memory = {buffer<uint8_t>(space_bytes), buffer<uint8_t>(weight_bytes), buffer<uint8_t>((size_t)largest[1]),
                          buffer<uint8_t>((size_t)largest[1] / 2), buffer<uint8_t>((size_t)largest[2]),
                          buffer<float>((size_t)rows[row_count - 1])};
    cublasLtHandle_t lt;
    check_blas(cublasLtCreate(&lt), "cuBLASLt");
    verify_quantize<fp8>(b, "quantizing to fp8", 1.0 / 16); // numbers below 1, in rows whose largest is about 1
    verify_quantize<int8_t>(b, "quantizing to int8", 0.5 / 127 + 1e-5);
    for (const gemm_type &type : gemm_types) {
        if (!card_has(b, type))
            continue;
        verify_gemm(b, lt, type, 48, 64, 128, memory.space.at);
        verify_gemm(b, lt, type, 1, 256, 512, memory.space.at);
        verify_gemm(b, lt, type, 100, 512, 4096, memory.space.at);
        if (has_time(b))
            fill_gemm(b, type, memory);
        for (int s = 0; s < shape_count; s++)
            for (int r = 0; r < row_count && has_time(b); r++)
                measure_product(b, lt, type, rows[r], shapes[s][0], shapes[s][1], memory);
    }
    check_blas(cublasLtDestroy(lt), "cuBLASLt");
}
