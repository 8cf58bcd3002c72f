-- What a million tokens cost, cheapest first, among runs that meet their SLOs or state none.
.mode column
.headers on
SELECT run_id, scenario, model, gpus || ' x ' || hardware AS hardware,
       round(usd_per_mtok_output, 3) AS "$ per M output", round(usd_per_mtok_input, 3) AS "$ per M input",
       round(usd_per_mtok_total, 3) AS "$ per M tokens", round(output_throughput_per_gpu) AS "output tok/s per GPU",
       round(ttft_p99_ms, 1) AS ttft_p99_ms, round(busy_fraction, 3) AS busy
FROM run_summary
WHERE coalesce(slo_met, 1) = 1 AND stability <> 'overloaded'
ORDER BY usd_per_mtok_output IS NULL, usd_per_mtok_output;
