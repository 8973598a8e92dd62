"""Multi-agent training by RLlib: sixteen flows to one host, each an agent, all with one policy.

It needs `pip install './python[rllib]'` (PyTorch among it). RLlib collects episodes in this process, or in as many workers as
`--workers` says, with several environments in each; `paceline.ParallelEnv` is one of PettingZoo's, which RLlib knows. An agent
that is complete leaves, and the others go on.
"""

# RLlib's own functions have no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import argparse
from typing import Any

import paceline
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

SCENARIO: dict[str, Any] = {
    "name": "sixteen-to-one",
    "duration": "1ms",
    "topology": {"star": {"hosts": 17, "rate": "100Gbps", "delay": "1us"}},
    "workload": [{"label": "long", "incast": {"fan-in": 16, "receiver": 17, "size": "100MB"}}],
    "network": {"mtu": "4096B"},
    "cc": {"scheme": "external"},
}


def make(settings: dict[str, Any]) -> Any:
    """An environment of a worker."""
    return ParallelPettingZooEnv(paceline.ParallelEnv(settings["scenario"], interval="20us"))


def configure(scenario: Any, workers: int, environments: int) -> PPOConfig:
    """PPO with one policy for all agents."""
    register_env("paceline", make)
    return (
        PPOConfig()
        .environment("paceline", env_config={"scenario": scenario}, disable_env_checking=True)
        .env_runners(num_env_runners=workers, num_envs_per_env_runner=environments)
        .multi_agent(policies={"all"}, policy_mapping_fn=lambda agent, episode, **_: "all")
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[32, 32]))
        .training(lr=1e-3, gamma=0.9, train_batch_size_per_learner=400, minibatch_size=256, num_epochs=4)
        .debugging(seed=1, log_level="ERROR")
    )


def train(iterations: int, *, scenario: Any = SCENARIO, workers: int = 0, environments: int = 1) -> list[float]:
    """The mean return of an episode, of all agents together, after each iteration."""
    algorithm = configure(scenario, workers, environments).build_algo()
    returns = []
    for number in range(1, iterations + 1):
        told = algorithm.train()["env_runners"]
        returns.append(float(told["episode_return_mean"]))
        print(f"iteration {number}: return {returns[-1]:.2f}")
    algorithm.stop()
    return returns


def main() -> None:
    parser = argparse.ArgumentParser(description="PPO by RLlib, one policy for all flows.")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--workers", type=int, default=0)
    asked = parser.parse_args()
    ray.init(num_cpus=asked.workers + 1, include_dashboard=False, log_to_driver=False)
    train(asked.iterations, workers=asked.workers)
    ray.shutdown()


if __name__ == "__main__":
    main()
