/*
 * markup.h - looks whether a page is well-formed and needs nothing from elsewhere.
 */
#ifndef KVSIM_TESTS_SUPPORT_MARKUP_H
#define KVSIM_TESTS_SUPPORT_MARKUP_H

/*
 * NULL when every element is closed in its order, every attribute is quoted, every '&' begins an entity of XML, no id stands
 * twice and every aria reference leads to one; else what is wrong and where, until the next call.
 */
const char *markup_fault(const char *page, char *text, unsigned long bytes);

/* NULL when the page holds no script, no style sheet, picture, font or link of another file; else the offending words. */
const char *markup_outside(const char *page);

/* How often `words` stand in `text`. */
unsigned markup_count(const char *text, const char *words);

#endif
