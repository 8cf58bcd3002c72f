#include "spec/slo.h"

#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { WORD_MAX = 32 };

static const char *const metric_names[SPEC_METRIC_COUNT] = {
    [SPEC_TTFT] = "ttft", [SPEC_TPOT] = "tpot",   [SPEC_ITL] = "itl",
    [SPEC_E2E] = "e2e",   [SPEC_QUEUE] = "queue",
};

static const char *const statistic_names[SPEC_STATISTIC_COUNT] = {
    [SPEC_MEAN] = "mean", [SPEC_P50] = "p50", [SPEC_P90] = "p90",
    [SPEC_P95] = "p95",   [SPEC_P99] = "p99",
};

static const double statistic_quantiles[SPEC_STATISTIC_COUNT] = {
    [SPEC_MEAN] = -1, [SPEC_P50] = 0.5, [SPEC_P90] = 0.9, [SPEC_P95] = 0.95, [SPEC_P99] = 0.99,
};

const char *spec_metric_name(enum spec_metric metric)
{
    base_require((size_t)metric < SPEC_METRIC_COUNT);
    return metric_names[metric];
}

const char *spec_statistic_name(enum spec_statistic statistic)
{
    base_require((size_t)statistic < SPEC_STATISTIC_COUNT);
    return statistic_names[statistic];
}

double spec_statistic_quantile(enum spec_statistic statistic)
{
    base_require((size_t)statistic < SPEC_STATISTIC_COUNT);
    return statistic_quantiles[statistic];
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

// Copies the next word of letters and digits in lower case; empty when there is none or it is too long.
static const char *take_word(const char *at, char word[WORD_MAX])
{
    size_t count = 0;
    at = skip_blanks(at);
    for (; isalnum((unsigned char)*at) || *at == '_'; at++) {
        if (count + 1 < WORD_MAX)
            word[count++] = (char)tolower((unsigned char)*at);
    }
    word[count] = '\0';
    return at;
}

static int find_name(const char *const *names, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], word) == 0)
            return (int)i;
    }
    return -1;
}

static enum kvsim_status fail(struct kvsim_error *err, const char *text, const char *what)
{
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_SCENARIO, "%s in the SLO '%.200s'", what, text);
    base_error_code(err, "slo");
    base_error_hint(err, "METRIC STATISTIC <= TIME [for CLASS], such as 'ttft p99 <= 2 s': ttft, "
                         "tpot, itl, e2e, queue; mean, p50, p90, p95, p99");
    return status;
}

// Where " for " begins after the bound, or the end of the text.
static const char *find_for(const char *at)
{
    for (const char *p = at; *p != '\0'; p++) {
        bool word = p > at && (p[-1] == ' ' || p[-1] == '\t') && base_starts_with(p, "for") &&
                    (p[3] == ' ' || p[3] == '\t' || p[3] == '\0');
        if (word)
            return p;
    }
    return at + strlen(at);
}

static enum kvsim_status parse_bound(const char *at, const char *end, struct spec_slo *out,
                                     struct kvsim_error *err)
{
    char value[64];
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    size_t length = (size_t)(end - at);
    if (length == 0 || length >= sizeof value)
        return fail(err, out->text, "no time to compare with");
    memcpy(value, at, length);
    value[length] = '\0';
    enum kvsim_status status = base_parse_int(value, BASE_TIME, &out->bound_ns, err);
    if (status == KVSIM_OK && out->bound_ns <= 0)
        return fail(err, out->text, "a time that is not above 0");
    return status;
}

enum kvsim_status spec_slo_parse(const char *text, struct spec_slo *out, struct kvsim_error *err)
{
    char word[WORD_MAX];
    *out = (struct spec_slo){.text = text};

    const char *at = take_word(text, word);
    int metric = find_name(metric_names, SPEC_METRIC_COUNT, word);
    if (metric < 0)
        return fail(err, text, "no known metric");
    at = take_word(at, word);
    int statistic = find_name(statistic_names, SPEC_STATISTIC_COUNT, word);
    if (statistic < 0 || *at == '.') // "p99.9"
        return fail(err, text, "no known statistic");
    at = skip_blanks(at);
    if (!base_starts_with(at, "<="))
        return fail(err, text, "no '<='");
    at = skip_blanks(at + 2);

    out->metric = (enum spec_metric)metric;
    out->statistic = (enum spec_statistic)statistic;
    const char *end = find_for(at);
    enum kvsim_status status = parse_bound(at, end, out, err);
    if (status != KVSIM_OK || *end == '\0')
        return status;
    out->class_name = skip_blanks(end + strlen("for"));
    if (*out->class_name == '\0')
        return fail(err, text, "no class after 'for'");
    return KVSIM_OK;
}
