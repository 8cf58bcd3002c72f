#include "base/units.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/units_int.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 36, EXPONENT_MAX = 100000, QUOTED_MAX = 60 };

/* A suffix and its factor n * 2^e2 * 5^e5 / d3; rows of a unit end with suffix NULL. */
struct suffix {
    const char *text;
    unsigned n;
    signed char e2, e5;
    unsigned d3;
};

#define TEN(k) .n = 1, .e2 = (k), .e5 = (k), .d3 = 1
#define TWO(k) .n = 1, .e2 = (k), .d3 = 1
#define BITS(k) .n = 1, .e2 = (k)-3, .e5 = (k), .d3 = 1
#define PER_MINUTE(k) .n = 1, .e2 = (k)-2, .e5 = (k)-1, .d3 = 3
#define PER_HOUR(k) .n = 1, .e2 = (k)-4, .e5 = (k)-2, .d3 = 9

static const struct suffix none_suffixes[] = {{"", TEN(0)}, {0}};

static const struct suffix count_suffixes[] = {
    {"", TEN(0)},
    {"k", TEN(3)},
    {"K", TEN(3)},
    {"M", TEN(6)},
    {"G", TEN(9)},
    {"T", TEN(12)},
    {"Ki", TWO(10)},
    {"Mi", TWO(20)},
    {"Gi", TWO(30)},
    {"Ti", TWO(40)},
    {0},
};

static const struct suffix token_suffixes[] = {
    {"", TWO(0)},          {"k", TWO(10)},        {"K", TWO(10)},        {"M", TWO(20)},
    {"Ki", TWO(10)},       {"Mi", TWO(20)},       {"token", TWO(0)},     {"tokens", TWO(0)},
    {"k tokens", TWO(10)}, {"K tokens", TWO(10)}, {"M tokens", TWO(20)}, {0},
};

/* The first row is for plain bytes only. */
static const struct suffix byte_suffixes[] = {
    {"", TEN(0)},
    {"B", TEN(0)},
    {"byte", TEN(0)},
    {"bytes", TEN(0)},
    {"kB", TEN(3)},
    {"KB", TEN(3)},
    {"MB", TEN(6)},
    {"GB", TEN(9)},
    {"TB", TEN(12)},
    {"KiB", TWO(10)},
    {"MiB", TWO(20)},
    {"GiB", TWO(30)},
    {"TiB", TWO(40)},
    {"k", TEN(3)},
    {"K", TEN(3)},
    {"M", TEN(6)},
    {"G", TEN(9)},
    {"T", TEN(12)},
    {"Ki", TWO(10)},
    {"Mi", TWO(20)},
    {"Gi", TWO(30)},
    {"Ti", TWO(40)},
    {0},
};

static const struct suffix time_suffixes[] = {
    {"ns", TEN(0)},
    {"us", TEN(3)},
    {"ms", TEN(6)},
    {"s", TEN(9)},
    {"min", .n = 6, .e2 = 10, .e5 = 10, .d3 = 1},
    {"h", .n = 36, .e2 = 11, .e5 = 11, .d3 = 1},
    {0},
};

static const struct suffix rate_suffixes[] = {
    {"/s", TEN(0)},
    {"k/s", TEN(3)},
    {"K/s", TEN(3)},
    {"M/s", TEN(6)},
    {"/min", PER_MINUTE(0)},
    {"k/min", PER_MINUTE(3)},
    {"K/min", PER_MINUTE(3)},
    {"M/min", PER_MINUTE(6)},
    {"/h", PER_HOUR(0)},
    {"k/h", PER_HOUR(3)},
    {"K/h", PER_HOUR(3)},
    {"M/h", PER_HOUR(6)},
    {0},
};

static const struct suffix ratio_suffixes[] = {{"", TEN(0)}, {"%", TEN(-2)}, {0}};

