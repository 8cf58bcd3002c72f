/*
 * Tables of sweeps and comparisons. A value on an axis has the type that it has in the scenario, so that value_1 sorts
 * as numbers do; all axes share one set of columns, NULL beyond a sweep's own.
 */
#include "record/sweep.h"
#include "store/store_int.h"

#include <string.h>

void store_sweep_add_tables(struct base_text *sql)
{
    base_text_add(sql, "CREATE TABLE sweep (\n  sweep_id TEXT PRIMARY KEY,\n"
                       "  scenario TEXT NOT NULL,\n  kvsim_version TEXT NOT NULL,\n"
                       "  zipped INTEGER NOT NULL,\n  points INTEGER NOT NULL");
    for (int i = 1; i <= RECORD_AXES_MAX; i++)
        base_text_printf(sql, ",\n  axis_%d TEXT", i);
    base_text_add(sql, "\n) STRICT, WITHOUT ROWID;\n"
                       "CREATE TABLE sweep_point (\n"
                       "  sweep_id TEXT NOT NULL REFERENCES sweep,\n"
                       "  point_id INTEGER NOT NULL");
    for (int i = 1; i <= RECORD_AXES_MAX; i++)
        base_text_printf(sql, ",\n  value_%d ANY", i);
    base_text_add(sql, ",\n  scenario_hash TEXT NOT NULL,\n  run_id INTEGER REFERENCES run,\n"
                       "  status TEXT NOT NULL,\n  reason TEXT NOT NULL,\n"
                       "  PRIMARY KEY (sweep_id, point_id)\n) STRICT, WITHOUT ROWID;\n"
                       "CREATE INDEX sweep_point_by_run ON sweep_point (run_id);\n"
                       "CREATE TABLE comparison (\n"
                       "  run_a INTEGER NOT NULL REFERENCES run,\n"
                       "  run_b INTEGER NOT NULL REFERENCES run,\n"
                       "  name TEXT NOT NULL,\n  statistic TEXT NOT NULL,\n  class TEXT NOT NULL,\n"
                       "  unit TEXT NOT NULL,\n  a REAL,\n  b REAL,\n  difference REAL,\n"
                       "  ci_low REAL,\n  ci_high REAL,\n  ratio REAL,\n  ratio_ci_low REAL,\n"
                       "  ratio_ci_high REAL,\n  n INTEGER NOT NULL,\n"
                       "  more_replications INTEGER,\n  method TEXT NOT NULL,\n"
                       "  verdict TEXT NOT NULL,\n"
                       "  PRIMARY KEY (run_a, run_b, name, statistic, class)\n"
                       ") STRICT, WITHOUT ROWID;\n");
}

void store_sweep_add_views(struct base_text *sql)
{
    base_text_add(sql, "DROP VIEW IF EXISTS sweep_grid;\n"
                       "CREATE VIEW sweep_grid AS SELECT sweep_id, point_id");
    for (int i = 1; i <= RECORD_AXES_MAX; i++)
        base_text_printf(sql, ", sweep.axis_%d, sweep_point.value_%d", i, i);
    base_text_add(sql, ", sweep_point.run_id, sweep_point.status, sweep_point.reason, "
                       "run.status AS run_status");
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (i != RECORD_STATUS)
            base_text_printf(sql, ", run.%s", record_summary_columns[i].name);
    }
    base_text_add(sql, " FROM sweep_point JOIN sweep USING (sweep_id) "
                       "LEFT JOIN run ON run.run_id = sweep_point.run_id;\n"
                       "DROP VIEW IF EXISTS run_compare;\n"
                       "CREATE VIEW run_compare AS SELECT run_a, run_b, name, statistic, class, "
                       "unit, a, b, difference, ci_low, ci_high, ratio, ratio_ci_low, "
                       "ratio_ci_high, n, more_replications, method, verdict FROM comparison;\n");
}
