"""What is built in, and whether a scenario is right."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import paceline
import pytest
from conftest import TINY


def test_lists_are_those_of_the_command(command: Path) -> None:
    for kind, ours in [("schemes", paceline.schemes()), ("scenarios", paceline.scenarios())]:
        told = subprocess.run([command, "list", kind, "--json"], check=True, capture_output=True)
        assert json.loads(told.stdout) == ours
    assert {"hpcc", "dcqcn"} <= {scheme["name"] for scheme in paceline.schemes()}


def test_pages_are_those_of_the_command(command: Path) -> None:
    for name in ["dcqcn", "network.ecn", "incast-16"]:
        told = subprocess.run([command, "explain", name], check=True, capture_output=True, text=True)
        assert told.stdout == paceline.explain(name)
    told = subprocess.run([command, "explain", "dcqnc"], capture_output=True, text=True)
    with pytest.raises(paceline.ArgumentError) as error:
        paceline.explain("dcqnc")
    assert told.stderr == f"error: {error.value}\n"


def test_a_scenario_is_checked() -> None:
    told = paceline.check(TINY, scheme="dcqcn", seed=4)
    expected = {"name": "tiny", "scheme": "dcqcn", "seed": 4, "hosts": 4, "flows": 3, "duration_s": 0.001}
    assert {key: told[key] for key in expected} == expected
    assert told["warnings"] == []
    # What is odd is told: the command says it before it runs.
    Path("resolved.toml").write_text(told["scenario"])
    assert paceline.check("resolved.toml")["scenario"] == told["scenario"]
