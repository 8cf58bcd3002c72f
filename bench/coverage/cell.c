#include "coverage/cell.h"

#include "base/mem.h"
#include "scenario/scenario.h"
#include "stats/paired.h"
#include "study/study.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- a queue as a scenario ---- */

static enum kvsim_status load(const char *folder, const struct cell *cell, struct scenario **out,
                              struct kvsim_error *err)
{
    char path[1024], rate[64], lengths[64], requests[32], replications[32];
    snprintf(path, sizeof path, "%s/queue.yaml", folder);
    snprintf(rate, sizeof rate, "%.12g/s",
             queue_rate_per_s(&cell->queue) * (cell->rate_factor > 0 ? cell->rate_factor : 1));
    snprintf(lengths, sizeof lengths,
             cell->queue.is_geometric ? "{distribution: geometric, mean: %.0f}" : "%.0f",
             cell->queue.mean_steps);
    snprintf(requests, sizeof requests, "%" PRId64, cell->requests);
    snprintf(replications, sizeof replications, "%" PRId64, cell->replications);
    const struct scenario_override overrides[] = {{"workload.arrival.rate", rate},
                                                  {"workload.output_tokens", lengths},
                                                  {"run.requests", requests},
                                                  {"run.replications", replications}};
    struct scenario_request request = {.path = path,
                                       .overrides = overrides,
                                       .override_count = sizeof overrides / sizeof *overrides,
                                       .purpose = SCENARIO_FOR_RUN};
    struct kvsim_diags *diags = base_alloc(sizeof *diags);
    enum kvsim_status status = scenario_load(&request, out, diags);
    if (status != KVSIM_OK) {
        *err = diags->at[0];
    }
    base_free(diags);
    return status;
}

/* ---- one run after the other ---- */

static void begin(const struct cell *cell, struct cell_result *out)
{
    *out = (struct cell_result){0};
    queue_solve(&cell->queue, &out->truth);
    double step_ms = cell->queue.step_s * 1e3;
    out->figures[0] = (struct cell_count){
        .name = "e2e", .statistic = "mean", .truth_ms = out->truth.sojourn_mean_s * 1e3};
    out->figures[1] = (struct cell_count){
        .name = "e2e", .statistic = "p99", .truth_ms = out->truth.sojourn_p99_s * 1e3};
    out->figures[2] = (struct cell_count){
        .name = "ttft", .statistic = "mean", .truth_ms = out->truth.wait_mean_s * 1e3 + step_ms};
    out->figures[3] = (struct cell_count){
        .name = "ttft", .statistic = "p99", .truth_ms = out->truth.wait_p99_s * 1e3 + step_ms};
}

static void count_figure(const struct record_run *run, struct cell_count *count)
{
    const struct record_metric *metric = record_run_metric(run, count->name, count->statistic, "");
    count->bias_sum += metric->value / count->truth_ms - 1;
    if (isnan(metric->ci_low)) {
        return;
    }
    count->printed++;
    count->below += metric->ci_high < count->truth_ms;
    count->above += metric->ci_low > count->truth_ms;
    count->covered += metric->ci_low <= count->truth_ms && metric->ci_high >= count->truth_ms;
    count->half_width_sum += (metric->ci_high - metric->ci_low) / 2 / count->truth_ms;
}

static void count_run(const struct record_run *run, struct cell_result *out)
{
    for (size_t i = 0; i < CELL_FIGURES; i++) {
        count_figure(run, &out->figures[i]);
    }
    out->overloaded += strcmp(record_get_text(run, RECORD_STABILITY), "overloaded") == 0;
    out->near_saturation += strcmp(record_get_text(run, RECORD_STABILITY), "near_saturation") == 0;
    out->not_settled += strcmp(record_get_text(run, RECORD_STATUS), "not_settled") == 0;
}

enum kvsim_status cell_run(const char *folder, const struct cell *cell,
                           void (*each)(void *context, size_t index, const struct record_run *run),
                           void *context, struct cell_result *out, struct kvsim_error *err)
{
    struct scenario *scenario = NULL;
    begin(cell, out);
    enum kvsim_status status = load(folder, cell, &scenario, err);
    for (size_t i = 0; i < cell->seeds && status == KVSIM_OK; i++) {
        struct serve_config config = *scenario_config(scenario);
        struct study_options options = {.jobs = 1, .mode = SERVE_JUMP};
        struct record_run run;
        config.seed = i + 1;
        record_run_init(&run);
        status = study_run(&config, &options, &run, err);
        if (status == KVSIM_OK) {
            count_run(&run, out);
            if (each != NULL) {
                each(context, i, &run);
            }
        }
        record_run_free(&run);
    }
    scenario_free(scenario);
    return status;
}

