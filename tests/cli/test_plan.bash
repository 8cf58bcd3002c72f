#!/usr/bin/env bash
# The highest load within the targets: against Erlang's formula, against a fine sweep; demand, candidates, what is not known exactly.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

# shellcheck source=tests/cli/plan_lib.bash
. "$source_tree/tests/cli/plan_lib.bash"

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
finish
