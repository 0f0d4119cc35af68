"""Contract: points of a box are shielded by candidates around them, fail closed as a list of actions does, and are
refused outside the box."""

import re

import gymnasium as gym
import numpy as np
import pytest

import cpss


def pendulum(cost=None, **kwargs):
    """Torques above 0.7 are called dangerous."""
    cost = cost or (lambda env, obs, candidates: (candidates[:, 0] > 0.7) * 0.8)
    return cpss.ShieldWrapper(gym.make("Pendulum-v1"), budget=2.0, horizon=200, cost=cost, **kwargs)


def test_a_box_is_shielded_by_candidates():
    env = pendulum()
    env.reset(seed=0)
    shield = env.step(np.array([1.9], np.float32))[4]["shield"]
    assert shield["verdict"] == "replace" and 0.4 < shield["executed_action"][0] <= 0.7
    shield = env.step([0.3])[4]["shield"]
    assert shield["verdict"] == "admit" and shield["executed_action"] == np.float32(0.3)
    shadow = pendulum(mode="shadow")
    shadow.reset(seed=0)
    shield = shadow.step([1.9])[4]["shield"]
    assert shield["verdict"] == "replace" and shield["executed_action"] == np.float32(1.9)


def test_a_box_fails_closed():
    for cost in (lambda env, obs, candidates: 1 / 0, lambda env, obs, candidates: [0.0], lambda env, obs: [0.0] * 32):
        env = pendulum(cost, last_resort=[-2.0])
        env.reset(seed=0)
        shield = env.step([1.0])[4]["shield"]
        assert shield["verdict"] == "infeasible" and shield["executed_action"] == -2.0
    for wrong in ([np.nan], [0.1, 0.2], "left", [np.inf]):
        with pytest.raises(ValueError, match="action"):
            env.step(wrong)
    assert env.certificate()["steps"] == 1


@pytest.mark.parametrize("mode", ["enforce", "shadow"])
def test_regression_an_action_outside_the_box_is_refused_and_not_clipped(mode):
    env = pendulum(lambda env, obs, candidates: candidates[:, 0] * 0, mode=mode)
    env.reset(seed=0)
    for wrong in ([50.0], [-2.01], np.array([2.001], np.float32)):
        with pytest.raises(ValueError, match="has to be in Box"):
            env.step(wrong)
    assert env.certificate()["steps"] == 0, "nothing ran"
    # The last bits of single precision are no mistake of anybody's.
    rounded = np.nextafter(np.float32(2.0), np.float32(3.0))
    shield = env.step([rounded])[4]["shield"]
    assert shield["verdict"] == "admit" and shield["executed_action"] == (rounded if mode == "shadow" else 2.0)
    envs = cpss.make_vec("racetrack-v0", 2, shield={"mode": mode})
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="environment 1: .* from -1 to 1"):
        envs.step([[0.0], [7.0]])
    assert [account["steps"] for account in envs.certificates()] == [0, 0]
    envs.step(np.array([[0.0], [np.nextafter(np.float32(1), np.float32(2))]], np.float32))


def wide(dimensions):
    """An environment whose actions have so many dimensions."""

    class Wide(gym.Env):
        observation_space, action_space = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Box(-1, 1, (dimensions,))

        def reset(self, *, seed=None, options=None):
            return np.zeros(1, np.float32), {}

        def step(self, action):
            action *= 0  # some environments do such things
            return np.zeros(1, np.float32), 0.0, False, False, {}

    return cpss.ShieldWrapper(Wide(), 1.0, 10, cost=lambda env, obs, candidates: np.zeros(len(candidates)))


def test_regression_the_documented_limit_of_dimensions_is_the_real_one():
    limit = int(re.search(r"at most (\d+) dimensions", cpss.ShieldWrapper.__doc__)[1])
    env = wide(limit)
    env.reset(seed=0)
    assert env.step(np.zeros(limit))[4]["shield"]["verdict"] == "admit"
    with pytest.raises(ValueError, match=f"{limit + 1} dimensions, .* {limit}"):
        wide(limit + 1)


def test_regression_an_environment_that_changes_its_action_in_place_is_reported_rightly():
    env = wide(2)
    env.reset(seed=0)
    action = np.full(2, 0.5, np.float32)
    shield = env.step(action)[4]["shield"]
    assert shield["proposed_action"].tolist() == shield["executed_action"].tolist() == [0.5, 0.5]
