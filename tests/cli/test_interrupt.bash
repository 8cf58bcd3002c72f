#!/usr/bin/env bash
# Ctrl-C while a run is simulated: exit status 130, nothing stored, nothing left beside.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

before=$(snapshot)
# A background job of a script ignores SIGINT unless job control is on.
set -m
"$kvsim" small.yaml --set run.requests=2000000000 --set record.requests=none --steps steps.csv \
    >"$said/out" 2>"$said/err" &
job=$!
set +m
sleep 2
kill -INT "$job"
got=0
wait "$job" || got=$?
[ "$got" = 130 ] || fault "exit status $got, expected 130"
grep -q 'interrupted' "$said/err" || fault 'no message'
[ "$(snapshot)" = "$before" ] || fault 'something was left behind'
finish
