#include "rng/rng_int.h"

#include <math.h>

/* Upper bound for the table of a zipf distribution: 32 MiB of doubles. */
#define ZIPF_VALUES_MAX 4194304.0
/* Less than this share of the distribution between min and max: the inverse would have no digits
 * left. */
#define MASS_MIN 1e-9
/* Values beyond are not whole in a double. */
#define WHOLE_MAX 0x1.0p53

enum key {
    KEY_MEAN = 1,
    KEY_CV = 2,
    KEY_SD = 4,
    KEY_MEDIAN = 8,
    KEY_P95 = 16,
    KEY_MIN = 32,
    KEY_MAX = 64,
    KEY_S = 128,
    KEY_RANGE = KEY_MIN | KEY_MAX,
};

static const char *const key_names[] = {"mean", "cv", "sd", "median", "p95", "min", "max", "s"};

struct kind_rule {
    const char *name;
    unsigned allowed, needed,
        other; /* `other` stands in for `needed` as a whole where it is not 0 */
    const char *takes;
};

static const struct kind_rule rules[] = {
    [RNG_FIXED] = {"fixed", 0, 0, 0, "a value"},
    [RNG_UNIFORM] = {"uniform", KEY_RANGE, KEY_RANGE, 0, "min and max"},
    [RNG_NORMAL] = {"normal", KEY_MEAN | KEY_SD | KEY_RANGE, KEY_MEAN | KEY_SD, 0, "mean and sd"},
    [RNG_LOGNORMAL] = {"lognormal", KEY_MEAN | KEY_CV | KEY_MEDIAN | KEY_P95 | KEY_RANGE,
                       KEY_MEAN | KEY_CV, KEY_MEDIAN | KEY_P95, "mean and cv, or median and p95"},
    [RNG_GAMMA] = {"gamma", KEY_MEAN | KEY_CV | KEY_MEDIAN | KEY_P95 | KEY_RANGE, KEY_MEAN | KEY_CV,
                   KEY_MEDIAN | KEY_P95, "mean and cv, or median and p95"},
    [RNG_WEIBULL] = {"weibull", KEY_MEAN | KEY_CV | KEY_RANGE, KEY_MEAN | KEY_CV, 0, "mean and cv"},
    [RNG_EXPONENTIAL] = {"exponential", KEY_MEAN | KEY_RANGE, KEY_MEAN, 0, "mean"},
    [RNG_GEOMETRIC] = {"geometric", KEY_MEAN | KEY_RANGE, KEY_MEAN, 0, "mean"},
    [RNG_ZIPF] = {"zipf", KEY_S | KEY_RANGE, KEY_S | KEY_RANGE, 0, "s, min and max"},
    [RNG_EMPIRICAL] = {"empirical", KEY_RANGE, 0, 0, "bins or a file"},
};

enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

static enum kvsim_status fail_key(struct kvsim_error *err, const char *key, const char *code,
                                  const char *message)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_SCENARIO, "%s", message);

    base_error_key(err, key);
    base_error_code(err, code);
    return status;
}

static unsigned stated_keys(const struct rng_dist_options *o)
{
    return (o->has_mean ? KEY_MEAN : 0U) | (o->has_cv ? KEY_CV : 0U) | (o->has_sd ? KEY_SD : 0U) |
           (o->has_median ? KEY_MEDIAN : 0U) | (o->has_p95 ? KEY_P95 : 0U) |
           (o->has_min ? KEY_MIN : 0U) | (o->has_max ? KEY_MAX : 0U) | (o->has_s ? KEY_S : 0U);
}

static const char *first_name(unsigned keys)
{
    size_t i = 0;

    while (!(keys & 1U)) {
        keys >>= 1;
        i++;
    }
    return key_names[i];
}

