#!/usr/bin/env bash
# A sweep whose database is in trouble: read, locked, on a full disk, read-only, older, newer. A clear error where it cannot go
# on, and nothing is lost: the same command goes on later, and the rows are those of a sweep without trouble.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

sweep=(sweep small.yaml --axis 'run.seed=1..12')

figures() {
    sqlite3 "$1" .dump | grep -v '^INSERT INTO run_host '
}

same() {
    figures whole.db >whole.sql
    figures "$1" >"$1.sql"
    cmp -s whole.sql "$1.sql" || fault "$1 differs from a sweep without trouble"
}

ends() {
    local status=$1 regex=$2 got=0
    shift 2
    "$@" >"$said/out" 2>"$said/err" </dev/null || got=$?
    [ "$got" = "$status" ] || fault "exit status $got, expected $status: $*"
    grep -qE -- "$regex" "$said/err" || fault "nothing matches '$regex': $*"
}

points_of() {
    sqlite3 -cmd '.timeout 5000' "$1" 'SELECT count(*) FROM sweep_point' 2>/dev/null || echo 0
}

expect 0 . "$kvsim" "${sweep[@]}" --db whole.db --quiet

# Read all the time by another program that sees one state of it: the sweep goes on, the reader's state stays.
head_of_sweep=(sweep small.yaml --axis 'run.seed=1,2')
expect 0 . "$kvsim" "${head_of_sweep[@]}" --db read.db --quiet
mkfifo reader.fifo
sqlite3 read.db <reader.fifo >reader.txt 2>&1 &
reader=$!
exec 9>reader.fifo
echo 'BEGIN; SELECT count(*) FROM run;' >&9
while [ ! -s reader.txt ]; do sleep 0.05; done
expect 0 . "$kvsim" "${sweep[@]}" --db read.db --quiet
echo 'SELECT count(*) FROM run; COMMIT; SELECT count(*) FROM run;' >&9
exec 9>&-
wait "$reader" || fault 'the reader failed'
[ "$(paste -sd' ' reader.txt)" = '2 2 12' ] || fault "the reader saw $(paste -sd' ' reader.txt)"
rm reader.fifo

# Locked for a moment: it waits. Locked for long: 4, what was stored stays, and it goes on later.
lock() {
    mkfifo lock.fifo
    sqlite3 -cmd '.timeout 20000' "$1" <lock.fifo >lock.txt &
    locker=$!
    exec 9>lock.fifo
    echo 'BEGIN IMMEDIATE; SELECT 1;' >&9
    while [ ! -s lock.txt ]; do sleep 0.05; done
}
unlock() {
    exec 9>&-
    wait "$locker"
    rm lock.fifo lock.txt
}
expect 0 . "$kvsim" "${head_of_sweep[@]}" --db locked.db --quiet
lock locked.db
ends 4 'locked\.db: error: .*locked by another program' "$kvsim" "${sweep[@]}" --db locked.db --quiet
grep -q 'try again when it is free' "$said/err" || fault 'no hint'
[ "$(points_of locked.db)" = 2 ] || fault 'a locked database has other points'
"$kvsim" "${sweep[@]}" --db locked.db --quiet >/dev/null 2>"$said/err" 9>&- &
waiting=$!
sleep 1
unlock
wait "$waiting" || fault 'a sweep did not wait for a lock'
[ "$(sqlite3 locked.db 'SELECT count(*) FROM sweep_grid')" = 14 ] || fault 'points are missing after a lock'

