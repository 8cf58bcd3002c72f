#include "cost/moe.h"

#include <math.h>

/* Expected largest of 2^i independent standard normal values, by numerical integration of its density. */
static const double largest_of[] = {0,      0.5642, 1.0294, 1.4236, 1.7660, 2.0697,
                                    2.3437, 2.5946, 2.8269, 3.0439, 3.2482};

static double largest_normal(double count)
{
    const size_t last = sizeof largest_of / sizeof largest_of[0] - 1;
    double at = log2(count);
    size_t low = at < (double)last ? (size_t)at : last - 1;
    return largest_of[low] + (at - (double)low) * (largest_of[low + 1] - largest_of[low]);
}

/* q_e by falling popularity; the most popular experts may be chosen by every token. */
static void fill_choices(double *choices, size_t count, double chosen, double skew)
{
    size_t sure = 0;
    double scale = 0;
    for (bool done = false; !done;) {
        double rest = 0;
        for (size_t i = sure; i < count; i++)
            rest += pow((double)(i + 1), -skew);
        scale = (chosen - (double)sure) / rest;
        done = scale * pow((double)(sure + 1), -skew) < 1;
        sure += done ? 0 : 1;
    }
    for (size_t i = 0; i < count; i++)
        choices[i] = i < sure ? 1 : scale * pow((double)(i + 1), -skew);
}

static void make_skewed(struct cost_moe *moe, double skew, struct base_arena *arena)
{
    size_t count = (size_t)moe->experts;
    double mean = moe->chosen / moe->experts, squares = 0;
    moe->log_misses = base_arena_array(arena, count, sizeof *moe->log_misses);
    moe->skewed_count = count;
    fill_choices(moe->log_misses, count, moe->chosen, skew);
    for (size_t i = 0; i < count; i++) {
        squares += (moe->log_misses[i] - mean) * (moe->log_misses[i] - mean);
        moe->log_misses[i] = log1p(-moe->log_misses[i]);
    }
    // Experts of a rank are drawn without putting back.
    double here = moe->experts / moe->ranks;
    moe->share_variance =
        here * (squares / moe->experts) * (moe->experts - here) / (moe->experts - 1);
}

void cost_moe_init(struct cost_moe *moe, double experts, double chosen, double ranks, double skew,
                   struct base_arena *arena)
{
    *moe = (struct cost_moe){.experts = experts, .chosen = chosen, .ranks = ranks};
    if (chosen >= experts)
        return;
    moe->largest = largest_normal(ranks);
    moe->row_variance = chosen / ranks * (1 - 1 / ranks) * (experts - chosen) / (experts - 1);
    if (skew > 0)
        make_skewed(moe, skew, arena);
}

static double touched_of(const struct cost_moe *moe, double tokens)
{
    if (moe->chosen >= moe->experts)
        return moe->experts;
    if (moe->skewed_count == 0)
        return -moe->experts * expm1(tokens * log1p(-moe->chosen / moe->experts));
    double touched = 0;
    for (size_t i = 0; i < moe->skewed_count; i++)
        touched -= expm1(tokens * moe->log_misses[i]);
    return touched;
}

struct cost_moe_load cost_moe_busiest(const struct cost_moe *moe, double tokens)
{
    double here = moe->experts / moe->ranks, touched = touched_of(moe, tokens);
    double rows = tokens * moe->chosen / moe->ranks;
    if (moe->ranks > 1 && moe->chosen < moe->experts) {
        double share = touched / moe->experts;
        rows +=
            moe->largest * sqrt(tokens * moe->row_variance + tokens * tokens * moe->share_variance);
        touched = here * share + moe->largest * sqrt(here * share * (1 - share));
    }
    return (struct cost_moe_load){.rows = fmin(rows, tokens * fmin(moe->chosen, here)),
                                  .touched = fmin(touched, here)};
}

/* (R - 1) (1 - C(E - E/R, k) / C(E, k)), the last ratio as a product. */
double cost_moe_targets(const struct cost_moe *moe)
{
    double here = moe->experts / moe->ranks, missed = 1;
    for (double i = 0; i < moe->chosen; i++)
        missed *= fmax(0, moe->experts - here - i) / (moe->experts - i);
    return (moe->ranks - 1) * (1 - missed);
}
