"""Contract: whatever the user's functions do to what they are given, and whatever they give back, the shield judges by
what is there, admits nothing that it does not know, and says so once."""

import collections
import warnings

import gymnasium as gym
import numpy as np
import pytest

import cpss


class Shown(gym.Env):
    """Shows a number that never changes, in some form, and takes two actions."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(0, 1, (1,))

    def __init__(self, form="array", steps=1000, info=None):
        self.form, self.steps, self.info = form, steps, info or {}

    def _show(self):
        number = np.full(1, 0.5)
        return {
            "array": lambda: number,
            "dictionary": lambda: {"risk": number},
            "ordered": lambda: collections.OrderedDict(risk=number),
            "tuple": lambda: (number, 3),
            "nested": lambda: {"all": [{"risk": number}]},
        }[self.form]()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self._show(), {}

    def step(self, action):
        self.count += 1
        return self._show(), 0.0, False, self.count == self.steps, dict(self.info)


def shielded(cost, env=None, **kwargs):
    wrapped = cpss.ShieldWrapper(env or Shown(), **{"budget": 5.0, "horizon": 50, "cost": cost, "last_resort": 1, **kwargs})
    wrapped.reset(seed=0)
    return wrapped


def number_in(observation):
    """The array in an observation of any form."""
    while not isinstance(observation, np.ndarray):
        observation = next(iter(observation.values())) if isinstance(observation, dict) else observation[0]
    return observation


def spoil(env, observation, *rest):
    """What a careless function does: it scales its observation in place."""
    number_in(observation)[...] *= 0.002
    return 0.0


@pytest.mark.parametrize("form", ["array", "dictionary", "ordered", "tuple", "nested"])
@pytest.mark.parametrize("who", ["cost", "context", "preferences", "observed"])
def test_regression_a_function_that_changes_its_observation_blinds_nobody(form, who):
    seen = []

    def cost(env, observation):
        number = number_in(observation)
        seen.append(float(number[0]))
        costs = [float(number[0]), 0.0]
        if who == "cost":
            spoil(env, observation)
        return costs

    careless = {} if who == "cost" else {who: spoil if who != "preferences" else lambda *given: [spoil(*given), 1.0]}
    env = shielded(cost, Shown(form), **careless)
    assert env.action_masks().tolist() == [False, True]
    assert env.action_masks().tolist() == [False, True], "asking again changes nothing"
    for _ in range(3):
        observation, _, _, _, info = env.step(0)
        assert number_in(observation)[0] == 0.5, "nor does the policy see what was done"
        assert (info["shield"]["verdict"], info["shield"]["cost_proposed"]) == ("replace", 0.5)
    assert set(seen) == {0.5}


def test_regression_an_info_that_observed_changes_is_the_callers_still():
    def observed(env, observation, terminated, info):
        info["list"].append(1)
        info["array"][...] = 9
        info.clear()
        return 0.0

    env = shielded(lambda env, obs: [0.0, 0.0], Shown(info={"list": [], "array": np.zeros(1)}), observed=observed)
    info = env.step(0)[4]
    assert info["list"] == [] and info["array"] == 0.0


@pytest.mark.parametrize(
    "masked",
    [
        np.ma.array([0.0, 0.001], mask=[True, False]),
        np.ma.array([0, 0], mask=[True, False]),
        [np.ma.masked, 0.001],
        (np.ma.array(0.0, mask=True), np.ma.array(0.001)),
        np.array([np.ma.masked, 0.001], dtype=object),
    ],
)
@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
def test_regression_a_masked_cost_is_unusable(masked):
    env = shielded(lambda env, obs: masked)
    assert env.action_masks().tolist() == [False, True]
    shield = env.step(0)[4]["shield"]
    assert (shield["verdict"], shield["reason"], shield["executed_action"]) == ("replace", "unusable-cost", 1)
    assert np.isnan(shield["cost_proposed"])
    all_masked = shielded(lambda env, obs: np.ma.masked_all(2))
    assert all_masked.step(0)[4]["shield"]["verdict"] == "infeasible"


class Late:
    """Becomes an array when it is asked for one."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@pytest.mark.parametrize("odd", [
    Late(np.ma.array([0.0, 0.001], mask=[True, False])),
    np.array(["0.0", 0.001], dtype=object),
    np.array([b"0", 0.001], dtype=object),
])  # fmt: skip
def test_regression_what_only_numpy_takes_for_a_number_is_unusable(odd):
    shield = shielded(lambda env, obs: odd).step(0)[4]["shield"]
    assert shield["verdict"] != "admit" and shield["executed_action"] == 1
    assert shield["reason"].startswith("unusable-cost") and np.isnan(shield["cost_proposed"])


@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
def test_regression_a_masked_context_or_observation_is_unusable():
    hidden = np.ma.array(0.0, mask=True)
    free = lambda env, obs: [0.0, 0.001]  # noqa: E731
    assert shielded(free, context=lambda env, obs: hidden).step(1)[4]["shield"]["executed_action"] == 0
    assert shielded(free, observed=lambda *_: hidden).step(0)[4]["shield"]["remaining"] == 4.0
    assert shielded(free, Shown(info={"cost": hidden})).step(0)[4]["shield"]["remaining"] == 4.0


