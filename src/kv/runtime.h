/*
 * runtime.h - what an engine holds beside weights and KV, predicted from model, step and card: activation peak, non-torch
 * memory, graphs.
 *
 *   activation = max(tower, embeddings + max(layer, sampler))
 *     layer    = tokens * 2 B * (widest layer / TP + copies * hidden); experts: at most moe_chunk_tokens tokens at once; a
 *                dense MLP that no compiler plans keeps further hidden-wide tensors
 *     sampler  = rows * vocabulary * logit_bytes + tokens * 2 B * hidden;  rows = min(max_num_seqs, tokens), or all tokens
 *     tower    = patches * 2 B * (pixels + 2 widths + (16 or 10 widths, or 5 without rotary, or 2 MLP widths) / TP)
 *     embeddings = what the tower hands over for its items, kept while the text model runs
 *   non_torch  = context, collectives of the links between the ranks: once, for each further rank, and for each rank whose
 *                switches multicast
 *   graphs     = layers * capture sizes * bytes of one
 *
 * The shapes are those of the tensors that are alive at once: gate and up (2 widths), their product (1), residual and
 * hidden states (copies); logits in the dtype and in fp32, and what a sort-based sampler keeps of them (values, 64-bit
 * indices, probabilities, scratch of the sort). The constants differ by release and lie in the engine profile, with the
 * logs they come from and their error.
 *
 * An eager dense MLP (vLLM V0, llama.py and qwen2.py): while it runs the caller still holds its input (the layer before's
 * output, normed in place), the residual, and the attention's output, normed in place too. Where gate and up keep a name until
 * the down projection is done, its output is alive beside all of them.
 *
 * NCCL's buffers are those of a rank's connections, over all channels: a ring has two however many ranks there are (issues 864
 * and 986 of NVIDIA/nccl), so ranks behind switches pay once; in a mesh every further peer has a link, and channels, of its
 * own. Where a rank cannot reach another one's memory (PCIe of most boards; a bridge with more ranks than it joins) the
 * buffers lie in the host's. A release of V0 whose torch is not told otherwise keeps the inputs of a step's all-reduces.
 *
 * Links that multicast are those of NVSwitches of the fourth generation on (NVLink SHARP). NCCL uses them for more than two
 * ranks (nvls.cc, ncclNvlsInit) and then holds, up to 2.21, 24 channels of two buffers of 4 + 2 MiB for each rank of a
 * communicator: "nvlsPerRankSize 301989888" (issue 9699 of vllm-project/vllm). From 2.26 it's 16 channels of 2 MiB.
 *
 * The tower of a multimodal model runs on items of the largest size: as many as the encoder's budget holds, which is
 * max(max_num_batched_tokens, one item) (vLLM V1), or as one prompt holds (V0, which then samples a row for each item). A
 * tower's attention holds query, key and value, contiguous copies of them, and queries and keys in fp32 before and after
 * their rotation; V0 rotated one after the other.
 */
#ifndef KVSIM_KV_RUNTIME_H
#define KVSIM_KV_RUNTIME_H

#include "spec/model.h"

#include <stdbool.h>
#include <stdint.h>

enum kv_encoder_profile {
    KV_ENCODER_NONE,   /* the tower does not run before the pool is made */
    KV_ENCODER_BUDGET, /* vLLM V1 */
    KV_ENCODER_PROMPT  /* vLLM V0 */
};

enum kv_logit_rows {
    KV_LOGITS_OF_SEATS, /* the last token of each sequence */
    KV_LOGITS_OF_TOKENS /* TGI's warm-up asks for the log-probability of every prompt token */
};

enum kv_links {
    KV_LINKS_DIRECT,    /* of every two ranks */
    KV_LINKS_PCIE,      /* no links that join all ranks but PCIe */
    KV_LINKS_SWITCH,    /* switches that only pass on */
    KV_LINKS_MULTICAST, /* switches that reduce and broadcast */
    KV_LINKS_COUNT
};

struct kv_runtime_rule {
    double logit_bytes; /* per row and entry of the vocabulary */
    enum kv_logit_rows logit_rows;
    double hidden_copies;       /* hidden-wide tensors alive beside the widest layer */
    double mlp_copies;          /* further ones beside a dense MLP */
    int64_t moe_chunk_tokens;   /* 0: experts take all tokens at once */
    int64_t context_bytes;      /* non-torch memory that counts, one rank */
    int64_t context_rocm_bytes; /* the same under ROCm; 0 = as elsewhere */
    int64_t collective_bytes[KV_LINKS_COUNT]; /* for each further rank */
    int64_t once_bytes[KV_LINKS_COUNT];       /* with two ranks or more, however many */
    int64_t multicast_more_bytes; /* where switches multicast: once with three ranks or more, */
    int64_t multicast_rank_bytes; /* and of each rank that they join */
    double kept_reductions;  /* of a layer: all-reduces whose input stays to the end of the step */
    int64_t graph_bytes;     /* of one layer at one capture size */
    int64_t graph_max_batch; /* largest capture size, where the seats allow it */
    int64_t graph_seats;     /* times max_num_seqs that capture sizes reach; 0 = 1 */
    double graph_charged_share; /* of what capture takes: the estimate that is charged; 0 = all */
    enum kv_encoder_profile encoder;
};

struct kv_runtime_shape {
    int64_t max_num_batched_tokens, max_num_seqs;
    uint32_t tensor_parallel, pipeline_parallel;
    enum kv_links links;
    uint32_t linked_ranks; /* that the links join: of one node; 0 = all */
    bool is_rocm;
    bool enforce_eager;
    bool graphs_are_charged; /* then `graphs` is the estimate */
};

struct kv_runtime {
    struct kv_runtime_rule rule; /* that it follows from */
    int64_t further_ranks;       /* that collectives are with */
    /* of the rule, what holds for these links and this vendor: non_torch = context + once + ranks * collective + multicast */
    int64_t context_bytes, once_bytes, collective_bytes, multicast_bytes;
    double logit_count; /* rows and entries of the vocabulary that the sampler holds at once */
    int64_t layer_bytes, sampler_bytes, tower_bytes; /* the candidates */
    int64_t embedding_bytes;                         /* beside layer and sampler */
    int64_t activation_bytes, non_torch_bytes, graphs_bytes;
};

/* Zeros for a model that states only its KV groups, but non-torch. */
void kv_runtime_predict(const struct kv_runtime_rule *rule, const struct spec_model *model,
                        const struct kv_runtime_shape *shape, struct kv_runtime *out);

/* Capture sizes: 1, 2, 4, then every 8 to 256 and every 16 beyond. Source: vLLM, vllm/config. */
int64_t kv_runtime_capture_sizes(int64_t max_batch);

#endif
