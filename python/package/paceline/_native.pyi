from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Union, final, overload

import numpy as np
import numpy.typing as npt
import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
import polars  # type: ignore[import-untyped, import-not-found, unused-ignore]
import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
from typing_extensions import TypeAlias

_Path: TypeAlias = Union[str, PathLike[str]]
_Scenario: TypeAlias = Union[_Path, dict[str, Any]]
_Told: TypeAlias = Callable[[Progress], Any]

__all__ = [
    "Batch",
    "Comparison",
    "_Dispatched",
    "Environment",
    "Progress",
    "Rollout",
    "Run",
    "Sweep",
    "Table",
    "Why",
    "__version__",
    "_abandon",
    "_block",
    "_fault",
    "check",
    "compare",
    "decide",
    "explain",
    "read",
    "run",
    "scenarios",
    "schemes",
    "sweep",
    "why",
]
__version__: str

@final
class Batch:
    """Agents that wait for actions, and their observations, one row each. The arrays are views of the run's memory."""

    @property
    def environments(self) -> npt.NDArray[np.uint32]: ...
    @property
    def agents(self) -> npt.NDArray[np.uint32]: ...
    @property
    def times(self) -> npt.NDArray[np.uint64]: ...
    @property
    def rewards(self) -> npt.NDArray[np.float32]: ...
    @property
    def observations(self) -> npt.NDArray[np.float32]: ...
    @property
    def left(self) -> list[tuple[int, int, bool]]: ...
    @property
    def over(self) -> list[int]: ...
    def __len__(self) -> int: ...

@final
class Rollout:
    """The actions of an episode."""

    @property
    def seed(self) -> int: ...
    @property
    def polls(self) -> npt.NDArray[np.uint32]: ...
    @property
    def agents(self) -> npt.NDArray[np.uint32]: ...
    @property
    def actions(self) -> npt.NDArray[np.float32]: ...
    def __len__(self) -> int: ...

@final
class Environment:
    """Parallel runs with external decisions, each with one episode after another."""

    def __new__(
        cls,
        scenario: _Scenario,
        *,
        scheme: str | None = None,
        set: dict[str, Any] | None = None,
        seed: int | None = None,
        duration: str | None = None,
        environments: int | None = None,
        num_envs: int | None = None,
        threads: int = 1,
        observation: Sequence[str] | Callable[[dict[str, npt.NDArray[np.float64]]], npt.ArrayLike] | None = None,
        history: int | None = None,
        action: str | None = None,
        step: float | None = None,
        reward: str | Callable[[dict[str, npt.NDArray[np.float64]]], npt.ArrayLike] | None = None,
        agents: str | None = None,
    ) -> Environment: ...
    @property
    def environments(self) -> int: ...
    @property
    def agents(self) -> list[int]: ...
    @property
    def observation(self) -> list[str]: ...
    @property
    def width(self) -> int: ...
    @property
    def bounds(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]: ...
    @property
    def reward_range(self) -> tuple[float, float]: ...
    def poll(self) -> Batch: ...
    def submit(self, actions: npt.ArrayLike) -> None: ...
    def submit_for(
        self, agents: npt.ArrayLike, actions: npt.ArrayLike, *, environment: int = 0
    ) -> None: ...
    def reset(self, *, environment: int | None = None, seed: int | None = None) -> None: ...
    def now(self, environment: int = 0) -> float: ...
    def finish(self, environment: int = 0, *, name: str = "external") -> Run: ...
    def rollout(self, environment: int = 0) -> Rollout: ...
    def replay(self, rollout: Rollout, *, set: dict[str, Any] | None = None) -> Run: ...
    def close(self) -> None: ...

@final
class Progress:
    """Progress of runs."""

    @property
    def runs(self) -> int: ...
    @property
    def done(self) -> int: ...
    @property
    def fraction(self) -> float: ...
    @property
    def simulated_s(self) -> float: ...
    @property
    def events(self) -> int: ...
    @property
    def packet_hops(self) -> int: ...

