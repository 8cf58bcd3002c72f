/*
 * pack.h - a struct as bytes and back: for another process of the same program on the same kind of machine.
 *
 * One function describes both ways. Writing appends what it is shown; reading fills it from bytes. A struct goes as it
 * lies in memory, then what its pointers lead to: reading first brings the other process' pointers, which still tell NULL
 * from not NULL, and each is replaced by a call for it. Bytes that end too soon give zeros, NULL and is_broken.
 */
#ifndef KVSIM_BASE_PACK_H
#define KVSIM_BASE_PACK_H

#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct base_pack {
    struct base_text *out;           /* writing: where to */
    const unsigned char *next, *end; /* reading: what is left */
    bool is_broken;
};

struct base_pack base_pack_writer(struct base_text *out);
struct base_pack base_pack_reader(const void *bytes, size_t count);
/* Reading: everything was there, and nothing is left. */
bool base_pack_is_whole(const struct base_pack *pack);

void base_pack_bytes(struct base_pack *pack, void *at, size_t bytes);
/* What `at` leads to; NULL stays NULL. Returns `at`, or when reading new memory of base_alloc(). */
void *base_pack_block(struct base_pack *pack, void *at, size_t bytes);
/* NULL stays NULL; when reading the text lives in the arena. */
void base_pack_text(struct base_pack *pack, const char **text, struct base_arena *arena);

/* A growable array of base/mem.h. */
void *base_pack_items(struct base_pack *pack, void *at, size_t *count, size_t *capacity,
                      size_t item_bytes);
#define base_pack_vec(pack, vec) \
    ((vec)->at =                 \
         base_pack_items((pack), (vec)->at, &(vec)->count, &(vec)->capacity, sizeof *(vec)->at))

#endif
