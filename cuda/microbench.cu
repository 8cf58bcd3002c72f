/*
 * kvsim-microbench: what one NVIDIA GPU (and its links) reaches, as the file that `kvsim calibrate` reads.
 *
 * Each kernel's result is first compared with the host's on random inputs. How times are taken: bench.cuh.
 */
#include "bench.cuh"
#include "driver.h"

enum { TEXT_BYTES = 256 };

/* Words of the file's first row. */
struct description {
    char gpu[TEXT_BYTES], driver[TEXT_BYTES], runtime[TEXT_BYTES], clocks[TEXT_BYTES], date[TEXT_BYTES];
};

static void driver_read(const bench &b, bench_driver *out)
{
    char bus[32];
    check(cudaDeviceGetPCIBusId(bus, sizeof bus, b.options.device), "device");
    bench_driver_read(bus, out);
}

static void describe(bench &b, description &text)
{
    int driver = 0, runtime = 0;
    size_t free_bytes = 0, total_bytes = 0;
    bench_driver of;
    check(cudaDriverGetVersion(&driver), "driver");
    check(cudaRuntimeGetVersion(&runtime), "runtime");
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "memory");
    driver_read(b, &of);
    time_t now = time(nullptr);
    snprintf(text.gpu, TEXT_BYTES, "%s", b.card.name);
    snprintf(text.driver, TEXT_BYTES, "%s%s(CUDA %d.%d)", of.version, of.version[0] != '\0' ? " " : "", driver / 1000, driver % 1000 / 10);
    snprintf(text.runtime, TEXT_BYTES, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    snprintf(text.clocks, TEXT_BYTES, "at most %u MHz cores and %u MHz memory, power limit %u W", of.core_max_mhz, of.memory_max_mhz,
             of.power_limit_mw / 1000);
    strftime(text.date, TEXT_BYTES, "%Y-%m-%d", gmtime(&now));
    for (char *at = text.gpu; *at != '\0'; at++)
        if (*at == ',' || *at == '"')
            *at = ' ';
    b.info = {text.gpu, text.driver, text.runtime, text.clocks, text.date, (int64_t)total_bytes, (int64_t)free_bytes};
}

/* The clocks at which the products just ran. */
static void put_clocks(const bench &b)
{
    bench_driver of;
    char note[TEXT_BYTES];
    driver_read(b, &of);
    if (of.core_mhz == 0)
        return;
    snprintf(note, sizeof note, "%u MHz cores and %u MHz memory after the products", of.core_mhz, of.memory_mhz);
    bench_row row = {};
    row.op = "clocks";
    row.note = note;
    bench_file_row(b.file, &b.info, &row);
}

/* A card that idled runs slowly at first. */
static void warm_up(const bench &b)
{
    const double seconds = 0.5;
    buffer<uint32_t> memory((size_t)16 << 20);
    for (double begin = now_s(); now_s() - begin < seconds;)
        fill(b, memory.at, memory.count, 1);
}

static void measure_all(bench &b)
{
    buffer<uint4> other((size_t)b.card.l2CacheSize * 4 / sizeof(uint4));
    buffer<unsigned> out((size_t)fill_blocks(b) * 512);
    b.other = {other.at, other.count, out.at};
    if (has_time(b))
        warm_up(b);
    fill(b, (uint32_t *)other.at, other.count * 4, 2);
    measure_memory(b);
    measure_launch(b);
    measure_host(b);
    measure_gemm(b);
    put_clocks(b);
    measure_attentions(b);
    measure_peers(b);
}

int main(int count, char **words)
{
    bench b = {};
    description text;
    int devices = 0;
    if (!bench_options_parse(count, (const char *const *)words, &b.options))
        return 2;
    if (b.options.wants_help) {
        puts("usage: kvsim-microbench [--output FILE.csv] [--device N] [--seconds S] [--quick] [--checks]\n"
             "Measures one GPU for 'kvsim calibrate FILE.csv --hardware NAME'. Within 5 minutes; nothing of the card is changed.\n"
             "--quick takes every few points, --checks compares results with the host's and times nothing.\n"
             "Exit status: 0 done, 1 a CUDA call failed or a kernel's result was wrong, 2 usage, 4 no such GPU or file.");
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
    measure_all(b);
    check(cudaStreamDestroy(b.stream), "stream");
    if (!has_time(b) && !b.options.only_checks)
        fprintf(stderr, "kvsim-microbench: the time was up before all was measured; --seconds gives more\n");
    bool ok = fflush(b.file) == 0 && !ferror(b.file);
    if (b.file != stdout)
        ok = fclose(b.file) == 0 && ok;
    return !ok ? 4 : b.failures > 0 ? 1 : 0;
}
