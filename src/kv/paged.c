#include "kv/paged.h"

void kv_paged_init(struct kv_paged *pool, const struct spec_kv_layout *layout, int64_t total_blocks,
                   int64_t held_back_blocks)
{
    base_require(total_blocks >= held_back_blocks && held_back_blocks >= 0);
    *pool = (struct kv_paged){.total_blocks = total_blocks,
                              .held_back_blocks = held_back_blocks,
                              .free_blocks = total_blocks - held_back_blocks,
                              .block_tokens = layout->block_tokens,
                              .layout = layout};
}

// A token's own bytes stand in lower_bound, replicated, scales and padded; an empty slot is all rounding. A block with two
// holders has its tokens counted twice: `shared` takes the second count back.
void kv_paged_ledger(const struct kv_paged *pool, const struct kv_paged_state *state,
                     struct kv_ledger *out)
{
    const struct spec_kv_layout *layout = pool->layout;
    int64_t block_bytes = (int64_t)layout->block_bytes;
    int64_t slot_bytes = (int64_t)layout->slot_bytes;
    *out = (struct kv_ledger){0};
    int64_t replicated = 0, scales = 0, lower_bound = 0;
    for (size_t i = 0; i < layout->group_count; i++) {
        lower_bound += (int64_t)layout->groups[i].lower_bound_bytes;
        replicated += (int64_t)layout->groups[i].replicated_bytes;
        scales += (int64_t)layout->groups[i].scale_bytes;
    }
    out->lower_bound_bytes = state->live_tokens * lower_bound;
    out->replicated_bytes = state->live_tokens * replicated;
    out->scales_bytes = state->live_tokens * scales;
    out->padded_bytes = state->live_tokens * (slot_bytes - lower_bound - replicated - scales);
    out->out_of_window_bytes = state->out_of_window_tokens * slot_bytes;
    out->shared_bytes = state->shared_blocks * block_bytes;
    // What is promised and holds no token yet; all slots of held blocks beyond promises and tokens are rounding.
    int64_t empty_tokens =
        state->promised_tokens > 0 ? state->promised_tokens - state->live_tokens : 0;
    out->reserved_bytes = empty_tokens * slot_bytes;
    out->block_rounding_bytes =
        (state->used_blocks + state->shared_blocks) * block_bytes -
        (state->live_tokens + state->out_of_window_tokens + empty_tokens) * slot_bytes;
    out->fragmented_bytes = state->fragmented_blocks * block_bytes;
    out->cached_bytes = state->cached_blocks * block_bytes;
    out->held_back_bytes = (pool->held_back_blocks + state->loading_blocks) * block_bytes;
    out->pool_bytes = pool->total_blocks * block_bytes;
    out->free_bytes =
        out->pool_bytes - out->held_back_bytes -
        (state->used_blocks + state->cached_blocks + state->fragmented_blocks) * block_bytes;
    base_assert(kv_ledger_is_exact(out));
}
