"""Policies of your own: functions and networks as rows beside the schemes."""

from __future__ import annotations

import inspect
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import Comparison, Environment, Progress, Run, _native
from .errors import ArgumentError, RunError

Observation = Union[Sequence[str], Callable[[dict[str, Any]], Any]]


@dataclass(frozen=True)
class Policy:
    """What acts for every flow in :func:`paceline.compare`: a function, what it sees, and when it acts.

    `act(observations)` gets an array with a row per flow that asks, and returns a number from -1 to 1 for each. A policy
    with memory takes a second argument: `act(observations, agents)`, with the number of each flow. `reset(seed)` is called
    before each run. The other fields are those of :class:`paceline.Environment` and of `cc.external`; what is None is as
    there.
    """

    act: Callable[..., Any]
    observation: Optional[Observation] = None
    history: Optional[int] = None
    action: Optional[str] = None
    step: Optional[float] = None
    clock: Optional[str] = None
    interval: Optional[str] = None
    decision_latency: Optional[str] = None
    silence: Optional[float] = None
    initial_rate: Optional[str] = None
    min_rate: Optional[str] = None
    reset: Optional[Callable[[int], Any]] = None


_TIMES = ("clock", "interval", "decision_latency", "silence", "initial_rate", "min_rate")
_SEEN = ("observation", "history", "action", "step")


def compare(
    scenario: Any,
    schemes: Union[str, Sequence[str]] = (),
    *,
    policies: Optional[Mapping[str, Any]] = None,
    repeats: int = 1,
    set: Optional[dict[str, Any]] = None,
    seed: Optional[int] = None,
    duration: Optional[str] = None,
    fidelity: Optional[str] = None,
    threads: Optional[int] = None,
    out: Any = None,
    jobs: Optional[int] = None,
    force: bool = False,
    progress: Optional[Callable[[Progress], Any]] = None,
) -> Comparison:
    """Run the same flows and seeds under each scheme and each policy.

    `policies` maps names to functions, to :class:`Policy` objects, or to the paths of policies' cards. Each is a row in
    tables and pages, with intervals over the seeds, like a scheme. The folder of a function's run has its decisions
    (`decisions.csv`), so that `paceline run` and `paceline why` show it again without the function.
    """
    files: list[tuple[str, str]] = []
    functions: list[tuple[str, Policy]] = []
    for name, value in (policies or {}).items():
        _check_name(name, schemes)
        if isinstance(value, (str, os.PathLike)):
            files.append((name, str(Path(value).resolve())))
        elif isinstance(value, Policy):
            functions.append((name, value))
        elif callable(value):
            functions.append((name, Policy(value)))
        else:
            raise ArgumentError(
                f"policies: `{name}` is a value of type `{type(value).__name__}`;"
                " expected a function, a paceline.Policy, or the path of a policy's card"
            )
    changes = {"set": set, "seed": seed, "duration": duration}
    if functions and (fidelity, threads) != (None, None):
        raise ArgumentError("fidelity, threads: functions act in runs of one thread in the scenario's own fidelity")
    # What is wrong with scenario, schemes and files is told before any function has worked.
    names = [name.strip() for name in schemes.split(",")] if isinstance(schemes, str) else schemes
    if functions:
        for scheme in names:
            if isinstance(scheme, str):
                _native.check(scenario, scheme=scheme, set=set, seed=seed, duration=duration)
    acted = [_runs(scenario, name, policy, max(repeats, 1), changes) for name, policy in functions]
    return _native.compare(
        scenario,
        schemes,
        repeats=repeats,
        set=set,
        seed=seed,
        duration=duration,
        fidelity=fidelity,
        threads=threads,
        out=out,
        jobs=jobs,
        force=force,
        progress=progress,
        _files=files,
        _acted=acted,
    )


def _check_name(name: Any, schemes: Any) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ArgumentError(f"policies: {name!r} is no name; expected letters, digits, `.`, `_` and `-`")
    taken = [one["name"] for one in _native.schemes()]
    if name in taken or name in schemes:
        raise ArgumentError(f"policies: `{name}` is the name of a scheme; expected another")


def _takes_agents(act: Callable[..., Any]) -> bool:
    """Whether a function wants to know whose rows it gets."""
    try:
        parameters = inspect.signature(act).parameters.values()
    except (TypeError, ValueError):
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in places and one.default is inspect.Parameter.empty for one in parameters) >= 2


def _runs(scenario: Any, name: str, policy: Policy, repeats: int, changes: dict[str, Any]) -> list[Run]:
    settings = dict(changes["set"] or {})
    for key in _TIMES:
        value = getattr(policy, key)
        if value is not None:
            settings["cc.external." + key.replace("_", "-")] = value
    seen = {key: getattr(policy, key) for key in _SEEN if getattr(policy, key) is not None}
    made = Environment(
        scenario, scheme="external", set=settings, seed=changes["seed"], duration=changes["duration"], **seen
    )
    first, runs = made.rollout().seed, []
    for number in range(repeats):
        made.reset(seed=first + number)
        if policy.reset is not None:
            policy.reset(first + number)
        _episode(made, name, policy.act, first + number)
        runs.append(made.finish(name=name))
    made.close()
    return runs


