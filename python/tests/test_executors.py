"""Sweeps on executors: the same files as in one process, whatever happens to workers."""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import paceline
import pytest
from conftest import LONG, TINY, files
from paceline import _executor

# Points with several seeds that matter, ones where they do not, and one that fails.
DRAWN: dict[str, Any] = {
    **TINY,
    "name": "drawn",
    "workload": [
        {"label": "incast", "incast": {"fan-in": 3, "receiver": 4, "size": "50KB"}},
        {"label": "others", "poisson": {"load": 0.2, "sizes": "fb-hadoop", "to": "200us"}},
    ],
}
OVER = {"cc.scheme": ["hpcc", "dcqcn"], "workload.others.poisson.load": [0.1, 0.2]}


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a run or two, so that there are many."""
    monkeypatch.setattr(_executor, "_BLOCK_S", 1e-6)
    monkeypatch.setattr(_executor, "_LEAST_S", 1e-6)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("small", [True, False])
def test_processes_write_the_folder_of_one(
    pool: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch, shared: bool, small: bool
) -> None:
    if small:
        shortened(monkeypatch)
    seen: list[paceline.Progress] = []
    sweep = paceline.sweep(
        DRAWN, over=OVER, repeats=3, out="many", executor=pool, shared=shared, progress=seen.append
    )
    alone = paceline.sweep(DRAWN, over=OVER, repeats=3, out="alone")
    assert files(Path("many")) == files(Path("alone"))
    assert (Path("many/results.csv")).read_bytes() == Path("alone/results.csv").read_bytes()
    assert sweep.complete and sweep.failures == [] and len(sweep) == 12
    assert sweep.warnings == alone.warnings
    last = seen[-1]
    assert (last.runs, last.done, last.fraction) == (12, 12, 1.0)
    assert last.packet_hops == sum(alone.results["packet_hops"])


def test_seeds_without_effect_run_once(pool: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    shortened(monkeypatch)
    blocks: list[int] = []

    class Counting:
        def submit(self, function: Callable[..., Any], errand: str, block: str) -> Future[Any]:
            blocks.append(sum(len(point["runs"]) for point in json.loads(block)))
            return pool.submit(function, errand, block)

    over = {"cc.hpcc.eta": [0.9, 0.95]}
    paceline.sweep(TINY, over=over, repeats=5, out="many", executor=Counting(), shared=False)
    paceline.sweep(TINY, over=over, repeats=5, out="alone")
    assert blocks == [1, 1]
    assert files(Path("many")) == files(Path("alone"))


def test_all_files_of_a_run_come_back_as_bytes(pool: ProcessPoolExecutor) -> None:
    over = {"cc.hpcc.eta": [0.9, 0.95]}
    paceline.sweep(TINY, over=over, keep="all", out="many", executor=pool, shared=False)
    paceline.sweep(TINY, over=over, keep="all", out="alone")
    assert files(Path("many")) == files(Path("alone"))


def test_a_scenario_in_a_file_goes_to_workers_elsewhere(tmp_path: Path) -> None:
    """Workers in another folder, which see neither the scenario nor the files that it names."""
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (inputs / "flows").mkdir()
    (inputs / "flows" / "mine.txt").write_text("3\n1 4 3 100 50000 0.0\n2 4 3 100 50000 0.0\n3 4 3 100 50000 0.00001\n")
    (inputs / "mine.toml").write_text(
        'duration = "1ms"\n[topology.star]\nhosts = 4\n[cc]\nscheme = "hpcc"\n[[workload]]\nfile = "flows/mine.txt"\n'
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=os.chdir, initargs=(str(elsewhere),)) as pool:
        for shared in (True, False):
            out = Path(f"many-{shared}")
            over = {"cc.hpcc.eta": [0.9, 0.95]}
            paceline.sweep(Path("inputs/mine.toml"), over=over, out=out, executor=pool, shared=shared)
            paceline.sweep(Path("inputs/mine.toml"), over=over, out="alone", force=True)
            assert files(out) == files(Path("alone"))


class Dying:
    """Runs a block, and kills its worker in the middle of the third."""

    def __init__(self, pool: ProcessPoolExecutor, wait: Callable[[], bool]) -> None:
        self.pool, self.wait, self.blocks = pool, wait, 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        self.blocks += 1
        future = self.pool.submit(function, *arguments)
        if self.blocks == 1:
            threading.Thread(target=self.kill).start()
        return future

    def kill(self) -> None:
        while not self.wait():
            time.sleep(0.01)
        os.kill(next(iter(self.pool._processes)), signal.SIGKILL)


@pytest.mark.parametrize("shared", [True, False])
def test_a_worker_that_is_killed_costs_only_its_block(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    shortened(monkeypatch)
    rows = Path("many/rows")
    over = {"workload.others.poisson.load": [0.1, 0.2, 0.3], "duration": ["1ms", "2ms"]}
    others = {"label": "others", "poisson": {"load": 0.2, "sizes": "fb-hadoop"}}
    scenario = {**DRAWN, "workload": [DRAWN["workload"][0], others]}

    def call(executor: Any) -> paceline.Sweep:
        return paceline.sweep(scenario, over=over, repeats=3, out="many", executor=executor, shared=shared)

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        dying = Dying(pool, lambda: rows.is_dir() and len(list(rows.glob("[!.]*"))) >= 2)
        with pytest.raises(paceline.RunError) as error:
            call(dying)
    message = str(error.value)
    found = len(list(rows.glob("[!.]*.json")))
    assert 2 <= found < 18
    assert message.startswith(f"{18 - found} of 18 runs are missing (workload.others.poisson.load=")
    assert "BrokenProcessPool" in message and message.endswith("; call again to make them") and "\n" not in message
    kept = {row: row.stat().st_mtime_ns for row in rows.glob("[!.]*.json")}
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        sweep = call(pool)
    assert sweep.complete
    assert {row: row.stat().st_mtime_ns for row in kept} == kept
    paceline.sweep(scenario, over=over, repeats=3, out="alone")
    assert Path("many/results.csv").read_bytes() == Path("alone/results.csv").read_bytes()
    assert files(Path("many")) == files(Path("alone"))


@pytest.mark.parametrize("shared", [True, False])
def test_tasks_that_run_twice_change_nothing(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    shortened(monkeypatch)

    class Twice:
        """Starts each task twice, and gives the result of one of them."""

        def __init__(self) -> None:
            self.pool = ThreadPoolExecutor(4)

        def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            both = [self.pool.submit(function, *arguments) for _ in range(2)]
            return both[1]

    twice = Twice()
    paceline.sweep(DRAWN, over=OVER, repeats=3, out="many", executor=twice, shared=shared)
    twice.pool.shutdown()
    paceline.sweep(DRAWN, over=OVER, repeats=3, out="alone")
    assert files(Path("many")) == files(Path("alone"))


def test_an_executor_that_is_closed_is_named_with_the_missing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    shortened(monkeypatch)

    class Closing:
        def __init__(self) -> None:
            self.pool, self.blocks = ThreadPoolExecutor(1), 0

        def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            self.blocks += 1
            if self.blocks == 3:
                self.pool.shutdown()
            return self.pool.submit(function, *arguments)

    over = {"cc.hpcc.eta": [0.9, 0.91, 0.92, 0.93]}
    with pytest.raises(paceline.RunError) as error:
        paceline.sweep(TINY, over=over, out="many", executor=Closing())
    assert str(error.value) == (
        "2 of 4 runs are missing (cc.hpcc.eta=0.92 seed 1; cc.hpcc.eta=0.93 seed 1): RuntimeError: cannot schedule new"
        " futures after shutdown; call again to make them"
    )
    assert paceline.sweep(TINY, over=over, out="many").complete


@pytest.mark.parametrize("shared", [True, False])
def test_another_version_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    class Older:
        """A worker with another version."""

        def submit(self, function: Callable[..., Any], errand: str, block: str) -> Future[Any]:
            done: Future[Any] = Future()
            changed = json.loads(errand)
            mine, changed["version"] = changed["version"], "9.9.9+00000000"
            try:
                done.set_result(function(json.dumps(changed), block))
            except BaseException as error:
                done.set_exception(error)
            assert mine == paceline.__version__
            return done

    with pytest.raises(paceline.RunError) as error:
        paceline.sweep(TINY, over={"cc.hpcc.eta": [0.9, 0.95]}, out="many", executor=Older(), shared=shared)
    assert f"has Paceline {paceline.__version__}, this sweep is by 9.9.9+00000000" in str(error.value)
    assert "\n" not in str(error.value) and not list(Path("many/rows").iterdir())


@pytest.mark.parametrize(
    ("executor", "words"),
    [
        (3, "expected a concurrent.futures.Executor, such as ProcessPoolExecutor(), found a value of type `int`"),
        (ProcessPoolExecutor, "expected an executor, found the class `ProcessPoolExecutor`: write ProcessPoolExecutor()"),
        ("dask", "expected a concurrent.futures.Executor, such as ProcessPoolExecutor(), found a value of type `str`"),
    ],
)
def test_what_is_no_executor_is_said_before_anything_is_written(executor: Any, words: str) -> None:
    with pytest.raises(paceline.ArgumentError) as error:
        paceline.sweep(TINY, over={"cc.hpcc.eta": [0.9, 0.95]}, executor=executor)
    assert str(error.value) == f"executor: {words}"
    assert not list(Path().iterdir())
    with pytest.raises(paceline.ArgumentError, match="shared: without an executor"):
        paceline.sweep(TINY, over={"cc.hpcc.eta": [0.9, 0.95]}, shared=False)


def test_ctrl_c_keeps_what_is_finished() -> None:
    """As at a terminal: the signal goes to the caller and to its workers."""
    script = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import paceline
from conftest import LONG
if __name__ == "__main__":
    sizes = ["10KB", "20KB", "30KB", "400GB"]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        from paceline import _executor
        _executor._BLOCK_S = _executor._LEAST_S = 1e-6
        paceline.sweep(LONG, over={"workload.incast.incast.size": sizes}, out="sweep", executor=pool)
"""
    Path("script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    child = subprocess.Popen(
        [sys.executable, "script.py"], env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    rows = Path("sweep/rows")
    deadline = time.monotonic() + 60
    while not (rows.is_dir() and len(list(rows.glob("[!.]*.json"))) == 3):
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGINT)
    assert "KeyboardInterrupt" in child.communicate(timeout=30)[1] and child.returncode != 0
    assert len(list(rows.glob("[!.]*.json"))) == 3 and not list(rows.glob(".*"))
    again = paceline.sweep(
        LONG,
        over={"workload.incast.incast.size": ["10KB", "20KB", "30KB", "400GB"]},
        out="sweep",
        progress=lambda now: now.events < 100_000,
    )
    assert again.results["status"] == ["completed"] * 3 + ["missing"]


