#include "cli/cli_int.h"

#include <stddef.h>
#include <string.h>

static const struct base_choice all_formats[] = {
    {"text", CLI_TEXT_FORMAT, "for people"},
    {"json", CLI_JSON, "for programs"},
    {"markdown", CLI_MARKDOWN, "to paste"},
    {"csv", CLI_CSV, "a table"},
    {NULL, 0, NULL},
};

static const struct base_choice report_formats[] = {
    {"text", CLI_TEXT_FORMAT, "for people"}, {"json", CLI_JSON, "for programs"},
    {"markdown", CLI_MARKDOWN, "to paste"},  {"csv", CLI_CSV, "a table"},
    {"html", CLI_HTML, "a page to hand on"}, {NULL, 0, NULL},
};

static const struct base_choice check_formats[] = {
    {"text", CLI_TEXT_FORMAT, "for people"},
    {"json", CLI_JSON, "for programs"},
    {NULL, 0, NULL},
};

static const struct base_choice kernels[] = {
    {"gemm", CLI_GEMM, "one matrix product: hardware, m, n, k, dtype"},
    {"attention", CLI_ATTENTION,
     "hardware, phase, batch, seq_len, q_heads, kv_heads, head_dim, kv_cache_dtype"},
    {"mla", CLI_MLA,
     "hardware, phase, batch, seq_len, q_heads, kv_lora_rank, qk_rope_head_dim, kv_cache_dtype"},
    {"all_reduce", CLI_ALL_REDUCE, "hardware, bytes, gpus"},
    {NULL, 0, NULL},
};

/* Options that several commands have. */
#define OPTION_SET                                                                         \
    {                                                                                      \
        .name = "set", .kind = CLI_SET, .value = "KEY=VALUE",                              \
        .help = "sets a key of the scenario, e.g. engine.max_num_seqs=64; may be repeated" \
    }
#define OPTION_DB                                                                      \
    {                                                                                  \
        .name = "db", .kind = CLI_TEXT, .offset = offsetof(struct cli_args, db_path),  \
        .value = "PATH", .help = "the results database; results/kvsim.db unless given" \
    }
#define OPTION_FORMAT(formats, names)                                                      \
    {                                                                                      \
        .name = "format", .kind = CLI_CHOICE, .offset = offsetof(struct cli_args, format), \
        .value = names, .choices = (formats),                                              \
        .help = "how the result is written; text unless given"                             \
    }
#define OPTION_REPORT_FORMAT                                                                \
    {                                                                                       \
        .name = "format", .kind = CLI_CHOICE, .offset = offsetof(struct cli_args, format),  \
        .value = "text|json|markdown|csv|html", .choices = report_formats,                  \
        .help = "how the result is written; unless given, as the ending of --output says, " \
                "else text"                                                                 \
    }
#define OPTION_PLAIN_FORMAT                                                                 \
    {                                                                                       \
        .name = "format", .kind = CLI_CHOICE, .offset = offsetof(struct cli_args, format),  \
        .value = "text|json|markdown|csv", .choices = all_formats,                          \
        .help = "how the result is written; unless given, as the ending of --output says, " \
                "else text"                                                                 \
    }
#define OPTION_OUTPUT                                                            \
    {                                                                            \
        .name = "output", .letter = 'o', .kind = CLI_TEXT,                       \
        .offset = offsetof(struct cli_args, output_path), .value = "FILE",       \
        .help = "where it is written, whole or not at all; - is standard output" \
    }
#define OPTION_QUIET                                                                         \
    {                                                                                        \
        .name = "quiet", .letter = 'q', .kind = CLI_FLAG,                                    \
        .offset = offsetof(struct cli_args, is_quiet), .help = "no progress and no warnings" \
    }
#define OPTION_HELP                                                                \
    {                                                                              \
        .name = "help", .letter = 'h', .kind = CLI_HELP, .help = "shows this text" \
    }

