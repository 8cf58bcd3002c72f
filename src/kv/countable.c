/*
 * countable.c - what a waterfall would have to form in whole numbers beyond what 64 bits count, refused with its key.
 */
#include "kv/waterfall_int.h"

#include <math.h>

static double stated_blocks(const struct kv_waterfall_inputs *inputs, const struct kv_pages *pages)
{
    double of_tokens =
        (double)inputs->kv_cache_tokens / pages->block_tokens * (double)pages->table_count;
    return fmax((double)inputs->num_gpu_blocks_override, of_tokens);
}

static double cells_bytes(const struct kv_waterfall_inputs *inputs,
                          const struct spec_kv_layout *layout)
{
    enum { PAD_TOKENS_MAX = 1 << 12 };
    const struct kv_cells_options *cells = &inputs->sizing.cells;
    double streams = cells->parallel != 0 ? cells->parallel : 1;
    double tokens = fmax((double)cells->ctx_tokens, (double)inputs->max_model_len * streams) +
                    streams * fmax(cells->pad_tokens, PAD_TOKENS_MAX);
    return tokens * (double)layout->slot_bytes + streams * (double)layout->sequence_bytes;
}

// The products of what was stated, before any is formed in whole numbers.
enum kvsim_status kv_countable_check_inputs(const struct kv_waterfall_inputs *inputs,
                                            const struct kv_waterfall *out, struct kvsim_error *err)
{
    const struct kv_pages *pages = &out->pages;
    double block = (double)pages->block_bytes, gpus = out->layout.gpu_count;
    double sequence = (double)kv_pages_sequence_blocks(pages, inputs->max_model_len) + 1 +
                      (double)inputs->reserved_blocks;
    double slots = (double)inputs->max_num_seqs + 1;
    const struct {
        double bytes;
        const char *whose, *key;
    } products[] = {
        {sequence * block, "one sequence of max_model_len", "engine.max_model_len"},
        {inputs->sizing.pool == KV_POOL_CELLS ? cells_bytes(inputs, &out->layout) : 0, "all cells",
         "engine.max_model_len"},
        {(stated_blocks(inputs, pages) + 1) * block, "the stated pool",
         inputs->kv_cache_tokens != 0 ? "engine.kv_cache_tokens"
                                      : "engine.num_gpu_blocks_override"},
        {(double)inputs->kv_cache_memory_bytes * gpus, "the stated pools of all GPUs",
         "engine.kv_cache_memory_bytes"},
        {slots * (double)pages->state_bytes_per_gpu, "the states of max_num_seqs sequences",
         "engine.max_num_seqs"},
    };
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; status == KVSIM_OK && i < sizeof products / sizeof products[0]; i++)
        status = spec_kv_check_bytes(products[i].bytes, products[i].whose, products[i].key, err);
    return status;
}

// The key of a part that was stated, or that decides what follows from it.
static const char *part_key(enum kv_part part)
{
    static const char *const keys[KV_PART_COUNT] = {
        [KV_PART_WEIGHTS] = "engine.memory.weights",
        [KV_PART_ACTIVATION] = "engine.memory.activation",
        [KV_PART_NON_TORCH] = "engine.memory.non_torch",
        [KV_PART_GRAPHS] = "engine.memory.graphs",
        [KV_PART_BLOCK_TABLES] = "engine.max_model_len",
        [KV_PART_REQUEST_TABLES] = "engine.max_model_len",
        [KV_PART_STATE_POOL] = "engine.max_num_seqs",
        [KV_PART_DRAFT] = "engine.memory.draft",
        [KV_PART_LORA] = "engine.memory",
    };
    return keys[part];
}

enum kvsim_status kv_countable_check_parts(const struct kv_parts *parts,
                                           const struct kv_waterfall *out, struct kvsim_error *err)
{
    double bytes = 0;
    enum kv_part largest = KV_PART_WEIGHTS;
    for (int part = 0; part < KV_PART_COUNT; part++) {
        if (part == KV_PART_BLOCK_TABLES) // are no more than 1e18, and of one GPU only
            continue;
        bytes += (double)parts->of[part].bytes;
        if (parts->of[part].bytes > parts->of[largest].bytes)
            largest = (enum kv_part)part;
    }
    return spec_kv_check_bytes(bytes * out->layout.gpu_count, "what lies beside the pool",
                               part_key(largest), err);
}