static enum kvsim_status check_keys(const struct rng_dist_options *options, struct kvsim_error *err)
{
    const struct kind_rule *rule = &rules[options->kind];
    unsigned stated = stated_keys(options), needed = rule->needed;
    unsigned parameters = stated & ~(unsigned)KEY_RANGE;
    enum kvsim_status status;

    if (stated & ~rule->allowed) {
        const char *key = first_name(stated & ~rule->allowed);

        status = base_fail(err, KVSIM_ERR_SCENARIO,
                           "'%s' is not a parameter of a %s distribution, which takes %s", key,
                           rule->name, rule->takes);
        base_error_key(err, key);
        base_error_code(err, "unknown-parameter");
        return status;
    }
    if (rule->other && (stated & rule->other))
        needed = rule->other;
    if (rule->other && (parameters & ~needed)) {
        const char *key = first_name(parameters & ~needed);

        status =
            base_fail(err, KVSIM_ERR_SCENARIO, "'%s' contradicts '%s': a %s distribution takes %s",
                      key, first_name(needed & stated), rule->name, rule->takes);
        base_error_key(err, key);
        base_error_code(err, "contradiction");
        return status;
    }
    if (needed & ~stated) {
        const char *key = first_name(needed & ~stated);

        status = base_fail(err, KVSIM_ERR_SCENARIO, "'%s' is missing: a %s distribution takes %s",
                           key, rule->name, rule->takes);
        base_error_key(err, key);
        base_error_code(err, "missing-key");
        return status;
    }
    return KVSIM_OK;
}

static bool is_positive(double x)
{
    return isfinite(x) && x > 0.0;
}

/* Signs and sizes of single parameters. */
static enum kvsim_status check_values(const struct rng_dist_options *o, bool whole,
                                      struct kvsim_error *err)
{
    bool may_be_negative = o->kind == RNG_NORMAL && !whole;

    if (o->has_mean && !(is_positive(o->mean) || (may_be_negative && isfinite(o->mean))))
        return fail_key(err, "mean", "out-of-range", "'mean' must be a number above 0");
    if (o->has_cv && !(isfinite(o->cv) && o->cv >= 0.0))
        return fail_key(err, "cv", "out-of-range", "'cv' must be a number, 0 or more");
    if (o->has_sd && !(isfinite(o->sd) && o->sd >= 0.0))
        return fail_key(err, "sd", "out-of-range", "'sd' must be a number, 0 or more");
    if (o->has_median && !is_positive(o->median))
        return fail_key(err, "median", "out-of-range", "'median' must be a number above 0");
    if (o->has_p95 && !(isfinite(o->p95) && o->p95 >= o->median))
        return fail_key(err, "p95", "out-of-range", "'p95' must be a number not below 'median'");
    if (o->has_s && !(isfinite(o->s) && o->s >= 0.0))
        return fail_key(err, "s", "out-of-range", "'s' must be a number, 0 or more");
    if (o->has_min && !isfinite(o->min))
        return fail_key(err, "min", "out-of-range", "'min' must be a finite number");
    if (o->has_max && !isfinite(o->max))
        return fail_key(err, "max", "out-of-range", "'max' must be a finite number");
    if (o->has_min && whole && o->min < 1.0)
        return fail_key(err, "min", "out-of-range", "'min' must be at least 1");
    if (o->has_max && whole && (o->max < 1.0 || o->max > WHOLE_MAX))
        return fail_key(err, "max", "out-of-range", "'max' must be from 1 to 2^53");
    if (o->has_min && o->has_max && o->min > o->max)
        return fail_key(err, "min", "min-above-max", "'min' is above 'max'");
    if (o->has_min && o->has_max && whole && ceil(o->min) > floor(o->max))
        return fail_key(err, "min", "min-above-max",
                        "no whole number lies between 'min' and 'max'");
    return KVSIM_OK;
}

