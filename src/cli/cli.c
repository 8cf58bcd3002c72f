#include "cli/cli.h"
#include "cli/cli_int.h"
#include "cli/input.h"

#include "base/text.h"
#include "study/ranks.h"

#include <kvsim/version.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Our own checks end in abort(); its exit status is that of a defect. */
static void on_abort(int signal_number)
{
    (void)signal_number;
    _exit(70);
}

/* Descriptors 0 to 2 must not become those of files that are opened later: a closed one is held so that its use fails. */
static void hold_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != -1)
            continue;
        int held = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
        if (held != fd && held != -1)
            close(held);
    }
}

static void prepare_process(void)
{
    hold_standard_files();
    struct sigaction to_be_seen = {.sa_handler = SIG_IGN}, on_defect = {.sa_handler = on_abort};
    sigaction(SIGPIPE, &to_be_seen, NULL); // a reader who went away is a failed write
    sigaction(SIGXFSZ, &to_be_seen, NULL); // and so is a file that grows beyond its limit
    sigaction(SIGABRT, &on_defect, NULL);
}

static int run_command(const struct cli_command *command, struct cli_args *args)
{
    struct kvsim_error err;
    if (!args->wants_help)
        return cli_input_read(command, args, &err) == KVSIM_OK ? command->run(args)
                                                               : cli_fail(&err);
    struct base_text text = {0};
    cli_help_command(command, &text);
    cli_print(&text);
    base_text_free(&text);
    return 0;
}

/* Standard input is rank 0's alone. */
static struct study_executor *executor_for(const struct cli_args *args,
                                           struct study_executor *executor)
{
    for (size_t i = 0; i < args->operands.count; i++) {
        if (strcmp(args->operands.at[i], "-") == 0)
            return NULL;
    }
    return executor;
}

int cli_do(const struct cli_command *command, const char *const *words, size_t count, size_t skip,
           struct study_executor *executor)
{
    struct cli_args args;
    struct kvsim_error err;
    cli_args_init(&args);
    enum kvsim_status status = cli_parse(command, words, count, skip, &args, &err);
    args.executor = executor_for(&args, executor);
    int code = status == KVSIM_OK ? run_command(command, &args) : cli_fail(&err);
    cli_args_free(&args);
    return code;
}

static int print_program_help(void)
{
    struct base_text text = {0};
    cli_help_program(&text);
    cli_print(&text);
    base_text_free(&text);
    return 0;
}

static int print_usage(void)
{
    struct base_text text = {0};
    cli_help_program(&text);
    fwrite(text.at, 1, text.count, stderr);
    base_text_free(&text);
    return base_status_exit(KVSIM_ERR_USAGE);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int dispatch(const char *const *words, size_t count)
{
    if (count == 0)
        return print_usage();
    if (count == 1 && is_help(words[0]))
        return print_program_help();
    if (count == 1 && strcmp(words[0], "--version") == 0)
        return printf("kvsim %s\n", kvsim_version()) < 0 ? base_status_exit(KVSIM_ERR_IO) : 0;

    const struct cli_command *command;
    struct kvsim_error err;
    size_t at;
    if (cli_command_choose(words, count, &command, &at, &err) != KVSIM_OK)
        return cli_fail(&err);
    size_t number;
    return study_ranks_launched(&number) > 1 ? cli_do_among_ranks(command, words, count, at)
                                             : cli_do(command, words, count, at, NULL);
}

int cli_main(int count, const char *const *words)
{
    prepare_process();
    int code = count > 0 ? dispatch(words + 1, (size_t)count - 1) : print_usage();
    struct kvsim_error err;
    if (code > CLI_EXIT_MISSED || cli_output_end(&err) == KVSIM_OK)
        return code;
    return cli_fail(&err);
}
