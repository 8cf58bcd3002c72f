/*
 * html.h - a page of HTML written piece by piece: one file that needs nothing else, neither network nor script.
 *
 * The page is well-formed XML too (every tag closed, every text escaped), so that any XML tool can look at it. Bytes
 * that are not UTF-8, and control characters, are written as U+FFFD. Its style follows the reader's light or dark
 * scheme, fits a phone and prints on A4. `markup` is our own constant text and is written as it is; everything
 * else goes through the functions that escape.
 */
#ifndef KVSIM_REPORT_HTML_H
#define KVSIM_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct report_html {
    FILE *out;
    const char *align; /* of the open table: 'l', 'r', or 'k' for a claim kind, a letter a column */
    size_t column;     /* of the next cell */
    bool is_head, is_dense;
};

void report_html_begin(struct report_html *html, FILE *out, const char *title);
void report_html_end(struct report_html *html);

void report_html_markup(struct report_html *html, const char *markup);
void report_html_text(struct report_html *html, const char *text);
/* Formatted, then escaped. */
void report_html_printf(struct report_html *html, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* <p class="CLASS">...</p>; class_name "" = none. */
void report_html_paragraph(struct report_html *html, const char *class_name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The words of a text, those with hyphens (names) unbroken. */
void report_html_words(struct report_html *html, const char *text);
/* <code>...</code> */
void report_html_code(struct report_html *html, const char *text);

/* A section with its heading; `id` is an identifier of ours. */
void report_html_section(struct report_html *html, const char *id, const char *heading);
void report_html_section_end(struct report_html *html);

/*
 * A claim kind as a small label: calculated, simulated, measured, vendor, assumed; any other word too. NULL and "":
 * nothing. With a basis that says more, two of them: "simulated on assumed".
 */
void report_html_claim(struct report_html *html, const char *claim, const char *basis);

/*
 * A table: its caption, with the claim kind and basis that all its figures share (NULL: they differ, or are none), then the header's cells, report_html_table_body(), the cells row by row. The first cell of each
 * row is the row's header. `align` has a letter a column: 'l', 'r' (figures), 'k' (the cell is a claim kind).
 */
void report_html_table(struct report_html *html, const char *caption, const char *claim,
                       const char *basis, const char *align);
void report_html_cell(struct report_html *html, const char *text);
/* A cell of a claim kind with its basis. */
void report_html_claim_cell(struct report_html *html, const char *claim, const char *basis);
void report_html_table_body(struct report_html *html);
void report_html_table_end(struct report_html *html);

/* html_style.c: the style sheet in parts, NULL-ended. */
extern const char *const report_html_style[];

#endif
