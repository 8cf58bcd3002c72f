#include "spec/hardware.h"

#include "support/check_main.h"

START_TEST(unknown_memory_is_derived_with_its_interval)
{
    struct spec_hardware card = {.memory_nominal_bytes = UINT64_C(32) << 30};
    ck_assert(spec_hardware_derive_memory(&card, &spec_memory_ratio_unknown));
    ck_assert_uint_eq(card.memory_bytes, 33672543600); // floor(0.98 x 32 GiB)
    ck_assert_uint_eq(card.memory_low_bytes, 31954556682);
    ck_assert_uint_eq(card.memory_high_bytes, UINT64_C(32) << 30);
    ck_assert(card.memory_is_derived);
    ck_assert_int_eq(card.memory_claim, SPEC_ASSUMED);
}
END_TEST

START_TEST(known_memory_stays_and_unknown_label_is_refused)
{
    struct spec_hardware known = {.memory_bytes = 1000, .memory_nominal_bytes = 2000};
    ck_assert(spec_hardware_derive_memory(&known, &spec_memory_ratio_unknown));
    ck_assert_uint_eq(known.memory_bytes, 1000);
    ck_assert(!known.memory_is_derived);
    struct spec_hardware nothing = {0};
    ck_assert(!spec_hardware_derive_memory(&nothing, &spec_memory_ratio_unknown));
    ck_assert_uint_eq(nothing.memory_bytes, 0);
}
END_TEST

CHECK_MAIN("spec.hardware", unknown_memory_is_derived_with_its_interval,
           known_memory_stays_and_unknown_label_is_refused)
