#include "conformance/program_output.h"

#include "support/json.h"
#include "support/scratch.h"

#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const struct ref_input *input;
    struct ref_output *out;
    char *why;
    size_t why_bytes;
};

static bool fail(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->why, reader->why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static int64_t find(const struct ref_input *input, const char *id, size_t length)
{
    for (int64_t i = 0; i < input->request_count; i++) {
        if (strlen(input->requests[i].id) == length &&
            strncmp(input->requests[i].id, id, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- --steps ---- */

enum { COLUMNS_MAX = 64 };

struct row {
    char *header[COLUMNS_MAX], *cells[COLUMNS_MAX];
    size_t columns, count;
};

// Cuts a line at its commas, in place; no cell here is quoted.
static size_t cut(char *line, char **cells)
{
    size_t count = 0;
    for (char *at = line; at != NULL && count < COLUMNS_MAX;) {
        cells[count++] = at;
        at = strchr(at, ',');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    return count;
}

static const char *cell(const struct row *row, const char *name)
{
    for (size_t i = 0; i < row->columns && i < row->count; i++) {
        if (strcmp(row->header[i], name) == 0) {
            return row->cells[i];
        }
    }
    return NULL;
}

static bool read_integer(struct reader *reader, const struct row *row, const char *name,
                         int64_t *out)
{
    const char *text = cell(row, name);
    char *end = NULL;
    *out = text != NULL ? strtoll(text, &end, 10) : 0;
    return (text != NULL && end != text && *end == '\0') ||
           fail(reader, "steps: column %s is not a number", name);
}

// "id:tokens id:tokens" or "id id", in order; returns how many.
static bool read_list(struct reader *reader, const struct row *row, const char *name,
                      struct ref_item **out, int64_t *count)
{
    const char *text = cell(row, name);
    *count = 0;
    *out = zeroed(text != NULL ? strlen(text) : 0, sizeof **out);
    if (text == NULL) {
        return fail(reader, "steps: no column %s", name);
    }
    while (*text != '\0') {
        size_t length = strcspn(text, ": ");
        struct ref_item item = {find(reader->input, text, length), 0};
        if (item.request < 0) {
            return fail(reader, "steps: %s: '%.*s' is nobody", name, (int)length, text);
        }
        text += length;
        if (*text == ':') {
            char *end;
            item.tokens = strtoll(text + 1, &end, 10);
            text = end;
        }
        text += *text == ' ' ? 1 : 0;
        (*out)[(*count)++] = item;
    }
    return true;
}

static bool read_ids(struct reader *reader, const struct row *row, const char *name, int64_t **out,
                     int64_t *count)
{
    struct ref_item *items;
    bool good = read_list(reader, row, name, &items, count);
    *out = zeroed((size_t)*count, sizeof **out);
    for (int64_t i = 0; i < *count; i++) {
        (*out)[i] = items[i].request;
    }
    free(items);
    return good;
}

static bool read_ledger(struct reader *reader, const struct row *row, struct ref_step *step)
{
    int64_t foreign = 0, bytes;
    for (int line = 0; line < REF_LINES; line++) {
        if (!read_integer(reader, row, ref_line_name((enum ref_line)line),
                          &step->ledger_tokens[line])) {
            return false;
        }
    }
    static const char *const others[] = {"replicated", "padded", "scales"};
    for (size_t i = 0; i < 3; i++) {
        if (!read_integer(reader, row, others[i], &bytes)) {
            return false;
        }
        foreign += bytes;
    }
    int64_t sum = step->ledger_tokens[REF_LOWER_BOUND] + step->ledger_tokens[REF_BLOCK_ROUNDING] +
                  step->ledger_tokens[REF_OUT_OF_WINDOW] + step->ledger_tokens[REF_RESERVED] -
                  step->ledger_tokens[REF_SHARED];
    return (read_integer(reader, row, "allocated", &bytes) && bytes == sum && foreign == 0) ||
           fail(reader, "steps: the ledger's lines do not add up to allocated");
}

static bool read_step(struct reader *reader, const struct row *row, int64_t number,
                      struct ref_step *step)
{
    const struct {
        const char *name;
        int64_t *to;
    } integers[] = {{"sched_ns", &step->sched_ns},
                    {"start_ns", &step->start_ns},
                    {"end_ns", &step->end_ns},
                    {"prefill_tokens", &step->shape.prefill_tokens},
                    {"decode_seqs", &step->shape.decode_seqs},
                    {"context_tokens", &step->shape.context_tokens},
                    {"running", &step->running},
                    {"waiting", &step->waiting},
                    {"free_blocks", &step->free_blocks},
                    {"used_blocks", &step->used_blocks},
                    {"cached_blocks", &step->cached_idle_blocks},
                    {"running_end", &step->running_end},
                    {"free_blocks_end", &step->free_blocks_end}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        if (!read_integer(reader, row, integers[i].name, integers[i].to)) {
            return false;
        }
    }
    int64_t replication, replica, step_number;
    bool good = read_integer(reader, row, "replication", &replication) &&
                read_integer(reader, row, "replica", &replica) &&
                read_integer(reader, row, "step", &step_number);
    if (!good || replication != 1 || replica != 0 || step_number != number) {
        return fail(reader, "steps: row %lld is of another step", (long long)number);
    }
    const char *out = cell(row, "swapped_out"), *in = cell(row, "swapped_in");
    if (out == NULL || in == NULL || *out != '\0' || *in != '\0') {
        return fail(reader, "steps: swaps where there are none");
    }
    return read_list(reader, row, "scheduled", &step->scheduled, &step->scheduled_count) &&
           read_ids(reader, row, "admitted", &step->admitted, &step->admitted_count) &&
           read_ids(reader, row, "preempted", &step->preempted, &step->preempted_count) &&
           read_ids(reader, row, "finished", &step->finished, &step->finished_count) &&
           read_ledger(reader, row, step);
}

static bool read_steps(struct reader *reader)
{
    size_t bytes;
    char *text = scratch_read("steps.csv", &bytes);
    if (text == NULL) {
        return fail(reader, "no steps.csv");
    }
    int64_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    reader->out->steps = zeroed((size_t)lines, sizeof *reader->out->steps);
    struct row row = {.columns = 0};
    bool good = true;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && good;
         line = strtok_r(NULL, "\n", &rest)) {
        if (row.columns == 0) {
            row.columns = cut(line, row.header);
            continue;
        }
        row.count = cut(line, row.cells);
        int64_t number = ++reader->out->step_count;
        good = read_step(reader, &row, number, &reader->out->steps[number - 1]);
    }
    free(text);
    return good;
}

/* ---- request_detail ---- */

static enum ref_outcome outcome_of(const char *name)
{
    static const char *const names[] = {[REF_COMPLETED] = "completed",
                                        [REF_REJECTED] = "rejected",
                                        [REF_TIMED_OUT] = "timed_out",
                                        [REF_ABORTED] = "aborted"};
    for (size_t i = REF_COMPLETED; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            return (enum ref_outcome)i;
        }
    }
    return REF_PENDING;
}

static int64_t ns_of(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL
               ? REF_NEVER
               : llround(sqlite3_column_double(row, column) * 1e6);
}

static int64_t after(int64_t arrival_ns, int64_t ns)
{
    return ns == REF_NEVER ? REF_NEVER : arrival_ns + ns;
}

static void read_request(sqlite3_stmt *row, struct ref_request_out *out)
{
    const char *finish = (const char *)sqlite3_column_text(row, 2);
    int64_t arrival_ns = ns_of(row, 3), finish_ns = ns_of(row, 6);
    *out =
        (struct ref_request_out){.outcome = outcome_of((const char *)sqlite3_column_text(row, 1)),
                                 .finish = strcmp(finish, "stop") == 0     ? REF_FINISH_STOP
                                           : strcmp(finish, "length") == 0 ? REF_FINISH_LENGTH
                                                                           : REF_FINISH_NONE,
                                 .arrival_ns = arrival_ns,
                                 .first_scheduled_ns = after(arrival_ns, ns_of(row, 4)),
                                 .first_token_ns = after(arrival_ns, ns_of(row, 5)),
                                 .finish_ns = finish_ns,
                                 .output_tokens = sqlite3_column_int64(row, 7),
                                 .preemptions = sqlite3_column_int64(row, 8),
                                 .cached_tokens = sqlite3_column_int64(row, 9),
                                 .cached_tokens_total = sqlite3_column_int64(row, 10),
                                 .computed_tokens = sqlite3_column_int64(row, 11),
                                 .recomputed_tokens = sqlite3_column_int64(row, 12)};
}

static bool read_requests_of(struct reader *reader, sqlite3 *database)
{
    static const char query[] =
        "SELECT request_id, outcome, finish_reason, arrival_ms, queue_ms, ttft_ms, finish_ms, "
        "output_tokens, preemptions, "
        "cached_tokens, cached_tokens_total, computed_tokens, recomputed_tokens FROM "
        "request_detail "
        "WHERE run_id = (SELECT max(run_id) FROM run_summary) AND replication = 1";
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(database, query, -1, &row, NULL) != SQLITE_OK) {
        return fail(reader, "request_detail: %s", sqlite3_errmsg(database));
    }
    bool good = true;
    int64_t count = 0;
    for (; good && sqlite3_step(row) == SQLITE_ROW; count++) {
        const char *id = (const char *)sqlite3_column_text(row, 0);
        int64_t index = find(reader->input, id, strlen(id));
        good = index >= 0 || fail(reader, "request_detail: '%s' is nobody", id);
        if (good) {
            read_request(row, &reader->out->requests[index]);
        }
    }
    sqlite3_finalize(row);
    return good && (count == reader->input->request_count ||
                    fail(reader, "request_detail: %lld rows", (long long)count));
}

static bool read_requests(struct reader *reader)
{
    sqlite3 *database = NULL;
    bool good = sqlite3_open_v2("run.db", &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK;
    good = good ? read_requests_of(reader, database)
                : fail(reader, "run.db: %s", sqlite3_errmsg(database));
    sqlite3_close(database);
    return good;
}

/* ---- --format json ---- */

// Counts are means over one replication: whole numbers.
static bool read_total(struct reader *reader, const struct json_value *run, const char *key,
                       int64_t *out)
{
    const struct json_value *value = json_get(run, key);
    if (value == NULL || value->kind != JSON_NUMBER) {
        return fail(reader, "run: no number '%s'", key);
    }
    double number = strtod(value->text, NULL);
    *out = llround(number);
    return (double)*out == number || fail(reader, "run: '%s' is %s", key, value->text);
}

static bool read_totals(struct reader *reader)
{
    struct ref_totals *totals = &reader->out->totals;
    struct json_value *run = json_read_file("run.json");
    const struct {
        const char *key;
        int64_t *to;
    } all[] = {{"steps", &totals->steps},
               {"completed", &totals->finished},
               {"rejected", &totals->rejected},
               {"timed_out", &totals->timed_out},
               {"aborted", &totals->aborted},
               {"output_tokens", &totals->output_tokens},
               {"computed_tokens", &totals->computed_tokens},
               {"recomputed_tokens", &totals->recomputed_tokens},
               {"preemptions", &totals->preemptions},
               {"used_blocks_peak", &totals->peak_used_blocks},
               {"lookup_tokens", &totals->lookup_tokens},
               {"evicted_blocks", &totals->evicted_blocks}};
    bool good = true;
    for (size_t i = 0; i < sizeof all / sizeof *all && good; i++) {
        good = read_total(reader, run, all[i].key, all[i].to);
    }
    const struct json_value *duration = json_get(run, "duration_s"),
                            *busy = json_get(run, "busy_fraction");
    if (good && duration != NULL && busy != NULL) {
        double ns = strtod(duration->text, NULL) * 1e9;
        // Floors of exact times; a double has 15 digits of them.
        totals->end_ns = (int64_t)floor(ns + 1e-4);
        totals->busy_ns = (int64_t)floor(ns * strtod(busy->text, NULL) + 1e-4);
    }
    json_free(run);
    return good;
}

static void add_cached(struct ref_output *out)
{
    for (int64_t i = 0; i < out->request_count; i++) {
        out->totals.cached_tokens += out->requests[i].cached_tokens_total;
    }
}

bool program_output(const struct ref_input *input, struct ref_output *out, char *why,
                    size_t why_bytes)
{
    *out = (struct ref_output){.verdict = REF_DONE, .request_count = input->request_count};
    out->requests = zeroed((size_t)input->request_count, sizeof *out->requests);
    struct reader reader = {input, out, why, why_bytes};
    bool good = read_steps(&reader) && read_requests(&reader) && read_totals(&reader);
    add_cached(out);
    return good;
}
