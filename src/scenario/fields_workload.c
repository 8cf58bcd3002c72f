/*
 * fields_workload.c - the keys of `workload`: lengths, classes, timeouts. Those of `arrival` are the processes' own.
 */
#include "scenario/parts.h"

#include "rng/rng.h"

#include <math.h>

#define LATER(name, text)                            \
    {                                                \
        .key = name, .type = BASE_NODE, .help = text \
    }
#define WORKLOAD(member) .offset = offsetof(struct scenario_workload_opts, member)
#define WORKLOAD_HAS(member) .has_offset = offsetof(struct scenario_workload_opts, member)

/* Keys of the workload and of a class alike. */
#define CANDIDATES(at, has, absent)                                                             \
    {.key = "best_of",                                                                          \
     .type = BASE_INT,                                                                          \
     .unit = BASE_COUNT,                                                                        \
     at(candidates.best_of),                                                                    \
     .min = 1,                                                                                  \
     .max = WORKLOAD_SEQUENCES_MAX,                                                             \
     .help = "answers generated to each prompt, of which 'n' are returned (vLLM V0)" absent},   \
        {.key = "beam_width",                                                                   \
         .type = BASE_INT,                                                                      \
         .unit = BASE_COUNT,                                                                    \
         at(candidates.beam_width),                                                             \
         .min = 1,                                                                              \
         .max = WORKLOAD_SEQUENCES_MAX,                                                         \
         .help = "beams of a search for each prompt, of which 'n' are returned; in the engine " \
                 "or by a loop of requests, as engine.switch.beam_search says" absent},         \
    {                                                                                           \
        .key = "beam_switch", .type = BASE_REAL, at(candidates.beam_switch),                    \
        has(candidates.has_beam_switch), .max = 1,                                              \
        .help = "chance, at each token, that a beam goes on from one drawn among all "          \
                "instead of from itself (with beam_width, absent: 0.08)" absent                 \
    }

static const struct base_field workload_fields[] = {
    {.key = "arrival",
     .type = BASE_NODE,
     WORKLOAD(arrival),
     .required = true,
     .help = "the arrival process and its keys"},
    {.key = "prompt_tokens",
     .type = BASE_NODE,
     WORKLOAD(prompt_tokens),
     .help = "a number or a distribution; a trace has its own"},
    {.key = "output_tokens",
     .type = BASE_NODE,
     WORKLOAD(output_tokens),
     .help = "what the model would write before it stops by itself"},
    {.key = "max_tokens",
     .type = BASE_NODE,
     WORKLOAD(max_tokens),
     .help = "what the client allows: a number, a distribution, or same (the default)"},
    {.key = "correlation",
     .type = BASE_REAL,
     WORKLOAD(correlation),
     .min = -1,
     .max = 1,
     .def = "0",
     .help = "rank correlation of prompt and output (Gaussian copula)"},
    {.key = "n",
     .type = BASE_NODE,
     WORKLOAD(n),
     .help = "answers to each prompt, of lengths of their own (1): a number, or a distribution"},
    CANDIDATES(WORKLOAD, WORKLOAD_HAS, ""),
    {.key = "classes",
     .type = BASE_NODE,
     WORKLOAD(classes),
     .help = "kinds of requests with weights, lengths, priorities and SLOs of their own"},
    {.key = "timeout",
     .type = BASE_NODE,
     WORKLOAD(timeout),
     .help = "the client's patience: {first_token, total}"},
    {.key = "abort_after",
     .type = BASE_INT,
     .unit = BASE_TIME,
     WORKLOAD(abort_after_ns),
     .min_open = true,
     .max = 9e18,
     .help = "the client goes away after this"},
    {.key = "ignore_eos",
     .type = BASE_BOOL,
     WORKLOAD(ignore_eos),
     .def = "false",
     .help = "answers run on to max_tokens"},
    {.key = "shared_prefix",
     .type = BASE_NODE,
     WORKLOAD(shared_prefix),
     .help = "prompts begin with one of few texts (system prompts, examples)"},
    {.key = "sessions",
     .type = BASE_NODE,
     WORKLOAD(sessions),
     .help = "conversations of several turns whose context grows"},
    {0},
};
static const struct base_field workload_later[] = {
    LATER("retry", "retries are not simulated yet"),
    {0},
};

#define CLASS(member) .offset = offsetof(struct scenario_class_opts, member)
#define CLASS_HAS(member) .has_offset = offsetof(struct scenario_class_opts, member)

