#!/bin/sh
#SBATCH --job-name=kvsim-merge
#SBATCH --time=00:10:00
# All shards into one database, then the page of the sweep from it: nothing is simulated any more.
set -eu
# shellcheck source=examples/sweep.env
. "${SLURM_SUBMIT_DIR:-.}/sweep.env"
"$KVSIM" merge "$RESULTS"/shard-*.db --db "$RESULTS/kvsim.db"
# shellcheck disable=SC2086 # the axes are words
exec "$KVSIM" sweep "$SCENARIO" $AXES --db "$RESULTS/kvsim.db"
