/*
 * tree.c - a radix tree as the prefix cache: when a sequence is looked up, when what it computed enters, how it lets go.
 *
 * The times are SGLang's (managers/scheduler.py, schedule_batch.py; docs/sources.md): a chunk of a prompt enters at the next
 * decision, an answer with the end of its request; who is thrown out leaves what had entered and nothing else. The end of a prompt
 * enters at the next decision too, where SGLang's own scheduler does it as the step's results come in.
 */
#include "sched/sched_int.h"

#include "base/error.h"

static void take_over(struct sched *sched)
{
    if (sched_has_tier(sched)) {
        sched_tree_take_over(sched);
    } else {
        sched->pool->free_blocks = kv_radix_free_blocks(sched->pool->radix);
    }
}

void sched_tree_look_up(struct sched *sched, const struct sched_seq *seq)
{
    int64_t most = (sched_seq_known_tokens(seq) - 1) / sched->pool->block_tokens;
    kv_radix_match(sched->pool->radix, &seq->cache.content, most, &sched->found);
    sched->hits.blocks = sched->found.blocks;
    sched->hits.idle_blocks = sched->found.idle_blocks;
}

// Asked where something is lost only: a walk along the path.
static bool is_pending(const struct sched *sched, const struct sched_seq *seq)
{
    int64_t seen = seq->seen_tokens > seq->high_water ? seq->seen_tokens : seq->high_water;
    return seen / sched->pool->block_tokens > sched->found.blocks &&
           kv_radix_is_pending(sched->pool->radix, &seq->cache.content, &sched->found);
}

void sched_tree_hold(struct sched *sched, struct sched_seq *seq, bool is_loaded)
{
    sched->found.is_loaded = is_loaded;
    sched->hits.next_is_pending = is_pending(sched, seq);
    seq->tree = (struct kv_radix_seq){.content = &seq->cache.content, .priority = seq->priority};
    seq->prefill_tokens = sched_seq_known_tokens(seq);
    kv_radix_hold(sched->pool->radix, &seq->tree, &sched->found);
    take_over(sched);
}

void sched_tree_note_computed(struct sched *sched, struct sched_seq *seq)
{
    if (!seq->is_to_enter) {
        seq->is_to_enter = true;
        base_vec_push(&sched->to_enter, seq);
    }
}

void sched_tree_enter(struct sched *sched)
{
    sched->entered_by = sched->next_number - 1;
    for (size_t i = 0; i < sched->to_enter.count; i++) {
        struct sched_seq *seq = sched->to_enter.at[i];
        int64_t computed = sched_seq_computed(sched, seq);
        bool is_chunk = computed < seq->prefill_tokens;
        int64_t tokens = is_chunk ? computed : seq->prefill_tokens;
        kv_radix_enter(sched->pool->radix, &seq->tree, tokens / sched->pool->block_tokens,
                       is_chunk);
        if (sched_has_tier(sched)) {
            sched_tree_store(sched, seq);
        }
        seq->is_to_enter = false;
    }
    sched->to_enter.count = 0;
    take_over(sched);
}

static void forget(struct sched *sched, struct sched_seq *seq)
{
    size_t kept = 0;
    for (size_t i = 0; i < sched->to_enter.count; i++) {
        if (sched->to_enter.at[i] != seq) {
            sched->to_enter.at[kept++] = sched->to_enter.at[i];
        }
    }
    sched->to_enter.count = kept;
    seq->is_to_enter = false;
}

void sched_tree_let_go(struct sched *sched, struct sched_seq *seq, int64_t held_blocks,
                       int64_t kept_tokens, bool has_ended)
{
    if (seq->is_to_enter) {
        forget(sched, seq);
    }
    if (has_ended) {
        kv_radix_end(sched->pool->radix, &seq->tree, kept_tokens / sched->pool->block_tokens,
                     held_blocks);
        if (sched_has_tier(sched)) {
            sched_tree_store(sched, seq);
        }
    } else {
        kv_radix_throw_out(sched->pool->radix, &seq->tree, held_blocks);
    }
    take_over(sched);
}