static const struct base_field class_fields[] = {
    {.key = "name",
     .type = BASE_TEXT,
     CLASS(name),
     .required = true,
     .help = "what results and SLOs call it"},
    {.key = "weight",
     .type = BASE_REAL,
     CLASS(weight),
     .max = 1e9,
     .min_open = true,
     .def = "1",
     .help = "its share of the requests, over the sum of weights"},
    {.key = "priority",
     .type = BASE_INT,
     CLASS(priority),
     .min = -1e9,
     .max = 1e9,
     .def = "0",
     .help = "low is served first (scheduling_policy: priority)"},
    {.key = "prompt_tokens",
     .type = BASE_NODE,
     CLASS(prompt_tokens),
     .help = "absent: the workload's"},
    {.key = "output_tokens",
     .type = BASE_NODE,
     CLASS(output_tokens),
     .help = "absent: the workload's"},
    {.key = "max_tokens", .type = BASE_NODE, CLASS(max_tokens), .help = "absent: the workload's"},
    {.key = "n", .type = BASE_NODE, CLASS(n), .help = "absent: the workload's"},
    CANDIDATES(CLASS, CLASS_HAS, "; absent: the workload's"),
    {.key = "correlation",
     .type = BASE_REAL,
     CLASS(correlation),
     .has_offset = offsetof(struct scenario_class_opts, has_correlation),
     .min = -1,
     .max = 1,
     .help = "absent: the workload's"},
    {.key = "timeout", .type = BASE_NODE, CLASS(timeout), .help = "absent: the workload's"},
    {.key = "abort_after",
     .type = BASE_INT,
     .unit = BASE_TIME,
     CLASS(abort_after_ns),
     .has_offset = offsetof(struct scenario_class_opts, has_abort),
     .min_open = true,
     .max = 9e18,
     .help = "absent: the workload's"},
    {.key = "slo", .type = BASE_NODE, CLASS(slo), .help = "bounds for this class alone"},
    {.key = "shared_prefix",
     .type = BASE_NODE,
     CLASS(shared_prefix),
     .help = "absent: the workload's, and the same texts"},
    {.key = "sessions", .type = BASE_NODE, CLASS(sessions), .help = "absent: the workload's"},
    {0},
};
static const struct base_choice order_choices[] = {
    {"random", WORKLOAD_RANDOM, "each request picks its texts anew, groups by popularity"},
    {"cyclic", WORKLOAD_CYCLIC, "group after group, and again: the worst case of an LRU cache"},
    {0},
};

#define SHARED(member) .offset = offsetof(struct scenario_shared_opts, member)

static const struct base_field shared_fields[] = {
    {.key = "num_groups",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     SHARED(num_groups),
     .min = 1,
     .max = 1e6,
     .required = true,
     .help = "different system prompts"},
    {.key = "system_prompt_len",
     .type = BASE_NODE,
     SHARED(system_prompt_len),
     .required = true,
     .help = "tokens of a system prompt: a number or a distribution over the groups"},
    {.key = "few_shot_groups",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     SHARED(few_shot_groups),
     .min = 1,
     .max = 1e6,
     .help = "different sets of examples behind each system prompt; absent: none"},
    {.key = "few_shot_len",
     .type = BASE_NODE,
     SHARED(few_shot_len),
     .help = "tokens of a set of examples"},
    {.key = "num_prompts_per_group",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     SHARED(num_prompts_per_group),
     .min = 1,
     .max = 1e6,
     .help = "different questions of each group, asked again and again; absent: every request asks "
             "one of its own"},
    {.key = "question_len",
     .type = BASE_NODE,
     SHARED(question_len),
     .help = "tokens of the question behind the shared part; absent: what prompt_tokens leaves"},
    {.key = "popularity",
     .type = BASE_NODE,
     SHARED(popularity),
     .help = "how requests spread over the groups: uniform (the default), or {distribution: zipf, "
             "s: 1}"},
    {.key = "order",
     .type = BASE_CHOICE,
     SHARED(order),
     .has_offset = offsetof(struct scenario_shared_opts, has_order),
     .choices = order_choices,
     .def = "random",
     .help = "how texts follow each other"},
    {0},
};

static const struct base_choice popularity_choices[] = {
    {"uniform", RNG_UNIFORM, "all alike"},
    {"zipf", RNG_ZIPF, "the k-th group with weight k^-s"},
    {0},
};

static const struct base_field popularity_fields[] = {
    {.key = "distribution",
     .type = BASE_CHOICE,
     .offset = offsetof(struct scenario_popularity_opts, distribution),
     .choices = popularity_choices,
     .required = true,
     .help = "shape"},
    {.key = "s",
     .type = BASE_REAL,
     .offset = offsetof(struct scenario_popularity_opts, s),
     .has_offset = offsetof(struct scenario_popularity_opts, has_s),
     .max = 100,
     .used_by = "zipf",
     .help = "exponent"},
    {0},
};