static const struct suffix bandwidth_suffixes[] = {
    {"B/s", TEN(0)},    {"kB/s", TEN(3)},    {"KB/s", TEN(3)},    {"MB/s", TEN(6)},
    {"GB/s", TEN(9)},   {"TB/s", TEN(12)},   {"KiB/s", TWO(10)},  {"MiB/s", TWO(20)},
    {"GiB/s", TWO(30)}, {"TiB/s", TWO(40)},  {"Mb/s", BITS(6)},   {"Gb/s", BITS(9)},
    {"Tb/s", BITS(12)}, {"Mbit/s", BITS(6)}, {"Gbit/s", BITS(9)}, {"Tbit/s", BITS(12)},
    {"Mbps", BITS(6)},  {"Gbps", BITS(9)},   {"Tbps", BITS(12)},  {0},
};

static const struct suffix flop_suffixes[] = {
    {"FLOPS", TEN(0)},
    {"FLOP/s", TEN(0)},
    {"MFLOPS", TEN(6)},
    {"MFLOP/s", TEN(6)},
    {"GFLOPS", TEN(9)},
    {"GFLOP/s", TEN(9)},
    {"TFLOPS", TEN(12)},
    {"TFLOP/s", TEN(12)},
    {"PFLOPS", TEN(15)},
    {"PFLOP/s", TEN(15)},
    {"OPS", TEN(0)},
    {"OP/s", TEN(0)},
    {"GOPS", TEN(9)},
    {"GOP/s", TEN(9)},
    {"TOPS", TEN(12)},
    {"TOP/s", TEN(12)},
    {"POPS", TEN(15)},
    {"POP/s", TEN(15)},
    {0},
};

static const struct suffix watt_suffixes[] = {
    {"W", TEN(0)}, {"kW", TEN(3)}, {"KW", TEN(3)}, {"MW", TEN(6)}, {"mW", TEN(-3)}, {0},
};

static const struct suffix usd_suffixes[] = {{"", TEN(0)}, {"USD", TEN(0)}, {"$", TEN(0)}, {0}};

struct unit {
    const char *name, *suffix, *help;
    const struct suffix *suffixes;
    bool infinity, negative; /* whether the value may be */
};

static const struct unit units[BASE_UNIT_COUNT] = {
    [BASE_NONE] = {"", "", "a number such as 12 or 0.5", none_suffixes, true, true},
    [BASE_COUNT] = {"", "", "a number such as 12 or 20k (k, M, G, T; Ki, Mi, Gi, Ti)",
                    count_suffixes, false, true},
    [BASE_TOKENS] = {"tokens", "", "a number of tokens such as 512 or 8k (k = 1024, M = 1024^2)",
                     token_suffixes, false, true},
    [BASE_BYTES] = {"bytes", "B", "a size such as 80GiB (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)",
                    byte_suffixes + 1, false, false},
    [BASE_TIME] = {"ns", "ns", "a time such as 250ms (ns, us, ms, s, min, h)", time_suffixes, false,
                   false},
    [BASE_RATE] = {"1/s", "/s", "a rate such as 4/s (/s, /min, /h, or inf)", rate_suffixes, true,
                   false},
    [BASE_RATIO] = {"", "", "a share such as 0.1 or 10%", ratio_suffixes, false, true},
    [BASE_BYTES_PER_S] = {"bytes/s", "B/s",
                          "a bandwidth such as 3.35TB/s (MB/s, GB/s, TB/s, GiB/s, TiB/s; Gb/s are "
                          "bits)",
                          bandwidth_suffixes, false, false},
    [BASE_FLOP_PER_S] = {"FLOP/s", "FLOPS",
                         "a rate such as 989TFLOPS (GFLOPS, TFLOPS, PFLOPS, "
                         "TOPS)",
                         flop_suffixes, false, false},
    [BASE_WATT] = {"W", "W", "a power such as 700W (W, kW, MW)", watt_suffixes, false, false},
    [BASE_USD] = {"USD", "", "an amount of dollars such as 2.50", usd_suffixes, false, false},
    [BASE_PLAIN_BYTES] = {"bytes", "",
                          "a number of bytes such as 1024 or 16GiB (B, KB, MB, GB, "
                          "TB, KiB, MiB, GiB, TiB)",
                          byte_suffixes, false, false},
};

static const struct unit *unit_of(enum base_unit unit)
{
    base_require((unsigned)unit < BASE_UNIT_COUNT);
    return &units[unit];
}

