#!/usr/bin/env bash
# A sweep gives the same database for any number of threads, in shards, and after it was killed; refused points are rows.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

axes=(--axis 'concurrency=1..8*2' --axis 'context=100,400,1600,200k')

# All of a database but what depends on the machine and the moment.
figures() {
    sqlite3 "$1" .dump | grep -v '^INSERT INTO run_host '
}

same() {
    figures "$1" >"$1.sql"
    figures "$2" >"$2.sql"
    cmp -s "$1.sql" "$2.sql" || fault "$2 differs from $1"
}

sweep_to() {
    local db=$1
    shift
    expect 0 . "$kvsim" sweep small.yaml "${axes[@]}" --db "$db" --quiet "$@"
}

ask() {
    sqlite3 "$1" "$2"
}

is() {
    local got
    got=$(ask "$1" "$2")
    [ "$got" = "$3" ] || fault "$2: $got, expected $3"
}

sweep_to one.db --jobs 1 --format json
cp "$said/out" one.json
sweep_to four.db -j4
same one.db four.db

# The same command on the same database changes nothing, and says the same.
cp one.db before.db
sweep_to one.db -j3 --format json
cmp -s one.db before.db || fault 'a finished sweep changed its database'
cmp -s "$said/out" one.json || fault 'a finished sweep says something else'

# Beyond the model: refused, with the reason, without a run. The rest has a run.
is one.db 'SELECT count(*) FROM sweep_grid' 16
is one.db "SELECT count(*) FROM sweep_grid WHERE status = 'refused' AND value_2 = 204800 AND run_id IS NULL AND reason LIKE '%reaches%'" 4
is one.db "SELECT count(*) FROM sweep_grid WHERE status IN ('ok', 'slo_missed') AND run_id IS NOT NULL AND output_throughput > 0" 12
is one.db 'SELECT min(run_id) || max(run_id) FROM sweep_grid' 112
is one.db 'SELECT count(DISTINCT axis_1 || axis_2) FROM sweep_grid' 1
is one.db 'SELECT count(*) FROM request_detail' 0
is one.db "SELECT count(*) FROM run_param WHERE key = 'workload.arrival.process' AND value = 'closed_loop'" 12
# More clients, more throughput; a longer context, less.
is one.db 'SELECT count(*) FROM sweep_grid a JOIN sweep_grid b USING (value_2) WHERE a.value_1 < b.value_1 AND a.output_throughput > b.output_throughput' 0

# Shards, merged in whatever order.
for k in 1 2 3; do
    sweep_to "shard-$k.db" --shard "$k/3"
done
expect 0 '16 points' "$kvsim" merge shard-3.db shard-1.db shard-2.db --db merged.db
same one.db merged.db
expect 0 '^0 runs and 0 points' "$kvsim" merge shard-1.db --db merged.db
same one.db merged.db
# A merge may be followed by the sweep, and the other way round.
sweep_to merged.db
same one.db merged.db
sweep_to shard-2.db
is shard-2.db 'SELECT count(*) FROM sweep_grid' 16

# Killed again and again, it goes on where it stopped.
for i in $(seq 1 20); do
    (timeout -s KILL "0.0$((i % 10))$((i % 7))" "$kvsim" sweep small.yaml "${axes[@]}" --db killed.db --quiet || true) >/dev/null 2>&1
done
sweep_to killed.db
same one.db killed.db

# A point that another command has simulated is taken up.
expect 0 . "$kvsim" compare small.yaml run.seed=2 --db shared.db --quiet
expect 0 '0 points simulated, 2 decided' "$kvsim" sweep small.yaml --axis run.seed=1,2 --db shared.db
is shared.db 'SELECT count(*) FROM run_summary' 2

# Equal points are simulated once.
expect 0 '1 points simulated, 1 decided' "$kvsim" sweep small.yaml --axis engine.max_num_seqs=64,64 --no-store

# Read by another program while it is written.
expect 0 . "$kvsim" sweep small.yaml --axis run.seed=1..40 --db read.db --quiet --jobs 1 &
: >"$said/reader"
for _ in $(seq 1 40); do
    if [ -s read.db ]; then
        # The first transaction makes the file and turns it to WAL: until then a reader may have to wait a moment.
        sqlite3 -cmd '.timeout 5000' read.db 'SELECT count(*) FROM sweep_grid' 2>>"$said/reader" >/dev/null || true
    fi
    sleep 0.02
done
wait
! grep -v 'no such table' "$said/reader" || fault 'a reader was disturbed'
is read.db 'SELECT count(*) FROM sweep_grid' 40

# A context beyond a limit that another axis states: refused, not a run in which every request is rejected.
expect 0 'a context of 1600 tokens is above .*engine.max_model_len of 1000' "$kvsim" sweep small.yaml --axis engine.max_model_len=1000,2000 --axis context=400,1600 --set run.requests=100 --db limit.db --quiet
is limit.db "SELECT count(*) || max(value_1) FROM sweep_grid WHERE status = 'refused'" 11000
is limit.db 'SELECT count(*) FROM sweep_grid WHERE completed > 0' 3

