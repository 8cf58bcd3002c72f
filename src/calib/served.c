#include "calib/served.h"

#include "base/mem.h"
#include "conf/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 31, WORD_BYTES = 128, HEAD_BYTES = 64 * 1024 };

static const size_t text_bytes_max = (size_t)512 << 20;
static const double tokens_max = 1e8, seconds_max = 1e9;

/* ---- lists of the file ---- */

enum list {
    INPUT_LENS,
    OUTPUT_LENS,
    TTFTS,
    ITLS, /* the sums */
    START_TIMES,
    ERRORS, /* 1 where there is a text */
    LIST_COUNT
};

enum item { TOKENS, SECONDS, SUM_OF_SECONDS, MESSAGE };

static const struct {
    const char *name;
    enum item item;
    bool is_needed;
} lists[LIST_COUNT] = {
    [INPUT_LENS] = {"input_lens", TOKENS, true},
    [OUTPUT_LENS] = {"output_lens", TOKENS, true},
    [TTFTS] = {"ttfts", SECONDS, true},
    [ITLS] = {"itls", SUM_OF_SECONDS, true},
    [START_TIMES] = {"start_times", SECONDS, false},
    [ERRORS] = {"errors", MESSAGE, false},
};

/* Words of the file that say what was run. */
enum word { DATE, MODEL, BACKEND, RATE, CONCURRENCY, WORD_COUNT };

static const struct {
    const char *name, *before;
} words[WORD_COUNT] = {
    [DATE] = {"date", ""},
    [MODEL] = {"model_id", ""},
    [BACKEND] = {"backend", "client "},
    [RATE] = {"request_rate", "request rate "},
    [CONCURRENCY] = {"max_concurrency", "concurrency at most "},
};

struct values {
    double *at;
    size_t count, capacity;
    bool is_there;
};

struct reader {
    const char *path;
    struct base_text text;
    struct conf_json_cursor cursor;
    struct base_text key; /* scratch */
    struct values lists[LIST_COUNT];
    char words[WORD_COUNT][WORD_BYTES]; /* "" where the file has none or null */
    struct kvsim_error *err;
};

/* ---- errors, with their place ---- */

static bool fail_at(struct reader *reader, const char *at, const char *code)
{
    int line = 1, column = 1;
    for (const char *c = reader->text.at; c < at; c++) {
        column = *c == '\n' ? 1 : column + (((unsigned char)*c & 0xC0U) != 0x80U);
        line += *c == '\n';
    }
    base_error_at(reader->err, reader->path, line, column);
    base_error_code(reader->err, code);
    return false;
}

static bool fail_syntax(struct reader *reader)
{
    struct conf_json_cursor *cursor = &reader->cursor;
    conf_json_skip_blanks(cursor);
    bool is_cut = cursor->at >= cursor->end;
    base_fail(reader->err, KVSIM_ERR_SCENARIO, "%s",
              is_cut                    ? "the file ends in the middle of a run: it was cut"
              : cursor->problem != NULL ? cursor->problem
                                        : "not JSON");
    return fail_at(reader, cursor->at, is_cut ? "cut-file" : "bad-json");
}

static bool fail_value(struct reader *reader, const char *at, enum list list, const char *needed)
{
    const char *end = at;
    while (end < reader->cursor.end && end - at < 24 && strchr(",]} \t\r\n", *end) == NULL)
        end++;
    base_fail(reader->err, KVSIM_ERR_SCENARIO, "%s[%zu] is %.*s, which is not %s", lists[list].name,
              reader->lists[list].count, (int)(end - at), at, needed);
    return fail_at(reader, at, "bad-value");
}

/* ---- values ---- */

/* A number from 0 to `max`; Python writes NaN and Infinity, and null where it had none. */
static bool take_number(struct reader *reader, enum list list, double max, const char *needed,
                        double *out)
{
    conf_json_skip_blanks(&reader->cursor);
    const char *at = reader->cursor.at;
    char *end;
    if (at >= reader->cursor.end)
        return fail_syntax(reader);
    *out = strtod(at, &end); // the text ends with '\0'
    if (!conf_json_value(&reader->cursor, DEPTH_MAX))
        return fail_syntax(reader);
    if (end != reader->cursor.at || !isfinite(*out) || *out < 0 || *out > max)
        return fail_value(reader, at, list, needed);
    return true;
}

