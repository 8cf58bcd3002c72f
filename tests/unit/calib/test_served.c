#include "calib/served.h"

#include "base/text.h"
#include "calib/calibrate.h"
#include "calib/requests.h"
#include "scenario/scenario.h"
#include "serve/serve.h"
#include "support/scratch.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct calib_served served;
static struct kvsim_error err;

static enum kvsim_status read_text(const char *text)
{
    scratch_write("run.json", text, strlen(text));
    return calib_served_read("run.json", &served, &err);
}

#define HEAD                                                                                      \
    "{\"date\": \"20260102-030405\", \"backend\": \"vllm\", \"model_id\": \"org/model\", "        \
    "\"num_prompts\": 3, \"request_rate\": 2.5, \"burstiness\": 1.0, \"max_concurrency\": null, " \
    "\"mean_tpot_ms\": NaN, \"generated_texts\": [\"a\", \"b]}\", \"\\u00e9\"], "
#define LENS "\"input_lens\": [10, 20, 30], \"output_lens\": [3, 2, 1], "
#define TIMES "\"ttfts\": [0.1, 0.2, 0.3], \"itls\": [[0.05, 0.07], [0.1], []], "
#define STARTS "\"start_times\": [101.5, 100.25, 102.0], \"errors\": [\"\", \"\", \"\"]}\n"

START_TEST(requests_come_by_arrival)
{
    scratch_enter();
    ck_assert_msg(read_text(HEAD LENS TIMES STARTS) == KVSIM_OK, "%s", err.message);
    ck_assert(calib_served_knows("run.json"));
    ck_assert_uint_eq(served.count, 3);
    ck_assert_uint_eq(served.failed_count, 0);
    const struct calib_served_request *at = served.at;
    ck_assert_uint_eq(at[0].index, 1);
    ck_assert_double_eq(at[0].arrival_s, 0);
    ck_assert_double_eq(at[1].arrival_s, 1.25);
    ck_assert_int_eq(at[0].prompt_tokens, 20);
    ck_assert_int_eq(at[1].output_tokens, 3);
    ck_assert_double_eq_tol(at[1].ttft_ms, 100, 1e-9);
    ck_assert_double_eq_tol(at[1].tpot_ms, 60, 1e-9);
    ck_assert_double_eq_tol(at[1].e2e_ms, 220, 1e-9);
    ck_assert(isnan(at[2].tpot_ms)); // one token has no time between tokens
    ck_assert_double_eq_tol(at[2].e2e_ms, 300, 1e-9);
    ck_assert_str_eq(served.condition.at,
                     "vllm bench serve; 20260102-030405; org/model; client vllm; request rate 2.5");
    struct base_text trace = {0};
    calib_served_print_trace(&served, &trace);
    ck_assert_str_eq(trace.at, "arrival_s,input_tokens,output_tokens\n0.000000000,20,2\n"
                               "1.250000000,10,3\n1.750000000,30,1\n");
    base_text_free(&trace);
    calib_served_free(&served);
    scratch_leave();
}
END_TEST

START_TEST(failed_requests_are_left_out)
{
    struct base_text text = {0};
    scratch_enter();
    base_text_add(&text, "{\"input_lens\": [9");
    for (int i = 0; i < 10; i++)
        base_text_add(&text, ", 5");
    base_text_add(&text, "],\n \"output_lens\": [0");
    for (int i = 0; i < 10; i++)
        base_text_add(&text, ", 2");
    base_text_add(&text, "],\n \"ttfts\": [0.0");
    for (int i = 0; i < 10; i++)
        base_text_add(&text, ", 0.5");
    base_text_add(&text, "],\n \"itls\": [[]");
    for (int i = 0; i < 10; i++)
        base_text_add(&text, ", [0.25]");
    base_text_add(&text, "],\n \"request_rate\": \"inf\", \"errors\": [\"Timeout\"");
    for (int i = 0; i < 10; i++)
        base_text_add(&text, ", \"\"");
    base_text_add(&text, "]}");
    ck_assert_msg(read_text(text.at) == KVSIM_OK, "%s", err.message);
    ck_assert_uint_eq(served.count, 10);
    ck_assert_uint_eq(served.failed_count, 1);
    for (size_t i = 0; i < 10; i++)
        ck_assert_uint_eq(served.at[i].index, i + 1); // all at once: in the file's order
    calib_served_free(&served);
    base_text_free(&text);
    scratch_leave();
}
END_TEST