# What an engine does not do in some points alone is said of these; where no point can run it is an error with its place.
v0=(--set engine.profile=vllm-0.6 --set run.requests=40)
expect 0 'paged, or unlimited, under vLLM V0 .engine.kv_policy radix' "$kvsim" sweep small.yaml "${v0[@]}" --axis engine.kv_policy=paged,radix --db misfit.db --quiet
is misfit.db "SELECT group_concat(status) FROM (SELECT * FROM sweep_grid ORDER BY point_id)" ok,refused
expect 3 '^--axis engine.kv_policy: .*paged, or unlimited' "$kvsim" sweep small.yaml "${v0[@]}" --axis engine.kv_policy=radix,reserved_max --db bad.db

# A point that is overloaded says so, and its latencies have no figure; the rows for programs are what they were.
expect 0 'grows +grows .*slo missed, overloaded' "$kvsim" sweep small.yaml --axis workload.arrival.rate=2/s,400/s --set engine.max_num_seqs=4 --db grows.db --quiet
is grows.db "SELECT group_concat(status || ' ' || run_status || ' ' || (ttft_p99_ms > 0)) FROM (SELECT * FROM sweep_grid ORDER BY point_id)" 'ok done 1,slo_missed overloaded 1'

# Text: heat map, what binds, frontier; two zipped axes are a table.
sweep_to one.db
grep -q 'WHERE IT ENDS, along concurrency' "$said/out" || fault 'no frontier'
grep -q 'PARETO SET' "$said/out" || fault 'no Pareto set'
expect 0 'with intervals: kvsim report s[0-9a-f]+ --format html' "$kvsim" sweep small.yaml --axis engine.max_num_seqs=32,64 --replications 2 --db ranges.db --quiet
id=$(ask ranges.db 'SELECT DISTINCT sweep_id FROM sweep_grid')
expect 0 'class="interval">[0-9.,]+ <span>± [0-9.,]+</span>' "$kvsim" report "$id" --db ranges.db --format html
expect 0 '^\| 16, 64 ' "$kvsim" sweep small.yaml --zip --axis engine.block_size=16,32 --axis engine.max_num_seqs=64,32 --no-store --format markdown
expect 0 '^sweep_id,point_id,axis_1,value_1,run_id,status,reason,run_status,kvsim_version' "$kvsim" sweep small.yaml --axis run.seed=1 --no-store --format csv

# What is wrong is told before the work starts, and changes nothing.
rm -f bad.db
expect 2 'needs an --axis' "$kvsim" sweep small.yaml --db bad.db
expect 2 'KEY=LIST' "$kvsim" sweep small.yaml --axis concurrency --db bad.db
expect 2 'already' "$kvsim" sweep small.yaml --axis context=1k --axis context=2k --db bad.db
expect 2 'equally many' "$kvsim" sweep small.yaml --zip --axis run.seed=1,2 --axis context=1k --db bad.db
expect 2 'K/N' "$kvsim" sweep small.yaml --axis run.seed=1,2 --shard 3 --db bad.db
expect 2 '1 to N' "$kvsim" sweep small.yaml --axis run.seed=1,2 --shard 3/2 --db bad.db
expect 2 "did you mean 'ttft_p9" "$kvsim" sweep small.yaml --axis run.seed=1,2 --metric ttft_p98_ms --db bad.db
expect 2 "is a text, not a number: 'model'" "$kvsim" sweep small.yaml --axis run.seed=1,2 --metric model --db bad.db
expect 3 "^--set engine.max_num_sequs: .*did|max_num_seqs" "$kvsim" sweep small.yaml --axis engine.max_num_sequs=1,2 --db bad.db
expect 3 '^--axis engine.block_size: ' "$kvsim" sweep small.yaml --axis engine.block_size=16,-1 --db bad.db
expect 3 '^small.yaml:[0-9]+:[0-9]+: ' "$kvsim" sweep small.yaml --axis run.seed=1 --set cost.level=affine --db bad.db
expect 4 'nothing.yaml' "$kvsim" sweep nothing.yaml --axis run.seed=1,2 --db bad.db
expect 4 'not a database of kvsim' "$kvsim" sweep small.yaml --axis run.seed=1,2 --db small.yaml
expect 4 'no such database' "$kvsim" merge nothing.db --db bad.db
[ ! -e bad.db ] || fault 'a refused sweep made a database'

# A read-only database, and one that is locked for long: 4, and nothing is lost.
cp one.db locked.db
chmod a-w locked.db
if [ ! -w locked.db ]; then
    expect 4 'read-only' "$kvsim" sweep small.yaml --axis run.seed=7 --db locked.db
fi
sqlite3 one.db 'PRAGMA user_version = 99'
expect 4 'newer kvsim' "$kvsim" sweep small.yaml --axis run.seed=7 --db one.db
finish
