/*
 * hardware.c - a device file or mapping to spec_hardware: rates, memory (derived where no driver's figure is known),
 * links, measured collectives, and efficiencies leaf by leaf from the device, its generation, or all devices.
 */
#include "scenario/scenario_int.h"

#include "base/error.h"
#include "spec/hardware.h"

#include <math.h>
#include <string.h>

struct link_opts {
    const char *kind;
    double bandwidth_bytes_per_s, latency_ns, per_peer_bytes_per_s;
    int64_t gpu_count;
};

struct pcie_opts {
    double generation, bandwidth_bytes_per_s;
    int64_t lanes;
};

struct tflops_opts {
    double fp32, fp16, bf16, fp8, int8, fp4;
};

struct hardware_opts {
    const char *name, *vendor, *architecture, *form_factor, *notes;
    struct base_list aliases;
    int64_t launch_year, compute_units;
    double memory_bytes, memory_nominal_bytes, memory_bytes_per_s;
    double power_w, usd_per_hour, l2_bytes;
    struct tflops_opts tflops;
    struct link_opts link, host_link;
    struct pcie_opts pcie;
    const struct conf_node *memory_range, *all_reduce, *collectives, *efficiency, *calibration,
        *provenance;
};

#define AT(member) offsetof(struct hardware_opts, member)

static const struct base_field link_fields[] = {
    {.key = "kind",
     .type = BASE_TEXT,
     .offset = offsetof(struct link_opts, kind),
     .help = "nvlink4-nvswitch, xgmi-mesh, pcie, none, ..."},
    {.key = "bandwidth",
     .type = BASE_REAL,
     .unit = BASE_BYTES_PER_S,
     .min_open = true,
     .max = INFINITY,
     .offset = offsetof(struct link_opts, bandwidth_bytes_per_s),
     .help = "one direction, all links of one device together"},
    {.key = "latency",
     .type = BASE_REAL,
     .unit = BASE_TIME,
     .offset = offsetof(struct link_opts, latency_ns),
     .help = "smallest all-reduce on two GPUs inside a captured graph"},
    {.key = "gpus",
     .type = BASE_INT,
     .unit = BASE_COUNT,
     .min = 1,
     .offset = offsetof(struct link_opts, gpu_count),
     .help = "how many devices it joins at most"},
    {.key = "per_peer",
     .type = BASE_REAL,
     .unit = BASE_BYTES_PER_S,
     .min_open = true,
     .max = INFINITY,
     .offset = offsetof(struct link_opts, per_peer_bytes_per_s),
     .help = "one pair's share on a full mesh"},
    {0},
};

static const struct base_field pcie_fields[] = {
    {.key = "generation",
     .type = BASE_REAL,
     .offset = offsetof(struct pcie_opts, generation),
     .min = 1,
     .max = 10,
     .help = "PCIe generation"},
    {.key = "lanes",
     .type = BASE_INT,
     .offset = offsetof(struct pcie_opts, lanes),
     .min = 1,
     .max = 64,
     .help = "lanes of the slot"},
    {.key = "bandwidth",
     .type = BASE_REAL,
     .unit = BASE_BYTES_PER_S,
     .min_open = true,
     .max = INFINITY,
     .offset = offsetof(struct pcie_opts, bandwidth_bytes_per_s),
     .help = "usable rate of pinned host-device copies, one direction"},
    {0},
};

#define RATE(name, text)                                               \
    {                                                                  \
        .key = #name, .type = BASE_REAL, .min_open = true, .max = 1e9, \
        .offset = offsetof(struct tflops_opts, name), .help = text     \
    }

static const struct base_field tflops_fields[] = {
    RATE(fp32, "dense TFLOPS"),
    RATE(fp16, "dense TFLOPS, fp32 accumulation; absent: as bf16"),
    RATE(bf16, "dense TFLOPS"),
    RATE(fp8, "dense TFLOPS"),
    RATE(int8, "dense TOPS"),
    RATE(fp4, "dense TFLOPS"),
    {0},
};

