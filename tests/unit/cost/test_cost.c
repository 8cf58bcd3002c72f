#include "fixture.h"

#include "cost/fields.h"

START_TEST(levels_have_names)
{
    int count = 0;
    for (const struct base_choice *choice = cost_level_choices; choice->name; choice++, count++)
        ck_assert_str_eq(cost_level_name((enum cost_level)choice->value), choice->name);
    ck_assert_int_eq(count, 5);
    ck_assert_str_eq(cost_bound_name(COST_KV_BANDWIDTH), "kv_bandwidth");
    ck_assert_str_eq(cost_bound_name(COST_HOST), "host");
}
END_TEST

START_TEST(level_follows_the_hardware)
{
    struct spec_hardware hardware = fixture_h100();
    struct cost_options options = {.level = COST_FIXED};
    ck_assert_int_eq(cost_level_resolve(&options, &hardware), COST_DATASHEET);
    ck_assert_int_eq(cost_level_resolve(&options, NULL), COST_DATASHEET);
    hardware.has_calibration = true;
    ck_assert_int_eq(cost_level_resolve(&options, &hardware), COST_CALIBRATED);
    options.has_level = true;
    ck_assert_int_eq(cost_level_resolve(&options, &hardware), COST_FIXED);
}
END_TEST

static void refused(struct fixture *fixture, const char *part)
{
    ck_assert_int_eq(fixture_try(fixture), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(fixture->err.message, part), "'%s' lacks '%s'", fixture->err.message,
                  part);
    fixture_release(fixture);
}

START_TEST(what_is_not_there_is_refused)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture.options.level = COST_CALIBRATED;
    refused(&fixture, "h100 has no calibration");

    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture.options.level = COST_TABLE;
    refused(&fixture, "table");

    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture.hardware.memory_bytes_per_s = 0;
    refused(&fixture, "bandwidth of h100");

    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    memset(fixture.hardware.flop_per_s, 0, sizeof fixture.hardware.flop_per_s);
    refused(&fixture, "rate of h100");

    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture.config.quantization = "fp9";
    refused(&fixture, "fp9");

    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture.config.dtype = "int4";
    refused(&fixture, "int4");

    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture.model.only_groups = true;
    refused(&fixture, "llama-3.1-8b");

    fixture_init(&fixture, fixture_h100(), fixture_llama8b());
    fixture.config.hardware = NULL;
    refused(&fixture, "hardware");
}
END_TEST

START_TEST(windows_are_found_once)
{
    struct fixture fixture;
    fixture_init(&fixture, fixture_h100(), fixture_windowed());
    fixture.model.groups[2] = fixture.model.groups[1];
    fixture.model.group_count = 3;
    fixture_start(&fixture);
    ck_assert_uint_eq(cost_window_count(fixture.cost), 1);
    ck_assert_int_eq(cost_window_at(fixture.cost, 0)->tokens, 4096);
    fixture_release(&fixture);

    fixture_init(&fixture, fixture_h100(), fixture_windowed());
    fixture.model.group_count = 6;
    for (size_t i = 1; i < 6; i++) {
        fixture.model.groups[i] = fixture.model.groups[1];
        fixture.model.groups[i].window_tokens = (uint32_t)(1000 + i);
    }
    refused(&fixture, "windows");
}
END_TEST

START_TEST(seconds_are_rounded_once)
{
    ck_assert_int_eq(cost_ticks_from_ns(1), BASE_TICKS_PER_NS);
    ck_assert_int_eq(cost_ticks_from_ns(1e-6), 1); // 1.05 ticks
    ck_assert_int_eq(cost_ticks_from_ns(2.5 / 1048576), 2);
    ck_assert_int_eq(cost_ticks_from_ns(3.5 / 1048576), 4); // halves to even
    ck_assert_int_eq(cost_ticks_from_s(1), 1000000000 * BASE_TICKS_PER_NS);
    ck_assert_int_eq(cost_ticks_from_s(-1), 0);
    ck_assert_int_eq(cost_ticks_from_s(1e9), COST_TICKS_MAX);
}
END_TEST

