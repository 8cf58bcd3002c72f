/*
 * text.h - a growing string, and small helpers on texts.
 */
#ifndef KVSIM_BASE_TEXT_H
#define KVSIM_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct base_text {
    char *at; /* always ended by '\0' once something was added; NULL before */
    size_t count, capacity;
};

void base_text_add(struct base_text *text, const char *more);
void base_text_add_n(struct base_text *text, const char *more, size_t length);
void base_text_printf(struct base_text *text, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void base_text_clear(struct base_text *text);
void base_text_free(struct base_text *text);

/* Copies at most bytes-1 characters and always ends the target. Returns false when it was cut. */
bool base_copy(char *to, size_t bytes, const char *from);
void base_lower(char *text);
bool base_starts_with(const char *text, const char *start);
bool base_ends_with(const char *text, const char *end);

#endif
