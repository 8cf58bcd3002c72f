#include "cli/result.h"

#include "base/text.h"
#include "report/file.h"

#include <string.h>

static bool goes_to_stdout(const struct cli_args *args)
{
    return args->output_path == NULL || strcmp(args->output_path, "-") == 0;
}

static const struct {
    const char *ending;
    enum cli_format format;
} endings[] = {{".html", CLI_HTML}, {".htm", CLI_HTML}, {".md", CLI_MARKDOWN},
               {".json", CLI_JSON}, {".csv", CLI_CSV},  {".txt", CLI_TEXT_FORMAT}};

enum cli_format cli_result_format(const struct cli_args *args)
{
    if (args->format != CLI_UNSET)
        return (enum cli_format)args->format;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !goes_to_stdout(args); i++) {
        if (base_ends_with(args->output_path, endings[i].ending))
            return endings[i].format;
    }
    return CLI_TEXT_FORMAT;
}

/* ".pdf" of "out/x.pdf"; NULL where the name has none, or one of digits alone. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1, *dot = strrchr(name, '.');
    bool has_one = dot != NULL && dot != name && dot[1 + strspn(dot + 1, "0123456789")] != '\0';
    return has_one ? dot : NULL;
}

enum kvsim_status cli_result_check_ending(const struct cli_args *args, struct kvsim_error *err)
{
    const char *ending = goes_to_stdout(args) ? NULL : ending_of(args->output_path);
    bool is_known = ending == NULL || args->format != CLI_UNSET;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !is_known; i++)
        is_known = strcmp(ending, endings[i].ending) == 0;
    if (is_known)
        return KVSIM_OK;
    char place[200];
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_USAGE, "the ending '%.40s' names no format", ending);
    snprintf(place, sizeof place, "--output=%.180s", args->output_path);
    base_error_at(err, place, 0, 0);
    base_error_hint(err,
                    "known are .html, .md, .json, .csv and .txt; --format says it for any name");
    return status;
}

enum kvsim_status cli_result_plain(const struct cli_args *args, const char *command,
                                   enum cli_format *out, struct kvsim_error *err)
{
    char place[64];
    *out = cli_result_format(args);
    if (*out != CLI_HTML)
        return KVSIM_OK;
    enum kvsim_status status =
        base_fail(err, KVSIM_ERR_USAGE, "--output=%.200s: a page is made of what is stored",
                  args->output_path);
    snprintf(place, sizeof place, "kvsim %s", command);
    base_error_at(err, place, 0, 0);
    base_error_hint(err, "afterwards: kvsim report %s -o %.200s",
                    strcmp(command, "run") == 0 ? "last" : "SWEEP_ID", args->output_path);
    return status;
}

enum kvsim_status cli_result_check(const struct cli_args *args, const char *doing,
                                   struct kvsim_error *err)
{
    const char *db_path = args->db_path == NULL ? "results/kvsim.db" : args->db_path;
    struct report_file file;
    if (goes_to_stdout(args))
        return KVSIM_OK;
    if (!args->is_unstored && report_file_is(args->output_path, db_path))
        return report_file_fail_kept(args->output_path, doing, "the database", err);
    for (size_t i = 0; i < args->operands.count; i++) {
        if (report_file_is(args->output_path, args->operands.at[i]))
            return report_file_fail_kept(args->output_path, doing, "the scenario", err);
    }
    enum kvsim_status status = cli_result_check_ending(args, err);
    if (status != KVSIM_OK)
        return status;
    status = report_file_open(&file, args->output_path, doing, err);
    if (status == KVSIM_OK)
        report_file_abandon(&file);
    return status;
}

enum kvsim_status cli_result_put(const struct cli_args *args, const char *doing,
                                 void (*write)(const void *context, FILE *out), const void *context,
                                 struct kvsim_error *err)
{
    struct report_file file;
    if (goes_to_stdout(args)) {
        write(context, stdout);
        return KVSIM_OK;
    }
    enum kvsim_status status = report_file_open(&file, args->output_path, doing, err);
    if (status != KVSIM_OK)
        return status;
    write(context, file.out);
    return report_file_finish(&file, err);
}
