/*
 * What gnuplot drew, read as a sequence of tags. Only four kinds of things are taken over, each on one line: paths, areas,
 * dots and texts. gnuplot's groups are only remembered: the last one that moves its content is where a text stands, the
 * last one with a width says how wide a path is. Definitions, titles, ids, fonts and colours by name are left behind.
 */
#include "report/plot.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A part of the drawing: not ended by '\0'. */
struct span {
    const char *at;
    size_t length;
};

struct tag {
    struct span name, attributes;
    bool is_end; /* </name> */
};

struct cleaner {
    const char *next;
    struct base_text *out;
    struct span width;     /* of the group around */
    struct span transform; /* of the group around a text */
    struct span anchor;
    int colour; /* of that group */
};

static bool span_is(struct span span, const char *text)
{
    return span.length == strlen(text) && memcmp(span.at, text, span.length) == 0;
}

/* The next tag; false at the end. Comments, instructions and what stands between tags are passed over. */
static bool next_tag(struct cleaner *cleaner, struct tag *tag)
{
    const char *open;
    do {
        open = strchr(cleaner->next, '<');
        const char *close = open == NULL ? NULL : strchr(open, '>');
        if (close == NULL)
            return false;
        cleaner->next = close + 1;
    } while (open[1] == '?' || open[1] == '!');
    tag->is_end = open[1] == '/';
    tag->name.at = open + 1 + (tag->is_end ? 1 : 0);
    tag->name.length = strcspn(tag->name.at, " \t\r\n/>");
    tag->attributes.at = tag->name.at + tag->name.length;
    tag->attributes.length = (size_t)(cleaner->next - 1 - tag->attributes.at);
    return true;
}

/* The next NAME = "VALUE" or NAME='VALUE' from *at on. */
static bool next_attribute(const char **at, const char *end, struct span *name, struct span *value)
{
    while (*at < end && !isalpha((unsigned char)**at))
        (*at)++;
    name->at = *at;
    while (*at < end && (isalnum((unsigned char)**at) || **at == '-' || **at == ':'))
        (*at)++;
    name->length = (size_t)(*at - name->at);
    while (*at < end && **at != '"' && **at != '\'')
        (*at)++;
    if (*at >= end)
        return false;
    const char quote = *(*at)++;
    const char *closing = memchr(*at, quote, (size_t)(end - *at));
    if (closing == NULL)
        return false;
    *value = (struct span){*at, (size_t)(closing - *at)};
    *at = closing + 1;
    return true;
}

static struct span attribute(const struct tag *tag, const char *wanted)
{
    const char *at = tag->attributes.at, *end = at + tag->attributes.length;
    struct span name, value;
    while (next_attribute(&at, end, &name, &value)) {
        if (span_is(name, wanted))
            return value;
    }
    return (struct span){"", 0};
}

/* rgb(0,0,N) is the colour N; white is the ground, every other name ink. */
static int read_colour(struct span value)
{
    if (span_is(value, "white"))
        return REPORT_PAGE;
    const char *comma = value.length == 0 ? NULL : memchr(value.at, ',', value.length);
    comma = comma == NULL ? NULL
                          : memchr(comma + 1, ',', value.length - (size_t)(comma + 1 - value.at));
    long colour = comma == NULL ? REPORT_INK : strtol(comma + 1, NULL, 10);
    return colour > 0 && colour < REPORT_COLOUR_COUNT ? (int)colour : REPORT_INK;
}

/* The value with runs of blanks made one; characters that markup gives a meaning are left out. */
static void add_value(struct base_text *out, struct span value)
{
    bool was_blank = true;
    for (size_t i = 0; i < value.length; i++) {
        char c = value.at[i];
        bool is_blank = isspace((unsigned char)c) != 0;
        if (strchr("<>\"'&", c) == NULL && !(is_blank && was_blank))
            base_text_add_n(out, is_blank ? " " : &c, 1);
        was_blank = is_blank;
    }
}

static void add_attribute(struct base_text *out, const char *name, struct span value)
{
    if (value.length == 0)
        return;
    base_text_printf(out, " %s=\"", name);
    add_value(out, value);
    base_text_add(out, "\"");
}

