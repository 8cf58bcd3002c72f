/*
 * Memory, launches, and copies between host and card.
 */
#include "bench.cuh"

static unsigned folded(const std::vector<uint4> &words, size_t first, size_t count)
{
    unsigned sum = 0;
    for (size_t i = first; i < first + count; i++)
        sum ^= words[i].x ^ words[i].y ^ words[i].z ^ words[i].w;
    return sum;
}

static unsigned folded(const std::vector<unsigned> &words)
{
    unsigned sum = 0;
    for (unsigned word : words)
        sum ^= word;
    return sum;
}

/* On a megabyte and a bit, which no block divides. */
static void verify_memory(bench &b)
{
    enum { PAGES = 300, WORDS = 500, THREADS = 256, BLOCKS = 37 };
    const size_t count = (size_t)PAGES * WORDS;
    buffer<uint4> from(count), to(count);
    buffer<unsigned> out(BLOCKS * THREADS);
    buffer<int> table(PAGES);
    std::vector<int> order(PAGES);
    fill(b, (uint8_t *)from.at, count * 16, 1);
    const std::vector<uint4> words = from.get();

    out.poison(b.stream);
    read_kernel<<<BLOCKS, THREADS, 0, b.stream>>>(from.at, count, out.at);
    check(cudaStreamSynchronize(b.stream), "read");
    verify(b, "reading", folded(out.get()) == folded(words, 0, count) ? 0 : 1, 0);
    to.poison(b.stream);
    copy_kernel<<<BLOCKS, THREADS, 0, b.stream>>>(from.at, to.at, count);
    check(cudaStreamSynchronize(b.stream), "copy");
    verify(b, "copying", memcmp(to.get().data(), words.data(), count * 16) == 0 ? 0 : 1, 0);

    bench_pages(7, order.data(), PAGES);
    order[0] = order[1]; // a page twice cancels, one is missing
    table.put(order);
    unsigned want = 0;
    for (int page : order)
        want ^= folded(words, (size_t)page * WORDS, WORDS);
    out.poison(b.stream);
    gather_kernel<<<BLOCKS, THREADS, 0, b.stream>>>(from.at, table.at, PAGES, WORDS, out.at);
    check(cudaStreamSynchronize(b.stream), "gather");
    verify(b, "gathering", folded(out.get()) == want ? 0 : 1, 0);

    write_kernel<<<BLOCKS, THREADS, 0, b.stream>>>(to.at, count);
    check(cudaStreamSynchronize(b.stream), "write");
    const std::vector<uint4> written = to.get();
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        ok = ok && written[i].x == i && written[i].y == 2 && written[i].z == 3 && written[i].w == 4;
    verify(b, "writing", ok ? 0 : 1, 0);
}

void measure_memory(bench &b)
{
    const size_t bytes = b.options.is_quick ? (size_t)256 << 20 : (size_t)2 << 30, count = bytes / 16;
    const int blocks = fill_blocks(b);
    verify_memory(b);
    if (!has_time(b))
        return;
    buffer<uint4> from(count), to(count);
    buffer<unsigned> out((size_t)blocks * 512);
    fill(b, (uint32_t *)from.at, count * 4, 1);
    put_bytes(b, "read", (int64_t)bytes, 0, measure(b, AS_GRAPH, [&](int) {
        read_kernel<<<blocks, 512, 0, b.stream>>>(from.at, count, out.at);
    }));
    put_bytes(b, "write", (int64_t)bytes, 0, measure(b, AS_GRAPH, [&](int) {
        write_kernel<<<blocks, 512, 0, b.stream>>>(to.at, count);
    }));
    for (size_t size = (size_t)1 << 20; size <= bytes; size *= 8)
        put_bytes(b, "copy", (int64_t)(2 * size), 0, measure(b, AS_GRAPH, [&](int i) {
            size_t places = bytes / size, at = (size_t)i % places * (size / 16);
            copy_kernel<<<blocks, 512, 0, b.stream>>>(from.at + at, to.at + at, size / 16);
        }));
    // 1 KiB a token and layer on one GPU: four KV heads of 128 16-bit numbers, keys alone.
    const int token_words = 64;
    for (int tokens = 8; tokens <= 256 && has_time(b); tokens *= 2) {
        int words = tokens * token_words, pages = (int)(count / (size_t)words);
        std::vector<int> order((size_t)pages);
        bench_pages(7, order.data(), pages);
        buffer<int> table((size_t)pages);
        table.put(order);
        put_bytes(b, "gather", (int64_t)pages * words * 16, tokens, measure(b, AS_GRAPH, [&](int) {
            gather_kernel<<<blocks, 512, 0, b.stream>>>(from.at, table.at, pages, words, out.at);
        }));
    }
}

/* ---- launches ---- */

static void put_share(const bench &b, const char *op, bench_stats stats, int kernels)
{
    bench_row row = {};
    row.op = op;
    row.ms = stats;
    row.ms.median /= kernels;
    row.ms.low /= kernels;
    row.ms.high /= kernels;
    bench_file_row(b.file, &b.info, &row);
}

void measure_launch(bench &b)
{
    enum { KERNELS = 500 };
    if (!has_time(b))
        return;
    auto launch = [&](int) {
        for (int i = 0; i < KERNELS; i++)
            empty_kernel<<<1, 32, 0, b.stream>>>();
    };
    put_share(b, "launch", measure(b, AS_CALLS, launch), KERNELS);
    put_share(b, "graph", measure(b, AS_GRAPH, launch), KERNELS);
}

/* ---- copies between host and card ---- */

void measure_host(bench &b)
{
    const size_t bytes = (size_t)256 << 20;
    if (!has_time(b))
        return;
    buffer<unsigned char> device(bytes);
    std::vector<unsigned char> plain(bytes);
    void *pinned = nullptr;
    check(cudaMallocHost(&pinned, bytes), "pinned memory");
    const struct {
        const char *op;
        void *host;
        cudaMemcpyKind kind;
    } ways[] = {{"h2d_pageable", plain.data(), cudaMemcpyHostToDevice},
                {"d2h_pinned", pinned, cudaMemcpyDeviceToHost},
                {"h2d_pinned", pinned, cudaMemcpyHostToDevice},
                {"d2h_pageable", plain.data(), cudaMemcpyDeviceToHost}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        bool is_down = ways[i].kind == cudaMemcpyHostToDevice;
        unsigned char fresh = (unsigned char)(10 + i); // what goes down must be what comes up
        if (is_down)
            memset(ways[i].host, fresh, bytes);
        void *to = is_down ? (void *)device.at : ways[i].host, *from = is_down ? ways[i].host : (void *)device.at;
        put_bytes(b, ways[i].op, (int64_t)bytes, 0, measure(b, AS_CALLS, [&](int) {
            check(cudaMemcpyAsync(to, from, bytes, ways[i].kind, b.stream), "copy");
        }));
        const unsigned char *got = (const unsigned char *)ways[i].host, sent = (unsigned char)(fresh - 1);
        if (!is_down)
            verify(b, ways[i].op, got[0] == sent && got[bytes / 2] == sent && got[bytes - 1] == sent ? 0 : 1, 0);
    }
    check(cudaFreeHost(pinned), "pinned memory");
}
