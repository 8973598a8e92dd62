#!/bin/sh
# Damages inputs of a reader for some seconds, guided by the code that they reach, and keeps those that reach new code in
# target/guided/corpus/TARGET. What breaks the reader stands in the working directory, as crash-*.
# usage: scripts/fuzz-guided.sh TARGET [SECONDS]
set -eu
[ $# -ge 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
export CARGO_TARGET_DIR="$root/target/guided"
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --quiet --manifest-path "$root/Cargo.toml" --package paceline-fuzz --features guided --target "$host"
exec "$CARGO_TARGET_DIR/$host/debug/paceline-fuzz" "$1" --guided "$CARGO_TARGET_DIR/corpus/$1" -- \
    "-max_total_time=${2:-60}" -rss_limit_mb=0
