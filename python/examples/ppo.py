"""PPO in numpy: trains a policy for 16 flows to one host, and holds it against DCQCN.

A policy that all flows share sees the last three questions of a flow (delay, marks, what was delivered, its rate, its
last action) and multiplies the flow's rate. It gets DECC's reward. The run stands still while the policy learns.

    python ppo.py                 trains for --minutes, then compares

After 2 minutes on two threads of a busy machine (fewer than 20 rounds), 500 KB from each of 16 hosts, seed 1:

                        PPO     DCQCN
    mean slowdown     14.70     16.91
    p99 slowdown      14.78     18.35
    mean RTT (us)    185.79    118.60

It is faster, and has the longer queue: the bytes are 640 us of work however they are sent, and its reward asks for
throughput first.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import paceline

SCENARIO = "incast-16"
SETTINGS = {"cc.external.clock": "aligned", "cc.external.interval": "10us", "record.queue": "off"}
OBSERVATION = ["rtt", "rtt-min", "delivered", "marks", "rate-log2", "action"]
STEP = 0.3
GAMMA, LAMBDA, CLIP = 0.95, 0.9, 0.2


class Net:
    """Layers of hyperbolic tangents, the last one linear; Adam."""

    def __init__(self, sizes: list[int], rng: np.random.Generator, last: float) -> None:
        gains = [1.0] * (len(sizes) - 2) + [last]
        shapes = zip(sizes, sizes[1:], gains)
        self.weights = [gain * rng.normal(size=(a, b)) / np.sqrt(a) for a, b, gain in shapes]
        self.weights += [np.zeros(b) for b in sizes[1:]]
        self.layers = len(sizes) - 1
        self.moments = [(np.zeros_like(w), np.zeros_like(w)) for w in self.weights]
        self.steps = 0

    def __call__(self, x: Any) -> list[Any]:
        """What each layer gives, the input first."""
        all = [x]
        for layer in range(self.layers):
            x = x @ self.weights[layer] + self.weights[self.layers + layer]
            all.append(np.tanh(x) if layer < self.layers - 1 else x)
        return all

    def learn(self, all: list[Any], slope: Any, rate: float) -> None:
        """A step down the slope of the output."""
        slopes: list[Any] = [None] * len(self.weights)
        for layer in reversed(range(self.layers)):
            slopes[layer] = all[layer].T @ slope
            slopes[self.layers + layer] = slope.sum(0)
            if layer:
                slope = (slope @ self.weights[layer].T) * (1 - all[layer] ** 2)
        norm = np.sqrt(sum((s**2).sum() for s in slopes))
        scale = min(1.0, 0.5 / (norm + 1e-9))
        self.steps += 1
        for weight, slope, (mean, square) in zip(self.weights, slopes, self.moments):
            slope = slope * scale
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope**2 - square)
            mean_now, square_now = mean / (1 - 0.9**self.steps), square / (1 - 0.999**self.steps)
            weight -= rate * mean_now / (np.sqrt(square_now) + 1e-8)


class Policy:
    """Mean and spread of an action, and what the state is worth."""

    def __init__(self, width: int, rng: np.random.Generator) -> None:
        self.actor = Net([width, 32, 32, 1], rng, 0.01)
        self.critic = Net([width, 32, 32, 1], rng, 1.0)
        self.spread = 0.5

    @staticmethod
    def seen(observations: Any) -> Any:
        """Delays go far: their logarithm does not."""
        return np.sign(observations) * np.log1p(np.abs(observations.astype(np.float64)))

    def mean(self, x: Any) -> Any:
        return self.actor(x)[-1][:, 0]

    def logp(self, mean: Any, actions: Any) -> Any:
        return -(((actions - mean) / self.spread) ** 2) / 2 - np.log(self.spread)

    def update(self, x: Any, actions: Any, logp: Any, gains: Any, returns: Any, rng: np.random.Generator) -> None:
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        for _ in range(4):
            order = rng.permutation(len(x))
            for part in np.array_split(order, max(1, len(x) // 1024)):
                layers = self.actor(x[part])
                mean = layers[-1][:, 0]
                ratio = np.exp(self.logp(mean, actions[part]) - logp[part])
                gain = gains[part]
                free = np.where(gain > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)
                slope = -1.0 * free * ratio * gain * (actions[part] - mean) / self.spread**2 / len(part)
                self.actor.learn(layers, slope[:, None], 1e-3)
                layers = self.critic(x[part])
                off = layers[-1][:, 0] - returns[part]
                self.critic.learn(layers, (off / len(part))[:, None], 2e-3)


def environment(environments: int, threads: int, seed: int, **more: Any) -> paceline.Environment:
    return paceline.Environment(
        SCENARIO,
        set={**SETTINGS, **more.pop("set", {})},
        environments=environments,
        threads=threads,
        observation=OBSERVATION,
        step=STEP,
        seed=seed,
        **more,
    )


def episodes(made: paceline.Environment, policy: Policy, rng: np.random.Generator | None) -> list[Any]:
    """One episode of each run; for each agent what it saw, did and got. Without `rng` nothing is tried out."""
    courses: dict[tuple[int, int], list[Any]] = {}
    while len(batch := made.poll()):
        x = policy.seen(batch.observations)
        mean = policy.mean(x)
        actions = mean if rng is None else mean + policy.spread * rng.normal(size=len(mean))
        logp = policy.logp(mean, actions)
        made.submit(np.clip(actions, -1, 1).astype(np.float32))
        if rng is None:
            continue
        keys = zip(batch.environments.tolist(), batch.agents.tolist())
        for row, key in enumerate(keys):
            courses.setdefault(key, []).append((x[row], actions[row], logp[row], float(batch.rewards[row])))
    return list(courses.values())


def advantages(policy: Policy, course: list[Any]) -> tuple[Any, Any]:
    """Generalised advantages: the reward of an action comes with the next question."""
    values = policy.critic(np.array([one[0] for one in course]))[-1][:, 0]
    rewards = 10.0 * np.array([one[3] for one in course[1:]] + [0.0])
    gains, later = np.zeros(len(course)), 0.0
    for t in reversed(range(len(course))):
        following = values[t + 1] if t + 1 < len(course) else 0.0
        later = rewards[t] + GAMMA * following - values[t] + GAMMA * LAMBDA * later
        gains[t] = later
    return gains, gains + values


def train(minutes: float, seed: int, threads: int) -> Policy:
    rng = np.random.default_rng(seed)
    made = environment(8, threads, seed=1000)
    policy = Policy(made.width, rng)
    started, rounds, decisions = time.monotonic(), 0, 0
    while time.monotonic() - started < 60 * minutes:
        made.reset(seed=1000 + 8 * rounds)
        courses = episodes(made, policy, rng)
        estimates = [advantages(policy, course) for course in courses]
        steps = [one for course in courses for one in course]
        x, actions, logp, rewards = (np.array(column) for column in zip(*steps))
        gains, returns = (np.concatenate(column) for column in zip(*estimates))
        policy.update(x, actions, logp, gains, returns, rng)
        policy.spread = max(0.1, policy.spread * 0.985)
        decisions += len(x)
        rounds += 1
        if rounds % 10 == 0:
            print(f"round {rounds}: {decisions} decisions, mean reward {rewards.mean():.4f}", flush=True)
    return policy


def judged(run: paceline.Run) -> dict[str, float]:
    return {
        "mean slowdown": run.summary["fct_slowdown"]["mean"],
        "p99 slowdown": run.summary["fct_slowdown"]["p99"],
        "mean RTT (us)": run.summary["rtt_per_ack_us"]["mean"],
        "pauses": run.summary["pfc"]["pauses"],
    }


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--minutes", type=float, default=5.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--threads", type=int, default=2)
    arguments = words.parse_args()
    policy = train(arguments.minutes, arguments.seed, arguments.threads)
    made = environment(1, 1, seed=1)
    episodes(made, policy, None)
    ours = judged(made.finish())
    theirs = judged(paceline.run(SCENARIO, scheme="dcqcn", seed=1, set={"record.queue": "off"}))
    print(f"{'':16} {'PPO':>9} {'DCQCN':>9}")
    for name, value in ours.items():
        print(f"{name:16} {value:9.2f} {theirs[name]:9.2f}")


if __name__ == "__main__":
    main()
