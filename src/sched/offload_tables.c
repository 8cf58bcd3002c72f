/*
 * offload_tables.c - chunks of several block tables: what a sequence finds of windows and states in the tiers, and needs.
 *
 * As vLLM's offloading connector does it (offloading/scheduler.py of mid-2026, docs/sources.md). A chunk belongs to one table
 * and is known by its content and that. Tables are asked one after the other, full ones first, then windows, the widest
 * first: a full one finds its leading chunks, a window the last run of as many as it is wide, a state its last one. Each
 * may find less than those before it, until all agree. A sequence that sees windows computes its last token anew, whatever is
 * found. Loaded is what it will see: all of a full table, a window's last blocks, one state.
 */
#include "sched/offload_int.h"

#include "base/count.h"
#include "base/error.h"

// Chunks in a row that a window needs, and a state.
static int64_t chunks_to_start(const struct sched *sched, const struct kv_window *window)
{
    return window->kind == SPEC_KV_STATE ? 1
                                         : base_div_up(window->tokens, sched->offload.chunk_tokens);
}

static bool asks_later(const struct sched *sched, const struct kv_window *window,
                       const struct kv_window *than)
{
    return than == NULL ||
           (window != NULL && chunks_to_start(sched, than) >= chunks_to_start(sched, window));
}

void sched_offload_init_tables(struct sched *sched)
{
    struct sched_offload *offload = &sched->offload;
    const struct kv_prefix *prefix = sched->pool->prefix;
    offload->has_tables = prefix->table_count > 1 || prefix->kinds[0].window != NULL;
    base_require(!offload->has_tables || !sched->options->tier.is_sync);
    for (size_t k = 0; k < prefix->kind_count; k++) {
        size_t at = k;
        for (; at > 0 && !asks_later(sched, prefix->kinds[k].window,
                                     prefix->kinds[offload->kind_order[at - 1]].window);
             at--) {
            offload->kind_order[at] = offload->kind_order[at - 1];
        }
        offload->kind_order[at] = k;
    }
}

/* ---- one table ---- */

/* Which chunks count as found. */
enum reach {
    REACH_ALL,      /* in either tier; what is not ready puts the sequence off */
    REACH_UPPER,    /* the same of the first tier alone */
    REACH_PREFETCH, /* anything in the first tier, what is ready below */
};

enum found { MISSING, FOUND, NOT_YET };

/* A table's chunks [first, end). */
struct span {
    const struct kv_path *path;
    uint32_t table;
    int64_t first, end;
};

static bool asks_below(const struct sched *sched, enum reach reach)
{
    bool waits = sched->options->tier.prefetch == SCHED_PREFETCH_NONE;
    return reach == REACH_PREFETCH || (reach == REACH_ALL && waits && sched->offload.lower.exists);
}

static enum found found_above(const struct sched *sched, const struct kv_strand *strand,
                              enum reach reach)
{
    bool waits = sched->options->tier.prefetch == SCHED_PREFETCH_NONE;
    return strand->is_ready || reach == REACH_PREFETCH ? FOUND : waits ? NOT_YET : MISSING;
}

static enum found found_below(const struct kv_strand *strand, enum reach reach)
{
    if (strand == NULL) {
        return MISSING;
    }
    return strand->is_ready ? FOUND : reach == REACH_PREFETCH ? MISSING : NOT_YET;
}

// How many leading ones are found.
static int64_t find_leading(const struct sched *sched, const struct span *span, enum reach reach,
                            bool *not_yet)
{
    const struct sched_offload *offload = &sched->offload;
    int64_t at = span->first;
    while (at < span->end) {
        struct kv_alike alike =
            kv_tier_look(&offload->tier.chunks, span->path, span->table, at, span->end);
        enum found found = MISSING;
        if (alike.strand != NULL) {
            found = found_above(sched, alike.strand, reach);
        } else if (asks_below(sched, reach)) {
            alike =
                kv_tier_look(&offload->lower.tier.chunks, span->path, span->table, at, alike.hi);
            found = found_below(alike.strand, reach);
        }
        if (found == MISSING) {
            break;
        }
        *not_yet = *not_yet || found == NOT_YET;
        at = alike.hi;
    }
    return at - span->first;
}