static const struct base_field hardware_fields[] = {
    {.key = "name", .type = BASE_TEXT, .offset = AT(name), .help = "what results call the device"},
    {.key = "aliases",
     .type = BASE_TEXTS,
     .offset = AT(aliases),
     .help = "other names; each belongs to one file"},
    {.key = "vendor", .type = BASE_TEXT, .offset = AT(vendor), .help = "maker"},
    {.key = "architecture",
     .type = BASE_TEXT,
     .offset = AT(architecture),
     .help = "generation, the key into hardware/defaults.yaml"},
    {.key = "form_factor",
     .type = BASE_TEXT,
     .offset = AT(form_factor),
     .help = "SXM5, PCIe, OAM, ..."},
    {.key = "launch_year",
     .type = BASE_INT,
     .offset = AT(launch_year),
     .min = 1990,
     .max = 2100,
     .help = "year of launch"},
    {.key = "memory",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     .min_open = true,
     .max = 1e16,
     .offset = AT(memory_bytes),
     .help = "what the driver shows; the engine multiplies this by its share"},
    {.key = "memory_range",
     .type = BASE_NODE,
     .unit = BASE_BYTES,
     .offset = AT(memory_range),
     .help = "[least, most] seen on units of that name"},
    {.key = "memory_nominal",
     .type = BASE_REAL,
     .unit = BASE_PLAIN_BYTES,
     .min_open = true,
     .max = 1e16,
     .offset = AT(memory_nominal_bytes),
     .help = "the marketed number, read as GiB"},
    {.key = "memory_bandwidth",
     .type = BASE_REAL,
     .unit = BASE_BYTES_PER_S,
     .min_open = true,
     .max = INFINITY,
     .offset = AT(memory_bytes_per_s),
     .help = "rated peak"},
    {.key = "tflops",
     .type = BASE_SUB,
     .offset = AT(tflops),
     .sub = tflops_fields,
     .help = "dense rates by dtype; an absent dtype is not there or not known"},
    {.key = "power",
     .type = BASE_REAL,
     .unit = BASE_WATT,
     .offset = AT(power_w),
     .help = "board power"},
    {.key = "l2",
     .type = BASE_REAL,
     .unit = BASE_BYTES,
     .offset = AT(l2_bytes),
     .help = "last-level cache"},
    {.key = "compute_units",
     .type = BASE_INT,
     .offset = AT(compute_units),
     .min = 1,
     .help = "SMs or CUs"},
    {.key = "link",
     .type = BASE_SUB,
     .offset = AT(link),
     .sub = link_fields,
     .help = "device to device"},
    {.key = "host_link",
     .type = BASE_SUB,
     .offset = AT(host_link),
     .sub = link_fields,
     .help = "to the host, where it is faster than PCIe"},
    {.key = "pcie",
     .type = BASE_SUB,
     .offset = AT(pcie),
     .sub = pcie_fields,
     .help = "to the host"},
    {.key = "price",
     .type = BASE_REAL,
     .unit = BASE_USD,
     .offset = AT(usd_per_hour),
     .help = "one public list price per device-hour; an example"},
    {.key = "all_reduce",
     .type = BASE_NODE,
     .offset = AT(all_reduce),
     .help = "measured: [{gpus, latency, busbw: [[bytes, rate], ...]}]"},
    {.key = "collectives",
     .type = BASE_NODE,
     .offset = AT(collectives),
     .help = "the same for other paths and operations"},
    {.key = "efficiency",
     .type = BASE_NODE,
     .offset = AT(efficiency),
     .help = "achieved shares of the peaks and times per kernel"},
    {.key = "calibration",
     .type = BASE_NODE,
     .offset = AT(calibration),
     .help = "coefficients of the cost model fitted to measurements of this device, as `kvsim "
             "calibrate` writes them: "
             "{coefficients: {NAME: value}, all_reduce: [{gpus, latency, bandwidth, bulk_latency, "
             "bulk_bandwidth}], "
             "source, conditions, date, claim, fit}"},
    {.key = "provenance",
     .type = BASE_NODE,
     .offset = AT(provenance),
     .help = "claim and source of each figure"},
    {.key = "notes", .type = BASE_TEXT, .offset = AT(notes), .help = "free text"},
    {0},
};

const struct scenario_section scenario_hardware_section = {
    "hardware", hardware_fields, NULL,
    "a device: a name, a path, {base: NAME, changes} or these keys"};
const struct scenario_section scenario_link_section = {"hardware.link", link_fields, NULL,
                                                       "device to device"};
const struct scenario_section scenario_pcie_section = {"hardware.pcie", pcie_fields, NULL,
                                                       "to the host"};
const struct scenario_section scenario_tflops_section = {"hardware.tflops", tflops_fields, NULL,
                                                         "dense rates"};

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

/* ---- efficiencies ---- */

struct leaves {
    struct scenario_reader *reader;
    const struct conf_node *own, *generation, *global; /* own may be NULL, the others too */
    bool ok;
};

