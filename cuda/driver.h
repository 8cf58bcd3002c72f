/*
 * driver.h - what the NVIDIA driver says of a card: read through its management library where that is installed, and never
 * changed. Plain C.
 */
#ifndef KVSIM_CUDA_DRIVER_H
#define KVSIM_CUDA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 or "" where the driver does not tell. */
struct bench_driver {
    char version[96];
    unsigned core_mhz, memory_mhz; /* now */
    unsigned core_max_mhz, memory_max_mhz;
    unsigned power_limit_mw;
    int64_t memory_bytes; /* of the card, the driver's own share included */
};

/* False without the library or for a card that it does not know; `out` is cleared then. */
bool bench_driver_read(const char *pci_bus_id, struct bench_driver *out);

#ifdef __cplusplus
}
#endif

#endif
