#!/usr/bin/env bash
# Under mpirun a sweep, a plan, a comparison and a run give the same rows as on threads; ranks that are killed lose nothing.
# shellcheck disable=SC2317 # functions are called by expect
# test_ranks.bash PROGRAM SOURCE-TREE [PROGRAM-WITH-MPI]: skipped (77) without the last, or without Open MPI's mpirun.
set -euo pipefail
with_mpi=${3:-}
if [ -z "$with_mpi" ] || ! mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    echo 'no MPI here: tools/install_packages mpi'
    exit 77
fi
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"
# What MPI itself does not free is not asked for; a container's root is meant to be root.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# ranks COUNT COMMAND...
ranks() {
    local count=$1
    shift
    timeout 120 mpirun --oversubscribe -n "$count" "$with_mpi" "$@"
}

figures() {
    sqlite3 "$1" .dump | grep -v '^INSERT INTO run_host '
}

same() {
    figures "$1" >"$1.sql"
    figures "$2" >"$2.sql"
    cmp -s "$1.sql" "$2.sql" || fault "$2 differs from $1"
}

# Points of a grid, some refused, some equal.
axes=(--axis 'concurrency=1,4,4' --axis 'context=100,1600,200k')
expect 0 . "$kvsim" sweep small.yaml "${axes[@]}" --db threads.db --jobs 1 --format csv --quiet
cp "$said/out" threads.csv
expect 0 . ranks 3 sweep small.yaml "${axes[@]}" --db ranks.db --format csv --quiet
same threads.db ranks.db
cmp -s threads.csv "$said/out" || fault 'ranks print something else'
expect 0 '^kvsim: 0 points simulated' ranks 3 sweep small.yaml "${axes[@]}" --db ranks.db

# Several at a time in each rank; shards under mpirun, merged.
expect 0 . ranks 2 sweep small.yaml "${axes[@]}" --db shard-1.db --quiet --jobs 3 --shard 1/2
expect 0 . ranks 2 sweep small.yaml "${axes[@]}" --db shard-2.db --quiet --jobs 3 --shard 2/2
expect 0 . "$kvsim" merge shard-1.db shard-2.db --db merged.db
same threads.db merged.db

# Replications: requests, timeline, precision-driven rounds; one replication with its histograms by segment.
run_both() {
    expect 0 . "$kvsim" small.yaml --db run.db --quiet "$@"
    expect 0 . ranks 3 small.yaml --db run-ranks.db --quiet "$@"
    same run.db run-ranks.db
}
run_both --set record.requests=all
run_both --set 'run.until={metric: ttft_mean_ms, relative_half_width: 8%, max_replications: 12}'
run_both --set run.replications=1 --set run.requests=4000
cat >plan.yaml <<'YAML'
name: plan
engine: {profile: vllm, kv_cache_tokens: 20k, max_model_len: 4k, max_num_seqs: 16, max_num_batched_tokens: 2048}
model: llama-3.1-8b
workload: {arrival: {process: poisson, rate: 2/s}, prompt_tokens: 200, output_tokens: 50}
run: {requests: 1000, replications: 3, seed: 1}
cost: {level: affine, base: 10ms, per_decode_seq: 0.1ms}
slo: ["ttft p90 <= 500 ms"]
YAML
expect 0 . "$kvsim" plan plan.yaml --db plan.db --quiet --format json
cp "$said/out" plan.json
expect 0 . ranks 3 plan plan.yaml --db plan-ranks.db --quiet --format json
same plan.db plan-ranks.db
cmp -s plan.json "$said/out" || fault 'a plan under mpirun says something else'
expect 0 . "$kvsim" compare small.yaml run.seed=2 --db compare.db --quiet
expect 0 . ranks 3 compare small.yaml run.seed=2 --db compare-ranks.db --quiet
same compare.db compare-ranks.db

# Exit statuses are rank 0's; what is not dealt out is done once; standard input is rank 0's.
expect 1 . ranks 2 small.yaml --no-store --quiet --set 'slo=["ttft p50 <= 1 ns"]'
expect 2 "did you mean '--seed'" ranks 2 small.yaml --sead 3
expect 3 'max_num_seqs' ranks 2 sweep small.yaml --axis engine.max_num_sequs=1,2 --no-store
expect 4 'nothing.yaml' ranks 2 sweep nothing.yaml --axis run.seed=1 --no-store
expect 5 'cannot start' ranks 2 scenarios/memory-wall.yaml --no-store
expect 0 . ranks 3 list engines --format csv
[ "$(grep -c '^name,' "$said/out")" = 1 ] || fault 'a list was printed by every rank'
from_standard_input() {
    ranks 2 run - --no-store --quiet --format json <small.yaml
}
expect 0 '"scenario": "small"' from_standard_input
# shellcheck disable=SC2016 # for the shell of each rank
other_words() {
    timeout 60 mpirun --oversubscribe -n 2 sh -c '"$0" sweep small.yaml --axis run.seed=1..4 --no-store --jobs $((OMPI_COMM_WORLD_RANK + 1))' "$with_mpi"
}
expect 2 'rank 1 runs another kvsim, or another command line' other_words
# Without MPI every rank does everything, is told so, and still stores it once.
without_mpi() {
    timeout 60 mpirun --oversubscribe -n 2 "$kvsim" sweep small.yaml "${axes[@]}" --db each.db
}
if [ "$kvsim" != "$with_mpi" ]; then
    expect 0 'built without MPI' without_mpi
    same threads.db each.db
fi

# ---- ranks that are killed ----

# The process of a rank that works for this database.
process_of() {
    local process
    for process in $(pgrep -f -- "--db $2"); do
        if tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" &&
            [ "$(tr '\0' '\n' <"/proc/$process/cmdline" | head -n 1)" = "$with_mpi" ]; then
            echo "$process"
            return
        fi
    done
}

points_of() {
    sqlite3 -cmd '.timeout 5000' "$1" 'SELECT count(*) FROM sweep_point' 2>/dev/null || echo 0
}

# killing DB RANK OPTION...: a sweep whose rank is killed when two points are stored; `code` is its exit status.
long=(sweep small.yaml --axis 'run.seed=1..16' --set run.requests=4000)
killing() {
    local db=$1 rank=$2 job process
    shift 2
    timeout 120 mpirun --oversubscribe "$@" -n 3 "$with_mpi" "${long[@]}" --db "$db" >"$said/out" 2>"$said/err" &
    job=$!
    while kill -0 "$job" 2>/dev/null && [ "$(points_of "$db")" -lt 2 ]; do sleep 0.05; done
    process=$(process_of "$rank" "$db")
    [ -n "$process" ] || fault "rank $rank was not found"
    kill -KILL "$process"
    code=0
    wait "$job" || code=$?
}

expect 0 . "$kvsim" "${long[@]}" --db whole.db --quiet
# mpirun may go on without the rank: what it had is done by the other. (Its exit status is then 0 in any case.)
killing survived.db 2 --enable-recovery
grep -q 'rank 2 is lost' "$said/err" || fault 'the loss is not told'
same whole.db survived.db
# As it comes mpirun ends the job: what was decided is stored, and the same command goes on there; whichever rank it was.
for rank in 2 0; do
    killing "ended-$rank.db" "$rank"
    [ "$code" != 0 ] || fault "exit status 0 though mpirun ended the job"
    before=$(points_of "ended-$rank.db")
    [ "$before" -ge 2 ] || fault "points that were stored are gone"
    expect 0 "$((16 - before)) points simulated" ranks 3 "${long[@]}" --db "ended-$rank.db"
    same whole.db "ended-$rank.db"
done
finish
