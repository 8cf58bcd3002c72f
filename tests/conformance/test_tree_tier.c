/*
 * Host memory behind a radix tree, a small case worked out by hand, for the engine and for the reference.
 *
 * Pages of 4 tokens, 5 of them; a step takes 100 ns. A page is written in 20 ns, read in `read_ns`, a transfer has 10 ns of
 * latency. Of three requests with one token of output each
 *   0  comes at 0 with 8 tokens: step 0..100, 2 pages enter, written 100..150
 *   1  comes at 1000 with 16 others: 4 pages, so 2 leave the pool; step 1000..1100, written 1100..1190
 *   2  comes at 2000 with the 8 tokens of the first and 4 of its own: 2 pages are read
 */
#include "reference/ref_int.h"
#include "support/check_main.h"
#include "support/engine_run.h"

enum { LAYERS = 4 };

static void add(struct ref_input *input, int64_t at_ns, int64_t first, int64_t count, int64_t own)
{
    struct ref_request_in *request = &input->requests[input->request_count];
    ref_request_defaults(request);
    request->arrival_ns = at_ns;
    request->prompt_tokens = count + own;
    request->ranges = ref_alloc(2, sizeof(*request->ranges));
    request->ranges[0] = (struct ref_range){.first = first, .count = count};
    request->ranges[1] = (struct ref_range){.first = 900000, .count = own};
    request->range_count = own > 0 ? 2 : 1;
    input->request_count++;
}

static void fill(struct ref_input *input, int64_t read_ns, int64_t threshold)
{
    *input = (struct ref_input){.step = {.a = 100 * REF_TICKS_PER_NS}};
    ref_engine_defaults(&input->engine);
    struct ref_engine *engine = &input->engine;
    engine->block_size = 4;
    engine->num_blocks = 6;
    engine->max_model_len = 20;
    engine->max_num_batched_tokens = 64;
    engine->async_scheduling = false;
    engine->is_radix = true;
    engine->tier = (struct ref_tier){.chunk_blocks = 1,
                                     .count = 1,
                                     .store = REF_STORE_FILLED,
                                     .load_layers = LAYERS,
                                     .read_batch = 1,
                                     .load_threshold = threshold};
    engine->tier.levels[0] = (struct ref_level){.capacity_chunks = 100,
                                                .latency_ticks = 10 * REF_TICKS_PER_NS,
                                                .read_ticks = read_ns * REF_TICKS_PER_NS,
                                                .write_ticks = 20 * REF_TICKS_PER_NS};
    input->requests = ref_alloc(3, sizeof(*input->requests));
    add(input, 0, 1000, 8, 0);
    add(input, 1000, 5000, 16, 0);
    add(input, 2000, 1000, 8, 4);
}

/* When the last request ends, and how many of its tokens were found, with either. */
static void check(int64_t read_ns, int64_t threshold, int64_t end_ns, int64_t cached)
{
    struct ref_input input;
    struct ref_output expected;
    struct engine_run run;
    fill(&input, read_ns, threshold);
    ck_assert_int_eq(ref_run(&input, &expected), 0);
    ck_assert_int_eq(expected.requests[2].finish_ns, end_ns);
    ck_assert_int_eq(expected.requests[2].cached_tokens, cached);
    engine_run_reference_input(&input, SERVE_JUMP, &run);
    ck_assert_uint_eq(run.requests.count, 3);
    ck_assert_int_eq(run.requests.at[2].finish_ns, end_ns);
    ck_assert_int_eq(run.requests.at[2].cached_tokens, cached);
    const struct serve_tier_result *host = &run.result.replicas[0].tiers[0];
    ck_assert_int_eq(host->written_blocks,
                     2 + 4 + 1); // the last page of the third is new, or it is all
    ck_assert_int_eq(host->read_blocks, cached / 4);
    ck_assert_int_eq(host->held_chunks, 7);
    ck_assert(host->write_ticks == (base_i128)(3 * 10 + 7 * 20) * REF_TICKS_PER_NS);
    engine_run_release(&run);
    ref_output_free(&expected);
    ref_input_free(&input);
}

// Read in 10 + 16 ns, the first layer's part after 10 + 4; then 100 ns of computation.
START_TEST(a_step_begins_with_the_first_layer)
{
    check(8, 8, 2000 + 14 + 100, 8);
}
END_TEST

// Read in 10 + 800 ns; the last layer is computed in 25 ns after that.
START_TEST(a_step_ends_with_the_last_layer)
{
    check(400, 8, 2000 + 810 + 25, 8);
}
END_TEST

START_TEST(what_is_too_little_is_computed)
{
    check(8, 9, 2000 + 100, 0);
}
END_TEST