static const struct cli_option run_options[] = {
    OPTION_SET,
    {.name = "seed",
     .kind = CLI_KEY,
     .key = "run.seed",
     .unit = BASE_COUNT,
     .value = "N",
     .help = "master seed of all random numbers; short for --set run.seed=N"},
    {.name = "replications",
     .kind = CLI_KEY,
     .key = "run.replications",
     .unit = BASE_COUNT,
     .value = "N",
     .help = "independent replications; short for --set run.replications=N"},
    {.name = "jobs",
     .letter = 'j',
     .kind = CLI_NUMBER,
     .unit = BASE_COUNT,
     .min = 1,
     .max = 4096,
     .offset = offsetof(struct cli_args, jobs),
     .value = "N",
     .help = "threads; as many as there are processors unless given; never changes a result"},
    OPTION_PLAIN_FORMAT,
    OPTION_OUTPUT,
    OPTION_DB,
    {.name = "no-store",
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli_args, is_unstored),
     .help = "stores nothing: no database is made or touched"},
    {.name = "steps",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, steps_path),
     .value = "FILE.csv",
     .help = "writes one row for every step of the engine; for a single scenario"},
    {.name = "stepping",
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli_args, is_stepped),
     .is_hidden = true,
     .help = "walks through every step instead of jumping; the same result, slower"},
    OPTION_QUIET,
    OPTION_HELP,
    {.name = NULL},
};

#define OPTION_SEED                                                                           \
    {                                                                                         \
        .name = "seed", .kind = CLI_KEY, .key = "run.seed", .unit = BASE_COUNT, .value = "N", \
        .help = "master seed of all random numbers; short for --set run.seed=N"               \
    }
#define OPTION_REPLICATIONS                                                                     \
    {                                                                                           \
        .name = "replications", .kind = CLI_KEY, .key = "run.replications", .unit = BASE_COUNT, \
        .value = "N", .help = "independent replications; short for --set run.replications=N"    \
    }
#define OPTION_JOBS                                                                            \
    {                                                                                          \
        .name = "jobs", .letter = 'j', .kind = CLI_NUMBER, .unit = BASE_COUNT, .min = 1,       \
        .max = 4096, .offset = offsetof(struct cli_args, jobs), .value = "N",                  \
        .help = "threads; as many as there are processors unless given, under mpirun one for " \
                "each rank; never changes a result"                                            \
    }
#define OPTION_NO_STORE                                                                         \
    {                                                                                           \
        .name = "no-store", .kind = CLI_FLAG, .offset = offsetof(struct cli_args, is_unstored), \
        .help = "stores nothing: no database is made or touched"                                \
    }

static const struct cli_option sweep_options[] = {
    {.name = "axis",
     .kind = CLI_TEXTS,
     .offset = offsetof(struct cli_args, axes),
     .value = "KEY=LIST",
     .help = "values of a key, concurrency or context: 1,2,4, 1..16, 1..256*2 or 1k..9k+2k; may be "
             "repeated"},
    {.name = "zip",
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli_args, is_zipped),
     .help = "axes side by side, value by value, instead of every combination"},
    {.name = "metric",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, metric),
     .value = "FIGURE",
     .help = "the figure of run_summary on the heat map; output_throughput unless given"},
    {.name = "shard",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, shard),
     .value = "K/N",
     .help = "only every N-th point from the K-th on, for job arrays; 'kvsim merge' puts them "
             "together"},
    OPTION_SET,
    OPTION_SEED,
    OPTION_REPLICATIONS,
    OPTION_JOBS,
    OPTION_PLAIN_FORMAT,
    OPTION_OUTPUT,
    OPTION_DB,
    OPTION_NO_STORE,
    OPTION_QUIET,
    OPTION_HELP,
    {.name = NULL},
};

