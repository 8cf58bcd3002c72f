#include "base/units_int.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RANGE_VALUES_MAX = 10000, DECIMALS_MAX = 9, VALUE_BYTES = 48 };

typedef enum kvsim_status item_fn(void *context, const char *value, struct kvsim_error *err);

/* What is called back, with how many values so far. */
struct sink {
    item_fn *item;
    void *context;
    size_t count;
};

static enum kvsim_status give(struct sink *sink, const char *text, const char *value,
                              struct kvsim_error *err)
{
    if (++sink->count > RANGE_VALUES_MAX)
        return base_number_fail(err, "out-of-range", text, "has more than %d values",
                                (int)RANGE_VALUES_MAX);
    return sink->item(sink->context, value, err);
}

/* lo..hi with a step or a factor, in units of 10^-decimals. */
struct range {
    int64_t lo, hi, step;
    bool geometric;
    int decimals;
};

/* The three texts of a range; step is "" where none is written. */
struct range_text {
    char lo[VALUE_BYTES], hi[VALUE_BYTES], step[VALUE_BYTES];
    bool geometric;
};

static bool copy_part(char part[VALUE_BYTES], const char *from, size_t length)
{
    while (length > 0 && *from == ' ') {
        from++;
        length--;
    }
    while (length > 0 && from[length - 1] == ' ')
        length--;
    if (length == 0 || length >= VALUE_BYTES)
        return false;
    memcpy(part, from, length);
    part[length] = '\0';
    return true;
}

/* The step begins at the last '*', or at a '+' that is not an exponent's sign. */
static size_t find_step(const char *text)
{
    size_t at = strcspn(text, "*+");
    while (text[at] == '+' && at > 0 && (text[at - 1] == 'e' || text[at - 1] == 'E'))
        at += 1 + strcspn(text + at + 1, "*+");
    return at;
}

static bool split_range(const char *text, const char *dots, struct range_text *out)
{
    *out = (struct range_text){0};
    const char *rest = dots + 2;
    size_t step = find_step(rest);
    out->geometric = rest[step] == '*';
    if (!copy_part(out->lo, text, (size_t)(dots - text)) || !copy_part(out->hi, rest, step))
        return false;
    return rest[step] == '\0' || copy_part(out->step, rest + step + 1, strlen(rest + step + 1));
}

/* `text` as an integer of 10^-decimals; not-whole when it needs more decimals. */
static enum kvsim_status parse_scaled(const char *text, enum base_unit unit, int decimals,
                                      int64_t *out, struct kvsim_error *err)
{
    struct base_number number;
    enum kvsim_status status = base_number_parse(text, unit, &number, err);
    if (status != KVSIM_OK)
        return status;
    number.e2 += decimals;
    number.e5 += decimals;
    return base_number_to_int(&number, false, text, out, err);
}

static enum kvsim_status parse_at(const struct range_text *text, enum base_unit unit, int decimals,
                                  struct range *out, struct kvsim_error *err)
{
    *out = (struct range){.geometric = text->geometric, .decimals = decimals, .step = 1};
    enum kvsim_status status = parse_scaled(text->lo, unit, decimals, &out->lo, err);
    if (status == KVSIM_OK)
        status = parse_scaled(text->hi, unit, decimals, &out->hi, err);
    if (status != KVSIM_OK || text->step[0] == '\0')
        return status;
    if (text->geometric)
        return parse_scaled(text->step, BASE_NONE, 0, &out->step, err);
    return parse_scaled(text->step, unit, decimals, &out->step, err);
}

/* With as few decimals as the three numbers need; none where no step is written. */
static enum kvsim_status parse_numbers(const struct range_text *text, enum base_unit unit,
                                       struct range *out, struct kvsim_error *err)
{
    struct kvsim_error own;
    if (err == NULL)
        err = &own;
    enum kvsim_status status = KVSIM_OK;
    int most = text->step[0] == '\0' ? 0 : DECIMALS_MAX;
    for (int decimals = 0; decimals <= most; decimals++) {
        status = parse_at(text, unit, decimals, out, err);
        if (status == KVSIM_OK || strcmp(err->code, "not-whole") != 0)
            return status;
    }
    return status;
}

