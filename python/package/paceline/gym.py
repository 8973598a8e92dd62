"""Gymnasium's interfaces: one agent per environment, which acts for all flows to one receiver.

A step is an interval of the aligned clock: an action, then the run up to the next instant at which flows ask.
"""

from __future__ import annotations

from typing import Any, Optional

from . import Environment
from ._environments import aligned, count_elsewhere, needs

needs("gymnasium", "paceline.Env and paceline.VectorEnv")

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from gymnasium.vector.utils import batch_space  # noqa: E402

_ACTIONS = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)


def _made(scenario: Any, environments: int, threads: int, keywords: dict[str, Any]) -> Environment:
    count_elsewhere(keywords, "paceline.VectorEnv(scenario, num_envs) runs several side by side")
    made = aligned(scenario, environments=environments, threads=threads, agents="receiver", **keywords)
    if made.agents != [1] * environments:
        raise_several(made.agents[0])
    return made


def raise_several(agents: int) -> None:
    from .errors import ArgumentError

    raise ArgumentError(
        f"the scenario has flows to {agents} receivers; expected one, whose flows are one agent"
        " (paceline.ParallelEnv has several agents)"
    )


def _space(made: Environment) -> gymnasium.spaces.Box:
    low, high = made.bounds
    return gymnasium.spaces.Box(low, high, dtype=np.float32)


class Env(gymnasium.Env[Any, Any]):
    """One run, one agent."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, scenario: Any = "many-to-one-16", **keywords: Any) -> None:
        self.native = _made(scenario, 1, 1, keywords)
        self.observation_space = _space(self.native)
        self.action_space = _ACTIONS
        self._seed: Optional[int] = None
        self._last = np.zeros(self.native.width, np.float32)

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        # A seed holds for the episode; those after it have seeds that follow from it.
        self._seed = int(self.np_random.integers(2**31)) if seed is None else seed
        self.native.reset(seed=self._seed)
        batch = self.native.poll()
        self._last = batch.observations[0] if len(batch) else np.zeros_like(self._last)
        return self._last, self._info()

    def _info(self) -> dict[str, Any]:
        return {"simulated_s": self.native.now(), "seed": self._seed}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.native.submit(action)
        batch = self.native.poll()
        if len(batch):
            self._last = batch.observations[0]
            return self._last, float(batch.rewards[0]), False, False, self._info()
        complete = any(complete for _, _, complete in batch.left)
        return self._last, 0.0, complete, not complete, self._info()

    def close(self) -> None:
        self.native.close()


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Parallel runs with one agent each. A finished episode restarts with the next step."""

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, scenario: Any = "many-to-one-16", num_envs: int = 1, *, threads: int = 1, **keywords: Any
    ) -> None:
        self.native = _made(scenario, num_envs, threads, keywords)
        self.num_envs = num_envs
        self.single_observation_space = _space(self.native)
        self.single_action_space = _ACTIONS
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._last = np.zeros((num_envs, self.native.width), np.float32)
        self._over = np.zeros(num_envs, bool)
        self._seeds = np.zeros(num_envs, np.int64)

    def reset(self, *, seed: Any = None, options: Optional[dict[str, Any]] = None) -> tuple[Any, dict[str, Any]]:
        first = seed if isinstance(seed, int) else None
        super().reset(seed=first)
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        seeds = [seed + number for number in range(self.num_envs)] if isinstance(seed, int) else seed
        for number, one in enumerate(seeds):
            self._begin(number, one)
        self._over[:] = False
        self._take(self.native.poll())
        return self._last.copy(), {"seed": self._seeds.copy()}

    def _begin(self, number: int, seed: Optional[int]) -> None:
        self._seeds[number] = int(self.np_random.integers(2**31)) if seed is None else seed
        self.native.reset(environment=number, seed=int(self._seeds[number]))

    def _take(self, batch: Any) -> tuple[Any, Any, Any]:
        rewards = np.zeros(self.num_envs, np.float64)
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        self._last[batch.environments] = batch.observations
        rewards[batch.environments] = batch.rewards
        for number, _, complete in batch.left:
            terminated[number], truncated[number] = complete, not complete
        return rewards, terminated, truncated

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        actions = np.asarray(actions, np.float32).reshape(self.num_envs, -1)
        began = self._over.copy()
        for number in np.flatnonzero(began):
            self._begin(int(number), None)
        self.native.submit(actions[~began].reshape(-1))
        batch = self.native.poll()
        rewards, terminated, truncated = self._take(batch)
        rewards[began] = 0.0
        self._over = terminated | truncated
        return self._last.copy(), rewards, terminated, truncated, {"seed": self._seeds.copy()}

    def close_extras(self, **_: Any) -> None:
        self.native.close()
