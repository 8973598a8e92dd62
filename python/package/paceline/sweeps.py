"""Sweeps, on this machine or on any executor."""

from __future__ import annotations

import os
from typing import Any, Callable, Literal, Optional, Union

from . import _executor, _native
from .errors import ArgumentError

_Path = Union[str, "os.PathLike[str]"]


def sweep(
    scenario: Union[_Path, dict[str, Any]],
    *,
    over: Optional[dict[Any, Any]] = None,
    repeats: Optional[int] = None,
    scheme: Optional[str] = None,
    set: Optional[dict[str, Any]] = None,
    seed: Optional[int] = None,
    duration: Optional[str] = None,
    fidelity: Optional[str] = None,
    threads: Optional[int] = None,
    out: Optional[_Path] = None,
    keep: Literal["summary", "all"] = "summary",
    jobs: Optional[int] = None,
    shard: Optional[str] = None,
    force: bool = False,
    executor: Any = None,
    shared: bool = True,
    progress: Optional[Callable[[_native.Progress], Any]] = None,
) -> _native.Sweep:
    """Run a grid of values, each with the same seeds. Finished runs are reused, so the same call resumes.

    `scenario` may be the folder of a sweep: it is done again, with what the other arguments name changed. The folder is
    that of `paceline sweep` with the same arguments: `out`, or results/NAME-sweep-SEED. `over` maps keys of the
    scenario to lists of values; a tuple of keys, which vary in step, to tuples; and `"case"` to a dict with the
    settings of each label. `repeats` is the number of consecutive seeds of each point. A run that fails is a row with
    its message, and one of `Sweep.failures`.

    Without `executor` the runs share this machine's cores, `jobs` at a time. With one, its workers make them: any
    `concurrent.futures.Executor`, such as `ProcessPoolExecutor(8)`, `client.get_executor()` of Dask, or
    `MPIPoolExecutor()` of mpi4py. A task is a block of runs of about 10 seconds by an estimate. `jobs` then counts threads
    that check the plan. `shared` says that workers see the folder under the same path; with `shared=False` their files
    come back as bytes, and this process writes them. The files are the same in all cases, except for measurements of
    the machine.

    `progress` is called with the `Progress` of all workers several times a second; if it returns `False`, no further
    block starts.

    Raises `ArgumentError` before anything is written if `executor` is none, `ScenarioError` if the scenario or a point
    is wrong, and `RunError` if runs are missing because workers died, the executor was closed, or a worker has another
    version. The message names missing runs. What is finished stays, and the next call makes the rest.
    """
    keywords: dict[str, Any] = {
        "over": over,
        "repeats": repeats,
        "scheme": scheme,
        "set": set,
        "seed": seed,
        "duration": duration,
        "fidelity": fidelity,
        "threads": threads,
        "out": out,
        "keep": keep,
        "jobs": jobs,
        "shard": shard,
        "force": force,
    }
    if executor is not None:
        return _executor.sweep(scenario, executor, shared, progress, **keywords)
    if not shared:
        raise ArgumentError("shared: without an executor there is only this machine; expected executor=..")
    return _native.sweep(scenario, **keywords, progress=progress)
