#include "support/scratch.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static char scratch_folder[PATH_BYTES];

void scratch_enter(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(scratch_folder, sizeof scratch_folder, "%s/kvsim-test-XXXXXX",
             base != NULL && base[0] != '\0' ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(scratch_folder));
    ck_assert_int_eq(chdir(scratch_folder), 0);
}

/* Removes what is in the working directory, folders in it included. */
static void empty_folder(void)
{
    DIR *folder = opendir(".");
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        chmod(entry->d_name, 0700);
        if (unlink(entry->d_name) == 0)
            continue;
        ck_assert_int_eq(chdir(entry->d_name), 0);
        empty_folder();
        ck_assert_int_eq(chdir(".."), 0);
        rmdir(entry->d_name);
    }
    closedir(folder);
}

void scratch_leave(void)
{
    ck_assert_int_eq(chdir(scratch_folder), 0);
    empty_folder();
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(scratch_folder), 0);
}

int scratch_count(const char *folder)
{
    DIR *handle = opendir(folder);
    if (handle == NULL)
        return -1;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(handle)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(handle);
    return count;
}

void scratch_write(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, bytes, file), bytes);
    ck_assert_int_eq(fclose(file), 0);
}

static char *read_all(FILE *file, size_t *bytes)
{
    size_t count = 0, capacity = 4096;
    char *text = malloc(capacity);
    ck_assert_ptr_nonnull(text);
    for (size_t got; (got = fread(text + count, 1, capacity - count - 1, file)) > 0;) {
        count += got;
        if (capacity - count < 2) {
            capacity *= 2;
            text = realloc(text, capacity);
            ck_assert_ptr_nonnull(text);
        }
    }
    text[count] = '\0';
    if (bytes != NULL)
        *bytes = count;
    return text;
}

char *scratch_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *text = read_all(file, bytes);
    fclose(file);
    return text;
}

char *scratch_run(const char *command, int *code)
{
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    char *text = read_all(pipe, NULL);
    int status = pclose(pipe);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return text;
}