// Up to where, counted from the first one, the last run of `needed` goes; a shorter one counts at the beginning: what lies
// before it is in the pool.
static int64_t find_last_run(const struct sched *sched, const struct span *span, int64_t needed,
                             enum reach reach, bool *not_yet)
{
    const struct sched_offload *offload = &sched->offload;
    int64_t run = 0, at = span->end;
    while (at > span->first && run < needed) {
        struct kv_alike alike =
            kv_tier_look_back(&offload->tier.chunks, span->path, span->table, at, span->first);
        enum found found = MISSING;
        if (alike.strand != NULL) {
            found = found_above(sched, alike.strand, reach);
        } else if (asks_below(sched, reach)) {
            alike = kv_tier_look_back(&offload->lower.tier.chunks, span->path, span->table, at,
                                      alike.lo);
            found = found_below(alike.strand, reach);
        }
        *not_yet = *not_yet || found == NOT_YET;
        int64_t here = found == MISSING ? at - alike.lo : base_min(at - alike.lo, needed - run);
        run = found == MISSING ? 0 : run + here;
        at -= here;
    }
    return run > 0 ? at - span->first + run : 0;
}

/* ---- all tables ---- */

/* A look at what a sequence can go on behind. */
struct look {
    struct kv_path path;
    int64_t hit_tokens, chunks;
    enum reach reach;
    int64_t end_tokens; /* found up to there; hit_tokens: nothing */
    bool not_yet;       /* some of that is on its way */
};

/* One round over the tables. */
struct round {
    bool windows_only, windows_asked;
    bool again, again_all;
    int64_t found_tokens; /* by the table before */
};

// False: nothing is found.
static bool ask_table(const struct sched *sched, const struct kv_prefix_kind *kind, uint32_t table,
                      struct look *look, struct round *round)
{
    int64_t size = sched->offload.chunk_tokens;
    look->end_tokens = base_min(look->end_tokens, look->chunks * size);
    if (look->end_tokens - look->hit_tokens < size) {
        return false;
    }
    struct span span = {&look->path, table, look->hit_tokens / size,
                        base_min(base_div_up(look->end_tokens, size), look->chunks)};
    bool not_yet = false;
    int64_t found = kind->window == NULL
                        ? find_leading(sched, &span, look->reach, &not_yet)
                        : find_last_run(sched, &span, chunks_to_start(sched, kind->window),
                                        look->reach, &not_yet);
    if (not_yet) {
        look->not_yet = true;
    } else {
        look->end_tokens = base_min(look->end_tokens, (span.first + found) * size);
    }
    int64_t tokens = look->end_tokens - look->hit_tokens;
    if (tokens < size) {
        return false;
    }
    if (tokens < round->found_tokens && look->not_yet) {
        look->not_yet = false; // what has to be waited for may lie behind what is left
        round->again_all = true;
    } else if (tokens < round->found_tokens && round->windows_asked) {
        round->again = true;
    }
    round->windows_asked = round->windows_asked || kind->window != NULL;
    round->found_tokens = tokens;
    return true;
}

