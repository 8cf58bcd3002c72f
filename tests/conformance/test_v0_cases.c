/*
 * The program held against the recorded schedules of vLLM V0 (59, 61, 62, 63 of the reference data): each case as a scenario
 * and a trace, run with --steps and by jumping; every column of a step, every field of a request and every total that the
 * case states must be the program's. Skipped where the reference data is absent.
 */
#include "conformance/case.h"
#include "conformance/case_list.h"
#include "support/scratch.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTSIDE KVSIM_REFERENCE_DATA "/conformance"

/* ---- a case as a scenario ---- */

static void add_key(struct case_text *text, const struct json_value *engine, const char *key)
{
    const struct json_value *value = json_get(engine, key);
    if (value != NULL && value->kind != JSON_NULL) {
        case_text_add(text, "  %s: %s\n", key,
                      value->kind == JSON_BOOL ? (value->truth ? "true" : "false") : value->text);
    }
}

static void add_engine(struct case_text *text, const struct json_value *engine)
{
    static const char *const keys[] = {"block_size",   "max_model_len",
                                       "max_num_seqs", "max_num_batched_tokens",
                                       "watermark",    "enable_chunked_prefill"};
    case_text_add(text, "engine:\n  profile: vllm-0.6\n");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        add_key(text, engine, keys[i]);
    }
    case_text_add(text, "  num_gpu_blocks_override: %lld\n",
                  (long long)json_int(engine, "num_blocks", 0));
    const char *mode = json_text(engine, "preemption_mode", NULL);
    if (mode != NULL) {
        case_text_add(text, "  preemption: %s\n", mode);
    }
}

static void add_cost(struct case_text *text, const struct json_value *step, int64_t swap_ns)
{
    if (strcmp(json_text(step, "kind", ""), "fixed") == 0) {
        case_text_add(text, "cost: {level: fixed, step: %lldns",
                      (long long)json_int(step, "ns", 0));
    } else {
        case_text_add(text,
                      "cost: {level: affine, base: %lldns, per_prefill_token: %lldns, "
                      "per_decode_seq: %lldns, per_context_token: %lldns",
                      (long long)json_int(step, "a", 0), (long long)json_int(step, "b", 0),
                      (long long)json_int(step, "c", 0), (long long)json_int(step, "d", 0));
    }
    case_text_add(text, ", swap_per_block: %lldns}\n", (long long)swap_ns);
}

static void add_row(struct case_text *text, const struct json_value *request)
{
    int64_t arrival = json_int(request, "arrival_ns", 0), tokens = 0;
    const struct json_value *ranges = json_get(request, "prompt_ranges");
    for (size_t i = 0; i < ranges->count; i++) {
        tokens += json_to_int(&ranges->items[i].items[1]);
    }
    case_text_add(text,
                  "{\"id\":\"%s\",\"arrival_s\":%lld.%09lld,\"input_tokens\":%lld,"
                  "\"output_tokens\":%lld,\"n\":%lld}\n",
                  json_text(request, "id", ""), (long long)(arrival / 1000000000),
                  (long long)(arrival % 1000000000), (long long)tokens,
                  (long long)json_int(request, "output_tokens", 0),
                  (long long)json_int(request, "n", 1));
}

static void write_case(const struct json_value *input)
{
    struct case_text scenario = {0}, trace = {0};
    const struct json_value *engine = json_get(input, "engine"),
                            *workload = json_get(input, "workload");
    case_text_add(
        &scenario,
        "name: case\nmodel: {kv_groups: [{kind: full, layers: 1, bytes_per_token: 1}]}\n");
    add_engine(&scenario, engine);
    add_cost(&scenario, json_get(input, "step"), json_int(engine, "swap_block_ns", 0));
    case_text_add(&scenario, "workload: {arrival: {process: trace, file: trace.jsonl}}\n"
                             "run: {replications: 1}\nrecord: {requests: all, timeline: none}\n");
    for (size_t i = 0; i < workload->count; i++) {
        add_row(&trace, &workload->items[i]);
    }
    scratch_write("case.yaml", scenario.text, scenario.length);
    scratch_write("trace.jsonl", trace.text, trace.length);
    free(scenario.text);
    free(trace.text);
}

/* ---- what the program says, as the case says it ---- */

static char *ask(const char *sql)
{
    char command[2048];
    int code;
    snprintf(command, sizeof command, "sqlite3 run.db \"%s\"", sql);
    char *answer = scratch_run(command, &code);
    ck_assert_msg(code == 0, "%s", command);
    return answer;
}

