/*
 * parts.c - what lies on the card beside the pool, and where an engine's rule takes each part from.
 */
#include "kv/waterfall_int.h"

#include "base/i128.h"

#include <math.h>
#include <string.h>

// A part that nobody has said anything about counts as nothing, and says so.
static struct kv_waterfall_bytes known_or_zero(const struct kv_waterfall_bytes *part)
{
    if (part->is_set)
        return *part;
    return (struct kv_waterfall_bytes){.claim = SPEC_ASSUMED, .source = "not known, taken as 0"};
}

enum kv_place kv_parts_place(const struct kv_waterfall_inputs *inputs, enum kv_part part)
{
    enum kv_place place = inputs->sizing.place[part];
    if (part == KV_PART_GRAPHS && place == KV_PLACE_AFTER && !inputs->charge_graphs)
        return KV_PLACE_BESIDE;
    return place;
}

int64_t kv_parts_placed_bytes(const struct kv_waterfall_inputs *inputs,
                              const struct kv_parts *parts, enum kv_place place)
{
    int64_t bytes = 0;
    for (int part = 0; part < KV_PART_COUNT; part++) {
        if (kv_parts_place(inputs, (enum kv_part)part) == place)
            bytes += parts->of[part].bytes;
    }
    return bytes;
}

// Of a part that nobody has stated: what the rule predicts.
static struct kv_waterfall_bytes predicted(const struct kv_waterfall_inputs *inputs,
                                           const struct kv_waterfall_bytes *stated, int64_t bytes)
{
    if (stated->is_set || inputs->runtime == NULL)
        return known_or_zero(stated);
    return (struct kv_waterfall_bytes){true, bytes, SPEC_ASSUMED, inputs->runtime_source};
}

// "nvlink4-nvswitch" and later ones: NVLink SHARP came with the fourth generation.
static bool multicasts(const char *link_kind)
{
    const char *const prefix = "nvlink";
    size_t length = strlen(prefix);
    return strncmp(link_kind, prefix, length) == 0 && link_kind[length] >= '4' &&
           link_kind[length] <= '9';
}

// A part whose links nobody states has none; a bridge joins no more than it has plugs for.
static enum kv_links links_of(const struct spec_hardware *hardware, uint32_t ranks)
{
    if (hardware == NULL)
        return KV_LINKS_DIRECT;
    const char *kind = hardware->link_kind;
    if (kind == NULL || kind[0] == '\0')
        return hardware->link_bytes_per_s > 0 ? KV_LINKS_DIRECT : KV_LINKS_PCIE;
    if (base_key_equal(kind, "pcie"))
        return KV_LINKS_PCIE;
    if (strstr(kind, "nvswitch") != NULL)
        return multicasts(kind) ? KV_LINKS_MULTICAST : KV_LINKS_SWITCH;
    bool is_bridge = strstr(kind, "bridge") != NULL && hardware->link_gpus != 0;
    return is_bridge && ranks > hardware->link_gpus ? KV_LINKS_PCIE : KV_LINKS_DIRECT;
}

static bool is_rocm(const struct spec_hardware *hardware)
{
    return hardware != NULL && hardware->vendor != NULL && base_key_equal(hardware->vendor, "AMD");
}

static struct kv_runtime predict(const struct kv_waterfall_inputs *inputs)
{
    struct kv_runtime runtime = {0};
    struct kv_runtime_shape shape = {
        .max_num_batched_tokens = inputs->max_num_batched_tokens,
        .max_num_seqs = inputs->max_num_seqs,
        .tensor_parallel = inputs->kv.tensor_parallel,
        .pipeline_parallel = inputs->kv.pipeline_parallel,
        .links = links_of(inputs->hardware, inputs->kv.tensor_parallel),
        .linked_ranks = inputs->hardware == NULL ? 0 : inputs->hardware->link_gpus,
        .is_rocm = is_rocm(inputs->hardware),
        .enforce_eager = inputs->enforce_eager,
        .graphs_are_charged = inputs->charge_graphs,
    };
    if (inputs->runtime != NULL)
        kv_runtime_predict(inputs->runtime, inputs->model, &shape, &runtime);
    return runtime;
}

/*
 * Of data-parallel ranks that share experts the exchange is left out. Gathers and scatters (vLLM's default) work in tensors of
 * PyTorch; other backends hold buffers of their own, which no option here names. Source: vLLM,
 * vllm/distributed/device_communicators/all2all.py (VLLM_DEEPEP_BUFFER_SIZE_MB 1024, across nodes twice; low latency: that
 * and what get_low_latency_rdma_size_hint() says).
 */
static struct kv_waterfall_bytes non_torch_part(const struct kv_waterfall_inputs *inputs,
                                                int64_t predicted_bytes)
{
    struct kv_waterfall_bytes part = predicted(inputs, &inputs->non_torch, predicted_bytes);
    bool exchanges = inputs->weights.data_parallel > 1 && inputs->weights.expert_parallel &&
                     inputs->model->expert_count > 0;
    if (exchanges && part.is_set && !inputs->non_torch.is_set)
        part.source =
            "of tensor parallelism alone, near logged starts; not modelled: buffers of the "
            "experts' all-to-all (DeepEP: 1 GiB a rank and more) and its communicators";
    return part;
}

static struct kv_waterfall_bytes activation_part(const struct kv_waterfall_inputs *inputs,
                                                 int64_t predicted_bytes)
{
    const struct kv_waterfall_activation *activation = &inputs->activation;
    struct kv_waterfall_bytes part = {
        .is_set = activation->is_set, .claim = activation->claim, .source = activation->source};
    part.bytes = activation->base_bytes + llround(activation->bytes_per_batched_token *
                                                  (double)inputs->max_num_batched_tokens);
    return predicted(inputs, &part, predicted_bytes);
}

