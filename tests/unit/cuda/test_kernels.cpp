/*
 * The kernels of cuda/ on the host (emulated/), against the references that kvsim-microbench compares them with on a GPU.
 */
#include "attention.cuh"
#include "memory.cuh"
#include "quantize.cuh"

#include <cstdio>
#include <cstdlib>

/* What the kernels call shared memory. */
alignas(128) unsigned char attention_memory[256 * 1024];
float quantize_tops[QUANTIZE_THREADS / 32];

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* ---- attention ---- */

static float narrowed(float value, __nv_bfloat16 *to)
{
    *to = __float2bfloat16(value);
    return __bfloat162float(*to);
}

static float narrowed(float value, fp8 *to)
{
    to->bits = bench_fp8_from(value);
    return bench_fp8_to(to->bits);
}

struct problem {
    int batch, context, fresh, q_heads, kv_heads, block_shift, splits;
};

/* A paged cache of random numbers in random order, and the same as the reference takes it. */
template <typename S> struct cache {
    typedef typename S::KV KV;
    std::vector<KV> k, v;
    std::vector<float> flat_k, flat_v;
    std::vector<int> table;
    int stride;

    explicit cache(const problem &p) : stride((p.context + (1 << p.block_shift) - 1) >> p.block_shift)
    {
        const size_t pages = (size_t)p.batch * stride, tokens = pages << p.block_shift;
        k.resize(tokens * p.kv_heads * S::D);
        v.resize(tokens * p.kv_heads * S::DV);
        memset((void *)k.data(), 0xff, k.size() * sizeof(KV)); // what no token holds must not matter
        memset((void *)v.data(), 0xff, v.size() * sizeof(KV));
        flat_k.resize((size_t)p.batch * p.context * p.kv_heads * S::D);
        flat_v.resize((size_t)p.batch * p.context * p.kv_heads * S::DV);
        table.resize(pages);
        bench_pages(5, table.data(), (int32_t)pages);
        uint64_t seed = 3;
        for (int b = 0; b < p.batch; b++)
            for (int t = 0; t < p.context; t++)
                for (int h = 0; h < p.kv_heads; h++)
                    put(p, b, t, h, &seed);
    }

    void put(const problem &p, int b, int t, int h, uint64_t *seed)
    {
        size_t from = ((size_t)b * p.context + t) * p.kv_heads + h;
        size_t page = table[(size_t)b * stride + (t >> p.block_shift)];
        size_t to = ((page << p.block_shift) + t % (1 << p.block_shift)) * p.kv_heads + h;
        for (int d = 0; d < S::D; d++)
            flat_k[from * S::D + d] = narrowed(bench_random(seed), &k[to * S::D + d]);
        for (int d = 0; d < S::DV; d++)
            flat_v[from * S::DV + d] = S::LATENT ? flat_k[from * S::D + d]
                                                 : narrowed(bench_random(seed), &v[to * S::DV + d]);
    }
};

