"""Contract: around highway-env's own environments, whatever the policy observes there, the shield sees, predicts, decides
and charges what it does in our world; what was judged is charged; and both do what the laboratory's records say.

Longer than most: it is one contract, and its tests stay in one process on purpose. The original's intersection changes class
attributes that other tasks of the process inherit, and some tests here are about just that."""

import json
import math
import pathlib

import gymnasium as gym
import highway_env  # noqa: F401  (registers the ids of the original, in fresh processes too)
import numpy as np
import pytest

import cpss
from cpss import _native
from cpss.driving import CROSSING, DRIVERS
from cpss.shield import KEYS



def has_critic(task):
    try:
        return bool(_native.Critic(task, "drift"))
    except ValueError:
        return False


#: Every task of which something was learned, the corrected and fast versions included.
TASKS = [task for task in cpss.task_ids() if has_critic(task)]
assert len(TASKS) >= 8 and set(cpss.shipped_tasks()) <= set(TASKS)

#: Those of them that are highway-env's; others have no original.
UPSTREAMS = [task for task in TASKS if task in gym.registry]
assert len(UPSTREAMS) >= 8


def is_conservative(task):
    """Whether the card of a shipped critic says so, read from its file: no surprise on average, in all regimes together
    nor in any by itself, under budgets that were tried."""
    data = (pathlib.Path(__file__).resolve().parents[2] / "tasks" / task / "risk.safetensors").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    found = json.loads(header["__metadata__"]["card"])["calibration"]
    broken = any(part["ci95"][0] > 0 for part in [*found["by_regime"], *found["by_sensor"], *found.get("by_budget", [])])
    broken |= any(cell["mean"] - 1.5 * (cell["mean"] - cell["ci95"][0]) > 0 for cell in found.get("by_cell", []))
    return found["episodes"] > 0 and bool(found["budgets"]) and found["surprise_ci95"][1] <= 0 and not broken


def drive_both(task, config, steps):
    """The same random proposals in both worlds; returns how often the shield stepped in."""
    ours = cpss.ShieldWrapper(gym.make(f"cpss/{task}", config=config))
    theirs = cpss.ShieldWrapper(gym.make(task, config=config or None, disable_env_checker=True))
    refused = 0
    # Two episodes at least; more where traffic is so thin that random proposals are seldom refused (the roundabout).
    for seed in range(1, 20):
        if seed > 2 and refused > 0:
            break
        (_, mine), (_, upstream) = ours.reset(seed=seed), theirs.reset(seed=seed)
        assert mine["cost"] == pytest.approx(upstream["cost"], abs=1e-6)
        ours.action_space.seed(seed)
        for _ in range(steps):
            action = ours.action_space.sample()
            *mine, info = ours.step(action)
            *upstream, their_info = theirs.step(action)
            np.testing.assert_allclose(mine[0], upstream[0], atol=1e-6)
            assert mine[1:] == pytest.approx(upstream[1:], abs=1e-6)
            assert info["cost"] == pytest.approx(their_info["cost"], abs=1e-6)
            for key in KEYS:
                one, other = info["shield"][key], their_info["shield"][key]
                assert one == other if isinstance(one, str) else one == pytest.approx(other, abs=1e-5, nan_ok=True), key
            refused += info["shield"]["verdict"] != "admit"
            # Steering divides by the ego's speed: near a stand, rounding grows beyond any tolerance.
            if mine[2] or mine[3] or abs(info["speed"]) < 0.5:
                break
    return refused


@pytest.mark.parametrize("task", UPSTREAMS)
def test_the_original_is_shielded_as_ours_is(task, fresh_process):
    steps = 60 if task.startswith("racetrack") else 12
    config = {"vehicles_density": 2} if task.startswith("highway") else {}
    assert fresh_process(drive_both, task, config, steps) > 0, "nothing was refused: nothing was tested"


def test_other_actions_than_the_default_ones(fresh_process):
    fresh_process(drive_both, "racetrack-v0", cpss.policy_config("racetrack-v0"), 25)
    fewer = {"action": {"type": "DiscreteMetaAction", "lateral": False}, "vehicles_count": 10}
    fresh_process(drive_both, "highway-fast-v0", fewer, 6)


