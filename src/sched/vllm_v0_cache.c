/*
 * vllm_v0_cache.c - vLLM V0's prefix cache: when a request is looked up, what it then computes, what it holds.
 *
 * The head of the queue is looked up once, whatever becomes of it: how much was found then counts until it has run, also where
 * that is gone by the time it is admitted (ComputedBlocksTracker keeps it). All found at its end, the last token is computed; else
 * what lies behind. Only that counts against the step's budget, which with chunked prefill is given out in whole blocks,
 * to decodes too. Memory is asked for as if nothing were found.
 * Source: Scheduler._get_num_new_uncached_and_cached_tokens, _chunk_new_tokens_to_schedule (docs/sources.md).
 */
#include "sched/vllm_v0_int.h"

#include "base/error.h"

static struct sched_seq *seq_of(const struct kv_unique_seq *unique)
{
    return (struct sched_seq *)(void *)((char *)(uintptr_t)unique -
                                        offsetof(struct sched_seq, unique));
}

static void take_over(struct sched *sched)
{
    sched->pool->free_blocks = kv_unique_free_blocks(sched->pool->unique);
}

// Who sits in the front has its token of this turn when all have, or when its turn came before.
static bool has_token(const struct sched *sched, const struct sched_seq *seq)
{
    return sched->v0.front_is_given || seq->role_step == sched->next_number;
}

static struct kv_unique_fill fill_of(void *context, const struct kv_unique_seq *unique)
{
    const struct sched *sched = context;
    const struct sched_seq *seq = seq_of(unique);
    int64_t tokens = placed_tokens(sched, seq), given = 0;
    if (seq->state == SCHED_FRONT) {
        given = has_token(sched, seq) ? 1 : 0;
        tokens += given;
    } else if (tokens > seq->prefill_tokens && seq->scheduled_step == sched->next_number) {
        given = seq->scheduled_tokens;
    }
    int64_t size = sched->pool->block_tokens;
    return (struct kv_unique_fill){tokens / size, (tokens - given) / size};
}

void sched_unique_init(struct sched *sched)
{
    struct kv_unique *unique = sched->pool->unique, *host = &sched->v0.host;
    kv_unique_init(host, sched->pool->block_tokens, sched->options->swap_blocks);
    unique->fill = host->fill = fill_of;
    unique->context = host->context = sched;
}

void sched_unique_note_used(struct sched *sched, struct sched_seq *seq)
{
    uint64_t plan = sched->v0.front_plan;
    seq->used_plan = plan > seq->used_plan ? plan : seq->used_plan;
}

void sched_unique_let_go(struct sched *sched, struct sched_seq *seq)
{
    int64_t size = sched->pool->block_tokens, tokens = placed_tokens(sched, seq);
    if (seq->state == SCHED_FRONT) {
        sched_unique_note_used(sched, seq);
    }
    kv_unique_detach(sched->pool->unique, &seq->unique, tokens / size,
                     kv_paged_blocks_for(sched->pool, tokens), seq->used_plan);
    seq->was_looked_up = false;
    take_over(sched);
}

void sched_v0_filled(struct sched *sched, struct v0_turn *turn, struct sched_seq *seq)
{
    struct kv_unique *unique = sched->pool->unique;
    if (unique == NULL || !seq->unique.is_contended) {
        return;
    }
    int64_t size = sched->pool->block_tokens, tokens = sched_seq_computed(sched, seq),
            free_blocks = sched->pool->free_blocks;
    struct kv_unique_fill fill = {(tokens + 1) / size, tokens / size};
    kv_unique_enter(unique, &seq->unique, fill);
    take_over(sched);
    turn->has_given_back = turn->has_given_back || sched->pool->free_blocks > free_blocks;
}

struct v0_head sched_v0_look_up(struct sched *sched, struct sched_seq *seq)
{
    int64_t known = sched_seq_known_tokens(seq), size = sched->pool->block_tokens;
    if (sched->pool->unique != NULL && !seq->was_looked_up) {
        struct kv_unique_hits hits =
            kv_unique_look_up(sched->pool->unique, &seq->cache.content, known / size);
        seq->was_looked_up = true;
        seq->found_tokens = hits.blocks * size;
        seq->next_is_pending = hits.next_is_pending;
    }
    int64_t cached = seq->was_looked_up ? seq->found_tokens : 0;
    cached -= cached == known ? 1 : 0;
    return (struct v0_head){.known = known, .cached = cached, .tokens = known - cached};
}

void sched_v0_take_hits(struct sched *sched, struct sched_seq *seq, const struct v0_head *head)
{
    int64_t size = sched->pool->block_tokens, full = head->known / size;
    seq->unique.content = &seq->cache.content;
    kv_unique_attach(sched->pool->unique, &seq->unique, full,
                     kv_paged_blocks_for(sched->pool, head->known) - full);
    take_over(sched);
    sched->hits.blocks = seq->found_tokens / size;
    sched->hits.next_is_pending = seq->next_is_pending;
    sched->lookup_tokens += head->known;
    sched->hit_tokens += head->cached;
    sched_count_reuse(sched, seq, 0);
    seq->cached_tokens = seq->was_admitted ? seq->cached_tokens : head->cached;
    seq->cached_total += head->cached;
    seq->high_water = head->cached > seq->high_water ? head->cached : seq->high_water;
    seq->computed = head->cached;
    sched->outside_front_tokens += head->cached;
}

/* ---- swapping ---- */

int64_t sched_v0_blocks_to_take(struct kv_unique *to, const struct sched *sched,
                                const struct sched_seq *seq)
{
    return kv_unique_blocks_to_take(to, &seq->cache.content,
                                    placed_tokens(sched, seq) / sched->pool->block_tokens);
}

static void leave(const struct sched *sched, struct kv_unique *from, struct sched_seq *seq)
{
    int64_t tokens = placed_tokens(sched, seq);
    kv_unique_detach(from, &seq->unique, tokens / sched->pool->block_tokens,
                     kv_paged_blocks_for(sched->pool, tokens), 0);
}

void sched_v0_leave_host(struct sched *sched, struct sched_seq *seq)
{
    if (sched->pool->unique != NULL) {
        leave(sched, &sched->v0.host, seq);
    }
}

void sched_v0_move(struct sched *sched, struct kv_unique *from, struct kv_unique *to,
                   struct sched_seq *seq)
{
    int64_t tokens = placed_tokens(sched, seq), full = tokens / sched->pool->block_tokens;
    leave(sched, from, seq);
    kv_unique_attach(to, &seq->unique, full, kv_paged_blocks_for(sched->pool, tokens) - full);
    take_over(sched);
}
