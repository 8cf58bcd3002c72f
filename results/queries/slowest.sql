-- The ten stored requests of the last run with the longest time to first token, and why.
.mode column
.headers on
SELECT replication, request_id, class, prompt_tokens, output_tokens, round(arrival_ms) AS arrival_ms,
       round(ttft_ms, 1) AS ttft_ms, round(queue_ms, 1) AS queue_ms,
       round(wait_kv_pool_ms, 1) AS wait_kv_pool_ms, round(wait_seats_ms, 1) AS wait_seats_ms,
       round(wait_budget_ms, 1) AS wait_budget_ms, round(prefill_ms, 1) AS prefill_ms, preemptions, outcome
FROM request_detail
WHERE run_id = (SELECT max(run_id) FROM run_summary) AND counted = 1
ORDER BY request_detail.ttft_ms DESC NULLS LAST, replication, arrival_ms
LIMIT 10;
