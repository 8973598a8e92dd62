"""The examples, as those run them who copy them."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import paceline
import pytest
from conftest import ROOT, TINY, files

EXAMPLES = ROOT / "python" / "examples"


def test_the_notebook_runs_from_top_to_bottom() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / "incast.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": "."}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    told = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    assert "all 16" in told and "longest queue:" in told
    figures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(figures) == 2
    assert Path("incast-by-size/report.html").is_file()


def test_a_sweep_on_two_workers_of_ray_has_the_folder_of_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    import ray_executor  # type: ignore[import-not-found, unused-ignore]

    over = {"cc.hpcc.eta": [0.9, 0.95, 0.97]}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        executor = ray_executor.RayExecutor()
        for shared in (True, False):
            out = f"on-ray-{shared}"
            on_ray = paceline.sweep(TINY, over=over, repeats=2, out=out, executor=executor, shared=shared)
            assert on_ray.complete and on_ray.failures == []
    finally:
        ray.shutdown()
    paceline.sweep(TINY, over=over, repeats=2, out="alone")
    for shared in (True, False):
        assert files(Path(f"on-ray-{shared}")) == files(Path("alone"))


def test_rllib_trains_all_agents_with_one_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where PyTorch is, which is large."""
    pytest.importorskip("torch")
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.rllib")
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    import rllib_ppo  # type: ignore[import-not-found, unused-ignore]

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        returns = rllib_ppo.train(2, scenario={**rllib_ppo.SCENARIO, "duration": "400us"})
    finally:
        ray.shutdown()
    # Not a number where no episode came to its end.
    assert len(returns) == 2 and all(math.isfinite(value) for value in returns)


def test_a_policy_from_pytorch_is_a_row_beside_swift(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only where PyTorch is. What it trains otherwise is `policy-mlp`, which ships."""
    pytest.importorskip("torch")
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    import train_policy  # type: ignore[import-not-found, unused-ignore]

    monkeypatch.setattr(sys, "argv", ["train_policy.py", "--minutes", "0.02", "--threads", "1"])
    train_policy.main()
    assert Path("policy.safetensors").is_file()
    assert "mine against swift" in capsys.readouterr().out


def test_a_policy_from_stable_baselines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    import sb3_ppo  # type: ignore[import-not-found, unused-ignore]

    monkeypatch.setattr(sys, "argv", ["sb3_ppo.py", "--steps", "1024"])
    sb3_ppo.main()
    assert "sb3" in capsys.readouterr().out
