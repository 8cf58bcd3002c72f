#include "study/size.h"

#include "base/count.h"
#include "base/units.h"
#include "kv/cells_ledger.h"
#include "kv/hold.h"
#include "kv/tables.h"
#include "study/fit.h"
#include "study/size_int.h"

#include <math.h>
#include <string.h>

/* ---- bytes per token ---- */

static const char *format_bytes(struct base_arena *arena, const struct spec_kv_format *format)
{
    char text[32];
    return base_arena_copy(arena,
                           base_print_real(format->bits_per_element / 8.0, text, sizeof text));
}

/* Every symbol beside its value, so that the product can be checked by hand. */
static const char *print_formula(struct base_arena *arena, const struct spec_kv_slot *slot,
                                 const struct spec_kv_group *group)
{
    const char *b = format_bytes(arena, &slot->k_format);
    if (group->kind == SPEC_KV_STATE)
        return base_arena_printf(arena, "L %u x state of one sequence", group->layer_count);
    if (group->stated_bytes_per_token != 0)
        return base_arena_printf(arena, "L %u x %g B as stated", group->layer_count,
                                 group->stated_bytes_per_token);
    if (group->kind == SPEC_KV_INDEX)
        return base_arena_printf(arena, "L %u x index key %u x b 1", group->layer_count,
                                 group->k_dim);
    if (group->is_latent)
        return base_arena_printf(arena, "L %u x (r_kv + d_rope) %u x b %s", group->layer_count,
                                 group->k_dim, b);
    if (group->k_dim == group->v_dim && slot->k_format.name == slot->v_format.name)
        return base_arena_printf(arena, "2 x L %u x H_kv %u x d_h %u x b %s", group->layer_count,
                                 group->kv_head_count, group->k_dim, b);
    return base_arena_printf(arena, "L %u x H_kv %u x (d_k %u x b %s + d_v %u x b %s)",
                             group->layer_count, group->kv_head_count, group->k_dim, b,
                             group->v_dim, format_bytes(arena, &slot->v_format));
}

static const char *attention_name(const struct spec_model *model)
{
    if (model == NULL || model->only_groups)
        return "stated";
    if (model->is_mla)
        return "MLA";
    if (model->kv_head_count == 1)
        return "MQA";
    return model->kv_head_count == model->q_head_count ? "MHA" : "GQA";
}

/* The same model if each of its query heads had K and V of its own. */
static void compare_to_mha(const struct serve_config *config, struct base_arena *arena,
                           struct record_size *out)
{
    const struct spec_model *model = config->model;
    const struct spec_kv_layout *layout = &config->waterfall.layout;
    uint32_t head_dim = model->is_mla ? model->qk_nope_dim : model->head_dim;
    uint64_t layers = 0, own_bytes = 0;
    for (size_t i = 0; i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        bool grows = slot->kind == SPEC_KV_FULL || slot->kind == SPEC_KV_INDEX;
        layers += slot->kind == SPEC_KV_FULL && !slot->is_draft ? slot->layer_count : 0;
        own_bytes += grows && !slot->is_draft ? slot->lower_bound_bytes : 0;
    }
    if (model->only_groups || model->q_head_count == 0 || layers == 0 || own_bytes == 0)
        return;
    double bytes = 2.0 * (double)layers * model->q_head_count * head_dim *
                   layout->k_format.bits_per_element / 8.0;
    out->comparison = (struct record_size_comparison){
        .baseline = base_arena_printf(arena, "MHA with the model's own %u query heads of %u, %s",
                                      model->q_head_count, head_dim, layout->k_format.name),
        .baseline_bytes_per_token = (int64_t)llround(bytes),
        .ratio = bytes / (double)own_bytes,
    };
}

static void split_k_and_v(const struct serve_config *config, struct record_size *out)
{
    double v_bits = 0;
    for (size_t i = 0; i < config->model->group_count; i++) {
        const struct spec_kv_group *group = &config->model->groups[i];
        if (group->kind == SPEC_KV_FULL && !group->is_latent && group->stated_bytes_per_token == 0)
            v_bits += (double)group->layer_count * group->kv_head_count * group->v_dim *
                      config->waterfall.layout.groups[i].v_format.bits_per_element;
    }
    out->v_bytes = (int64_t)llround(v_bits / 8);
    out->k_bytes = out->lower_bound_bytes_per_token - out->v_bytes;
}

