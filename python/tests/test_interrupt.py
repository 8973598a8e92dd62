"""Ctrl-C, and the interpreter's lock."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paceline
import pytest
from conftest import LONG, TINY

# From the signal to the exception: a fifth of a second, and more only where a machine has much else to do. Runs would
# take minutes.
PATIENCE_S = 5.0


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """A process that was started in the background may have been told not to hear Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(call: Callable[[], Any], after_s: float = 0.5) -> float:
    """Sends the signal of Ctrl-C while `call` works; says how long it took to hear it."""
    sent = []

    def send() -> None:
        time.sleep(after_s)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    heard = time.monotonic()
    thread.join()
    return heard - sent[0]


def test_a_run_hears_ctrl_c() -> None:
    assert interrupted(lambda: paceline.run(LONG, out="run")) < PATIENCE_S
    # Nothing is left of it, and the next one runs.
    assert not list(Path().iterdir())
    assert paceline.run(TINY, out="run").summary["flows"]["completed"] == 3


def test_a_run_on_threads_hears_ctrl_c() -> None:
    set = {"duration": "1s", "workload.0.permutation.size": "1GB"}
    assert interrupted(lambda: paceline.run("permutation-k8", set=set, threads=2)) < PATIENCE_S


def test_reading_a_scenario_hears_ctrl_c() -> None:
    # Some seconds of drawing flows before anything runs.
    many = {"label": "many", "poisson": {"load": 0.5, "sizes": [{"size": "100B", "share": 1.0}], "to": "40ms"}}
    scenario = {**TINY, "duration": "40ms", "workload": [many, {"permutation": {"size": "1KB"}}]}
    assert interrupted(lambda: paceline.check(scenario), after_s=0.2) < PATIENCE_S


def test_a_sweep_goes_on_after_ctrl_c() -> None:
    def sweep(progress: Callable[[paceline.Progress], Any] | None = None) -> paceline.Sweep:
        sizes = ["10KB", "20KB", "30KB", "400GB"]
        over = {"workload.incast.incast.size": sizes}
        return paceline.sweep(LONG, over=over, out="sweep", jobs=1, progress=progress)

    assert interrupted(sweep, after_s=1.0) < PATIENCE_S
    rows = list(Path("sweep/rows").iterdir())
    assert len(rows) == 3
    written = {row: row.stat().st_mtime_ns for row in rows}
    # What is there is not run again; the last is ended by hand.
    part = sweep(lambda now: now.events < 100_000)
    assert not part.complete and len(part.results) == 4
    assert part.results["status"] == ["completed"] * 3 + ["missing"]
    assert {row: row.stat().st_mtime_ns for row in rows} == written


def test_others_work_meanwhile() -> None:
    """A run holds no lock: a loop in Python goes on, and so do runs in other threads."""
    steps = 0
    done = threading.Event()

    def count() -> None:
        nonlocal steps
        while not done.is_set():
            steps += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    runs: list[paceline.Run] = []
    others = [threading.Thread(target=lambda: runs.append(paceline.run("incast-20"))) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    done.set()
    thread.join()
    assert len({run.summary["digest"] for run in runs}) == 1
    assert steps > 20
