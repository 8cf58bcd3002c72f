#include "spec/hardware.h"

#include <math.h>
#include <stddef.h>

const struct spec_memory_ratio spec_memory_ratio_unknown = {0.98, 0.93, 1.0};

bool spec_hardware_derive_memory(struct spec_hardware *hardware,
                                 const struct spec_memory_ratio *ratio)
{
    if (hardware->memory_bytes != 0)
        return true;
    if (hardware->memory_nominal_bytes == 0)
        return false;
    double nominal_bytes = (double)hardware->memory_nominal_bytes;
    hardware->memory_bytes = (uint64_t)floor(nominal_bytes * ratio->typical);
    hardware->memory_low_bytes = (uint64_t)floor(nominal_bytes * ratio->low);
    hardware->memory_high_bytes = (uint64_t)floor(nominal_bytes * ratio->high);
    hardware->memory_is_derived = true;
    hardware->memory_claim = SPEC_ASSUMED;
    hardware->memory_source = "marketed size x share that drivers of such parts show";
    return true;
}
