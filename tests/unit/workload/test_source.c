#include "support/unit.h"

#include "unit/workload/spec_util.h"

static struct base_arena arena;

static struct rng_dist lognormal(double mean, double cv, double max)
{
    struct rng_dist dist;
    struct rng_dist_options options = {.kind = RNG_LOGNORMAL,
                                       .has_mean = true,
                                       .mean = mean,
                                       .has_cv = true,
                                       .cv = cv,
                                       .has_max = true,
                                       .max = max};

    ck_assert_int_eq(rng_dist_init(&dist, &options, true, &arena, NULL), KVSIM_OK);
    return dist;
}

static struct rng_dist uniform_count(double min, double max)
{
    struct rng_dist dist;
    struct rng_dist_options options = {
        .kind = RNG_UNIFORM, .has_min = true, .has_max = true, .min = min, .max = max};

    ck_assert_int_eq(rng_dist_init(&dist, &options, true, &arena, NULL), KVSIM_OK);
    return dist;
}

static struct workload_spec chat(enum workload_process process)
{
    struct workload_spec spec = simple_spec(process);

    spec.classes[0].prompt = lognormal(1600, 1.1, 7168);
    spec.classes[0].output = lognormal(260, 0.8, 1024);
    return spec;
}

START_TEST(limits_end_the_run)
{
    struct workload_spec spec = simple_spec(WORKLOAD_DETERMINISTIC);
    int64_t arrivals[2000];

    spec.rate_per_s = 10;
    spec.request_limit = 25;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, 2000), 25);
    spec.duration_ns = 2000000000;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, 2000), 20); /* the end itself included */
    spec.request_limit = 0;
    ck_assert_uint_eq(take_arrivals(&spec, 1, arrivals, 2000), 20);
    spec.duration_ns = 0;
    check_open_refused(&spec, "requests");
}
END_TEST

START_TEST(the_end_is_final)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct workload_source *source;
    struct workload_request request;

    spec.request_limit = 3;
    source = open_source(&spec, 1, 1);
    for (int i = 0; i < 3; i++)
        ck_assert(take(source, &request));
    ck_assert(!take(source, &request));
    ck_assert(!take(source, &request));
    workload_source_close(source);
}
END_TEST

START_TEST(the_same_request_in_every_sweep_point)
{
    struct workload_spec slow = chat(WORKLOAD_POISSON), fast = chat(WORKLOAD_GAMMA);
    struct workload_source *a, *b, *other;
    struct workload_request x, y, z;
    unsigned different = 0;

    fast.rate_per_s = 400;
    fast.burstiness = 0.3;
    a = open_source(&slow, 1, 2);
    b = open_source(&fast, 1, 2);
    other = open_source(&slow, 1, 3);
    while (take(a, &x) && take(b, &y) && take(other, &z)) {
        ck_assert_int_eq(x.prompt_tokens, y.prompt_tokens);
        ck_assert_int_eq(x.output_tokens, y.output_tokens);
        different += x.prompt_tokens != z.prompt_tokens;
    }
    ck_assert_uint_gt(different, 950);
    workload_source_close(a);
    workload_source_close(b);
    workload_source_close(other);
}
END_TEST

START_TEST(lengths_have_their_means)
{
    struct workload_spec spec = chat(WORKLOAD_POISSON);
    struct workload_source *source;
    struct workload_request request;
    double prompts = 0.0, outputs = 0.0, n = 100000;

    spec.request_limit = 100000;
    source = open_source(&spec, 1, 1);
    while (take(source, &request)) {
        prompts += (double)request.prompt_tokens;
        outputs += (double)request.output_tokens;
    }
    workload_source_close(source);
    ck_assert_double_eq_tol(prompts / n / rng_dist_mean(&spec.classes[0].prompt), 1.0,
                            4.0 * 0.9 / sqrt(n));
    ck_assert_double_eq_tol(outputs / n / rng_dist_mean(&spec.classes[0].output), 1.0,
                            4.0 * 0.8 / sqrt(n));
}
END_TEST

