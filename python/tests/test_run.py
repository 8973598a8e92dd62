"""Runs: the command's, and what Python sees of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import paceline
import pytest
from conftest import LONG, TINY, files


def test_a_folder_is_that_of_the_command(command: Path) -> None:
    subprocess.run(
        [command, "run", "incast-16", *"--scheme dcqcn --set cc.dcqcn.rate-ai=40Mbps --seed 3 --out theirs".split()],
        check=True,
        capture_output=True,
    )
    run = paceline.run(
        "incast-16", scheme="dcqcn", set={"cc.dcqcn.rate-ai": "40Mbps"}, seed=3, out="ours"
    )
    theirs, ours = files(Path("theirs")), files(Path("ours"))
    assert list(theirs) == list(ours) and len(ours) > 8
    for name in theirs:
        assert theirs[name] == ours[name], name
    assert run.folder == Path("ours")
    # What was kept in memory and is written later is the same, too.
    later = paceline.run("incast-16", scheme="dcqcn", set={"cc.dcqcn.rate-ai": "40Mbps"}, seed=3)
    assert later.folder is None
    assert later.save("later") == Path("later")
    assert files(Path("later")) == ours
    # So is the page.
    assert later.report() == run.report() == Path("ours/report.html").read_text()


def test_what_is_read_is_what_was_run() -> None:
    run = paceline.run(TINY, out="run")
    again = paceline.read("run")
    assert again.summary == run.summary
    assert again.flows.to_dict() == run.flows.to_dict()
    assert again.series.keys() == run.series.keys()
    for name in run.series:
        assert again.series[name].to_dict() == run.series[name].to_dict()
    assert again.scenario == run.scenario and again.report() == run.report()
    assert (run.name, run.scheme, run.seed, run.partial) == ("tiny", "hpcc", 1, False)
    # The resolved scenario is a scenario.
    assert paceline.run("run").summary["digest"] == run.summary["digest"]


def test_jobs_are_numbers_by_their_labels() -> None:
    scenario = {
        "topology": {"star": {"hosts": 4}},
        "cc": {"scheme": "none"},
        "job": [
            {
                "label": "llm",
                "hosts": "1..4",
                "iterations": 2,
                "step": [{"compute": "20us", "all-reduce": {"size": "100KB"}}],
            }
        ],
    }
    run = paceline.run(scenario)
    (job,) = run.summary["jobs"]
    assert run.numbers["jobs.llm.iteration_us.mean"] == job["iteration_us"]["mean"]
    assert run.numbers["jobs.llm.exposed_us"] == job["exposed_us"]
    assert run.numbers["collectives.llm/all-reduce.busbw_gbps"] > 0
    assert run.numbers["fct_slowdown.mean"] == run.summary["fct_slowdown"]["mean"]


def test_who_made_whom_wait() -> None:
    assert paceline.run(TINY).blame is None
    run = paceline.run(TINY, set={"record.blame": "labels"}, out="blamed")
    assert run.blame is not None
    (matrix,) = run.blame["matrices"]
    total = sum(row["total_ps"] for row in matrix["rows"])
    rows = Path("blamed/blame.csv").read_text().splitlines()[1:]
    assert total == sum(int(row.rsplit(",", 1)[1]) for row in rows) > 0
    assert paceline.read("blamed").blame == run.blame


def test_threads_change_nothing() -> None:
    one, two = (paceline.run("permutation-k8", duration="50us", threads=n) for n in (1, 2))
    assert one.summary["digest"] == two.summary["digest"]


def test_a_run_shows_itself() -> None:
    run = paceline.run(TINY)
    assert repr(run) == "<paceline.Run of tiny under hpcc, seed 1: 3 of 3 flows completed>"
    assert "FCT slowdown" in str(run)
    page = run._repr_html_()
    assert page.startswith("<pre>") and len(page) < 10_000
    path = run.report("page.html")
    assert isinstance(path, Path) and path.read_text() == run.report()
    assert any("99th percentiles" in text for text in run.warnings)


def test_numbers_are_settings() -> None:
    settings = {"cc.hpcc.eta": 0.9, "record.pfc": True, "network.mtu": "1500B"}
    run = paceline.run(TINY, set=settings)
    assert "eta = 0.9" in run.scenario


def test_progress_is_told() -> None:
    told: list[paceline.Progress] = []
    run = paceline.run(TINY, set={"workload.incast.incast.size": "1MB"}, progress=told.append)
    last = told[-1]
    assert (last.runs, last.done, last.fraction) == (1, 1, 1.0)
    assert (last.events, last.packet_hops) == (run.summary["events"], run.summary["packet_hops"])


def test_progress_can_end_a_run() -> None:
    run = paceline.run(LONG, out="part", progress=lambda now: now.events < 100_000)
    assert run.partial and run.summary["status"] == "partial"
    assert paceline.read("part").summary == run.summary


def test_an_exception_of_progress_is_that_of_the_call() -> None:
    def fails(now: paceline.Progress) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        paceline.run(LONG, out="nothing", progress=fails)
    assert not Path("nothing").exists()
