#include "support/markup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64, NAME_MAX_BYTES = 32 };

struct checker {
    const char *page, *at;
    char names[DEPTH_MAX][NAME_MAX_BYTES];
    int depth;
    char *fault;
    unsigned long bytes;
};

unsigned markup_count(const char *text, const char *words)
{
    unsigned count = 0;
    for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words))
        count++;
    return count;
}

static bool fail(struct checker *checker, const char *what)
{
    snprintf(checker->fault, checker->bytes, "%s at byte %ld: %.60s", what,
             (long)(checker->at - checker->page), checker->at);
    return false;
}

static bool check_entity(struct checker *checker)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(checker->at, known[i], strlen(known[i])) == 0)
            return true;
    }
    return fail(checker, "an '&' that begins no entity");
}

/* An id that another attribute refers to, or that must stand once: id="X". */
static bool check_id(struct checker *checker, const char *value, size_t length, unsigned wanted)
{
    char id[160];
    if (length + 8 > sizeof id)
        return fail(checker, "a long id");
    snprintf(id, sizeof id, " id=\"%.*s\"", (int)length, value);
    return markup_count(checker->page, id) == wanted ? true : fail(checker, "an id that isn't one");
}

/* One attribute, from its name on. */
static bool check_attribute(struct checker *checker)
{
    const char *name = checker->at;
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-:");
    checker->at += length;
    if (length == 0 || strncmp(checker->at, "=\"", 2) != 0)
        return fail(checker, "an attribute without a quoted value");
    const char *value = checker->at += 2;
    for (; *checker->at != '"'; checker->at++) {
        if (*checker->at == '\0' || *checker->at == '<')
            return fail(checker, "an attribute that does not end");
        if (*checker->at == '&' && !check_entity(checker))
            return false;
    }
    size_t value_length = (size_t)(checker->at++ - value);
    bool is_id = strncmp(name, "id=", 3) == 0;
    bool refers =
        strncmp(name, "aria-labelledby=", 16) == 0 || strncmp(name, "aria-describedby=", 17) == 0;
    return is_id || refers ? check_id(checker, value, value_length, 1) : true;
}

static bool check_end_tag(struct checker *checker, size_t length)
{
    const char *name = checker->at;
    if (checker->depth == 0 || strlen(checker->names[checker->depth - 1]) != length ||
        strncmp(checker->names[checker->depth - 1], name, length) != 0)
        return fail(checker, "an end of an element that is not open");
    checker->depth--;
    checker->at += length;
    return *checker->at++ == '>' ? true : fail(checker, "an end tag that does not end");
}

static bool check_tag(struct checker *checker)
{
    bool is_end = checker->at[1] == '/';
    checker->at += is_end ? 2 : 1;
    size_t length = strspn(checker->at, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (length == 0 || length >= NAME_MAX_BYTES)
        return fail(checker, "a '<' that begins no tag");
    if (is_end)
        return check_end_tag(checker, length);
    if (checker->depth == DEPTH_MAX)
        return fail(checker, "elements too deep");
    snprintf(checker->names[checker->depth], NAME_MAX_BYTES, "%.*s", (int)length, checker->at);
    checker->at += length;
    for (;;) {
        while (isspace((unsigned char)*checker->at))
            checker->at++;
        if (*checker->at == '>' || strncmp(checker->at, "/>", 2) == 0)
            break;
        if (!check_attribute(checker))
            return false;
    }
    checker->depth += *checker->at == '>';
    checker->at += *checker->at == '>' ? 1 : 2;
    return true;
}

const char *markup_fault(const char *page, char *text, unsigned long bytes)
{
    static const char doctype[] = "<!DOCTYPE html>\n";
    struct checker checker = {.page = page, .at = page, .fault = text, .bytes = bytes};
    if (strncmp(page, doctype, strlen(doctype)) != 0)
        return "no doctype";
    checker.at += strlen(doctype);
    while (*checker.at != '\0') {
        unsigned char c = (unsigned char)*checker.at;
        bool is_good = c == '<'                             ? check_tag(&checker)
                       : c == '&'                           ? check_entity(&checker)
                       : c < 0x20 && c != '\n' && c != '\t' ? fail(&checker, "a control character")
                                                            : true;
        if (!is_good)
            return text;
        checker.at += c != '<';
    }
    return checker.depth == 0 ? NULL : "an element that is never closed";
}

const char *markup_outside(const char *page)
{
    static const char *const words[] = {"<script", "<link",  "<img",     "<iframe",    "<object",
                                        " src=",   " href=", "@import",  "url(",       "@font-face",
                                        "onload=", "<base",  "<?xml-st", "xlink:href", "<image"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(page, words[i]) != NULL)
            return words[i];
    }
    return NULL;
}
