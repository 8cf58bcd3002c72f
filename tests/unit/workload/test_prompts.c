#include "support/unit.h"

#include "unit/workload/spec_util.h"

static struct rng_dist fixed(double value)
{
    return (struct rng_dist){.kind = RNG_FIXED, .a = value, .whole = value >= 1.0};
}

static struct rng_dist dist(struct rng_dist_options options, struct base_arena *arena)
{
    struct rng_dist out;
    struct kvsim_error err = {0};

    ck_assert_msg(rng_dist_init(&out, &options, true, arena, &err) == KVSIM_OK, "%s", err.message);
    return out;
}

static struct rng_dist zipf(uint32_t count, double s, struct base_arena *arena)
{
    return dist((struct rng_dist_options){.kind = RNG_ZIPF,
                                          .has_s = true,
                                          .has_min = true,
                                          .has_max = true,
                                          .s = s,
                                          .min = 1,
                                          .max = count},
                arena);
}

static int64_t token_at(const struct workload_request *request, int64_t at)
{
    for (size_t i = 0; i < request->run_count; i++) {
        if (at < request->runs[i].count)
            return request->runs[i].first + at;
        at -= request->runs[i].count;
    }
    ck_abort_msg("beyond the prompt");
    return 0;
}

static int64_t tokens_of(const struct workload_request *request)
{
    int64_t tokens = 0;

    for (size_t i = 0; i < request->run_count; i++)
        tokens += request->runs[i].count;
    return tokens;
}

START_TEST(groups_share_their_system_prompt_and_nothing_else)
{
    struct base_arena arena;
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct workload_shared shared = {.group_count = 4, .system_prompt = fixed(80)};
    struct workload_source *source;
    struct workload_request request;
    int64_t first[4], counts[4] = {0}, own = 0;
    size_t groups = 0;

    base_arena_init(&arena);
    shared.popularity = zipf(4, 1.0, &arena);
    spec.classes[0].shared = &shared;
    spec.request_limit = 20000;
    source = open_source(&spec, 1, 1);
    while (take(source, &request)) {
        size_t g = 0;

        ck_assert_int_eq(request.prompt_tokens, 100); /* the shared part included */
        ck_assert_int_eq(tokens_of(&request), 100);
        ck_assert_uint_eq(request.run_count, 2);
        ck_assert_int_eq(request.runs[0].count, 80);
        while (g < groups && first[g] != request.runs[0].first)
            g++;
        ck_assert_uint_lt(g, 4);
        if (g == groups)
            first[groups++] = request.runs[0].first;
        counts[g]++;
        ck_assert_int_gt(request.runs[1].first, own); /* ids rise: no question comes twice */
        own = request.runs[1].first + request.runs[1].count;
        ck_assert_int_eq(request.answer_first, own);
    }
    workload_source_close(source);
    ck_assert_uint_eq(groups, 4);
    int64_t most = 0; /* weights 1, 1/2, 1/3, 1/4 */
    for (size_t g = 0; g < 4; g++)
        most = counts[g] > most ? counts[g] : most;
    ck_assert_double_eq_tol((double)most / 20000.0, 12.0 / 25.0, 0.015);
    base_arena_release(&arena);
}
END_TEST

START_TEST(a_short_prompt_is_the_beginning_of_a_shared_text)
{
    struct base_arena arena;
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct workload_shared shared = {.group_count = 1, .system_prompt = fixed(500)};
    struct workload_source *source;
    struct workload_request request;

    base_arena_init(&arena);
    shared.popularity = zipf(1, 0.0, &arena);
    spec.classes[0].shared = &shared;
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    ck_assert_uint_eq(request.run_count, 1);
    ck_assert_int_eq(request.prompt_tokens, 100);
    workload_source_close(source);
    base_arena_release(&arena);
}
END_TEST

