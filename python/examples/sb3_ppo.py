"""Train with Stable-Baselines3 and run the policy inside the simulator.

    pip install stable-baselines3
    python sb3_ppo.py --steps 20000

The environment has one agent for all flows to one host, which sees the mean over its flows. Inside the simulator each flow
decides by what it sees itself.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import paceline
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

SCENARIO = "many-to-one-16"
OBSERVATION = ["rtt", "delivered", "marks", "rate-log2", "action"]
LAYERS = [
    {"linear": "mlp_extractor.policy_net.0", "then": "tanh"},
    {"linear": "mlp_extractor.policy_net.2", "then": "tanh"},
    {"linear": "action_net"},
]


def reward(seen: dict[str, Any]) -> Any:
    """Throughput counts, and so does delay: both on a logarithmic scale."""
    return np.log2(np.maximum(seen["delivered_gbps"] * seen["flows"] / seen["line_gbps"], 0.01)) - np.log2(
        np.maximum(seen["rtt_us"] / seen["base_rtt_us"], 1.0)
    )


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--steps", type=int, default=20_000)
    words.add_argument("--out", default="sb3")
    arguments = words.parse_args()
    keywords = {"observation": OBSERVATION, "history": 1, "reward": reward, "interval": "10us", "duration": "2ms"}
    made = make_vec_env(f"paceline/{SCENARIO}-v0", n_envs=4, seed=1, env_kwargs=keywords)
    model = PPO("MlpPolicy", made, n_steps=256, batch_size=256, gamma=0.9, seed=1, device="cpu")
    model.learn(arguments.steps)
    card = paceline.save_policy(
        arguments.out,
        model.policy.state_dict(),
        layers=LAYERS,
        ignore=["mlp_extractor.value_net", "value_net", "log_std"],
        observation=OBSERVATION,
        clock="aligned",
        interval="10us",
        about=f"PPO of Stable-Baselines3 on {SCENARIO}, {arguments.steps} steps",
    )
    print(f"wrote {card}")
    print(paceline.compare("incast-16", ["swift", "dcqcn"], policies={"sb3": card}))


if __name__ == "__main__":
    main()
