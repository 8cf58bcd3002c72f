#include "study/fit.h"

#include "base/count.h"

#include "kv/reserve.h"

#include <math.h>
#include <string.h>

static const char by_pool[] = "kv_pool", by_seats[] = "max_num_seqs", by_slots[] = "slots",
                  by_length[] = "max_model_len";

static int64_t usable_blocks(const struct serve_config *config)
{
    int64_t blocks = config->pool_blocks - config->reserved_blocks;
    return blocks > 0 ? blocks : 0;
}

/* ---- what one sequence takes ---- */

static bool sets_aside(enum kv_policy policy)
{
    return kv_policy_reserves(policy) || policy == KV_CONCAT_DOUBLING;
}

void study_fit_share(const struct serve_config *config, int64_t tokens, struct kv_hold_share *out)
{
    struct kv_paged pool;
    struct kv_space space;
    *out = (struct kv_hold_share){0};
    if (!sets_aside(config->kv_policy) || tokens == 0)
        return;
    serve_config_lengths(config, &space, &pool);
    out->tokens = kv_reserve_most_tokens(&pool, tokens);
    out->blocks = kv_reserve_blocks(&pool, out->tokens);
}

static int64_t sequence_blocks(const struct serve_config *config, int64_t tokens)
{
    struct kv_hold_share share;
    study_fit_share(config, tokens, &share);
    return share.blocks > 0 ? share.blocks
                            : kv_pages_asked_blocks(&config->waterfall.pages, tokens);
}

/* ---- slots ---- */

const struct kv_cells *study_fit_cells(const struct serve_config *config)
{
    const struct kv_cells *cells =
        config->cells.group_count > 0 ? &config->cells : &config->waterfall.cells;
    return kv_policy_has_slots(config->kv_policy) && cells->group_count > 0 ? cells : NULL;
}

static void fit_slots(const struct kv_cells *cells, int64_t tokens, struct study_fit *out)
{
    bool is_shared = cells->streams == 1 && cells->slots > 1;
    int64_t in_cells = tokens > cells->slot_tokens ? 0
                       : is_shared                 ? cells->stream_cells / tokens
                                                   : cells->slots;
    out->in_memory = in_cells;
    out->sequences = base_min(in_cells, cells->slots);
    out->limit = in_cells < cells->slots ? by_pool : by_slots;
}

/* ---- the pool ---- */

/* The last one admitted must leave the watermark; all of them are of one size, so contiguous ones have no holes between them. */
static int64_t fitting_blocks(const struct serve_config *config, int64_t blocks)
{
    int64_t usable = usable_blocks(config);
    if (blocks == 0 || usable - serve_watermark_blocks(config, 0) < blocks)
        return 0;
    int64_t fitting = (usable - serve_watermark_blocks(config, 1)) / blocks;
    return fitting > 1 ? fitting : 1;
}

/* Of sequences that have been admitted one after another: all but the last one hold what their windows see. */
static int64_t running_in_pool(const struct serve_config *config, int64_t tokens, int64_t admitted)
{
    int64_t asked = sequence_blocks(config, tokens);
    int64_t held = kv_hold_most_blocks(&config->waterfall.pages, tokens,
                                       config->sched.async_scheduling ? 2 : 1);
    int64_t left = usable_blocks(config) - serve_watermark_blocks(config, 1) - asked;
    if (sets_aside(config->kv_policy) || admitted == 0 || held == 0 || held >= asked || left < 0)
        return admitted;
    return base_max(admitted, 1 + left / held);
}

static void end_by(int64_t sequences, const char *limit, struct study_fit *out)
{
    if (sequences >= out->sequences)
        return;
    out->sequences = sequences;
    out->limit = limit;
}

static void as_many_run(struct study_fit *fit)
{
    fit->running = fit->sequences;
    fit->running_limit = fit->limit;
}

static void fit_pool(const struct serve_config *config, int64_t tokens, struct study_fit *out)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    out->sequences = fitting_blocks(config, sequence_blocks(config, tokens));
    out->limit = by_pool;
    if (waterfall->has_state_slots)
        end_by(waterfall->state_sequences, "state_pool", out);
    if (waterfall->kv_window_tokens > 0)
        end_by(kv_window_pool_sequences(waterfall, tokens), "window_pool", out);
    out->in_memory = out->sequences;
    as_many_run(out);
    if (out->limit == by_pool)
        out->running = running_in_pool(config, tokens, out->sequences);
    end_by(config->sched.max_num_seqs, by_seats, out);
    if (out->running >= config->sched.max_num_seqs) {
        out->running = config->sched.max_num_seqs;
        out->running_limit = out->limit == by_pool ? by_seats : out->limit;
    }
}

