/*
 * hardware.c - a device file or mapping to spec_hardware: rates, links, measured collectives, and memory, which is derived
 * where no driver's figure is known.
 */
#include "scenario/hardware_opts.h"

#include "base/error.h"
#include "spec/hardware.h"

#include <math.h>
#include <string.h>

/* ---- memory ---- */

/*
 * Driver-visible over marketed memory by generation: reference table of devices (HBM parts 0.980-0.992, B300 0.930,
 * Instinct 0.998 in a VM to 0.9999 on bare metal). Generations with several kinds of memory are not here.
 */
static const struct {
    const char *architecture;
    struct spec_memory_ratio ratio;
} memory_ratios[] = {
    {"volta", {0.987, 0.980, 0.992}},     {"hopper", {0.990, 0.980, 0.992}},
    {"blackwell", {0.990, 0.980, 0.992}}, {"blackwell-ultra", {0.930, 0.925, 0.935}},
    {"cdna2", {0.9998, 0.998, 0.9999}},   {"cdna3", {0.9998, 0.998, 0.9999}},
    {"cdna4", {0.9998, 0.998, 0.9999}},
};

static struct spec_memory_ratio ratio_of(const char *architecture)
{
    for (size_t i = 0; i < sizeof memory_ratios / sizeof memory_ratios[0]; i++) {
        if (base_key_equal(memory_ratios[i].architecture, architecture))
            return memory_ratios[i].ratio;
    }
    return spec_memory_ratio_unknown;
}

static bool read_size(struct scenario_reader *reader, const struct conf_node *node,
                      const char *path, double *out)
{
    static const struct base_field field = {.key = "memory_range",
                                            .type = BASE_REAL,
                                            .unit = BASE_PLAIN_BYTES,
                                            .min_open = true,
                                            .max = 1e16};
    return scenario_read_value(reader, node, &field, path, out);
}

static bool read_range(struct scenario_reader *reader, const struct conf_node *node,
                       const char *path, struct spec_hardware *out)
{
    double low, high;
    if (node->kind != CONF_LIST || node->count != 2)
        return scenario_fail(reader, node, path, "wrong-type",
                             "'memory_range' must be [least, most]");
    if (!read_size(reader, node->items[0], path, &low) ||
        !read_size(reader, node->items[1], path, &high))
        return false;
    if (low > high)
        return scenario_fail(reader, node, path, "out-of-order",
                             "the least of 'memory_range' is above the most");
    out->memory_low_bytes = (uint64_t)floor(low);
    out->memory_high_bytes = (uint64_t)floor(high);
    return true;
}

/* Without a driver's figure: the middle of a sibling's range, else the marketed size times its group's share. */
static void derive_memory(struct spec_hardware *out)
{
    if (out->memory_bytes != 0) {
        if (out->memory_high_bytes == 0)
            out->memory_low_bytes = out->memory_high_bytes = out->memory_bytes;
        return;
    }
    if (out->memory_high_bytes != 0) {
        out->memory_bytes =
            out->memory_low_bytes + (out->memory_high_bytes - out->memory_low_bytes) / 2;
        out->memory_is_derived = true;
        out->memory_claim = SPEC_ASSUMED;
        out->memory_source = "middle of the range seen on parts like it";
        return;
    }
    struct spec_memory_ratio ratio = ratio_of(out->architecture);
    if (!base_key_equal(out->vendor, "Apple"))
        (void)spec_hardware_derive_memory(out, &ratio);
}

/* ---- collectives ---- */

struct all_reduce_opts {
    int64_t gpu_count;
    double latency_ns;
    const struct conf_node *busbw, *claim, *conditions, *source, *path;
};

static const struct base_field all_reduce_fields[] = {
    {.key = "gpus",
     .type = BASE_INT,
     .required = true,
     .min = 2,
     .max = 4096,
     .offset = offsetof(struct all_reduce_opts, gpu_count),
     .help = "GPUs that take part"},
    {.key = "latency",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     .offset = offsetof(struct all_reduce_opts, latency_ns),
     .help = "time of the smallest message"},
    {.key = "busbw",
     .type = BASE_NODE,
     .required = true,
     .offset = offsetof(struct all_reduce_opts, busbw),
     .help = "[[message bytes, bus bandwidth], ...]"},
    {.key = "claim",
     .type = BASE_NODE,
     .offset = offsetof(struct all_reduce_opts, claim),
     .help = "measured, vendor, ..."},
    {.key = "conditions",
     .type = BASE_NODE,
     .offset = offsetof(struct all_reduce_opts, conditions),
     .help = "of a measured figure"},
    {.key = "source",
     .type = BASE_NODE,
     .offset = offsetof(struct all_reduce_opts, source),
     .help = "where it comes from"},
    {.key = "path",
     .type = BASE_NODE,
     .offset = offsetof(struct all_reduce_opts, path),
     .help = "library and mode"},
    {0},
};
const struct scenario_section scenario_all_reduce_section = {
    "hardware.all_reduce[]", all_reduce_fields, NULL, "one measured all-reduce"};

