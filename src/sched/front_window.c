#include "sched/front_window.h"

#include "sched/front.h"

#include "base/error.h"

void sched_front_windows_init(struct sched_front_windows *windows, const struct kv_tables *tables,
                              bool is_async, bool tells_drops, struct base_arena *arena)
{
    *windows = (struct sched_front_windows){
        .tables = tables, .in_flight_tokens = is_async ? 1 : 0, .tells_drops = tells_drops};
    for (size_t w = 0; w < tables->window_count; w++) {
        windows->at[w].drop = sched_rhythm_new(arena, tables->period_tokens);
        windows->at[w].take =
            kv_window_is_long(tables, w) ? sched_rhythm_new(arena, tables->period_tokens) : NULL;
    }
    if (tells_drops && tables->window_count > 0) {
        windows->counted =
            base_arena_array(arena, (size_t)tables->period_tokens, sizeof *windows->counted);
    }
}

void sched_front_windows_release(struct sched_front_windows *windows)
{
    base_free(windows->events);
    windows->events = NULL;
    base_vec_free(&windows->due);
    base_vec_free(&windows->kept);
    for (int64_t i = 0; windows->counted != NULL && i < windows->tables->period_tokens; i++) {
        base_vec_free(&windows->counted[i]);
    }
}

/* ---- the calendar ---- */

static uint64_t step_of(struct sched_window_event event)
{
    return event.seq->windows[event.window].event_step;
}

static bool stands_before(struct sched_window_event a, struct sched_window_event b)
{
    return a.seq->place != b.seq->place ? a.seq->place < b.seq->place : a.window < b.window;
}

static bool is_before(struct sched_window_event a, struct sched_window_event b)
{
    return step_of(a) != step_of(b) ? step_of(a) < step_of(b) : stands_before(a, b);
}

static void put(struct sched_front_windows *windows, size_t index, struct sched_window_event event)
{
    windows->events[index] = event;
    event.seq->windows[event.window].heap_index = (uint32_t)index;
}

