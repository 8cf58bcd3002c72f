#include "sched/reuse.h"

#include "sched/sched_int.h"

// A run of hits ends at its first missing block: what has become of that one is why the rest is lost.
static void count_lost(struct sched_reuse *reuse, const struct sched_seq *seq, int64_t lost,
                       int64_t found, bool is_pending, int64_t block_tokens)
{
    reuse->lost_blocks += lost;
    if (is_pending) {
        reuse->lost_pending_blocks += lost;
    } else if (found < seq->high_water / block_tokens) {
        reuse->lost_own_blocks += lost;
    }
}

// What a cache that forgets nothing could know is what others sent before, and what was computed before a preemption.
void sched_count_reuse(struct sched *sched, const struct sched_seq *seq, int64_t loaded_tokens)
{
    struct sched_reuse *reuse = &sched->reuse;
    int64_t tokens = sched_seq_known_tokens(seq), block = sched->pool->tables.period_tokens,
            hits = sched->hits.blocks, found = hits + loaded_tokens / block;
    int64_t seen = seq->seen_tokens > seq->high_water ? seq->seen_tokens : seq->high_water;
    seen = seen < tokens ? seen : tokens;
    int64_t reachable = seen < tokens ? seen / block : (tokens - 1) / block;
    reachable = reachable > found ? reachable : found;
    int64_t begun = (seen + block - 1) / block - reachable;
    reuse->lookup_blocks += (tokens + block - 1) / block;
    reuse->hit_blocks += hits;
    count_lost(reuse, seq, reachable - found, found, found == hits && sched->hits.next_is_pending,
               block);
    reuse->cut_blocks += begun > 0 ? begun : 0;
    reuse->is_unknown = reuse->is_unknown || seq->seen_tokens < 0;
}