static bool read_points(struct scenario_reader *reader, const struct conf_node *list,
                        const char *path, struct spec_allreduce *out)
{
    static const struct base_field bytes = {.key = "busbw",
                                            .type = BASE_REAL,
                                            .unit = BASE_PLAIN_BYTES,
                                            .min_open = true,
                                            .max = INFINITY};
    static const struct base_field rate = {.key = "busbw",
                                           .type = BASE_REAL,
                                           .unit = BASE_BYTES_PER_S,
                                           .min_open = true,
                                           .max = INFINITY};
    if (list->kind != CONF_LIST || list->count == 0 || list->count > SPEC_BUSBW_POINTS_MAX)
        return scenario_fail(reader, list, path, "wrong-type",
                             "'busbw' must be a list of 1 to %d pairs [bytes, rate]",
                             (int)SPEC_BUSBW_POINTS_MAX);
    for (size_t i = 0; i < list->count; i++) {
        const struct conf_node *pair = list->items[i];
        if (pair->kind != CONF_LIST || pair->count != 2)
            return scenario_fail(reader, pair, path, "wrong-type",
                                 "a point of 'busbw' must be [bytes, rate]");
        if (!scenario_read_value(reader, pair->items[0], &bytes, path, &out->message_bytes[i]) ||
            !scenario_read_value(reader, pair->items[1], &rate, path, &out->busbw_bytes_per_s[i]))
            return false;
        if (i > 0 && out->message_bytes[i] <= out->message_bytes[i - 1])
            return scenario_fail(reader, pair, path, "out-of-order",
                                 "message sizes of 'busbw' must rise");
    }
    out->point_count = list->count;
    return true;
}

static bool read_all_reduce(struct scenario_reader *reader, struct conf_node *node, size_t index,
                            struct spec_allreduce *out)
{
    const char *path = base_arena_printf(reader->arena, "hardware.all_reduce.%zu", index);
    struct all_reduce_opts opts = {0};
    if (node->kind != CONF_MAP)
        return scenario_fail(reader, node, path, "wrong-type",
                             "an item of 'all_reduce' must be a mapping");
    if (!scenario_read_map(reader, node, &scenario_all_reduce_section, path, &opts))
        return false;
    if (opts.claim != NULL && strcmp(opts.claim->text, "measured") == 0 &&
        conf_is_null(opts.conditions))
        return scenario_fail(reader, node, path, "missing-conditions",
                             "a measured figure needs its 'conditions'");
    out->gpu_count = (uint32_t)opts.gpu_count;
    out->latency_s = opts.latency_ns * 1e-9;
    out->source = opts.source == NULL ? "" : opts.source->text;
    return read_points(reader, opts.busbw, path, out);
}

static bool read_all_reduces(struct scenario_reader *reader, const struct conf_node *list,
                             struct spec_hardware *out)
{
    if (list == NULL)
        return true;
    if (list->kind != CONF_LIST || list->count > SPEC_ALLREDUCE_MAX)
        return scenario_fail(reader, list, "hardware.all_reduce", "wrong-type",
                             "'all_reduce' must be a list of at most %d measurements",
                             (int)SPEC_ALLREDUCE_MAX);
    bool ok = true;
    for (size_t i = 0; i < list->count; i++)
        ok = read_all_reduce(reader, list->items[i], i, &out->allreduce[i]) && ok;
    out->allreduce_count = list->count;
    return ok;
}

/* ---- all of it ---- */

static void fill_rates(const struct scenario_tflops_opts *tflops, double *out)
{
    out[SPEC_FP32] = tflops->fp32 * 1e12;
    out[SPEC_FP16] = (tflops->fp16 > 0 ? tflops->fp16 : tflops->bf16) * 1e12;
    out[SPEC_BF16] = tflops->bf16 * 1e12;
    out[SPEC_FP8] = tflops->fp8 * 1e12;
    out[SPEC_INT8] = tflops->int8 * 1e12;
    out[SPEC_FP4] = tflops->fp4 * 1e12;
}

