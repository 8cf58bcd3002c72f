/*
 * utf8.h - where characters begin and end.
 */
#ifndef KVSIM_REPORT_UTF8_H
#define KVSIM_REPORT_UTF8_H

#include <stddef.h>

/* Length of the UTF-8 sequence at `text` (RFC 3629), or 0 when it's broken. The text ends with '\0'. */
size_t report_utf8_length(const unsigned char *text);

#endif