static const struct cli_option plan_options[] = {
    {.name = "axis",
     .kind = CLI_TEXTS,
     .offset = offsetof(struct cli_args, axes),
     .value = "KEY=LIST",
     .help = "candidates: values of a key, such as hardware=h100-sxm,l40s; may be repeated"},
    {.name = "zip",
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli_args, is_zipped),
     .help = "axes side by side, value by value, instead of every combination"},
    {.name = "demand",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, demand),
     .value = "LOAD",
     .help =
         "what is to be carried: a rate (40/s), clients of a closed loop, the speed of a trace; "
         "the scenario's own unless given"},
    {.name = "confidence",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, confidence),
     .value = "SHARE",
     .help = "how surely the targets are to be met; 95% unless given"},
    {.name = "precision",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, precision),
     .value = "SHARE",
     .help = "half width of the answer's interval to be reached by more replications; 3% unless "
             "given"},
    {.name = "growth",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, growth),
     .value = "SHARE",
     .help = "growth of the demand in a month: after how many it breaks the targets"},
    {.name = "start",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, start),
     .value = "YYYY-MM[-DD]",
     .help = "the day on which the demand is what it is; growth then breaks the targets on a date"},
    {.name = "uncertain",
     .kind = CLI_TEXTS,
     .offset = offsetof(struct cli_args, uncertain),
     .value = "KEY=SHARE[:normal]",
     .help = "an input that is known within so much each way, such as demand=20% or "
             "workload.output_tokens=10%: evenly spread, or with :normal 95 % of it within; may be "
             "repeated"},
    {.name = "samples",
     .kind = CLI_NUMBER,
     .unit = BASE_COUNT,
     .min = 0,
     .max = 100000,
     .offset = offsetof(struct cli_args, samples),
     .value = "N",
     .help = "runs with the uncertain inputs drawn at random, for the probability of meeting the "
             "targets; 100 unless given"},
    {.name = "spare",
     .kind = CLI_NUMBER,
     .unit = BASE_COUNT,
     .min = 0,
     .max = 1000,
     .offset = offsetof(struct cli_args, spare),
     .value = "N",
     .help =
         "replicas more than needed, for failures (N+1: --spare 1); counted in GPUs and dollars"},
    OPTION_SET,
    OPTION_SEED,
    OPTION_REPLICATIONS,
    OPTION_JOBS,
    OPTION_REPORT_FORMAT,
    OPTION_OUTPUT,
    OPTION_DB,
    OPTION_NO_STORE,
    OPTION_QUIET,
    OPTION_HELP,
    {.name = NULL},
};

static const struct cli_option compare_options[] = {
    OPTION_SET,           OPTION_SEED,   OPTION_REPLICATIONS, OPTION_JOBS,
    OPTION_REPORT_FORMAT, OPTION_OUTPUT, OPTION_DB,           OPTION_NO_STORE,
    OPTION_QUIET,         OPTION_HELP,   {.name = NULL},
};

static const struct cli_option merge_options[] = {
    {.name = "db",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, db_path),
     .value = "PATH",
     .help = "the database to merge into, made when absent; results/kvsim.db unless given"},
    OPTION_HELP,
    {.name = NULL},
};

#define OPTION_MODEL                                                         \
    {                                                                        \
        .name = "model", .kind = CLI_KEY, .key = "model", .unit = BASE_NONE, \
        .offset = offsetof(struct cli_args, model), .value = "NAME",         \
        .help = "model, by name or path"                                     \
    }
#define OPTION_HARDWARE                                                            \
    {                                                                              \
        .name = "hardware", .kind = CLI_KEY, .key = "hardware", .unit = BASE_NONE, \
        .offset = offsetof(struct cli_args, hardware), .value = "NAME",            \
        .help = "accelerator, by name or path"                                     \
    }
#define OPTION_TP                                                                                \
    {                                                                                            \
        .name = "tp", .kind = CLI_KEY, .key = "engine.tensor_parallel_size", .unit = BASE_COUNT, \
        .value = "N",                                                                            \
        .help = "tensor parallel ranks; short for --set engine.tensor_parallel_size=N"           \
    }

