#include "report/file.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static enum kvsim_status fail_file(struct kvsim_error *err, const char *path, const char *doing,
                                   int failure)
{
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_IO, "cannot %s: %s", doing, strerror(failure));
    base_error_at(err, path, 0, 0);
    return status;
}

static bool is_database(const char *path)
{
    static const char magic[] = "SQLite format 3"; // with its NUL
    char start[sizeof magic] = "";
    FILE *file = fopen(path, "r");
    bool is = file != NULL && fread(start, 1, sizeof start, file) == sizeof start &&
              memcmp(start, magic, sizeof magic) == 0;
    if (file != NULL)
        fclose(file);
    return is;
}

/* The folder that a file would be made in, and its name there. */
static const char *stat_folder(const char *path, struct stat *info)
{
    const char *slash = strrchr(path, '/');
    struct base_text folder = {0};
    base_text_add(&folder, slash == NULL ? "." : "");
    if (slash != NULL)
        base_text_add_n(&folder, path, (size_t)(slash - path) + 1);
    bool is_there = stat(folder.at, info) == 0;
    base_text_free(&folder);
    return !is_there ? NULL : slash == NULL ? path : slash + 1;
}

bool report_file_is(const char *path, const char *other)
{
    struct stat one, two;
    bool is_there = stat(path, &one) == 0, other_is_there = stat(other, &two) == 0;
    if (is_there != other_is_there)
        return false;
    if (is_there)
        return S_ISREG(one.st_mode) && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
    const char *name = stat_folder(path, &one), *other_name = stat_folder(other, &two);
    return name != NULL && other_name != NULL && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino && strcmp(name, other_name) == 0;
}

enum kvsim_status report_file_fail_kept(const char *path, const char *doing, const char *what,
                                        struct kvsim_error *err)
{
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_IO, "cannot %s: the file is %s", doing, what);
    base_error_at(err, path, 0, 0);
    return status;
}

static void release(struct report_file *file)
{
    base_free(file->path);
    base_free(file->temporary_path);
    *file = (struct report_file){0};
}

static char *copy(const char *text)
{
    struct base_text to = {0};
    base_text_add(&to, text);
    return to.at;
}

/* Renaming over a symbolic link would replace the link; the file that it leads to is meant. */
static char *resolve(const char *path)
{
    enum { LINKS_MAX = 16, LINK_BYTES = 4096 };
    struct base_text at = {0};
    base_text_add(&at, path);
    for (int i = 0; i < LINKS_MAX; i++) {
        char target[LINK_BYTES];
        ssize_t length = readlink(at.at, target, sizeof target);
        if (length <= 0 || (size_t)length == sizeof target)
            break;
        const char *slash = strrchr(at.at, '/');
        if (target[0] == '/' || slash == NULL)
            base_text_clear(&at);
        else
            at.count = (size_t)(slash - at.at) + 1;
        base_text_add_n(&at, target, (size_t)length);
    }
    return at.at;
}

static void open_target(struct report_file *file, const char *path, bool is_direct)
{
    if (is_direct) {
        file->path = copy(path);
        file->out = fopen(path, "w");
        return;
    }
    struct base_text name = {0};
    file->path = resolve(path);
    base_text_printf(&name, "%s.%ld.tmp", file->path, (long)getpid());
    file->temporary_path = name.at;
    file->out = fopen(file->temporary_path, "wx");
}

enum kvsim_status report_file_open(struct report_file *file, const char *path, const char *doing,
                                   struct kvsim_error *err)
{
    *file = (struct report_file){.doing = doing};
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    if (is_there && S_ISDIR(info.st_mode))
        return fail_file(err, path, doing, EISDIR);
    if (is_there && S_ISREG(info.st_mode) && access(path, W_OK) != 0)
        return fail_file(err, path, doing, errno);
    if (is_there && S_ISREG(info.st_mode) && is_database(path))
        return report_file_fail_kept(path, doing, "a database", err);
    open_target(file, path, is_there && !S_ISREG(info.st_mode));
    if (file->out != NULL)
        return KVSIM_OK;
    enum kvsim_status status = fail_file(err, path, doing, errno);
    release(file);
    return status;
}

enum kvsim_status report_file_finish(struct report_file *file, struct kvsim_error *err)
{
    bool has_failed = ferror(file->out) != 0;
    if (fflush(file->out) != 0 && file->failure == 0)
        file->failure = errno;
    if (has_failed && file->failure == 0)
        file->failure = EIO;
    if (fclose(file->out) != 0 && file->failure == 0)
        file->failure = errno;
    if (file->failure == 0 && file->temporary_path != NULL &&
        rename(file->temporary_path, file->path) != 0)
        file->failure = errno;
    enum kvsim_status status = KVSIM_OK;
    if (file->failure != 0) {
        status = fail_file(err, file->path, file->doing, file->failure);
        if (file->temporary_path != NULL)
            unlink(file->temporary_path);
    }
    release(file);
    return status;
}

void report_file_unlink(const struct report_file *file)
{
    if (file->temporary_path != NULL)
        unlink(file->temporary_path);
}

void report_file_abandon(struct report_file *file)
{
    fclose(file->out);
    report_file_unlink(file);
    release(file);
}
