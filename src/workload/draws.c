/* Class and lengths of a request: one addressed uniform each. */
#include "workload/workload_int.h"

void workload_draws_init(struct workload_draws *draws, const struct workload_spec *spec,
                         uint64_t seed, uint32_t replication)
{
    base_require(spec->class_count >= 1 && spec->class_count <= WORKLOAD_CLASSES_MAX);
    *draws = (struct workload_draws){.spec = spec,
                                     .class_key = rng_key(seed, replication, RNG_CLASS, 0),
                                     .seed = seed,
                                     .replication = replication};
    for (size_t i = 0; i < spec->class_count; i++) {
        draws->total_weight += spec->classes[i].weight;
        draws->prompt_keys[i] = rng_key(seed, replication, RNG_PROMPT, i);
        draws->output_keys[i] = rng_key(seed, replication, RNG_OUTPUT, i);
        draws->max_keys[i] = rng_key(seed, replication, RNG_MAX_TOKENS, i);
    }
}

uint32_t workload_draws_class(const struct workload_draws *draws, uint64_t address)
{
    const struct workload_spec *spec = draws->spec;
    double target;
    uint32_t last = 0;

    if (spec->class_count == 1)
        return 0;
    target = rng_uniform(draws->class_key, address) * draws->total_weight;
    for (uint32_t i = 0; i < spec->class_count; i++) {
        if (spec->classes[i].weight <= 0.0)
            continue;
        last = i;
        if (target < spec->classes[i].weight)
            return i;
        target -= spec->classes[i].weight;
    }
    return last;
}

void workload_draws_max_tokens(const struct workload_draws *draws, uint64_t address,
                               struct workload_request *request)
{
    const struct workload_class *class = &draws->spec->classes[request->class_index];

    request->max_tokens = request->output_tokens;
    if (class->has_max_tokens) {
        double u = rng_uniform(draws->max_keys[request->class_index], address);

        request->max_tokens = (int64_t)rng_dist_value(&class->max_tokens, u);
    }
}

void workload_draws_lengths(const struct workload_draws *draws, uint64_t address,
                            struct workload_request *request)
{
    uint32_t index = request->class_index;
    const struct workload_class *class = &draws->spec->classes[index];
    double u_prompt = rng_uniform(draws->prompt_keys[index], address);
    double u_output = rng_uniform(draws->output_keys[index], address);

    if (class->correlation != 0.0)
        rng_correlate(class->correlation, u_prompt, u_output, &u_prompt, &u_output);
    request->prompt_tokens = (int64_t)rng_dist_value(&class->prompt, u_prompt);
    request->output_tokens = (int64_t)rng_dist_value(&class->output, u_output);
    workload_draws_max_tokens(draws, address, request);
}

/* Streams of one class: how many sequences, then one a further sequence. */
static uint64_t sequence_key(const struct workload_draws *draws, uint32_t class_index,
                             uint64_t sequence)
{
    return rng_key(draws->seed, draws->replication, RNG_SEQUENCE,
                   (uint64_t)class_index * WORKLOAD_SEQUENCES_MAX + sequence);
}

// How many answers a request of class_index asks for; 1 unless its class says otherwise.
static uint32_t answer_count(const struct workload_draws *draws, uint64_t address,
                             uint32_t class_index)
{
    const struct workload_class *class = &draws->spec->classes[class_index];
    double count;

    if (!class->has_sequences)
        return 1;
    count = rng_dist_value(&class->sequences,
                           rng_uniform(sequence_key(draws, class_index, 0), address));
    return count < WORKLOAD_SEQUENCES_MAX ? (uint32_t)count : WORKLOAD_SEQUENCES_MAX;
}

static void draw_outputs(const struct workload_draws *draws, uint64_t address,
                         const struct workload_request *request, int64_t *out)
{
    uint32_t index = request->class_index;
    const struct workload_class *class = &draws->spec->classes[index];
    double u_prompt = rng_uniform(draws->prompt_keys[index], address);

    out[0] = request->output_tokens;
    for (uint32_t i = 1; i < request->sequence_count; i++) {
        double u_output = rng_uniform(sequence_key(draws, index, i), address), ignored;

        if (class->correlation != 0.0)
            rng_correlate(class->correlation, u_prompt, u_output, &ignored, &u_output);
        out[i] = (int64_t)rng_dist_value(&class->output, u_output);
    }
}

void workload_draws_answers(const struct workload_draws *draws, uint64_t address,
                            struct workload_request *request, struct workload_lengths *room)
{
    if (request->sequence_count <= 1 || request->is_beam || draws->spec->ignore_eos)
        return;
    room->count = 0;
    while (room->count < request->sequence_count)
        base_vec_push(room, 0);
    draw_outputs(draws, address, request, room->at);
    request->sequence_outputs = room->at;
    for (size_t i = 0;
         !draws->spec->classes[request->class_index].has_max_tokens && i < room->count; i++) {
        if (room->at[i] > request->max_tokens)
            request->max_tokens = room->at[i];
    }
}

void workload_draws_sequences(const struct workload_draws *draws, uint64_t address,
                              struct workload_request *request)
{
    const struct workload_class *class = &draws->spec->classes[request->class_index];
    uint32_t answers = request->sequence_count; /* a trace may have said it */

    if (answers == 0)
        answers = answer_count(draws, address, request->class_index);
    request->sequence_count = class->candidates > 0 ? class->candidates : answers;
    if (class->candidates > 1)
        request->answer_count = answers;
    request->is_beam = class->is_beam;
    if (request->is_beam)
        request->beam_key = rng_key(draws->seed, draws->replication, RNG_BEAM, address);
}
