-- The last sweep, a row for each point.
.mode column
.headers on
SELECT point_id, axis_1, value_1, axis_2, value_2, status, round(output_throughput, 1) AS output_tok_s,
       round(ttft_p99_ms, 1) AS ttft_p99_ms, round(tpot_p99_ms, 2) AS tpot_p99_ms,
       round(100 * kv_usage_peak, 1) AS kv_peak_percent, preemptions, binding_limit, run_id, reason
FROM sweep_grid
WHERE sweep_id = (SELECT sweep_id FROM sweep_grid WHERE run_id IS NOT NULL ORDER BY run_id DESC LIMIT 1)
ORDER BY point_id;
