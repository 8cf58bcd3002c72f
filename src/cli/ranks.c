/*
 * A command as one of several processes that mpirun started together: rank 0 runs it, the others do errands for it.
 */
#include "cli/cli_int.h"

#include "base/text.h"
#include "study/ranks.h"

#include <stdio.h>
#include <unistd.h>

static void tell(const char *text)
{
    fprintf(stderr, "kvsim: %s\n", text);
}

/* Without MPI each process does the whole work; that is as meant where each was given a part of it. */
static void warn_of_missing_mpi(size_t number)
{
    if (number == 0)
        tell("warning: this kvsim was built without MPI (KVSIM_MPI=ON): every rank does all of its "
             "command line");
}

/* All must have been asked for the same. */
static void join_words(const char *const *words, size_t count, struct base_text *out)
{
    for (size_t i = 0; i < count; i++)
        base_text_printf(out, " %s", words[i]);
}

/* Rank 0: the others are sent home when everything that was to be shown has been. */
static int lead(const struct cli_command *command, const char *const *words, size_t count,
                size_t skip, struct study_ranks *ranks)
{
    struct kvsim_error err;
    int code = cli_do(command, words, count, skip, study_ranks_executor(ranks));
    if (code <= CLI_EXIT_MISSED && cli_output_end(&err) != KVSIM_OK)
        code = cli_fail(&err);
    if (!study_ranks_leave(ranks))
        _exit(code);
    return code;
}

int cli_do_among_ranks(const struct cli_command *command, const char *const *words, size_t count,
                       size_t skip)
{
    size_t number;
    study_ranks_launched(&number);
    if (!command->is_shared)
        return number > 0 ? 0 : cli_do(command, words, count, skip, NULL);
    struct study_ranks *ranks;
    struct kvsim_error err;
    struct base_text asked = {0};
    join_words(words, count, &asked);
    enum kvsim_status status = study_ranks_join(asked.at, tell, &ranks, &err);
    base_text_free(&asked);
    if (status != KVSIM_OK)
        return cli_fail(&err);
    if (ranks == NULL)
        warn_of_missing_mpi(number);
    if (ranks == NULL)
        return cli_do(command, words, count, skip, NULL);
    if (number > 0)
        _exit(study_ranks_serve(ranks));
    return lead(command, words, count, skip, ranks);
}