@pytest.mark.parametrize("name", ["cpss/highway-fast-v0", "highway-fast-v0"])
def test_actions_whose_risk_was_not_learned_are_refused_in_words(name):
    pedals = {"action": {"type": "ContinuousAction"}, "vehicles_count": 3}
    with pytest.raises(ValueError, match="was not learned: .*cost=..."):
        cpss.ShieldWrapper(gym.make(name, config=pedals, disable_env_checker=True))
    with pytest.raises(ValueError, match="was not learned: .*cost=..."):
        cpss.make_vec("highway-fast-v0", 2, config=pedals, shield=True)
    # Whoever knows better may say so, and without a shield there is nothing to know.
    env = gym.make(name, config=pedals, disable_env_checker=True)
    env = cpss.ShieldWrapper(env, 1.0, 10, cost=lambda env, observation, candidates: np.zeros(len(candidates)))
    env.reset(seed=0)
    assert env.step(np.zeros(2, np.float32))[4]["shield"]["verdict"] == "admit"
    cpss.make_vec("highway-fast-v0", 2, config=pedals).reset(seed=0)


@pytest.mark.parametrize("kind", ["TimeToCollision", "GrayscaleObservation", "LidarObservation", "OccupancyGrid"])
def test_the_shield_does_not_care_what_the_policy_observes(kind):
    observation = {"type": kind}
    if kind == "GrayscaleObservation":
        observation.update(observation_shape=(32, 16), stack_size=1, weights=[0.3, 0.6, 0.1], scaling=2.0)
    shields = []
    for config in ({"vehicles_count": 10}, {"vehicles_count": 10, "observation": observation}):
        env = cpss.ShieldWrapper(gym.make("highway-fast-v0", config=config, disable_env_checker=True))
        env.reset(seed=3)
        shields.append([env.step(action)[4]["shield"] for action in (3, 0, 3)])
    # Nothing is promised here, and no NaN is another.
    np.testing.assert_equal(shields[0], shields[1])
    assert all(shield["reason"] != "unusable-cost" and shield["risk"] <= 1.0 for shield in shields[0])


def test_the_order_of_cars_changes_no_bit():
    env = cpss.ShieldWrapper(gym.make("highway-fast-v0", config={"vehicles_count": 30}, disable_env_checker=True))
    env.reset(seed=5)
    before = env._driver.assess(None)
    road = env.unwrapped.road
    place = road.vehicles.index(env.unwrapped.vehicle)
    road.vehicles = [*road.vehicles[:place][::-1], road.vehicles[place], *road.vehicles[place + 1 :][::-1]]
    after = env._driver.assess(None)
    for one, other in zip(before, after):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["cpss/merge-v0", "merge-v0"])
def test_what_was_judged_is_charged(name):
    env = cpss.ShieldWrapper(gym.make(name, disable_env_checker=True))
    left, over = env.reset(seed=1)[1]["shield"]["remaining"], False
    while not over:
        _, _, terminated, truncated, info = env.step(3)
        shield, over = info["shield"], terminated or truncated
        assert shield["remaining"] == pytest.approx(left - shield["cost_executed"], abs=1e-12)
        assert 0.0 <= shield["unavoidable"] <= shield["risk"] <= 1.0
        # Whatever could be avoided and was not, was judged; of what the critic cannot tell, next to nothing.
        avoidable = shield["risk"] - shield["unavoidable"]
        assert shield["cost_executed"] in (avoidable, avoidable * 2.0**-40)
        assert type(info["cost"]) is float and 0.0 <= info["cost"] <= 1.0
        left = shield["remaining"]
    # One who says what a step really cost is charged that.
    env = cpss.ShieldWrapper(gym.make(name, disable_env_checker=True), observed=lambda *_: 0.125)
    left = env.reset(seed=1)[1]["shield"]["remaining"]
    assert env.step(3)[4]["shield"]["remaining"] == pytest.approx(left - 0.125, abs=1e-12)


@pytest.mark.parametrize("name", ["cpss/merge-v0", "merge-v0"])
def test_a_budget_is_a_probability_and_is_kept(name):
    spent = {}
    for budget in (0.001, 0.2):
        env = cpss.ShieldWrapper(gym.make(name, disable_env_checker=True), budget=budget, pace=2.0)
        spent[budget] = 0.0
        for seed in range(4):
            env.reset(seed=seed)
            over = False
            while not over:
                _, _, terminated, truncated, info = env.step(3)
                over = terminated or truncated
            certificate = env.certificate()
            assert certificate["budget_kept"] and info["shield"]["budget_kept"] and certificate["spent"] <= budget
            assert (certificate["budget"], certificate["pace"], certificate["charge"]) == (budget, 2.0, "predicted")
            assert certificate["incident"] is info["crashed"]
            assert sum(certificate["account"].values()) == pytest.approx(float(info["crashed"]), abs=1e-9)
            spent[budget] += certificate["spent"]
    assert spent[0.001] < spent[0.2], "a larger budget is there to be spent"


