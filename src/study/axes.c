#include "study/axes.h"

#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WORKLOAD_CLASSES_MAX == 64, "output_tokens has an element for every class");

void study_axes_init(struct study_axes *axes)
{
    *axes = (struct study_axes){0};
    base_arena_init(&axes->arena);
}

void study_axes_free(struct study_axes *axes)
{
    for (size_t i = 0; i < axes->count; i++)
        base_vec_free(&axes->at[i].values);
    base_arena_release(&axes->arena);
    *axes = (struct study_axes){0};
}

/* ---- reading ---- */

static enum kvsim_status fail_axis(struct kvsim_error *err, const char *text, const char *message)
{
    enum kvsim_status status = base_fail(err, KVSIM_ERR_USAGE, "%s", message);
    char place[200] = "--axis ";
    base_copy(place + strlen(place), sizeof place - strlen(place), text);
    base_error_at(err, place, 0, 0);
    return status;
}

static enum base_unit unit_of(const struct study_axis *axis)
{
    if (axis->kind == STUDY_AXIS_CONCURRENCY)
        return BASE_COUNT;
    return axis->kind == STUDY_AXIS_CONTEXT ? BASE_TOKENS : scenario_key_unit(axis->key);
}

static enum study_axis_kind kind_of(const char *key)
{
    if (base_key_equal(key, "concurrency"))
        return STUDY_AXIS_CONCURRENCY;
    return base_key_equal(key, "context") ? STUDY_AXIS_CONTEXT : STUDY_AXIS_KEY;
}

struct reading {
    struct study_axes *axes;
    struct study_axis *axis;
};

/* "8k" tokens are 8192 in every list, so that equal values are written alike. Not so with units that a value must state. */
static const char *plain_number(const struct reading *reading, const char *value)
{
    enum base_unit unit = unit_of(reading->axis);
    int64_t number;
    struct kvsim_error ignored;
    bool is_bare = unit == BASE_COUNT || unit == BASE_TOKENS;
    if (is_bare && base_parse_int(value, unit, &number, &ignored) == KVSIM_OK)
        return base_arena_printf(&reading->axes->arena, "%" PRId64, number);
    return base_arena_copy(&reading->axes->arena, value);
}

/* A special axis' values are whole numbers from 1, in plain digits. */
static enum kvsim_status plain_count(const struct reading *reading, const char *value,
                                     const char **out, struct kvsim_error *err)
{
    int64_t number;
    enum kvsim_status status = base_parse_int(value, unit_of(reading->axis), &number, err);
    if (status == KVSIM_OK && number < 1)
        status = base_fail(err, KVSIM_ERR_USAGE, "'%s' is below 1", value);
    if (status == KVSIM_OK)
        *out = base_arena_printf(&reading->axes->arena, "%" PRId64, number);
    return status;
}

static enum kvsim_status add_value(void *context, const char *value, struct kvsim_error *err)
{
    struct reading *reading = context;
    const char *text = plain_number(reading, value);
    if (reading->axis->kind != STUDY_AXIS_KEY) {
        enum kvsim_status status = plain_count(reading, value, &text, err);
        if (status != KVSIM_OK)
            return status;
    }
    base_vec_push(&reading->axis->values, text);
    return KVSIM_OK;
}

static bool is_taken(const struct study_axes *axes, const char *key)
{
    for (size_t i = 0; i < axes->count; i++) {
        if (base_key_equal(axes->at[i].key, key))
            return true;
    }
    return false;
}