START_TEST(cyclic_order_goes_through_groups_examples_and_questions)
{
    struct workload_spec spec = simple_spec(WORKLOAD_DETERMINISTIC);
    struct workload_shared shared = {.group_count = 3,
                                     .few_shot_count = 2,
                                     .prompts_per_group = 2,
                                     .system_prompt = fixed(10),
                                     .few_shot = fixed(20),
                                     .question = fixed(5),
                                     .has_question = true,
                                     .order = WORKLOAD_CYCLIC};
    struct workload_source *source;
    struct workload_request request;
    struct spec_token_run seen[12][3];

    ck_assert_uint_eq(workload_shared_texts(&shared), 3 * (1 + 2 + 2));
    spec.rate_per_s = 10;
    spec.interval_ns = 100000000;
    spec.classes[0].shared = &shared;
    source = open_source(&spec, 1, 1);
    for (size_t i = 0; i < 12; i++) {
        ck_assert(take(source, &request));
        ck_assert_int_eq(request.prompt_tokens, 35);
        ck_assert_int_eq(request.seen_tokens, i < 3 ? 0 : i < 6 ? 10 : 35);
        ck_assert_uint_eq(request.run_count, 3);
        memcpy(seen[i], request.runs, sizeof seen[i]);
    }
    workload_source_close(source);
    for (size_t i = 0; i < 12; i++) {
        for (size_t k = 0; k < i; k++) {
            ck_assert_int_eq(seen[i][0].first == seen[k][0].first, i % 3 == k % 3);
            ck_assert_int_eq(seen[i][1].first == seen[k][1].first, i % 6 == k % 6);
            ck_assert_int_eq(seen[i][2].first == seen[k][2].first, i % 6 == k % 6);
            ck_assert_int_ne(seen[i][0].first, seen[k][2].first);
        }
    }
}
END_TEST

/* A prompt of turn k is the former prompt, the answer and new tokens, id for id. */
static void check_growth(const struct workload_request *last, const struct workload_request *next,
                         int64_t growth)
{
    ck_assert_int_eq(next->prompt_tokens, last->prompt_tokens + last->output_tokens + growth);
    ck_assert_int_eq(next->seen_tokens, last->prompt_tokens + last->output_tokens - 1);
    ck_assert_int_eq(tokens_of(next), next->prompt_tokens);
    for (int64_t i = 0; i < last->prompt_tokens; i++)
        ck_assert_int_eq(token_at(next, i), token_at(last, i));
    for (int64_t i = 0; i < last->output_tokens; i++)
        ck_assert_int_eq(token_at(next, last->prompt_tokens + i), last->answer_first + i);
}

static struct workload_request kept(const struct workload_request *request,
                                    struct spec_token_run runs[WORKLOAD_RUNS])
{
    struct workload_request copy = *request;

    memcpy(runs, request->runs, request->run_count * sizeof *runs);
    copy.runs = runs;
    return copy;
}

START_TEST(context_grows_by_answers_and_new_tokens)
{
    struct base_arena arena;
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct workload_shared shared = {.group_count = 2, .system_prompt = fixed(60)};
    struct workload_sessions sessions = {.turns = fixed(4),
                                         .growth = fixed(7),
                                         .think = fixed(2),
                                         .tool = fixed(0.5),
                                         .has_think = true,
                                         .has_tool = true,
                                         .tool_share = 0.25};
    struct workload_source *source;
    struct workload_request request, next;
    struct spec_token_run runs[WORKLOAD_RUNS];
    int tools = 0;

    base_arena_init(&arena);
    shared.popularity = zipf(2, 0.0, &arena);
    spec.classes[0].shared = &shared;
    spec.classes[0].sessions = &sessions;
    spec.classes[0].prompt =
        dist((struct rng_dist_options){.kind = RNG_UNIFORM,
                                       .has_min = true,
                                       .has_max = true,
                                       .min = 30, /* some end in the system prompt */
                                       .max = 150},
             &arena);
    spec.request_limit = 4000;
    ck_assert(workload_has_follow_ups(&spec));
    source = open_source(&spec, 3, 1);
    for (uint32_t session = 0; session < 1000; session++) {
        ck_assert(take(source, &request));
        ck_assert_uint_eq(request.client, session);
        ck_assert_uint_eq(request.session_turn, 0);
        for (uint32_t turn = 1; turn < 4; turn++) {
            struct workload_request last = kept(&request, runs);

            ck_assert(follow(source, &last, 1000, &next));
            ck_assert_uint_eq(next.session_turn, turn);
            ck_assert_uint_eq(next.client, session);
            check_growth(&last, &next, 7);
            ck_assert(next.arrival_ns == 2000001000 || next.arrival_ns == 500001000);
            tools += next.arrival_ns == 500001000;
            request = next;
        }
        ck_assert(!follow(source, &request, 1000, &next));
    }
    ck_assert(!take(source, &request)); /* 4,000 requests, not sessions */
    workload_source_close(source);
    ck_assert_double_eq_tol(tools / 3000.0, 0.25, 0.03);
    base_arena_release(&arena);
}
END_TEST

