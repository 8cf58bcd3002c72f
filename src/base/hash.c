#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Two independent 64-bit lanes, fed byte by byte so that the result depends neither on how a text is cut into calls
 * nor on the machine's byte order: FNV-1a (Fowler, Noll, Vo) and a chain of splitmix64 finalizers.
 */
void base_hash_init(struct base_hash *hash)
{
    hash->a = UINT64_C(0xcbf29ce484222325);
    hash->b = UINT64_C(0x6b7673696d000001);
}

void base_hash_bytes(struct base_hash *hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++) {
        hash->a = (hash->a ^ at[i]) * UINT64_C(0x100000001b3);
        hash->b = base_mix64(hash->b ^ at[i]);
    }
}

void base_hash_text(struct base_hash *hash, const char *text)
{
    base_hash_bytes(hash, text, strlen(text) + 1);
}

void base_hash_hex(const struct base_hash *hash, char hex[33])
{
    /* FNV-1a mixes its high bits poorly; the finalizer spreads them and ties the lanes together. */
    uint64_t a = base_mix2(hash->a, hash->b), b = base_mix2(hash->b, hash->a);
    snprintf(hex, 33, "%016" PRIx64 "%016" PRIx64, a, b);
}