static bool take_sum(struct reader *reader, enum list list, double *out)
{
    *out = 0;
    conf_json_skip_blanks(&reader->cursor);
    const char *at = reader->cursor.at;
    if (!conf_json_take(&reader->cursor, '['))
        return at < reader->cursor.end ? fail_value(reader, at, list, "a list of seconds")
                                       : fail_syntax(reader);
    if (conf_json_take(&reader->cursor, ']'))
        return true;
    do {
        double value;
        if (!take_number(reader, list, seconds_max, "a list of seconds", &value))
            return false;
        *out += value;
    } while (conf_json_take(&reader->cursor, ','));
    return conf_json_take(&reader->cursor, ']') || fail_syntax(reader);
}

static bool take_message(struct reader *reader, double *out)
{
    struct base_text text = {0};
    conf_json_skip_blanks(&reader->cursor);
    bool is_text = reader->cursor.at < reader->cursor.end && *reader->cursor.at == '"';
    bool ok = is_text ? conf_json_string(&reader->cursor, &text)
                      : conf_json_value(&reader->cursor, DEPTH_MAX); // null where there was none
    *out = text.count > 0 ? 1 : 0;
    base_text_free(&text);
    return ok || fail_syntax(reader);
}

static bool take_item(struct reader *reader, enum list list, double *out)
{
    switch (lists[list].item) {
    case TOKENS: {
        const char *needed = "a whole number of tokens";
        conf_json_skip_blanks(&reader->cursor);
        const char *at = reader->cursor.at;
        if (!take_number(reader, list, tokens_max, needed, out))
            return false;
        return *out == floor(*out) || fail_value(reader, at, list, needed);
    }
    case SECONDS:
        return take_number(reader, list, seconds_max, "a time in seconds", out);
    case SUM_OF_SECONDS:
        return take_sum(reader, list, out);
    case MESSAGE:
        return take_message(reader, out);
    }
    return false;
}

static bool take_list(struct reader *reader, enum list list)
{
    struct values *values = &reader->lists[list];
    conf_json_skip_blanks(&reader->cursor);
    const char *at = reader->cursor.at;
    if (values->is_there) {
        base_fail(reader->err, KVSIM_ERR_SCENARIO, "%s is there twice", lists[list].name);
        return fail_at(reader, at, "duplicate-key");
    }
    values->is_there = true;
    if (!conf_json_take(&reader->cursor, '[')) {
        if (at >= reader->cursor.end)
            return fail_syntax(reader);
        base_fail(reader->err, KVSIM_ERR_SCENARIO,
                  "%s must be a list with an item for each request", lists[list].name);
        return fail_at(reader, at, "bad-value");
    }
    if (conf_json_take(&reader->cursor, ']'))
        return true;
    do {
        double value;
        if (!take_item(reader, list, &value))
            return false;
        base_vec_push(values, value);
    } while (conf_json_take(&reader->cursor, ','));
    return conf_json_take(&reader->cursor, ']') || fail_syntax(reader);
}

/* A text without its quotes, or a number as it is written. */
static bool take_word(struct reader *reader, enum word word)
{
    conf_json_skip_blanks(&reader->cursor);
    const char *at = reader->cursor.at;
    struct base_text text = {0};
    bool is_text = at < reader->cursor.end && *at == '"';
    bool ok = is_text ? conf_json_string(&reader->cursor, &text)
                      : conf_json_value(&reader->cursor, DEPTH_MAX);
    if (ok && !is_text)
        base_text_add_n(&text, at, (size_t)(reader->cursor.at - at));
    if (ok && text.count > 0 && (is_text || strcmp(text.at, "null") != 0))
        base_copy(reader->words[word], WORD_BYTES, text.at);
    base_text_free(&text);
    return ok || fail_syntax(reader);
}

/* ---- the object ---- */

static bool take_key(struct reader *reader)
{
    base_text_clear(&reader->key);
    base_text_add(&reader->key, "");
    conf_json_skip_blanks(&reader->cursor);
    if (reader->cursor.at >= reader->cursor.end || *reader->cursor.at != '"')
        return fail_syntax(reader);
    if (!conf_json_string(&reader->cursor, &reader->key))
        return fail_syntax(reader);
    return conf_json_take(&reader->cursor, ':') || fail_syntax(reader);
}

static bool take_member(struct reader *reader)
{
    if (!take_key(reader))
        return false;
    for (int i = 0; i < LIST_COUNT; i++)
        if (strcmp(reader->key.at, lists[i].name) == 0)
            return take_list(reader, (enum list)i);
    for (int i = 0; i < WORD_COUNT; i++)
        if (strcmp(reader->key.at, words[i].name) == 0)
            return take_word(reader, (enum word)i);
    return conf_json_value(&reader->cursor, DEPTH_MAX) || fail_syntax(reader);
}

