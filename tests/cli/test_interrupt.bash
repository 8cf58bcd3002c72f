#!/usr/bin/env bash
# Ctrl-C, SIGTERM and SIGHUP while a run is simulated: exit status 128 + signal, nothing stored, nothing left beside.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

start() {
    # A background job of a script ignores SIGINT unless job control is on.
    set -m
    "$kvsim" small.yaml --set run.requests=2000000000 --set record.requests=none --steps steps.csv \
        >"$said/out" 2>"$said/err" &
    job=$!
    set +m
}

before=$(snapshot)
# Several times: the step that is just being written is at another place each time.
for signal in INT:130 TERM:143 HUP:129 INT:130 TERM:143 HUP:129; do
    start
    sleep 1
    kill "-${signal%:*}" "$job"
    got=0
    wait "$job" || got=$?
    [ "$got" = "${signal#*:}" ] || fault "exit status $got, expected ${signal#*:}"
    grep -q 'interrupted' "$said/err" || fault 'no message'
    [ "$(snapshot)" = "$before" ] || fault "something was left behind by SIG${signal%:*}"
done
finish
