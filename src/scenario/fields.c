/*
 * fields.c - the keys of the top level, cluster, run, price, record, cost, and the list of all sections.
 */
#include "scenario/parts.h"

#include "cost/cost.h"
#include "cost/fields.h"
#include "cost/table.h"

#define LATER(name, text)                            \
    {                                                \
        .key = name, .type = BASE_NODE, .help = text \
    }
#define TOP(name, text)                                                                      \
    {                                                                                        \
        .key = #name, .type = BASE_NODE, .offset = offsetof(struct scenario_top_opts, name), \
        .help = text                                                                         \
    }

static const struct base_field top_fields[] = {
    {.key = "name",
     .type = BASE_TEXT,
     .offset = offsetof(struct scenario_top_opts, name),
     .help = "what results call the scenario; absent: the file's name"},
    {.key = "description",
     .type = BASE_TEXT,
     .offset = offsetof(struct scenario_top_opts, description),
     .help = "free text"},
    TOP(model, "a name, a path, {hf_config: PATH}, {base: NAME, changes} or a whole mapping"),
    TOP(hardware, "a name, a path, {base: NAME, changes} or a whole mapping"),
    TOP(engine, "the engine and its knobs"),
    TOP(cluster, "replicas and the router before them"),
    TOP(workload, "who comes when, and how long"),
    TOP(run, "how much is simulated"),
    TOP(slo, "bounds: [\"METRIC STATISTIC <= VALUE [for CLASS]\", ...]; missed: exit 1"),
    TOP(require, "bounds on figures of run_summary: [\"preemptions == 0\", ...]; missed: exit 1"),
    TOP(price, "what a GPU costs"),
    TOP(cost, "how steps are priced"),
    TOP(record, "what is stored beside the summary"),
    {0},
};

static const struct base_field top_later[] = {
    LATER("pools", "prefill and decode pools are not simulated yet (cluster.pools)"),
    LATER("sweep", "give axes on the command line: kvsim sweep FILE --axis KEY=LIST"),
    LATER("plan", "planning is not part of this version"),
    {0},
};

static const struct base_field cluster_fields[] = {
    {.key = "replicas",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     .offset = offsetof(struct scenario_cluster_opts, replicas),
     .min = 1,
     .max = 10000,
     .def = "1",
     .help = "engine instances that share the load"},
    {.key = "router",
     .type = BASE_NODE,
     .offset = offsetof(struct scenario_cluster_opts, router),
     .help = "round_robin or least_outstanding, or {policy: NAME}"},
    {0},
};
static const struct base_field cluster_later[] = {
    LATER("pools", "prefill and decode pools are not simulated yet"),
    LATER("links", "transfers between pools are not simulated yet"),
    LATER("autoscale", "autoscaling is not simulated yet"),
    LATER("failures", "failures are not simulated yet"),
    {0},
};

static const struct base_field run_fields[] = {
    {.key = "requests",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     .offset = offsetof(struct scenario_run_opts, requests),
     .min = 1,
     .max = 1e15,
     .help = "requests of one replication; absent: 2,000, or all rows of a trace, or a profile's "
             "stages"},
    {.key = "duration",
     .type = BASE_INT,
     .unit = BASE_TIME,
     .offset = offsetof(struct scenario_run_opts, duration_ns),
     .min_open = true,
     .max = 9e18,
     .help = "no arrival after it; in place of requests"},
    {.key = "replications",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     .offset = offsetof(struct scenario_run_opts, replications),
     .min = 1,
     .max = 10000,
     .help = "runs with other random numbers, from which intervals come; absent: 5, for a trace 1"},
    {.key = "seed",
     .type = BASE_INT,
     .unit = BASE_NONE,
     .offset = offsetof(struct scenario_run_opts, seed),
     .min = 0,
     .max = 9e18,
     .def = "1",
     .help = "of all random numbers"},
    {.key = "warmup",
     .type = BASE_NODE,
     .offset = offsetof(struct scenario_run_opts, warmup),
     .help = "left out of all statistics: 10%, {requests: N} or {time: D}; absent: a tenth of a "
             "steady run, nothing of a trace or profile"},
    {.key = "stop_when_overloaded",
     .type = BASE_BOOL,
     .offset = offsetof(struct scenario_run_opts, stop_when_overloaded),
     .def = "true",
     .help = "a constant-rate run whose queue grows ends early"},
    {.key = "until",
     .type = BASE_NODE,
     .offset = offsetof(struct scenario_run_opts, until),
     .help = "rounds of run.replications are added until a figure is precise: {metric: ttft_p99, "
             "relative_half_width: 5%, max_replications: 100}"},
    {0},
};

