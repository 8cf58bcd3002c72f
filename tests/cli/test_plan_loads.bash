#!/usr/bin/env bash
# What a plan's load may be and what may keep it from an answer: clients, traces, profiles, sessions; runs that are too short, too
# few or refused.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=tests/cli/plan_lib.bash
. "$source_tree/tests/cli/plan_lib.bash"

# Two replications show hardly anything at 99 %: a number of replicas that failed all its runs is not recommended.
unshown=(mmc.yaml --db unshown.db --set run.requests=100 --set run.replications=2 --set 'slo=["e2e mean <= 2.3 s"]' --confidence 99% --demand 10/s)
plan "${unshown[@]}"
[ "$(figure replicas)$(figure replicas_claim)$(figure gpus)$(figure usd_per_hour)" = '' ] || fault "replicas $(figure replicas), $(figure replicas_claim)"
check "$(figure max_rate) > 1" 'the rate is known all the same'
expect 0 'no number of replicas was found; 11 to 17 were simulated, and none' "$kvsim" plan "${unshown[@]}"
expect 0 '11 to 17 were simulated, and none' "$kvsim" plan "${unshown[@]}" --format html
# One that is enough further on is.
plan "${unshown[@]}" --set 'slo=["e2e mean <= 2.6 s"]'
[ "$(figure replicas)$(figure replicas_claim)" = 13simulated ] || fault "replicas $(figure replicas), $(figure replicas_claim)"

# A closed loop: clients. A trace: its speed. A profile: replicas by stage.
expect 0 '"max_concurrency": [0-9]+,' "$kvsim" plan small.yaml --no-store --format json --precision 20% --set run.requests=600 --set 'workload.arrival={process: closed_loop, concurrency: 4}' --set 'slo=["e2e mean <= 800 ms"]'
awk 'BEGIN { print "arrival_s,input_tokens,output_tokens"; for (i = 0; i < 200; i++) print i * 0.2 ",100,50" }' >trace.csv
grep -v '_tokens:' small.yaml | sed 's/arrival:.*/arrival: {process: trace, file: trace.csv}/; s/^run:.*//; s/^slo:.*/slo: ["ttft p99 <= 200 ms"]/' >trace.yaml
expect 0 'no interval: a trace is one sample' "$kvsim" plan trace.yaml --db trace.db --set engine.max_num_seqs=4 --set run.replications=3
expect 0 '"max_speedup": [0-9.]+,' "$kvsim" plan trace.yaml --no-store --set engine.max_num_seqs=4 --format json
expect 0 '^ +20 +7,200 +[0-9]+$' "$kvsim" plan mmc.yaml --no-store "${quick[@]}" --set 'workload.arrival={process: profile, stages: [{rate: 1/s, duration: 1h}, {rate: 20/s, duration: 2h}]}'

# Runs too short for their load to build up reach no limit: 1, unless the demand that was asked for is carried all the same.
short=(small.yaml --no-store --set run.requests=200 --set 'workload.arrival={process: closed_loop, concurrency: 4}')
expect 1 'not reached: at least [0-9]+ clients' "$kvsim" plan "${short[@]}" --set 'slo=["ttft p99 <= 100 s"]'
grep -q 'confidence' "$said/out" && fault 'confidence without an interval'
expect 1 'no target is stated' "$kvsim" plan "${short[@]}" --set slo=null
expect 0 'demand of 6 clients: 1 replica, 1 GPU in all .simulated., headroom at least' "$kvsim" plan "${short[@]}" --set 'slo=["ttft p99 <= 100 s"]' --demand 6
expect 1 '"status": "not_reached",' "$kvsim" plan mmc.yaml --no-store --set run.requests=2 --format json
cp "$said/out" plan.json
[ "$(figure max_rate)$(figure max_rate_ci)$(figure max_rate_at_confidence)$(figure replicas)" = '' ] || fault 'an answer from two requests'
[[ "$(figure reason)" = *'a run of 2 requests is too short'* ]] || fault "reason: $(figure reason)"
expect 1 '<strong>Limit not reached' "$kvsim" plan mmc.yaml --no-store --set run.requests=2 --format html

