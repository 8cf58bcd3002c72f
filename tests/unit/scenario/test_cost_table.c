/* Level table: grids from a CSV, named axes, and what is wrong with its place. */
#include "load_text.h"

#include "cost/table.h"
#include "support/unit.h"

#define TABLE \
    "op,x,y,ms\nlin,8,0,2\nlin,1,0,1\natt,1,16,1\natt,1,0,0\natt,4,0,0\natt,4,16,3\nother,1,1,1\n"

#define SCENARIO(operators)                                                                      \
    "model: llama-3.1-8b\nengine: {profile: vllm-0.19, kv_cache_tokens: 4096, max_model_len: "   \
    "1024}\ncost: {level: table, file: table.csv, layers: 32, lookup: ceil, operators: "         \
    "{" operators                                                                                \
    "}}\nworkload: {arrival: {process: poisson, rate: 1/s}, prompt_tokens: 100, output_tokens: " \
    "10}\n"

#define GOOD "lin: {x: batch_tokens}, att: {x: decode_seqs, y: mean_decode_context, several: 1.5}"

static void load_with(struct loaded *loaded, const char *text, const char *table)
{
    char path[160];
    loaded_begin(loaded);
    snprintf(path, sizeof path, "%s/table.csv", loaded->folder);
    write_text(loaded->path, text);
    if (table != NULL)
        write_text(path, table);
    loaded_run(loaded, SCENARIO_FOR_RUN, NULL, 0);
    unlink(path);
}

START_TEST(grids_are_sorted)
{
    struct loaded loaded;
    load_with(&loaded, SCENARIO(GOOD), TABLE);
    ck_assert_msg(loaded.status == KVSIM_OK, "%s", loaded.diags.at[0].message);
    const struct cost_table *table = loaded.config->cost.options->table;
    ck_assert_int_eq(table->layer_count, 32);
    ck_assert_int_eq(table->lookup, COST_LOOKUP_CEIL);
    ck_assert_uint_eq(table->operator_count, 2);
    const struct cost_table_operator *attention = &table->operators[1];
    ck_assert_int_eq(attention->y, COST_AXIS_MEAN_DECODE_CONTEXT);
    ck_assert_double_eq(attention->several, 1.5);
    ck_assert_uint_eq(attention->x_count, 2);
    ck_assert_uint_eq(attention->y_count, 2);
    ck_assert_double_eq(attention->ms[3], 3);
    ck_assert_double_eq(table->operators[0].ms[1], 2);
    loaded_end(&loaded);
}
END_TEST

static void refused(const char *text, const char *table, enum kvsim_status status, const char *part)
{
    struct loaded loaded;
    load_with(&loaded, text, table);
    ck_assert_int_eq(loaded.status, status);
    ck_assert_msg(strstr(loaded.diags.at[0].message, part) != NULL, "'%s' lacks '%s'",
                  loaded.diags.at[0].message, part);
    loaded_end(&loaded);
}

START_TEST(wrong_tables_are_refused)
{
    refused(SCENARIO(GOOD), NULL, KVSIM_ERR_IO, "table.csv");
    refused(SCENARIO(GOOD), "op,x,y\nlin,1,0\n", KVSIM_ERR_SCENARIO, "op,x,y,ms");
    refused(SCENARIO(GOOD), "op,x,y,ms\nlin,1,0,1\natt,1,0,1\natt,2,16,1\n", KVSIM_ERR_SCENARIO,
            "not every combination");
    refused(SCENARIO(GOOD), "op,x,y,ms\natt,1,0,1\n", KVSIM_ERR_SCENARIO,
            "no row of operator 'lin'");
    refused(SCENARIO(GOOD), "op,x,y,ms\nlin,1,0,-1\n", KVSIM_ERR_SCENARIO, "negative");
    refused(SCENARIO("lin: {x: tokens}"), TABLE, KVSIM_ERR_SCENARIO, "batch_tokens");
    refused(SCENARIO("lin: {y: batch_tokens}"), TABLE, KVSIM_ERR_SCENARIO, "axis 'x'");
    refused(SCENARIO("att: {x: decode_seqs}"), TABLE, KVSIM_ERR_SCENARIO, "several y");
}
END_TEST

int main(void)
{
    return unit_run("scenario.cost_table",
                    (const TTest *const[]){grids_are_sorted, wrong_tables_are_refused, NULL});
}
