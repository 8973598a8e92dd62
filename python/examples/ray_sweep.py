"""A sweep on Ray: each task runs a part of it, and its folder is that of `paceline sweep`.

`python ray_sweep.py` starts a Ray of two workers on this machine. On a cluster (`RAY_ADDRESS=auto python ray_sweep.py`)
the folder has to be one that all nodes see. What is finished there is not run again: a task that died is started again by
Ray, a sweep that was interrupted goes on with the same call, and so it does with `paceline sweep` and `paceline merge`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import paceline
import ray


@ray.remote  # type: ignore[untyped-decorator, unused-ignore]
def part(scenario: Any, keywords: dict[str, Any], shard: str) -> str:
    """One run after another on the processor that Ray has set aside for the task."""
    paceline.sweep(scenario, **keywords, shard=shard, jobs=1)
    return shard


def sweep(scenario: Any, *, out: Path, parts: int, **keywords: Any) -> paceline.Sweep:
    """As `paceline.sweep`, in so many tasks: a few for each processor, so that all have work to the end."""
    # Workers have folders of their own, so names of files have to be whole.
    keywords["out"] = out.resolve()
    waiting = [part.remote(scenario, keywords, f"{number}/{parts}") for number in range(1, parts + 1)]
    while waiting:
        done, waiting = ray.wait(waiting)
        print("done:", *ray.get(done))
    # Nothing is left to run; this writes the tables and the page.
    return paceline.sweep(scenario, **keywords)


def main() -> None:
    if "RAY_ADDRESS" in os.environ:
        ray.init()
    else:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    over = {"cc.scheme": ["hpcc", "dcqcn", "timely"], "workload.incast.incast.size": ["20KB", "100KB", "500KB"]}
    found = sweep("incast-16", over=over, repeats=2, out=Path("incast-on-ray"), parts=6)
    print(found)
    ray.shutdown()


if __name__ == "__main__":
    main()
