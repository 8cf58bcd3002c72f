#include "study/fit.h"

#include "kv/reserve.h"
#include "kv/space.h"

#include <math.h>

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A pool that is cells from the start has them cut; another one is cut by the run, as many slots as fit. */
static int64_t guaranteed_by_slots(const struct serve_config *config,
                                   const struct study_fit_pool *pool)
{
    const struct kv_cells *cells =
        config->cells.group_count > 0 ? &config->cells : &config->waterfall.cells;
    int64_t longest = config->sched.max_model_len;
    if (cells->group_count == 0)
        return lesser(pool->fitting, config->sched.max_num_seqs);
    if (cells->streams > 1)
        return cells->slots;
    return lesser(cells->slots, cells->stream_cells / lesser(longest, cells->slot_tokens));
}

/* Buddies are powers of two. */
static int64_t guaranteed_by_buddies(const struct study_fit_pool *pool)
{
    struct kv_space space;
    kv_space_init(&space, KV_BUDDY, pool->usable_blocks);
    int64_t blocks = pool->longest_blocks > 0
                         ? pool->usable_blocks / kv_space_units_for(&space, pool->longest_blocks)
                         : 0;
    kv_space_release(&space);
    return lesser(pool->fitting, blocks);
}

static int64_t guaranteed(const struct serve_config *config, const struct study_fit_pool *pool)
{
    if (kv_policy_has_slots(config->kv_policy))
        return guaranteed_by_slots(config, pool);
    if (kv_policy_reserves(config->kv_policy) && config->kv_placement == KV_BUDDY)
        return guaranteed_by_buddies(pool);
    return pool->fitting;
}

static const char *why_none(enum kv_policy policy)
{
    switch (policy) {
    case KV_RESERVED_POW2:
    case KV_RESERVED_EXACT:
        return "a request holds what it reserved for an answer of its own length, which the mean "
               "of what it has used so far does not tell";
    case KV_CONCAT_DOUBLING:
        return "a tensor is up to twice as long as its sequence";
    case KV_NO_CACHE:
        return "no request holds anything between steps";
    case KV_UNLIMITED:
        return "the pool is made for every seat at its longest, it limits nothing";
    default:
        return NULL;
    }
}

static double expected(const struct serve_config *config, const struct study_fit_pool *pool,
                       int64_t guaranteed)
{
    double fitting = (double)pool->usable_blocks / config->mean_held_blocks;
    switch (config->kv_policy) {
    case KV_RESERVED_MAX:
    case KV_SLOTS: // whoever is there has room for the longest
        return (double)guaranteed;
    case KV_CELLS: {
        const struct kv_cells *cells =
            config->cells.group_count > 0 ? &config->cells : &config->waterfall.cells;
        int64_t slots = cells->group_count > 0 ? cells->slots : config->sched.max_num_seqs;
        return fmin(fitting, (double)slots);
    }
    default:
        return fitting;
    }
}

void study_fit_make(const struct serve_config *config, const struct study_fit_pool *pool,
                    struct study_fit *out)
{
    *out = (struct study_fit){.guaranteed = guaranteed(config, pool), .expected = (double)NAN};
    if (config->mean_held_blocks <= 0)
        return;
    out->why_none = why_none(config->kv_policy);
    if (out->why_none == NULL)
        out->expected = expected(config, pool, out->guaranteed);
}
