"""Contract: the shield goes around any environment, fails closed, and in shadow mode never acts. What it charges is in
test_shield_ledger.py."""

import gymnasium as gym
import numpy as np
import pytest

import cpss
from cpss.shield import KEYS


def leaning(env, observation):
    """CartPole: pushing left (0) tips the pole to the right, and the other way round."""
    lean = observation[2] + 0.5 * observation[3]
    return [min(1, max(0, lean) * 4), min(1, max(0, -lean) * 4)]


def cartpole(cost=leaning, **kwargs):
    arguments = {"budget": 5.0, "horizon": 500, **kwargs}
    return cpss.ShieldWrapper(gym.make("CartPole-v1"), cost=cost, **arguments)


def assert_constant_form(info, action_type):
    shield = info["shield"]
    assert tuple(shield) == KEYS
    assert type(shield["verdict"]) is str and type(shield["reason"]) is str
    assert type(shield["proposed_action"]) is action_type and type(shield["executed_action"]) is action_type
    for key in KEYS[4:-1]:
        assert type(shield[key]) is float, key
    assert type(shield["budget_kept"]) is bool


def test_a_policy_that_would_fall_stays_up():
    steps = {}
    for mode in ("enforce", "shadow"):
        env = cartpole(mode=mode)
        env.reset(seed=1)
        steps[mode], over = 0, False
        while not over and steps[mode] < 200:
            _, _, terminated, truncated, info = env.step(0)
            steps[mode] += 1
            over = terminated or truncated
            if mode == "shadow":
                assert info["shield"]["executed_action"] == info["shield"]["proposed_action"] == 0
    assert steps["shadow"] < 15 and steps["enforce"] > 3 * steps["shadow"]


def test_a_shadow_is_the_bare_environment():
    bare, shadow = gym.make("CartPole-v1"), cartpole(mode="shadow", cost=lambda env, obs: [1.0, 1.0])
    bare.reset(seed=3), shadow.reset(seed=3)
    verdicts = set()
    for action in (0, 1, 1, 0, 1, 1, 1):
        mine, theirs = shadow.step(action), bare.step(action)
        assert (mine[0] == theirs[0]).all() and mine[1:4] == theirs[1:4]
        verdicts.add(mine[4]["shield"]["verdict"])
    assert verdicts == {"infeasible"}


def test_info_has_the_same_keys_and_types_on_every_step():
    env = cartpole()
    assert_constant_form(env.reset(seed=0)[1], int)
    for action in (0, np.int64(0), 0, 1):
        assert_constant_form(env.step(action)[4], int)
    box = cpss.ShieldWrapper(gym.make("Pendulum-v1"), 2.0, 200, cost=lambda env, obs, candidates: np.zeros(len(candidates)))
    assert_constant_form(box.reset(seed=0)[1], np.ndarray)
    assert_constant_form(box.step([0.5])[4], np.ndarray)
    driving = cpss.ShieldWrapper(gym.make("cpss/merge-v0"))
    assert_constant_form(driving.reset(seed=0)[1], int)
    assert_constant_form(driving.step(3)[4], int)


@pytest.mark.parametrize(
    "cost, word",
    [
        (lambda env, obs: 1 / 0, "ZeroDivisionError"),
        (lambda env, obs: [0.0, 0.0, 0.0], "there are 2 actions"),
        (lambda env, obs: 0.0, "there are 2 actions"),
        (lambda env, obs: None, "there are 2 actions"),
        (lambda env, obs: ["low", "high"], "could not convert"),
        (lambda env, obs: [[0.0, 0.0]], "there are 2 actions"),
        (lambda env, obs: [np.nan, np.nan], "unusable-cost"),
        (lambda env, obs: [-1.0, np.inf], "unusable-cost"),
        (lambda env: [0.0, 0.0], "TypeError"),
    ],
)
def test_a_cost_function_that_fails_admits_nothing(cost, word):
    for proposal, resort in ((0, 1), (1, 0)):
        env = cartpole(cost, last_resort=resort)
        env.reset(seed=0)
        shield = env.step(proposal)[4]["shield"]
        assert shield["verdict"] == "infeasible" and shield["executed_action"] == resort
        assert shield["reason"].startswith("unusable-cost") and word in shield["reason"]