/* ---- the table ---- */

void cell_print_header(FILE *out)
{
    fprintf(out, "queue,rho,requests,replications,seeds,figure,statistic,truth_ms,withheld_share,"
                 "covered_share,"
                 "sampling_error,below_share,above_share,half_width,bias,overloaded_share,not_"
                 "settled_share\n");
}

static double share(size_t part, size_t whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

void cell_print(FILE *out, const struct cell *cell, const struct cell_result *result)
{
    for (size_t i = 0; i < CELL_FIGURES; i++) {
        const struct cell_count *count = &result->figures[i];
        double covered = share(count->covered, count->printed);
        fprintf(out,
                "%s,%.2f,%" PRId64 ",%" PRId64
                ",%zu,%s,%s,%.1f,%.3f,%.3f,%.3f,%.3f,%.3f,%.4f,%+.4f,%.4f,%.4f\n",
                cell->queue.is_geometric ? "M/Geo/1" : "M/D/1", cell->queue.utilization,
                cell->requests, cell->replications, cell->seeds, count->name, count->statistic,
                count->truth_ms, 1 - share(count->printed, cell->seeds), covered,
                2 * sqrt(covered * (1 - covered) / (double)(count->printed + 1)),
                share(count->below, count->printed), share(count->above, count->printed),
                count->half_width_sum / (double)count->printed,
                count->bias_sum / (double)cell->seeds, share(result->overloaded, cell->seeds),
                share(result->not_settled, cell->seeds));
    }
    fflush(out);
}

/* ---- pairs ---- */

struct values {
    size_t replications;
    const char *statistic;
    double *at; /* [seed][replication] */
};

static void keep_values(void *context, size_t index, const struct record_run *run)
{
    struct values *values = context;
    for (size_t i = 0; i < run->replication_metrics.count; i++) {
        const struct record_replication_metric *row = &run->replication_metrics.at[i];
        if (strcmp(row->name, "e2e") == 0 && strcmp(row->statistic, values->statistic) == 0 &&
            row->class_name[0] == '\0') {
            values->at[index * values->replications + row->replication - 1] = row->value;
        }
    }
}

static void count_pair(const double *a, const double *b, size_t count, struct pair_count *out)
{
    struct stats_difference paired = stats_difference_skewed(a, b, count, 0.95);
    struct stats_difference unpaired = stats_difference_welch(a, count, b, count, 0.95);
    out->covered_paired += paired.low <= out->truth_ms && out->truth_ms <= paired.high;
    out->covered_unpaired += unpaired.low <= out->truth_ms && out->truth_ms <= unpaired.high;
    out->width_paired += (paired.high - paired.low) / 2;
    out->width_unpaired += (unpaired.high - unpaired.low) / 2;
    out->difference_sum_ms += paired.difference;
}

enum kvsim_status pair_run(const char *folder, const struct cell *low, const struct cell *high,
                           const char *statistic, struct pair_count *out, struct kvsim_error *err)
{
    size_t replications = (size_t)low->replications;
    struct values a = {replications, statistic,
                       base_alloc(base_mul_size(low->seeds * replications, sizeof(double)))};
    struct values b = {replications, statistic,
                       base_alloc(base_mul_size(low->seeds * replications, sizeof(double)))};
    struct cell_result of_low, of_high = {0};
    *out = (struct pair_count){.seeds = low->seeds};
    enum kvsim_status status = cell_run(folder, low, keep_values, &a, &of_low, err);
    if (status == KVSIM_OK) {
        status = cell_run(folder, high, keep_values, &b, &of_high, err);
    }
    size_t figure = strcmp(statistic, "mean") == 0 ? 0 : 1;
    out->truth_ms = of_high.figures[figure].truth_ms - of_low.figures[figure].truth_ms;
    for (size_t i = 0; i < low->seeds && status == KVSIM_OK; i++) {
        count_pair(a.at + i * replications, b.at + i * replications, replications, out);
    }
    base_free(a.at);
    base_free(b.at);
    return status;
}
