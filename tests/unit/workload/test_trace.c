#include "support/unit.h"

#include "unit/workload/spec_util.h"

#include <stdio.h>
#include <unistd.h>

#define DATA KVSIM_TEST_DATA "/tests/unit/workload/data/"

static struct workload_trace *open_trace(const char *path)
{
    struct workload_trace *trace;
    struct kvsim_error err = {0};

    ck_assert_msg(workload_trace_open(path, &trace, &err) == KVSIM_OK, "%s: %s", path, err.message);
    return trace;
}

static bool take_row(struct workload_trace *trace, struct workload_row *row)
{
    struct kvsim_error err = {0};
    bool more;

    ck_assert_msg(workload_trace_next(trace, row, &more, &err) == KVSIM_OK, "%s:%d: %s", err.file,
                  err.line, err.message);
    return more;
}

static void check_rows(const char *path, const int64_t (*expected)[3], size_t count)
{
    struct workload_trace *trace = open_trace(path);
    struct workload_row row;

    for (size_t i = 0; i < count; i++) {
        ck_assert(take_row(trace, &row));
        ck_assert_int_eq(row.at_ns, expected[i][0]);
        ck_assert_int_eq(row.prompt_tokens, expected[i][1]);
        ck_assert_int_eq(row.output_tokens, expected[i][2]);
    }
    ck_assert(!take_row(trace, &row));
    workload_trace_close(trace);
}

START_TEST(azure_by_the_wall_clock)
{
    static const int64_t rows[][3] = {
        {0, 374, 44}, {4314579000, 396, 109}, {4314579000, 879, 55}, {20653319410100, 91, 16}};
    static const int64_t later[][3] = {{0, 10, 1}, {500000000, 11, 2}, {750000000, 12, 3}};

    check_rows(DATA "azure.csv", rows, 4); /* CRLF, seven digits, past midnight, no last newline */
    check_rows(DATA "azure_2024_bom.csv", later, 3);
}
END_TEST

START_TEST(burstgpt_leaves_failed_rows_out)
{
    static const int64_t rows[][3] = {
        {5000000000, 472, 18}, {45000000000, 1087, 230}, {118500000000, 1360, 203}};
    static const int64_t second[][3] = {{12250000000, 100, 20}, {13000000000, 200, 40}};
    struct workload_trace_info info;

    check_rows(DATA "burstgpt.csv", rows, 3);
    check_rows(DATA "burstgpt_v2.csv", second, 2);
    ck_assert_int_eq(workload_trace_scan(DATA "burstgpt.csv", 0, &info, NULL), KVSIM_OK);
    ck_assert_uint_eq(info.row_count, 3);
    ck_assert_uint_eq(info.skipped_count, 2);
}
END_TEST

START_TEST(mooncake_counts_ms_and_qwen_seconds)
{
    static const int64_t mooncake[][3] = {{0, 6758, 500}, {0, 512, 1}, {2999000000, 513, 490}};
    static const int64_t qwen[][3] = {{61114000000, 41, 132}, {61200000000, 48, 12}};

    check_rows(DATA "mooncake.jsonl", mooncake, 3);
    check_rows(DATA "qwen.jsonl", qwen, 2);
}
END_TEST

START_TEST(plain_tables_say_all_they_may)
{
    struct workload_trace *trace = open_trace(DATA "plain.csv");
    struct workload_row row;

    ck_assert(workload_trace_has_class(trace) && workload_trace_has_session(trace));
    ck_assert(!workload_trace_has_content(trace));
    ck_assert(take_row(trace, &row));
    ck_assert_int_eq(row.at_ns, 1); /* 0.6 ns, rounded to the nearest */
    ck_assert_str_eq(row.id, "first");
    ck_assert_str_eq(row.class_name, "chat");
    ck_assert_int_eq(row.priority, -3);
    ck_assert_uint_eq(row.sequence_count, 1);
    ck_assert_int_eq(row.max_tokens, 64);
    ck_assert(take_row(trace, &row));
    ck_assert_ptr_null(row.id);
    ck_assert_ptr_null(row.class_name);
    ck_assert_int_eq(row.priority, WORKLOAD_PRIORITY_NONE);
    ck_assert_uint_eq(row.sequence_count, 0);
    ck_assert_int_eq(row.max_tokens, 0);
    ck_assert(take_row(trace, &row));
    ck_assert_str_eq(row.id, "third, last");
    ck_assert_int_eq(row.prompt_tokens, 0);
    ck_assert_uint_eq(row.sequence_count, 4);
    ck_assert(!take_row(trace, &row));
    workload_trace_close(trace);
}
END_TEST