static void run_program(const char *path, const char *options)
{
    char command[2048];
    int code;
    snprintf(command, sizeof command, "'%s' run case.yaml --quiet %s 2>&1", KVSIM_PROGRAM, options);
    char *printed = scratch_run(command, &code);
    ck_assert_msg(code == 0, "%s: exit status %d: %s", path, code, printed);
    free(printed);
}

static void add_list(struct case_text *text, const struct json_value *list)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        bool has_tokens = list->kind == JSON_OBJECT;
        case_text_add(text, "%s%s%s%s", i > 0 ? " " : "",
                      has_tokens ? list->keys[i] : list->items[i].text, has_tokens ? ":" : "",
                      has_tokens ? list->items[i].text : "");
    }
}

// The step's cells in the order of `columns`, as the case has them; empty where it states nothing.
static char *expected_cells(const struct json_value *step, const char *const *columns)
{
    struct case_text text = {0};
    const struct json_value *ledger = json_get(step, "ledger");
    for (size_t i = 0; columns[i] != NULL; i++) {
        const struct json_value *value = json_get(step, columns[i]);
        value = value != NULL ? value : json_get(ledger, columns[i]);
        case_text_add(&text, "%s", i > 0 ? "," : "");
        if (value != NULL && (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT)) {
            add_list(&text, value);
        } else if (value != NULL) {
            case_text_add(&text, "%s", value->text);
        }
    }
    return text.text;
}

// The same cells of a line of --steps.
static char *printed_cells(const char *header, const char *line, const char *const *columns)
{
    struct case_text text = {0};
    for (size_t i = 0; columns[i] != NULL; i++) {
        const char *name = header, *cell = line;
        size_t length = strlen(columns[i]);
        while (strncmp(name, columns[i], length) != 0 ||
               (name[length] != ',' && name[length] != '\n')) {
            name = strchr(name, ',');
            ck_assert_msg(name != NULL, "--steps has no column %s", columns[i]);
            name++;
            cell = strchr(cell, ',') + 1;
        }
        case_text_add(&text, "%s%.*s", i > 0 ? "," : "", (int)strcspn(cell, ",\n"), cell);
    }
    return text.text;
}

static void check_steps(const char *path, const struct json_value *steps)
{
    static const char *const columns[] = {
        "step",       "sched_ns",    "start_ns",        "end_ns",      "running",
        "waiting",    "free_blocks", "used_blocks",     "lower_bound", "block_rounding",
        "reserved",   "shared",      "cached",          "fragmented",  "free",
        "pool",       "scheduled",   "admitted",        "preempted",   "swapped_out",
        "swapped_in", "running_end", "free_blocks_end", NULL};
    size_t bytes;
    char *text = scratch_read("steps.csv", &bytes);
    const char *line = text;
    for (size_t i = 0; i < steps->count; i++) {
        line = strchr(line, '\n') + 1;
        ck_assert_msg(*line != '\0', "%s: %zu steps, expected %zu", path, i, steps->count);
        char *expected = expected_cells(&steps->items[i], columns);
        char *printed = printed_cells(text, line, columns);
        ck_assert_msg(strcmp(expected, printed) == 0, "%s: step %zu:\n%s, expected\n%s", path,
                      i + 1, printed, expected);
        free(expected);
        free(printed);
    }
    line = strchr(line, '\n') + 1;
    ck_assert_msg(*line == '\0', "%s: more than %zu steps", path, steps->count);
    free(text);
}

static void add_field(struct case_text *text, const struct json_value *request, const char *key)
{
    const struct json_value *value = json_get(request, key);
    case_text_add(text, "|%s", value->kind == JSON_NULL ? "" : value->text);
}