static void refused(const char *text, const char *part, const char *hint, int line)
{
    err = (struct kvsim_error){.status = KVSIM_OK};
    ck_assert_int_eq(read_text(text), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, part) != NULL, "'%s' lacks '%s'", err.message, part);
    ck_assert_msg(strstr(err.hint, hint) != NULL, "'%s' lacks '%s'", err.hint, hint);
    ck_assert_str_eq(err.file, "run.json");
    ck_assert_int_eq(err.line, line);
    calib_served_free(&served);
}

START_TEST(bad_runs_are_refused_with_their_place)
{
    scratch_enter();
    // saved without --save-detailed; a list that is missing, of another length, twice or none
    refused(HEAD "\"completed\": 3}", "has no input_lens", "--save-detailed", 0);
    refused(HEAD LENS "\"itls\": [[], [], []]}", "has no ttfts", "--save-detailed", 0);
    refused(HEAD LENS "\"ttfts\": [0.1, 0.2], \"itls\": [[], [], []], " STARTS,
            "input_lens has 3 items and ttfts 2", "", 0);
    refused(HEAD LENS LENS TIMES STARTS, "input_lens is there twice", "", 1);
    refused(HEAD "\"input_lens\": 3}", "input_lens must be a list", "", 1);
    // values that no run has
    refused(HEAD LENS "\n\"ttfts\": [0.1, NaN, 0.3]}", "ttfts[1] is NaN", "", 2);
    ck_assert_int_eq(err.column, 16);
    refused(HEAD LENS "\n\"ttfts\": [Infinity]}", "ttfts[0] is Infinity", "", 2);
    refused(HEAD LENS "\n\"ttfts\": [-0.5]}", "ttfts[0] is -0.5", "", 2);
    refused(HEAD LENS "\n\"ttfts\": [null]}", "ttfts[0] is null", "", 2);
    refused(HEAD LENS "\n\"ttfts\": [\"0.5\"]}", "ttfts[0] is \"0.5\"", "", 2);
    refused(HEAD "\"input_lens\": [1.5]}", "input_lens[0] is 1.5, which is not a whole number", "",
            1);
    refused(HEAD LENS "\n\"itls\": [0.5]}", "itls[0] is 0.5, which is not a list", "", 2);
    refused(HEAD LENS "\n\n\"itls\": [[0.5], [NaN]]}", "itls[1] is NaN", "", 3);
    // a server that does not stream, one that fails, arrivals that nobody wrote down
    refused(HEAD LENS "\"ttfts\": [0.1, 0, 0.3], \"itls\": [[], [], []], " STARTS, "ttfts[1] is 0",
            "stream", 0);
    refused(HEAD LENS TIMES "\"start_times\": [1, 2, 3], \"errors\": [\"x\", \"\", \"\"]}",
            "1 of 3 requests failed", "", 0);
    refused(HEAD LENS TIMES "\"errors\": [\"\", \"\", \"\"]}", "no start_times", "newer", 0);
    // more than a run, less than one
    refused(HEAD LENS TIMES STARTS HEAD LENS TIMES STARTS, "several runs", "", 2);
    refused("{\"input_lens\": []} x", "text follows", "", 1);
    refused(HEAD "\"input_lens\": [10 20]}", "not JSON", "", 1);
    const char *whole = HEAD LENS TIMES STARTS;
    ck_assert_int_eq(calib_served_read("absent.json", &served, &err), KVSIM_ERR_IO);
    calib_served_free(&served);
    // cut anywhere: refused, and never taken for a run
    for (size_t length = 1; length + 1 < strlen(whole); length++) {
        scratch_write("run.json", whole, length);
        ck_assert_int_eq(calib_served_read("run.json", &served, &err), KVSIM_ERR_SCENARIO);
        calib_served_free(&served);
    }
    refused(HEAD LENS "\"ttfts\": [0.1, 0.2", "it was cut", "", 1);
    scratch_leave();
}
END_TEST