START_TEST(classes_come_by_weight_with_what_is_theirs)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct workload_source *source;
    struct workload_request request;
    unsigned counts[3] = {0};

    spec.class_count = 3;
    spec.request_limit = 10000;
    for (size_t i = 1; i < 3; i++)
        spec.classes[i] = spec.classes[0];
    spec.classes[0] = (struct workload_class){.name = "chat",
                                              .weight = 3,
                                              .priority = 5,
                                              .prompt = spec.classes[1].prompt,
                                              .output = spec.classes[1].output,
                                              .abort_after_ns = 11,
                                              .timeout_first_ns = 12,
                                              .timeout_total_ns = 13};
    spec.classes[1].weight = 0;
    spec.classes[2].priority = -2;
    source = open_source(&spec, 1, 1);
    while (take(source, &request)) {
        counts[request.class_index]++;
        if (request.priority != (request.class_index == 0 ? 5 : -2) ||
            request.timeout_total_ns != (request.class_index == 0 ? 13 : 0) ||
            request.sequence_count != 1)
            ck_abort_msg("request %d", (int)request.index);
    }
    ck_assert_uint_eq(counts[1], 0);
    ck_assert_double_eq_tol(counts[0] / 10000.0, 0.75, 0.02);
    workload_source_close(source);
}
END_TEST

START_TEST(max_tokens_is_the_output_unless_stated)
{
    struct workload_spec spec = chat(WORKLOAD_POISSON);
    struct workload_source *source = open_source(&spec, 1, 1);
    struct workload_request request;

    ck_assert(take(source, &request));
    ck_assert_int_eq(request.max_tokens, request.output_tokens);
    workload_source_close(source);
    spec.classes[0].has_max_tokens = true;
    spec.classes[0].max_tokens = (struct rng_dist){.kind = RNG_FIXED, .a = 77, .whole = true};
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert_int_eq(request.max_tokens, 77);
    ck_assert_int_ne(request.output_tokens, 77);
    workload_source_close(source);
    spec.ignore_eos = true;
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert_int_eq(request.output_tokens, 77);
    workload_source_close(source);
}
END_TEST

/* The first answer is the one of a request for one; the others have lengths of the same distribution, by themselves. */
START_TEST(answers_have_lengths_of_their_own)
{
    struct workload_spec one = chat(WORKLOAD_POISSON), several = chat(WORKLOAD_POISSON);
    struct workload_source *a, *b;
    struct workload_request x, y;
    double sum = 0, product = 0, squares = 0;
    unsigned pairs = 0, counts[5] = {0};

    several.classes[0].has_sequences = true;
    several.classes[0].sequences = uniform_count(1, 4);
    a = open_source(&one, 1, 1);
    b = open_source(&several, 1, 1);
    while (take(a, &x) && take(b, &y)) {
        ck_assert_uint_eq(x.sequence_count, 1);
        ck_assert_ptr_null(x.sequence_outputs);
        ck_assert_int_eq(x.prompt_tokens, y.prompt_tokens);
        ck_assert_int_eq(x.output_tokens, y.output_tokens);
        ck_assert(y.sequence_count >= 1 && y.sequence_count <= 4);
        counts[y.sequence_count]++;
        if (y.sequence_count == 1)
            continue;
        ck_assert_int_eq(y.sequence_outputs[0], y.output_tokens);
        for (uint32_t i = 0; i < y.sequence_count; i++)
            ck_assert_int_le(y.sequence_outputs[i], y.max_tokens); /* none is cut */
        for (uint32_t i = 1; i < y.sequence_count; i++, pairs++) {
            double u = (double)y.output_tokens - 260, v = (double)y.sequence_outputs[i] - 260;

            sum += (double)y.sequence_outputs[i];
            product += u * v;
            squares += v * v;
        }
    }
    for (int i = 1; i <= 4; i++)
        ck_assert_uint_gt(counts[i], 200); /* of 1,000 */
    ck_assert_double_eq_tol(sum / pairs, 256, 20);
    ck_assert_double_lt(fabs(product / squares), 0.1); /* independent: 1 / sqrt(pairs) is 0.026 */
    workload_source_close(a);
    workload_source_close(b);
}
END_TEST

START_TEST(answers_without_an_end_are_all_as_long_as_allowed)
{
    struct workload_spec spec = chat(WORKLOAD_CLOSED_LOOP);
    struct workload_source *source;
    struct workload_request request;

    spec.concurrency = 1;
    spec.classes[0].has_sequences = true;
    spec.classes[0].sequences = (struct rng_dist){.kind = RNG_FIXED, .a = 3, .whole = true};
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert_ptr_nonnull(request.sequence_outputs);
    ck_assert(follow(source, &request, 5, &request));
    ck_assert_uint_eq(request.sequence_count, 3);
    ck_assert_int_eq(request.sequence_outputs[0], request.output_tokens);
    workload_source_close(source);
    spec.ignore_eos = true;
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert_uint_eq(request.sequence_count, 3);
    ck_assert_ptr_null(request.sequence_outputs);
    workload_source_close(source);
}
END_TEST