template <typename S> static void check_attention(const char *what, const problem &p)
{
    const size_t rows = (size_t)p.batch * p.fresh * p.q_heads;
    const cache<S> cached(p);
    std::vector<float> q(rows * S::D), want(rows * S::DV), got(rows * S::DV);
    std::vector<float> partial(rows * p.splits * S::DV, NAN), tops(rows * p.splits * 2, NAN);
    std::vector<__nv_bfloat16> narrow_q(q.size()), out(got.size(), __nv_bfloat16{0x7fff});
    uint64_t seed = 9;
    for (size_t i = 0; i < q.size(); i++)
        q[i] = narrowed(4 * bench_random(&seed), &narrow_q[i]); // sharp enough that keys differ
    const float scale = 1.0f / std::sqrt((float)S::D);
    const bench_attention shape = {p.batch, p.fresh, p.context, p.q_heads, p.kv_heads, S::D, S::DV, scale};
    bench_attention_reference(&shape, q.data(), cached.flat_k.data(), cached.flat_v.data(), want.data());

    const attention_args args = {narrow_q.data(), cached.k.data(), cached.v.data(), cached.table.data(), partial.data(),
                                 tops.data(), out.data(), p.batch, p.fresh, p.context, p.q_heads, p.kv_heads,
                                 p.block_shift, cached.stride, p.splits, scale};
    const int group = p.q_heads / p.kv_heads, head_tiles = (group + S::ROWS - 1) / S::ROWS;
    const dim3 grid(S::PREFILL ? (p.fresh + S::ROWS - 1) / S::ROWS : 1, S::PREFILL ? p.q_heads : p.kv_heads * head_tiles,
                    p.batch * p.splits);
    require(sizeof(attention_shared<S>) <= sizeof attention_memory, "shared memory");
    memset(attention_memory, 0xff, sizeof attention_memory);
    emulated_launch(grid, ATTENTION_THREADS, [&] { attention_kernel<S>(args); });
    if (p.splits > 1)
        emulated_launch(dim3((unsigned)rows), S::DV, [&] { attention_combine<S::DV>(args); });
    for (size_t i = 0; i < got.size(); i++)
        got[i] = __bfloat162float(out[i]);
    const double distance = bench_distance(got.data(), want.data(), got.size());
    printf("  %-24s %6zu rows, shared memory %6zu, off by %.4f\n", what, rows, sizeof(attention_shared<S>), distance);
    require(distance < 0.03, what);
}

/* 2^120 and all: every finite number of 8 bits. */
static void check_widening()
{
    alignas(16) fp8 from[16];
    alignas(16) __nv_bfloat16 to[16];
    for (int first = 0; first < 256; first += 16) {
        for (int i = 0; i < 16; i++)
            from[i].bits = (uint8_t)(first + i);
        widen_16(from, to);
        for (int i = 0; i < 16; i++)
            if ((from[i].bits & 0x7f) != 0x7f)
                require(__bfloat162float(to[i]) == bench_fp8_to(from[i].bits), "widening");
    }
}

/* ---- memory ---- */

static unsigned folded(const uint4 *at, size_t count)
{
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        sum ^= at[i].x ^ at[i].y ^ at[i].z ^ at[i].w;
    return sum;
}

static unsigned folded(const std::vector<unsigned> &words)
{
    unsigned sum = 0;
    for (unsigned word : words)
        sum ^= word;
    return sum;
}

static void check_memory()
{
    enum { COUNT = 1000, BLOCKS = 3, THREADS = 64, PAGES = 20, WORDS = 50 };
    std::vector<uint4> from(COUNT), to(COUNT, make_uint4(9, 9, 9, 9));
    std::vector<unsigned> out(BLOCKS * THREADS, 0xdeadbeefu);
    std::vector<int> table(PAGES);
    emulated_launch(dim3(BLOCKS), THREADS, [&] { fill_kernel((uint8_t *)from.data(), COUNT * 16, 1); });
    require(folded(from.data(), COUNT / 2) != folded(from.data() + COUNT / 2, COUNT / 2), "filling");
    emulated_launch(dim3(BLOCKS), THREADS, [&] { read_kernel(from.data(), COUNT, out.data()); });
    require(folded(out) == folded(from.data(), COUNT), "reading");
    emulated_launch(dim3(BLOCKS), THREADS, [&] { copy_kernel(from.data(), to.data(), COUNT); });
    require(memcmp(from.data(), to.data(), COUNT * 16) == 0, "copying");
    bench_pages(1, table.data(), PAGES);
    table[0] = table[1]; // a page twice cancels, one is missing
    unsigned want = 0;
    for (int page : table)
        want ^= folded(&from[(size_t)page * WORDS], WORDS);
    emulated_launch(dim3(BLOCKS), THREADS, [&] { gather_kernel(from.data(), table.data(), PAGES, WORDS, out.data()); });
    require(folded(out) == want, "gathering");
    emulated_launch(dim3(BLOCKS), THREADS, [&] { write_kernel(to.data(), COUNT); });
    for (unsigned i = 0; i < COUNT; i++)
        require(to[i].x == i && to[i].y == 2 && to[i].z == 3 && to[i].w == 4, "writing");
    std::vector<fp8> narrow(5000);
    emulated_launch(dim3(BLOCKS), THREADS, [&] { fill_kernel(narrow.data(), narrow.size(), 1); });
    for (fp8 value : narrow)
        require(std::fabs(bench_fp8_to(value.bits)) < 1, "random numbers of 8 bits");
}