static void print_value(const struct range *range, int64_t value, enum base_unit unit,
                        char text[VALUE_BYTES])
{
    int64_t power = 1;
    for (int i = 0; i < range->decimals; i++)
        power *= 10;
    const char *sign = value < 0 ? "-" : "";
    int64_t whole = value / power, part = value % power;
    whole = whole < 0 ? -whole : whole;
    part = part < 0 ? -part : part;
    int places = range->decimals;
    for (; places > 0 && part % 10 == 0; places--)
        part /= 10;
    if (places == 0)
        snprintf(text, VALUE_BYTES, "%s%" PRId64 "%s", sign, whole, base_unit_suffix(unit));
    else
        snprintf(text, VALUE_BYTES, "%s%" PRId64 ".%0*" PRId64 "%s", sign, whole, places, part,
                 base_unit_suffix(unit));
}

/* The value after `value`, or false when that would not fit in 64 bits. */
static bool next_value(const struct range *range, int64_t *value)
{
    if (range->geometric) {
        if (*value > INT64_MAX / range->step)
            return false;
        *value *= range->step;
        return true;
    }
    if (*value > INT64_MAX - range->step)
        return false;
    *value += range->step;
    return true;
}

static enum kvsim_status check_range(const struct range *range, const char *text,
                                     struct kvsim_error *err)
{
    if (range->hi < range->lo)
        return base_number_fail(err, "out-of-range", text, "ends below its start");
    if (range->geometric && (range->step < 2 || range->lo < 1))
        return base_number_fail(err, "out-of-range", text,
                                "needs a factor of at least 2 and a start above 0");
    if (!range->geometric && range->step < 1)
        return base_number_fail(err, "out-of-range", text, "needs a step above 0");
    return KVSIM_OK;
}

static enum kvsim_status give_range(const char *text, const char *dots, enum base_unit unit,
                                    struct sink *sink, struct kvsim_error *err)
{
    struct range_text parts;
    if (!split_range(text, dots, &parts))
        return base_number_fail(err, "bad-range", text,
                                "is not a range such as 1..16, 1..256*2 or 1k..9k+2k");
    struct range range;
    enum kvsim_status status = parse_numbers(&parts, unit, &range, err);
    if (status == KVSIM_OK)
        status = check_range(&range, text, err);
    bool more = true;
    for (int64_t value = range.lo; status == KVSIM_OK && more && value <= range.hi;) {
        char printed[VALUE_BYTES];
        print_value(&range, value, unit, printed);
        status = give(sink, text, printed, err);
        more = next_value(&range, &value);
    }
    return status;
}

static bool starts_number(const char *text)
{
    text += *text == '-' || *text == '+' || *text == '$' ? 1 : 0;
    text += *text == '.' && text[1] != '.' ? 1 : 0;
    return *text >= '0' && *text <= '9';
}

/* The end of the item at `text`: a comma outside brackets and quotes, or the end. */
static const char *item_end(const char *text)
{
    int depth = 0;
    char quote = '\0';
    for (; *text != '\0'; text++) {
        if (quote != '\0')
            quote = *text == quote ? '\0' : quote;
        else if (*text == '"' || *text == '\'')
            quote = *text;
        else if (*text == '[' || *text == '{')
            depth++;
        else if (*text == ']' || *text == '}')
            depth--;
        else if (*text == ',' && depth <= 0)
            break;
    }
    return text;
}

static enum kvsim_status give_item(const char *item, enum base_unit unit, struct sink *sink,
                                   struct kvsim_error *err)
{
    const char *dots = starts_number(item) ? strstr(item, "..") : NULL;
    if (dots != NULL)
        return give_range(item, dots, unit, sink, err);
    return give(sink, item, item, err);
}

enum kvsim_status base_parse_range(const char *text, enum base_unit unit, item_fn *item,
                                   void *context, struct kvsim_error *err)
{
    struct sink sink = {.item = item, .context = context};
    struct base_text copy = {0};
    enum kvsim_status status = KVSIM_OK;
    for (const char *at = text; status == KVSIM_OK; at++) {
        const char *end = item_end(at);
        const char *next = end;
        while (at < end && *at == ' ')
            at++;
        while (end > at && end[-1] == ' ')
            end--;
        base_text_clear(&copy);
        base_text_add_n(&copy, at, (size_t)(end - at));
        status = copy.count > 0 ? give_item(copy.at, unit, &sink, err)
                                : base_number_fail(err, "bad-range", text, "has an empty item");
        at = next;
        if (*at == '\0')
            break;
    }
    base_text_free(&copy);
    return status;
}
