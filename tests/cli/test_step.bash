#!/usr/bin/env bash
# kvsim step: one step in four formats, and tables of steps and kernels.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

one=("$kvsim" step --model llama-3.1-8b --hardware h100-sxm)
expect 0 'attention_decode' "${one[@]}" --batch 64 --context 4k
expect 0 'attention_prefill' "${one[@]}" --prefill 2k@8k --prefill 100
expect 0 '"step_ms"' "${one[@]}" --batch 64 --context 4k --format json
expect 0 '^operator,per_layer_ms,layers,ms,flops,bytes,bound$' "${one[@]}" --batch 1 --context 1 --format csv
expect 0 '^\| operator' "${one[@]}" --batch 1 --context 1 --format markdown
expect 0 . "$kvsim" step small.yaml --batch 64 --context 4k
# No memory is checked.
expect 0 . "$kvsim" step --model llama-3.1-405b --hardware h100-sxm --batch 1 --context 1k
expect 2 'empty' "${one[@]}"
expect 2 '--batch needs --context' "${one[@]}" --batch 3
expect 2 'missing' "$kvsim" step --batch 3 --context 1
expect 2 '--operator needs --from' "${one[@]}" --operator gemm
expect 3 'llama-3\.1-8x' "$kvsim" step --model llama-3.1-8x --hardware h100-sxm --batch 1 --context 1
expect 3 '^--set nonsense: error' "${one[@]}" --batch 1 --context 1 --set nonsense=1

# A table: columns first and unchanged, one row for each.
cat >steps.csv <<'END'
model,hardware,tp,prefill_seqs,prefill_tokens,prefill_context,decode_seqs,decode_context
llama-3.1-8b,h100-sxm,1,0,0,0,64,4096
llama-3.1-8b,h100-sxm,1,1,2048,8192,0,0
llama-3.1-70b,h100-sxm,4,1,512,0,16,1000
END
expect 0 . "$kvsim" step --from steps.csv
cut -d, -f1-8 "$said/out" | cmp -s - steps.csv || fault 'input columns are not as they were'
cp "$said/out" priced.csv
expect 0 '"attention_decode_ms"' "$kvsim" step --from steps.csv --format json
# The table says the same as the single step.
expect 0 . "${one[@]}" --batch 64 --context 4096 --format csv
single=$(awk -F, '$1 == "attention_decode" { printf "%.6g", $2 }' "$said/out")
table=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "attention_decode_ms") c = i }
    NR == 2 { printf "%.6g", $c }' priced.csv)
[ "$single" = "$table" ] || fault "attention_decode: $single alone, $table in the table"

# Columns that are missing have the command line's value.
printf 'decode_seqs\n64\n' >short.csv
expect 0 . "${one[@]}" --context 4096 --from short.csv
[ "$(cut -d, -f2 "$said/out" | tail -n 1)" = "$(cut -d, -f9 priced.csv | sed -n 2p)" ] ||
    fault 'a missing column changes the step'
printf '\357\273\277decode_seqs\r\n64' >short.csv
expect 0 . "${one[@]}" --context 4096 --from short.csv
expect 0 . "${one[@]}" --context 4096 --from short.csv --set cost.level=datasheet
expect 0 '^64,7[,.]' "${one[@]}" --context 4096 --from short.csv --set 'cost={level: fixed, step: 7ms}'

