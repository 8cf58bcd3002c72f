#include "record/validation.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

const char *record_validation_kind_name(enum record_validation_kind kind)
{
    static const char *const names[RECORD_VALIDATION_KIND_COUNT] = {"all", "device", "phase",
                                                                    "fitted"};
    base_require((unsigned)kind < RECORD_VALIDATION_KIND_COUNT);
    return names[kind];
}

void record_validation_init(struct record_validation *validation)
{
    *validation = (struct record_validation){.groups = {.count = 0}};
    base_arena_init(&validation->arena);
}

void record_validation_group_free(struct record_validation_group *group)
{
    base_vec_free(&group->cases);
    base_vec_free(&group->parts);
    base_vec_free(&group->bounds);
}

void record_validation_free(struct record_validation *validation)
{
    for (size_t i = 0; i < validation->groups.count; i++)
        record_validation_group_free(&validation->groups.at[i]);
    base_vec_free(&validation->groups);
    base_arena_release(&validation->arena);
}

bool record_validation_is_within(const struct record_validation *validation)
{
    for (size_t i = 0; i < validation->groups.count; i++)
        if (!validation->groups.at[i].is_within)
            return false;
    return true;
}

void record_validation_print_bound(const struct record_validation_bound *bound, char *text,
                                   size_t bytes)
{
    if (strcmp(bound->figure, "kendall_tau") == 0)
        snprintf(text, bytes, "%s >= %.2f", bound->figure, bound->bound);
    else
        snprintf(text, bytes, "%s <= %.3g %%", bound->figure, 100 * bound->bound);
}
