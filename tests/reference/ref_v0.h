/*
 * ref_v0.h - a slow, naive reference of vLLM's V0 scheduler, with block tables block by block.
 *
 * Every sequence has an array of block numbers, every block a count of its holders; a fork copies the array, a write into a
 * block that others hold copies the block. All sums are counted anew at each step. A step is a line of text:
 *
 *   START END scheduled id:tokens... | admitted ids | preempted ids | out ids | in ids | running waiting free used |
 *   lower_bound block_rounding reserved shared | running_end free_end
 *
 * With a prefix cache (ref_v0_cache.h) everyone has one answer, and behind `shared` there is `cached`.
 *
 * Time is in ticks; a step lasts a + b prefill tokens + c decodes + d context tokens, and what was swapped before it. Everyone's
 * answers end by length. Shares no code with the simulator. Sources: docs/sources.md.
 */
#ifndef KVSIM_TESTS_REFERENCE_REF_V0_H
#define KVSIM_TESTS_REFERENCE_REF_V0_H

#include <stdbool.h>
#include <stdint.h>

enum { REF_V0_ANSWERS = 6 };

enum ref_v0_mode { REF_V0_AS_FITS, REF_V0_RECOMPUTE, REF_V0_SWAP };

struct ref_v0_request {
    int64_t arrival_ticks; /* rising */
    int64_t prompt, answers, outputs[REF_V0_ANSWERS];
    /* Beams: at [t * answers + i], for t > 0, the beam from which beam i goes on once token t + 1 has come. NULL: none. */
    const int64_t *parents;
    int64_t priority;       /* lower is more urgent */
    const int64_t *tokens;  /* prompt and answer; with a cache */
    int64_t gives_up_ticks; /* after its arrival; 0: never. Where everyone has one answer */
};

struct ref_v0_input {
    int64_t block_size, num_blocks, watermark_blocks, max_model_len, max_num_seqs, budget;
    bool is_chunked;
    bool by_priority; /* whole prompts, one answer each, recomputation */
    bool has_cache;   /* one answer each; nobody gives up where requests are swapped */
    enum ref_v0_mode mode;
    int64_t swap_blocks, swap_ticks;
    int64_t a, b, c, d;
    const struct ref_v0_request *requests;
    int64_t count;
};

enum ref_v0_end { REF_V0_DONE, REF_V0_STUCK, REF_V0_DIED };

struct ref_v0_output {
    char *steps; /* lines, free() */
    enum ref_v0_end end;
    int64_t completed, ignored, swapped_blocks, copied_blocks, preemptions, output_tokens, computed;
    int64_t given_up;
    int64_t hit_tokens, lookup_tokens, evicted_blocks; /* of the cache */
    int64_t shared_found; /* blocks of others that decodes have filled again */
    int64_t stale;        /* admissions that count more as cached than there is */
    int64_t made_way;     /* of the preemptions: for somebody more urgent who waited */
};

void ref_v0_run(const struct ref_v0_input *input, struct ref_v0_output *out);

#endif
