#!/bin/sh
#SBATCH --job-name=kvsim-sweep
#SBATCH --array=1-8
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
# One shard of a sweep for each task of the array. The number of tasks is SHARDS in sweep.env.
set -eu
# shellcheck source=examples/sweep.env
. "${SLURM_SUBMIT_DIR:-.}/sweep.env"
mkdir -p "$RESULTS"
# shellcheck disable=SC2086 # the axes are words
exec "$KVSIM" sweep "$SCENARIO" $AXES --quiet --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" --db "$RESULTS/shard-$SLURM_ARRAY_TASK_ID.db"