static const struct cli_option step_options[] = {
    OPTION_MODEL,
    OPTION_HARDWARE,
    OPTION_TP,
    {.name = "batch",
     .kind = CLI_NUMBER,
     .unit = BASE_COUNT,
     .min = 0,
     .max = 1 << 20,
     .offset = offsetof(struct cli_args, batch),
     .value = "B",
     .help = "sequences that decode one token each"},
    {.name = "context",
     .kind = CLI_NUMBER,
     .unit = BASE_TOKENS,
     .min = 0,
     .max = (int64_t)1 << 40,
     .offset = offsetof(struct cli_args, context_tokens),
     .value = "T",
     .help = "tokens in the cache of each decoding sequence before the step"},
    {.name = "prefill",
     .kind = CLI_CHUNK,
     .unit = BASE_TOKENS,
     .min = 0,
     .max = (int64_t)1 << 40,
     .value = "N@C",
     .help =
         "a chunk of N prompt tokens on C tokens in the cache (N alone: C = 0); may be repeated"},
    {.name = "from",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, table_path),
     .value = "FILE.csv",
     .help = "evaluates a table of steps: one row out for every row in; a column that it lacks has "
             "the command line's value"},
    {.name = "operator",
     .kind = CLI_CHOICE,
     .offset = offsetof(struct cli_args, kernel),
     .choices = kernels,
     .value = "gemm|attention|mla|all_reduce",
     .help = "with --from: rows are single kernels, alone on the GPU"},
    OPTION_SET,
    {.name = "format",
     .kind = CLI_CHOICE,
     .offset = offsetof(struct cli_args, format),
     .value = "text|json|markdown|csv",
     .choices = all_formats,
     .help = "how the result is written; text unless given, with --from csv (or json)"},
    OPTION_QUIET,
    OPTION_HELP,
    {.name = NULL},
};

static const struct cli_option size_options[] = {
    OPTION_MODEL,
    OPTION_HARDWARE,
    {.name = "engine",
     .kind = CLI_KEY,
     .key = "engine.profile",
     .unit = BASE_NONE,
     .value = "NAME",
     .help = "engine release; short for --set engine.profile=NAME"},
    OPTION_TP,
    {.name = "context",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, contexts),
     .value = "LIST",
     .help =
         "tokens of a sequence: 8k, 1k..128k*2, ...; doubling up to max_model_len unless given"},
    {.name = "sequences",
     .kind = CLI_NUMBER,
     .unit = BASE_COUNT,
     .min = 1,
     .max = 1 << 20,
     .offset = offsetof(struct cli_args, sequences),
     .value = "N",
     .help = "sequences held at once; 1 unless given"},
    {.name = "axis",
     .kind = CLI_TEXTS,
     .offset = offsetof(struct cli_args, axes),
     .value = "KEY=LIST",
     .help = "values of a key, a row for each: engine.kv_cache_dtype=bf16,fp8; may be repeated"},
    {.name = "zip",
     .kind = CLI_FLAG,
     .offset = offsetof(struct cli_args, is_zipped),
     .help = "axes side by side, value by value, instead of every combination"},
    OPTION_SET,
    OPTION_FORMAT(all_formats, "text|json|markdown|csv"),
    OPTION_QUIET,
    OPTION_HELP,
    {.name = NULL},
};

static const struct base_choice calibrate_formats[] = {
    {"text", CLI_TEXT_FORMAT, "for people"},
    {"json", CLI_JSON, "for programs"},
    {"markdown", CLI_MARKDOWN, "to paste"},
    {NULL, 0, NULL},
};

static const struct cli_option calibrate_options[] = {
    {.name = "hardware",
     .kind = CLI_KEY,
     .key = "hardware",
     .unit = BASE_NONE,
     .offset = offsetof(struct cli_args, hardware),
     .value = "NAME",
     .help = "the accelerator that was measured, by name or path"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, output_path),
     .value = "PATH",
     .help = "the hardware file to write, whole or not at all; hardware/calibrated/NAME.yaml "
             "unless given"},
    {.name = "scenario",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, scenario_path),
     .value = "SCENARIO.yaml",
     .help = "what a file of requests was measured under; its workload is replaced by the file's "
             "arrivals"},
    {.name = "first",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, first_text),
     .value = "SHARE",
     .help = "with requests: fits the first ones alone and scores the rest, e.g. 20%"},
    OPTION_FORMAT(calibrate_formats, "text|json|markdown"),
    OPTION_HELP,
    {.name = NULL},
};