/* More sequences than answers: lengths as for so many answers; beams have one length, and a stream that is theirs alone. */
START_TEST(candidates_are_sequences_of_which_some_are_returned)
{
    struct workload_spec answers = chat(WORKLOAD_POISSON), best = chat(WORKLOAD_POISSON), beams;
    struct workload_source *sources[3];
    struct workload_request x, y, z;
    uint64_t last_key = 0;

    answers.classes[0].has_sequences = true;
    answers.classes[0].sequences = (struct rng_dist){.kind = RNG_FIXED, .a = 4, .whole = true};
    best.classes[0].candidates = 4;
    beams = best;
    beams.classes[0].is_beam = true;
    beams.classes[0].has_sequences = true;
    beams.classes[0].sequences = (struct rng_dist){.kind = RNG_FIXED, .a = 2, .whole = true};
    sources[0] = open_source(&answers, 1, 1);
    sources[1] = open_source(&best, 1, 1);
    sources[2] = open_source(&beams, 1, 1);
    while (take(sources[0], &x) && take(sources[1], &y) && take(sources[2], &z)) {
        ck_assert(x.sequence_count == 4 && y.sequence_count == 4 && z.sequence_count == 4);
        ck_assert(x.answer_count == 0 && y.answer_count == 1 && z.answer_count == 2);
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(x.sequence_outputs[i], y.sequence_outputs[i]);
        ck_assert(!x.is_beam && !y.is_beam && z.is_beam);
        ck_assert_ptr_null(z.sequence_outputs);
        ck_assert_int_eq(z.output_tokens, x.output_tokens);
        ck_assert_uint_ne(z.beam_key, last_key);
        last_key = z.beam_key;
    }
    for (int i = 0; i < 3; i++)
        workload_source_close(sources[i]);
}
END_TEST

START_TEST(correlation_leaves_prompts_alone)
{
    struct workload_spec plain = chat(WORKLOAD_POISSON), joint = chat(WORKLOAD_POISSON);
    struct workload_source *a, *b;
    struct workload_request x, y;
    double cross = 0.0, mean = 0.0, n = 0.0;

    plain.request_limit = joint.request_limit = 20000;
    joint.classes[0].correlation = 0.8;
    a = open_source(&plain, 1, 1);
    b = open_source(&joint, 1, 1);
    while (take(a, &x) && take(b, &y)) {
        if (x.prompt_tokens != y.prompt_tokens)
            ck_abort_msg("prompt %d", (int)x.index);
        /* Quadrant correlation of the medians: 4 P(both above) - 1 = 2/pi asin(2 sin(pi 0.8 /
         * 6)). */
        cross += (y.prompt_tokens > 1012) == (y.output_tokens > 199);
        mean += (double)y.output_tokens;
        n += 1.0;
    }
    ck_assert_double_eq_tol(mean / n / rng_dist_mean(&joint.classes[0].output), 1.0, 0.03);
    ck_assert_double_eq_tol(2.0 * cross / n - 1.0,
                            2.0 / 3.14159265 * asin(2.0 * sin(0.8 * 0.5235987756)), 0.05);
    workload_source_close(a);
    workload_source_close(b);
}
END_TEST

/* The k-th request of a client is the same whoever is answered first. */
START_TEST(closed_loops_are_addressed_by_client_and_turn)
{
    struct workload_spec spec = chat(WORKLOAD_CLOSED_LOOP);
    int64_t prompts[2][4][5];

    spec.concurrency = 4;
    spec.has_think = true;
    spec.think = (struct rng_dist){.kind = RNG_FIXED, .a = 0.5};
    for (size_t order = 0; order < 2; order++) {
        struct workload_source *source = open_source(&spec, 9, 1);
        struct workload_request request, last[4];

        for (uint32_t c = 0; c < 4; c++) {
            ck_assert(take(source, &request));
            last[c] = request;
            ck_assert_int_eq(request.arrival_ns, 0);
            ck_assert_uint_eq(request.client, c);
            ck_assert_uint_eq(request.turn, 0);
            prompts[order][c][0] = request.prompt_tokens;
        }
        ck_assert(!take(source, &request));
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t client = order == 0 ? i % 4 : 3 - i / 4;

            ck_assert(follow(source, &last[client], 1000 + i, &request));
            last[client] = request;
            ck_assert_uint_eq(request.client, client);
            ck_assert_uint_eq(request.index, 4 + i);
            ck_assert_int_eq(request.arrival_ns, 500001000 + i);
            prompts[order][client][request.turn] = request.prompt_tokens;
        }
        workload_source_close(source);
    }
    ck_assert_mem_eq(prompts[0], prompts[1], sizeof prompts[0]);
    ck_assert_int_ne(prompts[0][0][0], prompts[0][1][0]);
    ck_assert_int_ne(prompts[0][0][0], prompts[0][0][1]);
    ck_assert_int_ne(prompts[0][0][1], prompts[0][1][0]); /* not by client + turn */
}
END_TEST

