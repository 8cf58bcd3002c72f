/*
 * printed.h - what a function writes to a FILE, as a text.
 */
#ifndef KVSIM_TESTS_SUPPORT_PRINTED_H
#define KVSIM_TESTS_SUPPORT_PRINTED_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

struct printed {
    FILE *out;
    char *text;
    size_t bytes;
};

static inline FILE *printed_begin(struct printed *printed)
{
    printed->out = open_memstream(&printed->text, &printed->bytes);
    ck_assert_ptr_nonnull(printed->out);
    return printed->out;
}

/* The text, until printed_free(). */
static inline const char *printed_end(struct printed *printed)
{
    ck_assert_int_eq(fclose(printed->out), 0);
    return printed->text;
}

static inline void printed_free(struct printed *printed)
{
    free(printed->text);
}

#endif
