#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Printing for people. Decimals are made from integers, since printf's point follows the locale.
 */
enum { FIXED_BYTES = 48 };

/* `value` with `places` decimals (0 to 4); values beyond 10^13 lose them. */
static void print_fixed(double value, int places, char text[FIXED_BYTES])
{
    static const int powers[] = {1, 10, 100, 1000, 10000};
    double magnitude = value < 0.0 ? -value : value;
    if (!(magnitude < 1e13)) {
        snprintf(text, FIXED_BYTES, "%.0e", value);
        return;
    }
    long long scaled = (long long)(magnitude * powers[places] + 0.5);
    long long whole = scaled / powers[places], part = scaled % powers[places];
    const char *sign = value < 0.0 && scaled > 0 ? "-" : "";
    if (places == 0)
        snprintf(text, FIXED_BYTES, "%s%lld", sign, whole);
    else
        snprintf(text, FIXED_BYTES, "%s%lld.%0*lld", sign, whole, places, part);
}

struct scale {
    double unit;
    const char *name;
};

/* Prints in the largest unit that leaves at least 1; scales from small to large. */
static char *print_scaled(double value, const struct scale *scales, size_t count, int digits,
                          char *text, size_t bytes)
{
    double magnitude = value < 0.0 ? -value : value;
    size_t i = 0;
    while (i + 1 < count && magnitude >= scales[i + 1].unit)
        i++;
    double shown = magnitude / scales[i].unit;
    int places = digits;
    if (digits == 3) /* four significant digits */
        places = shown >= 1000.0 ? 0 : shown >= 100.0 ? 1 : shown >= 10.0 ? 2 : 3;
    char number[FIXED_BYTES];
    print_fixed(value / scales[i].unit, i == 0 ? 0 : places, number);
    snprintf(text, bytes, "%s %s", number, scales[i].name);
    return text;
}

char *base_print_bytes(double value_bytes, char *text, size_t bytes)
{
    static const struct scale scales[] = {
        {1.0, "B"},
        {1024.0, "KiB"},
        {1048576.0, "MiB"},
        {1073741824.0, "GiB"},
        {1099511627776.0, "TiB"},
    };
    return print_scaled(value_bytes, scales, sizeof scales / sizeof scales[0], 2, text, bytes);
}

char *base_print_time(double value_ns, char *text, size_t bytes)
{
    static const struct scale scales[] = {{1.0, "ns"}, {1e3, "us"},   {1e6, "ms"},
                                          {1e9, "s"},  {60e9, "min"}, {3600e9, "h"}};
    return print_scaled(value_ns, scales, sizeof scales / sizeof scales[0], 3, text, bytes);
}

char *base_print_count(double value, char *text, size_t bytes)
{
    char plain[FIXED_BYTES];
    print_fixed(value, 0, plain);
    size_t length = strlen(plain), written = 0;
    bool grouped = strchr(plain, 'e') == NULL;
    for (size_t i = 0; i < length && written + 1 < bytes; i++) {
        size_t left = length - i;
        bool comma = grouped && i > 0 && left % 3 == 0 && plain[i - 1] != '-';
        if (comma && written + 2 < bytes)
            text[written++] = ',';
        text[written++] = plain[i];
    }
    if (bytes > 0)
        text[written] = '\0';
    return text;
}

/* How many significant digits tell `value` from its neighbours. */
static int shortest_digits(double value)
{
    char text[FIXED_BYTES];
    int digits = 1;
    for (; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return digits;
}

/* The power of ten of the first digit, once rounded to `digits`. */
static int decimal_exponent(double value, int digits)
{
    char text[FIXED_BYTES];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

char *base_print_real(double value, char *text, size_t bytes)
{
    if (!isfinite(value)) {
        snprintf(text, bytes, "%s", isnan(value) ? "nan" : value > 0.0 ? "inf" : "-inf");
        return text;
    }
    int digits = shortest_digits(value);
    int exponent = decimal_exponent(value, digits);
    if (exponent < -5 || exponent > 16)
        snprintf(text, bytes, "%.*e", digits - 1, value);
    else
        snprintf(text, bytes, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 0, value);
    for (char *at = text; *at != '\0'; at++) {
        bool known = (*at >= '0' && *at <= '9') || *at == '-' || *at == '+' || *at == 'e';
        if (!known)
            *at = '.';
    }
    return text;
}
