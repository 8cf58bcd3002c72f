#include "support/unit.h"

#include "unit/conf/tree.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct base_arena arena;

static void set_up(void)
{
    base_arena_init(&arena);
}

static void tear_down(void)
{
    base_arena_release(&arena);
}

START_TEST(values_are_found_by_key)
{
    set_up();
    struct conf_node *root = tree_of(&arena, "a-b: 1\nc: null\nl: [x]\n");
    ck_assert_str_eq(conf_get(root, "a_b")->text, "1");
    ck_assert_str_eq(conf_get(root, "a-b")->text, "1");
    ck_assert_ptr_null(conf_get(root, "a"));
    ck_assert_ptr_null(conf_get(conf_get(root, "l"), "x"));
    ck_assert_ptr_null(conf_get(NULL, "x"));
    ck_assert_str_eq(conf_get_text(root, "a_b"), "1");
    ck_assert_ptr_null(conf_get_text(root, "l"));
    ck_assert_ptr_null(conf_get_text(root, "c"));
    ck_assert_ptr_null(conf_get_text(root, "absent"));
    ck_assert_ptr_null(conf_key(root, "x"));
    ck_assert(conf_is_null(conf_get(root, "c")));
    ck_assert(conf_is_null(conf_get(root, "absent")));
    ck_assert(!conf_is_null(root));
    tear_down();
}
END_TEST

static void set(struct conf_node *root, const char *path, const char *value)
{
    struct kvsim_error err = {0};
    enum kvsim_status status = conf_set(&arena, root, path, value, &err);
    ck_assert_msg(status == KVSIM_OK, "%s=%s: %s", path, value, err.message);
}

START_TEST(options_set_values_anywhere)
{
    set_up();
    struct conf_node *root =
        tree_of(&arena, "engine: {block-size: 16}\nclasses: [{w: 1}, {w: 2}]\nn:\n");
    set(root, "engine.block_size", "32");
    set(root, "engine.kv_cache_dtype", "{k: fp8, v: [a, 'b']}");
    set(root, "classes.1.w", "5%");
    set(root, "classes.2.w", "3");
    set(root, "new.map.key", "8/s");
    set(root, "n.x", "1");
    set(root, "empty", "");
    tree_prints(root, "{classes: [{w: 1}, {w: 5%}, {w: 3}], empty: null, "
                      "engine: {block_size: 32, kv_cache_dtype: {k: fp8, v: [a, b]}}, "
                      "n: {x: 1}, new: {map: {key: 8/s}}}");
    const struct conf_node *node = conf_get(conf_get(root, "new"), "map");
    ck_assert_int_eq(node->origin, CONF_ORIGIN_SET);
    ck_assert_str_eq(node->file, "--set new.map.key");
    ck_assert_int_eq(node->line, 0);
    node = conf_get(conf_get(root, "engine"), "kv_cache_dtype")->items[1]->items[0];
    ck_assert_str_eq(node->file, "--set engine.kv_cache_dtype");
    ck_assert_int_eq(node->origin, CONF_ORIGIN_SET);
    ck_assert_int_eq(conf_get(root, "engine")->origin, CONF_ORIGIN_SCENARIO);
    tear_down();
}
END_TEST

static void set_fails(const char *path, const char *value, const char *code)
{
    struct kvsim_error err = {0};
    char place[256];
    struct conf_node *root = tree_of(&arena, "model: llama\nlist: [1, 2]\n");
    ck_assert_int_eq(conf_set(&arena, root, path, value, &err), KVSIM_ERR_SCENARIO);
    ck_assert_msg(strcmp(err.code, code) == 0, "%s=%s: %s [%s]", path, value, err.message,
                  err.code);
    snprintf(place, sizeof place, "--set %s", path);
    ck_assert_str_eq(err.file, place);
    ck_assert_int_eq(err.line, 0);
}

