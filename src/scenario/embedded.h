/*
 * embedded.h - the data files that are compiled into the binary.
 *
 * models/, hardware/ and engines/ of the source tree, sorted by path, so that kvsim needs no files
 * of its own to run. The table is written by cmake/embed.cmake at build time.
 * Paths are relative to the source tree and use '/': "models/llama-3.1-8b.yaml". A zero byte follows
 * the last byte of each file and is not counted in its length. Everything is constant.
 */
#ifndef KVSIM_SCENARIO_EMBEDDED_H
#define KVSIM_SCENARIO_EMBEDDED_H

#include <stddef.h>

struct scenario_embedded {
    const char *path;
    const unsigned char *bytes;
    size_t length; /* bytes */
};

extern const struct scenario_embedded scenario_embedded_files[];
extern const size_t scenario_embedded_count;

#endif
