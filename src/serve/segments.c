#include "serve/segments.h"

#include "base/mem.h"

enum { FIRST_ARRIVALS_SHIFT = 4 };

void serve_segments_begin(struct serve *serve)
{
    serve->segment_shift = FIRST_ARRIVALS_SHIFT;
    serve->result->segment_arrivals = (int64_t)1 << FIRST_ARRIVALS_SHIFT;
    serve->has_segment_hists = serve->is_steady && serve->config->replications == 1;
    size_t class_count = serve->config->workload.class_count;
    serve->gaps_before = base_arena_array(&serve->arena, class_count, sizeof *serve->gaps_before);
    for (size_t i = 0; i < class_count; i++) {
        stats_hist_init_bucketed(&serve->gaps_before[i]);
    }
}

void serve_segments_end(struct serve *serve)
{
    for (size_t i = 0; serve->gaps_before != NULL && i < serve->config->workload.class_count; i++) {
        stats_hist_release(&serve->gaps_before[i]);
    }
}

void serve_segment_release(struct serve_segment *segment)
{
    for (size_t m = 0; segment->hists != NULL && m < SPEC_METRIC_COUNT; m++) {
        stats_hist_release(&segment->hists[m]);
    }
    base_free(segment->hists);
    segment->hists = NULL;
}

/* ---- histograms, where they are wanted ---- */

static struct stats_hist *hists_of(struct serve_segment *segment)
{
    if (segment->hists == NULL) {
        segment->hists = base_alloc(SPEC_METRIC_COUNT * sizeof *segment->hists);
        for (size_t m = 0; m < SPEC_METRIC_COUNT; m++) {
            stats_hist_init_bucketed(&segment->hists[m]);
        }
    }
    return segment->hists;
}

static void merge_hists(struct serve_segment *into, struct serve_segment *from)
{
    if (from->hists == NULL) {
        return;
    }
    struct stats_hist *hists = hists_of(into);
    for (size_t m = 0; m < SPEC_METRIC_COUNT; m++) {
        stats_hist_merge(&hists[m], &from->hists[m]);
    }
    serve_segment_release(from);
}

/* ---- merging ---- */

static void merge_into(struct serve_segment *into, struct serve_segment *from)
{
    for (size_t m = 0; m < SPEC_METRIC_COUNT; m++) {
        into->value_count[m] += from->value_count[m];
        into->value_sum_ns[m] += from->value_sum_ns[m];
    }
    for (size_t i = 0; i < SERVE_SPAN_COUNT; i++) {
        into->span[i] += from->span[i];
    }
    into->end_waiting = from->end_waiting;
    merge_hists(into, from);
    *from = (struct serve_segment){0};
}

static void merge_neighbours(struct serve *serve)
{
    struct serve_segment *segments = serve->result->segments;
    for (size_t i = 0; i < SERVE_SEGMENTS / 2; i++) {
        merge_into(&segments[2 * i], &segments[2 * i + 1]);
        if (i > 0) {
            segments[i] = segments[2 * i];
            segments[2 * i] = (struct serve_segment){0};
        }
    }
    serve->result->segment_count = SERVE_SEGMENTS / 2;
    serve->result->segment_arrivals *= 2;
    serve->segment_shift++;
}

/* ---- the load between arrivals ---- */

// Sums from time 0 to now.
static void read_load(struct serve *serve, base_i128 now, base_i128 load[SERVE_SPAN_COUNT])
{
    load[SERVE_SPAN_TICKS] = now;
    load[SERVE_SPAN_IN_FLIGHT] =
        serve->result->in_flight_ticks + serve->in_flight * (now - serve->in_flight_since);
    for (uint32_t i = 0; i < serve->config->replica_count; i++) {
        struct serve_integrals sums;
        serve_tally_at(&serve->replicas[i].tally, now, &sums);
        load[SERVE_SPAN_RUNNING] += sums.running;
        load[SERVE_SPAN_WAITING] += sums.waiting;
        load[SERVE_SPAN_BUSY] += sums.busy;
        load[SERVE_SPAN_PREFILL_BUSY] += sums.prefill_busy;
        load[SERVE_SPAN_LOWER_BOUND_BYTES] +=
            kv_paged_lower_bound_bytes(&serve->replicas[i].pool, sums.live_tokens, sums.running,
                                       sums.kept_sequences, sums.visible_tokens);
        load[SERVE_SPAN_USED_BLOCKS] += sums.used_blocks;
    }
    load[SERVE_SPAN_ARRIVED] = (base_i128)serve->arrived;
    for (size_t i = SERVE_SPAN_COMPLETED; i < SERVE_SPAN_COUNT; i++) {
        load[i] = serve->segment_totals[i];
    }
}

// Gaps between tokens are counted by class; a segment has what was added since the last one ended.
static void take_gaps(struct serve *serve, struct serve_segment *segment)
{
    for (size_t i = 0; i < serve->config->workload.class_count; i++) {
        stats_hist_take_since(&hists_of(segment)[SPEC_ITL],
                              &serve->result->classes[i].metric[SPEC_ITL], &serve->gaps_before[i]);
    }
}

static void end_segment(struct serve *serve, base_i128 now)
{
    struct serve_result *result = serve->result;
    base_i128 load[SERVE_SPAN_COUNT] = {0};
    read_load(serve, now, load);
    struct serve_segment *segment = &result->segments[result->segment_count++];
    for (size_t i = 0; i < SERVE_SPAN_COUNT; i++) {
        segment->span[i] = load[i] - serve->segment_start[i];
        serve->segment_start[i] = load[i];
    }
    for (uint32_t i = 0; i < serve->config->replica_count; i++) {
        segment->end_waiting += serve->replicas[i].tally.waiting;
    }
    if (serve->has_segment_hists) {
        take_gaps(serve, segment);
    }
}

bool serve_segments_note_arrival(struct serve *serve, base_i128 now)
{
    if (++serve->segment_arrived <= serve->result->segment_arrivals) {
        return false;
    }
    serve->segment_arrived = 1;
    end_segment(serve, now);
    return true;
}

void serve_segments_make_room(struct serve *serve)
{
    if (serve->result->segment_count == SERVE_SEGMENTS) {
        merge_neighbours(serve);
    }
}

void serve_segments_note_completion(struct serve *serve, bool is_good, int64_t prompt_tokens,
                                    int64_t output_tokens)
{
    serve->segment_totals[SERVE_SPAN_COMPLETED]++;
    serve->segment_totals[SERVE_SPAN_GOOD] += is_good ? 1 : 0;
    serve->segment_totals[SERVE_SPAN_PROMPT_TOKENS] += prompt_tokens;
    serve->segment_totals[SERVE_SPAN_OUTPUT_TOKENS] += output_tokens;
}

/* ---- values of requests ---- */

void serve_segments_add(struct serve *serve, uint64_t index, enum spec_metric metric,
                        int64_t value_ns)
{
    struct serve_segment *segment = &serve->result->segments[index >> serve->segment_shift];
    segment->value_count[metric]++;
    segment->value_sum_ns[metric] += value_ns;
    if (serve->has_segment_hists) {
        stats_hist_add(&hists_of(segment)[metric], value_ns, 1);
    }
}