def test_what_is_not_charged_as_judged_has_no_account():
    env = cpss.ShieldWrapper(gym.make("cpss/merge-v0"), observed=lambda *_: 0.5)
    env.reset(seed=0)
    shield, certificate = env.step(1)[4]["shield"], env.certificate()
    assert np.isnan([shield[key] for key in ("promise", "start", "chosen", "surprise", "arriving", "evidence")]).all()
    assert shield["budget_kept"] is False and certificate["charge"] == "observed"
    assert certificate["account"] is certificate["evidence"] is certificate["promise"] is certificate["incident"] is None


class Mended(gym.Wrapper):
    """highway-env with something broken while it is looked at, and mended before it runs."""

    def __init__(self, mend):
        super().__init__(gym.make("merge-v0", disable_env_checker=True))
        self._mend = mend

    def step(self, action):
        self._mend(self.unwrapped)
        return self.env.step(action)


def test_a_scene_that_cannot_be_read_is_refused():
    def mend(env):
        env.vehicle.target_lane_index = ("a", "b", 1)

    env = cpss.ShieldWrapper(Mended(mend))
    env.reset(seed=0)
    env.unwrapped.vehicle.target_lane_index = ("nowhere", "b", 0)
    shield = env.step(3)[4]["shield"]
    assert shield["verdict"] == "infeasible" and "nowhere" in shield["reason"]
    assert shield["executed_action"] == 4, "the task's last resort is to slow down"
    assert np.isnan(shield["risk"]) and np.isnan(shield["unavoidable"])
    assert env.certificate()["spent"] == 1.0, "what cannot be judged is charged as the worst"
    assert not env.step(3)[4]["shield"]["reason"].startswith("unusable")


def test_a_scene_with_a_number_that_is_none_is_refused():
    def mend(env):
        env.road.vehicles[-1].speed = 20.0

    env = cpss.ShieldWrapper(Mended(mend))
    env.reset(seed=0)
    env.unwrapped.road.vehicles[-1].speed = np.nan
    costs, density, risks, unavoidable = env._driver.assess(None)
    assert (costs == 1.0).all() and (risks == 1.0).all() and unavoidable == 1.0 and np.isnan(density)
    shield = env.step(3)[4]["shield"]
    assert shield["verdict"] == "infeasible" and shield["threshold"] == 0.0
    assert (shield["risk"], shield["unavoidable"], shield["cost_executed"]) == (1.0, 1.0, 1.0)
    assert env.certificate()["spent"] == 1.0
    assert env.step(3)[4]["shield"]["risk"] < 1.0


def test_unknown_environments_are_refused_in_words():
    with pytest.raises(ValueError, match="not for CartPoleEnv"):
        cpss.ShieldWrapper(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match="but not parking-v0: learn what every action risks, .*give a function of your own"):
        cpss.ShieldWrapper(gym.make("parking-v0", disable_env_checker=True), last_resort=[0, 0])


def widened(spread):
    """highway-v0 with its lanes further apart, registered under a name that ends like the original's."""
    from highway_env.envs.highway_env import HighwayEnv
    from highway_env.road.lane import StraightLane

    class Wide(HighwayEnv):
        def _create_road(self):
            super()._create_road()
            lanes = self.road.network.graph["0"]["1"]
            for place, lane in enumerate(lanes):
                start, end = lane.start.copy(), lane.end.copy()
                start[1] = end[1] = place * spread
                lanes[place] = StraightLane(start, end, lane.width, lane.line_types, lane.forbidden, lane.speed_limit, lane.priority)

    name = f"mine{spread}/highway-v0"
    if name not in gym.registry:
        gym.register(name, entry_point=Wide)
    return gym.make(name, disable_env_checker=True, config={"vehicles_count": 5})


