#include "base/i128.h"

#include "base/error.h"

#include <string.h>

char *base_i128_print(base_i128 value, char *text, size_t bytes)
{
    char digits[40]; /* 2^127 has 39 digits */
    size_t count = 0;
    base_u128 rest = value < 0 ? (base_u128)0 - (base_u128)value : (base_u128)value;
    do {
        digits[count++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest > 0);
    size_t sign = value < 0 ? 1 : 0;
    base_require(bytes > count + sign);
    if (sign == 1)
        text[0] = '-';
    for (size_t i = 0; i < count; i++)
        text[sign + i] = digits[count - 1 - i];
    text[sign + count] = '\0';
    return text;
}