const char *base_unit_name(enum base_unit unit)
{
    return unit_of(unit)->name;
}

const char *base_unit_help(enum base_unit unit)
{
    return unit_of(unit)->help;
}

const char *base_unit_suffix(enum base_unit unit)
{
    return unit_of(unit)->suffix;
}

enum kvsim_status base_number_fail(struct kvsim_error *err, const char *code, const char *text,
                                   const char *fmt, ...)
{
    char what[256], quoted[QUOTED_MAX + 1];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    bool whole = base_copy(quoted, sizeof quoted, text);
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_SCENARIO, "'%s%s' %s", quoted, whole ? "" : "...", what);
    base_error_code(err, code);
    return status;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* A number as read, before its unit: the digits without leading and trailing zeros, times 10^exponent. */
struct decimal {
    char digits[DIGITS_MAX + 1];
    size_t count;
    long exponent;
    bool negative, too_long;
};

static void add_digit(struct decimal *decimal, char digit, size_t *zeros)
{
    if (digit == '0') {
        *zeros += decimal->count > 0 ? 1 : 0;
        return;
    }
    if (decimal->count + *zeros >= DIGITS_MAX) {
        decimal->too_long = true;
        return;
    }
    for (; *zeros > 0; (*zeros)--)
        decimal->digits[decimal->count++] = '0';
    decimal->digits[decimal->count++] = digit;
}

/* Digits with at most one point; NULL when there is no digit. */
static const char *read_digits(const char *at, struct decimal *decimal)
{
    size_t zeros = 0; /* seen after the first other digit and not stored yet */
    long fraction = 0;
    bool point = false, any = false;
    for (; is_digit(*at) || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        any = true;
        fraction += point ? 1 : 0;
        add_digit(decimal, *at, &zeros);
    }
    decimal->digits[decimal->count] = '\0';
    decimal->exponent = (long)zeros - fraction;
    return any ? at : NULL;
}

/* An exponent is read only when digits follow its 'e', so that a unit may begin with that letter. */
static const char *read_exponent(const char *at, struct decimal *decimal)
{
    if (*at != 'e' && *at != 'E')
        return at;
    bool negative = at[1] == '-';
    const char *digits = at + (at[1] == '-' || at[1] == '+' ? 2 : 1);
    if (!is_digit(*digits))
        return at;
    long exponent = 0;
    for (; is_digit(*digits); digits++) {
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*digits - '0');
    }
    decimal->exponent += negative ? -exponent : exponent;
    return digits;
}

static const char *read_decimal(const char *at, struct decimal *decimal)
{
    *decimal = (struct decimal){.negative = *at == '-'};
    at += *at == '-' || *at == '+' ? 1 : 0;
    at = read_digits(at, decimal);
    return at == NULL ? NULL : read_exponent(at, decimal);
}