def _episode(made: Environment, name: str, act: Callable[..., Any], seed: int) -> None:
    import numpy as np

    with_agents = _takes_agents(act)
    while len(batch := made.poll()):
        given = act(batch.observations, batch.agents) if with_agents else act(batch.observations)
        where = f"policy `{name}`, seed {seed}, at {made.now() * 1e6:.3f} us"
        try:
            actions = np.asarray(given, np.float32).reshape(-1)
        except (TypeError, ValueError) as error:
            raise RunError(f"{where}: expected numbers from the function: {error}") from None
        if len(actions) != len(batch):
            raise RunError(f"{where}: the function gave {len(actions)} actions; expected {len(batch)}, one for each row")
        wrong = np.flatnonzero(~np.isfinite(actions))
        if len(wrong):
            agent, value = int(batch.agents[wrong[0]]), actions[wrong[0]]
            raise RunError(f"{where}: the function gave {value} for agent {agent}; expected a number from -1 to 1")
        made.submit(actions)


def decide(policy: Union[str, "os.PathLike[str]"], observations: Any) -> "tuple[Any, Any]":
    """The decisions of a policy's file, as the scheme `policy` makes them: compare them with those of its training.

    `policy` is the path of its card, `observations` a row of numbers for each question of one flow, in their order, with
    those of the questions before it where the card has a `history`. Returns an array of actions, from -1 to 1, and one
    with a row of the network's outputs for each. A memory begins empty.
    """
    import numpy as np

    rows = np.ascontiguousarray(observations, np.float32)
    if rows.ndim != 2:
        raise ArgumentError(f"observations: an array of {rows.ndim} dimensions; expected rows of numbers")
    return _native.decide(os.fspath(policy), rows)


# Modules of torch.nn, and what a card calls them.
_LAYERS = {"Linear": "linear", "GRU": "gru", "LSTM": "lstm"}
_ACTIVATIONS = {
    "ReLU": "relu",
    "LeakyReLU": "leaky-relu",
    "ELU": "elu",
    "SiLU": "silu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
}


def save_policy(
    path: Any,
    model: Any,
    *,
    observation: Sequence[str],
    action: str = "rate-multiplier",
    layers: Optional[Sequence[Mapping[str, str]]] = None,
    about: str = "",
    **card: Any,
) -> Path:
    """Write a policy that the scheme `policy` runs: PATH.json, its card, and PATH.safetensors, its weights.

    `model` is a `torch.nn.Sequential` of linear layers, GRU, LSTM and activations, or a dict of tensors
    (`module.state_dict()`) with `layers`, a list like `[{"linear": "0", "then": "tanh"}, {"linear": "2"}]`. Further keywords
    are entries of the card: `history`, `step`, `normalise`, `output`, `choices`, `clock`, `interval`, `feedback`,
    `silence`, `decision_latency`, `initial_rate`, `min_rate`, `ignore`. Returns the card's path, once the simulator has read it.
    """
    file = Path(path)
    file = file if file.suffix == ".json" else file.with_name(file.name + ".json")
    if layers is None:
        layers = _layers_of(model)
    tensors = model.state_dict() if hasattr(model, "state_dict") else model
    said = {
        "format": 1,
        "kind": "policy",
        "name": file.stem,
        "about": about,
        "observation": list(observation),
        "action": action,
        **{key.replace("_", "-"): value for key, value in card.items() if value is not None},
        "layers": [dict(layer) for layer in layers],
    }
    weights = file.with_suffix(".safetensors")
    new = [file.with_name("." + file.name), weights.with_name("." + file.stem + ".safetensors")]
    try:
        new[0].write_text(json.dumps(said, indent=2) + "\n")
        new[1].write_bytes(_safetensors(tensors))
        try:
            _native.explain(str(new[0]))
        except ArgumentError as error:
            raise ArgumentError(str(error).replace(str(new[0]), str(file))) from None
        new[1].replace(weights)
        new[0].replace(file)
    finally:
        for part in new:
            part.unlink(missing_ok=True)
    return file


def _layers_of(model: Any) -> list[dict[str, str]]:
    """The layers of a `torch.nn.Sequential`."""
    if type(model).__name__ != "Sequential":
        raise ArgumentError(
            f"layers: a model of type `{type(model).__name__}` does not say the order of its layers; expected `layers`,"
            ' such as [{"linear": "0", "then": "tanh"}, {"linear": "2"}], or a torch.nn.Sequential'
        )
    layers: list[dict[str, str]] = []
    for name, module in model.named_children():
        kind = type(module).__name__
        if kind in _LAYERS:
            layers.append({_LAYERS[kind]: name})
        elif kind in _ACTIVATIONS and layers and "then" not in layers[-1]:
            layers[-1]["then"] = _ACTIVATIONS[kind]
        elif kind not in ("Identity", "Flatten", "Dropout"):
            expected = ", ".join([*_LAYERS, *_ACTIVATIONS])
            raise ArgumentError(f"layers: `{name}` is a `{kind}`; expected one of {expected}, an activation behind a layer")
    return layers


def _safetensors(tensors: Mapping[str, Any]) -> bytes:
    """The bytes of a safetensors file: a header in JSON, then the numbers."""
    import numpy as np

    header: dict[str, Any] = {}
    data = b""
    for name, tensor in tensors.items():
        array = tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else np.asarray(tensor)
        values = np.ascontiguousarray(array, np.float32)
        end = len(data) + values.nbytes
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), end]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data
