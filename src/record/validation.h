/*
 * validation.h - predicted against measured: groups of cases, their errors, and the bounds that these may have.
 *
 * Errors are relative, predicted / measured - 1. A group's figures are over the cases that were not used to fit what
 * predicts them; those that were have a part of their own. Ownership: the validation's arena holds every text.
 */
#ifndef KVSIM_RECORD_VALIDATION_H
#define KVSIM_RECORD_VALIDATION_H

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

struct record_validation_case {
    const char *id, *family, *source;
    const char *what;           /* the figure */
    const char *device, *phase; /* NULL where the group does not tell them apart */
    double predicted, measured;
    double error;     /* 0 for exact figures and verdicts that agree */
    bool agrees;      /* exact and verdict cases; true for predicted ones */
    bool is_fitted;   /* what predicts it was fitted to it */
    const char *note; /* why it differs, or "" */
};

struct record_validation_cases {
    struct record_validation_case *at;
    size_t count, capacity;
};

/* A part of a group's cases: all that were not fitted, those among them of a device or a phase, or all that were. */
enum record_validation_kind {
    RECORD_VALIDATION_ALL,
    RECORD_VALIDATION_DEVICE,
    RECORD_VALIDATION_PHASE,
    RECORD_VALIDATION_FITTED,
    RECORD_VALIDATION_KIND_COUNT
};
const char *record_validation_kind_name(enum record_validation_kind kind);

struct record_validation_part {
    enum record_validation_kind kind;
    const char *name; /* of the device or phase, else "" */
    size_t count, agreeing;
    double median, mean, p90; /* of absolute errors */
    double bias, worst;       /* signed */
    double tau; /* Kendall's, of predicted and measured; NaN: one of them is constant */
    const char *worst_case;
};

struct record_validation_bound {
    const char *figure; /* "mean_error", ... */
    const char *part;   /* whose value is the worst, "" = the whole group */
    double bound, value;
    bool is_exceeded;
};

struct record_validation_group {
    const char *name, *summary;
    const char *level; /* of the cost model; NULL: no times */
    const char *basis; /* what of the cases went into what predicts them */
    bool is_exact;     /* counted as agreeing or not, instead of by error */
    bool is_within;    /* every bound holds, and there are cases */
    struct record_validation_cases cases;
    struct {
        struct record_validation_part *at; /* the whole first */
        size_t count, capacity;
    } parts;
    struct {
        struct record_validation_bound *at;
        size_t count, capacity;
    } bounds;
};

struct record_validation {
    struct base_arena arena;
    struct {
        struct record_validation_group *at;
        size_t count, capacity;
    } groups;
};

void record_validation_init(struct record_validation *validation);
void record_validation_free(struct record_validation *validation);
void record_validation_group_free(struct record_validation_group *group);
bool record_validation_is_within(const struct record_validation *validation);
/* The share of a bound's figure, by which it is printed: "mean_error <= 15 %", "kendall_tau >= 0.80". */
void record_validation_print_bound(const struct record_validation_bound *bound, char *text,
                                   size_t bytes);

#endif
