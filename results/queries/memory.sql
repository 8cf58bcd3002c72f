-- Where the memory of the last run goes: from the card to the pool, then inside the pool at mean and at peak.
.mode column
.headers on
SELECT line, printf('%.2f', bytes_per_gpu / 1073741824.0) AS GiB_per_gpu, bytes_per_gpu, claim, source
FROM run_waterfall
WHERE run_id = (SELECT max(run_id) FROM run_summary);

SELECT replica, at, component, printf('%.3f', bytes / 1073741824.0) AS GiB, bytes,
       printf('%.1f %%', 100.0 * bytes / (SELECT pool.bytes FROM run_ledger AS pool
           WHERE pool.run_id = line.run_id AND pool.replica = line.replica AND pool.at = line.at
             AND pool.component = 'pool')) AS of_pool
FROM run_ledger AS line
WHERE run_id = (SELECT max(run_id) FROM run_summary);
