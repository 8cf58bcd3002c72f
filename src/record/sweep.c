#include "record/sweep.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

static const char *const status_names[RECORD_POINT_STATUS_COUNT] = {"", "ok", "slo_missed",
                                                                    "refused", "failed"};

const char *record_point_status_name(enum record_point_status status)
{
    base_require((unsigned)status < RECORD_POINT_STATUS_COUNT);
    return status_names[status];
}

enum record_point_status record_point_status_find(const char *name)
{
    for (int i = RECORD_POINT_OK; i < RECORD_POINT_STATUS_COUNT; i++) {
        if (strcmp(status_names[i], name) == 0)
            return (enum record_point_status)i;
    }
    return RECORD_POINT_OPEN;
}

void record_sweep_init(struct record_sweep *sweep)
{
    *sweep = (struct record_sweep){.scenario = "", .kvsim_version = ""};
    base_arena_init(&sweep->arena);
}

void record_sweep_free(struct record_sweep *sweep)
{
    base_arena_release(&sweep->arena);
    *sweep = (struct record_sweep){0};
}

void record_sweep_make_points(struct record_sweep *sweep, size_t count)
{
    sweep->points = base_arena_array(&sweep->arena, count, sizeof *sweep->points);
    sweep->point_count = sweep->total_count = count;
    for (size_t i = 0; i < count; i++) {
        sweep->points[i].point_id = (int64_t)i + 1;
        sweep->points[i].reason = "";
    }
}

void record_point_take(struct record_sweep *sweep, struct record_point *point,
                       const struct record_value summary[RECORD_SUMMARY_COUNT])
{
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        point->summary[i] = summary[i];
        if (summary[i].kind == RECORD_TEXT)
            point->summary[i].text = base_arena_copy(&sweep->arena, summary[i].text);
    }
}

double record_point_real(const struct record_point *point, enum record_summary column)
{
    const struct record_value *value = &point->summary[column];
    if (value->kind == RECORD_REAL)
        return value->real;
    return value->kind == RECORD_INTEGER ? (double)value->integer : (double)NAN;
}

const char *record_point_text(const struct record_point *point, enum record_summary column)
{
    const struct record_value *value = &point->summary[column];
    return value->kind == RECORD_TEXT ? value->text : "";
}

struct record_value record_point_value(const struct record_point *point, size_t axis)
{
    const char *text = point->values[axis];
    struct record_value value = {.kind = RECORD_TEXT, .text = text == NULL ? "" : text};
    struct kvsim_error ignored;
    if (base_parse_int(value.text, BASE_NONE, &value.integer, &ignored) == KVSIM_OK)
        value.kind = RECORD_INTEGER;
    else if (base_parse_real(value.text, BASE_NONE, &value.real, &ignored) == KVSIM_OK &&
             isfinite(value.real))
        value.kind = RECORD_REAL;
    else if (base_ends_with(value.text, "/s") &&
             base_parse_real(value.text, BASE_RATE, &value.real, &ignored) == KVSIM_OK &&
             isfinite(value.real))
        value.kind = RECORD_REAL; // a rate per second
    return value;
}