@final
class Table:
    """A table with Arrow's C stream interface, for `pandas`, `polars`, `pyarrow` and others."""

    @property
    def columns(self) -> list[str]: ...
    def to_dict(self) -> dict[str, list[Any]]: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_arrow(self) -> pyarrow.Table: ...
    def __getitem__(self, name: str, /) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Run:
    """A finished run."""

    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def numbers(self) -> dict[str, float]: ...
    @property
    def blame(self) -> dict[str, Any] | None: ...
    @property
    def tables(self) -> dict[str, Table]: ...
    @property
    def flows(self) -> Table: ...
    @property
    def series(self) -> dict[str, Table]: ...
    @property
    def folder(self) -> Path | None: ...
    @property
    def scenario(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def scheme(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def partial(self) -> bool: ...
    @property
    def warnings(self) -> list[str]: ...
    @overload
    def report(self, path: None = None) -> str: ...
    @overload
    def report(self, path: _Path) -> Path: ...
    def save(self, folder: _Path, *, force: bool = False) -> Path: ...
    def _repr_html_(self) -> str: ...

@final
class Comparison:
    """A comparison of schemes."""

    @property
    def runs(self) -> list[Run]: ...
    @property
    def data(self) -> Any: ...
    @property
    def folder(self) -> Path | None: ...
    @overload
    def report(self, path: None = None) -> str: ...
    @overload
    def report(self, path: _Path) -> Path: ...
    def __getitem__(self, scheme: str, /) -> Run: ...
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class Sweep:
    """A sweep, complete or partial."""

    @property
    def folder(self) -> Path: ...
    @property
    def plan(self) -> dict[str, Any]: ...
    @property
    def results(self) -> Table: ...
    @property
    def points(self) -> Table: ...
    @property
    def notes(self) -> list[dict[str, Any]]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def complete(self) -> bool: ...
    @property
    def failures(self) -> list[dict[str, Any]]: ...
    def run(self, id: str) -> Run: ...
    @overload
    def report(self, path: None = None) -> str: ...
    @overload
    def report(self, path: _Path) -> Path: ...
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class _Dispatched:
    """Sweep in progress whose runs are made by workers; for `paceline.sweep`."""

    def __new__(
        cls,
        scenario: _Scenario,
        *,
        over: dict[Any, Any] | None = None,
        repeats: int | None = None,
        scheme: str | None = None,
        set: dict[str, Any] | None = None,
        seed: int | None = None,
        duration: str | None = None,
        fidelity: str | None = None,
        threads: int | None = None,
        out: _Path | None = None,
        keep: Literal["summary", "all"] = "summary",
        jobs: int | None = None,
        shard: str | None = None,
        force: bool = False,
    ) -> _Dispatched: ...
    @property
    def errand(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    def counts(self) -> tuple[int, int]: ...
    def seconds_left(self) -> float: ...
    def take(self, seconds: float) -> tuple[str, int] | None: ...
    def accept(self, row: str, files: Sequence[tuple[str, bytes]]) -> None: ...
    def ended(self, block: str, ran: str) -> int: ...
    def missing(self) -> tuple[int, list[str]]: ...
    def progress(self, runs: int, done: int, events: int, packet_hops: int) -> Progress: ...
    def finish(self) -> Sweep: ...
    def close(self) -> None: ...

@final
class Why:
    """Breakdown of a flow's completion time."""

    @property
    def story(self) -> str: ...
    @property
    def data(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...

def run(
    scenario: _Scenario,
    *,
    scheme: str | None = None,
    set: dict[str, Any] | None = None,
    seed: int | None = None,
    duration: str | None = None,
    fidelity: str | None = None,
    threads: int | None = None,
    out: _Path | None = None,
    force: bool = False,
    progress: _Told | None = None,
) -> Run: ...
def compare(
    scenario: _Scenario,
    schemes: Sequence[str],
    *,
    repeats: int = 1,
    set: dict[str, Any] | None = None,
    seed: int | None = None,
    duration: str | None = None,
    fidelity: str | None = None,
    threads: int | None = None,
    out: _Path | None = None,
    jobs: int | None = None,
    force: bool = False,
    progress: _Told | None = None,
    _files: Sequence[tuple[str, str]] = ...,
    _acted: Sequence[Sequence[Run]] = ...,
) -> Comparison: ...
def sweep(
    scenario: _Scenario,
    *,
    over: dict[Any, Any] | None = None,
    repeats: int | None = None,
    scheme: str | None = None,
    set: dict[str, Any] | None = None,
    seed: int | None = None,
    duration: str | None = None,
    fidelity: str | None = None,
    threads: int | None = None,
    out: _Path | None = None,
    keep: Literal["summary", "all"] = "summary",
    jobs: int | None = None,
    shard: str | None = None,
    force: bool = False,
    progress: _Told | None = None,
) -> Sweep: ...
@overload
def why(
    run: Run | _Path,
    flow: int,
    *,
    top: int = 10,
    brief: bool = False,
    progress: _Told | None = None,
) -> Why: ...
@overload
def why(
    run: Run | _Path,
    flow: None = None,
    *,
    top: int = 10,
    brief: bool = False,
    progress: _Told | None = None,
) -> list[dict[str, Any]]: ...
def check(
    scenario: _Scenario,
    *,
    scheme: str | None = None,
    set: dict[str, Any] | None = None,
    seed: int | None = None,
    duration: str | None = None,
    fidelity: str | None = None,
    threads: int | None = None,
) -> dict[str, Any]: ...
def read(folder: _Path) -> Run: ...
def decide(
    policy: str, observations: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]: ...
def explain(name: str) -> str: ...
def schemes() -> list[dict[str, Any]]: ...
def scenarios() -> list[dict[str, Any]]: ...
def _abandon() -> None: ...
def _block(errand: str, block: str, folder: _Path, input: str | None = None) -> str: ...
def _fault(message: str) -> None: ...
