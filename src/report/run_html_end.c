/*
 * What the figures rest on: assumptions with their sources, what they do not support, and how to get them again.
 */
#include "report/run_html_int.h"

#include "base/text.h"
#include "report/command.h"
#include "report/number.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char *const kinds[] = {"measured", "vendor", "assumed", "calculated"};

/* How many parameters are of that kind and were not stated in the scenario. */
static size_t count_kind(const struct record_run *run, const char *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < run->params.count; i++)
        count += strcmp(run->params.at[i].claim, kind) == 0;
    return count;
}

/* Sources that several inputs have are written once, below the table, by number. */
struct sources {
    const char **at;
    size_t count, capacity;
};

static size_t count_source(const struct record_run *run, const char *source)
{
    size_t count = 0;
    for (size_t i = 0; i < run->params.count; i++)
        count += strcmp(run->params.at[i].source, source) == 0;
    return count;
}

/* The number of a source, from 1; 0 for a short one or one that stands alone. */
static size_t number_of(struct sources *sources, const struct record_run *run, const char *source)
{
    enum { SHORT_BYTES = 48 };
    if (strlen(source) < SHORT_BYTES || count_source(run, source) < 2)
        return 0;
    for (size_t i = 0; i < sources->count; i++) {
        if (strcmp(sources->at[i], source) == 0)
            return i + 1;
    }
    base_vec_push(sources, source);
    return sources->count;
}

static void put_source(struct report_html *html, struct sources *sources,
                       const struct record_run *run, const char *source)
{
    char text[32];
    size_t number = number_of(sources, run, source);
    snprintf(text, sizeof text, "[%zu]", number);
    report_html_cell(html, number == 0 ? source : text);
}

static void put_sources(struct report_html *html, struct sources *sources)
{
    if (sources->count > 0)
        report_html_markup(html, "<ol class=\"sources\">\n");
    for (size_t i = 0; i < sources->count; i++) {
        report_html_markup(html, "<li>");
        report_html_text(html, sources->at[i]);
        report_html_markup(html, "</li>\n");
    }
    if (sources->count > 0)
        report_html_markup(html, "</ol>\n");
    base_vec_free(sources);
}

static bool is_stated(const struct record_param_row *row)
{
    return strcmp(row->origin, "scenario") == 0 || strcmp(row->origin, "set") == 0;
}

/* What a scenario states needs neither kind nor source in each row. */
static void put_param(struct report_html *html, struct sources *sources,
                      const struct record_run *run, const struct record_param_row *row,
                      bool is_short)
{
    char value[320];
    snprintf(value, sizeof value, "%s%s%s", row->value, row->unit[0] == '\0' ? "" : " ", row->unit);
    report_html_cell(html, row->key);
    report_html_cell(html, value);
    report_html_cell(html, row->origin);
    if (is_short)
        return;
    report_html_cell(html, row->claim);
    put_source(html, sources, run, row->source);
}

/* The parameters that `wanted` says yes to; nothing when there are none. */
static void put_params(struct report_html *html, const struct record_run *run, const char *caption,
                       const char *claim, bool (*wanted)(const struct record_param_row *row))
{
    static const char *const header[] = {"key", "value", "origin", "kind", "source"};
    bool is_short = claim != NULL;
    bool is_open = false;
    struct sources sources = {0};
    for (size_t i = 0; i < run->params.count; i++) {
        if (!wanted(&run->params.at[i]))
            continue;
        if (!is_open) {
            report_html_table(html, caption, claim, NULL, is_short ? "lll" : "lllkl");
            for (size_t k = 0; k < (is_short ? 3 : COUNT_OF(header)); k++)
                report_html_cell(html, header[k]);
            report_html_table_body(html);
        }
        is_open = true;
        put_param(html, &sources, run, &run->params.at[i], is_short);
    }
    if (is_open)
        report_html_table_end(html);
    put_sources(html, &sources);
}

/* What was taken for granted by nobody's statement: the weak points of the answer. */
static bool is_silent_assumption(const struct record_param_row *row)
{
    return !is_stated(row) && strcmp(row->claim, "assumed") == 0 && row->source[0] != '\0';
}

static bool is_other(const struct record_param_row *row)
{
    return !is_stated(row) && !is_silent_assumption(row);
}

static void put_kind_counts(struct report_html *html, const struct record_run *run)
{
    report_html_markup(html, "<p>");
    report_html_printf(html, "%zu inputs:", run->params.count);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        report_html_printf(html, " %zu ", count_kind(run, kinds[i]));
        report_html_claim(html, kinds[i], NULL);
    }
    report_html_markup(html, ". What was written in the scenario counts as assumed: kvsim cannot "
                             "know how well it is known.</p>\n");
}

void report_html_assumptions(struct report_html *html, const struct record_run *run)
{
    if (run->params.count == 0)
        return;
    report_html_section(html, "assumptions", "Assumptions");
    put_kind_counts(html, run);
    put_params(html, run, "Stated in the scenario or on the command line", "assumed", is_stated);
    put_params(html, run, "Assumed by kvsim, with the reason", NULL, is_silent_assumption);
    report_html_markup(html, "<details>\n<summary>All other inputs</summary>\n");
    put_params(html, run, "Defaults, engine profile and hardware", NULL, is_other);
    report_html_markup(html, "</details>\n");
    report_html_section_end(html);
}

