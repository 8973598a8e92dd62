"""What goes wrong is an exception with the command's words."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import paceline
import pytest
from conftest import TINY
from paceline import _native


def told(command: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([command, *words], capture_output=True, text=True)
    lines = [line.removeprefix("error: ") for line in done.stderr.splitlines()]
    return done.returncode, "\n".join(lines)


WRONG = """
duration = "1ms"
[topology.star]
hosts = 4
rte = "100Gbps"
[[workload]]
incast = { fan-in = 3, receiver = 4, szie = "50KB" }
[cc]
scheme = "hpcc"
"""


def test_a_scenario_that_is_wrong(command: Path) -> None:
    Path("mine.toml").write_text(WRONG)
    for name in ["mine.toml", "incast-61", "nothing/here.toml"]:
        status, text = told(command, "run", name)
        with pytest.raises(paceline.ScenarioError) as error:
            paceline.run(name)
        assert (status, text) == (2, str(error.value)), name
    with pytest.raises(paceline.ScenarioError, match=r"mine.toml:5:1: .*did you mean `rate`") as error:
        paceline.check("mine.toml")
    assert error.value.problems == [str(error.value)]
    assert isinstance(error.value, (ValueError, paceline.PacelineError))
    # Processes hand exceptions on as bytes.
    again = pickle.loads(pickle.dumps(error.value))
    assert again.problems == error.value.problems and str(again) == str(error.value)


def test_of_many_problems_the_first_are_told() -> None:
    error = paceline.ScenarioError([f"problem {i}" for i in range(25)])
    assert str(error).splitlines()[-2:] == ["problem 19", "and 5 more errors"]


def test_settings_that_are_wrong(command: Path) -> None:
    wrong: list[tuple[dict[str, Any], list[str]]] = [
        ({"cc.hpcc.eta": "high"}, ["--set", "cc.hpcc.eta=high"]),
        ({"cc.hpcc.etta": 0.9}, ["--set", "cc.hpcc.etta=0.9"]),
        ({"duration": 7}, ["--set", "duration=7"]),
    ]
    for set, words in wrong:
        status, text = told(command, "run", "incast-16", *words)
        with pytest.raises(paceline.ScenarioError) as error:
            paceline.run("incast-16", set=set)
        assert (status, text) == (2, str(error.value))
    status, text = told(command, "run", "incast-16", "--scheme", "hpc")
    with pytest.raises(paceline.ScenarioError) as error:
        paceline.run("incast-16", scheme="hpc")
    assert (status, text) == (2, str(error.value))


def test_a_dict_that_is_wrong() -> None:
    with pytest.raises(paceline.ScenarioError, match=r"scenario:\d+:\d+: .*`hosst`"):
        paceline.check({**TINY, "topology": {"star": {"hosst": 4}}})
    for value in [None, float("nan"), {1, 2}, object()]:
        with pytest.raises(paceline.ArgumentError, match="expected texts, numbers"):
            paceline.check({**TINY, "duration": value})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"scenario": 7}, "expected a path, the name of a built-in scenario, or a dict, found a value of type `int`"),
        ({"scenario": TINY, "duration": "long"}, "duration: "),
        ({"scenario": TINY, "fidelity": "real"}, "fidelity: unknown fidelity `real`"),
    ],
)
def test_arguments_that_are_wrong(call: dict[str, Any], words: str) -> None:
    with pytest.raises(paceline.ArgumentError) as error:
        paceline.run(**call)
    assert str(error.value).startswith(words)


def test_a_folder_that_is_there(command: Path) -> None:
    paceline.run(TINY, out="run")
    status, text = told(command, "run", "incast-16", "--out", "run")
    with pytest.raises(paceline.ArgumentError) as error:
        paceline.run("incast-16", out="run")
    assert (status, text) == (2, str(error.value))
    assert paceline.read("run").name == "tiny"
    paceline.run("incast-16", out="run", force=True)
    assert paceline.read("run").name == "incast-16"
    with pytest.raises(paceline.ArgumentError, match="there is no folder nowhere"):
        paceline.read("nowhere")


def test_a_folder_that_cannot_be_written() -> None:
    Path("file").touch()
    with pytest.raises(paceline.PacelineError, match="file"):
        paceline.run(TINY, out="file/run")


def test_a_panic_is_an_exception(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(paceline.InternalError) as error:
        _native._fault("bytes in are not bytes out")
    text = str(error.value)
    assert "bytes in are not bytes out (at python/src/failure.rs" in text
    assert f"internal error in paceline {paceline.__version__}" in text
    assert capfd.readouterr() == ("", "")
    # The process lives.
    assert paceline.run(TINY).summary["flows"]["completed"] == 3
