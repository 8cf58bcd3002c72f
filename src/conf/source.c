#include "conf/conf_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

void conf_place_move(struct conf_place *place, const char *to)
{
    for (; place->at < to; place->at++) {
        char c = *place->at;
        bool line_end = c == '\n' || (c == '\r' && (place->at + 1 == to || place->at[1] != '\n'));
        if (line_end) {
            place->line++;
            place->column = 1;
        } else if (((unsigned char)c & 0xC0u) != 0x80u) {
            place->column++;
        }
    }
}

/* Length of the UTF-8 sequence at `at`, or 0 when it is broken, overlong, a surrogate or above U+10FFFF. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        unsigned char length;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (at[0] < forms[i].first_low || at[0] > forms[i].first_high)
            continue;
        size_t length = forms[i].length;
        if (left < length || at[1] < forms[i].second_low || at[1] > forms[i].second_high)
            return 0;
        for (size_t k = 2; k < length; k++) {
            if ((at[k] & 0xC0u) != 0x80u)
                return 0;
        }
        return length;
    }
    return 0;
}

static bool is_control(unsigned char byte)
{
    return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
}

const char *conf_text_fault(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        if (bytes[i] < 0x80) {
            if (is_control(bytes[i]))
                return text + i;
            i++;
            continue;
        }
        size_t step = utf8_length(bytes + i, length - i);
        if (step == 0)
            return text + i;
        i += step;
    }
    return NULL;
}

const char *conf_text_fault_name(const char *fault)
{
    return (unsigned char)*fault >= 0x80 ? "is not UTF-8 text" : "holds binary data";
}

size_t conf_text_bom(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

static enum kvsim_status fail_io(const char *path, const char *what, struct kvsim_error *err)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_IO, "cannot open: %s", what);
    base_error_at(err, path, 0, 0);
    base_error_code(err, "cannot-read");
    return status;
}

enum kvsim_status conf_file_open(const char *path, FILE **out, long long *bytes,
                                 struct kvsim_error *err)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail_io(path, strerror(errno), err);
    struct stat info;
    const char *problem = NULL;
    if (fstat(fileno(file), &info) != 0)
        problem = strerror(errno);
    else if (S_ISDIR(info.st_mode))
        problem = "is a directory";
    if (problem != NULL) {
        fclose(file);
        return fail_io(path, problem, err);
    }
    *bytes = S_ISREG(info.st_mode) ? (long long)info.st_size : 0;
    *out = file;
    return KVSIM_OK;
}