static const struct base_choice end_choices[] = {
    {"stop", WORKLOAD_END_STOP, "the session ends"},
    {"send", WORKLOAD_END_SEND, "it is sent all the same, and the engine rejects it"},
    {0},
};

#define SESSIONS(member) .offset = offsetof(struct scenario_sessions_opts, member)

static const struct base_field sessions_fields[] = {
    {.key = "turns",
     .type = BASE_NODE,
     SESSIONS(turns),
     .required = true,
     .help = "requests of a session: a number or a distribution"},
    {.key = "prompt_growth",
     .type = BASE_NODE,
     SESSIONS(prompt_growth),
     .required = true,
     .help = "new tokens of each further turn, behind the former prompt and answer"},
    {.key = "think_time",
     .type = BASE_NODE,
     SESSIONS(think_time),
     .help = "from the end of an answer to the user's next turn: a time or a distribution"},
    {.key = "tool_time",
     .type = BASE_NODE,
     SESSIONS(tool_time),
     .help = "the same where a tool that the model has called gives the next turn"},
    {.key = "tool_share",
     .type = BASE_REAL,
     .unit = BASE_RATIO,
     SESSIONS(tool_share),
     .has_offset = offsetof(struct scenario_sessions_opts, has_tool_share),
     .max = 1,
     .help = "with both times: share of the turns that a tool gives"},
    {.key = "end",
     .type = BASE_CHOICE,
     SESSIONS(end),
     .choices = end_choices,
     .def = "stop",
     .help = "when the next prompt would reach max_model_len"},
    {0},
};

static const struct base_field timeout_fields[] = {
    {.key = "first_token",
     .type = BASE_INT,
     .unit = BASE_TIME,
     .offset = offsetof(struct scenario_timeout_opts, first_token_ns),
     .min_open = true,
     .max = 9e18,
     .help = "the client gives up when no token has come by then"},
    {.key = "total",
     .type = BASE_INT,
     .unit = BASE_TIME,
     .offset = offsetof(struct scenario_timeout_opts, total_ns),
     .min_open = true,
     .max = 9e18,
     .help = "the client gives up when the answer is not complete by then"},
    {0},
};

static const struct base_choice distribution_choices[] = {
    {"fixed", RNG_FIXED, "one value"},
    {"uniform", RNG_UNIFORM, "every whole number from min to max"},
    {"normal", RNG_NORMAL, "mean, sd"},
    {"lognormal", RNG_LOGNORMAL, "mean, cv, or median, p95"},
    {"gamma", RNG_GAMMA, "mean, cv, or median, p95"},
    {"weibull", RNG_WEIBULL, "mean, cv"},
    {"exponential", RNG_EXPONENTIAL, "mean"},
    {"geometric", RNG_GEOMETRIC, "mean, from 1"},
    {"zipf", RNG_ZIPF, "s, min, max"},
    {"empirical", RNG_EMPIRICAL, "bins, cdf or file"},
    {0},
};

