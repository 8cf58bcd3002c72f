/*
 * space_map.h - random operations on an address space beside a map of its units, one byte each: who holds which unit, and
 * whether something fits, found by looking. For the property test and the fuzz target.
 */
#ifndef KVSIM_TESTS_SUPPORT_SPACE_MAP_H
#define KVSIM_TESTS_SUPPORT_SPACE_MAP_H

#include "kv/space.h"

enum { SPACE_MAP_UNITS = 200, SPACE_MAP_HOLDERS = 64 };

struct space_map {
    struct kv_space space;
    unsigned char held_by[SPACE_MAP_UNITS];                  /* 0 = free, else holder + 1 */
    int64_t at[SPACE_MAP_HOLDERS], units[SPACE_MAP_HOLDERS]; /* units 0 = holds nothing */
};

/* units <= SPACE_MAP_UNITS. */
void space_map_init(struct space_map *map, enum kv_placement placement, int64_t units);
void space_map_release(struct space_map *map);
/* The holder gives back what it holds, or takes `units`. Ends the process when the space did anything but what its placement
 * promises. */
void space_map_step(struct space_map *map, size_t holder, int64_t units);
/* First and best fit: what the holder has slides down to the end of what lies before it. */
void space_map_slide(struct space_map *map, size_t holder);

#endif
