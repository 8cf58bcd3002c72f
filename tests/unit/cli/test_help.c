#include "support/unit.h"

#include "base/text.h"
#include "cli/cli_int.h"

#include <string.h>

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        longest = length > longest ? length : longest;
        text += length + (text[length] == '\n');
    }
    return longest;
}

START_TEST(every_option_is_in_the_help_of_its_command)
{
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++) {
        struct base_text text = {0};
        cli_help_command(command, &text);
        for (const struct cli_option *option = command->options; option->name != NULL; option++) {
            char word[64];
            snprintf(word, sizeof word, "--%s", option->name);
            ck_assert(option->is_hidden == (strstr(text.at, word) == NULL));
        }
        ck_assert_ptr_nonnull(strstr(text.at, "examples:"));
        base_text_free(&text);
    }
}
END_TEST

START_TEST(paragraphs_fit_a_terminal)
{
    struct base_text text = {0};
    cli_help_program(&text);
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++)
        cli_help_command(command, &text);
    ck_assert_uint_le(longest_line(text.at), 100);
    base_text_free(&text);
}
END_TEST

START_TEST(the_program_lists_its_commands)
{
    struct base_text text = {0};
    cli_help_program(&text);
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++) {
        char line[32];
        snprintf(line, sizeof line, "\n  %s ", command->name);
        ck_assert(command->is_hidden == (strstr(text.at, line) == NULL));
    }
    base_text_free(&text);
}
END_TEST

START_TEST(no_line_of_the_manual_begins_like_a_request_by_chance)
{
    struct base_text text = {0};
    cli_help_manual(&text);
    for (const char *line = text.at; line != NULL && *line != '\0';) {
        if (*line == '.')
            ck_assert(strchr("TSBIPb\\", line[1]) != NULL);
        ck_assert_int_ne(*line, '\'');
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    ck_assert_ptr_null(strstr(text.at, " --"));
    base_text_free(&text);
}
END_TEST

int main(void)
{
    return unit_run("cli.help", (const TTest *const[]){
                                    every_option_is_in_the_help_of_its_command,
                                    paragraphs_fit_a_terminal, the_program_lists_its_commands,
                                    no_line_of_the_manual_begins_like_a_request_by_chance, NULL});
}