void report_html_caveat_items(struct report_html *html, const struct record_run *run)
{
    for (size_t i = 0; i < run->caveats.count; i++) {
        report_html_markup(html, "<li>");
        report_html_code(html, run->caveats.at[i].code);
        report_html_printf(html, " %s", run->caveats.at[i].text);
        report_html_markup(html, "</li>\n");
    }
}

void report_html_caveats(struct report_html *html, const struct record_run *run)
{
    report_html_section(html, "caveats", "What these figures do not support");
    report_html_markup(html, "<ul>\n");
    report_html_caveat_items(html, run);
    report_html_markup(html, "<li>Any other load, model, accelerator, engine release or setting "
                             "than the ones stated here.</li>\n</ul>\n");
    report_html_section_end(html);
}

/* The deepest nesting that begins a new line. */
enum { SPREAD_DEPTH = 2 };

static void new_line(struct base_text *out, int depth)
{
    base_text_add(out, "\n");
    for (int i = 0; i < depth; i++)
        base_text_add(out, "  ");
}

/* Where blanks after a comma are replaced by the line's own. */
static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " ");
}

/*
 * The resolved scenario is one line of YAML in flow style. It stays that, with a line for each key of the outer levels;
 * quoted texts are left alone.
 */
static void spread_yaml(const char *yaml, struct base_text *out)
{
    int depth = 0;
    char quote = '\0';
    for (const char *at = yaml; *at != '\0'; at++) {
        bool is_plain = quote == '\0';
        if (is_plain && (*at == '}' || *at == ']') && --depth < SPREAD_DEPTH && *at == '}')
            new_line(out, depth);
        base_text_add_n(out, at, 1);
        if (is_plain && (*at == '{' || *at == '['))
            depth++;
        if (is_plain && depth <= SPREAD_DEPTH && (*at == '{' || (*at == ',' && depth > 0)) &&
            at[1] != '}') {
            new_line(out, depth);
            at = skip_blanks(at + 1) - 1;
        }
        if (*at == '"' || *at == '\'')
            quote = is_plain ? *at : quote == *at ? '\0' : quote;
        if (quote == '"' && *at == '\\' && at[1] != '\0')
            base_text_add_n(out, ++at, 1);
    }
}

void report_html_scenario(struct report_html *html, const struct record_run *run)
{
    if (run->scenario_yaml == NULL || run->scenario_yaml[0] == '\0')
        return;
    struct base_text text = {0};
    spread_yaml(run->scenario_yaml, &text);
    report_html_markup(html, "<details>\n<summary>The resolved scenario: every key with its value"
                             "</summary>\n<pre><code>");
    report_html_text(html, text.at);
    report_html_markup(html, "</code></pre>\n</details>\n");
    base_text_free(&text);
}

/* The scenario's name stands for its file; what the command line set is set again. */
static void put_command(struct report_html *html, const struct record_run *run)
{
    struct base_text command = {0}, word = {0};
    base_text_add(&command, "kvsim run");
    base_text_printf(&word, "%s.yaml", record_get_text(run, RECORD_SCENARIO));
    report_command_word(&command, word.at);
    for (size_t i = 0; i < run->params.count; i++) {
        const struct record_param_row *row = &run->params.at[i];
        if (strcmp(row->origin, "set") != 0)
            continue;
        report_command_set(&command, row);
    }
    report_html_markup(html, "<pre><code>");
    report_html_text(html, command.at);
    report_html_markup(html, "</code></pre>\n");
    base_text_free(&word);
    base_text_free(&command);
}

void report_html_again(struct report_html *html, const struct record_run *run)
{
    report_html_section(html, "again", "How to get these figures again");
    report_html_paragraph(html, "",
                          "The same scenario with kvsim %s gives every figure again, on any "
                          "machine and with any number of jobs; an equal fingerprint says that it "
                          "is the same.",
                          record_get_text(run, RECORD_KVSIM_VERSION));
    put_command(html, run);
    report_html_table(html, "What identifies this run", NULL, NULL, "ll");
    report_html_cell(html, "");
    report_html_cell(html, "value");
    report_html_table_body(html);
    char seed[32];
    snprintf(seed, sizeof seed, "%lld", (long long)run->summary[RECORD_SEED].integer);
    const char *const rows[][2] = {
        {"scenario", record_get_text(run, RECORD_SCENARIO)},
        {"fingerprint", record_get_text(run, RECORD_SCENARIO_HASH)},
        {"seed", seed},
        {"kvsim", record_get_text(run, RECORD_KVSIM_VERSION)},
        {"engine", record_get_text(run, RECORD_ENGINE)},
        {"step times", record_get_text(run, RECORD_COST_LEVEL)},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        report_html_cell(html, rows[i][0]);
        report_html_cell(html, rows[i][1]);
    }
    report_html_table_end(html);
    report_html_scenario(html, run);
    report_html_section_end(html);
}
