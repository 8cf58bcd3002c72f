#include "report/html.h"

#include "base/error.h"
#include "base/text.h"
#include "report/utf8.h"

#include <stdarg.h>
#include <string.h>

void report_html_markup(struct report_html *html, const char *markup)
{
    fputs(markup, html->out);
}

/* What stands for a character that markup gives a meaning, or NULL. */
static const char *entity(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_noncharacter(const unsigned char *at)
{
    return at[0] == 0xEF && at[1] == 0xBF && at[2] >= 0xBE;
}

void report_html_text(struct report_html *html, const char *text)
{
    const unsigned char *at = (const unsigned char *)(text == NULL ? "" : text);
    while (*at != '\0') {
        size_t length = report_utf8_length(at);
        bool is_before_percent = *at == ' ' && at[1] == '%'; // which stays with its number
        bool is_control = (*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f;
        if (length == 0 || is_control || is_noncharacter(at))
            fputs("\xEF\xBF\xBD", html->out);
        else if (is_before_percent)
            fputs("\xC2\xA0", html->out);
        else if (entity(*at) != NULL)
            fputs(entity(*at), html->out);
        else
            fwrite(at, 1, length, html->out);
        at += length == 0 ? 1 : length;
    }
}

static void put_formatted(struct report_html *html, const char *fmt, va_list args)
    KVSIM_PRINTF(2, 0);

static void put_formatted(struct report_html *html, const char *fmt, va_list args)
{
    char text[4096];
    int length = vsnprintf(text, sizeof text, fmt, args);
    base_require(length >= 0);
    report_html_text(html, text);
}

void report_html_printf(struct report_html *html, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_formatted(html, fmt, args);
    va_end(args);
}

void report_html_paragraph(struct report_html *html, const char *class_name, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(html->out, class_name[0] == '\0' ? "<p>" : "<p class=\"%s\">", class_name);
    put_formatted(html, fmt, args);
    fputs("</p>\n", html->out);
    va_end(args);
}

void report_html_words(struct report_html *html, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        char word[256];
        base_copy(word, length + 1 < sizeof word ? length + 1 : sizeof word, text);
        bool is_name = strchr(word, '-') != NULL && length < sizeof word;
        report_html_markup(html, is_name ? "<span class=\"name\">" : "");
        report_html_text(html, word);
        report_html_markup(html, is_name ? "</span>" : "");
        text += strlen(word);
        for (; *text == ' '; text++)
            report_html_markup(html, " ");
    }
}

void report_html_code(struct report_html *html, const char *text)
{
    report_html_markup(html, "<code>");
    report_html_text(html, text);
    report_html_markup(html, "</code>");
}

void report_html_begin(struct report_html *html, FILE *out, const char *title)
{
    *html = (struct report_html){.out = out};
    report_html_markup(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                             "<meta charset=\"utf-8\" />\n"
                             "<meta name=\"viewport\" content=\"width=device-width, "
                             "initial-scale=1\" />\n"
                             "<meta name=\"color-scheme\" content=\"light dark\" />\n<title>");
    report_html_text(html, title);
    report_html_markup(html, "</title>\n<style>\n");
    for (const char *const *part = report_html_style; *part != NULL; part++)
        report_html_markup(html, *part);
    report_html_markup(html, "</style>\n</head>\n<body>\n<main>\n");
}

void report_html_end(struct report_html *html)
{
    report_html_markup(html, "</main>\n</body>\n</html>\n");
}

void report_html_section(struct report_html *html, const char *id, const char *heading)
{
    fprintf(html->out, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">", id, id);
    report_html_text(html, heading);
    report_html_markup(html, "</h2>\n");
}

void report_html_section_end(struct report_html *html)
{
    report_html_markup(html, "</section>\n");
}

/* The class of a claim kind; a word that is none has no class of its own. */
static const char *claim_class(const char *claim)
{
    static const char *const kinds[] = {"calculated", "simulated", "measured", "vendor", "assumed"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i], claim) == 0)
            return kinds[i];
    }
    return "other";
}

