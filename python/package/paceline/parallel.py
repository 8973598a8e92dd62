"""PettingZoo's parallel interface: each flow is an agent, or each persistent connection; agents leave when their flows
are complete.

A step is an interval of the aligned clock: an action for each agent, then the run up to the next instant at which
flows ask.
"""

from __future__ import annotations

from typing import Any, Optional

from ._environments import aligned, count_elsewhere, needs

needs("pettingzoo", "paceline.ParallelEnv")
needs("gymnasium", "paceline.ParallelEnv")

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
import pettingzoo  # type: ignore[import-untyped, import-not-found, unused-ignore]  # noqa: E402


class ParallelEnv(pettingzoo.ParallelEnv[str, Any, Any]):
    """One run, an agent per flow, or per queue pair of persistent connections."""

    metadata: dict[str, Any] = {"name": "paceline_v0", "render_modes": [], "is_parallelizable": True}

    def __init__(self, scenario: Any = "many-to-one-16", **keywords: Any) -> None:
        count_elsewhere(keywords, "paceline.Environment(scenario, num_envs=..) runs several side by side")
        self.native = aligned(scenario, environments=1, **keywords)
        self.render_mode = None
        self._count = self.native.agents[0]
        self.possible_agents = [f"flow_{number}" for number in range(self._count)]
        self.agents: list[str] = []
        self._waiting: list[int] = []
        low, high = self.native.bounds
        # A space of its own for each, since spaces draw samples.
        boxes = {agent: gymnasium.spaces.Box(low, high, dtype=np.float32) for agent in self.possible_agents}
        self._seen_in: dict[str, gymnasium.spaces.Space[Any]] = dict(boxes)
        acts = {agent: gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32) for agent in self.possible_agents}
        self._acts_in: dict[str, gymnasium.spaces.Space[Any]] = dict(acts)
        self._draw = np.random.default_rng()
        self._last: dict[str, Any] = {}

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        return self._seen_in[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        return self._acts_in[agent]

    def reset(
        self, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        if seed is not None:
            self._draw = np.random.default_rng(seed)
        self.native.reset(seed=int(self._draw.integers(2**31)) if seed is None else seed)
        batch = self.native.poll()
        self.agents, self._last = [], {}
        seen = self._see(batch)
        self.agents = list(seen)
        return seen, {agent: {} for agent in self.agents}

    def _see(self, batch: Any) -> dict[str, Any]:
        self._waiting = batch.agents.tolist()
        names = self.possible_agents
        seen = {names[agent]: row for agent, row in zip(self._waiting, batch.observations)}
        self._last.update(seen)
        return seen

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Apply one action per agent. Agents whose flows complete are terminated and leave; if the run stops earlier,
        agents are truncated."""
        agents = [self.possible_agents.index(agent) if agent in self._last else self._count for agent in actions]
        values = [float(np.asarray(action).reshape(-1)[0]) for action in actions.values()]
        self.native.submit_for(np.array(agents, np.uint32), np.array(values, np.float32))
        batch = self.native.poll()
        rewards = dict(zip((self.possible_agents[agent] for agent in batch.agents.tolist()), batch.rewards.tolist()))
        seen = self._see(batch)
        ended = {self.possible_agents[agent]: complete for _, agent, complete in batch.left}
        told = list(dict.fromkeys([*self.agents, *seen]))
        observations = {agent: self._last[agent] for agent in told}
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in told}
        self.agents = [agent for agent in told if agent not in ended]
        return (
            observations,
            {agent: rewards.get(agent, 0.0) for agent in told},
            {agent: ended.get(agent, False) for agent in told},
            {agent: not ended.get(agent, True) for agent in told},
            infos,
        )

    def render(self) -> None:
        """Not supported during a run; use `self.native.finish().report("report.html")`."""

    def close(self) -> None:
        self.native.close()
