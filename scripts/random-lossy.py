#!/usr/bin/env python3
"""Runs random lossy networks under --check until so many events have passed: trimming, every load balancer, failing links.

    cargo install --path crates/cli
    scripts/random-lossy.py [EVENTS] [SEED]

Prints what was met, and each scenario whose run failed or left flows unfinished."""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

BALANCERS = ["spray", "adaptive", "oblivious", "bitmap", "reps", "mixed", "flowlet"]
SCHEMES = ["nscc", "rccc", "nscc-rccc", "dcqcn", "dctcp", "swift", "none"]
MET = ["trimmed", "link_drops", "buffer_drops", "timeouts"]


def scenario(draw: random.Random) -> str:
    leaves, spines, hosts = draw.choice([2, 4, 8]), draw.choice([2, 4]), draw.choice([4, 8])
    count = leaves * hosts
    text = f"""name = "random"
duration = "60ms"
seed = {draw.randrange(1 << 30)}
[topology.leaf-spine]
leaves = {leaves}
spines = {spines}
hosts-per-leaf = {hosts}
rate = "{draw.choice([25, 100, 400])}Gbps"
delay = "{draw.choice([100, 500, 1000])}ns"
[[workload]]
permutation = {{ size = "{draw.choice([200, 1000, 3000])}KB" }}
[[workload]]
incast = {{ fan-in = {draw.randrange(2, count - 1)}, receiver = {draw.randrange(count)}, size = "{draw.choice([30, 300])}KB" }}
[network]
flow-control = "none"
recovery = "rud"
load-balancing = "{draw.choice(BALANCERS)}"
buffer = "{draw.choice([1, 2, 8])}MiB"
drop = {{ policy = "tail", packets = {draw.choice([30, 100, 300])}, trim = true }}
[cc]
scheme = "{draw.choice(SCHEMES)}"
"""
    for _ in range(draw.randrange(3)):
        ends = [count + draw.randrange(leaves), count + leaves + draw.randrange(spines)]
        at = draw.randrange(1, 200)
        text += f'[[network.failure]]\nnodes = {ends}\nat = "{at}us"\nuntil = "{at + draw.randrange(1, 300)}us"\n'
    return text


def main() -> None:
    wanted = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 2026)
    events, runs, bad, met = 0, 0, 0, dict.fromkeys(MET, 0)
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "random.toml"), Path(folder, "out")
        while events < wanted:
            source.write_text(scenario(draw))
            command = ["paceline", "run", str(source), "--check", "--quiet", "--force", "--out", str(out)]
            ran = subprocess.run(command, capture_output=True, text=True)
            summary = json.loads(Path(out, "summary.json").read_text()) if ran.returncode == 0 else None
            runs += 1
            if summary is None or summary["flows"]["completed"] != summary["flows"]["total"]:
                bad += 1
                print(source.read_text(), ran.stderr, sep="\n")
                continue
            events += summary["events"]
            for name in MET:
                met[name] += summary["counters"][name]
    print(f"{runs} networks, {events} events, {bad} broken; {met}")
    sys.exit(bad > 0)


main()