static void fill(const struct scenario_hardware_opts *opts, struct spec_hardware *out)
{
    out->name = opts->name == NULL ? "hardware" : opts->name;
    out->vendor = opts->vendor == NULL ? "" : opts->vendor;
    out->architecture = opts->architecture == NULL ? "" : opts->architecture;
    out->memory_bytes = (uint64_t)floor(opts->memory_bytes);
    out->memory_nominal_bytes = (uint64_t)llround(opts->memory_nominal_bytes);
    out->memory_bytes_per_s = opts->memory_bytes_per_s;
    fill_rates(&opts->tflops, out->flop_per_s);
    out->link_kind = opts->link.kind == NULL ? "" : opts->link.kind;
    out->link_gpus = (uint32_t)opts->link.gpu_count;
    out->link_bytes_per_s = opts->link.bandwidth_bytes_per_s;
    out->link_latency_s = opts->link.latency_ns * 1e-9;
    out->pcie_bytes_per_s = opts->host_link.bandwidth_bytes_per_s > 0
                                ? opts->host_link.bandwidth_bytes_per_s
                                : opts->pcie.bandwidth_bytes_per_s;
    out->power_w = opts->power_w;
    out->usd_per_hour = opts->usd_per_hour;
    out->l2_bytes = opts->l2_bytes;
    out->compute_unit_count = (uint32_t)opts->compute_units;
    out->launch_year = (int)opts->launch_year;
}

static void fill_claims(const struct conf_node *tree, const struct conf_node *provenance,
                        struct spec_hardware *out)
{
    const struct conf_node *memory = conf_get(tree, "memory"), *rates = conf_get(tree, "tflops");
    out->memory_claim = out->rate_claim = SPEC_ASSUMED;
    out->memory_source = scenario_is_stated(memory) ? "the scenario" : "";
    out->rate_source = scenario_is_stated(rates) ? "the scenario" : "";
    if (!scenario_is_stated(memory))
        scenario_provenance_find(provenance, "memory", &out->memory_claim, &out->memory_source);
    if (!scenario_is_stated(rates))
        scenario_provenance_find(provenance, "tflops.bf16", &out->rate_claim, &out->rate_source);
}

bool scenario_hardware_read(struct scenario_reader *reader, struct conf_node *tree,
                            const char *path, struct spec_hardware *out)
{
    struct scenario_hardware_opts opts = {0};
    struct scenario_reader quiet = *reader; // the tree's own rows are recorded with their sources
    quiet.params = NULL;
    *out = (struct spec_hardware){0};
    if (tree->kind != CONF_MAP)
        return scenario_fail(reader, tree, path, "wrong-type",
                             "a hardware file must hold a mapping");
    bool ok = scenario_read_map(&quiet, tree, &scenario_hardware_section, path, &opts);
    ok = scenario_provenance_check(reader, opts.provenance, path) && ok;
    if (!ok)
        return false;
    fill(&opts, out);
    fill_claims(tree, opts.provenance, out);
    if (opts.memory_range != NULL)
        ok = read_range(reader, opts.memory_range,
                        scenario_join(reader->arena, path, "memory_range"), out);
    derive_memory(out);
    ok = read_all_reduces(&quiet, opts.all_reduce, out) && ok;
    out->has_calibration = opts.calibration != NULL;
    if (out->has_calibration)
        ok = scenario_calibration_read(&quiet, opts.calibration, &out->calibration) && ok;
    return scenario_efficiency_read(reader, opts.efficiency, opts.provenance, out->architecture,
                                    &out->efficiency) &&
           ok;
}

bool scenario_hardware_load(struct scenario_reader *reader, struct conf_node *root,
                            bool memory_wanted, struct spec_hardware *out, struct conf_node **tree)
{
    struct conf_node *entry = conf_get(root, "hardware");
    if (!scenario_entry_load(reader, SCENARIO_HARDWARE, entry, "hardware", tree) ||
        !scenario_hardware_read(reader, *tree, "hardware", out))
        return false;
    scenario_param_tree(reader, "hardware", *tree);
    scenario_warn_of_bits(reader, *tree);
    if (!memory_wanted || out->memory_bytes != 0)
        return true;
    return scenario_fail_hint(
        reader, entry, "hardware.memory", "missing-key",
        "state it: --set hardware.memory=96GiB (what the system lets the GPU use)",
        "the memory of %s that an engine can use is not known", out->name);
}
