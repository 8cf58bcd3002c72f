/*
 * driver.c - runs a fuzz target where libFuzzer is not at hand.
 *
 *     fuzz_NAME [-seconds=N] [-seed=N] [FILE or FOLDER]...
 *
 * Every seed file is run as it is, then seeds are changed at random until the time is over. The sequence
 * follows from the seed alone. When the target dies, the input at hand is written to the file
 * "crash-input" in the working folder; `fuzz_NAME -seconds=0 crash-input` runs it again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 16, SEED_MAX = 1024, PATH_MAX_BYTES = 4096 };

struct input {
    uint8_t *bytes;
    size_t length;
};

static struct input seeds[SEED_MAX];
static size_t seed_count;
static struct input now; /* what the target is given, for the crash file */
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state * UINT64_C(0x2545F4914F6CDD1D) >> 16) % below;
}

static void save_input(void)
{
    int file = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0)
        return;
    ssize_t written = write(file, now.bytes, now.length);
    (void)written;
    close(file);
}

static void on_abort(int number)
{
    save_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void run(const uint8_t *bytes, size_t length)
{
    // An exact copy on the heap, so that a read past the end is seen.
    now.bytes = malloc(length > 0 ? length : 1);
    now.length = length;
    if (now.bytes == NULL)
        abort();
    memcpy(now.bytes, bytes, length);
    LLVMFuzzerTestOneInput(now.bytes, length);
    free(now.bytes);
    now = (struct input){0};
}

static void add_seed(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, length);
    seeds[seed_count++] = (struct input){copy, length};
}

static void load_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || seed_count == SEED_MAX) {
        fprintf(stderr, "cannot load seed %s\n", path);
        exit(2);
    }
    static uint8_t bytes[INPUT_MAX];
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    add_seed(bytes, length);
}

static void load(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        load_file(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char full[PATH_MAX_BYTES];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(full, sizeof full, "%s/%s", path, entry->d_name);
        load_file(full);
    }
    closedir(folder);
}

static void insert(uint8_t *bytes, size_t *length, size_t at, const uint8_t *what, size_t count)
{
    if (count > INPUT_MAX - *length)
        count = INPUT_MAX - *length;
    memmove(bytes + at + count, bytes + at, *length - at);
    memcpy(bytes + at, what, count);
    *length += count;
}

/* One random change: a byte, a bit, a piece cut out, a piece of a seed or a token put in. */
static void mutate(uint8_t *bytes, size_t *length)
{
    static const char *const tokens[] = {
        "0",
        "-1",
        "1e308",
        "nan",
        "inf",
        "9223372036854775808",
        "\n",
        "\t",
        ": ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        "&a",
        "*a",
        "|",
        "\"",
        "'",
        "#",
        ",",
        "\xff\xfe",
        "\xef\xbb\xbf",
        "\r\n",
        "GiB",
        "ms",
        "/s",
        "%",
    };
    size_t at = (size_t)draw(*length + 1);
    switch (draw(5)) {
    case 0:
        if (at < *length)
            bytes[at] = (uint8_t)draw(256);
        break;
    case 1:
        if (at < *length)
            bytes[at] ^= (uint8_t)(1U << draw(8));
        break;
    case 2: {
        size_t count = (size_t)draw(*length - at + 1);
        if (count > 16 && draw(8) != 0)
            count = 16;
        memmove(bytes + at, bytes + at + count, *length - at - count);
        *length -= count;
        break;
    }
    case 3: {
        const struct input *donor = &seeds[draw(seed_count)];
        size_t from = (size_t)draw(donor->length + 1);
        size_t count = (size_t)draw(donor->length - from + 1);
        insert(bytes, length, at, donor->bytes + from, count > 64 ? 64 : count);
        break;
    }
    default: {
        const char *token = tokens[draw(sizeof tokens / sizeof tokens[0])];
        insert(bytes, length, at, (const uint8_t *)token, strlen(token));
    }
    }
}

static void fuzz_for(long seconds)
{
    static uint8_t bytes[INPUT_MAX];
    struct timespec end, at;
    uint64_t runs = 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    do {
        const struct input *seed = &seeds[draw(seed_count)];
        size_t length = seed->length;
        memcpy(bytes, seed->bytes, length);
        for (uint64_t changes = 1 + draw(8); changes > 0; changes--)
            mutate(bytes, &length);
        run(bytes, length);
        runs++;
        clock_gettime(CLOCK_MONOTONIC, &at);
    } while (at.tv_sec < end.tv_sec || (at.tv_sec == end.tv_sec && at.tv_nsec < end.tv_nsec));
    printf("%llu runs\n", (unsigned long long)runs);
}

int main(int argc, char **argv)
{
    long seconds = 10;
    uint64_t seed = 1;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-seconds=", 9) == 0)
            seconds = strtol(argv[i] + 9, NULL, 10);
        else if (strncmp(argv[i], "-seed=", 6) == 0)
            seed = strtoull(argv[i] + 6, NULL, 10);
        else
            load(argv[i]);
    }
    signal(SIGABRT, on_abort);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(save_input);
#endif

    state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    printf("%zu seeds, random seed %llu\n", seed_count, (unsigned long long)seed);
    fflush(stdout);
    for (size_t i = 0; i < seed_count; i++)
        run(seeds[i].bytes, seeds[i].length);
    if (seed_count == 0)
        add_seed((const uint8_t *)"", 0);
    if (seconds > 0)
        fuzz_for(seconds);
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].bytes);
    return 0;
}
