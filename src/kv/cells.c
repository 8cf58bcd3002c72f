#include "kv/cells.h"

static int64_t pad(int64_t tokens, int64_t multiple)
{
    return (tokens + multiple - 1) / multiple * multiple;
}

static struct kv_cells_options with_defaults(const struct kv_cells_options *options)
{
    enum { USUAL_UBATCH = 512, USUAL_PAD = 256 };
    struct kv_cells_options full = *options;
    full.parallel = full.parallel != 0 ? full.parallel : 1;
    full.ubatch_tokens = full.ubatch_tokens != 0 ? full.ubatch_tokens : USUAL_UBATCH;
    full.pad_tokens = full.pad_tokens != 0 ? full.pad_tokens : USUAL_PAD;
    return full;
}

static int64_t window_cells(const struct kv_cells_options *options, uint32_t window_tokens,
                            int64_t stream_cells)
{
    int64_t sequences = options->unified ? options->parallel : 1;
    int64_t cells =
        pad((int64_t)window_tokens * sequences + options->ubatch_tokens, options->pad_tokens);
    return cells < stream_cells ? cells : stream_cells;
}

static void add_group(const struct kv_cells_options *options, const struct spec_kv_slot *slot,
                      struct kv_cells *cells)
{
    struct kv_cells_group *group = &cells->groups[cells->group_count++];
    *group = (struct kv_cells_group){
        .kind = slot->kind,
        .layer_count = slot->layer_count,
        .window_tokens = slot->window_tokens,
        .cells = cells->stream_cells,
        .streams = cells->streams,
        .row_bytes = (int64_t)slot->slot_bytes,
    };
    if (slot->kind == SPEC_KV_STATE) {
        group->cells = 1;
        group->streams = options->parallel;
        group->row_bytes = (int64_t)slot->sequence_bytes;
    } else if (slot->window_tokens != 0 && !options->swa_full) {
        group->cells = window_cells(options, slot->window_tokens, cells->stream_cells);
    }
    group->bytes = group->cells * group->streams * group->row_bytes;
    cells->bytes += group->bytes;
}

void kv_cells_make(const struct spec_kv_layout *layout, const struct kv_cells_options *options,
                   struct kv_cells *out)
{
    struct kv_cells_options full = with_defaults(options);
    uint32_t streams = full.unified ? 1 : full.parallel;
    *out = (struct kv_cells){
        .slots = full.parallel,
        .streams = streams,
        .stream_cells = pad((full.ctx_tokens + streams - 1) / streams, full.pad_tokens),
    };
    out->slot_tokens = out->stream_cells;
    for (size_t i = 0; i < layout->group_count; i++)
        add_group(&full, &layout->groups[i], out);
    out->pool_bytes = out->bytes;
}
