#include "support/unit.h"

#include "unit/conf/tree.h"

START_TEST(keys_are_sorted_and_numbers_stay_as_written)
{
    tree_is("b: 1.50\na: 0x10\nB: 1e3\nmax-num-seqs: 80 GiB\nmax_a: [2, 1]\n",
            "{B: 1e3, a: 0x10, b: 1.50, max_a: [2, 1], max_num_seqs: 80 GiB}");
    tree_is("{}", "{}");
    tree_is("[]", "[]");
    tree_is("a: {}\nb: []", "{a: {}, b: []}");
}
END_TEST

START_TEST(quotes_stand_only_where_they_matter)
{
    tree_is("a: 'x'", "{a: x}");
    tree_is("a: '5'", "{a: \"5\"}");
    tree_is("a: 5", "{a: 5}");
    tree_is("a: 'true'", "{a: \"true\"}");
    tree_is("a: true", "{a: true}");
    tree_is("a: 'inf'", "{a: \"inf\"}");
    tree_is("a: '~'", "{a: \"~\"}");
    tree_is("a: -0.5", "{a: -0.5}");
    tree_is("a: '-'", "{a: \"-\"}");
    tree_is("slo: ['ttft p99 <= 2 s']", "{slo: [ttft p99 <= 2 s]}");
    tree_is("a: 'x: y'", "{a: \"x: y\"}");
    tree_is("a: 'x, y'", "{a: \"x, y\"}");
    tree_is("a: 'x #y'", "{a: \"x #y\"}");
    tree_is("a: ' x'", "{a: \" x\"}");
    tree_is("a: \"q\\\"\\\\\"", "{a: \"q\\\"\\\\\"}");
    tree_is("'a key': 1\n'5': 2\n", "{5: 2, \"a key\": 1}");
}
END_TEST

START_TEST(characters_that_do_not_survive_are_escaped)
{
    tree_is("a: \"\\t\\x01\\x85\\u2028\\uFEFF\"", "{a: \"\\x09\\x01\\x85\\u2028\\ufeff\"}");
    tree_is("a: \xC3\xA4", "{a: \"\xC3\xA4\"}");
}
END_TEST

START_TEST(what_is_printed_is_read_back)
{
    static const char text[] = "a: [1, '1', x, 'null', ~, \"t\\n\\te\\\\\", 'it''s']\nb: {'c d': "
                               "{e-f: !!str 7}}\nt: |\n  x\n  y\n";
    struct base_arena arena;
    struct base_text first = {0}, second = {0};
    base_arena_init(&arena);
    conf_print(tree_of(&arena, text), &first);
    conf_print(tree_of(&arena, first.at), &second);
    ck_assert_str_eq(first.at, second.at);
    ck_assert_str_eq(first.at, "{a: [1, \"1\", x, \"null\", null, \"t\\x0a\\x09e\\\\\", \"it's\"], "
                               "b: {\"c d\": {e_f: \"7\"}}, t: \"x\\x0ay\\x0a\"}");
    base_text_free(&first);
    base_text_free(&second);
    base_arena_release(&arena);
}
END_TEST

START_TEST(the_order_in_the_file_does_not_matter)
{
    tree_is("a: {x: 1, y: 2}\nb: 3", "{a: {x: 1, y: 2}, b: 3}");
    tree_is("b: 3\na:\n  y: 2\n  x: 1", "{a: {x: 1, y: 2}, b: 3}");
}
END_TEST

int main(void)
{
    return unit_run("conf.print", (const TTest *const[]){
                                      keys_are_sorted_and_numbers_stay_as_written,
                                      quotes_stand_only_where_they_matter,
                                      characters_that_do_not_survive_are_escaped,
                                      what_is_printed_is_read_back,
                                      the_order_in_the_file_does_not_matter,
                                      NULL,
                                  });
}
