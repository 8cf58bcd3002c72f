/*
 * content.h - what tokens a sequence consists of, as runs of consecutive token ids, and comparing it block by block.
 *
 * Content is a list of runs (first id, count): a prompt that shares nothing is one run of ids of its own, an answer another
 * one. Two blocks have the same hash just when all tokens up to their end are the same, so comparing runs takes the place
 * of hashing tokens; cost is by runs, not by tokens.
 */
#ifndef KVSIM_KV_CONTENT_H
#define KVSIM_KV_CONTENT_H

#include "spec/tokens.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_content {
    const struct spec_token_run *runs;
    size_t run_count;
    int64_t token_count; /* sum of the counts */
};

/* A place in a content; a cursor past the end has run == run_count. */
struct kv_cursor {
    const struct kv_content *content;
    size_t run;
    int64_t offset; /* into the run */
};

struct kv_cursor kv_cursor_at(const struct kv_content *content, int64_t token);
/* How many tokens, at most `limit`, are the same from both places on; the cursors move past them. */
int64_t kv_cursor_match(struct kv_cursor *a, struct kv_cursor *b, int64_t limit);
/* A 64-bit key of the next `tokens` tokens; equal contents have equal keys. The cursor moves past them. */
uint64_t kv_cursor_key(struct kv_cursor *cursor, int64_t tokens);
/* Copies the runs of the next `tokens` tokens to `out` (NULL: only counts them); returns how many runs. */
size_t kv_cursor_copy(struct kv_cursor *cursor, int64_t tokens, struct spec_token_run *out);

#endif
