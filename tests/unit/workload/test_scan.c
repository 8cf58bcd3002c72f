#include "support/unit.h"

#include "unit/workload/spec_util.h"

#define DATA KVSIM_TEST_DATA "/tests/unit/workload/data/"

START_TEST(a_scan_sees_every_row)
{
    struct workload_trace_info info;

    ck_assert_int_eq(workload_trace_scan(DATA "azure.csv", 0, &info, NULL), KVSIM_OK);
    ck_assert_uint_eq(info.row_count, 4);
    ck_assert_int_eq(info.first_ns, 0);
    ck_assert_int_eq(info.last_ns, 20653319410100);
    ck_assert_double_eq(info.prompt_mean, 435.0);
    ck_assert_double_eq(info.output_mean, 56.0);
    ck_assert_int_eq(info.prompt_max, 879);
    ck_assert_int_eq(info.output_max, 109);
    ck_assert(!info.has_class && !info.has_session && !info.has_content);
    ck_assert_int_eq(workload_trace_scan(DATA "mooncake.jsonl", 0, &info, NULL), KVSIM_OK);
    ck_assert(info.has_content);
    ck_assert_int_eq(info.id_count,
                     17); /* 14 + 1 + 2 ids; the last two rows begin with a known one */
    ck_assert_int_eq(info.seen_id_count, 2);
    ck_assert_int_eq(info.distinct_id_count, 15);
    ck_assert_int_eq(workload_trace_scan(DATA "mooncake.jsonl", 16, &info, NULL),
                     KVSIM_ERR_SCENARIO);
    ck_assert_int_eq(workload_trace_scan(DATA "azure.csv", 16, &info, NULL), KVSIM_OK);
    ck_assert_int_eq(info.id_count, 0);
    ck_assert_int_eq(workload_trace_scan(DATA "lengths.csv", 0, &info, NULL), KVSIM_ERR_SCENARIO);
}
END_TEST

/* By hand, one token at a time. */
static double held_by_counting(int64_t prompt, int64_t output, int64_t block)
{
    double sum = 0.0;

    for (int64_t j = 0; j < output; j++)
        sum += (double)((prompt + j + block - 1) / block);
    return sum;
}

enum { TOKENS_MAX = 4096 };

/* Blocks of all lengths below, added up one token at a time. */
struct counted {
    int64_t below[TOKENS_MAX];
};

static void count_all(struct counted *counted, uint32_t block)
{
    counted->below[0] = 0;
    for (int64_t tokens = 1; tokens < TOKENS_MAX; tokens++)
        counted->below[tokens] = counted->below[tokens - 1] + (tokens - 1 + block - 1) / block;
}

static base_i128 count_blocks(const void *context, int64_t prompt, int64_t answer, int64_t most)
{
    const struct counted *counted = context;

    if (most < answer || prompt + answer >= TOKENS_MAX) // an assertion writes a file each time
        ck_abort();
    return counted->below[prompt + answer] - counted->below[prompt];
}

static double held(const struct workload_spec *spec, uint32_t block, int64_t max_model_tokens)
{
    struct workload_held value;
    struct kvsim_error err = {0};

    struct counted counted;
    const struct workload_hold hold = {.sum = count_blocks, .context = &counted};

    count_all(&counted, block);
    ck_assert_msg(workload_mean_held(spec, 1, &hold, max_model_tokens, &value, &err) == KVSIM_OK,
                  "%s", err.message);
    return value.blocks;
}

START_TEST(held_blocks_of_fixed_lengths)
{
    for (int64_t prompt = 1; prompt < 40; prompt += 13) {
        for (int64_t output = 1; output < 50; output += 15) {
            struct workload_spec spec = simple_spec(WORKLOAD_POISSON);

            spec.classes[0].prompt.a = (double)prompt;
            spec.classes[0].output.a = (double)output;
            ck_assert_double_eq_tol(held(&spec, 16, 0),
                                    held_by_counting(prompt, output, 16) / (double)output, 1e-12);
            ck_assert_double_eq_tol(held(&spec, 1, 0),
                                    held_by_counting(prompt, output, 1) / (double)output, 1e-12);
        }
    }
}
END_TEST

