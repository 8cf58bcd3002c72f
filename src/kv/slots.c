#include "kv/slots.h"

#include "base/error.h"
#include "base/i128.h"
#include "base/mem.h"

// The widest window whose layers have fewer cells than a stream.
static void note_rings(struct kv_slots *slots, const struct kv_cells *cells)
{
    for (size_t i = 0; i < cells->group_count; i++) {
        const struct kv_cells_group *group = &cells->groups[i];
        if (group->kind == SPEC_KV_STATE) {
            slots->has_states = true;
        } else if (group->cells < cells->stream_cells &&
                   group->window_tokens > slots->ring_window) {
            slots->ring_cells = group->cells;
            slots->ring_window = group->window_tokens;
        }
    }
}

/* ---- who waits ---- */

static void list_add(struct kv_slots *slots, struct kv_slot *slot)
{
    slot->older = slots->youngest;
    slot->younger = NULL;
    *(slot->older != NULL ? &slot->older->younger : &slots->oldest) = slot;
    slots->youngest = slot;
}

static void list_remove(struct kv_slots *slots, struct kv_slot *slot)
{
    *(slot->older != NULL ? &slot->older->younger : &slots->oldest) = slot->younger;
    *(slot->younger != NULL ? &slot->younger->older : &slots->youngest) = slot->older;
}

// The chain of all that begins with the first token of a content, which is not empty.
static struct kv_slot **chain_of(const struct kv_slots *slots, const struct kv_content *content)
{
    struct kv_cursor first = kv_cursor_at(content, 0);
    return &slots->chains[kv_cursor_key(&first, 1) & (slots->chain_count - 1)];
}

static void chain_add(struct kv_slots *slots, struct kv_slot *slot)
{
    struct kv_slot **chain = chain_of(slots, &slot->content);
    slot->chain_next = *chain;
    *chain = slot;
}

static void chain_remove(struct kv_slots *slots, struct kv_slot *slot)
{
    struct kv_slot **at = chain_of(slots, &slot->content);
    while (*at != slot) {
        at = &(*at)->chain_next;
    }
    *at = slot->chain_next;
}

static size_t power_from(size_t count)
{
    size_t power = 1;
    while (power < count) {
        power *= 2;
    }
    return power;
}

// Of those never used the last comes first.
void kv_slots_init(struct kv_slots *slots, const struct kv_cells *cells,
                   const struct kv_tables *tables, const struct kv_slots_options *options)
{
    base_require(cells->slots > 0);
    *slots = (struct kv_slots){.options = *options,
                               .tables = tables,
                               .count = cells->slots,
                               .cells = cells->stream_cells * cells->streams};
    slots->at = base_alloc(base_mul_size(slots->count, sizeof *slots->at));
    slots->chain_count = 2 * power_from(slots->count);
    slots->chains = base_alloc(base_mul_size(slots->chain_count, sizeof(struct kv_slot *)));
    for (size_t i = slots->count; i > 0; i--) {
        list_add(slots, &slots->at[i - 1]);
    }
    note_rings(slots, cells);
}

void kv_slots_release(struct kv_slots *slots)
{
    for (size_t i = 0; slots->at != NULL && i < slots->count; i++) {
        base_free(slots->at[i].runs);
    }
    base_free(slots->at);
    base_free(slots->chains);
    slots->at = NULL;
    slots->chains = NULL;
}

/* ---- what a prompt finds ---- */

static int64_t common_tokens(const struct kv_slot *slot, const struct kv_content *content,
                             int64_t tokens)
{
    struct kv_cursor kept = kv_cursor_at(&slot->content, 0), asked = kv_cursor_at(content, 0);
    return kv_cursor_match(&kept, &asked, tokens);
}

// What of the common beginning can be gone on from; at least one token of the prompt is computed.
static int64_t reusable_tokens(const struct kv_slots *slots, const struct kv_slot *slot,
                               int64_t common, int64_t tokens)
{
    int64_t seen_from = common > slots->ring_window ? common - slots->ring_window : 0;
    bool parts = common < slot->kept_tokens;
    if (parts && (slots->has_states || slot->first_token > seen_from)) {
        return 0;
    }
    if (common < tokens) {
        return common;
    }
    return slots->has_states ? 0 : tokens - 1;
}

