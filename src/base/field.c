#include "base/field.h"

#include <string.h>

enum { NAME_MAX_LENGTH = 64 }; /* longer names are never near anything */

static char plain(char c)
{
    return c == '-' ? '_' : c;
}

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : plain(c);
}

bool base_key_equal(const char *a, const char *b)
{
    while (*a != '\0' && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The next blank-separated word at *list into `word`; false at the end. Overlong words are cut. */
static bool next_word(const char **list, char word[NAME_MAX_LENGTH + 1])
{
    if (*list == NULL)
        return false;
    const char *at = *list + strspn(*list, " ");
    size_t length = strcspn(at, " ");
    *list = at + length;
    size_t kept = length < NAME_MAX_LENGTH ? length : NAME_MAX_LENGTH;
    memcpy(word, at, kept);
    word[kept] = '\0';
    return length > 0;
}

bool base_key_is_listed(const char *list, const char *key)
{
    while (*list != '\0') {
        const char *at = key;
        while (*at != '\0' && *list != ' ' && plain(*list) == plain(*at)) {
            list++;
            at++;
        }
        if (*at == '\0' && (*list == ' ' || *list == '\0'))
            return true;
        while (*list != ' ' && *list != '\0')
            list++;
        list += *list == ' ';
    }
    return false;
}

const struct base_field *base_field_find(const struct base_field *table, const char *key)
{
    for (; table != NULL && table->key != NULL; table++) {
        if (base_key_equal(table->key, key) ||
            (table->also != NULL && key[0] != '\0' && base_key_is_listed(table->also, key)))
            return table;
    }
    return NULL;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours; case is free. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = before[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char x = folded(a[i - 1]), y = folded(b[j - 1]);
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x == y ? 0 : 1));
            bool swapped = i > 1 && j > 1 && x == folded(b[j - 2]) && folded(a[i - 2]) == y;
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_length];
}

struct nearest {
    const char *name;
    size_t distance;
};

/* Takes `name` for `candidate` when it is nearer than what was found so far and near at all. */
static void consider(struct nearest *best, const char *key, const char *candidate, const char *name)
{
    size_t key_length = strlen(key), length = strlen(candidate);
    if (key_length == 0 || key_length > NAME_MAX_LENGTH || length > NAME_MAX_LENGTH)
        return;
    size_t longer = key_length > length ? key_length : length;
    size_t allowed = longer < 6 ? 1 : longer / 3;
    size_t found = distance(key, key_length, candidate, length);
    if (found <= allowed && (best->name == NULL || found < best->distance))
        *best = (struct nearest){.name = name, .distance = found};
}

const char *base_field_nearest(const struct base_field *table, const char *key)
{
    struct nearest best = {0};
    char word[NAME_MAX_LENGTH + 1];
    for (; table != NULL && table->key != NULL; table++) {
        consider(&best, key, table->key, table->key);
        for (const char *also = table->also; next_word(&also, word);)
            consider(&best, key, word, table->key);
    }
    return best.name;
}

const char *base_name_nearest(const char *const *names, const char *key)
{
    struct nearest best = {0};
    for (; *names != NULL; names++)
        consider(&best, key, *names, *names);
    return best.name;
}