static const struct base_choice validate_formats[] = {
    {"text", CLI_TEXT_FORMAT, "for people"},
    {"json", CLI_JSON, "for programs"},
    {"markdown", CLI_MARKDOWN, "to paste"},
    {NULL, 0, NULL},
};

static const struct cli_option validate_options[] = {
    {.name = "group",
     .kind = CLI_TEXTS,
     .offset = offsetof(struct cli_args, groups),
     .value = "NAME",
     .help = "this group of cases alone; may be repeated; all unless given"},
    OPTION_FORMAT(validate_formats, "text|json|markdown"),
    OPTION_DB,
    OPTION_NO_STORE,
    OPTION_HELP,
    {.name = NULL},
};

static const struct cli_option check_options[] = {
    OPTION_FORMAT(check_formats, "text|json"),
    OPTION_HELP,
    {.name = NULL},
};

static const struct cli_option list_options[] = {
    OPTION_FORMAT(all_formats, "text|json|markdown|csv"),
    {.name = "db",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, db_path),
     .value = "PATH",
     .help = "with runs: the results database; results/kvsim.db unless given"},
    OPTION_HELP,
    {.name = NULL},
};

static const struct cli_option help_options[] = {
    OPTION_HELP,
    {.name = NULL},
};

static const struct cli_option report_options[] = {
    OPTION_REPORT_FORMAT, OPTION_OUTPUT, OPTION_DB, OPTION_HELP, {.name = NULL},
};

#define EXAMPLES(...)     \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

