#include "report/json.h"

#include "base/error.h"
#include "report/number.h"
#include "report/utf8.h"

#include <math.h>
#include <string.h>

void report_json_init(struct report_json *json, FILE *out)
{
    *json = (struct report_json){.out = out, .spread_depth = 2};
}

static bool is_spread(const struct report_json *json)
{
    return json->depth <= json->spread_depth;
}

static void new_line(struct report_json *json)
{
    fputc('\n', json->out);
    for (size_t i = 0; i < json->depth; i++)
        fputs("  ", json->out);
}

static void put_escaped(FILE *out, unsigned char c)
{
    static const char letters[] = "btn\vfr"; // from 8; 11 has no letter
    if (c == '"' || c == '\\')
        fprintf(out, "\\%c", c);
    else if (c >= 8 && c <= 13 && c != 11)
        fprintf(out, "\\%c", letters[c - 8]);
    else
        fprintf(out, "\\u%04x", c);
}

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        size_t length = report_utf8_length(at);
        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f) {
            put_escaped(out, *at);
        } else {
            fwrite(at, 1, length, out);
        }
        at += length;
    }
    fputc('"', out);
}

/* What stands before a value: comma, line or blank, key. */
static void begin_value(struct report_json *json, const char *key)
{
    if (json->depth == 0)
        return;
    base_require((key == NULL) == json->is_list[json->depth - 1]);
    bool *has_items = &json->has_items[json->depth - 1];
    if (*has_items)
        fputc(',', json->out);
    if (is_spread(json))
        new_line(json);
    else if (*has_items)
        fputc(' ', json->out);
    *has_items = true;
    if (key != NULL) {
        put_string(json->out, key);
        fputs(": ", json->out);
    }
}

static void begin_container(struct report_json *json, const char *key, bool is_list)
{
    base_require(json->depth < REPORT_JSON_DEPTH);
    begin_value(json, key);
    // In a list of whole objects each of them is spread like a single one.
    if (json->depth == 0 && is_list)
        json->spread_depth++;
    fputc(is_list ? '[' : '{', json->out);
    json->is_list[json->depth] = is_list;
    json->has_items[json->depth] = false;
    json->depth++;
}

static void end_container(struct report_json *json, bool is_list)
{
    base_require(json->depth > 0 && json->is_list[json->depth - 1] == is_list);
    bool needs_line = is_spread(json) && json->has_items[json->depth - 1];
    json->depth--;
    if (needs_line)
        new_line(json);
    fputc(is_list ? ']' : '}', json->out);
}

void report_json_begin_object(struct report_json *json, const char *key)
{
    begin_container(json, key, false);
}

void report_json_end_object(struct report_json *json)
{
    end_container(json, false);
}

void report_json_begin_list(struct report_json *json, const char *key)
{
    begin_container(json, key, true);
}

void report_json_end_list(struct report_json *json)
{
    end_container(json, true);
}

void report_json_finish(struct report_json *json)
{
    base_require(json->depth == 0);
    fputc('\n', json->out);
}

void report_json_text(struct report_json *json, const char *key, const char *value)
{
    begin_value(json, key);
    if (value == NULL)
        fputs("null", json->out);
    else
        put_string(json->out, value);
}

void report_json_integer(struct report_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%lld", (long long)value);
}

void report_json_real(struct report_json *json, const char *key, double value)
{
    begin_value(json, key);
    char text[REPORT_NUMBER_BYTES];
    fputs(isfinite(value) ? report_print_exact(value, text, sizeof text) : "null", json->out);
}

void report_json_bool(struct report_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void report_json_null(struct report_json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}

void report_json_value(struct report_json *json, const char *key, const struct record_value *value)
{
    switch (value->kind) {
    case RECORD_INTEGER:
        report_json_integer(json, key, value->integer);
        break;
    case RECORD_REAL:
        report_json_real(json, key, value->real);
        break;
    case RECORD_TEXT:
        report_json_text(json, key, value->text);
        break;
    case RECORD_NULL:
    default:
        report_json_null(json, key);
    }
}
