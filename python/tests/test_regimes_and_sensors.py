"""Contract: under a regime and behind a sensor, the episode of a seed is the laboratory's own, alone or in a batch, with a
shield or without; what happens is the true world's; without either nothing changes; nonsense is refused."""

import copy
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import cpss
from conftest import SHORT
from cpss.traces import lines_of
from test_copies import assert_same, sent

#: How traffic drifts and is seen, in the hardest built-in way.
HARD = {"regime": "high", "sensor": "poor"}


def steps_of(env, actions, seed=None):
    """An episode: what `reset` and every `step` gave, up to its end."""
    found = [env.reset(seed=seed)]
    for action in actions:
        found.append(env.step(action))
        if found[-1][2] or found[-1][3]:
            break
    return found


def random_actions(env, count=40, seed=5):
    return np.random.default_rng(seed).integers(0, env.action_space.n, count)


def trace_of(folder, task, regime, sensor, method, seed):
    """What the command says of an episode: its header, a line for every decision, and its end."""
    command = [sys.executable, "-m", "cpss", "evaluate", "--env", task, "--regime", regime, "--sensor", sensor, "--method", method]
    ran = subprocess.run([*command, "--seed", str(seed), "--episodes", "1", "--trace", folder], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    (path,) = folder.glob("*.jsonl")
    return lines_of(path)


CONDITIONS = [(task, "high", "poor") for task in cpss.shipped_tasks()] + [("highway-v0", "average", "perfect"), ("merge-v0", "stationary", "fair")]


@pytest.mark.parametrize("task, regime, sensor", CONDITIONS)
def test_a_shielded_episode_is_the_laboratorys(tmp_path, task, regime, sensor):
    seed = 1_000_007
    _, *decisions, end = trace_of(tmp_path, task, regime, sensor, "cpss", seed)
    policy = cpss.load_policy(task, seed=0)
    env = cpss.ShieldWrapper(cpss.make(task, config=policy.config, regime=regime, sensor=sensor), preferences=policy)
    observation, info = env.reset(seed=seed)
    assert len(decisions) >= 3
    for place, expected in enumerate(decisions):
        assert env.unwrapped.action_risks().tolist() == expected["risks"], "the critic sees what it sees there"
        action, _ = policy.predict(observation)
        observation, reward, terminated, truncated, info = env.step(action)
        shield = info["shield"]
        assert (shield["proposed_action"], shield["executed_action"]) == (expected["proposal"], expected["ran"])
        assert (reward, info["cost"]) == (expected["reward"], expected["closeness"])
        assert (terminated or truncated) == (place == len(decisions) - 1)
        after = [*decisions, end][place + 1]["scene"][0]
        assert info["speed"] == pytest.approx(after[3], abs=0.006), "a trace is rounded to the centimetre"
    assert info["crashed"] == end["record"]["crashed"]
    assert env.certificate()["spent"] == end["certificate"]["spent"]


def test_where_everybody_is_under_a_regime_is_where_the_laboratory_has_them(tmp_path):
    _, *decisions, _ = trace_of(tmp_path, "highway-v0", "high", "perfect", "constant:1", 3)
    everything = {"type": "Kinematics", "features": ["x", "y"], "vehicles_count": 200, "absolute": True, "normalize": False, "see_behind": True, "clip": False}
    env = cpss.make("highway-v0", config={**cpss.policy_config("highway-v0"), "observation": everything}, regime="high")
    observation, _ = env.reset(seed=3)
    seen = 0
    for expected in decisions:
        cars = np.array([pose[:2] for pose in expected["scene"]])
        # highway-env shows cars up to 200 m away.
        near = cars[np.hypot(*(cars - cars[0]).T) < 195]
        for car in near:
            assert np.abs(observation - car).max(axis=1).min() < 0.006
        seen += len(near)
        observation, reward, *_ = env.step(1)
        assert reward == expected["reward"]
    assert seen > 10 * len(decisions)


def test_without_either_an_episode_is_what_it_was():
    usual, named = cpss.make("merge-v0"), gym.make("cpss/merge-v0", regime="stationary", sensor="perfect")
    actions = random_actions(usual)
    for seed in (4, None):
        assert_same(steps_of(usual, actions, seed), steps_of(named, actions, seed))
    assert "drift" not in usual.reset(seed=1)[1]


def test_eyes_that_miss_nothing_change_no_bit(tmp_path):
    """A sensor that is not perfect only because it does not see as far as any could: everything is seen, through it."""
    path = tmp_path / "far.toml"
    path.write_text("name = 'far'\nrange = 9999.0")
    usual, sensed = cpss.make("highway-v0"), cpss.make("highway-v0", sensor=path)
    actions = random_actions(usual)
    for seed in (4, None, None):
        (first, _), *expected = steps_of(usual, actions, seed)
        (same, info), *found = steps_of(sensed, actions, seed)
        np.testing.assert_array_equal(first, same)
        assert info["drift"] == 0.0 and len(found) == len(expected)
        for one, two in zip(expected, found):
            assert two[4].pop("drift") == 0.0
            assert_same(one, two)


def test_what_happens_is_the_true_worlds_whatever_is_seen():
    usual, sensed = cpss.make("highway-v0"), cpss.make("highway-v0", sensor="poor")
    actions = random_actions(usual)
    differ = 0
    for seed in (4, None, None):
        for one, two in zip(steps_of(usual, actions, seed)[1:], steps_of(sensed, actions, seed)[1:], strict=True):
            assert one[1:4] == two[1:4]
            assert one[4] == {name: value for name, value in two[4].items() if name != "drift"}
            differ += not np.array_equal(one[0], two[0])
    assert differ > 3, "poor eyes see something else than there is"


@pytest.mark.parametrize("task", ["merge-v0", "highway-v0", "intersection-v0"])
def test_the_same_seed_is_the_same_episode_and_another_is_not(task):
    envs = [cpss.make(task, **HARD) for _ in range(2)]
    actions = random_actions(envs[0])
    # Without a seed random numbers go on, drift and readings too: the second and the third episode are others.
    runs = [[steps_of(env, actions, seed) for seed in (11, None, None, 12, 11)] for env in envs]
    assert_same(*runs)
    assert_same(runs[0][0], runs[0][4])
    drifts = [run[0][1]["drift"] for run in runs[0]]
    assert len(set(drifts)) == 4 and all(0.0 <= drift <= 1.0 for drift in drifts)


def test_the_intensity_changes_during_an_episode_as_the_regime_says():
    def drifts(regime):
        env = cpss.make("highway-v0", regime=regime)
        return [moment[-1]["drift"] for seed in range(5) for moment in steps_of(env, [1] * 40, seed)]

    mild, high = drifts("mild"), drifts("high")
    assert max(mild) <= 0.25 < max(high) <= 1.0
    assert len(set(mild)) > 10, "a gradual change"


def test_a_change_of_the_config_keeps_regime_and_sensor():
    env = cpss.make("highway-v0", **HARD)
    env.reset(seed=1)
    observation, info = env.reset(options={"config": SHORT})
    assert info["drift"] > 0.0
    over = [env.step(1)[3] for _ in range(3)]
    assert over == [False, False, True]
    other = cpss.make("highway-v0", config=SHORT)
    assert not np.array_equal(observation, other.reset(seed=1)[0])


def test_a_refused_action_changes_nothing():
    one, two = (cpss.make("highway-v0", **HARD) for _ in range(2))
    one.reset(seed=3), two.reset(seed=3)
    for _ in range(8):
        for wrong in (5, -1, "left"):
            with pytest.raises(ValueError, match="the action is"):
                one.step(wrong)
        for _ in range(30):  # so often that drift, if it went on here, would make somebody brake
            with pytest.raises(ValueError, match="action 7 is out of range"):
                one.unwrapped._world.step(7, np.empty((5, 5), np.float32))
        assert_same(one.step(1), two.step(1))


NONSENSE = [
    ("regime", "hihg", "there is no regime `hihg`: give stationary, mild, average, high, .*toml"),
    ("sensor", "foggy", "there is no sensor `foggy`: give perfect, good, fair, poor, .*toml"),
    ("regime", 5, "`regime` is 5, but has to be the name of a regime"),
    ("sensor", None, "`sensor` is None, but has to be the name of a sensor"),
    ("regime", "gone.toml", "cannot read the regime gone.toml"),
    ("regime", "name = 'x'\npeak = 1.5\nchanges = 1", "`peak` is out of range: 1.5"),
    ("regime", "name = 'x'\npeak = 1.0\nchanges = 1\n[full]\nheadway = 0.0", "`full.headway` is out of range: 0"),
    ("sensor", "name = 'x'\nmissed = 1.5", "`missed` is out of range: 1.5"),
    ("sensor", "name = 'x'\nfog = 1", "unknown field `fog`"),
]


@pytest.mark.parametrize("name, given, words", NONSENSE)
def test_nonsense_is_refused_by_field_and_value(tmp_path, name, given, words):
    if "\n" in str(given):
        path = tmp_path / "bad.toml"
        path.write_text(given)
        given = path
    makers = [
        lambda **asked: cpss.make("merge-v0", **asked),
        lambda **asked: gym.make("cpss/merge-v0", **asked),
        lambda **asked: cpss.make_vec("merge-v0", 2, **asked),
        lambda **asked: gym.make_vec("cpss/merge-v0", 2, **asked),
    ]
    for make in makers:
        with pytest.raises(ValueError, match=f"(?s)`{name}`.*{words.removeprefix(f'`{name}`')}"):
            make(**{name: given})


@pytest.mark.parametrize("task", ["merge-v0", "racetrack-v0"])
def test_the_checker_finds_nothing_wrong(task):
    env = gym.make(f"cpss/{task}", **HARD)
    # Unbounded observations are upstream's, and the checker says so of them too.
    with pytest.warns(UserWarning, match="infinity"):
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("how", [sent, copy.deepcopy])
@pytest.mark.parametrize("shielded", [False, True])
def test_what_travels_goes_on_with_drift_eyes_and_tracks(how, shielded):
    env = cpss.make("highway-v0", **HARD)
    env = cpss.ShieldWrapper(env) if shielded else env
    actions = random_actions(env)
    env.reset(seed=9)
    steps_of(env, actions)  # an episode without a seed
    for seed in (None, 21):
        env.reset(seed=seed)
        for action in actions[:4]:
            env.step(action)
        twin = how(env)
        for action in actions[4:9]:
            assert_same(env.unwrapped.action_risks(), twin.unwrapped.action_risks())
            assert_same(env.step(action), twin.step(action))
        assert_same(steps_of(env, actions), steps_of(twin, actions))


def test_a_copy_does_not_depend_on_what_becomes_of_a_file(tmp_path):
    regime, sensor = tmp_path / "mine.toml", tmp_path / "eyes.toml"
    regime.write_text("name = 'mine'\npeak = 0.8\nchanges = 3")
    sensor.write_text("name = 'eyes'\nalong = 2.0\nrange = 60.0")
    env = cpss.make("highway-v0", regime=regime, sensor=str(sensor))
    expected = steps_of(env, [1] * 8, 3)
    kept = pickle.dumps(env)
    regime.unlink(), sensor.unlink()
    twin = pickle.loads(kept)
    assert_same(env.step(1), twin.step(1))
    assert_same(expected, steps_of(twin, [1] * 8, 3))
    twin.reset(options={"config": SHORT})


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_batch_is_as_many_single_ones(mode, threads):
    count = 4
    ours = cpss.make_vec("highway-v0", count, config=SHORT, autoreset_mode=mode, num_threads=threads, **HARD)
    theirs = SyncVectorEnv([lambda: cpss.DrivingEnv("highway-v0", config=SHORT, **HARD)] * count, autoreset_mode=mode)
    assert_same_of_batches(ours.reset(seed=9), theirs.reset(seed=9))
    random, ends = np.random.default_rng(0), 0
    for _ in range(20):
        actions = random.integers(0, 5, count)
        mine, other = ours.step(actions), theirs.step(actions)
        assert_same_of_batches(mine, other)
        ends += int((mine[2] | mine[3]).sum())
    assert ends > count, "no episode ended: nothing was tested"


def assert_same_of_batches(mine, other):
    """The same in everything that both say; Gymnasium's own also stacks up what each step says of its action and reward."""
    *mine, infos = mine
    *other, their_infos = other
    for one, two in zip(mine, other, strict=True):
        np.testing.assert_array_equal(one, two)
    for told, they in [(infos, their_infos), *([(infos["final_info"], their_infos["final_info"])] if "final_info" in infos else [])]:
        for key in ("cost", "speed", "crashed", "drift", "_drift"):
            np.testing.assert_array_equal(told[key], they[key], err_msg=key)
    for one, two in zip(infos.get("final_obs", ()), their_infos.get("final_obs", ()), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("how", [sent, copy.deepcopy])
def test_a_batch_that_travels_goes_on(mode, how):
    envs = cpss.make_vec("highway-v0", 3, config=SHORT, autoreset_mode=mode, shield=True, num_threads=2, **HARD)
    envs.reset(seed=4)
    actions = np.array([3, 1, 0])
    for _ in range(2 if mode is AutoresetMode.DISABLED else 5):
        envs.step(actions)
    twin = how(envs)
    for _ in range(6):
        if mode is AutoresetMode.DISABLED:
            ended = {"reset_mask": np.array([True, False, True])}
            assert_same(envs.reset(options=ended), twin.reset(options=ended))
        if mode is not AutoresetMode.DISABLED or not envs._batch.ended().any():
            assert_same(envs.step(actions), twin.step(actions))


def test_a_batchs_shields_are_the_wrappers_behind_poor_eyes():
    count = 3
    envs = cpss.make_vec("merge-v0", count, shield=True, autoreset_mode="Disabled", **HARD)
    singles = [cpss.ShieldWrapper(cpss.make("merge-v0", **HARD)) for _ in range(count)]
    envs.reset(seed=30)
    for place, env in enumerate(singles):
        env.reset(seed=30 + place)
    verdicts = []
    for action in (3, 0, 3, 2, 3):
        observations, rewards, terminated, truncated, infos = envs.step(np.full(count, action))
        assert not (terminated | truncated).any()
        for place, env in enumerate(singles):
            observation, reward, *_, info = env.step(action)
            shield = {name: column[place] for name, column in infos["shield"].items()}
            np.testing.assert_array_equal(observation, observations[place])
            assert (reward, info["drift"]) == (rewards[place], infos["drift"][place])
            assert shield["executed_action"] == info["shield"]["executed_action"]
            assert shield["risk"] == pytest.approx(info["shield"]["risk"], abs=1e-5)
            verdicts.append(info["shield"]["verdict"])
    assert {"admit", "replace"} <= set(verdicts)


@pytest.mark.parametrize("task", ["highway-v0", "racetrack-v0"])
def test_a_shield_behind_poor_eyes_keeps_its_budget(task):
    env = cpss.ShieldWrapper(cpss.make(task, **HARD), budget=0.02)
    env.action_space.seed(1)
    for seed in range(3):
        env.reset(seed=seed)
        for _ in range(200):
            observation, *_, terminated, truncated, info = env.step(env.action_space.sample())
            assert observation.shape == env.observation_space.shape
            if terminated or truncated:
                break
        account = env.certificate()
        assert account["budget_kept"] and account["steps"] >= 5 and account["unusable_costs"] == 0


def promise(env):
    env.reset(seed=2)
    *_, info = env.step(1)
    return info["shield"]["promise"]


def test_a_promise_is_made_only_where_the_critic_was_found_conservative(tmp_path):
    """In the regimes and behind the sensors of its card, by the names of built-in ones."""
    mine, eyes = tmp_path / "high.toml", tmp_path / "perfect.toml"
    mine.write_text("name = 'high'\npeak = 1.0\nchanges = 4")
    eyes.write_text("name = 'fair'\nalong = 30.0")
    assert promise(cpss.ShieldWrapper(cpss.make("highway-v0", regime="high"), budget=0.01)) >= 0.01
    assert np.isnan(promise(cpss.ShieldWrapper(cpss.make("highway-v0", regime="high"), budget=0.01, risk="stationary")))
    assert np.isnan(promise(cpss.ShieldWrapper(cpss.make("highway-v0", regime=mine), budget=0.01)))
    assert np.isnan(promise(cpss.ShieldWrapper(cpss.make("highway-v0", sensor=eyes), budget=0.01)))
    for conditions, is_promised in (({"regime": "high"}, True), ({"sensor": eyes}, False)):
        envs = cpss.make_vec("highway-v0", 1, budget=0.01, **conditions)
        envs.reset(seed=2)
        *_, infos = envs.step([1])
        assert np.isnan(infos["shield"]["promise"][0]) != is_promised