/* Memory that grows with its tokens. */
static void fill_grown_ledger(const struct kv_waterfall *waterfall, int64_t tokens,
                              int64_t sequences, struct kv_ledger *out)
{
    const struct kv_pages *pages = &waterfall->pages;
    if (waterfall->kv_window_tokens > 0)
        kv_hold_pools_ledger(&waterfall->layout, pages, tokens, sequences, out);
    else
        kv_hold_ledger(&waterfall->layout, pages, tokens, sequences, out);
}

static int64_t longest_window(const struct spec_kv_layout *layout)
{
    int64_t longest = 0;
    for (size_t i = 0; i < layout->group_count; i++)
        longest = base_max(longest, layout->groups[i].window_tokens);
    return longest;
}

/* What the tables of a long sequence take: the slope, and what stands still. Exact at multiples of the block. */
static void find_slope(const struct serve_config *config, struct record_size *out)
{
    enum { LONG_BLOCKS = 1 << 14 };
    const struct kv_pages *pages = &config->waterfall.pages;
    int64_t unit = kv_pages_common_tokens(pages), tokens = LONG_BLOCKS * unit;
    tokens = base_max(tokens, 4 * longest_window(&config->waterfall.layout));
    tokens -= tokens % unit;
    struct kv_ledger once, twice;
    fill_grown_ledger(&config->waterfall, tokens, 1, &once);
    fill_grown_ledger(&config->waterfall, 2 * tokens, 1, &twice);
    int64_t a = kv_ledger_allocated_bytes(&once), b = kv_ledger_allocated_bytes(&twice);
    out->marginal_bytes_per_token = (b - a) / tokens;
    out->fixed_bytes = a - out->marginal_bytes_per_token * tokens;
}

/* ---- groups ---- */

static int64_t group_blocks(const struct kv_waterfall *waterfall, const struct spec_kv_slot *slot,
                            int64_t tokens)
{
    const struct kv_pages *pages = &waterfall->pages;
    if (waterfall->kv_window_tokens > 0)
        return kv_hold_pool_blocks(pages, slot, tokens);
    const struct kv_pages_kind *kind = kv_pages_kind_of(pages, slot);
    return kind->table_count * kv_hold_table_blocks(pages, kind, tokens);
}

static void add_groups(const struct serve_config *config, struct base_arena *arena,
                       struct record_size *out)
{
    const struct spec_kv_layout *layout = &config->waterfall.layout;
    const struct kv_pages *pages = &config->waterfall.pages;
    struct record_size_group *groups =
        base_arena_array(arena, layout->group_count + 1, sizeof *groups);
    for (size_t i = 0; i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        bool is_state = slot->kind == SPEC_KV_STATE;
        int64_t most = (int64_t)slot->window_tokens * (int64_t)slot->lower_bound_bytes;
        groups[i] = (struct record_size_group){
            .kind = spec_kv_kind_name(slot->kind),
            .is_draft = slot->is_draft,
            .formula = print_formula(arena, slot, &config->model->groups[i]),
            .layers = slot->layer_count,
            .window_tokens = slot->window_tokens,
            .block_size =
                pages->is_hybrid ? kv_pages_kind_of(pages, slot)->block_tokens : slot->block_tokens,
            .block_bytes =
                pages->is_hybrid ? (int64_t)pages->block_bytes : (int64_t)slot->block_bytes,
            .bytes_per_token = (int64_t)slot->lower_bound_bytes,
            .slot_bytes = (int64_t)slot->slot_bytes,
            .bytes_per_sequence = is_state ? (int64_t)slot->sequence_bytes : most,
            .blocks = is_state && !pages->is_hybrid
                          ? 0
                          : group_blocks(&config->waterfall, slot, config->sched.max_model_len),
        };
    }
    out->groups = groups;
    out->group_count = layout->group_count;
}

/* ---- contexts ---- */

// So many slots are served, each with so many tokens; nobody has been there before. Beyond what fits the lines are what the
// tokens would take.
static int64_t fill_cells_ledger(const struct serve_config *config, const struct kv_cells *cells,
                                 int64_t tokens, int64_t sequences, struct kv_ledger *ledger)
{
    const struct spec_kv_layout *layout = &config->waterfall.layout;
    struct kv_cells_content content = {.live_tokens = (long double)tokens * sequences,
                                       .sequences = (long double)sequences};
    for (size_t i = 0; i < layout->group_count; i++) {
        const struct spec_kv_slot *slot = &layout->groups[i];
        struct kv_window window = {.kind = slot->kind, .tokens = slot->window_tokens};
        int64_t seen =
            slot->window_tokens > 0 ? kv_window_visible_tokens(&window, tokens, 1) : tokens;
        content.seen_tokens[i] = (long double)seen * sequences;
    }
    long double lines[KV_LEDGER_LINE_COUNT];
    kv_cells_lines(cells, layout, &content, lines);
    for (size_t line = 0; line < KV_LEDGER_LINE_COUNT; line++)
        kv_ledger_set_line(ledger, line, llroundl(fmaxl(0, lines[line])));
    return cells->stream_cells * cells->streams;
}

