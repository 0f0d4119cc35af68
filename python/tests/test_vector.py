"""Contract: a native batch behaves as Gymnasium's own vector environments around the same environments, in
all three autoreset modes, for any number of threads."""

import threading
import time

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import cpss
from conftest import SHORT

COUNT = 5
KEYS = ("cost", "speed", "crashed")


def reference(mode, task="highway-v0", config=SHORT):
    return SyncVectorEnv([lambda: cpss.DrivingEnv(task, config=config)] * COUNT, autoreset_mode=mode)


def assert_same_infos(ours, theirs):
    for key in (*KEYS, *(f"_{key}" for key in KEYS)):
        np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)
    assert ("final_obs" in ours) == ("final_obs" in theirs)
    if "final_obs" in ours:
        np.testing.assert_array_equal(ours["_final_obs"], theirs["_final_obs"])
        for mine, other in zip(ours["final_obs"], theirs["final_obs"]):
            np.testing.assert_array_equal(mine, other)
        assert_same_infos(ours["final_info"], theirs["final_info"])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_autoreset_is_gymnasiums(mode, threads):
    ours = cpss.make_vec("highway-v0", COUNT, config=SHORT, autoreset_mode=mode, num_threads=threads)
    theirs = reference(mode)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is mode
    random, ends = np.random.default_rng(0), 0
    (mine, infos), (other, their_infos) = ours.reset(seed=9), theirs.reset(seed=9)
    np.testing.assert_array_equal(mine, other)
    assert_same_infos(infos, their_infos)
    for _ in range(30):
        actions = random.integers(0, 5, COUNT)
        mine, other = ours.step(actions), theirs.step(actions)
        for name, one, two in zip(("obs", "reward", "terminated", "truncated"), mine, other):
            np.testing.assert_array_equal(one, two, err_msg=name)
            assert one.dtype == two.dtype
        assert_same_infos(mine[4], other[4])
        ends += int((mine[2] | mine[3]).sum())
    assert ends > COUNT, "no episode ended: nothing was tested"


def test_disabled_is_gymnasiums():
    mode = AutoresetMode.DISABLED
    ours, theirs = cpss.make_vec("highway-v0", COUNT, config=SHORT, autoreset_mode=mode), reference(mode)
    ours.reset(seed=1), theirs.reset(seed=1)
    for _ in range(12):
        actions = np.full(COUNT, 3)
        mine, other = ours.step(actions), theirs.step(actions)
        ended = mine[2] | mine[3]
        if ended.any():
            with pytest.raises(ValueError, match="has ended: reset it"):
                ours.step(actions)
            options = {"reset_mask": ended}
            (one, infos), (two, their_infos) = ours.reset(options=dict(options)), theirs.reset(options=dict(options))
            np.testing.assert_array_equal(one, two)
            for key in KEYS:
                np.testing.assert_array_equal(infos[key], their_infos[key])
                np.testing.assert_array_equal(infos[f"_{key}"], their_infos[f"_{key}"])


@pytest.mark.parametrize("mode", AutoresetMode)
def test_some_are_reset_and_the_others_see_what_they_saw(mode):
    ours, theirs = cpss.make_vec("highway-v0", COUNT, autoreset_mode=mode), reference(mode, config={})
    ours.reset(seed=1), theirs.reset(seed=1)
    kept = []
    for place in range(COUNT):
        actions = np.full(COUNT, 1)
        # Kept, or else the memory of what was seen is used again, and holds it still.
        kept.append((ours.step(actions), theirs.step(actions)))
        seeds, mask = [None] * COUNT, np.arange(COUNT) == place
        seeds[place] = 77
        (one, infos), (two, their_infos) = (envs.reset(seed=seeds, options={"reset_mask": mask.copy()}) for envs in (ours, theirs))
        np.testing.assert_array_equal(one, two)
        assert infos["_cost"].tolist() == mask.tolist() == their_infos["_cost"].tolist()
        one[...] = np.nan  # what was returned belongs to whoever got it
    np.testing.assert_array_equal(ours.step(actions)[0], theirs.step(actions)[0])


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_who_is_reset_by_hand_is_not_reset_again(mode):
    ours, theirs = cpss.make_vec("highway-v0", COUNT, config=SHORT, autoreset_mode=mode), reference(mode)
    ours.reset(seed=1), theirs.reset(seed=1)
    by_hand = 0
    for _ in range(12):
        mine, other = ours.step(np.full(COUNT, 1)), theirs.step(np.full(COUNT, 1))
        np.testing.assert_array_equal(mine[0], other[0])
        assert_same_infos(mine[4], other[4])
        ended = mine[2] | mine[3]
        ended[::2] = False
        if ended.any():
            by_hand += 1
            one, two = (envs.reset(options={"reset_mask": ended.copy()})[0] for envs in (ours, theirs))
            np.testing.assert_array_equal(one, two)
    assert by_hand > 1


