#include "support/unit.h"

#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { OBJECT_BYTES = 40, OBJECT_COUNT = 1000 };

/* Whether all bytes have one value. */
static bool all_are(const unsigned char *bytes, size_t count, unsigned value)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

START_TEST(objects_are_zeroed_aligned_and_separate)
{
    struct base_pool pool;
    base_pool_init(&pool, OBJECT_BYTES);
    unsigned char *objects[OBJECT_COUNT];
    for (size_t i = 0; i < OBJECT_COUNT; i++) {
        objects[i] = base_pool_take(&pool);
        ck_assert_uint_eq((uintptr_t)objects[i] % _Alignof(max_align_t), 0);
        ck_assert(all_are(objects[i], OBJECT_BYTES, 0));
        memset(objects[i], (int)(i % 255) + 1, OBJECT_BYTES);
    }
    for (size_t i = 0; i < OBJECT_COUNT; i++)
        ck_assert(all_are(objects[i], OBJECT_BYTES, (unsigned)(i % 255) + 1));
    ck_assert_uint_eq(pool.taken_count, OBJECT_COUNT);
    base_pool_release(&pool);
    ck_assert_uint_eq(pool.total_count, 0);
}
END_TEST

START_TEST(given_objects_come_back_zeroed_and_cost_no_memory)
{
    struct base_pool pool;
    base_pool_init(&pool, OBJECT_BYTES);
    unsigned char *first = base_pool_take(&pool);
    size_t total = pool.total_count;
    for (int i = 0; i < 10000; i++) {
        memset(first, 0xAA, OBJECT_BYTES);
        base_pool_give(&pool, first);
        unsigned char *again = base_pool_take(&pool);
        ck_assert_ptr_eq(again, first);
        ck_assert_uint_eq(again[0] | again[OBJECT_BYTES - 1], 0);
    }
    ck_assert_uint_eq(pool.total_count, total);
    base_pool_release(&pool);
}
END_TEST

/* Random takes and gives against a count of one's own: taken + free == all, and no object twice. */
START_TEST(takes_and_gives_add_up)
{
    struct base_pool pool;
    base_pool_init(&pool, 1);
    void *held[500];
    size_t count = 0;
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bool take = count == 0 || (count < 500 && state >> 63 == 0);
        if (take) {
            held[count] = base_pool_take(&pool);
            *(unsigned char *)held[count++] = 1;
        } else {
            size_t which = (state >> 32) % count;
            ck_assert_uint_eq(*(unsigned char *)held[which], 1);
            base_pool_give(&pool, held[which]);
            held[which] = held[--count];
        }
        ck_assert_uint_eq(pool.taken_count, count);
        ck_assert_uint_le(pool.taken_count, pool.total_count);
    }
    size_t total = pool.total_count;
    while (pool.taken_count < total)
        base_pool_take(&pool);
    ck_assert_uint_eq(pool.total_count, total);
    base_pool_release(&pool);
}
END_TEST

int main(void)
{
    return unit_run("base.pool",
                    (const TTest *const[]){objects_are_zeroed_aligned_and_separate,
                                           given_objects_come_back_zeroed_and_cost_no_memory,
                                           takes_and_gives_add_up, NULL});
}
