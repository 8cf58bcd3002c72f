#include "support/engine_run.h"

#include "reference/ref_int.h"
#include "sched/sched.h"
#include "support/result_compare.h"
#include "support/rows_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the sink ---- */

static void keep_request(struct record_sink *sink, const struct record_request *row)
{
    struct engine_run *run = (struct engine_run *)(void *)sink;
    struct record_request copy = *row;
    copy.id = base_arena_copy(&run->arena, row->id);
    copy.class_name = base_arena_copy(&run->arena, row->class_name);
    base_vec_push(&run->requests, copy);
}

static size_t keep_list(struct engine_run *run, struct engine_step *step, size_t at,
                        const struct record_list_item *items, size_t count,
                        const struct record_list_item **out)
{
    *out = step->items + at;
    for (size_t i = 0; i < count; i++) {
        step->items[at + i] = items[i];
        step->items[at + i].id = base_arena_copy(&run->arena, items[i].id);
    }
    return at + count;
}

static void keep_step(struct record_sink *sink, const struct record_step *row)
{
    struct engine_run *run = (struct engine_run *)(void *)sink;
    struct engine_step step = {.row = *row};
    size_t count =
        row->scheduled_count + row->admitted_count + row->preempted_count + row->finished_count;
    step.items = base_arena_array(&run->arena, count + 1, sizeof *step.items);
    size_t at = keep_list(run, &step, 0, row->scheduled, row->scheduled_count, &step.row.scheduled);
    at = keep_list(run, &step, at, row->admitted, row->admitted_count, &step.row.admitted);
    at = keep_list(run, &step, at, row->preempted, row->preempted_count, &step.row.preempted);
    keep_list(run, &step, at, row->finished, row->finished_count, &step.row.finished);
    base_vec_push(&run->steps, step);
}

static void keep_sample(struct record_sink *sink, const struct record_sample *row)
{
    struct engine_run *run = (struct engine_run *)(void *)sink;
    base_vec_push(&run->samples, *row);
}

static const struct record_sink_ops keeping = {keep_request, keep_step, keep_sample};

/* ---- the requests ---- */

struct list_source {
    const struct ref_input *input;
    int64_t *order; /* requests that follow none, by arrival, ties as listed */
    int64_t count, at;
    int64_t *outputs; /* of one request's answers */
};

static void fill_request(const struct list_source *source, int64_t index, int64_t arrival_ns,
                         struct workload_request *out)
{
    const struct ref_input *input = source->input;
    const struct ref_request_in *in = &input->requests[index];
    const int64_t end = ref_end_of_answers(input, index);
    for (int64_t i = index; i < end; i++) {
        source->outputs[i - index] = input->requests[i].output_tokens;
    }
    *out = (struct workload_request){.arrival_ns = arrival_ns,
                                     .prompt_tokens = in->prompt_tokens,
                                     .output_tokens = in->output_tokens,
                                     .max_tokens = in->max_tokens,
                                     .priority = (int32_t)in->priority,
                                     .sequence_count = (uint32_t)(end - index),
                                     .sequence_outputs = source->outputs,
                                     .client = (uint32_t)index};
    out->abort_after_ns = in->abort_ns > 0 ? in->abort_ns : 0;
    out->timeout_total_ns = in->timeout_ns > 0 ? in->timeout_ns : 0;
    out->timeout_first_ns = in->first_token_timeout_ns > 0 ? in->first_token_timeout_ns : 0;
    snprintf(out->id, sizeof out->id, "#%" PRId64, index);
    // struct ref_range is a run of token ids by another name.
    out->runs = (const struct spec_token_run *)(const void *)in->ranges;
    out->run_count = (size_t)in->range_count;
    out->answer_first = 1000000000 + 100000 * index;
}

static enum kvsim_status list_next(void *context, struct workload_request *out, bool *more,
                                   struct kvsim_error *err)
{
    (void)err;
    struct list_source *source = context;
    *more = source->at < source->count;
    if (*more) {
        int64_t index = source->order[source->at++];
        fill_request(source, index, source->input->requests[index].arrival_ns, out);
    }
    return KVSIM_OK;
}

static enum kvsim_status list_done(void *context, const struct workload_ended *ended,
                                   struct workload_request *out, bool *more,
                                   struct kvsim_error *err)
{
    (void)err;
    const struct list_source *source = context;
    const struct ref_input *input = source->input;
    *more = false;
    for (int64_t i = 0; i < input->request_count && !*more; i++) {
        if (input->requests[i].after == (int64_t)ended->request->client) {
            fill_request(source, i, ended->at_ns + input->requests[i].arrival_ns, out);
            *more = true;
        }
    }
    return KVSIM_OK;
}

static void order_requests(const struct ref_input *input, struct base_arena *arena,
                           struct list_source *source)
{
    *source = (struct list_source){.input = input};
    source->order =
        base_arena_array(arena, (size_t)input->request_count + 1, sizeof *source->order);
    source->outputs =
        base_arena_array(arena, (size_t)input->request_count + 1, sizeof *source->outputs);
    for (int64_t i = 0; i < input->request_count; i++) {
        if (input->requests[i].after >= 0 || input->requests[i].is_sibling) {
            continue;
        }
        int64_t at = source->count++;
        for (; at > 0 &&
               input->requests[source->order[at - 1]].arrival_ns > input->requests[i].arrival_ns;
             at--) {
            source->order[at] = source->order[at - 1];
        }
        source->order[at] = i;
    }
}

