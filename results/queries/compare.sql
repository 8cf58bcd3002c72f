-- The last two runs side by side, figure by figure. Intervals that overlap leave the sign of a difference open.
.mode column
.headers on
WITH pair AS (
    SELECT max(run_id) AS b, (SELECT max(run_id) FROM run_summary
        WHERE run_id < (SELECT max(run_id) FROM run_summary)) AS a
    FROM run_summary
)
SELECT x.run_id AS run_a, y.run_id AS run_b, x.name, x.statistic, x.class, x.unit,
       round(x.value, 3) AS a, round(y.value, 3) AS b, round(y.value - x.value, 3) AS difference,
       round(y.value / nullif(x.value, 0), 3) AS ratio,
       CASE WHEN x.ci_high IS NULL OR y.ci_high IS NULL THEN 'no interval'
            WHEN y.ci_low > x.ci_high THEN 'more' WHEN y.ci_high < x.ci_low THEN 'less'
            ELSE 'open' END AS verdict
FROM pair
JOIN run_metric AS x ON x.run_id = pair.a
JOIN run_metric AS y ON y.run_id = pair.b AND y.name = x.name AND y.statistic = x.statistic AND y.class = x.class
ORDER BY x.class, x.name, x.statistic;
