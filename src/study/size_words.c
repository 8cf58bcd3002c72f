#include "study/size_int.h"

#include "base/units.h"
#include "study/fit.h"

#include <string.h>

static const double gib = 1073741824.0, mib = 1048576.0;

enum { LINES_MAX = 9 };

/* ---- the engine's own lines ---- */

struct lines {
    struct base_arena *arena;
    const char **at;
    size_t count;
};

static void add_line(struct lines *lines, const char *text)
{
    base_require(lines->count < LINES_MAX);
    lines->at[lines->count++] = text;
}

static double part_gib(const struct record_size *size, const char *name)
{
    for (size_t i = 0; i < size->waterfall_count; i++) {
        if (strcmp(size->waterfall[i].name, name) == 0)
            return (double)size->waterfall[i].bytes / gib;
    }
    return 0;
}

static const char *grouped(struct base_arena *arena, int64_t value)
{
    char text[40];
    return base_arena_copy(arena, base_print_count((double)value, text, sizeof text));
}

static void log_vllm_v1(const struct record_size *size, struct lines *lines)
{
    struct base_arena *arena = lines->arena;
    if (size->driver_bytes_per_gpu != 0)
        add_line(lines, base_arena_printf(arena, "Model loading took %.4f GiB",
                                          part_gib(size, "weights") + part_gib(size, "draft")));
    add_line(lines, base_arena_printf(arena, "Available KV cache memory: %.2f GiB",
                                      (double)size->kv_available_bytes_per_gpu / gib));
    add_line(lines, base_arena_printf(arena, "GPU KV cache size: %s tokens",
                                      grouped(arena, size->kv_pool_tokens)));
    add_line(lines, base_arena_printf(arena, "Maximum concurrency for %s tokens per request: %.2fx",
                                      grouped(arena, size->max_model_len), size->max_concurrency));
}

static void log_vllm_v0(const struct record_size *size, struct lines *lines)
{
    struct base_arena *arena = lines->arena;
    if (size->driver_bytes_per_gpu != 0)
        add_line(
            lines,
            base_arena_printf(
                arena,
                "model weights take %.2fGiB; non_torch_memory takes %.2fGiB; PyTorch activation "
                "peak memory takes %.2fGiB; the rest of the memory reserved for KV Cache is "
                "%.2fGiB.",
                part_gib(size, "weights"), part_gib(size, "non_torch"),
                part_gib(size, "activation"), (double)size->kv_available_bytes_per_gpu / gib));
    add_line(lines,
             base_arena_printf(arena, "# GPU blocks: %lld, # CPU blocks: %lld",
                               (long long)size->kv_pool_blocks, (long long)size->swap_blocks));
    add_line(lines,
             base_arena_printf(arena, "Maximum concurrency for %lld tokens per request: %.2fx",
                               (long long)size->max_model_len, size->max_concurrency));
}

static void log_sglang(const struct record_size *size, struct lines *lines)
{
    double bytes = (double)size->kv_pool_bytes_per_gpu;
    int64_t both = size->k_bytes + size->v_bytes;
    double k = both > 0 ? bytes * (double)size->k_bytes / (double)both / gib : 0;
    if (size->kv_window_tokens != 0)
        add_line(lines, base_arena_printf(lines->arena,
                                          "Use sliding window memory pool. full_layer_tokens=%lld, "
                                          "swa_layer_tokens=%lld",
                                          (long long)size->kv_pool_tokens,
                                          (long long)size->kv_window_tokens));
    if (size->v_bytes == 0)
        add_line(lines, base_arena_printf(lines->arena,
                                          "KV Cache is allocated. #tokens: %lld, KV size: %.2f GB",
                                          (long long)size->kv_pool_tokens, bytes / gib));
    else
        add_line(lines,
                 base_arena_printf(
                     lines->arena,
                     "KV Cache is allocated. #tokens: %lld, K size: %.2f GB, V size: %.2f GB",
                     (long long)size->kv_pool_tokens, k, bytes / gib - k));
}

