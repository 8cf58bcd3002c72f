/*
 * states.c - recurrent states that a prefix cache keeps: where chunks end, which blocks hold a state, when one comes back.
 *
 * Source: vLLM, vllm/v1/core/sched/scheduler.py (_mamba_block_aligned_split), single_type_kv_cache_manager.py (MambaManager in
 * align mode), of August 2026 (docs/sources.md).
 */
#include "sched/sched_int.h"

#include "base/count.h"
#include "base/error.h"

// From where on a sequence gains one token a step.
static int64_t prefill_end(const struct sched_seq *seq)
{
    return base_max(seq->prompt_tokens, sched_seq_known_tokens(seq) - 1);
}

static struct sched_seq_window *window_of(const struct sched *sched, struct sched_seq *seq)
{
    return &seq->windows[sched->pool->tables.window_count - 1];
}

/* ---- chunks ---- */

// The border that a chunk from `start` to `end` may not pass over, or `end`.
static int64_t next_stop(int64_t stop, int64_t start, int64_t end)
{
    return start < stop && stop < end ? stop : end;
}

int64_t sched_cut_at_border(const struct sched *sched, const struct sched_seq *seq, int64_t start,
                            int64_t tokens)
{
    if (!sched->pool->tables.caches_states || start >= prefill_end(seq)) {
        return tokens;
    }
    int64_t block = sched->pool->block_tokens, known = sched_seq_known_tokens(seq);
    int64_t end = start + tokens, threshold = sched->options->long_prefill_token_threshold;
    if (end < prefill_end(seq)) {
        int64_t widest = sched->options->max_num_batched_tokens;
        widest = threshold > 0 ? base_min(widest, threshold) : widest;
        int64_t border = end / block * block;
        end =
            border > start || block <= widest ? border : end; // a block may be wider than any step
    }
    int64_t stop = next_stop(known / block * block, start, end);
    if (start % block != 0) {
        stop = base_min(stop, next_stop((start / block + 1) * block, start, end));
    }
    if (start < seq->junction_tokens && seq->junction_tokens < end) {
        int64_t junction = start + (seq->junction_tokens - start) / block * block;
        stop = base_min(stop, next_stop(junction, start, end));
    }
    return base_max(stop - start, 0);
}

/* ---- blocks ---- */

void sched_take_states(struct sched *sched, struct sched_seq *seq, int64_t end)
{
    if (!sched->pool->tables.caches_states) {
        return;
    }
    int64_t before = kv_paged_blocks_for(sched->pool, seq->computed),
            after = kv_paged_blocks_for(sched->pool, end);
    bool goes_on_singly = end >= prefill_end(seq);
    if (after > before) {
        seq->last_state_end = before;
        window_of(sched, seq)->dropped_blocks += after - before - 1;
    }
    int64_t lo = after > before ? after - 1 : after;
    int64_t hi = goes_on_singly ? INT64_MAX : after;
    if (!seq->has_all_states && lo < hi) {
        kv_prefix_add_states(sched->pool->prefix, &seq->cache, lo, hi);
    }
    seq->has_all_states = seq->has_all_states || goes_on_singly;
}

void sched_drop_states(struct sched *sched, struct sched_seq *seq, int64_t processed)
{
    if (processed <= 0) {
        return;
    }
    struct kv_prefix *prefix = sched->pool->prefix;
    int64_t until = (processed - 1) / sched->pool->block_tokens;
    int64_t older = seq->last_state_end - 1;
    window_of(sched, seq)->dropped_blocks +=
        kv_prefix_drop_states(prefix, &seq->cache, until, older < until ? older : -1);
    sched->pool->free_blocks = kv_prefix_free_blocks(prefix);
}

/* ---- what is new ---- */

int64_t sched_new_state(void *context, const struct kv_prefix_seq *cache)
{
    const struct sched *sched = context;
    const struct sched_seq *seq = sched_seq_of_cache(cache);
    int64_t block = sched->pool->block_tokens, before, after;
    if (seq->state == SCHED_FRONT) {
        after = sched_front_hashed_tokens(sched, seq, true);
        before = base_max(after - 1, seq->hashed_tokens);
    } else {
        after = seq->hashed_tokens;
        bool is_new = seq->scheduled_step == sched->next_number || seq->state == SCHED_LOADED;
        before = is_new ? seq->hashed_before : after;
    }
    return after / block > before / block ? after / block - 1 : -1;
}