START_TEST(parts_meet_in_the_outer_maximum)
{
    struct cost_parts parts = {
        .class_s = {1e-3, 4e-3, 2e-3, 0, 0}, .launch_s = 5e-3, .host_s = 6e-3};
    struct cost_result result = cost_parts_result(&parts); // device 7 ms, host on top
    ck_assert_int_eq(result.ticks, cost_ticks_from_s(13e-3));
    ck_assert_int_eq(result.bound, COST_HOST);
    parts.overlap = true;
    result = cost_parts_result(&parts);
    ck_assert_int_eq(result.ticks, cost_ticks_from_s(7e-3));
    ck_assert_int_eq(result.bound, COST_WEIGHT_BANDWIDTH);
    parts.host_s = 8e-3;
    result = cost_parts_result(&parts);
    ck_assert_int_eq(result.ticks, cost_ticks_from_s(8e-3));
    ck_assert_int_eq(result.bound, COST_HOST);
    parts = (struct cost_parts){.class_s = {1e-3, 1e-3}};
    ck_assert_int_eq(cost_parts_result(&parts).bound, COST_COMPUTE);
    parts = (struct cost_parts){.launch_s = 0};
    ck_assert_int_eq(cost_parts_result(&parts).ticks, 1);
}
END_TEST

START_TEST(what_was_added_to_a_shape_can_be_taken_away)
{
    const struct cost_shape first = {.prefill_seq_count = 2,
                                     .prefill_tokens = 300,
                                     .prefill_area = 4000,
                                     .prefill_cached_tokens = 50,
                                     .emitting_count = 1,
                                     .decode_seq_count = 7,
                                     .decode_context_tokens = 900,
                                     .prefill_window_area = {11, 12, 13, 14},
                                     .decode_window_tokens = {21, 22, 23, 24},
                                     .cached_step_tokens = 16,
                                     .prefill_cached_rounded = 64,
                                     .prefill_chunk_squares = 5000};
    struct cost_shape shape = first;
    cost_shape_subtract(&shape, &first);
    ck_assert_uint_eq(shape.prefill_seq_count, 0);
    ck_assert_int_eq(shape.prefill_tokens, 0);
    ck_assert(shape.prefill_area == 0);
    ck_assert_int_eq(shape.prefill_cached_tokens, 0);
    ck_assert_uint_eq(shape.emitting_count, 0);
    ck_assert_uint_eq(shape.decode_seq_count, 0);
    ck_assert_int_eq(shape.decode_context_tokens, 0);
    for (size_t w = 0; w < COST_WINDOWS_MAX; w++) {
        ck_assert(shape.prefill_window_area[w] == 0);
        ck_assert_int_eq(shape.decode_window_tokens[w], 0);
    }
    ck_assert_int_eq(shape.cached_step_tokens, 16); // of the table of step times, no sum
    ck_assert_int_eq(shape.prefill_cached_rounded, 0);
    ck_assert(shape.prefill_chunk_squares == 0);
}
END_TEST

/* Against counting: of keys 1 ... n query n sees the last W, or those after the last multiple of W that is before it. */
static int64_t count_keys(const struct cost_window *window, int64_t n)
{
    int64_t count = 0;
    for (int64_t key = 1; key <= n; key++)
        count += window->is_chunked ? (key - 1) / window->tokens == (n - 1) / window->tokens
                                    : key > n - window->tokens;
    return count;
}

START_TEST(window_areas_are_counted)
{
    for (int64_t q = 0; q < 9; q++) {
        for (int64_t c = 0; c < 9; c++) {
            for (int64_t of = 2; of < 40; of++) {
                struct cost_window window = {of / 2, of % 2 == 1};
                int64_t pairs = 0;
                for (int64_t i = 1; i <= q; i++)
                    pairs += count_keys(&window, c + i);
                ck_assert(cost_window_area(&window, q, c) == pairs);
                ck_assert_int_eq(cost_window_keys(&window, c + q), count_keys(&window, c + q));
            }
        }
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cost");
    tcase_add_test(tests, levels_have_names);
    tcase_add_test(tests, level_follows_the_hardware);
    tcase_add_test(tests, what_is_not_there_is_refused);
    tcase_add_test(tests, windows_are_found_once);
    tcase_add_test(tests, seconds_are_rounded_once);
    tcase_add_test(tests, parts_meet_in_the_outer_maximum);
    tcase_add_test(tests, what_was_added_to_a_shape_can_be_taken_away);
    tcase_add_test(tests, window_areas_are_counted);
    return fixture_run(tests);
}