static void take_path(struct cleaner *cleaner, const struct tag *tag)
{
    struct span stroke = attribute(tag, "stroke");
    base_text_printf(cleaner->out, "<path class=\"k%d\"", read_colour(stroke));
    if (cleaner->width.length > 0 && !span_is(cleaner->width, "1.00"))
        add_attribute(cleaner->out, "stroke-width", cleaner->width);
    add_attribute(cleaner->out, "stroke-dasharray", attribute(tag, "stroke-dasharray"));
    add_attribute(cleaner->out, "d", attribute(tag, "d"));
    base_text_add(cleaner->out, "/>\n");
}

static void take_area(struct cleaner *cleaner, const struct tag *tag)
{
    base_text_printf(cleaner->out, "<polygon class=\"k%d\"", read_colour(attribute(tag, "fill")));
    add_attribute(cleaner->out, "fill-opacity", attribute(tag, "fill-opacity"));
    add_attribute(cleaner->out, "points", attribute(tag, "points"));
    base_text_add(cleaner->out, "/>\n");
}

/* "translate(X,Y) scale(R)": a dot of gnuplot's, whose radius before scaling is 1. */
static void take_dot(struct cleaner *cleaner, const struct tag *tag)
{
    struct span transform = attribute(tag, "transform");
    char text[128], x[24], y[24], radius[24];
    if (transform.length >= sizeof text)
        return;
    memcpy(text, transform.at, transform.length);
    text[transform.length] = '\0';
    if (sscanf(text, "translate(%23[0-9.],%23[0-9.]) scale(%23[0-9.])", x, y, radius) == 3)
        base_text_printf(cleaner->out, "<circle class=\"k%d\" cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n",
                         read_colour(attribute(tag, "color")), x, y, radius);
}

static void take_group(struct cleaner *cleaner, const struct tag *tag)
{
    struct span width = attribute(tag, "stroke-width"), transform = attribute(tag, "transform");
    if (width.length > 0)
        cleaner->width = width;
    if (transform.length == 0)
        return;
    cleaner->transform = transform;
    cleaner->anchor = attribute(tag, "text-anchor");
    cleaner->colour = read_colour(attribute(tag, "fill"));
}

/* gnuplot has escaped the text; it ends at the next tag. */
static void take_text(struct cleaner *cleaner)
{
    const char *text = cleaner->next + strspn(cleaner->next, " ");
    size_t length = strcspn(text, "<");
    base_text_printf(cleaner->out, "<text class=\"k%d\"", cleaner->colour);
    add_attribute(cleaner->out, "transform", cleaner->transform);
    if (!span_is(cleaner->anchor, "start"))
        add_attribute(cleaner->out, "text-anchor", cleaner->anchor);
    base_text_add(cleaner->out, ">");
    base_text_add_n(cleaner->out, text, length);
    base_text_add(cleaner->out, "</text>\n");
}

/* Passes over everything up to the end of the element. */
static void skip(struct cleaner *cleaner, const char *name)
{
    struct tag tag;
    while (next_tag(cleaner, &tag) && !(tag.is_end && span_is(tag.name, name)))
        continue;
}

static void take(struct cleaner *cleaner, const struct tag *tag)
{
    if (tag->is_end)
        return;
    if (span_is(tag->name, "defs"))
        skip(cleaner, "defs");
    else if (span_is(tag->name, "g"))
        take_group(cleaner, tag);
    else if (span_is(tag->name, "path"))
        take_path(cleaner, tag);
    else if (span_is(tag->name, "polygon"))
        take_area(cleaner, tag);
    else if (span_is(tag->name, "use"))
        take_dot(cleaner, tag);
    else if (span_is(tag->name, "text"))
        take_text(cleaner);
}

bool report_svg_clean(const char *drawing, struct base_text *svg)
{
    struct cleaner cleaner = {.next = drawing, .out = svg, .colour = REPORT_INK};
    struct tag tag = {0};
    bool is_begun = false;
    while (next_tag(&cleaner, &tag)) {
        is_begun = is_begun || span_is(tag.name, "svg");
        if (is_begun && tag.is_end && span_is(tag.name, "svg"))
            return svg->count > 0;
        if (is_begun)
            take(&cleaner, &tag);
    }
    return false;
}