/* ---- the config ---- */

static bool has_followers(const struct ref_input *input)
{
    for (int64_t i = 0; i < input->request_count; i++) {
        if (input->requests[i].after >= 0) {
            return true;
        }
    }
    return false;
}

static enum spec_kv_kind kind_of_table(const struct ref_table *table)
{
    static const enum spec_kv_kind kinds[] = {SPEC_KV_FULL, SPEC_KV_SLIDING, SPEC_KV_CHUNKED,
                                              SPEC_KV_STATE};
    return kinds[table->kind];
}

static struct spec_kv_slot *slot_of(struct spec_kv_layout *layout, const struct ref_table *table,
                                    uint64_t slot_bytes)
{
    enum spec_kv_kind kind = kind_of_table(table);
    for (size_t i = 0; i < layout->group_count; i++) {
        if (layout->groups[i].kind == kind && layout->groups[i].window_tokens == table->window &&
            layout->groups[i].layer_slot_bytes_per_gpu == slot_bytes) {
            return &layout->groups[i];
        }
    }
    struct spec_kv_slot *slot = &layout->groups[layout->group_count++];
    *slot = (struct spec_kv_slot){.kind = kind,
                                  .window_tokens = (uint32_t)table->window,
                                  .layer_slot_bytes_per_gpu = slot_bytes};
    return slot;
}

// The window that has a layer's table, made when it is new.
static struct kv_window *window_of(struct kv_tables *to, const struct ref_engine *engine,
                                   const struct ref_table *table, const struct spec_kv_slot *slot)
{
    size_t w = kv_tables_place_of(to, slot);
    if (w < to->window_count && to->windows[w].block_tokens == ref_table_size(engine, table)) {
        return &to->windows[w];
    }
    bool sees_all = table->kind == REF_TABLE_FULL;
    to->windows[to->window_count] =
        (struct kv_window){.kind = slot->kind,
                           .tokens = sees_all ? KV_SEES_EVERYTHING : table->window,
                           .block_tokens = ref_table_size(engine, table),
                           .slot_bytes = (int64_t)slot->layer_slot_bytes_per_gpu};
    return &to->windows[to->window_count++];
}

// Layers of one byte a token and table, or where blocks are of several lengths of so many that each divides; a state is as large
// as a block.
static void fill_tables(const struct ref_engine *engine, struct serve_config *out)
{
    struct ref_table tables[REF_TABLES_MAX];
    int64_t count = ref_engine_tables(engine, tables);
    struct spec_kv_layout *layout = &out->layout;
    struct kv_tables *to = &out->tables;
    *layout = (struct spec_kv_layout){.block_bytes = (uint64_t)ref_block_bytes(engine),
                                      .block_tokens = (uint32_t)engine->block_size};
    *to = (struct kv_tables){.block_tokens = engine->block_size,
                             .period_tokens = ref_period(engine),
                             .block_bytes = ref_block_bytes(engine),
                             .is_sparse = engine->is_sparse};
    struct kvsim_error err = {.status = KVSIM_OK};
    for (int64_t t = 0; t < count; t++) {
        int64_t bytes = ref_slot_bytes(engine, &tables[t]);
        struct spec_kv_slot *slot = slot_of(layout, &tables[t], (uint64_t)bytes);
        bool is_long = ref_table_size(engine, &tables[t]) > engine->block_size;
        slot->layer_count++;
        if (tables[t].kind == REF_TABLE_STATE) {
            slot->sequence_bytes += (uint64_t)ref_block_bytes(engine);
            to->state_blocks++;
            to->holds_states = true;
            continue;
        }
        slot->lower_bound_bytes += (uint64_t)bytes;
        slot->slot_bytes += (uint64_t)bytes;
        to->growing_tables++;
        to->long_tables += is_long ? 1 : 0;
        bool is_plain = tables[t].kind == REF_TABLE_FULL && !is_long;
        to->full_tables += is_plain || tables[t].keeps_all ? 1 : 0;
        if (!is_plain) {
            window_of(to, engine, &tables[t], slot)->table_count += tables[t].keeps_all ? 0 : 1;
        }
    }
    if (engine->caches_states && to->holds_states && kv_tables_cache_states(to, &err) != KVSIM_OK) {
        abort();
    }
}