def test_another_road_is_refused_and_the_lane_is_named():
    same = cpss.ShieldWrapper(widened(4))
    same.reset(seed=0)
    assert same.step(1)[4]["shield"]["reason"] == ""
    other = cpss.ShieldWrapper(widened(12))
    with pytest.raises(ValueError, match=r"lane \('0', '1', 1\) of the road has start y 12"):
        other.reset(seed=0)
    with pytest.raises(gym.error.ResetNeeded):
        other.step(1)
    narrow = gym.make("merge-v0", disable_env_checker=True)
    make_road = narrow.unwrapped._make_road

    def one_lane_less():
        make_road()
        narrow.unwrapped.road.network.graph["c"]["d"].pop()

    narrow.unwrapped._make_road = one_lane_less
    with pytest.raises(ValueError, match=r"has no lane \('c', 'd', 1\)"):
        cpss.ShieldWrapper(narrow).reset(seed=0)


def test_another_class_under_an_originals_name_is_refused():
    from highway_env.envs.merge_env import MergeEnv

    gym.register("other/highway-v0", entry_point=MergeEnv)
    with pytest.raises(ValueError, match="other/highway-v0 is a MergeEnv, but highway-env's highway-v0 is a HighwayEnv"):
        cpss.ShieldWrapper(gym.make("other/highway-v0", disable_env_checker=True))


def test_a_config_that_was_changed_in_place_is_seen():
    speeds = [10.0, 15.0, 20.0]
    env = cpss.ShieldWrapper(gym.make("merge-v0", disable_env_checker=True, config={"action": {"type": "DiscreteMetaAction", "target_speeds": speeds}}))
    env.reset(seed=0)
    assert "config" not in env.step(3)[4]["shield"]["reason"]
    env.unwrapped.config["action"]["target_speeds"] = [20.0, 25.0, 30.0]
    shield = env.step(3)[4]["shield"]
    assert shield["verdict"] == "infeasible" and "config was changed" in shield["reason"]
    env.reset(seed=0)
    fresh = cpss.ShieldWrapper(gym.make("merge-v0", disable_env_checker=True))
    fresh.reset(seed=0)
    assert env.step(3)[4]["shield"] == fresh.step(3)[4]["shield"]
    # What is only for the eye may change.
    env.unwrapped.config["scaling"] = 9.0
    assert "config" not in env.step(3)[4]["shield"]["reason"]


def test_a_target_speed_that_the_task_has_not_is_refused():
    def mend(env):
        env.vehicle.speed_index = 2

    for index, word in ((3, "the task has 3 target speeds"), (200, "the task has 3 target speeds"), (-1, "OverflowError")):
        env = cpss.ShieldWrapper(Mended(mend))
        env.reset(seed=0)
        env.unwrapped.vehicle.speed_index = index
        shield = env.step(3)[4]["shield"]
        assert shield["verdict"] == "infeasible" and word in shield["reason"]


def test_a_wrapper_that_changes_actions_belongs_around_the_shield():
    fewer = gym.wrappers.TransformAction(gym.make("cpss/merge-v0"), lambda action: 2 * action, gym.spaces.Discrete(2))
    with pytest.raises(ValueError, match="put it around the shield"):
        cpss.ShieldWrapper(fewer)


def test_an_original_that_was_not_made_by_gymnasium_is_known_by_its_class():
    from highway_env.envs.merge_env import MergeEnv

    env = cpss.ShieldWrapper(MergeEnv())
    env.reset(seed=0)
    assert env.step(4)[4]["shield"]["verdict"] == "admit"


def promises(env) -> bool:
    """Whether a shielded episode of an original is promised anything."""
    env.reset(seed=0)
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(1)
        over = terminated or truncated
    promise = info["shield"]["promise"]
    assert math.isnan(promise) == (env.certificate()["promise"] is None)
    return not math.isnan(promise)


def test_the_originals_drivers_are_those_that_the_critics_know(fresh_process):
    drivers, crossing = fresh_process(drivers_of_the_original)
    assert {name: drivers[name] for name in DRIVERS} == DRIVERS
    assert {name: crossing[name] for name in DRIVERS} == DRIVERS | CROSSING


def drivers_of_the_original():
    import highway_env  # noqa: F401
    from highway_env.vehicle.behavior import IDMVehicle

    usual = dict(vars(IDMVehicle))
    numbers = [{name: usual[name] for name in DRIVERS}]
    gym.make("intersection-v0", disable_env_checker=True).reset(seed=0)
    return [*numbers, {name: vars(IDMVehicle)[name] for name in DRIVERS}]


