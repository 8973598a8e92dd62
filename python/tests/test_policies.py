"""Policies as rows beside schemes: functions, files, and what is wrong with either."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import paceline
import pytest
from conftest import ROOT

SCENARIO: dict[str, Any] = {
    "name": "three-to-one",
    "duration": "2ms",
    "topology": {"star": {"hosts": 4}},
    "workload": [{"incast": {"fan-in": 3, "receiver": 4, "size": "300KB"}}],
    "cc": {"scheme": "hpcc"},
}
POISSON = {
    **SCENARIO,
    "workload": [{"poisson": {"sizes": "google-rpc", "load": 0.3}}],
    "duration": "200us",
}
LAYER = [{"linear": "0", "then": "tanh"}]
WEIGHTS = {"0.weight": [[-0.5, 0.25]], "0.bias": [1.0]}


def act(observations: Any) -> Any:
    x = observations.astype(np.float32)
    return (np.float32(1.0) + np.float32(-0.5) * x[:, 0]) + np.float32(0.25) * x[:, 1]


def test_a_function_and_its_file_are_the_same_runs(tmp_path: Path) -> None:
    observation = ["rtt", "action"]
    card = paceline.save_policy(
        tmp_path / "linear",
        WEIGHTS,
        layers=[{"linear": "0"}],
        observation=observation,
        decision_latency="1us",
        initial_rate="40Gbps",
    )
    policy = paceline.Policy(act, observation=observation, history=1, decision_latency="1us", initial_rate="40Gbps")
    compared = paceline.compare(SCENARIO, ["hpcc"], policies={"function": policy, "file": card}, out=tmp_path / "out")
    names = [run.scheme for run in compared.runs]
    assert names == ["hpcc", "file", "function"], names
    function, file = (compared[name].flows.to_dict() for name in ("function", "file"))
    assert set(function.pop("scheme")) == {"function"} and set(file.pop("scheme")) == {"file"}
    assert function == file and len(function["fct_ps"]) == 3
    assert "function" in str(compared) and "file" in str(compared)
    # The decisions are kept: the run is made again without the function.
    folder = tmp_path / "out" / "function"
    assert (folder / "decisions.csv").exists()
    again = paceline.run(folder)
    assert again.summary["fct_us"] == compared["function"].summary["fct_us"]
    assert "page" in (tmp_path / "out" / "report.html").read_text()


def test_policies_have_intervals_over_seeds(tmp_path: Path) -> None:
    compared = paceline.compare(POISSON, "hpcc", policies={"mine": act_on_delay}, repeats=3, seed=5)
    assert [(run.scheme, run.seed) for run in compared.runs] == [
        (scheme, seed) for scheme in ("hpcc", "mine") for seed in (5, 6, 7)
    ]
    assert "mine against hpcc" in str(compared)
    alone = paceline.compare(POISSON, policies={"mine": act_on_delay}, repeats=2)
    assert len(alone) == 2


def act_on_delay(observations: Any) -> Any:
    return np.clip(1.5 - observations[:, -7], -1, 1)


def test_a_policy_with_memory_knows_whose_rows_it_gets() -> None:
    seen: set[int] = set()
    resets: list[int] = []

    def remembers(observations: Any, agents: Any) -> Any:
        seen.update(agents.tolist())
        return np.zeros(len(agents))

    policy = paceline.Policy(remembers, reset=resets.append)
    paceline.compare(SCENARIO, policies={"mine": policy}, seed=3)
    assert seen == {0, 1, 2} and resets == [3]


@pytest.mark.parametrize(
    "function, said",
    [
        (lambda o: np.full(len(o), np.nan), "policy `mine`, seed 1, at 4.*: the function gave nan for agent 0"),
        (lambda o: np.zeros(len(o) + 1), "the function gave . actions; expected ., one for each row"),
        (lambda o: "fast", "expected numbers from the function"),
        (lambda o: None, "gave nan for agent|expected numbers"),
    ],
)
def test_wrong_answers_are_errors_with_their_place(function: Any, said: Any, tmp_path: Path) -> None:
    with pytest.raises(paceline.RunError, match=said):
        paceline.compare(SCENARIO, ["hpcc"], policies={"mine": function}, seed=1, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_exception_of_the_function_comes_through() -> None:
    def fails(observations: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        paceline.compare(SCENARIO, policies={"mine": fails})


@pytest.mark.parametrize(
    "policies, said",
    [
        ({"swift": act}, "`swift` is the name of a scheme"),
        ({"a b": act}, "'a b' is no name"),
        ({"mine": 3}, "a value of type `int`; expected a function"),
        ({"mine": paceline.Policy(act, observation=["rt"])}, "did you mean `rtt`"),
        ({"mine": "no-such.json"}, "no-such.json"),
    ],
)
def test_wrong_policies_are_errors(policies: Any, said: Any) -> None:
    with pytest.raises(paceline.PacelineError, match=said):
        paceline.compare(SCENARIO, ["hpcc"], policies=policies)


def test_unknown_schemes_are_told_before_a_policy_works() -> None:
    def never(observations: Any) -> Any:
        raise AssertionError

    with pytest.raises(paceline.PacelineError, match="did you mean `hpcc`"):
        paceline.compare(SCENARIO, ["hpc"], policies={"mine": never})


class Module:
    """As much of a module of PyTorch as is asked for."""

    def __init__(self, **children: Any) -> None:
        self.children = children

    def named_children(self) -> Any:
        return self.children.items()

    def state_dict(self) -> Any:
        return WEIGHTS


class Sequential(Module):
    pass


class Linear(Module):
    pass


class Tanh(Module):
    pass


class Softmax(Module):
    pass


def test_cards_are_written_from_modules(tmp_path: Path) -> None:
    model = Sequential(**{"0": Linear(), "1": Tanh()})
    card = paceline.save_policy(tmp_path / "mine", model, observation=["rtt", "action"], step=0.1)
    said = json.loads(card.read_text())
    assert said["layers"] == LAYER and said["step"] == 0.1
    assert "network 2-1, 3 parameters" in paceline.explain(str(card))


@pytest.mark.parametrize(
    "model, keywords, said",
    [
        (Module(), {}, "does not say the order of its layers"),
        (Sequential(**{"0": Linear(), "1": Softmax()}), {}, "`1` is a `Softmax`; expected one of Linear, GRU"),
        (Sequential(**{"0": Linear()}), {"observation": ["rtt"]}, "reads 2 numbers; the observation has 1"),
        (Sequential(**{"0": Linear()}), {"clok": "aligned"}, "unknown field `clok`"),
        (Sequential(**{"0": Linear()}), {"action": "rates"}, "did you mean `rate`"),
    ],
)
def test_nothing_is_written_of_what_does_not_fit(model: Any, keywords: Any, said: Any, tmp_path: Path) -> None:
    with pytest.raises(paceline.ArgumentError, match=said):
        paceline.save_policy(tmp_path / "mine", model, **{"observation": ["rtt", "action"], **keywords})
    assert list(tmp_path.iterdir()) == []


def own(seen: Any) -> Any:
    return np.stack([seen["rtt_us"] / np.maximum(seen["base_rtt_us"], 1e-9), seen["marked"]], axis=1)


def test_observations_of_a_function() -> None:
    named = paceline.Environment(SCENARIO, observation=["rtt", "marks"], history=1)
    free = paceline.Environment(SCENARIO, observation=own)
    assert (free.width, free.observation) == (2, [])
    assert np.isinf(free.bounds[0]).all()
    while len(batch := named.poll()):
        other = free.poll()
        np.testing.assert_array_equal(batch.observations, other.observations)
        actions = np.clip(1.5 - batch.observations[:, 0], -1, 1)
        named.submit(actions)
        free.submit(actions)
    assert not len(free.poll())


@pytest.mark.parametrize(
    "function, said",
    [
        (lambda seen: np.log(seen["marked"] - 2)[:, None], "gave NaN; expected finite numbers"),
        (lambda seen: np.zeros((len(seen["acks"]) + 1, 2)), "expected . rows of numbers"),
        (lambda seen: "rtt", "expected a row of numbers for each of . rows"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_wrong_observations_are_errors(function: Any, said: Any) -> None:
    with pytest.raises(paceline.ArgumentError, match=said):
        made = paceline.Environment(SCENARIO, observation=function)
        made.poll()
    with pytest.raises(paceline.ArgumentError, match="history"):
        paceline.Environment(SCENARIO, observation=own, history=3)


def test_gymnasium_makes_scenarios_by_name() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    made = gymnasium.make("paceline/many-to-one-16-v0", duration="200us", observation=own)
    seen, _ = made.reset(seed=1)
    assert seen.shape == (2,)
    seen, reward, terminated, truncated, _ = made.step(np.array([0.5], np.float32))
    assert not terminated and not truncated and np.isfinite(reward)
    made.close()
    several = gymnasium.make_vec("paceline/many-to-one-16-v0", num_envs=2, duration="200us")
    assert several.reset(seed=1)[0].shape[0] == 2
    several.close()


def test_the_guide_works_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page shows in Python, but for the lines that need PyTorch."""
    pytest.importorskip("gymnasium")
    text = (ROOT / "book" / "src" / "guide" / "policy.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) == 4
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "policy.md", "exec"), names)
    assert "careful" in str(names["compared"])


def test_the_card_of_the_guide_is_one(tmp_path: Path) -> None:
    text = (ROOT / "book" / "src" / "guide" / "policy.md").read_text()
    card = json.loads(text.split("```json\n")[1].split("```")[0])
    rng = np.random.default_rng(1)
    shapes = {"0": (32, 10), "2": (32, 32), "4": (1, 32)}
    tensors = {f"{name}.weight": rng.normal(size=shape) / 6 for name, shape in shapes.items()}
    layers, observation = card.pop("layers"), card.pop("observation")
    kept = {key: card[key] for key in ("history", "action", "step", "clock", "interval")}
    paceline.save_policy(tmp_path / "mine", tensors, layers=layers, observation=observation, **kept)
    assert json.loads((tmp_path / "mine.json").read_text())["name"] == "mine"
