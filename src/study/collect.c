#include "study/collect.h"

static void on_request(struct record_sink *sink, const struct record_request *row)
{
    struct study_collector *collector = (struct study_collector *)(void *)sink;
    struct record_request copy = *row;
    copy.id = base_arena_copy(&collector->arena, row->id);
    base_vec_push(&collector->requests, copy); // class names live as long as the scenario
}

static void on_step(struct record_sink *sink, const struct record_step *row)
{
    struct study_collector *collector = (struct study_collector *)(void *)sink;
    collector->steps->ops->on_step(collector->steps, row);
}

// Samples come replica by replica; the k-th of each replica (from 1) stays when k is even.
static void drop_every_other(struct study_collector *collector)
{
    size_t kept = 0;
    for (size_t i = 0; i < collector->samples.count; i++) {
        size_t k = i / collector->replica_count + 1;
        if (k % 2 == 0) {
            collector->samples.at[kept++] = collector->samples.at[i];
        }
    }
    collector->samples.count = kept;
}

static void on_sample(struct record_sink *sink, const struct record_sample *row)
{
    struct study_collector *collector = (struct study_collector *)(void *)sink;
    base_vec_push(&collector->samples, *row);
    bool is_full = collector->samples.count == RECORD_SAMPLES_MAX * collector->replica_count;
    if (sink->sample_ns < 0 && is_full) {
        drop_every_other(collector);
    }
}

static const struct record_sink_ops collecting = {on_request, on_step, on_sample};

void study_collector_init(struct study_collector *collector, size_t replica_count,
                          uint64_t request_limit, int64_t sample_ns, struct record_sink *steps)
{
    *collector = (struct study_collector){.steps = steps, .replica_count = replica_count};
    collector->sink = (struct record_sink){.ops = &collecting,
                                           .request_limit = request_limit,
                                           .wants_steps = steps != NULL,
                                           .sample_ns = sample_ns};
    base_arena_init(&collector->arena);
}

void study_collector_release(struct study_collector *collector)
{
    base_vec_free(&collector->requests);
    base_vec_free(&collector->samples);
    base_arena_release(&collector->arena);
}