static void log_trtllm(const struct record_size *size, struct lines *lines)
{
    add_line(lines,
             base_arena_printf(
                 lines->arena,
                 "[MemUsageChange] Allocated %.2f GiB for max tokens in paged KV cache (%lld).",
                 (double)size->kv_pool_bytes_per_gpu / gib, (long long)size->kv_pool_tokens));
}

static void log_llama_cpp(const struct serve_config *config, struct lines *lines)
{
    const struct kv_cells *cells = &config->waterfall.cells;
    for (size_t i = 0; i < cells->group_count; i++) {
        const struct kv_cells_group *group = &cells->groups[i];
        if (lines->count == LINES_MAX)
            return;
        add_line(lines, base_arena_printf(lines->arena,
                                          "%s: size = %.2f MiB (%lld cells, %u layers, %u/%u seqs)",
                                          group->kind == SPEC_KV_STATE ? "llama_memory_recurrent"
                                                                       : "llama_kv_cache",
                                          (double)group->bytes / mib, (long long)group->cells,
                                          group->layer_count, cells->slots, group->streams));
    }
}

void study_size_add_log(const struct serve_config *config, struct base_arena *arena,
                        struct record_size *out)
{
    struct lines lines = {arena, base_arena_array(arena, LINES_MAX, sizeof *lines.at), 0};
    switch (config->waterfall.log) {
    case KV_LOG_VLLM_V1:
        log_vllm_v1(out, &lines);
        break;
    case KV_LOG_VLLM_V0:
        log_vllm_v0(out, &lines);
        break;
    case KV_LOG_SGLANG:
        log_sglang(out, &lines);
        break;
    case KV_LOG_TRTLLM:
        log_trtllm(out, &lines);
        break;
    case KV_LOG_LLAMA_CPP:
        log_llama_cpp(config, &lines);
        break;
    case KV_LOG_NONE:
        break;
    }
    out->engine_log = lines.at;
    out->engine_log_count = lines.count;
}

/* ---- notes ---- */

/* The two are often taken for each other: 80 GiB of KV, and a card sold as 80 GB. */
static void note_demand(const struct record_size *size, const struct study_size_options *options,
                        struct lines *lines)
{
    char demand[40], driver[40], weights[40];
    for (size_t i = 0; i < size->context_count && lines->count + 1 < LINES_MAX; i++) {
        const struct record_size_context *row = &size->by_context[i];
        bool is_asked = options->context_count != 0;
        if (row->fits || size->driver_bytes_per_gpu == 0 ||
            (!is_asked && row->lower_bound_bytes <= size->driver_bytes_per_gpu))
            continue;
        add_line(
            lines,
            base_arena_printf(
                lines->arena,
                "%lld x %s tokens: the lower bound alone is %s bytes (%s), %s the %s that the "
                "driver shows of one "
                "GPU; weights take %s more over all GPUs",
                (long long)row->sequences, grouped(lines->arena, row->context_tokens),
                grouped(lines->arena, row->lower_bound_bytes),
                base_print_bytes((double)row->lower_bound_bytes, demand, sizeof demand),
                row->lower_bound_bytes > size->driver_bytes_per_gpu ? "more than" : "less than",
                base_print_bytes((double)size->driver_bytes_per_gpu, driver, sizeof driver),
                base_print_bytes((double)size->weights_bytes, weights, sizeof weights)));
        return;
    }
}

