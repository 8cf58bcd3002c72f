#!/usr/bin/env bash
# Slots and their cells through the program: the ledger of a running step is the one that `kvsim size` gives for as many
# sequences of that length, line by line, with windows in rings or in all cells, and with quantized caches.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

cat >slots.yaml <<'YAML'
name: slots
model: gemma-3-12b
hardware: h100-sxm
engine: {profile: llama.cpp, parallel: 3, max_model_len: 4096, batch_size: 16k}
cost: {level: fixed, step: 1ms}
workload: {arrival: {process: all_at_once}, prompt_tokens: 3000, output_tokens: 4}
run: {requests: 3, replications: 1}
YAML

ledger_lines=(lower_bound block_rounding out_of_window reserved replicated padded scales shared cached fragmented held_back
    free)

# The value of a column in the row of a step.
column_of() {
    awk -F, -v name="$1" -v step="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR > 1 && $at["step"] == step { print $at[name] }' steps.csv
}

# After step S all three hold 2999 + S tokens.
same_ledger() {
    local step=$1 line
    shift
    "$kvsim" run slots.yaml --no-store --quiet --steps steps.csv "$@" >/dev/null
    "$kvsim" size slots.yaml --context "$((2999 + step))" --sequences 3 --format json "$@" >size.json
    for line in "${ledger_lines[@]}"; do
        if ! grep -qE "\"$line\": $(column_of "$line" "$step")[,}]" <(grep '"context_tokens": ' size.json); then
            echo "FAULT: $* step $step: $line of a run is $(column_of "$line" "$step"), size says otherwise"
            faults=1
        fi
    done
}

for stream in slots cells; do
    for full in true false; do
        same_ledger 1 --set engine.kv_policy=$stream --set engine.swa_full=$full --set engine.ctx_size=16k
        same_ledger 3 --set engine.kv_policy=$stream --set engine.swa_full=$full --set engine.ctx_size=16k \
            --set engine.cache_type_k=q8_0 --set engine.cache_type_v=q4_0
    done
done

# More in the cells than there are: all that is served fails, and the next ones are served.
cat >short.yaml <<'YAML'
name: short
model: {kv_groups: [{kind: full, layers: 1, bytes_per_token: 1}]}
engine: {profile: llama.cpp, kv_unified: true, parallel: 2, num_gpu_blocks_override: 100, max_model_len: 100}
cost: {level: fixed, step: 1ms}
workload: {arrival: {process: all_at_once}, prompt_tokens: 40, output_tokens: 30}
run: {requests: 3, replications: 1}
YAML
"$kvsim" run short.yaml --no-store --format json >short.json
if ! grep -q '"aborted": 2' short.json || ! grep -q '"completed": 1' short.json; then
    echo "FAULT: two fail, the third is served"
    grep -E '"(aborted|completed)"' short.json
    faults=1
fi

expect 3 "keeps its cache in cells, not as kv_policy 'paged'" "$kvsim" run short.yaml --set engine.kv_policy=paged
expect 5 "cannot start: kv_pool needs 101 B" "$kvsim" run short.yaml --set engine.kv_unified=false \
    --set engine.max_model_len=101
expect 0 "kv +slots +engine.kv_policy" "$kvsim" list policies

finish