static void sift_up(struct sched_front_windows *windows, size_t index,
                    struct sched_window_event event)
{
    while (index > 0 && is_before(event, windows->events[(index - 1) / 2])) {
        put(windows, index, windows->events[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(windows, index, event);
}

static void sift_down(struct sched_front_windows *windows, size_t index,
                      struct sched_window_event event)
{
    size_t count = windows->event_count;
    for (size_t child = 2 * index + 1; child < count; child = 2 * index + 1) {
        if (child + 1 < count && is_before(windows->events[child + 1], windows->events[child])) {
            child++;
        }
        if (!is_before(windows->events[child], event)) {
            break;
        }
        put(windows, index, windows->events[child]);
        index = child;
    }
    put(windows, index, event);
}

static void event_add(struct sched_front_windows *windows, struct sched_window_event event)
{
    size_t index = windows->event_count++;
    if (windows->event_count > windows->event_capacity) {
        windows->events = base_vec_grow(windows->events, &windows->event_capacity,
                                        windows->event_count, sizeof *windows->events);
    }
    sift_up(windows, index, event);
}

static void event_remove(struct sched_front_windows *windows, size_t index)
{
    struct sched_window_event last = windows->events[--windows->event_count];
    if (index == windows->event_count) {
        return;
    }
    if (index > 0 && is_before(last, windows->events[(index - 1) / 2])) {
        sift_up(windows, index, last);
    } else {
        sift_down(windows, index, last);
    }
}

/* ---- lists by place ---- */

static void list_put(struct sched_window_events *list, struct sched_window_event event)
{
    base_vec_push(list, event);
    size_t i = list->count - 1;
    for (; i > 0 && stands_before(event, list->at[i - 1]); i--) {
        list->at[i] = list->at[i - 1];
    }
    list->at[i] = event;
}

static void list_drop(struct sched_window_events *list, const struct sched_seq *seq, size_t w)
{
    size_t i = 0;
    while (list->at[i].seq != seq || list->at[i].window != w) {
        i++;
    }
    for (list->count--; i < list->count; i++) {
        list->at[i] = list->at[i + 1];
    }
}

/* ---- one member ---- */

static int64_t tokens_now(const struct sched_front *front, const struct sched_seq *seq)
{
    return seq->front_base + (int64_t)front->step;
}

// Blocks of one table that are back once a step has begun with `tokens` in the cache.
static int64_t passed_blocks(const struct sched_front_windows *windows, size_t w, int64_t tokens)
{
    const struct kv_window *window = &windows->tables->windows[w];
    int64_t processed = tokens - windows->in_flight_tokens;
    return window->table_count > 0 && processed > 0 ? kv_window_passed_blocks(window, processed)
                                                    : 0;
}

static bool is_state(const struct sched_front_windows *windows, size_t w)
{
    return windows->tables->windows[w].kind == SPEC_KV_STATE;
}

// Blocks of one table that a member with `tokens` in the cache has given back.
static int64_t dropped_blocks(const struct sched_front_windows *windows,
                              const struct sched_seq *seq, size_t w, int64_t tokens)
{
    return passed_blocks(windows, w, tokens - 1) - (is_state(windows, w) ? seq->kept_blocks : 0);
}

static int64_t cost_tokens(const struct kv_window *window, int64_t tokens)
{
    return kv_window_visible_tokens(window, tokens, 1);
}

static int64_t visible_tokens(const struct sched_front_windows *windows, size_t w, int64_t tokens)
{
    return kv_window_visible_tokens(&windows->tables->windows[w], tokens,
                                    1 + windows->in_flight_tokens);
}

// A member of a full sliding window gives a block back in step s if (base + s - f - W + 1) mod b == 0.
static void count_drop(struct sched_front_windows *windows, size_t w, struct sched_seq *seq,
                       int64_t by)
{
    const struct kv_window *window = &windows->tables->windows[w];
    int64_t period = windows->tables->period_tokens, block = window->block_tokens;
    int64_t residue = (windows->in_flight_tokens + window->tokens - 1 - seq->front_base) % block;
    residue += residue < 0 ? block : 0;
    sched_rhythm_add_each(windows->at[w].drop, period, residue, block, by);
    if (!windows->tells_drops) {
        return;
    }
    windows->counted_count += by;
    for (; residue < period; residue += block) {
        if (by > 0) {
            list_put(&windows->counted[residue], (struct sched_window_event){seq, w});
        } else {
            list_drop(&windows->counted[residue], seq, w);
        }
    }
}

// Of a table whose blocks are longer than others': how many it has, and at which steps it takes one.
static void count_blocks(struct sched_front_windows *windows, size_t w, const struct sched_seq *seq,
                         int64_t by)
{
    struct sched_front_window *at = &windows->at[w];
    int64_t block = windows->tables->windows[w].block_tokens;
    if (at->take == NULL) {
        return;
    }
    at->table_blocks += by * ((seq->computed + block - 1) / block);
    sched_rhythm_add_each(at->take, windows->tables->period_tokens, -seq->front_base, block, by);
}

static int64_t next_multiple(int64_t value, int64_t of)
{
    return (value + of - 1) / of * of;
}

// What comes next for a member with `tokens` in the cache, in how many steps.
static enum sched_window_phase next_phase(const struct sched_front_windows *windows, size_t w,
                                          int64_t tokens, int64_t *steps)
{
    const struct kv_window *window = &windows->tables->windows[w];
    int64_t flight = windows->in_flight_tokens;
    int64_t cost_at = window->tokens, ledger_at = window->tokens + flight;
    if (window->kind == SPEC_KV_CHUNKED) {
        cost_at = next_multiple(tokens, window->tokens);
        ledger_at =
            tokens > flight ? next_multiple(tokens - flight, window->tokens) + flight : ledger_at;
    }
    // Of chunks no longer than what is in flight the one before may still have to leave the ledger.
    bool cost_is_next = tokens <= cost_at && cost_at + flight <= ledger_at;
    *steps = (cost_is_next ? cost_at : ledger_at) - tokens;
    if (cost_is_next) {
        return SCHED_WINDOW_COST;
    }
    if (*steps >= 0) {
        return SCHED_WINDOW_LEDGER;
    }
    return SCHED_WINDOW_FULL;
}

bool sched_window_can_join(const struct sched_front *front, const struct sched_seq *seq,
                           uint64_t number, bool in_flight)
{
    const struct sched_front_windows *windows = &front->windows;
    bool one_by_one = seq->scheduled_tokens == 1 &&
                      (windows->in_flight_tokens == 0 ||
                       (in_flight && seq->prior_tokens == 1 && seq->prior_step + 1 == number));
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        bool sees_all = seq->computed <= windows->tables->windows[w].tokens;
        if (is_state(windows, w)) {
            // What is held below the last state for now stays until the end.
            if (!one_by_one && !(sees_all && seq->windows[w].dropped_blocks == 0)) {
                return false;
            }
            continue;
        }
        bool is_settled = one_by_one && seq->windows[w].dropped_blocks ==
                                            passed_blocks(windows, w, seq->computed - 1);
        if (!sees_all && !is_settled) {
            return false;
        }
    }
    return true;
}

static void count_growth(struct sched_front_windows *windows, size_t w, struct sched_seq *seq,
                         int64_t sign)
{
    struct sched_front_window *at = &windows->at[w];
    bool restarts = windows->tables->windows[w].kind == SPEC_KV_CHUNKED;
    enum sched_window_phase phase = seq->windows[w].phase;
    at->cost_growing += restarts || phase == SCHED_WINDOW_COST ? sign : 0;
    at->visible_growing += restarts || phase != SCHED_WINDOW_FULL ? sign : 0;
    if (phase == SCHED_WINDOW_FULL && windows->tables->windows[w].table_count > 0) {
        count_drop(windows, w, seq, sign);
    }
}

static void count_tokens(struct sched_front_windows *windows, size_t w, const struct sched_seq *seq,
                         int64_t sign)
{
    int64_t tokens = seq->computed;
    struct sched_front_window *at = &windows->at[w];
    at->cost_tokens += sign * cost_tokens(&windows->tables->windows[w], tokens);
    at->visible_tokens += sign * visible_tokens(windows, w, tokens);
    at->dropped_blocks += sign * dropped_blocks(windows, seq, w, tokens);
    count_blocks(windows, w, seq, sign);
}

void sched_front_windows_join(struct sched_front *front, struct sched_seq *seq)
{
    struct sched_front_windows *windows = &front->windows;
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        struct sched_seq_window *own = &seq->windows[w];
        int64_t steps;
        own->phase = next_phase(windows, w, seq->computed, &steps);
        if (is_state(windows, w)) {
            seq->kept_blocks = passed_blocks(windows, w, seq->computed - 1) - own->dropped_blocks;
        }
        count_tokens(windows, w, seq, 1);
        count_growth(windows, w, seq, 1);
        if (own->phase != SCHED_WINDOW_FULL) {
            own->event_step = front->step + (uint64_t)steps;
            event_add(windows, (struct sched_window_event){seq, w});
        }
    }
}

void sched_front_windows_leave(struct sched_front *front, struct sched_seq *seq)
{
    struct sched_front_windows *windows = &front->windows;
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        struct sched_seq_window *own = &seq->windows[w];
        if (own->phase != SCHED_WINDOW_FULL) {
            event_remove(windows, own->heap_index);
        }
        count_tokens(windows, w, seq, -1);
        count_growth(windows, w, seq, -1);
        own->dropped_blocks = dropped_blocks(windows, seq, w, seq->computed);
    }
}

