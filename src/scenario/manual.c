/*
 * manual.c - kvsim-scenario(5) from the field tables, as roff.
 */
#include "scenario/scenario_int.h"

#include "workload/arrivals.h"

#include <kvsim/version.h>

#include <string.h>

static const char head[] = ".SH NAME\nkvsim\\-scenario \\- what kvsim simulates, as a YAML file\n"
                           ".SH DESCRIPTION\n"
                           "A scenario names a model, a device, an engine release and a workload. "
                           "Engine keys have the engine's own spelling,\n"
                           "with hyphens accepted for underscores. Unknown and duplicate keys are "
                           "errors, and so is a key that nothing would\n"
                           "use. Values take units: 8k, 80GiB, 250ms, 4/s; for token counts k is "
                           "1024 and M 1024^2, for every other quantity\n"
                           "k, M, G, T are powers of 1000 and Ki, Mi, Gi, Ti powers of 1024. Times "
                           "take ns, us, ms, s, min, h.\n"
                           ".PP\n"
                           "Names of models, devices and engines are looked up beside the "
                           "scenario, in $KVSIM_DATA, in the folders of the\n"
                           "working directory, in the installed share folder, then among the "
                           "copies compiled into the program.\n";

/* A dot or a quote at the start of a line would be a request, a hyphen a soft one. */
static void add_roff(struct base_text *out, const char *text)
{
    bool starts = true;
    for (; *text != '\0'; text++) {
        if (starts && (*text == '.' || *text == '\''))
            base_text_add(out, "\\&");
        if (*text == '-' || *text == '\\')
            base_text_add(out, *text == '-' ? "\\-" : "\\e");
        else
            base_text_add_n(out, text, 1);
        starts = *text == '\n';
    }
}

static void add_field(struct base_text *out, const struct base_field *field)
{
    struct base_text type = {0};
    base_text_add(out, ".TP\n.B ");
    add_roff(out, field->key);
    base_text_add(out, "\n");
    add_roff(out, field->help);
    if (field->type != BASE_NODE) {
        scenario_field_type(field, &type);
        base_text_add(out, ". Value: ");
        add_roff(out, type.at);
        base_text_free(&type);
    }
    if (field->required)
        base_text_add(out, ". Required");
    if (field->def != NULL) {
        base_text_add(out, ". Default: ");
        add_roff(out, field->def);
    }
    if (field->used_by != NULL) {
        base_text_add(out, ". Used by: ");
        add_roff(out, field->used_by);
    }
    base_text_add(out, ".\n");
}

static void add_fields(struct base_text *out, const struct base_field *fields)
{
    for (const struct base_field *field = fields; field != NULL && field->key != NULL; field++)
        add_field(out, field);
}

static void add_later(struct base_text *out, const struct base_field *later)
{
    if (later == NULL || later->key == NULL)
        return;
    base_text_add(out, ".PP\nKnown, but not simulated by this version: ");
    for (const struct base_field *field = later; field->key != NULL; field++) {
        if (field != later)
            base_text_add(out, ", ");
        add_roff(out, field->key);
    }
    base_text_add(out, ".\n");
}

static void add_spelled(struct base_text *out, const struct base_field *spelled)
{
    if (spelled == NULL)
        return;
    base_text_add(out, ".PP\nUnder the profiles of other engines these keys have their own names "
                       "too; an override counts, whichever name it has, and in one place only one "
                       "of the two may be stated:\n");
    add_fields(out, spelled);
}

static void add_section(struct base_text *out, const struct scenario_section *section)
{
    base_text_add(out, ".SS ");
    add_roff(out, section->path[0] == '\0' ? "Top level" : section->path);
    base_text_add(out, "\n");
    add_roff(out, section->help);
    base_text_add(out, ".\n");
    add_fields(out, section->fields);
    add_spelled(out, scenario_spelled(section));
    add_later(out, section->later);
}

static void add_arrivals(struct base_text *out)
{
    base_text_add(out, ".SS workload.arrival\nThe arrival process and its keys.\n"
                       ".TP\n.B process\nwhich of the following.\n"
                       ".TP\n.B max_concurrency\ncap on the requests in flight of any process.\n");
    for (size_t i = 0; workload_arrivals[i] != NULL; i++) {
        const struct base_policy *policy = &workload_arrivals[i]->policy;
        base_text_add(out, ".PP\nprocess: ");
        add_roff(out, policy->name);
        base_text_add(out, " \\(em ");
        add_roff(out, policy->summary);
        base_text_add(out, "\n");
        add_fields(out, policy->opts);
    }
}

void scenario_print_manual(struct base_text *out)
{
    base_text_printf(out,
                     ".\\\" Made by 'kvsim manual scenario' from the tables of keys.\n"
                     ".TH KVSIM\\-SCENARIO 5 \"\" \"kvsim %s\" \"File Formats\"\n",
                     KVSIM_VERSION);
    base_text_add(out, head);
    base_text_add(out, ".SH KEYS\n");
    for (size_t i = 0; scenario_sections[i] != NULL; i++) {
        add_section(out, scenario_sections[i]);
        if (scenario_sections[i] == &scenario_workload_section)
            add_arrivals(out);
    }
    base_text_add(out, ".SH SEE ALSO\n.BR kvsim (1),\n.BR kvsim\\-results (5)\n");
}