static int64_t state_pool_bytes(const struct kv_waterfall *waterfall)
{
    const struct kv_waterfall_row *row = kv_waterfall_find(waterfall, KV_WF_STATE_POOL);
    return row == NULL ? 0 : row->bytes_per_gpu * (int64_t)waterfall->layout.gpu_count;
}

static const struct record_size_line *copy_ledger(struct base_arena *arena,
                                                  const struct kv_ledger *ledger, size_t *count)
{
    size_t lines = kv_ledger_line_count();
    struct record_size_line *out = base_arena_array(arena, lines, sizeof *out);
    for (size_t i = 0; i < lines; i++)
        out[i] = (struct record_size_line){.name = kv_ledger_line_name(i),
                                           .bytes = kv_ledger_line_bytes(ledger, i)};
    *count = lines;
    return out;
}

/* Memory that grows with a sequence, or what is set aside for it. */
static int64_t fill_blocks_ledger(const struct serve_config *config, int64_t tokens,
                                  int64_t sequences, struct kv_ledger *ledger)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    struct kv_hold_share share;
    *ledger = (struct kv_ledger){0};
    if (config->kv_policy == KV_NO_CACHE)
        return 0;
    study_fit_share(config, tokens, &share);
    if (share.blocks > 0)
        kv_hold_share_ledger(&waterfall->layout, &waterfall->pages, &share, tokens, sequences,
                             ledger);
    else
        fill_grown_ledger(waterfall, tokens, sequences, ledger);
    int64_t blocks = share.blocks > 0 ? share.blocks : kv_hold_blocks(&waterfall->pages, tokens);
    return sequences * blocks;
}

static int64_t held_back_bytes(const struct serve_config *config)
{
    return config->reserved_blocks * (int64_t)config->waterfall.pages.block_bytes;
}

static void fill_context(const struct serve_config *config, const struct record_size *size,
                         int64_t tokens, int64_t sequences, struct base_arena *arena,
                         struct record_size_context *out)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    const struct kv_cells *cells = study_fit_cells(config);
    struct kv_ledger ledger;
    struct study_fit fit;
    int64_t blocks;
    if (cells != NULL)
        blocks = fill_cells_ledger(config, cells, tokens, sequences, &ledger);
    else
        blocks = fill_blocks_ledger(config, tokens, sequences, &ledger);
    study_fit_of_length(config, tokens, &fit);
    int64_t allocated = kv_ledger_allocated_bytes(&ledger);
    int64_t usable = size->kv_usable_blocks * (int64_t)waterfall->pages.block_bytes +
                     state_pool_bytes(waterfall);
    if (cells != NULL)
        usable = cells->bytes;
    else if (waterfall->kv_window_tokens > 0)
        usable = kv_window_pool_bytes(waterfall) + state_pool_bytes(waterfall);
    *out = (struct record_size_context){
        .context_tokens = tokens,
        .sequences = sequences,
        .lower_bound_bytes = ledger.lower_bound_bytes,
        .allocated_bytes = allocated,
        .allocated_blocks = blocks,
        .kv_usage = usable > 0 ? (double)allocated / (double)usable : (double)NAN,
        .concurrency_guaranteed = fit.sequences,
        .concurrency_limit = fit.limit,
        .concurrency_running = fit.running,
        .running_limit = fit.running_limit,
    };
    out->fits = cells != NULL ? sequences <= fit.sequences : blocks <= size->kv_usable_blocks;
    if (waterfall->has_state_slots && sequences > waterfall->state_sequences)
        out->fits = false;
    if (waterfall->kv_window_tokens > 0 && sequences > kv_window_pool_sequences(waterfall, tokens))
        out->fits = false;
    if (tokens > config->sched.max_model_len)
        out->fits = false;
    if (out->fits && cells == NULL) {
        ledger.held_back_bytes = held_back_bytes(config);
        ledger.free_bytes = usable - allocated;
    } else if (cells != NULL && cells == &config->cells) {
        ledger.held_back_bytes = held_back_bytes(config); // a pool that was cut into cells
        ledger.free_bytes = size->kv_pool_bytes - allocated - ledger.held_back_bytes;
    }
    out->ledger = copy_ledger(arena, &ledger, &out->ledger_count);
}

