#include "report/compare_html.h"

#include "base/text.h"
#include "report/compare.h"
#include "report/compare_html_int.h"
#include "report/figure.h"
#include "report/number.h"
#include "report/run_answer.h"
#include "report/run_html_int.h"
#include "report/run_view.h"

#include <kvsim/version.h>

#include <math.h>
#include <string.h>

struct sides {
    const struct record_comparison *comparison;
    const struct record_run *a, *b;
};

static const char *text_of(const struct record_side *side, enum record_summary column)
{
    return side->summary[column].kind == RECORD_TEXT ? side->summary[column].text : "";
}

/* ---- the question ---- */

static bool is_stated(const struct record_run *run, const char *key)
{
    const struct record_param_row *row = report_run_param(run, key);
    return row != NULL && (strcmp(row->origin, "scenario") == 0 || strcmp(row->origin, "set") == 0);
}

/* What somebody changed, and not what follows from another model, GPU or engine release; the scenario's name is a label. */
static bool is_cause(const struct sides *sides, const struct record_param_difference *row)
{
    if (!report_compare_is_changed(row) || strcmp(row->key, "name") == 0)
        return false;
    return base_ends_with(row->key, ".name") || is_stated(sides->a, row->key) ||
           is_stated(sides->b, row->key);
}

static size_t count_changed(const struct sides *sides, const struct record_param_difference **first)
{
    const struct record_comparison *comparison = sides->comparison;
    size_t count = 0;
    *first = NULL;
    for (size_t i = 0; i < comparison->params.count; i++) {
        const struct record_param_difference *row = &comparison->params.at[i];
        if (!is_cause(sides, row))
            continue;
        if (*first == NULL)
            *first = row;
        count++;
    }
    return count;
}

/* "hardware" of "hardware.name" */
static void write_key(const char *key, char *text, size_t bytes)
{
    base_copy(text, bytes, key);
    if (base_ends_with(text, ".name"))
        text[strlen(text) - strlen(".name")] = '\0';
}

static void write_question(const struct sides *sides, struct base_text *out)
{
    const struct record_comparison *comparison = sides->comparison;
    const struct record_param_difference *first;
    char key[128];
    size_t count = count_changed(sides, &first);
    const char *a = text_of(&comparison->a, RECORD_SCENARIO),
               *b = text_of(&comparison->b, RECORD_SCENARIO);
    if (count > 0)
        write_key(first->key, key, sizeof key);
    if (count == 1)
        base_text_printf(out, "What changes for %s when %s goes from %s to %s?", a, key,
                         first->a[0] == '\0' ? "unset" : first->a,
                         first->b[0] == '\0' ? "unset" : first->b);
    else if (strcmp(a, b) != 0)
        base_text_printf(out, "What differs between %s (A) and %s (B)?", a, b);
    else
        base_text_printf(out, "What changes for %s with %zu other parameters?", a, count);
}

/* ---- the answer ---- */

static size_t count_verdict(const struct record_comparison *comparison, enum record_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < report_compare_count(); i++) {
        const struct record_difference *row = report_compare_row(comparison, i);
        count += row != NULL && row->verdict == verdict;
    }
    return count;
}

static int meets(const struct record_side *side)
{
    const struct record_value *met = &side->summary[RECORD_SLO_MET];
    return met->kind == RECORD_NULL ? -1 : met->integer != 0;
}

static bool is_overloaded(const struct record_side *side)
{
    return strcmp(text_of(side, RECORD_STABILITY), "overloaded") == 0;
}

static const char *tone_of(const struct record_comparison *comparison)
{
    size_t better = count_verdict(comparison, RECORD_BETTER),
           worse = count_verdict(comparison, RECORD_WORSE);
    bool a_grows = is_overloaded(&comparison->a), b_grows = is_overloaded(&comparison->b);
    if (a_grows || b_grows)
        return a_grows && b_grows ? "open" : b_grows ? "no" : "yes";
    if (meets(&comparison->a) == 1 && meets(&comparison->b) == 0)
        return "no";
    return better > 0 && worse == 0 ? "yes" : worse > 0 && better == 0 ? "no" : "open";
}

