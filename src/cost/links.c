/*
 * links.c - what moves between GPUs: all-reduces by measured bandwidth, a calibration or the links' own figures, and bytes from one
 * to another.
 */
#include "cost/rates.h"

#include <math.h>

static double ring_bytes(uint32_t gpu_count, double bytes)
{
    return 2.0 * (gpu_count - 1.0) / gpu_count * bytes;
}

/*
 * From measured bus bandwidth (nccl-tests: t = 2 (n-1)/n S / busbw), log-log between the points. Below the first one the
 * time falls linearly to the latency; above the last one bandwidth stays.
 */
static double all_reduce_measured_s(const struct spec_allreduce *table, double bytes)
{
    const double *size = table->message_bytes, *rate = table->busbw_bytes_per_s;
    size_t last = table->point_count - 1;
    if (bytes <= size[0]) {
        double first_s = ring_bytes(table->gpu_count, size[0]) / rate[0];
        double latency_s = fmin(table->latency_s, first_s);
        return latency_s + (first_s - latency_s) * bytes / size[0];
    }
    double busbw = rate[last];
    for (size_t i = 1; i <= last; i++) {
        if (bytes < size[i]) {
            double share = log(bytes / size[i - 1]) / log(size[i] / size[i - 1]);
            busbw = rate[i - 1] * pow(rate[i] / rate[i - 1], share);
            break;
        }
    }
    return ring_bytes(table->gpu_count, bytes) / busbw;
}

static bool has_link(const struct cost_rates *rates)
{
    return rates->hardware->link_bytes_per_s > 0;
}

static double link_bytes_per_s(const struct cost_rates *rates)
{
    const struct spec_hardware *hardware = rates->hardware;
    if (has_link(rates))
        return cost_defaults.link_fraction * hardware->link_bytes_per_s;
    /* Where nothing is known of the host link: PCIe 4.0 x16, usable. */
    return cost_defaults.pcie_fraction * cost_known(hardware->pcie_bytes_per_s, 26e9);
}

static double link_latency_s(const struct cost_rates *rates)
{
    if (!has_link(rates))
        return 2 * cost_defaults.pcie_hop_s;
    return cost_known(rates->hardware->link_latency_s, cost_defaults.link_latency_s);
}

/* What a collective among so many GPUs follows when it was not measured. */
static struct spec_collective collective_default(const struct cost_rates *rates, uint32_t gpu_count)
{
    struct spec_collective collective = {.gpu_count = gpu_count,
                                         .latency_s = link_latency_s(rates),
                                         .bytes_per_s = link_bytes_per_s(rates)};
    if (has_link(rates) || gpu_count < 2)
        return collective;
    double hops = 2.0 * (gpu_count - 1.0);
    double bulk_bytes_per_s =
        link_bytes_per_s(rates) * pow(2.0 / gpu_count, cost_defaults.pcie_crowding);
    collective.latency_s = hops * cost_defaults.pcie_hop_s;
    if (gpu_count == 2) {
        collective.bytes_per_s = bulk_bytes_per_s; // two GPUs write to each other directly
        return collective;
    }
    collective.bytes_per_s = cost_defaults.pcie_small_share * bulk_bytes_per_s;
    collective.bulk_latency_s = hops * cost_defaults.pcie_bulk_hop_s;
    collective.bulk_bytes_per_s = bulk_bytes_per_s;
    return collective;
}

static double all_reduce_s(const struct cost_rates *rates, uint32_t gpu_count, double bytes)
{
    const struct spec_calibration *calibration = rates->calibration;
    for (size_t i = 0; calibration != NULL && i < calibration->collective_count; i++)
        if (calibration->collectives[i].gpu_count == gpu_count)
            return spec_collective_s(&calibration->collectives[i], bytes);
    const struct spec_hardware *hardware = rates->hardware;
    for (size_t i = 0; i < hardware->allreduce_count; i++)
        if (hardware->allreduce[i].gpu_count == gpu_count && hardware->allreduce[i].point_count > 0)
            return all_reduce_measured_s(&hardware->allreduce[i], bytes);
    struct spec_collective collective = collective_default(rates, gpu_count);
    return spec_collective_s(&collective, bytes);
}

struct cost_time cost_all_reduce(const struct cost_rates *rates, uint32_t gpu_count, double bytes)
{
    if (gpu_count < 2 || !(bytes > 0))
        return (struct cost_time){0};
    return (struct cost_time){.s = all_reduce_s(rates, gpu_count, bytes),
                              .bytes = bytes,
                              .kernel_count = 1,
                              .bound = COST_COMMUNICATION};
}

struct cost_time cost_link_move(const struct cost_rates *rates, double bytes)
{
    if (!(bytes > 0))
        return (struct cost_time){0};
    return (struct cost_time){.s = link_latency_s(rates) + bytes / link_bytes_per_s(rates),
                              .bytes = bytes,
                              .kernel_count = 1,
                              .bound = COST_COMMUNICATION};
}

struct cost_time cost_exchange(const struct cost_rates *rates, double bytes)
{
    struct cost_time time = cost_link_move(rates, bytes);
    if (bytes > 0)
        time.s += fmax(0, cost_defaults.exchange_s - link_latency_s(rates));
    return time;
}
