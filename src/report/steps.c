#include "report/steps.h"

#include "base/mem.h"
#include "base/text.h"
#include "report/csv.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void ignore_request(struct record_sink *sink, const struct record_request *row)
{
    (void)sink;
    (void)row;
}

static void ignore_sample(struct record_sink *sink, const struct record_sample *row)
{
    (void)sink;
    (void)row;
}

static void write_step(struct record_sink *sink, const struct record_step *row)
{
    struct report_steps *steps = (struct report_steps *)sink;
    if (steps->failure != 0)
        return;
    report_steps_write_row(steps->file, row);
    if (ferror(steps->file))
        steps->failure = errno != 0 ? errno : EIO;
}

static const struct record_sink_ops steps_ops = {
    .on_request = ignore_request, .on_step = write_step, .on_sample = ignore_sample};

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

static enum kvsim_status fail_steps(struct kvsim_error *err, const char *path, const char *doing,
                                    int failure)
{
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_IO, "cannot %s: %s", doing, strerror(failure));
    base_error_at(err, path, 0, 0);
    return status;
}

static void release(struct report_steps *steps)
{
    base_free(steps->path);
    base_free(steps->temporary_path);
    *steps = (struct report_steps){0};
}

static char *copy(const char *text)
{
    struct base_text to = {0};
    base_text_add(&to, text);
    return to.at;
}

/* Renaming over a symbolic link would replace the link; the file that it leads to is meant. */
static char *resolve(const char *path)
{
    enum { LINKS_MAX = 16, LINK_BYTES = 4096 };
    struct base_text at = {0};
    base_text_add(&at, path);
    for (int i = 0; i < LINKS_MAX; i++) {
        char target[LINK_BYTES];
        ssize_t length = readlink(at.at, target, sizeof target);
        if (length <= 0 || (size_t)length == sizeof target)
            break;
        const char *slash = strrchr(at.at, '/');
        if (target[0] == '/' || slash == NULL)
            base_text_clear(&at);
        else
            at.count = (size_t)(slash - at.at) + 1;
        base_text_add_n(&at, target, (size_t)length);
    }
    return at.at;
}

enum kvsim_status report_steps_open(struct report_steps *steps, const char *path,
                                    struct kvsim_error *err)
{
    *steps = (struct report_steps){.sink = {.ops = &steps_ops, .wants_steps = true}};
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    if (is_there && S_ISDIR(info.st_mode))
        return fail_steps(err, path, "write the steps", EISDIR);
    if (is_there && S_ISREG(info.st_mode) && access(path, W_OK) != 0)
        return fail_steps(err, path, "write the steps", errno);
    if (is_there && !S_ISREG(info.st_mode)) {
        steps->path = copy(path);
        steps->file = fopen(path, "w");
    } else {
        steps->path = resolve(path);
        struct base_text name = {0};
        base_text_printf(&name, "%s.%ld.tmp", steps->path, (long)getpid());
        steps->temporary_path = name.at;
        steps->file = fopen(steps->temporary_path, "wx");
    }
    if (steps->file == NULL) {
        enum kvsim_status status = fail_steps(err, path, "write the steps", errno);
        release(steps);
        return status;
    }
    report_steps_write_header(steps->file);
    return KVSIM_OK;
}

enum kvsim_status report_steps_finish(struct report_steps *steps, struct kvsim_error *err)
{
    if (fflush(steps->file) != 0 && steps->failure == 0)
        steps->failure = errno;
    if (fclose(steps->file) != 0 && steps->failure == 0)
        steps->failure = errno;
    if (steps->failure == 0 && steps->temporary_path != NULL &&
        rename(steps->temporary_path, steps->path) != 0)
        steps->failure = errno;
    enum kvsim_status status = KVSIM_OK;
    if (steps->failure != 0) {
        status = fail_steps(err, steps->path, "write the steps", steps->failure);
        if (steps->temporary_path != NULL)
            unlink(steps->temporary_path);
    }
    release(steps);
    return status;
}

void report_steps_abandon(struct report_steps *steps)
{
    fclose(steps->file);
    if (steps->temporary_path != NULL)
        unlink(steps->temporary_path);
    release(steps);
}