static void write_answer(const struct record_comparison *comparison, struct base_text *out)
{
    bool a_grows = is_overloaded(&comparison->a), b_grows = is_overloaded(&comparison->b);
    size_t better = count_verdict(comparison, RECORD_BETTER),
           worse = count_verdict(comparison, RECORD_WORSE);
    if (a_grows || b_grows)
        base_text_printf(out, "%s overloaded: latencies there grow without end.",
                         a_grows && b_grows ? "Both are"
                         : b_grows          ? "B is"
                                            : "A is");
    else if (better == 0 && worse == 0)
        base_text_add(out, count_verdict(comparison, RECORD_NO_DIFFERENCE_SHOWN) > 0
                               ? "No figure is shown to be better or worse."
                               : "Nothing differs.");
    else if (worse == 0)
        base_text_printf(out, "B is better: %zu figure%s, and none worse.", better,
                         better == 1 ? "" : "s");
    else if (better == 0)
        base_text_printf(out, "B is worse: %zu figure%s, and none better.", worse,
                         worse == 1 ? "" : "s");
    else
        base_text_printf(out, "A trade: B is better in %zu figure%s and worse in %zu.", better,
                         better == 1 ? "" : "s", worse);
}

/* The figures that a reader asks for first, those with a verdict. */
static void put_headlines(struct report_html *html, const struct record_comparison *comparison)
{
    static const char *const names[][2] = {{"ttft", "p99"},
                                           {"tpot", "p99"},
                                           {"e2e", "p99"},
                                           {"request_goodput", "value"},
                                           {"output_throughput", "value"}};
    struct base_text text = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct record_difference *row =
            record_comparison_find(comparison, names[i][0], names[i][1]);
        char name[96], words[96];
        bool is_shown = row != NULL && !isnan(row->ratio_ci_low) &&
                        (row->verdict == RECORD_BETTER || row->verdict == RECORD_WORSE);
        if (!is_shown)
            continue;
        report_compare_name(row, name, sizeof name);
        base_text_printf(&text, "%s%s %+.1f %% (%+.1f to %+.1f)", text.count == 0 ? "" : ", ",
                         report_words(name, words, sizeof words), (row->ratio - 1) * 100,
                         (row->ratio_ci_low - 1) * 100, (row->ratio_ci_high - 1) * 100);
    }
    if (text.count > 0)
        report_html_paragraph(html, "", "%s; in brackets the 95 %% interval.", text.at);
    base_text_free(&text);
}

static void put_promises(struct report_html *html, const struct record_comparison *comparison)
{
    static const char *const words[] = {"misses a target", "meets its targets"};
    int a = meets(&comparison->a), b = meets(&comparison->b);
    if (a < 0 || b < 0)
        report_html_paragraph(html, "", "No SLO was stated on at least one side.");
    else if (a == b)
        report_html_paragraph(html, "", "%s",
                              a ? "Both meet their targets." : "Both miss a target.");
    else
        report_html_paragraph(html, "", "A %s, B %s.", words[a], words[b]);
}

static void put_grounds(struct report_html *html, const struct record_comparison *comparison)
{
    report_html_markup(html, "<p class=\"note\">");
    report_html_claim(html, "simulated", "assumed");
    report_html_printf(html, " %s",
                       comparison->is_paired
                           ? "Paired on common random numbers: intervals are Student's t over the "
                             "differences of replications."
                           : "Not paired, since seeds or replications differ: intervals are "
                             "Welch's t.");
    report_html_markup(html, "</p>\n");
}

static void put_answer(struct report_html *html, const struct record_comparison *comparison)
{
    struct base_text text = {0};
    write_answer(comparison, &text);
    fprintf(html->out, "<div class=\"answer %s\">\n<strong>", tone_of(comparison));
    report_html_text(html, text.at);
    report_html_markup(html, "</strong>\n");
    put_headlines(html, comparison);
    put_promises(html, comparison);
    put_grounds(html, comparison);
    report_html_markup(html, "</div>\n");
    base_text_free(&text);
}

/* ---- what binds, what to change, what it costs ---- */

