#include "cost/cost.h"
#include "cost/fields.h"
#include "cost/ops.h"
#include "cost/table.h"

#include <math.h>

const struct base_choice cost_level_choices[] = {
    {"datasheet", COST_DATASHEET, "roofline: vendor peaks and default efficiencies"},
    {"calibrated", COST_CALIBRATED,
     "roofline with coefficients fitted to measured data of this GPU"},
    {"affine", COST_AFFINE, "a linear function of the step's tokens, sequences and contexts"},
    {"fixed", COST_FIXED, "every step lasts the same"},
    {"table", COST_TABLE, "measured step times, interpolated"},
    {NULL, 0, NULL},
};

const struct base_choice cost_kernels_choices[] = {
    {"current", COST_KERNELS_CURRENT, "vLLM 0.14-0.24: CUDA 12.8 and later"},
    {"2024", COST_KERNELS_2024, "PyTorch 2.0-2.4, CUDA 11.8-12.1: slower products, sums apart"},
    {NULL, 0, NULL},
};

const char *cost_level_name(enum cost_level level)
{
    for (const struct base_choice *choice = cost_level_choices; choice->name; choice++)
        if (choice->value == (int)level)
            return choice->name;
    return "?";
}

const char *cost_bound_name(enum cost_bound bound)
{
    static const char *const names[COST_BOUND_COUNT] = {
        [COST_COMPUTE] = "compute",
        [COST_WEIGHT_BANDWIDTH] = "weight_bandwidth",
        [COST_KV_BANDWIDTH] = "kv_bandwidth",
        [COST_COMMUNICATION] = "communication",
        [COST_HOST] = "host",
    };
    base_require((int)bound >= 0 && bound < COST_BOUND_COUNT);
    return names[bound];
}

enum cost_level cost_level_resolve(const struct cost_options *options,
                                   const struct spec_hardware *hardware)
{
    if (options->has_level)
        return options->level;
    return hardware && hardware->has_calibration ? COST_CALIBRATED : COST_DATASHEET;
}

static const struct cost_ops *ops_of(enum cost_level level)
{
    switch (level) {
    case COST_DATASHEET:
        return &cost_ops_datasheet;
    case COST_AFFINE:
        return &cost_ops_affine;
    case COST_FIXED:
        return &cost_ops_fixed;
    case COST_CALIBRATED:
        return &cost_ops_calibrated;
    case COST_TABLE:
        return &cost_ops_table;
    }
    return NULL;
}

/* The distinct windows of the model, in the order of its groups. */
static enum kvsim_status windows_find(struct cost *cost, struct kvsim_error *err)
{
    const struct spec_model *model = cost->config.model;
    for (size_t i = 0; model && i < model->group_count; i++) {
        const struct spec_kv_group *group = &model->groups[i];
        if (group->kind != SPEC_KV_SLIDING && group->kind != SPEC_KV_CHUNKED)
            continue;
        if (cost_window_find(cost, group) < cost->window_count)
            continue;
        if (cost->window_count == COST_WINDOWS_MAX)
            return base_fail(err, KVSIM_ERR_SCENARIO,
                             "model %s has more than %d different attention windows", model->name,
                             (int)COST_WINDOWS_MAX);
        cost->windows[cost->window_count++] =
            (struct cost_window){group->window_tokens, group->kind == SPEC_KV_CHUNKED};
    }
    return KVSIM_OK;
}

enum kvsim_status cost_new(const struct cost_config *config, struct base_arena *arena,
                           struct cost **out, struct kvsim_error *err)
{
    enum cost_level level = cost_level_resolve(config->options, config->hardware);
    const struct cost_ops *ops = ops_of(level);
    if (!ops)
        return base_fail(err, KVSIM_ERR_SCENARIO, "cost level %s is not available%s%s",
                         cost_level_name(level), config->hardware ? " for " : "",
                         config->hardware ? config->hardware->name : "");

    struct cost *cost = base_arena_take(arena, sizeof *cost);
    cost->ops = ops;
    cost->config = *config;
    cost->level = level;
    cost->arena = arena;
    cost->state = ops->policy.state_bytes ? base_arena_take(arena, ops->policy.state_bytes) : NULL;
    cost->lines = base_arena_array(arena, (size_t)config->max_decode_seqs + 1, sizeof *cost->lines);
    enum kvsim_status status = windows_find(cost, err);
    if (status == KVSIM_OK)
        status = ops->init(cost, err);
    if (status == KVSIM_OK)
        *out = cost;
    return status;
}

