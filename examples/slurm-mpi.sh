#!/bin/sh
#SBATCH --job-name=kvsim-mpi
#SBATCH --ntasks=33
#SBATCH --time=01:00:00
# Rank 0 deals the points out and writes; the other 32 simulate one at a time. --enable-recovery lets mpirun go on when a
# rank is killed.
set -eu
# shellcheck source=examples/sweep.env
. "${SLURM_SUBMIT_DIR:-.}/sweep.env"
mkdir -p "$RESULTS"
# shellcheck disable=SC2086 # the axes are words
${MPIRUN:-mpirun} --enable-recovery "$KVSIM" sweep "$SCENARIO" $AXES --quiet --db "$RESULTS/kvsim.db"
# With that option mpirun ends with 0 whatever happened. The same command without it tells: when all went well nothing is
# left to simulate.
# shellcheck disable=SC2086
exec "$KVSIM" sweep "$SCENARIO" $AXES --quiet --db "$RESULTS/kvsim.db"
