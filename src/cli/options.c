#include "cli/cli_int.h"

#include "base/text.h"
#include "base/units.h"
#include "scenario/scenario.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void cli_args_init(struct cli_args *args)
{
    *args = (struct cli_args){.jobs = CLI_UNSET,
                              .spare = CLI_UNSET,
                              .samples = CLI_UNSET,
                              .batch = CLI_UNSET,
                              .context_tokens = CLI_UNSET,
                              .sequences = CLI_UNSET,
                              .format = CLI_UNSET,
                              .kernel = CLI_UNSET};
    base_arena_init(&args->arena);
}

void cli_args_free(struct cli_args *args)
{
    base_vec_free(&args->operands);
    base_vec_free(&args->overrides);
    base_vec_free(&args->chunks);
    base_vec_free(&args->axes);
    base_vec_free(&args->uncertain);
    base_vec_free(&args->groups);
    base_text_free(&args->input);
    base_arena_release(&args->arena);
}

/* A word that is an option: "-" alone is an operand (standard input). */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* Walks over the words of one command. */
struct parser {
    const struct cli_command *command;
    const char *const *words;
    size_t count, next;
    bool given[CLI_OPTIONS_MAX]; /* by row of the table */
    struct cli_args *args;
};

KVSIM_PRINTF(3, 4)
static enum kvsim_status fail(const struct parser *parser, struct kvsim_error *err, const char *fmt,
                              ...)
{
    char place[64], message[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    snprintf(place, sizeof place, "kvsim %s", parser->command->name);
    enum kvsim_status status = base_fail(err, KVSIM_ERR_USAGE, "%s", message);
    base_error_at(err, place, 0, 0);
    return status;
}

static const struct cli_option *find_long(const struct cli_option *table, const char *name)
{
    for (; table->name != NULL; table++)
        if (base_key_equal(table->name, name))
            return table;
    return NULL;
}

static const struct cli_option *find_letter(const struct cli_option *table, char letter)
{
    for (; table->name != NULL; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

/* An option's word taken apart. The name of a long option has no dashes; `value` is NULL when none is attached. */
struct option_word {
    char name[64];
    const char *value;
    bool is_long;
};

static void split_word(const char *word, struct option_word *out)
{
    *out = (struct option_word){.is_long = word[1] == '-'};
    if (!out->is_long) {
        out->name[0] = word[1];
        out->value = word[2] == '\0' ? NULL : word + 2;
        return;
    }
    const char *equals = strchr(word, '=');
    size_t length = equals == NULL ? strlen(word) - 2 : (size_t)(equals - word) - 2;
    if (length >= sizeof out->name)
        length = sizeof out->name - 1;
    memcpy(out->name, word + 2, length);
    out->value = equals == NULL ? NULL : equals + 1;
}

static const struct cli_option *find_option(const struct cli_option *table,
                                            const struct option_word *word)
{
    return word->is_long ? find_long(table, word->name) : find_letter(table, word->name[0]);
}

static bool takes_value(const struct cli_option *option)
{
    return option->kind != CLI_FLAG && option->kind != CLI_HELP;
}

/* Whether the option takes a value in the first command that has it. */
static bool word_takes_value(const struct option_word *word)
{
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++) {
        const struct cli_option *option = find_option(command->options, word);
        if (option != NULL)
            return takes_value(option);
    }
    return false;
}

/* The place of the first operand; count when there is none. */
static size_t find_operand(const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "--") == 0)
            return i + 1;
        if (!is_option(words[i]))
            return i;
        struct option_word word;
        split_word(words[i], &word);
        if (word.value == NULL && word_takes_value(&word))
            i++;
    }
    return count;
}

/* A word that was meant as a file rather than as the name of a command. */
static bool looks_like_file(const char *word)
{
    struct stat info;
    return strcmp(word, "-") == 0 || strpbrk(word, "./") != NULL || stat(word, &info) == 0;
}

static const char *nearest_command(const char *word)
{
    const char *names[32] = {NULL};
    size_t count = 0;
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++)
        if (!command->is_hidden && count + 1 < sizeof names / sizeof names[0])
            names[count++] = command->name;
    return base_name_nearest(names, word);
}

enum kvsim_status cli_command_choose(const char *const *words, size_t count,
                                     const struct cli_command **out, size_t *at,
                                     struct kvsim_error *err)
{
    size_t first = find_operand(words, count);
    *at = count;
    *out = cli_command_find("run");
    if (first >= count)
        return KVSIM_OK;
    const struct cli_command *named = cli_command_find(words[first]);
    bool after_dashes = first > 0 && strcmp(words[first - 1], "--") == 0;
    if (named != NULL && !after_dashes) {
        *out = named;
        *at = first;
        return KVSIM_OK;
    }
    if (after_dashes || looks_like_file(words[first]))
        return KVSIM_OK;
    base_fail(err, KVSIM_ERR_USAGE, "'%s' is neither a command nor a file", words[first]);
    const char *near = nearest_command(words[first]);
    if (near != NULL)
        base_error_hint(err, "did you mean 'kvsim %s'?", near);
    else
        base_error_hint(err, "'kvsim --help' lists the commands");
    return KVSIM_ERR_USAGE;
}