static float quantized(fp8 value)
{
    return bench_fp8_to(value.bits);
}

static float quantized(int8_t value)
{
    return value;
}

/* Every number is back within half a step of its row's scale; the largest one is exact but for the scale's rounding. */
template <typename T> static void check_quantizing(const char *what, float step)
{
    enum { ROWS = 3, K = 5000 };
    std::vector<float> values(ROWS * K), scales(ROWS, NAN);
    std::vector<__nv_bfloat16> from(ROWS * K);
    std::vector<T> to(ROWS * K);
    uint64_t seed = 8;
    memset((void *)to.data(), 0x7f, to.size() * sizeof(T));
    for (size_t i = 0; i < values.size(); i++) {
        float size = i / K == 0 ? 1000.0f : i / K == 1 ? 0.01f : 0.0f; // a row of zeros, too
        values[i] = narrowed(size * bench_random(&seed), &from[i]);
    }
    emulated_launch(dim3(ROWS), QUANTIZE_THREADS, [&] { quantize_kernel(from.data(), to.data(), scales.data(), K); });
    for (size_t i = 0; i < values.size(); i++) {
        float top = 0;
        for (size_t j = i / K * K; j < (i / K + 1) * K && i % K == 0; j++)
            top = std::fmax(top, std::fabs(values[j]));
        if (i % K == 0)
            require(std::fabs(scales[i / K] * narrow_limit((const T *)nullptr) - top) <= 1e-5f * top || top == 0, what);
        float got = quantized(to[i]) * scales[i / K];
        require(std::fabs(got - values[i]) <= step * std::fmax(std::fabs(values[i]), 0.02f * 127 * scales[i / K]) + 1e-6f, what);
    }
}

int main()
{
    typedef __nv_bfloat16 bf16;
    check_widening();
    check_memory();
    check_quantizing<fp8>("quantizing to fp8", 1.0f / 16);
    check_quantizing<int8_t>("quantizing to int8", 0.5f);
    // contexts that end within a tile and within a page; splits of which the last is empty; groups below and above 16 heads
    check_attention<attention_shape<bf16, 16, 64, 128, 128, false, false>>("decode, bf16", {2, 150, 1, 8, 2, 4, 3});
    check_attention<attention_shape<bf16, 16, 64, 128, 128, false, false>>("decode, bf16, one", {1, 64, 1, 20, 1, 3, 1});
    check_attention<attention_shape<bf16, 16, 64, 128, 128, false, false>>("decode, bf16, empty", {1, 70, 1, 4, 1, 5, 3});
    check_attention<attention_shape<fp8, 16, 64, 128, 128, false, false>>("decode, fp8", {1, 300, 1, 8, 2, 4, 1});
    check_attention<attention_shape<bf16, 64, 64, 128, 128, false, true>>("prefill, bf16", {1, 150, 100, 2, 1, 4, 1});
    check_attention<attention_shape<fp8, 64, 64, 128, 128, false, true>>("prefill, fp8", {1, 130, 130, 2, 2, 4, 1});
    check_attention<attention_shape<bf16, 16, 32, 576, 512, true, false>>("latent, bf16", {1, 70, 1, 16, 1, 4, 2});
    check_attention<attention_shape<fp8, 16, 32, 576, 512, true, false>>("latent, fp8", {1, 100, 1, 20, 1, 4, 1});
    return EXIT_SUCCESS;
}