static const struct base_field price_fields[] = {
    {.key = "usd_per_gpu_hour",
     .type = BASE_REAL,
     .unit = BASE_USD,
     .offset = offsetof(struct scenario_price_opts, usd_per_gpu_hour),
     .max = 1e9,
     .min_open = true,
     .help = "price of one GPU; absent: the hardware file's"},
    {.key = "usd_per_instance_hour",
     .type = BASE_REAL,
     .unit = BASE_USD,
     .offset = offsetof(struct scenario_price_opts, usd_per_instance_hour),
     .max = 1e9,
     .min_open = true,
     .help = "price of one replica's GPUs together"},
    {.key = "utilization",
     .type = BASE_REAL,
     .unit = BASE_RATIO,
     .offset = offsetof(struct scenario_price_opts, utilization),
     .max = 1,
     .min_open = true,
     .def = "1",
     .help = "share of the paid time that is used"},
    {0},
};

static const struct base_field record_fields[] = {
    {.key = "requests",
     .type = BASE_TEXT,
     .offset = offsetof(struct scenario_record_opts, requests),
     .def = "20000",
     .help = "request rows: all, none, or so many of replication 1"},
    {.key = "timeline",
     .type = BASE_TEXT,
     .offset = offsetof(struct scenario_record_opts, timeline),
     .def = "auto",
     .help = "interval of the timeline (from 1 ms), none, or auto = at most 1,000 points"},
    {0},
};

/* A step of more than 73 minutes is not simulated. */
#define STEP_MAX_NS 3600e9
#define COST(member) .offset = offsetof(struct cost_options, member)
#define COST_OPT(member) .offset = offsetof(struct scenario_cost_opts, member)
#define HAS_COST(member) .has_offset = offsetof(struct cost_options, member)
#define AFFINE(name, member, text)                                              \
    {                                                                           \
        .key = name, .type = BASE_REAL, .unit = BASE_TIME, COST(affine.member), \
        .max = STEP_MAX_NS, .used_by = "affine", .help = text                   \
    }

static const struct base_field host_fields[] = {
    {.key = "per_step",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     COST(host_per_step_ns),
     HAS_COST(has_host_per_step),
     .max = STEP_MAX_NS,
     .help = "CPU work of a step"},
    {.key = "per_sequence",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     COST(host_per_sequence_ns),
     HAS_COST(has_host_per_sequence),
     .max = STEP_MAX_NS,
     .help = "CPU work of each sequence in a step"},
    {.key = "per_layer",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     COST(host_per_layer_ns),
     HAS_COST(has_host_per_layer),
     .max = STEP_MAX_NS,
     .help = "CPU work of each layer of a step: engines that drive every layer from the host, as "
             "those of 2023 did"},
    {.key = "exposed",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     COST(host_exposed_ns),
     HAS_COST(has_host_exposed),
     .max = STEP_MAX_NS,
     .help = "part of each step that nothing hides, asynchronous scheduling or not"},
    {.key = "overlap",
     .type = BASE_BOOL,
     COST(host_overlap),
     HAS_COST(has_host_overlap),
     .help = "true: step = max of device and host; false: their sum; absent: as async_scheduling"},
    {0},
};

static const struct base_choice lookup_choices[] = {
    {"interpolate", COST_LOOKUP_INTERPOLATE, "linear along each axis"},
    {"ceil", COST_LOOKUP_CEIL, "the next grid point of each axis"},
    {NULL, 0, NULL},
};

