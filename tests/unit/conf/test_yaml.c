#include "support/unit.h"

#include "unit/conf/tree.h"

START_TEST(the_forms_of_a_document)
{
    tree_is("a: 1\nb:\n  - x\n  - {y: 2}\nc: [1, 'two']\n", "{a: 1, b: [x, {y: 2}], c: [1, two]}");
    tree_is("---\na: 1\n...\n", "{a: 1}");
    tree_is("%YAML 1.2\n---\na: 1\n", "{a: 1}");
    tree_is("# comment\na: 1 # another\n", "{a: 1}");
    tree_is("a: |\n  two\n  lines\n", "{a: \"two\\x0alines\\x0a\"}");
    tree_is("just text", "just text");
    tree_is("- 1\n- 2", "[1, 2]");
    tree_is("a:\nb: ~\nc: null\nd: ''\n", "{a: null, b: null, c: null, d: \"\"}");
    tree_is("null: 1\n~: 2", "{null: 1, \"~\": 2}");
}
END_TEST

START_TEST(line_ends_and_byte_order_marks)
{
    tree_is("a: 1\r\nb: 2\r\n", "{a: 1, b: 2}");
    tree_is("\xEF\xBB\xBF"
            "a: 1\n",
            "{a: 1}");
    tree_is("a: 1\rb: 2", "{a: 1, b: 2}");
}
END_TEST

START_TEST(every_node_knows_its_place)
{
    struct base_arena arena;
    base_arena_init(&arena);
    struct conf_node *root = tree_of(&arena, "\xEF\xBB\xBFname: \xC3\xA4\r\nlist:\r\n  - a: 1\r\n");
    const struct conf_node *list = conf_get(root, "list");
    const struct conf_node *one = conf_get(list->items[0], "a");
    ck_assert_str_eq(one->file, "t.yaml");
    ck_assert_int_eq(one->line, 3);
    ck_assert_int_eq(one->column, 8);
    ck_assert_int_eq(conf_get(root, "name")->column, 7);
    ck_assert_int_eq(conf_key(root, "list")->line, 2);
    ck_assert_int_eq(conf_key(root, "list")->column, 1);
    base_arena_release(&arena);
}
END_TEST

START_TEST(duplicate_keys_in_either_spelling)
{
    struct kvsim_error err;
    tree_fails("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate-key");
    tree_fails("x: {a: 1, b: 2, 'a': 3}\n", 1, 17, "duplicate-key");
    static const char spelled[] = "max_num_seqs: 1\nblock_size: 2\nmax-num-seqs: 3\n";
    bytes_fail("t.yaml", spelled, strlen(spelled), 3, 1, "duplicate-key", &err);
    ck_assert_str_eq(err.message,
                     "duplicate key 'max-num-seqs', already at line 1 as 'max_num_seqs'");
}
END_TEST

START_TEST(aliases_are_copies)
{
    struct base_arena arena;
    base_arena_init(&arena);
    struct conf_node *root = tree_of(&arena, "a: &x {p: 1}\nb: *x\nc: &x 5\nd: *x\n");
    tree_prints(root, "{a: {p: 1}, b: {p: 1}, c: 5, d: 5}");
    ck_assert_int_eq(conf_get(conf_get(root, "b"), "p")->line, 1); // where the value stands
    struct kvsim_error err;
    ck_assert_int_eq(conf_set(&arena, root, "b.p", "2", &err), KVSIM_OK);
    tree_prints(root, "{a: {p: 1}, b: {p: 2}, c: 5, d: 5}");
    base_arena_release(&arena);
}
END_TEST

START_TEST(aliases_without_an_anchor)
{
    tree_fails("a: *b\n", 1, 4, "unknown-alias");
    tree_fails("a: &x [1, *x]\n", 1, 11, "unknown-alias"); // a node cannot hold itself
    tree_fails("a: *b\nb: &b 1\n", 1, 4, "unknown-alias");
}
END_TEST

/* A hundred bytes that stand for a billion values. */
START_TEST(alias_bombs_do_not_go_off)
{
    tree_fails("a: &a [x,x,x,x,x,x,x,x,x,x]\n"
               "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
               "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
               "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
               "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
               "f: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
               5, 29, "too-many-nodes");
}
END_TEST

START_TEST(aliases_do_not_multiply_text)
{
    struct base_text text = {0};
    base_text_add(&text, "a: &a '");
    for (int i = 0; i < 1 << 20; i++)
        base_text_add_n(&text, "x", 1);
    base_text_add(&text, "'\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n");
    tree_fails(text.at, 2, 23, "too-large");
    base_text_free(&text);
}
END_TEST

START_TEST(depth_is_limited_through_aliases_too)
{
    struct base_text text = {0};
    base_text_add(&text, "a: &a ");
    for (int i = 0; i < 20; i++)
        base_text_add(&text, "[");
    for (int i = 0; i < 20; i++)
        base_text_add(&text, "]");
    base_text_add(&text, "\nb: [[[[[[[[[[*a]]]]]]]]]]\n"); // 1 + 10 + 20: fits
    tree_is(text.at, "{a: [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]], "
                     "b: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}");
    base_text_add(&text, "c: &c [[[[[[[[[[[*a]]]]]]]]]]]\n"); // 32: just fits
    base_text_add(&text, "d: [*c]\n");
    tree_fails(text.at, 4, 5, "too-deep");
    base_text_free(&text);
}
END_TEST

