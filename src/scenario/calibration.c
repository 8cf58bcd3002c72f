/*
 * calibration.c - `calibration` of a hardware file: coefficients fitted by `kvsim calibrate`, to spec_calibration.
 *
 * The coefficients' names, units and ranges are those of spec/calibration.c; what the fit says of itself (errors, what it
 * could not determine) is kept in the file for people and is not read here.
 */
#include "scenario/scenario_int.h"

#include "base/error.h"
#include "spec/hardware.h"

#include <math.h>

static enum base_unit unit_of(enum spec_coefficient_unit unit)
{
    switch (unit) {
    case SPEC_SHARE:
        return BASE_RATIO;
    case SPEC_SECONDS:
        return BASE_TIME;
    case SPEC_BYTES:
        return BASE_PLAIN_BYTES;
    case SPEC_TIMES:
        break;
    }
    return BASE_NONE;
}

static const struct conf_node *stated(const struct conf_node *map, const char *key)
{
    const struct conf_node *node = conf_get(map, key);
    return conf_is_null(node) ? NULL : node;
}

static bool read_value(struct scenario_reader *reader, const struct conf_node *node,
                       const char *key, enum base_unit unit, double max, double *out)
{
    struct base_field field = {
        .key = key, .type = BASE_REAL, .unit = unit, .min_open = true, .max = max};
    const char *path = base_arena_printf(reader->arena, "hardware.calibration.%s", key);
    if (!scenario_read_value(reader, node, &field, path, out))
        return false;
    if (unit == BASE_TIME)
        *out *= 1e-9;
    return true;
}

static bool read_coefficients(struct scenario_reader *reader, const struct conf_node *map,
                              struct spec_calibration *out)
{
    bool ok = true;
    if (map == NULL)
        return true;
    if (map->kind != CONF_MAP)
        return scenario_fail(reader, map, "hardware.calibration.coefficients", "wrong-type",
                             "'coefficients' must be a mapping");
    const char *names[SPEC_COEFFICIENT_COUNT + 1] = {NULL};
    for (size_t i = 0; i < SPEC_COEFFICIENT_COUNT; i++)
        names[i] = spec_coefficients[i].name;
    for (size_t k = 0; k < map->count; k++) {
        size_t i = 0;
        while (i < SPEC_COEFFICIENT_COUNT && !base_key_equal(names[i], map->keys[k]->text))
            i++;
        if (i == SPEC_COEFFICIENT_COUNT) {
            const char *near = base_name_nearest(names, map->keys[k]->text);
            ok = scenario_fail_hint(
                reader, map->keys[k], "hardware.calibration", "unknown-key",
                near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near),
                "unknown coefficient '%.60s'", map->keys[k]->text);
            continue;
        }
        const struct spec_coefficient_row *row = &spec_coefficients[i];
        double max = row->unit == SPEC_SHARE ? 1.0 : 1e18;
        out->has[i] =
            read_value(reader, map->items[k], row->name, unit_of(row->unit), max, &out->value[i]);
        ok = out->has[i] && ok;
    }
    return ok;
}

static bool read_collective(struct scenario_reader *reader, const struct conf_node *map,
                            struct spec_collective *out)
{
    static const struct base_field gpus = {.key = "gpus", .type = BASE_INT, .min = 2, .max = 4096};
    const char *path = "hardware.calibration.all_reduce";
    int64_t count = 0;
    if (map->kind != CONF_MAP || stated(map, "gpus") == NULL || stated(map, "latency") == NULL ||
        stated(map, "bandwidth") == NULL)
        return scenario_fail(reader, map, path, "missing-key",
                             "an item of 'all_reduce' needs gpus, latency and bandwidth");
    if (!scenario_read_value(reader, stated(map, "gpus"), &gpus, path, &count) ||
        !read_value(reader, stated(map, "latency"), "latency", BASE_TIME, INFINITY,
                    &out->latency_s) ||
        !read_value(reader, stated(map, "bandwidth"), "bandwidth", BASE_BYTES_PER_S, INFINITY,
                    &out->bytes_per_s))
        return false;
    out->gpu_count = (uint32_t)count;
    const struct conf_node *latency = stated(map, "bulk_latency"),
                           *rate = stated(map, "bulk_bandwidth");
    if (latency == NULL || rate == NULL)
        return true;
    return read_value(reader, latency, "bulk_latency", BASE_TIME, INFINITY, &out->bulk_latency_s) &&
           read_value(reader, rate, "bulk_bandwidth", BASE_BYTES_PER_S, INFINITY,
                      &out->bulk_bytes_per_s);
}

static bool read_collectives(struct scenario_reader *reader, const struct conf_node *list,
                             struct spec_calibration *out)
{
    bool ok = true;
    if (list == NULL)
        return true;
    if (list->kind != CONF_LIST || list->count > SPEC_COLLECTIVES_MAX)
        return scenario_fail(reader, list, "hardware.calibration.all_reduce", "wrong-type",
                             "'all_reduce' must be a list of at most %d fits",
                             (int)SPEC_COLLECTIVES_MAX);
    for (size_t i = 0; i < list->count; i++)
        ok = read_collective(reader, list->items[i], &out->collectives[i]) && ok;
    out->collective_count = list->count;
    return ok;
}

bool scenario_calibration_read(struct scenario_reader *reader, const struct conf_node *map,
                               struct spec_calibration *out)
{
    static const char *const keys[] = {"coefficients", "all_reduce", "source", "claim",
                                       "date",         "conditions", "fit",    NULL};
    bool ok = true;
    *out = (struct spec_calibration){.source = ""};
    if (map->kind != CONF_MAP)
        return scenario_fail(reader, map, "hardware.calibration", "wrong-type",
                             "'calibration' must be a mapping");
    for (size_t i = 0; i < map->count; i++) {
        size_t k = 0;
        while (keys[k] != NULL && !base_key_equal(keys[k], map->keys[i]->text))
            k++;
        if (keys[k] == NULL)
            ok = scenario_fail(reader, map->keys[i], "hardware.calibration", "unknown-key",
                               "unknown key '%.60s' in 'hardware.calibration'", map->keys[i]->text);
    }
    if (stated(map, "source") == NULL || stated(map, "conditions") == NULL)
        ok = scenario_fail(reader, map, "hardware.calibration", "missing-conditions",
                           "a calibration is measured: it needs its 'source' and 'conditions'");
    else
        out->source =
            conf_get(map, "source")->kind == CONF_SCALAR ? conf_get(map, "source")->text : "";
    ok = read_coefficients(reader, stated(map, "coefficients"), out) && ok;
    return read_collectives(reader, stated(map, "all_reduce"), out) && ok;
}
