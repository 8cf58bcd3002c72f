#include "conf/node.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/*
 * The canonical text of a tree: YAML flow on one line, keys sorted with '-' read as '_', scalars as written. A text is
 * quoted only where a reader would take it for something else or stumble over it, so that `a` and
 * "a" give the same text while 5 and "5" do not. Reading it back gives the same tree but for marks.
 */

static bool is_plain_character(char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || (c != '\0' && strchr("_./+%$-()<=> ", c) != NULL);
}

/* Whether a text can stand without quotes in a flow collection. */
static bool is_plain(const char *text)
{
    size_t length = strlen(text);
    bool edge = length == 0 || text[0] == ' ' || text[length - 1] == ' ';
    if (edge || strchr("%<>-=", text[0]) != NULL) {
        bool negative = text[0] == '-' && (text[1] == '.' || (text[1] >= '0' && text[1] <= '9'));
        if (edge || !negative)
            return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_plain_character(text[i]))
            return false;
    }
    return true;
}

/* Words that YAML 1.1 or 1.2 reads as null or as a truth value, and everything that begins like a number. */
static bool is_special(const char *text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on",
                                        "off",  "y",    "n",     "inf", "nan"};
    char lower[8];
    if (strchr("0123456789+-.$", text[0]) != NULL)
        return true;
    if (!base_copy(lower, sizeof lower, text))
        return false;
    base_lower(lower);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(lower, words[i]) == 0)
            return true;
    }
    return false;
}

/* The code point at a well-formed UTF-8 sequence, and its length. */
static unsigned decode(const char *at, size_t *length)
{
    const unsigned char *byte = (const unsigned char *)at;
    *length = byte[0] < 0x80 ? 1 : byte[0] < 0xE0 ? 2 : byte[0] < 0xF0 ? 3 : 4;
    unsigned code = *length == 1 ? byte[0] : byte[0] & (0x7Fu >> *length);
    for (size_t i = 1; i < *length; i++)
        code = code << 6 | (byte[i] & 0x3Fu);
    return code;
}

/* Characters that YAML forbids, folds or skips when they stand as they are. */
static bool needs_escape(unsigned code)
{
    bool control = code < 0x20 || (code >= 0x7F && code <= 0xA0);
    bool line_end = code == 0x2028 || code == 0x2029;
    return control || line_end || code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

static void print_quoted(const char *text, struct base_text *out)
{
    size_t length;
    base_text_add(out, "\"");
    for (const char *at = text; *at != '\0'; at += length) {
        unsigned code = decode(at, &length);
        if (code == '"' || code == '\\')
            base_text_printf(out, "\\%c", *at);
        else if (needs_escape(code))
            base_text_printf(out, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
        else
            base_text_add_n(out, at, length);
    }
    base_text_add(out, "\"");
}

static void print_scalar(const struct conf_node *node, struct base_text *out)
{
    if (is_plain(node->text) && !(node->quoted && is_special(node->text)))
        base_text_add(out, node->text);
    else
        print_quoted(node->text, out);
}

/* Keys are always texts: "null" and "1" need no quotes to stay so. */
static void print_key(const struct conf_node *key, struct base_text *out)
{
    if (!is_plain(key->text) || strchr(key->text, ' ') != NULL) {
        print_quoted(key->text, out);
        return;
    }
    for (const char *at = key->text; *at != '\0'; at++)
        base_text_add_n(out, *at == '-' ? "_" : at, 1);
}

struct pair {
    const struct conf_node *key, *item;
};

static int compare_pairs(const void *a, const void *b)
{
    const char *s = ((const struct pair *)a)->key->text, *t = ((const struct pair *)b)->key->text;
    for (;; s++, t++) {
        unsigned char c = (unsigned char)(*s == '-' ? '_' : *s);
        unsigned char d = (unsigned char)(*t == '-' ? '_' : *t);
        if (c != d)
            return c < d ? -1 : 1;
        if (c == '\0')
            return 0;
    }
}

static void print_map(const struct conf_node *map, struct base_text *out)
{
    struct pair *pairs = base_alloc(base_mul_size(map->count, sizeof *pairs));
    for (size_t i = 0; i < map->count; i++)
        pairs[i] = (struct pair){.key = map->keys[i], .item = map->items[i]};
    qsort(pairs, map->count, sizeof *pairs, compare_pairs);
    base_text_add(out, "{");
    for (size_t i = 0; i < map->count; i++) {
        base_text_add(out, i == 0 ? "" : ", ");
        print_key(pairs[i].key, out);
        base_text_add(out, ": ");
        conf_print(pairs[i].item, out);
    }
    base_text_add(out, "}");
    base_free(pairs);
}

static void print_list(const struct conf_node *list, struct base_text *out)
{
    base_text_add(out, "[");
    for (size_t i = 0; i < list->count; i++) {
        base_text_add(out, i == 0 ? "" : ", ");
        conf_print(list->items[i], out);
    }
    base_text_add(out, "]");
}

void conf_print(const struct conf_node *node, struct base_text *out)
{
    switch (node->kind) {
    case CONF_NULL:
        base_text_add(out, "null");
        break;
    case CONF_SCALAR:
        print_scalar(node, out);
        break;
    case CONF_LIST:
        print_list(node, out);
        break;
    case CONF_MAP:
        print_map(node, out);
        break;
    }
}
