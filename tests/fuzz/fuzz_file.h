/*
 * fuzz_file.h - an input as a file that only this process sees, for readers that take a path.
 */
#ifndef KVSIM_TESTS_FUZZ_FUZZ_FILE_H
#define KVSIM_TESTS_FUZZ_FUZZ_FILE_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

struct fuzz_file {
    FILE *file;
    char path[64];
};

/* fclose(file) removes it. */
static inline struct fuzz_file fuzz_file(const uint8_t *data, size_t size)
{
    struct fuzz_file out = {.file = tmpfile()};
    base_require(out.file != NULL);
    base_require(fwrite(data, 1, size, out.file) == size && fflush(out.file) == 0);
    snprintf(out.path, sizeof out.path, "/proc/self/fd/%d", fileno(out.file));
    return out;
}

#endif
