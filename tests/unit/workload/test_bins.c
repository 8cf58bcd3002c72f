#include "support/unit.h"

#include "workload/bins.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct base_arena arena;

/* Writes `text` to a file of its own and reads it. */
static enum kvsim_status read_text(const char *text, enum workload_role role,
                                   const struct rng_bin **bins, size_t *count,
                                   struct kvsim_error *err)
{
    char path[] = "/tmp/kvsim-bins-XXXXXX";
    int fd = mkstemp(path);
    enum kvsim_status status;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    status = workload_bins_read(path, role, &arena, bins, count, err);
    unlink(path);
    return status;
}

static void check_bins(const char *text, enum workload_role role, const struct rng_bin *expected,
                       size_t expected_count)
{
    const struct rng_bin *bins;
    struct kvsim_error err = {0};
    size_t count;

    ck_assert_msg(read_text(text, role, &bins, &count, &err) == KVSIM_OK, "%s", err.message);
    ck_assert_uint_eq(count, expected_count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_double_eq(bins[i].low, expected[i].low);
        ck_assert_double_eq(bins[i].high, expected[i].high);
        ck_assert_double_eq_tol(bins[i].weight, expected[i].weight, 1e-12);
    }
}

START_TEST(histograms_values_and_cdfs)
{
    check_bins("low,high,weight\n1,10,2\n10,10,1\n", WORKLOAD_ROLE_PROMPT,
               (const struct rng_bin[]){{1, 10, 2}, {10, 10, 1}}, 2);
    check_bins("value\n7\n3\n7\n", WORKLOAD_ROLE_PROMPT,
               (const struct rng_bin[]){{3, 3, 1}, {7, 7, 2}}, 2);
    check_bins("{\"value\": 7, \"weight\": 0.5}\n{\"value\": 3, \"weight\": 2}\n",
               WORKLOAD_ROLE_PROMPT, (const struct rng_bin[]){{3, 3, 2}, {7, 7, 0.5}}, 2);
    check_bins("value,cdf\n5,0.25\n6,0.5\n100,1\n", WORKLOAD_ROLE_PROMPT,
               (const struct rng_bin[]){{5, 5, 0.25}, {6, 6, 0.25}, {7, 101, 0.5}}, 3);
}
END_TEST

START_TEST(lengths_of_traces_by_role)
{
    static const char lengths[] = "num_prefill_tokens,num_decode_tokens\n3772,54\n2015,156\n";
    static const char burst[] = "Timestamp,Request tokens,Response tokens\n5,40,8\n6,50,0\n";

    check_bins(lengths, WORKLOAD_ROLE_PROMPT,
               (const struct rng_bin[]){{2015, 2015, 1}, {3772, 3772, 1}}, 2);
    check_bins(lengths, WORKLOAD_ROLE_OUTPUT, (const struct rng_bin[]){{54, 54, 1}, {156, 156, 1}},
               2);
    check_bins(burst, WORKLOAD_ROLE_OUTPUT, (const struct rng_bin[]){{8, 8, 1}}, 1);
}
END_TEST

START_TEST(many_values_are_counted)
{
    enum { ROWS = 300000 };
    char *text = malloc(ROWS * 6 + 16);
    const struct rng_bin *bins;
    size_t length = (size_t)sprintf(text, "value\n"), count;
    double sum = 0.0;

    for (int i = 0; i < ROWS; i++)
        length += (size_t)sprintf(text + length, "%d\n", 1 + i % 997);
    ck_assert_int_eq(read_text(text, WORKLOAD_ROLE_PROMPT, &bins, &count, NULL), KVSIM_OK);
    free(text);
    ck_assert_uint_eq(count, 997);
    for (size_t i = 0; i < count; i++)
        sum += bins[i].weight;
    ck_assert_double_eq(sum, ROWS);
    ck_assert_double_eq(bins[0].weight, 301.0);
}
END_TEST

static void check_error(const char *text, int line, const char *part)
{
    const struct rng_bin *bins;
    struct kvsim_error err = {0};
    size_t count;

    ck_assert_int_eq(read_text(text, WORKLOAD_ROLE_OUTPUT, &bins, &count, &err),
                     KVSIM_ERR_SCENARIO);
    ck_assert_msg(strstr(err.message, part) != NULL && err.line == line, "line %d: %s", err.line,
                  err.message);
}

START_TEST(bad_files_are_errors)
{
    const struct rng_bin *bins;
    size_t count;

    check_error("a,b\n1,2\n", 1, "no column of output lengths");
    check_error("value\n0\n", 2, "at least 1");
    check_error("value\nx\n", 2, "value");
    check_error("value\n-4\n", 2, "at least 1");
    check_error("value,weight\n4,-1\n", 2, "weight");
    check_error("low,high,weight\n5,4,1\n", 2, "'high'");
    check_error("value,cdf\n4,0.5\n3,1\n", 3, "'value' must rise");
    check_error("value,cdf\n4,0.5\n5,0.4\n", 3, "'cdf' must rise");
    check_error("value,cdf\n4,0.5\n5,1.4\n", 3, "'cdf' must rise");
    check_error("value,cdf\n4,0.5\n", 3, "does not reach 1");
    check_error("value\n", 2, "no values");
    ck_assert_int_eq(
        workload_bins_read("/no/such/file", WORKLOAD_ROLE_PROMPT, &arena, &bins, &count, NULL),
        KVSIM_ERR_IO);
}
END_TEST

int main(void)
{
    base_arena_init(&arena);
    int result = unit_run("workload.bins", (const TTest *const[]){
                                               histograms_values_and_cdfs,
                                               lengths_of_traces_by_role,
                                               many_values_are_counted,
                                               bad_files_are_errors,
                                               NULL,
                                           });
    base_arena_release(&arena);
    return result;
}
