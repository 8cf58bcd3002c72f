#include "sched/beams.h"

#include "rng/rng.h"

static uint32_t drawn_parent(const struct sched_beam_draws *draws, int64_t tokens, uint32_t beam)
{
    double u = rng_uniform(draws->key, (uint64_t)tokens * draws->width + beam);
    if (u >= draws->switches) {
        return beam;
    }
    double parent = u / draws->switches * (double)draws->width;
    return parent < (double)draws->width ? (uint32_t)parent : draws->width - 1;
}

// How many continuations each beam has, in the order of the beams.
static void draw_children(const struct sched_beam_draws *draws, int64_t tokens, uint32_t *children)
{
    for (uint32_t beam = 0; beam < draws->width; beam++) {
        children[beam] = 0;
    }
    for (uint32_t beam = 0; beam < draws->width; beam++) {
        children[drawn_parent(draws, tokens, beam)]++;
    }
}

void sched_beam_parents(const struct sched_beam_draws *draws, int64_t tokens, uint32_t *parents,
                        uint32_t *scratch)
{
    uint32_t *children = scratch, next = 0; // the first one that has some to give
    draw_children(draws, tokens, children);
    for (uint32_t beam = 0; beam < draws->width; beam++) {
        parents[beam] = beam;
        if (children[beam] > 0) {
            continue;
        }
        while (children[next] <= 1) {
            next++;
        }
        children[next]--;
        parents[beam] = next;
    }
}
