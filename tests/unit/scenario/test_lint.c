#include "scenario/scenario.h"

#include "support/check_main.h"
#include "support/scratch.h"

#include <string.h>

/* The first diagnostic's code for a file with this text; "" when it is valid. */
static void check_text(const char *name, const char *text, char *code, size_t bytes)
{
    struct kvsim_diags diags = {0};
    scratch_enter();
    scratch_write(name, text, strlen(text));
    enum kvsim_status status = scenario_check_file(name, &diags);
    ck_assert_int_eq(status == KVSIM_OK, diags.total == 0);
    strncpy(code, diags.total > 0 ? diags.at[0].code : "", bytes - 1);
    code[bytes - 1] = '\0';
    scratch_leave();
}

#define CHECK_CODE(name, text, wanted)                                        \
    do {                                                                      \
        char code[64];                                                        \
        check_text(name, text, code, sizeof code);                            \
        ck_assert_msg(strcmp(code, wanted) == 0, "%s: got '%s'", text, code); \
    } while (0)

#define OPT_13B(hidden)                                                                         \
    "name: opt-13b\nnum_hidden_layers: 40\nhidden_size: " hidden                                \
    "\nnum_attention_heads: 40\nnum_key_value_heads: 40\nhead_dim: 128\n"                       \
    "mlp_type: plain\nintermediate_size: 20480\nvocab_size: 50272\ntie_word_embeddings: true\n" \
    "max_position_embeddings: 2048\nparameters: 13e9\n"

#define FALCON_7B(heads)                                                                        \
    "name: falcon-7b\nnum_hidden_layers: 32\nhidden_size: 4544\nnum_attention_heads: 71\n"      \
    "num_key_value_heads: " heads "\nhead_dim: 64\nmlp_type: plain\nintermediate_size: 18176\n" \
    "vocab_size: 65024\ntie_word_embeddings: true\nmax_position_embeddings: 2048\nparameters: " \
    "7.2e9\n"

#define LATENT(heads)                                                                   \
    "name: latent\nmodel_type: deepseek_v3\nnum_hidden_layers: 2\nhidden_size: 7168\n"  \
    "num_attention_heads: 128\nnum_key_value_heads: " heads "\nkv_lora_rank: 512\n"     \
    "qk_rope_head_dim: 64\nqk_nope_head_dim: 128\nv_head_dim: 128\nq_lora_rank: 1536\n" \
    "mlp_type: gated\nintermediate_size: 18432\nvocab_size: 129280\n"                   \
    "tie_word_embeddings: false\nmax_position_embeddings: 4096\n"

START_TEST(finds_the_mistakes_of_model_catalogs)
{
    CHECK_CODE("m.yaml", OPT_13B("5120"), "");
    CHECK_CODE("m.yaml", OPT_13B("5140"), "hidden-size");
    CHECK_CODE("m.yaml", FALCON_7B("1"), "");
    CHECK_CODE("m.yaml", FALCON_7B("71"), "parameters");
    CHECK_CODE("m.yaml", FALCON_7B("4"), "out-of-range"); // the reader itself
    CHECK_CODE("m.yaml", LATENT("128"), "");
    CHECK_CODE("m.yaml", LATENT("8"), "kv-heads");
}
END_TEST

#define CARD(rates, memory)                                                                       \
    "name: card-80gb\nvendor: NVIDIA\narchitecture: hopper\ncompute_units: 132\nmemory_nominal: " \
    "80 GiB\n"                                                                                    \
    "memory_bandwidth: 3350 GB/s\n" memory "tflops: " rates "\n"

START_TEST(finds_the_mistakes_of_hardware_catalogs)
{
    CHECK_CODE("h.yaml", CARD("{bf16: 989, fp8: 1979}", "memory: 79.18 GiB\n"), "");
    CHECK_CODE("h.yaml", CARD("{bf16: 1979, fp8: 3958}", "memory: 79.18 GiB\n"), "sparse-rate");
    CHECK_CODE("h.yaml", CARD("{bf16: 989, fp8: 3958}", "memory: 79.18 GiB\n"), "sparse-rate");
    CHECK_CODE("h.yaml", CARD("{fp16: 1979}", "memory: 79.18 GiB\n"), "sparse-rate");
    CHECK_CODE("h.yaml", CARD("{fp16: 989, int8: 3958}", "memory: 79.18 GiB\n"), "sparse-rate");
    CHECK_CODE("h.yaml", CARD("{fp16: 989, int8: 1979}", "memory: 79.18 GiB\n"), "");
    CHECK_CODE("h.yaml", CARD("{bf16: 989}", "memory: 80 GB\n"), "gb-for-gib");
    CHECK_CODE("h.yaml", CARD("{bf16: 989}", "memory: 80 GiB\n"), "gb-for-gib");
    CHECK_CODE("h.yaml", CARD("{bf16: 989}", "memory: 45 GiB\n"), "memory-range");
    CHECK_CODE(
        "h.yaml",
        "name: card-16gb\nvendor: NVIDIA\nmemory_nominal: 32 GiB\nmemory_bandwidth: 900 GB/s\n",
        "memory-name");
    CHECK_CODE(
        "h.yaml",
        "name: card\nvendor: NVIDIA\nmemory_nominal: 192 GiB\nmemory_bandwidth: 13400 GB/s\n",
        "bandwidth-range");
    CHECK_CODE("h.yaml",
               "name: card\nvendor: NVIDIA\nmemory_nominal: 80 GiB\nmemory_bandwidth: 335 GB/s\n"
               "tflops: {bf16: 989}\n",
               "bandwidth-range");
    CHECK_CODE("h.yaml",
               "name: card\nvendor: NVIDIA\nmemory_nominal: 80 GiB\nmemory_bandwidth: 26800 Gb/s\n"
               "tflops: {bf16: 989}\n",
               "bandwidth-bits");
    CHECK_CODE("h.yaml",
               "name: card\nvendor: NVIDIA\nmemory_nominal: 80 GiB\nmemory_bandwidth: 26.8Tbit/s\n"
               "tflops: {bf16: 989}\n",
               "bandwidth-bits");
    CHECK_CODE("h.yaml",
               "name: card\nvendor: NVIDIA\nmemory_nominal: 80 GiB\nmemory_bandwidth: 3120 GiB/s\n"
               "tflops: {bf16: 989}\n",
               "");
}
END_TEST

CHECK_MAIN("scenario.lint", finds_the_mistakes_of_model_catalogs,
           finds_the_mistakes_of_hardware_catalogs)