# No more room: as a limit on the size of a file, and where that can be tried, as a full file system.
size_kib=$((($(stat -c %s whole.db) + 1023) / 1024))
# shellcheck disable=SC2317 # called by ends
limited_to() {
    (ulimit -f "$1" && shift && exec "$@")
}
# shellcheck disable=SC2317
limited() {
    limited_to $((size_kib / 2)) "$@"
}
ends 4 'full\.db: error: cannot .*(a limit on its size|no space left)' limited "$kvsim" "${sweep[@]}" --db full.db --quiet
kept=$(points_of full.db)
[ "$kept" -lt 12 ] || fault 'the limit was not met'
[ "$(sqlite3 full.db 'PRAGMA integrity_check')" = ok ] || fault 'a full disk damaged the database'
ends 0 "^kvsim: $((12 - kept)) points simulated" "$kvsim" "${sweep[@]}" --db full.db
same full.db
# What is not stored is not said to be. Of a file that is new nothing is written before the end: there it is taken back.
ends 4 'hint: what was shown is not stored' limited_to 24 "$kvsim" run small.yaml --db one.db --quiet
[ ! -e one.db ] || fault 'a database without a run was left'
expect 0 . "$kvsim" run small.yaml --db one.db --quiet
ends 4 'one\.db: error: cannot ' limited_to 24 "$kvsim" run small.yaml --db one.db --quiet
[ ! -s "$said/out" ] || fault 'a run that is not stored was printed'
[ "$(sqlite3 one.db 'SELECT count(*) FROM run')" = 1 ] || fault 'runs of a full disk'
mkdir small-disk
if mount -t tmpfs -o "size=$((size_kib / 2 + 64))k" none small-disk 2>/dev/null; then
    ends 4 'x\.db: error: cannot .*no space left' "$kvsim" "${sweep[@]}" --db small-disk/x.db --quiet
    # Moved to where there is room, it goes on.
    cp small-disk/* .
    umount small-disk
    [ "$(sqlite3 x.db 'PRAGMA integrity_check')" = ok ] || fault 'a full disk damaged the database'
    ends 0 'points simulated' "$kvsim" "${sweep[@]}" --db x.db
    same x.db
else
    echo 'not tried: a file system that is full (tmpfs cannot be mounted here)'
fi

# A folder and a file that may only be read. Root may write anywhere, so another user tries.
as_user() {
    if [ "$(id -u)" != 0 ]; then "$@"; else setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; fi
}
chmod a+rx . "$said"
mkdir closed
cp whole.db closed/whole.db
chmod a-w closed closed/whole.db
if as_user "$kvsim" --version >/dev/null 2>&1; then
    expect 4 'closed/x\.db: error: .*(Permission denied|read-only)' as_user "$kvsim" "${sweep[@]}" --db closed/x.db
    expect 4 'closed/whole\.db: error: .*(read-only|Permission denied)' as_user "$kvsim" "${sweep[@]}" --db closed/whole.db
    expect 0 small as_user "$kvsim" list runs --db closed/whole.db
    expect 0 small as_user "$kvsim" report 3 --db closed/whole.db
    if [ "$(id -u)" = 0 ]; then
        # The file may be written, the folder not: there is no place for a journal.
        chmod a+w closed/whole.db
        expect 4 'closed/whole\.db: error: ' as_user "$kvsim" sweep small.yaml --axis run.seed=99 --db closed/whole.db
        [ "$(points_of closed/whole.db)" = 12 ] || fault 'points of a read-only place are gone'
    fi
else
    echo 'not tried: a read-only place (the program cannot be run by another user)'
fi
chmod u+w closed

# A newer schema is refused untouched. An older one is read, and brought up to date by the first who writes.
cp whole.db newer.db
sqlite3 newer.db 'PRAGMA user_version = 99'
expect 4 'newer\.db: error: .*written by a newer kvsim \(schema 99' "$kvsim" "${sweep[@]}" --db newer.db
expect 4 'newer kvsim' "$kvsim" merge whole.db --db newer.db
expect 4 'newer kvsim' "$kvsim" merge newer.db --db other.db
cp whole.db older.db
# What version 1 did not have.
for view in sweep_grid run_compare run_tier validate_group validate_bound validate_case; do
    sqlite3 older.db "DROP VIEW $view"
done
for table in sweep_point comparison sweep tier validation_case validation_bound validation_part validation_group validation; do
    sqlite3 older.db "DROP TABLE $table"
done
sqlite3 older.db 'PRAGMA user_version = 1'
expect 0 small "$kvsim" list runs --db older.db
[ "$(sqlite3 older.db 'PRAGMA user_version')" = 1 ] || fault 'reading changed the schema'
# Two stored runs are compared whatever kvsim stored them; only what is written down brings the file up to date.
cp older.db compared.db
expect 0 'not paired' "$kvsim" compare 1 2 --db compared.db --no-store
[ "$(sqlite3 compared.db 'PRAGMA user_version')" = 1 ] || fault 'comparing without storing changed the schema'
expect 0 'not paired' "$kvsim" compare 1 2 --db compared.db
[ "$(sqlite3 compared.db 'SELECT count(*) > 0 FROM run_compare')" = 1 ] || fault 'the comparison is not stored'
cp whole.db second.db
sqlite3 second.db 'DROP VIEW run_tier; DROP TABLE tier; PRAGMA user_version = 3'
expect 0 'not paired' "$kvsim" compare 1 2 --db second.db
for view in validate_group validate_bound validate_case; do
    sqlite3 second.db "DROP VIEW $view"
done
sqlite3 second.db 'DROP TABLE validation_case; DROP TABLE validation_bound; DROP TABLE validation_part; DROP TABLE validation_group;
DROP TABLE validation; DROP VIEW run_tier; DROP TABLE tier; PRAGMA user_version = 2'
expect 0 'not paired' "$kvsim" compare 1 3 --db second.db
ends 0 '^kvsim: 0 points simulated, 12 decided' "$kvsim" "${sweep[@]}" --db older.db
sqlite3 older.db 'SELECT * FROM sweep_grid' >older.txt
sqlite3 whole.db 'SELECT * FROM sweep_grid' >whole.txt
# created_at and wall_s are those of the runs that were there.
cmp -s older.txt whole.txt || fault 'a database brought up to date has another grid'
finish