static void note_pool(const struct serve_config *config, const struct record_size *size,
                      struct lines *lines)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    if (waterfall->memory_is_derived)
        add_line(lines,
                 base_arena_printf(
                     lines->arena,
                     "the memory that the driver shows is assumed; over its interval the pool "
                     "has %s to %s blocks",
                     grouped(lines->arena, size->kv_pool_blocks_low),
                     grouped(lines->arena, size->kv_pool_blocks_high)));
    if (waterfall->startup_check_skipped)
        add_line(
            lines,
            "one sequence of max_model_len does not fit the pool; startup_check is off, the engine "
            "itself would not start");
    if (size->kv_replication > 1)
        add_line(lines,
                 base_arena_printf(
                     lines->arena,
                     "each KV head or latent is held %lld times: tensor parallelism is wider "
                     "than there are heads to cut",
                     (long long)size->kv_replication));
    if (size->pipeline_parallel_size > 1 && waterfall->stage_remainder_bytes > 0) {
        char unused[40];
        add_line(lines,
                 base_arena_printf(lines->arena,
                                   "the stage with the fewest blocks counts: %s of the other "
                                   "stages' memory stay unused",
                                   base_print_bytes((double)waterfall->stage_remainder_bytes,
                                                    unused, sizeof unused)));
    }
    if (waterfall->pages.padded_layer_count > 0)
        add_line(lines,
                 base_arena_printf(
                     lines->arena,
                     "tables of %u layers: %u places hold no layer (ledger line `padded`)",
                     waterfall->pages.page_layer_count, waterfall->pages.padded_layer_count));
}

static void note_made_pool(const struct serve_config *config, const struct record_size *size,
                           struct lines *lines)
{
    if (config->kv_policy == KV_UNLIMITED && lines->count < LINES_MAX)
        add_line(lines, base_arena_printf(
                            lines->arena,
                            "kv_policy unlimited: a pool of %s blocks is made, for every seat at "
                            "its longest; the card has %s",
                            grouped(lines->arena, size->kv_pool_blocks),
                            grouped(lines->arena, config->waterfall.kv_pool_blocks)));
}

static void note_seats(const struct serve_config *config, struct lines *lines)
{
    const char *assumed = study_fit_assumed_seats(config, lines->arena);
    if (assumed != NULL && lines->count < LINES_MAX)
        add_line(lines, assumed);
}

static void note_contexts(const struct record_size *size, const struct study_size_options *options,
                          struct lines *lines)
{
    for (size_t i = 0; i < options->context_count; i++) {
        if (options->contexts[i] > size->max_model_len) {
            add_line(lines,
                     base_arena_printf(
                         lines->arena,
                         "contexts beyond max_model_len %s are computed, but the engine would "
                         "not take them",
                         grouped(lines->arena, size->max_model_len)));
            return;
        }
    }
}

static bool has_assumed(const struct record_size *size)
{
    for (size_t i = 0; i < size->waterfall_count; i++) {
        if (strcmp(size->waterfall[i].claim, "assumed") == 0)
            return true;
    }
    return false;
}

void study_size_add_words(const struct serve_config *config,
                          const struct study_size_options *options, struct base_arena *arena,
                          struct record_size *out)
{
    struct lines notes = {arena, base_arena_array(arena, LINES_MAX, sizeof *notes.at), 0};
    note_demand(out, options, &notes);
    note_pool(config, out, &notes);
    note_made_pool(config, out, &notes);
    note_seats(config, &notes);
    note_contexts(out, options, &notes);
    out->notes = notes.at;
    out->note_count = notes.count;

    struct lines limits = {arena, base_arena_array(arena, LINES_MAX, sizeof *limits.at), 0};
    add_line(
        &limits,
        "that a number of sequences fits says nothing of their latency or throughput: nothing was "
        "simulated here (kvsim run does)");
    add_line(&limits, "bytes per token of two models rank neither their speed nor their quality, "
                      "and a smaller KV "
                      "dtype's gain in speed is a different number than its gain in capacity");
    add_line(
        &limits,
        "sequences are counted apart: blocks shared through a prefix cache would let more fit");
    if (has_assumed(out))
        add_line(&limits, "activation, non-torch and graph memory are predicted where no log was "
                          "at hand; state them "
                          "in engine.memory for the pool of a given machine");
    out->unsupported = limits.at;
    out->unsupported_count = limits.count;
}
