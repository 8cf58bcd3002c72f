#!/usr/bin/env bash
# Files and databases that cannot be read or written: exit status 4, a message, and nothing made or changed.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

# Scenarios.
expect 4 '^nothing\.yaml: error: ' "$kvsim" nothing.yaml
mkdir folder
expect 4 '^folder: error: ' "$kvsim" run folder
expect 4 '^folder: error: ' "$kvsim" check folder
expect 4 'nothing\.csv' "$kvsim" step --model llama-3.1-8b --hardware h100-sxm --from nothing.csv
expect 4 '^folder: error: ' "$kvsim" step --model llama-3.1-8b --hardware h100-sxm --from folder
expect 4 'nothing\.csv' "$kvsim" small.yaml --set 'workload={arrival: {process: trace, file: nothing.csv}}'
expect 4 'folder: error: .*directory' "$kvsim" small.yaml --set 'workload={arrival: {process: trace, file: folder}}' \
    --set 'run={seed: 1}'
if [ "$(id -u)" != 0 ]; then
    cp small.yaml secret.yaml
    chmod 000 secret.yaml
    expect 4 '^secret\.yaml: error: ' "$kvsim" secret.yaml
fi

# Databases.
echo 'Dear diary' >diary.txt
expect 4 '^diary\.txt: error: .*not a database of kvsim' "$kvsim" small.yaml --db diary.txt
expect 4 '^diary\.txt: error: ' "$kvsim" list runs --db diary.txt
expect 4 '^folder: error: .*directory' "$kvsim" small.yaml --db folder
expect 4 'no such database' "$kvsim" report 1
expect 4 'no such database' "$kvsim" list runs
expect 4 'small\.yaml/x\.db: error: ' "$kvsim" small.yaml --db small.yaml/x.db
sqlite3 other.db 'CREATE TABLE t (x); INSERT INTO t VALUES (1);'
expect 4 '^other\.db: error: .*another program' "$kvsim" small.yaml --db other.db
if [ "$(id -u)" != 0 ]; then
    mkdir closed
    chmod 555 closed
    expect 4 'closed/x\.db: error: ' "$kvsim" small.yaml --db closed/x.db
fi

# The result cannot be shown: what was not seen is not stored.
expect 4 'No space left' bash -c "'$kvsim' small.yaml >/dev/full"
expect 4 'standard output' bash -c "'$kvsim' small.yaml >&-"
expect 4 'standard output: error: .*Broken pipe' \
    bash -c "set -o pipefail; { sleep 0.2; '$kvsim' small.yaml; } | true"
# A reader who has seen enough of what is stored nowhere is told nothing: 128 + SIGPIPE, as of a program that the signal ends.
gone() {
    local status=0
    { { sleep 0.2; "$kvsim" "$@"; } 2>gone.err || echo $? >gone.status; } | true
    status=$(cat gone.status)
    [ "$status" = 141 ] || fault "exit status $status without a reader: $*"
    [ ! -s gone.err ] || fault "a word to nobody: $(cat gone.err)"
    rm gone.err gone.status
}
gone list models
gone manual schema # longer than a buffer: an early write fails
gone small.yaml --no-store
expect 4 'No space left' bash -c "'$kvsim' list models --format csv >/dev/full"
expect 4 'No space left' bash -c "'$kvsim' --version >/dev/full"
expect 4 'No space left' bash -c "'$kvsim' step --model llama-3.1-8b --hardware h100-sxm --batch 1 --context 1k >/dev/full"
expect 4 'No space left' "$kvsim" small.yaml --steps /dev/full
expect 4 'nowhere/steps\.csv: error: ' "$kvsim" small.yaml --steps nowhere/steps.csv
expect 4 '^folder: error: ' "$kvsim" small.yaml --steps folder
expect 4 'new\.db: error: .*is the database' "$kvsim" small.yaml --db new.db --steps ./new.db
expect 4 'small\.yaml: error: .*is the scenario' "$kvsim" small.yaml --steps "$PWD/small.yaml"

# A good run beside them, and one that finds the database locked.
expect 0 . "$kvsim" small.yaml
expect 4 'no such run|there is no run|not there' "$kvsim" report 99
expect 0 'small' "$kvsim" report last
expect 0 'small' "$kvsim" list runs
expect 4 'kvsim\.db: error: .*is the database' "$kvsim" small.yaml --steps ./results/kvsim.db
expect 4 'kvsim\.db: error: .*is a database' "$kvsim" small.yaml --no-store --steps results/kvsim.db
expect 4 'kvsim\.db: error: .*is a database' "$kvsim" report last --output results/kvsim.db
mkfifo lock.fifo
sqlite3 results/kvsim.db >/dev/null <lock.fifo &
locker=$!
exec 9>lock.fifo
echo 'BEGIN EXCLUSIVE;' >&9
for _ in $(seq 50); do
    sqlite3 results/kvsim.db 'BEGIN IMMEDIATE; ROLLBACK;' 2>/dev/null || break
    sleep 0.1
