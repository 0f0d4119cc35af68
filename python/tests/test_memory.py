"""Contract: a shield with a memory raises risks by what surprised it in earlier episodes, as the laboratory's does, bit for bit;
what it found outlives the process in a file that nobody can edit unnoticed; without surprises, or a memory, nothing changes."""

import copy
import pickle
import re
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from ledge import Ledge, fell

import cpss
from cpss.shield import KEYS

#: Shifts of the log-odds by a surprise of 1, in a shipped shield.
RATE = 2.0
MOST_SHIFT = 1.5


def play(env, seeds, propose=lambda observation: 1):
    """Plays episodes to their ends; gives all of `info["shield"]`, resets included."""
    said = []
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        said.append(info["shield"])
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(propose(observation))
            said.append(info["shield"])
            over = terminated or truncated
    return said


@pytest.mark.parametrize("task, regime, sensor, risk", [("merge-v0", "high", "perfect", "stationary"), ("intersection-v0", "high", "poor", "stationary")])
def test_a_memory_is_the_laboratorys_to_the_last_bit(tmp_path, task, regime, sensor, risk):
    theirs, ours, episodes = tmp_path / "theirs.json", tmp_path / "ours.json", 12
    command = [sys.executable, "-m", "cpss", "evaluate", "--env", task, "--regime", regime, "--sensor", sensor, "--risk", risk, "--method", "cpss"]
    ran = subprocess.run([*command, "--seed", "1000000", "--episodes", str(episodes), "--memory", theirs], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    policy = cpss.load_policy(task, seed=0)
    env = cpss.make(task, config=policy.config, regime=regime, sensor=sensor)
    env = cpss.ShieldWrapper(env, preferences=policy, risk=risk, memory=ours)
    said = play(env, range(1_000_000, 1_000_000 + episodes), lambda observation: policy.predict(observation)[0])
    assert ours.read_bytes() == theirs.read_bytes()
    assert env.memory.episodes == episodes and env.memory == cpss.Memory.load(theirs)
    assert env.memory.evidence == said[-1]["evidence"] == env.certificate()["evidence"]
    assert max(line["shift"] for line in said) > 0.0, "nothing surprised it, so nothing is compared"


def test_without_surprises_nothing_changes():
    plain, other = (cpss.ShieldWrapper(cpss.make("merge-v0"), memory=memory) for memory in (None, True))
    assert plain.memory is None and set(play(plain, [3])[-1]) == set(KEYS)
    without, remembering = play(plain, [3]), play(other, [3])
    for left, right in zip(without, remembering, strict=True):
        assert right.pop("shift") == right.pop("lift") == 0.0 and right.pop("alarm") == ""
        left.pop("evidence"), right.pop("evidence")
        np.testing.assert_equal(left, right)
    assert "shift" not in plain.certificate()


@pytest.fixture(scope="module")
def risk():
    return cpss.learn_risk(Ledge, fell, steps=40_000, rounds=4, calibration_episodes=200, budgets=(0.02, 0.05), hidden=(32,))


class Cursed(Ledge):
    """The ledge, from which one falls wherever one stands, at the third step."""

    def step(self, action):
        observation, reward, _, truncated, info = super().step(action)
        falls = self._left == self._steps - 3
        return observation, reward, falls, truncated, {"fell": falls}


def test_an_incident_raises_the_risks_of_the_next_episode(risk):
    env = cpss.ShieldWrapper(Cursed(), risk=risk, budget=0.02, memory=True)
    _, first, second, third, _, fourth, *_ = play(env, range(2))
    assert first["shift"] == second["shift"] == third["shift"] == 0.0, "within an episode it stands still"
    assert 0.5 * RATE < fourth["shift"] <= env.memory.shift == MOST_SHIFT and fourth["lift"] == env.memory.lift == 0.0, "only where traffic is watched"
    assert fourth["risk"] > first["risk"] and fourth["unavoidable"] > first["unavoidable"]
    odds = [line["unavoidable"] / (1.0 - line["unavoidable"]) for line in (first, fourth)]
    assert odds[1] / odds[0] == pytest.approx(np.exp(fourth["shift"]), rel=1e-9)
    assert env.memory.novelty is None, "only traffic is watched"
    assert env.memory.alarm is None and third["evidence"] > second["evidence"] + 1
    play(env, range(20))
    assert "incidents were more likely" in env.memory.alarm == env.certificate()["alarm"]
    # Nobody knows any more whether risks are as they were calibrated.
    last = play(env, [3])[-1]
    assert not np.isnan(third["promise"]) and np.isnan(last["promise"]) and env.certificate()["promise"] is None
    again = pickle.loads(pickle.dumps(env))
    assert np.isnan(play(again, [4])[-1]["promise"])


def test_an_episode_that_is_left_ends_and_its_last_decision_teaches_nothing(risk):
    env = cpss.ShieldWrapper(Cursed(), risk=risk, budget=0.02, memory=True)
    for _ in range(2):
        env.reset(seed=0)
    assert env.memory.episodes == 0, "there was no decision"
    env.step(1)
    env.step(1)
    assert (env.memory.episodes, env.memory.decisions) == (0, 1)
    env.reset(seed=0)
    assert (env.memory.episodes, env.memory.decisions, env.memory.shift) == (1, 1, 0.0), "the last one teaches nothing"


def test_an_incident_that_does_not_end_the_episode_counts_once(risk):
    class GoesOn(Cursed):
        def step(self, action):
            observation, reward, _, truncated, info = super().step(action)
            return observation, reward, False, truncated, info

    env = cpss.ShieldWrapper(GoesOn(), risk=risk, budget=0.02, memory=True)
    said = play(env, [0])
    assert len(said) == 21 and env.memory.episodes == 1 and env.memory.decisions == 3
    assert {line["shift"] for line in said} == {0.0} and env.memory.shift > 0.0


@pytest.mark.parametrize("actions", ["discrete", "box"])
def test_a_file_goes_on_in_another_shield(tmp_path, actions):
    path, kinds = tmp_path / "walker.json", dict(observations="box", actions=actions)
    risk = cpss.learn_risk(lambda: Ledge(**kinds), fell, steps=2000, rounds=1, calibration_episodes=200, budgets=0.05, hidden=(8,))
    propose = lambda _: 1 if actions == "discrete" else np.array([2.0, 0.0], np.float32)  # noqa: E731

    def shielded(memory):
        return cpss.ShieldWrapper(Cursed(**kinds), risk=risk, budget=0.05, memory=memory)

    whole = shielded(True)
    play(whole, range(4), propose)
    for seeds in (range(2), range(2, 4)):
        env = shielded(path)
        with pytest.raises(ValueError, match=r"walker\.json is in use by .*cpss\.ShieldWrapper"):
            shielded(path)
        play(env, seeds, propose)
        env.close()
    assert env.memory == whole.memory == cpss.Memory.load(path) and env.memory.episodes == 4
    assert not path.with_name(path.name + ".cpss-lock").exists()


def test_a_file_that_was_edited_or_is_about_another_critic_is_refused(tmp_path):
    path = tmp_path / "car.json"
    env = cpss.ShieldWrapper(cpss.make("merge-v0"), memory=path)
    play(env, [0])
    env.close()
    with pytest.raises(ValueError, match=r"car\.json does not belong.*about the critic"):
        cpss.ShieldWrapper(cpss.make("highway-v0"), memory=path)
    with pytest.raises(ValueError, match="`memory` does not belong to this shield: one is about the critic"):
        cpss.ShieldWrapper(cpss.make("highway-v0"), memory=env.memory)
    text = path.read_text()
    path.write_text(re.sub(r'"episodes": 1', '"episodes": 0', text, count=1))
    for refused in (lambda: cpss.ShieldWrapper(cpss.make("merge-v0"), memory=path), lambda: cpss.Memory.load(path)):
        with pytest.raises(ValueError, match=r"car\.json: it was edited"):
            refused()
    path.write_text(text)
    assert cpss.ShieldWrapper(cpss.make("merge-v0"), memory=path).memory.episodes == 1


def test_a_fleet_is_forked_and_joined(tmp_path, risk):
    base = cpss.ShieldWrapper(Cursed(), risk=risk, budget=0.02, memory=True)
    play(base, range(2))
    base = base.memory
    cars = []
    for count in (1, 2):
        env = cpss.ShieldWrapper(Ledge(), risk=risk, budget=0.02, memory=base.fork())
        play(env, range(count))
        cars.append(env.memory)
    fleet = cpss.Memory.join(cars)
    assert fleet.episodes == base.episodes + 3 == 5
    assert fleet.decisions - base.decisions == sum(car.decisions - base.decisions for car in cars)
    gained = sum(car.shift - base.shift for car in cars)
    assert fleet.shift == pytest.approx(base.shift + gained, abs=1e-12) and gained < 0.0, "what did not happen is a surprise, too"
    fleet.save(tmp_path / "fleet.json")
    assert cpss.Memory.load(tmp_path / "fleet.json") == fleet == pickle.loads(pickle.dumps(fleet))
    anew = fleet.restarted()
    assert anew.evidence < fleet.evidence and anew.shift == fleet.shift and anew.episodes == fleet.episodes
    with pytest.raises(ValueError, match="fleet"):
        cars[0].restarted()
    for wrong, why in (([cars[0], cars[0]], "the same memory"), ([base], "was not forked"), ([], "no memory")):
        with pytest.raises(ValueError, match=why):
            cpss.Memory.join(wrong)


def test_a_copy_remembers_as_much_and_leaves_the_file_alone(tmp_path):
    path = tmp_path / "car.json"
    env = cpss.ShieldWrapper(cpss.make("merge-v0", regime="high"), risk="stationary", memory=path)
    play(env, range(2))
    env.reset(seed=2)
    env.step(1)
    kept, twins = path.read_bytes(), (copy.deepcopy(env), pickle.loads(pickle.dumps(env)))
    found = []
    for twin in twins:
        assert twin.memory == env.memory
        over = False
        while not over:
            *_, terminated, truncated, info = twin.step(1)
            over = terminated or truncated
        found.append(twin.memory)
        assert path.read_bytes() == kept
    assert (found[0].evidence, found[0].episodes) == (found[1].evidence, 3)
    assert found[0].novelty != found[1].novelty, "the episode that was pickled has no score"
    env.close()


def test_highway_envs_own_is_remembered_without_a_score():
    env = cpss.ShieldWrapper(gym.make("merge-v0"), risk="stationary", memory=True)
    play(env, range(2))
    assert env.memory.episodes == 2 and env.memory.novelty == 0.0 and env.memory.decisions > 10


def test_what_cannot_be_remembered_is_refused(risk):
    for arguments, why in (
        (dict(cost=lambda env, observation: [0.0] * 3, budget=1.0, horizon=20), "whose risks are charged"),
        (dict(risk=cpss.Risk.from_bytes(risk.to_bytes()), budget=0.02), "give `incident`"),
        (dict(risk=risk, budget=0.02, memory=3), "`memory` is 3"),
    ):
        with pytest.raises(ValueError, match=why):
            cpss.ShieldWrapper(Ledge(), **{"memory": True, **arguments})
