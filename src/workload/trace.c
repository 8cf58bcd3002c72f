/*
 * Reading a trace row by row. The format is known by the name of its time column; all others are
 * found by name, wherever they stand. Rows must be sorted by time; equal times keep the order of
 * the file.
 */
#include "workload/workload_int.h"

#include "base/text.h"
#include "conf/rows.h"

#include <limits.h>
#include <string.h>

#define LENGTH_MAX WORKLOAD_LENGTH_MAX

enum time_kind { TIME_SECONDS, TIME_MILLISECONDS, TIME_WALL };

struct format {
    const char *name;
    const char *time, *prompt, *output;
    const char *mark; /* a further column that tells it from the next format; NULL = none needed */
    enum time_kind time_kind;
    bool has_failed_rows;      /* no output = a request that failed: left out and counted */
    int64_t hash_block_tokens; /* of one of its hash_ids */
};

static const struct format formats[] = {
    {"Azure", "TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL, TIME_WALL, false, 512},
    {"BurstGPT", "Timestamp", "Request tokens", "Response tokens", NULL, TIME_SECONDS, true, 512},
    {"Qwen", "timestamp", "input_length", "output_length", "chat_id", TIME_SECONDS, false, 16},
    {"Mooncake", "timestamp", "input_length", "output_length", NULL, TIME_MILLISECONDS, false, 512},
    {"plain", "arrival_s", "input_tokens", "output_tokens", NULL, TIME_SECONDS, false, 512},
};

enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

/* Columns that hold lengths in files without times. */
static const char *const length_columns[] = {
    "num_prefill_tokens", "num_decode_tokens", "input_tokens", "output_tokens",
    "ContextTokens",      "Request tokens",    "input_length", "prompt_tokens"};

struct columns {
    int time, prompt, output, id, class, session, priority, n, max_tokens, prompt_ranges, hash_ids,
        hash_block_tokens;
};

struct workload_trace {
    struct conf_rows *rows;
    const struct format *format;
    struct columns columns;
    size_t column_count;
    bool has_first;
    int64_t first_ns; /* wall clock of the first row */
    int64_t last_ns;
    uint64_t row_count, skipped_count;
    int64_t hash_block_tokens;
    struct workload_runs runs; /* of the current row */
};

static const struct format *find_format(const struct conf_rows *rows)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (conf_rows_column(rows, formats[i].time) >= 0 &&
            (formats[i].mark == NULL || conf_rows_column(rows, formats[i].mark) >= 0))
            return &formats[i];
    }
    return NULL;
}

static enum kvsim_status fail_format(const struct conf_rows *rows, struct kvsim_error *err)
{
    enum kvsim_status status;

    for (size_t i = 0; i < sizeof length_columns / sizeof length_columns[0]; i++) {
        int column = conf_rows_column(rows, length_columns[i]);

        if (column < 0)
            continue;
        status = conf_rows_fail(
            rows, column, err, "no-arrivals",
            "the file has lengths ('%s') but no column of arrival times, so it is no trace",
            length_columns[i]);
        base_error_hint(
            err, "it can serve as an 'empirical' distribution of prompt_tokens or output_tokens");
        return status;
    }
    status =
        conf_rows_fail(rows, 0, err, "unknown-trace", "the columns are those of no known trace");
    base_error_hint(err, "known: Azure (TIMESTAMP), BurstGPT (Timestamp), Mooncake and Qwen "
                         "(timestamp), plain (arrival_s, "
                         "input_tokens, output_tokens)");
    return status;
}

