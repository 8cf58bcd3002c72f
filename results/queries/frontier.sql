-- Along the first axis of the last sweep: how far the targets are met, for each value of the second.
.mode column
.headers on
WITH last AS (
    SELECT * FROM sweep_grid
    WHERE sweep_id = (SELECT sweep_id FROM sweep_grid WHERE run_id IS NOT NULL ORDER BY run_id DESC LIMIT 1)
),
beyond AS (
    SELECT value_2, min(value_1) AS first_missed FROM last WHERE status <> 'ok' GROUP BY value_2
)
SELECT last.axis_2, last.value_2, last.axis_1,
       max(CASE WHEN first_missed IS NULL OR value_1 < first_missed THEN value_1 END) AS targets_met_to,
       max(CASE WHEN value_1 = first_missed THEN status || ': ' || coalesce(binding_limit, reason) END) AS then_comes
FROM last LEFT JOIN beyond ON beyond.value_2 IS last.value_2
GROUP BY last.value_2 ORDER BY last.value_2;