// Layers of one byte a token that see everything, and with a window as many that have it.
static void fill_slots(const struct ref_engine *engine, struct serve_config *out)
{
    struct spec_kv_layout *layout = &out->layout;
    struct kv_cells *cells = &out->cells;
    out->scheduler = &sched_llama_cpp;
    out->kv_policy = engine->shares_cells ? KV_CELLS : KV_SLOTS;
    out->slot_prompt_similarity =
        (struct base_rational){engine->similarity_num, engine->similarity_den};
    out->tables = (struct kv_tables){.block_tokens = 1,
                                     .period_tokens = 1,
                                     .block_bytes = 1,
                                     .growing_tables = 1,
                                     .full_tables = 1};
    if (engine->sliding_window > 0) {
        struct spec_kv_slot *slot = &layout->groups[layout->group_count++];
        *slot = layout->groups[0];
        slot->kind = SPEC_KV_SLIDING;
        slot->window_tokens = (uint32_t)engine->sliding_window;
        out->tables.windows[out->tables.window_count++] = (struct kv_window){
            .kind = SPEC_KV_SLIDING, .tokens = engine->sliding_window, .block_tokens = 1};
    }
    kv_cells_make(layout,
                  &(struct kv_cells_options){.ctx_tokens = engine->num_blocks,
                                             .parallel = (uint32_t)engine->max_num_seqs,
                                             .unified = engine->shares_cells,
                                             .swa_full = true,
                                             .ubatch_tokens = 1,
                                             .pad_tokens = 1},
                  cells);
    if (engine->ring_cells > 0) {
        struct kv_cells_group *ring = &cells->groups[1];
        cells->bytes += (engine->ring_cells - ring->cells) * ring->streams * ring->row_bytes;
        cells->pool_bytes = cells->bytes;
        ring->cells = engine->ring_cells;
    }
}

static void fill_tiers(const struct ref_tier *tier, struct sched_tier_options *out)
{
    static const enum sched_store stores[] = {SCHED_STORE_THROUGH, SCHED_STORE_LOOKUPS,
                                              SCHED_STORE_USES, SCHED_STORE_BACK};
    static const enum sched_prefetch prefetches[] = {SCHED_PREFETCH_NONE,
                                                     SCHED_PREFETCH_BEST_EFFORT,
                                                     SCHED_PREFETCH_WAIT, SCHED_PREFETCH_TIMEOUT};
    *out =
        (struct sched_tier_options){.chunk_blocks = tier->chunk_blocks,
                                    .count = (size_t)tier->count,
                                    .store = stores[tier->store],
                                    .store_threshold = tier->store_threshold,
                                    .prompt_only = tier->prompt_only,
                                    .is_sync = tier->is_sync,
                                    .reserves_for_prefills = tier->reserves_for_prefills,
                                    .by_cost = tier->by_cost,
                                    .load_layers = tier->load_layers,
                                    .load_threshold_tokens = tier->load_threshold,
                                    .read_batch_blocks = tier->read_batch,
                                    .prefetch = prefetches[tier->prefetch],
                                    .prefetch_threshold_tokens = tier->prefetch_threshold,
                                    .prefetch_base_ticks = tier->prefetch_base_ticks,
                                    .prefetch_ticks_per_1024_tokens = tier->prefetch_ticks_per_1024,
                                    .prefetch_most_ticks = tier->prefetch_most_ticks};
    for (int64_t i = 0; i < tier->count; i++) {
        const struct ref_level *level = &tier->levels[i];
        out->at[i] = (struct sched_tier_option){.capacity_chunks = level->capacity_chunks,
                                                .order = level->order == REF_TIER_ARC ? KV_TIER_ARC
                                                                                      : KV_TIER_LRU,
                                                .latency_ticks = level->latency_ticks,
                                                .read_ticks_per_block = level->read_ticks,
                                                .write_ticks_per_block = level->write_ticks,
                                                .on_eviction = level->on_eviction};
    }
}