static const struct base_field cost_fields[] = {
    {.key = "level",
     .type = BASE_CHOICE,
     COST(level),
     HAS_COST(has_level),
     .choices = cost_level_choices,
     .help = "absent: calibrated where the hardware file holds a calibration, else datasheet"},
    {.key = "kernels",
     .type = BASE_CHOICE,
     COST(kernels),
     .choices = cost_kernels_choices,
     .def = "current",
     .used_by = "datasheet calibrated",
     .help = "generation of the software whose kernels run"},
    {.key = "expert_skew",
     .type = BASE_REAL,
     COST(expert_skew),
     .max = 4,
     .def = "0",
     .used_by = "datasheet calibrated",
     .help = "exponent of Zipf's law by which a router prefers experts; 0: even, what models are "
             "trained for (Mixtral of Experts, section 5: shares near 1/8); the busiest GPU of "
             "expert parallelism gets more than its share even so"},
    {.key = "step",
     .type = BASE_INT,
     .unit = BASE_TIME,
     COST(fixed_step_ns),
     .min_open = true,
     .max = STEP_MAX_NS,
     .used_by = "fixed",
     .help = "every step lasts this"},
    AFFINE("base", base_ns, "time of any step"),
    AFFINE("per_prefill_token", per_prefill_token_ns, "time for each new prompt token"),
    {.key = "prefill_rate",
     .type = BASE_REAL,
     .unit = BASE_RATE,
     COST(affine.prefill_rate_per_s),
     HAS_COST(affine.has_prefill_rate),
     .min_open = true,
     .max = 1e15,
     .used_by = "affine",
     .help = "tokens per time, another spelling of per_prefill_token"},
    AFFINE("per_prefill_token_context", per_prefill_token_context_ns,
           "time for each pair of a new prompt token and a token it sees"),
    AFFINE("per_decode_seq", per_decode_seq_ns, "time for each decoding sequence"),
    AFFINE("per_context_token", per_context_token_ns,
           "time for each KV token of the scheduled sequences"),
    {.key = "host",
     .type = BASE_SUB,
     .offset = 0,
     .sub = host_fields,
     .help = "CPU work of the engine"},
    {.key = "kv_dtype",
     .type = BASE_NODE,
     COST_OPT(kv_dtype),
     .used_by = "datasheet calibrated",
     .help = "{DTYPE: {read_efficiency, write_cost, dequant_cost}}: share of bandwidth of decode "
             "attention, and time per token and layer"},
    {.key = "file",
     .type = BASE_TEXT,
     COST_OPT(file),
     .used_by = "table",
     .help = "CSV of measured times: op,x,y,ms"},
    {.key = "swap_per_block",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     COST_OPT(swap_ns),
     .has_offset = offsetof(struct scenario_cost_opts, has_swap),
     .max = 1e15,
     .help = "time to copy a block to the host or back, before the step (vLLM V0); absent: its "
             "bytes over the host link"},
    {.key = "layers",
     .type = BASE_INT,
     COST_OPT(layers),
     .min = 1,
     .max = 100000,
     .def = "1",
     .used_by = "table",
     .help = "a step is so many times the sum of the operators; 1: times are per step"},
    {.key = "lookup",
     .type = BASE_CHOICE,
     COST_OPT(lookup),
     .choices = lookup_choices,
     .def = "interpolate",
     .used_by = "table",
     .help = "how a point between the grid's is read"},
    {.key = "operators",
     .type = BASE_NODE,
     COST_OPT(operators),
     .used_by = "table",
     .help =
         "{NAME: {x: AXIS, y: AXIS, several: FACTOR}} with the axes batch_tokens, decode_seqs, "
         "mean_decode_context, "
         "cached_tokens, equivalent_chunk; several multiplies when two or more sequences prefill"},
    {0},
};

const struct scenario_section scenario_top_section = {"", top_fields, top_later, "a scenario"};
const struct scenario_section scenario_cluster_section = {"cluster", cluster_fields, cluster_later,
                                                          "replicas and their router"};
const struct scenario_section scenario_run_section = {"run", run_fields, NULL,
                                                      "how much is simulated"};
const struct scenario_section scenario_price_section = {"price", price_fields, NULL,
                                                        "what a GPU costs"};
const struct scenario_section scenario_record_section = {"record", record_fields, NULL,
                                                         "what is stored beside the summary"};
const struct scenario_section scenario_cost_section = {"cost", cost_fields, NULL,
                                                       "how steps are priced"};
const struct scenario_section scenario_host_section = {"cost.host", host_fields, NULL,
                                                       "CPU work of the engine"};