# Mistakes: the place, and not a line of output.
silent() {
    expect 3 "$1" "$kvsim" step --from bad.csv "${@:2}"
    [ ! -s "$said/out" ] || fault "a table with a mistake was written: $1"
}
sed 's/decode_seqs/decode_sequences/' steps.csv >bad.csv
silent '^bad\.csv:1:[0-9]+: error: .*decode_sequences'
sed '3s/llama-3.1-8b/llama-9/' steps.csv >bad.csv
silent '^bad\.csv:3:1: error: .*llama-9'
sed '4s/h100-sxm/abacus/' steps.csv >bad.csv
silent '^bad\.csv:4:[0-9]+: error: .*abacus'
sed '4s/,16,/,-16,/' steps.csv >bad.csv
silent '^bad\.csv:4:'
sed '2s/,64,4096/,0,0/' steps.csv >bad.csv
silent '^bad\.csv:2:'
sed '2s/,4096$//' steps.csv >bad.csv
silent '^bad\.csv:2:'
sed '2s/,64,4096/,1048576,1099511627776/' steps.csv >bad.csv
silent '^bad\.csv:2:1: error: a step would last longer than 73 minutes'
: >bad.csv
silent '^bad\.csv'

# Kernels.
printf 'hardware,m,n,k,dtype\nh100-sxm,4096,4096,4096,bf16\nh100-sxm,1,8192,4096,fp8\n' >gemm.csv
expect 0 '^hardware,m,n,k,dtype,gemm_ms$' "$kvsim" step --from gemm.csv --operator gemm
[ "$(wc -l <"$said/out")" = 3 ] || fault 'rows of gemm'
printf 'phase,batch,seq_len,q_heads,kv_heads,head_dim,kv_cache_dtype\ndecode,8,4096,32,8,128,bf16\n' >attention.csv
expect 0 'kv_cache_dtype,attention_ms$' "$kvsim" step --from attention.csv --operator attention --hardware h100-sxm
printf 'phase,batch,seq_len,q_heads,kv_lora_rank,qk_rope_head_dim,kv_cache_dtype\nprefill,1,4096,128,512,64,bf16\n' >mla.csv
expect 0 'mla_ms$' "$kvsim" step --from mla.csv --operator mla --hardware h100-sxm
printf 'hardware,bytes,gpus\nh100-sxm,1048576,8\n' >reduce.csv
expect 0 '^hardware,bytes,gpus,all_reduce_ms$' "$kvsim" step --from reduce.csv --operator all_reduce
# Rows state the software that ran; what a dense model has no use for is refused.
printf 'm,n,k,dtype,kernels\n4096,8192,8192,bf16,current\n4096,8192,8192,bf16,2024\n' >stacks.csv
expect 0 . "$kvsim" step --from stacks.csv --operator gemm --hardware h100-sxm
awk -F, 'NR == 2 {now = $NF} NR == 3 {exit !($NF > 1.02 * now)}' "$said/out" || fault 'products of 2024 are no slower'
expect 3 'cost.expert_skew: error: model llama-3.1-8b has no experts' "${one[@]}" --batch 1 --context 1 --set cost.expert_skew=1
expect 3 'enable_expert_parallel: error: model llama-3.1-8b has no experts' "${one[@]}" --batch 1 --context 1 --set engine.enable_expert_parallel=true
expect 3 '^gemm\.csv:1:[0-9]+: error: ' "$kvsim" step --from gemm.csv --operator all_reduce
printf 'hardware,m,n,k,dtype\nh100-sxm,0,4096,4096,bf16\n' >bad.csv
silent '^bad\.csv:2:' --operator gemm
printf 'hardware,m,n,k,dtype\nh100-sxm,1,4096,4096,bf17\n' >bad.csv
silent '^bad\.csv:2:.*bf17' --operator gemm
# 8-bit keys and values: half the bytes, less than twice as fast, measured in this width (H100) or not (A100).
attention_ms() {
    "$kvsim" step --model llama-3.1-8b --hardware "$1" --batch 64 --context 8k --set engine.kv_cache_dtype="$2" --format csv -q |
        awk -F, '$1 == "attention_decode" {print $4}'
}
for card in h100-sxm a100-sxm-80gb; do
    awk -v wide="$(attention_ms "$card" auto)" -v narrow="$(attention_ms "$card" fp8)" \
        'BEGIN {exit !(wide / narrow >= 1.5 && wide / narrow <= 1.9)}' || fault "8-bit KV on $card"
done

finish