#define LENGTH(member) .offset = offsetof(struct scenario_length_opts, member)
#define HAS(member) .has_offset = offsetof(struct scenario_length_opts, member)
// The same keys in tokens, in time and for counts.
#define LENGTH_FIELDS(u, most)                                                                     \
    {.key = "distribution",                                                                        \
     .type = BASE_CHOICE,                                                                          \
     LENGTH(distribution),                                                                         \
     .choices = distribution_choices,                                                              \
     .required = true,                                                                             \
     .help = "shape"},                                                                             \
        {.key = "value",                                                                           \
         .type = BASE_REAL,                                                                        \
         .unit = u,                                                                                \
         LENGTH(value),                                                                            \
         HAS(has_value),                                                                           \
         .max = (most),                                                                            \
         .used_by = "fixed",                                                                       \
         .help = "the value"},                                                                     \
        {.key = "mean",                                                                            \
         .type = BASE_REAL,                                                                        \
         .unit = u,                                                                                \
         LENGTH(mean),                                                                             \
         HAS(has_mean),                                                                            \
         .max = 1e18,                                                                              \
         .min_open = true,                                                                         \
         .used_by = "normal lognormal gamma weibull exponential geometric",                        \
         .help = "before min and max cut it"},                                                     \
        {.key = "cv",                                                                              \
         .type = BASE_REAL,                                                                        \
         LENGTH(cv),                                                                               \
         HAS(has_cv),                                                                              \
         .max = 1e6,                                                                               \
         .used_by = "lognormal gamma weibull",                                                     \
         .help = "standard deviation over mean"},                                                  \
        {.key = "sd",                                                                              \
         .type = BASE_REAL,                                                                        \
         .unit = u,                                                                                \
         LENGTH(sd),                                                                               \
         HAS(has_sd),                                                                              \
         .max = 1e18,                                                                              \
         .used_by = "normal",                                                                      \
         .help = "standard deviation"},                                                            \
        {.key = "median",                                                                          \
         .type = BASE_REAL,                                                                        \
         .unit = u,                                                                                \
         LENGTH(median),                                                                           \
         HAS(has_median),                                                                          \
         .max = 1e18,                                                                              \
         .min_open = true,                                                                         \
         .used_by = "lognormal gamma",                                                             \
         .help = "with p95, in place of mean and cv"},                                             \
        {.key = "p95",                                                                             \
         .type = BASE_REAL,                                                                        \
         .unit = u,                                                                                \
         LENGTH(p95),                                                                              \
         HAS(has_p95),                                                                             \
         .max = 1e18,                                                                              \
         .min_open = true,                                                                         \
         .used_by = "lognormal gamma",                                                             \
         .help = "with median, in place of mean and cv"},                                          \
        {.key = "s",                                                                               \
         .type = BASE_REAL,                                                                        \
         LENGTH(s),                                                                                \
         HAS(has_s),                                                                               \
         .max = 100,                                                                               \
         .used_by = "zipf",                                                                        \
         .help = "exponent"},                                                                      \
        {.key = "min",                                                                             \
         .type = BASE_REAL,                                                                        \
         .unit = u,                                                                                \
         LENGTH(min),                                                                              \
         HAS(has_min),                                                                             \
         .max = (most),                                                                            \
         .used_by = "uniform normal lognormal gamma weibull exponential geometric zipf empirical", \
         .help = "values below are cut off, not moved"},                                           \
        {.key = "max",                                                                             \
         .type = BASE_REAL,                                                                        \
         .unit = u,                                                                                \
         LENGTH(max),                                                                              \
         HAS(has_max),                                                                             \
         .max = (most),                                                                            \
         .used_by = "uniform normal lognormal gamma weibull exponential geometric zipf empirical", \
         .help = "values above are cut off, not moved"},                                           \
        {.key = "bins",                                                                            \
         .type = BASE_NODE,                                                                        \
         LENGTH(bins),                                                                             \
         .used_by = "empirical",                                                                   \
         .help = "[[value, weight] or [low, high, weight], ...]; high itself is not in the bin"},  \
        {.key = "cdf",                                                                             \
         .type = BASE_NODE,                                                                        \
         LENGTH(cdf),                                                                              \
         .used_by = "empirical",                                                                   \
         .help = "[[value, share up to and with it], ...], rising to 1"},                          \
    {                                                                                              \
        .key = "file", .type = BASE_TEXT, LENGTH(file), .used_by = "empirical",                    \
        .help = "CSV with columns value,weight or low,high,weight or value,cdf"                    \
    }

static const struct base_field length_fields[] = {LENGTH_FIELDS(BASE_TOKENS, 1e18), {0}};
static const struct base_field time_fields[] = {LENGTH_FIELDS(BASE_TIME, 1e18), {0}};
static const struct base_field count_fields[] = {LENGTH_FIELDS(BASE_COUNT, WORKLOAD_SEQUENCES_MAX),
                                                 {0}};

const struct scenario_section scenario_workload_section = {
    "workload", workload_fields, workload_later, "who comes when, and how long"};
const struct scenario_section scenario_class_section = {"workload.classes[]", class_fields, NULL,
                                                        "a kind of request"};
const struct scenario_section scenario_timeout_section = {"workload.timeout", timeout_fields, NULL,
                                                          "the client's patience"};
const struct scenario_section scenario_shared_section = {
    "workload.shared_prefix", shared_fields, NULL, "prompts that begin with one of few texts"};
const struct scenario_section scenario_popularity_section = {
    "workload.shared_prefix.popularity", popularity_fields, NULL, "how often each text is used"};
const struct scenario_section scenario_sessions_section = {"workload.sessions", sessions_fields,
                                                           NULL, "conversations of several turns"};
const struct scenario_section scenario_length_section = {"workload.prompt_tokens", length_fields,
                                                         NULL, "a length: a number, or these keys"};
const struct scenario_section scenario_time_section = {"workload.arrival.think_time", time_fields,
                                                       NULL, "a time: a value, or these keys"};
const struct scenario_section scenario_count_section = {"workload.n", count_fields, NULL,
                                                        "a count: a number, or these keys"};
