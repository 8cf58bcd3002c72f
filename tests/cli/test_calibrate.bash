#!/usr/bin/env bash
# From measurements to a hardware file to a run with it; and from a served run, as vLLM's client saves it, to the host's cost.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"

scenario() {
    cat <<END
name: served
model: llama-3.1-8b
hardware: $1
engine: {profile: vllm-0.24}
workload:
  arrival: {process: poisson, rate: 8/s}
  prompt_tokens: {distribution: uniform, min: 100, max: 900}
  output_tokens: {distribution: uniform, min: 20, max: 80}
run: {requests: 40, warmup: 0, replications: 1, seed: 7}
END
}

# Products of a card that streams 2 TB/s and multiplies at 400 TFLOP/s, 4 us each at least.
awk 'BEGIN {
    print "gpu,m,n,k,dtype,ms"
    for (m = 1; m <= 8192; m *= 2)
        for (n = 4096; n <= 16384; n *= 2) {
            memory = (n * 4096 + m * 4096 + m * n) * 2 / 2e12; compute = 2 * m * n * 4096 / 400e12
            printf "NVIDIA H100 80GB HBM3,%d,%d,4096,bf16,%.6f\n", m, n, 1e3 * (4e-6 + (memory > compute ? memory : compute))
        }
}' >gemm.csv
expect 3 "no row is of h200-sxm .*'NVIDIA H100 80GB HBM3'" "$kvsim" calibrate gemm.csv --hardware h200-sxm
expect 0 '42 rows fitted' "$kvsim" calibrate gemm.csv --hardware h100-sxm -o measured.yaml
expect 0 . "$kvsim" check measured.yaml
# The same card three times as slow is another one; 1.2 times as slow, for a card that was slow already, is worth a word.
awk -F, -v OFS=, 'NR > 1 { $6 *= 3 } 1' gemm.csv >slower.csv
expect 3 'take [34][.0-9]* times what h100-sxm5-80gb takes' "$kvsim" calibrate slower.csv --hardware h100-sxm
awk -F, -v OFS=, 'NR > 1 { $6 *= 1.2 } 1' gemm.csv >slow.csv
expect 0 'warning: these kernels take [12][.0-9]* times' "$kvsim" calibrate slow.csv --hardware h100-sxm -o slow.yaml
scenario ./measured.yaml >measured-served.yaml
expect 0 "level 'calibrated'" "$kvsim" measured-served.yaml --no-store
expect 0 "level 'datasheet'" "$kvsim" measured-served.yaml --no-store --set cost.level=datasheet

# A server with 3 ms a step that nothing hides, recorded, and written as vllm bench serve --save-detailed does.
cat >server.yaml <<'END'
base: h100-sxm
calibration: {claim: measured, source: "a test", conditions: "none", date: "2026-01-01", coefficients: {host_exposed: 3 ms}}
END
expect 0 . "$kvsim" check server.yaml
scenario ./server.yaml >served.yaml
expect 0 . "$kvsim" served.yaml --db served.db
list() {
    sqlite3 served.db "SELECT '\"$1\": [' || group_concat($2, ', ') || ']' FROM (SELECT * FROM request_detail ORDER BY arrival_ms)"
}
{
    printf '{"date": "20260102-030405", "model_id": "llama", "num_prompts": 40, "request_rate": 8.0, "max_concurrency": null,\n'
    printf '%s,\n' "$(list input_lens prompt_tokens)" "$(list output_lens output_tokens)" "$(list ttfts ttft_ms/1000)" \
        "$(list itls "'[' || ((e2e_ms - ttft_ms) / 1000) || ']'")" "$(list start_times '5000 + arrival_ms/1000')"
    printf '"mean_ttft_ms": NaN}\n'
} >bench.json
expect 2 'scenario must name' "$kvsim" calibrate bench.json --hardware h100-sxm
expect 5 'memory-wall.yaml cannot start on h100-sxm5-80gb' \
    "$kvsim" calibrate bench.json --hardware h100-sxm --scenario scenarios/memory-wall.yaml -o wall.yaml
expect 0 'requests tpot +20 ' \
    "$kvsim" calibrate bench.json --hardware h100-sxm --scenario served.yaml --first 50% -o served-h100.yaml
expect 0 . "$kvsim" check served-h100.yaml
expect 0 'host_exposed: (2[89]|3[01])[0-9][0-9](\.[0-9]+)? us' cat served-h100.yaml
expect 0 'vllm bench serve; 20260102-030405; llama; request rate 8.0' cat served-h100.yaml

head -c 900 bench.json >cut.json
expect 3 '^cut\.json:[0-9]+:[0-9]+: error: .*cut' "$kvsim" calibrate cut.json --hardware h100-sxm --scenario served.yaml
sed 's/"ttfts": \[[0-9.]*,/"ttfts": [NaN,/' bench.json >nan.json
expect 3 '^nan\.json:4:11: error: ttfts\[0\] is NaN' "$kvsim" calibrate nan.json --hardware h100-sxm --scenario served.yaml
sed 's/"ttfts": \[[0-9.]*,/"ttfts": [/' bench.json >short.json
expect 3 'input_lens has 40 items and ttfts 39' "$kvsim" calibrate short.json --hardware h100-sxm --scenario served.yaml
grep -v '"itls"' bench.json >plain.json
expect 3 'has no itls' "$kvsim" calibrate plain.json --hardware h100-sxm --scenario served.yaml

# What no client can have waited, in which units nobody measures, and what another machine served.
requests() {
    awk -v f="$1" -v from="${2:-1}" 'BEGIN {
        print "arrival_s,input_tokens,output_tokens,ttft_ms,tpot_ms,latency_ms"
        for (i = 0; i < 40; i++)
            printf "%.1f,%d,30,%.4f,%.4f,%.4f\n", i / 4, 200 + 10 * i, (i < from ? 1 : f) * 60, 10 * (i < from ? 1 : f), 350 * (i < from ? 1 : f)
    }'
}
requests 1 >fine.csv
served_is() {
    expect "$1" "$2" "$kvsim" calibrate "$3" --hardware h100-sxm --scenario served.yaml --first 50% -o out.yaml
}
served_is 0 '20 rows fitted .40 times.' fine.csv
rm out.yaml
requests 1000 0 >us.csv
served_is 3 'times between tokens are more than 20 times slower' us.csv
requests 0.001 0 >s.csv
served_is 3 'times between tokens are faster than the device can be' s.csv
sed '5s/[0-9.]*,[0-9.]*,[0-9.]*$/-60,10,350/' fine.csv >negative.csv
served_is 3 "^negative.csv:5:[0-9]+: error: 'ttft_ms' is -60 ms" negative.csv
sed '5s/[0-9.]*,[0-9.]*,[0-9.]*$/60,10,50/' fine.csv >late.csv
served_is 3 '^late.csv:5:[0-9]+: error: the first token came after 60 ms and the last after 50 ms' late.csv

finish
