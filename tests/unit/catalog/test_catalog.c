#include "catalog/catalog.h"

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

CHECK_MAIN("catalog.catalog", every_kind_lists_what_it_has_with_a_word_on_each)
