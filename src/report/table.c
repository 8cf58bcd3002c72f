#include "report/table.h"

#include "base/error.h"
#include "base/text.h"
#include "report/number.h"

#include <stdarg.h>
#include <string.h>

void report_page_init(struct report_page *page, FILE *out, enum report_style style)
{
    *page = (struct report_page){.out = out, .style = style};
}

void report_page_title(struct report_page *page, const char *text)
{
    fprintf(page->out, page->style == REPORT_MARKDOWN ? "# %s\n\n" : "%s\n", text);
}

void report_page_heading(struct report_page *page, const char *text)
{
    fprintf(page->out, page->style == REPORT_MARKDOWN ? "\n## %s\n\n" : "\n%s\n", text);
    page->after_table = page->after_line = false;
}

/* Length in bytes of what fits into `width` columns, cut between words where possible. */
static size_t fitting(const char *text, size_t width)
{
    if (report_text_width(text) <= width)
        return strlen(text);
    size_t columns = 0, last_blank = 0, at = 0;
    for (; text[at] != '\0' && columns <= width; at++) {
        if (text[at] == ' ')
            last_blank = at;
        columns += ((unsigned char)text[at] & 0xC0u) != 0x80u;
    }
    // A word longer than the line stays whole.
    return last_blank > 0 ? last_blank : at + strcspn(text + at, " ");
}

static void print_wrapped(FILE *out, const char *text)
{
    const char *indent = "  ";
    do {
        size_t length = fitting(text, REPORT_WIDTH - strlen(indent));
        fprintf(out, "%s%.*s\n", indent, (int)length, text);
        text += length;
        text += strspn(text, " ");
        indent = "    ";
    } while (*text != '\0');
}

void report_page_line(struct report_page *page, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[2048];
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    base_require(length >= 0);
    if (page->style == REPORT_MARKDOWN)
        fprintf(page->out, "%s- %s\n", page->after_table ? "\n" : "", text);
    else
        print_wrapped(page->out, text);
    page->after_table = false;
    page->after_line = true;
}

void report_page_command(struct report_page *page, const char *text)
{
    fprintf(page->out, page->style == REPORT_MARKDOWN ? "    %s\n" : "  %s\n", text);
}

void report_page_table_begin(struct report_page *page, const char *align)
{
    base_require(page->column_count == 0 && strlen(align) <= REPORT_COLUMNS_MAX);
    base_arena_init(&page->arena);
    page->align = align;
    page->column_count = strlen(align);
}

void report_page_cell(struct report_page *page, const char *text)
{
    base_vec_push(&page->cells, base_arena_copy(&page->arena, text == NULL ? "" : text));
}

static void print_padded(FILE *out, const char *text, size_t width, char align)
{
    size_t used = report_text_width(text);
    int blanks = width > used ? (int)(width - used) : 0;
    if (align == 'r')
        fprintf(out, "%*s%s", blanks, "", text);
    else
        fprintf(out, "%s%*s", text, blanks, "");
}

/* Text of the last column, in as many lines as it needs under each other. */
static void print_paragraph(FILE *out, const char *text, size_t indent)
{
    enum { LEAST = 30 };
    size_t room = indent + LEAST < REPORT_WIDTH ? REPORT_WIDTH - indent : LEAST;
    size_t length = fitting(text, room);
    fprintf(out, "%.*s", (int)length, text);
    for (text += length; *(text += strspn(text, " ")) != '\0'; text += length) {
        length = fitting(text, room);
        fprintf(out, "\n%*s%.*s", (int)indent, "", (int)length, text);
    }
}

/* Cells to the left need no blanks after them when nothing follows. */
static void print_text_row(const struct report_page *page, const char *const *cells,
                           const size_t *widths)
{
    size_t last = page->column_count;
    while (last > 1 && cells[last - 1][0] == '\0')
        last--;
    size_t indent = 0;
    for (size_t c = 0; c < last; c++) {
        bool is_end = c + 1 == last && page->align[c] == 'l';
        fputs("  ", page->out);
        indent += 2;
        if (page->align[c] == 'w')
            print_paragraph(page->out, cells[c], indent);
        else
            print_padded(page->out, cells[c], is_end ? 0 : widths[c], page->align[c]);
        indent += widths[c];
    }
    fputc('\n', page->out);
}

static void print_markdown_row(const struct report_page *page, const char *const *cells)
{
    for (size_t c = 0; c < page->column_count; c++) {
        fputs(c == 0 ? "| " : " | ", page->out);
        for (const char *at = cells[c]; *at != '\0'; at++)
            fprintf(page->out, *at == '|' ? "\\%c" : "%c", *at);
    }
    fputs(" |\n", page->out);
}

static void print_markdown_rule(const struct report_page *page)
{
    for (size_t c = 0; c < page->column_count; c++)
        fputs(page->align[c] == 'r' ? "| ---: " : "| --- ", page->out);
    fputs("|\n", page->out);
}

void report_page_table_end(struct report_page *page)
{
    size_t columns = page->column_count, widths[REPORT_COLUMNS_MAX] = {0};
    base_require(columns > 0 && page->cells.count % columns == 0);
    for (size_t i = 0; i < page->cells.count; i++) {
        size_t width = report_text_width(page->cells.at[i]);
        if (width > widths[i % columns])
            widths[i % columns] = width;
    }
    if (page->style == REPORT_MARKDOWN && page->after_line)
        fputc('\n', page->out); // else the table would be taken for more of the list item
    for (size_t i = 0; i < page->cells.count; i += columns) {
        if (page->style == REPORT_TEXT) {
            print_text_row(page, page->cells.at + i, widths);
            continue;
        }
        print_markdown_row(page, page->cells.at + i);
        if (i == 0)
            print_markdown_rule(page);
    }
    page->after_table = true;
    page->after_line = false;
    base_vec_free(&page->cells);
    base_arena_release(&page->arena);
    page->column_count = 0;
}
