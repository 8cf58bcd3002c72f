#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* vsnprintf that never leaves half of a UTF-8 character behind when it cuts. */
KVSIM_PRINTF(3, 0)
static void print_cut(char *to, size_t bytes, const char *fmt, va_list args)
{
    int length = vsnprintf(to, bytes, fmt, args);
    if (length < 0) {
        to[0] = '\0';
        return;
    }
    if ((size_t)length < bytes)
        return;
    size_t start = bytes - 1; /* of the last character */
    do
        start--;
    while (start > 0 && ((unsigned char)to[start] & 0xC0u) == 0x80u);
    unsigned char lead = (unsigned char)to[start];
    size_t whole = lead < 0xC0u ? 1 : lead < 0xE0u ? 2 : lead < 0xF0u ? 3 : 4;
    if (start + whole > bytes - 1)
        to[start] = '\0';
}

enum kvsim_status base_fail(struct kvsim_error *err, enum kvsim_status status, const char *fmt, ...)
{
    if (err == NULL)
        return status;
    *err = (struct kvsim_error){.status = status};
    va_list args;
    va_start(args, fmt);
    print_cut(err->message, sizeof err->message, fmt, args);
    va_end(args);
    return status;
}

void base_error_at(struct kvsim_error *err, const char *file, int line, int column)
{
    if (err == NULL)
        return;
    base_copy(err->file, sizeof err->file, file == NULL ? "" : file);
    err->line = line;
    err->column = column;
}

void base_error_key(struct kvsim_error *err, const char *key)
{
    if (err != NULL)
        base_copy(err->key, sizeof err->key, key);
}

void base_error_code(struct kvsim_error *err, const char *code)
{
    if (err != NULL)
        base_copy(err->code, sizeof err->code, code);
}

void base_error_hint(struct kvsim_error *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    va_list args;
    va_start(args, fmt);
    print_cut(err->hint, sizeof err->hint, fmt, args);
    va_end(args);
}

void base_diags_add(struct kvsim_diags *diags, const struct kvsim_error *err)
{
    diags->total++;
    if (diags->count < KVSIM_DIAGS_MAX)
        diags->at[diags->count++] = *err;
}

void base_diags_warn(struct kvsim_diags *diags, const struct kvsim_error *err)
{
    if (diags->warning_count < KVSIM_DIAGS_MAX)
        diags->warnings[diags->warning_count++] = *err;
}

/* Messages quote what users and files say; control characters must not reach a terminal. */
static void print_clean(FILE *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        fputc(byte < 0x20u || byte == 0x7Fu ? '?' : *at, out);
    }
}

static void print_place(FILE *out, const struct kvsim_error *err)
{
    print_clean(out, err->file[0] == '\0' ? "kvsim" : err->file);
    if (err->line > 0)
        fprintf(out, ":%d", err->line);
    if (err->line > 0 && err->column > 0)
        fprintf(out, ":%d", err->column);
}

void base_error_print(FILE *out, const struct kvsim_error *err, const char *severity)
{
    print_place(out, err);
    fprintf(out, ": %s: ", severity);
    print_clean(out, err->message);
    if (err->code[0] != '\0')
        fprintf(out, " [%s]", err->code);
    fputc('\n', out);
    if (err->hint[0] == '\0')
        return;
    fputs("  hint: ", out);
    print_clean(out, err->hint);
    fputc('\n', out);
}

int base_status_exit(enum kvsim_status status)
{
    switch (status) {
    case KVSIM_OK:
        return 0;
    case KVSIM_ERR_USAGE:
        return 2;
    case KVSIM_ERR_SCENARIO:
        return 3;
    case KVSIM_ERR_IO:
        return 4;
    case KVSIM_ERR_REFUSED:
        return 5;
    case KVSIM_ERR_MEMORY:
    case KVSIM_ERR_DEFECT:
        break;
    }
    return 70;
}

_Noreturn void base_abort(const char *file, int line, const char *what)
{
    fprintf(stderr, "kvsim: defect: %s:%d: %s\n", file, line, what);
    fflush(stderr);
    abort();
}