def test_a_batchs_config_is_fixed():
    envs = cpss.make_vec("highway-v0", 2)
    with pytest.raises(ValueError, match="make another one with `config=`"):
        envs.reset(seed=0, options={"config": {"duration": 1}})


def test_gymnasium_makes_it_and_seeds_are_per_environment():
    envs = gym.make_vec("cpss/merge-v0", num_envs=3, autoreset_mode="SameStep", config={"merging_speed_reward": -1})
    assert type(envs) is cpss.DrivingVectorEnv and envs.spec.id == "cpss/merge-v0"
    first, _ = envs.reset(seed=[4, 9, None])
    assert (first[0] == gym.make("cpss/merge-v0").reset(seed=4)[0]).all()
    assert (envs.reset(seed=8)[0][1] == gym.make("cpss/merge-v0").reset(seed=9)[0]).all()
    assert (envs.reset()[0] != first).any()


def test_returned_arrays_are_never_written_again():
    envs = cpss.make_vec("merge-v0", 2, num_threads=1)
    kept = [envs.reset(seed=0)[0]] + [envs.step([1, 1])[0] for _ in range(3)]
    values = [array.copy() for array in kept]
    for _ in range(5):
        envs.step([3, 3])
    assert all((array == value).all() for array, value in zip(kept, values))


def test_results_do_not_depend_on_threads():
    def play(threads):
        envs = cpss.make_vec("merge-v0", 16, num_threads=threads, shield=True)
        envs.reset(seed=0)
        random = np.random.default_rng(1)
        return [envs.step(random.integers(0, 5, 16)) for _ in range(25)]

    for one, other in zip(play(1), play(2)):
        for mine, theirs in zip(one[:4], other[:4]):
            np.testing.assert_array_equal(mine, theirs)
        for key, value in one[4]["shield"].items():
            np.testing.assert_array_equal(value, other[4]["shield"][key])


def test_continuous_actions_come_as_points():
    envs = cpss.make_vec("racetrack-v0", 3, num_threads=2)
    envs.reset(seed=2)
    single = gym.make("cpss/racetrack-v0")
    single.reset(seed=3)
    actions = np.array([[0.1], [-0.2], [0.0]])
    assert (envs.step(actions)[0][1] == single.step(np.array([-0.2], np.float32))[0]).all()
    for wrong in (np.array([0.1, 0.2, 0.3]), [["a"], ["b"], ["c"]], np.full((3, 1), np.nan)):
        with pytest.raises(ValueError, match="action"):
            envs.step(wrong)


@pytest.mark.parametrize(
    "actions, word",
    [
        ([1, 1, 9], "world 2"), ([1, -1, 1], "out of range"), ([1, 1], "shape"), ([1.0, 1.0, 1.0], "integers"),
        (1, "shape"), (["a", "b", "c"], "integers"), ([True, True, True], "integers"), (None, "shape"),
    ],
)  # fmt: skip
def test_wrong_actions_are_refused_and_nothing_moves(actions, word):
    envs, twin = cpss.make_vec("merge-v0", 3), cpss.make_vec("merge-v0", 3)
    envs.reset(seed=0), twin.reset(seed=0)
    with pytest.raises(ValueError, match=word):
        envs.step(actions)
    assert (envs.step([1, 1, 1])[0] == twin.step([1, 1, 1])[0]).all()