START_TEST(options_that_cannot_be_set)
{
    set_up();
    set_fails("model.layers", "5", "not-a-map");
    set_fails("list.3", "5", "bad-path");
    set_fails("list.x", "5", "bad-path");
    set_fails("list.99999999999999999999", "5", "bad-path");
    set_fails("a..b", "5", "bad-path");
    set_fails("", "5", "bad-path");
    set_fails("a.", "5", "bad-path");
    set_fails("a", "[1, 2", "bad-yaml");
    set_fails("a", "*x", "unknown-alias");
    set_fails("a", "\xFF", "bad-text");
    set_fails("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.a.b.c.d.e.f.g", "1", "too-deep");
    tear_down();
}
END_TEST

START_TEST(overlays_merge_maps_and_replace_the_rest)
{
    set_up();
    struct conf_node *base = tree_of(&arena, "a: {x: 1, y: 2}\nl: [1, 2]\ns: 1\nkeep-me: k\n");
    struct conf_node *over =
        tree_of(&arena, "\n\na: {y: 3, z: 4}\nl: [9]\ns: {t: 1}\nkeep_me: null\n");
    struct conf_node *merged = conf_overlay(&arena, base, over);
    tree_prints(merged, "{a: {x: 1, y: 3, z: 4}, keep_me: null, l: [9], s: {t: 1}}");
    ck_assert_int_eq(conf_get(conf_get(merged, "a"), "y")->line, 3); // the winner's place
    ck_assert_int_eq(conf_get(conf_get(merged, "a"), "x")->line, 1);
    set(merged, "a.x", "7");
    set(merged, "a.z", "8");
    tree_prints(base, "{a: {x: 1, y: 2}, keep_me: k, l: [1, 2], s: 1}"); // neither input changes
    tree_prints(over, "{a: {y: 3, z: 4}, keep_me: null, l: [9], s: {t: 1}}");
    tree_prints(conf_overlay(&arena, NULL, over),
                "{a: {y: 3, z: 4}, keep_me: null, l: [9], s: {t: 1}}");
    tear_down();
}
END_TEST

START_TEST(origins_reach_all_below)
{
    set_up();
    struct conf_node *root = tree_of(&arena, "a: {b: [1]}");
    conf_set_origin(root, CONF_ORIGIN_PROFILE);
    ck_assert_int_eq(conf_get(conf_get(root, "a"), "b")->items[0]->origin, CONF_ORIGIN_PROFILE);
    ck_assert_int_eq(conf_key(root, "a")->origin, CONF_ORIGIN_PROFILE);
    tear_down();
}
END_TEST

START_TEST(trees_are_built_by_hand)
{
    set_up();
    struct conf_node *map = conf_new_map(&arena);
    tree_prints(map, "{}");
    for (int i = 0; i < 100; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%02d", i % 50);
        conf_put(&arena, map, key, conf_new_scalar(&arena, i < 50 ? "old" : "new"));
    }
    ck_assert_uint_eq(map->count, 50);
    ck_assert_str_eq(conf_get(map, "k49")->text, "new");
    struct conf_node *copy = conf_copy(&arena, map);
    conf_put(&arena, copy, "k00", conf_new_map(&arena));
    conf_put(&arena, copy, "more", conf_new_map(&arena));
    ck_assert_str_eq(conf_get(map, "k00")->text, "new");
    ck_assert_uint_eq(map->count, 50);
    tear_down();
}
END_TEST

START_TEST(errors_point_at_a_node)
{
    set_up();
    struct kvsim_error err = {0};
    struct conf_node *root = tree_of(&arena, "a: 1\nb:   2\n");
    ck_assert_int_eq(conf_fail(&err, conf_get(root, "b"), "bad-value", "%s", "no"),
                     KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.file, "t.yaml");
    ck_assert_int_eq(err.line, 2);
    ck_assert_int_eq(err.column, 6);
    ck_assert_str_eq(err.message, "no");
    ck_assert_int_eq(conf_fail(&err, NULL, "bad-value", "x"), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.file, "");
    ck_assert_int_eq(conf_fail(NULL, root, "bad-value", "x"), KVSIM_ERR_SCENARIO);
    tear_down();
}
END_TEST

