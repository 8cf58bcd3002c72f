#include "rng/rng.h"

uint64_t rng_key(uint64_t seed, uint32_t replication, enum rng_purpose purpose, uint64_t entity)
{
    uint64_t key = base_mix2(seed, replication);

    key = base_mix2(key, (uint64_t)purpose);
    return base_mix2(key, entity);
}
