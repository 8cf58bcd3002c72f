/*
 * device.c - the names under which tables and drivers know a device.
 */
#include "calib/calibrate.h"

#include <ctype.h>
#include <string.h>

/* Without the maker's words before the name that the driver of a GeForce or of any NVIDIA card puts there. */
static const char *without_maker(const char *plain)
{
    static const char *const words[] = {"nvidia", "geforce"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(plain, words[i], strlen(words[i])) == 0)
            plain += strlen(words[i]);
    return plain;
}

static void plain_name(const char *text, char *out, size_t bytes)
{
    size_t count = 0;
    for (; *text != '\0' && count + 1 < bytes; text++)
        if (isalnum((unsigned char)*text))
            out[count++] = (char)tolower((unsigned char)*text);
    out[count] = '\0';
}

static bool names_agree(const char *text, const char *name, size_t name_length)
{
    static const char *const endings[] = {"", "server", "serveredition", "pcap", "gpu"};
    char a_text[96], b_text[96], word[96];
    if (name_length + 1 > sizeof word)
        return false;
    memcpy(word, name, name_length);
    word[name_length] = '\0';
    plain_name(text, a_text, sizeof a_text);
    plain_name(word, b_text, sizeof b_text);
    if (strcmp(a_text, b_text) == 0)
        return true;
    const char *a = without_maker(a_text), *b = without_maker(b_text);
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length < 3 || b_length < 3)
        return false;
    // The table's name is often the shorter one: a100_sxm is any A100 SXM, and the user says which. H20 is no H200.
    if (a_length <= b_length)
        return strncmp(a, b, a_length) == 0 &&
               !(isdigit((unsigned char)a[a_length - 1]) && isdigit((unsigned char)b[a_length]));
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (strncmp(a, b, b_length) == 0 && strcmp(a + b_length, endings[i]) == 0)
            return true;
    return false;
}

bool calib_device_is(const char *text, const char *name, const char *aliases)
{
    if (names_agree(text, name, strlen(name)))
        return true;
    for (const char *at = aliases == NULL ? "" : aliases; *at != '\0';) {
        size_t length = strcspn(at, " ,");
        if (length > 0 && names_agree(text, at, length))
            return true;
        at += length;
        at += strspn(at, " ,");
    }
    return false;
}