static void fill_config(const struct ref_input *input, struct cost_options *cost,
                        struct serve_config *out)
{
    const struct ref_engine *engine = &input->engine;
    const double ns = (double)REF_TICKS_PER_NS;
    *cost = (struct cost_options){.level = COST_AFFINE, .has_level = true};
    cost->affine = (struct cost_affine_options){.base_ns = (double)input->step.a / ns,
                                                .per_prefill_token_ns = (double)input->step.b / ns,
                                                .per_decode_seq_ns = (double)input->step.c / ns,
                                                .per_context_token_ns = (double)input->step.d / ns};
    *out = (struct serve_config){.pool_blocks = engine->num_blocks,
                                 .reserved_blocks = engine->kind == REF_VLLM_V1 ? 1 : 0,
                                 .kv_eviction = (enum kv_eviction)engine->eviction,
                                 .replica_count = 1};
    if (engine->is_radix) {
        out->kv_policy = KV_RADIX;
    }
    if (engine->kind == REF_ORCA) {
        static const enum kv_policy policies[] = {KV_RESERVED_MAX,    KV_RESERVED_POW2,
                                                  KV_RESERVED_EXACT,  KV_CONCAT,
                                                  KV_CONCAT_DOUBLING, KV_NO_CACHE};
        static const enum kv_placement placements[] = {KV_ANY_BLOCKS, KV_FIRST_FIT, KV_BEST_FIT,
                                                       KV_BUDDY};
        out->scheduler = &sched_orca;
        out->kv_policy = policies[engine->reservation];
        out->kv_placement = placements[engine->allocator];
        out->kv_compaction = engine->compacts;
        out->copy.per_cached_token = engine->ticks_per_moved_token;
    }
    out->layout = (struct spec_kv_layout){.group_count = 1,
                                          .lower_bound_bytes_per_token = 1,
                                          .slot_bytes = 1,
                                          .block_bytes = (uint64_t)engine->block_size,
                                          .block_tokens = (uint32_t)engine->block_size};
    out->layout.groups[0] = (struct spec_kv_slot){.kind = SPEC_KV_FULL,
                                                  .layer_count = 1,
                                                  .block_tokens = (uint32_t)engine->block_size,
                                                  .lower_bound_bytes = 1,
                                                  .slot_bytes = 1,
                                                  .block_bytes = (uint64_t)engine->block_size};
    if (engine->kind == REF_LLAMA_CPP) {
        fill_slots(engine, out);
    } else if (engine->sliding_window > 0 || engine->table_count > 0) {
        fill_tables(engine, out);
    }
    out->sched = (struct sched_options){
        .max_num_seqs = engine->max_num_seqs,
        .max_num_batched_tokens = engine->max_num_batched_tokens,
        .max_model_len = engine->max_model_len,
        .long_prefill_token_threshold = engine->long_prefill_token_threshold,
        .block_size = engine->block_size,
        .static_batch = engine->is_static,
        .pass_tokens = engine->pass_tokens,
        .enable_chunked_prefill = engine->enable_chunked_prefill,
        .async_scheduling = engine->async_scheduling,
        .enable_prefix_caching = engine->enable_prefix_caching,
        .order = engine->policy == REF_PRIORITY ? SCHED_PRIORITY : SCHED_FCFS,
        .watermark = {engine->watermark_num, engine->watermark_den > 0 ? engine->watermark_den : 1},
        .reserve_full_isl = engine->scheduler_reserve_full_isl,
        .unchunked_misfit =
            engine->unchunked_misfit == REF_MISFIT_SKIP ? SCHED_MISFIT_SKIP : SCHED_MISFIT_STOP,
        .free_order = engine->free_order == REF_FREE_OLD ? SCHED_FREE_OLD : SCHED_FREE_NEW,
        .count_every_lookup = engine->count_every_lookup,
        .preempted_budget_returned = !engine->preempt_keeps_budget,
        .first_of_equals_goes = engine->priority_tie == REF_TIE_FIRST,
    };
    fill_tiers(&engine->tier, &out->sched.tier);
    out->cost = (struct cost_config){.options = cost,
                                     .tensor_parallel = 1,
                                     .pipeline_parallel = 1,
                                     .data_parallel = 1,
                                     .async_scheduling = engine->async_scheduling,
                                     .max_decode_seqs = (uint32_t)engine->max_num_seqs};
    out->workload.process = has_followers(input) ? WORKLOAD_CLOSED_LOOP : WORKLOAD_TRACE;
    out->workload.class_count = 1;
    out->workload.classes[0].name = "";
    out->warmup.kind = SERVE_WARMUP_REQUESTS; // 0 requests: everything counts
}

void engine_run_config(const struct serve_config *config, const struct engine_options *wanted,
                       struct engine_run *out)
{
    *out = (struct engine_run){.sink = {.ops = &keeping,
                                        .request_limit = wanted->request_rows,
                                        .wants_steps = wanted->wants_steps,
                                        .sample_ns = wanted->sample_ns}};
    base_arena_init(&out->arena);
    bool is_silent = wanted->request_rows == 0 && !wanted->wants_steps && wanted->sample_ns == 0;
    struct serve_run_options options = {.replication = 1,
                                        .mode = wanted->mode,
                                        .sink = is_silent ? NULL : &out->sink,
                                        .source = wanted->source};
    struct kvsim_error err = {0};
    enum kvsim_status status = serve_run(config, &options, &out->result, &err);
    if (status != KVSIM_OK) {
        fprintf(stderr, "engine failed: %s\n", err.message);
        abort();
    }
}

void engine_run_reference_input(const struct ref_input *input, enum serve_mode mode,
                                struct engine_run *out)
{
    struct base_arena arena;
    base_arena_init(&arena);
    struct list_source list;
    order_requests(input, &arena, &list);
    struct serve_source source = {&list, list_next, list_done};
    struct cost_options cost;
    struct serve_config config;
    fill_config(input, &cost, &config);
    struct engine_options wanted = {.mode = mode,
                                    .request_rows = UINT64_MAX,
                                    .wants_steps = mode == SERVE_STEP,
                                    .source = &source};
    engine_run_config(&config, &wanted, out);
    base_arena_release(&arena);
}

void engine_run_release(struct engine_run *run)
{
    serve_result_release(&run->result);
    base_vec_free(&run->steps);
    base_vec_free(&run->requests);
    base_vec_free(&run->samples);
    base_arena_release(&run->arena);
}

/* ---- comparison ---- */

struct diff {
    char *text;
    size_t bytes;
    const char *where;
    int64_t number;
};

