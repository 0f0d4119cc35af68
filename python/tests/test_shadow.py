"""Contract: a shadow says what a shield would have done, and costs that cannot be right are told aloud, once."""

import warnings

import numpy as np
import pytest
from ledge import Ledge, fell

import cpss


def test_a_report_foresees_what_happens():
    risk = cpss.learn_risk(Ledge, fell, steps=20_000, rounds=3, calibration_episodes=100, budgets=0.05, hidden=(32,))
    env = cpss.ShieldWrapper(Ledge(), risk=risk, budget=0.05, mode="shadow")
    report = cpss.shadow(env, policy=lambda observation: -1, episodes=20)
    assert report.incidents == 20 and report.incidents_foreseen == 20
    assert report.refused > 0.2 and report.reasons and "before 20 of them" in str(report)
    calm = cpss.shadow(env, policy=lambda observation: 1, episodes=20)
    assert calm.refused < report.refused and calm.incidents < 5
    assert cpss.shadow(env, episodes=5, seed=3) == cpss.shadow(env, episodes=5, seed=3)
    # What is refused only after the first incident has foreseen nothing.
    late = cpss.ShieldWrapper(Ledge(fall_ends=False), risk=risk, budget=0.05, mode="shadow", incident=lambda *_: True)
    found = cpss.shadow(late, policy=lambda observation: 1 if observation == 4 else -1, episodes=10)
    assert found.refused > 0.2 and found.incidents == 10 and found.incidents_foreseen == 0
    with pytest.raises(ValueError, match="shadow"):
        cpss.shadow(cpss.ShieldWrapper(Ledge(), risk=risk, budget=0.05))


def walk(env, steps=130):
    """Random steps, with resets."""
    draw = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(draw.integers(-1, 2))
        if terminated or truncated:
            env.reset()


def test_costs_that_are_always_zero_are_told_once():
    env = cpss.ShieldWrapper(Ledge(), 1.0, 20, cost=lambda env, observation: [0.0, 0.0, 0.0], observed=lambda *_: 0.0)
    with pytest.warns(RuntimeWarning, match="said 0 of every action") as said:
        walk(env, 400)
    assert len(said) == 1


def test_costs_that_never_agree_with_what_happens_are_told_once():
    # What is observed is the fall; what is predicted is something else, far from the abyss.
    env = cpss.ShieldWrapper(
        Ledge(), 50.0, 20, cost=lambda env, observation: [0.3, 0.3, 0.3] if observation > 4 else [0.0, 0.0, 0.0], observed=lambda env, observation, terminated, info: float(info["fell"])
    )
    with pytest.warns(RuntimeWarning, match="do not speak of the same thing") as said:
        walk(env, 400)
    assert sum("same thing" in str(one.message) for one in said) == 1


def test_costs_that_agree_are_silent():
    env = cpss.ShieldWrapper(Ledge(), 50.0, 20, cost=lambda env, observation: [0.5 / observation] * 3, observed=lambda env, observation, terminated, info: 0.5 / observation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        walk(env, 300)
