/*
 * validation.h - predicted against measured, as pages and JSON.
 */
#ifndef KVSIM_REPORT_VALIDATION_H
#define KVSIM_REPORT_VALIDATION_H

#include "record/validation.h"
#include "report/table.h"

#include <stdio.h>

/* Groups with their errors and bounds, devices and phases apart, then the cases that are furthest off. */
void report_validation_page(FILE *out, enum report_style style,
                            const struct record_validation *validation);
/* Every group with every case. */
void report_validation_json(FILE *out, const struct record_validation *validation);

#endif
