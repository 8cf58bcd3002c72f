#include "report/run_view.h"

#include "base/text.h"
#include "report/number.h"

#include <math.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

bool report_run_is(const struct record_run *run, enum record_summary column, const char *value)
{
    return strcmp(record_get_text(run, column), value) == 0;
}

const struct record_metric *report_run_row(const struct record_run *run, enum record_summary column)
{
    char name[64];
    const char *statistic = record_summary_metric(column, name, sizeof name);
    return record_run_metric(run, name, statistic, "");
}

const char *report_run_figure(const struct record_run *run, enum record_summary column, char *text,
                              size_t bytes)
{
    double value = record_get_real(run, column);
    const struct record_metric *row = report_run_row(run, column);
    if (row != NULL)
        return report_print_interval(value, row->ci_low, row->ci_high, text, bytes);
    return report_print_rounded(value, 3, text, bytes);
}

bool report_run_has_interval(const struct record_run *run, enum record_summary column)
{
    const struct record_metric *row = report_run_row(run, column);
    return row != NULL && !isnan(row->ci_low) && !isnan(row->ci_high);
}

const char *report_run_warning(const struct record_run *run)
{
    static const char *const meanings[][2] = {
        {"not_settled", "NOT SETTLED: the run had not reached a steady state; its figures depend "
                        "on where it was cut"},
        {"overloaded", "OVERLOADED: the queue grows without end; latencies grow with the run's "
                       "length and are no steady figures"},
        {"stuck", "STUCK: the engine could not go on; the figures end there"},
        {"engine_died", "ENGINE DIED: the engine gave up; the figures end there"},
    };
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        if (report_run_is(run, RECORD_STATUS, meanings[i][0]))
            return meanings[i][1];
    }
    return NULL;
}

// Runs stored before the words were have the usual ones.
static const char *param_or(const struct record_run *run, const char *key, const char *usual)
{
    const struct record_param_row *row = report_run_param(run, key);
    return row != NULL ? row->value : usual;
}

struct report_fit report_run_fit(const struct record_run *run, size_t answer)
{
    struct report_fit fits[REPORT_FITS] = {
        {"guaranteed",
         param_or(run, "concurrency_guaranteed.means", "pool / one request of max_model_len"),
         "calculated", RECORD_CONCURRENCY_GUARANTEED},
        {"expected",
         param_or(run, "concurrency_expected.means", "pool / mean blocks that a request holds"),
         "calculated", RECORD_CONCURRENCY_EXPECTED},
        {"within SLO", "in the system on average while all SLOs hold", "simulated",
         RECORD_CONCURRENCY_WITHIN_SLO},
    };
    return fits[answer];
}

const struct record_param_row *report_run_param(const struct record_run *run, const char *key)
{
    for (size_t i = 0; i < run->params.count; i++) {
        if (strcmp(run->params.at[i].key, key) == 0)
            return &run->params.at[i];
    }
    return NULL;
}

const char *report_waterfall_sign(const char *line)
{
    if (strcmp(line, "nominal") == 0)
        return " ";
    return strcmp(line, "kv_pool") == 0 || strcmp(line, "driver") == 0 ? "=" : "−";
}

static size_t ledger_line(const char *component)
{
    size_t line = 0;
    while (line < RECORD_LEDGER_LINES && strcmp(record_ledger_name(line), component) != 0)
        line++;
    return line;
}

static void read_replica(const struct record_run *run, uint32_t replica, const char *at,
                         int64_t bytes[RECORD_LEDGER_LINES])
{
    memset(bytes, 0, RECORD_LEDGER_LINES * sizeof *bytes);
    for (size_t i = 0; i < run->ledger.count; i++) {
        const struct record_ledger_row *row = &run->ledger.at[i];
        size_t line = ledger_line(row->component);
        if (row->replica == replica && strcmp(row->at, at) == 0 && line < RECORD_LEDGER_LINES)
            bytes[line] = row->bytes;
    }
}

void report_ledger_read(const struct record_run *run, struct report_ledger *ledger)
{
    *ledger = (struct report_ledger){0};
    for (size_t i = 0; i < run->ledger.count; i++) {
        if (run->ledger.at[i].replica >= ledger->replica_count)
            ledger->replica_count = run->ledger.at[i].replica + 1;
    }
    for (uint32_t replica = 0; replica < ledger->replica_count; replica++) {
        int64_t bytes[RECORD_LEDGER_LINES];
        read_replica(run, replica, "mean", bytes);
        for (size_t line = 0; line < RECORD_LEDGER_LINES; line++)
            ledger->mean_bytes[line] += bytes[line];
        read_replica(run, replica, "peak", bytes);
        if (replica == 0 ||
            record_ledger_allocated(bytes) > record_ledger_allocated(ledger->peak_bytes)) {
            memcpy(ledger->peak_bytes, bytes, sizeof bytes);
            ledger->peak_replica = replica;
        }
    }
}

const char *report_ledger_sign(size_t line)
{
    if (line == RECORD_LEDGER_POOL)
        return "=";
    if (line == RECORD_LEDGER_SHARED)
        return "−";
    return line == 0 ? " " : "+";
}

bool report_limit_is_first(const struct record_run *run, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(run->limits.at[i].kind, run->limits.at[at].kind) == 0 &&
            strcmp(run->limits.at[i].phase, run->limits.at[at].phase) == 0)
            return false;
    }
    return true;
}

/* The last ": " of the line parts what was promised from what came of it. */
static const char *find_outcome(const char *line)
{
    const char *last = NULL;
    for (const char *at = strstr(line, ": "); at != NULL; at = strstr(at + 1, ": "))
        last = at;
    return last;
}

/* "ttft p99 <= 2 s for chat": what stands between. */
static void copy_bound(struct report_slo *slo)
{
    const char *at = strstr(slo->promise, "<=");
    if (at == NULL)
        return;
    base_copy(slo->bound, sizeof slo->bound, at + 2 + strspn(at + 2, " "));
    char *end = strstr(slo->bound, " for");
    if (end != NULL)
        *end = '\0';
}

void report_slo_read(const struct record_run *run, size_t at, struct report_slo *out)
{
    *out = (struct report_slo){0};
    const char *line = run->slo_lines.at[at];
    const char *outcome = find_outcome(line);
    base_copy(out->promise, sizeof out->promise, line);
    if (outcome == NULL)
        return;
    if ((size_t)(outcome - line) < sizeof out->promise)
        out->promise[outcome - line] = '\0';
    base_copy(out->outcome, sizeof out->outcome, outcome + 2);
    out->is_met = base_starts_with(out->outcome, "met");
    struct kvsim_error ignored;
    out->is_slo = spec_slo_parse(out->promise, &out->slo, &ignored) == KVSIM_OK;
    if (!out->is_slo)
        return;
    copy_bound(out);
    out->row = record_run_metric(run, spec_metric_name(out->slo.metric),
                                 spec_statistic_name(out->slo.statistic),
                                 out->slo.class_name == NULL ? "" : out->slo.class_name);
}

double report_slo_headroom(const struct report_slo *slo)
{
    if (!slo->is_slo || slo->row == NULL || isnan(slo->row->value) || !(slo->row->value > 0.0))
        return (double)NAN;
    return (double)slo->slo.bound_ns / 1e6 / slo->row->value;
}
