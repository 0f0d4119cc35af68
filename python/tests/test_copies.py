"""Contract: a copy, a pickled one, and what came along through a fork go on where the original was, to the last bit, and
leave it alone."""

import copy
import multiprocessing
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import cpss
from conftest import SHORT


def sent(thing):
    """As it arrives in another process."""
    return pickle.loads(pickle.dumps(thing))


def assert_same(one, two):
    """The same, in every part and to the last bit."""
    assert type(one) is type(two)
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            assert_same(one[key], two[key])
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(two)
        for mine, other in zip(one, two):
            assert_same(mine, other)
    elif isinstance(one, np.ndarray) and one.dtype == object:
        assert_same(list(one), list(two))
    else:
        np.testing.assert_array_equal(one, two)


def risky(env, observation):
    """CartPole: pushing left (0) tips the pole to the right; now and then nothing is known."""
    lean = float(observation[2] + 0.5 * observation[3])
    costs = [min(1, max(0, lean) * 4), min(1, max(0, -lean) * 4)]
    return [np.nan, costs[1]] if int(observation[0] * 1e4) % 5 == 0 else costs


def crowd(env, observation):
    return float(np.nan if int(observation[1] * 1e4) % 7 == 0 else abs(observation[1]))


def steering(env, observation, candidates):
    return np.abs(candidates[:, 0] - observation[0]) / 4


MAKERS = {
    "ours": lambda: cpss.ShieldWrapper(gym.make("cpss/merge-v0")),
    "the original": lambda: cpss.ShieldWrapper(gym.make("merge-v0", disable_env_checker=True)),
    "a shadow": lambda: cpss.ShieldWrapper(gym.make("cpss/merge-v0"), mode="shadow"),
    "another critic": lambda: cpss.ShieldWrapper(gym.make("cpss/merge-v0"), risk="stationary"),
    "a box": lambda: cpss.ShieldWrapper(gym.make("cpss/racetrack-v0")),
    "with a policy": lambda: cpss.ShieldWrapper(
        gym.make("cpss/merge-v0"), fallback="best-admissible", preferences=cpss.load_policy("merge-v0")
    ),
    "one's own": lambda: cpss.ShieldWrapper(gym.make("CartPole-v1"), 3.0, 40, cost=risky, context=crowd, last_resort=1),
    "one's own box": lambda: cpss.ShieldWrapper(gym.make("Pendulum-v1"), 3.0, 100, cost=steering),
}


