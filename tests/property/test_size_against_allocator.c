/*
 * The closed form against allocators that know nothing of it, token by token: the engine's own pool for layouts of one
 * table, and a block table kept entry by entry, freed from the front, for windows, chunks and states.
 */
#include "kv/hold.h"
#include "kv/paged.h"

#include "support/check_main.h"
#include "support/models.h"

#include <stdint.h>
#include <string.h>

static struct spec_kv_layout layout_of(const struct spec_model *model, uint32_t block_tokens,
                                       uint32_t ranks, const char *dtype)
{
    struct spec_kv_options options = {.tensor_parallel = ranks,
                                      .pipeline_parallel = 1,
                                      .block_tokens = block_tokens,
                                      .k_dtype = dtype,
                                      .v_dtype = dtype};
    struct spec_kv_layout layout;
    struct kvsim_error err = {0};
    ck_assert_msg(spec_kv_layout_make(model, &options, &layout, &err) == KVSIM_OK, "%s",
                  err.message);
    return layout;
}

static struct kv_pages pages_with(const struct spec_kv_layout *layout,
                                  const struct kv_pages_options *options)
{
    struct kv_pages pages;
    struct kvsim_error err = {0};
    ck_assert_msg(kv_pages_make(layout, options, &pages, &err) == KVSIM_OK, "%s", err.message);
    return pages;
}

static struct kv_pages pages_of(const struct spec_kv_layout *layout, bool hybrid,
                                uint32_t state_blocks)
{
    struct kv_pages_options options = {.hybrid = hybrid,
                                       .state_blocks_per_sequence = state_blocks,
                                       .window_extra_tokens = 512,
                                       .unequal = KV_UNEQUAL_LONGER};
    return pages_with(layout, &options);
}

START_TEST(agrees_with_the_engines_pool)
{
    // GQA, MHA, MQA, MLA, MLA with index keys, and layers of which a third reuse another's cache.
    struct spec_model one_head = model_llama_8b, all_heads = model_llama_8b,
                      indexed = model_deepseek_v3, shared = model_llama_8b,
                      drafted = model_llama_8b, module = model_deepseek_v3, mixed = model_llama_8b;
    all_heads.groups[0].kv_head_count = all_heads.kv_head_count = 32;
    one_head.groups[0].kv_head_count = one_head.kv_head_count = 1;
    indexed.groups[indexed.group_count++] = (struct spec_kv_group){
        .kind = SPEC_KV_INDEX, .layer_count = 61, .kv_head_count = 1, .k_dim = 128};
    shared.groups[0].layer_count = 21;
    // A smaller model that drafts, a module like the model's own layers, and a quarter of the layers in another format.
    drafted.groups[drafted.group_count++] = (struct spec_kv_group){
        .layer_count = 16, .kv_head_count = 8, .k_dim = 64, .v_dim = 64, .is_draft = true};
    module.groups[1] = module.groups[0];
    module.groups[1].layer_count = 1;
    module.groups[1].is_draft = true;
    module.group_count = 2;
    mixed.groups[mixed.group_count++] = mixed.groups[0];
    mixed.groups[0].layer_count = 24;
    mixed.groups[1].layer_count = 8;
    mixed.groups[1].k_dtype = "fp8";
    mixed.groups[1].v_dtype = "nvfp4";
    const struct spec_model *const models[] = {
        &model_llama_8b, &model_llama_70b, &model_deepseek_v3, &all_heads, &one_head,
        &indexed,        &shared,          &drafted,           &module,    &mixed};
    static const char *const dtypes[] = {"bf16", "fp8", "int4", "nvfp4"};
    static const uint32_t blocks[] = {1, 16, 64}, ranks[] = {1, 8, 16};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        for (size_t d = 0; d < 4; d++) {
            for (size_t b = 0; b < 3; b++) {
                struct spec_kv_layout layout =
                    layout_of(models[m], blocks[b], ranks[(m + d + b) % 3], dtypes[d]);
                struct kv_pages pages = pages_of(&layout, true, 1);
                struct kv_paged pool;
                kv_paged_init(&pool, &layout, 4096, 1);
                int64_t held = 0;
                for (int64_t tokens = 1; tokens <= 700; tokens++) {
                    int64_t needed = kv_paged_blocks_for(&pool, tokens);
                    ck_assert(kv_paged_take(&pool, needed - held));
                    held = needed;
                    struct kv_paged_state state = {.live_tokens = tokens,
                                                   .used_blocks = kv_paged_used_blocks(&pool)};
                    struct kv_ledger simulated, closed;
                    kv_paged_ledger(&pool, &state, &simulated);
                    kv_hold_ledger(&layout, &pages, tokens, 1, &closed);
                    ck_assert_int_eq(kv_hold_blocks(&pages, tokens), held);
                    for (size_t line = 0; strcmp(kv_ledger_line_name(line), "cached") != 0; line++)
                        ck_assert_msg(kv_ledger_line_bytes(&simulated, line) ==
                                          kv_ledger_line_bytes(&closed, line),
                                      "%s at %lld tokens", kv_ledger_line_name(line),
                                      (long long)tokens);
                }
            }
        }
    }
}
END_TEST