def test_wrong_arguments_are_named():
    for arguments, word in [
        ({"num_envs": 0}, "num_envs"),
        ({"num_envs": 2, "num_threads": 0}, "num_threads"),
        ({"num_envs": 2, "autoreset_mode": "Never"}, "Never"),
        ({"num_envs": 2, "render_mode": "human"}, "render_mode"),
        ({"num_envs": 2, "config": {"lane_count": 3}}, "lane_count"),
        ({"num_envs": 2, "shield": {"budgets": 3}}, "budgets"),
        ({"num_envs": 2, "shield": {"budget": -1.0}}, "`budget` is out of range"),
        ({"num_envs": 2, "budget": -1.0}, "`budget` is out of range"),
        ({"num_envs": 2, "pace": 0.0}, "`pace` is out of range"),
        ({"num_envs": 2, "shield": False, "budget": 0.1}, "`shield` is False"),
        ({"num_envs": 2, "shield": {"pace": 2.0}, "pace": 3.0}, "`pace` is given twice"),
    ]:
        with pytest.raises(ValueError, match=word):
            cpss.make_vec("highway-v0", **arguments)
    envs = cpss.make_vec("merge-v0", 2)
    with pytest.raises(gym.error.ResetNeeded):
        envs.step([1, 1])
    with pytest.raises(gym.error.ResetNeeded):
        cpss.make_vec("merge-v0", 2, render_mode="ansi").render()
    for seed in ([1], -3, [1, -1]):
        with pytest.raises(ValueError, match="seed"):
            envs.reset(seed=seed)
    envs.reset(seed=0)
    for mask in (np.zeros(2, bool), np.ones(3, bool), [True, False]):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    envs.close()
    with pytest.raises(gym.error.ClosedEnvironmentError):
        envs.step([1, 1])


def test_pictures_of_all():
    envs = cpss.make_vec("intersection-v0", 2, render_mode="rgb_array")
    envs.reset(seed=0)
    assert [picture.shape for picture in envs.render()] == [(600, 600, 3)] * 2
    text = cpss.make_vec("intersection-v0", 2, render_mode="ansi")
    text.reset(seed=0)
    assert all("E" in one for one in text.render())


def longest_pause(act):
    """Which share of an act another thread stood still for at most, and how long the act took."""
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    ticking = threading.Thread(target=tick)
    ticking.start()
    while not ticks:
        time.sleep(0.001)
    begin = time.perf_counter()
    act()
    end = time.perf_counter()
    over.set()
    ticking.join()
    during = [begin, *(moment for moment in ticks if begin < moment < end), end]
    return max(later - earlier for earlier, later in zip(during, during[1:])) / (end - begin), end - begin


def test_the_interpreter_is_free_while_a_batch_steps():
    """Another thread goes on in the middle of one long native step."""
    share, _ = longest_pause(lambda: sum(range(10**7)))
    assert share > 0.5, "what holds on to the interpreter is noticed, or else nothing is tested"
    # As many worlds as it takes for a step to be long, however fast the machine.
    for count in (1024, 4096, 16384):
        envs = cpss.make_vec("highway-v0", count, num_threads=1, shield=True)
        envs.reset(seed=0)
        actions = np.ones(count, np.int64)
        # Other programs may be in the way now and then, but not every time.
        pauses = [longest_pause(lambda: envs.step(actions)) for _ in range(3)]
        if max(seconds for _, seconds in pauses) > 0.05:
            break
    else:
        pytest.fail("too short a step: nothing was tested")
    assert min(share for share, _ in pauses) < 0.5, pauses


def test_batches_in_two_threads_do_not_disturb_each_other():
    batches = [cpss.make_vec("highway-v0", 64, num_threads=1) for _ in range(3)]
    for batch in batches:
        batch.reset(seed=0)
    results = [[], [], []]

    def work(place):
        for _ in range(5):
            results[place].append(batches[place].step(np.ones(64, np.int64))[0])

    threads = [threading.Thread(target=work, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work(2)  # and once alone
    assert all(len(result) == 5 for result in results)
    for one, other, alone in zip(*results):
        assert (one == alone).all() and (other == alone).all()


def test_one_batch_in_two_threads_is_refused_and_not_a_crash():
    envs = cpss.make_vec("highway-v0", 256, num_threads=1)
    envs.reset(seed=0)
    refused, done, deadline = [], [], time.monotonic() + 60

    def work():
        while not (refused and done) and time.monotonic() < deadline:
            try:
                envs.step(np.ones(256, np.int64))
                done.append(1)
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done and refused, "they never met: nothing was tested"
    assert all("borrowed" in words for words in refused)