START_TEST(limits_cut_the_answer)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON); /* 100 in, 10 out */
    struct workload_held value;
    struct counted counted;
    const struct workload_hold hold = {.sum = count_blocks, .context = &counted};

    ck_assert_double_eq_tol(held(&spec, 16, 104), held_by_counting(100, 4, 16) / 4.0, 1e-12);
    spec.classes[0].has_max_tokens = true;
    spec.classes[0].max_tokens = (struct rng_dist){.kind = RNG_FIXED, .a = 3, .whole = true};
    ck_assert_double_eq_tol(held(&spec, 16, 104), held_by_counting(100, 3, 16) / 3.0, 1e-12);
    count_all(&counted, 16);
    ck_assert_int_eq(workload_mean_held(&spec, 1, &hold, 100, &value, NULL), KVSIM_ERR_SCENARIO);
}
END_TEST

/* What is reserved for a whole batch does not weigh by how long it is held. */
static base_i128 answer_blocks(const void *context, int64_t prompt, int64_t answer, int64_t most)
{
    (void)context;
    (void)most;
    return (base_i128)(prompt + answer) * answer;
}

START_TEST(by_request_or_by_time)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct rng_dist_options options = {
        .kind = RNG_UNIFORM, .has_min = true, .min = 1, .has_max = true, .max = 9};
    struct workload_hold hold = {.sum = answer_blocks};
    struct base_arena arena;
    struct workload_held by_time, by_request;

    base_arena_init(&arena);
    ck_assert_int_eq(rng_dist_init(&spec.classes[0].output, &options, true, &arena, NULL),
                     KVSIM_OK);
    ck_assert_int_eq(workload_mean_held(&spec, 1, &hold, 0, &by_time, NULL), KVSIM_OK);
    hold.is_by_request = true;
    ck_assert_int_eq(workload_mean_held(&spec, 1, &hold, 0, &by_request, NULL), KVSIM_OK);
    ck_assert_double_eq_tol(by_request.blocks, 100 + 5, 0.05);
    ck_assert_double_eq_tol(by_time.blocks, 100 + 285.0 / 45.0, 0.05); /* sum of squares over sum */
    base_arena_release(&arena);
}
END_TEST

/* Independent geometric answers: E[sum_{j<O} (P + j)] / E[O] = P + (E[O^2] - E[O]) / (2 E[O]) =
 * P + m - 1. */
START_TEST(long_answers_are_held_longer)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct rng_dist_options options = {.kind = RNG_GEOMETRIC, .has_mean = true, .mean = 50};
    struct base_arena arena;

    base_arena_init(&arena);
    ck_assert_int_eq(rng_dist_init(&spec.classes[0].output, &options, true, &arena, NULL),
                     KVSIM_OK);
    ck_assert_double_eq_tol(held(&spec, 1, 0), 149.0, 0.5);
    base_arena_release(&arena);
}
END_TEST

START_TEST(held_blocks_of_a_trace_are_those_of_its_rows)
{
    struct workload_spec spec = simple_spec(WORKLOAD_TRACE);
    double sum = held_by_counting(374, 44, 16) + held_by_counting(396, 109, 16) +
                 held_by_counting(879, 55, 16) + held_by_counting(91, 16, 16);

    spec.trace_path = DATA "azure.csv";
    spec.request_limit = 0;
    ck_assert_double_eq_tol(held(&spec, 16, 0), sum / 224.0, 1e-12);
}
END_TEST

/* A class whose requests ask for three answers holds the memory of three, as long as its answers grow. */
START_TEST(held_blocks_weigh_by_answers)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    double one = held_by_counting(100, 10, 16), three = held_by_counting(100, 50, 16);

    spec.classes[1] = spec.classes[0];
    spec.class_count = 2;
    spec.classes[1].output = (struct rng_dist){.kind = RNG_FIXED, .a = 50.0, .whole = true};
    spec.classes[1].has_sequences = true;
    spec.classes[1].sequences = (struct rng_dist){.kind = RNG_FIXED, .a = 3.0, .whole = true};
    ck_assert_double_eq_tol(held(&spec, 16, 0), (one + 3 * three) / 60.0, 0.05);
}
END_TEST

int main(void)
{
    return unit_run("workload.scan", (const TTest *const[]){
                                         a_scan_sees_every_row,
                                         held_blocks_of_fixed_lengths,
                                         limits_cut_the_answer,
                                         by_request_or_by_time,
                                         long_answers_are_held_longer,
                                         held_blocks_of_a_trace_are_those_of_its_rows,
                                         held_blocks_weigh_by_answers,
                                         NULL,
                                     });
}
