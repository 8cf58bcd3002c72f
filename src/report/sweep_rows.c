#include "report/sweep.h"

#include "report/csv.h"

static struct record_value text_value(const char *text)
{
    return (struct record_value){.kind = RECORD_TEXT, .text = text == NULL ? "" : text};
}

static struct record_value id_value(int64_t id)
{
    return id > 0 ? (struct record_value){.kind = RECORD_INTEGER, .integer = id}
                  : (struct record_value){.kind = RECORD_NULL};
}

static bool is_decided(const struct record_point *point)
{
    return point->status != RECORD_POINT_OPEN;
}

/* The figures in the order of the view: run_status first, for `status` is the cell's. */
static void put_figures(struct report_json *json, const struct record_point *point)
{
    report_json_value(json, "run_status", &point->summary[RECORD_STATUS]);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (i != RECORD_STATUS)
            report_json_value(json, record_summary_columns[i].name, &point->summary[i]);
    }
}

static void put_row(struct report_json *json, const struct record_sweep *sweep,
                    const struct record_point *point)
{
    char key[32];
    report_json_begin_object(json, NULL);
    report_json_text(json, "sweep_id", sweep->sweep_id);
    report_json_integer(json, "point_id", point->point_id);
    for (size_t i = 0; i < sweep->axis_count; i++) {
        struct record_value value = record_point_value(point, i);
        snprintf(key, sizeof key, "axis_%zu", i + 1);
        report_json_text(json, key, sweep->axes[i]);
        snprintf(key, sizeof key, "value_%zu", i + 1);
        report_json_value(json, key, &value);
    }
    struct record_value run_id = id_value(point->run_id);
    report_json_value(json, "run_id", &run_id);
    report_json_text(json, "status", record_point_status_name(point->status));
    report_json_text(json, "reason", point->reason);
    put_figures(json, point);
    report_json_end_object(json);
}

void report_sweep_json(FILE *out, const struct record_sweep *sweep)
{
    struct report_json json;
    report_json_init(&json, out);
    report_json_begin_list(&json, NULL);
    json.spread_depth = 1; // a row is a line
    for (size_t i = 0; i < sweep->point_count; i++) {
        if (is_decided(&sweep->points[i]))
            put_row(&json, sweep, &sweep->points[i]);
    }
    report_json_end_list(&json);
    report_json_finish(&json);
}

static void put_field(FILE *out, const struct record_value *value)
{
    fputc(',', out);
    report_csv_value(out, value);
}

static void put_csv_row(FILE *out, const struct record_sweep *sweep,
                        const struct record_point *point)
{
    report_csv_field(out, sweep->sweep_id);
    fprintf(out, ",%lld", (long long)point->point_id);
    for (size_t i = 0; i < sweep->axis_count; i++) {
        struct record_value axis = text_value(sweep->axes[i]), value = record_point_value(point, i);
        put_field(out, &axis);
        put_field(out, &value);
    }
    struct record_value run_id = id_value(point->run_id),
                        status = text_value(record_point_status_name(point->status)),
                        reason = text_value(point->reason);
    put_field(out, &run_id);
    put_field(out, &status);
    put_field(out, &reason);
    put_field(out, &point->summary[RECORD_STATUS]);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (i != RECORD_STATUS)
            put_field(out, &point->summary[i]);
    }
    fputc('\n', out);
}

void report_sweep_csv(FILE *out, const struct record_sweep *sweep)
{
    fputs("sweep_id,point_id", out);
    for (size_t i = 0; i < sweep->axis_count; i++)
        fprintf(out, ",axis_%zu,value_%zu", i + 1, i + 1);
    fputs(",run_id,status,reason,run_status", out);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (i != RECORD_STATUS)
            fprintf(out, ",%s", record_summary_columns[i].name);
    }
    fputc('\n', out);
    for (size_t i = 0; i < sweep->point_count; i++) {
        if (is_decided(&sweep->points[i]))
            put_csv_row(out, sweep, &sweep->points[i]);
    }
}
