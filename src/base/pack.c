#include "base/pack.h"

#include <stdint.h>
#include <string.h>

struct base_pack base_pack_writer(struct base_text *out)
{
    return (struct base_pack){.out = out};
}

struct base_pack base_pack_reader(const void *bytes, size_t count)
{
    const unsigned char *start = bytes;
    return (struct base_pack){.next = start, .end = start + count};
}

bool base_pack_is_whole(const struct base_pack *pack)
{
    return !pack->is_broken && pack->next == pack->end;
}

/* The next bytes, or NULL when there are not so many. */
static const void *take(struct base_pack *pack, size_t bytes)
{
    if (pack->is_broken || (size_t)(pack->end - pack->next) < bytes) {
        pack->is_broken = true;
        return NULL;
    }
    const void *at = pack->next;
    pack->next += bytes;
    return at;
}

void base_pack_bytes(struct base_pack *pack, void *at, size_t bytes)
{
    if (bytes == 0)
        return;
    if (pack->out != NULL) {
        base_text_add_n(pack->out, at, bytes);
        return;
    }
    const void *from = take(pack, bytes);
    if (from != NULL)
        memcpy(at, from, bytes);
    else
        memset(at, 0, bytes);
}

void *base_pack_block(struct base_pack *pack, void *at, size_t bytes)
{
    if (at == NULL || bytes == 0)
        return pack->out != NULL ? at : NULL;
    if (pack->out != NULL) {
        base_text_add_n(pack->out, at, bytes);
        return at;
    }
    const void *from = take(pack, bytes);
    if (from == NULL)
        return NULL;
    void *copy = base_alloc(bytes);
    memcpy(copy, from, bytes);
    return copy;
}

void base_pack_text(struct base_pack *pack, const char **text, struct base_arena *arena)
{
    uint64_t length = pack->out == NULL ? 0 : *text == NULL ? UINT64_MAX : strlen(*text);
    base_pack_bytes(pack, &length, sizeof length);
    if (pack->out != NULL) {
        if (*text != NULL)
            base_text_add_n(pack->out, *text, (size_t)length);
        return;
    }
    const char *from = pack->is_broken || length == UINT64_MAX ? NULL : take(pack, (size_t)length);
    *text = from == NULL ? NULL : base_arena_copy_n(arena, from, (size_t)length);
}

void *base_pack_items(struct base_pack *pack, void *at, size_t *count, size_t *capacity,
                      size_t item_bytes)
{
    uint64_t items = *count;
    base_pack_bytes(pack, &items, sizeof items);
    if (pack->out == NULL) {
        // No more than there are bytes for.
        if (items > (size_t)(pack->end - pack->next) / item_bytes)
            pack->is_broken = true;
        *count = pack->is_broken ? 0 : (size_t)items;
        *capacity = *count;
        at = *count == 0 ? NULL : base_alloc(base_mul_size(*count, item_bytes));
    }
    base_pack_bytes(pack, at, base_mul_size(*count, item_bytes));
    return at;
}