START_TEST(prompt_ranges_give_the_length)
{
    static const int64_t rows[][3] = {{250000000, 12, 5}, {3000000000, 9, 3}};
    struct workload_trace *trace = open_trace(DATA "plain.jsonl");
    struct workload_row row;

    check_rows(DATA "plain.jsonl", rows, 2);
    ck_assert(take_row(trace, &row));
    ck_assert_uint_eq(row.run_count, 3);
    ck_assert_int_eq(row.runs[1].first, 1000000000);
    ck_assert_int_eq(row.runs[1].count, 1);
    ck_assert_int_eq(row.runs[2].first, 103000);
    ck_assert_int_eq(row.hash_block_tokens, 0);
    workload_trace_close(trace);
}
END_TEST

START_TEST(a_hash_id_is_a_block_of_tokens_and_the_last_one_the_rest)
{
    struct workload_trace *trace = open_trace(DATA "qwen.jsonl");
    struct workload_row row;
    int64_t second, third;

    ck_assert(take_row(trace, &row));
    ck_assert_uint_eq(row.run_count, 3);
    ck_assert_int_eq(row.hash_block_tokens, 16); /* as Qwen's traces count */
    second = row.runs[1].first;
    third = row.runs[2].first;
    ck_assert_int_eq(second - row.runs[0].first, 16);
    ck_assert_int_eq(row.runs[1].count, 16);
    ck_assert_int_eq(row.runs[2].count, 41 - 32);
    ck_assert(take_row(trace, &row));
    ck_assert_int_eq(row.runs[1].first, second);
    ck_assert_int_ne(row.runs[2].first, third);
    ck_assert_int_eq(row.runs[2].count, 16);
    ck_assert_uint_eq(row.number, 1);
    workload_trace_close(trace);
    trace = open_trace(DATA "mooncake.jsonl");
    ck_assert(take_row(trace, &row));
    ck_assert_int_eq(row.hash_block_tokens, 512);
    ck_assert_int_eq(row.runs[13].count, 6758 - 13 * 512);
    ck_assert_uint_eq(workload_runs_join(row.runs, row.run_count), 1);
    ck_assert_int_eq(row.runs[0].count, 6758);
    workload_trace_close(trace);
}
END_TEST

/* Writes `text` to a file of its own, reads it to the end and returns the error. */
static struct kvsim_error error_of(const char *text)
{
    char path[] = "/tmp/kvsim-trace-XXXXXX";
    int fd = mkstemp(path);
    struct workload_trace *trace = NULL;
    struct workload_row row;
    struct kvsim_error err = {0};
    bool more = true;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    if (workload_trace_open(path, &trace, &err) == KVSIM_OK) {
        while (more && workload_trace_next(trace, &row, &more, &err) == KVSIM_OK)
            continue;
    }
    workload_trace_close(trace);
    ck_assert_msg(err.status == KVSIM_OK || strcmp(err.file, path) == 0, "file '%s'", err.file);
    unlink(path);
    return err;
}

static void check_error(const char *text, int line, int column, const char *part)
{
    struct kvsim_error err = error_of(text);

    ck_assert_msg(err.status == KVSIM_ERR_SCENARIO, "accepted: %s", text);
    ck_assert_msg(strstr(err.message, part) != NULL, "'%s' is not in '%s'", part, err.message);
    ck_assert_msg(err.line == line && err.column == column, "%d:%d, not %d:%d: %s", err.line,
                  err.column, line, column, err.message);
}

#define PLAIN "arrival_s,input_tokens,output_tokens\n"

START_TEST(bad_rows_are_errors_with_their_place)
{
    check_error(PLAIN "1,10,10\n0.5,10,10\n", 3, 1, "earlier");
    check_error(PLAIN "1,10,0\n", 2, 6, "'output_tokens' is 0");
    check_error(PLAIN "1,10,-3\n", 2, 6, "output_tokens");
    check_error(PLAIN "1,-10,3\n", 2, 3, "input_tokens");
    check_error(PLAIN "1,1e30,3\n", 2, 3, "input_tokens");
    check_error(PLAIN "1,2.5,3\n", 2, 3, "input_tokens");
    check_error(PLAIN "1,ten,3\n", 2, 3, "input_tokens");
    check_error(PLAIN "1,,3\n", 2, 3, "input_tokens");
    check_error(PLAIN "-1,10,3\n", 2, 1, "arrival_s");
    check_error(PLAIN "nan,10,3\n", 2, 1, "arrival_s");
    check_error(PLAIN "1e40,10,3\n", 2, 1, "arrival_s");
    check_error("TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n", 2, 1, "not a time");
    check_error("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-29 18:15:46,1,1\n", 2, 1,
                "not a time");
    check_error("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-28 25:15:46,1,1\n", 2, 1,
                "not a time");
    check_error("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-28 18:15:46,1,0\n", 2, 23,
                "GeneratedTokens");
    check_error("Timestamp,Request tokens,Response tokens\n5,1,-1\n", 2, 5, "Response tokens");
}
END_TEST

