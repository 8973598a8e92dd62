#!/bin/sh
# An operator of an AI cluster asks which scheme suits a training job, and what a failing link costs.
set -eu

# An all-reduce over four leaves, two iterations.
paceline compare hierarchical-all-reduce --schemes dcqcn,hpcc --out results/ring

# What made its flows slow, and who waits where.
paceline why results/ring/dcqcn --top 3

# Links that fail during the run: what flows lose, and for how long.
paceline run pfc-storm --out results/storm --force
paceline why results/storm --top 3

# Before and after a change, on one page.
paceline diff results/ring/dcqcn results/ring/hpcc
paceline report results/ring/dcqcn results/ring/hpcc --names dcqcn=before,hpcc=after -o before-after.html
