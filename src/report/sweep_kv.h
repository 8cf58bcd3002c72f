/*
 * sweep_kv.h - the part of a sweep's page that sets ways of allocating KV memory side by side. Private to report.
 */
#ifndef KVSIM_REPORT_SWEEP_KV_H
#define KVSIM_REPORT_SWEEP_KV_H

#include "record/sweep.h"
#include "report/table.h"

#include <stdbool.h>

/* engine.kv_policy or engine.kv_placement is an axis. */
bool report_sweep_compares_allocators(const struct record_sweep *sweep);
/* Use of what is allocated, concurrency, throughput, who is thrown out, copies, latency: a row a point that ran. */
void report_sweep_allocators(struct report_page *page, const struct record_sweep *sweep);

#endif