def test_progress_that_answers_false_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shortened(monkeypatch)
    over = {"cc.hpcc.eta": [0.9 + number / 1000 for number in range(40)]}
    with ThreadPoolExecutor(1) as pool:
        part = paceline.sweep(TINY, over=over, out="many", executor=pool, progress=lambda now: now.done < 2)
    assert not part.complete
    assert paceline.sweep(TINY, over=over, out="many").complete


def test_dask(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
    ) as cluster, distributed.Client(cluster) as client:
        with pytest.raises(paceline.ArgumentError, match=r"write client.get_executor\(\)"):
            paceline.sweep(DRAWN, over=OVER, executor=client)
        for shared in (True, False):
            out = Path(f"many-{shared}")
            with client.get_executor() as executor:
                paceline.sweep(DRAWN, over=OVER, repeats=2, out=out, executor=executor, shared=shared)
    paceline.sweep(DRAWN, over=OVER, repeats=2, out="alone")
    for shared in (True, False):
        assert files(Path(f"many-{shared}")) == files(Path("alone"))


def test_mpi() -> None:
    """`mpi4py.futures` under the MPI that is installed, one caller and two workers."""
    pytest.importorskip("mpi4py")
    launcher = Path(sys.executable).parent / "mpiexec"
    if not launcher.is_file():
        pytest.skip("there is no mpiexec next to this Python")
    script = """
import paceline
from conftest import TINY
from test_executors import DRAWN, OVER
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    for shared in (True, False):
        with MPIPoolExecutor() as executor:
            paceline.sweep(DRAWN, over=OVER, repeats=2, out=f"many-{shared}", executor=executor, shared=shared)
"""
    Path("script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [launcher, "-n", "3", sys.executable, "-m", "mpi4py.futures", "script.py"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    paceline.sweep(DRAWN, over=OVER, repeats=2, out="alone")
    for shared in (True, False):
        assert files(Path(f"many-{shared}")) == files(Path("alone"))
