#include "driver.h"

#include "support/unit.h"

/* A card that no machine has, with or without a driver. */
START_TEST(an_unknown_card_is_nothing)
{
    struct bench_driver driver = {.version = "x", .core_mhz = 1};
    ck_assert(!bench_driver_read("ffff:ff:1f.7", &driver));
    ck_assert_str_eq(driver.version, "");
    ck_assert_uint_eq(driver.core_mhz, 0);
    ck_assert_int_eq(driver.memory_bytes, 0);
}
END_TEST

int main(void)
{
    return unit_run("cuda.driver", (const TTest *const[]){an_unknown_card_is_nothing, NULL});
}
