"""Environments for learning: by hand, and as Gymnasium and PettingZoo have them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import paceline
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

SIXTEEN = "many-to-one-16"

# Eight flows of different sizes, so that agents leave.
LEAVING: dict[str, Any] = {
    "name": "leaving",
    "duration": "2ms",
    "topology": {"star": {"hosts": 9, "rate": "100Gbps", "delay": "1us"}},
    "workload": [
        {
            "label": "incast",
            "incast": {
                "fan-in": 8,
                "receiver": 9,
                "sizes": [f"{size}KB" for size in range(200, 1000, 100)],
            },
        }
    ],
    "cc": {"scheme": "external"},
}


def rule(batch: paceline.Batch, features: int = 7) -> Any:
    """Faster while there is no queue."""
    return np.clip(1.6 - batch.observations[:, -features], -1.0, 1.0)


def episode(environment: paceline.Environment) -> list[Any]:
    told = []
    while True:
        batch = environment.poll()
        told.append((batch.environments.copy(), batch.agents.copy(), batch.observations.copy(), batch.rewards.copy()))
        if len(batch) == 0:
            return told
        environment.submit(rule(batch))


def test_the_same_bytes_on_any_number_of_threads() -> None:
    def of(threads: int) -> list[Any]:
        return episode(
            paceline.Environment(
                SIXTEEN,
                environments=3,
                threads=threads,
                duration="300us",
                set={"cc.external.decision-latency": "1us"},
                seed=5,
            )
        )

    one, two = of(1), of(3)
    assert len(one) == len(two) > 50
    for mine, other in zip(one, two):
        for a, b in zip(mine, other):
            assert a.tobytes() == b.tobytes()


def test_arrays_are_views_that_outlive_their_batch() -> None:
    environment = paceline.Environment(SIXTEEN, duration="100us")
    batch = environment.poll()
    seen = batch.observations
    assert seen.base is not None and not seen.flags.owndata and not seen.flags.writeable
    assert seen.shape == (len(batch), environment.width) and seen.dtype == np.float32
    kept = seen.copy()
    environment.submit(rule(batch))
    environment.poll()
    del batch
    assert (seen == kept).all()
    low, high = environment.bounds
    assert (low <= seen).all() and (seen <= high).all()


def test_a_rollout_is_made_again_and_looked_at() -> None:
    environment = paceline.Environment(SIXTEEN, duration="300us", seed=9)
    episode(environment)
    rollout = environment.rollout()
    assert rollout.seed == 9 and len(rollout) == rollout.polls.sum() == len(rollout.agents)
    again = environment.replay(rollout, set={"record.queue": "1us"})
    first = environment.finish()
    assert first.scheme == "external"
    assert again.summary["packet_hops"] == first.summary["packet_hops"]
    assert "<html" in again.report()


def test_the_folder_of_an_episode_is_the_episode(tmp_path: Path) -> None:
    environment = paceline.Environment(SIXTEEN, duration="2ms", seed=9)
    episode(environment)
    first = environment.finish()
    folder = first.save(tmp_path / "mine")
    again = paceline.run(folder, out=tmp_path / "again")
    assert again.summary["digest"] == first.summary["digest"]
    for file in ("flows.csv", "decisions.csv", "scenario.toml"):
        assert (folder / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    # What is told of a flow is told of this episode.
    slowest = paceline.why(first, top=1)[0]
    total_ps = paceline.why(first, slowest["flow"]["flow_id"]).data["total_ps"]
    assert slowest["flow"]["fct_ps"] in (None, total_ps)
    # Without the decisions it is not run as if it had none.
    (folder / "decisions.csv").unlink()
    with pytest.raises(paceline.ScenarioError, match="decisions"):
        paceline.run(folder)


def test_bad_input_is_told_and_changes_nothing() -> None:
    def made() -> paceline.Environment:
        interval = {"cc.external.clock": "aligned", "cc.external.interval": "20us"}
        return paceline.Environment(SIXTEEN, duration="300us", set=interval)

    environment = made()
    with pytest.raises(paceline.ArgumentError, match="expected a poll before"):
        environment.submit([0.0])
    count = len(environment.poll())
    wrong: list[tuple[Any, str]] = [
        ([0.0] * (count + 1), f"{count + 1} actions for {count} agents"),
        ([float("nan")] + [0.0] * (count - 1), "is NaN; expected a number from -1 to 1"),
        ([0.0] * (count - 1) + [float("inf")], "is inf; expected a number from -1 to 1"),
        (["x"] * count, "expected numbers in a row"),
    ]
    for actions, text in wrong:
        with pytest.raises(paceline.ArgumentError, match=text):
            environment.submit(actions)
    with pytest.raises(paceline.ArgumentError, match="agent 77 does not exist"):
        environment.submit_for([77] * count, [0.0] * count)
    twin = made()
    twin.poll()
    for one in (environment, twin):
        one.submit(np.zeros(count, np.float64))
    assert str(episode(environment)) == str(episode(twin))
    with pytest.raises(paceline.ArgumentError, match="the episode is over"):
        environment.submit_for([0], [0.0])
    environment.close()
    with pytest.raises(paceline.ArgumentError, match="the environment is closed"):
        environment.poll()


def test_names_that_are_wrong_are_told() -> None:
    wrong = [
        ({"observation": ["rtt", "qeue"]}, r"unknown observation `qeue` \(did you mean `queue`"),
        ({"observation": ["queue"]}, 'expected `cc.external.feedback = "int"`'),
        ({"action": "rates"}, r"did you mean `rate`"),
        ({"reward": "desc"}, r"did you mean `decc`"),
        ({"agents": "receiver"}, "expected `cc.external.clock"),
        ({"scheme": "dcqcn"}, "its 16 flows are under dcqcn"),
    ]
    for keywords, text in wrong:
        with pytest.raises(paceline.ArgumentError, match=text):
            paceline.Environment(SIXTEEN, **keywords)  # type: ignore[arg-type]


def test_a_reward_of_ones_own() -> None:
    """It gets columns of what was measured, a value for each row, and is called once a poll; by a built-in reward's formula
    it gives that reward."""
    calls: list[int] = []

    def aurora(seen: dict[str, Any]) -> Any:
        calls.append(len(seen["rtt_us"]))
        latency = seen["rtt_us"] / seen["base_rtt_us"]
        value = 10 * seen["delivered_gbps"] / seen["line_gbps"] - 2 * (latency - 1) - 2000 * seen["loss"]
        return np.clip(value, -10_000, 20)

    keywords: dict[str, Any] = {"duration": "300us", "num_envs": 2}
    mine = paceline.Environment(SIXTEEN, reward=aurora, **keywords)
    named = paceline.Environment(SIXTEEN, reward="aurora", **keywords)
    assert mine.environments == 2 and mine.reward_range == (-np.inf, np.inf)
    polls = 0
    while len(batch := mine.poll()):
        twin = named.poll()
        assert calls[polls] == len(batch)
        np.testing.assert_allclose(batch.rewards, twin.rewards, rtol=1e-6)
        polls += 1
        for environment in (mine, named):
            environment.submit(rule(batch))
    assert polls > 10 and polls == len(calls)
    env = paceline.Env(SIXTEEN, duration="300us", reward=lambda seen: -seen["rtt_us"].mean())
    env.reset(seed=1)
    assert env.step(np.zeros(1, np.float32))[1] < 0.0


def test_rewards_and_counts_that_are_wrong_are_told() -> None:
    def told(reward: Any) -> str:
        with pytest.raises(paceline.ArgumentError) as error:
            paceline.Environment(SIXTEEN, reward=reward).poll()
        return str(error.value)

    assert "expected a name or a function, found a value of type `int`" in told(3)
    assert "a number for each of" in told(lambda seen: "much")
    assert "a number for each of" in told(lambda seen: [1.0, 2.0])
    with pytest.raises(ZeroDivisionError):
        paceline.Environment(SIXTEEN, reward=lambda seen: 1 / 0).poll()
    with pytest.raises(paceline.ArgumentError, match="another word for `environments`"):
        paceline.Environment(SIXTEEN, environments=2, num_envs=2)
    with pytest.raises(paceline.ArgumentError, match=r"paceline.VectorEnv\(scenario, num_envs\)"):
        paceline.Env(SIXTEEN, num_envs=2)
    with pytest.raises(paceline.ArgumentError, match="runs several side by side"):
        paceline.ParallelEnv(LEAVING, environments=2)


def test_gymnasium_accepts_it() -> None:
    check_env(paceline.Env(SIXTEEN, duration="500us"), skip_render_check=True)


def test_a_vector_of_environments() -> None:
    def steps(threads: int) -> list[Any]:
        vector = paceline.VectorEnv(SIXTEEN, 4, threads=threads, duration="300us", interval="20us")
        seen, _ = vector.reset(seed=3)
        assert seen.shape == (4, *(vector.single_observation_space.shape or ()))
        told = [seen]
        ends = 0
        for _ in range(40):
            seen, rewards, terminated, truncated, _ = vector.step(np.full((4, 1), 0.1, np.float32))
            assert not terminated.any() and rewards.shape == (4,)
            assert vector.observation_space.contains(seen)
            ends += int(truncated.sum())
            told.append(seen)
        assert ends >= 8, "episodes end, and begin anew"
        return told

    assert all((a == b).all() for a, b in zip(steps(1), steps(2)))


def test_several_receivers_are_no_single_agent() -> None:
    with pytest.raises(paceline.ArgumentError, match="flows to 4 receivers; expected one"):
        paceline.VectorEnv("rl-cc-all-to-all", 2)


def test_pettingzoo_accepts_it() -> None:
    parallel_api_test(paceline.ParallelEnv(LEAVING), num_cycles=300)
    parallel_seed_test(lambda: paceline.ParallelEnv(LEAVING, duration="300us"), num_cycles=30)


def test_agents_leave() -> None:
    env = paceline.ParallelEnv(LEAVING)
    env.reset(seed=1)
    left: list[str] = []
    while env.agents:
        before = set(env.agents)
        _, rewards, terminated, truncated, _ = env.step({agent: np.zeros(1, np.float32) for agent in env.agents})
        assert set(rewards) >= before and not any(truncated.values())
        left += [agent for agent, over in terminated.items() if over]
    assert sorted(left) == sorted(env.possible_agents)
    assert left[0] == "flow_0", "the smallest first"


# Four queue pairs, three messages over each.
LOOP: dict[str, Any] = {
    **LEAVING,
    "name": "loop",
    "workload": [
        {
            "label": "writes",
            "closed-loop": {
                "senders": [1, 2, 3, 4],
                "receivers": [9],
                "connections": "persistent",
                "messages": 3,
                "size": "200KB",
            },
        }
    ],
}


def test_queue_pairs_are_agents_over_their_messages() -> None:
    parallel_api_test(paceline.ParallelEnv(LOOP), num_cycles=300)
    parallel_seed_test(lambda: paceline.ParallelEnv(LOOP, duration="300us"), num_cycles=30)
    env = paceline.ParallelEnv(LOOP)
    assert len(env.possible_agents) == 4
    env.reset(seed=1)
    left: list[str] = []
    while env.agents:
        *_, terminated, truncated, _ = env.step({agent: np.zeros(1, np.float32) for agent in env.agents})
        assert not any(truncated.values())
        left += [agent for agent, over in terminated.items() if over]
    assert sorted(left) == sorted(env.possible_agents), "once each, not once a message"
    assert env.native.finish().summary["flows"]["completed"] == 12


def test_an_absent_package_is_named() -> None:
    program = (
        "import sys; sys.modules['pettingzoo'] = None\n"
        "import paceline\n"
        "try:\n    paceline.ParallelEnv\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "needs the package `pettingzoo`" in done.stdout


def test_decisions_a_second() -> None:
    """What the interface takes is little beside the run: slow machines have their margin."""
    environment = paceline.Environment(SIXTEEN, environments=8, set={"cc.external.decision-latency": "1us"})
    decisions, begun = 0, time.process_time()
    while len(batch := environment.poll()):
        environment.submit(rule(batch))
        decisions += len(batch)
    rate = decisions / (time.process_time() - begun)
    print(f"{rate:.0f} decisions/s")
    assert rate > 20_000

def test_environments_that_share_a_process_are_apart() -> None:
    """Several at a time, one of them restarted in the middle, agents that ask whenever they like: each sees what it would
    see alone."""
    scenario = {**LEAVING, "workload": [{**LEAVING["workload"][0], "start-jitter": "20us"}]}
    keywords: dict[str, Any] = {"duration": "300us", "set": {"cc.external.decision-latency": "1us"}}

    def seen(batch: paceline.Batch, number: int) -> Any:
        mine = batch.environments == number
        return [batch.agents[mine].tolist(), batch.observations[mine].tobytes(), batch.rewards[mine].tobytes()]

    def alone(seed: int) -> list[Any]:
        environment = paceline.Environment(scenario, seed=seed, **keywords)
        told = []
        while len(batch := environment.poll()):
            told.append(seen(batch, 0))
            environment.submit(rule(batch))
        return told

    together = paceline.Environment(scenario, environments=3, threads=2, seed=5, **keywords)
    told: list[list[Any]] = [[], [], []]
    polls, waiting = 0, []
    while len(batch := together.poll()):
        polls += 1
        for number in range(3):
            if (batch.environments == number).any():
                told[number].append(seen(batch, number))
        waiting.append(len(batch))
        together.submit(rule(batch))
        if polls == 20:
            # Not at its end, and the others do not wait for it.
            together.reset(environment=1, seed=9)
            first, told[1] = told[1], []
    assert told == [alone(5), alone(9), alone(7)]
    assert told[0] != told[1] and told[0] != told[2], "seeds differ"
    assert first == alone(6)[: len(first)] and len(first) == 20
    # Nobody waits for others to ask: never all 24 do.
    assert max(waiting) < 24 and min(waiting) == 1, (min(waiting), max(waiting))
