#include "report/steps.h"

#include "base/text.h"
#include "report/csv.h"

#include <errno.h>

static void write_step(struct record_sink *sink, const struct record_step *row)
{
    struct report_steps *steps = (struct report_steps *)sink;
    if (steps->file.failure != 0)
        return;
    report_steps_write_row(steps->file.out, row);
    if (ferror(steps->file.out))
        steps->file.failure = errno != 0 ? errno : EIO;
}

static const struct record_sink_ops steps_ops = {.on_step = write_step};

void report_steps_write_header(FILE *out)
{
    fputs("replication,replica,step,sched_ns,start_ns,end_ns,prefill_tokens,decode_seqs,"
          "context_tokens,running,waiting,free_blocks,used_blocks,cached_blocks",
          out);
    for (size_t line = 0; line < RECORD_LEDGER_LINES; line++) {
        fprintf(out, ",%s", record_ledger_name(line));
        if (line == RECORD_LEDGER_SHARED)
            fputs(",allocated", out);
    }
    fputs(",scheduled,admitted,preempted,swapped_out,swapped_in,finished,running_end,"
          "free_blocks_end\n",
          out);
}

static void write_integers(FILE *out, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(out, ",%lld", (long long)values[i]);
}

/* `scratch` is used again for every list, so that a long run does not allocate. */
static void write_list(FILE *out, struct base_text *scratch, const struct record_list_item *items,
                       size_t count, bool with_tokens)
{
    base_text_clear(scratch);
    base_text_add(scratch, "");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            base_text_add(scratch, " ");
        base_text_add(scratch, items[i].id);
        if (with_tokens)
            base_text_printf(scratch, ":%lld", (long long)items[i].tokens);
    }
    fputc(',', out);
    report_csv_field(out, scratch->at);
}

void report_steps_write_row(FILE *out, const struct record_step *row)
{
    int64_t numbers[] = {(int64_t)row->step,  row->sched_ns,       row->start_ns,
                         row->end_ns,         row->prefill_tokens, row->decode_seqs,
                         row->context_tokens, row->running,        row->waiting,
                         row->free_blocks,    row->used_blocks,    row->cached_blocks};
    fprintf(out, "%lu,%lu", (unsigned long)row->replication, (unsigned long)row->replica);
    write_integers(out, numbers, sizeof numbers / sizeof *numbers);

    size_t held = RECORD_LEDGER_SHARED + 1;
    int64_t allocated_bytes = record_ledger_allocated(row->ledger_bytes);
    write_integers(out, row->ledger_bytes, held);
    write_integers(out, &allocated_bytes, 1);
    write_integers(out, row->ledger_bytes + held, RECORD_LEDGER_LINES - held);

    struct base_text scratch = {0};
    write_list(out, &scratch, row->scheduled, row->scheduled_count, true);
    write_list(out, &scratch, row->admitted, row->admitted_count, false);
    write_list(out, &scratch, row->preempted, row->preempted_count, false);
    write_list(out, &scratch, row->swapped_out, row->swapped_out_count, false);
    write_list(out, &scratch, row->swapped_in, row->swapped_in_count, false);
    write_list(out, &scratch, row->finished, row->finished_count, false);
    base_text_free(&scratch);
    fprintf(out, ",%lld,%lld\n", (long long)row->running_end, (long long)row->free_blocks_end);
}

enum kvsim_status report_steps_open(struct report_steps *steps, const char *path,
                                    struct kvsim_error *err)
{
    *steps = (struct report_steps){.sink = {.ops = &steps_ops, .wants_steps = true}};
    enum kvsim_status status = report_file_open(&steps->file, path, "write the steps", err);
    if (status == KVSIM_OK)
        report_steps_write_header(steps->file.out);
    return status;
}

enum kvsim_status report_steps_finish(struct report_steps *steps, struct kvsim_error *err)
{
    return report_file_finish(&steps->file, err);
}

void report_steps_abandon(struct report_steps *steps)
{
    report_file_abandon(&steps->file);
}
