#include "cli/cli_int.h"

#include "base/text.h"
#include "scenario/scenario.h"

#include <string.h>

int cli_manual(const struct cli_args *args)
{
    static const struct {
        const char *name;
        void (*print)(struct base_text *out);
    } pages[] = {{"kvsim", cli_help_manual},
                 {"scenario", scenario_print_manual},
                 {"results", cli_help_results},
                 {"schema", scenario_print_schema}};

    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (strcmp(pages[i].name, args->operands.at[0]) != 0)
            continue;
        struct base_text text = {0};
        pages[i].print(&text);
        cli_print(&text);
        base_text_free(&text);
        return 0;
    }
    struct kvsim_error err;
    base_fail(&err, KVSIM_ERR_USAGE, "there is no manual page '%s'", args->operands.at[0]);
    base_error_at(&err, "kvsim manual", 0, 0);
    return cli_fail(&err);
}
