"""Contract: every task is a sound Gymnasium environment with upstream's spaces, configs and episodes."""

import copy
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import cpss
from conftest import SHORT

#: The tasks that are highway-env's; others have nothing to be compared with.
UPSTREAMS = [task for task in cpss.task_ids() if task in gym.registry]
assert len(UPSTREAMS) >= 10


class Blank(gym.Env):
    """Does nothing, in upstream's spaces, or ours of a task of ours: what a checker says of this is said of the spaces."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}

    def __init__(self, task):
        theirs = gym.make(task if task in UPSTREAMS else f"cpss/{task}", disable_env_checker=True)
        self.observation_space, self.action_space = theirs.observation_space, theirs.action_space
        self.render_mode = "rgb_array"

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(self.observation_space.shape, np.float32), {}

    def step(self, action):
        return np.zeros(self.observation_space.shape, np.float32), 0.0, False, False, {}

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)


def warnings_of(check, env):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(env)
    return {str(warning.message) for warning in caught}


@pytest.mark.parametrize("task", cpss.task_ids())
def test_the_checkers_find_nothing_wrong_but_upstreams_spaces(task):
    from stable_baselines3.common.env_checker import check_env as sb3_check

    env = gym.make(f"cpss/{task}", render_mode="rgb_array").unwrapped
    assert warnings_of(check_env, env) <= warnings_of(check_env, Blank(task))
    assert warnings_of(sb3_check, env) <= warnings_of(sb3_check, Blank(task))


@pytest.mark.parametrize("task", UPSTREAMS)
def test_spaces_and_first_observation_are_upstreams(task):
    configs = [{}, cpss.policy_config(task)]
    for config in configs:
        ours = gym.make(f"cpss/{task}", config=config)
        theirs = gym.make(task, config=config or None, disable_env_checker=True)
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        for seed in (0, 11):
            mine, _ = ours.reset(seed=seed)
            upstream, _ = theirs.reset(seed=seed)
            assert mine.dtype == upstream.dtype
            np.testing.assert_allclose(mine, upstream, atol=1e-6)


def play_both(task):
    """One episode of ours and one of upstream's, compared after every step."""
    ours, theirs = gym.make(f"cpss/{task}"), gym.make(task, disable_env_checker=True)
    ours.reset(seed=3), theirs.reset(seed=3)
    ours.action_space.seed(3)
    for _ in range(8):
        action = ours.action_space.sample()
        mine, upstream = ours.step(action), theirs.step(action)
        np.testing.assert_allclose(mine[0], upstream[0], atol=1e-6)
        assert mine[1] == pytest.approx(upstream[1], abs=1e-6)
        assert mine[2:4] == upstream[2:4]
        assert mine[4]["speed"] == pytest.approx(upstream[4]["speed"], abs=1e-6)
        assert mine[4]["crashed"] == upstream[4]["crashed"]
        assert mine[4]["rewards"] == pytest.approx({k: float(v) for k, v in upstream[4]["rewards"].items()}, abs=1e-6)
        if mine[2] or mine[3]:
            break


@pytest.mark.parametrize("task", ["merge-v0", "highway-fast-v0", "intersection-v0", "racetrack-v0", "roundabout-v0"])
def test_an_episode_is_upstreams(task, fresh_process):
    fresh_process(play_both, task)


def test_every_step_has_a_cost_and_a_crash_costs_all():
    env = gym.make("cpss/merge-v0")
    costs, crashed = [], False
    for seed in range(40):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            costs.append(info["cost"])
            _, _, terminated, truncated, info = env.step(3)
            over = terminated or truncated
            if info["crashed"]:
                crashed = True
                assert info["cost"] == 1.0
    assert crashed, "no seed crashed: choose others"
    assert all(isinstance(cost, float) and 0.0 <= cost <= 1.0 for cost in costs)


def test_a_seed_is_the_episode_and_none_goes_on():
    env = gym.make("cpss/highway-fast-v0")
    first, _ = env.reset(seed=1)
    second, _ = env.reset()
    again, _ = env.reset(seed=1)
    assert (first == again).all() and (first != second).any()
    assert (env.reset()[0] == second).all()
    others = [gym.make("cpss/highway-fast-v0").reset()[0] for _ in range(2)]
    assert (others[0] != others[1]).any(), "without a seed every environment has its own"


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_cannot_be_taken_is_refused(seed):
    with pytest.raises(ValueError, match=str(seed)):
        gym.make("cpss/merge-v0").reset(seed=seed)


@pytest.mark.parametrize("action", [5, -1, 1.5, "left", None, np.array([1, 2])])
def test_a_wrong_action_is_refused_and_nothing_moves(action):
    env = cpss.DrivingEnv("merge-v0")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(action)
    twin = cpss.DrivingEnv("merge-v0")
    twin.reset(seed=0)
    assert (env.step(1)[0] == twin.step(1)[0]).all()


