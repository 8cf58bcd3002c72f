-- The last comparison: figures whose difference is shown, largest first.
.mode column
.headers on
SELECT run_a, run_b, name, statistic, class, unit, round(a, 4) AS a, round(b, 4) AS b,
       round(100 * (ratio - 1), 2) AS percent, round(100 * (ratio_ci_low - 1), 2) AS percent_low,
       round(100 * (ratio_ci_high - 1), 2) AS percent_high, verdict
FROM run_compare
WHERE (run_a, run_b) = (SELECT run_a, run_b FROM run_compare ORDER BY run_b DESC, run_a DESC LIMIT 1)
  AND verdict IN ('better', 'worse', 'more', 'less')
ORDER BY abs(ratio - 1) DESC;
