/* The tables of `cost:` reach the members that they name. */
#include "fixture.h"

#include "base/field.h"

static void number_set(const struct base_field *table, void *at, const char *key, double value)
{
    const struct base_field *field = base_field_find(table, key);
    ck_assert_msg(field != NULL, "%s", key);
    ck_assert_int_eq(field->type, BASE_REAL);
    double *member = (double *)(void *)((char *)at + field->offset);
    *member = value;
    if (field->has_offset)
        *((bool *)at + field->has_offset) = true;
}

START_TEST(host_keys_fill_the_options)
{
    struct cost_options options = {0};
    const struct base_field *host = base_field_find(cost_fields, "host");
    ck_assert_uint_eq(host->offset, 0);
    number_set(host->sub, &options, "per_step", 5);
    number_set(host->sub, &options, "per_sequence", 6);
    ck_assert(options.has_host_per_step && options.has_host_per_sequence &&
              !options.has_host_overlap);
    ck_assert_double_eq(options.host_per_step_ns, 5);
    ck_assert_double_eq(options.host_per_sequence_ns, 6);
}
END_TEST

START_TEST(affine_keys_fill_their_struct)
{
    struct cost_options options = {0};
    const struct base_field *affine = base_field_find(cost_fields, "affine");
    void *at = (char *)&options + affine->offset;
    static const char *const keys[] = {
        "base",           "per_prefill_token", "per_prefill_token_context",
        "per_decode_seq", "per_context_token", "prefill_rate"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        number_set(affine->sub, at, keys[i], (double)i + 1);
    ck_assert_double_eq(options.affine.base_ns, 1);
    ck_assert_double_eq(options.affine.per_prefill_token_ns, 2);
    ck_assert_double_eq(options.affine.per_prefill_token_context_ns, 3);
    ck_assert_double_eq(options.affine.per_decode_seq_ns, 4);
    ck_assert_double_eq(options.affine.per_context_token_ns, 5);
    ck_assert(options.affine.has_prefill_rate);
    ck_assert_double_eq(options.affine.prefill_rate_per_s, 6);
}
END_TEST

START_TEST(other_keys_are_there)
{
    struct cost_options options = {0};
    const struct base_field *fixed = base_field_find(cost_fields, "fixed");
    const struct base_field *step = base_field_find(fixed->sub, "step");
    ck_assert_uint_eq(fixed->offset + step->offset, offsetof(struct cost_options, fixed_step_ns));
    const struct base_field *level = base_field_find(cost_fields, "level");
    ck_assert_ptr_eq(level->choices, cost_level_choices);
    ck_assert_uint_eq(level->has_offset, (size_t)((char *)&options.has_level - (char *)&options));
    ck_assert_ptr_nonnull(base_field_find(cost_fields, "swap_per_block"));
    struct cost_kv_dtype_options kv = {0};
    number_set(cost_kv_dtype_fields, &kv, "read_efficiency", 0.5);
    number_set(cost_kv_dtype_fields, &kv, "dequant_cost", 7);
    ck_assert_double_eq(kv.read_fraction, 0.5);
    ck_assert_double_eq(kv.dequant_ns_per_token, 7);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("fields");
    tcase_add_test(tests, host_keys_fill_the_options);
    tcase_add_test(tests, affine_keys_fill_their_struct);
    tcase_add_test(tests, other_keys_are_there);
    return fixture_run(tests);
}
