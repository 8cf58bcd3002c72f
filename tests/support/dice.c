#include "support/dice.h"

struct dice dice_of_seed(uint64_t seed)
{
    return (struct dice){.state = seed};
}

struct dice dice_of_bytes(const uint8_t *bytes, size_t count)
{
    return (struct dice){.bytes = bytes, .left = count};
}

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t next(struct dice *dice)
{
    uint64_t x = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

// As many bytes as a number below `count` has, the lowest first.
static uint64_t read(struct dice *dice, uint64_t count)
{
    uint64_t value = 0;
    int bits = 0;
    do {
        value |= (uint64_t)*dice->bytes++ << bits;
        dice->left--;
        bits += 8;
    } while (bits < 64 && (count - 1) >> bits != 0 && dice->left > 0);
    return value;
}

int64_t dice_between(struct dice *dice, int64_t low, int64_t high)
{
    uint64_t count = (uint64_t)(high - low) + 1;
    return low + (int64_t)((dice->left > 0 ? read(dice, count) : next(dice)) % count);
}

bool dice_one_in(struct dice *dice, int64_t n)
{
    return dice_between(dice, 1, n) == 1;
}
