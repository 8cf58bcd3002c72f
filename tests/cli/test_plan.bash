#!/usr/bin/env bash
# The highest load within the targets: against Erlang's formula, against a fine sweep; demand, candidates, profiles.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

# A figure of the plan's JSON at the top level.
figure() {
    sed -n "s/^  \"$1\": \(.*\),\$/\1/p" plan.json
}

plan() {
    expect 0 . "$kvsim" plan "$@" --format json --quiet
    cp "$said/out" plan.json
}

check() {
    awk "BEGIN { exit !($1) }" || fault "$2: $1"
}


# M/M/4: four seats, geometric answers of 200 steps of 10 ms; mean wait of 1 s. Erlang C gives the rate.
cat >mmc.yaml <<'END'
name: mmc
model: llama-3.1-8b
engine: {profile: vllm-0.19, max_model_len: 8192, num_gpu_blocks_override: 4000, max_num_seqs: 4, async_scheduling: false}
cost: {level: fixed, step: 10ms}
workload:
  arrival: {process: poisson, rate: 1/s}
  prompt_tokens: 1
  output_tokens: {distribution: geometric, mean: 200}
run: {requests: 10000, replications: 5, seed: 1}
slo: ["queue mean <= 1 s"]
END
plan mmc.yaml --db mmc.db
erlang=$(awk 'function wait(rate,  a, rho, sum, term, k, top) {
    a = rate * 2; rho = a / 4; sum = 0; term = 1
    for (k = 0; k < 4; k++) { sum += term; term *= a / (k + 1) }
    top = term / (1 - rho)
    return top / (sum + top) / (4 / 2 - rate)
} BEGIN { low = 0.1; high = 1.999; for (i = 0; i < 60; i++) { mid = (low + high) / 2; if (wait(mid) < 1) low = mid; else high = mid } print low }')
found=$(figure max_rate)
low=$(grep -m1 -A1 '"max_rate_ci"' plan.json | tail -n 1 | tr -d ' ,')
high=$(grep -m1 -A2 '"max_rate_ci"' plan.json | tail -n 1 | tr -d ' ,')
check "$low * 0.995 <= $erlang && $erlang <= $high * 1.005" "Erlang C says $erlang, the plan $found ($low to $high)"
check "$high / $low < 1.075" "the interval is wide"
[ "$(figure limit)" = '"queue mean <= 1 s"' ] || fault 'what breaks first'

# The fine sweep of the same seeds changes from met to missed within the interval.
expect 0 . "$kvsim" sweep mmc.yaml --axis "workload.arrival.rate=1.46/s..1.56/s+0.02/s" --db mmc.db --quiet
last_met=$(sqlite3 mmc.db "SELECT max(value_1) FROM sweep_grid WHERE status = 'ok'")
check "$low <= $last_met && $last_met <= $high" "the sweep says $last_met"

# The demand: two replicas carry what one does not; candidates in the order of GPUs; growth and spare ones.
quick=(--set run.requests=3000 --precision 20%)
plan mmc.yaml --db mmc.db --demand 2.2/s --growth 10% --spare 1 "${quick[@]}"
[ "$(figure replicas)" = 2 ] || fault "replicas: $(figure replicas)"
[ "$(figure gpus)" = 3 ] || fault "gpus: $(figure gpus)"
check "$(figure headroom) > 0.1 && $(figure months_to_breach) > 1" headroom
expect 0 '^status,engine.max_num_seqs,' "$kvsim" plan mmc.yaml --db mmc.db --demand 2.2/s --axis engine.max_num_seqs=2,8 "${quick[@]}" --format csv --quiet
[ "$(sed -n 2p "$said/out" | cut -d, -f2)" = 8 ] || fault 'the better candidate is not the first'

# The same again asks the database alone.
sqlite3 mmc.db .dump >before.sql
expect 0 '0 runs simulated' "$kvsim" plan mmc.yaml --db mmc.db --quiet
sqlite3 mmc.db .dump | cmp -s before.sql - || fault 'the same plan changed the database'
# Nor does the number of threads matter.
expect 0 . "$kvsim" plan small.yaml --db j1.db --precision 20% -j1 --format json --quiet
cp "$said/out" j1.json
expect 0 . "$kvsim" plan small.yaml --db j4.db --precision 20% -j4 --format json --quiet
cmp -s "$said/out" j1.json || fault 'the plan depends on the number of threads'

# A closed loop: clients. A trace: its speed. A profile: replicas by stage.
expect 0 '"max_concurrency": [0-9]+,' "$kvsim" plan small.yaml --no-store --format json --set 'workload.arrival={process: closed_loop, concurrency: 4}' --set 'slo=["e2e mean <= 800 ms"]'
awk 'BEGIN { print "arrival_s,input_tokens,output_tokens"; for (i = 0; i < 400; i++) print i * 0.2 ",100,50" }' >trace.csv
grep -v '_tokens:' small.yaml | sed 's/arrival:.*/arrival: {process: trace, file: trace.csv}/; s/^run:.*//; s/^slo:.*/slo: ["ttft p99 <= 200 ms"]/' >trace.yaml
expect 0 '"max_speedup": [0-9.]+,' "$kvsim" plan trace.yaml --no-store --format json
expect 0 '^ +20 +7,200 +[0-9]+$' "$kvsim" plan mmc.yaml --no-store "${quick[@]}" --set 'workload.arrival={process: profile, stages: [{rate: 1/s, duration: 1h}, {rate: 20/s, duration: 2h}]}'

# No load meets the targets: 1. It cannot start: 5. What is no rate: 3. Forms: 2.
expect 1 'no load meets the targets' "$kvsim" plan small.yaml --no-store --set 'slo=["tpot mean <= 9 ms"]'
expect 5 'cannot start' "$kvsim" plan small.yaml --db y.db --set engine.num_gpu_blocks_override=3
expect 3 'rate to be changed' "$kvsim" plan small.yaml --db y.db --set 'workload.arrival={process: all_at_once}'
expect 2 'confidence' "$kvsim" plan small.yaml --confidence 40% --db y.db
expect 2 'demand' "$kvsim" plan small.yaml --demand many --db y.db
expect 2 'closed loop' "$kvsim" plan small.yaml --axis concurrency=1,2 --db y.db
expect 4 'nothing.yaml' "$kvsim" plan nothing.yaml --db y.db
finish
