# lib.bash - for the scripts beside it: sourced after `set -euo pipefail`, with $1 the program and $2 the source tree.
#
# The script then stands in an empty folder of its own, which is removed at the end.

# shellcheck disable=SC2034 # used by the scripts
kvsim=$1
source_tree=$2
scratch=$(mktemp -d)
said=$(mktemp -d)
faults=0
trap 'chmod -R u+rwX "$scratch"; rm -rf "$scratch" "$said"' EXIT
cd "$scratch" || exit 1
for folder in models hardware engines scenarios; do
    if [ -e "$source_tree/$folder" ]; then
        ln -s "$source_tree/$folder" "$folder"
    fi
done
cp "$source_tree/tests/cli/small.yaml" small.yaml

# Everything that a command must leave as it was.
snapshot() {
    find . -type d -printf '%p %m\n' -o -printf '%p %y %s %T@ %m\n' | LC_ALL=C sort
}

fault() {
    echo "FAULT: $1"
    [ ! -f "$said/out" ] || sed "s/^/    /" "$said/out" | head -20
    sed 's/^/    /' "$said/err" | head -20
    faults=1
}

# expect STATUS REGEX COMMAND...: the exit status, and an extended regular expression that a line of stdout or stderr
# matches. A command that exits with 2 to 5 must have changed nothing here.
expect() {
    local status=$1 regex=$2 got=0 before
    shift 2
    before=$(snapshot)
    "$@" >"$said/out" 2>"$said/err" </dev/null || got=$?
    [ "$got" = "$status" ] || fault "exit status $got, expected $status: $*"
    grep -qE -- "$regex" "$said/out" "$said/err" || fault "nothing matches '$regex': $*"
    if [ "$status" -ge 2 ] && [ "$status" -le 5 ] && [ "$(snapshot)" != "$before" ]; then
        fault "a refused command changed its folder: $*"
    fi
}

finish() {
    exit "$faults"
}