/* As the scenario writes keys, whatever way it was typed, so that equal axes have one name. */
static const char *plain_key(struct study_axes *axes, const char *text, size_t length)
{
    char *key = base_arena_copy_n(&axes->arena, text, length);
    for (char *at = key; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return key;
}

enum kvsim_status study_axes_add(struct study_axes *axes, const char *text, struct kvsim_error *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return fail_axis(err, text, "expected KEY=LIST, such as concurrency=1..256*2");
    if (axes->count == RECORD_AXES_MAX)
        return fail_axis(err, text, "is one axis too many: at most 6");
    const char *key = plain_key(axes, text, (size_t)(equals - text));
    if (is_taken(axes, key))
        return fail_axis(err, text, "this key is an axis already");
    struct study_axis *axis = &axes->at[axes->count++];
    *axis = (struct study_axis){.key = key, .kind = kind_of(key)};
    struct reading reading = {axes, axis};
    struct kvsim_error why = {.message = ""};
    if (base_parse_range(equals + 1, unit_of(axis), add_value, &reading, &why) != KVSIM_OK)
        return fail_axis(err, text, why.message);
    if (axis->values.count == 0)
        return fail_axis(err, text, "has no value");
    return KVSIM_OK;
}

enum kvsim_status study_axes_check(const struct study_axes *axes, struct kvsim_error *err)
{
    double points = 1;
    for (size_t i = 0; i < axes->count; i++) {
        const struct study_axis *axis = &axes->at[i];
        points *= (double)axis->values.count;
        if (axes->is_zipped && axis->values.count != axes->at[0].values.count) {
            enum kvsim_status status =
                base_fail(err, KVSIM_ERR_USAGE, "'%s' has %zu values, '%s' %zu", axes->at[0].key,
                          axes->at[0].values.count, axis->key, axis->values.count);
            base_error_at(err, "--zip", 0, 0);
            base_error_hint(err, "zipped axes have equally many values");
            return status;
        }
    }
    if (!axes->is_zipped && points > STUDY_POINTS_MAX)
        return base_fail(err, KVSIM_ERR_USAGE, "a grid of %.0f points is too large: at most %d",
                         points, (int)STUDY_POINTS_MAX);
    return KVSIM_OK;
}

/* ---- points ---- */

static size_t value_count(const struct study_axes *axes, size_t axis, bool keys_only)
{
    bool counts = !keys_only || axes->at[axis].kind == STUDY_AXIS_KEY;
    return counts ? axes->at[axis].values.count : 1;
}

static size_t span(const struct study_axes *axes, bool keys_only)
{
    size_t count = 1;
    if (axes->is_zipped)
        return axes->count == 0 ? 1 : axes->at[0].values.count;
    for (size_t i = 0; i < axes->count; i++)
        count *= value_count(axes, i, keys_only);
    return count;
}

size_t study_axes_point_count(const struct study_axes *axes)
{
    return span(axes, false);
}

size_t study_axes_base_count(const struct study_axes *axes)
{
    return span(axes, true);
}

/* The index of a point's value on an axis. */
static size_t index_on(const struct study_axes *axes, size_t point, size_t axis)
{
    if (axes->is_zipped)
        return point;
    for (size_t i = axes->count; i-- > axis + 1;)
        point /= axes->at[i].values.count;
    return point % axes->at[axis].values.count;
}

const char *study_axes_value(const struct study_axes *axes, size_t point, size_t axis)
{
    return axes->at[axis].values.at[index_on(axes, point, axis)];
}

size_t study_axes_base(const struct study_axes *axes, size_t point)
{
    size_t base = 0;
    if (axes->is_zipped)
        return point;
    for (size_t i = 0; i < axes->count; i++) {
        if (axes->at[i].kind == STUDY_AXIS_KEY)
            base = base * axes->at[i].values.count + index_on(axes, point, i);
    }
    return base;
}

size_t study_axes_base_point(const struct study_axes *axes, size_t base)
{
    size_t point = 0, weight = 1;
    if (axes->is_zipped)
        return base;
    for (size_t i = axes->count; i-- > 0;) {
        size_t count = axes->at[i].values.count;
        if (axes->at[i].kind == STUDY_AXIS_KEY) {
            point += base % count * weight;
            base /= count;
        }
        weight *= count;
    }
    return point;
}

bool study_axes_has(const struct study_axes *axes, enum study_axis_kind kind)
{
    for (size_t i = 0; i < axes->count; i++) {
        if (axes->at[i].kind == kind)
            return true;
    }
    return false;
}

/* ---- overrides ---- */

static const struct serve_param *find_param(const struct serve_config *config, const char *key)
{
    for (size_t i = 0; i < config->param_count; i++) {
        if (strcmp(config->params[i].key, key) == 0)
            return &config->params[i];
    }
    return NULL;
}

static bool is_stated(const struct serve_config *config, const char *key)
{
    const struct serve_param *param = find_param(config, key);
    return param != NULL &&
           (strcmp(param->origin, "scenario") == 0 || strcmp(param->origin, "set") == 0);
}

void study_base_facts_take(const struct serve_config *config, struct study_base_facts *out)
{
    const struct workload_spec *workload = &config->workload;
    *out = (struct study_base_facts){.max_model_tokens = config->sched.max_model_len,
                                     .class_count = workload->class_count};
    out->has_length_limit = is_stated(config, "run.requests") || is_stated(config, "run.duration");
    out->has_classes = workload->class_count > 0 && workload->classes[0].name[0] != '\0';
    for (size_t i = 0; i < workload->class_count; i++) {
        // A trace has its lengths in the file; the scenario knows their mean over all rows.
        double mean = workload->trace_path != NULL ? config->output_mean
                                                   : rng_dist_mean(&workload->classes[i].output);
        out->output_tokens[i] = mean > 1 ? (int64_t)llround(mean) : 1;
    }
}

static void set(struct study_overrides *out, const char *key, const char *value)
{
    struct scenario_override override = {.key = key, .value = value};
    base_vec_push(out, override);
}

static void set_concurrency(const char *value, const struct study_base_facts *facts,
                            struct base_arena *arena, struct study_overrides *out)
{
    set(out, "workload.arrival",
        base_arena_printf(arena, "{process: closed_loop, concurrency: %s}", value));
    // A trace or a profile ends by itself, a closed loop does not.
    if (!facts->has_length_limit)
        set(out, "run.requests", "2000");
}

/* "workload", or "workload.classes.2" where the classes are stated. */
static const char *length_path(const struct study_base_facts *facts, size_t class_index,
                               struct base_arena *arena)
{
    return facts->has_classes ? base_arena_printf(arena, "workload.classes.%zu", class_index)
                              : "workload";
}

static void set_context(const char *value, const struct study_base_facts *facts,
                        struct base_arena *arena, struct study_overrides *out, const char **refusal)
{
    int64_t context_tokens = strtoll(value, NULL, 10);
    for (size_t i = 0; i < facts->class_count; i++) {
        int64_t output_tokens = facts->output_tokens[i];
        const char *path = length_path(facts, i, arena);
        if (context_tokens <= output_tokens) {
            *refusal = base_arena_printf(
                arena, "a context of %s tokens leaves no prompt: answers have %" PRId64, value,
                output_tokens);
            return;
        }
        set(out, base_arena_printf(arena, "%s.output_tokens", path),
            base_arena_printf(arena, "%" PRId64, output_tokens));
        set(out, base_arena_printf(arena, "%s.prompt_tokens", path),
            base_arena_printf(arena, "%" PRId64, context_tokens - output_tokens));
        set(out, base_arena_printf(arena, "%s.max_tokens", path), "same");
    }
    if (facts->max_model_tokens < context_tokens)
        set(out, "engine.max_model_len", value);
}

/* An axis of its own has said how long a sequence may be: raising that would answer for another point. */
static bool is_beyond_axis(const struct study_axes *axes, const char *value,
                           const struct study_base_facts *facts, struct base_arena *arena,
                           const char **refusal)
{
    static const char key[] = "engine.max_model_len";
    if (!is_taken(axes, key) || facts->max_model_tokens >= strtoll(value, NULL, 10))
        return false;
    *refusal =
        base_arena_printf(arena, "a context of %s tokens is above this point's %s of %" PRId64,
                          value, key, facts->max_model_tokens);
    return true;
}

void study_axes_overrides(const struct study_axes *axes, size_t point,
                          const struct study_base_facts *facts, struct base_arena *arena,
                          struct study_overrides *out, const char **refusal)
{
    *refusal = NULL;
    for (size_t i = 0; i < axes->count; i++) {
        const struct study_axis *axis = &axes->at[i];
        const char *value = study_axes_value(axes, point, i);
        if (axis->kind == STUDY_AXIS_KEY)
            set(out, axis->key, value);
        else if (facts != NULL && axis->kind == STUDY_AXIS_CONCURRENCY)
            set_concurrency(value, facts, arena, out);
        else if (facts != NULL && !is_beyond_axis(axes, value, facts, arena, refusal))
            set_context(value, facts, arena, out, refusal);
    }
}