static void put_side(struct report_html *html, const char *name, const struct record_side *side,
                     const struct record_run *run)
{
    const char *limit = text_of(side, RECORD_BINDING_LIMIT);
    char share[REPORT_NUMBER_BYTES], words[64];
    report_print_share(report_limit_share(run, limit), share, sizeof share);
    report_html_markup(html, "<p><b>");
    report_html_printf(html, "%s: %s, %s of the time.", name, report_limit_title(limit), share);
    report_html_markup(html, "</b> ");
    report_html_printf(html, "Load: %s.",
                       report_words(text_of(side, RECORD_STABILITY), words, sizeof words));
    report_html_markup(html, "</p>\n");
}

/* The fewest more replications that would show a difference that is not shown; 0: none is said. */
static int64_t find_more(const struct record_comparison *comparison,
                         const struct record_difference **of)
{
    int64_t least = 0;
    for (size_t i = 0; i < report_compare_count(); i++) {
        const struct record_difference *row = report_compare_row(comparison, i);
        if (row == NULL || row->more_replications <= 0 ||
            (least > 0 && row->more_replications >= least))
            continue;
        least = row->more_replications;
        *of = row;
    }
    return least;
}

static void put_change(struct report_html *html, const struct sides *sides)
{
    const struct record_comparison *comparison = sides->comparison;
    const char *tone = tone_of(comparison);
    const struct record_param_difference *first;
    const struct record_difference *of = NULL;
    int64_t more = find_more(comparison, &of);
    bool is_single = count_changed(sides, &first) == 1;
    report_html_markup(html, "<div>\n<h2>What to change</h2>\n");
    report_html_paragraph(
        html, "", "%s",
        strcmp(tone, "yes") == 0
            ? is_overloaded(&comparison->a) ? "Take B." : "Take B: no figure that differs is worse."
        : strcmp(tone, "no") == 0 ? "Nothing: keep A."
        : count_verdict(comparison, RECORD_BETTER) > 0
            ? "It depends on which of the figures counts more."
            : "Nothing that these runs show.");
    if (strcmp(tone, "yes") == 0 && is_single && first->b[0] != '\0') {
        report_html_markup(html, "<ul class=\"levers\"><li>");
        char key[128], setting[256];
        write_key(first->key, key, sizeof key);
        snprintf(setting, sizeof setting, "%s=%s", key, first->b);
        report_html_code(html, setting);
        report_html_markup(html, "</li></ul>\n");
    }
    if (more > 0) {
        char name[96], words[96];
        report_compare_name(of, name, sizeof name);
        report_html_paragraph(html, "note",
                              "%lld more replications would show the smallest open difference, if "
                              "it is what it seems: %s.",
                              (long long)more, report_words(name, words, sizeof words));
    }
    report_html_markup(html, "</div>\n");
}

static void put_cost(struct report_html *html, const struct record_comparison *comparison)
{
    const struct record_difference *row =
        record_comparison_find(comparison, "usd_per_mtok_output", "value");
    char a[REPORT_NUMBER_BYTES], b[REPORT_NUMBER_BYTES], verdict[96];
    report_html_markup(html, "<div>\n<h2>What it costs</h2>\n");
    report_html_paragraph(html, "", "A: %lld × %s. B: %lld × %s.",
                          (long long)comparison->a.summary[RECORD_GPUS].integer,
                          text_of(&comparison->a, RECORD_HARDWARE),
                          (long long)comparison->b.summary[RECORD_GPUS].integer,
                          text_of(&comparison->b, RECORD_HARDWARE));
    if (row == NULL || isnan(row->a) || isnan(row->b))
        report_html_paragraph(html, "", "No price was stated (price.usd_per_gpu_hour).");
    else
        report_html_paragraph(html, "", "Per million output tokens: $%s against $%s, %s.",
                              report_print_usd(row->a, a, sizeof a),
                              report_print_usd(row->b, b, sizeof b),
                              report_compare_verdict(row, verdict, sizeof verdict));
    report_html_markup(html, "</div>\n");
}