/* One value only: a fixed length, or a distribution without spread. */
static enum kvsim_status init_fixed(struct rng_dist *dist, double value, const char *key,
                                    struct kvsim_error *err)
{
    if (!isfinite(value) || (dist->whole && (value < 1.0 || value > WHOLE_MAX)))
        return fail_key(err, key, "out-of-range",
                        dist->whole ? "a count must be from 1 to 2^53"
                                    : "the value must be a finite number");
    if (dist->whole && value != floor(value) && dist->kind == RNG_FIXED)
        return fail_key(err, key, "not-whole", "a count must be a whole number");
    if (value < dist->low)
        return fail_key(err, "min", "no-mass", "the only value lies below 'min'");
    if (value > dist->high)
        return fail_key(err, "max", "no-mass", "the only value lies above 'max'");
    dist->kind = RNG_FIXED;
    dist->a =
        dist->whole ? fmin(fmax(floor(value + 0.5), ceil(dist->low)), floor(dist->high)) : value;
    return KVSIM_OK;
}

/* Exact for whole numbers: every one from min to max is equally likely. */
static enum kvsim_status init_uniform(struct rng_dist *dist)
{
    if (dist->whole) {
        dist->low = ceil(dist->low);
        dist->high = floor(dist->high);
    }
    dist->a = dist->low;
    dist->b = dist->high - dist->low + (dist->whole ? 1.0 : 0.0);
    return KVSIM_OK;
}

static enum kvsim_status truncate_mass(struct rng_dist *dist, const struct rng_dist_options *o,
                                       struct kvsim_error *err)
{
    double below = o->has_min ? rng_dist_cdf(dist, dist->low) : 0.0;
    double upto = o->has_max ? rng_dist_cdf(dist, dist->high) : 1.0;

    dist->u_low = below;
    dist->u_span = upto - below;
    if (dist->u_span >= MASS_MIN)
        return KVSIM_OK;
    return fail_key(err, below > 0.5 || !o->has_max ? "min" : "max", "no-mass",
                    "less than 1e-9 of the distribution lies between 'min' and 'max'");
}

static enum kvsim_status init_normal(struct rng_dist *dist, const struct rng_dist_options *o,
                                     struct kvsim_error *err)
{
    if (o->sd == 0.0)
        return init_fixed(dist, o->mean, "mean", err);
    dist->a = o->mean;
    dist->b = o->sd;
    return truncate_mass(dist, o, err);
}

static enum kvsim_status init_lognormal(struct rng_dist *dist, const struct rng_dist_options *o,
                                        struct kvsim_error *err)
{
    double variance = log1p(o->cv * o->cv);

    if (o->has_median && o->p95 == o->median)
        return init_fixed(dist, o->median, "median", err);
    if (!o->has_median && o->cv == 0.0)
        return init_fixed(dist, o->mean, "mean", err);
    if (o->has_median) {
        dist->a = log(o->median);
        dist->b = log(o->p95 / o->median) / rng_normal_inverse(0.95);
    } else {
        dist->a = log(o->mean) - 0.5 * variance;
        dist->b = sqrt(variance);
    }
    return truncate_mass(dist, o, err);
}

static enum kvsim_status init_gamma(struct rng_dist *dist, const struct rng_dist_options *o,
                                    struct kvsim_error *err)
{
    if (o->has_median && o->p95 == o->median)
        return init_fixed(dist, o->median, "median", err);
    if (!o->has_median && o->cv == 0.0)
        return init_fixed(dist, o->mean, "mean", err);
    if (o->has_median) {
        if (!rng_gamma_fit_ratio(o->p95 / o->median, &dist->a))
            return fail_key(err, "p95", "no-fit",
                            "no gamma distribution has this ratio of 'p95' to 'median'");
        dist->b = o->median / rng_gamma_inverse(dist->a, 0.5);
    } else {
        if (o->cv < 1e-3 || o->cv > 100.0)
            return fail_key(err, "cv", "out-of-range",
                            "'cv' of a gamma distribution must be 0 or from 0.001 to 100");
        dist->a = 1.0 / (o->cv * o->cv);
        dist->b = o->mean / dist->a;
    }
    return truncate_mass(dist, o, err);
}