static void compare(struct diff *diff, const char *what, int64_t expected, int64_t found)
{
    if (expected != found && diff->text[0] == '\0') {
        snprintf(diff->text, diff->bytes,
                 "%s %" PRId64 ": %s: expected %" PRId64 ", found %" PRId64, diff->where,
                 diff->number, what, expected, found);
    }
}

static void compare_wide(struct diff *diff, const char *what, base_i128 expected, base_i128 found)
{
    char a[48], b[48];
    if (expected != found && diff->text[0] == '\0') {
        snprintf(diff->text, diff->bytes, "%s %" PRId64 ": %s: expected %s, found %s", diff->where,
                 diff->number, what, base_i128_print(expected, a, sizeof a),
                 base_i128_print(found, b, sizeof b));
    }
}

static int64_t index_of(const char *id)
{
    return strtoll(id + 1, NULL, 10);
}

// What the engine lists: a request for several answers stands at the place of the first that comes, the tokens summed.
static int64_t merge_items(const struct ref_input *input, const struct ref_item *items,
                           int64_t count, struct ref_item *out)
{
    int64_t merged = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t first = ref_first_answer(input, items[i].request);
        int64_t at = 0;
        while (at < merged && out[at].request != first) {
            at++;
        }
        if (at == merged) {
            out[merged++] = (struct ref_item){.request = first};
        }
        out[at].tokens += items[i].tokens;
    }
    return merged;
}

static void compare_items(struct diff *diff, const struct ref_input *input, const char *what,
                          const struct ref_item *expected, int64_t count,
                          const struct record_list_item *found, size_t found_count)
{
    struct ref_item *merged = ref_alloc((size_t)count + 1, sizeof *merged);
    count = merge_items(input, expected, count, merged);
    compare(diff, what, count, (int64_t)found_count);
    for (int64_t i = 0; i < count && diff->text[0] == '\0'; i++) {
        compare(diff, what, merged[i].request, index_of(found[i].id));
        compare(diff, "tokens", merged[i].tokens, found[i].tokens);
    }
    free(merged);
}

static void compare_ids(struct diff *diff, const struct ref_input *input, const char *what,
                        const int64_t *expected, int64_t count,
                        const struct record_list_item *found, size_t found_count)
{
    struct ref_item *items = ref_alloc((size_t)count + 1, sizeof *items);
    for (int64_t i = 0; i < count; i++) {
        items[i].request = expected[i];
    }
    compare_items(diff, input, what, items, count, found, found_count);
    free(items);
}

static void compare_step(struct diff *diff, const struct ref_input *input,
                         const struct ref_step *expected, const struct record_step *row)
{
    compare(diff, "sched_ns", expected->sched_ns, row->sched_ns);
    compare(diff, "start_ns", expected->start_ns, row->start_ns);
    compare(diff, "end_ns", expected->end_ns, row->end_ns);
    compare(diff, "prefill_tokens", expected->shape.prefill_tokens, row->prefill_tokens);
    compare(diff, "decode_seqs", expected->shape.decode_seqs, row->decode_seqs);
    compare(diff, "context_tokens", expected->shape.context_tokens, row->context_tokens);
    compare(diff, "running", expected->running, row->running);
    compare(diff, "waiting", expected->waiting, row->waiting);
    compare(diff, "free_blocks", expected->free_blocks, row->free_blocks);
    compare(diff, "used_blocks", expected->used_blocks, row->used_blocks);
    compare(diff, "running_end", expected->running_end, row->running_end);
    compare(diff, "free_blocks_end", expected->free_blocks_end, row->free_blocks_end);
    compare(diff, "lower_bound", expected->ledger_tokens[REF_LOWER_BOUND],
            row->ledger_bytes[KV_LEDGER_LOWER_BOUND]);
    compare(diff, "block_rounding", expected->ledger_tokens[REF_BLOCK_ROUNDING],
            row->ledger_bytes[KV_LEDGER_BLOCK_ROUNDING]);
    compare(diff, "out_of_window", expected->ledger_tokens[REF_OUT_OF_WINDOW],
            row->ledger_bytes[KV_LEDGER_OUT_OF_WINDOW]);
    compare(diff, "cached blocks", expected->cached_idle_blocks, row->cached_blocks);
    compare(diff, "shared", expected->ledger_tokens[REF_SHARED],
            row->ledger_bytes[KV_LEDGER_SHARED]);
    compare(diff, "cached", expected->ledger_tokens[REF_CACHED],
            row->ledger_bytes[KV_LEDGER_CACHED]);
    compare(diff, "reserved", expected->ledger_tokens[REF_RESERVED],
            row->ledger_bytes[KV_LEDGER_RESERVED]);
    compare(diff, "fragmented", expected->ledger_tokens[REF_FRAGMENTED],
            row->ledger_bytes[KV_LEDGER_FRAGMENTED]);
    compare(diff, "held_back", expected->ledger_tokens[REF_HELD_BACK],
            row->ledger_bytes[KV_LEDGER_HELD_BACK]);
    compare(diff, "free", expected->ledger_tokens[REF_FREE], row->ledger_bytes[KV_LEDGER_FREE]);
    compare_items(diff, input, "scheduled", expected->scheduled, expected->scheduled_count,
                  row->scheduled, row->scheduled_count);
    compare_ids(diff, input, "admitted", expected->admitted, expected->admitted_count,
                row->admitted, row->admitted_count);
    compare_ids(diff, input, "preempted", expected->preempted, expected->preempted_count,
                row->preempted, row->preempted_count);
    compare_ids(diff, input, "finished", expected->finished, expected->finished_count,
                row->finished, row->finished_count);
}

