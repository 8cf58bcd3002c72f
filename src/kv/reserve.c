#include "kv/reserve.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

const struct base_choice kv_policy_choices[] = {
    {"paged", KV_PAGED, "blocks of block_size tokens, taken as they are needed"},
    {"radix", KV_RADIX, "the same, and prompts are found again in a radix tree, as in SGLang"},
    {"reserved_max", KV_RESERVED_MAX, "room for the longest sequence, at admission"},
    {"reserved_pow2", KV_RESERVED_POW2,
     "room for the prompt and the answer's next power of two, at admission"},
    {"reserved_exact", KV_RESERVED_EXACT,
     "room for the prompt and the answer as it will be, at admission"},
    {"concat", KV_CONCAT, "a tensor per sequence, grown by a new one and a copy at every step"},
    {"concat_doubling", KV_CONCAT_DOUBLING,
     "a tensor per sequence, grown to the next power of two and copied then"},
    {"no_cache", KV_NO_CACHE, "nothing is kept: every step computes all contexts again"},
    {"unlimited", KV_UNLIMITED, "paged, in a pool that holds every seat at its longest"},
    {"slots", KV_SLOTS,
     "slots with cells of their own, which keep the last prompt and answer, as in llama.cpp"},
    {"cells", KV_CELLS, "the same slots, all of them sharing the cells"},
    {NULL, 0, NULL},
};

const struct base_choice kv_placement_choices[] = {
    {"blocks", KV_ANY_BLOCKS, "any free blocks"},
    {"first_fit", KV_FIRST_FIT, "contiguous, in the lowest hole that is long enough"},
    {"best_fit", KV_BEST_FIT, "contiguous, in the shortest hole that is long enough"},
    {"buddy", KV_BUDDY, "contiguous, powers of two of a block"},
    {NULL, 0, NULL},
};

static int64_t next_power_of_two(int64_t value)
{
    int64_t power = 1;
    while (power < value && power <= INT64_MAX / 2) {
        power *= 2;
    }
    return power;
}

int64_t kv_reserve_tokens(const struct kv_paged *pool, int64_t prompt_tokens, int64_t answer_tokens)
{
    int64_t answer = answer_tokens;
    switch (pool->policy) {
    case KV_RESERVED_MAX:
        return pool->longest_tokens;
    case KV_RESERVED_POW2:
        answer = next_power_of_two(answer_tokens);
        break;
    default:
        break;
    }
    int64_t room = pool->longest_tokens - prompt_tokens;
    return prompt_tokens + (answer < room ? answer : room);
}

// The answer's length is just above a power of two, and the prompt what is left.
static int64_t most_by_powers(const struct kv_paged *pool, int64_t tokens)
{
    int64_t most = tokens, longest_answer = tokens - 1;
    for (int64_t power = 1; power < longest_answer; power *= 2) {
        int64_t promised = kv_reserve_tokens(pool, tokens - (power + 1), power + 1);
        most = promised > most ? promised : most;
    }
    return most;
}

int64_t kv_reserve_most_tokens(const struct kv_paged *pool, int64_t tokens)
{
    if (tokens > pool->longest_tokens) {
        return tokens; // nobody is admitted
    }
    switch (pool->policy) {
    case KV_RESERVED_MAX:
        return pool->longest_tokens;
    case KV_RESERVED_POW2:
        return most_by_powers(pool, tokens);
    case KV_CONCAT_DOUBLING:
        return kv_reserve_held_blocks(pool, tokens);
    default:
        return tokens;
    }
}

int64_t kv_reserve_held_blocks(const struct kv_paged *pool, int64_t tokens)
{
    if (pool->policy == KV_CONCAT_DOUBLING && tokens > 0) {
        int64_t slots = next_power_of_two(tokens);
        tokens = slots < pool->longest_tokens ? slots : pool->longest_tokens;
    }
    return kv_paged_blocks_for(pool, tokens);
}

