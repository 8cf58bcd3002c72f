#!/usr/bin/env bash
# What a run stores as its resolved scenario is one: run again it has the same identity and gives the same figures.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

few='--set run.requests=100 --set run.replications=1'

# rerun FILE [option...]: what cannot start stores nothing that could be run again.
rerun() {
    rm -f a.db
    # shellcheck disable=SC2086  # two options
    "$kvsim" run "$@" $few --db a.db --quiet >/dev/null 2>"$said/err" || [ $? = 1 ] || return 0
    sqlite3 a.db 'SELECT yaml FROM run_scenario' >again.yaml
    "$kvsim" run again.yaml --db a.db --quiet >/dev/null 2>"$said/err" || [ $? = 1 ] ||
        fault "$* cannot be run again"
    for figure in scenario_hash kv_pool_blocks block_size ttft_mean_ms e2e_p99_ms steps; do
        [ "$(sqlite3 a.db "SELECT count(*), count(DISTINCT $figure) FROM run_summary")" = '2|1' ] ||
            fault "$*: another $figure when run again"
    done
    reruns=$((reruns + 1))
}

reruns=0
for scenario in scenarios/*.yaml; do
    rerun "$scenario"
done
for profile in $("$kvsim" list engines --format csv | sed '1d; s/,.*//'); do
    rerun scenarios/chat-8k.yaml --set "engine.profile=$profile"
done
[ "$reruns" -gt 15 ] || fault "only $reruns scenarios were run again"
finish
