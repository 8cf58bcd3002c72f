/*
 * model_format.c - how a model's released weights are stored, from its torch_dtype or its quantization_config.
 */
#include "scenario/model_build.h"

#include "base/error.h"
#include "spec/hardware.h"

#include <string.h>

/* `ignore` lists names and regular expressions of modules that stay as they are. */
static bool ignores(const struct conf_node *config, const char *module)
{
    const struct conf_node *list = conf_get(config, "ignore");
    for (size_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->count; i++) {
        const struct conf_node *item = list->items[i];
        if (item->kind == CONF_SCALAR && strstr(item->text, module) != NULL)
            return true;
    }
    return false;
}

/* compressed-tensors: bits and type of the first group's weights. */
static const char *compressed_format(const struct conf_node *config)
{
    const struct conf_node *groups = conf_get(config, "config_groups");
    if (groups == NULL || groups->kind != CONF_MAP || groups->count == 0)
        return NULL;
    const struct conf_node *weights = conf_get(groups->items[0], "weights");
    const char *bits = conf_get_text(weights, "num_bits"), *type = conf_get_text(weights, "type");
    if (bits == NULL || type == NULL)
        return NULL;
    if (strcmp(bits, "8") == 0)
        return strcmp(type, "float") == 0 ? "fp8" : "int8";
    if (strcmp(bits, "4") != 0)
        return NULL;
    if (strcmp(type, "float") == 0)
        return "nvfp4";
    bool experts_only = ignores(config, "self_attn") && ignores(config, "shared_experts");
    return experts_only ? "int4_experts" : "int4";
}

static const char *quantized_format(const struct conf_node *config)
{
    const char *method = conf_get_text(config, "quant_method"),
               *algo = conf_get_text(config, "quant_algo");
    if (algo != NULL)
        return base_key_equal(algo, "NVFP4") ? "nvfp4" : base_key_equal(algo, "FP8") ? "fp8" : NULL;
    if (method == NULL)
        return NULL;
    if (strcmp(method, "compressed-tensors") == 0)
        return compressed_format(config);
    if (strcmp(method, "fp8") == 0)
        return conf_is_null(conf_get(config, "weight_block_size")) ? "fp8" : "fp8_block";
    struct spec_weight_format format;
    return spec_weight_format_find(method, &format) ? method : NULL;
}

bool scenario_model_format(struct scenario_model_build *b)
{
    const struct conf_node *config = b->opts.quantization_config;
    enum spec_dtype dtype;
    if (config != NULL) {
        const char *format = config->kind == CONF_MAP ? quantized_format(config) : NULL;
        if (format == NULL)
            return scenario_fail_hint(
                b->reader, config, scenario_join(b->reader->arena, b->path, "quantization_config"),
                "unknown-format",
                "known methods: fp8, awq, gptq, mxfp4, compressed-tensors, modelopt",
                "the format of the released weights is not known");
        b->out->weight_dtype = format;
        return true;
    }
    if (b->opts.torch_dtype == NULL) {
        b->out->weight_dtype = "bf16";
        return true;
    }
    if (!spec_dtype_parse(b->opts.torch_dtype, &dtype))
        return scenario_model_wrong(b, "torch_dtype", "'torch_dtype' is no known dtype");
    b->out->weight_dtype = spec_dtype_name(dtype);
    return true;
}
