#include "cli/input.h"

#include "conf/node.h"

#include <string.h>

static bool is_input(const char *word)
{
    return word != NULL && strcmp(word, "-") == 0;
}

enum kvsim_status cli_input_read(const struct cli_command *command, struct cli_args *args,
                                 struct kvsim_error *err)
{
    char place[64];
    size_t count = 0;
    if (!command->reads_scenario)
        return KVSIM_OK;
    for (size_t i = 0; i < args->operands.count; i++)
        count += is_input(args->operands.at[i]);
    if (count == 0)
        return KVSIM_OK;
    if (count + is_input(args->table_path) > 1) {
        enum kvsim_status status = base_fail(
            err, KVSIM_ERR_USAGE, "standard input ('-') is asked for twice; it can be read once");
        snprintf(place, sizeof place, "kvsim %s", command->name);
        base_error_at(err, place, 0, 0);
        base_error_hint(err, "write one of them to a file");
        return status;
    }
    enum kvsim_status status = conf_read_bytes(cli_input_path("-"), &args->input, err);
    args->input_text = (struct scenario_text){args->input.at, args->input.count};
    return status;
}

const char *cli_input_path(const char *word)
{
    return is_input(word) ? "/dev/stdin" : word;
}

const struct scenario_text *cli_input_text(const struct cli_args *args, const char *word)
{
    return is_input(word) ? &args->input_text : NULL;
}