/*
 * A disk below, 7 pages in host memory. Between the second request and the last one comes, at 1500, one of 12 tokens: the second's
 * pages leave the pool, and host memory, which lacks 2 pages for the 3 new ones, lets the first's go and then the second's. So
 * the last one's beginning is on disk alone. A page is read from there in 4 ns, with 5 ns of latency: at 2009 and 2013.
 */
static void check_disk(enum ref_prefetch prefetch, int64_t patience_ns, int64_t end_ns,
                       int64_t cached, int64_t read)
{
    struct ref_input input;
    struct ref_output expected;
    struct engine_run run;
    fill(&input, 8, 4);
    struct ref_tier *tier = &input.engine.tier;
    tier->count = 2;
    tier->levels[0].capacity_chunks = 7;
    tier->levels[1] = (struct ref_level){.capacity_chunks = 100,
                                         .latency_ticks = 5 * REF_TICKS_PER_NS,
                                         .read_ticks = 4 * REF_TICKS_PER_NS,
                                         .write_ticks = 3 * REF_TICKS_PER_NS};
    tier->prefetch = prefetch;
    tier->prefetch_threshold = 8;
    tier->prefetch_base_ticks = patience_ns * REF_TICKS_PER_NS;
    tier->prefetch_most_ticks = 1000 * REF_TICKS_PER_NS;
    input.requests = ref_resize(input.requests, 4, sizeof(*input.requests));
    add(&input, 1500, 7000, 12, 0);
    ck_assert_int_eq(ref_run(&input, &expected), 0);
    ck_assert_int_eq(expected.requests[2].finish_ns, end_ns);
    ck_assert_int_eq(expected.requests[2].cached_tokens, cached);
    engine_run_reference_input(&input, SERVE_JUMP, &run);
    ck_assert_int_eq(run.requests.at[3].finish_ns, end_ns);
    ck_assert_int_eq(run.requests.at[3].cached_tokens, cached);
    const struct serve_tier_result *disk = &run.result.replicas[0].tiers[1];
    ck_assert_int_eq(disk->written_blocks, 2 + 4 + 3);
    ck_assert_int_eq(disk->read_blocks, read);
    ck_assert_int_eq(disk->hit_tokens, cached);
    engine_run_release(&run);
    ref_output_free(&expected);
    ref_input_free(&input);
}

// Looked at when it comes, with nothing there: no page is read.
START_TEST(best_effort_takes_what_has_come)
{
    check_disk(REF_PREFETCH_EFFORT, 0, 2000 + 100, 0, 0);
}
END_TEST

// At 2013 both pages are there; then they are loaded as above.
START_TEST(who_waits_has_all)
{
    check_disk(REF_PREFETCH_WAIT, 0, 2013 + 14 + 100, 8, 2);
}
END_TEST

// At 2010 one page is there, and one on its way, for nothing: read in 10 + 8 ns, the first layer's part after 10 + 2.
START_TEST(patience_ends)
{
    check_disk(REF_PREFETCH_TIME, 10, 2010 + 12 + 100, 4, 2);
}
END_TEST

/*
 * 12 pages in host memory. Two of 16 tokens after the second one drive its pages and the first's out of there. At 2000 comes one with
 * 12 of the second's tokens, whose client leaves at 2003: of 3 pages that are read for it, 2005 + 4 each, one is on its way and comes,
 * the others are not read. The last one, with the first's 8 tokens, comes before that or after: its pages are read from 2009
 * on, at 2018 and 2022.
 */
static void check_given_up(int64_t last_ns)
{
    struct ref_input input;
    struct ref_output expected;
    struct engine_run run;
    fill(&input, 8, 4);
    struct ref_tier *tier = &input.engine.tier;
    tier->count = 2;
    tier->levels[0].capacity_chunks = 12;
    tier->levels[1] = (struct ref_level){.capacity_chunks = 100,
                                         .latency_ticks = 5 * REF_TICKS_PER_NS,
                                         .read_ticks = 4 * REF_TICKS_PER_NS,
                                         .write_ticks = 3 * REF_TICKS_PER_NS};
    tier->prefetch = REF_PREFETCH_WAIT;
    tier->prefetch_threshold = 8;
    input.requests[2].arrival_ns = last_ns;
    input.requests = ref_resize(input.requests, 6, sizeof(*input.requests));
    add(&input, 1300, 7000, 16, 0);
    add(&input, 1600, 9000, 16, 0);
    add(&input, 2000, 5000, 12, 4);
    input.requests[5].abort_ns = 3;
    ck_assert_int_eq(ref_run(&input, &expected), 0);
    ck_assert_int_eq(expected.requests[5].outcome, REF_ABORTED);
    ck_assert_int_eq(expected.requests[2].finish_ns, 2022 + 14 + 100);
    ck_assert_int_eq(expected.requests[2].cached_tokens, 8);
    engine_run_reference_input(&input, SERVE_JUMP, &run);
    ck_assert_int_eq(run.requests.at[5].finish_ns, 2022 + 14 + 100);
    ck_assert_int_eq(run.requests.at[5].cached_tokens, 8);
    const struct serve_tier_result *disk = &run.result.replicas[0].tiers[1];
    ck_assert_int_eq(disk->read_blocks, 1 + 2);
    ck_assert(disk->read_ticks == (base_i128)(2 * 5 + 3 * 4) * REF_TICKS_PER_NS);
    engine_run_release(&run);
    ref_output_free(&expected);
    ref_input_free(&input);
}