START_TEST(other_files_are_not_taken_for_runs)
{
    static const char lines[] = "{\"op\": \"gemm\", \"m\": 1, \"ms\": 2}\n{\"op\": \"gemm\"}\n",
                      csv[] = "arrival_s,input_tokens\n0,1\n", cut[] = HEAD "\"input_lens\": [1,";
    scratch_enter();
    scratch_write("lines.json", lines, sizeof lines - 1);
    scratch_write("t.csv", csv, sizeof csv - 1);
    scratch_write("cut.json", cut, sizeof cut - 1);
    ck_assert(!calib_served_knows("lines.json"));
    ck_assert(!calib_served_knows("t.csv"));
    ck_assert(!calib_served_knows("absent.json"));
    ck_assert(calib_served_knows("cut.json"));
    scratch_leave();
}
END_TEST

/* ---- a run of kvsim, written as vLLM's client would ---- */

enum { REQUESTS = 60 };

struct recorder {
    struct record_sink sink; /* first: the sink is the recorder */
    struct record_request rows[REQUESTS];
    size_t count;
};

static void take(struct record_sink *sink, const struct record_request *row)
{
    struct recorder *recorder = (struct recorder *)sink;
    ck_assert_uint_lt(recorder->count, REQUESTS);
    recorder->rows[recorder->count++] = *row;
}

static const char scenario_text[] =
    "model: llama-3.1-8b\nhardware: ./machine.yaml\nengine: {profile: vllm-0.24}\n"
    "cost: {level: calibrated}\nworkload: {arrival: {process: poisson, rate: 8/s}, "
    "prompt_tokens: {distribution: uniform, min: 100, max: 900}, "
    "output_tokens: {distribution: uniform, min: 20, max: 80}}\n"
    "run: {requests: 60, warmup: 0, replications: 1, seed: 7}\n";

static void run_server(struct recorder *recorder)
{
    static const struct record_sink_ops ops = {.on_request = take};
    static const char machine[] =
        "base: h100-sxm\ncalibration: {claim: measured, source: \"a test\", conditions: none, "
        "date: \"2026-01-01\", coefficients: {host_exposed: 3 ms}}\n";
    const struct scenario_request request = {.path = "served.yaml", .purpose = SCENARIO_FOR_RUN};
    struct scenario *scenario;
    struct kvsim_diags diags = {0};
    static struct serve_result result;
    scratch_write("machine.yaml", machine, sizeof machine - 1);
    scratch_write("served.yaml", scenario_text, sizeof scenario_text - 1);
    enum kvsim_status status = scenario_load(&request, &scenario, &diags);
    ck_assert_msg(status == KVSIM_OK, "%s", diags.at[0].message);
    *recorder = (struct recorder){.sink = {.ops = &ops, .request_limit = UINT64_MAX}};
    struct serve_run_options options = {
        .replication = 1, .mode = SERVE_JUMP, .sink = &recorder->sink};
    ck_assert_int_eq(serve_run(scenario_config(scenario), &options, &result, &err), KVSIM_OK);
    serve_result_release(&result);
    scenario_free(scenario);
}

static const struct record_request *row_of(const struct recorder *recorder, uint64_t index)
{
    for (size_t i = 0; i < recorder->count; i++)
        if (recorder->rows[i].index == index)
            return &recorder->rows[i];
    ck_abort_msg("no request %d", (int)index);
    return NULL;
}

enum { LIST_PROMPT, LIST_OUTPUT, LIST_TTFT, LIST_ITL, LIST_START, LIST_COUNT };