/* ---- a step ---- */

// What a rhythm counts in the coming steps.
static int64_t sum_of_steps(const struct sched_front *front, const sched_rhythm *rhythm,
                            int64_t steps)
{
    int64_t period = front->period_tokens, whole = steps < period ? 0 : steps / period;
    int64_t sum = sched_rhythm_sum(rhythm, front->residue, steps - whole * period);
    return sum + (whole > 0 ? whole * sched_rhythm_sum(rhythm, 0, period) : 0);
}

// Blocks of one table that come back with the event: of a chunk all at once, of a sliding window one.
static int64_t happen(struct sched_front *front, struct sched_seq *seq, size_t w)
{
    struct sched_front_windows *windows = &front->windows;
    struct sched_front_window *at = &windows->at[w];
    struct sched_seq_window *own = &seq->windows[w];
    const struct kv_window *window = &windows->tables->windows[w];
    int64_t tokens = tokens_now(front, seq), flight = windows->in_flight_tokens, blocks = 0;
    bool restarts = window->kind == SPEC_KV_CHUNKED;
    count_growth(windows, w, seq, -1);
    if (own->phase == SCHED_WINDOW_COST) {
        at->cost_tokens -= restarts ? window->tokens : 0;
        own->phase = SCHED_WINDOW_LEDGER;
        own->event_step += (uint64_t)flight;
    } else if (restarts) {
        at->visible_tokens -= window->tokens;
        blocks = passed_blocks(windows, w, tokens) - passed_blocks(windows, w, tokens - 1);
        own->phase = SCHED_WINDOW_COST;
        own->event_step += (uint64_t)(window->tokens - flight);
    } else {
        own->phase = SCHED_WINDOW_FULL;
    }
    count_growth(windows, w, seq, 1);
    return blocks;
}