static void put_front(struct report_html *html, const struct sides *sides, const char *question)
{
    const struct record_comparison *comparison = sides->comparison;
    report_html_markup(html, "<header>\n");
    report_html_paragraph(html, "over", "Capacity report · comparison · kvsim %s", KVSIM_VERSION);
    report_html_markup(html, "<h1>");
    report_html_words(html, question);
    report_html_markup(html, "</h1>\n");
    put_answer(html, comparison);
    report_html_markup(html, "<div class=\"brief\">\n<div>\n<h2>What binds</h2>\n");
    put_side(html, "A", &comparison->a, sides->a);
    put_side(html, "B", &comparison->b, sides->b);
    report_html_markup(html, "</div>\n");
    put_change(html, sides);
    put_cost(html, comparison);
    report_html_markup(html, "</div>\n</header>\n");
}

/* ---- the end ---- */

static bool has_caveat(const struct record_run *run, const struct record_caveat_row *caveat)
{
    for (size_t i = 0; i < run->caveats.count; i++) {
        if (strcmp(run->caveats.at[i].code, caveat->code) == 0 &&
            strcmp(run->caveats.at[i].text, caveat->text) == 0)
            return true;
    }
    return false;
}

/* Those of A, then those that only B has. */
static void put_caveats(struct report_html *html, const struct record_run *a,
                        const struct record_run *b)
{
    report_html_section(html, "caveats", "What these figures do not support");
    report_html_markup(html, "<ul>\n");
    report_html_caveat_items(html, a);
    for (size_t i = 0; i < b->caveats.count; i++) {
        if (has_caveat(a, &b->caveats.at[i]))
            continue;
        report_html_markup(html, "<li>");
        report_html_code(html, b->caveats.at[i].code);
        report_html_printf(html, " B only: %s", b->caveats.at[i].text);
        report_html_markup(html, "</li>\n");
    }
    report_html_markup(html, "<li>");
    report_html_text(html,
                     "Each interval holds its difference with 95 % by itself; of twenty figures "
                     "that do not differ, one is expected to seem to.");
    report_html_markup(html, "</li>\n<li>Any other load, model, accelerator, engine release or "
                             "setting than the ones stated here.</li>\n</ul>\n");
    report_html_section_end(html);
}

static void put_again(struct report_html *html, const struct record_comparison *comparison,
                      const char *command)
{
    static const char *const heads[] = {"", "A", "B"};
    report_html_section(html, "again", "How to get these figures again");
    report_html_paragraph(
        html, "",
        "The same scenarios with kvsim %s give every figure again, on any machine "
        "and with any number of jobs.",
        KVSIM_VERSION);
    report_html_markup(html, "<pre><code>");
    report_html_text(html, command);
    report_html_markup(html, "</code></pre>\n");
    report_html_table(html, "What identifies the runs", NULL, NULL, "lll");
    for (size_t i = 0; i < 3; i++)
        report_html_cell(html, heads[i]);
    report_html_table_body(html);
    static const struct {
        const char *name;
        enum record_summary column;
    } rows[] = {{"scenario", RECORD_SCENARIO},
                {"fingerprint", RECORD_SCENARIO_HASH},
                {"engine", RECORD_ENGINE},
                {"step times", RECORD_COST_LEVEL},
                {"kvsim", RECORD_KVSIM_VERSION}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        report_html_cell(html, rows[i].name);
        report_html_cell(html, text_of(&comparison->a, rows[i].column));
        report_html_cell(html, text_of(&comparison->b, rows[i].column));
    }
    report_html_table_end(html);
    report_html_section_end(html);
}

void report_compare_html(FILE *out, const struct record_comparison *comparison,
                         const struct record_run *a, const struct record_run *b,
                         const char *command, const char *gnuplot)
{
    struct report_html html;
    struct report_plotter plotter = {.program = gnuplot};
    struct sides sides = {comparison, a, b};
    struct base_text question = {0};
    write_question(&sides, &question);
    report_html_begin(&html, out, question.at);
    put_front(&html, &sides, question.at);
    report_html_plot_note(&html, &plotter);
    report_html_changed(&html, comparison);
    report_html_differences(&html, &plotter, comparison);
    report_html_moved_bytes(&html, &plotter, comparison);
    report_html_moved_time(&html, &plotter, comparison);
    report_html_assumptions(&html, b);
    put_caveats(&html, a, b);
    put_again(&html, comparison, command);
    report_html_end(&html);
    base_text_free(&question);
}
