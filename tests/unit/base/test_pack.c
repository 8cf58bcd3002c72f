#include "support/unit.h"

#include "base/pack.h"

#include <stdint.h>
#include <string.h>

/* One of each: a number, a text or none, memory of its own or none, a growable array. */
struct thing {
    int64_t number;
    const char *name, *absent;
    uint64_t *block, *no_block;
    struct {
        uint32_t *at;
        size_t count, capacity;
    } list, empty;
};

enum { BLOCK = 3 };

static void pack_thing(struct base_pack *pack, struct thing *thing, struct base_arena *arena)
{
    base_pack_bytes(pack, thing, sizeof *thing);
    base_pack_text(pack, &thing->name, arena);
    base_pack_text(pack, &thing->absent, arena);
    thing->block = base_pack_block(pack, thing->block, BLOCK * sizeof *thing->block);
    thing->no_block = base_pack_block(pack, thing->no_block, BLOCK * sizeof *thing->block);
    base_pack_vec(pack, &thing->list);
    base_pack_vec(pack, &thing->empty);
}

static void free_thing(struct thing *thing)
{
    base_free(thing->block);
    base_free(thing->no_block);
    base_vec_free(&thing->list);
    base_vec_free(&thing->empty);
}

static void write_thing(struct base_text *bytes)
{
    struct thing thing = {.number = -7, .name = "what it is called"};
    struct base_pack pack = base_pack_writer(bytes);
    thing.block = base_alloc(BLOCK * sizeof *thing.block);
    thing.block[2] = 99;
    for (uint32_t i = 0; i < 5; i++)
        base_vec_push(&thing.list, i * i);
    pack_thing(&pack, &thing, NULL);
    free_thing(&thing);
}

START_TEST(what_was_written_is_read)
{
    struct base_text bytes = {0};
    struct base_arena arena;
    struct thing thing;
    base_arena_init(&arena);
    write_thing(&bytes);
    struct base_pack pack = base_pack_reader(bytes.at, bytes.count);
    pack_thing(&pack, &thing, &arena);
    ck_assert(base_pack_is_whole(&pack));
    ck_assert_int_eq(thing.number, -7);
    ck_assert_str_eq(thing.name, "what it is called");
    ck_assert_ptr_null(thing.absent);
    ck_assert_uint_eq(thing.block[2], 99);
    ck_assert_ptr_null(thing.no_block);
    ck_assert_uint_eq(thing.list.count, 5);
    ck_assert_uint_eq(thing.list.at[4], 16);
    ck_assert_uint_eq(thing.empty.count, 0);
    base_vec_push(&thing.list, 25); // it can grow
    ck_assert_uint_eq(thing.list.at[5], 25);
    free_thing(&thing);
    base_text_free(&bytes);
    base_arena_release(&arena);
}
END_TEST

/* Cut at every byte: found broken, never read beyond, and what is left can be freed. */
START_TEST(bytes_that_end_too_soon_are_broken)
{
    struct base_text bytes = {0};
    write_thing(&bytes);
    for (size_t count = 0; count < bytes.count; count++) {
        struct base_arena arena;
        struct thing thing;
        unsigned char *cut = base_alloc(count + 1);
        base_arena_init(&arena);
        memcpy(cut, bytes.at, count);
        struct base_pack pack = base_pack_reader(cut, count);
        pack_thing(&pack, &thing, &arena);
        ck_assert(pack.is_broken);
        ck_assert(!base_pack_is_whole(&pack));
        free_thing(&thing);
        base_arena_release(&arena);
        base_free(cut);
    }
    base_text_free(&bytes);
}
END_TEST

START_TEST(bytes_that_are_left_are_not_whole)
{
    struct base_text bytes = {0};
    struct base_arena arena;
    struct thing thing;
    base_arena_init(&arena);
    write_thing(&bytes);
    base_text_add(&bytes, "x");
    struct base_pack pack = base_pack_reader(bytes.at, bytes.count);
    pack_thing(&pack, &thing, &arena);
    ck_assert(!pack.is_broken);
    ck_assert(!base_pack_is_whole(&pack));
    free_thing(&thing);
    base_text_free(&bytes);
    base_arena_release(&arena);
}
END_TEST

int main(void)
{
    return unit_run("base.pack", (const TTest *const[]){what_was_written_is_read,
                                                        bytes_that_end_too_soon_are_broken,
                                                        bytes_that_are_left_are_not_whole, NULL});
}