/* Seats alone do. */
static bool ends_nothing(const struct serve_config *config)
{
    return config->kv_policy == KV_NO_CACHE || config->kv_policy == KV_UNLIMITED;
}

void study_fit_of_length(const struct serve_config *config, int64_t tokens, struct study_fit *out)
{
    const struct kv_cells *cells = study_fit_cells(config);
    *out = (struct study_fit){
        .sequences = config->sched.max_num_seqs, .in_memory = -1, .limit = by_seats};
    if (config->sched.max_model_len > 0 && tokens > config->sched.max_model_len)
        *out = (struct study_fit){.limit = by_length};
    else if (tokens > 0 && cells != NULL && !ends_nothing(config))
        fit_slots(cells, tokens, out);
    else if (tokens > 0 && !ends_nothing(config)) {
        fit_pool(config, tokens, out);
        return;
    }
    as_many_run(out);
}

void study_fit_of_longest(const struct serve_config *config, struct study_fit *out)
{
    const struct kv_cells *cells = study_fit_cells(config);
    int64_t longest = config->sched.max_model_len;
    study_fit_of_length(config, cells != NULL ? base_min(longest, cells->slot_tokens) : longest,
                        out);
}

/* ---- the workload ---- */

static const char *why_none(const struct serve_config *config)
{
    if (config->workload.class_count == 0 && config->workload.process != WORKLOAD_TRACE)
        return "no workload is stated";
    if (config->held.blocks <= 0)
        return "no request of the workload fits max_model_len";
    return NULL;
}

static double in_pool(const struct serve_config *config, const char **limit)
{
    const struct kv_waterfall *waterfall = &config->waterfall;
    double fitting = (double)usable_blocks(config) / config->held.blocks;
    *limit = by_pool;
    int64_t mean_tokens = llround(ceil(config->held.blocks)) * waterfall->pages.block_tokens;
    if (waterfall->kv_window_tokens > 0 &&
        (double)kv_window_pool_sequences(waterfall, mean_tokens) < fitting) {
        *limit = "window_pool";
        fitting = (double)kv_window_pool_sequences(waterfall, mean_tokens);
    }
    double with_states = (double)waterfall->state_sequences / config->held.sequences;
    if (waterfall->has_state_slots && with_states < fitting) {
        *limit = "state_pool";
        fitting = with_states;
    }
    return fitting;
}

/* Whoever comes has room for the longest one. */
static double all_alike(const struct serve_config *config, const char **limit)
{
    struct study_fit fit;
    study_fit_of_longest(config, &fit);
    *limit = fit.limit;
    return (double)fit.sequences / config->held.sequences;
}

static double in_cells(const struct serve_config *config, const struct kv_cells *cells)
{
    bool is_shared = cells->streams == 1 && cells->slots > 1;
    return is_shared ? (double)cells->stream_cells / config->held.blocks
                     : (double)cells->slots / config->held.sequences;
}

void study_fit_of_workload(const struct serve_config *config, struct study_fit_expected *out)
{
    const struct kv_cells *cells = study_fit_cells(config);
    *out = (struct study_fit_expected){.requests = (double)NAN, .why_none = why_none(config)};
    if (out->why_none != NULL)
        return;
    double seats = (double)(cells != NULL ? cells->slots : config->sched.max_num_seqs) /
                   config->held.sequences;
    if (ends_nothing(config))
        out->requests = INFINITY;
    else if (config->kv_policy == KV_RESERVED_MAX)
        out->requests = all_alike(config, &out->limit);
    else if (cells != NULL)
        out->requests = in_cells(config, cells);
    else
        out->requests = in_pool(config, &out->limit);
    if (cells != NULL)
        out->limit = out->requests < seats ? by_pool : by_slots;
    else if (out->requests > seats)
        out->limit = by_seats;
    out->requests = fmin(out->requests, seats);
}

/* ---- in words ---- */

static const char *guaranteed_of_policy(enum kv_policy policy)
{
    switch (policy) {
    case KV_RESERVED_MAX:
    case KV_RESERVED_POW2:
    case KV_RESERVED_EXACT:
        return "pool / room reserved for one request of max_model_len";
    case KV_CONCAT:
    case KV_CONCAT_DOUBLING:
        return "pool / one tensor of max_model_len";
    case KV_NO_CACHE:
        return "seats: nothing is kept between steps";
    case KV_UNLIMITED:
        return "seats: the pool is made to hold all of them";
    case KV_SLOTS:
        return "slots: each has room for max_model_len";
    case KV_CELLS:
        return "cells / one request of max_model_len";
    case KV_PAGED:
    case KV_RADIX:
        break;
    }
    return "pool / one request of max_model_len";
}

