/*
 * What holds for everything that a scenario can name, walked over the catalogue and the table of arrivals: whoever adds a
 * policy is held to it without adding a test.
 */
#include "base/units.h"
#include "catalog/catalog.h"
#include "support/check_main.h"
#include "workload/arrivals.h"

#include <string.h>

static void check_words(const char *kind, const char *name, const char *help)
{
    ck_assert_msg(name[0] != '\0' &&
                      strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name),
                  "%s: '%s' is no word of YAML", kind, name);
    ck_assert_msg(help != NULL && help[0] != '\0', "%s %s: no summary", kind, name);
    ck_assert_msg(help[strlen(help) - 1] != '.' && strchr(help, '\n') == NULL,
                  "%s %s: the summary is one line, no full stop", kind, name);
}

static const char *name_at(const struct catalog_kind *kind, size_t i)
{
    if (kind->policies != NULL)
        return kind->policies[i] == NULL ? NULL : kind->policies[i]->name;
    return kind->choices[i].name;
}

START_TEST(names_and_summaries_are_fit_to_print)
{
    for (const struct catalog_kind *kind = catalog_kinds; kind->name != NULL; kind++) {
        for (size_t i = 0; name_at(kind, i) != NULL; i++) {
            check_words(kind->name, name_at(kind, i),
                        kind->policies != NULL ? kind->policies[i]->summary
                                               : kind->choices[i].help);
            for (size_t j = 0; j < i; j++)
                ck_assert_str_ne(name_at(kind, i), name_at(kind, j));
        }
    }
}
END_TEST

START_TEST(values_of_a_key_are_told_apart)
{
    for (const struct catalog_kind *kind = catalog_kinds; kind->name != NULL; kind++) {
        for (size_t i = 0; kind->choices != NULL && kind->choices[i].name != NULL; i++) {
            for (size_t j = 0; j < i; j++)
                ck_assert_msg(kind->choices[i].value != kind->choices[j].value, "%s: %s and %s",
                              kind->name, kind->choices[i].name, kind->choices[j].name);
        }
    }
}
END_TEST

/* The default is a text that the row itself would accept. */
static bool default_can_be_read(const struct base_field *field)
{
    struct kvsim_error err = {0};
    double real = 0;
    int64_t whole = 0;
    if (field->def == NULL)
        return true;
    if (field->type == BASE_INT) {
        if (base_parse_int(field->def, field->unit, &whole, &err) != KVSIM_OK)
            return false;
        real = (double)whole;
    } else if (field->type != BASE_REAL) {
        return true;
    } else if (base_parse_real(field->def, field->unit, &real, &err) != KVSIM_OK) {
        return false;
    }
    return (field->min == 0 && field->max == 0) || (real >= field->min && real <= field->max);
}

static void check_options(const struct base_policy *policy)
{
    for (const struct base_field *field = policy->opts; field != NULL && field->key != NULL;
         field++) {
        check_words(policy->name, field->key, field->help);
        ck_assert_msg(field->offset < policy->opts_bytes, "%s.%s lies outside its struct",
                      policy->name, field->key);
        ck_assert_msg(base_field_find(policy->opts, field->key) == field, "%s.%s stands twice",
                      policy->name, field->key);
        ck_assert_msg(default_can_be_read(field), "%s.%s: default '%s'", policy->name, field->key,
                      field->def);
    }
}

START_TEST(options_have_a_place_a_default_that_can_be_read_and_help)
{
    for (size_t i = 0; workload_arrivals[i] != NULL; i++)
        check_options(&workload_arrivals[i]->policy);
    for (const struct catalog_kind *kind = catalog_kinds; kind->name != NULL; kind++) {
        for (size_t i = 0; kind->policies != NULL && kind->policies[i] != NULL; i++)
            check_options(kind->policies[i]);
    }
}
END_TEST

CHECK_MAIN("contract.policies", names_and_summaries_are_fit_to_print,
           values_of_a_key_are_told_apart, options_have_a_place_a_default_that_can_be_read_and_help)