@pytest.mark.parametrize("text", ["0", b"0"])
def test_regression_a_text_is_no_context_and_no_observation(text):
    free = lambda env, obs: [0.0, 0.001]  # noqa: E731
    with pytest.warns(RuntimeWarning, match="has to be a real number"):
        assert shielded(free, context=lambda env, obs: text).step(1)[4]["shield"]["executed_action"] == 0
    with pytest.warns(RuntimeWarning, match="has to be a real number"):
        assert shielded(free, observed=lambda *_: text).step(0)[4]["shield"]["remaining"] == 4.0
        assert shielded(free, Shown(info={"cost": text})).step(0)[4]["shield"]["remaining"] == 4.0


def test_regression_costs_above_one_are_unusable_and_said():
    env = shielded(lambda env, obs: [7.0, 0.0])
    with pytest.warns(RuntimeWarning, match="7.0 is above 1"):
        shield = env.step(0)[4]["shield"]
    assert (shield["verdict"], shield["executed_action"]) == ("replace", 1)
    assert shield["reason"] == "unusable-cost: 7.0 is above 1, the worst there is" and np.isnan(shield["cost_proposed"])
    assert env.certificate()["unusable_costs"] == 1
    # Where every cost is beyond the scale, none can be compared, and the last resort runs.
    shield = shielded(lambda env, obs: [7.0, 9.0]).step(0)[4]["shield"]
    assert (shield["verdict"], shield["executed_action"]) == ("infeasible", 1)
    # Rounding is no mistake, and neither is an action that is not there.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shield = shielded(lambda env, obs: [np.float32(1.0000001), np.inf]).step(0)[4]["shield"]
    assert (shield["reason"], shield["cost_proposed"]) == ("over-cap", 1.0)


def test_regression_an_observed_cost_above_one_is_charged_as_it_is_and_said():
    env = shielded(lambda env, obs: [0.0, 0.0], observed=lambda *_: 3.0)
    with pytest.warns(RuntimeWarning, match="observed-above-1: 3.0"):
        shield = env.step(0)[4]["shield"]
    assert shield["remaining"] == 2.0 and shield["reason"] == "observed-above-1: 3.0"


@pytest.mark.parametrize("who", ["cost", "context", "preferences", "observed"])
def test_regression_a_function_that_raises_is_told_of_once(who):
    def broken(*_):
        raise KeyError("velocity")

    given = {"cost": lambda env, obs: [0.0, 0.0], who: broken}
    env = shielded(given.pop("cost"), **given)
    with pytest.warns(RuntimeWarning) as caught:
        for _ in range(5):
            env.step(0)
        env.reset(seed=1)
        env.step(0)
    (one,) = caught
    assert f"`{who}`" in str(one.message) and "KeyError: 'velocity'" in str(one.message)
    assert one.filename == __file__, "it names the line that stepped"


def test_regression_an_account_that_is_never_charged_is_told_of_once():
    """A cost that the environment calls `info["cost"]` and that is always 0, say."""
    env = shielded(lambda env, obs: [0.01, 0.01], Shown(steps=4, info={"cost": 0.0}))
    with pytest.warns(RuntimeWarning, match="every step of this episode was charged 0") as caught:
        for _ in range(3):
            env.reset(seed=0)
            for _ in range(4):
                env.step(0)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Nothing was risked, or something was charged, or the episode goes on: nothing to say.
        for cost, info in (([0.0, 0.9], 0.0), ([0.01, 0.01], 0.02)):
            env = shielded(lambda env, obs, cost=cost: cost, Shown(steps=4, info={"cost": info}))
            for _ in range(4):
                env.step(0)
        env = shielded(lambda env, obs: [0.01, 0.01], Shown(steps=4, info={"cost": 0.0}))
        for _ in range(3):
            env.step(0)


@pytest.mark.parametrize(
    "costs",
    [np.array([1j, 0.0]), [1j, 0.0], ["0.0", "0.0"], np.zeros(2, "timedelta64[s]"), np.zeros(2, [("cost", float)]), {0: 0.0, 1: 0.0}],
)
def test_regression_what_are_no_real_numbers_are_no_costs(costs):
    """NumPy takes half of a complex number, and reads texts."""
    env = shielded(lambda env, obs: costs)
    with pytest.warns(RuntimeWarning, match="TypeError"):
        assert env.step(0)[4]["shield"]["verdict"] == "infeasible"


def test_regression_an_error_that_cannot_be_shown_is_a_refusal_too():
    class Unspeakable(Exception):
        def __str__(self):
            raise ValueError

    def broken(*_):
        raise Unspeakable

    with pytest.warns(RuntimeWarning, match="Unspeakable"):
        shield = shielded(broken, context=broken, observed=broken).step(0)[4]["shield"]
    assert (shield["verdict"], shield["executed_action"], shield["remaining"]) == ("infeasible", 1, 4.0)
