/*
 * Attention by kvsim's own kernels (attention.cuh): decode with grouped heads and with latents, and prefill, on bf16 and
 * fp8 caches in pages of 16 tokens in random order. What an engine's kernels reach is at least this.
 */
#include "attention.cuh"
#include "bench.cuh"

enum { PAGE_SHIFT = 4 };

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
    int64_t batch, context, fresh, q_heads, kv_heads;
    int splits, copies; /* copies of the cache that measuring turns over */
};

template <typename S> static size_t cache_bytes(const problem &p)
{
    return (size_t)(p.batch * p.context * p.kv_heads) * (S::D + (S::LATENT ? 0 : S::DV)) * sizeof(typename S::KV);
}

/* Memory of a problem; the pages of all copies are shuffled together. */
template <typename S> struct attention_data {
    typedef typename S::KV KV;
    const problem p;
    const int stride;
    const size_t tokens, rows;
    buffer<KV> k, v;
    buffer<int> table;
    buffer<__nv_bfloat16> q, out;
    buffer<float> partial, tops;
    explicit attention_data(const problem &of)
        : p(of), stride((int)((p.context + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT)),
          tokens((size_t)(p.copies * p.batch * stride) << PAGE_SHIFT), rows((size_t)(p.batch * p.fresh * p.q_heads)),
          k(tokens * (size_t)p.kv_heads * S::D), v(S::LATENT ? 16 : tokens * (size_t)p.kv_heads * S::DV),
          table((size_t)(p.copies * p.batch * stride)), q(rows * S::D), out(rows * S::DV),
          partial(p.splits > 1 ? rows * p.splits * S::DV : 1), tops(rows * p.splits * 2)
    {
        std::vector<int> order(table.count);
        bench_pages(11, order.data(), (int32_t)order.size());
        table.put(order);
    }
    attention_args args(int copy) const
    {
        const int *from = table.at + (size_t)(copy % p.copies) * (size_t)p.batch * stride;
        return {q.at, k.at, v.at, from, partial.at, tops.at, out.at, (int)p.batch, (int)p.fresh, (int)p.context,
                (int)p.q_heads, (int)p.kv_heads, PAGE_SHIFT, stride, p.splits, 1.0f / sqrtf((float)S::D)};
    }
};

template <typename S> static bool attention_fits(const bench &b)
{
    const size_t bytes = sizeof(attention_shared<S>);
    if (bytes > b.card.sharedMemPerBlockOptin || b.card.major < 8)
        return false;
    check(cudaFuncSetAttribute(attention_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), "shared memory");
    return true;
}

template <typename S> static int blocks_of(const problem &p)
{
    int64_t group = p.q_heads / p.kv_heads, head_tiles = (group + S::ROWS - 1) / S::ROWS;
    return (int)(p.batch * p.kv_heads * head_tiles);
}

/* Splits of the keys by which the card's last wave of blocks is as full as can be. */
template <typename S> static int splits_for(const bench &b, const problem &p)
{
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, attention_kernel<S>, ATTENTION_THREADS,
                                                        sizeof(attention_shared<S>)), "occupancy");
    return S::PREFILL ? 1 : bench_splits(blocks_of<S>(p), resident * b.card.multiProcessorCount, (int)((p.context + S::BN - 1) / S::BN));
}

template <typename S> static void attention_run(const bench &b, const problem &p, const attention_args &a)
{
    const int head_tiles = blocks_of<S>(p) / (int)(p.batch * p.kv_heads);
    dim3 grid(S::PREFILL ? (unsigned)((p.fresh + S::ROWS - 1) / S::ROWS) : 1,
              (unsigned)(S::PREFILL ? p.q_heads : p.kv_heads * head_tiles), (unsigned)(p.batch * p.splits));
    attention_kernel<S><<<grid, ATTENTION_THREADS, sizeof(attention_shared<S>), b.stream>>>(a);
    if (p.splits > 1)
        attention_combine<S::DV><<<(unsigned)(p.batch * p.fresh * p.q_heads), S::DV, 0, b.stream>>>(a);
}

/* ---- results ---- */

template <typename S> static void verify_attention(bench &b, const char *what, const problem &p)
{
    typedef typename S::KV KV;
    attention_data<S> data(p);
    const std::vector<int> table = data.table.get();
    std::vector<float> q(data.q.count), k((size_t)(p.batch * p.context * p.kv_heads) * S::D),
        v((size_t)(p.batch * p.context * p.kv_heads) * S::DV), want(data.out.count), got(data.out.count);
    std::vector<__nv_bfloat16> narrow_q(q.size());
    std::vector<KV> narrow_k(data.k.count), narrow_v(data.v.count);
    uint64_t seed = 3;
    memset((void *)narrow_k.data(), 0xff, narrow_k.size() * sizeof(KV)); // what no token holds must not matter
    memset((void *)narrow_v.data(), 0xff, narrow_v.size() * sizeof(KV));
    for (size_t i = 0; i < q.size(); i++)
        q[i] = narrowed(4 * bench_random(&seed), &narrow_q[i]); // sharp enough that keys differ
    for (int64_t at = 0; at < p.batch * p.context * p.kv_heads; at++) {
        int64_t token = at / p.kv_heads % p.context, sequence = at / p.kv_heads / p.context;
        size_t page = (size_t)table[(size_t)(sequence * data.stride + (token >> PAGE_SHIFT))];
        size_t to = ((page << PAGE_SHIFT) + (size_t)(token % (1 << PAGE_SHIFT))) * (size_t)p.kv_heads + (size_t)(at % p.kv_heads);
        for (int d = 0; d < S::D; d++)
            k[(size_t)at * S::D + d] = narrowed(bench_random(&seed), &narrow_k[to * S::D + d]);
        for (int d = 0; d < S::DV; d++)
            v[(size_t)at * S::DV + d] =
                S::LATENT ? k[(size_t)at * S::D + d] : narrowed(bench_random(&seed), &narrow_v[to * S::DV + d]);
    }
    data.q.put(narrow_q);
    data.k.put(narrow_k);
    if (!S::LATENT)
        data.v.put(narrow_v);
    for (buffer<float> *scratch : {&data.partial, &data.tops})
        scratch->poison(b.stream);
    data.out.poison(b.stream);
    const attention_args args = data.args(0);
    const bench_attention shape = {(int)p.batch, (int)p.fresh, (int)p.context, (int)p.q_heads, (int)p.kv_heads, S::D, S::DV, args.scale};
    bench_attention_reference(&shape, q.data(), k.data(), v.data(), want.data());
    attention_run<S>(b, p, args);
    check(cudaGetLastError(), what);
    check(cudaStreamSynchronize(b.stream), what);
    const std::vector<__nv_bfloat16> out = data.out.get();
    for (size_t i = 0; i < got.size(); i++)
        got[i] = __bfloat162float(out[i]);
    verify(b, what, bench_distance(got.data(), want.data(), got.size()), 0.03);
}