static enum record_outcome outcome_of(enum ref_outcome outcome)
{
    switch (outcome) {
    case REF_COMPLETED:
        return RECORD_OUTCOME_COMPLETED;
    case REF_REJECTED:
        return RECORD_OUTCOME_REJECTED;
    case REF_TIMED_OUT:
        return RECORD_OUTCOME_TIMED_OUT;
    case REF_ABORTED:
        return RECORD_OUTCOME_ABORTED;
    default:
        return RECORD_OUTCOME_UNFINISHED;
    }
}

// What the client sees of all its answers.
struct answers {
    struct ref_request_out sum; /* of the first, with the sums and extremes of all */
    int64_t longest;
};

static struct answers add_answers(const struct ref_input *input, const struct ref_output *output,
                                  int64_t index)
{
    struct answers all = {.sum = output->requests[index]};
    struct ref_request_out *sum = &all.sum;
    const int64_t end = ref_end_of_answers(input, index);
    all.longest = sum->output_tokens;
    for (int64_t i = index + 1; i < end; i++) {
        const struct ref_request_out *one = &output->requests[i];
        if (one->first_scheduled_ns >= 0 &&
            (sum->first_scheduled_ns < 0 || one->first_scheduled_ns < sum->first_scheduled_ns)) {
            sum->first_scheduled_ns = one->first_scheduled_ns;
        }
        if (one->first_token_ns >= 0 &&
            (sum->first_token_ns < 0 || one->first_token_ticks < sum->first_token_ticks)) {
            sum->first_token_ns = one->first_token_ns;
            sum->first_token_ticks = one->first_token_ticks;
        }
        all.longest = one->output_tokens > all.longest ? one->output_tokens : all.longest;
        sum->output_tokens += one->output_tokens;
        sum->preemptions += one->preemptions;
        sum->cached_tokens += one->cached_tokens;
        sum->cached_tokens_total += one->cached_tokens_total;
        sum->computed_tokens += one->computed_tokens;
        sum->recomputed_tokens += one->recomputed_tokens;
    }
    return all;
}

static void compare_request(struct diff *diff, const struct answers *answers,
                            const struct record_request *row)
{
    const struct ref_request_out *expected = &answers->sum;
    compare(diff, "outcome", (int64_t)outcome_of(expected->outcome), (int64_t)row->outcome);
    compare(diff, "arrival_ns", expected->arrival_ns, row->arrival_ns);
    compare(diff, "arrival order", expected->arrival_order, (int64_t)row->index);
    compare(diff, "finish_ns", expected->finish_ns, row->finish_ns);
    compare(diff, "output_tokens", answers->longest, row->output_tokens);
    compare(diff, "output tokens of all answers", expected->output_tokens, row->generated_tokens);
    compare(diff, "preemptions", expected->preemptions, (int64_t)row->preemptions);
    compare(diff, "queue_ns",
            expected->first_scheduled_ns >= 0 ? expected->first_scheduled_ns - expected->arrival_ns
                                              : -1,
            row->queue_ns);
    compare(diff, "computed_tokens", expected->computed_tokens, row->computed_tokens);
    compare(diff, "recomputed_tokens", expected->recomputed_tokens, row->recomputed_tokens);
    compare(diff, "cached_tokens", expected->cached_tokens, row->cached_tokens);
    compare(diff, "cached_tokens_total", expected->cached_tokens_total, row->cached_tokens_total);
    if (expected->outcome == REF_COMPLETED) {
        compare(diff, "ttft_ns",
                base_ticks_floor_ns(expected->first_token_ticks - expected->arrival_ticks),
                row->ttft_ns);
        compare(diff, "e2e_ns",
                base_ticks_floor_ns(expected->finish_ticks - expected->arrival_ticks), row->e2e_ns);
        compare(diff, "finish_reason",
                expected->finish == REF_FINISH_STOP ? RECORD_FINISH_STOP : RECORD_FINISH_LENGTH,
                (int64_t)row->finish_reason);
    }
}

// The causes of a request's time add up to its life, within the floors of their parts.
static void compare_causes(struct diff *diff, const struct record_request *row)
{
    if (row->outcome == RECORD_OUTCOME_REJECTED) {
        return;
    }
    int64_t sum = 0;
    for (size_t i = 0; i < RECORD_CAUSE_COUNT; i++) {
        sum += row->cause_ns[i];
    }
    // One ns for each total read twice and each phase closed.
    int64_t slack = 30 + 10 * (int64_t)row->preemptions + 8 * row->output_tokens;
    if (sum < row->e2e_ns - slack || sum > row->e2e_ns + slack) {
        compare(diff, "sum of causes", row->e2e_ns, sum);
    }
}

