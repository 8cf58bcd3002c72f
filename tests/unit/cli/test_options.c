#include "support/unit.h"

#include "cli/cli_int.h"
#include "scenario/scenario.h"

#include <string.h>

/* Parses the words after "kvsim", the command among them. */
static enum kvsim_status parse(const char *const *words, struct cli_args *args,
                               const struct cli_command **command, struct kvsim_error *err)
{
    size_t count = 0, at;
    while (words[count] != NULL)
        count++;
    *err = (struct kvsim_error){0};
    cli_args_init(args);
    enum kvsim_status status = cli_command_choose(words, count, command, &at, err);
    if (status == KVSIM_OK)
        status = cli_parse(*command, words, count, at, args, err);
    return status;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_usage_error(const char *const *words, const char *message, const char *hint)
{
    struct cli_args args;
    const struct cli_command *command;
    struct kvsim_error err;
    ck_assert_int_eq(parse(words, &args, &command, &err), KVSIM_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(err.message, message));
    ck_assert_ptr_nonnull(strstr(err.hint, hint));
    cli_args_free(&args);
}

START_TEST(an_option_takes_a_value_in_every_command_or_in_none)
{
    for (const struct cli_command *a = cli_commands; a->name != NULL; a++) {
        for (const struct cli_option *option = a->options; option->name != NULL; option++) {
            ck_assert_uint_lt((size_t)(option - a->options), CLI_OPTIONS_MAX);
            bool is_flag = option->kind == CLI_FLAG || option->kind == CLI_HELP;
            ck_assert(is_flag == (option->value == NULL));
            ck_assert_uint_gt(strlen(option->help), 0);
            for (const struct cli_command *b = cli_commands; b->name != NULL; b++)
                for (const struct cli_option *other = b->options; other->name != NULL; other++)
                    if (strcmp(option->name, other->name) == 0) {
                        ck_assert((option->value == NULL) == (other->value == NULL));
                        ck_assert_int_eq(option->letter, other->letter);
                    }
        }
    }
}
END_TEST

START_TEST(the_command_is_found_wherever_it_stands)
{
    struct cli_args args;
    const struct cli_command *command;
    struct kvsim_error err;
    ck_assert_int_eq(parse(WORDS("--db", "list", "list", "runs"), &args, &command, &err), KVSIM_OK);
    ck_assert_str_eq(command->name, "list");
    ck_assert_str_eq(args.db_path, "list");
    ck_assert_uint_eq(args.operands.count, 1);
    ck_assert_str_eq(args.operands.at[0], "runs");
    cli_args_free(&args);

    ck_assert_int_eq(parse(WORDS("--seed", "7", "chat.yaml", "-j3"), &args, &command, &err),
                     KVSIM_OK);
    ck_assert_str_eq(command->name, "run");
    ck_assert_str_eq(args.operands.at[0], "chat.yaml");
    ck_assert_int_eq(args.jobs, 3);
    cli_args_free(&args);

    ck_assert_int_eq(parse(WORDS("--", "list"), &args, &command, &err), KVSIM_OK);
    ck_assert_str_eq(command->name, "run");
    ck_assert_str_eq(args.operands.at[0], "list");
    cli_args_free(&args);

    assert_usage_error(WORDS("lst"), "neither a command nor a file", "kvsim list");
}
END_TEST

START_TEST(values_reach_their_places)
{
    struct cli_args args;
    const struct cli_command *command;
    struct kvsim_error err;
    ck_assert_int_eq(
        parse(WORDS("run", "a.yaml", "--set", "x.y=1=2", "--seed=5", "--format=json", "--no_store",
                    "-q", "b.yaml", "--jobs", "1k", "--steps=s.csv", "--", "--db", "-"),
              &args, &command, &err),
        KVSIM_OK);
    ck_assert_uint_eq(args.overrides.count, 2);
    ck_assert_str_eq(args.overrides.at[0].key, "x.y");
    ck_assert_str_eq(args.overrides.at[0].value, "1=2");
    ck_assert_str_eq(args.overrides.at[1].key, "run.seed");
    ck_assert_str_eq(args.overrides.at[1].value, "5");
    ck_assert_int_eq(args.format, CLI_JSON);
    ck_assert(args.is_unstored && args.is_quiet && !args.is_stepped);
    ck_assert_int_eq(args.jobs, 1000);
    ck_assert_str_eq(args.steps_path, "s.csv");
    ck_assert_ptr_null(args.db_path);
    ck_assert_uint_eq(args.operands.count, 4);
    ck_assert_str_eq(args.operands.at[2], "--db");
    ck_assert_str_eq(args.operands.at[3], "-");
    cli_args_free(&args);
}
END_TEST

START_TEST(step_takes_tokens_in_their_own_units)
{
    struct cli_args args;
    const struct cli_command *command;
    struct kvsim_error err;
    ck_assert_int_eq(
        parse(WORDS("step", "--model", "m", "--tp=4", "--batch", "2k", "--context", "8k",
                    "--prefill", "1k@2k", "--prefill=7", "--from", "f", "--operator", "all-reduce"),
              &args, &command, &err),
        KVSIM_OK);
    ck_assert_str_eq(args.model, "m");
    ck_assert_ptr_null(args.hardware);
    ck_assert_str_eq(args.overrides.at[0].key, "model");
    ck_assert_str_eq(args.overrides.at[1].key, "engine.tensor_parallel_size");
    ck_assert_int_eq(args.batch, 2000);
    ck_assert_int_eq(args.context_tokens, 8192);
    ck_assert_uint_eq(args.chunks.count, 2);
    ck_assert_int_eq(args.chunks.at[0].new_tokens, 1024);
    ck_assert_int_eq(args.chunks.at[0].cached_tokens, 2048);
    ck_assert_int_eq(args.chunks.at[1].new_tokens, 7);
    ck_assert_int_eq(args.chunks.at[1].cached_tokens, 0);
    ck_assert_int_eq(args.kernel, CLI_ALL_REDUCE);
    cli_args_free(&args);
}
END_TEST

START_TEST(what_was_not_given_is_told_apart)
{
    struct cli_args args;
    const struct cli_command *command;
    struct kvsim_error err;
    ck_assert_int_eq(parse(WORDS("a.yaml"), &args, &command, &err), KVSIM_OK);
    ck_assert_int_eq(args.jobs, CLI_UNSET);
    ck_assert_int_eq(args.format, CLI_UNSET);
    ck_assert_int_eq(args.batch, CLI_UNSET);
    ck_assert_uint_eq(args.overrides.count, 0);
    cli_args_free(&args);
}
END_TEST

START_TEST(help_stops_the_reading)
{
    struct cli_args args;
    const struct cli_command *command;
    struct kvsim_error err;
    ck_assert_int_eq(parse(WORDS("run", "-h", "--nonsense"), &args, &command, &err), KVSIM_OK);
    ck_assert(args.wants_help);
    cli_args_free(&args);
}
END_TEST

START_TEST(mistakes_are_named)
{
    assert_usage_error(WORDS("run", "a", "--sed", "1"), "unknown option '--sed'", "--set");
    assert_usage_error(WORDS("run", "a", "-x"), "unknown option '-x'", "--help");
    assert_usage_error(WORDS("check", "a", "--db", "x"), "unknown option '--db'", "");
    assert_usage_error(WORDS("run", "a", "--seed"), "needs a value", "");
    assert_usage_error(WORDS("run", "a", "--seed", "x"), "--seed=x", "");
    assert_usage_error(WORDS("run", "a", "--seed", "1.5"), "--seed=1.5", "");
    assert_usage_error(WORDS("run", "a", "--seed", "9223372036854775808"), "--seed=", "");
    assert_usage_error(WORDS("run", "a", "--replications="), "--replications=", "");
    assert_usage_error(WORDS("run", "a", "--jobs", "0"), "outside 1..4096", "");
    assert_usage_error(WORDS("run", "a", "--jobs", "nan"), "--jobs=nan", "");
    assert_usage_error(WORDS("run", "a", "--quiet=1"), "takes no value", "");
    assert_usage_error(WORDS("run", "a", "--db", "x", "--db", "y"), "given twice", "");
    assert_usage_error(WORDS("run", "a", "--db="), "empty", "");
    assert_usage_error(WORDS("run", "a", "--set", "x"), "KEY=VALUE", "");
    assert_usage_error(WORDS("run", "a", "--set", "=1"), "KEY=VALUE", "");
    assert_usage_error(WORDS("run", "a", "--format", "pdf"), "text, json, markdown, csv", "");
    assert_usage_error(WORDS("run"), "is missing", "usage: kvsim run");
    assert_usage_error(WORDS("report", "1", "2"), "'2' is one word too many", "usage");
    assert_usage_error(WORDS("step", "--prefill", "@3"), "--prefill", "");
    assert_usage_error(WORDS("step", "--prefill", "0@3"), "at least one new token", "");
    assert_usage_error(WORDS("step", "--prefill", "3@-1"), "--prefill", "");
    assert_usage_error(WORDS("step", "--batch", "1048577"), "outside", "");
}
END_TEST

START_TEST(a_long_unknown_option_does_no_harm)
{
    char word[300];
    memset(word, 'x', sizeof word - 1);
    word[0] = word[1] = '-';
    word[sizeof word - 1] = '\0';
    assert_usage_error(WORDS("run", "a", word), "unknown option", "");
}
END_TEST

int main(void)
{
    return unit_run(
        "cli.options",
        (const TTest *const[]){an_option_takes_a_value_in_every_command_or_in_none,
                               the_command_is_found_wherever_it_stands, values_reach_their_places,
                               step_takes_tokens_in_their_own_units,
                               what_was_not_given_is_told_apart, help_stops_the_reading,
                               mistakes_are_named, a_long_unknown_option_does_no_harm, NULL});
}
