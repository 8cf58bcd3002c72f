#!/usr/bin/env bash
# The examples for Slurm and Kubernetes, each step as far as it goes without either: their shell under the variables that a
# job array or an indexed Job sets, their YAML read; together they give the database of one sweep.
# test_examples.bash PROGRAM SOURCE-TREE PRINT-YAML [PROGRAM-WITH-MPI]
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
. "$(dirname "$0")/lib.bash"
print_yaml=$3
with_mpi=${4:-}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

figures() {
    sqlite3 "$1" .dump | grep -v '^INSERT INTO run_host '
}

same() {
    figures whole.db >whole.sql
    figures "$1" >"$said/other.sql"
    cmp -s whole.sql "$said/other.sql" || fault "$1 is not the database of one sweep: $2"
}

# Their own sweep is large: the same steps with a small one.
export SCENARIO=small.yaml AXES='--axis concurrency=1..4 --axis context=100,400' SHARDS=8 KVSIM=$kvsim
# shellcheck disable=SC2086 # the axes are words
expect 0 . "$kvsim" sweep small.yaml $AXES --db whole.db --quiet

# ---- Slurm ----

cp "$source_tree"/examples/*.sh "$source_tree/examples/sweep.env" .
export SLURM_SUBMIT_DIR=$PWD SLURM_CPUS_PER_TASK=2
tasks=$(sed -n 's/^#SBATCH --array=1-//p' slurm-array.sh)
[ "$tasks" = "$SHARDS" ] || fault 'as many tasks as shards'
for SLURM_ARRAY_TASK_ID in $(seq "$tasks" -1 1); do
    export SLURM_ARRAY_TASK_ID
    expect 0 . sh slurm-array.sh
done
expect 0 'Slurm|concurrency' sh slurm-merge.sh
same results/kvsim.db 'Slurm job array'
expect 0 concurrency sh slurm-merge.sh # again
same results/kvsim.db 'merged twice'
rm -r results

if [ -n "$with_mpi" ] && mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    # The number of ranks is the batch system's to say.
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
    MPIRUN='mpirun --oversubscribe -n 3' KVSIM=$with_mpi expect 0 . sh slurm-mpi.sh
    same results/kvsim.db 'Slurm with MPI'
    rm -r results
fi

# ---- Kubernetes ----

# The command of a Job's container, for this sweep in the place of its own.
command_of() {
    local file=$source_tree/examples/$1
    [ "$("$print_yaml" "$file" apiVersion)/$("$print_yaml" "$file" kind)" = batch/v1/Job ] || fault "$1 is no Job"
    [ "$("$print_yaml" "$file" spec template spec containers 0 command 0)" = sh ] || fault "$1 runs no shell"
    [ "$("$print_yaml" "$file" spec template spec containers 0 command 1)" = -ec ] || fault "$1 runs no shell"
    "$print_yaml" "$file" spec template spec containers 0 command 2 |
        sed "s|scenarios/chat-8k.yaml|small.yaml|; s|concurrency=1..256\\*2|concurrency=1..4|; s|context=1k..128k\\*2|context=100,400|"
}

mkdir bin
ln -s "$kvsim" bin/kvsim
PATH=$PWD/bin:$PATH
job=$source_tree/examples/kubernetes-job.yaml
command_of kubernetes-job.yaml >pod.sh
[ "$("$print_yaml" "$job" spec completionMode)" = Indexed ] || fault 'the Job is not indexed'
completions=$("$print_yaml" "$job" spec completions)
grep -q "/$completions\"" pod.sh || fault 'as many pods as shards'
for JOB_COMPLETION_INDEX in $(seq 0 $((completions - 1))); do
    export JOB_COMPLETION_INDEX
    expect 0 . sh -ec "$(cat pod.sh)"
done
expect 0 . sh -ec "$(cat pod.sh)" # a pod that is started again
command_of kubernetes-merge.yaml >merge.sh
expect 0 concurrency sh -ec "$(cat merge.sh)"
same results/kvsim.db 'Kubernetes indexed Job'

# What the manual pages say of shards is what the examples do.
grep -q 'slurm-array.sh' "$source_tree/docs/sweeps.md" || fault 'the documentation does not name the examples'
finish
