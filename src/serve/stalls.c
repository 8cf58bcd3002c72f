#include "serve/stalls.h"

#include "base/error.h"

void serve_stalls_release(struct serve_stalls *stalls)
{
    for (size_t i = 0; i < stalls->made; i++) {
        base_free(stalls->at[i].counted);
    }
    base_free(stalls->at);
    *stalls = (struct serve_stalls){.class_count = stalls->class_count};
}

static struct serve_stall *new_stall(struct serve_stalls *stalls)
{
    if (stalls->count == stalls->capacity) {
        stalls->at =
            base_vec_grow(stalls->at, &stalls->capacity, stalls->count + 1, sizeof *stalls->at);
    }
    struct serve_stall *stall = &stalls->at[stalls->count++];
    if (stalls->count > stalls->made) {
        stall->counted = base_alloc(base_mul_size(stalls->class_count, sizeof *stall->counted));
        stalls->made = stalls->count;
    }
    stall->ticks = 0;
    return stall;
}

// Of the front as the plan found it, those that are in no cohort yet.
static void count_fresh(const struct serve_stalls *stalls, const struct sched_plan *plan,
                        struct serve_stall *fresh)
{
    fresh->last_plan = plan->number;
    fresh->total = plan->counted_total;
    for (size_t c = 0; c < stalls->class_count; c++) {
        fresh->counted[c] = stalls->class_count > 1 ? plan->counted[c] : plan->counted_total;
    }
    for (size_t i = 0; i + 1 < stalls->count; i++) {
        fresh->total -= stalls->at[i].total;
        for (size_t c = 0; c < stalls->class_count; c++) {
            fresh->counted[c] -= stalls->at[i].counted[c];
        }
    }
    base_assert(fresh->total >= 0);
}

void serve_stalls_note(struct serve_stalls *stalls, const struct sched_plan *plan, int64_t ticks)
{
    struct serve_stall *fresh = new_stall(stalls);
    count_fresh(stalls, plan, fresh);
    for (size_t i = 0; i < stalls->count; i++) {
        stalls->at[i].ticks += ticks;
    }
}

base_i128 serve_stalls_drop(struct serve_stalls *stalls, const struct sched_seq *seq)
{
    for (size_t i = 0; i < stalls->count; i++) {
        struct serve_stall *stall = &stalls->at[i];
        if (seq->first_front_plan <= stall->last_plan) {
            stall->total -= seq->is_counted ? 1 : 0;
            stall->counted[seq->class_index] -= seq->is_counted ? 1 : 0;
            return stall->ticks;
        }
    }
    return 0;
}
