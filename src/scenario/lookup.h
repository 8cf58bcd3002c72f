/*
 * lookup.h - what the places of data files hold, by the head of each file. Private to the room.
 */
#ifndef KVSIM_SCENARIO_LOOKUP_H
#define KVSIM_SCENARIO_LOOKUP_H

#include "scenario/scenario_int.h"

struct scenario_embedded;

struct scenario_known {
    const char *path, *base; /* base: file name without .yaml */
    const char *name, *family, *release, *summary;
    bool is_scenario;                         /* it names a model or a workload */
    const struct conf_node *aliases;          /* a list, or NULL */
    const struct scenario_embedded *embedded; /* NULL: a file */
};

struct scenario_known_list {
    struct scenario_known *at;
    size_t count, capacity;
};

enum { SCENARIO_PLACES_MAX = 6 };

/* Folders in the order of search, NULL for the binary; `beside` may be "". */
size_t scenario_places(struct base_arena *arena, enum scenario_data kind, const char *beside,
                       const char *places[SCENARIO_PLACES_MAX]);
/* Appends what one place holds, by file name. The caller frees the list. */
void scenario_list_place(struct base_arena *arena, enum scenario_data kind, const char *place,
                         struct scenario_known_list *out);
/* The same but for case. */
bool scenario_name_equal(const char *a, const char *b);

#endif