static enum kvsim_status init_weibull(struct rng_dist *dist, const struct rng_dist_options *o,
                                      struct kvsim_error *err)
{
    if (o->cv == 0.0)
        return init_fixed(dist, o->mean, "mean", err);
    if (!rng_weibull_fit_cv(o->cv, &dist->a))
        return fail_key(err, "cv", "no-fit", "no weibull distribution has this 'cv'");
    dist->b = o->mean / tgamma(1.0 + 1.0 / dist->a);
    return truncate_mass(dist, o, err);
}

static enum kvsim_status init_exponential(struct rng_dist *dist, const struct rng_dist_options *o,
                                          struct kvsim_error *err)
{
    dist->a = o->mean;
    return truncate_mass(dist, o, err);
}

/* P(X > k) = q^k for k = 0, 1, ...; a = q, b = ln q. */
static enum kvsim_status init_geometric(struct rng_dist *dist, const struct rng_dist_options *o,
                                        struct kvsim_error *err)
{
    double above_low, above_high;

    if (o->mean < 1.0)
        return fail_key(
            err, "mean", "out-of-range",
            "'mean' of a geometric distribution, which starts at 1, must be at least 1");
    dist->low = fmax(1.0, ceil(dist->low));
    dist->high = floor(dist->high);
    dist->whole = true;
    if (dist->low > dist->high)
        return fail_key(err, "max", "min-above-max",
                        "no whole number lies between 'min' and 'max'");
    if (o->mean == 1.0)
        return init_fixed(dist, 1.0, "mean", err);
    dist->a = 1.0 - 1.0 / o->mean;
    dist->b = log1p(-1.0 / o->mean);
    above_low = exp(dist->b * (dist->low - 1.0));
    above_high = isinf(dist->high) ? 0.0 : exp(dist->b * dist->high);
    dist->u_low = 1.0 - above_low;
    dist->u_span = above_low - above_high;
    if (dist->u_span < MASS_MIN)
        return fail_key(err, "min", "no-mass",
                        "less than 1e-9 of the distribution lies between 'min' and 'max'");
    return KVSIM_OK;
}

/* P(k) proportional to k^-s for whole k from min to max. */
static enum kvsim_status init_zipf(struct rng_dist *dist, const struct rng_dist_options *o,
                                   struct base_arena *arena, struct kvsim_error *err)
{
    double *table, total = 0.0, low = ceil(o->min), count = floor(o->max) - low + 1.0;

    if (low < 1.0)
        return fail_key(err, "min", "out-of-range",
                        "'min' of a zipf distribution must be at least 1");
    if (count < 1.0)
        return fail_key(err, "min", "min-above-max",
                        "no whole number lies between 'min' and 'max'");
    if (count > ZIPF_VALUES_MAX)
        return fail_key(err, "max", "out-of-range",
                        "a zipf distribution may have 4,194,304 values at most");
    dist->low = low;
    dist->high = floor(o->max);
    dist->whole = true;
    dist->table_count = (size_t)count;
    table = base_arena_array(arena, dist->table_count, sizeof *table);
    for (size_t i = 0; i < dist->table_count; i++) {
        /* Relative to the first value, so that a large s does not vanish. */
        total += pow((low + (double)i) / low, -o->s);
        table[i] = total;
    }
    dist->table = table;
    return KVSIM_OK;
}

static enum kvsim_status check_bin(const struct rng_bin *bin, bool whole, struct kvsim_error *err)
{
    if (!isfinite(bin->low) || !isfinite(bin->high) || bin->low > bin->high)
        return fail_key(err, "bins", "out-of-range",
                        "a bin needs finite bounds, the lower one first");
    if (!isfinite(bin->weight) || bin->weight < 0.0)
        return fail_key(err, "bins", "out-of-range", "a bin's weight must be a number, 0 or more");
    if (whole && (bin->low < 1.0 || bin->high > WHOLE_MAX))
        return fail_key(err, "bins", "out-of-range", "a count must be from 1 to 2^53");
    if (whole && bin->low == bin->high && bin->low != floor(bin->low))
        return fail_key(err, "bins", "not-whole", "a count must be a whole number");
    return KVSIM_OK;
}

