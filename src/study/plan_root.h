/*
 * plan_root.h - the load at which the targets are just met: a bracket about it, closed by probes, and its interval.
 *
 * The margin of the worst target is a noisy function of the load; probes share their random numbers, so it is nearly
 * monotonous. The interval is that of the margin at the bracket's lower end over the slope there.
 */
#ifndef KVSIM_STUDY_PLAN_ROOT_H
#define KVSIM_STUDY_PLAN_ROOT_H

#include "study/plan_int.h"

/* The upper end misses a target, or is a run that is too short to tell. */
struct study_plan_bracket {
    struct study_plan_point met, missed;
    bool has_met, has_missed;
};

/* Whoever asks for little precision wants a quick answer. */
bool study_plan_is_quick(const struct study_plan_search *search);
/* Both ends are known, and the upper one is no run that is too short. */
bool study_plan_has_root(const struct study_plan_bracket *bracket);
/* The bracket about the root, from `start` by steps of `factor`, closed where it has both ends. */
enum kvsim_status study_plan_find_ends(struct study_plan_search *search, double start,
                                       double factor, struct study_plan_bracket *bracket,
                                       struct kvsim_error *err);
/* The root between close ends and half its interval, relative (NaN: nothing tells it), with the replications that its width
 * asks for. More of them may leave the bracket without a root. */
enum kvsim_status study_plan_settle(struct study_plan_search *search,
                                    struct study_plan_bracket *bracket, double *root, double *half,
                                    struct kvsim_error *err);
/* d margin / d log load at the root; NaN where the probes near it do not tell. */
double study_plan_slope(const struct study_plan_search *search, double root);
/* Relative half width of the root's interval at a two-sided confidence; NaN where nothing tells it. */
double study_plan_half_width(const struct study_plan_search *search,
                             const struct study_plan_bracket *bracket, double root,
                             double probability);

#endif
