/*
 * lint.c - mistakes that public catalogs make, looked for in model and hardware files by `kvsim check`.
 *
 * Nothing here stops a run: a made-up card may have any rate. A file that is checked is one that others will rely on.
 * The mistakes are those listed in docs/kv-sizing.md: sparse rates entered as dense, heads that do not divide, hidden
 * sizes and parameter counts that do not match, gigabytes taken for gibibytes, another part's memory.
 */
#include "scenario/parts.h"

#include "base/error.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- models ---- */

static bool lint_heads(struct scenario_reader *reader, const struct conf_node *tree,
                       const struct spec_model *model)
{
    const struct conf_node *kv = conf_get(tree, "num_key_value_heads");
    if (model->only_groups || model->q_head_count == 0)
        return true;
    if (model->is_mla && !conf_is_null(kv) && model->kv_head_count != 0 &&
        kv->kind == CONF_SCALAR && strtol(kv->text, NULL, 10) != (long)model->q_head_count)
        return scenario_fail(
            reader, kv, "model.num_key_value_heads", "kv-heads",
            "a latent belongs to all %u query heads, %s KV heads have no meaning with kv_lora_rank",
            model->q_head_count, kv->text);
    if (!model->is_mla && model->kv_head_count != 0 &&
        model->q_head_count % model->kv_head_count != 0)
        return scenario_fail(reader, kv != NULL ? kv : tree, "model.num_key_value_heads",
                             "kv-heads", "%u KV heads do not divide %u query heads",
                             model->kv_head_count, model->q_head_count);
    return true;
}

// A head size of its own makes hidden_size differ from heads x head_dim by much or not at all (Gemma, Qwen3).
static bool lint_hidden(struct scenario_reader *reader, const struct conf_node *tree,
                        const struct spec_model *model)
{
    static const double near = 0.02;
    const struct conf_node *hidden = conf_get(tree, "hidden_size");
    double heads = (double)model->q_head_count * model->head_dim;
    if (model->only_groups || model->is_mla || heads <= 0 || hidden == NULL)
        return true;
    double difference = fabs(model->hidden / heads - 1);
    if (difference <= 0 || difference > near)
        return true;
    return scenario_fail(reader, hidden, "model.hidden_size", "hidden-size",
                         "hidden_size %u is nearly, but not %u heads of %u", model->hidden,
                         model->q_head_count, model->head_dim);
}

static bool lint_parameters(struct scenario_reader *reader, const struct conf_node *tree,
                            const struct spec_model *model)
{
    // Vision towers that are left out make up to a tenth (Gemma-3-4b); rounded names 3 %.
    static const double slack = 0.12;
    if (model->only_groups || model->parameters_are_stated || model->published_parameters <= 0)
        return true;
    double ratio = spec_model_parameters(model) / model->published_parameters;
    if (fabs(ratio - 1) <= slack)
        return true;
    return scenario_fail(
        reader, conf_get(tree, "parameters") != NULL ? conf_get(tree, "parameters") : tree,
        "model.parameters", "parameters",
        "the geometry gives %.4g parameters, %+.0f %% from the published %.4g: a width, a number "
        "of "
        "layers or heads is wrong",
        spec_model_parameters(model), (ratio - 1) * 100, model->published_parameters);
}

bool scenario_lint_model(struct scenario_reader *reader, const struct conf_node *tree,
                         const struct spec_model *model)
{
    bool ok = lint_heads(reader, tree, model);
    ok = lint_hidden(reader, tree, model) && ok;
    return lint_parameters(reader, tree, model) && ok;
}

/* ---- hardware ---- */

/*
 * Dense bf16 TFLOPS of one compute unit, the highest of each generation; a sparse figure is twice as much. Source: the
 * vendors' datasheets through the shipped hardware files (A100 312 / 108, H100 989 / 132, L40S 362 / 142, B200 2250 / 148,
 * MI300X 1307 / 304).
 */
static const struct {
    const char *architecture;
    double tflops_per_unit;
} dense_rates[] = {
    {"volta", 1.6},  {"turing", 1.7},     {"ampere", 3.0},           {"ada", 2.7},
    {"hopper", 7.6}, {"blackwell", 17.0}, {"blackwell-ultra", 18.0}, {"blackwell-rtx", 3.0},
    {"cdna2", 1.8},  {"cdna3", 4.4},      {"cdna4", 10.0},
};

static double dense_limit(const struct spec_hardware *hardware)
{
    for (size_t i = 0; i < sizeof dense_rates / sizeof dense_rates[0]; i++) {
        if (hardware->architecture != NULL &&
            base_key_equal(hardware->architecture, dense_rates[i].architecture))
            return dense_rates[i].tflops_per_unit * 1e12 * hardware->compute_unit_count;
    }
    return 0;
}

static bool fail_sparse(struct scenario_reader *reader, const struct conf_node *tree,
                        const char *key, double rate)
{
    return scenario_fail(
        reader, conf_get(tree, "tflops"),
        base_arena_printf(reader->arena, "hardware.tflops.%s", key), "sparse-rate",
        "%s %.0f TFLOPS is a rate with 2:4 sparsity; enter the dense one, about %.0f", key,
        rate / 1e12, rate / 2e12);
}

/* Operations for one of bf16, as tensor cores have them. */
static const struct {
    const char *key;
    enum spec_dtype dtype;
    double times;
} lint_dtypes[] = {
    {"bf16", SPEC_BF16, 1}, {"fp16", SPEC_FP16, 1}, {"fp8", SPEC_FP8, 2}, {"int8", SPEC_INT8, 2}};

