#include "record/rows.h"

#include "base/error.h"

static const char *const cause_names[RECORD_CAUSE_COUNT] = {
    [RECORD_WAIT_KV_POOL] = "wait_kv_pool",
    [RECORD_WAIT_SEATS] = "wait_seats",
    [RECORD_WAIT_BUDGET] = "wait_budget",
    [RECORD_WAIT_LINK] = "wait_link",
    [RECORD_WAIT_STEP] = "wait_step",
    [RECORD_PREFILL] = "prefill",
    [RECORD_PREEMPTED] = "preempted",
    [RECORD_OTHERS_PREFILL] = "others_prefill",
    [RECORD_DECODE_COMPUTE] = "decode_compute",
    [RECORD_DECODE_WEIGHT_BANDWIDTH] = "decode_weight_bandwidth",
    [RECORD_DECODE_KV_BANDWIDTH] = "decode_kv_bandwidth",
    [RECORD_DECODE_COMMUNICATION] = "decode_communication",
    [RECORD_DECODE_HOST] = "decode_host",
};

const char *record_cause_name(enum record_cause cause)
{
    base_require((unsigned)cause < RECORD_CAUSE_COUNT);
    return cause_names[cause];
}

static const char *const outcome_names[RECORD_OUTCOME_COUNT] = {
    [RECORD_OUTCOME_COMPLETED] = "completed",   [RECORD_OUTCOME_REJECTED] = "rejected",
    [RECORD_OUTCOME_UNSERVABLE] = "unservable", [RECORD_OUTCOME_TIMED_OUT] = "timed_out",
    [RECORD_OUTCOME_ABORTED] = "aborted",       [RECORD_OUTCOME_UNFINISHED] = "unfinished",
};

const char *record_outcome_name(enum record_outcome outcome)
{
    base_require((unsigned)outcome < RECORD_OUTCOME_COUNT);
    return outcome_names[outcome];
}

const char *record_finish_name(enum record_finish reason)
{
    static const char *const names[] = {
        [RECORD_FINISH_NONE] = "",
        [RECORD_FINISH_STOP] = "stop",
        [RECORD_FINISH_LENGTH] = "length",
        [RECORD_FINISH_ABORT] = "abort",
    };
    base_require((unsigned)reason < sizeof names / sizeof *names);
    return names[reason];
}

static const char *const ledger_names[RECORD_LEDGER_LINES] = {
    "lower_bound", "block_rounding", "out_of_window", "reserved",  "replicated", "padded", "scales",
    "shared",      "cached",         "fragmented",    "held_back", "free",       "pool",
};

const char *record_ledger_name(size_t line)
{
    base_require(line < RECORD_LEDGER_LINES);
    return ledger_names[line];
}

int64_t record_ledger_allocated(const int64_t ledger_bytes[RECORD_LEDGER_LINES])
{
    int64_t allocated_bytes = 0;
    for (size_t line = 0; line < RECORD_LEDGER_SHARED; line++)
        allocated_bytes += ledger_bytes[line];
    return allocated_bytes - ledger_bytes[RECORD_LEDGER_SHARED];
}
