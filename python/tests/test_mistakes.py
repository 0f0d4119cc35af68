"""Contract: what a new user gets wrong is a `ValueError` that names it and says what to do; nothing has run then."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import cpss
import cpss.sb3

PLAN = {"tasks": ["merge-v0"], "regimes": ["stationary"], "arms": ["dqn"], "policies": [0], "episodes": 2, "budgets": [], "thresholds": []}


#: A config that holds itself.
ITSELF = {}
ITSELF["itself"] = ITSELF


def free(env, observation):
    return [0.0, 0.0]


def pictured(config):
    env = cpss.DrivingEnv("merge-v0", config, render_mode="rgb_array")
    env.reset(seed=0)
    return env.render()


def test_wrong_arguments_are_named():
    env = gym.make("CartPole-v1")
    for arguments, word in [
        ({}, "cost='driving' is for"),
        ({"cost": "walking"}, "'walking'"),
        ({"cost": np.zeros(2)}, "`cost` is array"),
        ({"cost": free}, "`budget` is missing"),
        ({"cost": free, "budget": 1.0}, "`horizon` is missing"),
        ({"cost": free, "budget": -1.0, "horizon": 5}, "`budget` is out of range: -1"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "mode": "off"}, "\"off\""),
        ({"cost": free, "budget": 1.0, "horizon": 5, "fallback": "any"}, "\"any\""),
        ({"cost": free, "budget": 1.0, "horizon": 5, "tau_cap": 1.0}, "tau_cap"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "pace": 0.5}, "`pace` is out of range: 0.5"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "price": -1.0}, "`price` is out of range: -1"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "charge": "double"}, "\"double\""),
        ({"cost": free, "budget": 1.0, "horizon": 5, "charge": "predicted", "observed": free}, "leave one of them out"),
        ({"cost": free, "budget": "much", "horizon": 5}, "`budget` is 'much', but has to be a number"),
        ({"cost": free, "budget": 1.0, "horizon": -5}, "`horizon` is -5, but has to be a whole number"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "smoothing": [1]}, "`smoothing` is"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "gain": 3}, "`gain` is 3"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "gain": "loud"}, "\"loud\""),
        ({"cost": free, "budget": 1.0, "horizon": 5, "bugdet": 1.0}, "`bugdet`"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "context": 3}, "`context`"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "preferences": 3}, "`preferences`"),
        ({"cost": free, "budget": 1.0, "horizon": 5, "last_resort": 2}, "has to be from 0 to 1"),
    ]:
        with pytest.raises(ValueError, match=word):
            cpss.ShieldWrapper(env, **arguments)
    with pytest.raises(ValueError, match="bounded"):
        box = gym.spaces.Box(-np.inf, np.inf, (1,))
        cpss.ShieldWrapper(gym.wrappers.TransformAction(gym.make("Pendulum-v1"), lambda a: a, box), 1.0, 5, cost=free)
    wrapped = cpss.ShieldWrapper(env, 5.0, 500, cost=free)
    with pytest.raises(gym.error.ResetNeeded):
        wrapped.step(0)
    wrapped.reset(seed=0)
    for action in (2, -1, 0.5, None):
        with pytest.raises(ValueError, match="action"):
            wrapped.step(action)
    assert wrapped.certificate()["steps"] == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: cpss.make_vec("merge-v0", 2),
        lambda: SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2),
        lambda: gym.make_vec("CartPole-v1", 2),
        lambda: cpss.sb3.make_vec_env("merge-v0", 2),
    ],
)
def test_regression_vector_environments_are_told_the_way_there_is(make):
    with pytest.raises(ValueError, match=r"goes around one: .*make_vec\(id, num_envs, shield=True\).*ShieldWrapper"):
        cpss.ShieldWrapper(make(), 1.0, 10, cost=free)


@pytest.mark.parametrize("task", ["u-turn-v0", "parking-v0", "exit-v0", "intersection-multi-agent-v0"])
def test_regression_tasks_that_it_does_not_know_are_told_the_way_there_is(task):
    with pytest.raises(ValueError, match=f"knows merge-v0, .* but not {task}: .*cost=..."):
        cpss.ShieldWrapper(gym.make(task, disable_env_checker=True))


def test_regression_a_shield_in_a_shield_is_refused():
    """The outer one would report, and charge, an action that the inner one replaced."""
    env = gym.wrappers.TimeLimit(cpss.ShieldWrapper(cpss.make("merge-v0")), 5)
    with pytest.raises(ValueError, match="a shield in this environment already"):
        cpss.ShieldWrapper(env)


@pytest.mark.parametrize("seed, words", [(-1, "`seed` is -1"), ("0", "`seed` is '0'"), (1.0, "`seed` is 1.0"), (2**70, "from 0 to 4")])
def test_regression_a_policy_of_no_seed_is_refused_in_words(seed, words):
    with pytest.raises(ValueError, match=words):
        cpss.load_policy("merge-v0", seed=seed)


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"tasks": []}, {"regimes": []}, {"arms": []}, {"policies": []}])
def test_regression_a_sweep_of_nothing_is_refused_in_words(wrong, tmp_path):
    with pytest.raises(ValueError, match=f"`{next(iter(wrong))}`"):
        cpss.sweep({**PLAN, **wrong}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_regression_a_plan_that_was_no_file_is_not_called_one(tmp_path):
    with pytest.raises(ValueError, match="(?s)^the plan: .*epsiodes") as error:
        cpss.sweep({**PLAN, "epsiodes": 2}, tmp_path)
    assert "plan.toml" not in str(error.value)
    with pytest.raises(ValueError, match=r"`plan` is \[\]"):
        cpss.sweep([], tmp_path)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: cpss.make(None), "the task is None"),
        (lambda: cpss.make("parking-v0"), "no task `parking-v0`"),
        (lambda: cpss.shield_settings(3), "the task is 3"),
        (lambda: cpss.ShieldWrapper("cpss/merge-v0"), "has to be a Gymnasium environment"),
        (lambda: cpss.ShieldWrapper(cpss.make("merge-v0"), mode=None), "`mode` is None"),
        (lambda: cpss.ShieldWrapper(cpss.make("racetrack-v0"), candidates=3.5), "`candidates` is 3.5"),
        (lambda: cpss.ShieldWrapper(cpss.make("racetrack-v0"), candidates=1), "`candidates` is 1"),
        (lambda: cpss.ShieldWrapper(cpss.make("racetrack-v0"), radius="wide"), "`radius` is 'wide'"),
        (lambda: cpss.ShieldWrapper(cpss.make("racetrack-v0"), radius=[1, 2, 3]), r"`radius` is \[1, 2, 3\]"),
        (lambda: cpss.ShieldWrapper(cpss.make("racetrack-v0"), last_resort="left"), "`last_resort` is 'left'"),
        (lambda: cpss.DrivingEnv("merge-v0", config=[1]), r"`config` is \[1\]"),
        (lambda: cpss.DrivingEnv("merge-v0", config={"duration": np.nan}), "NaN"),
        (lambda: cpss.make_vec("merge-v0", "3"), "`num_envs` is '3'"),
        (lambda: cpss.make_vec("merge-v0", 2.5), "`num_envs` is 2.5"),
        (lambda: cpss.make_vec("merge-v0", 2, num_threads=0.5), "`num_threads` is 0.5"),
        (lambda: cpss.make_vec("merge-v0", 2, shield="yes"), "`shield` is 'yes'"),
        (lambda: cpss.make_vec("merge-v0", 2).reset(seed=1.5), "`seed` is 1.5"),
        (lambda: cpss.make_vec("merge-v0", 2).reset(seed=[1.5, 2]), "`seed` is 1.5"),
        (lambda: cpss.make_vec("merge-v0", 2).reset(seed="a"), "`seed` is 'a'"),
        (lambda: cpss.make_vec("merge-v0", 2).reset(seed=2**64 - 1), "below 2"),
        (lambda: cpss.DrivingEnv("merge-v0").reset(seed="1"), "`seed` is '1'"),
        (lambda: cpss.DrivingEnv("merge-v0").reset(seed=1.5), "`seed` is 1.5"),
        (lambda: cpss.DrivingEnv("merge-v0").reset(options={"config": 3}), "`config` is 3"),
        (lambda: cpss.DrivingEnv("merge-v0").reset(options=3), "`options` is 3"),
        (lambda: cpss.make_vec("merge-v0", 2).reset(options=3), "`options` is 3"),
        (lambda: cpss.DrivingEnv("merge-v0", config={"duration": {3}}), r"cannot hold \{3\}"),
        (lambda: cpss.DrivingEnv("merge-v0", config={(1,): 3}), "keys must be"),
        (lambda: cpss.DrivingEnv("merge-v0", config=ITSELF), "holds itself"),
        (lambda: pictured({"screen_width": -5}), "no picture by {'screen_width': -5}"),
        (lambda: pictured({"screen_height": "tall"}), "no picture by {'screen_height': 'tall'}"),
        (lambda: pictured({"centering_position": [0]}), r"no picture by {'centering_position': \[0\]}"),
        (lambda: cpss.make_vec("merge-v0", 2, autoreset_mode="NEXT_STEP"), "one of AutoresetMode.NEXT_STEP or 'NextStep', "),
        (lambda: cpss.ShieldWrapper(cpss.make("merge-v0"), last_resort=9), "`last_resort`: the action is 9"),
        (lambda: cpss.ShieldWrapper(cpss.make("merge-v0"), risk="Drift"), "give drift, sensed, stationary, or a file"),
        (lambda: cpss.from_sb3("model.zip"), "`model` is 'model.zip'"),
        (lambda: cpss.sweep(PLAN, threads="2"), "`threads` is '2'"),
        (lambda: cpss.sweep(PLAN, threads=1.5), "`threads` is 1.5"),
        (lambda: cpss.sweep(PLAN, out=None), "`out` is None"),
        (lambda: cpss.sweep(PLAN, out=""), "`out` is ''"),
        (lambda: cpss.sweep({**PLAN, "policies": {0}}), r"a plan cannot hold \{0\}"),
        (lambda: cpss.sweep({**PLAN, "episodes": None}), "a plan cannot hold None"),
        (lambda: cpss.sweep({**PLAN, "tasks": ["\N{SNOWMAN}\N{AUTOMOBILE}"]}), "no task `\N{SNOWMAN}\N{AUTOMOBILE}`"),
    ],
)
def test_regression_odd_arguments_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_regression_a_batch_names_a_wrong_action_as_it_was_given():
    envs = cpss.make_vec("merge-v0", 2, shield=True)
    envs.reset(seed=0)
    for wrong in (-1, 5):
        with pytest.raises(ValueError, match="environment 1: the action has to be from 0 to 4"):
            envs.step([0, wrong])
    assert [account["steps"] for account in envs.certificates()] == [0, 0]


MASKED = np.ma.array(1, mask=True)


@pytest.mark.parametrize("task, action", [
    ("merge-v0", MASKED),
    ("racetrack-v0", np.ma.array([0.1], mask=[True])),
    ("racetrack-v0", ["0.1"]),
    ("racetrack-v0", np.array([0.1 + 1j])),
    ("racetrack-v0", [10**400]),
])  # fmt: skip
def test_regression_what_is_under_a_mask_and_what_is_no_number_is_no_action(task, action):
    """NumPy makes numbers of all of these."""
    for env in (cpss.make(task, disable_env_checker=True), cpss.ShieldWrapper(cpss.make(task, disable_env_checker=True))):
        env.reset(seed=0)
        with pytest.raises(ValueError, match="the action is"):
            env.step(action)
    envs = cpss.make_vec(task, 2, shield=True)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="`actions` "):
        envs.step(np.ma.stack([action, action]) if isinstance(action, np.ma.MaskedArray) else [action, action])
    assert [account["steps"] for account in envs.certificates()] == [0, 0]


def test_regression_a_masked_action_is_no_last_resort():
    with pytest.raises(ValueError, match="`last_resort`: the action is masked_array"):
        cpss.ShieldWrapper(gym.make("CartPole-v1"), 1.0, 5, cost=free, last_resort=MASKED)


def test_regression_a_policy_that_cannot_be_read_is_named(tmp_path):
    place = tmp_path / "cut.safetensors"
    place.write_bytes(b"short")
    with pytest.raises(ValueError, match="cut.safetensors: the policy cannot be read"):
        cpss.load_policy(str(place))


class Backwards(gym.ActionWrapper):
    """The space is the same, the actions are not."""

    def action(self, action):
        return 4 - action


class Stubborn(gym.Wrapper):
    """No action wrapper, but plays what it likes."""

    def step(self, action):
        return self.env.step(3)


@pytest.mark.parametrize(
    "between", [Backwards, lambda env: gym.wrappers.StickyAction(env, 0.5), lambda env: gym.wrappers.RepeatAction(env, 4)]
)
@pytest.mark.parametrize("make", [cpss.make, lambda task: gym.make(task, disable_env_checker=True)])
def test_regression_a_wrapper_that_changes_actions_is_not_let_into_the_shield(make, between):
    """The critic would judge one action, and another would run."""
    with pytest.raises(ValueError, match="put it around the shield, not into it"):
        cpss.ShieldWrapper(between(make("merge-v0")))
    env = between(cpss.ShieldWrapper(make("merge-v0")))
    env.reset(seed=0)
    env.step(1)


@pytest.mark.parametrize("mode", ["enforce", "shadow"])
def test_regression_another_action_than_was_judged_is_charged_as_the_worst(mode):
    env = cpss.ShieldWrapper(Stubborn(cpss.make("merge-v0")), budget=5.0, mode=mode)
    env.reset(seed=0)
    shield = env.step(3)[4]["shield"]
    assert shield["reason"] == "" and env.certificate()["spent"] == shield["cost_executed"]
    with pytest.warns(RuntimeWarning, match="another-action-ran: 3 .*put it around the shield"):
        shield = env.step(1)[4]["shield"]
    assert shield["reason"] == "another-action-ran: 3" and env.certificate()["spent"] >= 1.0
