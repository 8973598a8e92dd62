"""An executor on Ray, for `paceline.sweep(.., executor=RayExecutor())`.

`python ray_executor.py` starts a Ray of two workers on this machine; `RAY_ADDRESS=auto python ray_executor.py` uses a
cluster. Every node needs the same version of Paceline. Without a folder that all nodes see, use `shared=False`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import paceline
import ray


class RayExecutor:
    """Each task is a task of Ray, which starts it again if its worker dies."""

    @property
    def num_workers(self) -> int:
        return int(ray.cluster_resources().get("CPU", 1))  # type: ignore[no-untyped-call, unused-ignore]

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return ray.remote(function).remote(*arguments).future()  # type: ignore[no-any-return, attr-defined, unused-ignore]


def main() -> None:
    if "RAY_ADDRESS" in os.environ:
        ray.init()
    else:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    over = {"cc.scheme": ["hpcc", "dcqcn", "timely"], "workload.incast.incast.size": ["20KB", "100KB", "500KB"]}
    print(paceline.sweep("incast-16", over=over, repeats=2, out="incast-on-ray", executor=RayExecutor(), shared=False))
    ray.shutdown()


if __name__ == "__main__":
    main()
