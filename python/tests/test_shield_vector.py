"""Contract: a native batch under a shield is the same as Gymnasium's vector environment around shielded
single ones (numbers within 1e-5: the critic looks at many scenes at once); results do not depend on the number of
threads; a reset step is neither judged nor charged, and the closing step is."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import cpss
from conftest import SHORT
from cpss.shield import KEYS

COUNT = 4


def assert_same_shields(ours, theirs, mask):
    for key in KEYS:
        mine, other = np.asarray(ours[key])[mask], np.asarray(theirs[key])[mask]
        if mine.dtype.kind in "fiu":
            np.testing.assert_allclose(mine, other.astype(mine.dtype), rtol=0, atol=1e-5, err_msg=key)
        else:
            assert mine.tolist() == other.tolist(), key


@pytest.mark.parametrize("task, config", [("highway-v0", {**SHORT, "duration": 4, "vehicles_count": 30, "vehicles_density": 2}), ("merge-v0", {})])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_batch_is_judged_as_single_environments_are(task, config, mode):
    ours = cpss.make_vec(task, COUNT, config=config, autoreset_mode=mode, shield=True, num_threads=2)
    single = lambda: cpss.ShieldWrapper(cpss.DrivingEnv(task, config=config))  # noqa: E731
    theirs = SyncVectorEnv([single] * COUNT, autoreset_mode=mode)
    everyone = np.ones(COUNT, bool)
    (_, infos), (_, their_infos) = ours.reset(seed=20), theirs.reset(seed=20)
    assert_same_shields(infos["shield"], their_infos["shield"], everyone)
    random, verdicts, ends = np.random.default_rng(5), set(), 0
    for _ in range(60):
        actions = random.integers(0, 5, COUNT)
        mine, other = ours.step(actions), theirs.step(actions)
        for one, two in zip(mine[:4], other[:4]):
            np.testing.assert_array_equal(one, two)
        assert_same_shields(mine[4]["shield"], other[4]["shield"], everyone)
        ended = mine[2] | mine[3]
        if mode is AutoresetMode.SAME_STEP and ended.any():
            assert_same_shields(mine[4]["final_info"]["shield"], other[4]["final_info"]["shield"], ended)
        verdicts |= set(mine[4]["shield"]["verdict"].tolist())
        ends += int(ended.sum())
    assert {"admit", "replace", "reset"} <= verdicts and ends > COUNT


def test_a_budget_of_ones_own_is_the_single_ones():
    ours = cpss.make_vec("merge-v0", COUNT, budget=0.1, pace=10, autoreset_mode="SameStep")
    theirs = SyncVectorEnv([lambda: cpss.ShieldWrapper(gym.make("cpss/merge-v0"), budget=0.1, pace=10)] * COUNT, autoreset_mode="SameStep")
    ours.reset(seed=5), theirs.reset(seed=5)
    random, ends, spent = np.random.default_rng(2), 0, 0.0
    for _ in range(60):
        actions = random.integers(0, 5, COUNT)
        mine, other = ours.step(actions), theirs.step(actions)
        assert_same_shields(mine[4]["shield"], other[4]["shield"], np.ones(COUNT, bool))
        ended = mine[2] | mine[3]
        if not ended.any():
            continue
        final, infos = mine[4]["final_info"]["shield"], mine[4]["final_info"]
        assert_same_shields(final, other[4]["final_info"]["shield"], ended)
        parts = sum(final[part] for part in ("start", "chosen", "surprise", "arriving"))
        np.testing.assert_allclose(parts[ended], infos["crashed"][ended], rtol=0, atol=1e-9)
        np.testing.assert_allclose(final["promise"][ended], (final["start"] + final["arriving"])[ended] + 0.1, rtol=0, atol=1e-12)
        assert final["budget_kept"][ended].all() and (final["chosen"][ended] <= 0.1).all()
        ends, spent = ends + int(ended.sum()), spent + float(final["chosen"][ended].sum())
    assert ends > 0 and spent > 0.0
    assert {certificate["budget"] for certificate in ours.certificates()} == {0.1}


def test_a_reset_step_is_neither_judged_nor_charged():
    envs = cpss.make_vec("highway-v0", 2, config=SHORT, shield=True)
    envs.reset(seed=0)
    steps = []
    for _ in range(9):
        *_, truncated, infos = envs.step([1, 1])
        steps.append((truncated[0], infos["shield"]["verdict"][0], envs.certificates()[0]["steps"]))
    # Three decisions, the third of them closing; then a step that only resets, and a fresh ledger.
    assert [verdict == "reset" for _, verdict, _ in steps] == [False, False, False, True] * 2 + [False]
    assert [count for *_, count in steps] == [1, 2, 3, 0] * 2 + [1]
    assert [bool(end) for end, *_ in steps] == [False, False, True, False] * 2 + [False]


def test_the_closing_step_is_charged():
    envs = cpss.make_vec("merge-v0", 16, shield={"mode": "shadow"}, autoreset_mode="SameStep")
    left = envs.reset(seed=0)[1]["shield"]["remaining"]
    budget, ends, charged = left[0], 0, 0
    for _ in range(60):
        *_, infos = envs.step(np.full(16, 3))
        shield = infos["shield"]
        if "final_info" in infos:
            ended, final = infos["_final_info"], infos["final_info"]
            assert (final["cost"][ended & final["crashed"]] == 1.0).all(), "that is how close it came"
            assert (shield["remaining"][ended] == budget).all(), "and the next ledger is a fresh one"
            assert (shield["verdict"][ended] == "reset").all() and np.isnan(shield["risk"][ended]).all()
            shield = {key: np.where(ended, final["shield"][key], shield[key]) for key in ("remaining", "cost_executed")}
            ends += int(ended.sum())
        np.testing.assert_allclose(shield["remaining"], left - shield["cost_executed"], rtol=0, atol=1e-12)
        charged += int((shield["cost_executed"] > 0.0).sum())
        left = infos["shield"]["remaining"]
    assert ends > 0 and charged > 0, "nothing was tested"


def test_results_do_not_depend_on_the_number_of_threads():
    batches = [cpss.make_vec("highway-fast-v0", 37, shield=True, num_threads=threads) for threads in (1, 2, 5)]
    for envs in batches:
        envs.reset(seed=3)
    random = np.random.default_rng(1)
    for _ in range(8):
        actions = random.integers(0, 5, 37)
        first, *others = [envs.step(actions) for envs in batches]
        for other in others:
            np.testing.assert_array_equal(first[0], other[0])
            for key in KEYS:
                np.testing.assert_array_equal(first[4]["shield"][key], other[4]["shield"][key], err_msg=key)


def test_points_of_a_box_are_judged_as_single_ones_are():
    ours = cpss.make_vec("racetrack-v0", 3, shield=True, num_threads=2)
    theirs = SyncVectorEnv([lambda: cpss.ShieldWrapper(gym.make("cpss/racetrack-v0"))] * 3)
    ours.reset(seed=1), theirs.reset(seed=1)
    random, replaced = np.random.default_rng(0), 0
    for _ in range(60):
        actions = random.uniform(-1, 1, (3, 1)).astype(np.float32)
        mine, other = ours.step(actions), theirs.step(actions)
        for one, two in zip(mine[:4], other[:4]):
            np.testing.assert_array_equal(one, two)
        assert_same_shields(mine[4]["shield"], other[4]["shield"], np.ones(3, bool))
        replaced += int((mine[4]["shield"]["verdict"] == "replace").sum())
    assert replaced > 0


def test_masks_are_the_single_ones_and_preferences_choose():
    envs = cpss.make_vec("merge-v0", 4, shield={"fallback": "best-admissible"})
    singles = [cpss.ShieldWrapper(gym.make("cpss/merge-v0"), fallback="best-admissible") for _ in range(4)]
    envs.reset(seed=7)
    for i, single in enumerate(singles):
        single.reset(seed=7 + i)
    refused = 0
    for _ in range(10):
        masks = envs.action_masks()
        np.testing.assert_array_equal(masks, [single.action_masks() for single in singles])
        liking = np.tile([5.0, 4.0, 3.0, 6.0, 1.0], (4, 1))
        *_, terminated, truncated, infos = envs.step(np.full(4, 3), preferences=liking)
        for i, single in enumerate(singles):
            single.step(int(infos["shield"]["executed_action"][i]))
            if infos["shield"]["verdict"][i] == "replace":
                refused += 1
                allowed = np.where(masks[i], liking[i], -np.inf)
                assert infos["shield"]["executed_action"][i] == np.argmax(allowed)
        if (terminated | truncated).any():
            break
    assert refused > 0
    with pytest.raises(ValueError, match="preferences"):
        envs.step(np.ones(4, int), preferences=np.ones((4, 3)))
    with pytest.raises(ValueError, match="no shield"):
        bare = cpss.make_vec("merge-v0", 2)
        bare.reset(seed=0)
        bare.action_masks()


def test_a_shadow_batch_never_acts():
    bare, shadow = cpss.make_vec("merge-v0", 4), cpss.make_vec("merge-v0", 4, shield={"mode": "shadow"})
    bare.reset(seed=0), shadow.reset(seed=0)
    verdicts = set()
    for _ in range(30):
        mine, other = shadow.step(np.full(4, 3)), bare.step(np.full(4, 3))
        for one, two in zip(mine[:4], other[:4]):
            np.testing.assert_array_equal(one, two)
        verdicts |= set(mine[4]["shield"]["verdict"].tolist())
    assert "replace" in verdicts


def test_under_the_shield_fewer_episodes_end_badly():
    """Whoever always wants to go faster, on tuning seeds."""
    crashes = {}
    for mode in ("shadow", "enforce"):
        envs = cpss.make_vec("merge-v0", 100, shield={"mode": mode}, autoreset_mode="SameStep")
        envs.reset(seed=1_000_000)
        first, crashed = np.ones(100, bool), np.zeros(100, bool)
        while first.any():
            *_, terminated, truncated, infos = envs.step(np.full(100, 3))
            ended = first & (terminated | truncated)
            if ended.any():
                crashed |= ended & infos["final_info"]["crashed"]
            first &= ~ended
        crashes[mode] = int(crashed.sum())
    assert crashes["enforce"] < crashes["shadow"] / 3


def test_before_the_first_reset_and_after_the_end_nothing_is_answered():
    envs = cpss.make_vec("merge-v0", 2, shield=True)
    for ask in (envs.action_masks, envs.certificates):
        with pytest.raises(gym.error.ResetNeeded):
            ask()
    envs.reset(seed=0)
    envs.close()
    for ask in (envs.action_masks, envs.certificates):
        with pytest.raises(gym.error.ClosedEnvironmentError):
            ask()


def test_preferences_have_a_row_per_environment():
    envs = cpss.make_vec("merge-v0", 2, shield=True)
    envs.reset(seed=0)
    for wrong in (np.zeros((5, 2)), np.zeros(10), np.zeros((1, 10)), np.zeros((2, 4))):
        with pytest.raises(ValueError, match="`preferences` has the shape"):
            envs.step([1, 1], preferences=wrong)
    envs.step([1, 1], preferences=np.zeros((2, 5)))
    points = cpss.make_vec("racetrack-v0", 2, shield=True)
    points.reset(seed=0)
    with pytest.raises(ValueError, match="points of a box"):
        points.step(np.zeros((2, 1)), preferences=np.zeros((2, 5)))


def test_a_partial_reset_renews_only_its_own_ledgers():
    envs = cpss.make_vec("highway-v0", 3, shield=True, autoreset_mode="Disabled")
    envs.reset(seed=0)
    for _ in range(4):
        envs.step([3, 3, 3])
    before = envs.certificates()
    assert [account["steps"] for account in before] == [4, 4, 4]
    mask = np.array([False, True, False])
    infos = envs.reset(options={"reset_mask": mask})[1]
    after = envs.certificates()
    assert (after[0], after[2]) == (before[0], before[2])
    assert (after[1]["steps"], after[1]["spent"]) == (0, 0.0)
    assert infos["shield"]["remaining"][1] == after[1]["budget"]
    envs.step([1, 1, 1])
    assert [account["steps"] for account in envs.certificates()] == [5, 1, 5]
