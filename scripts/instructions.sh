#!/bin/sh
# Instructions per packet-hop of the benchmarks' workloads, counted by valgrind: unlike times, the
# same on a busy machine. Building the network is not counted.
# usage: scripts/instructions.sh [WORKLOAD...]
set -eu
cd "$(dirname "$0")/.."
if ! command -v valgrind >/dev/null 2>&1; then
    echo "instructions.sh: valgrind is not installed; it is what counts instructions" >&2
    exit 1
fi
# What is counted is found by its name.
CARGO_PROFILE_RELEASE_STRIP=none cargo build --quiet --release --package paceline-fabric --package paceline-parity \
    --example packet_hops --example model_hops
examples=${CARGO_TARGET_DIR:-target}/release/examples
models=$("$examples/model_hops")
[ $# -gt 0 ] || set -- $("$examples/packet_hops") $models
log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf '%-26s %12s %12s %15s %9s %9s\n' workload packet-hops events instructions per-hop per-event
for workload in "$@"; do
    program=$examples/packet_hops
    for model in $models; do
        [ "$workload" != "$model" ] || program=$examples/model_hops
    done
    result=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" \
        --collect-atstart=no --toggle-collect='*workloads*simulate*' "$program" "$workload")
    instructions=$(sed -n 's/.*Collected *: *\([0-9]*\).*/\1/p' "$log")
    echo "$workload $result ${instructions:-0}" |
        awk '{ printf "%-26s %12d %12d %15d %9.1f %9.1f\n", $1, $2, $3, $4, $4 / $2, $4 / $3 }'
done
