/*
 * csv.h - fields of CSV, quoted as RFC 4180 says where they need it.
 */
#ifndef KVSIM_REPORT_CSV_H
#define KVSIM_REPORT_CSV_H

#include "record/run.h"

#include <stdio.h>

void report_csv_field(FILE *out, const char *text);

/* NULL is an empty field; doubles are exact. */
void report_csv_value(FILE *out, const struct record_value *value);

#endif
