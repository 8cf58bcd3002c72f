/*
 * number.h - numbers as text: exact for programs, rounded for people.
 *
 * All functions write at most `bytes` characters, always end the text, and return it. REPORT_NUMBER_BYTES is enough for any.
 */
#ifndef KVSIM_REPORT_NUMBER_H
#define KVSIM_REPORT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { REPORT_NUMBER_BYTES = 64 };

/* The shortest decimal that reads back as the same double: 0.1, 19366, 1e+22. `value` is finite. */
char *report_print_exact(double value, char *text, size_t bytes);

/* At least `digits` significant digits, thousands set apart: 0.0342, 11.2, 1,320, 19,366. NaN and NULL are "-". */
char *report_print_rounded(double value, int digits, char *text, size_t bytes);

/*
 * "34.2 ± 0.1", half the interval's width beside the value, with decimals enough to show it; the value alone where the
 * interval is withheld (NaN).
 */
char *report_print_interval(double value, double low, double high, char *text, size_t bytes);
/*
 * The same of a difference, whose verdict rests on the end next to zero: "15.4 (8.20 to 33.7)" where the sides differ by more than
 * a tenth.
 */
char *report_print_difference(double value, double low, double high, char *text, size_t bytes);

/* "12.3 %", "-" for NaN. */
char *report_print_share(double share, char *text, size_t bytes);

/* Dollars: 0.0512, 0.349, 7.50, 1,240; "-" for NaN. */
char *report_print_usd(double value, char *text, size_t bytes);

/* 62.41: bytes in GiB with two decimals, for columns headed GiB. */
char *report_print_gib(double value_bytes, char *text, size_t bytes);

/* Columns that a text takes on a terminal: characters of UTF-8, not bytes. */
size_t report_text_width(const char *text);

#endif
