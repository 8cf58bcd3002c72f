#!/usr/bin/env bash
# Several commands on one database at the same time: every point is stored once, and the rows are those of one alone.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

figures() {
    sqlite3 "$1" .dump | grep -v '^INSERT INTO run_host '
}

same() {
    figures "$1" >"$1.sql"
    figures "$2" >"$2.sql"
    cmp -s "$1.sql" "$2.sql" || fault "$2 differs from $1"
}

# both COMMAND...: twice at once; both must end well.
both() {
    local first second code=0
    "$@" >"$said/first.out" 2>"$said/first.err" &
    first=$!
    "$@" >"$said/second.out" 2>"$said/second.err" &
    second=$!
    wait "$first" || code=$?
    [ "$code" = 0 ] || fault "the first of two ended with $code: $(cat "$said/first.err")"
    code=0
    wait "$second" || code=$?
    [ "$code" = 0 ] || fault "the second of two ended with $code: $(cat "$said/second.err")"
    cmp -s "$said/first.out" "$said/second.out" || fault 'two at once say different things'
}

axes=(--axis 'concurrency=1..4' --axis 'run.seed=1..4')
expect 0 . "$kvsim" sweep small.yaml "${axes[@]}" --db alone.db --quiet --jobs 2
both "$kvsim" sweep small.yaml "${axes[@]}" --db two.db --jobs 1 --format csv
same alone.db two.db
# A plan asks one load after the other.
cat >plan.yaml <<'YAML'
name: plan
engine: {profile: vllm, kv_cache_tokens: 20k, max_model_len: 4k, max_num_seqs: 16, max_num_batched_tokens: 2048}
model: llama-3.1-8b
workload: {arrival: {process: poisson, rate: 2/s}, prompt_tokens: 200, output_tokens: 50}
run: {requests: 300, replications: 3, seed: 1}
cost: {level: affine, base: 10ms, per_decode_seq: 0.1ms}
slo: ["ttft p90 <= 500 ms"]
YAML
expect 0 . "$kvsim" plan plan.yaml --db plan.db --quiet
both "$kvsim" plan plan.yaml --db plans.db --quiet --format json
[ "$(sqlite3 plans.db 'SELECT count(*) = count(DISTINCT scenario_hash) FROM run')" = 1 ] || fault 'a plan stored a run twice'
same plan.db plans.db

# Shards merged by two at once; and a comparison.
for k in 1 2; do
    expect 0 . "$kvsim" sweep small.yaml "${axes[@]}" --db "shard-$k.db" --quiet --shard "$k/2"
done
# shellcheck disable=SC2317 # called by both
merge_shards() {
    "$kvsim" merge shard-1.db shard-2.db --db merged.db >/dev/null # what was added differs
}
both merge_shards
same alone.db merged.db
both "$kvsim" compare small.yaml run.seed=9 --db compared.db --quiet
[ "$(sqlite3 compared.db 'SELECT count(*) FROM run')" = 2 ] || fault 'a comparison stored a run twice'

# Two sweeps that share points and come from opposite ends: where they meet each finds what the other has stored, says so,
# and simulates no more of it.
"$kvsim" sweep small.yaml --axis run.seed=1..16 --db shared.db --jobs 1 >"$said/other.out" 2>"$said/other.err" &
other=$!
expect 0 . "$kvsim" sweep small.yaml --axis run.seed=16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1 --db shared.db --jobs 1
wait "$other" || fault "the other of two sweeps failed"
[ "$(sqlite3 shared.db 'SELECT count(*) FROM run')" = 16 ] || fault 'two sweeps that share points stored one twice'
[ "$(sqlite3 shared.db 'SELECT count(*) FROM sweep_grid WHERE run_id IS NOT NULL')" = 32 ] || fault 'points without a run'
simulated=$(cat "$said/err" "$said/other.err" | awk '/points simulated/ { sum += $2 } END { print sum }')
[ "$simulated" -lt 32 ] || fault 'every point was simulated twice'
[ "$simulated" = 16 ] || grep -q 'decided meanwhile by another kvsim' "$said/err" "$said/other.err" ||
    fault 'neither says that the other was there'
finish
