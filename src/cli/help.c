#include "cli/cli_int.h"

#include "base/text.h"
#include "cli/explain.h"
#include "record/run.h"

#include <kvsim/version.h>

#include <stdio.h>
#include <string.h>

enum { WIDTH = 90, OPTION_INDENT = 28 };

/* Breaks a paragraph at blanks; "\n" starts a new one. The first line already has `column` characters. */
static void add_wrapped(struct base_text *out, const char *text, size_t indent, size_t column)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        if (column > indent && column + 1 + length > WIDTH) {
            base_text_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            base_text_add(out, " ");
            column++;
        }
        base_text_add_n(out, text, length);
        column += length;
        text += length;
        if (*text == '\n') {
            base_text_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        if (*text != '\0')
            text++;
    }
    base_text_add(out, "\n");
}

static void add_option(struct base_text *out, const struct cli_option *option)
{
    size_t start = out->count;
    base_text_add(out, "  ");
    if (option->letter != '\0')
        base_text_printf(out, "-%c, ", option->letter);
    base_text_printf(out, "--%s", option->name);
    if (option->value != NULL)
        base_text_printf(out, " %s", option->value);
    size_t column = out->count - start;
    if (column + 2 > OPTION_INDENT) {
        base_text_add(out, "\n");
        column = 0;
    }
    base_text_printf(out, "%*s", (int)(OPTION_INDENT - column), "");
    add_wrapped(out, option->help, OPTION_INDENT, OPTION_INDENT);
}

void cli_help_command(const struct cli_command *command, struct base_text *out)
{
    base_text_printf(out, "usage: kvsim %s %s [options]\n\n", command->name, command->operands);
    base_text_printf(out, "kvsim %s", command->name);
    add_wrapped(out, command->summary, 0, strlen("kvsim ") + strlen(command->name));
    base_text_add(out, "\n");
    if (command->description[0] != '\0') {
        add_wrapped(out, command->description, 0, 0);
        base_text_add(out, "\n");
    }
    base_text_add(out, "options:\n");
    for (const struct cli_option *option = command->options; option->name != NULL; option++)
        if (!option->is_hidden)
            add_option(out, option);
    base_text_add(out, "\nexamples:\n");
    for (const char *const *example = command->examples; *example != NULL; example += 2)
        base_text_printf(out, "  %s\n      %s\n", example[0], example[1]);
}

void cli_help_program(struct base_text *out)
{
    base_text_add(out, "usage: kvsim SCENARIO.yaml [options]      the same as kvsim run\n"
                       "       kvsim COMMAND ... [options]\n\n"
                       "kvsim simulates LLM serving: how many users fit, how fast, and why.\n\n"
                       "commands:\n");
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++)
        if (!command->is_hidden)
            base_text_printf(out, "  %-9s %s\n", command->name, command->summary);
    base_text_add(out, "\n'kvsim COMMAND --help' shows a command's options and examples, "
                       "'kvsim --version' the version.\n");
}

/* Text for roff: backslashes and dashes escaped, a line must not begin with a dot or a quote. */
static void add_roff(struct base_text *out, const char *text)
{
    bool at_start = out->count == 0 || out->at[out->count - 1] == '\n';
    for (; *text != '\0'; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            base_text_add(out, "\\&");
        if (*text == '\\')
            base_text_add(out, "\\e");
        else if (*text == '-')
            base_text_add(out, "\\-");
        else if (*text == '\n')
            base_text_add(out, "\n.PP");
        if (strchr("\\-", *text) == NULL)
            base_text_add_n(out, text, 1);
        at_start = *text == '\n';
    }
}

static void add_roff_option(struct base_text *out, const struct cli_option *option)
{
    base_text_add(out, ".TP\n.B ");
    if (option->letter != '\0')
        base_text_printf(out, "\\-%c, ", option->letter);
    base_text_add(out, "\\-\\-");
    add_roff(out, option->name);
    if (option->value != NULL) {
        base_text_add(out, " \\fI");
        add_roff(out, option->value);
        base_text_add(out, "\\fR");
    }
    base_text_add(out, "\n");
    add_roff(out, option->help);
    base_text_add(out, "\n");
}

static void add_roff_command(struct base_text *out, const struct cli_command *command)
{
    base_text_printf(out, ".SS kvsim %s ", command->name);
    add_roff(out, command->operands);
    base_text_add(out, "\n");
    add_roff(out, command->summary);
    base_text_add(out, ".\n");
    if (command->description[0] != '\0') {
        base_text_add(out, ".PP\n");
        add_roff(out, command->description);
        base_text_add(out, "\n");
    }
    for (const struct cli_option *option = command->options; option->name != NULL; option++)
        if (!option->is_hidden && option->kind != CLI_HELP)
            add_roff_option(out, option);
    base_text_add(out, ".PP\nExamples:\n");
    for (const char *const *example = command->examples; *example != NULL; example += 2) {
        base_text_add(out, ".TP\n.B ");
        add_roff(out, example[0]);
        base_text_add(out, "\n");
        add_roff(out, example[1]);
        base_text_add(out, "\n");
    }
}

