/* A file is written whole or not at all. */
#include "support/scratch.h"
#include "support/unit.h"

#include "report/file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must_hold(const char *path, const char *text)
{
    char *got = scratch_read(path, NULL);
    ck_assert_ptr_nonnull(got);
    ck_assert_str_eq(got, text);
    free(got);
}

static void write_through(const char *path, const char *text)
{
    struct report_file file;
    struct kvsim_error err;
    ck_assert_int_eq(report_file_open(&file, path, "write the page", &err), KVSIM_OK);
    fputs(text, file.out);
    ck_assert_int_eq(report_file_finish(&file, &err), KVSIM_OK);
}

START_TEST(new_and_over_an_old_one)
{
    scratch_enter();
    write_through("a", "one");
    must_hold("a", "one");
    write_through("a", "2");
    must_hold("a", "2");
    ck_assert_int_eq(scratch_count("."), 1);
    scratch_leave();
}
END_TEST

START_TEST(a_link_stays_one)
{
    struct stat info;
    scratch_enter();
    scratch_write("a", "old", 3);
    ck_assert_int_eq(symlink("a", "link"), 0);
    write_through("link", "new");
    must_hold("a", "new");
    ck_assert_int_eq(lstat("link", &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
    scratch_leave();
}
END_TEST

START_TEST(abandoned)
{
    struct report_file file;
    struct kvsim_error err;
    scratch_enter();
    scratch_write("a", "old", 3);
    ck_assert_int_eq(report_file_open(&file, "a", "write the page", &err), KVSIM_OK);
    fputs("new", file.out);
    report_file_abandon(&file);
    must_hold("a", "old");
    ck_assert_int_eq(scratch_count("."), 1);
    scratch_leave();
}
END_TEST

static void must_not_open(const char *path)
{
    struct report_file file;
    struct kvsim_error err;
    ck_assert_int_eq(report_file_open(&file, path, "write the page", &err), KVSIM_ERR_IO);
    ck_assert_str_eq(err.file, path);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot write the page"));
}

START_TEST(places_that_cannot_be_written)
{
    scratch_enter();
    ck_assert_int_eq(mkdir("folder", 0755), 0);
    must_not_open("folder");
    must_not_open("nowhere/a");
    ck_assert_int_eq(scratch_count("."), 1);
    scratch_leave();
}
END_TEST

START_TEST(a_full_disk)
{
    struct report_file file;
    struct kvsim_error err;
    struct stat info;
    if (stat("/dev/full", &info) != 0)
        return;
    ck_assert_int_eq(report_file_open(&file, "/dev/full", "write the page", &err), KVSIM_OK);
    fputs("x", file.out);
    ck_assert_int_eq(report_file_finish(&file, &err), KVSIM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "No space left"));
}
END_TEST

/* A failure that stdio met before the end is not forgotten. */
START_TEST(a_disk_that_was_full_in_between)
{
    struct report_file file;
    struct kvsim_error err;
    struct stat info;
    if (stat("/dev/full", &info) != 0)
        return;
    ck_assert_int_eq(report_file_open(&file, "/dev/full", "write the page", &err), KVSIM_OK);
    fputs("x", file.out);
    fflush(file.out);
    ck_assert_int_eq(report_file_finish(&file, &err), KVSIM_ERR_IO);
}
END_TEST

int main(void)
{
    return unit_run("report.file",
                    (const TTest *const[]){new_and_over_an_old_one, a_link_stays_one, abandoned,
                                           places_that_cannot_be_written, a_full_disk,
                                           a_disk_that_was_full_in_between, NULL});
}
