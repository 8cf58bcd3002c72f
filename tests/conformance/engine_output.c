#include "conformance/engine_output.h"

#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

// engine_run names the i-th request of the input "#i".
static int64_t index_of(const char *id)
{
    return strtoll(id + 1, NULL, 10);
}

static int64_t *indices(const struct record_list_item *items, size_t count)
{
    int64_t *out = zeroed(count, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        out[i] = index_of(items[i].id);
    }
    return out;
}

// Slots are bytes here, so a line in bytes is one in tokens; lines that the reference does not know
// must be empty.
static void copy_ledger(const int64_t *bytes, int64_t *tokens)
{
    for (size_t i = 0; i < RECORD_LEDGER_LINES; i++) {
        int line = 0;
        while (line < REF_LINES &&
               strcmp(ref_line_name((enum ref_line)line), record_ledger_name(i)) != 0) {
            line++;
        }
        if (line < REF_LINES) {
            tokens[line] = bytes[i];
        } else if (bytes[i] != 0) {
            tokens[REF_POOL] = -1;
        }
    }
}

static void copy_step(const struct record_step *row, struct ref_step *out)
{
    *out = (struct ref_step){.sched_ns = row->sched_ns,
                             .start_ns = row->start_ns,
                             .end_ns = row->end_ns,
                             .shape = {.prefill_tokens = row->prefill_tokens,
                                       .decode_seqs = row->decode_seqs,
                                       .context_tokens = row->context_tokens},
                             .scheduled = zeroed(row->scheduled_count, sizeof *out->scheduled),
                             .scheduled_count = (int64_t)row->scheduled_count,
                             .admitted = indices(row->admitted, row->admitted_count),
                             .admitted_count = (int64_t)row->admitted_count,
                             .preempted = indices(row->preempted, row->preempted_count),
                             .preempted_count = (int64_t)row->preempted_count,
                             .finished = indices(row->finished, row->finished_count),
                             .finished_count = (int64_t)row->finished_count,
                             .running = row->running,
                             .waiting = row->waiting,
                             .free_blocks = row->free_blocks,
                             .used_blocks = row->used_blocks,
                             .cached_idle_blocks = row->cached_blocks,
                             .running_end = row->running_end,
                             .free_blocks_end = row->free_blocks_end};
    for (size_t i = 0; i < row->scheduled_count; i++) {
        out->scheduled[i] =
            (struct ref_item){index_of(row->scheduled[i].id), row->scheduled[i].tokens};
    }
    copy_ledger(row->ledger_bytes, out->ledger_tokens);
}

static enum ref_outcome outcome_of(enum record_outcome outcome)
{
    switch (outcome) {
    case RECORD_OUTCOME_COMPLETED:
        return REF_COMPLETED;
    case RECORD_OUTCOME_REJECTED:
        return REF_REJECTED;
    case RECORD_OUTCOME_TIMED_OUT:
        return REF_TIMED_OUT;
    case RECORD_OUTCOME_ABORTED:
        return REF_ABORTED;
    default:
        return REF_PENDING;
    }
}

// The row has the floor of a difference; where the arrival lies between two ns the token's own
// floor may be one more. It is the end of a step.
static int64_t first_token_ns(const struct engine_run *run, const struct record_request *row)
{
    if (row->ttft_ns < 0) {
        return REF_NEVER;
    }
    int64_t at = row->arrival_ns + row->ttft_ns, later = REF_NEVER;
    for (size_t i = 0; i < run->steps.count; i++) {
        int64_t end = run->steps.at[i].row.end_ns;
        if (end == at) {
            return at;
        }
        later = end == at + 1 ? end : later;
    }
    return later;
}

static void copy_request(const struct engine_run *run, const struct record_request *row,
                         struct ref_request_out *out)
{
    *out = (struct ref_request_out){
        .outcome = outcome_of(row->outcome),
        .finish = row->finish_reason == RECORD_FINISH_STOP     ? REF_FINISH_STOP
                  : row->finish_reason == RECORD_FINISH_LENGTH ? REF_FINISH_LENGTH
                                                               : REF_FINISH_NONE,
        .arrival_ns = row->arrival_ns,
        .first_scheduled_ns = row->queue_ns >= 0 ? row->arrival_ns + row->queue_ns : REF_NEVER,
        .first_token_ns = first_token_ns(run, row),
        .finish_ns = row->finish_ns,
        .arrival_order = (int64_t)row->index,
        .output_tokens = row->output_tokens,
        .preemptions = row->preemptions,
        .cached_tokens = row->cached_tokens,
        .cached_tokens_total = row->cached_tokens_total,
        .computed_tokens = row->computed_tokens,
        .recomputed_tokens = row->recomputed_tokens};
}

static void copy_totals(const struct serve_result *result, struct ref_totals *out)
{
    const struct serve_replica_result *replica = &result->replicas[0];
    *out = (struct ref_totals){.steps = (int64_t)replica->steps,
                               .end_ns = base_ticks_floor_ns(result->end_ticks),
                               .busy_ns = base_ticks_floor_ns(replica->whole.busy),
                               .finished = (int64_t)result->outcomes[RECORD_OUTCOME_COMPLETED],
                               .rejected = (int64_t)result->outcomes[RECORD_OUTCOME_REJECTED],
                               .timed_out = (int64_t)result->outcomes[RECORD_OUTCOME_TIMED_OUT],
                               .aborted = (int64_t)result->outcomes[RECORD_OUTCOME_ABORTED],
                               .output_tokens = result->output_tokens,
                               .computed_tokens = replica->computed_tokens,
                               .recomputed_tokens = result->recomputed_tokens,
                               .cached_tokens = replica->hit_tokens,
                               .lookup_tokens = replica->lookup_tokens,
                               .evicted_blocks = replica->evicted_blocks,
                               .preemptions = (int64_t)replica->preemptions,
                               .peak_used_blocks = replica->peak.used_blocks};
}

void engine_output(const struct ref_input *input, const struct engine_run *run,
                   struct ref_output *out)
{
    *out = (struct ref_output){.verdict = run->result.status == SERVE_STUCK ? REF_STUCK : REF_DONE,
                               .step_count = (int64_t)run->steps.count,
                               .request_count = input->request_count};
    out->steps = zeroed(run->steps.count, sizeof *out->steps);
    out->requests = zeroed((size_t)input->request_count, sizeof *out->requests);
    for (size_t i = 0; i < run->steps.count; i++) {
        copy_step(&run->steps.at[i].row, &out->steps[i]);
    }
    for (size_t i = 0; i < run->requests.count; i++) {
        const struct record_request *row = &run->requests.at[i];
        copy_request(run, row, &out->requests[index_of(row->id)]);
    }
    copy_totals(&run->result, &out->totals);
}