/* One table as an engine keeps it: a place for each block of the sequence, empty once the block was given back. */
enum { PLACES_MAX = 4096 };
struct table {
    bool is_held[PLACES_MAX];
    int64_t place_count, held_count;
};

// The step that computes token `tokens` first gives back what no query from it on can see, then takes what it writes to,
// and slots for `drafted` more.
static void step_table(struct table *table, const struct kv_pages_kind *kind, int64_t tokens,
                       int64_t drafted)
{
    int64_t block_tokens = kind->block_tokens;
    int64_t last = tokens - 1; // position of the query
    int64_t first_seen = 0;
    if (kind->kind == SPEC_KV_SLIDING && last >= kind->window_tokens)
        first_seen = last - kind->window_tokens + 1;
    if (kind->kind == SPEC_KV_CHUNKED)
        first_seen = last - last % kind->window_tokens;
    for (int64_t place = 0; (place + 1) * block_tokens <= first_seen; place++) {
        table->held_count -= table->is_held[place] ? 1 : 0;
        table->is_held[place] = false;
    }
    while (table->place_count * block_tokens < tokens + drafted) {
        ck_assert_int_lt(table->place_count, PLACES_MAX);
        table->is_held[table->place_count++] = true;
        table->held_count++;
    }
}

// The ledger of a running pool in which one sequence has come so far, line by line.
static void check_pool(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                       int64_t tokens, const struct kv_ledger *closed)
{
    struct kv_tables tables;
    struct kv_paged pool;
    struct kvsim_error err = {0};
    struct kv_ledger ledger;
    ck_assert(kv_tables_make(layout, pages, &tables, &err) == KVSIM_OK);
    if (pages->caches_states)
        ck_assert(kv_tables_cache_states(&tables, &err) == KVSIM_OK);
    kv_paged_init(&pool, layout, 1 << 20, 1);
    kv_paged_set_tables(&pool, &tables);
    struct kv_paged_state state = {.live_tokens = tokens,
                                   .sequences = 1,
                                   .used_blocks =
                                       tables.state_blocks + kv_tables_blocks(&tables, tokens)};
    for (size_t w = 0; w < tables.window_count; w++) {
        const struct kv_window *window = &tables.windows[w];
        state.visible_tokens[w] = kv_window_visible_tokens(window, tokens, 1);
        state.dropped_blocks[w] = kv_window_passed_blocks(window, tokens - 1);
        state.used_blocks -= window->table_count * state.dropped_blocks[w];
        if (kv_window_is_long(&tables, w))
            state.table_blocks[w] = (tokens + window->block_tokens - 1) / window->block_tokens;
    }
    kv_paged_ledger(&pool, &state, &ledger);
    for (size_t line = 0; strcmp(kv_ledger_line_name(line), "cached") != 0; line++)
        ck_assert_msg(kv_ledger_line_bytes(&ledger, line) == kv_ledger_line_bytes(closed, line),
                      "%s at %lld tokens", kv_ledger_line_name(line), (long long)tokens);
}