done
expect 4 'kvsim\.db: error: .*lock' "$kvsim" small.yaml
exec 9>&-
wait "$locker"
rm lock.fifo

# --no-store needs no database at all.
rm -r results
expect 0 . "$kvsim" small.yaml --no-store
[ ! -e results ] || fault '--no-store made results'
expect 0 . "$kvsim" small.yaml --no-store --db diary.txt
[ "$(cat diary.txt)" = 'Dear diary' ] || fault '--no-store wrote into the file of --db'

# Standard input is a scenario too.
got=0
"$kvsim" - --no-store <small.yaml >"$said/out" 2>"$said/err" || got=$?
[ "$got" = 0 ] || fault "a scenario from standard input: exit status $got"

# A pipe can be read once, and a command may need its scenario often. SCENARIO stands for the file, then for "-".
piped() {
    local status=0 expected=0
    "$kvsim" "${@/SCENARIO/small.yaml}" >"$said/file" 2>"$said/err" || expected=$?
    # shellcheck disable=SC2002 # a pipe is the point
    cat small.yaml | "$kvsim" "${@/SCENARIO/-}" >"$said/out" 2>"$said/err" || status=$?
    [ "$status" = "$expected" ] || fault "exit status $status, $expected from the file: $*"
    sed 's/, in [0-9.]* s$//' "$said/out" | cmp -s - <(sed 's/, in [0-9.]* s$//' "$said/file") || fault "another result than from the file: $*"
}
few=(--no-store --set run.requests=60 --set run.replications=2 --quiet)
piped run SCENARIO "${few[@]}"
piped plan SCENARIO "${few[@]}" --precision 20% --set 'slo=["ttft p99 <= 300 ms"]' --uncertain demand=10% --samples 2
piped plan SCENARIO "${few[@]}" --precision 20% --axis context=256,512 --format csv
piped sweep SCENARIO "${few[@]}" --axis engine.max_num_seqs=2,4 --axis context=256,512 --format csv
piped compare SCENARIO small.yaml "${few[@]}" --format json
piped compare SCENARIO engine.max_num_seqs=2 "${few[@]}" --format json
piped size SCENARIO
piped step SCENARIO --batch 4 --context 100
# shellcheck disable=SC2002
cat small.yaml | "$kvsim" check - >"$said/out" 2>"$said/err" || fault 'check does not read a pipe'
expect 3 '^/dev/stdin:1:1: error: the document is empty' "$kvsim" check -
expect 2 "standard input .* is asked for twice" "$kvsim" compare - - --no-store
expect 2 "standard input .* is asked for twice" "$kvsim" check - small.yaml -

# --output: one rule for run and sweep as for plan, compare and report: by the file's name, whole or not at all.
"$kvsim" small.yaml --no-store --quiet -o run.json >"$said/out" || fault 'run -o'
grep -q '"scenario": "small"' run.json || fault 'JSON by the name of the file'
[ ! -s "$said/out" ] || fault 'the run went to standard output too'
"$kvsim" small.yaml --no-store --quiet -o run.md --format csv || fault 'run -o --format'
grep -q '^run_id,' run.md || fault '--format is stronger than the name'
expect 0 '"scenario": "small"' "$kvsim" small.yaml --no-store --quiet --format json -o -
expect 4 'write the run' "$kvsim" small.yaml --no-store --quiet -o nowhere/run.json
expect 4 'the scenario' "$kvsim" small.yaml --no-store --quiet -o small.yaml
expect 4 'the database' "$kvsim" small.yaml --db kept.db --quiet -o kept.db
expect 2 'kvsim report last -o page.html' "$kvsim" small.yaml --db y.db --quiet -o page.html
"$kvsim" sweep small.yaml --no-store --set run.requests=50 --axis engine.max_num_seqs=2,4 --quiet -o sweep.csv || fault 'sweep -o'
[ "$(wc -l <sweep.csv)" = 3 ] || fault 'CSV by the name of the file'
expect 2 'kvsim report SWEEP_ID -o page.html' "$kvsim" sweep small.yaml --db y.db --axis engine.max_num_seqs=2,4 -o page.html
expect 4 'write the sweep' "$kvsim" sweep small.yaml --db y.db --axis engine.max_num_seqs=2,4 --quiet -o nowhere/x.csv
finish