static bool ask_all(const struct sched *sched, struct look *look, struct round *round)
{
    const struct kv_prefix *prefix = sched->pool->prefix;
    for (size_t i = 0; i < prefix->kind_count; i++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[sched->offload.kind_order[i]];
        bool is_asked = kind->window != NULL || !round->windows_only;
        for (uint32_t t = 0; is_asked && t < kind->count; t++) {
            if (!ask_table(sched, kind, kind->first + t, look, round)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_read(const struct kv_tier *tier, const struct span *span)
{
    for (int64_t at = span->first; at < span->end;) {
        struct kv_alike alike = kv_tier_look(tier, span->path, span->table, at, span->end);
        if (alike.strand != NULL && alike.strand->readers > 0) {
            return true;
        }
        at = alike.hi;
    }
    return false;
}

// Some of what will be loaded is being loaded for somebody else.
static bool is_being_read(const struct sched *sched, const struct look *look)
{
    const struct kv_prefix *prefix = sched->pool->prefix;
    int64_t size = sched->offload.chunk_tokens, end = base_div_up(look->end_tokens, size);
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        struct span span = {&look->path, kind->first, look->hit_tokens / size, end};
        if (kind->window != NULL) {
            span.first = base_max(span.first, end - chunks_to_start(sched, kind->window));
        }
        for (; span.table < kind->first + kind->count; span.table++) {
            if (is_read(&sched->offload.tier.chunks, &span)) {
                return true;
            }
        }
    }
    return false;
}

static struct look look_behind(const struct sched *sched, struct sched_seq *seq, int64_t hit_tokens,
                               enum reach reach)
{
    const struct kv_prefix *prefix = sched->pool->prefix;
    bool sees_windows = prefix->kinds[prefix->kind_count - 1].window != NULL;
    int64_t size = sched->offload.chunk_tokens, known = sched_seq_known_tokens(seq);
    struct look look = {.path = sched_offload_path(sched, seq, known / size),
                        .hit_tokens = hit_tokens,
                        .chunks = known / size,
                        .reach = reach,
                        .end_tokens = sees_windows ? known - 1 : known};
    if (sched->pool->tables.caches_states) {
        look.end_tokens = look.end_tokens / size * size;
    }
    struct round round = {.again_all = true};
    while (round.again || round.again_all) {
        round =
            (struct round){.windows_only = !round.again_all, .found_tokens = round.found_tokens};
        if (!ask_all(sched, &look, &round)) {
            look.end_tokens = hit_tokens;
            look.not_yet = false;
            return look;
        }
    }
    if (reach != REACH_PREFETCH && sched->options->tier.prefetch == SCHED_PREFETCH_NONE) {
        look.not_yet = look.not_yet || is_being_read(sched, &look);
    }
    return look;
}

/* ---- what has to come ---- */

struct need {
    int64_t blocks;
    int64_t below_chunks;     /* only the tier below has them */
    int64_t below_of_a_table; /* of the one of which most are there */
};

// Chunks of a table from `first` on, as far as anybody knows them; returns how many of them the first tier has.
static int64_t want(struct sched_offload *offload, const struct kv_path *path, uint32_t table,
                    int64_t first)
{
    if (first >= path->end) {
        return 0;
    }
    struct kv_piece piece = kv_path_piece(path, table, first, path->end);
    base_vec_push(&offload->wanted, piece);
    return kv_tier_count_held(&offload->tier.chunks, &piece);
}

// The chunks of all tables, to `wanted`, from which a sequence with hits takes what it needs to go on behind `to` tokens.
static struct need list_wanted(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens,
                               int64_t to)
{
    struct sched_offload *offload = &sched->offload;
    const struct kv_prefix *prefix = sched->pool->prefix;
    int64_t size = sched->pool->block_tokens, end = base_div_up(to, size);
    int64_t chunk_end = base_div_up(to, offload->chunk_tokens);
    struct kv_path path = sched_offload_path(sched, seq, chunk_end);
    struct need need = {0};
    offload->wanted.count = 0;
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        int64_t first = hit_tokens / size;
        if (kind->window != NULL) {
            first = base_max(first, kv_window_passed_blocks(kind->window, to));
        }
        need.blocks += (end - first) * kind->count;
        for (uint32_t t = 0; t < kind->count && first < end; t++) {
            int64_t chunk = first * size / offload->chunk_tokens;
            int64_t below = chunk_end - chunk - want(offload, &path, kind->first + t, chunk);
            need.below_chunks += below;
            need.below_of_a_table = base_max(need.below_of_a_table, below);
        }
    }
    return need;
}

void sched_offload_pin_tables(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens,
                              int64_t to, struct sched_transfer *load)
{
    struct sched_offload *offload = &sched->offload;
    load->blocks = list_wanted(sched, seq, hit_tokens, to).blocks;
    for (size_t i = 0; i < offload->wanted.count; i++) {
        kv_tier_pin(&offload->tier.chunks, &offload->wanted.at[i]);
        kv_pieces_keep(&load->chunks, &offload->wanted.at[i]);
    }
}

/* ---- asking ---- */

void sched_offload_touch_tables(struct sched *sched, struct kv_tier *tier,
                                const struct sched_seq *seq, const struct kv_path *path,
                                int64_t count)
{
    const struct kv_prefix *prefix = sched->pool->prefix;
    for (size_t k = 0; k < prefix->kind_count; k++) {
        const struct kv_prefix_kind *kind = &prefix->kinds[k];
        int64_t first =
            kind->window != NULL
                ? base_max(seq->offload.hit_chunks - chunks_to_start(sched, kind->window), 0)
                : 0;
        for (uint32_t t = 0; t < kind->count; t++) {
            kv_tier_touch(tier, path, kind->first + t, first, count);
        }
    }
}

static void touch_tiers(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens)
{
    struct sched_offload *offload = &sched->offload;
    int64_t count = sched_seq_known_tokens(seq) / offload->chunk_tokens;
    struct kv_path path = sched_offload_path(sched, seq, count);
    seq->offload.hit_chunks = hit_tokens / offload->chunk_tokens;
    sched_offload_touch_tables(sched, &offload->tier.chunks, seq, &path, count);
    if (offload->lower.exists) {
        sched_offload_touch_tables(sched, &offload->lower.tier.chunks, seq, &path, count);
    }
}

// Each look counts all chunks behind the hits, of all tables.
static void count_asked(struct sched *sched, const struct sched_seq *seq, int64_t first,
                        int64_t count)
{
    struct sched_offload *offload = &sched->offload;
    struct kv_path path = kv_stock_make(&offload->stock, &seq->cache.content, count);
    kv_stock_hold(path.last);
    for (uint32_t t = 0; t < sched->pool->prefix->table_count; t++) {
        kv_tier_count_asked(&offload->tier.chunks, &path, t, first, count);
    }
    kv_stock_unhold(&offload->stock, path.last);
}

// All that is found, what the first tier has of it, or nothing: whichever saves most time.
static struct look worth_loading(struct sched *sched, struct sched_seq *seq, struct look all)
{
    struct look upper = look_behind(sched, seq, all.hit_tokens, REACH_UPPER);
    struct look none = {.hit_tokens = all.hit_tokens, .end_tokens = all.hit_tokens};
    struct need need = list_wanted(sched, seq, all.hit_tokens, upper.end_tokens);
    base_i128 best =
        sched_offload_gain(sched, seq, all.hit_tokens, upper.end_tokens, need.blocks, 0);
    struct look chosen = best > 0 ? upper : none;
    need = list_wanted(sched, seq, all.hit_tokens, all.end_tokens);
    if (need.below_chunks > 0 &&
        sched_offload_gain(sched, seq, all.hit_tokens, all.end_tokens, need.blocks,
                           need.below_chunks) > (best > 0 ? best : 0)) {
        chosen = all;
    }
    return chosen;
}

// What is to be loaded of what lies in the first tier; -1: ask again, something is on its way or sent for.
static int64_t take_found(struct sched *sched, struct sched_seq *seq, struct look look)
{
    struct sched_offload *offload = &sched->offload;
    if (look.not_yet) {
        return -1;
    }
    struct need need = list_wanted(sched, seq, look.hit_tokens, look.end_tokens);
    if (need.below_chunks == 0) {
        return look.end_tokens - look.hit_tokens;
    }
    base_i128 done;
    if (sched_offload_read_up(offload, &offload->wanted, &done)) {
        seq->offload.below_tokens += need.below_of_a_table * offload->chunk_tokens;
        return -1;
    }
    struct look upper = look_behind(sched, seq, look.hit_tokens, REACH_UPPER);
    return upper.not_yet ? -1 : upper.end_tokens - upper.hit_tokens;
}

int64_t sched_offload_ask_tables(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens)
{
    struct sched_offload *offload = &sched->offload;
    const struct sched_tier_options *options = &sched->options->tier;
    struct sched_seq_offload *own = &seq->offload;
    int64_t size = offload->chunk_tokens, count = sched_seq_known_tokens(seq) / size;
    own->declined_tokens = 0;
    if (options->store == SCHED_STORE_LOOKUPS && count * size - hit_tokens >= size) {
        count_asked(sched, seq, hit_tokens / size, count);
    }
    if (own->prefetch_until_ticks > offload->now) {
        touch_tiers(sched, seq, hit_tokens);
        return -1;
    }
    struct look look = look_behind(sched, seq, hit_tokens, REACH_ALL);
    if (options->by_cost && look.end_tokens > hit_tokens) {
        int64_t found = look.end_tokens;
        look = worth_loading(sched, seq, look);
        own->declined_tokens = found - look.end_tokens;
    }
    touch_tiers(sched, seq, look.not_yet ? hit_tokens : look.end_tokens);
    return take_found(sched, seq, look);
}

/* ---- prefetch ---- */

void sched_offload_prefetch_tables(struct sched *sched, struct sched_seq *seq, int64_t hit_tokens)
{
    struct sched_offload *offload = &sched->offload;
    struct look look = look_behind(sched, seq, hit_tokens, REACH_PREFETCH);
    struct need need = list_wanted(sched, seq, hit_tokens, look.end_tokens);
    int64_t tokens = need.below_of_a_table * offload->chunk_tokens;
    base_i128 done = 0;
    if (look.end_tokens == hit_tokens || tokens == 0 ||
        tokens < sched->options->tier.prefetch_threshold_tokens ||
        !sched_offload_read_up(offload, &offload->wanted, &done)) {
        return;
    }
    seq->offload.below_tokens = tokens;
    sched_offload_set_patience(sched, seq, done);
}

/* ---- stores ---- */

void sched_offload_list_held(struct sched *sched, const struct sched_seq *seq,
                             const struct kv_path *path, int64_t first, int64_t full)
{
    struct sched_offload *offload = &sched->offload;
    int64_t blocks = sched->options->tier.chunk_blocks;
    offload->wanted.count = 0;
    for (uint32_t t = 0; t < sched->pool->prefix->table_count; t++) {
        for (int64_t at = first, end; at < full; at = end) {
            bool is_held; // its last block
            int64_t until = kv_prefix_holds_until(&seq->cache, t, (at + 1) * blocks - 1, &is_held);
            end = base_min(full, base_max(until / blocks, at + 1));
            if (is_held) {
                base_vec_push(&offload->wanted, kv_path_piece(path, t, at, end));
            }
        }
    }
}

/* ---- those set aside ---- */

void sched_offload_count_aside(struct sched *sched, const struct sched_seq *seq, int64_t sign)
{
    struct sched_offload *offload = &sched->offload;
    const struct kv_tables *tables = &sched->pool->tables;
    const struct sched_seq_offload *own = &seq->offload;
    int64_t size = sched->pool->block_tokens, held = seq->computed;
    int64_t start = own->is_loading ? own->load_to : held;
    for (size_t w = 0; w < tables->window_count; w++) {
        const struct kv_window *window = &tables->windows[w];
        int64_t unseen = start - kv_window_visible_tokens(window, start, 0);
        int64_t passed = kv_window_passed_blocks(window, start);
        offload->aside_windows[w].visible_tokens += sign * base_max(held - unseen, 0);
        if (window->table_count > 0) {
            offload->aside_windows[w].dropped_blocks +=
                sign * base_min(passed, base_div_up(held, size));
        }
    }
    offload->aside_states += tables->caches_states && !own->is_loading ? sign : 0;
}
