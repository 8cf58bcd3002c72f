/*
 * hash.h - mixing 64-bit words for addressed random streams, and a 128-bit fingerprint of texts.
 */
#ifndef KVSIM_BASE_HASH_H
#define KVSIM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
static inline uint64_t base_mix64(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t base_mix2(uint64_t a, uint64_t b)
{
    return base_mix64(a ^ (base_mix64(b) + UINT64_C(0x632be59bd9b4e019)));
}

struct base_hash {
    uint64_t a, b;
};

void base_hash_init(struct base_hash *hash);
void base_hash_bytes(struct base_hash *hash, const void *bytes, size_t count);
/* With its end, so that "ab","c" differs from "a","bc". */
void base_hash_text(struct base_hash *hash, const char *text);
void base_hash_hex(const struct base_hash *hash, char hex[33]);

#endif