int64_t sched_front_windows_begin_step(struct sched_front *front)
{
    struct sched_front_windows *windows = &front->windows;
    int64_t all = 0;
    windows->due.count = 0;
    while (windows->event_count > 0 && step_of(windows->events[0]) == front->step) {
        struct sched_window_event event = windows->events[0];
        int64_t blocks = happen(front, event.seq, event.window);
        windows->at[event.window].dropped_blocks += blocks;
        all += blocks * windows->tables->windows[event.window].table_count;
        if (blocks > 0 && windows->tells_drops) {
            base_vec_push(&windows->due, event);
        }
        if (event.seq->windows[event.window].phase == SCHED_WINDOW_FULL) {
            event_remove(windows, 0);
        } else {
            sift_down(windows, 0, event);
        }
        front->generation++;
    }
    base_assert(windows->event_count == 0 || step_of(windows->events[0]) > front->step);
    if (windows->counted_count > 0) {
        const struct sched_window_events *counted = sched_front_windows_counted(front, 0);
        for (size_t i = 0; i < counted->count; i++) {
            list_put(&windows->due, counted->at[i]);
        }
    }
    return all + sched_front_windows_drop(front, 1);
}

int64_t sched_front_windows_drop(struct sched_front *front, int64_t steps)
{
    struct sched_front_windows *windows = &front->windows;
    int64_t all = 0;
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        struct sched_front_window *at = &windows->at[w];
        if (windows->tables->windows[w].table_count == 0) {
            continue;
        }
        int64_t blocks = sum_of_steps(front, at->drop, steps);
        at->dropped_blocks += blocks;
        all += blocks * windows->tables->windows[w].table_count;
    }
    return all;
}

void sched_front_windows_grow(struct sched_front *front, int64_t steps)
{
    struct sched_front_windows *windows = &front->windows;
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        struct sched_front_window *at = &windows->at[w];
        at->cost_tokens += steps * at->cost_growing;
        at->visible_tokens += steps * at->visible_growing;
        at->table_blocks += at->take != NULL ? sum_of_steps(front, at->take, steps) : 0;
    }
}

const struct sched_window_events *sched_front_windows_counted(const struct sched_front *front,
                                                              int64_t ahead)
{
    return &front->windows.counted[sched_front_residue(front, ahead)];
}

int64_t sched_front_windows_steps_to_drop(const struct sched_front *front, int64_t limit)
{
    int64_t ahead = front->windows.counted_count > 0 ? 0 : limit;
    while (ahead < limit && sched_front_windows_counted(front, ahead)->count == 0) {
        ahead++;
    }
    return ahead;
}

