#include "support/made_run.h"

#include <math.h>

static void fill_texts(struct record_run *run)
{
    record_set_text(run, RECORD_STATUS, "done");
    record_set_text(run, RECORD_KVSIM_VERSION, "0.1.0");
    record_set_text(run, RECORD_SCENARIO, "chat-8k");
    record_set_text(run, RECORD_SCENARIO_HASH, "00112233445566778899aabbccddeeff");
    record_set_text(run, RECORD_MODEL, "llama-3.1-8b");
    record_set_text(run, RECORD_HARDWARE, "h100-sxm5-80gb");
    record_set_text(run, RECORD_ENGINE, "vllm-0.19");
    record_set_text(run, RECORD_COST_LEVEL, "datasheet");
    record_set_text(run, RECORD_KV_CACHE_DTYPE, "bf16");
    record_set_text(run, RECORD_BINDING_LIMIT, "weight_bandwidth");
    record_set_text(run, RECORD_STABILITY, "stable");
}

static void fill_integers(struct record_run *run)
{
    record_set_integer(run, RECORD_GPUS, 1);
    record_set_integer(run, RECORD_TP, 1);
    record_set_integer(run, RECORD_PP, 1);
    record_set_integer(run, RECORD_DP, 1);
    record_set_integer(run, RECORD_REPLICAS, 1);
    record_set_integer(run, RECORD_BLOCK_SIZE, 16);
    record_set_integer(run, RECORD_SEED, 1);
    record_set_integer(run, RECORD_REPLICATIONS, 5);
    record_set_integer(run, RECORD_SLO_MET, 1);
    record_set_integer(run, RECORD_KV_POOL_BLOCKS, 27000);
    record_set_integer(run, RECORD_KV_POOL_TOKENS, 432000);
    record_set_integer(run, RECORD_KV_USABLE_TOKENS, 431984);
    record_set_integer(run, RECORD_KV_POOL_BYTES, INT64_C(56623104000));
    record_set_integer(run, RECORD_KV_REPLICATION, 1);
    record_set_integer(run, RECORD_LOWER_BOUND_BYTES_PER_TOKEN, 131072);
}

/* Every real figure gets a value of its own, but two that do not exist in this run. */
static void fill_reals(struct record_run *run, int variant)
{
    for (int i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (record_summary_columns[i].kind == RECORD_REAL)
            record_set_real(run, (enum record_summary)i, i * 1.1 + 0.1 * variant);
    }
    record_set_real(run, RECORD_GENERATED_TOKENS, record_get_real(run, RECORD_OUTPUT_TOKENS));
    record_set_real(run, RECORD_REQUESTS, 20000);
    record_set_real(run, RECORD_COMPLETED, 19998.8);
    record_set_real(run, RECORD_FAILED, 1.2);
    record_set_real(run, RECORD_TTFT_P99, 1320.0625 + variant);
    record_set_real(run, RECORD_BUSY_FRACTION, 0.8125);
    record_set_real(run, RECORD_PREFILL_TIME_FRACTION, 0.25);
    record_set_real(run, RECORD_SLO_ATTAINMENT, 0.9995);
    record_set_real(run, RECORD_PREFIX_HIT_RATE, NAN);
    record_set_real(run, RECORD_ENERGY_PER_OUTPUT_TOKEN_J, NAN);
}

static void add_metric(struct record_run *run, const char *name, const char *statistic,
                       const char *class_name, double value, double half)
{
    struct record_metric row = {.name = name,
                                .statistic = statistic,
                                .class_name = class_name,
                                .unit = "ms",
                                .value = value,
                                .ci_low = value - half,
                                .ci_high = value + half,
                                .n = 90000,
                                .method = isnan(half) ? "withheld: needs 1,200 requests"
                                                      : "student_t, exact percentiles",
                                .claim = "simulated",
                                .basis = "assumed"};
    base_vec_push(&run->metrics, row);
}

static void fill_metrics(struct record_run *run, int variant)
{
    add_metric(run, "ttft", "mean", "", record_get_real(run, RECORD_TTFT_MEAN), 0.25);
    add_metric(run, "ttft", "p99", "", 1320.0625 + variant, NAN);
    add_metric(run, "ttft", "p99", "gold, \"fast\"", 900.5, 4.0);
    add_metric(run, "request_throughput", "value", "",
               record_get_real(run, RECORD_REQUEST_THROUGHPUT), 0.125);

    struct record_metric by = run->metrics.at[0];
    by.class_name = "replica:0";
    base_vec_push(&run->metrics_by, by);
    for (uint32_t replication = 1; replication <= 2; replication++) {
        struct record_replication_metric row = {.replication = replication,
                                                .name = "ttft",
                                                .statistic = "mean",
                                                .class_name = "",
                                                .value = 34.1 + 0.1 * replication + variant,
                                                .n = 18000};
        base_vec_push(&run->replication_metrics, row);
    }
}

static void fill_ledger(struct record_run *run)
{
    // The lines add up to the pool: 100 blocks of 2 MiB.
    static const int64_t bytes[2][RECORD_LEDGER_LINES] = {
        {60000000, 3000000, 0, 0, 0, 0, 0, 1000000, 0, 0, 2097152, 145618048, 209715200},
        {150000000, 7286400, 0, 0, 0, 0, 0, 0, 0, 0, 2097152, 50331648, 209715200}};
    for (int at = 0; at < 2; at++) {
        for (size_t line = 0; line < RECORD_LEDGER_LINES; line++) {
            struct record_ledger_row row = {.at = at == 0 ? "mean" : "peak",
                                            .component = record_ledger_name(line),
                                            .bytes = bytes[at][line],
                                            .tokens = line == 0 ? bytes[at][line] / 131072 : -1,
                                            .claim = "simulated"};
            base_vec_push(&run->ledger, row);
        }
    }
}

