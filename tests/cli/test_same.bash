#!/usr/bin/env bash
# The same seed gives the same figures, for any number of threads and however the engine is walked; a run adds a row.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

# All of a database but what depends on the machine and the moment.
figures() {
    sqlite3 "$1" .dump | grep -v '^INSERT INTO run_host '
}

run_to() {
    local db=$1
    shift
    expect 0 . "$kvsim" small.yaml --db "$db" --quiet "$@"
    figures "$db" >"$db.sql"
}

same() {
    cmp -s "$1.sql" "$2.sql" || fault "$2 differs from $1"
}

run_to first.db --jobs 1
run_to again.db --jobs 1
same first.db again.db
run_to four.db -j4
same first.db four.db
run_to stepping.db -j2 --stepping
same first.db stepping.db
run_to steps.db --steps steps.csv
same first.db steps.db
run_to silent.db --format json
same first.db silent.db
run_to other.db --seed 2
! cmp -s first.db.sql other.db.sql || fault 'another seed gives the same figures'

[ "$(wc -l <steps.csv)" -gt 100 ] || fault 'the file of --steps is too short'
head -n 1 steps.csv | grep -q '^replication,replica,step,sched_ns,start_ns,end_ns,' || fault 'header of --steps'

# A second run adds a row with the same figures.
run_to first.db --jobs 1
[ "$(sqlite3 first.db 'SELECT count(*) FROM run_summary')" = 2 ] || fault 'no row was added'
[ "$(sqlite3 first.db 'SELECT count(DISTINCT ttft_p99_ms) FROM run_summary')" = 1 ] || fault 'figures differ'

# Several scenarios: one run each, and a list in JSON.
sed 's/^name: small/name: other/; s/seed: 1/seed: 3/' small.yaml >second.yaml
expect 0 . "$kvsim" run small.yaml second.yaml --db two.db --format json
grep -q '^\[' "$said/out" || fault 'JSON of two scenarios is no list'
[ "$(sqlite3 two.db 'SELECT group_concat(scenario) FROM run_summary')" = small,other ] || fault 'two runs'

# What is stored is what was printed.
expect 0 . "$kvsim" small.yaml --db shown.db --format json
cp "$said/out" shown.json
expect 0 . "$kvsim" report 1 --db shown.db --format json
cmp -s shown.json "$said/out" || fault 'the stored run differs from the printed one'

# An SLO that is missed, a requirement, and both figures of an exit status.
expect 1 . "$kvsim" small.yaml --no-store --set 'slo=["ttft p50 <= 1 ns"]'
expect 1 . "$kvsim" small.yaml --no-store --set 'require=["completed < 1"]'
expect 0 . "$kvsim" small.yaml --no-store --set 'require=["completed > 1"]'

# A run that fails says the same for any number of threads: whose step times end too soon, not that others were stopped.
{
    echo op,x,y,ms
    for x in 1 2048; do echo "all,$x,0,5"; done
    for y in 1 3000; do echo "decode,1,$y,5" && echo "decode,64,$y,5"; done
} >times.csv
cat >table.yaml <<'YAML'
name: table
engine: {profile: vllm, kv_cache_tokens: 100k, max_model_len: 8k, max_num_seqs: 64, max_num_batched_tokens: 2048}
model: llama-3.1-8b
workload:
  arrival: {process: poisson, rate: 4/s}
  prompt_tokens: {distribution: lognormal, mean: 500, cv: 1, max: 4000}
  output_tokens: {distribution: lognormal, mean: 100, cv: 1, max: 4000}
run: {requests: 3000, replications: 8, seed: 1}
cost: {level: table, file: times.csv, operators: {all: {x: batch_tokens}, decode: {x: decode_seqs, y: mean_decode_context}}}
YAML
expect 3 'mean_decode_context [0-9]+ is beyond the grid' "$kvsim" table.yaml --no-store --quiet --jobs 1
cp "$said/err" alone.txt
for _ in 1 2 3; do
    expect 3 'is beyond the grid' "$kvsim" table.yaml --no-store --quiet --jobs 8
    cmp -s "$said/err" alone.txt || fault 'the reason depends on the number of threads'
done
rm -f alone.txt

finish
