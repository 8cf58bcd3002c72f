#include "report/run_html.h"

#include "base/units.h"
#include "report/figure.h"
#include "report/number.h"
#include "report/run_answer.h"
#include "report/run_html_int.h"
#include "report/run_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* What kind of figures these are, and what stands behind an interval. */
static void put_grounds(struct report_html *html, const struct record_run *run)
{
    const struct record_metric *row = record_run_metric(run, "request_throughput", "value", "");
    int64_t replications = run->summary[RECORD_REPLICATIONS].integer;
    char requests[REPORT_NUMBER_BYTES];
    report_print_rounded(record_get_real(run, RECORD_REQUESTS), 4, requests, sizeof requests);
    report_html_markup(html, "<p class=\"note\">");
    report_html_claim(html, row == NULL ? "simulated" : row->claim, NULL);
    report_html_printf(html, " %lld replication%s of %s requests; %s", (long long)replications,
                       plural(replications), requests,
                       replications > 1 ? "± is half of a 95 % interval over the replications"
                                        : "one replication gives no interval");
    if (row != NULL && row->basis != NULL) {
        report_html_markup(html, "; the weakest input is ");
        report_html_claim(html, row->basis, NULL);
    }
    report_html_markup(html, "</p>\n");
}

static void put_answer(struct report_html *html, const struct record_run *run,
                       const struct report_answer *answer)
{
    static const char *const tones[] = {"yes", "no", "open"};
    fprintf(html->out, "<div class=\"answer %s\">\n<strong>", tones[answer->tone]);
    report_html_text(html, answer->answer);
    report_html_markup(html, "</strong>\n");
    if (answer->detail[0] != '\0')
        report_html_paragraph(html, "", "%s", answer->detail);
    put_grounds(html, run);
    report_html_markup(html, "</div>\n");
}

static void put_binding(struct report_html *html, const struct record_run *run)
{
    const char *limit = record_get_text(run, RECORD_BINDING_LIMIT);
    char share[REPORT_NUMBER_BYTES], stability[32];
    report_print_share(report_limit_share(run, limit), share, sizeof share);
    report_html_markup(html, "<div>\n<h2>What binds</h2>\n<p><b>");
    report_html_text(html, report_limit_title(limit));
    report_html_printf(html, ", %s of the time.", share);
    report_html_markup(html, "</b> ");
    report_html_printf(
        html, "%s Load: %s.", report_limit_meaning(limit),
        report_words(record_get_text(run, RECORD_STABILITY), stability, sizeof stability));
    report_html_markup(html, "</p>\n</div>\n");
}

void report_html_levers(struct report_html *html, const struct report_lever *levers, size_t count)
{
    report_html_markup(html, count > 0 ? "<ul class=\"levers\">\n" : "");
    for (size_t i = 0; i < count; i++) {
        report_html_markup(html, "<li>");
        report_html_code(html, levers[i].setting);
        report_html_markup(html, "<br />");
        report_html_text(html, levers[i].effect);
        report_html_markup(html, "</li>\n");
    }
    report_html_markup(html, count > 0 ? "</ul>\n" : "");
}

static void put_levers(struct report_html *html, const struct record_run *run,
                       const struct report_answer *answer)
{
    struct report_lever levers[REPORT_LEVERS_MAX];
    size_t count = report_levers_find(run, levers);
    report_html_markup(html, "<div>\n<h2>What to change</h2>\n");
    report_html_paragraph(html, "", "%s",
                          answer->tone == REPORT_YES
                              ? "Nothing has to change for this load. Worth a run with --set:"
                          : count > 0 ? "Against this limit, each to be tried with --set:"
                                      : "No single setting is known to lift this limit.");
    report_html_levers(html, levers, count);
    if (count > 0)
        report_html_markup(html, "<p class=\"note\">Their effect was not simulated here.</p>\n");
    report_html_markup(html, "</div>\n");
}

static void put_cost(struct report_html *html, const struct record_run *run)
{
    const struct record_param_row *price = report_run_param(run, "price.usd_per_gpu_hour");
    if (price == NULL)
        price = report_run_param(run, "hardware.price");
    double usd_per_hour =
        price == NULL ? (double)NAN
                      : strtod(price->value, NULL) * (double)run->summary[RECORD_GPUS].integer;
    char hour[REPORT_NUMBER_BYTES], output[REPORT_NUMBER_BYTES], total[REPORT_NUMBER_BYTES];
    report_html_markup(html, "<div>\n<h2>What it costs</h2>\n");
    if (run->summary[RECORD_USD_PER_MTOK_OUTPUT].kind == RECORD_NULL) {
        report_html_paragraph(html, "", "No price was stated (price.usd_per_gpu_hour).");
    } else {
        report_run_figure(run, RECORD_USD_PER_MTOK_OUTPUT, output, sizeof output);
        report_run_figure(run, RECORD_USD_PER_MTOK_TOTAL, total, sizeof total);
        report_html_markup(html, "<p><b>");
        report_html_printf(html, "$%s per million output tokens", output);
        report_html_markup(html, "</b>");
        report_html_printf(html, ", or $%s per million of all tokens.", total);
        if (usd_per_hour > 0.0)
            report_html_printf(html, " $%s an hour for %lld GPU%s ",
                               report_print_rounded(usd_per_hour, 3, hour, sizeof hour),
                               (long long)run->summary[RECORD_GPUS].integer,
                               plural(run->summary[RECORD_GPUS].integer));
        if (price != NULL)
            report_html_claim(html, price->claim, NULL);
        report_html_markup(html, "</p>\n");
    }
    report_html_markup(html, "</div>\n");
}

