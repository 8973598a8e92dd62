"""What several tests need."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What measures the machine, not the run.
MACHINE = ["wall_s", "cpu_s", "packet_hops_per_s", "peak_rss_bytes"]

# Three flows to one host: done within milliseconds.
TINY: dict[str, Any] = {
    "name": "tiny",
    "duration": "1ms",
    "topology": {"star": {"hosts": 4, "rate": "100Gbps", "delay": "1us"}},
    "workload": [
        {"label": "incast", "incast": {"fan-in": 3, "receiver": 4, "size": "50KB"}}
    ],
    "cc": {"scheme": "hpcc"},
    "record": {"queue": "1us", "rates": "10us"},
}

# Two flows that have work for minutes.
LONG: dict[str, Any] = {
    **TINY,
    "name": "long",
    "duration": "100s",
    "workload": [
        {"label": "incast", "incast": {"fan-in": 2, "receiver": 4, "size": "1000GB"}}
    ],
    "record": {"accounts": "off"},
}


@pytest.fixture(scope="session")
def command() -> Path:
    """The command, of the same sources: that of PACELINE_COMMAND, or one that is built now."""
    if built := os.environ.get("PACELINE_COMMAND"):
        return Path(built)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    return ROOT / target / "release" / "paceline"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that are put in no special place go into a folder of the test."""
    monkeypatch.chdir(tmp_path)


def files(folder: Path) -> dict[str, Any]:
    """Every file of a folder, without what measures the machine."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = content(path)
    return found


def content(path: Path) -> Any:
    data = path.read_bytes()
    if path.suffix != ".json":
        return data
    return without_machine(json.loads(data))


def without_machine(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_machine(one)
            for key, one in value.items()
            if key not in MACHINE
        }
    if isinstance(value, list):
        return [without_machine(one) for one in value]
    return value