void cost_shape_subtract(struct cost_shape *shape, const struct cost_shape *part)
{
    shape->prefill_seq_count -= part->prefill_seq_count;
    shape->prefill_tokens -= part->prefill_tokens;
    shape->prefill_area -= part->prefill_area;
    shape->prefill_cached_tokens -= part->prefill_cached_tokens;
    shape->emitting_count -= part->emitting_count;
    shape->decode_seq_count -= part->decode_seq_count;
    shape->decode_context_tokens -= part->decode_context_tokens;
    for (size_t w = 0; w < COST_WINDOWS_MAX; w++) {
        shape->prefill_window_area[w] -= part->prefill_window_area[w];
        shape->decode_window_tokens[w] -= part->decode_window_tokens[w];
    }
    shape->prefill_cached_rounded -= part->prefill_cached_rounded;
    shape->prefill_chunk_squares -= part->prefill_chunk_squares;
}

struct cost_result cost_step(struct cost *cost, const struct cost_shape *shape)
{
    if (!cost_shape_is_decode(shape)) {
        struct cost_result result = cost->ops->step(cost, shape);
        cost_note_held(cost, result.ticks);
        return result;
    }
    struct cost_ramp ramp;
    struct cost_piece piece;
    cost_ramp_from_shape(shape, &ramp);
    cost_ramp_piece(cost, &ramp, 1, &piece);
    return (struct cost_result){piece.first_ticks, piece.bound};
}

void cost_note_held(struct cost *cost, int64_t ticks)
{
    if (ticks >= COST_TICKS_MAX && cost->fault.status == KVSIM_OK) {
        base_fail(&cost->fault, KVSIM_ERR_SCENARIO,
                  "a step would last longer than 73 minutes, what it waits for included: the "
                  "longest that is simulated");
        base_error_code(&cost->fault, "long-step");
    }
}

const struct kvsim_error *cost_fault(const struct cost *cost)
{
    return cost->fault.status == KVSIM_OK ? NULL : &cost->fault;
}

int64_t cost_cached_step_tokens(const struct cost_options *options)
{
    const struct cost_table *table = options->table;
    if (table == NULL || table->lookup != COST_LOOKUP_CEIL)
        return 0;
    for (size_t i = 0; i < table->operator_count; i++) {
        int64_t step = cost_table_axis_step(&table->operators[i], COST_AXIS_CACHED_TOKENS);
        if (step > 0)
            return step;
    }
    return 0;
}

size_t cost_window_count(const struct cost *cost)
{
    return cost->window_count;
}

const struct cost_window *cost_window_at(const struct cost *cost, size_t window)
{
    base_require(window < cost->window_count);
    return &cost->windows[window];
}

size_t cost_window_find(const struct cost *cost, const struct spec_kv_group *group)
{
    size_t i = 0;
    while (i < cost->window_count &&
           (cost->windows[i].tokens != group->window_tokens ||
            cost->windows[i].is_chunked != (group->kind == SPEC_KV_CHUNKED)))
        i++;
    return i;
}

/* 2^20 ticks per ns, written as a product of exact powers so that it is rounded once, by nearbyint. */
int64_t cost_ticks_from_ns(double ns)
{
    double ticks = nearbyint(ns * (double)BASE_TICKS_PER_NS);
    if (!(ticks > 0))
        return 0;
    return ticks >= (double)COST_TICKS_MAX ? COST_TICKS_MAX : (int64_t)ticks;
}

int64_t cost_ticks_from_s(double seconds)
{
    return cost_ticks_from_ns(seconds * 1e9);
}

double cost_host_ns(const struct cost_config *config, double per_step_ns, double per_sequence_ns,
                    uint32_t seq_count)
{
    const struct cost_options *options = config->options;
    double step_ns = options->has_host_per_step ? options->host_per_step_ns : per_step_ns;
    double sequence_ns =
        options->has_host_per_sequence ? options->host_per_sequence_ns : per_sequence_ns;
    double layer_ns = 0;
    if (options->has_host_per_layer && config->model != NULL)
        layer_ns = options->host_per_layer_ns * config->model->layer_count;
    return step_ns + layer_ns + sequence_ns * (double)seq_count;
}

bool cost_host_overlap(const struct cost_config *config)
{
    return config->options->has_host_overlap ? config->options->host_overlap
                                             : config->async_scheduling;
}

struct cost_result cost_parts_result(const struct cost_parts *parts)
{
    double device_s = 0;
    for (int i = 0; i < COST_BOUND_COUNT; i++)
        device_s += parts->class_s[i];
    double hiding_s = parts->overlap ? fmax(parts->launch_s, parts->host_s) : parts->launch_s;
    double exposed_host_s = parts->exposed_s + (parts->overlap ? 0.0 : parts->host_s);
    int64_t ticks = cost_ticks_from_s(fmax(device_s, hiding_s) + exposed_host_s);
    struct cost_result result = {.ticks = ticks < 1 ? 1 : ticks, .bound = COST_HOST};
    if (device_s < hiding_s)
        return result;

    double largest_s = -1;
    for (int i = 0; i < COST_BOUND_COUNT; i++) {
        double class_s = parts->class_s[i] + (i == COST_HOST ? exposed_host_s : 0.0);
        if (class_s > largest_s) {
            largest_s = class_s;
            result.bound = (enum cost_bound)i;
        }
    }
    return result;
}