static void put_front(struct report_html *html, const struct record_run *run,
                      const struct report_answer *answer)
{
    report_html_markup(html, "<header>\n");
    report_html_paragraph(html, "over", "Capacity report · %s · kvsim %s",
                          record_get_text(run, RECORD_SCENARIO),
                          record_get_text(run, RECORD_KVSIM_VERSION));
    report_html_markup(html, "<h1>");
    report_html_words(html, answer->question);
    report_html_markup(html, "</h1>\n");
    put_answer(html, run, answer);
    report_html_markup(html, "<div class=\"brief\">\n");
    put_binding(html, run);
    put_levers(html, run, answer);
    put_cost(html, run);
    report_html_markup(html, "</div>\n</header>\n");
}

/* How far an SLO's figure, with its interval, lies from the bound. */
static void print_margin(const struct report_slo *slo, char *text, size_t bytes)
{
    double headroom = report_slo_headroom(slo);
    text[0] = '\0';
    if (isnan(headroom))
        return;
    double bound_ms = (double)slo->slo.bound_ns / 1e6;
    double share = slo->row->value / bound_ms;
    const char *doubt = "";
    if (slo->row->ci_low <= bound_ms && slo->row->ci_high > bound_ms)
        doubt = "; the interval reaches across";
    if (share <= 1.0)
        snprintf(text, bytes, "%.0f %% below%s", (1.0 - share) * 100.0, doubt);
    else
        snprintf(text, bytes, "%.3g times the limit%s", share, doubt);
}

static void put_slo_row(struct report_html *html, const struct report_slo *slo)
{
    char figure[REPORT_NUMBER_BYTES + 4] = "", margin[96] = "";
    if (slo->row != NULL && !isnan(slo->row->value)) {
        report_print_interval(slo->row->value, slo->row->ci_low, slo->row->ci_high, figure,
                              sizeof figure - 4);
        snprintf(figure + strlen(figure), 4, " ms");
    }
    print_margin(slo, margin, sizeof margin);
    report_html_cell(html, slo->promise);
    report_html_cell(html, slo->is_met ? "met" : "missed");
    report_html_cell(html, figure[0] == '\0' ? "-" : figure);
    report_html_cell(html, figure[0] == '\0' ? slo->outcome : margin);
    report_html_claim_cell(html, slo->row == NULL ? "simulated" : slo->row->claim,
                           slo->row == NULL ? NULL : slo->row->basis);
}

static void put_slos(struct report_html *html, const struct record_run *run)
{
    if (run->slo_lines.count == 0)
        return;
    report_html_section(html, "promises", "The promises");
    report_html_table(html, "Every SLO and requirement of the scenario", NULL, NULL, "llrlk");
    static const char *const header[] = {"promise", "verdict", "figure", "margin", "kind"};
    for (size_t i = 0; i < 5; i++)
        report_html_cell(html, header[i]);
    report_html_table_body(html);
    for (size_t i = 0; i < run->slo_lines.count; i++) {
        struct report_slo slo;
        report_slo_read(run, i, &slo);
        put_slo_row(html, &slo);
    }
    report_html_table_end(html);
    report_html_section_end(html);
}

/* The only line that differs between equal runs. */
static void put_host(struct report_html *html, const struct record_run *run, const char *db_path)
{
    report_html_markup(html, "<footer><p>");
    if (run->run_id > 0 && db_path != NULL)
        report_html_printf(html, "Run %lld of %s. ", (long long)run->run_id, db_path);
    else
        report_html_text(html, "This run is not stored. ");
    char wall[REPORT_NUMBER_BYTES];
    if (run->created_at != NULL && run->created_at[0] != '\0')
        report_html_printf(html, "Simulated %s on %s in %s s with %lld job%s.", run->created_at,
                           run->host == NULL ? "" : run->host,
                           report_print_rounded(run->wall_s, 2, wall, sizeof wall),
                           (long long)run->jobs, plural(run->jobs));
    report_html_markup(html, "</p></footer>\n");
}

void report_run_html(FILE *out, const struct record_run *run, const char *db_path,
                     const char *gnuplot)
{
    struct report_html html;
    struct report_plotter plotter = {.program = gnuplot};
    struct report_answer answer;
    char title[512];
    report_answer_read(run, &answer);
    snprintf(title, sizeof title, "%s: %s", record_get_text(run, RECORD_SCENARIO), answer.question);
    report_html_begin(&html, out, title);
    put_front(&html, run, &answer);
    report_html_plot_note(&html, &plotter);
    put_slos(&html, run);
    report_html_latency(&html, &plotter, run);
    report_html_classes(&html, run);
    report_html_load(&html, run);
    report_html_timeline(&html, &plotter, run);
    report_html_memory(&html, &plotter, run);
    report_html_limits(&html, &plotter, run);
    report_html_assumptions(&html, run);
    report_html_caveats(&html, run);
    report_html_again(&html, run);
    put_host(&html, run, db_path);
    report_html_end(&html);
}
