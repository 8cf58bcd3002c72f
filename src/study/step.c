#include "study/step.h"

#include "base/text.h"
#include "base/units.h"

#include <string.h>

enum { OVERRIDES_MAX = STUDY_STEP_KEY_COUNT };

/* The scenario's key for each. */
static const char *const keys[STUDY_STEP_KEY_COUNT] = {
    [STUDY_STEP_MODEL] = "model",
    [STUDY_STEP_HARDWARE] = "hardware",
    [STUDY_STEP_TP] = "engine.tensor_parallel_size",
    [STUDY_STEP_PP] = "engine.pipeline_parallel_size",
    [STUDY_STEP_DP] = "engine.data_parallel_size",
    [STUDY_STEP_EP] = "engine.enable_expert_parallel",
    [STUDY_STEP_QUANTIZATION] = "engine.quantization",
    [STUDY_STEP_KV_CACHE_DTYPE] = "engine.kv_cache_dtype",
    [STUDY_STEP_GRAPHS] = "engine.enforce_eager",
    [STUDY_STEP_KERNELS] = "cost.kernels",
};

void study_steps_init(struct study_steps *steps, const struct scenario_request *request)
{
    *steps = (struct study_steps){.request = *request};
    base_arena_init(&steps->arena);
}

static void engine_free(struct study_step_engine *engine)
{
    base_arena_release(&engine->arena);
    scenario_free(engine->scenario);
}

void study_steps_free(struct study_steps *steps)
{
    for (size_t i = 0; i < steps->engines.count; i++)
        engine_free(steps->engines.at[i]);
    base_vec_free(&steps->engines);
    base_arena_release(&steps->arena);
}

/* The values as one text, each behind a character that no value has. */
static void print_key(const char *const values[STUDY_STEP_KEY_COUNT], struct base_text *out)
{
    for (size_t i = 0; i < STUDY_STEP_KEY_COUNT; i++) {
        base_text_add(out, values[i] == NULL ? "\x1e" : "\x1f");
        base_text_add(out, values[i] == NULL ? "" : values[i]);
    }
}

static struct study_step_engine *find_engine(struct study_steps *steps, const char *key)
{
    if (steps->last != NULL && strcmp(steps->last->key, key) == 0)
        return steps->last;
    for (size_t i = 0; i < steps->engines.count; i++)
        if (strcmp(steps->engines.at[i]->key, key) == 0)
            return steps->engines.at[i];
    return NULL;
}

static enum kvsim_status read_ranks(const char *text, int64_t *out, struct kvsim_error *err)
{
    enum kvsim_status status = base_parse_int(text, BASE_COUNT, out, err);
    if (status == KVSIM_OK && *out < 1)
        status = base_fail(err, KVSIM_ERR_SCENARIO, "'%s' is not a number of ranks", text);
    return status;
}

/* true or false; 1 and 0 as tables have them. */
static enum kvsim_status read_bool(const char *text, bool *out, struct kvsim_error *err)
{
    *out = base_key_equal(text, "true") || strcmp(text, "1") == 0;
    if (*out || base_key_equal(text, "false") || strcmp(text, "0") == 0)
        return KVSIM_OK;
    return base_fail(err, KVSIM_ERR_SCENARIO, "'%s' is neither true nor false", text);
}

/* The value as the scenario writes it. */
static enum kvsim_status translate(enum study_step_key key, const char *value, const char **out,
                                   struct kvsim_error *err)
{
    int64_t ranks = 0;
    bool graphs = false;
    enum kvsim_status status = KVSIM_OK;
    *out = value;
    switch (key) {
    case STUDY_STEP_TP:
    case STUDY_STEP_PP:
    case STUDY_STEP_DP:
        return read_ranks(value, &ranks, err);
    case STUDY_STEP_EP:
        status = read_ranks(value, &ranks, err);
        *out = ranks > 1 ? "true" : "false";
        return status;
    case STUDY_STEP_GRAPHS:
        status = read_bool(value, &graphs, err);
        *out = graphs ? "false" : "true";
        return status;
    case STUDY_STEP_MODEL:
    case STUDY_STEP_HARDWARE:
    case STUDY_STEP_QUANTIZATION:
    case STUDY_STEP_KV_CACHE_DTYPE:
    case STUDY_STEP_KERNELS:
    case STUDY_STEP_KEY_COUNT:
        break;
    }
    return KVSIM_OK;
}

/* The key whose override a diagnostic points at: its file is "--set KEY", or "--set KEY.more". */
static enum study_step_key blame(const struct kvsim_error *diagnostic,
                                 const char *const values[STUDY_STEP_KEY_COUNT])
{
    static const char start[] = "--set ";
    if (!base_starts_with(diagnostic->file, start))
        return STUDY_STEP_KEY_COUNT;
    const char *path = diagnostic->file + sizeof start - 1;
    for (size_t i = 0; i < STUDY_STEP_KEY_COUNT; i++)
        if (values[i] != NULL && strcmp(path, keys[i]) == 0)
            return (enum study_step_key)i;
    return STUDY_STEP_KEY_COUNT;
}