static bool is_infinity(const char *text)
{
    static const char *const words[] = {"inf", "+inf", ".inf", "+.inf", "infinity"};
    char word[16];
    if (!base_copy(word, sizeof word, text))
        return false;
    base_lower(word);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

/* The row whose suffix is `text` up to trailing blanks. */
static const struct suffix *find_suffix(const struct unit *unit, const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    for (const struct suffix *row = unit->suffixes; row->text != NULL; row++) {
        if (strlen(row->text) == length && memcmp(row->text, text, length) == 0)
            return row;
    }
    return NULL;
}

static enum kvsim_status fail_suffix(const struct unit *unit, const char *text, const char *suffix,
                                     struct kvsim_error *err)
{
    if (*suffix == '\0')
        return base_number_fail(err, "missing-unit", text, "has no unit: use %s", unit->help);
    if (*suffix == '_' || *suffix == ',' || *suffix == '.')
        return base_number_fail(err, "bad-number", text, "is not %s", unit->help);
    return base_number_fail(err, "unknown-unit", text, "has an unknown unit: use %s", unit->help);
}

/*
 * The nearest double, in any locale: strtod is given digits and an exponent but no point. Powers of ten of the unit go
 * into the exponent and powers of two are exact, so that only minutes and hours round a second time.
 */
static double to_real(const struct decimal *decimal, const struct suffix *suffix)
{
    char text[DIGITS_MAX + 24];
    snprintf(text, sizeof text, "%se%ld", decimal->count == 0 ? "0" : decimal->digits,
             decimal->exponent + suffix->e5);
    double value = strtod(text, NULL) * suffix->n / suffix->d3;
    for (int e2 = suffix->e2 - suffix->e5; e2 != 0; e2 += e2 > 0 ? -1 : 1)
        value = e2 > 0 ? value * 2.0 : value / 2.0;
    return decimal->negative && value > 0.0 ? -value : value;
}

static void to_number(const struct decimal *decimal, const struct suffix *suffix,
                      struct base_number *out)
{
    *out = (struct base_number){.negative = decimal->negative && decimal->count > 0,
                                .e2 = decimal->exponent + suffix->e2,
                                .e5 = decimal->exponent + suffix->e5,
                                .d3 = suffix->d3};
    for (size_t i = 0; i < decimal->count; i++)
        out->n = out->n * 10 + (unsigned)(decimal->digits[i] - '0');
    out->n *= suffix->n;
    if (out->n == 0) {
        out->e2 = out->e5 = 0;
        out->d3 = 1;
    }
    for (; out->d3 > 1 && out->n % 3 == 0; out->d3 /= 3)
        out->n /= 3;
    for (; out->e5 < 0 && out->n % 5 == 0; out->e5++)
        out->n /= 5;
    for (; out->e2 < 0 && out->n % 2 == 0; out->e2++)
        out->n /= 2;
}

/* A text taken apart; suffix is NULL for an infinity. */
struct parts {
    struct decimal decimal;
    const struct suffix *suffix;
};

static enum kvsim_status check_parts(const struct parts *parts, const struct unit *unit,
                                     const char *text, struct kvsim_error *err)
{
    if (parts->decimal.too_long)
        return base_number_fail(err, "bad-number", text, "has more than %d significant digits",
                                (int)DIGITS_MAX);
    if (parts->decimal.negative && parts->decimal.count > 0 && !unit->negative)
        return base_number_fail(err, "out-of-range", text, "must not be negative");
    return KVSIM_OK;
}

static enum kvsim_status take_apart(const char *text, enum base_unit unit_index, struct parts *out,
                                    struct kvsim_error *err)
{
    const struct unit *unit = unit_of(unit_index);
    const char *start = skip_blanks(text);
    *out = (struct parts){0};
    if (is_infinity(start))
        return unit->infinity ? KVSIM_OK
                              : base_number_fail(err, "out-of-range", text, "must be finite");
    if (unit_index == BASE_USD && *start == '$')
        start++;
    const char *end = read_decimal(start, &out->decimal);
    if (end == NULL)
        return base_number_fail(err, "bad-number", text, "is not %s", unit->help);
    const char *suffix = skip_blanks(end);
    bool zero = out->decimal.count == 0 && !out->decimal.too_long;
    out->suffix = find_suffix(unit, suffix);
    if (out->suffix == NULL && *suffix == '\0' && zero)
        out->suffix = &none_suffixes[0]; /* zero is zero in every unit */
    if (out->suffix == NULL)
        return fail_suffix(unit, text, suffix, err);
    return check_parts(out, unit, text, err);
}

enum kvsim_status base_number_parse(const char *text, enum base_unit unit, struct base_number *out,
                                    struct kvsim_error *err)
{
    struct parts parts;
    enum kvsim_status status = take_apart(text, unit, &parts, err);
    if (status != KVSIM_OK)
        return status;
    if (parts.suffix == NULL)
        *out = (struct base_number){.infinite = true};
    else
        to_number(&parts.decimal, parts.suffix, out);
    return KVSIM_OK;
}

static enum kvsim_status fail_large(const char *text, struct kvsim_error *err)
{
    return base_number_fail(err, "out-of-range", text, "is too large");
}

/* value * base^power, or false when that is above `limit`. */
static bool scale_up(base_u128 *value, unsigned base, long power, base_u128 limit)
{
    for (; power > 0; power--) {
        if (*value > limit / base)
            return false;
        *value *= base;
    }
    return *value <= limit;
}

/* The integer nearest to above / below; ties to the even one. */
static base_u128 divide_nearest(base_u128 above, base_u128 below)
{
    base_u128 whole = above / below, rest = above % below;
    bool up = rest > below - rest || (rest == below - rest && whole % 2 == 1);
    return whole + (up ? 1 : 0);
}

enum kvsim_status base_number_to_int(const struct base_number *number, bool round, const char *text,
                                     int64_t *out, struct kvsim_error *err)
{
    base_u128 above = number->n, below = number->d3, any = ~(base_u128)0;
    if (number->infinite || !scale_up(&above, 2, number->e2, any / 16) ||
        !scale_up(&above, 5, number->e5, any / 16))
        return fail_large(text, err);
    if (!round && (number->e2 < 0 || number->e5 < 0 || number->d3 > 1))
        return base_number_fail(err, "not-whole", text, "is not a whole number");
    if (!scale_up(&below, 2, -number->e2, any / 16) || !scale_up(&below, 5, -number->e5, any / 16))
        above = 0, below = 1; /* the divisor is beyond 10^36 times what a numerator can be */
    above = divide_nearest(above, below);
    if (above > INT64_MAX)
        return fail_large(text, err);
    *out = number->negative ? -(int64_t)above : (int64_t)above;
    return KVSIM_OK;
}

enum kvsim_status base_parse_int(const char *text, enum base_unit unit, int64_t *out,
                                 struct kvsim_error *err)
{
    struct base_number number;
    enum kvsim_status status = base_number_parse(text, unit, &number, err);
    if (status != KVSIM_OK)
        return status;
    status = base_number_to_int(&number, unit == BASE_TIME, text, out, err);
    if (status != KVSIM_OK && err != NULL && strcmp(err->code, "not-whole") == 0 &&
        *base_unit_name(unit) != '\0')
        return base_number_fail(err, "not-whole", text, "is not a whole number of %s",
                                base_unit_name(unit));
    return status;
}

enum kvsim_status base_parse_real(const char *text, enum base_unit unit, double *out,
                                  struct kvsim_error *err)
{
    struct parts parts;
    enum kvsim_status status = take_apart(text, unit, &parts, err);
    if (status != KVSIM_OK)
        return status;
    double value = parts.suffix == NULL ? (double)INFINITY : to_real(&parts.decimal, parts.suffix);
    if (parts.suffix != NULL && !isfinite(value))
        return fail_large(text, err);
    if (fabs(value) < DBL_MIN && parts.decimal.count > 0)
        return base_number_fail(err, "out-of-range", text, "is too small");
    *out = value;
    return KVSIM_OK;
}

enum kvsim_status base_parse_rational(const char *text, int64_t *num, int64_t *den,
                                      struct kvsim_error *err)
{
    struct base_number number;
    enum kvsim_status status = base_number_parse(text, BASE_RATIO, &number, err);
    if (status != KVSIM_OK)
        return status;
    base_u128 above = number.n, below = number.d3, limit = INT64_MAX;
    if (!scale_up(&above, 2, number.e2, limit) || !scale_up(&above, 5, number.e5, limit))
        return fail_large(text, err);
    if (!scale_up(&below, 2, -number.e2, limit) || !scale_up(&below, 5, -number.e5, limit))
        return base_number_fail(err, "out-of-range", text, "has too many decimal places");
    *num = number.negative ? -(int64_t)above : (int64_t)above;
    *den = (int64_t)below;
    return KVSIM_OK;
}

enum kvsim_status base_parse_seconds(const char *text, int64_t *out_ns, struct kvsim_error *err)
{
    struct base_number number;
    enum kvsim_status status = base_number_parse(text, BASE_NONE, &number, err);
    if (status != KVSIM_OK)
        return status;
    if (number.negative)
        return base_number_fail(err, "out-of-range", text, "must not be negative");
    number.e2 += 9;
    number.e5 += 9;
    return base_number_to_int(&number, true, text, out_ns, err);
}
