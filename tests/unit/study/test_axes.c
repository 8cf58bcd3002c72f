#include "support/unit.h"

#include "study/axes.h"

#include <string.h>

static struct kvsim_error err;

static void add(struct study_axes *axes, const char *text)
{
    ck_assert_msg(study_axes_add(axes, text, &err) == KVSIM_OK, "%s: %s", text, err.message);
}

static void refuse(struct study_axes *axes, const char *text, const char *words)
{
    ck_assert_int_eq(study_axes_add(axes, text, &err), KVSIM_ERR_USAGE);
    ck_assert_msg(strstr(err.message, words) != NULL, "%s: %s", text, err.message);
}

START_TEST(crossed_points_run_over_the_last_axis_first)
{
    struct study_axes axes;
    study_axes_init(&axes);
    add(&axes, "concurrency=1..4*2");
    add(&axes, "context=1k,2k");
    ck_assert_int_eq(study_axes_check(&axes, &err), KVSIM_OK);
    ck_assert_uint_eq(study_axes_point_count(&axes), 6);
    static const char *const values[][2] = {{"1", "1024"}, {"1", "2048"}, {"2", "1024"},
                                            {"2", "2048"}, {"4", "1024"}, {"4", "2048"}};
    for (size_t i = 0; i < 6; i++) {
        ck_assert_str_eq(study_axes_value(&axes, i, 0), values[i][0]);
        ck_assert_str_eq(study_axes_value(&axes, i, 1), values[i][1]);
    }
    study_axes_free(&axes);
}
END_TEST

START_TEST(zipped_axes_run_side_by_side)
{
    struct study_axes axes;
    study_axes_init(&axes);
    axes.is_zipped = true;
    add(&axes, "hardware=h100-sxm,l40s");
    add(&axes, "engine.tensor_parallel_size=1,2");
    ck_assert_int_eq(study_axes_check(&axes, &err), KVSIM_OK);
    ck_assert_uint_eq(study_axes_point_count(&axes), 2);
    ck_assert_str_eq(study_axes_value(&axes, 1, 0), "l40s");
    ck_assert_str_eq(study_axes_value(&axes, 1, 1), "2");
    add(&axes, "engine.block_size=16");
    ck_assert_int_eq(study_axes_check(&axes, &err), KVSIM_ERR_USAGE);
    study_axes_free(&axes);
}
END_TEST

START_TEST(ranges_are_read_in_the_unit_of_the_key)
{
    struct study_axes axes;
    study_axes_init(&axes);
    add(&axes, "engine.max_model_len=1k..3k+1k"); // tokens: k = 1024
    add(&axes, "run.requests=1k..3k+1k");         // a count: k = 1000
    add(&axes, "workload.arrival.rate=2/s..8/s*2");
    ck_assert_str_eq(study_axes_value(&axes, 0, 0), "1024");
    ck_assert_str_eq(study_axes_value(&axes, 0, 1), "1000");
    ck_assert_str_eq(study_axes_value(&axes, 1, 2), "4/s");
    study_axes_free(&axes);
}
END_TEST

START_TEST(wrong_forms_are_usage_errors)
{
    struct study_axes axes;
    study_axes_init(&axes);
    refuse(&axes, "concurrency", "KEY=LIST");
    refuse(&axes, "=1,2", "KEY=LIST");
    refuse(&axes, "concurrency=0", "below 1");
    refuse(&axes, "context=many", "many");
    study_axes_free(&axes);
    study_axes_init(&axes);
    add(&axes, "engine.block-size=8,16");
    ck_assert_str_eq(axes.at[0].key, "engine.block_size"); // as the scenario writes it
    refuse(&axes, "engine.block-size=32", "already");
    study_axes_free(&axes);
}
END_TEST

START_TEST(bases_are_the_combinations_of_ordinary_keys)
{
    struct study_axes axes;
    study_axes_init(&axes);
    add(&axes, "hardware=h100-sxm,l40s");
    add(&axes, "context=1k,2k,4k");
    add(&axes, "engine.block_size=16,32");
    ck_assert_uint_eq(study_axes_base_count(&axes), 4);
    for (size_t point = 0; point < study_axes_point_count(&axes); point++) {
        size_t base = study_axes_base(&axes, point), other = study_axes_base_point(&axes, base);
        ck_assert(base < 4);
        ck_assert_uint_eq(study_axes_base(&axes, other), base);
        ck_assert_str_eq(study_axes_value(&axes, point, 0), study_axes_value(&axes, other, 0));
        ck_assert_str_eq(study_axes_value(&axes, point, 2), study_axes_value(&axes, other, 2));
    }
    study_axes_free(&axes);
}
END_TEST