@pytest.mark.parametrize("action", [[np.nan], [0.1, 0.2], "left", 3, [np.inf]])
def test_a_wrong_point_is_refused(action):
    env = cpss.DrivingEnv("racetrack-v0")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(action)


@pytest.mark.parametrize("action", [2, np.int64(2), np.array(2), np.int32(2), True + 1])
def test_any_integer_is_an_action(action):
    env = gym.make("cpss/merge-v0", disable_env_checker=True)
    env.reset(seed=0)
    assert env.step(action)[4]["action"] == 2


def test_configs_are_upstreams_and_mistakes_are_named():
    env = gym.make("cpss/highway-v0", config={"lanes_count": 2, "vehicles_count": np.int64(5), "duration": 2})
    env.reset(seed=0)
    assert not env.step(1)[3] and env.step(1)[3]
    with pytest.raises(ValueError, match="did you mean `lanes_count`"):
        gym.make("cpss/highway-v0", config={"lane_count": 2})
    with pytest.raises(ValueError, match="no task `parking-v0`"):
        cpss.DrivingEnv("parking-v0")
    env.reset(options={"config": {"duration": 1}})
    assert env.step(1)[3], "a reset may change the config, as upstream"


def test_a_closed_or_fresh_environment_says_so():
    env = cpss.DrivingEnv("merge-v0", render_mode="ansi")
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    with pytest.raises(gym.error.ResetNeeded):
        env.render()
    env.reset(seed=0)
    env.close()
    env.close()
    for call in (lambda: env.step(0), env.reset, env.render, env.action_costs):
        with pytest.raises(gym.error.ClosedEnvironmentError):
            call()


@pytest.mark.parametrize("task", ["merge-v0", "racetrack-v0"])
@pytest.mark.parametrize("way", [lambda env: pickle.loads(pickle.dumps(env)), copy.deepcopy])
def test_a_copy_goes_on_from_where_it_was_and_goes_its_own_way(task, way):
    env = cpss.DrivingEnv(task, config={"observation": {"type": "Kinematics", "order": "shuffled"}})
    env.reset(seed=4)
    env.reset()
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(6)]
    for action in actions[:3]:
        env.step(action)
    twin = way(env)
    here = [env.step(action)[:4] for action in actions[3:]]
    there = [twin.step(action)[:4] for action in actions[3:]]
    for mine, other in zip(here, there):
        assert (mine[0] == other[0]).all() and mine[1:] == other[1:]
    assert (env.reset()[0] == twin.reset()[0]).all(), "their random numbers are the same too"
    assert (way(cpss.DrivingEnv(task)).reset(seed=1)[0] == cpss.DrivingEnv(task).reset(seed=1)[0]).all()


def test_pictures_show_the_ego_where_upstreams_keys_say():
    config = {"screen_width": 320, "screen_height": 90, "scaling": 6, "centering_position": [0.25, 0.5]}
    env = gym.make("cpss/highway-v0", config=config, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (90, 320, 3) and picture.dtype == np.uint8
    assert tuple(picture[45, 80]) == (60, 220, 60), "the ego is green"
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3, "and not alone in the picture"
    text = gym.make("cpss/merge-v0", render_mode="ansi")
    text.reset(seed=0)
    assert text.render().count("E") == 1 and "o" in text.render()
    with pytest.raises(ValueError, match="render_mode"):
        cpss.DrivingEnv("merge-v0", render_mode="human")


def test_an_environment_runs_in_other_processes():
    def make():
        import cpss

        return cpss.DrivingEnv("highway-v0", config=SHORT)

    envs = gym.vector.AsyncVectorEnv([make] * 2)
    here = gym.vector.SyncVectorEnv([make] * 2)
    try:
        assert (envs.reset(seed=5)[0] == here.reset(seed=5)[0]).all()
        for _ in range(5):
            for mine, other in zip(envs.step([1, 3])[:4], here.step([1, 3])[:4]):
                assert (mine == other).all()
    finally:
        envs.close()


def test_a_config_at_a_reset_goes_on_with_the_same_random_numbers_as_upstream(fresh_process):
    fresh_process(change_config_in_both)


def change_config_in_both():
    import highway_env  # noqa: F401  (registers the ids of the original)

    ours, theirs = gym.make("cpss/highway-v0"), gym.make("highway-v0", disable_env_checker=True)
    np.testing.assert_allclose(ours.reset(seed=3)[0], theirs.reset(seed=3)[0], atol=1e-6)
    seen = []
    for lanes in (3, 2):
        options = {"config": {"lanes_count": lanes, "vehicles_count": 10}}
        one, two = ours.reset(options=options)[0], theirs.reset(options=options)[0]
        np.testing.assert_allclose(one, two, atol=1e-6)
        np.testing.assert_allclose(ours.step(1)[0], theirs.step(1)[0], atol=1e-6)
        seen.append(one)
    assert (seen[0] != seen[1]).any()
