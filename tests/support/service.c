#include "support/service.h"

#include "support/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Vendor datasheet; efficiencies are the defaults. */
static const struct spec_hardware h100 = {
    .name = "h100",
    .memory_bytes = UINT64_C(85520809984),
    .memory_bytes_per_s = 3350e9,
    .flop_per_s = {67e12, 989e12, 989e12, 1979e12, 1979e12},
    .link_bytes_per_s = 450e9,
    .link_latency_s = 4.25e-6,
    .memory_claim = SPEC_ASSUMED,
    .rate_claim = SPEC_VENDOR,
};

static void require_ok(enum kvsim_status status, const struct kvsim_error *err)
{
    if (status != KVSIM_OK) {
        fprintf(stderr, "service: %s\n", err->message);
        abort();
    }
}

struct rng_dist service_dist(struct service *service, const struct rng_dist_options *options,
                             bool whole)
{
    struct rng_dist dist;
    struct kvsim_error err = {0};
    require_ok(rng_dist_init(&dist, options, whole, &service->arena, &err), &err);
    return dist;
}

struct rng_dist service_fixed(double value)
{
    struct rng_dist dist;
    struct kvsim_error err = {0};
    struct rng_dist_options options = {.kind = RNG_FIXED, .value = value};
    require_ok(rng_dist_init(&dist, &options, true, NULL, &err),
               &err); // a fixed value has no table
    return dist;
}

void service_init(struct service *service)
{
    *service = (struct service){0};
    base_arena_init(&service->arena);
    struct serve_config *config = &service->config;
    config->name = "service";
    memset(config->hash, '0', sizeof config->hash - 1);
    config->yaml = "";
    config->model_name = config->engine_name = config->kv_cache_dtype = "made by hand";
    config->tensor_parallel = config->pipeline_parallel = config->data_parallel =
        config->gpu_count_per_replica = 1;
    config->reserved_blocks = 1;
    config->sched = (struct sched_options){.max_num_seqs = 1024,
                                           .max_num_batched_tokens = 8192,
                                           .max_model_len = 1 << 20,
                                           .enable_chunked_prefill = true,
                                           .watermark = {0, 1},
                                           .reserve_full_isl = true,
                                           .preempted_budget_returned = true};
    config->cost = (struct cost_config){.options = &service->cost,
                                        .layout = &config->layout,
                                        .tensor_parallel = 1,
                                        .pipeline_parallel = 1,
                                        .data_parallel = 1};
    config->replica_count = 1;
    config->replications = 1;
    config->seed = 1;
    config->price_utilization = 1;
    config->workload.class_count = 1;
    config->workload.speedup = 1;
    config->workload.burstiness = config->workload.cv = 1;
    config->workload.classes[0] = (struct workload_class){
        .name = "", .weight = 1, .prompt = service_fixed(1), .output = service_fixed(1)};
    service_set_pool(service, 1 << 24, 16);
    service_set_fixed_step(service, 1000000, 1024);
}

void service_release(struct service *service)
{
    base_arena_release(&service->arena);
}

static void set_plain_layout(struct spec_kv_layout *layout, int64_t block_tokens)
{
    uint32_t tokens = (uint32_t)block_tokens;
    *layout = (struct spec_kv_layout){.group_count = 1,
                                      .lower_bound_bytes_per_token = 1,
                                      .slot_bytes = 1,
                                      .block_bytes = tokens,
                                      .block_tokens = tokens,
                                      .kv_replication = 1,
                                      .gpu_count = 1};
    layout->groups[0] = (struct spec_kv_slot){.kind = SPEC_KV_FULL,
                                              .layer_count = 1,
                                              .block_tokens = tokens,
                                              .lower_bound_bytes = 1,
                                              .slot_bytes = 1,
                                              .block_bytes = tokens};
}

static void set_llama_layout(struct spec_kv_layout *layout, int64_t block_tokens)
{
    struct kvsim_error err = {0};
    struct spec_kv_options options = {.tensor_parallel = 1,
                                      .pipeline_parallel = 1,
                                      .block_tokens = (uint32_t)block_tokens,
                                      .k_dtype = "bf16",
                                      .v_dtype = "bf16"};
    require_ok(spec_kv_layout_make(&model_llama_8b, &options, layout, &err), &err);
}

void service_set_pool(struct service *service, int64_t blocks, int64_t block_tokens)
{
    struct serve_config *config = &service->config;
    config->pool_blocks = blocks;
    config->sched.block_size = block_tokens;
    if (config->model != NULL) {
        set_llama_layout(&config->layout, block_tokens);
    } else {
        set_plain_layout(&config->layout, block_tokens);
    }
}

void service_set_fixed_step(struct service *service, int64_t step_ns, int64_t seats)
{
    service->cost =
        (struct cost_options){.level = COST_FIXED, .has_level = true, .fixed_step_ns = step_ns};
    service->config.sched.max_num_seqs = seats;
    service->config.cost.max_decode_seqs = (uint32_t)seats;
}

void service_set_poisson(struct service *service, double rate_per_s, uint64_t requests)
{
    service->config.workload.process = WORKLOAD_POISSON;
    service->config.workload.rate_per_s = rate_per_s;
    service->config.workload.request_limit = requests;
}

void service_set_async(struct service *service, bool is_async)
{
    service->config.sched.async_scheduling = is_async;
    service->config.cost.async_scheduling = is_async;
}

void service_set_llama_8b(struct service *service, bool is_async)
{
    struct serve_config *config = &service->config;
    config->model = &model_llama_8b;
    config->hardware = &h100;
    config->model_name = model_llama_8b.name;
    config->hardware_name = h100.name;
    service->cost =
        (struct cost_options){.level = COST_DATASHEET, .has_level = true, .host_overlap = true};
    config->cost.model = &model_llama_8b;
    config->cost.hardware = &h100;
    config->cost.cuda_graphs = true;
    config->cost.quantization = "none";
    config->cost.dtype = config->cost.kv_dtype = "bf16";
    config->sched.max_model_len = 131072;
    service_set_async(service, is_async);
    service_set_pool(service, config->pool_blocks, config->sched.block_size);
}
