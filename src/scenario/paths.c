/*
 * paths.c - folders and files that a scenario names.
 */
#include "scenario/scenario_int.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

const char *scenario_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

const char *scenario_folder_of(struct base_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return ".";
    return slash == path ? "/" : base_arena_copy_n(arena, path, (size_t)(slash - path));
}

static bool can_open(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file != NULL)
        fclose(file);
    return file != NULL;
}

const char *scenario_find_file(struct scenario_reader *reader, const struct conf_node *node,
                               const char *key, const char *name)
{
    // In the working directory the name stays as it was written.
    if (name[0] != '/' && reader->beside[0] != '\0' && strcmp(reader->beside, ".") != 0) {
        const char *path = base_arena_printf(reader->arena, "%s/%s", reader->beside, name);
        if (can_open(path))
            return path;
    }
    if (can_open(name))
        return name;
    struct kvsim_error err;
    base_fail(&err, KVSIM_ERR_IO, "cannot open '%.300s'", name);
    base_error_code(&err, "cannot-open");
    if (name[0] != '/' && reader->beside[0] != '\0')
        base_error_hint(&err, "looked beside the scenario (%.150s) and in the working directory",
                        reader->beside);
    scenario_fail_error(reader, node, key, &err);
    return NULL;
}

/* The next run of digits as a number; anything else parts it. */
static unsigned long next_number(const char **at)
{
    unsigned long value = 0;
    *at += strcspn(*at, "0123456789");
    while (**at >= '0' && **at <= '9') {
        value = value < 100000000 ? value * 10 + (unsigned long)(**at - '0') : value;
        (*at)++;
    }
    return value;
}

int scenario_release_compare(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        unsigned long x = next_number(&a), y = next_number(&b);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}
