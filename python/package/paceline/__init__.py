"""Exact, deterministic simulation of congestion management in lossless data-centre networks.

>>> import paceline
>>> run = paceline.run("incast-16", scheme="dcqcn")
>>> run.summary["fct_slowdown"]["p99"]
"""

import atexit
from typing import TYPE_CHECKING, Any

from ._native import (
    Batch,
    Comparison,
    Environment,
    Progress,
    Rollout,
    Run,
    Sweep,
    Table,
    Why,
    __version__,
    _abandon,
    check,
    explain,
    read,
    run,
    scenarios,
    schemes,
    why,
)
from .errors import ArgumentError, InternalError, PacelineError, RunError, ScenarioError

from .policies import Policy, compare, decide, save_policy
from .registration import register as _register
from .sweeps import sweep

if TYPE_CHECKING:
    from .gym import Env, VectorEnv
    from .parallel import ParallelEnv

__all__ = [
    "ArgumentError",
    "Batch",
    "Comparison",
    "Env",
    "Environment",
    "InternalError",
    "PacelineError",
    "ParallelEnv",
    "Policy",
    "Progress",
    "Rollout",
    "Run",
    "RunError",
    "ScenarioError",
    "Sweep",
    "Table",
    "VectorEnv",
    "Why",
    "__version__",
    "check",
    "compare",
    "decide",
    "explain",
    "read",
    "run",
    "save_policy",
    "scenarios",
    "schemes",
    "sweep",
    "why",
]

_register()

# What a call was writing when the interpreter ends is not left behind.
atexit.register(_abandon)

# What needs packages that are there only if somebody wants them.
_OPTIONAL = {"Env": "gym", "VectorEnv": "gym", "ParallelEnv": "parallel"}


def __getattr__(name: str) -> Any:
    if name in _OPTIONAL:
        import importlib

        return getattr(importlib.import_module(f".{_OPTIONAL[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