static void add_contexts(const struct serve_config *config,
                         const struct study_size_options *options, struct base_arena *arena,
                         struct record_size *out)
{
    enum { USUAL_MAX = 24, FIRST = 1024 };
    int64_t usual[USUAL_MAX];
    size_t count = 0;
    for (int64_t tokens = FIRST; tokens < config->sched.max_model_len && count + 1 < USUAL_MAX;
         tokens *= 2)
        usual[count++] = tokens;
    usual[count++] = config->sched.max_model_len;
    const int64_t *contexts = options->context_count != 0 ? options->contexts : usual;
    count = options->context_count != 0 ? options->context_count : count;
    struct record_size_context *rows = base_arena_array(arena, count, sizeof *rows);
    for (size_t i = 0; i < count; i++)
        fill_context(config, out, contexts[i], options->sequences != 0 ? options->sequences : 1,
                     arena, &rows[i]);
    out->by_context = rows;
    out->context_count = count;
    out->contexts_stated = options->context_count != 0;
}

/* ---- the pool ---- */

static void add_waterfall(const struct kv_waterfall *waterfall, struct base_arena *arena,
                          struct record_size *out)
{
    struct record_size_line *lines =
        base_arena_array(arena, waterfall->row_count + 1, sizeof *lines);
    for (size_t i = 0; i < waterfall->row_count; i++) {
        const struct kv_waterfall_row *row = &waterfall->rows[i];
        lines[i] = (struct record_size_line){
            .name = kv_waterfall_line_name(row->line),
            .bytes = row->bytes_per_gpu,
            .claim = spec_claim_name(row->claim),
            .source = base_arena_copy(arena, row->source != NULL ? row->source : ""),
        };
    }
    out->waterfall = lines;
    out->waterfall_count = waterfall->row_count;
    const struct kv_waterfall_row *driver = kv_waterfall_find(waterfall, KV_WF_DRIVER);
    out->driver_bytes_per_gpu = driver != NULL ? driver->bytes_per_gpu : 0;
    out->weights_bytes = waterfall->weights_bytes;
}

/* The pool of an engine without an end of memory, in place of the card's. */
static void set_made_pool(const struct serve_config *config, struct record_size *out)
{
    const struct kv_pages *pages = &config->waterfall.pages;
    out->kv_pool_blocks = config->pool_blocks;
    out->kv_usable_blocks = config->pool_blocks - config->reserved_blocks;
    out->kv_pool_tokens = out->kv_pool_blocks / pages->table_count * pages->block_tokens;
    out->kv_usable_tokens = out->kv_usable_blocks / pages->table_count * pages->block_tokens;
    out->kv_pool_bytes = out->kv_pool_blocks * (int64_t)pages->block_bytes;
    out->kv_pool_bytes_per_gpu = out->kv_pool_blocks * (int64_t)pages->block_bytes_per_gpu;
    out->max_concurrency = (double)out->kv_pool_blocks / (double)config->waterfall.sequence_blocks;
}

static void add_pool(const struct serve_config *config, struct record_size *out)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    out->kv_available_bytes = waterfall->kv_available_bytes;
    out->kv_available_bytes_per_gpu = waterfall->kv_available_bytes_per_gpu;
    out->kv_pool_bytes = waterfall->kv_pool_bytes;
    out->kv_pool_bytes_per_gpu = waterfall->kv_pool_bytes_per_gpu;
    out->kv_pool_blocks = waterfall->kv_pool_blocks;
    out->kv_pool_tokens = waterfall->kv_pool_tokens;
    out->kv_usable_blocks = waterfall->kv_usable_blocks;
    out->kv_usable_tokens = waterfall->kv_usable_tokens;
    out->state_slots = waterfall->state_slots;
    out->state_sequences = waterfall->state_sequences;
    out->kv_window_tokens = waterfall->kv_window_tokens;
    out->kv_pool_blocks_low = waterfall->kv_pool_blocks_low;
    out->kv_pool_blocks_high = waterfall->kv_pool_blocks_high;
    const struct kv_cells *cells = study_fit_cells(config);
    if (cells != NULL) {
        out->kv_slots = cells->slots;
        out->kv_slot_tokens = cells->slot_tokens;
    }
    out->swap_blocks = waterfall->swap_blocks;
    out->max_concurrency = waterfall->max_concurrency;
    if (config->kv_policy == KV_UNLIMITED)
        set_made_pool(config, out);
    out->max_concurrency_total = out->max_concurrency * config->data_parallel *
                                 (config->replica_count != 0 ? config->replica_count : 1);
}

