-- The last `kvsim validate`: the forty cases furthest off among those that nothing was fitted to.
.mode column
.headers on
SELECT group_name, id, family, figure, predicted, measured, round(100 * error, 1) AS percent, source
FROM validate_case
WHERE validation_id = (SELECT max(validation_id) FROM validate_case) AND NOT fitted
ORDER BY abs(error) DESC
LIMIT 40;