/* Experts are shared over all ranks or over none; another number has no engine. */
static enum kvsim_status check_ep(const struct serve_config *config, const char *ep,
                                  struct kvsim_error *err)
{
    int64_t ranks = 1;
    int64_t all = (int64_t)config->tensor_parallel * config->data_parallel;
    if (ep == NULL || base_parse_int(ep, BASE_COUNT, &ranks, err) != KVSIM_OK || ranks == 1 ||
        ranks == all)
        return KVSIM_OK;
    return base_fail(err, KVSIM_ERR_SCENARIO, "ep is %lld; it can be 1 or tp x dp = %lld",
                     (long long)ranks, (long long)all);
}

static enum kvsim_status load(struct study_steps *steps,
                              const char *const values[STUDY_STEP_KEY_COUNT],
                              struct study_step_engine *engine, enum study_step_key *fault,
                              struct kvsim_error *err)
{
    struct scenario_request request = steps->request;
    size_t count = request.override_count;
    struct scenario_override *overrides =
        base_arena_array(&steps->arena, count + OVERRIDES_MAX, sizeof *overrides);
    if (count > 0)
        memcpy(overrides, request.overrides, count * sizeof *overrides);
    for (size_t i = 0; i < STUDY_STEP_KEY_COUNT; i++) {
        if (values[i] == NULL)
            continue;
        *fault = (enum study_step_key)i;
        struct scenario_override *override = &overrides[count++];
        override->key = keys[i];
        enum kvsim_status status = translate(*fault, values[i], &override->value, err);
        if (status != KVSIM_OK)
            return status;
        override->value = base_arena_copy(&steps->arena, override->value);
    }
    *fault = STUDY_STEP_KEY_COUNT;
    request.overrides = overrides;
    request.override_count = count;

    steps->diags = (struct kvsim_diags){0};
    enum kvsim_status status = scenario_load(&request, &engine->scenario, &steps->diags);
    if (status != KVSIM_OK) {
        base_require(steps->diags.count > 0);
        *err = steps->diags.at[0];
        *fault = blame(err, values);
        return status;
    }
    engine->config = scenario_config(engine->scenario);
    *fault = STUDY_STEP_EP;
    return check_ep(engine->config, values[STUDY_STEP_EP], err);
}

/* A cost model with room for `seq_count` decodes; the room doubles, so that a growing table makes few. */
static enum kvsim_status make_room(struct study_step_engine *engine, int64_t seq_count,
                                   struct kvsim_error *err)
{
    enum { ROOM_FIRST = 512 };
    if (engine->cost != NULL && seq_count <= engine->seqs_max)
        return KVSIM_OK;
    int64_t room = ROOM_FIRST;
    while (room < seq_count)
        room *= 2;
    struct cost_config config = engine->config->cost;
    config.max_decode_seqs = (uint32_t)room;
    engine->cost = NULL;
    base_arena_release(&engine->arena);
    base_arena_init(&engine->arena);
    engine->seqs_max = room;
    return cost_new(&config, &engine->arena, &engine->cost, err);
}

enum kvsim_status study_steps_engine(struct study_steps *steps,
                                     const char *const values[STUDY_STEP_KEY_COUNT],
                                     struct study_step_engine **out, enum study_step_key *fault,
                                     struct kvsim_error *err)
{
    struct base_text key = {0};
    *fault = STUDY_STEP_KEY_COUNT;
    print_key(values, &key);
    *out = steps->last = find_engine(steps, key.at);
    enum kvsim_status status = KVSIM_OK;
    if (*out == NULL) {
        struct study_step_engine *engine = base_arena_take(&steps->arena, sizeof *engine);
        engine->key = base_arena_copy(&steps->arena, key.at);
        base_arena_init(&engine->arena);
        status = load(steps, values, engine, fault, err);
        if (status == KVSIM_OK) {
            base_vec_push(&steps->engines, engine);
            *out = steps->last = engine;
        } else {
            engine_free(engine);
        }
    }
    base_text_free(&key);
    return status;
}

static void add_chunk(const struct study_step_chunk *chunk, const struct cost_window *windows,
                      size_t window_count, struct cost_shape *shape)
{
    int64_t n = chunk->seq_count, q = chunk->new_tokens, c = chunk->cached_tokens;
    cost_shape_add_prefill(shape, n, q, c);
    shape->emitting_count += (uint32_t)n;
    for (size_t w = 0; w < window_count; w++)
        shape->prefill_window_area[w] += n * cost_window_area(&windows[w], q, c);
}

