/* What the rows of a trace state of a prompt's content, as runs of token ids. */
#include "workload/workload_int.h"

#include "base/hash.h"

#include <string.h>

/* Ids of blocks take a range of their own, above all token ids that a trace can write. */
#define HASH_BASE (INT64_C(1) << 62)
#define HASH_ID_MAX (HASH_BASE / WORKLOAD_HASH_BLOCK_MAX - 1)

static void skip_blanks(const char **text)
{
    *text += strspn(*text, " \t");
}

/* A number of a list: digits only. */
static bool take_number(const char **text, int64_t *value)
{
    int digits = 0;

    skip_blanks(text);
    *value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        if (++digits > 18)
            return false;
        *value = *value * 10 + (**text - '0');
    }
    skip_blanks(text);
    return digits > 0;
}

static bool take_mark(const char **text, char mark)
{
    skip_blanks(text);
    if (**text != mark)
        return false;
    (*text)++;
    return true;
}

static bool is_at_end(const char *text)
{
    skip_blanks(&text);
    return *text == '\0';
}

static bool take_range(const char **text, struct spec_token_run *run)
{
    return take_mark(text, '[') && take_number(text, &run->first) && take_mark(text, ',') &&
           take_number(text, &run->count) && take_mark(text, ']') &&
           run->count <= WORKLOAD_LENGTH_MAX;
}

bool workload_runs_of_ranges(const char *text, struct workload_runs *out, int64_t *tokens)
{
    struct spec_token_run run;

    *tokens = 0;
    if (!take_mark(&text, '['))
        return false;
    if (take_mark(&text, ']'))
        return is_at_end(text);
    do {
        if (!take_range(&text, &run))
            return false;
        *tokens += run.count;
        if (*tokens > WORKLOAD_LENGTH_MAX)
            return false;
        if (run.count > 0)
            base_vec_push(out, run);
    } while (take_mark(&text, ','));
    return take_mark(&text, ']') && is_at_end(text);
}

bool workload_runs_of_ids(const char *text, int64_t block_tokens, struct workload_runs *out)
{
    int64_t id;

    if (!take_mark(&text, '['))
        return false;
    if (take_mark(&text, ']'))
        return is_at_end(text);
    do {
        if (!take_number(&text, &id) || id > HASH_ID_MAX)
            return false;
        struct spec_token_run run = {HASH_BASE + id * block_tokens, block_tokens};
        base_vec_push(out, run);
    } while (take_mark(&text, ','));
    return take_mark(&text, ']') && is_at_end(text);
}

size_t workload_runs_join(struct spec_token_run *at, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && at[kept - 1].first + at[kept - 1].count == at[i].first)
            at[kept - 1].count += at[i].count;
        else
            at[kept++] = at[i];
    }
    return kept;
}

static void seen_grow(struct workload_seen *seen)
{
    struct workload_seen old = *seen;

    seen->capacity = old.capacity == 0 ? 1024 : 2 * old.capacity;
    seen->at = base_alloc(base_mul_size(seen->capacity, sizeof *seen->at));
    seen->count = 0;
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.at[i] != 0)
            workload_seen_add(seen, old.at[i]);
    }
    base_free(old.at);
}

bool workload_seen_add(struct workload_seen *seen, int64_t first)
{
    size_t slot;

    if (2 * seen->count >= seen->capacity)
        seen_grow(seen);
    slot = (size_t)base_mix64((uint64_t)first) & (seen->capacity - 1);
    while (seen->at[slot] != 0 && seen->at[slot] != first)
        slot = (slot + 1) & (seen->capacity - 1);
    if (seen->at[slot] == first)
        return false;
    seen->at[slot] = first;
    seen->count++;
    return true;
}
