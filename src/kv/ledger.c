#include "kv/ledger.h"

#include "base/error.h"

#include <stddef.h>

struct ledger_line {
    const char *name;
    size_t offset;
    int sign;
};

static const struct ledger_line lines[KV_LEDGER_LINE_COUNT] = {
    [KV_LEDGER_LOWER_BOUND] = {"lower_bound", offsetof(struct kv_ledger, lower_bound_bytes), 1},
    [KV_LEDGER_BLOCK_ROUNDING] = {"block_rounding",
                                  offsetof(struct kv_ledger, block_rounding_bytes), 1},
    [KV_LEDGER_OUT_OF_WINDOW] = {"out_of_window", offsetof(struct kv_ledger, out_of_window_bytes),
                                 1},
    [KV_LEDGER_RESERVED] = {"reserved", offsetof(struct kv_ledger, reserved_bytes), 1},
    [KV_LEDGER_REPLICATED] = {"replicated", offsetof(struct kv_ledger, replicated_bytes), 1},
    [KV_LEDGER_PADDED] = {"padded", offsetof(struct kv_ledger, padded_bytes), 1},
    [KV_LEDGER_SCALES] = {"scales", offsetof(struct kv_ledger, scales_bytes), 1},
    [KV_LEDGER_SHARED] = {"shared", offsetof(struct kv_ledger, shared_bytes), -1},
    [KV_LEDGER_CACHED] = {"cached", offsetof(struct kv_ledger, cached_bytes), 1},
    [KV_LEDGER_FRAGMENTED] = {"fragmented", offsetof(struct kv_ledger, fragmented_bytes), 1},
    [KV_LEDGER_HELD_BACK] = {"held_back", offsetof(struct kv_ledger, held_back_bytes), 1},
    [KV_LEDGER_FREE] = {"free", offsetof(struct kv_ledger, free_bytes), 1},
};

size_t kv_ledger_line_count(void)
{
    return KV_LEDGER_LINE_COUNT;
}

const char *kv_ledger_line_name(size_t line)
{
    base_require(line < KV_LEDGER_LINE_COUNT);
    return lines[line].name;
}

int kv_ledger_line_sign(size_t line)
{
    base_require(line < KV_LEDGER_LINE_COUNT);
    return lines[line].sign;
}

int64_t kv_ledger_line_bytes(const struct kv_ledger *ledger, size_t line)
{
    base_require(line < KV_LEDGER_LINE_COUNT);
    return *(const int64_t *)(const void *)((const char *)ledger + lines[line].offset);
}

void kv_ledger_set_line(struct kv_ledger *ledger, size_t line, int64_t bytes)
{
    base_require(line < KV_LEDGER_LINE_COUNT);
    *(int64_t *)(void *)((char *)ledger + lines[line].offset) = bytes;
}

int64_t kv_ledger_allocated_bytes(const struct kv_ledger *ledger)
{
    return ledger->lower_bound_bytes + ledger->block_rounding_bytes + ledger->out_of_window_bytes +
           ledger->reserved_bytes + ledger->replicated_bytes + ledger->padded_bytes +
           ledger->scales_bytes - ledger->shared_bytes;
}

bool kv_ledger_is_exact(const struct kv_ledger *ledger)
{
    int64_t sum_bytes = 0;
    for (size_t i = 0; i < KV_LEDGER_LINE_COUNT; i++) {
        int64_t bytes = kv_ledger_line_bytes(ledger, i);
        if (bytes < 0)
            return false;
        sum_bytes += lines[i].sign * bytes;
    }
    return sum_bytes == ledger->pool_bytes;
}
