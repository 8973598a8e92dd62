"""Train a policy with PyTorch, save it, and compare it with the schemes: PPO, one network for all flows.

    python train_policy.py                 trains for --minutes, writes policy.json and policy.safetensors, then compares

Each flow is an agent: it sees its delay, its rate and what it did last, every 10 us, and multiplies its rate. Its reward
is the distance of its delay from a target that is longer for slower flows: 1.5 + 0.064 / sqrt(rate / line) round trips of
the empty network, ADPG's. Flows that share a line meet it where they are equally fast, with a short queue.
It trains on two to 32 hosts that send to one, and is judged on a number of hosts that it never saw.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np
import paceline
import torch
from torch import nn

OBSERVATION = ["rtt", "rtt-min", "adpg", "rate-log2", "action"]
MEAN, STD, WIDEST = [1.0, 1.0, 0.0, -0.2, 0.0], [2.0, 2.0, 5.0, 0.2, 0.5], 5.0
HISTORY = 2
STEP = 0.3
CLOCK: dict[str, Any] = {"clock": "aligned", "interval": "10us"}
GAMMA, LAMBDA, CLIP = 0.9, 0.9, 0.2


def scenario(hosts: int, gbps: int = 100) -> dict[str, Any]:
    """Some hosts send message after message to one, over one switch: flows come and go."""
    sizes = [{"size": "100KB", "share": 0.5}, {"size": "1MB", "share": 0.3}, {"size": "4MB", "share": 0.2}]
    return {
        "name": f"{hosts}-to-1",
        "duration": "4ms",
        "topology": {"star": {"hosts": hosts + 1, "rate": f"{gbps}Gbps"}},
        "workload": [{"closed-loop": {"senders": f"1-{hosts}", "receivers": hosts + 1, "messages": 200, "sizes": sizes}}],
        "cc": {"scheme": "external", "external": CLOCK},
    }


def reward(seen: dict[str, Any]) -> Any:
    """What an action was worth, by what was measured since. Any function of these columns will do."""
    delay, share = seen["rtt_us"] / seen["base_rtt_us"], seen["rate_gbps"] / seen["line_gbps"]
    target = 1.5 + 0.064 / np.sqrt(np.maximum(share, 1e-5))
    return -np.abs(np.log2(np.maximum(delay, 0.5) / target))


class Agent(nn.Module):  # type: ignore[misc, unused-ignore]
    def __init__(self, width: int) -> None:
        super().__init__()
        last = nn.Linear(32, 1)
        self.act = nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), last, nn.Tanh())
        self.worth = nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
        nn.init.zeros_(last.weight)
        self.spread = 0.3

    @staticmethod
    def normalised(batch: paceline.Batch) -> torch.Tensor:
        """As the card says it: the simulator does the same."""
        x = (batch.observations - np.tile(MEAN, HISTORY)) / np.tile(STD, HISTORY)
        return torch.from_numpy(np.clip(x, -WIDEST, WIDEST).astype(np.float32))

    def logp(self, x: torch.Tensor, actions: torch.Tensor) -> Any:
        """How likely actions are that are drawn around what the network says, but for a constant."""
        return -(((actions - self.act(x)[:, 0]) / self.spread) ** 2) / 2 - math.log(self.spread)


def episode(made: paceline.Environment, agent: Agent, draw: torch.Generator) -> list[Any]:
    """What each flow saw, did and got, in one episode of each run."""
    courses: dict[tuple[int, int], list[Any]] = {}
    while len(batch := made.poll()):
        x = agent.normalised(batch)
        with torch.no_grad():
            mean = agent.act(x)[:, 0]
            actions = mean + agent.spread * torch.randn(len(mean), generator=draw)
            logp = agent.logp(x, actions)
        made.submit(actions.clamp(-1, 1).numpy())
        for row, key in enumerate(zip(batch.environments.tolist(), batch.agents.tolist())):
            courses.setdefault(key, []).append((x[row], actions[row], logp[row], float(batch.rewards[row])))
    return [course for course in courses.values() if len(course) > 2]


def advantages(agent: Agent, course: list[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Generalised advantages: the reward of an action comes with the next question."""
    with torch.no_grad():
        values = agent.worth(torch.stack([one[0] for one in course]))[:, 0]
    rewards = torch.tensor([one[3] for one in course[1:]])
    gains, later = torch.zeros(len(course) - 1), 0.0
    for t in reversed(range(len(course) - 1)):
        later = rewards[t] + GAMMA * values[t + 1] - values[t] + GAMMA * LAMBDA * later
        gains[t] = later
    return gains, gains + values[:-1]


def train(minutes: float, seed: int, threads: int) -> Agent:
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    draw = torch.Generator().manual_seed(seed)
    made = [
        paceline.Environment(
            scenario(hosts, gbps),
            environments=max(1, 32 // hosts),
            threads=threads,
            observation=OBSERVATION,
            history=HISTORY,
            step=STEP,
            reward=reward,
        )
        for hosts, gbps in [(2, 100), (4, 400), (8, 100), (16, 200), (32, 100)]
    ]
    agent = Agent(made[0].width)
    optimiser = torch.optim.Adam(agent.parameters(), lr=2e-3)
    started, rounds = time.monotonic(), 0
    while time.monotonic() - started < 60 * minutes:
        one = made[rounds % len(made)]
        one.reset(seed=1000 + 100 * rounds)
        courses = episode(one, agent, draw)
        estimates = [advantages(agent, course) for course in courses]
        steps = [step for course in courses for step in course[:-1]]
        x = torch.stack([step[0] for step in steps])
        actions, logp = (torch.stack([step[k] for step in steps]) for k in (1, 2))
        gains, returns = (torch.cat(column) for column in zip(*estimates))
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        for _ in range(4):
            for part in torch.split(torch.randperm(len(x)), 1024):
                ratio = (agent.logp(x[part], actions[part]) - logp[part]).exp()
                gain = torch.minimum(ratio * gains[part], ratio.clamp(1 - CLIP, 1 + CLIP) * gains[part])
                off = agent.worth(x[part])[:, 0] - returns[part]
                optimiser.zero_grad()
                (-gain.mean() + 0.5 * (off**2).mean()).backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimiser.step()
        agent.spread = max(0.05, agent.spread * 0.99)
        rounds += 1
        if rounds % 10 == 0:
            mean = sum(step[3] for step in steps) / len(steps)
            print(f"round {rounds}: mean reward {mean:.3f} with {len(courses)} flows", flush=True)
    return agent


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--minutes", type=float, default=5.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--threads", type=int, default=2)
    words.add_argument("--out", default="policy", help="name of the files (default: policy)")
    arguments = words.parse_args()
    agent = train(arguments.minutes, arguments.seed, arguments.threads)
    card = paceline.save_policy(
        arguments.out,
        agent.act,
        observation=OBSERVATION,
        history=HISTORY,
        normalise={"mean": MEAN, "std": STD, "clip": WIDEST},
        step=STEP,
        **CLOCK,
        about="PPO with PyTorch on 2 to 32 hosts that send to one: python/examples/train_policy.py",
    )
    print(f"wrote {card}")
    unseen = scenario(12, 100)
    print(paceline.compare(unseen, ["swift", "hpcc", "dcqcn"], policies={"mine": card}, repeats=3))


if __name__ == "__main__":
    main()
