#!/usr/bin/env bash
# The highest load within the targets: against Erlang's formula, against a fine sweep; demand, candidates, profiles.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

# A figure of the plan's JSON, by its path.
figure() {
    sqlite3 :memory: "SELECT json_extract(readfile('plan.json'), '\$.$1')"
}

plan() {
    expect 0 . "$kvsim" plan "$@" --format json --quiet
    cp "$said/out" plan.json
}

check() {
    awk "BEGIN { exit !($1) }" || fault "$2: $1"
}


# M/M/c: seats, geometric answers of 200 steps of 10 ms; a mean wait of 0.2 s. Erlang C gives the rate.
cat >mmc.yaml <<'END'
name: mmc
model: llama-3.1-8b
engine: {profile: vllm-0.19, max_model_len: 8192, num_gpu_blocks_override: 4000, max_num_seqs: 4, async_scheduling: false}
cost: {level: fixed, step: 10ms}
workload:
  arrival: {process: poisson, rate: 1/s}
  prompt_tokens: 1
  output_tokens: {distribution: geometric, mean: 200}
run: {requests: 2000, replications: 10, seed: 1}
slo: ["queue mean <= 200 ms"]
price: {usd_per_gpu_hour: 2}
END
erlang() {
    awk -v seats="$1" 'function wait(rate,  a, sum, term, k, top) {
        a = rate * 2; sum = 0; term = 1
        for (k = 0; k < seats; k++) { sum += term; term *= a / (k + 1) }
        top = term / (1 - a / seats)
        return top / (sum + top) / (seats / 2 - rate)
    } BEGIN { low = 0; high = seats / 2 * 0.9999
        for (i = 0; i < 60; i++) { mid = (low + high) / 2; if (wait(mid) < 0.2) low = mid; else high = mid } print low }'
}
for seats in 16 4; do
    plan mmc.yaml --db mmc.db --set engine.max_num_seqs=$seats
    theory=$(erlang $seats) low=$(figure max_rate_ci[0]) high=$(figure max_rate_ci[1])
    check "$low <= $theory && $theory <= $high" "Erlang C for $seats seats against $(figure max_rate)"
    check "$high / $low < 1.08" "the interval for $seats seats is wide"
    [ "$(figure limit)" = 'queue mean <= 200 ms' ] || fault 'what breaks first'
done

# The fine sweep of the same seeds changes from met to missed within the interval.
expect 0 . "$kvsim" sweep mmc.yaml --axis "workload.arrival.rate=1.00/s..1.06/s+0.01/s" --db mmc.db --quiet
last_met=$(sqlite3 mmc.db "SELECT max(value_1) FROM sweep_grid WHERE status = 'ok'")
check "$low <= $last_met && $last_met <= $high" "the sweep says $last_met"

# The demand: two replicas carry what one does not; growth to a date, and spare ones.
quick=(--set run.requests=1000 --set run.replications=4 --precision 20%)
plan mmc.yaml --db mmc.db --demand 1.9/s --growth 10% --start 2027-01-31 --spare 1 "${quick[@]}"
[ "$(figure replicas)" = 2 ] || fault "replicas: $(figure replicas)"
[ "$(figure gpus)" = 3 ] || fault "gpus: $(figure gpus)"
[ "$(figure usd_per_hour)" = 6 ] || fault "dollars: $(figure usd_per_hour)"
months=$(figure months_to_breach) headroom=$(figure headroom)
check "$headroom > 0.1 && (1.1 ^ $months) / (1 + $headroom) < 1.0001 && (1.1 ^ $months) / (1 + $headroom) > 0.9999" months
day=$(figure breach_date)
[[ "$day" > 2027-02-2 && "$day" < 2027-06 ]] || fault "the day $day after $months months"
[[ ! "$(figure breach_date_earliest)" > "$day" && ! "$day" > "$(figure breach_date_latest)" ]] || fault 'the days of the interval'
expect 0 'break after [0-9.]+ months' "$kvsim" plan mmc.yaml --db mmc.db --demand 1.9/s --growth 10% "${quick[@]}" --quiet

