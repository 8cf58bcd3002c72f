#include "support/unit.h"

#include "unit/workload/spec_util.h"

#define DATA KVSIM_TEST_DATA "/tests/unit/workload/data/"

static struct workload_spec replay(const char *path)
{
    struct workload_spec spec = simple_spec(WORKLOAD_TRACE);

    spec.trace_path = path;
    spec.request_limit = 0;
    return spec;
}

START_TEST(rows_become_requests)
{
    struct workload_spec spec = replay(DATA "plain.csv");
    struct workload_source *source;
    struct workload_request request;

    spec.classes[0].priority = 9;
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert_str_eq(request.id, "first");
    ck_assert_int_eq(request.max_tokens, 64);
    ck_assert_int_eq(request.priority, -3);
    ck_assert_uint_eq(request.class_index, 0); /* without classes the column is a label */
    ck_assert(take(source, &request));
    ck_assert_str_eq(request.id, "");
    ck_assert_int_eq(request.max_tokens, 20);
    ck_assert_int_eq(request.priority, 9);
    ck_assert(take(source, &request));
    ck_assert_int_eq(request.prompt_tokens, 0);
    ck_assert_uint_eq(request.sequence_count, 4);
    ck_assert_ptr_null(request.sequence_outputs); /* the row has one length */
    ck_assert_uint_eq(request.index, 2);
    ck_assert(!take(source, &request));
    workload_source_close(source);
    /* The class speaks where the row says nothing. */
    spec.classes[0].has_sequences = true;
    spec.classes[0].sequences = (struct rng_dist){.kind = RNG_FIXED, .a = 2, .whole = true};
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request) && request.sequence_count == 1);
    ck_assert(take(source, &request) && request.sequence_count == 2);
    ck_assert_ptr_null(request.sequence_outputs);
    ck_assert(take(source, &request) && request.sequence_count == 4);
    workload_source_close(source);
}
END_TEST

START_TEST(content_and_answers_have_ids_that_later_rows_can_state)
{
    struct workload_spec spec = replay(DATA "plain.jsonl");
    struct workload_source *source = open_source(&spec, 1, 1);
    struct workload_request request;

    ck_assert(take(source, &request));
    ck_assert_uint_eq(request.run_count, 3);
    ck_assert_int_eq(request.runs[0].first, 101000);
    ck_assert_int_eq(request.answer_first, 1000000000);
    ck_assert_int_eq(request.seen_tokens, -1); /* ranges may overlap in any way */
    ck_assert(take(source, &request));
    ck_assert_int_eq(request.answer_first, 1000100000);
    workload_source_close(source);
    spec = replay(DATA "azure.csv");
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert_uint_eq(request.run_count, 0); /* shares nothing */
    ck_assert_ptr_null(request.runs);
    workload_source_close(source);
    spec = replay(DATA "mooncake.jsonl");
    source = open_source(&spec, 1, 1);
    for (int64_t i = 0; i < 3; i++) {
        ck_assert(take(source, &request));
        ck_assert_int_eq(request.seen_tokens, i == 0 ? 0 : 512);
        ck_assert_uint_eq(request.run_count, i == 2 ? 2 : 1); /* ids in a row are one run */
    }
    workload_source_close(source);
    spec.hash_block_tokens = 16; /* not what the file has */
    source = open_source(&spec, 1, 1);
    struct kvsim_error err = {0};
    bool more;
    ck_assert_int_eq(workload_next(source, &request, &more, &err), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "blocks of 16"));
    workload_source_close(source);
}
END_TEST

START_TEST(speedup_divides_times_exactly)
{
    static const double speedups[] = {1.0, 3.0, 0.1, 1.5};
    static const int64_t expected[] = {4314579000, 1438193000, 43145790000, 2876386000};
    int64_t arrivals[4];

    for (size_t i = 0; i < 4; i++) {
        struct workload_spec spec = replay(DATA "azure.csv");

        spec.speedup = speedups[i];
        ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, 4), 4);
        ck_assert_int_eq(arrivals[1], expected[i]);
        ck_assert_int_eq(arrivals[2], expected[i]);
    }
}
END_TEST

START_TEST(limits_cut_a_trace)
{
    struct workload_spec spec = replay(DATA "azure.csv");
    int64_t arrivals[4];

    spec.request_limit = 2;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, 4), 2);
    spec.request_limit = 0;
    spec.duration_ns = 4314579000;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, 4), 3);
    spec.duration_ns--;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, 4), 1);
}
END_TEST

START_TEST(classes_named_in_a_trace_must_exist)
{
    struct workload_spec spec = replay(DATA "plain.csv");
    struct workload_source *source;
    struct workload_request request;
    struct kvsim_error err = {0};
    bool more;

    spec.class_count = 2;
    spec.classes[0].name = "other";
    spec.classes[0].weight = 0.0;
    spec.classes[1] = spec.classes[0];
    spec.classes[1].name = "chat";
    spec.classes[1].weight = 1.0;
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert_uint_eq(request.class_index, 1);
    ck_assert(take(source, &request));
    ck_assert_uint_eq(request.class_index, 1); /* none named: by weight */
    ck_assert_int_eq(workload_next(source, &request, &more, &err), KVSIM_ERR_SCENARIO);
    ck_assert_ptr_nonnull(strstr(err.message, "'batch'"));
    ck_assert_int_eq(err.line, 4);
    ck_assert_int_eq(err.column, 24);
    workload_source_close(source);
}
END_TEST

START_TEST(what_cannot_be_replayed)
{
    struct workload_spec spec = replay(DATA "azure.csv");
    struct workload_source *source;
    struct kvsim_error err = {0};

    spec.speedup = 0.0;
    check_open_refused(&spec, "speedup");
    spec = replay(DATA "absent.csv");
    ck_assert_int_eq(workload_source_open(&spec, 1, 1, &source, &err), KVSIM_ERR_IO);
    spec = replay(DATA "lengths.csv");
    ck_assert_int_eq(workload_source_open(&spec, 1, 1, &source, &err), KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(err.line, 1);
}
END_TEST

int main(void)
{
    return unit_run("workload.arrival_trace",
                    (const TTest *const[]){
                        rows_become_requests,
                        content_and_answers_have_ids_that_later_rows_can_state,
                        speedup_divides_times_exactly,
                        limits_cut_a_trace,
                        classes_named_in_a_trace_must_exist,
                        what_cannot_be_replayed,
                        NULL,
                    });
}