static enum kvsim_status weights_part(const struct kv_waterfall_inputs *inputs,
                                      struct kv_waterfall_bytes *out, struct kvsim_error *err)
{
    if (inputs->weights_bytes.is_set) {
        *out = inputs->weights_bytes;
        return KVSIM_OK;
    }
    struct spec_weights_options options = inputs->weights;
    options.tensor_parallel = inputs->kv.tensor_parallel;
    options.pipeline_parallel = inputs->kv.pipeline_parallel;
    options.stage = inputs->kv.stage;
    uint64_t bytes;
    enum kvsim_status status = spec_weights_bytes_per_gpu(inputs->model, &options, &bytes, err);
    *out = (struct kv_waterfall_bytes){true, (int64_t)bytes, SPEC_CALCULATED,
                                       "geometry and format of the weights"};
    return status;
}

// States outside the pool: one for each sequence that may run, and the spare entry where the engine keeps one.
static struct kv_waterfall_bytes state_pool_part(const struct kv_waterfall_inputs *inputs,
                                                 const struct kv_pages *pages)
{
    int64_t slots = inputs->max_num_seqs + (inputs->sizing.has_spare_page ? 1 : 0);
    return (struct kv_waterfall_bytes){
        .is_set = pages->state_bytes_per_gpu != 0,
        .bytes = (int64_t)pages->state_bytes_per_gpu * slots,
        .claim = SPEC_CALCULATED,
        .source = "recurrent states of max_num_seqs sequences",
    };
}

// A row for each sequence that may run, wide enough for the longest one, in every table.
static struct kv_waterfall_bytes block_tables_part(const struct kv_waterfall_inputs *inputs,
                                                   const struct kv_pages *pages)
{
    const double most = 1e18; // beyond an exabyte no device is larger, and sums still fit
    double bytes = (double)inputs->block_table_entry_bytes * (double)inputs->max_num_seqs *
                   (double)kv_pages_table_entries(pages, inputs->max_model_len);
    return (struct kv_waterfall_bytes){
        .is_set = inputs->block_table_entry_bytes != 0,
        .bytes = llround(bytes < most ? bytes : most),
        .claim = SPEC_CALCULATED,
        .source = "one entry a block of max_model_len",
    };
}

enum kvsim_status kv_parts_find(const struct kv_waterfall_inputs *inputs,
                                const struct kv_pages *pages, struct kv_parts *parts,
                                struct kvsim_error *err)
{
    struct kv_runtime runtime = parts->runtime = predict(inputs);
    parts->of[KV_PART_ACTIVATION] = activation_part(inputs, runtime.activation_bytes);
    parts->of[KV_PART_NON_TORCH] = non_torch_part(inputs, runtime.non_torch_bytes);
    parts->of[KV_PART_GRAPHS] = predicted(inputs, &inputs->graphs, runtime.graphs_bytes);
    parts->of[KV_PART_BLOCK_TABLES] = block_tables_part(inputs, pages);
    parts->of[KV_PART_REQUEST_TABLES] = inputs->request_tables;
    if (inputs->kv.stage == 0 || inputs->kv.stage == inputs->kv.pipeline_parallel)
        parts->of[KV_PART_DRAFT] = inputs->draft; // on the last stage
    parts->of[KV_PART_LORA] = inputs->lora;
    parts->of[KV_PART_STATE_POOL] = state_pool_part(inputs, pages);
    return weights_part(inputs, &parts->of[KV_PART_WEIGHTS], err);
}

// ceil(memory * utilization), exactly.
static int64_t budget_bytes(int64_t memory_bytes, const struct base_rational *utilization)
{
    base_i128 product = (base_i128)memory_bytes * utilization->num;
    return (int64_t)((product + utilization->den - 1) / utilization->den);
}

int64_t kv_parts_share_bytes(const struct kv_waterfall_inputs *inputs, const struct kv_parts *parts,
                             uint64_t memory_bytes)
{
    int64_t base = (int64_t)memory_bytes - kv_parts_placed_bytes(inputs, parts, KV_PLACE_BEFORE);
    return base > 0 ? budget_bytes(base, &inputs->gpu_memory_utilization) : base;
}

int64_t kv_parts_slots_per_sequence(const struct kv_waterfall_inputs *inputs)
{
    int64_t slots = inputs->sizing.state_slots_per_sequence;
    return slots > 1 ? slots : 1;
}

// Of what is left for both, tokens and states by their share, in whole states.
void kv_parts_share_with_states(const struct kv_waterfall_inputs *inputs, struct kv_parts *parts,
                                struct kv_waterfall *out)
{
    const struct base_rational *share = &inputs->sizing.state_share;
    struct kv_waterfall_bytes *states = &parts->of[KV_PART_STATE_POOL];
    int64_t state_bytes = (int64_t)out->pages.state_bytes_per_gpu;
    int64_t stated = inputs->sizing.state_slots;
    if ((share->den == 0 && stated == 0) || state_bytes == 0)
        return;
    out->has_state_slots = true;
    states->bytes = 0;
    base_i128 rest = kv_parts_share_bytes(inputs, parts, inputs->hardware->memory_bytes) -
                     kv_parts_placed_bytes(inputs, parts, KV_PLACE_AFTER);
    if (stated > 0)
        out->state_share_bytes = stated * state_bytes;
    else if (rest > 0)
        out->state_share_bytes = (int64_t)(rest * share->num / (share->num + share->den));
    out->state_slots = out->state_share_bytes / state_bytes;
    out->state_sequences = out->state_slots / kv_parts_slots_per_sequence(inputs);
    states->bytes = out->state_slots * state_bytes;
    states->source =
        stated > 0 ? "as many states as stated" : "a share of what is left, in whole states";
}
