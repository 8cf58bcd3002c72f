#!/usr/bin/env bash
# kvsim report: formats by --format and by the file's name, files that cannot be written, a page with and without gnuplot.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

expect 0 . "$kvsim" small.yaml --replications 2
expect 2 "'first' is not a run" "$kvsim" report first
expect 2 'not one of text, json, markdown, csv, html' "$kvsim" report 1 --format pdf
expect 4 'there is no run 99' "$kvsim" report 99 --output page.html
[ ! -e page.html ] || fault 'a page of no run'

# The ending of the file's name, unless --format says more.
"$kvsim" report 1 --output page.html
head -c 15 page.html | grep -q '^<!DOCTYPE html>' || fault 'page.html is no HTML'
"$kvsim" report 1 -o run.json
head -c 1 run.json | grep -q '{' || fault 'run.json is no JSON'
"$kvsim" report 1 -o run.md
grep -q '^# kvsim' run.md || fault 'run.md is no Markdown'
"$kvsim" report last -o run.csv
grep -q '^run_id,' run.csv || fault 'run.csv is no CSV'
"$kvsim" report 1 -o run.txt
grep -q '^VERDICT' run.txt || fault 'run.txt is no text'
"$kvsim" report 1 -o run.html --format text
cmp run.txt run.html || fault '--format gives way to the ending'

# Standard output is the same page.
"$kvsim" report 1 --format html --output - >stdout.html
cmp page.html stdout.html || fault '--output - differs'
"$kvsim" report 1 --format html >stdout.html
cmp page.html stdout.html || fault 'standard output differs'
[ -z "$(find . -name '*.tmp')" ] || fault 'temporary files are left'

# Equal runs give equal pages but for one line.
expect 0 . "$kvsim" small.yaml --replications 2 --jobs 1
"$kvsim" report 2 --output again.html
differing=$(diff page.html again.html | grep '^>' || true)
[[ $differing == '> <footer>'* && $differing != *$'\n'* ]] || fault "equal runs differ in: $differing"

# A sweep by its sweep_id, in every format.
expect 0 . "$kvsim" sweep small.yaml --axis concurrency=1,4 --axis context=256,512 --replications 2 --quiet
sweep=$(sqlite3 results/kvsim.db 'SELECT DISTINCT sweep_id FROM sweep_grid')
expect 0 'WHAT BINDS' "$kvsim" report "$sweep"
expect 4 'there is no sweep s00' "$kvsim" report s00
"$kvsim" report "$sweep" -o sweep.html
grep -q 'points meet their targets' sweep.html || fault 'sweep.html is no page of a sweep'
grep -q 'kvsim sweep small.yaml --axis concurrency=1,4 --axis context=256,512' sweep.html ||
    fault 'the page does not say how to get it again'
"$kvsim" report "$sweep" -o sweep.csv
[ "$(wc -l <sweep.csv)" = 5 ] || fault 'sweep.csv has not a line a point'
"$kvsim" report "$sweep" -o sweep.json
"$kvsim" report "$sweep" -o sweep.md
grep -q '^| concurrency' sweep.md || fault 'sweep.md has no table'

# Places that cannot be written: exit status 4, and what was there stays.
mkdir folder
expect 4 '^folder: error: cannot write the report: Is a directory' "$kvsim" report 1 --output folder
expect 4 '^nowhere/page\.html: error: ' "$kvsim" report 1 --output nowhere/page.html
expect 4 '^/dev/full: error: .*No space left' "$kvsim" report 1 --format html --output /dev/full
expect 4 'No space left' bash -c "'$kvsim' report 1 --format html >/dev/full"
if [ "$(id -u)" != 0 ]; then
    cp page.html locked.html
    chmod 444 locked.html
    expect 4 '^locked\.html: error: ' "$kvsim" report 1 --output locked.html
fi

# Without gnuplot: tables, and a note.
mkdir nothing
(PATH=$PWD/nothing "$kvsim" report 1 --output bare.html)
grep -q 'There are no plots, since gnuplot could not draw them: it is not installed' bare.html ||
    fault 'no note about the missing gnuplot'
! grep -q '<svg' bare.html || fault 'a plot without gnuplot'
if command -v gnuplot >/dev/null; then
    [ "$(grep -c '<svg' page.html)" -ge 5 ] || fault 'plots are missing'
else
    echo 'gnuplot is not installed: plots are not looked at'
fi
if command -v xmllint >/dev/null; then
    xmllint --noout page.html bare.html sweep.html || fault 'not well-formed'
fi

finish
