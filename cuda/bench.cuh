/*
 * bench.cuh - what the parts of kvsim-microbench share: checked calls, memory, and how a time is taken.
 *
 * Every figure is the median of repeated runs timed by CUDA events after a warm-up. Kernels are replayed as a graph, as
 * engines run a decode step: neither the host's time nor a library's shows, and the gap between two kernels of a graph is
 * part of each figure. Inputs are random and rotate through more memory than the L2 holds, and other memory is read before
 * each sample: in a serving step, too, nothing is found there from the step before. The card's settings are left alone.
 */
#ifndef KVSIM_CUDA_BENCH_CUH
#define KVSIM_CUDA_BENCH_CUH

#include "bench_host.h"
#include "memory.cuh"

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vector>

inline void check(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "kvsim-microbench: %s: %s\n", what, cudaGetErrorString(status));
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
    struct {      /* memory that is read before each sample, so that nothing of a sample is in the L2 */
        uint4 *at;
        size_t count;
        unsigned *out;
    } other;
};

inline double now_s()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether there is time to time anything. */
inline bool has_time(const bench &b)
{
    return !b.options.only_checks && now_s() - b.began_s < b.options.seconds;
}

/* Enough blocks of a plain kernel to fill the card. */
inline int fill_blocks(const bench &b)
{
    return b.card.multiProcessorCount * 8;
}

/* Device memory that is given back at the end of its scope. */
template <typename T> struct buffer {
    T *at;
    size_t count;
    explicit buffer(size_t n) : at(nullptr), count(n)
    {
        check(cudaMalloc(&at, n * sizeof(T) + 256), "device memory");
    }
    ~buffer() { cudaFree(at); } // fails only after another call has
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    void put(const std::vector<T> &from)
    {
        check(cudaMemcpy(at, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
        check(cudaDeviceSynchronize(), "copy to the device"); // it may return earlier, and other streams do not wait
    }
    std::vector<T> get() const
    {
        std::vector<T> to(count);
        check(cudaMemcpy(to.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost), "copy to the host");
        return to;
    }
    /* Bytes that are no result: NaN in every format. */
    void poison(cudaStream_t stream) { check(cudaMemsetAsync(at, 0xff, count * sizeof(T), stream), "poisoning"); }
};

template <typename T> void fill(const bench &b, T *at, size_t count, uint64_t seed)
{
    fill_kernel<<<fill_blocks(b), 512, 0, b.stream>>>(at, count, seed);
    check(cudaGetLastError(), "filling");
    check(cudaStreamSynchronize(b.stream), "filling");
}

enum timing { AS_GRAPH, AS_CALLS };

struct timer {
    cudaEvent_t begin, end;
    timer()
    {
        check(cudaEventCreate(&begin), "event");
        check(cudaEventCreate(&end), "event");
    }
    ~timer()
    {
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
    }
    /* Milliseconds of run(). With `is_cold` other memory is read first; meanwhile the host queues all of run(). */
    template <typename Run> double of(const bench &b, bool is_cold, Run run)
    {
        float ms = 0;
        if (is_cold)
            read_kernel<<<fill_blocks(b), 512, 0, b.stream>>>(b.other.at, b.other.count, b.other.out);
        check(cudaEventRecord(begin, b.stream), "event");
        run();
        check(cudaEventRecord(end, b.stream), "event");
        check(cudaEventSynchronize(end), "run");
        check(cudaGetLastError(), "kernel");
        check(cudaEventElapsedTime(&ms, begin, end), "event");
        return (double)ms;
    }
};

template <typename Call> cudaGraphExec_t graph_of(const bench &b, int calls, Call call)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeGlobal), "capture");
    for (int i = 0; i < calls; i++)
        call(i);
    check(cudaStreamEndCapture(b.stream, &graph), "capture");
    check(cudaGraphInstantiateWithFlags(&executable, graph, 0), "graph");
    check(cudaGraphDestroy(graph), "graph");
    check(cudaGraphUpload(executable, b.stream), "graph");
    return executable;
}

/* Median time of one call(i), ms; i turns over buffers. Several calls a sample, so that it is well above the timer's grain. */
template <typename Call> bench_stats measure(const bench &b, timing how, Call call)
{
    enum { SAMPLES = 11, WARM_CALLS = 3, CALLS_MAX = 200 };
    const double sample_ms = 2;
    timer time;
    double samples[SAMPLES];
    bench_stats stats;
    for (int i = 0; i < WARM_CALLS; i++)
        call(i);
    double one_ms = time.of(b, false, [&] {
        for (int i = 0; i < WARM_CALLS; i++)
            call(i);
    }) / WARM_CALLS;
    int calls = one_ms > sample_ms ? 1 : (int)fmin((double)CALLS_MAX, ceil(sample_ms / fmax(one_ms, 0.001)));
    cudaGraphExec_t graph = how == AS_GRAPH ? graph_of(b, calls, call) : nullptr;
    auto run = [&] {
        if (graph != nullptr)
            check(cudaGraphLaunch(graph, b.stream), "graph");
        for (int i = 0; i < calls && graph == nullptr; i++)
            call(i);
    };
    run();
    for (int s = 0; s < SAMPLES; s++)
        samples[s] = time.of(b, how == AS_GRAPH, run) / calls;
    if (graph != nullptr)
        check(cudaGraphExecDestroy(graph), "graph");
    bench_stats_of(samples, SAMPLES, &stats);
    return stats;
}

/* Counts a wrong result. */
inline void verify(bench &b, const char *what, double distance, double bound)
{
    if (distance <= bound)
        return;
    b.failures++;
    fprintf(stderr, "kvsim-microbench: %s is wrong: off by %.3g of the result's size (bound %.3g)\n", what, distance, bound);
}

inline void put_bytes(const bench &b, const char *op, int64_t bytes, int64_t block, const bench_stats &stats)
{
    bench_row row = {};
    row.op = op;
    row.bytes = bytes;
    row.block_tokens = block;
    row.ms = stats;
    bench_file_row(b.file, &b.info, &row);
}

/* The parts, in the order in which they run. */
void measure_memory(bench &b);
void measure_launch(bench &b);
void measure_host(bench &b);
void measure_gemm(bench &b);
void measure_attentions(bench &b);
void measure_peers(bench &b);

#endif