static bool is_simulated(const struct kv_pages *pages)
{
    return pages->lookahead_tokens == 0;
}

// Tokens that may be drafted behind `tokens`.
static int64_t drafted_tokens(const struct kv_pages *pages, int64_t tokens, int64_t longest)
{
    int64_t room = longest - tokens;
    return room < pages->lookahead_tokens ? room : pages->lookahead_tokens;
}

// Cached states lie at the ends of blocks: the step of the last token reads one and writes one.
static int64_t states_held(const struct kv_pages *pages, int64_t tokens)
{
    if (!pages->caches_states)
        return pages->state_blocks_per_sequence;
    int64_t written = (tokens - 1) / pages->block_tokens;
    int64_t read = tokens > 1 ? (tokens - 2) / pages->block_tokens : written;
    return pages->state_blocks_per_sequence - (read == written ? 1 : 0);
}

// Blocks of its first tokens that a table still has.
static int64_t leading_held(const struct table *table, const struct kv_pages_kind *kind,
                            int64_t leading)
{
    int64_t held = 0;
    for (int64_t place = 0; (place + 1) * kind->block_tokens <= leading; place++)
        held += place < table->place_count && table->is_held[place] ? 1 : 0;
    return held;
}

static void check_tables(const struct spec_kv_layout *layout, const struct kv_pages *pages,
                         int64_t longest)
{
    struct table tables[SPEC_KV_GROUPS_MAX];
    enum { LEADING = 400 };
    base_i128 sum = 0, leading = 0;
    int64_t most_held = 0;
    memset(tables, 0, sizeof tables);
    for (int64_t tokens = 1; tokens <= longest; tokens++) {
        int64_t held = 0;
        for (size_t i = 0; i < pages->kind_count; i++) {
            const struct kv_pages_kind *kind = &pages->kinds[i];
            if (kind->kind != SPEC_KV_STATE)
                step_table(&tables[i], kind, tokens, drafted_tokens(pages, tokens, longest));
            else
                tables[i].held_count = states_held(pages, tokens);
            held += kind->table_count * tables[i].held_count;
            if (tokens >= LEADING && kind->kind != SPEC_KV_STATE)
                leading += kind->table_count * leading_held(&tables[i], kind, LEADING);
        }
        struct kv_ledger ledger;
        kv_hold_ledger(layout, pages, tokens, 1, &ledger);
        if (is_simulated(pages))
            check_pool(layout, pages, tokens, &ledger);
        ck_assert_int_eq(kv_hold_blocks(pages, tokens), held);
        ck_assert_int_le(held, kv_pages_asked_blocks(pages, tokens));
        ck_assert_int_le(kv_pages_asked_blocks(pages, tokens),
                         kv_pages_sequence_blocks(pages, tokens));
        int64_t most = kv_hold_most_blocks(pages, tokens, 1);
        ck_assert_int_le(held, most);
        ck_assert_int_le(most, kv_pages_asked_blocks(pages, tokens));
        most_held = held > most_held ? held : most_held;
        sum += held;
        ck_assert(kv_hold_blocks_sum(pages, 1, tokens) == sum);
        ck_assert(kv_hold_blocks_sum(pages, tokens, tokens) == held);
        ck_assert(tokens < LEADING ||
                  kv_hold_leading_sum(pages, LEADING, LEADING, tokens) == leading);
        ck_assert_int_eq(kv_ledger_allocated_bytes(&ledger), held * (int64_t)pages->block_bytes);
        ck_assert_int_eq(ledger.lower_bound_bytes,
                         (int64_t)spec_kv_lower_bound_bytes(layout, (uint64_t)tokens));
        for (size_t line = 0; line < kv_ledger_line_count(); line++)
            ck_assert_int_ge(kv_ledger_line_bytes(&ledger, line), 0);
    }
    // Not all tables need be at their largest in the same step: a chunk is whole at its end alone.
    int64_t apart = pages->table_count;
    for (size_t i = 0; i < pages->kind_count; i++) {
        if (pages->kinds[i].kind == SPEC_KV_CHUNKED)
            apart += pages->kinds[i].window_tokens / pages->kinds[i].block_tokens;
    }
    ck_assert_int_le(kv_hold_most_blocks(pages, longest, 1) - most_held, apart);
}