# Two replications show hardly anything at 99 %: a number of replicas that failed all its runs is not recommended.
unshown=(mmc.yaml --no-store --set run.requests=100 --set run.replications=2 --set 'slo=["e2e mean <= 2.3 s"]' --confidence 99% --demand 10/s)
plan "${unshown[@]}"
[ "$(figure replicas)$(figure replicas_claim)$(figure gpus)$(figure usd_per_hour)" = '' ] || fault "replicas $(figure replicas), $(figure replicas_claim)"
check "$(figure max_rate) > 1" 'the rate is known all the same'
expect 0 'no number of replicas was found; 11 to 17 were simulated, and none' "$kvsim" plan "${unshown[@]}"
expect 0 '11 to 17 were simulated, and none' "$kvsim" plan "${unshown[@]}" --format html
# One that is enough further on is.
plan "${unshown[@]}" --set 'slo=["e2e mean <= 2.6 s"]'
[ "$(figure replicas)$(figure replicas_claim)" = 13simulated ] || fault "replicas $(figure replicas), $(figure replicas_claim)"

# Candidates: the cheapest first, not the one of fewest GPUs.
expect 0 '^status,engine.max_num_seqs,price' "$kvsim" plan mmc.yaml --db mmc.db --demand 1.9/s --zip --axis engine.max_num_seqs=8,4 --axis price.usd_per_gpu_hour=5,2 "${quick[@]}" --format csv --quiet
[ "$(sed -n 2p "$said/out" | cut -d, -f2)" = 4 ] || fault 'the cheaper candidate is not the first'
[ "$(sed -n 3p "$said/out" | cut -d, -f15)" = 1 ] || fault 'the other one has fewer GPUs'

# What is not known exactly: seats and rate are M/M/c again; twice the service time halves the rate.
uncertain=(--demand 0.9/s --uncertain demand=±30% --uncertain workload.output_tokens=20%:normal --samples 8)
plan mmc.yaml --db mmc.db "${quick[@]}" "${uncertain[@]}"
[ "$(figure uncertainty.inputs[0].key)" = demand ] || fault 'the largest effect is not the first'
check "$(figure uncertainty.inputs[1].headroom_low) > $(figure headroom)" 'shorter answers, more headroom'
check "$(figure uncertainty.inputs[1].max_load_high) < $(figure max_rate)" 'longer answers, less load'
check "$(figure uncertainty.inputs[0].max_load_high) == $(figure uncertainty.max_load_as_stated)" 'the demand does not move what is carried'
check "$(figure uncertainty.max_load_as_stated) >= $(figure max_rate) && $(figure uncertainty.max_load_as_stated) < 1.005 * $(figure max_rate)" 'the ends lie about the answer'
probability=$(figure uncertainty.probability)
check "$(figure uncertainty.probability_ci[0]) <= $probability && $probability <= $(figure uncertainty.probability_ci[1])" 'the probability and its interval'
check "$probability > 0.1 && $probability < 0.95" "the probability $probability"
# As many again are taken from the database.
expect 0 'known within' "$kvsim" plan mmc.yaml --db mmc.db "${quick[@]}" "${uncertain[@]}" --quiet
grep -q '0 runs simulated' "$said/out" || fault 'the samples were not taken up'
expect 3 "^--uncertain: error: 'workload.output_token' is not a number" "$kvsim" plan mmc.yaml --no-store "${quick[@]}" --uncertain workload.output_token=20%
expect 2 'KEY=SHARE' "$kvsim" plan mmc.yaml --db y.db --uncertain demand
expect 2 'twice' "$kvsim" plan mmc.yaml --db y.db --uncertain demand=1% --uncertain demand=2%
expect 2 'not between' "$kvsim" plan mmc.yaml --db y.db --uncertain demand=60%:normal
expect 2 'samples' "$kvsim" plan mmc.yaml --db y.db --samples 5
expect 2 'start' "$kvsim" plan mmc.yaml --db y.db --start 2027-01
expect 2 'start' "$kvsim" plan mmc.yaml --db y.db --growth 5% --start 2027-02-30

