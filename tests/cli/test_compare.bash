#!/usr/bin/env bash
# Two runs against each other: stored, simulated, or one with a change; the rows of run_compare.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

is() {
    local got
    got=$(sqlite3 "$1" "$2")
    [ "$got" = "$3" ] || fault "$2: $got, expected $3"
}

# A change of the step time moves every latency, surely.
expect 0 'paired on common random numbers' "$kvsim" compare small.yaml cost.step=9ms --db x.db --quiet
grep -qE '^ +cost.step +10000000 +9000000' "$said/out" || fault 'the parameter that differs'
is x.db "SELECT verdict FROM run_compare WHERE name = 'tpot' AND statistic = 'mean'" better
is x.db "SELECT round(ratio, 2) FROM run_compare WHERE name = 'tpot' AND statistic = 'p50'" 0.9
is x.db "SELECT count(*) FROM run_compare WHERE run_a <> 1 OR run_b <> 2" 0
is x.db "SELECT count(*) FROM run_compare WHERE method = 'paired_t' AND NOT (ci_low <= difference AND difference <= ci_high)" 0
is x.db "SELECT count(*) FROM run_compare c JOIN run_metric m ON m.run_id = c.run_b AND m.name = c.name AND m.statistic = c.statistic AND m.class = c.class WHERE m.value IS NOT c.b" 0

# The paired interval is narrower than the unpaired one; another seed is not paired.
expect 0 . "$kvsim" compare 1 2 --db x.db --format json
grep -q '"paired": true' "$said/out" || fault 'not paired'
expect 0 'not paired' "$kvsim" compare small.yaml run.seed=2 --db x.db --quiet
is x.db "SELECT count(*) > 20 FROM run_compare WHERE run_b = 3 AND method = 'welch_t'" 1
is x.db "SELECT verdict FROM run_compare WHERE run_b = 3 AND name = 'e2e' AND statistic = 'mean'" no_difference_shown
is x.db "SELECT max(more_replications) > 0 FROM run_compare WHERE run_b = 3" 1

# Nothing is simulated twice, and the same comparison adds nothing.
sqlite3 x.db .dump >before.sql
expect 0 . "$kvsim" compare small.yaml cost.step=9ms --db x.db --quiet
sqlite3 x.db .dump | cmp -s before.sql - || fault 'the same comparison changed the database'
is x.db 'SELECT count(*) FROM run_summary' 3

# A run against itself is equal throughout.
expect 0 'none: both are the same configuration' "$kvsim" compare 1 1 --db x.db
grep -q 'both are the same run' "$said/out" || fault 'that it is the same run'
is x.db "SELECT count(*) FROM run_compare WHERE run_a = 1 AND run_b = 1 AND verdict NOT IN ('equal', 'no_interval')" 0

# Two scenarios; the last run; other formats; nothing stored.
sed 's/^name: small/name: other/; s/max_model_len: 2048/max_model_len: 4096/' small.yaml >second.yaml
expect 0 'A small, B other' "$kvsim" compare small.yaml second.yaml --no-store
expect 0 '^run_a,run_b,name,statistic,class,unit,a,b,difference,ci_low,ci_high,ratio' "$kvsim" compare 1 last --db x.db --format csv
expect 0 '^## FIGURES' "$kvsim" compare 1 2 --db x.db --format markdown
expect 0 . "$kvsim" compare 1 2 --db x.db --no-store

# The page: the question names the change; nothing from elsewhere; where it goes and in what form.
"$kvsim" compare small.yaml cost.step=9ms --db x.db --quiet -o page.html || fault 'the page'
grep -q 'What changes for small when cost.step goes from' page.html || fault 'the question'
grep -q 'B is better: ' page.html || fault 'the answer'
grep -q '<script' page.html && fault 'the page has a script'
grep -q 'kvsim compare small.yaml cost.step=9ms' page.html || fault 'how to get it again'
expect 0 '^<!DOCTYPE html>' "$kvsim" compare 1 2 --db x.db --format html
expect 4 'write the comparison' "$kvsim" compare small.yaml cost.step=9ms --db y.db -o nowhere/page.html
expect 4 'the database' "$kvsim" compare 1 2 --db x.db -o x.db

expect 2 "the ending '.pdf' names no format" "$kvsim" compare 1 2 --db x.db -o x.pdf
expect 2 "the ending '.pdf' names no format" "$kvsim" report 1 --db x.db -o x.pdf
"$kvsim" report 1 --db x.db -o x.pdf --format csv || fault 'a stated form goes into a file of any name'
grep -q '^run_id,' x.pdf || fault 'the form that --format states'
# What is offered below what can be served is what leaves: neither better nor worse.
expect 0 '^ +less: request_throughput' "$kvsim" compare small.yaml workload.arrival.rate=2/s --db rates.db --quiet

expect 2 'B is missing' "$kvsim" compare small.yaml
expect 2 'one word too many' "$kvsim" compare 1 2 3 --db x.db
expect 2 'cannot be changed' "$kvsim" compare 1 run.seed=3 --db x.db
expect 3 '^--set run.sead: ' "$kvsim" compare small.yaml run.sead=3 --db y.db
expect 4 'no run 77' "$kvsim" compare 1 77 --db x.db
expect 4 'no such database' "$kvsim" compare 1 2 --db y.db
expect 5 'cannot start' "$kvsim" compare small.yaml engine.num_gpu_blocks_override=3 --db y.db
finish
