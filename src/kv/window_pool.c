/*
 * window_pool.c - windowed layers with a pool of their own, as SGLang has it.
 *
 * The memory of B blocks of all layers alike is dealt out anew: F blocks to the full layers and ratio * F to the windowed
 * ones, F = B (full + windowed) / (full + ratio * windowed) in bytes of a block.
 * Source: sgl-project/sglang, model_runner.py (set_num_tokens_hybrid_swa); not checked against its source.
 */
#include "kv/waterfall_int.h"

#include "base/i128.h"

#include <stddef.h>

static int64_t windowed_block_bytes_per_gpu(const struct kv_waterfall *out)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < out->layout.group_count; i++) {
        const struct spec_kv_slot *slot = &out->layout.groups[i];
        if (slot->kind == SPEC_KV_SLIDING || slot->kind == SPEC_KV_CHUNKED)
            bytes += (int64_t)slot->layer_slot_bytes_per_gpu * slot->layer_count_per_gpu;
    }
    return bytes * out->pages.block_tokens;
}

int64_t kv_window_pool_split(const struct kv_waterfall_inputs *inputs,
                             const struct kv_waterfall *out, int64_t blocks)
{
    const struct base_rational *share = &inputs->sizing.window_share;
    int64_t windowed = windowed_block_bytes_per_gpu(out);
    int64_t all = (int64_t)out->pages.block_bytes_per_gpu;
    if (share->den == 0 || out->pages.is_hybrid || windowed == 0 || windowed >= all)
        return blocks;
    base_i128 unit = (base_i128)(all - windowed) * share->den + (base_i128)windowed * share->num;
    return (int64_t)((base_i128)blocks * all * share->den / unit);
}

void kv_window_pool_set(const struct kv_waterfall_inputs *inputs, struct kv_waterfall *out,
                        int64_t blocks)
{
    const struct base_rational *share = &inputs->sizing.window_share;
    int64_t all = (int64_t)out->pages.block_bytes_per_gpu;
    int64_t windowed = windowed_block_bytes_per_gpu(out);
    if (kv_window_pool_split(inputs, out, all) == all)
        return;
    int64_t window_blocks = (int64_t)((base_i128)blocks * share->num / share->den);
    int64_t spare = inputs->sizing.has_spare_page && blocks > 0 ? 1 : 0;
    out->kv_window_tokens = window_blocks * out->pages.block_tokens;
    out->kv_pool_bytes_per_gpu =
        (blocks + spare) * (all - windowed) + (window_blocks + spare) * windowed;
    out->kv_pool_bytes =
        (int64_t)((base_i128)out->kv_pool_bytes_per_gpu * (int64_t)out->pages.block_bytes / all);
}

int64_t kv_window_pool_sequences(const struct kv_waterfall *out, int64_t tokens)
{
    int64_t window = 0;
    for (size_t i = 0; i < out->layout.group_count; i++) {
        const struct spec_kv_slot *slot = &out->layout.groups[i];
        if (slot->kind == SPEC_KV_SLIDING || slot->kind == SPEC_KV_CHUNKED)
            window = slot->window_tokens > window ? slot->window_tokens : window;
    }
    return out->kv_window_tokens / (tokens < window ? tokens : window);
}

int64_t kv_window_pool_bytes(const struct kv_waterfall *out)
{
    int64_t all = (int64_t)out->pages.block_bytes_per_gpu;
    int64_t windowed = windowed_block_bytes_per_gpu(out);
    int64_t window_blocks = out->kv_window_tokens / out->pages.block_tokens;
    base_i128 bytes =
        (base_i128)out->kv_usable_blocks * (all - windowed) + (base_i128)window_blocks * windowed;
    return (int64_t)(bytes * (int64_t)out->pages.block_bytes / all);
}