def test_one_bad_cost_refuses_one_action():
    env = cartpole(lambda env, obs: [np.nan, 0.0])
    env.reset(seed=0)
    shield = env.step(0)[4]["shield"]
    assert (shield["verdict"], shield["reason"], shield["executed_action"]) == ("replace", "unusable-cost", 1)
    assert env.step(1)[4]["shield"]["verdict"] == "admit"


@pytest.mark.parametrize("context", [lambda env, obs: 1 / 0, lambda env, obs: np.nan, lambda env, obs: None, lambda env, obs: -1])
def test_a_context_that_fails_leaves_only_what_is_free(context):
    env = cartpole(lambda env, obs: [0.0, 0.001], context=context)
    env.reset(seed=0)
    shield = env.step(1)[4]["shield"]
    assert shield["threshold"] == 0.0 and shield["executed_action"] == 0
    assert shield["reason"].startswith("unusable-context")


def test_an_observed_cost_that_fails_is_charged_in_full():
    env = cartpole(lambda env, obs: [0.0, 0.0], observed=lambda env, obs, terminated, info: 1 / 0)
    env.reset(seed=0)
    shield = env.step(0)[4]["shield"]
    assert shield["remaining"] == 4.0
    assert shield["reason"] == "unusable-observation: ZeroDivisionError: division by zero"
    assert env.certificate()["unusable_observations"] == 1


def test_what_cannot_be_used_is_recorded_of_an_admitted_action_too():
    free = lambda env, obs: [0.0, 0.0]  # noqa: E731
    for observed in (np.nan, -0.5, np.inf):
        env = cartpole(free, context=lambda env, obs: np.nan, observed=lambda env, obs, terminated, info, cost=observed: cost)
        env.reset(seed=0)
        shield = env.step(0)[4]["shield"]
        assert shield["verdict"] == "admit" and shield["remaining"] == 4.0
        assert shield["reason"] == f"unusable-context: nan; unusable-observation: {observed}"
    env = cartpole(lambda env, obs: 1 / 0, context=lambda env, obs: {}["density"], observed=lambda *_: 0.0)
    env.reset(seed=0)
    assert env.step(0)[4]["shield"]["reason"] == "unusable-cost; ZeroDivisionError: division by zero; unusable-context: KeyError: 'density'"


def test_after_an_episode_nothing_runs_until_a_reset():
    env = cartpole(lambda env, obs: [0.0, 0.0], budget=50.0)
    env.reset(seed=0)
    over = False
    while not over:
        _, _, over, _, _ = env.step(0)
    steps = env.certificate()["steps"]
    for call in (lambda: env.step(0), env.action_masks):
        with pytest.raises(gym.error.ResetNeeded):
            call()
    assert env.certificate()["steps"] == steps
    # A wrapper that resets by itself hides where an episode ends, so it goes around the shield.
    around = gym.wrappers.Autoreset(cartpole(lambda env, obs: [0.0, 0.0], budget=50.0))
    around.reset(seed=0)
    verdicts = [around.step(0)[4]["shield"]["verdict"] for _ in range(30)]
    assert "reset" in verdicts


def test_a_step_judges_the_scene_as_it_is_and_not_the_one_that_was_masked():
    scene = {"costs": [0.0, 0.9], "asked": 0}

    def cost(env, observation):
        scene["asked"] += 1
        return scene["costs"]

    env = cartpole(cost)
    env.reset(seed=0)
    assert env.action_masks().tolist() == env.action_masks().tolist() == [True, False]
    scene.update(costs=[0.9, 0.0], asked=0)
    shield = env.step(0)[4]["shield"]
    assert (shield["verdict"], shield["executed_action"], shield["cost_proposed"]) == ("replace", 1, 0.9)
    assert scene["asked"] == 1, "once for all actions"
    driving = cpss.ShieldWrapper(gym.make("merge-v0", disable_env_checker=True))
    driving.reset(seed=6)
    assert driving.action_masks()[1]
    standing = driving.unwrapped.road.vehicles[-1]
    standing.position, standing.speed = driving.unwrapped.vehicle.position + [12.0, 0.0], 0.0
    assert driving.step(1)[4]["shield"]["verdict"] != "admit"