START_TEST(agrees_with_block_tables_of_windows)
{
    static const uint32_t blocks[] = {16, 48, 64};
    for (size_t b = 0; b < 3; b++) {
        struct spec_kv_layout layout = layout_of(&model_gemma3_27b, blocks[b], 1, "bf16");
        struct kv_pages pages = pages_of(&layout, true, 1);
        check_tables(&layout, &pages, 3000);
    }
}
END_TEST

START_TEST(agrees_with_block_tables_of_chunks)
{
    struct spec_model model = model_gemma3_27b;
    for (size_t i = 0; i < model.group_count; i++) {
        if (model.groups[i].kind == SPEC_KV_SLIDING)
            model.groups[i].kind = SPEC_KV_CHUNKED;
    }
    struct spec_kv_layout layout = layout_of(&model, 16, 2, "fp8");
    struct kv_pages pages = pages_of(&layout, true, 1);
    check_tables(&layout, &pages, 3000);
}
END_TEST

START_TEST(agrees_with_block_tables_of_states)
{
    for (uint32_t state_blocks = 1; state_blocks <= 2; state_blocks++) {
        struct spec_kv_layout layout = layout_of(&model_qwen35_27b, 16, 1, "fp8");
        struct kv_pages pages = pages_of(&layout, true, state_blocks);
        check_tables(&layout, &pages, 4000);
        pages.caches_states = state_blocks == 2;
        check_tables(&layout, &pages, 4000);
    }
}
END_TEST

// Windows in another format, in one whose bytes do not divide, and a drafter's layers with slots for what it drafts.
START_TEST(agrees_with_block_tables_of_unequal_kinds)
{
    static const char *const windows[] = {"bf16", "fp8", "fp8_per_token_head", "int4"};
    for (size_t d = 0; d < 4; d++) {
        for (int64_t lookahead = 0; lookahead <= 7; lookahead += 7) {
            struct spec_model model = model_gemma3_27b;
            model.groups[model.group_count++] = (struct spec_kv_group){
                .layer_count = 2, .kv_head_count = 8, .k_dim = 128, .v_dim = 128, .is_draft = true};
            struct spec_kv_options options = {.tensor_parallel = 2,
                                              .pipeline_parallel = 1,
                                              .block_tokens = 16,
                                              .k_dtype = "bf16",
                                              .v_dtype = "bf16"};
            options.kind_k_dtype[SPEC_KV_SLIDING] = options.kind_v_dtype[SPEC_KV_SLIDING] =
                windows[d];
            struct spec_kv_layout layout;
            struct kvsim_error err = {0};
            ck_assert(spec_kv_layout_make(&model, &options, &layout, &err) == KVSIM_OK);
            struct kv_pages_options cut = {.hybrid = true,
                                           .window_extra_tokens = 512,
                                           .unequal = KV_UNEQUAL_PADDED,
                                           .lookahead_tokens = lookahead,
                                           .longest_tokens = 3000};
            struct kv_pages pages = pages_with(&layout, &cut);
            ck_assert_uint_eq(pages.kind_count, 3);
            check_tables(&layout, &pages, 3000);
        }
    }
}
END_TEST

CHECK_MAIN("property.size_against_allocator", agrees_with_the_engines_pool,
           agrees_with_block_tables_of_windows, agrees_with_block_tables_of_chunks,
           agrees_with_block_tables_of_states, agrees_with_block_tables_of_unequal_kinds)