# One replication: no interval, and so no confidence, in no form.
one=(mmc.yaml --db one.db --set run.replications=1 --set run.requests=1000)
expect 0 'no interval: one replication' "$kvsim" plan "${one[@]}"
grep -qE 'confidence|surely' "$said/out" && fault 'one replication is sure'
plan "${one[@]}"
[ "$(figure max_rate_at_confidence)$(figure max_rate_ci)" = '' ] || fault 'JSON is sure of one replication'
sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('plan.json'), '\$.curve') WHERE json_extract(value, '\$.met_at_confidence')" | grep -qx 0 || fault 'a run of one replication is sure'

# A demand in the unit of the arrivals, one for all candidates.
expect 2 '--demand: 5 is not the load of this scenario: arrivals have a rate' "$kvsim" plan mmc.yaml --db y.db --demand 5
expect 2 '--demand: 5/s is not the load of this scenario: a closed loop has clients, a whole number' "$kvsim" plan "${short[@]}" --demand 5/s
expect 2 '--demand: 2.5 is not .* a whole number' "$kvsim" plan "${short[@]}" --demand 2.5
expect 2 '--demand: inf is not between' "$kvsim" plan mmc.yaml --db y.db --demand inf
expect 2 '--demand: 1e-300/s is not between' "$kvsim" plan mmc.yaml --db y.db --demand 1e-300/s
expect 2 '--axis: workload.arrival.rate is the load' "$kvsim" plan mmc.yaml --db y.db --demand 1/s --axis workload.arrival.rate=1/s,2/s
expect 3 "'engine.profile' is 'vllm-0.19' here" "$kvsim" plan mmc.yaml --db y.db --uncertain engine.profile=10%
grep -q 'did you mean' "$said/err" && fault 'a hint that repeats the key'
expect 0 'demand of 2 x the trace' "$kvsim" plan trace.yaml --no-store --set engine.max_num_seqs=16 --demand 10/s --set 'slo=["e2e p99 <= 520 ms"]'
expect 0 '[0-9.]+ sessions/s .95 % interval' "$kvsim" plan mmc.yaml --no-store "${quick[@]}" --set 'workload.sessions={turns: 3, prompt_growth: 1}' --demand 0.1/s
grep -q 'that is [0-9.]* requests/s' "$said/out" || fault 'requests of sessions'
grep -q 'demand of 0.1000 sessions/s' "$said/out" || fault 'the demand in sessions'

# No load meets the targets: 1. It cannot start: 5. What is no rate: 3. Forms: 2.
expect 1 'no load meets the targets' "$kvsim" plan small.yaml --no-store --set run.requests=100 --set 'slo=["tpot mean <= 9 ms"]'
expect 5 "small.yaml: error: cannot start" "$kvsim" plan small.yaml --db y.db --set engine.num_gpu_blocks_override=3
grep -q "kvsim size" "$said/err" || fault "a refusal does not say what shows it"
# What cannot start is never the best, though the other one misses its targets.
no_three=(small.yaml --no-store --set run.requests=100 --set 'slo=["tpot mean <= 9 ms"]' --uncertain demand=20%)
expect 1 'best of 2 candidates: engine.tensor_parallel_size 1$' "$kvsim" plan "${no_three[@]}" --axis engine.tensor_parallel_size=3,1
expect 1 '^refused,3,' "$kvsim" plan "${no_three[@]}" --axis engine.tensor_parallel_size=1,3 --format csv
sed -n 3p "$said/out" | grep -q '^refused' || fault 'what cannot start is not the last'
expect 5 'none of the 2 candidates can start; the first: .*query heads' "$kvsim" plan "${no_three[@]}" --axis engine.tensor_parallel_size=3,5
expect 3 'rate to be changed' "$kvsim" plan small.yaml --db y.db --set 'workload.arrival={process: all_at_once}'
expect 2 'confidence' "$kvsim" plan small.yaml --confidence 40% --db y.db
expect 2 'demand' "$kvsim" plan small.yaml --demand many --db y.db
expect 2 'closed loop' "$kvsim" plan small.yaml --axis concurrency=1,2 --db y.db
expect 4 'nothing.yaml' "$kvsim" plan nothing.yaml --db y.db
finish
