# plan_lib.bash - for the scripts of `kvsim plan`, sourced after lib.bash: a queue with a known answer, and figures of a plan's JSON.

# shellcheck disable=SC2034,SC2154 # used by the scripts, set by lib.bash
# A figure of the plan's JSON, by its path.
figure() {
    sqlite3 :memory: "SELECT json_extract(readfile('plan.json'), '\$.$1')"
}

plan() {
    expect 0 . "$kvsim" plan "$@" --format json --quiet
    cp "$said/out" plan.json
}

check() {
    awk "BEGIN { exit !($1) }" || fault "$2: $1"
}

# M/M/c: seats, geometric answers of 200 steps of 10 ms; a mean wait of 0.2 s. Erlang C gives the rate.
cat >mmc.yaml <<'END'
name: mmc
model: llama-3.1-8b
engine: {profile: vllm-0.19, max_model_len: 8192, num_gpu_blocks_override: 4000, max_num_seqs: 4, async_scheduling: false}
cost: {level: fixed, step: 10ms}
workload:
  arrival: {process: poisson, rate: 1/s}
  prompt_tokens: 1
  output_tokens: {distribution: geometric, mean: 200}
run: {requests: 2000, replications: 10, seed: 1}
slo: ["queue mean <= 200 ms"]
price: {usd_per_gpu_hour: 2}
END
# The same, sooner.
quick=(--set run.requests=1000 --set run.replications=4 --precision 20%)