const struct cli_command cli_commands[] = {
    {.name = "run",
     .operands = "SCENARIO.yaml...",
     .operand_min = 1,
     .operand_max = SIZE_MAX,
     .summary = "simulates a scenario, prints the report, stores the run",
     .description =
         "The word 'run' may be left out. A run is stored whole or not at all, and every run adds "
         "one to the database. With several scenarios nothing is stored unless all of them can be "
         "run; their JSON is a list. '-' reads the scenario from standard input.",
     .options = run_options,
     .examples = EXAMPLES(
         "kvsim scenarios/chat-8k.yaml", "an answer within a second",
         "kvsim run chat.yaml --set workload.arrival.rate=12/s --no-store",
         "what if, without keeping it", "kvsim run chat.yaml --format json --quiet", "for scripts",
         "kvsim run chat.yaml --steps steps.csv", "every step of the engine, with the ledger"),
     .is_shared = true,
     .reads_scenario = true,
     .run = cli_run},
    {.name = "sweep",
     .operands = "SCENARIO.yaml",
     .operand_min = 1,
     .operand_max = 1,
     .summary = "simulates a grid: any keys as axes, concurrency x context is the classic",
     .description =
         "concurrency=N replaces the arrivals by a closed loop of N clients; context=T makes every "
         "request hold T tokens at its end. Any other axis is a key of the scenario.\n"
         "Every point is checked before the work starts. A point is stored as soon as it is "
         "decided, and one that the database has is not simulated again: a sweep that was "
         "interrupted goes on where it stopped. A point that cannot start, or whose model does "
         "not reach the context, is a row with the reason. Request rows and timelines are not "
         "stored unless the scenario's 'record' says so.\n"
         "Many machines share a sweep in shards that are merged, or, in a build with KVSIM_MPI=ON, "
         "under mpirun: rank 0 deals the points out and writes.",
     .options = sweep_options,
     .examples =
         EXAMPLES("kvsim sweep chat.yaml --axis concurrency=1..256*2 --axis context=1k..128k*2",
                  "how many users at which length",
                  "kvsim sweep chat.yaml --axis workload.arrival.rate=2/s,4/s,8/s --format csv",
                  "latency against rate",
                  "kvsim sweep chat.yaml --zip --axis hardware=h100-sxm,l40s --axis "
                  "engine.tensor_parallel_size=1,2",
                  "pairs of values"),
     .is_shared = true,
     .reads_scenario = true,
     .run = cli_sweep},
    {.name = "plan",
     .operands = "SCENARIO.yaml",
     .operand_min = 1,
     .operand_max = 1,
     .summary = "the highest load within the targets, and the fewest GPUs for the demand",
     .description =
         "The load is the arrival rate, the clients of a closed loop or the speed of a trace; a "
         "profile is carried at the peak of each of its stages. The highest one that meets every "
         "SLO and requirement is found by root finding on runs that share their random numbers, "
         "with the interval that the replications give; without an SLO it is the highest stable "
         "load. Then the fewest replicas for the demand, shown by a run up to 16 of them.\n"
         "With --axis every combination of values is a candidate; they are ordered by dollars an "
         "hour where prices are known, then by GPUs. --growth tells after how many months the "
         "demand breaks the targets, with --start on which date. --uncertain moves an input to "
         "both ends of its spread (how the answer changes, the largest effect first) and draws all "
         "of them together: the probability that the replicas for the demand meet the targets, "
         "with its interval. A KEY is 'demand', a number of the scenario, a length "
         "(workload.output_tokens: its mean) or hardware.efficiency as a whole.\n"
         "Runs are stored and taken up like points of a sweep. Where runs are too short for their "
         "load to build up before a target breaks, the limit is said to be not reached, with what "
         "was seen to be met. The exit status is 1 then, unless a stated --demand was shown to be "
         "carried, and when no load meets the targets.",
     .options = plan_options,
     .examples = EXAMPLES(
         "kvsim plan scenarios/chat-8k.yaml", "requests/s that one replica carries",
         "kvsim plan chat.yaml --demand 60/s --spare 1 --growth 5%", "what to buy",
         "kvsim plan chat.yaml --axis hardware=h100-sxm,l40s --axis engine.kv_cache_dtype=auto,fp8",
         "the cheapest of four",
         "kvsim plan chat.yaml --growth 6% --start 2027-01 --uncertain demand=20% -o plan.html",
         "how long it lasts, how sure that is, as a page"),
     .is_shared = true,
     .reads_scenario = true,
     .run = cli_plan},
    {.name = "compare",
     .operands = "A [B] [KEY=VALUE...]",
     .operand_min = 1,
     .operand_max = SIZE_MAX,
     .summary = "two runs or scenarios, or one with and without a change, figure by figure",
     .description =
         "A and B are run_ids, 'last', or scenarios; KEY=VALUE changes B, which is A where it is "
         "left out. --set applies to both scenarios. Replications with the same seed are paired "
         "on common random numbers: the interval is that of their differences. A figure is better, "
         "worse, more, less or equal, or no difference is shown, with how many more replications "
         "would show it. The comparison is stored too (view run_compare).",
     .options = compare_options,
     .examples = EXAMPLES("kvsim compare 1 2", "two stored runs",
                          "kvsim compare chat.yaml engine.kv_cache_dtype=fp8", "what if",
                          "kvsim compare chat.yaml chat-l40s.yaml --replications 10 --format json",
                          "two scenarios"),
     .is_shared = true,
     .reads_scenario = true,
     .run = cli_compare},
    {.name = "merge",
     .operands = "DB...",
     .operand_min = 1,
     .operand_max = SIZE_MAX,
     .summary = "puts the databases of shards together",
     .description =
         "The result has the same rows as if one call had done it all: points in the order of the "
         "grid, then the runs that belong to no sweep. What is there already is not added again. "
         "The databases merged are left as they are.",
     .options = merge_options,
     .examples = EXAMPLES(
         "kvsim sweep chat.yaml --axis concurrency=1..256*2 --shard 2/8 --db shard-2.db",
         "one of eight jobs", "kvsim merge shard-*.db --db results/kvsim.db", "when all are done"),
     .run = cli_merge},
    {.name = "step",
     .operands = "[SCENARIO.yaml]",
     .operand_min = 0,
     .operand_max = 1,
     .summary = "explains one step: time, bytes, FLOPs and bound of every operator",
     .description =
         "Model, hardware and parallelism come from the scenario or from the options; the batch "
         "from --batch, --context and --prefill. No memory is checked: what does not fit is costed "
         "all the same.\n"
         "--from reads a CSV file with any of the columns model, hardware, tp, pp, dp, ep, "
         "quantization, kv_cache_dtype, graphs, kernels, prefill_seqs, prefill_tokens, "
         "prefill_context, "
         "decode_seqs, decode_context (tokens per sequence; decode_context before the step). Every "
         "row is written back with step_ms, layer_ms, bound and OPERATOR_ms: of one layer on one "
         "GPU for what lies inside the layers, of the whole step for embed, lm_head, sampler, "
         "launch and host.\n"
         "With --operator the columns are hardware and the kernel's own, the answer is gemm_ms, "
         "attention_ms, mla_ms or all_reduce_ms: one kernel, without launch and host.",
     .options = step_options,
     .examples = EXAMPLES(
         "kvsim step --model llama-3.1-8b --hardware h100-sxm --batch 64 --context 4k",
         "a step of pure decode",
         "kvsim step chat.yaml --prefill 2k@8k --batch 32 --context 1k --format json",
         "a chunk among decodes", "kvsim step --from steps.csv --set cost.level=datasheet",
         "a table of steps", "kvsim step --from gemm.csv --operator gemm --hardware a100-sxm4-80gb",
         "a table of kernels"),
     .reads_scenario = true,
     .run = cli_step},
    {.name = "size",
     .operands = "[SCENARIO.yaml]",
     .operand_min = 0,
     .operand_max = 1,
     .summary = "how much KV cache fits, and where every byte goes, in closed form",
     .description =
         "The memory waterfall of a GPU, bytes per token and block by kind of layer, the pool as "
         "the "
         "named engine release would make it, and by context length the lower bound, what is "
         "allocated and the ledger between them. Nothing is simulated. A configuration that cannot "
         "start is printed in full, with its limit and the smallest changes that start it; the "
         "exit "
         "status is then 5. With --axis every combination is a row, and all rows are answers.",
     .options = size_options,
     .examples = EXAMPLES(
         "kvsim size --model llama-3.1-8b --hardware h100-sxm", "the pool and who fits in it",
         "kvsim size --model llama-3.1-70b --hardware h100-sxm --sequences 32 --context 8k",
         "refused, with the numbers and what would start",
         "kvsim size --model qwen3-8b --hardware l40s --axis engine.kv_cache_dtype=bf16,fp8",
         "capacity by KV dtype"),
     .reads_scenario = true,
     .run = cli_size},
    {.name = "calibrate",
     .operands = "FILE...",
     .operand_min = 1,
     .operand_max = SIZE_MAX,
     .summary = "measured times to a calibrated hardware file, with its fit error",
     .description =
         "A file is known by its columns. Kernels: m, n, k, dtype, ms; or phase, batch, seq_len, "
         "q_heads, kv_heads, head_dim, kv_cache_dtype, ms; or bytes, gpus, ms; or what "
         "kvsim-microbench writes, whose own attention kernels are bounds alone. Steps: gpu, "
         "model, tp, phase, prefill_chunk, kv_prefill, "
         "n_decode, kv_decode, iter_ms. Requests of a server: arrival_s, input_tokens, "
         "output_tokens, ttft_ms, tpot_ms, latency_ms, or the JSON of 'vllm bench serve "
         "--save-result --save-detailed', with --scenario. Rows of other devices and requests that "
         "failed are left out and counted.\n"
         "Coefficients of the cost model are fitted by bounded, robust least squares on logarithms "
         "of times. What the rows cannot determine is named and left as it is. The file that is "
         "written holds {base: NAME, calibration: ...}; name it by its path as a scenario's "
         "hardware.",
     .options = calibrate_options,
     .examples = EXAMPLES("kvsim calibrate gemm.csv attention.csv --hardware h200-sxm",
                          "from tables of kernels",
                          "kvsim calibrate steps.csv run.csv --hardware rtx-pro-6000 --scenario "
                          "served.yaml --first 20%",
                          "from steps, then the host's share from a server's run",
                          "kvsim calibrate bench.json --hardware h100-sxm --scenario served.yaml",
                          "from what 'vllm bench serve' saved"),
     .run = cli_calibrate},
    {.name = "validate",
     .operands = "[FOLDER]",
     .operand_min = 0,
     .operand_max = 1,
     .summary = "predicted against measured, every case that ships with kvsim",
     .description =
         "Each group of cases is compared with what real machines printed: exact figures must "
         "agree "
         "to the printed precision, predictions are shown with their errors. The exit status is 1 "
         "when a group is beyond its recorded bounds. FOLDER holds the cases; 'validation' unless "
         "given. The database keeps groups, bounds and cases (views validate_group, "
         "validate_bound, validate_case), once for equal figures in a row.",
     .options = validate_options,
     .examples = EXAMPLES("kvsim validate", "how far kvsim can be trusted",
                          "kvsim validate --group layers --no-store --format json",
                          "every case of one group"),
     .run = cli_validate},
    {.name = "check",
     .operands = "FILE...",
     .operand_min = 1,
     .operand_max = SIZE_MAX,
     .summary = "validates a scenario, model, hardware or engine file",
     .description = "All diagnostics at once, up to 20 a file. Nothing is simulated.",
     .options = check_options,
     .examples = EXAMPLES("kvsim check my-chat.yaml", "before it runs for long",
                          "kvsim check models/my-model.yaml", "a file of one's own"),
     .reads_scenario = true,
     .run = cli_check},
    {.name = "list",
     .operands = "models|hardware|engines|policies|scenarios|runs",
     .operand_min = 1,
     .operand_max = 1,
     .summary = "lists what there is, and which file it comes from",
     .description =
         "Models, hardware and engines are looked up in $KVSIM_DATA, the folders of the working "
         "directory, the installed share folder, then among the copies in the program.",
     .options = list_options,
     .examples = EXAMPLES("kvsim list models", "names, aliases and files",
                          "kvsim list runs --db results/kvsim.db", "what was simulated so far"),
     .run = cli_list},
    {.name = "explain",
     .operands = "KEY...",
     .operand_min = 1,
     .operand_max = SIZE_MAX,
     .summary = "says what a scenario key means: unit, range, default, users",
     .description = "A figure of run_summary is explained too.",
     .options = help_options,
     .examples = EXAMPLES("kvsim explain engine.max_num_batched_tokens", "one key",
                          "kvsim explain workload.arrival", "a section",
                          "kvsim explain kv_usage_peak", "a figure of the result"),
     .run = cli_explain},
    {.name = "report",
     .operands = "RUN|SWEEP",
     .operand_min = 1,
     .operand_max = 1,
     .summary = "writes a stored run or sweep as text, Markdown, JSON, CSV or a page of HTML",
     .description =
         "RUN is a run_id as 'kvsim list runs' shows it, or 'last'; SWEEP a sweep_id as the view "
         "sweep_grid has it.\n"
         "HTML is a capacity report in one file that needs neither network nor script: the "
         "question, the answer with its interval, what binds, what to change and what it costs, "
         "then the figures with their claim kinds, the assumptions, and how to get them again. "
         "Plots are drawn by gnuplot; without it the page has tables only and says so.",
     .options = report_options,
     .examples = EXAMPLES("kvsim report 1", "as it was printed then",
                          "kvsim report last --output chat.html", "a page to hand on",
                          "kvsim report last --format markdown", "to paste"),
     .run = cli_report},
    {.name = "manual",
     .operands = "kvsim|scenario|results|schema",
     .operand_min = 1,
     .operand_max = 1,
     .summary = "prints a manual page, or the JSON Schema of scenarios for editors",
     .description = "",
     .options = help_options,
     .examples = EXAMPLES("kvsim manual kvsim | man -l -", "this program's page",
                          "kvsim manual schema >kvsim.schema.json", "completion in an editor"),
     .is_hidden = true,
     .run = cli_manual},
    {.name = NULL},
};

const struct cli_command *cli_command_find(const char *name)
{
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}
