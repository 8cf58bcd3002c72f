#include "catalog/catalog.h"

#include "cost/cost.h"
#include "sched/sched.h"
#include "support/check_main.h"

#include <string.h>

START_TEST(every_kind_lists_what_it_has_with_a_word_on_each)
{
    size_t kinds = 0;
    for (const struct catalog_kind *kind = catalog_kinds; kind->name != NULL; kind++) {
        size_t count = 0;
        kinds++;
        ck_assert((kind->policies == NULL) != (kind->choices == NULL));
        ck_assert_ptr_nonnull(strchr(kind->key, '.'));
        for (size_t i = 0; kind->policies != NULL && kind->policies[i] != NULL; i++, count++) {
            ck_assert_str_ne(kind->policies[i]->name, "");
            ck_assert_str_ne(kind->policies[i]->summary, "");
        }
        for (size_t i = 0; kind->choices != NULL && kind->choices[i].name != NULL; i++, count++)
            ck_assert_str_ne(kind->choices[i].help, "");
        ck_assert_msg(count > 0, "%s", kind->name);
    }
    ck_assert_uint_ge(kinds, 5);
}
END_TEST

static const struct catalog_kind *kind_named(const char *name)
{
    const struct catalog_kind *kind = catalog_kinds;
    while (kind->name != NULL && strcmp(kind->name, name) != 0)
        kind++;
    return kind;
}

START_TEST(every_cost_level_is_listed)
{
    static const enum cost_level levels[] = {COST_DATASHEET, COST_CALIBRATED, COST_AFFINE,
                                             COST_FIXED, COST_TABLE};
    const struct base_choice *choices = kind_named("cost")->choices;
    ck_assert_ptr_nonnull(choices);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        size_t at = 0;
        while (choices[at].name != NULL && choices[at].value != (int)levels[i])
            at++;
        ck_assert_ptr_nonnull(choices[at].name);
        ck_assert_str_eq(choices[at].name, cost_level_name(levels[i]));
    }
}
END_TEST

START_TEST(schedulers_are_found_by_the_names_that_are_listed)
{
    const struct catalog_kind *kind = kind_named("scheduler");
    ck_assert_ptr_nonnull(kind->policies);
    for (size_t i = 0; kind->policies[i] != NULL; i++) {
        const struct sched_ops *ops = catalog_scheduler(kind->policies[i]->name);
        ck_assert_ptr_nonnull(ops);
        ck_assert_ptr_eq(&ops->policy, kind->policies[i]);
        ck_assert(ops->enqueue != NULL && ops->plan != NULL && ops->advance != NULL &&
                  ops->finish != NULL);
    }
    ck_assert_ptr_null(catalog_scheduler("sglang"));
    ck_assert_ptr_null(catalog_scheduler(""));
}
END_TEST

CHECK_MAIN("catalog.catalog", every_kind_lists_what_it_has_with_a_word_on_each,
           every_cost_level_is_listed, schedulers_are_found_by_the_names_that_are_listed)
