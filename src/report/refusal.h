/*
 * refusal.h - why a configuration cannot start: the bytes that do not fit, and the smallest changes that do.
 *
 * The rows are given as plain texts and bytes, since what they mean is known where the memory is laid out. Everything
 * belongs to the caller.
 */
#ifndef KVSIM_REPORT_REFUSAL_H
#define KVSIM_REPORT_REFUSAL_H

#include "record/run.h"
#include "report/json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct report_refusal_row {
    const char *label;  /* for people: "weights" */
    const char *line;   /* the waterfall's name for JSON; NULL = not in it */
    int64_t bytes;      /* of one GPU */
    const char *claim;  /* may be "" */
    const char *source; /* may be "" */
};

struct report_refusal_change {
    const char *key;    /* engine.max_model_len */
    const char *value;  /* 4096 */
    const char *effect; /* "1 sequence of 4,096 tokens fits"; may be "" */
};

struct report_refusal {
    const char *title; /* memory-wall: the KV cache of one request does not fit */
    const char *stage; /* weights, kv_pool, startup_check, ... */
    const char *limit; /* the figure that is exceeded */
    int64_t needed_bytes, available_bytes;
    int64_t estimated_max_model_len; /* -1: none fits, or not asked */
    const struct report_refusal_row *rows;
    size_t row_count;
    const char *const *explanations; /* whole sentences */
    size_t explanation_count;
    const struct report_refusal_change *changes;
    size_t change_count;
};

void report_refusal_text(FILE *out, const struct report_refusal *refusal);

/* One object: starts (false), refusal {stage, limit, needed_bytes, available_bytes, estimated_max_model_len, changes
 * [{key, value, effect}], explanations}, waterfall. */
void report_refusal_json(FILE *out, const struct report_refusal *refusal);
/* The first two of these as members of an object that is open. */
void report_refusal_json_members(struct report_json *json, const struct report_refusal *refusal);

#endif