START_TEST(deep_nesting_ends_early)
{
    size_t depth = 1000000;
    char *text = malloc(depth + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, '[', depth);
    text[depth] = '\0';
    tree_fails(text, 1, 33, "too-deep");
    for (size_t i = 0; i < depth; i += 2)
        memcpy(text + i, "- ", 2);
    tree_fails(text, 1, 65, "too-deep");
    free(text);
}
END_TEST

START_TEST(many_anchors)
{
    struct base_text text = {0};
    for (int i = 0; i < 1001; i++)
        base_text_printf(&text, "- &a%d x\n", i);
    tree_fails(text.at, 1001, 3, "too-many-anchors");
    base_text_free(&text);
}
END_TEST

START_TEST(several_documents)
{
    tree_fails("a: 1\n---\nb: 2\n", 2, 1, "several-documents");
    tree_fails("a: 1\n...\nb: 2\n", 3, 1, "bad-yaml");
}
END_TEST

START_TEST(empty_documents)
{
    tree_fails("", 1, 1, "empty-document");
    tree_fails(" \n\n", 1, 1, "empty-document");
    tree_fails("# only a comment\n", 1, 1, "empty-document");
    tree_fails("---\n", 1, 1, "empty-document");
    tree_fails("\xEF\xBB\xBF", 1, 1, "empty-document");
}
END_TEST

START_TEST(keys_must_be_plain)
{
    struct kvsim_error err;
    tree_fails("? [a, b]\n: 1\n", 1, 3, "bad-key");
    tree_fails("?\n: 1\n", 1, 2, "bad-key");
    tree_fails("'': 1\n", 1, 1, "bad-key");
    static const char merge[] = "a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n";
    bytes_fail("t.yaml", merge, strlen(merge), 3, 3, "merge-key", &err);
    ck_assert_str_ne(err.hint, "");
    tree_is("'<<': 1", "{\"<<\": 1}");
}
END_TEST

START_TEST(tags)
{
    struct base_arena arena;
    base_arena_init(&arena);
    struct conf_node *root =
        tree_of(&arena, "a: !!int '5'\nb: !!str 5\nc: !!float 1.5\nd: !!str null\n"
                        "e: ! 7\nf: !!map {x: !!seq [1]}\n");
    ck_assert(!conf_get(root, "a")->quoted);
    ck_assert(conf_get(root, "b")->quoted);
    ck_assert(!conf_get(root, "c")->quoted);
    ck_assert(conf_get(root, "d")->quoted && !conf_is_null(conf_get(root, "d")));
    ck_assert(conf_get(root, "e")->quoted);
    base_arena_release(&arena);
    tree_fails("a: !python/object 1\n", 1, 4, "unknown-tag");
    tree_fails("a: !!binary aGk=\n", 1, 4, "unknown-tag");
    tree_fails("a: !!seq {x: 1}\n", 1, 4, "unknown-tag");
    tree_fails("a: !!map x\n", 1, 4, "unknown-tag");
    tree_fails("a: !!int [1]\n", 1, 4, "unknown-tag");
}
END_TEST

START_TEST(syntax_errors_say_where_and_what_to_do)
{
    struct kvsim_error err;
    bytes_fail("t.yaml", "a:\n\tb: 1\n", 9, 2, 1, "bad-yaml", &err);
    ck_assert_str_eq(err.hint, "a tab cannot indent YAML: use spaces");
    static const char unclosed[] = "a: 1\nb: \"never closed\nc: 2\n";
    bytes_fail("t.yaml", unclosed, strlen(unclosed), 4, 1, "bad-yaml", &err);
    ck_assert_str_eq(err.message, "found unexpected end of stream");
    ck_assert_str_eq(err.hint, "while scanning a quoted scalar at line 2, column 4");
    bytes_fail("t.yaml", "a: @x\n", 6, 1, 4, "bad-yaml", &err);
    ck_assert_str_eq(err.hint, "a text that begins with '@' needs quotes");
    tree_fails("a: [1, 2\n", 2, 1, "bad-yaml");
    tree_fails("a: 1\n b: 2\n", 2, 3, "bad-yaml");
    tree_fails("a: b: c\n", 1, 5, "bad-yaml");
    tree_fails("a: 'x' y\n", 1, 8, "bad-yaml");
}
END_TEST

START_TEST(characters_that_yaml_forbids)
{
    tree_fails("a: \"\\0\"\n", 1, 4, "bad-text");
    tree_fails("a: 1\nb: \xEF\xBF\xBF\n", 2, 4, "bad-yaml");
}
END_TEST

int main(void)
{
    return unit_run("conf.yaml", (const TTest *const[]){
                                     the_forms_of_a_document,
                                     line_ends_and_byte_order_marks,
                                     every_node_knows_its_place,
                                     duplicate_keys_in_either_spelling,
                                     aliases_are_copies,
                                     aliases_without_an_anchor,
                                     alias_bombs_do_not_go_off,
                                     aliases_do_not_multiply_text,
                                     depth_is_limited_through_aliases_too,
                                     deep_nesting_ends_early,
                                     many_anchors,
                                     several_documents,
                                     empty_documents,
                                     keys_must_be_plain,
                                     tags,
                                     syntax_errors_say_where_and_what_to_do,
                                     characters_that_yaml_forbids,
                                     NULL,
                                 });
}