static const struct conf_node *find_leaf(const struct conf_node *tree, const char *group,
                                         const char *row, const char *leaf)
{
    const struct conf_node *node = conf_get(tree, group);
    if (row != NULL)
        node = conf_get(node, row);
    node = conf_get(node, leaf);
    return conf_is_null(node) ? NULL : node;
}

/* A leaf from the device, its generation or all devices, in this order; 0 when none has it. */
static double leaf_value(struct leaves *leaves, const char *group, const char *row,
                         const char *leaf, enum base_unit unit)
{
    const struct conf_node *trees[] = {leaves->own, leaves->generation, leaves->global};
    struct base_field field = {.key = leaf, .type = BASE_REAL, .unit = unit};
    if (unit == BASE_RATIO) {
        field.min_open = true;
        field.max = 1.0;
    }
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        const struct conf_node *node = find_leaf(trees[i], group, row, leaf);
        double value = 0;
        if (node == NULL)
            continue;
        const char *path =
            base_arena_printf(leaves->reader->arena, "hardware.efficiency.%s.%s%s%s", group,
                              row == NULL ? "" : row, row == NULL ? "" : ".", leaf);
        leaves->ok = scenario_read_value(leaves->reader, node, &field, path, &value) && leaves->ok;
        return value;
    }
    return 0;
}

static struct spec_affine leaf_affine(struct leaves *leaves, const char *group, const char *row)
{
    return (struct spec_affine){.fixed_s = leaf_value(leaves, group, row, "t0", BASE_TIME) * 1e-9,
                                .fraction = leaf_value(leaves, group, row, "eff", BASE_RATIO)};
}

static void fill_dtype(struct leaves *leaves, const char *name, enum spec_dtype dtype,
                       struct spec_efficiency *out)
{
    out->gemm_prefill[dtype] = leaf_value(leaves, "gemm", name, "prefill", BASE_RATIO);
    out->gemm_chunk[dtype] = leaf_value(leaves, "gemm", name, "chunk", BASE_RATIO);
    out->weight_stream[dtype] = leaf_affine(leaves, "weight_stream", name);
    // Below 16 bits what all devices reach is scaled by what this one reaches in 16 (cost/rates.c).
    struct leaves near = *leaves;
    if (spec_dtype_bytes(dtype) < 2)
        near.global = NULL;
    out->decode_attention[dtype] = leaf_affine(&near, "decode_attention", name);
    leaves->ok = near.ok;
}

/* A misspelt group or leaf would be passed over in silence. */
static bool check_efficiency(struct scenario_reader *reader, const struct conf_node *tree)
{
    static const char *const groups[] = {"gemm",
                                         "weight_stream",
                                         "decode_attention",
                                         "prefill_attention",
                                         "launch",
                                         "memory_stream",
                                         "host",
                                         NULL};
    static const char *const rows[] = {"fp32", "fp16", "bf16", "fp8", "fp8_block",
                                       "int8", "fp4",  "int4", NULL};
    bool ok = true;
    if (tree == NULL)
        return true;
    if (tree->kind != CONF_MAP)
        return scenario_fail(reader, tree, "hardware.efficiency", "wrong-type",
                             "'efficiency' must be a mapping");
    for (size_t i = 0; i < tree->count; i++) {
        const char *near = NULL;
        const struct conf_node *bad = NULL;
        size_t g = 0;
        while (groups[g] != NULL && !base_key_equal(groups[g], tree->keys[i]->text))
            g++;
        if (groups[g] == NULL) {
            bad = tree->keys[i];
            near = base_name_nearest(groups, bad->text);
        }
        const struct conf_node *group = tree->items[i];
        for (size_t j = 0;
             g < 4 && groups[g] != NULL && group->kind == CONF_MAP && j < group->count; j++) {
            size_t r = 0;
            while (rows[r] != NULL && !base_key_equal(rows[r], group->keys[j]->text))
                r++;
            if (rows[r] == NULL) {
                bad = group->keys[j];
                near = base_name_nearest(rows, bad->text);
            }
        }
        if (bad != NULL)
            ok = scenario_fail_hint(
                reader, bad, "hardware.efficiency", "unknown-key",
                near == NULL ? NULL : base_arena_printf(reader->arena, "did you mean '%s'?", near),
                "unknown key '%.60s' in 'hardware.efficiency'", bad->text);
    }
    return ok;
}

