#include "cli/command_options.h"

#include <stddef.h>

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

static const struct base_choice short_formats[] = {
    {"text", CLI_TEXT_FORMAT, "for people"},
    {"json", CLI_JSON, "for programs"},
    {"markdown", CLI_MARKDOWN, "to paste"},
    {NULL, 0, NULL},
};

static const struct base_choice plain_formats[] = {
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

#define OPTION_ZIP                                                                       \
    {                                                                                    \
        .name = "zip", .kind = CLI_FLAG, .offset = offsetof(struct cli_args, is_zipped), \
        .help = "axes side by side, value by value, instead of every combination"        \
    }
#define OPTION_AXIS(what)                                                             \
    {                                                                                 \
        .name = "axis", .kind = CLI_TEXTS, .offset = offsetof(struct cli_args, axes), \
        .value = "KEY=LIST", .help = what                                             \
    }
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

const struct cli_option cli_run_options[] = {
    OPTION_SET,
    OPTION_SEED,
    OPTION_REPLICATIONS,
    OPTION_JOBS,
    OPTION_PLAIN_FORMAT,
    OPTION_OUTPUT,
    OPTION_DB,
    OPTION_NO_STORE,
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

const struct cli_option cli_sweep_options[] = {
    OPTION_AXIS(
        "values of a key, concurrency or context: 1,2,4, 1..16, 1..256*2 or 1k..9k+2k; may be "
        "repeated"),
    OPTION_ZIP,
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

const struct cli_option cli_plan_options[] = {
    OPTION_AXIS("candidates: values of a key, such as hardware=h100-sxm,l40s; may be repeated"),
    OPTION_ZIP,
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

const struct cli_option cli_compare_options[] = {
    OPTION_SET,           OPTION_SEED,   OPTION_REPLICATIONS, OPTION_JOBS,
    OPTION_REPORT_FORMAT, OPTION_OUTPUT, OPTION_DB,           OPTION_NO_STORE,
    OPTION_QUIET,         OPTION_HELP,   {.name = NULL},
};

const struct cli_option cli_merge_options[] = {
    {.name = "db",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, db_path),
     .value = "PATH",
     .help = "the database to merge into, made when absent; results/kvsim.db unless given"},
    OPTION_HELP,
    {.name = NULL},
};

const struct cli_option cli_step_options[] = {
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
    OPTION_AXIS("the step under each value of one key, capacity and speed side by side"),
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

const struct cli_option cli_size_options[] = {
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
    OPTION_AXIS("values of a key, a row for each: engine.kv_cache_dtype=bf16,fp8; may be repeated"),
    OPTION_ZIP,
    OPTION_SET,
    OPTION_FORMAT(all_formats, "text|json|markdown|csv"),
    OPTION_QUIET,
    OPTION_HELP,
    {.name = NULL},
};

const struct cli_option cli_calibrate_options[] = {
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
    OPTION_FORMAT(short_formats, "text|json|markdown"),
    OPTION_HELP,
    {.name = NULL},
};

const struct cli_option cli_validate_options[] = {
    {.name = "group",
     .kind = CLI_TEXTS,
     .offset = offsetof(struct cli_args, groups),
     .value = "NAME",
     .help = "this group of cases alone; may be repeated; all unless given"},
    OPTION_FORMAT(short_formats, "text|json|markdown"),
    OPTION_DB,
    OPTION_NO_STORE,
    OPTION_QUIET,
    OPTION_HELP,
    {.name = NULL},
};

const struct cli_option cli_check_options[] = {
    OPTION_SET,
    OPTION_FORMAT(plain_formats, "text|json"),
    OPTION_HELP,
    {.name = NULL},
};

const struct cli_option cli_list_options[] = {
    OPTION_FORMAT(all_formats, "text|json|markdown|csv"),
    {.name = "db",
     .kind = CLI_TEXT,
     .offset = offsetof(struct cli_args, db_path),
     .value = "PATH",
     .help = "with runs: the results database; results/kvsim.db unless given"},
    OPTION_HELP,
    {.name = NULL},
};

const struct cli_option cli_help_options[] = {
    OPTION_HELP,
    {.name = NULL},
};

const struct cli_option cli_report_options[] = {
    OPTION_REPORT_FORMAT, OPTION_OUTPUT, OPTION_DB, OPTION_HELP, {.name = NULL},
};
