#!/usr/bin/env bash
# Beams that never leave each other are as many independent answers of one length, to the last figure, and best-of that returns
# all is `n`. A search whose beams change parents holds less, and is the same however the engine is walked. So is one outside the
# engine, which computes all but a little again and again where there is no prefix cache.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

# Everything up to the caveats but the scenario's hash and the clock.
figures() {
    local out=$1
    shift
    expect 0 . "$kvsim" run scenarios/beam-search.yaml --no-store --format json --set run.requests=250 \
        --set run.replications=1 --set workload.arrival.rate=1/s --set workload.output_tokens=90 \
        --set engine.num_gpu_blocks_override=140 "$@"
    sed '/"caveats"/,$d; /"scenario_hash"/d; /"wall_s"/d; /"created_at"/d' "$said/out" >"$out"
}

same() {
    cmp -s "$1" "$2" || fault "$1 and $2 differ: $(diff "$1" "$2" | head -4)"
}

mean_bytes() {
    sed -n 's/.*"kv_allocated_bytes_mean": \([0-9]*\).*/\1/p' "$1"
}

computed() {
    sed -n 's/.*"computed_tokens": \([0-9]*\).*/\1/p' "$1"
}

figures apart --set workload.beam_switch=0 --set workload.n=4
figures answers --set workload.beam_width=null --set workload.n=4
same apart answers
figures best --set workload.beam_width=null --set workload.best_of=4 --set workload.n=4
same best answers
figures beams --set workload.beam_switch=0.5
figures stepped --set workload.beam_switch=0.5 --stepping
same beams stepped
grep -q '"preemptions": [1-9]' answers || fault "nobody is swapped: the pool is too large for this test"
# Outside the engine: other requests, and the same whichever way.
figures loop --set workload.beam_switch=0.5 --set engine.profile=vllm-0.10 --set run.requests=60
figures walked --set workload.beam_switch=0.5 --set engine.profile=vllm-0.10 --set run.requests=60 --stepping
same loop walked
figures bare --set engine.profile=vllm-0.10 --set run.requests=10 --set engine.enable_prefix_caching=false
figures found --set engine.profile=vllm-0.10 --set run.requests=10
# With room for all of them what V0 finds of a search is what V1 finds.
figures roomy --set engine.profile=vllm-0.10 --set run.requests=10 --set engine.num_gpu_blocks_override=800
figures believed --set engine.profile=vllm-0.6 --set run.requests=10 --set engine.num_gpu_blocks_override=800 \
    --set engine.enable_prefix_caching=true
[ "$(computed believed)" = "$(computed roomy)" ] || fault "V0 and V1 find different things of one search"
[ "$(computed bare)" -gt $((5 * $(computed found))) ] || fault "a cache saves a search next to nothing"
[ "$(mean_bytes beams)" -lt "$(mean_bytes apart)" ] || fault "beams that share more hold as much"
finish