static const char manual_head[] =
    ".SH NAME\nkvsim \\- discrete\\-event capacity planning for LLM serving\n"
    ".SH SYNOPSIS\n.B kvsim\n.I SCENARIO.yaml\n[options]\n.br\n.B kvsim\n.I COMMAND\n\\&... "
    "[options]\n"
    ".SH DESCRIPTION\n"
    "kvsim reads a model, a GPU, an engine release and a traffic pattern from one YAML file, "
    "simulates every step of\nthe engine's scheduler, and says how much KV cache fits and where "
    "its bytes go, what latency and throughput\nfollow, and what limits them.\n"
    ".SH COMMANDS\n";

static const char manual_tail[] =
    ".SH VALUES\n"
    "Values take units: 8k, 80GiB, 250ms, 4/s. For token counts k is 1024 and M 1024^2; for every "
    "other quantity\nk, M, G, T are powers of 1000 and Ki, Mi, Gi, Ti powers of 1024.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\ndone\n"
    ".TP\n.B 1\nran, but an SLO or a requirement of the scenario was missed, or the engine could "
    "not "
    "go on\n"
    ".TP\n.B 2\nusage: an unknown command or option, or a value of the wrong form\n"
    ".TP\n.B 3\na scenario or another input is invalid\n"
    ".TP\n.B 4\na file or the database cannot be read or written\n"
    ".TP\n.B 5\nthe configuration cannot start\n"
    ".TP\n.B 70\na defect of kvsim, or no memory left\n"
    ".TP\n.B 130, 143, 129\nended by Ctrl-C, SIGTERM or SIGHUP; nothing was stored\n"
    ".TP\n.B 141\nwho read the output went away before its end, and nothing was to be stored\n"
    ".PP\nA command that exits with 2, 3, 4 or 5 makes and changes no file.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B KVSIM_DATA\na folder with models/, hardware/ and engines/ that come before those of "
    "the "
    "working directory\n"
    ".SH FILES\n"
    ".TP\n.I results/kvsim.db\nthe results database, SQLite\n"
    ".SH SEE ALSO\n"
    ".BR kvsim\\-scenario (5),\n.BR kvsim\\-results (5),\n.BR sqlite3 (1)\n";

void cli_help_manual(struct base_text *out)
{
    base_text_printf(out,
                     ".\\\" Made by 'kvsim manual kvsim' from the tables of commands.\n"
                     ".TH KVSIM 1 \"\" \"kvsim %s\" \"User Commands\"\n",
                     kvsim_version());
    base_text_add(out, manual_head);
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++)
        if (!command->is_hidden)
            add_roff_command(out, command);
    base_text_add(out, manual_tail);
}

static const char results_head[] =
    ".SH NAME\nkvsim\\-results \\- the database of kvsim's runs\n"
    ".SH DESCRIPTION\n"
    "A run is stored in an SQLite database, results/kvsim.db unless \\-\\-db says otherwise, whole "
    "or not at "
    "all. The\nviews are made for questions; the tables behind them may change. Figures that do "
    "not exist are "
    "NULL.\n"
    ".PP\nViews: run_summary, run_metric, run_metric_by, replication_metric, run_ledger, "
    "run_waterfall,\nrun_limit, run_tail, run_caveat, run_param, run_slo, request_detail, "
    "timeline, "
    "run_compare, sweep_grid.\n\\(oq.schema\\(cq in\n"
    ".BR sqlite3 (1)\nshows their columns. What depends on the machine or the moment is in the "
    "table run_host alone.\n"
    ".SH RUN_SUMMARY\n"
    "Besides the figures below: run_id, created_at, wall_s. They are of one replica over all its "
    "GPUs or of all "
    "replicas\nas their meaning says; counts are means per replication.\n";

static const char results_tail[] =
    ".SH EXAMPLES\n.nf\n"
    "sqlite3 results/kvsim.db \"SELECT ttft_p99_ms, kv_usage_peak, binding_limit FROM "
    "run_summary\"\n"
    ".fi\n.SH SEE ALSO\n.BR kvsim (1),\n.BR kvsim\\-scenario (5),\n.BR sqlite3 (1)\n";

void cli_help_results(struct base_text *out)
{
    base_text_printf(out,
                     ".\\\" Made by 'kvsim manual results' from the table of figures.\n"
                     ".TH KVSIM\\-RESULTS 5 \"\" \"kvsim %s\" \"File Formats\"\n",
                     kvsim_version());
    base_text_add(out, results_head);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        const struct record_column *figure = &record_summary_columns[i];
        base_text_add(out, ".TP\n.B ");
        add_roff(out, figure->name);
        if (figure->unit[0] != '\0')
            base_text_printf(out, " \\fR(%s)", figure->unit);
        base_text_add(out, "\n");
        add_roff(out, cli_figure_help((enum record_summary)i));
        base_text_add(out, "\n");
    }
    base_text_add(out, results_tail);
}