START_TEST(what_is_given_up_makes_way_for_those_that_wait)
{
    check_given_up(2001);
}
END_TEST

START_TEST(what_is_given_up_makes_way_for_those_that_come)
{
    check_given_up(2004);
}
END_TEST

/*
 * The first three written back, host memory of 5 pages, a disk that writes a page in 500 ns. The second request drives the 2 pages of the first one
 * out at 1000: written 1000..1050, to the disk 1050..2055. One of 16 new tokens comes at `at_ns`, for which the second one's 4 pages
 * must go; the last one, with the first's 8 tokens, now at 3000.
 */
static void check_back(int64_t at_ns, int64_t second_end_ns, int64_t end_ns, int64_t cached,
                       int64_t written)
{
    struct ref_input input;
    struct ref_output expected;
    struct engine_run run;
    fill(&input, 8, 4);
    struct ref_tier *tier = &input.engine.tier;
    tier->store = REF_STORE_DROPPED;
    tier->count = 2;
    tier->levels[0].capacity_chunks = 5;
    tier->levels[1] = (struct ref_level){.capacity_chunks = 100,
                                         .latency_ticks = 5 * REF_TICKS_PER_NS,
                                         .read_ticks = 4 * REF_TICKS_PER_NS,
                                         .write_ticks = 500 * REF_TICKS_PER_NS};
    tier->prefetch = REF_PREFETCH_WAIT;
    tier->prefetch_threshold = 8;
    input.requests[2].arrival_ns = 3000;
    input.requests = ref_resize(input.requests, 4, sizeof(*input.requests));
    add(&input, at_ns, 7000, 16, 0);
    ck_assert_int_eq(ref_run(&input, &expected), 0);
    ck_assert_int_eq(expected.requests[1].finish_ns, 1000 + 50 + 100);
    ck_assert_int_eq(expected.requests[3].finish_ns, second_end_ns);
    ck_assert_int_eq(expected.requests[2].finish_ns, end_ns);
    ck_assert_int_eq(expected.requests[2].cached_tokens, cached);
    engine_run_reference_input(&input, SERVE_JUMP, &run);
    ck_assert_int_eq(run.requests.at[2].finish_ns, second_end_ns);
    ck_assert_int_eq(run.requests.at[3].finish_ns, end_ns);
    ck_assert_int_eq(run.requests.at[3].cached_tokens, cached);
    const struct serve_tier_result *host = &run.result.replicas[0].tiers[0];
    const struct serve_tier_result *disk = &run.result.replicas[0].tiers[1];
    ck_assert_int_eq(host->written_blocks, written);
    ck_assert_int_eq(disk->written_blocks, written);
    engine_run_release(&run);
    ref_output_free(&expected);
    ref_input_free(&input);
}

// Still being written to the disk, the first's pages stay: the second's find no room and are gone, and no step waits. So the last one
// finds 8 tokens in host memory.
START_TEST(what_is_written_down_stays)
{
    check_back(2000, 2000 + 100, 3000 + 14 + 100, 8, 2);
}
END_TEST

// On the disk they make room, and the second's pages are written in 10 + 80 ns before the step. They are on their way to the disk up
// to 4155, and leave no room for what the last one would read up.
START_TEST(what_is_written_makes_room)
{
    check_back(2060, 2060 + 90 + 100, 3000 + 100, 0, 2 + 4);
}
END_TEST

CHECK_MAIN("tree and tier by hand", what_is_given_up_makes_way_for_those_that_wait,
           what_is_given_up_makes_way_for_those_that_come, what_is_written_down_stays,
           what_is_written_makes_room, best_effort_takes_what_has_come, who_waits_has_all,
           patience_ends, a_step_begins_with_the_first_layer, a_step_ends_with_the_last_layer,
           what_is_too_little_is_computed)
