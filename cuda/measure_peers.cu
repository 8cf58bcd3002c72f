/*
 * Several GPUs: copies between two, and an all-reduce by direct access.
 */
#include "bench.cuh"

enum { PEERS_MAX = 8 };

struct peers {
    uint4 *at[PEERS_MAX]; /* eight 16-bit numbers each */
};

__device__ static void add(uint4 value, float (&sums)[8])
{
    const uint32_t words[4] = {value.x, value.y, value.z, value.w};
    for (int i = 0; i < 4; i++) {
        sums[2 * i] += __uint_as_float(words[i] << 16);
        sums[2 * i + 1] += __uint_as_float(words[i] & 0xffff0000u);
    }
}

__device__ static uint32_t packed(float low, float high)
{
    return __bfloat16_as_ushort(__float2bfloat16(low)) | (uint32_t)__bfloat16_as_ushort(__float2bfloat16(high)) << 16;
}

/* Every GPU reads its share from all, adds up in 32 bits, and writes the sum to all. */
__global__ void reduce_kernel(peers p, int count, int rank, size_t words)
{
    const size_t share = (words + count - 1) / count, begin = share * rank, end = begin + share < words ? begin + share : words;
    for (size_t i = begin + blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < end; i += (size_t)gridDim.x * blockDim.x) {
        float sums[8] = {0};
        for (int g = 0; g < count; g++)
            add(p.at[g][i], sums);
        const uint4 sum = make_uint4(packed(sums[0], sums[1]), packed(sums[2], sums[3]), packed(sums[4], sums[5]), packed(sums[6], sums[7]));
        for (int g = 0; g < count; g++)
            p.at[g][i] = sum;
    }
}

/* Memory and a stream on each GPU. */
struct team {
    int count, home;
    size_t words;
    peers memory;
    cudaStream_t streams[PEERS_MAX];
    team(int gpus, int device, size_t bytes) : count(gpus), home(device), words(bytes / 16), memory()
    {
        for (int g = 0; g < count; g++) {
            check(cudaSetDevice(g), "device");
            check(cudaMalloc((void **)&memory.at[g], bytes), "device memory");
            check(cudaMemset(memory.at[g], 0, bytes), "device memory"); // sums of sums stay finite
            check(cudaDeviceSynchronize(), "device memory");
            check(cudaStreamCreateWithFlags(&streams[g], cudaStreamNonBlocking), "stream");
        }
        check(cudaSetDevice(home), "device");
    }
    ~team()
    {
        for (int g = 0; g < count; g++) {
            cudaSetDevice(g);
            cudaStreamDestroy(streams[g]);
            cudaFree(memory.at[g]);
        }
        cudaSetDevice(home);
    }
    team(const team &) = delete;
    void wait()
    {
        for (int g = 0; g < count; g++)
            check(cudaStreamSynchronize(streams[g]), "all-reduce");
    }
    void reduce()
    {
        for (int g = 0; g < count; g++) {
            check(cudaSetDevice(g), "device");
            reduce_kernel<<<128, 512, 0, streams[g]>>>(memory, count, g, words);
            check(cudaGetLastError(), "all-reduce");
        }
        check(cudaSetDevice(home), "device");
        wait();
    }
};

static void verify_reduce(bench &b, int count)
{
    const size_t words = 1001, numbers = 8 * words;
    team gpus(count, b.options.device, words * 16);
    std::vector<float> want(numbers, 0.0f), got(numbers);
    std::vector<__nv_bfloat16> narrow(numbers);
    uint64_t seed = 4;
    for (int g = 0; g < count; g++) {
        for (size_t i = 0; i < numbers; i++) {
            narrow[i] = __float2bfloat16(bench_random(&seed));
            want[i] += __bfloat162float(narrow[i]);
        }
        check(cudaMemcpy(gpus.memory.at[g], narrow.data(), words * 16, cudaMemcpyHostToDevice), "copy to the device");
        check(cudaDeviceSynchronize(), "copy to the device");
    }
    gpus.reduce();
    for (int g = 0; g < count; g++) {
        check(cudaMemcpy(narrow.data(), gpus.memory.at[g], words * 16, cudaMemcpyDeviceToHost), "copy to the host");
        for (size_t i = 0; i < numbers; i++)
            got[i] = __bfloat162float(narrow[i]);
        verify(b, "all-reduce", bench_distance(got.data(), want.data(), numbers), 0.02);
    }
}

static void measure_reduce(bench &b, int count, int64_t bytes)
{
    enum { WARM = 2, SAMPLES = 11 };
    double samples[SAMPLES];
    team gpus(count, b.options.device, (size_t)bytes);
    for (int s = -WARM; s < SAMPLES; s++) {
        gpus.wait();
        double begin = now_s();
        gpus.reduce();
        if (s >= 0)
            samples[s] = 1e3 * (now_s() - begin);
    }
    bench_row row = {};
    row.op = "all_reduce";
    row.kernel = "own";
    row.bytes = bytes;
    row.gpus = count;
    row.note = "direct access, timed by the host: launches included";
    bench_stats_of(samples, SAMPLES, &row.ms);
    bench_file_row(b.file, &b.info, &row);
}

static void measure_copies(bench &b)
{
    const size_t bytes = (size_t)256 << 20;
    buffer<unsigned char> here(bytes);
    check(cudaSetDevice(1), "device");
    buffer<unsigned char> there(bytes);
    check(cudaSetDevice(0), "device");
    put_bytes(b, "p2p", (int64_t)bytes, 0, measure(b, AS_CALLS, [&](int) {
        check(cudaMemcpyPeerAsync(there.at, 1, here.at, 0, bytes, b.stream), "peer copy");
    }));
}

/* False where one GPU cannot reach another. */
static bool reach_all(int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int can = 1;
            if (i != j)
                check(cudaDeviceCanAccessPeer(&can, i, j), "peer");
            if (!can)
                return false;
        }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            if (i == j)
                continue;
            check(cudaSetDevice(i), "device");
            cudaError_t status = cudaDeviceEnablePeerAccess(j, 0);
            if (status != cudaErrorPeerAccessAlreadyEnabled)
                check(status, "peer access");
            cudaGetLastError(); // that it was there already is no fault
        }
    check(cudaSetDevice(0), "device");
    return true;
}

void measure_peers(bench &b)
{
    int count = 0;
    check(cudaGetDeviceCount(&count), "devices");
    count = count > PEERS_MAX ? PEERS_MAX : count;
    if (count < 2 || b.options.device != 0)
        return;
    if (has_time(b))
        measure_copies(b);
    if (!reach_all(count))
        return;
    int64_t messages[BENCH_PLAN_MAX];
    const int message_count = bench_plan_messages(b.options.is_quick, messages, BENCH_PLAN_MAX);
    for (int gpus = 2; gpus <= count; gpus *= 2) {
        verify_reduce(b, gpus);
        for (int i = 0; i < message_count && has_time(b); i++)
            measure_reduce(b, gpus, messages[i]);
    }
}
