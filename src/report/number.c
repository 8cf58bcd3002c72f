#include "report/number.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *report_print_exact(double value, char *text, size_t bytes)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, bytes, "%.*g", digits, value);
        double again = strtod(text, NULL);
        if (again >= value && again <= value)
            break;
    }
    return text;
}

/* Sets thousands apart in place: 19366.5 becomes 19,366.5. */
static void group_thousands(char *text, size_t bytes)
{
    char plain[REPORT_NUMBER_BYTES];
    base_copy(plain, sizeof plain, text);
    size_t start = plain[0] == '-' ? 1 : 0;
    size_t whole = strspn(plain + start, "0123456789");
    size_t written = 0;
    for (size_t i = 0; plain[i] != '\0' && written + 2 < bytes; i++) {
        bool is_whole = i > start && i < start + whole;
        if (is_whole && (start + whole - i) % 3 == 0)
            text[written++] = ',';
        text[written++] = plain[i];
    }
    text[written] = '\0';
}

static char *print_decimals(double value, int decimals, char *text, size_t bytes)
{
    if (fabs(value) >= 1e15) {
        snprintf(text, bytes, "%.3g", value);
        return text;
    }
    snprintf(text, bytes, "%.*f", decimals, value);
    group_thousands(text, bytes);
    return text;
}

/* How many decimals show `digits` significant digits of `value`; at most 6. */
static int decimals_for(double value, int digits)
{
    double magnitude = fabs(value);
    int decimals = digits - 1;
    while (magnitude >= 10.0 && decimals > 0) {
        magnitude /= 10.0;
        decimals--;
    }
    while (magnitude > 0.0 && magnitude < 1.0 && decimals < 6) {
        magnitude *= 10.0;
        decimals++;
    }
    return magnitude > 0.0 ? decimals : 0;
}

static char *print_nothing(char *text, size_t bytes)
{
    base_copy(text, bytes, "-");
    return text;
}

char *report_print_rounded(double value, int digits, char *text, size_t bytes)
{
    if (isnan(value))
        return print_nothing(text, bytes);
    if (isinf(value)) {
        snprintf(text, bytes, "%s", value > 0.0 ? "inf" : "-inf");
        return text;
    }
    // A count is shown as what it is.
    bool is_whole = fabs(value) < 1e15 && floor(value) >= value;
    return print_decimals(value, is_whole ? 0 : decimals_for(value, digits), text, bytes);
}

char *report_print_interval(double value, double low, double high, char *text, size_t bytes)
{
    if (isnan(value) || isinf(value) || isnan(low) || isnan(high) || isinf(low) || isinf(high))
        return report_print_rounded(value, 3, text, bytes);
    // The longer side where they differ: what is said holds the interval.
    double half = fmax(high - value, value - low);
    // Less than a double can tell in a mean of such values: equal replications.
    if (half <= 1e-9 * fabs(value))
        half = 0.0;
    int decimals = decimals_for(value, 3);
    int needed = decimals_for(half, 1);
    // No more than six digits; a smaller half width is shown as one of the last of them.
    int most = decimals_for(fmax(fabs(value), half), 6);
    if (half > 0.0 && needed > decimals)
        decimals = needed < most ? needed : (most > decimals ? most : decimals);
    half = half > 0.0 ? fmax(half, pow(10.0, -decimals)) : 0.0;
    if (!(half > 0.0) && floor(value) >= value)
        decimals = 0;
    char number[REPORT_NUMBER_BYTES], width[REPORT_NUMBER_BYTES];
    print_decimals(value, decimals, number, sizeof number);
    print_decimals(half, decimals, width, sizeof width);
    snprintf(text, bytes, "%s ± %s", number, width);
    return text;
}

char *report_print_difference(double value, double low, double high, char *text, size_t bytes)
{
    double above = high - value, below = value - low;
    if (!(fabs(above - below) > 0.1 * fmax(above, below)) || !isfinite(above + below))
        return report_print_interval(value, low, high, text, bytes);
    char number[REPORT_NUMBER_BYTES], from[REPORT_NUMBER_BYTES], to[REPORT_NUMBER_BYTES];
    report_print_rounded(value, 3, number, sizeof number);
    report_print_rounded(low, 3, from, sizeof from);
    report_print_rounded(high, 3, to, sizeof to);
    snprintf(text, bytes, "%s (%s to %s)", number, from, to);
    return text;
}

char *report_print_share(double share, char *text, size_t bytes)
{
    if (isnan(share))
        return print_nothing(text, bytes);
    // What is not quite all must not be shown as all.
    int decimals = 1;
    while (share < 1.0 && decimals < 6 && share * 100.0 >= 100.0 - 0.5 * pow(10.0, -decimals))
        decimals++;
    snprintf(text, bytes, "%.*f %%", decimals, share * 100.0);
    return text;
}

char *report_print_usd(double value, char *text, size_t bytes)
{
    if (isnan(value) || value < 1 || value >= 1000)
        return report_print_rounded(value, 3, text, bytes);
    snprintf(text, bytes, "%.2f", value);
    return text;
}

char *report_print_gib(double value_bytes, char *text, size_t bytes)
{
    if (isnan(value_bytes))
        return print_nothing(text, bytes);
    return print_decimals(value_bytes / 1073741824.0, 2, text, bytes);
}

size_t report_text_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0u) != 0x80u;
    return width;
}