void study_step_shape(const struct study_step_batch *batch, const struct cost_window *windows,
                      size_t window_count, struct cost_shape *out)
{
    base_require(window_count <= COST_WINDOWS_MAX);
    int64_t n = batch->decode_seq_count, context = batch->decode_context_tokens + 1;
    *out =
        (struct cost_shape){.decode_seq_count = (uint32_t)n, .decode_context_tokens = n * context};
    for (size_t w = 0; w < window_count; w++)
        out->decode_window_tokens[w] = n * cost_window_keys(&windows[w], context);
    for (size_t i = 0; i < batch->chunk_count; i++)
        add_chunk(&batch->chunks[i], windows, window_count, out);
}

/* Cached tokens of each sequence up to the grid step of a table of step times. */
static void round_cached(const struct study_step_batch *batch, int64_t step,
                         struct cost_shape *shape)
{
    shape->cached_step_tokens = step;
    for (size_t i = 0; step > 0 && i < batch->chunk_count; i++) {
        const struct study_step_chunk *chunk = &batch->chunks[i];
        shape->prefill_cached_rounded +=
            chunk->seq_count * ((chunk->cached_tokens + step - 1) / step * step);
    }
}

static bool is_countable(int64_t seq_count, int64_t tokens)
{
    enum { TOKENS_BITS = 40 };
    return seq_count >= 0 && seq_count <= STUDY_STEP_SEQS_MAX && tokens >= 0 &&
           tokens <= (int64_t)1 << TOKENS_BITS;
}

static enum kvsim_status check_batch(const struct study_step_batch *batch, struct kvsim_error *err)
{
    bool is_fine = is_countable(batch->decode_seq_count, batch->decode_context_tokens);
    int64_t seq_count = batch->decode_seq_count;
    for (size_t i = 0; i < batch->chunk_count && is_fine; i++) {
        const struct study_step_chunk *chunk = &batch->chunks[i];
        is_fine = is_countable(chunk->seq_count, chunk->new_tokens) &&
                  is_countable(chunk->seq_count, chunk->cached_tokens);
        if (is_fine && chunk->seq_count > 0 && chunk->new_tokens == 0)
            return base_fail(err, KVSIM_ERR_SCENARIO, "a prefilling sequence has no new token");
        seq_count += is_fine ? chunk->seq_count : 0;
        is_fine = is_fine && seq_count <= STUDY_STEP_SEQS_MAX;
    }
    if (!is_fine)
        return base_fail(err, KVSIM_ERR_SCENARIO,
                         "a step has at most %d sequences, a sequence at most 2^40 tokens",
                         (int)STUDY_STEP_SEQS_MAX);
    if (seq_count == 0)
        return base_fail(err, KVSIM_ERR_SCENARIO, "the step has neither prefill nor decode");
    return KVSIM_OK;
}

enum kvsim_status study_step_explain(struct study_step_engine *engine,
                                     const struct study_step_batch *batch,
                                     struct cost_explanation *out, struct kvsim_error *err)
{
    enum kvsim_status status = check_batch(batch, err);
    if (status == KVSIM_OK)
        status = make_room(engine, batch->decode_seq_count, err);
    if (status != KVSIM_OK)
        return status;
    struct cost_window windows[COST_WINDOWS_MAX];
    size_t window_count = cost_window_count(engine->cost);
    for (size_t w = 0; w < window_count; w++)
        windows[w] = *cost_window_at(engine->cost, w);
    struct cost_shape shape;
    study_step_shape(batch, windows, window_count, &shape);
    round_cached(batch, cost_cached_step_tokens(engine->config->cost.options), &shape);
    cost_explain(engine->cost, &shape, out);
    const struct kvsim_error *fault = cost_fault(engine->cost);
    if (fault == NULL)
        return KVSIM_OK;
    *err = *fault;
    engine->cost = NULL; // a new one has no fault
    return err->status;
}

enum cost_level study_step_level(const struct study_step_engine *engine)
{
    return cost_level_resolve(engine->config->cost.options, engine->config->cost.hardware);
}

enum spec_claim study_step_basis(const struct study_step_engine *engine)
{
    const struct cost_config *cost = &engine->config->cost;
    enum cost_level level = study_step_level(engine);
    if (level == COST_TABLE)
        return SPEC_MEASURED;
    if (level == COST_FIXED || level == COST_AFFINE || cost->hardware == NULL)
        return SPEC_ASSUMED; // the scenario's own word
    enum spec_claim basis = cost->hardware->rate_claim;
    if (cost->hardware->efficiency.present)
        basis = spec_claim_weaker(basis, cost->hardware->efficiency.claim);
    if (cost->model != NULL)
        basis = spec_claim_weaker(basis, cost->model->claim);
    return basis;
}
