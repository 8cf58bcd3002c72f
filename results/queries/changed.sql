-- Which parameters differ between the last two runs, and where each value came from.
.mode column
.headers on
WITH pair AS (
    SELECT max(run_id) AS b, (SELECT max(run_id) FROM run_summary
        WHERE run_id < (SELECT max(run_id) FROM run_summary)) AS a
    FROM run_summary
), each AS (
    SELECT key FROM run_param, pair WHERE run_id IN (pair.a, pair.b) GROUP BY key
)
SELECT each.key, x.value AS a, x.origin AS a_from, y.value AS b, y.origin AS b_from
FROM each, pair
LEFT JOIN run_param AS x ON x.run_id = pair.a AND x.key = each.key
LEFT JOIN run_param AS y ON y.run_id = pair.b AND y.key = each.key
WHERE x.value IS NOT y.value
ORDER BY each.key;
