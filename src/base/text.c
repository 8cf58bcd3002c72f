#include "base/text.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static void make_room(struct base_text *text, size_t more)
{
    base_require(more < SIZE_MAX - text->count);
    base_vec_reserve(text, text->count + more + 1);
}

void base_text_add_n(struct base_text *text, const char *more, size_t length)
{
    make_room(text, length);
    if (length > 0)
        memcpy(text->at + text->count, more, length);
    text->count += length;
    text->at[text->count] = '\0';
}

void base_text_add(struct base_text *text, const char *more)
{
    base_text_add_n(text, more, strlen(more));
}

void base_text_printf(struct base_text *text, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    base_require(length >= 0);
    make_room(text, (size_t)length);
    vsnprintf(text->at + text->count, (size_t)length + 1, fmt, again);
    va_end(again);
    text->count += (size_t)length;
}

void base_text_clear(struct base_text *text)
{
    text->count = 0;
    if (text->at != NULL)
        text->at[0] = '\0';
}

void base_text_free(struct base_text *text)
{
    base_vec_free(text);
}

bool base_copy(char *to, size_t bytes, const char *from)
{
    base_require(bytes > 0);
    size_t length = 0;
    while (length + 1 < bytes && from[length] != '\0') {
        to[length] = from[length];
        length++;
    }
    to[length] = '\0';
    return from[length] == '\0';
}

void base_lower(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text - 'A' + 'a');
    }
}

bool base_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool base_ends_with(const char *text, const char *end)
{
    size_t text_length = strlen(text), end_length = strlen(end);
    return end_length <= text_length && strcmp(text + text_length - end_length, end) == 0;
}
