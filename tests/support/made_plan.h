/*
 * made_plan.h - a plan made by hand: two candidates, the second refused; a curve, growth from a day, two uncertain inputs.
 */
#ifndef KVSIM_TESTS_SUPPORT_MADE_PLAN_H
#define KVSIM_TESTS_SUPPORT_MADE_PLAN_H

#include "record/plan.h"

void made_plan_init(struct record_plan *plan);
/* Its limit was not reached: what was the answer is a bound. */
void made_plan_leave_open(struct record_plan *plan); /* freed by record_plan_free() */

#endif