// The lines that depend on what layers see, from the integrals.
static void compare_tables(struct diff *diff, const struct ref_input *input,
                           const struct ref_output *expected, const struct serve_integrals *whole)
{
    struct cost_options cost;
    struct serve_config config;
    struct kv_paged pool;
    fill_config(input, &cost, &config);
    serve_config_pool(&config, &pool);
    base_i128 beyond = 0, table_blocks = whole->used_blocks + whole->shared_blocks;
    for (size_t w = 0; w < pool.tables.window_count; w++) {
        table_blocks += (whole->dropped_blocks[w] - whole->table_blocks[w]) *
                        pool.tables.windows[w].table_count;
    }
    table_blocks /= pool.tables.growing_tables - pool.tables.long_tables;
    for (size_t i = 0; i < config.layout.group_count; i++) {
        const struct spec_kv_slot *slot = &config.layout.groups[i];
        size_t w = kv_tables_place_of(&pool.tables, slot);
        if (slot->kind == SPEC_KV_STATE && pool.tables.caches_states) {
            beyond += (table_blocks - whole->dropped_blocks[pool.tables.window_count - 1] -
                       whole->running - whole->kept_sequences) *
                      (int64_t)slot->sequence_bytes;
        }
        if (w < pool.tables.window_count) {
            bool gives_back = pool.tables.windows[w].table_count > 0;
            bool has_ring = input->engine.ring_cells > 0; // then nobody holds what is not seen
            if (has_ring) {
                continue;
            }
            base_i128 gone =
                gives_back ? whole->dropped_blocks[w] * pool.tables.windows[w].block_tokens : 0;
            beyond +=
                (whole->live_tokens - gone - whole->visible_tokens[w]) * (int64_t)slot->slot_bytes;
        }
    }
    compare_wide(diff, "lower bound", expected->integrals.ledger_tokens[REF_LOWER_BOUND],
                 kv_paged_lower_bound_bytes(&pool, whole->live_tokens, whole->running,
                                            whole->kept_sequences, whole->visible_tokens));
    compare_wide(diff, "out of window", expected->integrals.ledger_tokens[REF_OUT_OF_WINDOW],
                 beyond);
}

static void compare_level(struct diff *diff, const struct ref_level_totals *expected,
                          const struct serve_tier_result *tier)
{
    compare(diff, "blocks read", expected->read_blocks, tier->read_blocks);
    compare(diff, "blocks written", expected->written_blocks, tier->written_blocks);
    compare(diff, "reads", expected->reads, tier->reads);
    compare(diff, "writes", expected->writes, tier->writes);
    compare(diff, "chunks added", expected->added_chunks, tier->added_chunks);
    compare(diff, "chunks evicted", expected->evicted_chunks, tier->evicted_chunks);
    compare(diff, "chunks held", expected->held_chunks, tier->held_chunks);
    compare(diff, "chunks held at most", expected->peak_chunks, tier->peak_chunks);
    compare(diff, "stores refused", expected->refused_stores, tier->refused_stores);
    compare_wide(diff, "time of reads", expected->read_ticks, tier->read_ticks);
    compare_wide(diff, "time of writes", expected->write_ticks, tier->write_ticks);
    compare_wide(diff, "reads waited", expected->read_wait_ticks, tier->read_wait_ticks);
    compare_wide(diff, "writes waited", expected->write_wait_ticks, tier->write_wait_ticks);
    compare_wide(diff, "chunks held, over time", expected->held_chunk_ticks,
                 tier->held_chunk_ticks);
}

static void compare_tiers(struct diff *diff, const struct ref_totals *expected,
                          const struct serve_replica_result *replica)
{
    compare_level(diff, &expected->levels[0], &replica->tiers[0]);
    compare_level(diff, &expected->levels[1], &replica->tiers[1]);
    compare(diff, "tokens asked of the tiers", expected->tier_asked_tokens,
            replica->tiers[0].asked_tokens);
    compare(diff, "tokens found in the first",
            expected->tier_hit_tokens - expected->tier_below_tokens, replica->tiers[0].hit_tokens);
    compare(diff, "tokens found below", expected->tier_below_tokens, replica->tiers[1].hit_tokens);
    compare(diff, "tokens not worth loading", expected->declined_tokens, replica->declined_tokens);
    compare(diff, "times not worth loading", expected->declined_count, replica->declined_count);
    compare(diff, "reads refused", expected->refused_reads, replica->tiers[1].refused_reads);
    compare_wide(diff, "time of loads", expected->load_wait_ticks, replica->load_wait_ticks);
    compare_wide(diff, "time stalled", expected->stall_ticks, replica->stall_ticks);
}

// What is kept idle; by slots in the layers with a window too.
static base_i128 cached_tokens(const struct ref_input *input, const struct serve_integrals *whole)
{
    base_i128 tokens = whole->cached_blocks * ref_block_bytes(&input->engine);
    if (input->engine.kind != REF_LLAMA_CPP || input->engine.sliding_window == 0) {
        return tokens;
    }
    return tokens + (input->engine.ring_cells > 0 ? whole->kept_visible_tokens[0] : tokens);
}

