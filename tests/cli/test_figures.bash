#!/usr/bin/env bash
# Figures that must not contradict each other, and figures that a run does not have.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

# A pool that is full all the time: the mean ledger adds up to it, and no line is below 0.
for seed in $(seq 8 15); do
    expect 0 . "$kvsim" small.yaml --quiet --seed "$seed" --replications 2 --set engine.profile=orca-max \
        --set engine.tensor_parallel_size=16 --set engine.num_gpu_blocks_override=130 \
        --set 'workload.arrival={process: deterministic, rate: 100/s}' --set workload.prompt_tokens=7 \
        --set run.requests=40
done
below=$(sqlite3 results/kvsim.db 'SELECT group_concat(component || " " || bytes) FROM run_ledger WHERE bytes < 0')
[ -z "$below" ] || fault "lines of a ledger below 0: $below"
wrong=$(sqlite3 results/kvsim.db "SELECT count(*) FROM (SELECT sum(CASE WHEN component = 'pool' THEN -bytes ELSE bytes END)
    AS rest FROM run_ledger WHERE component IN ('allocated', 'cached', 'fragmented', 'held_back', 'free', 'pool')
    GROUP BY run_id, replica, at) WHERE rest <> 0")
[ "$wrong" = 0 ] || fault "$wrong ledgers do not add up"

# A run that is ended early says what became of the other requests.
expect 1 '[0-9,]+ of [0-9,]+ requests were still in the system when the run ended' "$kvsim" small.yaml --no-store \
    --set workload.arrival.rate=1000/s --set run.requests=5000 --set engine.max_num_seqs=1

# What is not known is no number.
expect 1 'usd_per_mtok_output < 1: missed \(not known\)' "$kvsim" small.yaml --no-store --set hardware.price=null \
    --set 'require=["usd_per_mtok_output < 1"]'
for format in text json markdown csv; do
    "$kvsim" small.yaml --no-store --format "$format" --set hardware.price=null \
        --set 'require=["usd_per_mtok_output < 1"]' >out 2>/dev/null || true
    ! grep -qwi 'nan' out || fault "nan in the result as $format"
done
finish
