#!/bin/sh
# Somebody has more than one machine: the tasks of a sweep run anywhere, and their results are those of one machine.
set -eu

over='--over cc.scheme=hpcc,dctcp --over workload.0.incast.size=50KB,100KB'

# What a batch system gets: `sbatch job.sh` runs it.
paceline sweep incast-16 $over --print-slurm=2 > job.sh
grep -q '^#SBATCH --array=1-2' job.sh

# The same by hand: each task has a folder of its own, as on machines without a common disk.
paceline sweep incast-16 $over --shard 1/2 --out first -q
paceline sweep incast-16 $over --shard 2/2 --out second -q
paceline merge first second --out merged

# One machine: the same tables, but for measurements of the machine.
paceline sweep incast-16 $over --out alone -q
cmp merged/points.csv alone/points.csv || {
  # Points have no measurements of the machine.
  echo "the tables differ" >&2
  exit 1
}

# One network on the cores of one machine, or with `mpirun -n 4 paceline run ..` on several.
paceline run permutation-k8 --threads 2 --out results/two -q
