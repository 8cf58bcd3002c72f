#include "support/result_compare.h"

#include "kv/reserve.h"
#include "sched/sched.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct check {
    char *text;
    size_t bytes;
    char place[32];
};

static void at_place(struct check *check, const char *format, size_t number)
{
    snprintf(check->place, sizeof check->place, "%s %zu: ", format, number);
}

static void same(struct check *check, const char *what, base_i128 a, base_i128 b)
{
    char x[48], y[48];
    if (a != b && check->text[0] == '\0') {
        snprintf(check->text, check->bytes, "%s%s: %s and %s", check->place, what,
                 base_i128_print(a, x, sizeof x), base_i128_print(b, y, sizeof y));
    }
}

static void at_most(struct check *check, const char *what, base_i128 a, base_i128 b)
{
    char x[48], y[48];
    if (a > b && check->text[0] == '\0') {
        snprintf(check->text, check->bytes, "%s%s: %s is above %s", check->place, what,
                 base_i128_print(a, x, sizeof x), base_i128_print(b, y, sizeof y));
    }
}

static void same_bytes(struct check *check, const char *what, const void *a, const void *b,
                       size_t bytes)
{
    bool equal = (a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, bytes) == 0);
    if (!equal && check->text[0] == '\0') {
        snprintf(check->text, check->bytes, "%s%s differ", check->place, what);
    }
}

/* ---- parts of a result ---- */

static void same_integrals(struct check *check, const struct serve_integrals *a,
                           const struct serve_integrals *b)
{
    same(check, "live tokens", a->live_tokens, b->live_tokens);
    for (size_t w = 0; w < KV_WINDOWS_MAX; w++) {
        same(check, "visible tokens", a->visible_tokens[w], b->visible_tokens[w]);
        same(check, "dropped blocks", a->dropped_blocks[w], b->dropped_blocks[w]);
    }
    same(check, "used blocks", a->used_blocks, b->used_blocks);
    same(check, "shared blocks", a->shared_blocks, b->shared_blocks);
    same(check, "cached blocks", a->cached_blocks, b->cached_blocks);
    same(check, "promised tokens", a->promised_tokens, b->promised_tokens);
    same(check, "fragmented blocks", a->fragmented_blocks, b->fragmented_blocks);
    same(check, "loading blocks", a->loading_blocks, b->loading_blocks);
    same(check, "running", a->running, b->running);
    same(check, "waiting", a->waiting, b->waiting);
    same(check, "busy", a->busy, b->busy);
    same(check, "prefill busy", a->prefill_busy, b->prefill_busy);
    for (size_t i = 0; i < SERVE_LIMIT_COUNT; i++) {
        same(check, serve_limit_name((enum serve_limit)i), a->limit[i], b->limit[i]);
    }
    for (size_t i = 0; i < COST_BOUND_COUNT; i++) {
        same(check, "bound of prefill", a->bound[0][i], b->bound[0][i]);
        same(check, "bound of decode", a->bound[1][i], b->bound[1][i]);
    }
}

static void same_peak(struct check *check, const struct kv_paged_state *a,
                      const struct kv_paged_state *b)
{
    same(check, "peak used blocks", a->used_blocks, b->used_blocks);
    same(check, "peak live tokens", a->live_tokens, b->live_tokens);
    same(check, "peak shared blocks", a->shared_blocks, b->shared_blocks);
    same(check, "peak cached blocks", a->cached_blocks, b->cached_blocks);
    same(check, "peak promised tokens", a->promised_tokens, b->promised_tokens);
    same(check, "peak fragmented blocks", a->fragmented_blocks, b->fragmented_blocks);
    same(check, "peak loading blocks", a->loading_blocks, b->loading_blocks);
    for (size_t w = 0; w < KV_WINDOWS_MAX; w++) {
        same(check, "peak visible tokens", a->visible_tokens[w], b->visible_tokens[w]);
        same(check, "peak dropped blocks", a->dropped_blocks[w], b->dropped_blocks[w]);
    }
}