START_TEST(think_times_are_addressed_by_client_and_turn)
{
    struct workload_spec spec = simple_spec(WORKLOAD_CLOSED_LOOP);
    struct workload_source *source;
    struct workload_request last[2];
    int64_t thinks[4];

    spec.concurrency = 2;
    spec.has_think = true;
    spec.think = (struct rng_dist){
        .kind = RNG_EXPONENTIAL, .a = 2.0, .low = -INFINITY, .high = INFINITY, .u_span = 1.0};
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &last[0]) && take(source, &last[1]));
    for (uint32_t i = 0; i < 4; i++) { /* client 0 twice, then client 1 twice */
        ck_assert(follow(source, &last[i / 2], 5, &last[i / 2]));
        thinks[i] = last[i / 2].arrival_ns - 5;
        ck_assert_int_gt(thinks[i], 0);
        for (uint32_t k = 0; k < i; k++)
            ck_assert_int_ne(thinks[k], thinks[i]);
    }
    workload_source_close(source);
}
END_TEST

START_TEST(closed_loops_end_with_the_run)
{
    struct workload_spec spec = simple_spec(WORKLOAD_CLOSED_LOOP);
    struct workload_source *source;
    struct workload_request request;

    spec.concurrency = 4;
    spec.request_limit = 3;
    source = open_source(&spec, 1, 1);
    for (int i = 0; i < 3; i++)
        ck_assert(take(source, &request));
    ck_assert(!take(source, &request));
    ck_assert(!follow(source, &request, 10, &request));
    workload_source_close(source);
    spec.request_limit = 0;
    spec.duration_ns = 100;
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert(follow(source, &request, 100, &request));
    ck_assert(!follow(source, &request, 101, &request));
    workload_source_close(source);
    spec.concurrency = 0;
    check_open_refused(&spec, "concurrency");
}
END_TEST

START_TEST(only_closed_loops_have_more_after_an_answer)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct workload_source *source = open_source(&spec, 1, 1);
    struct workload_request request;

    ck_assert(take(source, &request));
    ck_assert(!follow(source, &request, 10, &request));
    workload_source_close(source);
    ck_assert(workload_is_steady(&spec) && !workload_is_closed_loop(&spec));
    spec.process = WORKLOAD_CLOSED_LOOP;
    ck_assert(workload_is_steady(&spec) && workload_is_closed_loop(&spec));
    spec.process = WORKLOAD_PROFILE;
    ck_assert(!workload_is_steady(&spec));
    spec.process = WORKLOAD_TRACE;
    ck_assert(!workload_is_steady(&spec));
}
END_TEST

int main(void)
{
    base_arena_init(&arena);
    int result =
        unit_run("workload.source", (const TTest *const[]){
                                        limits_end_the_run,
                                        the_end_is_final,
                                        the_same_request_in_every_sweep_point,
                                        lengths_have_their_means,
                                        classes_come_by_weight_with_what_is_theirs,
                                        max_tokens_is_the_output_unless_stated,
                                        answers_have_lengths_of_their_own,
                                        answers_without_an_end_are_all_as_long_as_allowed,
                                        candidates_are_sequences_of_which_some_are_returned,
                                        correlation_leaves_prompts_alone,
                                        closed_loops_are_addressed_by_client_and_turn,
                                        think_times_are_addressed_by_client_and_turn,
                                        closed_loops_end_with_the_run,
                                        only_closed_loops_have_more_after_an_answer,
                                        NULL,
                                    });
    base_arena_release(&arena);
    return result;
}