void engine_compare_with_reference(const struct ref_input *input, const struct ref_output *expected,
                                   const struct engine_run *run, char *difference, size_t bytes)
{
    difference[0] = '\0';
    struct diff diff = {difference, bytes, "steps", 0};
    if (run->sink.wants_steps) {
        int64_t count = expected->step_count < (int64_t)run->steps.count
                            ? expected->step_count
                            : (int64_t)run->steps.count;
        for (int64_t i = 0; i < count; i++) {
            diff.where = "step";
            diff.number = i + 1;
            compare_step(&diff, input, &expected->steps[i], &run->steps.at[i].row);
        }
        compare(&diff, "steps", expected->step_count, (int64_t)run->steps.count);
    }
    diff.where = "request";
    int64_t ended = 0;
    for (size_t i = 0; i < run->requests.count; i++) {
        const struct record_request *row = &run->requests.at[i];
        diff.number = index_of(row->id);
        struct answers answers = add_answers(input, expected, diff.number);
        compare_request(&diff, &answers, row);
        compare_causes(&diff, row);
    }
    for (int64_t i = 0; i < input->request_count; i++) {
        ended += expected->requests[i].outcome != REF_PENDING && !input->requests[i].is_sibling;
    }
    diff.where = "run";
    diff.number = 0;
    compare(&diff, "ended requests", ended, (int64_t)run->requests.count);
    const struct serve_integrals *whole = &run->result.replicas[0].whole;
    compare_wide(&diff, "end", expected->end_ticks, run->result.end_ticks);
    compare_wide(&diff, "running", expected->integrals.running, whole->running);
    compare_wide(&diff, "waiting", expected->integrals.waiting, whole->waiting);
    compare_wide(&diff, "used blocks", expected->integrals.used_blocks, whole->used_blocks);
    compare_tables(&diff, input, expected, whole);
    compare_wide(&diff, "shared", expected->integrals.ledger_tokens[REF_SHARED],
                 whole->shared_blocks * ref_block_bytes(&input->engine));
    compare_wide(&diff, "cached", expected->integrals.ledger_tokens[REF_CACHED],
                 cached_tokens(input, whole));
    bool reserves =
        input->engine.kind == REF_ORCA &&
        (input->engine.reservation <= REF_RESERVE_EXACT || input->engine.reservation == REF_DOUBLE);
    compare_wide(&diff, "promised",
                 reserves ? expected->integrals.ledger_tokens[REF_RESERVED] + whole->live_tokens
                          : 0,
                 whole->promised_tokens);
    compare_wide(&diff, "fragmented", expected->integrals.ledger_tokens[REF_FRAGMENTED],
                 whole->fragmented_blocks * input->engine.block_size);
    compare(&diff, "evicted", expected->totals.evicted_blocks,
            run->result.replicas[0].evicted_blocks);
    if (input->engine.compacts) {
        compare(&diff, "moved", expected->totals.moved_tokens,
                run->result.replicas[0].copied_tokens);
    }
    compare(&diff, "lookups", expected->totals.lookup_tokens,
            run->result.replicas[0].lookup_tokens);
    const struct serve_replica_result *replica = &run->result.replicas[0];
    compare_tiers(&diff, &expected->totals, replica);
    compare_wide(&diff, "held back",
                 expected->integrals.ledger_tokens[REF_HELD_BACK] -
                     (input->engine.kind != REF_VLLM_V1
                          ? 0
                          : expected->integrals.ticks * ref_block_bytes(&input->engine)),
                 whole->loading_blocks * ref_block_bytes(&input->engine));
    compare(&diff, "steps", expected->totals.steps, (int64_t)run->result.replicas[0].steps);
    compare(&diff, "computed tokens", expected->totals.computed_tokens,
            run->result.replicas[0].computed_tokens);
    compare(&diff, "preemptions", expected->totals.preemptions,
            (int64_t)run->result.replicas[0].preemptions);
    compare(&diff, "peak used blocks", expected->totals.peak_used_blocks,
            run->result.replicas[0].peak.used_blocks);
    compare(&diff, "output tokens", expected->totals.output_tokens, run->result.output_tokens);
    compare_wide(&diff, "Little's law", run->result.sojourn_ticks, run->result.in_flight_ticks);
}

void engine_compare_runs(const struct engine_run *a, const struct engine_run *b, char *difference,
                         size_t bytes)
{
    result_compare(&a->result, &b->result, difference, bytes);
    struct diff diff = {difference, bytes, "run", 0};
    compare(&diff, "requests", (int64_t)a->requests.count, (int64_t)b->requests.count);
    diff.where = "row";
    for (size_t i = 0; i < a->requests.count && difference[0] == '\0'; i++) {
        const struct record_request *p = &a->requests.at[i], *q = &b->requests.at[i];
        diff.number = (int64_t)i;
        compare(&diff, "arrival_ns", p->arrival_ns, q->arrival_ns);
        compare(&diff, "finish_ns", p->finish_ns, q->finish_ns);
        compare(&diff, "the row is the same", true, rows_same_request(p, q));
    }
}
