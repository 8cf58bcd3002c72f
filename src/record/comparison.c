#include "record/comparison.h"

#include "base/error.h"

#include <string.h>

const char *record_verdict_name(enum record_verdict verdict)
{
    static const char *const names[RECORD_VERDICT_COUNT] = {
        "better", "worse", "more", "less", "equal", "no_difference_shown", "no_interval"};
    base_require((unsigned)verdict < RECORD_VERDICT_COUNT);
    return names[verdict];
}

void record_comparison_init(struct record_comparison *comparison)
{
    *comparison = (struct record_comparison){.is_paired = false};
    base_arena_init(&comparison->arena);
}

void record_comparison_free(struct record_comparison *comparison)
{
    base_vec_free(&comparison->figures);
    base_vec_free(&comparison->params);
    base_vec_free(&comparison->bytes);
    base_vec_free(&comparison->shares);
    base_arena_release(&comparison->arena);
}

const struct record_difference *record_comparison_find(const struct record_comparison *comparison,
                                                       const char *name, const char *statistic)
{
    for (size_t i = 0; i < comparison->figures.count; i++) {
        const struct record_difference *row = &comparison->figures.at[i];
        if (strcmp(row->name, name) == 0 && strcmp(row->statistic, statistic) == 0 &&
            row->class_name[0] == '\0')
            return row;
    }
    return NULL;
}
