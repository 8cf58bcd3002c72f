#!/usr/bin/env bash
# The commands of docs/chapters.md, each with its exit status and the figures that the page says it prints.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

page="$source_tree/docs/chapters.md"
mkdir "$said/bin"
ln -s "$kvsim" "$said/bin/kvsim"
export PATH="$said/bin:$PATH"
command=""
wanted=0
lines=()
commands=0
figures=0

# One blank for each run of white space: columns move with their contents, and sentences are folded.
plain() {
    tr -s '[:space:]' ' '
}

check() {
    local got=0 text line
    [ -n "$command" ] || return 0
    commands=$((commands + 1))
    bash -c "$command" >"$said/out" 2>"$said/err" </dev/null || got=$?
    [ "$got" = "$wanted" ] || fault "exit status $got, expected $wanted: $command"
    text=$(plain <"$said/out")
    for line in ${lines[@]+"${lines[@]}"}; do
        figures=$((figures + 1))
        [[ "$text" == *"$(plain <<<"$line" | sed 's/ $//')"* ]] || fault "no '$line' from: $command"
    done
    command=""
    wanted=0
    lines=()
}

inside=no
while IFS= read -r line; do
    case $inside$line in
    'no```sh') inside=yes ;;
    'yes```')
        inside=no
        check
        ;;
    'yes# prints '*) lines+=("${line#\# prints }") ;;
    'yes# exits '*) wanted=${line#\# exits } ;;
    yes*)
        check
        command=$line
        ;;
    esac
done <"$page"

[ "$commands" -ge 14 ] || fault "only $commands commands in $page"
[ "$figures" -ge 45 ] || fault "only $figures figures in $page"
finish
