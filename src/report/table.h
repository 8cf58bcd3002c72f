/*
 * table.h - pages of headings, lines and tables, for a terminal or as Markdown, from the same calls.
 *
 * Text goes up to REPORT_WIDTH columns and is wrapped between words. A table aligns its columns by the width of their
 * texts; in Markdown it becomes a pipe table. A page holds no memory but its open table, which report_page_table_end()
 * prints and frees.
 */
#ifndef KVSIM_REPORT_TABLE_H
#define KVSIM_REPORT_TABLE_H

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum report_style { REPORT_TEXT, REPORT_MARKDOWN };
enum { REPORT_WIDTH = 100, REPORT_COLUMNS_MAX = 16 };

struct report_page {
    FILE *out;
    enum report_style style;
    bool after_table, after_line; /* Markdown wants an empty line before what follows, or a table */
    struct base_arena arena;      /* cells of the open table */
    const char *align;            /* 'l' or 'r' for each column; the last one may be 'w' */
    size_t column_count;
    struct {
        const char **at;
        size_t count, capacity;
    } cells;
};

void report_page_init(struct report_page *page, FILE *out, enum report_style style);
void report_page_title(struct report_page *page, const char *text);
void report_page_heading(struct report_page *page, const char *text);
/* A paragraph (text: indented, wrapped; Markdown: a list item). */
void report_page_line(struct report_page *page, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Something to type: kept on one line, as code in Markdown. */
void report_page_command(struct report_page *page, const char *text);

/* `align` has a letter a column: left, right, or 'w' for a last column whose text is wrapped; the cells are copied, row by row, the header first; NULL is "". */
void report_page_table_begin(struct report_page *page, const char *align);
void report_page_cell(struct report_page *page, const char *text);
void report_page_table_end(struct report_page *page);

#endif
