#include "conf/json.h"

#include <string.h>

void conf_json_skip_blanks(struct conf_json_cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at != '\0' &&
           strchr(" \t\r\n", *cursor->at) != NULL)
        cursor->at++;
}

static char peek(const struct conf_json_cursor *cursor)
{
    return cursor->at < cursor->end ? *cursor->at : '\0';
}

bool conf_json_take(struct conf_json_cursor *cursor, char c)
{
    conf_json_skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

static bool fail(struct conf_json_cursor *cursor, const char *problem)
{
    cursor->problem = problem;
    return false;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Four hexadecimal digits at the cursor, or -1. */
static int hex4(struct conf_json_cursor *cursor)
{
    if (cursor->end - cursor->at < 4)
        return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(cursor->at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    cursor->at += 4;
    return value;
}

static void add_utf8(struct base_text *out, unsigned code)
{
    char bytes[4];
    size_t count = 0;
    if (code < 0x80) {
        bytes[count++] = (char)code;
    } else if (code < 0x800) {
        bytes[count++] = (char)(0xC0 | (code >> 6));
    } else if (code < 0x10000) {
        bytes[count++] = (char)(0xE0 | (code >> 12));
        bytes[count++] = (char)(0x80 | ((code >> 6) & 0x3F));
    } else {
        bytes[count++] = (char)(0xF0 | (code >> 18));
        bytes[count++] = (char)(0x80 | ((code >> 12) & 0x3F));
        bytes[count++] = (char)(0x80 | ((code >> 6) & 0x3F));
    }
    if (code >= 0x80)
        bytes[count++] = (char)(0x80 | (code & 0x3F));
    if (out != NULL)
        base_text_add_n(out, bytes, count);
}

/* After "\u". Half of a surrogate pair becomes U+FFFD. */
static bool unicode_escape(struct conf_json_cursor *cursor, struct base_text *out)
{
    int code = hex4(cursor);
    if (code < 0)
        return fail(cursor, "'\\u' needs four hexadecimal digits");
    if (code == 0)
        return fail(cursor, "a text must not hold the character NUL");
    unsigned whole = (unsigned)code;
    if (code >= 0xD800 && code <= 0xDFFF) {
        whole = 0xFFFD;
        struct conf_json_cursor ahead = *cursor;
        bool second = code < 0xDC00 && ahead.end - ahead.at >= 6 && memcmp(ahead.at, "\\u", 2) == 0;
        ahead.at += second ? 2 : 0;
        int low = second ? hex4(&ahead) : -1;
        if (low >= 0xDC00 && low <= 0xDFFF) {
            whole = 0x10000 + (((unsigned)code - 0xD800) << 10) + ((unsigned)low - 0xDC00);
            cursor->at = ahead.at;
        }
    }
    add_utf8(out, whole);
    return true;
}

/* After the backslash. */
static bool escape(struct conf_json_cursor *cursor, struct base_text *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = peek(cursor);
    if (c == 'u') {
        cursor->at++;
        return unicode_escape(cursor, out);
    }
    const char *found = c == '\0' ? NULL : strchr(names, c);
    if (found == NULL)
        return fail(cursor, "unknown escape in a string");
    cursor->at++;
    add_utf8(out, (unsigned char)values[found - names]);
    return true;
}

bool conf_json_string(struct conf_json_cursor *cursor, struct base_text *out)
{
    cursor->at++; /* the opening quote */
    for (;;) {
        const char *start = cursor->at;
        while (cursor->at < cursor->end && *cursor->at != '"' && *cursor->at != '\\' &&
               (unsigned char)*cursor->at >= 0x20)
            cursor->at++;
        if (out != NULL)
            base_text_add_n(out, start, (size_t)(cursor->at - start));
        if (cursor->at == cursor->end)
            return fail(cursor, "a string is not closed");
        if (*cursor->at == '"') {
            cursor->at++;
            return true;
        }
        if (*cursor->at != '\\')
            return fail(cursor, "a string must not hold a line break or control character");
        cursor->at++;
        if (!escape(cursor, out))
            return false;
    }
}

static bool word(struct conf_json_cursor *cursor, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, text, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool digits(struct conf_json_cursor *cursor)
{
    const char *start = cursor->at;
    while (peek(cursor) >= '0' && peek(cursor) <= '9')
        cursor->at++;
    return cursor->at > start;
}

static bool number(struct conf_json_cursor *cursor)
{
    if (peek(cursor) == '-')
        cursor->at++;
    bool zero = peek(cursor) == '0';
    const char *start = cursor->at;
    if (!digits(cursor) || (zero && cursor->at - start > 1))
        return fail(cursor, "not a JSON number");
    if (peek(cursor) == '.') {
        cursor->at++;
        if (!digits(cursor))
            return fail(cursor, "digits are missing after the point");
    }
    if (peek(cursor) == 'e' || peek(cursor) == 'E') {
        cursor->at++;
        if (peek(cursor) == '+' || peek(cursor) == '-')
            cursor->at++;
        if (!digits(cursor))
            return fail(cursor, "digits are missing in the exponent");
    }
    return true;
}

/* What follows a number or word must end it: "truex" and "1a" are not JSON. */
static bool ends(const struct conf_json_cursor *cursor)
{
    char c = peek(cursor);
    return c == '\0' || strchr(" \t\r\n,]}", c) != NULL;
}

bool conf_json_scalar(struct conf_json_cursor *cursor)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    const char *start = cursor->at;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (word(cursor, words[i]) && ends(cursor))
            return true;
        cursor->at = start;
    }
    if (!number(cursor) || !ends(cursor)) {
        cursor->at = start;
        return fail(cursor, start == cursor->end ? "the text ends too early" : "not a JSON value");
    }
    return true;
}

static bool members(struct conf_json_cursor *cursor, char close, int depth)
{
    if (conf_json_take(cursor, close))
        return true;
    do {
        conf_json_skip_blanks(cursor);
        if (close == '}') {
            if (peek(cursor) != '"')
                return fail(cursor, "expected a key in double quotes");
            if (!conf_json_string(cursor, NULL))
                return false;
            if (!conf_json_take(cursor, ':'))
                return fail(cursor, "expected ':' after a key");
        }
        if (!conf_json_value(cursor, depth))
            return false;
    } while (conf_json_take(cursor, ','));
    if (!conf_json_take(cursor, close))
        return fail(cursor, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    return true;
}

bool conf_json_value(struct conf_json_cursor *cursor, int depth)
{
    conf_json_skip_blanks(cursor);
    char c = peek(cursor);
    if (c == '"')
        return conf_json_string(cursor, NULL);
    if (c != '{' && c != '[')
        return conf_json_scalar(cursor);
    if (depth <= 0)
        return fail(cursor, "nested too deeply");
    cursor->at++;
    return members(cursor, c == '{' ? '}' : ']', depth - 1);
}