static void same_tier(struct check *check, const struct serve_tier_result *a,
                      const struct serve_tier_result *b)
{
    same(check, "tokens asked of a tier", a->asked_tokens, b->asked_tokens);
    same(check, "tokens hit in a tier", a->hit_tokens, b->hit_tokens);
    same(check, "blocks read", a->read_blocks, b->read_blocks);
    same(check, "blocks written", a->written_blocks, b->written_blocks);
    same(check, "reads", a->reads, b->reads);
    same(check, "writes", a->writes, b->writes);
    same(check, "chunks added", a->added_chunks, b->added_chunks);
    same(check, "chunks evicted", a->evicted_chunks, b->evicted_chunks);
    same(check, "chunks held", a->held_chunks, b->held_chunks);
    same(check, "chunks held at most", a->peak_chunks, b->peak_chunks);
    same(check, "stores refused", a->refused_stores, b->refused_stores);
    same(check, "reads refused", a->refused_reads, b->refused_reads);
    same(check, "chunks held, over time", a->held_chunk_ticks, b->held_chunk_ticks);
    same(check, "time of reads", a->read_ticks, b->read_ticks);
    same(check, "time of writes", a->write_ticks, b->write_ticks);
    same(check, "reads waited", a->read_wait_ticks, b->read_wait_ticks);
    same(check, "writes waited", a->write_wait_ticks, b->write_wait_ticks);
}

static void same_replica(struct check *check, const struct serve_replica_result *a,
                         const struct serve_replica_result *b)
{
    same(check, "steps", a->steps, b->steps);
    same(check, "computed tokens", a->computed_tokens, b->computed_tokens);
    same(check, "prefill tokens", a->prefill_tokens, b->prefill_tokens);
    same(check, "preemptions", a->preemptions, b->preemptions);
    same(check, "tokens looked up", a->lookup_tokens, b->lookup_tokens);
    same(check, "tokens hit", a->hit_tokens, b->hit_tokens);
    same(check, "blocks evicted", a->evicted_blocks, b->evicted_blocks);
    same(check, "blocks found", a->reuse.hit_blocks, b->reuse.hit_blocks);
    same(check, "blocks lost", a->reuse.lost_blocks, b->reuse.lost_blocks);
    same(check, "lost, pending", a->reuse.lost_pending_blocks, b->reuse.lost_pending_blocks);
    same(check, "lost, own", a->reuse.lost_own_blocks, b->reuse.lost_own_blocks);
    same(check, "blocks looked up", a->reuse.lookup_blocks, b->reuse.lookup_blocks);
    same(check, "blocks lost", a->reuse.lost_blocks, b->reuse.lost_blocks);
    same(check, "blocks cut", a->reuse.cut_blocks, b->reuse.cut_blocks);
    same(check, "requests", a->requests, b->requests);
    same_tier(check, &a->tiers[0], &b->tiers[0]);
    same_tier(check, &a->tiers[1], &b->tiers[1]);
    same(check, "tokens not worth loading", a->declined_tokens, b->declined_tokens);
    same(check, "times not worth loading", a->declined_count, b->declined_count);
    same(check, "time of loads", a->load_wait_ticks, b->load_wait_ticks);
    same(check, "time stalled", a->stall_ticks, b->stall_ticks);
    same_peak(check, &a->peak, &b->peak);
    same(check, "peak running", a->peak_running, b->peak_running);
    same(check, "peak waiting", a->peak_waiting, b->peak_waiting);
    same_integrals(check, &a->whole, &b->whole);
    same_integrals(check, &a->window, &b->window);
}

// Exact values lie in the order in which they came, which is no part of the result: they are
// compared by some quantiles, beside all buckets.
static void same_hist(struct check *check, const char *what, const struct stats_hist *a,
                      const struct stats_hist *b)
{
    same(check, what, a->count, b->count);
    same(check, what, a->sum_ticks, b->sum_ticks);
    same(check, what, a->min, b->min);
    same(check, what, a->max, b->max);
    for (size_t i = 0; i < STATS_OCTAVES; i++) {
        same_bytes(check, what, a->octaves[i], b->octaves[i], sizeof(uint64_t) << STATS_SUB_BITS);
    }
    for (int i = 1; i < 8 && a->count > 0 && check->text[0] == '\0'; i += 3) {
        double x = stats_hist_quantile_ns(a, i / 8.0), y = stats_hist_quantile_ns(b, i / 8.0);
        same_bytes(check, what, &x, &y, sizeof x);
    }
}

static void same_class(struct check *check, const struct serve_class_result *a,
                       const struct serve_class_result *b)
{
    same(check, "arrived", a->arrived, b->arrived);
    same(check, "completed", a->completed, b->completed);
    same(check, "failed", a->failed, b->failed);
    same(check, "counted", a->counted, b->counted);
    same(check, "good", a->good, b->good);
    for (size_t m = 0; m < SPEC_METRIC_COUNT; m++) {
        same_hist(check, spec_metric_name((enum spec_metric)m), &a->metric[m], &b->metric[m]);
    }
}