void report_html_claim(struct report_html *html, const char *claim, const char *basis)
{
    if (claim == NULL || claim[0] == '\0')
        return;
    fprintf(html->out, "<span class=\"claim %s\">", claim_class(claim));
    report_html_text(html, claim);
    report_html_markup(html, "</span>");
    if (basis == NULL || basis[0] == '\0' || strcmp(basis, claim) == 0)
        return;
    fprintf(html->out, " on <span class=\"claim %s\">", claim_class(basis));
    report_html_text(html, basis);
    report_html_markup(html, "</span>");
}

/* From so many columns on, a table is set smaller. */
enum { DENSE_COLUMNS = 9 };

void report_html_table(struct report_html *html, const char *caption, const char *claim,
                       const char *basis, const char *align)
{
    base_require(html->align == NULL);
    html->align = align;
    html->column = 0;
    html->is_head = true;
    // The box scrolls by itself on a narrow screen; a keyboard must reach it.
    report_html_markup(html, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    report_html_text(html, caption);
    html->is_dense = strlen(align) >= DENSE_COLUMNS;
    report_html_markup(html, html->is_dense ? "\"><table class=\"dense\">\n<caption>"
                                            : "\"><table>\n<caption>");
    report_html_text(html, caption);
    if (claim != NULL && claim[0] != '\0')
        report_html_markup(html, ": ");
    report_html_claim(html, claim, basis);
    report_html_markup(html, "</caption>\n<thead>\n");
}

/* Opens the cell and returns how it is closed. */
static const char *begin_cell(struct report_html *html)
{
    base_require(html->align != NULL);
    if (html->column == 0)
        report_html_markup(html, "<tr>");
    char align = html->align[html->column];
    bool is_header = html->is_head || html->column == 0;
    fprintf(html->out, "<%s%s%s>", is_header ? "th" : "td",
            html->is_head       ? " scope=\"col\""
            : html->column == 0 ? " scope=\"row\""
                                : "",
            align == 'r' ? " class=\"r\"" : "");
    return is_header ? "</th>" : "</td>";
}

static void end_cell(struct report_html *html, const char *closing)
{
    report_html_markup(html, closing);
    html->column++;
    if (html->align[html->column] != '\0')
        return;
    report_html_markup(html, "</tr>\n");
    html->column = 0;
}

void report_html_claim_cell(struct report_html *html, const char *claim, const char *basis)
{
    const char *closing = begin_cell(html);
    report_html_claim(html, claim, basis);
    end_cell(html, closing);
}

/* In a dense table the half width of an interval may go below its figure, as a whole: "254.029", "± 0.007". */
static void put_cell_text(struct report_html *html, const char *text)
{
    static const char sign[] = " \u00b1 ";
    const char *half = html->is_dense && html->align[html->column] == 'r' && text != NULL
                           ? strstr(text, sign)
                           : NULL;
    if (half == NULL) {
        report_html_text(html, text);
        return;
    }
    report_html_markup(html, "<span class=\"interval\">");
    report_html_printf(html, "%.*s ", (int)(half - text), text);
    report_html_markup(html, "<span>");
    report_html_text(html, half + 1);
    report_html_markup(html, "</span></span>");
}

void report_html_cell(struct report_html *html, const char *text)
{
    if (!html->is_head && html->align[html->column] == 'k') {
        report_html_claim_cell(html, text, NULL);
        return;
    }
    const char *closing = begin_cell(html);
    put_cell_text(html, text);
    end_cell(html, closing);
}

void report_html_table_body(struct report_html *html)
{
    base_require(html->is_head && html->column == 0);
    html->is_head = false;
    report_html_markup(html, "</thead>\n<tbody>\n");
}

void report_html_table_end(struct report_html *html)
{
    base_require(html->align != NULL && !html->is_head && html->column == 0);
    html->align = NULL;
    report_html_markup(html, "</tbody>\n</table></div>\n");
}
