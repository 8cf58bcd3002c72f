/*
 * beams.h - which beams of a search go on: drawn, since it depends on the model's own words.
 *
 * At each token as many of the beams' continuations are kept as there are beams. Which have how many is drawn from the
 * search's own stream: a beam goes on from itself, or with the chance `switches` from one drawn among all of them, itself
 * included. A beam that has several continuations goes on as itself and gives the others to beams that have none. The same
 * stream gives the same tree, whoever searches: the engine (vllm_v0_beam.c) or a loop outside it (serve/search.h).
 */
#ifndef KVSIM_SCHED_BEAMS_H
#define KVSIM_SCHED_BEAMS_H

#include <stdint.h>

struct sched_beam_draws {
    uint64_t key;    /* the search's stream */
    double switches; /* chance that a beam goes on from any of them, not from itself */
    uint32_t width;
};

/* Each beam has `tokens` tokens, from 2 on; the beam from which each goes on, those that gave up in rising order of whom they
 * follow. `parents` and `scratch` have room for `width`. */
void sched_beam_parents(const struct sched_beam_draws *draws, int64_t tokens, uint32_t *parents,
                        uint32_t *scratch);

#endif
