/*
 * dice.h - where random tests take their choices from: a seed, or the bytes of a fuzzer until they are used up.
 *
 * The sequence is a function of the seed, or of the bytes, alone: integers only, apart from the simulator's own streams.
 */
#ifndef KVSIM_TESTS_SUPPORT_DICE_H
#define KVSIM_TESTS_SUPPORT_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
    const uint8_t *bytes; /* the caller's */
    size_t left;
};

struct dice dice_of_seed(uint64_t seed);
/* A choice takes one byte, or as many as its range needs, so that a changed byte changes one choice. */
struct dice dice_of_bytes(const uint8_t *bytes, size_t count);

/* low..high, both included; low <= high. */
int64_t dice_between(struct dice *dice, int64_t low, int64_t high);
/* True with probability 1/n. */
bool dice_one_in(struct dice *dice, int64_t n);

#endif
