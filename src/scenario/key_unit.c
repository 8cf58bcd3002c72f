#include "scenario/scenario_int.h"

#include "base/text.h"

enum base_unit scenario_key_unit(const char *key)
{
    const char *section = NULL;
    const struct base_field *field = scenario_field_find(key, &section);
    if (field == NULL)
        return BASE_NONE;
    // A length may be a plain number or a mapping; the mapping is no number of a range.
    if (field->type == BASE_NODE && base_ends_with(field->key, "_tokens"))
        return BASE_TOKENS;
    return field->type == BASE_RATIONAL ? BASE_RATIO : field->unit;
}
