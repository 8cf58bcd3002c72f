-- The last run's latencies in ms with their 95 % intervals; an empty interval was withheld, and method says why.
.mode column
.headers on
SELECT name, statistic, class, round(value, 3) AS ms, round(ci_low, 3) AS ci_low,
       round(ci_high, 3) AS ci_high, n, method, claim, basis
FROM run_metric
WHERE run_id = (SELECT max(run_id) FROM run_summary) AND unit = 'ms'
ORDER BY class, name, statistic;
