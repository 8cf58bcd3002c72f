#include "kv/content.h"

#include "base/count.h"
#include "base/hash.h"

struct kv_cursor kv_cursor_at(const struct kv_content *content, int64_t token)
{
    struct kv_cursor cursor = {content, 0, token};
    while (cursor.run < content->run_count && cursor.offset >= content->runs[cursor.run].count) {
        cursor.offset -= content->runs[cursor.run++].count;
    }
    return cursor;
}

static bool is_at_end(const struct kv_cursor *cursor)
{
    return cursor->run >= cursor->content->run_count;
}

static int64_t left_in_run(const struct kv_cursor *cursor)
{
    return cursor->content->runs[cursor->run].count - cursor->offset;
}

static int64_t token_of(const struct kv_cursor *cursor)
{
    return cursor->content->runs[cursor->run].first + cursor->offset;
}

static void move(struct kv_cursor *cursor, int64_t tokens)
{
    cursor->offset += tokens;
    while (!is_at_end(cursor) && cursor->offset >= cursor->content->runs[cursor->run].count) {
        cursor->offset -= cursor->content->runs[cursor->run++].count;
    }
}

int64_t kv_cursor_match(struct kv_cursor *a, struct kv_cursor *b, int64_t limit)
{
    int64_t matched = 0;
    while (matched < limit && !is_at_end(a) && !is_at_end(b) && token_of(a) == token_of(b)) {
        int64_t step = base_min(limit - matched, base_min(left_in_run(a), left_in_run(b)));
        move(a, step);
        move(b, step);
        matched += step;
    }
    return matched;
}

// Runs that continue each other are one: the key must not depend on how a content is cut into runs.
static int64_t take_span(struct kv_cursor *cursor, int64_t limit, int64_t *first)
{
    *first = token_of(cursor);
    int64_t span = 0;
    while (span < limit && !is_at_end(cursor) && token_of(cursor) == *first + span) {
        int64_t step = base_min(limit - span, left_in_run(cursor));
        span += step;
        move(cursor, step);
    }
    return span;
}

uint64_t kv_cursor_key(struct kv_cursor *cursor, int64_t tokens)
{
    uint64_t key = 0;
    while (tokens > 0 && !is_at_end(cursor)) {
        int64_t first, span = take_span(cursor, tokens, &first);
        key = base_mix2(key, base_mix2((uint64_t)first, (uint64_t)span));
        tokens -= span;
    }
    return key;
}

size_t kv_cursor_copy(struct kv_cursor *cursor, int64_t tokens, struct spec_token_run *out)
{
    size_t count = 0;
    while (tokens > 0 && !is_at_end(cursor)) {
        int64_t first, span = take_span(cursor, tokens, &first);
        if (out != NULL) {
            out[count] = (struct spec_token_run){first, span};
        }
        count++;
        tokens -= span;
    }
    return count;
}