static bool is_similar(const struct kv_slots *slots, int64_t common, int64_t tokens)
{
    const struct base_rational *share = &slots->options.similarity;
    return (base_i128)common * share->den > (base_i128)tokens * share->num;
}

size_t kv_slots_choose(const struct kv_slots *slots, const struct kv_content *content,
                       int64_t tokens)
{
    base_require(slots->oldest != NULL);
    const struct kv_slot *chosen = slots->oldest, *at = NULL;
    int64_t most = 0;
    if (slots->options.similarity.num > 0 && content->token_count > 0) {
        at = *chain_of(slots, content);
    }
    for (; at != NULL; at = at->chain_next) {
        int64_t common = common_tokens(at, content, tokens);
        bool is_more = common > most || (common == most && common > 0 && at < chosen);
        if (is_more && is_similar(slots, common, tokens)) {
            most = common;
            chosen = at;
        }
    }
    return (size_t)(chosen - slots->at);
}

/* ---- busy and waiting ---- */

static void count_kept(struct kv_slots *slots, const struct kv_slot *slot, int64_t sign)
{
    slots->kept_tokens += sign * slot->kept_tokens;
    slots->kept_sequences += slot->kept_tokens > 0 ? sign : 0;
    for (size_t w = 0; slot->kept_tokens > 0 && w < slots->tables->window_count; w++) {
        slots->kept_visible_tokens[w] +=
            sign * kv_window_visible_tokens(&slots->tables->windows[w], slot->kept_tokens, 1);
    }
}

static void keep_nothing(struct kv_slots *slots, struct kv_slot *slot)
{
    count_kept(slots, slot, -1);
    if (slot->content.token_count > 0) {
        chain_remove(slots, slot);
    }
    slot->kept_tokens = 0;
    slot->content = (struct kv_content){0};
}

int64_t kv_slots_take(struct kv_slots *slots, size_t number, const struct kv_content *content,
                      int64_t tokens)
{
    struct kv_slot *slot = &slots->at[number];
    base_require(!slot->is_busy);
    int64_t common = common_tokens(slot, content, tokens);
    int64_t reused = reusable_tokens(slots, slot, common, tokens);
    slots->lost_tokens += slot->kept_tokens - reused;
    keep_nothing(slots, slot);
    list_remove(slots, slot);
    slot->first_token = reused > 0 ? slot->first_token : 0;
    slot->is_busy = true;
    slots->busy_count++;
    return reused;
}

static void copy_content(struct kv_slot *slot, const struct kv_content *content, int64_t tokens)
{
    struct kv_cursor from = kv_cursor_at(content, 0);
    size_t runs = kv_cursor_copy(&from, tokens, NULL);
    if (runs > slot->run_capacity) {
        slot->runs = base_vec_grow(slot->runs, &slot->run_capacity, runs, sizeof *slot->runs);
    }
    from = kv_cursor_at(content, 0);
    kv_cursor_copy(&from, tokens, slot->runs);
    slot->content = (struct kv_content){slot->runs, runs, tokens};
}

void kv_slots_give(struct kv_slots *slots, size_t number, const struct kv_content *content,
                   int64_t tokens)
{
    struct kv_slot *slot = &slots->at[number];
    base_require(slot->is_busy);
    int64_t reach = slots->options.is_shared ? slots->ring_window : slots->ring_cells;
    slot->is_busy = false;
    slots->busy_count--;
    list_add(slots, slot);
    slot->kept_tokens = tokens;
    if (reach > 0 && tokens - reach > slot->first_token) {
        slot->first_token = tokens - reach;
    }
    if (slots->options.keeps_content && tokens > 0) {
        copy_content(slot, content, tokens);
        chain_add(slots, slot);
    }
    count_kept(slots, slot, 1);
    slots->first_kept = number < slots->first_kept ? number : slots->first_kept;
}

bool kv_slots_clear_one(struct kv_slots *slots)
{
    if (slots->kept_tokens == 0) {
        return false;
    }
    struct kv_slot *slot = &slots->at[slots->first_kept];
    while (slot->kept_tokens == 0) {
        slot++;
    }
    slots->lost_tokens += slot->kept_tokens;
    keep_nothing(slots, slot);
    slots->first_kept = (size_t)(slot - slots->at) + 1;
    return true;
}