def test_of_others_who_drive_otherwise_nothing_is_promised():
    merge = cpss.ShieldWrapper(gym.make("merge-v0", disable_env_checker=True))
    assert promises(merge)
    # The original's intersection changes how everybody drives in this process.
    assert promises(cpss.ShieldWrapper(gym.make("intersection-v0", disable_env_checker=True)))
    assert not promises(merge)


def test_of_an_environment_made_from_the_original_nothing_is_promised():
    from highway_env.envs.merge_env import MergeEnv

    class Mine(MergeEnv):
        pass

    assert promises(cpss.ShieldWrapper(MergeEnv()))
    gym.register("mine/merge-v0", entry_point=Mine)
    try:
        assert not promises(cpss.ShieldWrapper(gym.make("mine/merge-v0", disable_env_checker=True)))
    finally:
        del gym.registry["mine/merge-v0"]


def test_the_original_may_change_its_config_at_a_reset():
    env = cpss.ShieldWrapper(gym.make("highway-fast-v0", disable_env_checker=True))
    env.reset(seed=0)
    env.step(1)
    env.reset(seed=0, options={"config": {"lanes_count": 5}})
    assert env.step(1)[4]["shield"]["reason"] == ""


@pytest.mark.parametrize("task", cpss.shipped_tasks())
@pytest.mark.parametrize("arm", ["cpss", "dqn"])
def test_an_episode_is_the_laboratorys(task, arm, tmp_path):
    """What `cpss run` records of an episode is what the wrapper does in it, number for number."""
    plan = {"tasks": [task], "regimes": ["stationary"], "arms": [arm], "policies": [1], "episodes": 2, "budgets": [], "thresholds": [], "first_seed": 29000000}
    [record] = cpss.sweep(plan, tmp_path)
    policy = cpss.load_policy(task, seed=1)
    env = gym.make(f"cpss/{task}", config=policy.config, disable_env_checker=True)
    env = cpss.ShieldWrapper(env, preferences=policy, mode="shadow" if arm == "dqn" else "enforce")
    for episode in record["episodes"]:
        observation, info = env.reset(seed=episode["seed"])
        total, refused, close, over = 0.0, 0, 0, False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.predict(observation)[0])
            total += reward
            refused += info["shield"]["verdict"] != "admit"
            close += info["cost"] > 0
            over = terminated or truncated
        certificate = env.certificate()
        assert total == episode["episode_return"]
        assert (refused, close, info["crashed"]) == (episode["interventions"], episode["close_steps"], episode["crashed"])
        assert (certificate["steps"], certificate["infeasible"]) == (episode["steps"], episode["infeasible"])
        assert certificate["spent"] / certificate["budget"] == episode["budget_used"]
        assert certificate["budget_kept"] == episode["budget_kept"]
        # The account is the laboratory's too, and what is said on the last step is the certificate's.
        account, shield = certificate["account"], info["shield"]
        for part in ("start", "chosen", "arriving"):
            assert account[part] == episode[part] == shield[part]
        failed = episode["crashed"] or episode["off_road"]
        assert sum(account.values()) == pytest.approx(float(failed), abs=1e-9) and certificate["incident"] == failed
        assert shield["surprise"] == account["surprise"]
        assert certificate["evidence"] == episode["evidence"] == shield["evidence"]
        # Nothing is promised where nobody acts, nor where the critic is not known to be conservative.
        if arm == "dqn" or not is_conservative(task):
            assert math.isnan(shield["promise"]) and certificate["promise"] is None
        else:
            promise = episode["start"] + episode["arriving"] + certificate["budget"]
            assert certificate["promise"] == shield["promise"] == promise


def look_with_too_many_before():
    from cpss.driving import body, driver_of, mind

    env = gym.make("intersection-v0", disable_env_checker=True)
    env.reset(seed=0)
    driver, ego = driver_of(env), env.unwrapped.vehicle
    rows = np.array([body(ego), *(body(car) for car in env.unwrapped.road.vehicles if car is not ego)])
    driver._risk.look(mind(ego), rows, len(rows) - 1, len(rows) - 1)
    with pytest.raises(ValueError, match="earlier"):
        driver._risk.look(mind(ego), rows, len(rows) - 1, len(rows))
    # Nothing of the scene before is left to be judged.
    assert (driver._risk.assess()[0] == 1.0).all()


def test_more_cars_before_the_ego_than_there_are_is_refused(fresh_process):
    fresh_process(look_with_too_many_before)
