#!/bin/sh
# Measures the speeds that README and the book print: our workloads, those of other simulators, and cost by flows and
# hosts. Takes some ten minutes on an idle machine of two cores, and writes book/src/data/speed.json and scale.json.
# usage: scripts/speed.sh [RUNS]
set -eu
cd "$(dirname "$0")/.."
runs=${1:-3}
data=book/src/data
ours=incast-20,fat320-hadoop30-2ms,permutation-k8-mtu1000,permutation-k16,permutation-k32,startup-k64
peers=days-e5,days-e6,unison-k8,uet-perm-1024,hpcc-320
cargo build --quiet --release
paceline=${CARGO_TARGET_DIR:-target}/release/paceline
processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
"$paceline" bench --json --runs "$runs" --only "$ours,$peers" >"$new/rows.json"
"$paceline" bench --json --runs "$runs" --only permutation-k16,fat320-hadoop30-2ms --threads 2 >"$new/threads.json"
"$paceline" bench --scale --json >"$new/scale.json"
{
    printf '{\n"processor": "%s",\n"cores": %s,\n"date": "%s",\n"rows": ' "$processor" "$(nproc)" "$(date +%F)"
    cat "$new/rows.json"
    printf ',\n"threads": '
    cat "$new/threads.json"
    printf '}\n'
} >"$new/speed.json"
mv "$new/speed.json" "$new/scale.json" "$data/"
UPDATE_BOOK=1 cargo test --quiet --package paceline --test it -- book::speed book::scale
UPDATE_BOOK=1 cargo test --quiet --package paceline --test it -- book::copies