static void find_columns(struct workload_trace *trace)
{
    const struct conf_rows *rows = trace->rows;

    trace->column_count = conf_rows_column_count(rows);
    trace->columns = (struct columns){
        .time = conf_rows_column(rows, trace->format->time),
        .prompt = conf_rows_column(rows, trace->format->prompt),
        .output = conf_rows_column(rows, trace->format->output),
        .id = conf_rows_column(rows, "id"),
        .class = conf_rows_column(rows, "class"),
        .session = conf_rows_column(rows, "session"),
        .priority = conf_rows_column(rows, "priority"),
        .n = conf_rows_column(rows, "n"),
        .max_tokens = conf_rows_column(rows, "max_tokens"),
        .prompt_ranges = conf_rows_column(rows, "prompt_ranges"),
        .hash_ids = conf_rows_column(rows, "hash_ids"),
        .hash_block_tokens = conf_rows_column(rows, "hash_block_tokens"),
    };
    if (trace->columns.id < 0)
        trace->columns.id = conf_rows_column(rows, "request_id");
}

static enum kvsim_status need_columns(const struct workload_trace *trace, struct kvsim_error *err)
{
    const struct format *format = trace->format;
    const char *missing = NULL;

    if (trace->columns.prompt < 0 && trace->columns.prompt_ranges < 0)
        missing = format->prompt;
    else if (trace->columns.output < 0)
        missing = format->output;
    if (missing == NULL)
        return KVSIM_OK;
    return conf_rows_fail(trace->rows, trace->columns.time, err, "missing-column",
                          "the trace has '%s', as %s traces do, but no column '%s'", format->time,
                          format->name, missing);
}

enum kvsim_status workload_trace_open(const char *path, struct workload_trace **out,
                                      struct kvsim_error *err)
{
    struct conf_rows *rows = NULL;
    struct workload_trace *trace;
    enum kvsim_status status = conf_rows_open(path, &rows, err);

    *out = NULL;
    if (status != KVSIM_OK)
        return status;
    trace = base_alloc(sizeof *trace);
    trace->rows = rows;
    trace->format = find_format(rows);
    if (trace->format == NULL) {
        status = fail_format(rows, err);
    } else {
        trace->hash_block_tokens = trace->format->hash_block_tokens;
        find_columns(trace);
        status = need_columns(trace, err);
    }
    if (status != KVSIM_OK) {
        workload_trace_close(trace);
        return status;
    }
    *out = trace;
    return KVSIM_OK;
}

void workload_trace_close(struct workload_trace *trace)
{
    if (trace == NULL)
        return;
    conf_rows_close(trace->rows);
    base_vec_free(&trace->runs);
    base_free(trace);
}

void workload_trace_set_hash_block(struct workload_trace *trace, int64_t tokens)
{
    trace->hash_block_tokens = tokens;
}

uint64_t workload_trace_skipped(const struct workload_trace *trace)
{
    return trace->skipped_count;
}

bool workload_trace_has_class(const struct workload_trace *trace)
{
    return trace->columns.class >= 0;
}

bool workload_trace_has_session(const struct workload_trace *trace)
{
    return trace->columns.session >= 0;
}

bool workload_trace_has_content(const struct workload_trace *trace)
{
    return trace->columns.hash_ids >= 0 || trace->columns.prompt_ranges >= 0;
}

enum kvsim_status workload_trace_fail_class(const struct workload_trace *trace,
                                            struct kvsim_error *err)
{
    return conf_rows_fail(trace->rows, trace->columns.class, err, "unknown-class",
                          "class '%s' is not one of 'workload.classes'",
                          conf_rows_text(trace->rows, trace->columns.class));
}

/* `count` digits; false when there are others or too few. */
static bool take_digits(const char **text, int count, int64_t *value)
{
    *value = 0;
    for (int i = 0; i < count; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        *value = *value * 10 + (**text - '0');
    }
    return true;
}

static bool take_char(const char **text, char c)
{
    if (**text != c)
        return false;
    (*text)++;
    return true;
}

/* Up to nine digits after a point, as ns; further ones round to nothing. */
static bool take_fraction(const char **text, int64_t *ns)
{
    int64_t unit = 100000000;

    *ns = 0;
    if (!take_char(text, '.'))
        return true;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        *ns += (**text - '0') * unit;
        unit /= 10;
    }
    return true;
}

