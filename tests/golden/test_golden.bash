#!/usr/bin/env bash
# tests/golden/test_golden.bash PROGRAM SOURCE-TREE NAME [--update]
#
# NAME.yaml gives the figures in NAME.sql: every row of the database but run_host. One thread gives what four give, and
# jumping what stepping gives, to the last digit. With --update (or KVSIM_UPDATE_GOLDEN=1) NAME.sql is rewritten.
set -euo pipefail

kvsim=$1
folder=$2/tests/golden
name=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# One row a line; statements of the schema have tests of their own.
figures() {
    "$kvsim" run "$folder/$name.yaml" --db "$1.db" --quiet "${@:2}" >"$1.out" || {
        echo "kvsim ${*:2}: exit status $?"
        exit 1
    }
    sqlite3 "$1.db" .dump | grep '^INSERT INTO ' | grep -v '^INSERT INTO run_host ' >"$1.sql"
}

same() {
    cmp -s "$1.sql" "$2.sql" || {
        echo "$name: $1 and $2 differ"
        diff "$1.sql" "$2.sql" | head -10
        exit 1
    }
}

figures one_thread --jobs 1
figures four_threads --jobs 4
same one_thread four_threads
figures stepping --jobs 2 --stepping
same one_thread stepping

if [ "${4:-}" = --update ] || [ "${KVSIM_UPDATE_GOLDEN:-}" = 1 ]; then
    cp one_thread.sql "$folder/$name.sql"
    echo "$name.sql was rewritten: review what changed"
    exit 0
fi
awk -f "$folder/compare.awk" "$folder/$name.sql" one_thread.sql
