/*
 * random_scenario.h - small random scenarios in which much happens: pools that barely hold one
 * longest request, short prompts with long answers, arrivals on the instants at which steps end.
 *
 * A scenario is a function of the seed, or of a fuzzer's bytes, and of the features alone, so a failure is reported by
 * these two. Features that are asked for are in the scenario; others are not.
 */
#ifndef KVSIM_TESTS_REFERENCE_RANDOM_SCENARIO_H
#define KVSIM_TESTS_REFERENCE_RANDOM_SCENARIO_H

#include <stdint.h>

#include "reference/ref.h"
#include "support/dice.h"

enum random_feature {
    RANDOM_ASYNC = 1u << 0,       /* two batches in flight */
    RANDOM_PRIORITY = 1u << 1,    /* policy priority, with many ties */
    RANDOM_THRESHOLD = 1u << 2,   /* long_prefill_token_threshold */
    RANDOM_WATERMARK = 1u << 3,   /* watermark above 0 */
    RANDOM_FIRST_CHUNK = 1u << 4, /* admission looks at the first chunk only */
    RANDOM_UNCHUNKED = 1u << 5,   /* chunked prefill off, misfits stop the turn */
    RANDOM_V010 = 1u << 6,        /* v0.10: first chunk, old free order; its other ways show
                                     only with RANDOM_UNCHUNKED or RANDOM_PRIORITY beside */
    RANDOM_ABORTS = 1u << 7,      /* aborts, total and first-token time limits */
    RANDOM_CLOSED_LOOP = 1u << 8, /* a few clients, think time often 0 */
    RANDOM_CLASSES = 1u << 9,     /* classes of different lengths */
    RANDOM_EOS = 1u << 10,        /* answers that end before max_tokens */
    RANDOM_AFFINE = 1u << 11,     /* a step's duration depends on its shape */
    RANDOM_FRACTION = 1u << 12,   /* durations that are no whole ns */
    RANDOM_CACHE = 1u << 13,      /* prefix caching, prompts with common beginnings */
    RANDOM_WINDOW = 1u << 14,     /* sliding window */
    RANDOM_REFUSALS = 1u << 15,   /* now and then a prompt that is empty or too long */
    RANDOM_FEATURES = 16,         /* how many there are, without the next */
    RANDOM_TIER = 1u << 18,       /* host memory behind the pool; comes with a prefix cache */
    RANDOM_DISK = 1u << 22,       /* beside RANDOM_TIER: a second one, below */
    RANDOM_ORCA =
        1u << 16, /* Orca or a static batch, any reservation and placement; no cache or windows */
    RANDOM_EVICTION = 1u << 17,   /* beside RANDOM_CACHE: any order of eviction but lru */
    RANDOM_COMPACTION = 1u << 19, /* beside RANDOM_ORCA: contiguous reservations that are moved */
    RANDOM_RADIX = 1u << 21,      /* beside RANDOM_CACHE: a radix tree, any order of eviction */
    RANDOM_SEQUENCES = 1u << 23,  /* requests for several answers */
    RANDOM_SPARSE =
        1u << 24, /* beside RANDOM_CACHE and windows: only some blocks of them are hashed */
    RANDOM_SLOTS = 1u << 25, /* llama.cpp: slots of their own or shared cells; passes, windows */
    RANDOM_STATES =
        1u << 26, /* beside RANDOM_CACHE and RANDOM_TABLES: tables of states that are cached */
    RANDOM_LENGTHS = 1u << 27, /* beside RANDOM_TABLES: blocks of several lengths */
    RANDOM_TABLES =
        1u << 20 /* several block tables: full, windows, chunks; without a cache also states and
                                windows that the engine ignores */
};

/* Without the features that need a prefix cache or windows. */
#define RANDOM_WITHOUT_CACHE ((1u << RANDOM_FEATURES) - 1u - RANDOM_CACHE - RANDOM_WINDOW)

/* Fills `out`; free with ref_input_free. `features` is a sum of enum random_feature. */
void random_scenario(uint64_t seed, uint32_t features, struct ref_input *out);
void random_scenario_of(struct dice *dice, uint32_t features, struct ref_input *out);

/* A random choice among the features in `allowed`, each taken with probability 1/3. */
uint32_t random_features(uint64_t seed, uint32_t allowed);
uint32_t random_features_of(struct dice *dice, uint32_t allowed);

#endif