int64_t kv_reserve_blocks(const struct kv_paged *pool, int64_t tokens)
{
    int64_t blocks = kv_paged_blocks_for(pool, tokens);
    return pool->space != NULL ? kv_space_units_for(pool->space, blocks) : blocks;
}

bool kv_reserve_fits(const struct kv_paged *pool, int64_t tokens, int64_t spare_blocks)
{
    int64_t blocks = kv_paged_blocks_for(pool, tokens);
    if (blocks > pool->free_blocks - spare_blocks) {
        return false;
    }
    return pool->space == NULL || pool->compacts ||
           (kv_reserve_blocks(pool, tokens) <= pool->free_blocks - spare_blocks &&
            kv_space_fits(pool->space, blocks));
}

/* ---- compaction ---- */

// The first reservation at or behind an address.
static size_t placed_from(const struct kv_paged *pool, int64_t at)
{
    size_t low = 0, high = pool->placed.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pool->placed.at[middle]->at < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void note_placed(struct kv_paged *pool, struct kv_promise *promise)
{
    size_t index = placed_from(pool, promise->at);
    base_vec_push(&pool->placed, promise);
    struct kv_promise **at = pool->placed.at;
    memmove(at + index + 1, at + index, (pool->placed.count - 1 - index) * sizeof *at);
    at[index] = promise;
}

static void forget_placed(struct kv_paged *pool, const struct kv_promise *promise)
{
    size_t index = placed_from(pool, promise->at);
    struct kv_promise **at = pool->placed.at;
    base_require(index < pool->placed.count && at[index] == promise);
    pool->placed.count--;
    memmove(at + index, at + index + 1, (pool->placed.count - index) * sizeof *at);
}

// Slides reservations down until a hole of `blocks`, of which as many are free, lies behind the last that moved.
static void compact(struct kv_paged *pool, int64_t blocks)
{
    int64_t end = 0;
    for (size_t i = 0; i < pool->placed.count; i++) {
        struct kv_promise *promise = pool->placed.at[i];
        if (promise->at - end >= blocks) {
            return;
        }
        if (promise->at > end) {
            kv_space_slide(pool->space, promise->at, end, promise->blocks);
            promise->at = end;
            pool->moved_tokens += pool->kept_tokens(pool->kept_context, promise);
        }
        end += promise->blocks;
    }
}

static int64_t find_place(struct kv_paged *pool, int64_t blocks)
{
    int64_t at = kv_space_take(pool->space, blocks);
    if (at >= 0 || !pool->compacts) {
        return at;
    }
    compact(pool, blocks);
    return kv_space_take(pool->space, blocks);
}

/* ---- promises ---- */

bool kv_reserve_take(struct kv_paged *pool, int64_t tokens, struct kv_promise *out)
{
    int64_t blocks = kv_paged_blocks_for(pool, tokens), at = 0;
    if (blocks > pool->free_blocks) {
        return false;
    }
    if (pool->space != NULL) {
        at = find_place(pool, blocks);
        if (at < 0) {
            return false;
        }
    }
    *out =
        (struct kv_promise){.tokens = tokens, .blocks = kv_reserve_blocks(pool, tokens), .at = at};
    pool->free_blocks -= out->blocks;
    pool->promised_tokens += tokens;
    if (pool->compacts) {
        note_placed(pool, out);
    }
    base_assert(pool->space == NULL || pool->space->free_units == pool->free_blocks);
    return true;
}

void kv_reserve_give(struct kv_paged *pool, struct kv_promise *promise)
{
    if (pool->compacts) {
        forget_placed(pool, promise);
    }
    if (pool->space != NULL) {
        kv_space_give(pool->space, promise->at, kv_paged_blocks_for(pool, promise->tokens));
    }
    pool->promised_tokens -= promise->tokens;
    kv_paged_give(pool, promise->blocks);
    *promise = (struct kv_promise){0};
}

void kv_reserve_release(struct kv_paged *pool)
{
    base_vec_free(&pool->placed);
}