START_TEST(a_session_ends_with_a_failure_or_at_the_context)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct workload_sessions sessions = {.turns = fixed(100), .growth = fixed(40)};
    struct workload_source *source;
    struct workload_request request, next;
    bool more;

    spec.classes[0].sessions = &sessions;
    spec.max_context_tokens = 250;
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    struct workload_ended failed = {.request = &request, .at_ns = 5, .output_tokens = 3};
    ck_assert_int_eq(workload_done(source, &failed, &next, &more, NULL), KVSIM_OK);
    ck_assert(!more);
    ck_assert(follow(source, &request, 5, &next));  /* 150 */
    ck_assert_int_eq(next.arrival_ns, 5);           /* without think time: at once */
    ck_assert(follow(source, &next, 5, &next));     /* 200 */
    ck_assert(!follow(source, &next, 5, &request)); /* 250 would be rejected */
    sessions.end = WORKLOAD_END_SEND;
    ck_assert(follow(source, &next, 5, &request));
    ck_assert_int_eq(request.prompt_tokens, 250);
    workload_source_close(source);
}
END_TEST

START_TEST(clients_have_one_session_after_the_other)
{
    struct workload_spec spec = simple_spec(WORKLOAD_CLOSED_LOOP);
    struct workload_sessions sessions = {.turns = fixed(2), .growth = fixed(40)};
    struct workload_source *source;
    struct workload_request request, next;
    struct spec_token_run runs[WORKLOAD_RUNS];

    spec.concurrency = 3;
    spec.classes[0].sessions = &sessions;
    spec.has_think = true;
    spec.think = fixed(9);
    source = open_source(&spec, 1, 1);
    ck_assert(take(source, &request));
    struct workload_request first = kept(&request, runs);
    ck_assert(follow(source, &first, 10, &request));
    check_growth(&first, &request, 40);
    ck_assert_int_eq(request.arrival_ns, 10);
    ck_assert_uint_eq(request.turn, 1);
    ck_assert(follow(source, &request, 10, &next)); /* a new one, after the loop's own think time */
    ck_assert_int_eq(next.arrival_ns, 9000000010);
    ck_assert_uint_eq(next.turn, 2);
    ck_assert_uint_eq(next.session_turn, 0);
    ck_assert_uint_ne(next.beginning, first.beginning);
    ck_assert_int_eq(next.prompt_tokens, 100);
    workload_source_close(source);
}
END_TEST

static base_i128 tokens_held(const void *context, int64_t prompt, int64_t answer, int64_t most)
{
    (void)context;
    (void)most;
    return answer * prompt + answer * (answer - 1) / 2;
}

START_TEST(mean_lengths_are_those_of_the_requests)
{
    struct workload_spec spec = simple_spec(WORKLOAD_POISSON);
    struct workload_sessions sessions = {.turns = fixed(4), .growth = fixed(40)};
    double prompt, output;
    struct workload_held held;
    const struct workload_hold hold = {.sum = tokens_held};

    spec.classes[0].sessions = &sessions;
    workload_mean_lengths(&spec, 1, &prompt, &output);
    ck_assert_double_eq_tol(prompt, 100 + 50 * 1.5, 0.01); /* 100, 150, 200, 250 */
    ck_assert_double_eq(output, 10);
    spec.max_context_tokens = 200;
    workload_mean_lengths(&spec, 1, &prompt, &output);
    ck_assert_double_eq_tol(prompt, 125, 0.01);
    ck_assert_int_eq(workload_mean_held(&spec, 1, &hold, 0, &held, NULL), KVSIM_OK);
    ck_assert_double_eq_tol(held.blocks, 125 + 4.5, 0.01);
}
END_TEST

int main(void)
{
    return unit_run("workload.prompts", (const TTest *const[]){
                                            groups_share_their_system_prompt_and_nothing_else,
                                            a_short_prompt_is_the_beginning_of_a_shared_text,
                                            cyclic_order_goes_through_groups_examples_and_questions,
                                            context_grows_by_answers_and_new_tokens,
                                            a_session_ends_with_a_failure_or_at_the_context,
                                            clients_have_one_session_after_the_other,
                                            mean_lengths_are_those_of_the_requests,
                                            NULL,
                                        });
}