/* Intervals are written as the mean, which gives the same sum. */
static void print_item(struct base_text *out, const struct record_request *row, int list)
{
    double ttft = 1e-9 * (double)row->ttft_ns, e2e = 1e-9 * (double)row->e2e_ns;
    switch (list) {
    case LIST_PROMPT:
        base_text_printf(out, "%lld", (long long)row->prompt_tokens);
        return;
    case LIST_OUTPUT:
        base_text_printf(out, "%lld", (long long)row->output_tokens);
        return;
    case LIST_TTFT:
        base_text_printf(out, "%.12g", ttft);
        return;
    case LIST_ITL:
        for (int64_t i = 1; i < row->output_tokens; i++)
            base_text_printf(out, "%s%.12g", i == 1 ? "[" : ", ",
                             (e2e - ttft) / (double)(row->output_tokens - 1));
        base_text_add(out, "]");
        return;
    default:
        base_text_printf(out, "%.12g", 1000 + 1e-9 * (double)row->arrival_ns);
    }
}

static void write_run(const struct recorder *recorder, const char *path)
{
    static const char *const names[LIST_COUNT] = {"input_lens", "output_lens", "ttfts", "itls",
                                                  "start_times"};
    struct base_text text = {0};
    base_text_add(&text, "{\"model_id\": \"meta-llama/\\\"Llama\\\"-3.1-8B\", \"num_prompts\": 60, "
                         "\"request_rate\": 8.0");
    for (int list = 0; list < LIST_COUNT; list++) {
        base_text_printf(&text, ", \"%s\": [", names[list]);
        for (uint64_t i = 0; i < recorder->count; i++) {
            base_text_add(&text, i == 0 ? "" : ", ");
            print_item(&text, row_of(recorder, i), list);
        }
        base_text_add(&text, "]");
    }
    base_text_add(&text, "}\n");
    scratch_write(path, text.at, text.count);
    base_text_free(&text);
}

/* What the host costs comes back from the times that it made; no file is left behind. */
START_TEST(the_host_is_fitted_to_a_saved_run)
{
    static const char *const files[] = {"run.json"};
    static struct recorder recorder;
    struct calib_request request = {.hardware = "h100-sxm",
                                    .files = files,
                                    .file_count = 1,
                                    .scenario = "served.yaml",
                                    .first_share = 0.5};
    struct calib_result result;
    struct base_text text = {0};
    scratch_enter();
    run_server(&recorder);
    ck_assert_uint_eq(recorder.count, REQUESTS);
    write_run(&recorder, "run.json");
    ck_assert(calib_requests_knows("run.json"));
    setenv("TMPDIR", ".", 1);
    int before = scratch_count(".");
    ck_assert_msg(calib_calibrate(&request, &result, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_int_eq(scratch_count("."), before);
    ck_assert(result.calibration.has[SPEC_HOST_EXPOSED]);
    ck_assert_double_eq_tol(result.calibration.value[SPEC_HOST_EXPOSED], 3e-3, 3e-4);
    for (size_t i = 0; i < result.group_count; i++) {
        ck_assert_uint_eq(result.groups[i].fitted.count, REQUESTS / 2);
        ck_assert_double_lt(result.groups[i].fitted.mean, 0.03);
    }
    ck_assert_double_gt(result.groups[0].before.mean, 0.2);
    calib_result_print(&result, &text);
    ck_assert_ptr_nonnull(strstr(text.at, "source: \"run.json\"\n"));
    ck_assert_ptr_nonnull(strstr(text.at, "conditions: \"vllm bench serve; "
                                          "meta-llama/\\\"Llama\\\"-3.1-8B; request rate 8.0\"\n"));
    base_text_free(&text);
    calib_result_free(&result);
    request.scenario = NULL;
    ck_assert_int_eq(calib_calibrate(&request, &result, &err), KVSIM_ERR_USAGE);
    calib_result_free(&result);
    scratch_leave();
}
END_TEST

int main(void)
{
    return unit_run("calib.served",
                    (const TTest *const[]){requests_come_by_arrival, failed_requests_are_left_out,
                                           bad_runs_are_refused_with_their_place,
                                           other_files_are_not_taken_for_runs,
                                           the_host_is_fitted_to_a_saved_run, NULL});
}
