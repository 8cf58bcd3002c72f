#include "cli/cli_int.h"

#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READER_GONE "reader-gone"

int cli_fail(const struct kvsim_error *err)
{
    // Whoever has seen enough of the output wants to hear nothing either; a write that would have stored something says so.
    if (strcmp(err->code, READER_GONE) == 0 && err->hint[0] == '\0')
        return CLI_EXIT_SIGNAL + SIGPIPE;
    base_error_print(stderr, err, "error");
    return base_status_exit(err->status);
}

int cli_fail_all(const struct kvsim_diags *diags, enum kvsim_status status)
{
    for (size_t i = 0; i < diags->count; i++)
        base_error_print(stderr, &diags->at[i], "error");
    if (diags->total > diags->count)
        fprintf(stderr, "kvsim: %zu more errors are not shown\n", diags->total - diags->count);
    return base_status_exit(status);
}

void cli_warn_all(const struct kvsim_diags *diags)
{
    for (size_t i = 0; i < diags->warning_count; i++)
        base_error_print(stderr, &diags->warnings[i], "warning");
}

void cli_print(const struct base_text *text)
{
    if (text->count > 0)
        fwrite(text->at, 1, text->count, stdout);
}

/* A pipe without a reader, as in `kvsim list models | head`. */
static bool reader_has_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

enum kvsim_status cli_output_end(struct kvsim_error *err)
{
    errno = 0;
    int flushed = fflush(stdout);
    int reason = errno;
    if (flushed == 0 && !ferror(stdout))
        return KVSIM_OK;
    if (reader_has_gone())
        reason = EPIPE; // the flush may have said nothing: an earlier write had failed
    enum kvsim_status status = base_fail(err, KVSIM_ERR_IO, "cannot write the result: %s",
                                         reason == 0 ? "a write failed" : strerror(reason));
    if (reason == EPIPE)
        base_error_code(err, READER_GONE);
    base_error_at(err, "standard output", 0, 0);
    return status;
}
