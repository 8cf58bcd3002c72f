/*
 * Numbers with units: the first byte picks the unit; integers, doubles and fractions of a text agree.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/units.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_numbers(const char *text, enum base_unit unit)
{
    struct kvsim_error err = {0};
    int64_t whole = 0;
    double real = 0.0;
    bool is_whole = base_parse_int(text, unit, &whole, &err) == KVSIM_OK;
    bool is_real = base_parse_real(text, unit, &real, &err) == KVSIM_OK;
    if (is_real)
        base_require(!isnan(real));
    if (is_whole && is_real)
        base_require(fabs(real - (double)whole) <= 0.5 + 1e-15 * fabs(real));
    if (!is_real)
        base_require(err.message[0] != '\0' && err.code[0] != '\0');
}

static void check_rational(const char *text)
{
    int64_t num = 0, den = 0;
    double real = 0.0;
    if (base_parse_rational(text, &num, &den, NULL) != KVSIM_OK)
        return;
    base_require(den > 0);
    if (base_parse_real(text, BASE_RATIO, &real, NULL) == KVSIM_OK)
        base_require(fabs((double)num / (double)den - real) <= 1e-15 * fabs(real));
}

/* Values of a range that a number begins must be numbers. */
static enum kvsim_status count_value(void *context, const char *value, struct kvsim_error *err)
{
    (void)err;
    base_require(value[0] != '\0');
    ++*(size_t *)context;
    return KVSIM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    enum base_unit unit = (enum base_unit)(data[0] % BASE_UNIT_COUNT);
    char *text = base_alloc(size);
    memcpy(text, data + 1, size - 1);
    check_numbers(text, unit);
    check_rational(text);
    int64_t ns = 0;
    if (base_parse_seconds(text, &ns, NULL) == KVSIM_OK)
        base_require(ns >= 0);
    size_t count = 0;
    struct kvsim_error err = {0};
    if (base_parse_range(text, unit, count_value, &count, &err) == KVSIM_OK)
        base_require(count > 0 && count <= 10000);
    base_free(text);
    return 0;
}
