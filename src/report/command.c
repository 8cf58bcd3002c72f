#include "report/command.h"

#include <stdbool.h>
#include <string.h>

/* What a unit of run_param is called behind a value on the command line. */
static const char *unit_suffix(const char *unit)
{
    if (strcmp(unit, "1/s") == 0)
        return "/s";
    return strcmp(unit, "bytes") == 0 ? "B" : strcmp(unit, "ns") == 0 ? "ns" : "";
}

void report_command_word(struct base_text *command, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,@%+";
    bool is_plain = word[0] != '\0' && word[strspn(word, plain)] == '\0';
    base_text_add(command, is_plain ? " " : " '");
    for (const char *at = word; *at != '\0'; at++) {
        if (*at == '\'')
            base_text_add(command, "'\\''");
        else
            base_text_add_n(command, at, 1);
    }
    base_text_add(command, is_plain ? "" : "'");
}

void report_command_set(struct base_text *command, const struct record_param_row *row)
{
    struct base_text word = {0};
    base_text_printf(&word, "%s=%s%s", row->key, row->value, unit_suffix(row->unit));
    base_text_add(command, " --set");
    report_command_word(command, word.at);
    base_text_free(&word);
}
