-- The last run's first replication in about twenty lines: requests and KV usage over time, a bar for the usage.
.mode column
.headers on
WITH sample AS (
    SELECT * FROM timeline
    WHERE run_id = (SELECT max(run_id) FROM run_summary) AND replication = 1
), span AS (
    SELECT max(t_ms) / 20 + 1 AS ms FROM sample
)
SELECT replica, printf('%.1f', min(t_ms) / 1000) AS from_s, round(avg(running), 1) AS running,
       round(avg(waiting), 1) AS waiting, printf('%.1f %%', 100 * avg(kv_usage)) AS kv_usage,
       round(avg(output_throughput)) AS "output tok/s",
       substr('########################################', 1, CAST(40 * avg(kv_usage) + 0.5 AS INTEGER)) AS bar
FROM sample, span
GROUP BY replica, CAST(t_ms / span.ms AS INTEGER)
ORDER BY replica, min(t_ms);
