#!/bin/sh
# A doctoral student compares thresholds of ECN, and needs a figure and a table for a paper.
set -eu

# Two settings of three parameters each, under two schemes, with three seeds. A case sets several keys at once.
cat > thresholds.toml <<'TOML'
name = "thresholds"
description = "8-to-1 incast: thresholds of ECN"
[topology.star]
hosts = 9
[[workload]]
label = "incast"
start-jitter = "10us"
incast = { fan-in = 8, receiver = 9, size = "200KB" }
[cc]
scheme = "dcqcn"
[network.ecn]
reference-rate = "100Gbps"

[sweep]
repeats = 3
[sweep.cc]
scheme = ["dcqcn", "dctcp"]
[[sweep.case]]
label = "shallow"
network.ecn = { kmin = "20KB", kmax = "200KB", pmax = 0.1 }
[[sweep.case]]
label = "deep"
network.ecn = { kmin = "400KB", kmax = "1.6MB", pmax = 0.2 }
TOML
paceline sweep thresholds.toml --out results/thresholds

# A figure, its recipe, and a table for LaTeX.
mkdir -p paper
paceline plot results/thresholds --what fct_slowdown.p99 --over case --names dcqcn=DCQCN,dctcp=DCTCP \
  -o paper/slowdown.pdf --save paper/slowdown.toml
paceline table results/thresholds --what fct_slowdown.mean,fct_slowdown.p99,queue_bytes.max \
  --names dcqcn=DCQCN,dctcp=DCTCP -o paper/thresholds.tex --caption "Thresholds of ECN" --label tab:ecn

# The recipe draws the same bytes again.
paceline plot --from paper/slowdown.toml -o paper/again.pdf
cmp paper/slowdown.pdf paper/again.pdf

# The same sweep as a folder for a colleague: `paceline reproduce colleague` runs it.
paceline sweep thresholds.toml --save-experiment colleague
paceline reproduce --check colleague