/* The part of a bin between low and high; a whole-valued range becomes [first, last + 1). False
 * when nothing is left. */
static bool clip_bin(struct rng_bin *bin, double low, double high, bool whole)
{
    double first = bin->low, end = bin->high, width;

    if (first == end)
        return first >= low && first <= high;
    if (whole) {
        first = ceil(first);
        end = ceil(end);
        low = ceil(low);
        high = floor(high) + 1.0;
    }
    width = end - first;
    if (width <= 0.0)
        return false;
    bin->low = fmax(first, low);
    bin->high = fmin(end, high);
    if (bin->low >= bin->high)
        return false;
    bin->weight *= (bin->high - bin->low) / width;
    return true;
}

static enum kvsim_status init_empirical(struct rng_dist *dist, const struct rng_dist_options *o,
                                        struct base_arena *arena, struct kvsim_error *err)
{
    struct rng_bin *bins;
    double *table, total = 0.0;

    if (o->bin_count == 0)
        return fail_key(err, "bins", "missing-key",
                        "an empirical distribution takes bins or a file");
    bins = base_arena_array(arena, o->bin_count, sizeof *bins);
    table = base_arena_array(arena, o->bin_count, sizeof *table);
    for (size_t i = 0; i < o->bin_count; i++) {
        struct rng_bin bin = o->bins[i];
        enum kvsim_status status = check_bin(&bin, dist->whole, err);

        if (status != KVSIM_OK)
            return status;
        if (bin.weight == 0.0 || !clip_bin(&bin, dist->low, dist->high, dist->whole))
            continue;
        total += bin.weight;
        bins[dist->table_count] = bin;
        table[dist->table_count++] = total;
    }
    if (dist->table_count == 0)
        return fail_key(err, "bins", "no-mass", "no bin with weight lies between 'min' and 'max'");
    dist->bins = bins;
    dist->table = table;
    return KVSIM_OK;
}

enum kvsim_status rng_dist_init(struct rng_dist *dist, const struct rng_dist_options *options,
                                bool whole, struct base_arena *arena, struct kvsim_error *err)
{
    enum kvsim_status status;

    base_require((size_t)options->kind < RULE_COUNT);
    *dist = (struct rng_dist){
        .kind = options->kind, .low = -INFINITY, .high = INFINITY, .u_span = 1.0, .whole = whole};
    status = check_keys(options, err);
    if (status == KVSIM_OK)
        status = check_values(options, whole, err);
    if (status != KVSIM_OK)
        return status;
    if (options->has_min)
        dist->low = options->min;
    else if (whole)
        dist->low = 1.0;
    if (options->has_max)
        dist->high = options->max;

    switch (options->kind) {
    case RNG_FIXED:
        return init_fixed(dist, options->value, "value", err);
    case RNG_UNIFORM:
        return init_uniform(dist);
    case RNG_NORMAL:
        return init_normal(dist, options, err);
    case RNG_LOGNORMAL:
        return init_lognormal(dist, options, err);
    case RNG_GAMMA:
        return init_gamma(dist, options, err);
    case RNG_WEIBULL:
        return init_weibull(dist, options, err);
    case RNG_EXPONENTIAL:
        return init_exponential(dist, options, err);
    case RNG_GEOMETRIC:
        return init_geometric(dist, options, err);
    case RNG_ZIPF:
        return init_zipf(dist, options, arena, err);
    case RNG_EMPIRICAL:
        return init_empirical(dist, options, arena, err);
    }
    return base_fail(err, KVSIM_ERR_DEFECT, "unknown distribution");
}
