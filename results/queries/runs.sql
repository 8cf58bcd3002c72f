-- Every run in one line: what was simulated, whether the SLOs hold, what limits.
.mode column
.headers on
SELECT run_id, scenario, model, gpus || ' x ' || hardware AS hardware, engine,
       round(offered_rate, 2) AS "offered/s", round(ttft_p99_ms, 1) AS ttft_p99_ms,
       round(tpot_p99_ms, 2) AS tpot_p99_ms, round(output_throughput) AS "output tok/s",
       round(kv_usage_peak, 3) AS kv_usage_peak, binding_limit, stability,
       CASE slo_met WHEN 1 THEN 'met' WHEN 0 THEN 'MISSED' ELSE '-' END AS slo
FROM run_summary
ORDER BY run_id;