@pytest.mark.parametrize("how", [sent, copy.deepcopy])
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_regression_a_wrapper_that_travels_goes_on_with_its_episode(name, how):
    env = MAKERS[name]()
    env.action_space.seed(3)
    env.reset(seed=2)
    for _ in range(6):
        env.step(env.action_space.sample())
    twin = how(env)
    assert twin.certificate() == env.certificate() and env.certificate()["steps"] == 6
    for _ in range(6):
        action = env.action_space.sample()
        mine, other = env.step(action), twin.step(action)
        assert_same(mine, other)
        if mine[2] or mine[3]:
            break
    assert_same(env.certificate(), twin.certificate())
    steps = env.certificate()["steps"]
    if not (mine[2] or mine[3]):
        twin.step(action)
        assert (env.certificate()["steps"], twin.certificate()["steps"]) == (steps, steps + 1)
    (seen, info), (their_seen, their_info) = env.reset(seed=9), twin.reset(seed=9)
    assert_same((seen, info["shield"]), (their_seen, their_info["shield"]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_regression_a_ledger_is_made_again_whatever_was_settled():
    random = np.random.default_rng(0)
    odd = [0.0, 1e-300, 0.01, 0.02, 0.3, 1.0, 5.0, np.nan, np.inf, -1.0]
    for mode in ("enforce", "shadow"):
        env = cpss.ShieldWrapper(
            gym.make("CartPole-v1"), 2.0, 20, mode=mode, last_resort=1,
            cost=lambda env, obs: random.choice(odd, 2), context=lambda env, obs: random.choice(odd), observed=lambda *_: random.choice(odd),
        )  # fmt: skip
        settings = env._settings
        for episode in range(60):
            env.reset(seed=episode)
            for step in range(8):
                env.step(step % 2)
            again = cpss._native.Shield(settings)
            again.restore(env._shield.state())
            assert_same(again.certificate(), env.certificate())
            # What the context remembers shows in the next threshold only.
            judge = (1, np.array([0.01, 0.02]), None, 0.7)
            assert_same(again.judge(*judge).numbers, env._shield.judge(*judge).numbers)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fallback", ["min-risk", "best-admissible"])
@pytest.mark.parametrize("mode", ["enforce", "shadow"])
@pytest.mark.parametrize("last_resort", [0, 1, 3])
def test_a_ledger_that_charges_by_prediction_is_made_again_at_any_price(mode, fallback, last_resort):
    random = np.random.default_rng(0)
    odd = [0.0, 1e-300, 0.001, 0.004, 0.01, 0.02, 0.3, 1.0, np.nan, np.inf, -1.0]
    settings = {
        "budget": 0.2, "horizon": 20, "pace": 3.0, "price": 1.5, "charge": "predicted", "mode": mode, "fallback": fallback, "last_resort": last_resort,
    }  # fmt: skip
    critic = cpss._native.Critic("merge-v0", "drift")
    priced = replaced = 0
    for _ in range(60):
        shield = cpss._native.Shield(settings, critic)
        for step in range(8):
            liking = random.random(4)
            decision = shield.judge(int(random.integers(4)), random.choice(odd, 4), liking, random.random())
            shield.settle(decision, np.nan, (random.choice([0.0, 0.25, np.nan]), random.choice([0.25, 0.5, np.nan])))
        if random.random() < 0.5:
            shield.close(bool(random.random() < 0.5))
        again = cpss._native.Shield(settings, critic)
        again.restore(shield.state())
        certificate = shield.certificate()
        assert_same(again.certificate(), certificate)
        assert_same(again.promised, shield.promised)
        judge = (1, np.array([0.01, 0.02, 0.0, 0.5]), None, 0.7)
        assert_same(again.judge(*judge).numbers, shield.judge(*judge).numbers)
        priced, replaced = priced + certificate["priced"], replaced + certificate["replaced"]
    assert 0 < priced < replaced


def test_what_was_warned_of_is_not_said_again_by_a_copy():
    env = cpss.ShieldWrapper(gym.make("CartPole-v1"), 3.0, 40, cost=len)
    env.reset(seed=0)
    with pytest.warns(RuntimeWarning, match="TypeError"):
        env.step(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sent(env).step(0)


@pytest.mark.parametrize("how", [sent, copy.deepcopy])
@pytest.mark.parametrize("task, shield", [("highway-v0", True), ("merge-v0", {"mode": "shadow"}), ("highway-v0", None), ("racetrack-v0", True)])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_regression_a_batch_that_travels_goes_on_with_its_episodes(task, shield, mode, how):
    config = {"racetrack-v0": {"duration": 1}, "highway-v0": SHORT, "merge-v0": {}}[task]
    envs = cpss.make_vec(task, 3, config=config, shield=shield, autoreset_mode=mode, num_threads=2, render_mode="ansi")
    assert_same(how(envs).reset(seed=4), envs.reset(seed=4))
    envs.action_space.seed(1)
    ended, ends = np.zeros(3, bool), 0
    for step in range(24):
        if step % 5 == 3:
            envs = how(envs)
        twin = how(envs)
        if mode is AutoresetMode.DISABLED and ended.any():
            options = {"reset_mask": ended}
            assert_same(envs.reset(options=options), twin.reset(options=options))
        action = envs.action_space.sample()
        mine, other = envs.step(action), twin.step(action)
        assert_same(mine, other)
        ended = mine[2] | mine[3]
        ends += int(ended.sum())
        if shield:
            assert_same(envs.certificates(), twin.certificates())
        assert_same(envs.render(), twin.render())
    assert ends > 3, "no episode ended: nothing was tested"
    assert_same(envs.reset(), twin.reset())


def step_in_child(envs, pipe):
    first = envs.step(np.full(4, 3))
    second = envs.step(np.full(4, 1))
    pipe.send((first, second, envs.certificates()))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_regression_a_batch_that_came_through_a_fork_steps_and_does_not_hang():
    envs = cpss.make_vec("merge-v0", 4, shield=True, num_threads=3)
    envs.reset(seed=0)
    envs.step(np.full(4, 3))
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    child = context.Process(target=step_in_child, args=(envs, theirs))
    child.start()
    answered = mine.poll(30)
    if not answered:
        child.kill()
    assert answered, "the child hangs"
    told = mine.recv()
    child.join(30)
    assert child.exitcode == 0
    wanted = envs.step(np.full(4, 3)), envs.step(np.full(4, 1)), envs.certificates()
    assert_same(told, wanted)


def test_what_cannot_be_pickled_is_named():
    env = cpss.ShieldWrapper(gym.make("CartPole-v1"), 3.0, 40, cost=lambda env, obs: [0.0, 0.0])
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(env)
    closed = cpss.make_vec("merge-v0", 2)
    closed.close()
    with pytest.raises(gym.error.ClosedEnvironmentError):
        pickle.dumps(closed)


def test_regression_a_shallow_copy_is_a_branch_too():
    """One environment with two ledgers would let the budget be spent twice."""
    env = cpss.ShieldWrapper(cpss.make("merge-v0"))
    env.reset(seed=0)
    env.step(1)
    twin = copy.copy(env)
    assert twin.env is not env.env
    assert_same(twin.step(3), env.step(3))
    assert_same(twin.certificate(), env.certificate())
