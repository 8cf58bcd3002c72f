#include "support/unit.h"

#include "unit/conf/tree.h"

/* What PyTorch users download, with everything that troubles a YAML reader: tabs, escapes, Infinity. */
START_TEST(a_config_is_read_as_it_is)
{
    static const char config[] = "{\n"
                                 "\t\"architectures\": [\"LlamaForCausalLM\"],\n"
                                 "\t\"rope_scaling\":\t{\"factor\": 8.0, \"low\\/high\": null},\r\n"
                                 "  \"time_step_limit\": [0.0, Infinity],\n"
                                 "  \"rms_norm_eps\": 1e-05, \"tie\": false,\n"
                                 "  \"note\": \"\\u00e4\\ud83d\\ude00\"\n"
                                 "}\n";
    struct base_arena arena;
    base_arena_init(&arena);
    struct conf_node *root = tree_of(&arena, config);
    tree_prints(root,
                "{architectures: [LlamaForCausalLM], note: \"\xC3\xA4\xF0\x9F\x98\x80\", "
                "rms_norm_eps: 1e-05, rope_scaling: {factor: 8.0, low/high: null}, tie: false, "
                "time_step_limit: [0.0, Infinity]}");
    const struct conf_node *eps = conf_get(root, "rms_norm_eps");
    ck_assert_int_eq(eps->line, 5);
    ck_assert_int_eq(eps->column, 19);
    ck_assert(!eps->quoted);
    const struct conf_node *name = conf_get(root, "architectures")->items[0];
    ck_assert(name->quoted);
    ck_assert_int_eq(name->line, 2);
    ck_assert_int_eq(name->column, 20);
    ck_assert_int_eq(conf_key(root, "tie")->column, 26);
    ck_assert(conf_is_null(conf_get(conf_get(root, "rope_scaling"), "low/high")));
    base_arena_release(&arena);
}
END_TEST

START_TEST(words_in_quotes_are_texts)
{
    tree_is("[\"null\", \"1\", \"true\", null, 1, true]",
            "[\"null\", \"1\", \"true\", null, 1, true]");
}
END_TEST

START_TEST(flow_yaml_is_not_json_and_read_all_the_same)
{
    tree_is("{a: 1, b: [x, y]}", "{a: 1, b: [x, y]}");
    tree_is("[1, 2,] # comment", "[1, 2]");
    tree_is("{\"a\": 'x'}", "{a: x}");
}
END_TEST

START_TEST(limits_hold_for_json_too)
{
    char deep[200];
    memset(deep, '[', 33);
    memset(deep + 33, ']', 33);
    deep[66] = '\0';
    tree_fails(deep, 1, 33, "too-deep");
    deep[32] = '1'; // 32 levels, and one bracket too many at the end
    deep[65] = '\0';
    tree_is(deep, deep);
    tree_fails("{\"a\": 1,\n \"b\": 2, \"a\": 3}", 2, 10, "duplicate-key");
    tree_fails("{\"a-b\": 1, \"a_b\": 2}", 1, 12, "duplicate-key");
}
END_TEST

START_TEST(too_many_values)
{
    size_t count = 100001, bytes = 2 * count + 2;
    char *text = malloc(bytes);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + 2 * i, i == 0 ? "[1" : ",1", 2);
    memcpy(text + 2 * count, "]", 2);
    tree_fails(text, 1, 200000, "too-many-nodes"); // the list is a value, too
    text[2 * (count - 2)] = ']';
    text[2 * (count - 2) + 1] = '\0';
    struct base_arena arena;
    base_arena_init(&arena);
    ck_assert_uint_eq(tree_of(&arena, text)->count, 99999);
    base_arena_release(&arena);
    free(text);
}
END_TEST

/* In a file named .json a fault is JSON's, not what YAML makes of it. */
START_TEST(a_json_file_has_json_errors)
{
    struct kvsim_error err;
    static const char missing_comma[] = "{\n  \"a\": 1\n  \"b\": 2\n}";
    bytes_fail("config.json", missing_comma, strlen(missing_comma), 3, 3, "bad-json", &err);
    ck_assert_str_eq(err.message, "expected ',' or '}'");
    bytes_fail("config.json", "{\"a\": 1} x", 10, 1, 10, "bad-json", NULL);
    bytes_fail("config.json", "{\"a\": \"x", 8, 1, 9, "bad-json", NULL);
    bytes_fail("config.json", "{\"a\": \"\\u0000\"}", 15, 1, 14, "bad-json", NULL);
    bytes_fail("config.json", "{\"a\": 1", 7, 1, 8, "bad-json", NULL);
}
END_TEST

int main(void)
{
    return unit_run("conf.json_doc", (const TTest *const[]){
                                         a_config_is_read_as_it_is,
                                         words_in_quotes_are_texts,
                                         flow_yaml_is_not_json_and_read_all_the_same,
                                         limits_hold_for_json_too,
                                         too_many_values,
                                         a_json_file_has_json_errors,
                                         NULL,
                                     });
}
