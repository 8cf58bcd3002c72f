#include "cli/explain.h"

#include "base/text.h"
#include "cli/cli_int.h"
#include "record/run.h"
#include "scenario/scenario.h"

#include <string.h>

const char *cli_figure_help(enum record_summary column)
{
    char metric[64], other[64];
    record_summary_metric(column, metric, sizeof metric);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT && record_summary_columns[column].help[0] == '\0';
         i++) {
        record_summary_metric((enum record_summary)i, other, sizeof other);
        if (strcmp(metric, other) == 0 && record_summary_columns[i].help[0] != '\0')
            return record_summary_columns[i].help;
    }
    return record_summary_columns[column].help;
}

/* A figure of run_summary, from the table that names them all. */
static bool explain_figure(const char *name, struct base_text *out)
{
    enum record_summary column = record_summary_find(name);
    if (column == RECORD_SUMMARY_COUNT)
        return false;
    static const char *const kinds[] = {[RECORD_NULL] = "",
                                        [RECORD_INTEGER] = "integer",
                                        [RECORD_REAL] = "real",
                                        [RECORD_TEXT] = "text"};
    const struct record_column *figure = &record_summary_columns[column];
    base_text_printf(out, "%s\n  a figure of run_summary\n  kind     %s\n", figure->name,
                     kinds[figure->kind]);
    if (figure->unit[0] != '\0')
        base_text_printf(out, "  unit     %s\n", figure->unit);
    if (cli_figure_help(column)[0] != '\0')
        base_text_printf(out, "  meaning  %s\n", cli_figure_help(column));
    return true;
}

static int explain_key(const char *key)
{
    struct base_text text = {0};
    const char *near = NULL;
    int code = 0;
    if (scenario_explain(key, &text, &near) || explain_figure(key, &text)) {
        cli_print(&text);
    } else {
        struct kvsim_error err;
        base_fail(&err, KVSIM_ERR_USAGE, "'%s' is no key of a scenario and no figure of a run",
                  key);
        base_error_at(&err, "kvsim explain", 0, 0);
        if (near != NULL)
            base_error_hint(&err, "did you mean '%s'?", near);
        code = cli_fail(&err);
    }
    base_text_free(&text);
    return code;
}

int cli_explain(const struct cli_args *args)
{
    int first_code = 0;
    for (size_t i = 0; i < args->operands.count; i++) {
        int code = explain_key(args->operands.at[i]);
        if (first_code == 0)
            first_code = code;
    }
    return first_code;
}
