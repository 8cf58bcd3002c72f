#include "report/utf8.h"

size_t report_utf8_length(const unsigned char *text)
{
    unsigned char c = text[0];
    size_t length = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : 0;
    if (c >= 0xF0 && c < 0xF5)
        length = 4;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0u) != 0x80u)
            return 0;
    }
    if ((c == 0xE0 && text[1] < 0xA0) || (c == 0xED && text[1] > 0x9F) ||
        (c == 0xF0 && text[1] < 0x90) || (c == 0xF4 && text[1] > 0x8F))
        return 0;
    return length;
}
