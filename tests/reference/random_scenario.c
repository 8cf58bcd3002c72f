#include "reference/random_scenario.h"

#include <stdbool.h>
#include <stdio.h>

#include "reference/ref_int.h"

/* ---- numbers ---- */

/* low..high, both included; low where there is nothing to choose. */
static int64_t draw(struct dice *state, int64_t low, int64_t high)
{
    return high <= low ? low : dice_between(state, low, high);
}

/* True with probability 1/n. */
static bool one_in(struct dice *state, int64_t n)
{
    return draw(state, 1, n) == 1;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct draft {
    struct dice *state;
    uint32_t features;
    struct ref_input *input;
    int64_t typical_ns; /* about the duration of a step */
};

static bool has(const struct draft *draft, enum random_feature feature)
{
    return (draft->features & (uint32_t)feature) != 0;
}

/* ---- engine ---- */

static void draw_switches(const struct draft *draft, struct ref_engine *engine)
{
    const bool old = has(draft, RANDOM_V010);
    engine->async_scheduling = has(draft, RANDOM_ASYNC);
    engine->policy = has(draft, RANDOM_PRIORITY) ? REF_PRIORITY : REF_FCFS;
    engine->scheduler_reserve_full_isl = !has(draft, RANDOM_FIRST_CHUNK) && !old;
    engine->enable_chunked_prefill = !has(draft, RANDOM_UNCHUNKED);
    engine->enable_prefix_caching = has(draft, RANDOM_CACHE);
    engine->free_order = old ? REF_FREE_OLD : REF_FREE_NEW;
    if (has(draft, RANDOM_EVICTION)) {
        engine->free_order = REF_FREE_NEW;
        engine->eviction = (enum ref_eviction)draw(draft->state, REF_EVICT_FIFO, REF_EVICT_SLRU);
    }
    if (has(draft, RANDOM_RADIX)) {
        engine->is_radix = true;
        engine->eviction = (enum ref_eviction)draw(draft->state, REF_EVICT_LRU, REF_EVICT_SLRU);
    }
    engine->unchunked_misfit = old ? REF_MISFIT_SKIP : REF_MISFIT_STOP;
    engine->count_every_lookup = old;
    engine->preempt_keeps_budget = old;
    // The first of equals may go again and again: nothing outside ends that but a client's limit.
    const bool may_circle = has(draft, RANDOM_PRIORITY) && !has(draft, RANDOM_ABORTS);
    engine->priority_tie = may_circle && one_in(draft->state, 3) ? REF_TIE_FIRST : REF_TIE_LATEST;
}

/* A pool that holds one longest request and often little more. */
static void draw_pool(const struct draft *draft, struct ref_engine *engine)
{
    const int64_t least = ref_longest_blocks(engine);
    const int64_t more = one_in(draft->state, 4) ? draw(draft->state, 0, least * 2 + 3)
                                                 : draw(draft->state, 0, least / 4 + 1);
    engine->num_blocks = 1 + least + more;
}

/* One kind at least has the shortest blocks; layers that see the same may have blocks of two lengths. */
static void draw_lengths(const struct draft *draft, struct ref_engine *engine, int64_t kinds)
{
    static const int64_t factors[] = {1, 2, 2, 3, 4};
    struct dice *state = draft->state;
    int64_t shortest = one_in(state, 2) ? 0 : engine->table_count - 1;
    while (engine->tables[shortest].kind == REF_TABLE_STATE) {
        shortest--;
    }
    for (int64_t t = 0; t < engine->table_count; t++) {
        struct ref_table *table = &engine->tables[t];
        const bool is_like_before = t > 0 && table->kind == engine->tables[t - 1].kind &&
                                    table->window == engine->tables[t - 1].window;
        const bool can_be_long = table->kind != REF_TABLE_STATE && !table->keeps_all;
        table->factor = can_be_long ? factors[draw(state, 0, 4)] : 1;
        const bool is_same = is_like_before && (kinds > 2 || !one_in(state, 4));
        table->factor = is_same ? engine->tables[t - 1].factor : table->factor;
    }
    for (int64_t t = 0; t < engine->table_count; t++) {
        const bool is_like_shortest = engine->tables[t].kind == engine->tables[shortest].kind &&
                                      engine->tables[t].window == engine->tables[shortest].window;
        if (t == shortest || (kinds > 2 && is_like_shortest)) {
            engine->tables[t].factor = 1;
        }
    }
    // Blocks come back table by table: what sees everything and is as short as any stands before what is longer.
    for (int64_t t = engine->table_count - 1; t > 0; t--) {
        struct ref_table *a = &engine->tables[t - 1], *b = &engine->tables[t];
        if (a->kind == REF_TABLE_FULL && a->factor > 1 && b->kind == REF_TABLE_FULL &&
            b->factor == 1) {
            const struct ref_table longer = *a;
            *a = *b;
            *b = longer;
        }
    }
}

/* One kind is often several tables: those of a kind follow each other, as layers of a kind do in groups. */
static void draw_tables(const struct draft *draft, struct ref_engine *engine)
{
    struct dice *state = draft->state;
    const int64_t kinds = draw(state, 2, 3);
    const bool may_keep_all = !has(draft, RANDOM_CACHE) || has(draft, RANDOM_TIER);
    const bool keeps_all = may_keep_all && one_in(state, 4);
    int64_t windows[3] = {0};
    engine->sliding_window = 0;
    for (int64_t k = 0; k < kinds; k++) {
        const bool any = k > 0 || (one_in(state, 4) && !has(draft, RANDOM_STATES));
        struct ref_table table = {.kind = REF_TABLE_FULL};
        if (any) {
            const bool slides = has(draft, RANDOM_LENGTHS) && has(draft, RANDOM_CACHE);
            table.kind = one_in(state, 3) && !slides ? REF_TABLE_CHUNKED : REF_TABLE_SLIDING;
            do {
                table.window = draw(state, 2, max64(engine->max_model_len / 2, 4));
            } while (table.window == windows[0] || table.window == windows[1]);
            table.keeps_all = keeps_all;
            windows[k] = table.window;
        }
        if (k == 2 && !has(draft, RANDOM_CACHE) && one_in(state, 2)) {
            table = (struct ref_table){.kind = REF_TABLE_STATE};
        }
        if (k == kinds - 1 && has(draft, RANDOM_STATES)) {
            table = (struct ref_table){.kind = REF_TABLE_STATE};
        }
        const int64_t count = draw(state, 1, 2);
        for (int64_t i = 0; i < count; i++) {
            engine->tables[engine->table_count++] = table;
        }
    }
    if (has(draft, RANDOM_LENGTHS)) {
        draw_lengths(draft, engine, kinds);
    }
}

static void draw_engine(const struct draft *draft)
{
    struct dice *state = draft->state;
    struct ref_engine *engine = &draft->input->engine;
    ref_engine_defaults(engine);
    draw_switches(draft, engine);
    engine->block_size = one_in(state, 2) ? draw(state, 1, 4) : draw(state, 1, 16);
    engine->max_model_len = draw(state, 6, 64);
    engine->max_num_batched_tokens = one_in(state, 2) ? draw(state, 1, 8) : draw(state, 4, 64);
    engine->max_num_seqs = one_in(state, 6) ? draw(state, 1, 3) : draw(state, 3, 8);
    if (has(draft, RANDOM_UNCHUNKED)) { // the engine raises the budget itself
        engine->max_num_batched_tokens =
            max64(engine->max_num_batched_tokens, engine->max_model_len);
    }
    if (has(draft, RANDOM_THRESHOLD)) {
        engine->long_prefill_token_threshold = draw(state, 1, engine->max_model_len / 2);
    }
    if (has(draft, RANDOM_WINDOW)) {
        engine->sliding_window = draw(state, 2, engine->max_model_len);
    }
    if (has(draft, RANDOM_TABLES)) {
        draw_tables(draft, engine);
    }
    engine->is_sparse = has(draft, RANDOM_SPARSE);
    engine->caches_states = has(draft, RANDOM_STATES);
    if (has(draft, RANDOM_WATERMARK)) {
        engine->watermark_num = draw(state, 1, 40);
        engine->watermark_den = 100;
    }
    draw_pool(draft, engine);
}

/* Any way of keeping memory, in a pool that holds one longest request and often little more. */
static void draw_orca(const struct draft *draft)
{
    struct dice *state = draft->state;
    struct ref_engine *engine = &draft->input->engine;
    engine->kind = REF_ORCA;
    engine->enable_prefix_caching = false;
    engine->reservation = (enum ref_reservation)draw(state, REF_RESERVE_MAX, REF_KEEP_NOTHING);
    engine->allocator = (enum ref_allocator)draw(state, REF_ALLOC_BLOCKS, REF_ALLOC_BUDDY);
    engine->is_static = one_in(state, 4);
    if (has(draft, RANDOM_COMPACTION)) {
        engine->reservation =
            (enum ref_reservation)draw(state, REF_RESERVE_POW2, REF_RESERVE_EXACT);
        engine->allocator =
            (enum ref_allocator)draw(state, REF_ALLOC_FIRST_FIT, REF_ALLOC_BEST_FIT);
        engine->compacts = true;
        engine->ticks_per_moved_token = draw(state, 0, 20) * REF_TICKS_PER_NS;
    }
    if (engine->reservation == REF_KEEP_NOTHING) {
        engine->async_scheduling = false;
    }
    if (engine->reservation == REF_DOUBLE) {
        engine->block_size = 1;
    }
    int64_t least = ref_ceil_div(engine->max_model_len, engine->block_size);
    if (engine->allocator == REF_ALLOC_BUDDY) {
        int64_t power = 1;
        while (power < least) {
            power *= 2;
        }
        least = power;
    }
    engine->num_blocks = least + draw(state, 0, one_in(state, 3) ? least * 6 : least * 2);
}

/* Slots whose streams hold one longest request and little more; windows with rings or without. */
static void draw_slots(const struct draft *draft)
{
    struct dice *state = draft->state;
    struct ref_engine *engine = &draft->input->engine;
    const int64_t longest = engine->max_model_len;
    engine->kind = REF_LLAMA_CPP;
    engine->policy = REF_FCFS;
    engine->async_scheduling = false;
    engine->block_size = 1;
    engine->max_num_seqs = draw(state, 1, 5);
    engine->shares_cells = one_in(state, 2);
    engine->num_blocks = engine->shares_cells
                             ? longest + draw(state, 0, longest * engine->max_num_seqs)
                             : (longest + draw(state, 0, 4)) * engine->max_num_seqs;
    engine->pass_tokens = one_in(state, 2) ? 0 : draw(state, engine->max_num_seqs, 12);
    engine->similarity_num = one_in(state, 4) ? 0 : draw(state, 1, 9);
    engine->similarity_den = 10;
    engine->sliding_window = one_in(state, 2) ? 0 : draw(state, 2, longest);
    if (engine->sliding_window > 0 && one_in(state, 2)) {
        const int64_t sequences = engine->shares_cells ? engine->max_num_seqs : 1;
        engine->ring_cells = engine->sliding_window * sequences + draw(state, 1, 6);
        const int64_t stream =
            engine->num_blocks / (engine->shares_cells ? 1 : engine->max_num_seqs);
        engine->ring_cells = engine->ring_cells < stream ? engine->ring_cells : 0;
    }
}

static void draw_links(struct dice *state, struct ref_level *level)
{
    const int64_t slow = one_in(state, 2) ? 100 : 4000;
    level->latency_ticks = draw(state, 1, slow * REF_TICKS_PER_NS);
    level->read_ticks = draw(state, 0, slow * REF_TICKS_PER_NS);
    level->write_ticks = draw(state, 0, slow * REF_TICKS_PER_NS);
}

/* A second level now and then, and the ways in which either may be used. */
static void draw_disk(struct dice *state, int64_t longest, struct ref_tier *tier)
{
    struct ref_level *disk = &tier->levels[1];
    tier->by_cost = one_in(state, 3);
    tier->store =
        tier->store != REF_STORE_FILLED && one_in(state, 2) ? REF_STORE_USED : tier->store;
    if (one_in(state, 3)) {
        tier->store = REF_STORE_DROPPED;
        tier->chunk_blocks = 1;
    }
    if (one_in(state, 5)) {
        return;
    }
    tier->count = 2;
    disk->capacity_chunks = one_in(state, 3) ? draw(state, 1, 4) : draw(state, 1, longest * 12);
    disk->order = one_in(state, 2) ? REF_TIER_ARC : REF_TIER_LRU;
    disk->on_eviction = one_in(state, 2);
    draw_links(state, disk);
    disk->latency_ticks = one_in(state, 8) ? 0 : disk->latency_ticks;
    if (disk->latency_ticks ==
        0) { // what is done at one instant has no order; a transfer takes a tick at least
        disk->read_ticks = max64(disk->read_ticks, 1);
        disk->write_ticks = max64(disk->write_ticks, 1);
    }
    if (one_in(state, 2)) {
        tier->prefetch = (enum ref_prefetch)draw(state, REF_PREFETCH_EFFORT, REF_PREFETCH_TIME);
        tier->prefetch_threshold = draw(state, 1, 40);
        tier->prefetch_base_ticks = draw(state, 0, 20000 * REF_TICKS_PER_NS);
        tier->prefetch_ticks_per_1024 = draw(state, 0, 100000 * REF_TICKS_PER_NS);
        tier->prefetch_most_ticks = draw(state, 0, 30000 * REF_TICKS_PER_NS);
    }
}

/* Host memory behind a radix tree: HiCache's ways, page by page. */
static void draw_tree_tier(const struct draft *draft, struct ref_tier *tier)
{
    struct dice *state = draft->state;
    static const enum ref_store stores[] = {REF_STORE_FILLED, REF_STORE_USED, REF_STORE_DROPPED};
    tier->chunk_blocks = 1;
    tier->store = stores[draw(state, 0, 2)];
    tier->store_threshold = tier->store == REF_STORE_USED ? draw(state, 2, 3) : 0;
    tier->prompt_only = tier->is_sync = tier->reserves_for_prefills = false;
    tier->load_layers = draw(state, 1, 4);
    tier->read_batch = 1;
    tier->load_threshold = draw(state, 1, 12);
    tier->by_cost = one_in(state, 3);
    if (!has(draft, RANDOM_DISK)) {
        return;
    }
    // Contents come back when they have left the host, and pages are small enough for them to be found.
    struct ref_engine *engine = &draft->input->engine;
    engine->block_size = draw(state, 1, 3);
    draw_pool(draft, engine);
    const int64_t longest = ref_ceil_div(engine->max_model_len, engine->block_size);
    struct ref_level *disk = &tier->levels[1];
    tier->count = 2;
    tier->levels[0].capacity_chunks = draw(state, longest / 2 + 1, longest * 2);
    if (tier->store == REF_STORE_DROPPED &&
        one_in(state, 2)) { // what is on its way down is all that there is
        tier->levels[0].capacity_chunks = draw(state, 1, longest / 2 + 1);
    }
    disk->capacity_chunks = one_in(state, 4) ? draw(state, 1, 20) : draw(state, 50, 400);
    disk->order = one_in(state, 2) ? REF_TIER_ARC : REF_TIER_LRU;
    draw_links(state, disk);
    disk->read_ticks /= one_in(state, 2) ? 20 : 1;
    disk->write_ticks *= one_in(state, 4) ? 20 : 1;
    tier->load_threshold = draw(state, 1, 3);
    tier->read_batch = one_in(state, 2) ? 128 : draw(state, 1, 6);
    tier->prefetch = (enum ref_prefetch)draw(state, REF_PREFETCH_EFFORT, REF_PREFETCH_TIME);
    tier->prefetch_threshold = draw(state, 1, 6);
    tier->prefetch_base_ticks = draw(state, 0, 20000 * REF_TICKS_PER_NS);
    tier->prefetch_ticks_per_1024 = draw(state, 0, 100000 * REF_TICKS_PER_NS);
    tier->prefetch_most_ticks = draw(state, 0, 30000 * REF_TICKS_PER_NS);
}

/* A tier that holds much or next to nothing, behind links of any speed. */
static void draw_tier(const struct draft *draft)
{
    struct dice *state = draft->state;
    struct ref_engine *engine = &draft->input->engine;
    engine->enable_prefix_caching = true;
    engine->block_size = max64(engine->block_size, engine->is_radix ? 1 : 2);
    engine->unchunked_misfit = REF_MISFIT_STOP;
    const int64_t longest = ref_ceil_div(engine->max_model_len, engine->block_size);
    struct ref_tier *tier = &engine->tier;
    struct ref_level *host = &tier->levels[0];
    tier->count = 1;
    tier->chunk_blocks = one_in(state, 2) ? 1 : draw(state, 1, 3);
    host->capacity_chunks = one_in(state, 3) ? draw(state, 1, 4) : draw(state, 1, longest * 6);
    host->order = one_in(state, 2) ? REF_TIER_ARC : REF_TIER_LRU;
    tier->store_threshold = one_in(state, 4) ? draw(state, 2, 3) : draw(state, 0, 1);
    tier->store = tier->store_threshold > 1 ? REF_STORE_ASKED : REF_STORE_FILLED;
    tier->prompt_only = one_in(state, 3);
    tier->is_sync = one_in(state, 4);
    tier->reserves_for_prefills = one_in(state, 2);
    draw_links(state, host);
    if (has(draft, RANDOM_TABLES) || has(draft, RANDOM_WINDOW)) { // a connector that knows tables
        tier->is_sync = false;
        if (one_in(state, 2)) { // windows of several chunks, of which some are gone
            engine->block_size = draw(state, 2, 3);
            tier->chunk_blocks = 1;
            draw_pool(draft, engine);
        }
        host->capacity_chunks *= one_in(state, 2) ? 1 : max64(engine->table_count, 1);
        const bool old = one_in(state, 2) && !engine->is_sparse;
        engine->free_order = old ? REF_FREE_OLD : REF_FREE_NEW;
    }
    if (engine->is_radix) {
        draw_tree_tier(draft, tier);
    } else if (has(draft, RANDOM_DISK)) {
        draw_disk(state, longest, tier);
    }
}

/* ---- duration of a step ---- */

static int64_t draw_ticks(const struct draft *draft, int64_t low_ns, int64_t high_ns)
{
    const int64_t ns = draw(draft->state, low_ns, high_ns) * REF_TICKS_PER_NS;
    return has(draft, RANDOM_FRACTION) ? ns + draw(draft->state, 1, REF_TICKS_PER_NS - 1) : ns;
}

static void draw_step(struct draft *draft)
{
    struct dice *state = draft->state;
    struct ref_affine *step = &draft->input->step;
    *step = (struct ref_affine){.a = 0};
    draft->typical_ns = 1000;
    if (!has(draft, RANDOM_AFFINE)) {
        step->a = one_in(state, 2) && !has(draft, RANDOM_FRACTION) ? 1000 * REF_TICKS_PER_NS
                                                                   : draw_ticks(draft, 1, 2000);
        draft->typical_ns = max64(step->a / REF_TICKS_PER_NS, 1);
        return;
    }
    step->a = draw_ticks(draft, 1, 1000);
    step->b = draw_ticks(draft, 0, 40);
    step->c = draw_ticks(draft, 0, 40);
    step->d = one_in(state, 2) ? 0 : draw_ticks(draft, 0, 4);
}

/* ---- requests ---- */

static int64_t draw_prompt_tokens(const struct draft *draft, int64_t class_index)
{
    struct dice *state = draft->state;
    const int64_t longest = draft->input->engine.max_model_len - 1;
    if (has(draft, RANDOM_REFUSALS) && one_in(state, 6)) {
        return one_in(state, 2) ? 0 : longest + draw(state, 1, 5);
    }
    if (has(draft, RANDOM_CLASSES)) {
        return draw(state, 1, max64(longest / (1 + 2 * class_index), 1));
    }
    return one_in(state, 5) ? draw(state, 1, longest) : draw(state, 1, max64(longest / 5, 1));
}

static void draw_output(const struct draft *draft, struct ref_request_in *request)
{
    struct dice *state = draft->state;
    const int64_t room = draft->input->engine.max_model_len;
    request->max_tokens = one_in(state, 5) ? draw(state, 1, 3) : draw(state, room / 4, room);
    request->output_tokens = request->max_tokens;
    if (has(draft, RANDOM_EOS) && !one_in(state, 3)) {
        request->output_tokens = draw(state, 1, request->max_tokens);
    } else if (one_in(state, 8)) {
        request->output_tokens += draw(state, 1, 5);
    }
}

/* A time that is often a whole number of steps, or beside it. */
static int64_t draw_time(const struct draft *draft, int64_t steps)
{
    struct dice *state = draft->state;
    if (one_in(state, 2)) {
        return draw(state, 0, steps) * draft->typical_ns + (one_in(state, 3) ? 1 : 0);
    }
    return draw(state, 0, steps * draft->typical_ns);
}

static void draw_limits(const struct draft *draft, struct ref_request_in *request)
{
    if (one_in(draft->state, 3)) {
        request->abort_ns = 1 + draw_time(draft, 30);
    }
    if (one_in(draft->state, 4)) {
        request->timeout_ns = 1 + draw_time(draft, 60);
    }
    if (one_in(draft->state, 4)) {
        request->first_token_timeout_ns = max64(draw_time(draft, 20), 1);
    }
}

/* Either a list of arrivals, not in order, or chains of requests, one per client: this is the `number`th of all clients. */
static void draw_arrival(const struct draft *draft, int64_t index, int64_t number, int64_t clients,
                         int64_t last_of_client[])
{
    struct dice *state = draft->state;
    struct ref_request_in *request = &draft->input->requests[index];
    if (!has(draft, RANDOM_CLOSED_LOOP)) {
        const bool is_spread = has(draft, RANDOM_RADIX) && has(draft, RANDOM_DISK);
        request->arrival_ns = one_in(state, 3) ? 0 : draw_time(draft, is_spread ? 400 : 25);
        return;
    }
    const int64_t client = number < clients ? number : draw(state, 0, clients - 1);
    request->after = number < clients ? -1 : last_of_client[client];
    last_of_client[client] = index;
    request->arrival_ns = one_in(state, 2) ? 0 : draw_time(draft, 4);
}

/* The beginning comes from a group, or from an earlier request and its answer; the rest is new. */
static void draw_content(const struct draft *draft, int64_t index)
{
    struct dice *state = draft->state;
    struct ref_request_in *request = &draft->input->requests[index];
    struct ref_range *ranges = ref_alloc(3, sizeof(*ranges));
    int64_t left = request->prompt_tokens;
    int64_t count = 0;
    if (index > 0 && one_in(state, 3)) {
        const int64_t earlier = ref_first_answer(draft->input, draw(state, 0, index - 1));
        const struct ref_request_in *before = &draft->input->requests[earlier];
        const int64_t old = before->range_count > 0 ? min64(before->ranges[0].count, left) : 0;
        if (old > 0) {
            ranges[count++] = (struct ref_range){.first = before->ranges[0].first, .count = old};
            left -= old;
        }
        const bool whole = before->range_count == 1 && old == before->prompt_tokens;
        const int64_t answer = whole ? min64(draw(state, 0, before->max_tokens), left) : 0;
        if (answer > 0) {
            ranges[count++] =
                (struct ref_range){.first = 1000000000 + 100000 * earlier, .count = answer};
            left -= answer;
        }
    } else if (!one_in(state, 3)) {
        const int64_t common = min64(draw(state, 0, draft->input->engine.max_model_len), left);
        if (common > 0) {
            ranges[count++] =
                (struct ref_range){.first = 1000 * draw(state, 1, 2), .count = common};
            left -= common;
        }
    }
    if (left > 0) {
        ranges[count++] = (struct ref_range){.first = 100000 + 1000 * index, .count = left};
    }
    request->ranges = ranges;
    request->range_count = count;
}

/* Another answer to the request before, of a length of its own. */
static void draw_sibling(const struct draft *draft, int64_t index)
{
    const struct ref_request_in *before = &draft->input->requests[index - 1];
    struct ref_request_in *request = &draft->input->requests[index];
    *request = *before;
    snprintf(request->id, sizeof(request->id), "r%02lld", (long long)index);
    request->is_sibling = true;
    request->after = -1;
    if (has(draft, RANDOM_EOS)) {
        request->output_tokens = draw(draft->state, 1, request->max_tokens + 1);
    }
    request->ranges = before->ranges != NULL ? ref_alloc(3, sizeof(*request->ranges)) : NULL;
    for (int64_t i = 0; i < request->range_count; i++) {
        request->ranges[i] = before->ranges[i];
    }
}

static void draw_requests(const struct draft *draft)
{
    struct dice *state = draft->state;
    struct ref_input *input = draft->input;
    const bool is_longest = has(draft, RANDOM_RADIX) && has(draft, RANDOM_DISK);
    const bool is_long =
        has(draft, RANDOM_EVICTION) || (has(draft, RANDOM_TIER) && has(draft, RANDOM_TABLES)) ||
        has(draft, RANDOM_RADIX) || has(draft, RANDOM_SEQUENCES) || has(draft, RANDOM_SLOTS);
    input->request_count = draw(state, is_longest ? 12 : 2, is_longest ? 36 : is_long ? 24 : 12);
    input->requests = ref_alloc((size_t)input->request_count, sizeof(*input->requests));
    const int64_t clients = min64(draw(state, 1, 5), input->request_count);
    int64_t last_of_client[5] = {0}, number = 0;
    for (int64_t i = 0; i < input->request_count; i++) {
        struct ref_request_in *request = &input->requests[i];
        if (i > 0 && has(draft, RANDOM_SEQUENCES) && one_in(state, 2)) {
            draw_sibling(draft, i);
            continue;
        }
        ref_request_defaults(request);
        snprintf(request->id, sizeof(request->id), "r%02lld", (long long)i);
        request->class_index = has(draft, RANDOM_CLASSES) ? draw(state, 0, 2) : 0;
        const bool ranked =
            has(draft, RANDOM_PRIORITY) || has(draft, RANDOM_EVICTION) || has(draft, RANDOM_RADIX);
        request->priority = ranked ? draw(state, 0, 2) : 0;
        request->prompt_tokens = draw_prompt_tokens(draft, request->class_index);
        draw_output(draft, request);
        draw_arrival(draft, i, number++, clients, last_of_client);
        if (has(draft, RANDOM_ABORTS)) {
            draw_limits(draft, request);
        }
        if (has(draft, RANDOM_CACHE) || has(draft, RANDOM_TIER)) {
            draw_content(draft, i);
        }
    }
}

void random_scenario_of(struct dice *dice, uint32_t features, struct ref_input *out)
{
    *out = (struct ref_input){.requests = NULL};
    struct draft draft = {.state = dice, .features = features, .input = out};
    draw_engine(&draft);
    if (has(&draft, RANDOM_ORCA)) {
        draw_orca(&draft);
    }
    if (has(&draft, RANDOM_SLOTS)) {
        draw_slots(&draft);
    }
    if (has(&draft, RANDOM_TIER)) {
        draw_tier(&draft);
    }
    draw_step(&draft);
    if (out->engine.tier.by_cost) {
        // Such that it is now and then the queue of a link that decides.
        out->step.b += draw(dice, 1, 2000) * REF_TICKS_PER_NS;
    }
    draw_requests(&draft);
}

void random_scenario(uint64_t seed, uint32_t features, struct ref_input *out)
{
    struct dice dice = dice_of_seed(seed);
    random_scenario_of(&dice, features, out);
}

uint32_t random_features_of(struct dice *dice, uint32_t allowed)
{
    uint32_t features = 0;
    for (uint32_t bit = 0; bit < RANDOM_FEATURES; bit++) {
        features |= one_in(dice, 3) ? 1u << bit : 0u;
    }
    return features & allowed;
}

uint32_t random_features(uint64_t seed, uint32_t allowed)
{
    struct dice dice = dice_of_seed(seed ^ 0xfea70235u);
    return random_features_of(&dice, allowed);
}
