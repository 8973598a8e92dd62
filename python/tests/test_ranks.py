"""One network on several ranks: the files of one process, and a message where it cannot be."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import files

# Flows between all hosts, and records of everything that parts share.
WIDE = """
name = "wide"
duration = "400us"
topology.fat-tree.k = 4
cc.scheme = "hpcc"
record = { queue = "2us", rates = "10us", ports = "5us", latency = true, accounts = "all" }
[[workload]]
label = "others"
poisson = { load = 0.5, sizes = "fb-hadoop", to = "150us" }
[[workload]]
label = "incast"
incast = { fan-in = 8, receiver = 15, size = "60KB" }
"""
# Flows that have work for hours.
ENDLESS = """
name = "endless"
duration = "100s"
topology.fat-tree.k = 4
cc.scheme = "hpcc"
record.accounts = "off"
[[workload]]
label = "all"
permutation = { size = "1000GB" }
"""
# One switch, which nothing can cut.
STAR = """
name = "star"
duration = "1ms"
topology.star.hosts = 4
cc.scheme = "hpcc"
[[workload]]
label = "incast"
incast = { fan-in = 3, receiver = 4, size = "50KB" }
"""

OPEN_MPI = ["--allow-run-as-root", "--oversubscribe"]


def launchers() -> list[list[str]]:
    """The launchers of this machine: the one next to this Python, and those of the system."""
    own = Path(sys.executable).parent / "mpirun"
    found = [[str(own)]] if own.exists() else []
    for name, options in [("mpirun.mpich", []), ("mpirun.openmpi", OPEN_MPI)]:
        if path := shutil.which(name):
            found.append([path, *options])
    return found


pytestmark = pytest.mark.skipif(not launchers(), reason="there is no mpirun: pip install mpich")


def write(scenario: str, name: str = "run.toml") -> str:
    Path(name).write_text(scenario)
    return name


def run(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
    words = [str(arg) for arg in args]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("error:")]


@pytest.mark.parametrize("launcher", launchers(), ids=lambda words: Path(words[0]).name)
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_write_the_files_of_one_process(command: Path, launcher: list[str], ranks: int) -> None:
    scenario = write(WIDE)
    for scheme in ["hpcc", "dcqcn", "swift", "timely"]:
        args = ["run", scenario, "--scheme", scheme, "--quiet", "--out"]
        assert run(command, *args, f"one-{scheme}").returncode == 0
        done = run(*launcher, "-n", ranks, command, *args, f"many-{scheme}")
        assert done.returncode == 0, done.stderr
        assert files(Path(f"many-{scheme}")) == files(Path(f"one-{scheme}"))


def test_threads_within_ranks(command: Path) -> None:
    args = ["run", write(WIDE), "--quiet", "--out"]
    assert run(command, *args, "one").returncode == 0
    done = run(*launchers()[0], "-n", 2, command, *args, "many", "--threads", 2)
    assert done.returncode == 0, done.stderr
    # The number of threads is a setting of the run.
    one, many = files(Path("one")), files(Path("many"))
    assert one.keys() == many.keys()
    assert [name for name in one if one[name] != many[name]] in ([], ["scenario.toml"])


def test_results_that_are_there_are_shown(command: Path) -> None:
    args = ["run", write(WIDE), "--quiet", "--out", "there"]
    first = run(*launchers()[0], "-n", 2, command, *args)
    again = run(*launchers()[0], "-n", 2, command, *args)
    assert (first.returncode, again.returncode) == (0, 0), again.stderr
    assert first.stdout == again.stdout


@pytest.mark.parametrize("launcher", launchers(), ids=lambda words: Path(words[0]).name)
def test_what_is_refused(command: Path, launcher: list[str]) -> None:
    refused: list[tuple[str, list[object]]] = [
        ("no cut of this network", [2, command, "run", write(STAR, "star.toml"), "--out", "star"]),
        ("as many parts as there are ranks", [40, command, "run", write(WIDE), "--out", "wide"]),
        ("unknown key", [2, command, "run", write("durations = 1\n" + STAR, "wrong.toml"), "--out", "wrong"]),
        ("unexpected argument '--nonsense'", [2, command, "run", "incast-16", "--nonsense"]),
        ("would all do the same", [2, command, "compare", "incast-16", "--schemes", "hpcc", "--out", "compared"]),
    ]
    for what, args in refused:
        done = run(*launcher, "-n", *args)
        assert done.returncode == 2, (what, done.stdout, done.stderr)
        assert len(errors(done)) == 1 and what in errors(done)[0], done.stderr
    assert not any(Path(name).exists() for name in ["star", "wide", "wrong", "compared"])


def test_ranks_with_different_scenarios(command: Path) -> None:
    script = Path("each.sh")
    script.write_text(f'exec "{command}" run run.toml --out out --quiet --seed "$((${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} + 1))"\n')
    write(WIDE)
    done = run(*launchers()[0], "-n", 3, "sh", script)
    assert done.returncode == 2
    assert len(errors(done)) == 1 and "rank 1 has another scenario" in errors(done)[0], done.stderr
    assert not Path("out").exists()
    # Each alone, if that is what was meant.
    script.write_text(script.read_text().replace("--out out", '--out "out-$PMI_RANK$OMPI_COMM_WORLD_RANK"'))
    done = run(*launchers()[0], "-n", 2, "sh", script, env={**os.environ, "PACELINE_MPI": "off"})
    assert done.returncode == 0, done.stderr
    assert Path("out-0").exists() and Path("out-1").exists()


def started(launcher: list[str], command: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A run that has work for hours, and the processes of its ranks, once they simulate."""
    args = [*launcher, "-n", "2", str(command), "run", write(ENDLESS), "--out", "out"]
    launched = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        ranks = [process for process in processes() if words(process)[:2] == [str(command), "run"]]
        busy = [rank for rank in ranks if seconds(rank) > 0.3]
        if len(busy) == 2:
            return launched, busy
        time.sleep(0.05)
    launched.kill()
    raise AssertionError("the ranks do not run")


def processes() -> list[int]:
    return sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def words(process: int) -> list[str]:
    """Command line of a process of this test's folder."""
    try:
        if Path(f"/proc/{process}/cwd").readlink() != Path.cwd():
            return []
        return Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return []


def seconds(process: int) -> float:
    """Processor time of a process."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("launcher", launchers(), ids=lambda words: Path(words[0]).name)
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_ends_all(command: Path, launcher: list[str], victim: int) -> None:
    launched, ranks = started(launcher, command)
    killed = time.monotonic()
    os.kill(ranks[victim], signal.SIGKILL)
    launched.communicate(timeout=20)
    assert launched.returncode != 0
    while any(Path(f"/proc/{rank}").exists() for rank in ranks):
        assert time.monotonic() - killed < 5
        time.sleep(0.01)
    assert not Path("out").exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_is_told_to_stop_stops_all(command: Path, victim: int) -> None:
    launched, ranks = started(launchers()[0], command)
    os.kill(ranks[victim], signal.SIGTERM)
    _, said = launched.communicate(timeout=60)
    assert launched.returncode == 130, said
    assert json.loads(Path("out/summary.json").read_text())["status"] == "partial"