int64_t sched_front_windows_drop_of(const struct sched_front *front, const struct sched_seq *seq)
{
    const struct sched_front_windows *windows = &front->windows;
    int64_t tokens = tokens_now(front, seq), all = 0;
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        all += (passed_blocks(windows, w, tokens) - passed_blocks(windows, w, tokens - 1)) *
               windows->tables->windows[w].table_count;
    }
    return all;
}

int64_t sched_front_window_passed(const struct sched_front *front, const struct sched_seq *seq,
                                  size_t window, int64_t ahead)
{
    return passed_blocks(&front->windows, window, tokens_now(front, seq) + ahead);
}

int64_t sched_front_window_passed_before(const struct sched_front *front,
                                         const struct sched_seq *seq, size_t window)
{
    return passed_blocks(&front->windows, window, tokens_now(front, seq) - 1);
}

int64_t sched_front_windows_dropped_of(const struct sched_front *front, const struct sched_seq *seq)
{
    const struct sched_front_windows *windows = &front->windows;
    int64_t all = 0;
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        all += dropped_blocks(windows, seq, w, tokens_now(front, seq)) *
               windows->tables->windows[w].table_count;
    }
    return all;
}

uint64_t sched_front_windows_quiet_steps(const struct sched_front *front)
{
    const struct sched_front_windows *windows = &front->windows;
    return windows->event_count > 0 ? step_of(windows->events[0]) - front->step : UINT64_MAX;
}

int64_t sched_front_windows_drop_at(const struct sched_front *front, int64_t place)
{
    const struct sched_front_windows *windows = &front->windows;
    int64_t all = 0;
    for (size_t w = 0; w < windows->tables->window_count; w++) {
        all += windows->at[w].drop[place] * windows->tables->windows[w].table_count;
    }
    return all;
}

/* Free blocks over one period of steps, relative to its beginning. */
struct period {
    int64_t lowest;  /* after the takes of a step, before its drops */
    int64_t highest; /* after a step */
    int64_t gain;
};

static struct period measure_period(const struct sched_front *front)
{
    struct period period = {INT64_MAX, INT64_MIN, 0};
    for (int64_t i = 0; i < front->period_tokens; i++) {
        int64_t place = sched_front_residue(front, i);
        int64_t low = period.gain - front->boundary[place];
        period.gain = low + sched_front_windows_drop_at(front, place);
        period.lowest = low < period.lowest ? low : period.lowest;
        period.highest = period.gain > period.highest ? period.gain : period.highest;
    }
    return period;
}

// Whole periods through which free blocks stay within [0, enough).
static int64_t safe_periods(const struct period *period, int64_t free_blocks, int64_t enough,
                            int64_t most)
{
    int64_t below = free_blocks + period->lowest, above = enough - 1 - free_blocks;
    above -= enough == INT64_MAX ? 0 : period->highest;
    if (below < 0 || above < 0) {
        return 0;
    }
    int64_t periods = most;
    if (period->gain < 0) {
        periods = below / -period->gain + 1;
    } else if (period->gain > 0 && enough < INT64_MAX) {
        periods = above / period->gain + 1;
    }
    return periods < most ? periods : most;
}

int64_t sched_front_windows_runway(const struct sched_front *front, int64_t free_blocks,
                                   int64_t enough, int64_t limit)
{
    struct period period = measure_period(front);
    int64_t periods = safe_periods(&period, free_blocks, enough, limit / front->period_tokens);
    int64_t steps = periods * front->period_tokens;
    int64_t left = free_blocks + periods * period.gain;
    for (int64_t i = 0; i < front->period_tokens && steps < limit; i++, steps++) {
        int64_t place = sched_front_residue(front, steps);
        left -= front->boundary[place];
        if (left < 0) {
            break;
        }
        left += sched_front_windows_drop_at(front, place);
        if (left >= enough) {
            break;
        }
    }
    return steps;
}
