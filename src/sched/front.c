#include "sched/front.h"

#include "base/error.h"
#include "base/i128.h"

void sched_front_init(struct sched_front *front, struct base_arena *arena,
                      const struct kv_tables *tables, bool is_async, bool tells_drops,
                      size_t class_count)
{
    *front = (struct sched_front){.period_tokens = tables->period_tokens,
                                  .period_blocks = kv_tables_blocks_of_period(tables),
                                  .tables = tables,
                                  .takes_blocks = true};
    sched_front_windows_init(&front->windows, tables, is_async, tells_drops, arena);
    front->boundary = sched_rhythm_new(arena, front->period_tokens);
    front->counted = base_arena_array(arena, class_count, sizeof *front->counted);
}

void sched_front_release(struct sched_front *front)
{
    base_free(front->calendar);
    front->calendar = NULL;
    sched_front_windows_release(&front->windows);
}

static bool ends_before(const struct sched_seq *a, const struct sched_seq *b)
{
    return a->final_step != b->final_step ? a->final_step < b->final_step : a->place < b->place;
}

static void put(struct sched_front *front, size_t index, struct sched_seq *seq)
{
    front->calendar[index] = seq;
    seq->heap_index = (uint32_t)index;
}

static void sift_up(struct sched_front *front, size_t index, struct sched_seq *seq)
{
    while (index > 0 && ends_before(seq, front->calendar[(index - 1) / 2])) {
        put(front, index, front->calendar[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(front, index, seq);
}

static void sift_down(struct sched_front *front, size_t index, struct sched_seq *seq, size_t count)
{
    for (size_t child = 2 * index + 1; child < count; child = 2 * index + 1) {
        if (child + 1 < count && ends_before(front->calendar[child + 1], front->calendar[child])) {
            child++;
        }
        if (!ends_before(front->calendar[child], seq)) {
            break;
        }
        put(front, index, front->calendar[child]);
        index = child;
    }
    put(front, index, seq);
}

// A member needs a block of a table when scheduling step s if the tokens it then holds fill those it has: (front_base + s) mod
// b == 0.
static void count_boundary(struct sched_front *front, const struct sched_seq *seq, int64_t by)
{
    const struct kv_tables *tables = front->tables;
    if (!front->takes_blocks) {
        return;
    }
    sched_rhythm_add_each(front->boundary, front->period_tokens, -seq->front_base,
                          tables->block_tokens,
                          by * (tables->growing_tables - tables->long_tables));
    for (size_t w = 0; tables->long_tables > 0 && w < tables->window_count; w++) {
        if (kv_window_is_long(tables, w)) {
            sched_rhythm_add_each(front->boundary, front->period_tokens, -seq->front_base,
                                  tables->windows[w].block_tokens,
                                  by * tables->windows[w].table_count);
        }
    }
}

void sched_front_join(struct sched_front *front, struct sched_seq *seq)
{
    base_assert(seq->state != SCHED_FRONT);
    seq->state = SCHED_FRONT;
    seq->front_base = seq->computed - (int64_t)front->step;
    size_t index = (size_t)front->count++;
    if ((size_t)front->count > front->calendar_capacity) {
        front->calendar = base_vec_grow(front->calendar, &front->calendar_capacity,
                                        (size_t)front->count, sizeof *front->calendar);
    }
    sift_up(front, index, seq);
    front->context_sum += seq->computed;
    count_boundary(front, seq, 1);
    sched_front_windows_join(front, seq);
    if (seq->is_counted) {
        front->counted[seq->class_index]++;
        front->counted_total++;
    }
    front->generation++;
}

void sched_front_leave(struct sched_front *front, struct sched_seq *seq)
{
    base_assert(seq->state == SCHED_FRONT && front->calendar[seq->heap_index] == seq);
    seq->computed = seq->front_base + (int64_t)front->step;
    seq->state = SCHED_LOOSE;
    size_t count = (size_t)--front->count;
    size_t index = seq->heap_index;
    struct sched_seq *last = front->calendar[count];
    if (index < count) {
        if (index > 0 && ends_before(last, front->calendar[(index - 1) / 2])) {
            sift_up(front, index, last);
        } else {
            sift_down(front, index, last, count);
        }
    }
    front->context_sum -= seq->computed;
    count_boundary(front, seq, -1);
    sched_front_windows_leave(front, seq);
    if (seq->is_counted) {
        front->counted[seq->class_index]--;
        front->counted_total--;
    }
    front->generation++;
}

void sched_front_step(struct sched_front *front)
{
    if (front->windows.tables->window_count > 0) {
        sched_front_windows_grow(front, 1);
    }
    front->step++;
    front->residue = sched_front_residue(front, 1);
    front->context_sum += front->count;
}

int64_t sched_front_advance(struct sched_front *front, int64_t steps)
{
    if (front->windows.tables->window_count > 0) {
        sched_front_windows_grow(front, steps);
    }
    if (!front->takes_blocks) {
        front->step += (uint64_t)steps;
        front->residue = sched_front_residue(front, steps);
        front->context_sum += front->count * steps;
        return 0;
    }
    int64_t whole = steps < front->period_tokens ? 0 : steps / front->period_tokens;
    int64_t rest = steps - whole * front->period_tokens;
    int64_t blocks = whole * front->count * front->period_blocks +
                     sched_rhythm_sum(front->boundary, front->residue, rest);
    front->step += (uint64_t)steps;
    front->residue = sched_front_residue(front, rest);
    front->context_sum += front->count * steps;
    return blocks;
}

int64_t sched_front_runway(const struct sched_front *front, int64_t free_blocks, int64_t limit)
{
    if (front->count == 0 || !front->takes_blocks) {
        return limit;
    }
    // Whole rounds of blocks for the steps asked for, and one to spare: the usual case, without a division.
    int64_t round = front->count * front->period_blocks;
    if ((base_i128)free_blocks * front->period_tokens >=
        (base_i128)round * (limit + front->period_tokens)) {
        return limit;
    }
    int64_t steps = free_blocks / round * front->period_tokens;
    if (steps >= limit) {
        return limit;
    }
    int64_t left = free_blocks % round;
    for (int64_t i = 0; i < front->period_tokens && steps < limit; i++) {
        left -= front->boundary[front->residue + i];
        if (left < 0) {
            break;
        }
        steps++;
    }
    return steps;
}