static enum kvsim_status fail_unknown(const struct parser *parser, const struct option_word *word,
                                      struct kvsim_error *err)
{
    enum kvsim_status status =
        fail(parser, err, "unknown option '%s%s'", word->is_long ? "--" : "-", word->name);
    const char *names[CLI_OPTIONS_MAX + 1] = {NULL};
    size_t count = 0;
    for (const struct cli_option *option = parser->command->options; option->name != NULL; option++)
        if (!option->is_hidden)
            names[count++] = option->name;
    const char *near = word->is_long ? base_name_nearest(names, word->name) : NULL;
    if (near != NULL)
        base_error_hint(err, "did you mean '--%s'?", near);
    else
        base_error_hint(err, "'kvsim %s --help' lists its options", parser->command->name);
    return status;
}

static enum kvsim_status fail_value(const struct parser *parser, const struct cli_option *option,
                                    const char *value, const char *why, struct kvsim_error *err)
{
    return fail(parser, err, "--%s=%s: %s", option->name, value, why);
}

static enum kvsim_status read_number(const struct parser *parser, const struct cli_option *option,
                                     const char *value, int64_t *out, struct kvsim_error *err)
{
    struct kvsim_error why;
    if (base_parse_int(value, option->unit, out, &why) != KVSIM_OK)
        return fail_value(parser, option, value, why.message, err);
    if (*out >= option->min && *out <= option->max)
        return KVSIM_OK;
    return fail(parser, err, "--%s=%s is outside %lld..%lld", option->name, value,
                (long long)option->min, (long long)option->max);
}

static enum kvsim_status read_choice(const struct parser *parser, const struct cli_option *option,
                                     const char *value, int *out, struct kvsim_error *err)
{
    struct base_text names = {0};
    for (const struct base_choice *choice = option->choices; choice->name != NULL; choice++) {
        if (base_key_equal(choice->name, value)) {
            *out = choice->value;
            base_text_free(&names);
            return KVSIM_OK;
        }
        base_text_printf(&names, "%s%s", choice == option->choices ? "" : ", ", choice->name);
    }
    enum kvsim_status status =
        fail(parser, err, "--%s=%s is not one of %s", option->name, value, names.at);
    base_text_free(&names);
    return status;
}

static void add_override(struct cli_args *args, const char *key, const char *value)
{
    struct scenario_override override = {.key = key, .value = value};
    base_vec_push(&args->overrides, override);
}

static enum kvsim_status read_set(const struct parser *parser, const struct cli_option *option,
                                  const char *value, struct kvsim_error *err)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value)
        return fail_value(parser, option, value, "expected KEY=VALUE", err);
    if (equals[1] == '\0') // an unset variable of a shell, most often
        return fail_value(parser, option, value, "the value is missing; null takes the key away",
                          err);
    const char *key = base_arena_copy_n(&parser->args->arena, value, (size_t)(equals - value));
    add_override(parser->args, key, equals + 1);
    return KVSIM_OK;
}

/* The form is checked here, the value by the scenario. */
static enum kvsim_status read_key(const struct parser *parser, const struct cli_option *option,
                                  const char *value, struct kvsim_error *err)
{
    struct kvsim_error why;
    int64_t number;
    if (option->unit != BASE_NONE && base_parse_int(value, option->unit, &number, &why) != KVSIM_OK)
        return fail_value(parser, option, value, why.message, err);
    if (value[0] == '\0')
        return fail_value(parser, option, value, "the value is empty", err);
    add_override(parser->args, option->key, value);
    if (option->offset != 0)
        memcpy((char *)parser->args + option->offset, &value, sizeof value);
    return KVSIM_OK;
}

static enum kvsim_status read_chunk(const struct parser *parser, const struct cli_option *option,
                                    const char *value, struct kvsim_error *err)
{
    struct cli_chunk chunk = {0};
    const char *at = strchr(value, '@');
    const char *new_text =
        at == NULL ? value : base_arena_copy_n(&parser->args->arena, value, (size_t)(at - value));
    enum kvsim_status status = read_number(parser, option, new_text, &chunk.new_tokens, err);
    if (status == KVSIM_OK && chunk.new_tokens == 0)
        status = fail_value(parser, option, value, "a chunk has at least one new token", err);
    if (status == KVSIM_OK && at != NULL)
        status = read_number(parser, option, at + 1, &chunk.cached_tokens, err);
    if (status == KVSIM_OK)
        base_vec_push(&parser->args->chunks, chunk);
    return status;
}

