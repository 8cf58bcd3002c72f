#include "support/unit.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether all bytes have one value. */
static bool all_are(const unsigned char *bytes, size_t count, unsigned value)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

START_TEST(products_are_checked)
{
    ck_assert_uint_eq(base_mul_size(0, SIZE_MAX), 0);
    ck_assert_uint_eq(base_mul_size(SIZE_MAX, 1), SIZE_MAX);
    ck_assert_uint_eq(base_mul_size(1000, 1000), 1000000);
}
END_TEST

START_TEST(an_arena_gives_zeroed_aligned_separate_memory)
{
    struct base_arena arena;
    base_arena_init(&arena);
    unsigned char *taken[2000];
    for (size_t i = 0; i < 2000; i++) {
        size_t bytes = 1 + i * 7 % 300;
        taken[i] = base_arena_take(&arena, bytes);
        ck_assert_uint_eq((uintptr_t)taken[i] % _Alignof(max_align_t), 0);
        ck_assert(all_are(taken[i], bytes, 0));
        memset(taken[i], (int)(i % 255) + 1, bytes);
    }
    for (size_t i = 0; i < 2000; i++)
        ck_assert(all_are(taken[i], 1 + i * 7 % 300, (unsigned)(i % 255) + 1));
    base_arena_release(&arena);
    ck_assert_uint_eq(arena.used_bytes, 0);
    ck_assert_ptr_nonnull(base_arena_take(&arena, 1)); // usable again
    base_arena_release(&arena);
}
END_TEST

START_TEST(big_and_empty_objects_fit_between_small_ones)
{
    struct base_arena arena;
    base_arena_init(&arena);
    char *big_first = base_arena_take(&arena, 1 << 20);
    char *small = base_arena_take(&arena, 8);
    char *big = base_arena_take(&arena, 5 << 20);
    char *next = base_arena_take(&arena, 8);
    char *empty = base_arena_take(&arena, 0);
    ck_assert_ptr_ne(empty, next);
    memset(big_first, 1, 1 << 20);
    memset(big, 2, 5 << 20);
    memset(small, 3, 8);
    memset(next, 4, 8);
    ck_assert_int_eq(big[(5 << 20) - 1], 2);
    ck_assert_int_eq(small[7], 3);
    ck_assert_ptr_eq(next, small + _Alignof(max_align_t)); // the big one cost no chunk's rest
    base_arena_release(&arena);
}
END_TEST

START_TEST(an_arena_copies_and_prints)
{
    struct base_arena arena;
    base_arena_init(&arena);
    ck_assert_str_eq(base_arena_copy(&arena, "text"), "text");
    ck_assert_str_eq(base_arena_copy_n(&arena, "text", 2), "te");
    ck_assert_str_eq(base_arena_copy_n(&arena, NULL, 0), "");
    ck_assert_str_eq(base_arena_printf(&arena, "%s=%d", "a", 7), "a=7");
    int *numbers = base_arena_array(&arena, 10, sizeof *numbers);
    ck_assert_int_eq(numbers[9], 0);
    base_arena_release(&arena);
}
END_TEST

START_TEST(vectors_grow)
{
    struct {
        int *at;
        size_t count, capacity;
    } numbers = {0};
    for (int i = 0; i < 1000; i++)
        base_vec_push(&numbers, i);
    ck_assert_uint_eq(numbers.count, 1000);
    ck_assert_uint_ge(numbers.capacity, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(numbers.at[i], i);
    base_vec_reserve(&numbers, 5000);
    ck_assert_uint_ge(numbers.capacity, 5000);
    ck_assert_int_eq(numbers.at[999], 999);
    base_vec_free(&numbers);
    ck_assert_ptr_null(numbers.at);
    ck_assert_uint_eq(numbers.capacity, 0);
}
END_TEST

#ifdef KVSIM_FAULTS
/* Exit status of a child in which the n-th of five allocations fails, and what it wrote to stderr. */
static int exit_of_child(long n, char message[64])
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        base_mem_fail_at(n);
        for (int i = 0; i < 5; i++)
            base_free(i % 2 == 0 ? base_alloc(10) : base_realloc(NULL, 10));
        _exit(0);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], message, 63);
    message[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(the_nth_allocation_can_fail)
{
    char message[64];
    for (long n = 1; n <= 5; n++) {
        ck_assert_int_eq(exit_of_child(n, message), 70);
        ck_assert_str_eq(message, "kvsim: out of memory\n");
    }
    ck_assert_int_eq(exit_of_child(6, message), 0);
    ck_assert_str_eq(message, "");
    ck_assert_int_eq(exit_of_child(0, message), 0);
}
END_TEST
#endif

int main(void)
{
    return unit_run("base.mem", (const TTest *const[]){
                                    products_are_checked,
                                    an_arena_gives_zeroed_aligned_separate_memory,
                                    big_and_empty_objects_fit_between_small_ones,
                                    an_arena_copies_and_prints,
                                    vectors_grow,
#ifdef KVSIM_FAULTS
                                    the_nth_allocation_can_fail,
#endif
                                    NULL,
                                });
}
