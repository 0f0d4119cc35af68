"""Contract: the shield settles each decision once, by prediction or by what was observed, charges the worst where it
cannot know, and renews its ledger at resets alone."""

import gymnasium as gym
import numpy as np
import pytest

import cpss
from test_shield import cartpole


def test_ones_own_costs_may_be_charged_as_predicted():
    cost, observed = (lambda env, obs: [0.125, 0.0]), {"cost": 0.5}  # noqa: E731

    class Telling(gym.Wrapper):
        def step(self, action):
            *rest, _ = self.env.step(action)
            return *rest, dict(observed)

    for charge, charged in ((None, 0.5), ("observed", 0.5), ("predicted", 0.125)):
        env = cpss.ShieldWrapper(Telling(gym.make("CartPole-v1")), 5.0, 8, cost=cost, charge=charge, gain="constant")
        env.reset(seed=0)
        info = env.step(0)[4]
        assert info["shield"]["remaining"] == 5.0 - charged and info["cost"] == 0.5
        assert env.certificate()["charge"] == (charge or "observed")
        assert np.isnan(info["shield"]["promise"]), "nothing is promised of costs that nobody knows to be risks"


def test_a_pace_lets_bursts_through_and_no_more_than_the_budget():
    for pace, verdict in ((1.0, "replace"), (4.0, "admit")):
        env = cartpole(lambda env, obs: [0.15, 0.0], budget=0.5, horizon=10, pace=pace, gain="constant", charge="predicted")
        env.reset(seed=0)
        # A tenth of the budget is less than what the action costs, and four tenths are more.
        assert env.step(0)[4]["shield"]["verdict"] == verdict
        for _ in range(5):
            shield = env.step(0)[4]["shield"]
            assert shield["budget_kept"] and shield["remaining"] >= 0.0


def test_a_price_spends_where_it_buys_most():
    def judged(price, preferences):
        env = cartpole(lambda env, obs: [0.4, 0.0], budget=1.0, horizon=2, gain="constant", price=price, preferences=preferences)
        env.reset(seed=0)
        shield = env.step(0)[4]["shield"]
        return shield["verdict"], shield["reason"], shield["executed_action"], env.certificate()["priced"]

    likes_the_first = lambda env, obs: [1.0, 0.0]  # noqa: E731
    # The action takes four fifths of the threshold. It is worth that at a price of 1, and not at 2.
    assert judged(1.0, likes_the_first) == ("admit", "", 0, 0)
    assert judged(2.0, likes_the_first) == ("replace", "priced", 1, 1)
    assert judged(2.0, None) == ("admit", "", 0, 0), "nobody says what it buys"


def test_an_overspent_budget_is_said():
    env = cartpole(lambda env, obs: [0.0, 0.0], budget=0.5, observed=lambda *_: 0.4)
    assert env.reset(seed=0)[1]["shield"]["budget_kept"] is True
    assert [env.step(step % 2)[4]["shield"]["budget_kept"] for step in range(3)] == [True, False, False]
    assert env.certificate()["budget_kept"] is False


def test_what_is_observed_is_charged_and_the_closing_step_too():
    observed = lambda env, obs, terminated, info: 1.0 if terminated else 0.25  # noqa: E731
    env = cartpole(lambda env, obs: [0.0, 0.0], budget=50.0, observed=observed)
    env.reset(seed=0)
    over, steps = False, 0
    while not over:
        _, _, over, _, info = env.step(0)
        steps += 1
    assert info["shield"]["remaining"] == 50.0 - 0.25 * (steps - 1) - 1.0
    certificate = env.certificate()
    assert certificate["steps"] == steps and certificate["mispredicted"] == steps
    assert certificate["envelope_held"]


def test_without_an_observation_the_prediction_is_charged_and_info_cost_comes_first():
    env = cartpole(lambda env, obs: [0.004, 0.002])
    env.reset(seed=0)
    _, _, _, _, info = env.step(0)
    assert info["shield"]["remaining"] == 5.0 - 0.004 and info["cost"] == 0.004

    class Costly(gym.Wrapper):
        def step(self, action):
            *step, info = self.env.step(action)
            return (*step, {**info, "cost": 0.5})

    env = cpss.ShieldWrapper(Costly(gym.make("CartPole-v1")), 5.0, 500, cost=lambda env, obs: [0.0, 0.0])
    env.reset(seed=0)
    assert env.step(0)[4]["shield"]["remaining"] == 4.5


def test_the_ledger_is_renewed_by_resets_alone():
    env = cartpole(lambda env, obs: [0.004, 0.004])
    env.reset(seed=0)
    left = [env.step(action)[4]["shield"]["remaining"] for action in (0, 1, 0, 1)]
    assert left == sorted(left, reverse=True) and len(set(left)) == 4
    _, info = env.reset(seed=1)
    assert info["shield"]["remaining"] == 5.0 and info["shield"]["verdict"] == "reset"
    assert env.certificate()["steps"] == 0


def test_a_step_that_raises_is_charged_as_the_worst_and_needs_a_reset():
    class Broken(gym.Wrapper):
        def step(self, action):
            raise OSError("the cable is out")

    env = cpss.ShieldWrapper(Broken(gym.make("CartPole-v1")), 5.0, 500, cost=lambda env, obs: [0.0, 0.0])
    env.reset(seed=0)
    with pytest.raises(OSError, match="cable"):
        env.step(0)
    assert (env.certificate()["steps"], env.certificate()["spent"]) == (1, 1.0)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


class Stopped(BaseException):
    """No error, but it ends what is going on, as Ctrl-C does."""


@pytest.mark.parametrize("what", [KeyboardInterrupt, Stopped, SystemExit])
def test_a_step_that_is_interrupted_after_the_world_moved_is_charged_as_the_worst(what):
    moved = []

    class Counting(gym.Wrapper):
        def step(self, action):
            moved.append(action)
            return self.env.step(action)

    def observed(env, observation, terminated, info):
        if len(moved) == 2:
            raise what
        return 0.25

    free = lambda env, obs: [0.0, 0.0]  # noqa: E731
    env = cpss.ShieldWrapper(Counting(gym.make("CartPole-v1")), 5.0, 500, cost=free, observed=observed)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(what):
        env.step(0)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    certificate = env.certificate()
    assert len(moved) == 2 == certificate["steps"], "every step of the world is in the account, once"
    assert certificate["spent"] == 1.25 and certificate["unusable_observations"] == 1
    env.reset(seed=0)
    assert env.step(0)[4]["shield"]["remaining"] == 4.75


def test_a_step_that_is_none_is_charged_as_the_worst():
    class Short(gym.Wrapper):
        def step(self, action):
            return self.env.step(action)[:4]

    env = cpss.ShieldWrapper(Short(gym.make("CartPole-v1").unwrapped), 5.0, 500, cost=lambda env, obs: [0.0, 0.0])
    env.reset(seed=0)
    with pytest.raises(ValueError, match="unpack"):
        env.step(0)
    assert (env.certificate()["steps"], env.certificate()["spent"]) == (1, 1.0)
