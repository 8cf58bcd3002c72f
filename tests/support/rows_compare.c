#include "support/rows_compare.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

static bool same_times(const struct record_request *a, const struct record_request *b)
{
    return a->arrival_ns == b->arrival_ns && a->queue_ns == b->queue_ns &&
           a->ttft_ns == b->ttft_ns && a->tpot_ns == b->tpot_ns && a->e2e_ns == b->e2e_ns &&
           a->finish_ns == b->finish_ns &&
           memcmp(a->cause_ns, b->cause_ns, sizeof a->cause_ns) == 0;
}

static bool same_tokens(const struct record_request *a, const struct record_request *b)
{
    return a->prompt_tokens == b->prompt_tokens && a->output_tokens == b->output_tokens &&
           a->generated_tokens == b->generated_tokens && a->cached_tokens == b->cached_tokens &&
           a->cached_tokens_total == b->cached_tokens_total &&
           a->computed_tokens == b->computed_tokens && a->recomputed_tokens == b->recomputed_tokens;
}

bool rows_same_request(const struct record_request *a, const struct record_request *b)
{
    return a->index == b->index && same_text(a->id, b->id) &&
           same_text(a->class_name, b->class_name) && a->replica == b->replica &&
           a->sequences == b->sequences && a->preemptions == b->preemptions &&
           a->outcome == b->outcome && a->finish_reason == b->finish_reason &&
           a->is_counted == b->is_counted && a->is_good == b->is_good && same_times(a, b) &&
           same_tokens(a, b);
}

bool rows_same_sample(const struct record_sample *a, const struct record_sample *b)
{
    return a->replica == b->replica && a->t_ns == b->t_ns && a->running == b->running &&
           a->waiting == b->waiting &&
           memcmp(&a->kv_usage, &b->kv_usage, sizeof a->kv_usage) == 0 &&
           memcmp(&a->prompt_throughput, &b->prompt_throughput, sizeof(double)) == 0 &&
           memcmp(&a->output_throughput, &b->output_throughput, sizeof(double)) == 0 &&
           memcmp(a->ledger_bytes, b->ledger_bytes, sizeof a->ledger_bytes) == 0;
}