# An end beyond what the key may be is found before anything is run; a normal spread goes twice as far.
grep -v num_gpu_blocks small.yaml >pool.yaml
pool=(pool.yaml --db never.db --set run.requests=100 --precision 20% --samples 2 --quiet)
expect 3 "'engine.gpu_memory_utilization' 1.1 times as large: .* 1.012, must be above 0 and at most 1" "$kvsim" plan "${pool[@]}" --set engine.gpu_memory_utilization=0.92 --uncertain engine.gpu_memory_utilization=10%
expect 3 '1.12 times as large' "$kvsim" plan "${pool[@]}" --set engine.gpu_memory_utilization=0.92 --uncertain engine.gpu_memory_utilization=6%:normal
[ ! -s never.db ] || [ "$(sqlite3 never.db 'SELECT count(*) FROM run')" = 0 ] || fault 'runs before the range was looked at'
expect 0 'engine.gpu_memory_utilization' "$kvsim" plan "${pool[@]}" --set engine.max_num_seqs=4 --set engine.gpu_memory_utilization=0.92 --set 'slo=["ttft p99 <= 300 ms"]' --uncertain engine.gpu_memory_utilization=4%:normal

# The page stands alone and has the answer first; Markdown by the file's name; a file that cannot be made.
"$kvsim" plan mmc.yaml --db mmc.db "${quick[@]}" "${uncertain[@]}" --growth 5% --start 2027-01 --quiet --output page.html || fault 'the page'

grep -q 'What does it take to carry 0.9' page.html || fault 'the question'
grep -q '<strong>1 × GPUs, [$]2.00 an hour' page.html || fault 'the answer'
grep -qE 'https?://' <(grep -v 'www.w3.org' page.html | grep -oE '(src|href)="[^"]*"') && fault 'the page needs the network'
grep -q '<script' page.html && fault 'the page has a script'
grep -q 'kvsim plan mmc.yaml --set run.requests=1000' page.html || fault 'how to get it again'
"$kvsim" plan mmc.yaml --db mmc.db "${quick[@]}" --quiet -o page.md || fault 'Markdown' 
grep -q '^## THE CURVE' page.md || fault 'Markdown by the name of the file'
expect 4 'write the plan' "$kvsim" plan mmc.yaml --db y.db -o nowhere/page.html
expect 4 'the database' "$kvsim" plan mmc.yaml --db mmc.db -o mmc.db

# The same again asks the database alone.
sqlite3 mmc.db .dump >before.sql
expect 0 '0 runs simulated' "$kvsim" plan mmc.yaml --db mmc.db --quiet
sqlite3 mmc.db .dump | cmp -s before.sql - || fault 'the same plan changed the database'
# Nor does the number of threads matter.
expect 0 . "$kvsim" plan small.yaml --db j1.db --set run.requests=600 --set 'slo=["ttft p99 <= 300 ms"]' --precision 20% --uncertain workload.output_tokens=20% --samples 4 -j1 --format json --quiet
cp "$said/out" j1.json
expect 0 . "$kvsim" plan small.yaml --db j4.db --set run.requests=600 --set 'slo=["ttft p99 <= 300 ms"]' --precision 20% --uncertain workload.output_tokens=20% --samples 4 -j4 --format json --quiet
cmp -s "$said/out" j1.json || fault 'the plan depends on the number of threads'

# A closed loop: clients. A trace: its speed. A profile: replicas by stage.
expect 0 '"max_concurrency": [0-9]+,' "$kvsim" plan small.yaml --no-store --format json --set run.requests=600 --set 'workload.arrival={process: closed_loop, concurrency: 4}' --set 'slo=["e2e mean <= 800 ms"]'
awk 'BEGIN { print "arrival_s,input_tokens,output_tokens"; for (i = 0; i < 200; i++) print i * 0.2 ",100,50" }' >trace.csv
grep -v '_tokens:' small.yaml | sed 's/arrival:.*/arrival: {process: trace, file: trace.csv}/; s/^run:.*//; s/^slo:.*/slo: ["ttft p99 <= 200 ms"]/' >trace.yaml
expect 0 'no interval: a trace is one sample' "$kvsim" plan trace.yaml --no-store --set engine.max_num_seqs=4 --set run.replications=3
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
one=(mmc.yaml --no-store --set run.replications=1 --set run.requests=1000)
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
