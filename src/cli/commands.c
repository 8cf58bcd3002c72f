#include "cli/command_options.h"

#include <string.h>

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
     .options = cli_run_options,
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
     .options = cli_sweep_options,
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
     .options = cli_plan_options,
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
     .options = cli_compare_options,
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
     .options = cli_merge_options,
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
         "--axis sets what a token's KV takes beside what attention and the step take, for each "
         "value of one key.\n"
         "With --operator the columns are hardware and the kernel's own, the answer is gemm_ms, "
         "attention_ms, mla_ms or all_reduce_ms: one kernel, without launch and host.",
     .options = cli_step_options,
     .examples = EXAMPLES(
         "kvsim step --model llama-3.1-8b --hardware h100-sxm --batch 64 --context 4k",
         "a step of pure decode",
         "kvsim step chat.yaml --prefill 2k@8k --batch 32 --context 1k --format json",
         "a chunk among decodes",
         "kvsim step chat.yaml --batch 32 --context 8k --axis engine.kv_cache_dtype=bf16,fp8,int4",
         "capacity and speed of quantized KV, apart",
         "kvsim step --from steps.csv --set cost.level=datasheet", "a table of steps",
         "kvsim step --from gemm.csv --operator gemm --hardware a100-sxm4-80gb",
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
     .options = cli_size_options,
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
     .options = cli_calibrate_options,
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
     .options = cli_validate_options,
     .examples = EXAMPLES("kvsim validate", "how far kvsim can be trusted",
                          "kvsim validate --group layers --no-store --format json",
                          "every case of one group"),
     .run = cli_validate},
    {.name = "check",
     .operands = "FILE...",
     .operand_min = 1,
     .operand_max = SIZE_MAX,
     .summary = "validates a scenario, model, hardware or engine file",
     .description = "All diagnostics at once, up to 20 a file. Nothing is simulated. --set is for "
                    "scenarios, as with 'run'.",
     .options = cli_check_options,
     .examples =
         EXAMPLES("kvsim check my-chat.yaml", "before it runs for long",
                  "kvsim check my-chat.yaml --set engine.block_size=32", "what the change may be",
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
     .options = cli_list_options,
     .examples = EXAMPLES("kvsim list models", "names, aliases and files",
                          "kvsim list runs --db results/kvsim.db", "what was simulated so far"),
     .run = cli_list},
    {.name = "explain",
     .operands = "KEY...",
     .operand_min = 1,
     .operand_max = SIZE_MAX,
     .summary = "says what a scenario key means: unit, range, default, users",
     .description = "A figure of run_summary is explained too.",
     .options = cli_help_options,
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
     .options = cli_report_options,
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
     .options = cli_help_options,
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