static void same_cohort(struct check *check, const char *what, const struct stats_cohort *a,
                        const struct stats_cohort *b)
{
    size_t sub = (size_t)1 << STATS_SUB_BITS;
    same(check, what, (base_i128)a->cause_count, (base_i128)b->cause_count);
    for (size_t i = 0; i < STATS_OCTAVES; i++) {
        same_bytes(check, what, a->counts[i], b->counts[i], sub * sizeof(uint64_t));
        same_bytes(check, what, a->sums[i], b->sums[i], sub * a->cause_count * sizeof(int64_t));
    }
}

void result_compare(const struct serve_result *a, const struct serve_result *b, char *difference,
                    size_t bytes)
{
    difference[0] = '\0';
    struct check check = {.text = difference, .bytes = bytes};
    same(&check, "classes", (base_i128)a->class_count, (base_i128)b->class_count);
    same(&check, "replicas", (base_i128)a->replica_count, (base_i128)b->replica_count);
    if (difference[0] != '\0') {
        return;
    }
    same(&check, "status", a->status, b->status);
    same(&check, "arrived", a->arrived, b->arrived);
    for (size_t i = 0; i < RECORD_OUTCOME_COUNT; i++) {
        same(&check, record_outcome_name((enum record_outcome)i), a->outcomes[i], b->outcomes[i]);
    }
    same(&check, "end", a->end_ticks, b->end_ticks);
    same(&check, "sojourn", a->sojourn_ticks, b->sojourn_ticks);
    same(&check, "in flight", a->in_flight_ticks, b->in_flight_ticks);
    same(&check, "prompt tokens", a->prompt_tokens, b->prompt_tokens);
    same(&check, "output tokens", a->output_tokens, b->output_tokens);
    same(&check, "generated tokens", a->generated_tokens, b->generated_tokens);
    same(&check, "requests of engines", (base_i128)a->engine_requests,
         (base_i128)b->engine_requests);
    same(&check, "recomputed tokens", a->recomputed_tokens, b->recomputed_tokens);
    same(&check, "window", a->window_ticks, b->window_ticks);
    same(&check, "in flight in the window", a->window_in_flight_ticks, b->window_in_flight_ticks);
    same(&check, "arrived in the window", a->window_arrived, b->window_arrived);
    same(&check, "completed in the window", a->window_completed, b->window_completed);
    same(&check, "good in the window", a->window_good, b->window_good);
    same(&check, "prompt tokens of the window", a->window_prompt_tokens, b->window_prompt_tokens);
    same(&check, "output tokens of the window", a->window_output_tokens, b->window_output_tokens);
    same(&check, "segments", (base_i128)a->segment_count, (base_i128)b->segment_count);
    same(&check, "arrivals of a segment", a->segment_arrivals, b->segment_arrivals);
    for (size_t i = 0; i < a->segment_count; i++) {
        for (size_t k = 0; k < SERVE_SPAN_COUNT; k++) {
            same(&check, "sums over segments", a->segments[i].span[k], b->segments[i].span[k]);
        }
    }
    same_cohort(&check, "cohort by ttft", &a->ttft_cohort, &b->ttft_cohort);
    same_cohort(&check, "cohort by e2e", &a->e2e_cohort, &b->e2e_cohort);
    for (size_t i = 0; i < a->replica_count; i++) {
        at_place(&check, "replica", i);
        same_replica(&check, &a->replicas[i], &b->replicas[i]);
    }
    for (size_t i = 0; i < a->class_count; i++) {
        at_place(&check, "class", i);
        same_class(&check, &a->classes[i], &b->classes[i]);
    }
}

/* ---- identities ---- */

static void check_time(struct check *check, const struct serve_integrals *integrals,
                       base_i128 ticks)
{
    base_i128 limits = 0, bounds[2] = {0};
    for (size_t i = 0; i < SERVE_LIMIT_COUNT; i++) {
        at_most(check, "a negative share", 0, integrals->limit[i]);
        limits += integrals->limit[i];
    }
    for (size_t i = 0; i < COST_BOUND_COUNT; i++) {
        bounds[0] += integrals->bound[0][i];
        bounds[1] += integrals->bound[1][i];
    }
    same(check, "time by limits and in all", limits, ticks);
    same(check, "prefill by bounds and in all", bounds[0], integrals->prefill_busy);
    same(check, "busy by bounds and in all", bounds[0] + bounds[1], integrals->busy);
    at_most(check, "busy time", integrals->busy, ticks);
}

static bool forks(const struct serve_config *config)
{
    return config->scheduler != NULL && config->scheduler->forks;
}

