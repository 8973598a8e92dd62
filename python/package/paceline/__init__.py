"""Exact, deterministic simulation of congestion management in lossless data-centre networks.

>>> import paceline
>>> run = paceline.run("incast-16", scheme="dcqcn")
>>> run.summary["fct_slowdown"]["p99"]
"""

import atexit

from ._native import (
    Comparison,
    Progress,
    Run,
    Sweep,
    Table,
    Why,
    __version__,
    _abandon,
    check,
    compare,
    explain,
    read,
    run,
    scenarios,
    schemes,
    sweep,
    why,
)
from .errors import ArgumentError, InternalError, PacelineError, RunError, ScenarioError

__all__ = [
    "ArgumentError",
    "Comparison",
    "InternalError",
    "PacelineError",
    "Progress",
    "Run",
    "RunError",
    "ScenarioError",
    "Sweep",
    "Table",
    "Why",
    "__version__",
    "check",
    "compare",
    "explain",
    "read",
    "run",
    "scenarios",
    "schemes",
    "sweep",
    "why",
]

# What a call was writing when the interpreter ends is not left behind.
atexit.register(_abandon)