static bool take_object(struct reader *reader)
{
    if (!conf_json_take(&reader->cursor, '{'))
        return fail_syntax(reader);
    if (!conf_json_take(&reader->cursor, '}')) {
        do {
            if (!take_member(reader))
                return false;
        } while (conf_json_take(&reader->cursor, ','));
        if (!conf_json_take(&reader->cursor, '}'))
            return fail_syntax(reader);
    }
    conf_json_skip_blanks(&reader->cursor);
    if (reader->cursor.at == reader->cursor.end)
        return true;
    base_fail(reader->err, KVSIM_ERR_SCENARIO,
              *reader->cursor.at == '{'
                  ? "several runs in one file (--append-result): give one at a time"
                  : "text follows the run");
    return fail_at(reader, reader->cursor.at, "bad-json");
}

/* ---- sense ---- */

static bool fail(struct reader *reader, const char *code)
{
    base_error_at(reader->err, reader->path, 0, 0);
    base_error_code(reader->err, code);
    return false;
}

static bool check_lists(struct reader *reader)
{
    size_t count = reader->lists[INPUT_LENS].count;
    for (int i = 0; i < LIST_COUNT; i++) {
        const struct values *values = &reader->lists[i];
        if (!values->is_there && lists[i].is_needed) {
            base_fail(reader->err, KVSIM_ERR_SCENARIO, "the run has no %s", lists[i].name);
            base_error_hint(reader->err, "vllm bench serve saves what became of each request only "
                                         "with --save-result --save-detailed");
            return fail(reader, "missing-list");
        }
        if (!values->is_there || values->count == count)
            continue;
        base_fail(reader->err, KVSIM_ERR_SCENARIO,
                  "%s has %zu items and %s %zu: one for each request", lists[INPUT_LENS].name,
                  count, lists[i].name, values->count);
        return fail(reader, "unequal-lists");
    }
    return true;
}

/* Without start times arrivals are known only where all requests were sent at once. */
static bool check_arrivals(struct reader *reader)
{
    double most = strtod(reader->words[CONCURRENCY], NULL);
    bool is_limited =
        reader->words[CONCURRENCY][0] != '\0' && most < (double)reader->lists[INPUT_LENS].count;
    bool is_at_once = !is_limited && (strcmp(reader->words[RATE], "inf") == 0 ||
                                      strcmp(reader->words[RATE], "Infinity") == 0);
    if (reader->lists[START_TIMES].is_there || is_at_once)
        return true;
    base_fail(reader->err, KVSIM_ERR_SCENARIO,
              "the run has no start_times, so when its requests arrived is not known");
    base_error_hint(reader->err,
                    "newer releases of vllm bench serve save them; without them a run is "
                    "known only with an infinite request_rate and no max_concurrency");
    return fail(reader, "missing-list");
}

static bool is_failed(const struct reader *reader, size_t i)
{
    const struct values *errors = &reader->lists[ERRORS];
    return (errors->is_there && errors->at[i] > 0) || reader->lists[OUTPUT_LENS].at[i] < 1;
}

static bool add_request(struct reader *reader, size_t i, struct calib_served *out)
{
    const struct values *starts = &reader->lists[START_TIMES];
    double ttft = reader->lists[TTFTS].at[i], rest = reader->lists[ITLS].at[i];
    double tokens = reader->lists[OUTPUT_LENS].at[i];
    if (!(ttft > 0)) {
        base_fail(reader->err, KVSIM_ERR_SCENARIO, "ttfts[%zu] is 0 though the request succeeded",
                  i);
        base_error_hint(reader->err, "a server that does not stream has no times to fit");
        return fail(reader, "bad-value");
    }
    bool is_streamed = tokens < 2 || rest > 0;
    struct calib_served_request request = {
        .arrival_s = starts->is_there ? starts->at[i] : 0,
        .prompt_tokens = (int64_t)reader->lists[INPUT_LENS].at[i],
        .output_tokens = (int64_t)tokens,
        .ttft_ms = 1e3 * ttft,
        .tpot_ms = tokens > 1 && is_streamed ? 1e3 * rest / (tokens - 1) : (double)NAN,
        .e2e_ms = is_streamed ? 1e3 * (ttft + rest) : (double)NAN,
        .index = i,
    };
    base_vec_push(out, request);
    return true;
}