/* ---- times ---- */

template <typename S> static void measure_shape(bench &b, const char *op, const char *dtype, problem p)
{
    size_t free_bytes, total_bytes;
    const size_t bytes = cache_bytes<S>(p), l2 = (size_t)b.card.l2CacheSize;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "memory");
    if (bytes > free_bytes / 2)
        return;
    p.splits = splits_for<S>(b, p);
    p.copies = S::PREFILL ? 1 : 1 + (int)(4 * l2 / bytes); // a prompt's keys were written just before: the L2 may have them
    attention_data<S> data(p);
    fill(b, data.q.at, data.q.count, 1);
    fill(b, data.k.at, data.k.count, 2);
    fill(b, data.v.at, data.v.count, 3);
    bench_row row = {};
    row.op = op;
    row.kernel = "own";
    row.phase = S::PREFILL ? "prefill" : "decode";
    row.kv_cache_dtype = dtype;
    row.batch = p.batch;
    row.seq_len = p.context;
    row.q_heads = p.q_heads;
    row.kv_heads = S::LATENT ? 0 : p.kv_heads;
    row.head_dim = S::LATENT ? 0 : S::D;
    row.kv_lora_rank = S::LATENT ? S::DV : 0;
    row.qk_rope_head_dim = S::LATENT ? S::D - S::DV : 0;
    row.block_tokens = 1 << PAGE_SHIFT;
    row.ms = measure(b, AS_GRAPH, [&](int i) { attention_run<S>(b, p, data.args(i)); });
    bench_file_row(b.file, &b.info, &row);
}

template <typename S>
static void measure_kind(bench &b, const char *op, const char *dtype, int q_heads, int kv_heads, const int64_t (*shapes)[2], int count)
{
    char what[64];
    if (!attention_fits<S>(b))
        return;
    // within a tile, over splits of which the last has least, and more heads than a block's rows
    const problem checks[] = {{2, 150, S::PREFILL ? 100 : 1, q_heads, kv_heads, S::PREFILL ? 1 : 3, 1},
                              {1, 700, S::PREFILL ? 300 : 1, 20, 1, 1, 1},
                              {1, 70, S::PREFILL ? 70 : 1, 4, 1, S::PREFILL ? 1 : 3, 1}};
    for (const problem &p : checks) {
        snprintf(what, sizeof what, "%s %s in %s, %lld tokens", op, S::PREFILL ? "prefill" : "decode", dtype, (long long)p.context);
        verify_attention<S>(b, what, p);
    }
    for (int i = 0; i < count && has_time(b); i++)
        measure_shape<S>(b, op, dtype, {shapes[i][0], shapes[i][1], S::PREFILL ? shapes[i][1] : 1, q_heads, kv_heads, 1, 1});
}

void measure_attentions(bench &b)
{
    typedef __nv_bfloat16 bf16;
    int64_t decodes[BENCH_PLAN_MAX][2], prefills[BENCH_PLAN_MAX][2];
    const int decode_count = bench_plan_decodes(b.options.is_quick, decodes, BENCH_PLAN_MAX),
              prefill_count = bench_plan_prefills(b.options.is_quick, prefills, BENCH_PLAN_MAX);
    measure_kind<attention_shape<bf16, 16, 64, 128, 128, false, false>>(b, "attention", "bf16", 32, 8, decodes, decode_count);
    measure_kind<attention_shape<fp8, 16, 64, 128, 128, false, false>>(b, "attention", "fp8", 32, 8, decodes, decode_count);
    measure_kind<attention_shape<bf16, 64, 64, 128, 128, false, true>>(b, "attention", "bf16", 32, 8, prefills, prefill_count);
    measure_kind<attention_shape<fp8, 64, 64, 128, 128, false, true>>(b, "attention", "fp8", 32, 8, prefills, prefill_count);
    measure_kind<attention_shape<bf16, 16, 32, 576, 512, true, false>>(b, "mla", "bf16", 16, 1, decodes, decode_count);
    measure_kind<attention_shape<fp8, 16, 32, 576, 512, true, false>>(b, "mla", "fp8", 16, 1, decodes, decode_count);
}
