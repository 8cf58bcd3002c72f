/*
 * axes.h - the axes of a grid: KEY=LIST as the command line writes them, and the points that they span.
 *
 * Any key of a scenario is an axis; ranges are read in the key's own unit. Two more are not keys:
 * `concurrency` replaces the arrival process by a closed loop, `context` fixes the lengths so that every request holds so
 * many tokens at its end. Crossed axes span every combination, the last axis running fastest; zipped ones run side by
 * side and have equally many values.
 */
#ifndef KVSIM_STUDY_AXES_H
#define KVSIM_STUDY_AXES_H

#include "base/error.h"
#include "base/mem.h"
#include "record/sweep.h"
#include "scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum study_axis_kind { STUDY_AXIS_KEY, STUDY_AXIS_CONCURRENCY, STUDY_AXIS_CONTEXT };
enum { STUDY_POINTS_MAX = 1000000 };

struct study_axis {
    const char *key;
    enum study_axis_kind kind;
    struct {
        const char **at;
        size_t count, capacity;
    } values; /* as the scenario reads them */
};

struct study_axes {
    struct base_arena arena;
    struct study_axis at[RECORD_AXES_MAX];
    size_t count;
    bool is_zipped;
};

void study_axes_init(struct study_axes *axes);
void study_axes_free(struct study_axes *axes);
/* "KEY=LIST"; KVSIM_ERR_USAGE for a list of the wrong form, a second axis of the same key, or one too many. */
enum kvsim_status study_axes_add(struct study_axes *axes, const char *text,
                                 struct kvsim_error *err) KVSIM_MUST_CHECK;
/* Zipped axes of equal length, and not more than STUDY_POINTS_MAX points. */
enum kvsim_status study_axes_check(const struct study_axes *axes,
                                   struct kvsim_error *err) KVSIM_MUST_CHECK;
/* 1 without axes. */
size_t study_axes_point_count(const struct study_axes *axes);
const char *study_axes_value(const struct study_axes *axes, size_t point, size_t axis);
bool study_axes_has(const struct study_axes *axes, enum study_axis_kind kind);

/* Points that differ on `concurrency` and `context` alone share one base: its number, and how many there are. */
size_t study_axes_base(const struct study_axes *axes, size_t point);
size_t study_axes_base_count(const struct study_axes *axes);
/* A point of that base. */
size_t study_axes_base_point(const struct study_axes *axes, size_t base);

/* What the two special axes need of the scenario without them. */
struct study_base_facts {
    bool has_length_limit; /* run.requests or run.duration is stated */
    int64_t max_model_tokens;
    size_t class_count;
    bool has_classes;          /* stated as a list */
    int64_t output_tokens[64]; /* of each class: its mean, rounded, at least 1 */
};
void study_base_facts_take(const struct serve_config *config, struct study_base_facts *out);

/*
 * What the axes set at a point, in the arena: the ordinary keys, and with `facts` the special axes too. A context that
 * leaves no prompt, or is longer than an axis engine.max_model_len allows, is no override but a reason to refuse, into
 * *refusal (else NULL).
 */
struct study_overrides {
    struct scenario_override *at;
    size_t count, capacity;
};
void study_axes_overrides(const struct study_axes *axes, size_t point,
                          const struct study_base_facts *facts, struct base_arena *arena,
                          struct study_overrides *out, const char **refusal);

#endif
