#include "support/made_sweep.h"

#include "support/made_run.h"

#include <math.h>
#include <string.h>

static void fill_run(struct record_run *run, int variant)
{
    static const char *const limits[] = {"weight_bandwidth", "compute", "weight_bandwidth",
                                         "kv_pool", "max_num_seqs"};
    made_run_init(run, variant);
    run->run_id = variant + 1;
    record_set_text(run, RECORD_BINDING_LIMIT, limits[variant % 5]);
    // More per GPU is slower per user, so that all that meet their targets are in the Pareto set.
    record_set_real(run, RECORD_OUTPUT_THROUGHPUT, 1000.5 * (variant + 1));
    record_set_real(run, RECORD_OUTPUT_THROUGHPUT_PER_GPU, 1000.5 * (variant + 1));
    record_set_real(run, RECORD_OUTPUT_THROUGHPUT_PER_USER, 100.25 - 10 * variant);
    record_set_real(run, RECORD_USD_PER_MTOK_OUTPUT, 0.5 + 0.125 * variant);
    for (size_t i = 0; i < run->metrics.count; i++) {
        struct record_metric *row = &run->metrics.at[i];
        bool is_p99 = strcmp(row->name, "ttft") == 0 && strcmp(row->statistic, "p99") == 0 &&
                      row->class_name[0] == '\0';
        row->ci_low = is_p99 ? row->value - 20 : row->ci_low;
        row->ci_high = is_p99 ? row->value + 20 : row->ci_high;
    }
}

static void begin(struct made_sweep *made)
{
    *made = (struct made_sweep){0};
    record_sweep_init(&made->sweep);
    made->sweep.scenario = "chat-8k";
    made->sweep.kvsim_version = "0.1.0";
    strcpy(made->sweep.sweep_id, "s0123456789ab");
    record_sweep_make_points(&made->sweep, MADE_SWEEP_POINTS);
}

static void fill_points(struct made_sweep *made, const enum record_point_status *status)
{
    size_t run_count = 0;
    for (size_t i = 0; i < MADE_SWEEP_POINTS; i++) {
        struct record_point *point = &made->sweep.points[i];
        point->status = status[i];
        if (status[i] == RECORD_POINT_REFUSED) {
            point->reason = "the KV cache of one request does not fit <one> GPU";
            continue;
        }
        struct record_run *run = &made->runs[run_count];
        fill_run(run, (int)run_count++);
        record_point_take(&made->sweep, point, run->summary);
        point->run_id = run->run_id;
        made->run_of[i] = run;
    }
}

void made_sweep_init(struct made_sweep *made)
{
    static const char *const concurrency[] = {"1", "4", "16"};
    static const char *const context[] = {"1024", "8192"};
    static const enum record_point_status status[] = {
        RECORD_POINT_OK,         RECORD_POINT_OK,         RECORD_POINT_OK,
        RECORD_POINT_SLO_MISSED, RECORD_POINT_SLO_MISSED, RECORD_POINT_REFUSED};
    begin(made);
    made->sweep.axis_count = 2;
    made->sweep.axes[0] = "concurrency";
    made->sweep.axes[1] = "context";
    for (size_t i = 0; i < MADE_SWEEP_POINTS; i++) {
        made->sweep.points[i].values[0] = concurrency[i / 2];
        made->sweep.points[i].values[1] = context[i % 2];
    }
    fill_points(made, status);
}

void made_sweep_init_line(struct made_sweep *made)
{
    static const char *const rates[] = {"1/s", "2/s", "3/s", "4/s", "5/s", "6/s"};
    static const enum record_point_status status[] = {
        RECORD_POINT_OK,         RECORD_POINT_OK,         RECORD_POINT_OK,
        RECORD_POINT_SLO_MISSED, RECORD_POINT_SLO_MISSED, RECORD_POINT_REFUSED};
    begin(made);
    made->sweep.axis_count = 1;
    made->sweep.axes[0] = "workload.arrival.rate";
    for (size_t i = 0; i < MADE_SWEEP_POINTS; i++)
        made->sweep.points[i].values[0] = rates[i];
    fill_points(made, status);
}

static void set_states(struct made_sweep *made, size_t point, const char *status,
                       const char *stability)
{
    struct record_run *run = &made->runs[made->run_of[point] - made->runs];
    record_set_text(run, RECORD_STATUS, status);
    record_set_text(run, RECORD_STABILITY, stability);
    record_point_take(&made->sweep, &made->sweep.points[point], run->summary);
}

void made_sweep_overload(struct made_sweep *made, size_t point)
{
    set_states(made, point, "overloaded", "overloaded");
}

void made_sweep_unsettle(struct made_sweep *made, size_t point)
{
    set_states(made, point, "not_settled", "stable");
}

void made_sweep_free(struct made_sweep *made)
{
    for (size_t i = 0; i < MADE_SWEEP_POINTS; i++) {
        if (made->run_of[i] != NULL)
            record_run_free(&made->runs[made->run_of[i] - made->runs]);
    }
    record_sweep_free(&made->sweep);
}
