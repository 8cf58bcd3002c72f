#include "record/plan.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *record_load_name(enum record_load load)
{
    static const char *const names[RECORD_LOAD_COUNT] = {"rate", "concurrency", "speedup",
                                                         "session_rate"};
    base_require((unsigned)load < RECORD_LOAD_COUNT);
    return names[load];
}

const char *record_load_unit(enum record_load load)
{
    static const char *const units[RECORD_LOAD_COUNT] = {"requests/s", "clients",
                                                         "x the trace's speed", "sessions/s"};
    base_require((unsigned)load < RECORD_LOAD_COUNT);
    return units[load];
}

bool record_load_is_rate(enum record_load load)
{
    return load == RECORD_LOAD_RATE || load == RECORD_LOAD_SESSION_RATE;
}

const char *record_candidate_status_name(enum record_candidate_status status)
{
    static const char *const names[RECORD_CANDIDATE_STATUS_COUNT] = {"ok", "none", "not_reached",
                                                                     "refused"};
    base_require((unsigned)status < RECORD_CANDIDATE_STATUS_COUNT);
    return names[status];
}

const char *record_spread_name(enum record_spread distribution)
{
    static const char *const names[RECORD_SPREAD_COUNT] = {"uniform", "normal"};
    base_require((unsigned)distribution < RECORD_SPREAD_COUNT);
    return names[distribution];
}

bool record_candidate_is_precise(const struct record_plan *plan,
                                 const struct record_candidate *candidate)
{
    return isnan(candidate->half_width) || candidate->half_width <= plan->half_width;
}

double record_input_effect(const struct record_input *input)
{
    double by_headroom = fabs(input->high.headroom - input->low.headroom);
    double by_load = fabs(input->high.max_load - input->low.max_load);
    return !isnan(by_headroom) ? by_headroom : !isnan(by_load) ? by_load : 0;
}

/* ---- days ---- */

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

char *record_date_print(struct record_date date, char *text, size_t bytes)
{
    snprintf(text, bytes, "%04d-%02d-%02d", date.year, date.month, date.day);
    return text;
}

/* `count` digits, or -1. */
static int read_digits(const char *text, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + text[i] - '0';
    }
    return value;
}

bool record_date_read(const char *text, struct record_date *out)
{
    size_t length = strlen(text);
    if ((length != 7 && length != 10) || text[4] != '-' || (length == 10 && text[7] != '-'))
        return false;
    *out = (struct record_date){read_digits(text, 4), read_digits(text + 5, 2),
                                length == 10 ? read_digits(text + 8, 2) : 1};
    return out->year >= 1 && out->month >= 1 && out->month <= 12 && out->day >= 1 &&
           out->day <= days_of(out->year, out->month);
}

/* The same day so many months later, or the last one of a shorter month. */
static struct record_date add_months(struct record_date from, int months)
{
    int count = from.year * 12 + from.month - 1 + months;
    struct record_date to = {count / 12, count % 12 + 1, from.day};
    if (to.day > days_of(to.year, to.month))
        to.day = days_of(to.year, to.month);
    return to;
}

struct record_date record_date_after(struct record_date from, double months)
{
    double whole = floor(months);
    struct record_date date = add_months(from, (int)whole);
    date.day += (int)((months - whole) * days_of(date.year, date.month));
    int beyond = date.day - days_of(date.year, date.month);
    if (beyond > 0) {
        date = add_months((struct record_date){date.year, date.month, 1}, 1);
        date.day = beyond;
    }
    return date;
}

void record_plan_init(struct record_plan *plan)
{
    *plan = (struct record_plan){.scenario = "", .odds = {.limit = ""}, .command = ""};
    base_arena_init(&plan->arena);
    record_run_init(&plan->run);
}

void record_plan_free(struct record_plan *plan)
{
    for (size_t i = 0; i < plan->candidate_count; i++)
        base_vec_free(&plan->candidates[i].probes);
    base_vec_free(&plan->stages);
    base_vec_free(&plan->forecast);
    base_vec_free(&plan->inputs);
    record_run_free(&plan->run);
    base_arena_release(&plan->arena);
}
