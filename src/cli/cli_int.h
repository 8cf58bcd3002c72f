/*
 * cli_int.h - what the files of cli share: commands, their options, and the values that options give.
 *
 * A command is one row of cli_commands: its name, one table of options, a run function. From that row come parsing, usage
 * errors with the nearest name, `--help` and the manual page, so that nothing about an option is written twice. An
 * option that is not in a command's table is an error there: no option is ever ignored. An option's name takes a value in
 * all commands or in none (a unit test), so that the command can be found wherever it stands among the words.
 */
#ifndef KVSIM_CLI_CLI_INT_H
#define KVSIM_CLI_CLI_INT_H

#include "base/text.h"
#include "scenario/scenario.h"
#include "base/error.h"
#include "base/field.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct study_executor;

enum { CLI_EXIT_MISSED = 1, CLI_EXIT_SIGNAL = 128, CLI_UNSET = -1, CLI_OPTIONS_MAX = 24 };

enum cli_format { CLI_TEXT_FORMAT, CLI_JSON, CLI_MARKDOWN, CLI_CSV, CLI_HTML };
enum cli_kernel { CLI_NO_KERNEL, CLI_GEMM, CLI_ATTENTION, CLI_MLA, CLI_ALL_REDUCE };

/* --prefill N@C */
struct cli_chunk {
    int64_t new_tokens, cached_tokens;
};

/* What the words of a command line say. Numbers that were not given are CLI_UNSET, texts NULL. */
struct cli_args {
    struct {
        const char **at;
        size_t count, capacity;
    } operands;
    struct {
        struct scenario_override *at;
        size_t count, capacity;
    } overrides; /* --set and the options that are short for one, in their order */
    struct {
        struct cli_chunk *at;
        size_t count, capacity;
    } chunks;
    struct {
        const char **at;
        size_t count, capacity;
    } axes; /* --axis KEY=LIST */
    struct {
        const char **at;
        size_t count, capacity;
    } groups;                     /* --group NAME */
    const char *model, *hardware; /* also in overrides */
    const char *metric, *shard;
    const char *confidence, *precision, *demand, *growth, *start; /* of a plan */
    struct {
        const char **at;
        size_t count, capacity;
    } uncertain; /* --uncertain KEY=SPREAD */
    const char *output_path;
    const char *scenario_path, *first_text; /* of `calibrate` */
    const char *db_path, *steps_path, *table_path;
    int64_t jobs, spare, samples;
    int64_t batch, context_tokens, sequences;
    const char *contexts;            /* --context LIST of `size` */
    int format;                      /* enum cli_format; CLI_UNSET: the command's own default */
    int kernel;                      /* enum cli_kernel; CLI_UNSET when not given */
    struct study_executor *executor; /* the ranks of an MPI job; NULL: threads of this process */
    bool is_quiet, is_unstored, is_stepped, is_zipped;
    bool wants_help;
    struct base_text input; /* standard input, where an operand is "-" */
    struct scenario_text input_text;
    struct base_arena arena; /* of texts that are not words of the command line */
};

enum cli_kind {
    CLI_FLAG,   /* bool at `offset` */
    CLI_TEXT,   /* const char * */
    CLI_NUMBER, /* int64_t in `unit`, from `min` to `max` */
    CLI_CHOICE, /* int, from `choices` */
    CLI_SET,    /* KEY=VALUE, repeatable, to overrides */
    CLI_KEY, /* short for --set `key`=VALUE; a whole number where `unit` is not BASE_NONE; `offset` 0: not kept */
    CLI_CHUNK, /* N@C, repeatable */
    CLI_TEXTS, /* repeatable, to a list of const char * */
    CLI_HELP,
};

struct cli_option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* -j; '\0' = none */
    enum cli_kind kind;
    size_t offset;     /* in struct cli_args */
    const char *value; /* how the value is called in help; NULL for flags */
    enum base_unit unit;
    int64_t min, max;
    const struct base_choice *choices;
    const char *key;
    bool is_hidden; /* for tests: works, is not shown */
    const char *help;
};

struct cli_command {
    const char *name;
    const char *operands; /* "SCENARIO.yaml...", "" for none */
    size_t operand_min, operand_max;
    const char *summary;     /* one line */
    const char *description; /* paragraphs, for --help and the manual */
    const struct cli_option *options;
    const char *const *examples; /* pairs of a command line and what it does, NULL-ended */
    bool is_hidden;
    bool reads_scenario; /* its operands are scenarios: "-" is standard input */
    /* its work is dealt to the ranks of an MPI job; others are done by rank 0 alone */
    bool is_shared;
    int (*run)(const struct cli_args *args); /* the exit status */
};

/* The table, ended by a row without a name. */
extern const struct cli_command cli_commands[];
const struct cli_command *cli_command_find(const char *name); /* NULL when there is none */

void cli_args_init(struct cli_args *args);
void cli_args_free(struct cli_args *args);

/*
 * The command among words[0 ... count-1]: the first word that is neither an option nor an option's value, when it names
 * one. Otherwise `run`, with *at = count. *at is the word's place. The words alone decide; KVSIM_ERR_USAGE when the first
 * such word names neither a command nor something that could be a file.
 */
enum kvsim_status cli_command_choose(const char *const *words, size_t count,
                                     const struct cli_command **out, size_t *at,
                                     struct kvsim_error *err) KVSIM_MUST_CHECK;

/* Fills `args` from the words; words[skip] is the command's name (skip == count: none). */
enum kvsim_status cli_parse(const struct cli_command *command, const char *const *words,
                            size_t count, size_t skip, struct cli_args *args,
                            struct kvsim_error *err) KVSIM_MUST_CHECK;

/* cli.c: parses the words and does what they ask, on threads or with an executor. The exit status. */
int cli_do(const struct cli_command *command, const char *const *words, size_t count, size_t skip,
           struct study_executor *executor);
/* ranks.c: the same as one of several processes that were started together. */
int cli_do_among_ranks(const struct cli_command *command, const char *const *words, size_t count,
                       size_t skip);

/* help.c: to `out`. */
void cli_help_program(struct base_text *out);
void cli_help_command(const struct cli_command *command, struct base_text *out);
void cli_help_manual(struct base_text *out);  /* kvsim(1) */
void cli_help_results(struct base_text *out); /* kvsim-results(5) */

/* output.c: stderr, and the end of stdout. Each returns the exit status that belongs to what it says. */
int cli_fail(const struct kvsim_error *err);
int cli_fail_all(const struct kvsim_diags *diags, enum kvsim_status status);
void cli_warn_all(const struct kvsim_diags *diags);
/* Text to stdout; a failure is remembered by stdio until cli_output_end(). */
void cli_print(const struct base_text *text);
/* Everything written has reached its place, or KVSIM_ERR_IO. */
enum kvsim_status cli_output_end(struct kvsim_error *err) KVSIM_MUST_CHECK;

/* The functions of the table. */
int cli_run(const struct cli_args *args);
int cli_sweep(const struct cli_args *args);
int cli_plan(const struct cli_args *args);
int cli_compare(const struct cli_args *args);
int cli_merge(const struct cli_args *args);
int cli_step(const struct cli_args *args);
int cli_size(const struct cli_args *args);
int cli_calibrate(const struct cli_args *args);
int cli_validate(const struct cli_args *args);
int cli_check(const struct cli_args *args);
int cli_list(const struct cli_args *args);
int cli_explain(const struct cli_args *args);
int cli_report(const struct cli_args *args);
int cli_manual(const struct cli_args *args);

#endif
