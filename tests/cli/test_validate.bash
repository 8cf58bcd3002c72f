#!/usr/bin/env bash
# What `kvsim validate` finds is stored; a bound that is exceeded is exit status 1.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"
cp -r "$source_tree/validation" validation

is() {
    local got
    got=$(sqlite3 results/kvsim.db "$1")
    [ "$got" = "$2" ] || fault "$1: $got, expected $2"
}

few=(--group fp8-kv-slope --group attention-long --group kv-logs-verdicts)
expect 0 'attention-long .*within its bounds' "$kvsim" validate "${few[@]}"
is "SELECT count(*) FROM validate_group WHERE part_kind = 'all' AND NOT exceeded" 3
is "SELECT count(*) FROM validate_case WHERE group_name = 'attention-long'" 40
is "SELECT max(abs(c.error)) = max(abs(g.worst_error)) FROM validate_case c JOIN validate_group g USING (validation_id, group_name) WHERE group_name = 'attention-long'" 1
is "SELECT worst_case IN (SELECT id FROM validate_case) FROM validate_group WHERE part_kind = 'all' AND group_name = 'attention-long'" 1

# The same again adds nothing; another cut of the groups does.
expect 0 . "$kvsim" validate "${few[@]}" --format json
is 'SELECT count(DISTINCT validation_id) FROM validate_group' 1
expect 0 . "$kvsim" validate --group fp8-kv-slope --no-store
is 'SELECT count(DISTINCT validation_id) FROM validate_group' 1
expect 0 . "$kvsim" validate --group fp8-kv-slope
is 'SELECT count(DISTINCT validation_id) FROM validate_group' 2

# A measured figure that is half of what it was: the prediction is far off.
sed -i 's/4\.37e-05/8.74e-05/' validation/throughput/fp8-kv.csv
expect 1 'fp8-kv-slope .*BEYOND ITS BOUNDS' "$kvsim" validate --group fp8-kv-slope
is 'SELECT exceeded FROM validate_group WHERE validation_id = 3 AND part_kind = '"'all'" 1
is 'SELECT exceeded FROM validate_bound WHERE validation_id = 3' 1

# Elsewhere than in the tree: said at once, with where the cases may lie.
mkdir elsewhere
cd elsewhere
expect 4 'validation/kv-logs/printed.csv.* cannot open' "$kvsim" validate --no-store
expect 4 'hint: .*KVSIM_DATA' "$kvsim" validate --no-store
cd ..
expect 4 'hint: there is no folder absent' "$kvsim" validate --no-store absent
expect 2 "did you mean 'layers'" "$kvsim" validate --group layerz
rm validation/throughput/fp8-kv.csv
expect 4 'fp8-kv.csv' "$kvsim" validate --group fp8-kv-slope
for query in validation validation-cases; do
    sqlite3 results/kvsim.db <"$source_tree/results/queries/$query.sql" >"$said/out"
    [ -s "$said/out" ] || fault "$query.sql prints nothing"
done
finish
