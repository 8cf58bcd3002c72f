-- Points of the last sweep that meet their targets and that no other one beats per GPU and per user.
.mode column
.headers on
WITH last AS (
    SELECT * FROM sweep_grid
    WHERE sweep_id = (SELECT sweep_id FROM sweep_grid WHERE run_id IS NOT NULL ORDER BY run_id DESC LIMIT 1)
      AND status = 'ok'
)
SELECT value_1, value_2, value_3, round(output_throughput_per_gpu, 1) AS tok_s_gpu,
       round(output_throughput_per_user, 1) AS tok_s_user, round(ttft_p99_ms, 1) AS ttft_p99_ms,
       round(usd_per_mtok_output, 3) AS usd_per_mtok_output, binding_limit, run_id
FROM last
WHERE NOT EXISTS (
    SELECT 1 FROM last AS other
    WHERE other.output_throughput_per_gpu >= last.output_throughput_per_gpu
      AND other.output_throughput_per_user >= last.output_throughput_per_user
      AND (other.output_throughput_per_gpu > last.output_throughput_per_gpu
           OR other.output_throughput_per_user > last.output_throughput_per_user))
ORDER BY output_throughput_per_user DESC;
