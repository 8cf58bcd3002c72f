-- Where the slowest percent of the last run's requests spend their time.
.mode column
.headers on
SELECT metric, cause, printf('%.1f %%', 100 * share) AS share, round(ms, 3) AS ms
FROM run_tail
WHERE run_id = (SELECT max(run_id) FROM run_summary) AND share > 0
ORDER BY metric, ms DESC;
