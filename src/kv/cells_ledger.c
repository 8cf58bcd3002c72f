#include "kv/cells_ledger.h"

// A ring keeps what is seen; layers with all cells keep the rest too.
static long double held(const struct kv_cells *cells, size_t group, long double tokens,
                        long double seen)
{
    return cells->groups[group].cells < cells->stream_cells ? seen : tokens;
}

static void add_state(const struct spec_kv_slot *slot, const struct kv_cells_content *content,
                      long double *lines)
{
    long double bytes = (long double)slot->sequence_bytes;
    lines[KV_LEDGER_LOWER_BOUND] += content->sequences * bytes;
    lines[KV_LEDGER_CACHED] += content->kept_sequences * bytes;
}

static void add_tokens(const struct kv_cells *cells, const struct spec_kv_slot *slot, size_t group,
                       const struct kv_cells_content *content, long double *lines)
{
    long double seen = content->seen_tokens[group], bytes = (long double)slot->slot_bytes;
    lines[KV_LEDGER_LOWER_BOUND] += seen * (long double)slot->lower_bound_bytes;
    lines[KV_LEDGER_REPLICATED] += seen * (long double)slot->replicated_bytes;
    lines[KV_LEDGER_SCALES] += seen * (long double)slot->scale_bytes;
    lines[KV_LEDGER_PADDED] += seen * (long double)slot->padded_bytes;
    lines[KV_LEDGER_OUT_OF_WINDOW] +=
        (held(cells, group, content->live_tokens, seen) - seen) * bytes;
    lines[KV_LEDGER_CACHED] +=
        held(cells, group, content->kept_tokens, content->kept_seen_tokens[group]) * bytes;
}

void kv_cells_lines(const struct kv_cells *cells, const struct spec_kv_layout *layout,
                    const struct kv_cells_content *content, long double lines[KV_LEDGER_LINE_COUNT])
{
    long double rest = (long double)cells->bytes;
    for (size_t line = 0; line < KV_LEDGER_LINE_COUNT; line++) {
        lines[line] = 0;
    }
    for (size_t i = 0; i < layout->group_count; i++) {
        if (layout->groups[i].kind == SPEC_KV_STATE) {
            add_state(&layout->groups[i], content, lines);
        } else {
            add_tokens(cells, &layout->groups[i], i, content, lines);
        }
    }
    for (size_t line = 0; line < KV_LEDGER_FREE; line++) {
        rest -= lines[line];
    }
    lines[KV_LEDGER_RESERVED] = rest;
    lines[KV_LEDGER_FREE] = (long double)(cells->pool_bytes - cells->bytes);
}
