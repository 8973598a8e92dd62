"""Comparisons, and where the time of flows went."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import paceline
import pytest
from conftest import LONG, TINY, files

SCHEMES = ["hpcc", "dcqcn"]


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ([], {}),
        # The seed changes nothing: one run of each scheme.
        (["--repeats", "3"], {"repeats": 3}),
        # It does: marks are drawn.
        (["--repeats", "2", "--set", "network.ecn.pmax=0.5"], {"repeats": 2, "set": {"network.ecn.pmax": 0.5}}),
    ],
)
def test_a_folder_is_that_of_the_command(command: Path, words: list[str], call: dict[str, object]) -> None:
    subprocess.run(
        [command, "compare", "incast-16", "--schemes", ",".join(SCHEMES), *words, "--out", "theirs"],
        check=True,
        capture_output=True,
    )
    ours = paceline.compare("incast-16", SCHEMES, out="ours", **call)  # type: ignore[arg-type]
    a, b = files(Path("theirs")), files(Path("ours"))
    assert list(a) == list(b) and len(b) > 20
    for name in a:
        assert a[name] == b[name], name
    assert json.loads(Path("ours/comparison.json").read_text()) == ours.data
    for run in ours.runs:
        assert run.folder is not None and paceline.read(run.folder).summary == run.summary


def test_schemes_side_by_side() -> None:
    told: list[paceline.Progress] = []
    both = paceline.compare(TINY, SCHEMES, progress=told.append)
    assert [run.scheme for run in both.runs] == SCHEMES and len(both) == 2
    assert both["dcqcn"].summary == both.runs[1].summary and both.folder is None
    assert both["hpcc"].flows["size_bytes"] == both["dcqcn"].flows["size_bytes"]
    assert (told[-1].runs, told[-1].done, told[-1].fraction) == (2, 2, 1.0)
    assert "FCT slowdown" in str(both) and str(both)[:20] in both._repr_html_()
    assert repr(both) == "<paceline.Comparison of 2 runs: hpcc, dcqcn>"
    assert both.report().startswith("<!")
    assert both["hpcc"].save("hpcc").is_dir()
    with pytest.raises(KeyError, match="there is no run under `timely`"):
        both["timely"]
    variants = ["dcqcn", "dcqcn:g=0.5"]
    assert [run.scheme for run in paceline.compare(TINY, variants).runs] == variants
    assert paceline.compare(TINY, "hpcc:eta=0.9,dcqcn")["hpcc:eta=0.9"].summary["scheme"] == "hpcc:eta=0.9"
    for schemes, words in [(["hpcc:etta=1"], "schemes: `hpcc:etta=1`: hpcc has no parameter `etta`"), (["hpc"], "schemes: "), (["hpcc", "hpcc"], "schemes: `hpcc` is named twice")]:
        with pytest.raises(paceline.ArgumentError) as error:
            paceline.compare(TINY, schemes)
        assert str(error.value).startswith(words)


def test_where_the_time_went(command: Path) -> None:
    run = paceline.run("incast-16", out="run")
    slow = paceline.why(run, top=3)
    told = subprocess.run([command, "why", "run", "--top", "3", "--json"], check=True, capture_output=True)
    assert json.loads(told.stdout) == slow and len(slow) == 3
    flow = slow[0]["flow"]["flow_id"]
    why = paceline.why("run", flow)
    told = subprocess.run([command, "why", "run", str(flow), "--json"], check=True, capture_output=True)
    assert json.loads(told.stdout) == why.data and why.data["deeper"]
    told = subprocess.run([command, "why", "run", str(flow)], check=True, capture_output=True)
    assert told.stdout.decode() == str(why) and why.story.startswith(f"Flow {flow} ")
    # A run without a folder tells the same.
    memory = paceline.run("incast-16")
    assert paceline.why(memory, flow).data == why.data
    assert paceline.why(memory, flow, brief=True).data["deeper"] is None
    with pytest.raises(paceline.ArgumentError, match="there is no flow 99: the run has 16"):
        paceline.why(run, 99)


def test_a_question_hears_progress() -> None:
    Path("long.toml").write_text(paceline.check(LONG)["scenario"])
    told: list[paceline.Progress] = []

    def enough(now: paceline.Progress) -> bool:
        told.append(now)
        return now.events < 100_000

    assert paceline.why("long.toml", 0, progress=enough).data["flow"]["status"] == "unfinished"
    assert told[-1].runs == 1


def test_what_is_no_name_is_told() -> None:
    with pytest.raises(paceline.ArgumentError, match="expected names, found a function: a policy goes under `policies`"):
        paceline.compare(TINY, ["hpcc", lambda seen: seen])  # type: ignore[list-item]
    with pytest.raises(paceline.ArgumentError, match="found a value of type `int`"):
        paceline.compare(TINY, 3)  # type: ignore[arg-type]
    assert len(paceline.compare(TINY, "hpcc,dctcp")) == 2