static void add_fit(const struct serve_config *config, struct base_arena *arena,
                    struct record_size *out)
{
    struct study_fit fit;
    struct study_fit_expected expected;
    study_fit_of_longest(config, &fit);
    study_fit_of_workload(config, &expected);
    out->concurrency_guaranteed = fit.sequences;
    out->concurrency_in_memory = fit.in_memory;
    out->concurrency_limit = fit.limit;
    out->guaranteed_means = study_fit_guaranteed_means(config, &fit, arena);
    out->concurrency_running = fit.running;
    out->running_limit = fit.running_limit;
    out->running_means = study_fit_running_means(config, &fit, arena);
    out->concurrency_expected = expected.requests;
    out->expected_limit = expected.limit;
    out->expected_means = study_fit_expected_means(config, &expected, arena);
}

static void add_refusal(const struct kv_waterfall *waterfall, struct base_arena *arena,
                        struct record_size *out)
{
    const struct kv_waterfall_refusal *refusal = &waterfall->refusal;
    out->starts = waterfall->starts;
    if (refusal->stage == KV_STAGE_NONE)
        return;
    out->refusal_stage = kv_waterfall_stage_name(refusal->stage);
    out->refusal_limit = refusal->limit;
    out->needed_bytes = refusal->needed_bytes;
    out->available_bytes = refusal->available_bytes;
    out->estimated_max_model_len = refusal->estimated_max_model_len;
    struct record_size_change *changes =
        base_arena_array(arena, refusal->change_count + 1, sizeof *changes);
    for (size_t i = 0; i < refusal->change_count; i++)
        changes[i] = (struct record_size_change){
            .key = base_arena_printf(arena, "engine.%s", refusal->changes[i].key),
            .value = base_arena_copy(arena, refusal->changes[i].value),
            .kv_usable_tokens = refusal->changes[i].kv_usable_tokens,
            .max_concurrency = refusal->changes[i].max_concurrency,
            .fits_demand = refusal->changes[i].fits_demand};
    out->changes = changes;
    out->change_count = refusal->change_count;
}

static const char *keep(struct base_arena *arena, const char *text)
{
    return base_arena_copy(arena, text != NULL ? text : "");
}

void study_size_make(const struct serve_config *config, const struct study_size_options *options,
                     struct base_arena *arena, struct record_size *out)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    *out = (struct record_size){
        .scenario = keep(arena, config->name),
        .model = keep(arena, config->model_name),
        .hardware = keep(arena, config->hardware_name),
        .engine = keep(arena, config->engine_name),
        .attention = attention_name(config->model),
        .kv_cache_dtype = keep(arena, config->kv_cache_dtype),
        .gpus = config->gpu_count_per_replica,
        .tensor_parallel_size = config->tensor_parallel,
        .pipeline_parallel_size = config->pipeline_parallel,
        .data_parallel_size = config->data_parallel,
        .block_size = waterfall->pages.block_tokens,
        .max_model_len = config->sched.max_model_len,
        .max_num_seqs = config->sched.max_num_seqs,
        .max_num_batched_tokens = config->sched.max_num_batched_tokens,
        .lower_bound_bytes_per_token =
            (int64_t)config->waterfall.layout.lower_bound_bytes_per_token,
        .kv_replication = config->waterfall.layout.kv_replication,
        .block_bytes = (int64_t)waterfall->pages.block_bytes,
        .block_bytes_per_gpu = (int64_t)waterfall->pages.block_bytes_per_gpu,
        .table_count = waterfall->pages.table_count,
    };
    split_k_and_v(config, out);
    compare_to_mha(config, arena, out);
    find_slope(config, out);
    add_groups(config, arena, out);
    add_waterfall(waterfall, arena, out);
    add_pool(config, out);
    add_fit(config, arena, out);
    add_contexts(config, options, arena, out);
    add_refusal(waterfall, arena, out);
    study_size_add_log(config, arena, out);
    study_size_add_words(config, options, arena, out);
}
