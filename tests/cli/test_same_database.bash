#!/usr/bin/env bash
# The same database, however a sweep came about: one thread, two, three ranks of an MPI job, shards merged, and after kill -9
# at 20 random moments of the time that a whole sweep takes.
# test_same_database.bash PROGRAM SOURCE-TREE [PROGRAM-WITH-MPI]
# As a test it takes a small grid; GRID=large takes the one of the manual: chat-8k, concurrency 1..256*2, context 1k..128k*2.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"
with_mpi=${3:-}
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # MPI's own
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if [ "${GRID:-small}" = large ]; then
    sweep=(sweep scenarios/chat-8k.yaml --axis 'concurrency=1..256*2' --axis 'context=1k..128k*2' --quiet)
else
    sweep=(sweep small.yaml --axis 'concurrency=1,8' --axis 'context=100,400,1600,200k' --quiet)
fi

now_ms() {
    date +%s%3N
}

# All of a database but what depends on the machine and the moment.
figures() {
    sqlite3 "$1" .dump | grep -v '^INSERT INTO run_host ' >"$1.sql"
}

same() {
    figures "$1"
    cmp -s whole.db.sql "$1.sql" || fault "$1 is another database: $2"
    echo "the same: $2"
}

begin=$(now_ms)
expect 0 . "$kvsim" "${sweep[@]}" --db whole.db --jobs 1
whole_ms=$(($(now_ms) - begin))
figures whole.db
[ "$(grep -c '^INSERT INTO sweep_point ' whole.db.sql)" -ge 8 ] || fault 'there is nothing to compare'
echo "one thread: $whole_ms ms"

expect 0 . "$kvsim" "${sweep[@]}" --db threads.db --jobs 2
same threads.db 'two threads'

for k in 3 1 2; do
    expect 0 . "$kvsim" "${sweep[@]}" --db "shard-$k.db" --jobs 1 --shard "$k/3"
done
expect 0 . "$kvsim" merge shard-2.db shard-3.db shard-1.db --db merged.db
same merged.db 'three shards, merged'

if [ -n "$with_mpi" ] && mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    expect 0 . timeout 250 mpirun --oversubscribe -n 3 "$with_mpi" "${sweep[@]}" --db ranks.db
    same ranks.db 'three ranks'
else
    echo 'not tried: ranks of an MPI job'
fi

# Killed at a random moment, taken up again; when a sweep gets through, the next one begins.
RANDOM=7
killed=0 rounds=1
while [ "$killed" -lt 20 ] && [ "$rounds" -lt 40 ]; do
    "$kvsim" "${sweep[@]}" --db "killed-$rounds.db" --jobs 2 >/dev/null 2>&1 &
    job=$!
    sleep "$(awk -v ms="$whole_ms" -v r="$RANDOM" 'BEGIN { printf "%.3f", ms / 1000 * r / 32768 }')"
    if kill -KILL "$job" 2>/dev/null; then killed=$((killed + 1)); fi
    if wait "$job" 2>/dev/null; then
        same "killed-$rounds.db" "taken up after kills, round $rounds"
        rounds=$((rounds + 1))
    fi
done
[ "$killed" = 20 ] || fault "only $killed kills"
expect 0 . "$kvsim" "${sweep[@]}" --db "killed-$rounds.db" --jobs 2
same "killed-$rounds.db" "after the last of $killed kills"
finish