START_TEST(bytes_that_are_no_text)
{
    bytes_fail("t.yaml", "a: 1\nb: \0x", 10, 2, 4, "bad-text", NULL);
    bytes_fail("t.yaml",
               "\x7F"
               "ELF",
               4, 1, 1, "bad-text", NULL);
    bytes_fail("t.yaml",
               "\xFF\xFE"
               "a\0",
               4, 1, 1, "bad-text", NULL);
    bytes_fail("t.yaml", "a: \xC3\xA4\xC3(", 7, 1, 5, "bad-text", NULL);
}
END_TEST

static const char *const path = "conf_node_test.tmp";

static void write_file(const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

static enum kvsim_status read_file(struct kvsim_error *err)
{
    struct conf_node *root = NULL;
    set_up();
    enum kvsim_status status = conf_read_file(&arena, path, &root, err);
    tear_down();
    remove(path);
    return status;
}

START_TEST(files)
{
    struct kvsim_error err = {0};
    write_file("a: 1", 4);
    ck_assert_int_eq(read_file(&err), KVSIM_OK);
    ck_assert_int_eq(read_file(&err), KVSIM_ERR_IO); // it is gone
    ck_assert_str_eq(err.code, "cannot-read");
    write_file("", 0);
    ck_assert_int_eq(read_file(&err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "empty-document");
    write_file("a: \0", 4);
    ck_assert_int_eq(read_file(&err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "bad-text");
    ck_assert_str_eq(err.file, path);
}
END_TEST

START_TEST(folders_are_no_files)
{
    struct kvsim_error err = {0};
    struct conf_node *root = NULL;
    set_up();
    ck_assert_int_eq(conf_read_file(&arena, ".", &root, &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.message, "cannot open: is a directory");
    tear_down();
}
END_TEST

/* A file of 100 MB is refused by its size: a sparse one, so that reading it would show in the time and memory. */
START_TEST(large_files_are_refused_unread)
{
    struct kvsim_error err = {0};
    write_file("", 0);
    ck_assert_int_eq(truncate(path, 100000000), 0);
    ck_assert_int_eq(read_file(&err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "too-large");
    ck_assert_ptr_nonnull(strstr(err.message, "8 MiB"));
}
END_TEST

/* What has no size, such as a pipe, is read up to the limit. */
START_TEST(endless_input_ends_at_the_limit)
{
    struct kvsim_error err = {0};
    struct conf_node *root = NULL;
    set_up();
    ck_assert_int_eq(conf_read_file(&arena, "/dev/zero", &root, &err), KVSIM_ERR_SCENARIO);
    ck_assert_str_eq(err.code, "too-large");
    tear_down();
}
END_TEST

START_TEST(unreadable_files)
{
    struct kvsim_error err = {0};
    write_file("a: 1", 4);
    ck_assert_int_eq(chmod(path, 0), 0);
    bool readable = access(path, R_OK) == 0; // as root it is
    ck_assert_int_eq(read_file(&err), readable ? KVSIM_OK : KVSIM_ERR_IO);
}
END_TEST

int main(void)
{
    return unit_run("conf.node", (const TTest *const[]){
                                     values_are_found_by_key,
                                     options_set_values_anywhere,
                                     options_that_cannot_be_set,
                                     overlays_merge_maps_and_replace_the_rest,
                                     origins_reach_all_below,
                                     trees_are_built_by_hand,
                                     errors_point_at_a_node,
                                     bytes_that_are_no_text,
                                     files,
                                     folders_are_no_files,
                                     large_files_are_refused_unread,
                                     endless_input_ends_at_the_limit,
                                     unreadable_files,
                                     NULL,
                                 });
}
