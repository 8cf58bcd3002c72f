-- The last `kvsim validate`: groups, their errors in percent, and the bounds that they may have.
.mode column
.headers on
SELECT group_name, coalesce(level, '-') AS level, n, round(100 * median_error, 2) AS median,
       round(100 * mean_error, 2) AS mean, round(100 * p90_error, 2) AS p90, round(100 * bias, 2) AS bias,
       round(100 * worst_error, 2) AS worst, worst_case, bound, CASE exceeded WHEN 1 THEN 'EXCEEDED' ELSE 'holds' END AS verdict
FROM validate_group
WHERE validation_id = (SELECT max(validation_id) FROM validate_group) AND part_kind = 'all';
