/* The tree of contents: what is found, and that a node keeps its content when it is cut, extended and shortened. */
#include "kv/tree.h"

#include "support/check_main.h"

enum { PAGE = 4, RUNS = 9 };

/* Runs that end within pages, more than a node has room for by itself: 36 tokens, 9 pages. */
static const struct spec_token_run runs[RUNS] = {{100, 3}, {200, 5}, {205, 3}, {300, 2}, {400, 7},
                                                 {500, 1}, {600, 6}, {700, 4}, {800, 5}};
static const struct kv_content whole = {runs, RUNS, 36};

static bool is_path(const struct kv_tree *tree, const struct kv_node *node)
{
    struct kv_cursor a = kv_cursor_at(&node->content, 0);
    struct kv_cursor b = kv_cursor_at(&whole, node->begin * PAGE);
    int64_t tokens = (node->end - node->begin) * PAGE;
    return node->content.token_count == tokens && kv_cursor_match(&a, &b, tokens) == tokens &&
           kv_tree_find(tree, node->parent, kv_cursor_at(&whole, node->begin * PAGE)) == node;
}

START_TEST(a_cut_leaves_both_parts_where_they_are_found)
{
    for (int64_t at = 1; at < 9; at++) {
        struct kv_tree tree;
        kv_tree_init(&tree, PAGE, sizeof(struct kv_node));
        struct kv_node *node = kv_tree_add(&tree, tree.root, kv_cursor_at(&whole, 0), 9);
        ck_assert(is_path(&tree, node));
        struct kv_node *front = kv_tree_cut(&tree, node, at);
        ck_assert(is_path(&tree, front) && is_path(&tree, node));
        ck_assert_ptr_eq(node->parent, front);
        ck_assert_ptr_eq(kv_tree_drop(&tree, node), front);
        ck_assert_ptr_eq(kv_tree_drop(&tree, front), tree.root);
        ck_assert_uint_eq(tree.node_count, 0);
        kv_tree_release(&tree);
    }
}
END_TEST

START_TEST(a_node_grows_and_shrinks_at_its_end)
{
    for (int64_t from = 1; from < 9; from++) {
        for (int64_t back = 1; back < 9; back++) {
            struct kv_tree tree;
            kv_tree_init(&tree, PAGE, sizeof(struct kv_node));
            struct kv_node *node = kv_tree_add(&tree, tree.root, kv_cursor_at(&whole, 0), from);
            kv_tree_extend(&tree, node, kv_cursor_at(&whole, from * PAGE), 9);
            ck_assert(is_path(&tree, node));
            kv_tree_shorten(&tree, node, back);
            ck_assert(is_path(&tree, node));
            kv_tree_extend(&tree, node, kv_cursor_at(&whole, back * PAGE), 9);
            ck_assert(is_path(&tree, node));
            kv_tree_release(&tree);
        }
    }
}
END_TEST

START_TEST(a_match_stops_before_the_page_in_which_contents_part)
{
    struct kv_tree tree;
    kv_tree_init(&tree, PAGE, sizeof(struct kv_node));
    struct kv_node *node = kv_tree_add(&tree, tree.root, kv_cursor_at(&whole, 0), 9);
    struct spec_token_run other[] = {{100, 3}, {200, 8}, {300, 1}, {9, 4}, {10, 4}};
    struct kv_content content = {other, 5, 20};
    struct kv_cursor at = kv_cursor_at(&content, 0);
    ck_assert_int_eq(kv_tree_match(&tree, node, &at, 5), 3);
    ck_assert_uint_eq(at.run, 3);
    ck_assert_int_eq(at.offset, 0);
    at = kv_cursor_at(&content, 0);
    ck_assert_int_eq(kv_tree_match(&tree, node, &at, 2), 2);
    ck_assert_ptr_null(kv_tree_find(&tree, node, at));
    other[1].count = 7; // parts within the third page
    content.token_count = 19;
    at = kv_cursor_at(&content, 0);
    ck_assert_int_eq(kv_tree_match(&tree, node, &at, 4), 2);
    ck_assert_uint_eq(at.run, 1);
    ck_assert_int_eq(at.offset, 5);
    kv_tree_release(&tree);
}
END_TEST

CHECK_MAIN("kv.tree", a_cut_leaves_both_parts_where_they_are_found,
           a_node_grows_and_shrinks_at_its_end,
           a_match_stops_before_the_page_in_which_contents_part)