static const char *find(const struct study_overrides *overrides, const char *key)
{
    for (size_t i = 0; i < overrides->count; i++) {
        if (strcmp(overrides->at[i].key, key) == 0)
            return overrides->at[i].value;
    }
    return NULL;
}

START_TEST(context_fixes_lengths_and_concurrency_closes_the_loop)
{
    struct study_axes axes;
    struct study_overrides overrides = {0};
    struct study_base_facts facts = {
        .max_model_tokens = 4096, .class_count = 1, .output_tokens = {248}};
    const char *refusal;
    study_axes_init(&axes);
    add(&axes, "concurrency=8");
    add(&axes, "context=200,2k,8k");
    study_axes_overrides(&axes, 1, &facts, &axes.arena, &overrides, &refusal);
    ck_assert_ptr_null(refusal);
    ck_assert_str_eq(find(&overrides, "workload.arrival"),
                     "{process: closed_loop, concurrency: 8}");
    ck_assert_str_eq(find(&overrides, "workload.output_tokens"), "248");
    ck_assert_str_eq(find(&overrides, "workload.prompt_tokens"), "1800");
    ck_assert_str_eq(find(&overrides, "run.requests"), "2000"); // nothing else ends the loop
    ck_assert_ptr_null(find(&overrides, "engine.max_model_len"));
    base_vec_free(&overrides);

    study_axes_overrides(&axes, 2, &facts, &axes.arena, &overrides, &refusal);
    ck_assert_str_eq(find(&overrides, "engine.max_model_len"), "8192");
    base_vec_free(&overrides);

    study_axes_overrides(&axes, 0, &facts, &axes.arena, &overrides, &refusal);
    ck_assert_ptr_nonnull(refusal);
    ck_assert_ptr_nonnull(strstr(refusal, "leaves no prompt"));
    base_vec_free(&overrides);
    study_axes_free(&axes);
}
END_TEST

/* The scenario's own limit gives way to a context; one that an axis states does not, whichever axis comes first. */
START_TEST(a_context_beyond_an_axis_is_refused)
{
    static const char *const orders[][2] = {{"context=2k,8k", "engine.max-model-len=4k"},
                                            {"engine.max_model_len=4k", "context=2k,8k"}};
    struct study_base_facts facts = {
        .max_model_tokens = 4096, .class_count = 1, .output_tokens = {248}};
    for (size_t i = 0; i < 2; i++) {
        struct study_axes axes;
        struct study_overrides overrides = {0};
        const char *refusal;
        study_axes_init(&axes);
        add(&axes, orders[i][0]);
        add(&axes, orders[i][1]);
        study_axes_overrides(&axes, 0, &facts, &axes.arena, &overrides, &refusal);
        ck_assert_ptr_null(refusal);
        study_axes_overrides(&axes, 1, &facts, &axes.arena, &overrides, &refusal);
        ck_assert_ptr_nonnull(refusal);
        ck_assert_str_eq(refusal, "a context of 8192 tokens is above this point's "
                                  "engine.max_model_len of 4096");
        base_vec_free(&overrides);
        study_axes_free(&axes);
    }
}
END_TEST

START_TEST(classes_keep_their_own_answers)
{
    struct study_axes axes;
    struct study_overrides overrides = {0};
    struct study_base_facts facts = {.has_length_limit = true,
                                     .max_model_tokens = 4096,
                                     .class_count = 2,
                                     .has_classes = true,
                                     .output_tokens = {100, 50}};
    const char *refusal;
    study_axes_init(&axes);
    add(&axes, "context=1000");
    study_axes_overrides(&axes, 0, &facts, &axes.arena, &overrides, &refusal);
    ck_assert_str_eq(find(&overrides, "workload.classes.0.prompt_tokens"), "900");
    ck_assert_str_eq(find(&overrides, "workload.classes.1.prompt_tokens"), "950");
    ck_assert_ptr_null(find(&overrides, "run.requests"));
    base_vec_free(&overrides);
    study_axes_free(&axes);
}
END_TEST

int main(void)
{
    return unit_run("study.axes",
                    (const TTest *const[]){
                        crossed_points_run_over_the_last_axis_first, zipped_axes_run_side_by_side,
                        ranges_are_read_in_the_unit_of_the_key, wrong_forms_are_usage_errors,
                        bases_are_the_combinations_of_ordinary_keys,
                        context_fixes_lengths_and_concurrency_closes_the_loop,
                        a_context_beyond_an_axis_is_refused, classes_keep_their_own_answers, NULL});
}
