"""Contract: something is promised only where the critic was found conservative: in the very task, config, regime and eyes in
which it was calibrated, and with a budget that forbids anything."""

import math
import pickle

import gymnasium as gym
import highway_env  # noqa: F401  (registers the ids of the original)
import numpy as np
import pytest
from ledge import Ledge, fell

import cpss
from cpss.numbers import Observations


def promises(env, **options):
    """Whether anything is promised of a decision."""
    env.reset(seed=3, **options)
    info = env.step(env.action_space.sample())[-1]
    assert (env.certificate()["promise"] is None) is math.isnan(info["shield"]["promise"])
    return not math.isnan(info["shield"]["promise"])


@pytest.mark.parametrize(("change", "wanted"), [({}, True), ({"risk": "stationary"}, True), ({"task": "racetrack-v0", "risk": "stationary"}, False), ({"budget": 1.0}, False),
                          ({"budget": 0.002}, True), ({"budget": 0.1}, True), ({"budget": 0.0019}, False), ({"budget": 0.11}, False)])  # fmt: skip
def test_a_critic_that_is_not_conservative_promises_nothing_nor_does_a_budget_that_it_was_not_calibrated_under(change, wanted):
    """The racetrack's critic of stationary traffic was calibrated there, and says of itself that it is not conservative."""
    task, options = change.get("task", "merge-v0"), {name: value for name, value in change.items() if name != "task"}
    assert promises(cpss.ShieldWrapper(cpss.make(task), **options)) is wanted


@pytest.mark.parametrize(
    ("task", "config", "wanted"),
    [
        ("highway-v0", {}, True),
        ("highway-v0", {"observation": {"type": "Kinematics", "vehicles_count": 8}}, True),
        ("highway-v0", {"lanes_count": 1}, False),
        ("highway-v0", {"vehicles_density": 4}, False),
        ("highway-v0", {"simulation_frequency": 5}, False),
        ("highway-v0", {"action": {"type": "DiscreteMetaAction", "target_speeds": [20, 50]}}, False),
        ("roundabout-v0", {"duration": 60}, False),
        ("merge-v1", {}, False),
        ("highway-fast-v0", {}, False),
        ("intersection-v2", {}, False),
    ],
)
def test_regression_nothing_is_promised_in_a_world_that_the_critic_was_not_calibrated_in(task, config, wanted):
    """The same road with other lanes, traffic, speeds or clocks is another world, and so is another version of a task."""
    ours = cpss.ShieldWrapper(cpss.make(task, config=config))
    assert promises(ours) is wanted
    assert promises(pickle.loads(pickle.dumps(ours))) is wanted
    assert promises(cpss.ShieldWrapper(gym.make(task, config=config or None, disable_env_checker=True))) is wanted
    envs = cpss.make_vec(task, 2, config=config, shield=True)
    envs.reset(seed=3)
    infos = envs.step(np.zeros(2, np.int64))[-1]
    assert np.isfinite(infos["shield"]["promise"]).all() == wanted


def test_regression_a_config_at_a_reset_is_minded_too():
    env = cpss.ShieldWrapper(cpss.make("highway-v0"))
    told = [promises(env), promises(env, options={"config": {"lanes_count": 1}}), promises(env, options={"config": {"lanes_count": 4}})]
    assert told == [True, False, True]


class Skips(gym.Wrapper):
    """Lets every action run twice, of which the shield around it judges one."""

    def step(self, action):
        seen = self.env.step(action)
        return seen if seen[2] or seen[3] else self.env.step(action)


@pytest.mark.parametrize("make", [cpss.make, lambda task: gym.make(task, disable_env_checker=True)])
def test_regression_a_wrapper_inside_that_runs_decisions_nobody_judges_is_noticed_and_nothing_is_promised(make):
    env = cpss.ShieldWrapper(Skips(make("merge-v0")))
    env.reset(seed=3)
    info = env.step(1)[4]["shield"]
    # As with another action than the one that was judged, the worst is charged.
    assert "unjudged-decisions-ran: 2" in info["reason"] and env.certificate()["spent"] == 1.0 and not info["budget_kept"]
    assert math.isnan(info["promise"]) and env.certificate()["promise"] is None


def test_regression_once_more_than_the_budget_is_spent_nothing_is_promised():
    class Flips(gym.Wrapper):
        def step(self, action):
            return self.env.step(4 - action)

    env = cpss.ShieldWrapper(Flips(cpss.make("merge-v0")))
    env.reset(seed=3)
    info = env.step(1)[4]["shield"]
    assert not info["budget_kept"] and math.isnan(info["promise"])


def test_regression_a_risk_promises_nothing_in_another_environment():
    card = {"steps": 40_000, "rounds": 4, "calibration_episodes": 200, "budgets": (0.02, 0.05), "hidden": (32,)}
    for name in ("LedgeOne-v0", "LedgeTwo-v0"):
        gym.register(name, Ledge)
    risk = cpss.learn_risk("LedgeOne-v0", fell, **card)
    assert risk.card.calibrated and promises(cpss.ShieldWrapper(gym.make("LedgeOne-v0"), risk=risk, budget=0.02))
    with pytest.warns(RuntimeWarning, match="learned in LedgeOne-v0, and this is LedgeTwo-v0: nothing is promised"):
        other = cpss.ShieldWrapper(gym.make("LedgeTwo-v0"), risk=risk, budget=0.02)
    assert not promises(other)


def test_regression_what_is_masked_in_an_observation_is_no_number():
    plain, masked = gym.spaces.Box(-9.0, 9.0, (2,)), np.ma.array([3.0, 4.0], mask=[True, False])
    np.testing.assert_array_equal(Observations(plain).row(masked), np.array([np.nan, 4.0], np.float32))
    both = gym.spaces.Dict({"a": plain, "b": gym.spaces.Tuple([plain])})
    np.testing.assert_array_equal(Observations(both).row({"a": masked, "b": (masked,)}), np.array([np.nan, 4.0] * 2, np.float32))
    np.testing.assert_array_equal(Observations(plain).row(np.ma.array([3.0, 4.0])), np.array([3.0, 4.0], np.float32))
