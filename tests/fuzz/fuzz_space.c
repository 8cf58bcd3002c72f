/*
 * Address spaces: the first byte picks the placement, the second the size; then two bytes an operation: who, and how much; with
 * the highest bit of the first what it holds slides down instead.
 * Every step is held against a map of all units.
 */
#include "support/space_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum kv_placement placements[] = {KV_FIRST_FIT, KV_BEST_FIT, KV_BUDDY};
    enum { STEPS_MAX = 2000 };
    if (size < 2)
        return 0;
    struct space_map map;
    space_map_init(&map, placements[data[0] % 3], data[1] % (SPACE_MAP_UNITS + 1));
    for (size_t i = 2; i + 1 < size && i < 2 * STEPS_MAX; i += 2)
        if (data[i] >= 128)
            space_map_slide(&map, data[i] % SPACE_MAP_HOLDERS);
        else
            space_map_step(&map, data[i] % SPACE_MAP_HOLDERS, 1 + data[i + 1] % SPACE_MAP_UNITS);
    space_map_release(&map);
    return 0;
}