@pytest.mark.parametrize("make", ["box", "dictionary", "the same array every time"])
def test_what_the_caller_does_with_an_observation_does_not_blind_the_shield(make):
    class Seen(gym.Wrapper):
        """CartPole that shows only how many steps were made."""

        array = np.zeros(1, np.float32)

        def _show(self, count):
            if make == "the same array every time":
                self.array[0] = count
                return self.array
            seen = np.full(1, count, np.float32)
            return {"steps": seen} if make == "dictionary" else seen

        def reset(self, **kwargs):
            self.count = 0
            return self._show(0), self.env.reset(**kwargs)[1]

        def step(self, action):
            self.count += 1
            return self._show(self.count), *self.env.step(action)[1:]

    told = []

    def cost(env, observation):
        told.append(float((observation["steps"] if make == "dictionary" else observation)[0]))
        return [0.0, 0.0]

    env = cpss.ShieldWrapper(Seen(gym.make("CartPole-v1")), 5.0, 500, cost=cost)
    observation, _ = env.reset(seed=0)
    for action in (0, 1, 0):
        (observation["steps"] if make == "dictionary" else observation)[...] = -99
        observation = env.step(action)[0]
    assert told == [0.0, 1.0, 2.0]


def test_masks_leave_the_least_risky_action():
    for mode in ("enforce", "shadow"):
        env = cartpole(lambda env, obs: [0.9, 0.8], mode=mode)
        env.reset(seed=0)
        assert env.action_masks().tolist() == [False, True]
    blind = cartpole(lambda env, obs: 1 / 0, last_resort=1)
    blind.reset(seed=0)
    assert blind.action_masks().tolist() == [False, True]


def test_preferences_choose_among_what_is_admissible():
    costs = lambda env, obs: [0.9, 0.9, 0.01, 0.0, 0.01]  # noqa: E731
    likes = lambda env, obs: [9, 8, 7, 1, 5]  # noqa: E731
    for fallback, preferences, wanted in (
        ("best-admissible", likes, 2), ("min-risk", likes, 3), ("best-admissible", None, 3),
        ("best-admissible", lambda env, obs: 1 / 0, 3), ("best-admissible", lambda env, obs: [1.0], 3),
    ):  # fmt: skip
        env = cpss.ShieldWrapper(gym.make("cpss/merge-v0"), 5.0, 20, cost=costs, fallback=fallback, preferences=preferences)
        env.reset(seed=0)
        assert env.step(0)[4]["shield"]["executed_action"] == wanted


def test_actions_that_do_not_start_at_zero():
    class Shifted(gym.Env):
        observation_space, action_space = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(3, start=-1)

        def reset(self, *, seed=None, options=None):
            return np.zeros(1, np.float32), {}

        def step(self, action):
            return np.full(1, action, np.float32), 0.0, False, False, {}

    env = cpss.ShieldWrapper(Shifted(), 1.0, 10, cost=lambda env, obs: [0.9, 0.9, 0.0], last_resort=-1)
    env.reset(seed=0)
    observation, _, _, _, info = env.step(-1)
    assert observation[0] == 1.0
    assert (info["shield"]["proposed_action"], info["shield"]["executed_action"]) == (-1, 1)


def test_after_the_horizon_only_what_is_free_runs():
    env = cartpole(lambda env, obs: [0.0, 0.001], horizon=3)
    env.reset(seed=0)
    reasons = [env.step(1)[4]["shield"]["reason"] for _ in range(5)]
    assert reasons == ["", "", "", "horizon-closed", "horizon-closed"]


def test_the_wrapper_is_told_in_the_spec_and_runs_in_other_processes():
    def make():
        import gymnasium as gym

        import cpss

        return cpss.ShieldWrapper(gym.make("cpss/merge-v0"))

    assert make().spec.additional_wrappers[-1].name == "ShieldWrapper"
    envs = gym.vector.AsyncVectorEnv([make] * 2)
    try:
        envs.reset(seed=0)
        infos = envs.step([4, 4])[4]
        assert infos["shield"]["verdict"].tolist() == ["admit", "admit"]
    finally:
        envs.close()


def test_around_a_closed_environment_nothing_runs_and_nothing_is_forgotten():
    env = cpss.ShieldWrapper(gym.make("cpss/merge-v0"))
    env.reset(seed=0)
    env.step(3)
    env.close()
    with pytest.raises(gym.error.ClosedEnvironmentError):
        env.step(3)
    # It cannot be known that the world did not move, so that step is charged as the worst.
    assert env.certificate()["steps"] == 2 and env.certificate()["spent"] >= 1.0
    with pytest.raises(gym.error.ClosedEnvironmentError):
        env.reset(seed=0)