static void fill_memory(struct record_run *run)
{
    static const struct record_waterfall_row rows[] = {
        {"nominal", INT64_C(85899345920), "vendor", "datasheet"},
        {"driver", INT64_C(85019361280), "measured", "nvidia-smi, driver 550.54"},
        {"outside_utilization", INT64_C(8501936128), "calculated", "gpu_memory_utilization 0.9"},
        {"weights", INT64_C(16060522496), "calculated", "8.03e9 parameters x 2 B"},
        {"activation", INT64_C(1288490189), "assumed", "median of 12 logs"},
        {"non_torch", 268435456, "assumed", "median of 12 logs"},
        {"graphs", 268435456, "assumed", "median of 12 logs"},
        {"remainder", 8437555, "calculated", ""},
        {"kv_pool", INT64_C(58623104000), "calculated", "27,953 blocks of 2 MiB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        base_vec_push(&run->waterfall, rows[i]);
}

static void fill_explanations(struct record_run *run)
{
    static const struct record_limit_row limits[] = {{"bound", "prefill", "compute", 0.21},
                                                     {"bound", "decode", "weight_bandwidth", 0.55},
                                                     {"bound", "decode", "kv_bandwidth", 0.0525},
                                                     {"waiting", "all", "max_num_seqs", 0.0}};
    static const struct record_tail_row tails[] = {{"ttft", "prefill", 0.75, 990.0},
                                                   {"ttft", "wait_budget", 0.25, 330.0},
                                                   {"e2e", "others_prefill", 1.0, 4000.0}};
    static const struct record_param_row params[] = {
        {"engine.max_num_seqs", "256", "", "profile", "vendor", "engines/vllm-0.19.yaml"},
        {"workload.arrival.rate", "8", "1/s", "scenario", "assumed", ""}};
    static const struct record_tier_row tier = {.tier = "host",
                                                .capacity_bytes = 68719476736.0,
                                                .hit_tokens = 800,
                                                .queried_tokens = 1000,
                                                .hit_rate = 0.8,
                                                .hit_blocks = 50,
                                                .bytes_in = 2097152,
                                                .bytes_out = 104857600,
                                                .link_busy = 0.01,
                                                .read_busy = 0.01,
                                                .write_busy = 0.001,
                                                .evicted = 3,
                                                .refused_stores = 0,
                                                .held_bytes = 1048576,
                                                .read_wait_ms = 0.25,
                                                .write_wait_ms = 0.5,
                                                .claim = "simulated"};
    base_vec_push(&run->tiers, tier);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        base_vec_push(&run->limits, limits[i]);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        base_vec_push(&run->tails, tails[i]);
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        base_vec_push(&run->params, params[i]);
    record_run_add_caveat(run, "datasheet_rates",
                          "step times come from vendor peaks and default efficiencies; no "
                          "measurement of this model on this GPU stands behind them, so compare "
                          "options with them rather than promise a latency");
    base_vec_push(&run->slo_lines, "ttft p99 <= 2 s: met (1.32 s)");
    base_vec_push(&run->slo_lines, "tpot p99 <= 50 ms: met (11.2 ms)");
}

static void fill_rows(struct record_run *run)
{
    // By end, as a run reports them; the store puts them in the order of arrival.
    for (int i = 2; i >= 0; i--) {
        char id[16] = {(char)('a' + i), '\0'};
        struct record_request row = {.index = (uint64_t)i,
                                     .id = id,
                                     .class_name = i == 1 ? "gold, \"fast\"" : "",
                                     .arrival_ns = 1500000 * i,
                                     .prompt_tokens = 100 + i,
                                     .output_tokens = 1,
                                     .computed_tokens = 100 + i,
                                     .queue_ns = 250000,
                                     .ttft_ns = 20000000,
                                     .tpot_ns = -1,
                                     .e2e_ns = 20000000,
                                     .finish_ns = 20000000 + 1500000 * i,
                                     .outcome = RECORD_OUTCOME_COMPLETED,
                                     .finish_reason = RECORD_FINISH_LENGTH,
                                     .is_counted = i > 0,
                                     .is_good = true};
        row.cause_ns[RECORD_WAIT_STEP] = 250000;
        row.cause_ns[RECORD_PREFILL] = 19750000;
        record_run_add_request(run, 1, &row);
    }
    for (int i = 0; i < 3; i++) {
        struct record_sample row = {.t_ns = INT64_C(1000000000) * i,
                                    .running = 3 + i,
                                    .waiting = i,
                                    .kv_usage = 0.25 * i,
                                    .prompt_throughput = 1600.5,
                                    .output_throughput = 260};
        row.ledger_bytes[0] = 2097152;
        row.ledger_bytes[RECORD_LEDGER_POOL - 1] = 207618048;
        row.ledger_bytes[RECORD_LEDGER_POOL] = 209715200;
        record_run_add_sample(run, 1, &row);
    }
}

void made_run_init(struct record_run *run, int variant)
{
    record_run_init(run);
    fill_texts(run);
    fill_integers(run);
    fill_reals(run, variant);
    fill_metrics(run, variant);
    fill_ledger(run);
    fill_memory(run);
    fill_explanations(run);
    fill_rows(run);
    run->scenario_yaml = "name: chat-8k\n";
    run->created_at = "2026-01-02T03:04:05Z";
    run->host = "somewhere";
    run->wall_s = 0.5;
    run->jobs = 2;
}