static void fill_leaves(struct leaves *leaves, struct spec_efficiency *out)
{
    static const struct {
        const char *name;
        enum spec_dtype dtype;
    } rows[] = {{"bf16", SPEC_BF16}, {"fp16", SPEC_FP16}, {"fp8", SPEC_FP8},
                {"int8", SPEC_INT8}, {"fp4", SPEC_FP4},   {"int4", SPEC_INT4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fill_dtype(leaves, rows[i].name, rows[i].dtype, out);
    out->prefill_attention_long =
        leaf_value(leaves, "prefill_attention", "bf16", "long", BASE_RATIO);
    out->prefill_attention_mid = leaf_value(leaves, "prefill_attention", "bf16", "mid", BASE_RATIO);
    out->prefill_attention_short =
        leaf_value(leaves, "prefill_attention", "bf16", "short", BASE_RATIO);
    out->launch_s = leaf_value(leaves, "launch", NULL, "stream", BASE_TIME) * 1e-9;
    out->graph_launch_s = leaf_value(leaves, "launch", NULL, "graph", BASE_TIME) * 1e-9;
}

static bool fill_efficiency(struct scenario_reader *reader, const struct conf_node *own,
                            const struct conf_node *provenance, const char *architecture,
                            struct spec_efficiency *out)
{
    struct conf_node *defaults;
    if (!scenario_find_hardware_defaults(reader, &defaults))
        return false;
    struct leaves leaves = {
        .reader = reader,
        .own = own,
        .generation = conf_get(conf_get(defaults, "generations"), architecture),
        .global = conf_get(defaults, "global"),
        .ok = check_efficiency(reader, own),
    };
    fill_leaves(&leaves, out);
    out->present = true;
    out->claim = SPEC_ASSUMED;
    out->source = "hardware/defaults.yaml";
    if (own != NULL)
        scenario_provenance_find(provenance, "efficiency.gemm.bf16", &out->claim, &out->source);
    return leaves.ok;
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

static void fill_rates(const struct tflops_opts *tflops, double *out)
{
    out[SPEC_FP32] = tflops->fp32 * 1e12;
    out[SPEC_FP16] = (tflops->fp16 > 0 ? tflops->fp16 : tflops->bf16) * 1e12;
    out[SPEC_BF16] = tflops->bf16 * 1e12;
    out[SPEC_FP8] = tflops->fp8 * 1e12;
    out[SPEC_INT8] = tflops->int8 * 1e12;
    out[SPEC_FP4] = tflops->fp4 * 1e12;
}

static void fill(const struct hardware_opts *opts, struct spec_hardware *out)
{
    out->name = opts->name == NULL ? "hardware" : opts->name;
    out->vendor = opts->vendor == NULL ? "" : opts->vendor;
    out->architecture = opts->architecture == NULL ? "" : opts->architecture;
    out->memory_bytes = (uint64_t)floor(opts->memory_bytes);
    out->memory_nominal_bytes = (uint64_t)llround(opts->memory_nominal_bytes);
    out->memory_bytes_per_s = opts->memory_bytes_per_s;
    fill_rates(&opts->tflops, out->flop_per_s);
    out->link_kind = opts->link.kind == NULL ? "" : opts->link.kind;
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
    struct hardware_opts opts = {0};
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
    return fill_efficiency(reader, opts.efficiency, opts.provenance, out->architecture,
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
    if (!memory_wanted || out->memory_bytes != 0)
        return true;
    return scenario_fail_hint(
        reader, entry, "hardware.memory", "missing-key",
        "state it: --set hardware.memory=96GiB (what the system lets the GPU use)",
        "the memory of %s that an engine can use is not known", out->name);
}

bool scenario_hardware_check_defaults(struct scenario_reader *reader, const struct conf_node *tree)
{
    const struct conf_node *generations = conf_get(tree, "generations"),
                           *global = conf_get(tree, "global");
    bool ok = global == NULL || check_efficiency(reader, global);
    if (generations != NULL && generations->kind != CONF_MAP)
        return scenario_fail(reader, generations, "generations", "wrong-type",
                             "'generations' must be a mapping");
    for (size_t i = 0; generations != NULL && i < generations->count; i++)
        ok = check_efficiency(reader, generations->items[i]) && ok;
    for (size_t i = 0; generations != NULL && ok && i < generations->count; i++) {
        struct spec_efficiency efficiency = {0};
        struct leaves leaves = {
            .reader = reader, .own = generations->items[i], .generation = global, .ok = true};
        fill_leaves(&leaves, &efficiency);
        ok = leaves.ok;
    }
    return scenario_provenance_check(reader, conf_get(tree, "provenance"), "provenance") && ok;
}