/* All lists of texts have the same members. */
static enum kvsim_status read_texts(const struct parser *parser, const struct cli_option *option,
                                    const char *value, struct kvsim_error *err)
{
    if (value[0] == '\0')
        return fail_value(parser, option, value, "the value is empty", err);
    char *member = (char *)parser->args + option->offset;
    struct {
        const char **at;
        size_t count, capacity;
    } list;
    memcpy(&list, member, sizeof list);
    base_vec_push(&list, value);
    memcpy(member, &list, sizeof list);
    return KVSIM_OK;
}

static enum kvsim_status read_value(const struct parser *parser, const struct cli_option *option,
                                    const char *value, struct kvsim_error *err)
{
    char *member = (char *)parser->args + option->offset;
    switch (option->kind) {
    case CLI_FLAG:
        memcpy(member, &(bool){true}, sizeof(bool));
        return KVSIM_OK;
    case CLI_TEXT:
        if (value[0] == '\0')
            return fail_value(parser, option, value, "the value is empty", err);
        memcpy(member, &value, sizeof value);
        return KVSIM_OK;
    case CLI_TEXTS:
        return read_texts(parser, option, value, err);
    case CLI_NUMBER: {
        int64_t number = 0;
        enum kvsim_status status = read_number(parser, option, value, &number, err);
        memcpy(member, &number, sizeof number);
        return status;
    }
    case CLI_CHOICE: {
        int choice = CLI_UNSET;
        enum kvsim_status status = read_choice(parser, option, value, &choice, err);
        memcpy(member, &choice, sizeof choice);
        return status;
    }
    case CLI_SET:
        return read_set(parser, option, value, err);
    case CLI_KEY:
        return read_key(parser, option, value, err);
    case CLI_CHUNK:
        return read_chunk(parser, option, value, err);
    case CLI_HELP:
        parser->args->wants_help = true;
        return KVSIM_OK;
    }
    return KVSIM_OK;
}

static bool is_repeatable(const struct cli_option *option)
{
    return option->kind == CLI_SET || option->kind == CLI_CHUNK || option->kind == CLI_TEXTS ||
           option->kind == CLI_HELP;
}

static enum kvsim_status parse_option(struct parser *parser, struct kvsim_error *err)
{
    struct option_word word;
    split_word(parser->words[parser->next++], &word);
    const struct cli_option *option = find_option(parser->command->options, &word);
    if (option == NULL)
        return fail_unknown(parser, &word, err);
    if (!takes_value(option) && word.value != NULL)
        return fail(parser, err, "option '--%s' takes no value", option->name);
    const char *value = word.value;
    if (takes_value(option) && value == NULL) {
        if (parser->next >= parser->count)
            return fail(parser, err, "option '--%s' needs a value: %s", option->name,
                        option->value);
        value = parser->words[parser->next++];
    }
    bool *given = &parser->given[option - parser->command->options];
    if (*given && !is_repeatable(option))
        return fail(parser, err, "option '--%s' is given twice", option->name);
    *given = true;
    return read_value(parser, option, value, err);
}

static enum kvsim_status check_operands(const struct parser *parser, struct kvsim_error *err)
{
    const struct cli_command *command = parser->command;
    size_t count = parser->args->operands.count;
    if (count >= command->operand_min && count <= command->operand_max)
        return KVSIM_OK;
    enum kvsim_status status;
    if (count < command->operand_min)
        status = fail(parser, err, "%s is missing", command->operands);
    else
        status = fail(parser, err, "'%s' is one word too many",
                      parser->args->operands.at[command->operand_max]);
    base_error_hint(err, "usage: kvsim %s %s [options]", command->name, command->operands);
    return status;
}

enum kvsim_status cli_parse(const struct cli_command *command, const char *const *words,
                            size_t count, size_t skip, struct cli_args *args,
                            struct kvsim_error *err)
{
    struct parser parser = {.command = command, .words = words, .count = count, .args = args};
    bool only_operands = false;
    while (parser.next < count) {
        const char *word = words[parser.next];
        enum kvsim_status status = KVSIM_OK;
        if (parser.next == skip) {
            parser.next++;
        } else if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            parser.next++;
        } else if (!only_operands && is_option(word)) {
            status = parse_option(&parser, err);
        } else {
            base_vec_push(&args->operands, word);
            parser.next++;
        }
        if (status != KVSIM_OK)
            return status;
        if (args->wants_help)
            return KVSIM_OK;
    }
    return check_operands(&parser, err);
}
