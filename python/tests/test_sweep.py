"""Sweeps: the folders of the command."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paceline
import pyarrow
import pyarrow.csv
import pytest
from conftest import TINY, files

OVER = {"cc.scheme": ["hpcc", "dcqcn"], "workload.incast.incast.size": ["100KB", "200KB"]}


def test_a_folder_is_that_of_the_command(command: Path) -> None:
    overs = [word for key, values in OVER.items() for word in ("--over", f"{key}={','.join(values)}")]
    subprocess.run(
        [command, "sweep", "incast-16", *overs, "--repeats", "2", "--set", "duration=1ms", "--out", "theirs"],
        check=True,
        capture_output=True,
    )
    sweep = paceline.sweep(
        "incast-16", over=OVER, repeats=2, set={"duration": "1ms"}, out="ours"
    )
    theirs, ours = files(Path("theirs")), files(Path("ours"))
    assert list(theirs) == list(ours) and len(ours) > 20
    for name in theirs:
        assert theirs[name] == ours[name], name
    assert sweep.complete and len(sweep) == 8 and sweep.failures == []
    assert sweep.report() == Path("ours/report.html").read_text()
    results = pyarrow.table(sweep.results)
    assert results.to_pydict() == pyarrow.csv.read_csv("ours/results.csv").to_pydict()
    points = pyarrow.table(sweep.points)
    assert points.column_names == pyarrow.csv.read_csv("ours/points.csv").column_names
    # One goes on where the other ended.
    again = paceline.sweep(
        "incast-16", over=OVER, repeats=2, set={"duration": "1ms"}, out="theirs"
    )
    assert again.results.to_dict() == sweep.results.to_dict()


def test_runs_of_a_sweep() -> None:
    told: list[paceline.Progress] = []
    sweep = paceline.sweep(TINY, over={"cc.hpcc.eta": [0.9, 0.95]}, keep="all", progress=told.append)
    assert sweep.folder == Path("results/tiny-sweep-1")
    assert sweep.results["cc.hpcc.eta"] == [0.9, 0.95]
    runs = [sweep.run(id) for id in sweep.results["id"]]
    assert ["eta = 0.9\n" in run.scenario for run in runs] == [True, False]
    assert len(runs[0].series["queue_bytes"]) > 0
    assert (told[-1].runs, told[-1].done, told[-1].fraction) == (2, 2, 1.0)
    assert "2 of 2 runs finished" in repr(sweep) and "eta" in str(sweep)
    with pytest.raises(paceline.ArgumentError, match="there is no finished run `x`"):
        sweep.run("x")


def test_named_cases_and_keys_in_step() -> None:
    cases = {"steep": {"cc.hpcc.eta": 0.9, "network.mtu": "500B"}, "as it is": {}}
    sweep = paceline.sweep(TINY, over={"case": cases}, out="cases")
    assert sweep.results["case"] == ["steep", "as it is"]
    assert len(set(sweep.results["id"])) == 2
    step = {("cc.hpcc.eta", "network.mtu"): [(0.9, "500B"), (0.95, "1KB")]}
    in_step = paceline.sweep(TINY, over=step, out="step")
    assert in_step.results["cc.hpcc.eta,network.mtu"] == ["0.9/500B", "0.95/1KB"]
    assert in_step.results["id"][0] == sweep.results["id"][0]


def test_the_folder_of_a_sweep_is_a_sweep() -> None:
    over = {"cc.hpcc.eta": [0.9, 0.95]}
    first = paceline.sweep(TINY, over=over, out="first")
    again = paceline.sweep("first", out="again")
    assert again.results.to_dict() == first.results.to_dict()
    with ThreadPoolExecutor(2) as pool:
        paceline.sweep("first", out="sent", executor=pool)
    results = [Path(folder, "results.csv").read_bytes() for folder in ("first", "again", "sent")]
    assert results[0] == results[1] == results[2]
    more = paceline.sweep("first", repeats=2, over={"cc.hpcc.eta": [0.97]}, out="more")
    assert more.results["cc.hpcc.eta"] == [0.97, 0.97]
    Path("empty").mkdir()
    with pytest.raises(paceline.ScenarioError, match="a folder without a scenario"):
        paceline.sweep("empty", repeats=2)


def test_shards_are_parts() -> None:
    over = {"cc.hpcc.eta": [0.9, 0.95, 0.97]}
    first = paceline.sweep(TINY, over=over, shard="1/2", out="sweep")
    assert not first.complete
    assert paceline.sweep(TINY, over=over, shard="2/2", out="sweep").complete


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({}, "there is nothing to sweep: "),
        ({"over": {"cc.hpcc.eta": [0.9]}, "keep": "some"}, "keep: expected `summary` or `all`, found `some`"),
        ({"over": {"cc.hpcc.eta": [0.9]}, "shard": "3/2"}, "shard: "),
    ],
)
def test_arguments_that_are_wrong(call: dict[str, object], words: str) -> None:
    with pytest.raises(paceline.ArgumentError) as error:
        paceline.sweep(TINY, **call)  # type: ignore[arg-type]
    assert str(error.value).startswith(words)
    with pytest.raises(paceline.ScenarioError, match="did you mean `eta`"):
        paceline.sweep(TINY, over={"cc.hpcc.etta": [0.9]})
