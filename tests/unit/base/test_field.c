#include "support/unit.h"

#include "base/field.h"

#include <string.h>

static const struct base_field table[] = {
    {.key = "max_num_batched_tokens", .also = "chunk_tokens token-budget"},
    {.key = "prompt_tokens"},
    {.key = "tp", .also = "tensor_parallel_size"},
    {.key = "seed"},
    {0},
};

START_TEST(keys_are_equal_with_hyphens_for_underscores)
{
    ck_assert(base_key_equal("max_num_seqs", "max-num-seqs"));
    ck_assert(base_key_equal("", ""));
    ck_assert(!base_key_equal("max_num_seqs", "max_num_seq"));
    ck_assert(!base_key_equal("max_num_seq", "max_num_seqs"));
    ck_assert(!base_key_equal("a_b", "A_b"));
}
END_TEST

START_TEST(rows_are_found_by_any_spelling)
{
    ck_assert_ptr_eq(base_field_find(table, "max-num-batched-tokens"), &table[0]);
    ck_assert_ptr_eq(base_field_find(table, "chunk_tokens"), &table[0]);
    ck_assert_ptr_eq(base_field_find(table, "token_budget"), &table[0]);
    ck_assert_ptr_eq(base_field_find(table, "tensor-parallel-size"), &table[2]);
    ck_assert_ptr_null(base_field_find(table, "token"));
    ck_assert_ptr_null(base_field_find(table, ""));
    ck_assert_ptr_null(base_field_find(NULL, "seed"));
}
END_TEST

START_TEST(the_nearest_name_is_near)
{
    ck_assert_str_eq(base_field_nearest(table, "max_num_batch_tokens"), "max_num_batched_tokens");
    ck_assert_str_eq(base_field_nearest(table, "promt_tokens"), "prompt_tokens");
    ck_assert_str_eq(base_field_nearest(table, "prompt-tokesn"), "prompt_tokens");
    ck_assert_str_eq(base_field_nearest(table, "tensor_paralel_size"), "tp");
    ck_assert_str_eq(base_field_nearest(table, "Seed"), "seed");
    ck_assert_str_eq(base_field_nearest(table, "sede"), "seed");
    ck_assert_ptr_null(base_field_nearest(table, "gpu_memory_utilization"));
    ck_assert_ptr_null(base_field_nearest(table, "xy"));
    ck_assert_ptr_null(base_field_nearest(table, ""));
}
END_TEST

START_TEST(nearest_survives_monsters)
{
    char monster[5000];
    memset(monster, 'a', sizeof monster - 1);
    monster[sizeof monster - 1] = '\0';
    ck_assert_ptr_null(base_field_nearest(table, monster));
}
END_TEST

START_TEST(nearest_of_names_takes_the_closest)
{
    static const char *const names[] = {"poisson", "gamma", "weibull", "gama", NULL};
    ck_assert_str_eq(base_name_nearest(names, "poison"), "poisson");
    ck_assert_str_eq(base_name_nearest(names, "gamam"), "gamma");
    ck_assert_str_eq(base_name_nearest(names, "gama"), "gama");
    ck_assert_ptr_null(base_name_nearest(names, "deterministic"));
}
END_TEST

int main(void)
{
    return unit_run("base.field", (const TTest *const[]){
                                      keys_are_equal_with_hyphens_for_underscores,
                                      rows_are_found_by_any_spelling,
                                      the_nearest_name_is_near,
                                      nearest_survives_monsters,
                                      nearest_of_names_takes_the_closest,
                                      NULL,
                                  });
}