static int by_arrival(const void *a, const void *b)
{
    const struct calib_served_request *x = a, *y = b;
    if (x->arrival_s != y->arrival_s)
        return x->arrival_s < y->arrival_s ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool add_requests(struct reader *reader, struct calib_served *out)
{
    size_t count = reader->lists[INPUT_LENS].count;
    for (size_t i = 0; i < count; i++) {
        if (is_failed(reader, i))
            out->failed_count++;
        else if (!add_request(reader, i, out))
            return false;
    }
    if (count == 0 || 10 * out->failed_count > count) {
        base_fail(reader->err, KVSIM_ERR_SCENARIO, "%zu of %zu requests failed: no run to fit to",
                  out->failed_count, count);
        return fail(reader, "failed-run");
    }
    qsort(out->at, out->count, sizeof *out->at, by_arrival);
    double first = out->at[0].arrival_s;
    for (size_t i = 0; i < out->count; i++)
        out->at[i].arrival_s -= first;
    return true;
}

static void describe(const struct reader *reader, struct calib_served *out)
{
    base_text_add(&out->condition, "vllm bench serve");
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (reader->words[i][0] != '\0')
            base_text_printf(&out->condition, "; %s%s", words[i].before, reader->words[i]);
}

/* ---- the file ---- */

static enum kvsim_status read_text(const char *path, size_t max, struct base_text *out,
                                   struct kvsim_error *err)
{
    static const size_t part = (size_t)64 << 10;
    char *buffer = base_alloc(part);
    size_t got = 0;
    enum kvsim_status status = KVSIM_OK;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        status = base_fail(err, KVSIM_ERR_IO, "cannot be opened: %s", strerror(errno));
    while (status == KVSIM_OK && out->count < max && (got = fread(buffer, 1, part, file)) > 0)
        base_text_add_n(out, buffer, got);
    if (status == KVSIM_OK && ferror(file))
        status = base_fail(err, KVSIM_ERR_IO, "cannot be read: %s", strerror(errno));
    base_text_add(out, "");
    if (file != NULL)
        fclose(file);
    base_free(buffer);
    if (status != KVSIM_OK)
        base_error_at(err, path, 0, 0);
    return status;
}

/* Whether one of the keys that begin such a file is there, before the first fault. */
static bool has_known_key(struct reader *reader)
{
    static const char *const known[] = {"input_lens",   "output_lens", "ttfts",     "itls",
                                        "tokenizer_id", "num_prompts", "burstiness"};
    if (!conf_json_take(&reader->cursor, '{'))
        return false;
    do {
        if (!take_key(reader))
            return false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strcmp(reader->key.at, known[i]) == 0)
                return true;
    } while (conf_json_value(&reader->cursor, DEPTH_MAX) && conf_json_take(&reader->cursor, ','));
    return false;
}

static void reader_begin(struct reader *reader)
{
    reader->cursor = (struct conf_json_cursor){.at = reader->text.at,
                                               .end = reader->text.at + reader->text.count};
}

static void reader_free(struct reader *reader)
{
    for (size_t i = 0; i < LIST_COUNT; i++)
        base_vec_free(&reader->lists[i]);
    base_text_free(&reader->key);
    base_text_free(&reader->text);
}

bool calib_served_knows(const char *path)
{
    struct kvsim_error err = {.status = KVSIM_OK};
    struct reader reader = {.path = path, .err = &err};
    bool knows = read_text(path, HEAD_BYTES, &reader.text, &err) == KVSIM_OK;
    reader_begin(&reader);
    knows = knows && has_known_key(&reader);
    reader_free(&reader);
    return knows;
}

enum kvsim_status calib_served_read(const char *path, struct calib_served *out,
                                    struct kvsim_error *err)
{
    struct reader reader = {.path = path, .err = err};
    *out = (struct calib_served){0};
    enum kvsim_status status = read_text(path, text_bytes_max, &reader.text, err);
    if (status == KVSIM_OK && reader.text.count >= text_bytes_max) {
        status =
            base_fail(err, KVSIM_ERR_SCENARIO, "more than 512 MiB: no run has so many requests");
        fail(&reader, "too-large");
    }
    reader_begin(&reader);
    if (status == KVSIM_OK && !(take_object(&reader) && check_lists(&reader) &&
                                check_arrivals(&reader) && add_requests(&reader, out)))
        status = KVSIM_ERR_SCENARIO;
    if (status == KVSIM_OK)
        describe(&reader, out);
    reader_free(&reader);
    return status;
}

void calib_served_free(struct calib_served *served)
{
    base_vec_free(served);
    base_text_free(&served->condition);
}

void calib_served_print_trace(const struct calib_served *served, struct base_text *out)
{
    base_text_add(out, "arrival_s,input_tokens,output_tokens\n");
    for (size_t i = 0; i < served->count; i++) {
        const struct calib_served_request *request = &served->at[i];
        base_text_printf(out, "%.9f,%" PRId64 ",%" PRId64 "\n", request->arrival_s,
                         request->prompt_tokens, request->output_tokens);
    }
}
