/*
 * size.h - a configuration in closed form for people and programs. JSON keys are those of the contracts (`kvsim size`,
 * bytes and blocks). One size is one object; a table over keys is a list of them, with `axis` in each.
 */
#ifndef KVSIM_REPORT_SIZE_H
#define KVSIM_REPORT_SIZE_H

#include "record/size.h"
#include "report/table.h"

#include <stddef.h>
#include <stdio.h>

void report_size_page(FILE *out, enum report_style style, const struct record_size *size);
/* A row a cell: what fits, in short. */
void report_sizes_page(FILE *out, enum report_style style, const struct record_size *sizes,
                       size_t count);

void report_sizes_json(FILE *out, const struct record_size *sizes, size_t count, bool is_list);

/* A row for each context length of each cell, the axes' columns first. */
void report_sizes_csv(FILE *out, const struct record_size *sizes, size_t count);

#endif