static void check_pool(struct check *check, const struct serve_config *config,
                       const struct serve_replica_result *replica, base_i128 ticks)
{
    int64_t usable = config->pool_blocks - config->reserved_blocks,
            block = config->sched.block_size;
    at_most(check, "peak of used blocks", replica->peak.used_blocks, usable);
    at_most(check, "mean of used blocks", replica->whole.used_blocks, usable * ticks);
    at_most(check, "used and cached blocks",
            replica->whole.used_blocks + replica->whole.cached_blocks, usable * ticks);
    // A block that several hold is one block, and its tokens are counted for each.
    at_most(check, "tokens in blocks", replica->whole.live_tokens,
            (replica->whole.used_blocks + replica->whole.shared_blocks) * block);
    if (config->kv_policy != KV_PAGED && config->kv_policy != KV_RADIX) {
        at_most(check, "tokens in reservations",
                kv_policy_reserves(config->kv_policy) ? replica->whole.live_tokens : 0,
                replica->whole.promised_tokens);
        at_most(check, "slots of reservations", replica->whole.promised_tokens,
                replica->whole.used_blocks * block);
        at_most(check, "peak of running", replica->peak_running, config->sched.max_num_seqs);
        return;
    }
    at_most(check, "peak of running", replica->peak_running, config->sched.max_num_seqs);
    if (forks(config)) {
        // Tokens of each sequence, what is shared for each, and blocks that have no token yet.
        at_most(check, "slots of tables",
                (replica->whole.used_blocks + replica->whole.shared_blocks -
                 replica->whole.blank_blocks) *
                    block,
                replica->whole.live_tokens +
                    config->sched.max_num_seqs * ticks * (base_i128)(block - 1));
        return;
    }
    // A sequence leaves less than a block empty.
    at_most(check, "slots of blocks", replica->whole.used_blocks * block,
            replica->whole.live_tokens + replica->whole.running * (block - 1));
}

void result_check_identities(const struct serve_config *config, const struct serve_result *result,
                             char *broken, size_t bytes)
{
    broken[0] = '\0';
    struct check check = {.text = broken, .bytes = bytes};
    uint64_t ended = 0, by_class = 0, arrived = 0, routed = 0;
    for (size_t i = 0; i < RECORD_OUTCOME_COUNT; i++) {
        ended += result->outcomes[i];
    }
    same(&check, "arrived and ended", result->arrived, ended);
    uint64_t unfinished = result->outcomes[RECORD_OUTCOME_UNFINISHED];
    for (size_t i = 0; i < result->class_count; i++) {
        arrived += result->classes[i].arrived;
        by_class += result->classes[i].completed + result->classes[i].failed;
    }
    same(&check, "arrived by class and in all", arrived, result->arrived);
    same(&check, "ended by class and in all", by_class + unfinished, ended);
    same(&check, "unfinished requests of a whole run",
         result->status == SERVE_DONE ? unfinished : 0, 0);
    if (unfinished == 0) {
        same(&check, "sum of times in the system and integral of requests in it",
             result->sojourn_ticks, result->in_flight_ticks);
    }
    base_i128 listed = 0;
    int64_t swapped = 0; // those on the host stand in neither list
    for (size_t i = 0; i < result->replica_count; i++) {
        const struct serve_replica_result *replica = &result->replicas[i];
        at_place(&check, "replica", i);
        listed += replica->whole.running + replica->whole.waiting;
        routed += replica->requests;
        swapped += replica->swapped_blocks;
        check_time(&check, &replica->whole, result->end_ticks);
        check_time(&check, &replica->window, result->window_ticks);
        check_pool(&check, config, replica, result->end_ticks);
    }
    check.place[0] = '\0';
    same(&check, "routed, refused and arrived", routed + result->outcomes[RECORD_OUTCOME_REJECTED],
         result->arrived);
    if (swapped > 0) {
        return;
    }
    at_most(&check, "requests in the system and in lists", result->in_flight_ticks, listed);
    bool have_one_answer = true;
    for (size_t i = 0; i < config->workload.class_count; i++) {
        const struct workload_class *class = &config->workload.classes[i];
        have_one_answer = have_one_answer && !class->has_sequences && class->candidates <= 1;
    }
    if (have_one_answer &&
        result->outcomes[RECORD_OUTCOME_TIMED_OUT] + result->outcomes[RECORD_OUTCOME_ABORTED] ==
            0) {
        same(&check, "requests in lists and in the system", listed, result->in_flight_ticks);
    }
}