static bool lint_rates(struct scenario_reader *reader, const struct conf_node *tree,
                       const struct spec_hardware *hardware)
{
    static const double tolerance = 1.25, most_times = 3;
    double wide = fmax(hardware->flop_per_s[SPEC_BF16], hardware->flop_per_s[SPEC_FP16]);
    double limit = dense_limit(hardware);
    bool ok = true;
    for (size_t i = 0; i < sizeof lint_dtypes / sizeof lint_dtypes[0]; i++) {
        double rate = hardware->flop_per_s[lint_dtypes[i].dtype], times = lint_dtypes[i].times;
        bool is_beyond_device = limit > 0 && rate > times * limit * tolerance;
        // Consumer parts have half the rate of bf16 that their int8 lets expect.
        bool is_beyond_wide =
            lint_dtypes[i].dtype == SPEC_FP8 && wide > 0 && rate > most_times * wide;
        if (is_beyond_device || is_beyond_wide)
            ok = fail_sparse(reader, tree, lint_dtypes[i].key, rate);
    }
    return ok;
}

/* "a100-sxm4-80gb": 80; 0 when the name says none. */
static double size_in_name(const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        if (isdigit((unsigned char)*at) && (at == name || !isalnum((unsigned char)at[-1]))) {
            char *end;
            double value = strtod(at, &end);
            if (end[0] == 'g' && end[1] == 'b')
                return value;
        }
    }
    return 0;
}

static bool lint_memory(struct scenario_reader *reader, const struct conf_node *tree,
                        const struct spec_hardware *hardware)
{
    static const double gib = 1073741824.0, gb = 1e9;
    const struct conf_node *memory = conf_get(tree, "memory"),
                           *nominal_node = conf_get(tree, "memory_nominal");
    double bytes = (double)hardware->memory_bytes, nominal = (double)hardware->memory_nominal_bytes;
    double named = size_in_name(hardware->name != NULL ? hardware->name : "");
    bool ok = true;
    if (named > 0 && nominal > 0 && fabs(nominal / gib / named - 1) > 0.02)
        ok = scenario_fail(reader, nominal_node != NULL ? nominal_node : tree,
                           "hardware.memory_nominal", "memory-name",
                           "the name says %.0f GB, memory_nominal is %.0f GiB", named,
                           nominal / gib);
    if (conf_is_null(memory) || hardware->memory_is_derived || nominal <= 0)
        return ok;
    if (fabs(bytes - nominal / gib * gb) < 0.001 * gb)
        return scenario_fail(reader, memory, "hardware.memory", "gb-for-gib",
                             "%.0f x 10^9 bytes is the marketed number, not what the driver shows; "
                             "leave memory out to "
                             "have it derived from memory_nominal",
                             bytes / gb);
    if (bytes >= nominal && hardware->vendor != NULL && base_key_equal(hardware->vendor, "NVIDIA"))
        return scenario_fail(reader, memory, "hardware.memory", "gb-for-gib",
                             "the driver of an NVIDIA part shows less than the marketed %.0f GiB; "
                             "leave memory out to have "
                             "it derived",
                             nominal / gib);
    if (bytes > 1.001 * nominal || bytes < 0.85 * nominal)
        return scenario_fail(reader, memory, "hardware.memory", "memory-range",
                             "%.2f GiB cannot be what the driver shows of %.0f GiB", bytes / gib,
                             nominal / gib);
    return ok;
}

/* Links are sold by the bit, memory by the byte. */
static const char bits_hint[] = "write B for bytes, as in 3350 GB/s, if that was meant";

static bool is_in_bits(const struct conf_node *node)
{
    return node != NULL && node->kind == CONF_SCALAR &&
           (strstr(node->text, "b/s") != NULL || strstr(node->text, "bit/s") != NULL);
}

void scenario_warn_of_bits(struct scenario_reader *reader, const struct conf_node *tree)
{
    const struct conf_node *node = conf_get(tree, "memory_bandwidth");
    if (is_in_bits(node) && scenario_is_stated(node))
        scenario_warn(reader, node, "hardware.memory_bandwidth", "bandwidth-bits",
                      "'%s' is a rate of bits, an eighth as many bytes; %s", node->text, bits_hint);
}

static bool lint_bandwidth(struct scenario_reader *reader, const struct conf_node *tree,
                           const struct spec_hardware *hardware)
{
    static const double highest = 10e12;          // B300, MI355X: 8 TB/s
    static const double most_flop_per_byte = 800; // TPU v6e: 560; most lie below 450
    const struct conf_node *node = conf_get(tree, "memory_bandwidth");
    double bytes_per_s = hardware->memory_bytes_per_s, flop_per_s = hardware->flop_per_s[SPEC_BF16];
    if (is_in_bits(node))
        return scenario_fail_hint(reader, node, "hardware.memory_bandwidth", "bandwidth-bits",
                                  bits_hint, "'%s' is a rate of bits, an eighth as many bytes",
                                  node->text);
    if (bytes_per_s > highest)
        return scenario_fail(reader, node, "hardware.memory_bandwidth", "bandwidth-range",
                             "%.0f GB/s is above any known device; of how many devices is it?",
                             bytes_per_s / 1e9);
    if (bytes_per_s > 0 && flop_per_s > most_flop_per_byte * bytes_per_s)
        return scenario_fail(
            reader, node, "hardware.memory_bandwidth", "bandwidth-range",
            "%.0f GB/s beside %.0f TFLOPS is below any known device: bits for bytes, "
            "a digit less, or the rate of several devices?",
            bytes_per_s / 1e9, flop_per_s / 1e12);
    return true;
}

bool scenario_lint_hardware(struct scenario_reader *reader, const struct conf_node *tree,
                            const struct spec_hardware *hardware)
{
    bool ok = lint_rates(reader, tree, hardware);
    ok = lint_memory(reader, tree, hardware) && ok;
    return lint_bandwidth(reader, tree, hardware) && ok;
}