static void check_requests(const char *path, const struct json_value *requests)
{
    static const char *const keys[] = {"first_scheduled_ns", "first_token_ns",   "finish_ns",
                                       "output_tokens",      "preemptions",      "cached_tokens",
                                       "computed_tokens",    "recomputed_tokens"};
    struct case_text expected = {0};
    for (size_t i = 0; i < requests->count; i++) {
        const struct json_value *request = &requests->items[i];
        bool is_ignored = strcmp(json_text(request, "outcome", ""), "ignored") == 0;
        case_text_add(&expected, "%s|%s", json_text(request, "id", ""),
                      is_ignored ? "unservable" : "completed");
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            add_field(&expected, request, keys[k]);
        }
        case_text_add(&expected, "\n");
    }
    char *printed =
        ask("SELECT request_id, outcome, CAST(round((arrival_ms + queue_ms) * 1e6) AS INTEGER), "
            "CAST(round((arrival_ms + ttft_ms) * 1e6) AS INTEGER), CAST(round(finish_ms * 1e6) AS "
            "INTEGER), output_tokens, preemptions, cached_tokens, computed_tokens, "
            "recomputed_tokens FROM request_detail WHERE run_id = 1 ORDER BY request_id");
    ck_assert_msg(strcmp(printed, expected.text) == 0, "%s:\n%sexpected\n%s", path, printed,
                  expected.text);
    free(printed);
    free(expected.text);
}

static void check_totals(const char *path, const struct json_value *totals, int64_t block_size)
{
    struct case_text expected = {0};
    case_text_add(&expected, "%s|%s|%s|%s|%s|%s|%s|%lld|%lld\n", json_text(totals, "steps", ""),
                  json_text(totals, "finished", ""), json_text(totals, "output_tokens", ""),
                  json_text(totals, "computed_tokens", ""),
                  json_text(totals, "recomputed_tokens", ""), json_text(totals, "preemptions", ""),
                  json_text(totals, "peak_used_blocks", ""),
                  (long long)(json_int(totals, "swapped_blocks", 0) * block_size),
                  (long long)(json_int(totals, "cow_copies", 0) * block_size));
    char *printed = ask("SELECT CAST(steps AS INTEGER), CAST(completed AS INTEGER), "
                        "CAST(output_tokens AS INTEGER), CAST(computed_tokens AS INTEGER), "
                        "CAST(recomputed_tokens AS INTEGER), CAST(preemptions AS INTEGER), "
                        "CAST(used_blocks_peak AS INTEGER), CAST(swapped_bytes AS INTEGER), "
                        "CAST(copied_bytes AS INTEGER) FROM run_summary WHERE run_id = 1");
    ck_assert_msg(strcmp(printed, expected.text) == 0, "%s: %sexpected %s", path, printed,
                  expected.text);
    free(printed);
    free(expected.text);
}

// What a user gets who asks for no steps is the same.
static void check_jumping(const char *path)
{
    run_program(path, "--format json --db run.db >jump.json");
    char *difference =
        ask("SELECT * FROM (SELECT request_id, outcome, queue_ms, ttft_ms, tpot_ms, e2e_ms, "
            "computed_tokens FROM request_detail WHERE run_id = 1 EXCEPT SELECT request_id, "
            "outcome, queue_ms, ttft_ms, tpot_ms, e2e_ms, computed_tokens FROM request_detail "
            "WHERE run_id = 2)");
    ck_assert_msg(difference[0] == '\0', "%s: stepping and jumping differ: %s", path, difference);
    free(difference);
}

static bool check_case(const char *path)
{
    struct json_value *root = json_read_file(path);
    ck_assert_msg(root != NULL, "%s cannot be read", path);
    const struct json_value *input = json_get(root, "input"), *engine = json_get(input, "engine"),
                            *expected = json_get(root, "expected");
    bool is_v0 = strcmp(json_text(engine, "kind", ""), "vllm_v0") == 0;
    if (is_v0) {
        scratch_enter();
        write_case(input);
        run_program(path, "--steps steps.csv --format json --db run.db >run.json");
        check_steps(path, json_get(expected, "steps"));
        check_requests(path, json_get(expected, "requests"));
        check_totals(path, json_get(expected, "totals"), json_int(engine, "block_size", 0));
        check_jumping(path);
        scratch_leave();
    }
    json_free(root);
    return is_v0;
}

START_TEST(recorded_cases)
{
    static struct case_list list;
    size_t count = 0;
    case_list_folder(OUTSIDE, &list);
    for (size_t i = 0; i < list.count; i++) {
        count += check_case(list.paths[i]) ? 1 : 0;
    }
    ck_assert_uint_ge(count, 4);
}
END_TEST

int main(void)
{
    static struct case_list list;
    case_list_folder(OUTSIDE, &list);
    if (list.count == 0) {
        printf("skipped: no cases in %s\n", OUTSIDE);
        return 77;
    }
    Suite *suite = suite_create("conformance with vLLM V0");
    TCase *tests = tcase_create("cases");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, recorded_cases);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
