#include "cli/cli_int.h"
#include "store/store.h"
#include "study/merge.h"

#include <stdio.h>

static enum kvsim_status open_sources(const struct cli_args *args, struct store **sources,
                                      struct kvsim_error *err)
{
    enum kvsim_status status = KVSIM_OK;
    for (size_t i = 0; i < args->operands.count && status == KVSIM_OK; i++)
        status = store_open(args->operands.at[i], STORE_READ, &sources[i], err);
    return status;
}

static enum kvsim_status merge(const struct cli_args *args, struct store **sources,
                               struct store **target, struct kvsim_error *err)
{
    struct study_merge_counts counts = {0};
    const char *path = args->db_path == NULL ? "results/kvsim.db" : args->db_path;
    enum kvsim_status status = open_sources(args, sources, err);
    if (status == KVSIM_OK)
        status = store_open(path, STORE_WRITE, target, err);
    if (status == KVSIM_OK)
        status = study_merge(sources, args->operands.count, *target, &counts, err);
    if (status == KVSIM_OK)
        printf("%zu runs and %zu points of %zu sweeps added to %s\n", counts.runs, counts.points,
               counts.sweeps, path);
    return status;
}

int cli_merge(const struct cli_args *args)
{
    struct kvsim_error err;
    struct store **sources =
        base_alloc(base_mul_size(args->operands.count, sizeof(struct store *)));
    struct store *target = NULL;
    enum kvsim_status status = merge(args, sources, &target, &err);
    for (size_t i = 0; i < args->operands.count; i++)
        store_close(sources[i]);
    store_close(target);
    base_free(sources);
    return status == KVSIM_OK ? 0 : cli_fail(&err);
}
