#!/usr/bin/env bash
# Bad input of every kind: a clear error where the fault is, exit status 3, nothing written. Good oddities are read.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

# scenario NAME SED...: small.yaml changed.
scenario() {
    local name=$1
    shift
    sed "$@" small.yaml >"$name.yaml"
}
# refused REGEX NAME: the scenario of that name is invalid.
refused() {
    expect 3 "$1" "$kvsim" "$2.yaml"
}

# What a shell's unset variable leaves is not the default.
expect 2 'run.requests=: the value is missing; null takes the key away' "$kvsim" small.yaml --no-store --set run.requests=
expect 2 'run.requests= has no value' "$kvsim" compare small.yaml run.requests= --no-store
expect 2 'steps writes a file, and - is none' "$kvsim" small.yaml --no-store --steps -

# Texts that are no scenario.
head -c 4096 /dev/urandom >noise.yaml
refused '^noise\.yaml:?[0-9:]*: error: ' noise
printf 'name: \0x\n' >zero.yaml
refused '^zero\.yaml:1' zero
: >empty.yaml
refused '^empty\.yaml' empty
echo '- a list' >list.yaml
refused '^list\.yaml:1' list
echo 'just words' >words.yaml
refused '^words\.yaml:1' words
printf 'name: [1, 2\nmodel: x\n' >open.yaml
refused '^open\.yaml:[0-9]+:[0-9]+: error: ' open
head -c 100000000 /dev/zero | tr '\0' 'a' >huge.yaml
refused '^huge\.yaml' huge
rm huge.yaml
{ printf 'name: '; head -c 20000 /dev/zero | tr '\0' '['; } >deep.yaml
refused '^deep\.yaml:1:[0-9]+: error: ' deep
{
    echo 'a: &a [x, x, x, x, x, x, x, x, x]'
    before=a
    for name in b c d e f g h i j; do
        echo "$name: &$name [*$before, *$before, *$before, *$before, *$before, *$before, *$before, *$before]"
        before=$name
    done
} >bomb.yaml
refused '^bomb\.yaml:[0-9]+:[0-9]+: error: ' bomb

# Keys.
scenario unknown 's/max_model_len/max_modell_len/'
refused "^unknown\.yaml:7:3: error: .*max_modell_len" unknown
expect 3 "did you mean.*max_model_len" "$kvsim" unknown.yaml
scenario duplicate 's/^run:.*/&\nname: twice/'
refused '^duplicate\.yaml:[0-9]+:1: error: ' duplicate
scenario nomodel '/^model:/d'
refused '^nomodel\.yaml:[0-9]+:[0-9]+: error: .*model' nomodel
expect 3 '^--set engine\.nonsense: error: ' "$kvsim" small.yaml --set engine.nonsense=1
expect 3 '^--set run\.requests: error: ' "$kvsim" small.yaml --set run.requests=-4
expect 3 '^--set [a-z.]*replications: error: ' "$kvsim" small.yaml --replications 0
scenario nosuchmodel 's/llama-3.1-8b/llama-3.1-8c/'
refused '^nosuchmodel\.yaml:3:8: error: ' nosuchmodel
expect 3 'llama-3\.1-8b' "$kvsim" nosuchmodel.yaml

# Values.
for rate in -1/s 0/s nan nan/s 8 8/fortnight 1e400/s '[]' '{}' true '""' inf/h 'one per second'; do
    scenario value "s|6/s|$rate|"
    refused '^value\.yaml:[0-9]+:[0-9]+: error: ' value
done
for length in -5 0 1.5 nan inf 9e99 '5 apples' '[1]' yes; do
    scenario value "s/max_model_len: 2048/max_model_len: $length/"
    refused '^value\.yaml:7:[0-9]+: error: ' value
done
for step in 10 -10ms 0ms nan 'inf' 10lightyears 2h; do
    scenario value "s/step: 10ms/step: $step/"
    refused '^value\.yaml:[0-9]+:[0-9]+: error: ' value
done
expect 3 '^--axis engine\.nonsense: error: ' "$kvsim" size small.yaml --axis engine.nonsense=1,2
expect 0 '^3,.*,invalid,' "$kvsim" size small.yaml --axis engine.tensor_parallel_size=1,3 --format csv
scenario rare -e 's/arrival: .*/arrival: {process: profile, stages: [{rate: 1\/h, duration: 1ns}]}/' -e '/^run:/d'
expect 3 '^rare\.yaml:11:[0-9]+: error: a round' "$kvsim" check rare.yaml
scenario table 's/^cost:.*/cost: {level: table, file: table.csv}/'
refused "^table\.yaml:9:[0-9]+: error: .*'cost\.operators'" table
expect 3 '^--set run\.warmup.*: error: .*takes all requests' "$kvsim" small.yaml --set 'run.warmup={requests: 400}'
expect 3 '^small\.yaml:1:1: error: a step would last longer' "$kvsim" small.yaml \
    --set 'cost={level: affine, base: 1s, per_context_token: 5s}'
expect 3 '^small\.yaml:1:1: error: an arrival lies more than 292 years' "$kvsim" small.yaml \
    --set workload.arrival.rate=1e-9/s
for name in 'a\\e[31m' 'a\\nb' 'a\\x7f' 'a\\u009b31m'; do
    scenario name "s/^name: small/name: \"$name\"/"
    refused '^name\.yaml:2:7: error: .*control characters' name
done
for interval in 0ms 1ns 999us -1s; do # a row every ns would fill any memory
    expect 3 '^--set record\.timeline: error: ' "$kvsim" small.yaml --set "record.timeline=$interval"
done
scenario minmax 's/min: 1, max: 1000/min: 1000, max: 1/'
refused '^minmax\.yaml:[0-9]+:[0-9]+: error: ' minmax
scenario many -e 's/max_model_len/max_modell_len/' -e 's/requests/requsts/' -e 's/rate:/rat:/'
expect 3 '^many\.yaml:7:' "$kvsim" many.yaml
grep -q '^many\.yaml:14:' "$said/err" || fault 'the second diagnostic of many is missing'

# Traces.
trace() {
    expect "$1" "$2" "$kvsim" small.yaml --no-store --set 'workload={arrival: {process: trace, file: trace.csv}}' \
        --set 'run={seed: 1}'
}
: >trace.csv
trace 3 '^trace\.csv'
echo 'arrival_s,input_tokens,output_tokens' >trace.csv
trace 3 '^trace\.csv'
printf 'arrival_s,input_tokens,output_tokens\n0.5,10,4\n1.0,20\n' >trace.csv
trace 3 '^trace\.csv:3:'
printf 'arrival_s,input_tokens,output_tokens\n0.5,10,4\n1.0,20,many\n' >trace.csv
trace 3 '^trace\.csv:3:'
printf 'a,b,c\n1,2,3\n' >trace.csv
trace 3 '^trace\.csv:1:'
head -c 5000 /dev/urandom >trace.csv
trace 3 '^trace\.csv'
printf '\357\273\277arrival_s,input_tokens,output_tokens\r\n0.5,10,4\r\n1.0,20,5' >trace.csv
trace 0 .

# Legal: carriage returns, a byte order mark, no newline at the end.
sed 's/$/\r/' small.yaml >crlf.yaml
expect 0 . "$kvsim" crlf.yaml --no-store
{ printf '\357\273\277'; cat small.yaml; } | head -c -1 >mark.yaml
expect 0 . "$kvsim" mark.yaml --no-store
finish