START_TEST(bad_extras_are_errors)
{
    check_error("arrival_s,input_tokens,output_tokens,n\n1,5,5,0\n", 2, 7, "'n' is 0");
    check_error("arrival_s,input_tokens,output_tokens,max_tokens\n1,5,5,0\n", 2, 7, "max_tokens");
    check_error("arrival_s,input_tokens,output_tokens,priority\n1,5,5,3000000000\n", 2, 7,
                "priority");
    check_error(
        "arrival_s,input_tokens,output_tokens,id\n1,5,5,0123456789012345678901234567890123456789\n",
        2, 7, "39 bytes");
    check_error("arrival_s,input_tokens,output_tokens,hash_ids\n1,5,5,\"[1,2\"\n", 2, 7,
                "hash_ids");
    check_error("arrival_s,output_tokens,prompt_ranges\n1,5,\"[[1]]\"\n", 2, 5, "prompt_ranges");
    check_error("arrival_s,input_tokens,output_tokens,prompt_ranges\n1,7,5,\"[[1,3],[2,3]]\"\n", 2,
                3, "hold 6");
    check_error("arrival_s,input_tokens,output_tokens,hash_ids\n1,513,5,\"[1]\"\n", 2, 9,
                "2 blocks");
    check_error("arrival_s,input_tokens,output_tokens,hash_block_tokens,hash_ids\n1,5,5,0,[1]\n", 2,
                7, "hash_block_tokens");
    check_error("arrival_s,input_tokens,output_tokens,hash_ids\n1,5,5,[100000000000000000]\n", 2, 7,
                "hash_ids");
    check_error("{\"arrival_s\":1,\"input_tokens\":5,\"output_tokens\":1,\"hash_ids\":\"x\"}\n", 1,
                62, "hash_ids");
}
END_TEST

START_TEST(bad_files_are_errors)
{
    struct kvsim_error err;
    struct workload_trace *trace;

    check_error(PLAIN, 2, 1, "no rows");
    check_error("a,b,c\n1,2,3\n", 1, 1, "no known trace");
    check_error("arrival_s,input_tokens\n1,2\n", 1, 1, "no column 'output_tokens'");
    check_error("arrival_s,output_tokens\n1,2\n", 1, 1, "no column 'input_tokens'");
    check_error("timestamp,input_length\n1,2\n", 1, 1, "no column 'output_length'");
    err = error_of("num_prefill_tokens,num_decode_tokens\n3772,54\n");
    ck_assert_ptr_nonnull(strstr(err.message, "no trace"));
    ck_assert_ptr_nonnull(strstr(err.hint, "empirical"));
    ck_assert_int_eq(error_of("").status, KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(error_of(PLAIN "1,2\n").status, KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(error_of(PLAIN "1,2,3\n2,\"4").status, KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(error_of("{\"timestamp\":0,\"input_length\":5,\"output_").status,
                     KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(workload_trace_open("/no/such/file", &trace, &err), KVSIM_ERR_IO);
    ck_assert_int_eq(workload_trace_open("/tmp", &trace, &err), KVSIM_ERR_IO);
}
END_TEST

START_TEST(failed_rows_alone_are_no_trace)
{
    struct kvsim_error err = error_of("Timestamp,Request tokens,Response tokens\n5,1,0\n6,0,0\n");

    ck_assert_int_eq(err.status, KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "failed"));
}
END_TEST

int main(void)
{
    return unit_run("workload.trace", (const TTest *const[]){
                                          azure_by_the_wall_clock,
                                          burstgpt_leaves_failed_rows_out,
                                          mooncake_counts_ms_and_qwen_seconds,
                                          plain_tables_say_all_they_may,
                                          prompt_ranges_give_the_length,
                                          a_hash_id_is_a_block_of_tokens_and_the_last_one_the_rest,
                                          bad_rows_are_errors_with_their_place,
                                          bad_extras_are_errors,
                                          bad_files_are_errors,
                                          failed_rows_alone_are_no_trace,
                                          NULL,
                                      });
}
