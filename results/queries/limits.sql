-- What limits, run by run: shares of the measured time by what bound the steps and by what the queue's head waited for.
.mode column
.headers on
SELECT run_id, scenario, kind, phase, name, printf('%.1f %%', 100 * share) AS share
FROM run_limit JOIN run_summary USING (run_id)
WHERE share > 0
ORDER BY run_id, kind, phase, share DESC;