/* "", "Z" or "+HH:MM": seconds east of UTC. */
static bool take_zone(const char **text, int64_t *offset_s)
{
    int64_t hours, minutes, sign = **text == '-' ? -1 : 1;

    *offset_s = 0;
    if (**text == '\0' || (take_char(text, 'Z') && **text == '\0'))
        return true;
    if (!take_char(text, '+') && !take_char(text, '-'))
        return false;
    if (!take_digits(text, 2, &hours) || (take_char(text, ':'), !take_digits(text, 2, &minutes)) ||
        **text != '\0')
        return false;
    *offset_s = sign * (hours * 3600 + minutes * 60);
    return hours < 24 && minutes < 60;
}

/* Days from 1970-01-01 in the Gregorian calendar (H. Hinnant, chrono-compatible low-level date
 * algorithms). */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool is_date(int64_t year, int64_t month, int64_t day)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return year >= 1970 && year < 2200 && month >= 1 && month <= 12 && day >= 1 &&
           day <= lengths[month - 1] + (leap && month == 2 ? 1 : 0);
}

/* "2023-11-16 18:17:03.9799600", also with 'T' and a zone: ns since 1970. */
static bool parse_wall(const char *text, int64_t *ns)
{
    int64_t year, month, day, hour, minute, second, fraction, zone_s;

    if (!take_digits(&text, 4, &year) || !take_char(&text, '-') || !take_digits(&text, 2, &month) ||
        !take_char(&text, '-') || !take_digits(&text, 2, &day) ||
        (!take_char(&text, ' ') && !take_char(&text, 'T')))
        return false;
    if (!take_digits(&text, 2, &hour) || !take_char(&text, ':') ||
        !take_digits(&text, 2, &minute) || !take_char(&text, ':') ||
        !take_digits(&text, 2, &second) || !take_fraction(&text, &fraction) ||
        !take_zone(&text, &zone_s))
        return false;
    if (!is_date(year, month, day) || hour > 23 || minute > 59 || second > 60)
        return false;
    *ns = ((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - zone_s;
    *ns = *ns * 1000000000 + fraction;
    return true;
}

static enum kvsim_status read_wall(struct workload_trace *trace, int64_t *at_ns,
                                   struct kvsim_error *err)
{
    const char *text = conf_rows_text(trace->rows, trace->columns.time);
    int64_t ns;

    if (text == NULL || !parse_wall(text, &ns))
        return conf_rows_fail(trace->rows, trace->columns.time, err, "bad-time",
                              "'%.40s' is not a time such as 2023-11-16 18:17:03.9799600",
                              text == NULL ? "" : text);
    if (!trace->has_first)
        trace->first_ns = ns;
    *at_ns = ns - trace->first_ns;
    return KVSIM_OK;
}

static enum kvsim_status read_time(struct workload_trace *trace, int64_t *at_ns,
                                   struct kvsim_error *err)
{
    enum time_kind kind = trace->format->time_kind;
    int column = trace->columns.time;
    enum kvsim_status status;
    long long ns = 0;

    if (kind == TIME_WALL) {
        status = read_wall(trace, at_ns, err);
    } else {
        status = conf_rows_seconds(trace->rows, column, &ns, err);
        /* The number read as seconds is a thousand times too long where it counts ms. */
        *at_ns = kind == TIME_MILLISECONDS ? (ns + 500) / 1000 : ns;
    }
    if (status != KVSIM_OK)
        return status;
    if (ns < 0)
        return conf_rows_fail(trace->rows, column, err, "out-of-range",
                              "an arrival may not lie before 0");
    if (trace->has_first && *at_ns < trace->last_ns)
        return conf_rows_fail(
            trace->rows, column, err, "out-of-order",
            "the row is earlier than the one before; a trace must be sorted by time");
    trace->has_first = true;
    trace->last_ns = *at_ns;
    return KVSIM_OK;
}

static enum kvsim_status read_int(const struct workload_trace *trace, int column, int64_t low,
                                  int64_t high, int64_t *out, struct kvsim_error *err)
{
    long long value;
    enum kvsim_status status = conf_rows_int(trace->rows, column, &value, err);

    if (status != KVSIM_OK)
        return status;
    if (value < low || value > high)
        return conf_rows_fail(trace->rows, column, err, "out-of-range",
                              "'%s' is %lld, but must be from %lld to %lld",
                              conf_rows_column_name(trace->rows, (size_t)column), value,
                              (long long)low, (long long)high);
    *out = value;
    return KVSIM_OK;
}

static bool has_text(const struct workload_trace *trace, int column)
{
    const char *text = column >= 0 ? conf_rows_text(trace->rows, column) : NULL;

    return text != NULL && text[0] != '\0';
}

/* An integer where the row states one; `*out` stays as it is otherwise. */
static enum kvsim_status read_optional(const struct workload_trace *trace, int column, int64_t low,
                                       int64_t high, int64_t *out, struct kvsim_error *err)
{
    return has_text(trace, column) ? read_int(trace, column, low, high, out, err) : KVSIM_OK;
}

static enum kvsim_status read_ranges(struct workload_trace *trace, int64_t *tokens,
                                     struct kvsim_error *err)
{
    const struct columns *columns = &trace->columns;
    int64_t in_ranges = 0;
    enum kvsim_status status;

    if (!workload_runs_of_ranges(conf_rows_text(trace->rows, columns->prompt_ranges), &trace->runs,
                                 &in_ranges))
        return conf_rows_fail(trace->rows, columns->prompt_ranges, err, "bad-list",
                              "'prompt_ranges' is not a list of [first, count]");
    *tokens = in_ranges;
    status = read_optional(trace, columns->prompt, 0, LENGTH_MAX, tokens, err);
    if (status == KVSIM_OK && *tokens != in_ranges)
        return conf_rows_fail(trace->rows, columns->prompt, err, "contradiction",
                              "'%s' is %lld, but 'prompt_ranges' hold %lld", trace->format->prompt,
                              (long long)*tokens, (long long)in_ranges);
    return status;
}

static enum kvsim_status read_hash_ids(struct workload_trace *trace, struct workload_row *row,
                                       struct kvsim_error *err)
{
    const struct columns *columns = &trace->columns;
    int64_t block = trace->hash_block_tokens, needed;
    enum kvsim_status status =
        read_optional(trace, columns->hash_block_tokens, 1, WORKLOAD_HASH_BLOCK_MAX, &block, err);

    if (status != KVSIM_OK)
        return status;
    if (!workload_runs_of_ids(conf_rows_text(trace->rows, columns->hash_ids), block, &trace->runs))
        return conf_rows_fail(trace->rows, columns->hash_ids, err, "bad-list",
                              "'hash_ids' is not a list of whole numbers up to 10^15");
    needed = (row->prompt_tokens + block - 1) / block;
    if ((int64_t)trace->runs.count != needed)
        return conf_rows_fail(trace->rows, columns->hash_ids, err, "contradiction",
                              "'hash_ids' has %zu ids, but %lld tokens are %lld blocks of %lld",
                              trace->runs.count, (long long)row->prompt_tokens, (long long)needed,
                              (long long)block);
    row->hash_block_tokens = block;
    if (needed > 0)
        trace->runs.at[needed - 1].count = row->prompt_tokens - (needed - 1) * block;
    return KVSIM_OK;
}

/* The length, and what the row says of the content. */
static enum kvsim_status read_prompt(struct workload_trace *trace, struct workload_row *row,
                                     struct kvsim_error *err)
{
    const struct columns *columns = &trace->columns;
    enum kvsim_status status;

    trace->runs.count = 0;
    row->hash_block_tokens = 0;
    if (has_text(trace, columns->prompt_ranges)) {
        status = read_ranges(trace, &row->prompt_tokens, err);
    } else {
        status = read_int(trace, columns->prompt, 0, LENGTH_MAX, &row->prompt_tokens, err);
        if (status == KVSIM_OK && has_text(trace, columns->hash_ids))
            status = read_hash_ids(trace, row, err);
    }
    row->runs = trace->runs.at;
    row->run_count = trace->runs.count;
    return status;
}

static enum kvsim_status read_id(const struct workload_trace *trace, struct workload_row *row,
                                 struct kvsim_error *err)
{
    row->id =
        has_text(trace, trace->columns.id) ? conf_rows_text(trace->rows, trace->columns.id) : NULL;
    row->class_name = has_text(trace, trace->columns.class)
                          ? conf_rows_text(trace->rows, trace->columns.class)
                          : NULL;
    if (row->id != NULL && strlen(row->id) >= WORKLOAD_ID_BYTES)
        return conf_rows_fail(trace->rows, trace->columns.id, err, "too-long",
                              "an id may have %d bytes at most", WORKLOAD_ID_BYTES - 1);
    return KVSIM_OK;
}

static enum kvsim_status read_extras(const struct workload_trace *trace, struct workload_row *row,
                                     struct kvsim_error *err)
{
    const struct columns *columns = &trace->columns;
    int64_t priority = WORKLOAD_PRIORITY_NONE, sequences = 0;
    enum kvsim_status status = read_id(trace, row, err);

    row->max_tokens = 0;
    if (status == KVSIM_OK)
        status = read_optional(trace, columns->priority, WORKLOAD_PRIORITY_NONE + 1, INT32_MAX,
                               &priority, err);
    if (status == KVSIM_OK)
        status = read_optional(trace, columns->n, 1, WORKLOAD_SEQUENCES_MAX, &sequences, err);
    if (status == KVSIM_OK)
        status = read_optional(trace, columns->max_tokens, 1, LENGTH_MAX, &row->max_tokens, err);
    row->priority = (int32_t)priority;
    row->sequence_count = (uint32_t)sequences;
    return status;
}

/* The row, or *failed where it tells of a request that has no answer. */
static enum kvsim_status read_row(struct workload_trace *trace, struct workload_row *row,
                                  bool *failed, struct kvsim_error *err)
{
    bool may_fail = trace->format->has_failed_rows;
    enum kvsim_status status = read_time(trace, &row->at_ns, err);

    if (status == KVSIM_OK)
        status = read_prompt(trace, row, err);
    if (status == KVSIM_OK)
        status = read_int(trace, trace->columns.output, may_fail ? 0 : 1, LENGTH_MAX,
                          &row->output_tokens, err);
    if (status == KVSIM_OK)
        status = read_extras(trace, row, err);
    row->number = trace->row_count + trace->skipped_count;
    *failed = status == KVSIM_OK && row->output_tokens == 0;
    return status;
}

enum kvsim_status workload_trace_next(struct workload_trace *trace, struct workload_row *row,
                                      bool *more, struct kvsim_error *err)
{
    bool failed = true;

    while (failed) {
        enum kvsim_status status = conf_rows_next(trace->rows, more, err);

        if (status != KVSIM_OK)
            return status;
        if (!*more && trace->row_count == 0)
            return conf_rows_fail(trace->rows, 0, err, "empty-trace",
                                  trace->has_first
                                      ? "every request of the trace failed: no row has output"
                                      : "the trace has no rows");
        if (!*more)
            return KVSIM_OK;
        if (conf_rows_column_count(trace->rows) != trace->column_count)
            find_columns(trace);
        status = read_row(trace, row, &failed, err);
        if (status != KVSIM_OK)
            return status;
        trace->skipped_count += failed;
        trace->row_count += !failed;
    }
    return KVSIM_OK;
}