/* Holes stay between contiguous reservations of different lengths, and only a run shows how large they are. */
static bool has_holes(const struct serve_config *config)
{
    return config->kv_placement != KV_ANY_BLOCKS && !config->kv_compaction &&
           (config->kv_policy == KV_RESERVED_POW2 || config->kv_policy == KV_RESERVED_EXACT);
}

static const char *expected_of_policy(const struct serve_config *config)
{
    switch (config->kv_policy) {
    case KV_RESERVED_POW2:
    case KV_RESERVED_EXACT:
        return has_holes(config)
                   ? "pool / mean reservation; holes between them leave room for fewer"
                   : "pool / mean blocks that a request reserves";
    case KV_CONCAT:
    case KV_CONCAT_DOUBLING:
        return config->held_by_end ? "pool / mean tensor that a request ends with"
                                   : "pool / mean tensor of a request";
    case KV_CELLS:
        return "cells / mean tokens that a request holds";
    case KV_RESERVED_MAX:
    case KV_NO_CACHE:
    case KV_UNLIMITED:
    case KV_SLOTS:
        return guaranteed_of_policy(config->kv_policy);
    case KV_PAGED:
    case KV_RADIX:
        break;
    }
    return config->held_by_end ? "pool / mean blocks that a request ends with"
                               : "pool / mean blocks that a request holds";
}

/* The pool of blocks is what the words speak of; another end is named. */
static const char *with_limit(const struct serve_config *config, const char *words,
                              const char *limit, struct base_arena *arena)
{
    bool is_told = limit == by_pool || ends_nothing(config) ||
                   (limit == by_slots && config->kv_policy == KV_SLOTS);
    return is_told ? words : base_arena_printf(arena, "%s, at most %s", words, limit);
}

const char *study_fit_guaranteed_means(const struct serve_config *config,
                                       const struct study_fit *fit, struct base_arena *arena)
{
    return with_limit(config, guaranteed_of_policy(config->kv_policy), fit->limit, arena);
}

const char *study_fit_running_means(const struct serve_config *config, const struct study_fit *fit,
                                    struct base_arena *arena)
{
    static const char words[] = "the last one as admission asks, the others without the blocks "
                                "that their windows have passed";
    return fit->running > fit->sequences ? with_limit(config, words, fit->running_limit, arena)
                                         : NULL;
}

const char *study_fit_expected_means(const struct serve_config *config,
                                     const struct study_fit_expected *fit, struct base_arena *arena)
{
    if (fit->why_none != NULL)
        return base_arena_printf(arena, "none: %s", fit->why_none);
    const char *words = with_limit(config, expected_of_policy(config), fit->limit, arena);
    return config->sched.static_batch
               ? base_arena_printf(arena, "%s, of a batch as it begins", words)
               : words;
}

static const struct serve_param *assumed_seats(const struct serve_config *config)
{
    for (size_t i = 0; i < config->param_count; i++) {
        const struct serve_param *param = &config->params[i];
        if (strcmp(param->key, "engine.max_num_seqs") == 0)
            return strcmp(param->origin, "profile") == 0 && strcmp(param->claim, "assumed") == 0
                       ? param
                       : NULL;
    }
    return NULL;
}

const char *study_fit_assumed_seats(const struct serve_config *config, struct base_arena *arena)
{
    const struct serve_param *seats = assumed_seats(config);
    const struct kv_runtime *runtime = &config->waterfall.runtime;
    struct study_fit fit;
    struct study_fit_expected expected;
    study_fit_of_longest(config, &fit);
    study_fit_of_workload(config, &expected);
    bool ends = fit.limit == by_seats || expected.limit == by_seats;
    bool makes_logits = runtime->logit_count > 0 && runtime->sampler_bytes > runtime->layer_bytes;
    if (seats == NULL || (!ends && !makes_logits))
        return NULL;
    return base_arena_printf(arena, "max_num_seqs %s %s, and is assumed%s%s", seats->value,
                             ends ? "ends how many requests fit"
                                  : "is how many logits the activation peak counts",
                             seats->source[0] != '\0' ? ": " : "", seats->source);
}
