/*
 * names.c - enumerations of spec as the words that users, the database and reports see.
 */
#include "spec/model.h"

#include "base/error.h"

#include <stddef.h>

static const char *const claim_names[] = {
    [SPEC_CALCULATED] = "calculated", [SPEC_SIMULATED] = "simulated", [SPEC_MEASURED] = "measured",
    [SPEC_VENDOR] = "vendor",         [SPEC_ASSUMED] = "assumed",
};

static const char *const kv_kind_names[] = {
    [SPEC_KV_FULL] = "full",   [SPEC_KV_SLIDING] = "sliding", [SPEC_KV_CHUNKED] = "chunked",
    [SPEC_KV_STATE] = "state", [SPEC_KV_INDEX] = "index",
};

const char *spec_claim_name(enum spec_claim claim)
{
    base_require((size_t)claim < sizeof claim_names / sizeof claim_names[0]);
    return claim_names[claim];
}

enum spec_claim spec_claim_weaker(enum spec_claim a, enum spec_claim b)
{
    // The enum runs from strong to weak, so the greater value is the weaker basis.
    return a > b ? a : b;
}

const char *spec_kv_kind_name(enum spec_kv_kind kind)
{
    base_require((size_t)kind < sizeof kv_kind_names / sizeof kv_kind_names[0]);
    return kv_kind_names[kind];
}
